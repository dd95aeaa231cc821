"""Models behind their APIs, asked by the clients that people use: tritonclient and openai.

Arguments: host:port of the server, the folder with what train.py wrote.
"""

import json
import sys
import urllib.request

import numpy as np
import openai
import tritonclient.http as triton

address, folder = sys.argv[1:]
expected = np.load(f"{folder}/expected.npz")
rows = expected["rows"]

client = triton.InferenceServerClient(address)
assert client.is_server_live() and client.is_server_ready()
assert client.is_model_ready("trees")
assert not client.is_model_ready("none")
assert client.get_server_metadata()["name"] == "tidegate"
metadata = client.get_model_metadata("trees")
assert metadata["inputs"] == [{"name": "input", "datatype": "FP64", "shape": [-1, 6]}], metadata
index = {model["name"]: model["state"] for model in client.get_model_repository_index()}
assert index["boost"] == "READY", index


def predict(model, datatype, dtype, binary):
    """The predictions of all rows, through binary tensors or JSON."""
    data = rows.astype(dtype)
    given = triton.InferInput("input", list(data.shape), datatype)
    if binary:
        given.set_data_from_numpy(data, binary_data=True)
    else:
        # JSON has no NaN, and the client writes it all the same: absent numbers go as null.
        finite = [[None if np.isnan(x) else float(x) for x in row] for row in data]
        body = {
            "id": "9",
            "inputs": [
                {"name": "input", "shape": list(data.shape), "datatype": datatype, "data": finite}
            ],
        }
        request = urllib.request.Request(
            f"http://{address}/v2/models/{model}/infer", json.dumps(body).encode()
        )
        reply = json.load(urllib.request.urlopen(request))
        assert reply["id"] == "9" and reply["model_name"] == model
        output = reply["outputs"][0]
        return np.array(output["data"]).reshape(output["shape"])
    wanted = triton.InferRequestedOutput("predict", binary_data=True)
    return client.infer(model, [given], outputs=[wanted], request_id="7").as_numpy("predict")


for binary in (True, False):
    trees = predict("trees", "FP64", np.float64, binary)[:, 0]
    assert np.abs(trees - expected["trees"]).max() <= 1e-9, "LightGBM's own predictions"
    boost = predict("boost", "FP32", np.float32, binary).astype(np.float32)
    assert (boost == expected["boost"]).all(), "XGBoost's own predictions, to the bit"

whole = expected["whole"].astype(np.float32)
given = triton.InferInput("X", list(whole.shape), "FP32")
given.set_data_from_numpy(whole)
reply = client.infer("forest", [given])
assert np.abs(reply.as_numpy("probabilities") - expected["forest"]).max() <= 1e-6, "scikit-learn's"
labels = expected["forest"].argmax(axis=1)
assert (reply.as_numpy("label") == labels).all(), "labels are whole numbers"

given = triton.InferInput("input", [1, 5], "FP64")
given.set_data_from_numpy(np.zeros((1, 5)))
try:
    client.infer("trees", [given])
    raise AssertionError("five columns were taken for six")
except triton.InferenceServerException as error:
    assert "[rows, 6]" in str(error), error

texts = ["the tide comes in", "a gate is shut", "the tide comes in"]
asked = openai.OpenAI(base_url=f"http://{address}/v1", api_key="none", max_retries=0)
assert "mini" in [model.id for model in asked.models.list().data]
decoded = asked.embeddings.create(model="mini", input=texts)
floats = asked.embeddings.create(model="mini", input=texts, encoding_format="float")
assert [one.index for one in decoded.data] == [0, 1, 2]
vectors = np.array([one.embedding for one in floats.data])
assert np.abs(np.array([one.embedding for one in decoded.data]) - vectors).max() < 1e-6
assert (vectors[0] == vectors[2]).all() and np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
assert decoded.usage.prompt_tokens > 0
for wrong, status in (
    ({"model": "none", "input": "x"}, 404),
    ({"model": "mini", "input": []}, 400),
):
    try:
        asked.embeddings.create(**wrong)
        raise AssertionError(f"{wrong} was answered")
    except openai.APIStatusError as error:
        assert error.status_code == status, error

tensor = triton.InferInput("text", [3], "BYTES")
tensor.set_data_from_numpy(np.array([text.encode() for text in texts], dtype=object))
reply = client.infer("mini", [tensor], outputs=[triton.InferRequestedOutput("embedding")])
assert np.abs(reply.as_numpy("embedding") - vectors).max() < 1e-5
print("answered as expected")
