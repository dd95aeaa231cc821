"""The app for ONNX graphs answers the Open Inference Protocol as ONNX Runtime evaluates them."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tidegate.onnx import app, load
from tidegate.tensors import BadRequest, Request

WEIGHTS = np.random.default_rng(3).normal(size=(4, 1, 3, 3)).astype(np.float32)
PIXELS = np.random.default_rng(4).normal(size=(2, 1, 8, 8)).astype(np.float32)


def picture_model(path: Path) -> None:
    """A convolution, its maximum and a softmax, which Tidegate's own operators do not have."""
    nodes = [
        helper.make_node("Conv", ["pixels", "weights"], ["features"]),
        helper.make_node("GlobalMaxPool", ["features"], ["highest"]),
        helper.make_node("Flatten", ["highest"], ["flat"]),
        helper.make_node("Softmax", ["flat"], ["probabilities"], axis=1),
    ]
    save(path, nodes, ("pixels", TensorProto.FLOAT, ["n", 1, 8, 8]), ("probabilities", ["n", 4]))


def text_model(path: Path) -> None:
    """Counts texts of each kind."""
    keys = {"keys_strings": ["news", "sport"], "values_floats": [1.0, 2.0]}
    node = helper.make_node("LabelEncoder", ["kind"], ["code"], domain="ai.onnx.ml", **keys)
    save(path, [node], ("kind", TensorProto.STRING, ["n"]), ("code", ["n"]))


def save(path: Path, nodes: list[Any], given: tuple[str, int, list], found: tuple[str, list]):
    inputs = [helper.make_tensor_value_info(*given)]
    outputs = [helper.make_tensor_value_info(found[0], TensorProto.FLOAT, found[1])]
    weights = [numpy_helper.from_array(WEIGHTS, "weights")]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch):
    picture_model(tmp_path / "pictures.onnx")
    text_model(tmp_path / "texts.onnx")
    monkeypatch.setenv("ONNX_MODELS", f"{tmp_path}")
    load.cache_clear()
    yield tmp_path
    load.cache_clear()


def ask(path: str, body: bytes | None = None, json_bytes: int | None = None):
    """Status, headers and body of an answer; a body makes it a POST."""
    environ = {
        "REQUEST_METHOD": "GET" if body is None else "POST",
        "PATH_INFO": path,
        "wsgi.input": io.BytesIO(body or b""),
    }
    if json_bytes is not None:
        environ["HTTP_INFERENCE_HEADER_CONTENT_LENGTH"] = str(json_bytes)
    said: list[Any] = []
    pieces = app(environ, lambda status, headers: said.extend([status, dict(headers)]))
    return int(said[0].split()[0]), said[1], b"".join(pieces)


def infer(model: str, *inputs: dict[str, Any]):
    body = json.dumps({"id": "7", "inputs": inputs}).encode()
    status, _, answer = ask(f"/v2/models/{model}/infer", body)
    return status, json.loads(answer)


def pixels(**changes: Any) -> dict[str, Any]:
    usual = {"name": "pixels", "shape": [2, 1, 8, 8], "datatype": "FP32", "data": PIXELS.tolist()}
    return usual | changes


def expected(models: Path) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(models / "pictures.onnx"))
    return session.run(None, {"pixels": PIXELS})[0]


def test_a_convolution_is_answered_as_onnx_runtime_does(models) -> None:
    status, answer = infer("pictures", pixels())
    assert (status, answer["id"], answer["model_name"]) == (200, "7", "pictures")
    (output,) = answer["outputs"]
    assert (output["name"], output["shape"], output["datatype"]) == (
        "probabilities",
        [2, 4],
        "FP32",
    )
    np.testing.assert_allclose(output["data"], expected(models).ravel(), rtol=1e-6)


def test_binary_tensors_go_in_and_come_out(models) -> None:
    raw = PIXELS.tobytes()
    tensor = pixels(parameters={"binary_data_size": len(raw)})
    del tensor["data"]
    outputs = [{"name": "probabilities", "parameters": {"binary_data": True}}]
    head = json.dumps({"inputs": [tensor], "outputs": outputs}).encode()
    status, headers, answer = ask("/v2/models/pictures/infer", head + raw, len(head))
    split = int(headers["Inference-Header-Content-Length"])
    assert status == 200
    assert json.loads(answer[:split])["outputs"][0]["parameters"] == {"binary_data_size": 32}
    np.testing.assert_array_equal(
        np.frombuffer(answer[split:], np.float32), expected(models).ravel()
    )


