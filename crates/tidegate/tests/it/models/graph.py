"""Asks Triton's client for what ONNX Runtime says of `strokes.onnx`. Arguments: ADDRESS FOLDER."""

import sys

import numpy as np
import onnxruntime
import tritonclient.http as triton

address, folder = sys.argv[1:]
pixels = np.random.default_rng(5).normal(size=(6, 1, 3, 3)).astype(np.float32)
session = onnxruntime.InferenceSession(f"{folder}/strokes.onnx")
(expected,) = session.run(None, {"pixels": pixels})

client = triton.InferenceServerClient(address)
about = client.get_model_metadata("strokes")
assert about["inputs"] == [{"name": "pixels", "datatype": "FP32", "shape": [-1, 1, 3, 3]}], about
assert client.is_model_ready("strokes", about["versions"][0])
for binary in (True, False):
    given = triton.InferInput("pixels", list(pixels.shape), "FP32")
    given.set_data_from_numpy(pixels, binary_data=binary)
    wanted = triton.InferRequestedOutput("highest", binary_data=binary)
    answer = client.infer("strokes", [given], outputs=[wanted]).as_numpy("highest")
    assert np.allclose(answer, expected, rtol=1e-6, atol=0), (answer, expected)
print("answered as expected")
