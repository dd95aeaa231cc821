"""Writes all-MiniLM-L6-v2 for ONNX Runtime, from its folder: in floats, and in bytes.

Arguments: the folder, the file of floats, the file of bytes. Operators are fused where that is
faster on a CPU: ONNX Runtime's `Attention` and `SkipLayerNormalization` are slower than their
parts. The bytes are those of `quantize_dynamic`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

FUSED = "com.microsoft"
FIRST, LAST = [0, 2, 1, 3], [0, 2, 3, 1]


class Graph:
    def __init__(self, folder: Path) -> None:
        self.config = json.loads((folder / "config.json").read_text())
        self.tensors = load_file(folder / "model.safetensors")
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, array: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def tensor(self, name: str) -> str:
        return self.weight(name, self.tensors[name])

    def node(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        domain = FUSED if kind == "BiasGelu" else ""
        made = helper.make_node(kind, inputs, [output], output, domain=domain, **attributes)
        self.nodes.append(made)
        return output

    def product(self, states: str, name: str) -> str:
        matrix = self.weight(f"{name}.weight", self.tensors[f"{name}.weight"].T)
        return self.node("MatMul", [states, matrix], f"{name}.product")

    def added(self, new: str, old: str, norm: str, bias: str) -> str:
        new = self.node("Add", [new, self.tensor(bias)], f"{norm}.new")
        both = self.node("Add", [new, old], f"{norm}.both")
        inputs = [both, self.tensor(f"{norm}.weight"), self.tensor(f"{norm}.bias")]
        epsilon = self.config["layer_norm_eps"]
        return self.node("LayerNormalization", inputs, f"{norm}.out", axis=-1, epsilon=epsilon)

    def embedded(self) -> str:
        start = "embeddings."
        kinds = self.tensors[f"{start}token_type_embeddings.weight"]
        positions = self.tensors[f"{start}position_embeddings.weight"] + kinds[0]
        tables = [self.tensor(f"{start}word_embeddings.weight"), self.weight("places", positions)]
        norm = [self.tensor(f"{start}LayerNorm.{name}") for name in ("weight", "bias")]
        inputs = ["input_ids", "", *tables, "", *norm]
        outputs = ["embedded", "unused"]
        epsilon = self.config["layer_norm_eps"]
        made = helper.make_node(
            "EmbedLayerNormalization", inputs, outputs, domain=FUSED, epsilon=epsilon
        )
        self.nodes.append(made)
        return "embedded"

    def attended(self, states: str, start: str) -> str:
        heads, hidden = self.config["num_attention_heads"], self.config["hidden_size"]
        width = hidden // heads
        split = self.weight(f"{start}split", np.array([0, 0, heads, width]))
        joined = self.weight(f"{start}joined", np.array([0, 0, hidden]))
        parts = []
        for name, order in (("query", FIRST), ("key", LAST), ("value", FIRST)):
            product = self.product(states, f"{start}self.{name}")
            bias = self.tensor(f"{start}self.{name}.bias")
            added = self.node("Add", [product, bias], f"{start}{name}")
            parts.append(self.node("Reshape", [added, split], f"{start}{name}.split"))
            parts[-1] = self.node("Transpose", parts[-1:], f"{start}{name}.turned", perm=order)
        query, key, value = parts
        root = self.weight(f"{start}root", np.array(width**0.5, np.float32))
        scores = self.node("MatMul", [query, key], f"{start}scores")
        scores = self.node("Div", [scores, root], f"{start}scaled")
        scores = self.node("Add", [scores, "masked"], f"{start}masked")
        shares = self.node("Softmax", [scores], f"{start}shares", axis=-1)
        mixed = self.node("MatMul", [shares, value], f"{start}mixed")
        mixed = self.node("Transpose", [mixed], f"{start}mixed.turned", perm=FIRST)
        return self.node("Reshape", [mixed, joined], f"{start}mixed.joined")

    def mask(self) -> None:
        """Adds much less than nothing to the scores of what only pads."""
        floats = self.node("Cast", ["attention_mask"], "mask.floats", to=TensorProto.FLOAT)
        axes = self.weight("mask.axes", np.array([1, 2]))
        wide = self.node("Unsqueeze", [floats, axes], "mask.wide")
        one = self.weight("one", np.array(1, np.float32))
        rest = self.node("Sub", [one, wide], "mask.rest")
        self.node("Mul", [rest, self.weight("least", np.array(-1e9, np.float32))], "masked")

    def layer(self, states: str, number: int) -> str:
        start = f"encoder.layer.{number}."
        attended = self.attended(states, f"{start}attention.")
        output = f"{start}attention.output"
        attended = self.product(attended, f"{output}.dense")
        states = self.added(attended, states, f"{output}.LayerNorm", f"{output}.dense.bias")
        inner = self.product(states, f"{start}intermediate.dense")
        bias_name = self.tensor(f"{start}intermediate.dense.bias")
        inner = self.node("BiasGelu", [inner, bias_name], f"{start}gelu")
        outer = self.product(inner, f"{start}output.dense")
        return self.added(outer, states, f"{start}output.LayerNorm", f"{start}output.dense.bias")

    def model(self) -> onnx.ModelProto:
        self.mask()
        states = self.embedded()
        for number in range(self.config["num_hidden_layers"]):
            states = self.layer(states, number)
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "tokens"])
            for name in ("input_ids", "attention_mask")
        ]
        shape = ["texts", "tokens", self.config["hidden_size"]]
        outputs = [helper.make_tensor_value_info(states, TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, "minilm", inputs, outputs, self.weights)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def main() -> None:
    folder, floats, quantised = map(Path, sys.argv[1:])
    made = floats.with_suffix(".part")
    onnx.save(Graph(folder).model(), made)
    # No shapes are inferred behind a fused operator; all that flows is floats.
    kind = {"DefaultTensorType": TensorProto.FLOAT}
    quantize_dynamic(made, quantised, weight_type=QuantType.QInt8, extra_options=kind)
    made.rename(floats)


main()