def test_texts_go_in_as_json_and_as_bytes() -> None:
    tensor = {"name": "kind", "shape": [3], "datatype": "BYTES", "data": ["sport", "news", "x"]}
    status, answer = infer("texts", tensor)
    assert (status, answer["outputs"][0]["data"]) == (200, [2.0, 1.0, 0.0])
    raw = b"\x05\0\0\0sport\x04\0\0\0news"
    request = {"name": "kind", "shape": [2], "datatype": "BYTES"}
    head = json.dumps(
        {"inputs": [request | {"parameters": {"binary_data_size": len(raw)}}]}
    ).encode()
    status, _, answer = ask("/v2/models/texts/infer", head + raw, len(head))
    assert (status, json.loads(answer)["outputs"][0]["data"]) == (200, [2.0, 1.0])


@pytest.mark.parametrize(
    ("tensor", "why"),
    [
        (pixels(shape=[1, 1, 8, 8]), "do not fill the shape"),
        (pixels(shape=[2, 64]), "has the shape"),
        (pixels(shape=[-1]), "`shape` is not a list of sizes"),
        (pixels(datatype="FP99"), "no data type `FP99`"),
        (pixels(data=[[1], [2, 3]]), "is not FP32"),
        (pixels(data="x"), "`data` is not a list"),
        (pixels(name="other"), "no input `other`; there are `pixels`"),
        (pixels(datatype="BYTES", data=["a"] * 128), "is FP32, not BYTES"),
        (pixels(datatype="UINT8", data=[300] * 128), "does not fit UINT8"),
        (pixels(parameters={"binary_data_size": 5}), "is not the size of what follows"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_name(tensor, why) -> None:
    status, answer = infer("pictures", tensor)
    assert status == 400, answer
    assert why in answer["error"]


def test_an_input_that_is_missing_or_comes_twice_is_named() -> None:
    assert "`pixels` is missing" in infer("pictures")[1]["error"]
    assert "comes twice" in infer("pictures", pixels(), pixels())[1]["error"]


def test_null_is_not_a_number_and_an_answer_says_so_by_null() -> None:
    status, answer = infer("pictures", pixels(data=[None] * 128))
    assert (status, answer["outputs"][0]["data"]) == (200, [None] * 8)


def test_models_and_versions_are_found_by_their_paths() -> None:
    status, _, about = ask("/v2/models/pictures")
    found = json.loads(about)
    assert status == 200
    assert found["inputs"] == [{"name": "pixels", "datatype": "FP32", "shape": [-1, 1, 8, 8]}]
    version = found["versions"][0]
    assert ask(f"/v2/models/pictures/versions/{version}/ready")[0] == 200
    assert ask("/v2/models/pictures/versions/0")[0] == 404
    status, _, answer = ask("/v2/models/none")
    assert (status, "`pictures`, `texts`" in json.loads(answer)["error"]) == (404, True)
    for path in ["/v2", "/v2/", "/v2/health/live", "/v2/health/ready"]:
        assert ask(path)[0] == 200
    assert ask("/v2/nothing")[0] == 404
    status, headers, _ = ask("/v2/models/pictures/infer")
    assert (status, headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"[" * 100_000, b'{"inputs": 3}', b"\xff"])
def test_a_body_that_is_no_request_is_refused(body) -> None:
    with pytest.raises(BadRequest):
        Request(body, None)
    assert ask("/v2/models/pictures/infer", body)[0] == 400


def test_a_pool_without_models_says_what_to_set(monkeypatch) -> None:
    monkeypatch.setenv("ONNX_MODELS", "")
    load.cache_clear()
    with pytest.raises(ValueError, match="ONNX_MODELS"):
        load()


ELSEWHERE = Path(__file__).parents[2] / "crates/models/golden/elsewhere"


@pytest.mark.parametrize("file", sorted(ELSEWHERE.glob("*.onnx")), ids=lambda file: file.stem)
def test_graphs_that_tidegate_refuses_are_answered(file: Path, monkeypatch) -> None:
    """The table in docs/MODELS.md says that these run here; crates/models/tests/kinds.rs has it."""
    monkeypatch.setenv("ONNX_MODELS", str(file))
    load.cache_clear()
    status, _, body = ask(f"/v2/models/{file.stem}")
    (about,) = json.loads(body)["inputs"]
    assert status == 200
    shape = [2 if size == -1 else size for size in about["shape"]]
    count = int(np.prod(shape))
    data = ["a good day"] * count if about["datatype"] == "BYTES" else [0.5] * count
    given = {"name": about["name"], "shape": shape, "datatype": about["datatype"], "data": data}
    status, answer = infer(file.stem, given)
    assert status == 200, answer
    for output in answer["outputs"]:
        assert len(output["data"]) == np.prod(output["shape"]) > 0
