"""Writes small models that Tidegate does not evaluate in its process, but in a worker.

The tests read them: each must be refused with a hint, and answered by `tidegate.onnx:app`.

Run from the root of the repository:
    pip install -r python/requirements-test.txt
    ORT_DISABLE_TELEMETRY=1 python3 crates/models/golden/elsewhere.py crates/models/golden/elsewhere
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline

RNG = np.random.default_rng(7)


def graph(
    name: str, nodes: list, x: tuple, y: tuple, weights: dict[str, np.ndarray]
) -> onnx.ModelProto:
    """A graph of one input and one output, each with its name, data type and shape."""
    made = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(*x)],
        [helper.make_tensor_value_info(*y)],
        [numpy_helper.from_array(value, key) for key, value in weights.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def convolution() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["x", "weights"], ["features"]),
        helper.make_node("GlobalMaxPool", ["features"], ["y"]),
    ]
    weights = {"weights": RNG.normal(size=(2, 1, 3, 3)).astype(np.float32)}
    x, y = ("x", TensorProto.FLOAT, ["n", 1, 3, 3]), ("y", TensorProto.FLOAT, ["n", 2, 1, 1])
    return graph("convolution", nodes, x, y, weights)


def recurrent() -> onnx.ModelProto:
    nodes = [helper.make_node("LSTM", ["x", "w", "r"], ["", "y"], hidden_size=2)]
    weights = {
        "w": RNG.normal(size=(1, 8, 3)).astype(np.float32),
        "r": RNG.normal(size=(1, 8, 2)).astype(np.float32),
    }
    x, y = ("x", TensorProto.FLOAT, [4, "n", 3]), ("y", TensorProto.FLOAT, [1, "n", 2])
    return graph("recurrent", nodes, x, y, weights)


def half() -> onnx.ModelProto:
    nodes = [helper.make_node("MatMul", ["x", "weights"], ["y"])]
    weights = {"weights": RNG.normal(size=(3, 2)).astype(np.float16)}
    x, y = ("x", TensorProto.FLOAT16, ["n", 3]), ("y", TensorProto.FLOAT16, ["n", 2])
    return graph("half", nodes, x, y, weights)


def words() -> onnx.ModelProto:
    texts = np.array(["a good day", "a bad day", "good words", "bad words"])
    model = make_pipeline(TfidfVectorizer(lowercase=False), LogisticRegression()).fit(
        texts, [1, 0, 1, 0]
    )
    types = [("x", StringTensorType([None]))]
    # To make letters small, ONNX Runtime needs the locale `en_US.UTF-8`.
    return to_onnx(model, initial_types=types)


def neighbours_imputed() -> onnx.ModelProto:
    rows = RNG.normal(size=(20, 3)).astype(np.float32)
    return to_onnx(KNNImputer().fit(rows), initial_types=[("x", FloatTensorType([None, 3]))])


def several_labels() -> onnx.ModelProto:
    rows = RNG.normal(size=(20, 3)).astype(np.float32)
    labels = (rows[:, :2] > 0).astype(int)
    model = MultiOutputClassifier(LogisticRegression()).fit(rows, labels)
    return to_onnx(model, initial_types=[("x", FloatTensorType([None, 3]))])


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (convolution, recurrent, half, words, neighbours_imputed, several_labels):
        model = make()
        model.ClearField("doc_string")
        path = folder / f"{make.__name__.replace('_', '-')}.onnx"
        path.write_bytes(model.SerializeToString())


if __name__ == "__main__":
    main()
