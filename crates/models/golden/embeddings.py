"""Makes small folders of embeddings, and the vectors that numpy makes of some texts with them.

Each folder is laid out as sentence-transformers or Model2Vec saves one, with random weights;
`expected.json` beside its files holds texts, their tokens and their vectors, computed in float64
from the weights as the file holds them.

Run from the root of the repository:
    pip install numpy
    python3 crates/models/golden/embeddings.py crates/models/golden/embeddings
"""

import json
import math
import sys
from pathlib import Path

import numpy as np

WORDS = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] the dog cat walk ##s ##ing runs home fast . ! , caf ##e 犬 a"
)
VOCABULARY = {word: number for number, word in enumerate(WORDS.split())}
TEXTS = {
    "The dog walks.": "the dog walk ##s .",
    "": "",
    "Cats, walking!": "cat ##s , walk ##ing !",
    "café 犬犬 unknown a": "caf ##e 犬 犬 [UNK] a",
    "the cat runs home fast. " * 4: "the cat runs home fast . " * 4,
    "a": "a",
    "dog " * 60: "dog " * 60,
}
TOKENS_MAX = 40


def bfloat16(array: np.ndarray) -> np.ndarray:
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def widened(array: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers that a file with this dtype holds."""
    if dtype == "BF16":
        return (bfloat16(array).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype({"F32": np.float32, "F16": np.float16}[dtype]).astype(np.float64)


def save_tensors(path: Path, tensors: dict[str, tuple[str, np.ndarray]]) -> None:
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, array) in tensors.items():
        kinds = {"F32": "<f4", "F16": "<f2", "I32": "<i4"}
        raw = bfloat16(array) if dtype == "BF16" else array.astype(kinds[dtype])
        start, data = len(data), data + raw.tobytes()
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def save_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def tokenizer(marks: bool) -> dict:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [{"id": VOCABULARY[w], "content": w, **flags, "special": True} for w in special]
    mark = {w: {"id": w, "ids": [VOCABULARY[w]], "tokens": [w]} for w in ["[CLS]", "[SEP]"]}
    cls, sep = ({"SpecialToken": {"id": w, "type_id": 0}} for w in mark)
    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    single = [cls, sequence, sep]
    processor = {"type": "TemplateProcessing", "single": single, "pair": single}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    return {
        "version": "1.0",
        # As shipped folders have them; both are to be ignored.
        "truncation": {
            "max_length": 5,
            "strategy": "LongestFirst",
            "stride": 0,
            "direction": "Right",
        },
        "padding": {
            "strategy": {"Fixed": 64},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": added,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {**processor, "special_tokens": mark} if marks else None,
        "decoder": None,
        "model": {**model, "max_input_chars_per_word": 100, "vocab": VOCABULARY},
    }


def erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf)(x)


ACTIVATIONS = {
    "gelu": lambda x: x / 2 * (1 + erf(x / math.sqrt(2))),
    "gelu_new": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
}


class Bert:
    def __init__(self, seed: int, dtype: str, prefix: str, old_names: bool, config: dict) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype, self.prefix, self.config = dtype, prefix, config
        self.saved: dict[str, tuple[str, np.ndarray]] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.gain, self.bias = ("gamma", "beta") if old_names else ("weight", "bias")
        hidden, inner = config["hidden_size"], config["intermediate_size"]
        self.add("embeddings.word_embeddings.weight", config["vocab_size"], hidden)
        self.add("embeddings.position_embeddings.weight", TOKENS_MAX, hidden)
        self.add("embeddings.token_type_embeddings.weight", 2, hidden)
        self.add_norm("embeddings.LayerNorm", hidden)
        for layer in range(config["num_hidden_layers"]):
            start = f"encoder.layer.{layer}."
            for name in ["query", "key", "value"]:
                self.add_dense(f"{start}attention.self.{name}", hidden, hidden)
            self.add_dense(f"{start}attention.output.dense", hidden, hidden)
            self.add_norm(f"{start}attention.output.LayerNorm", hidden)
            self.add_dense(f"{start}intermediate.dense", hidden, inner)
            self.add_dense(f"{start}output.dense", inner, hidden)
            self.add_norm(f"{start}output.LayerNorm", hidden)

    def add(self, name: str, *shape: int, mean: float = 0.0) -> None:
        array = mean + self.rng.normal(size=shape) * 0.4
        self.saved[self.prefix + name] = (self.dtype, array)
        self.weights[name] = widened(array, self.dtype)

    def add_dense(self, name: str, inputs: int, outputs: int) -> None:
        self.add(f"{name}.weight", outputs, inputs)
        self.add(f"{name}.bias", outputs)

    def add_norm(self, name: str, size: int) -> None:
        self.add(f"{name}.{self.gain}", size, mean=1.0)
        self.add(f"{name}.{self.bias}", size)

    def dense(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        scaled = (x - mean) / np.sqrt(variance + self.config["layer_norm_eps"])
        return scaled * self.weights[f"{name}.{self.gain}"] + self.weights[f"{name}.{self.bias}"]

    def attend(self, start: str, x: np.ndarray) -> np.ndarray:
        heads = self.config["num_attention_heads"]
        parts = [self.dense(f"{start}self.{name}", x) for name in ["query", "key", "value"]]
        q, k, v = (part.reshape(len(x), heads, -1).transpose(1, 0, 2) for part in parts)
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        mixed = (shares @ v).transpose(1, 0, 2).reshape(len(x), -1)
        return self.dense(f"{start}output.dense", mixed)

    def states(self, tokens: list[int]) -> np.ndarray:
        x = self.weights["embeddings.word_embeddings.weight"][tokens]
        x = x + self.weights["embeddings.position_embeddings.weight"][: len(tokens)]
        x = x + self.weights["embeddings.token_type_embeddings.weight"][0]
        x = self.norm("embeddings.LayerNorm", x)
        activation = ACTIVATIONS[self.config["hidden_act"]]
        for layer in range(self.config["num_hidden_layers"]):
            start = f"encoder.layer.{layer}."
            attended = self.attend(f"{start}attention.", x)
            x = self.norm(f"{start}attention.output.LayerNorm", x + attended)
            inner = activation(self.dense(f"{start}intermediate.dense", x))
            outer = self.dense(f"{start}output.dense", inner)
            x = self.norm(f"{start}output.LayerNorm", x + outer)
        return x


POOLINGS = {
    "mean": lambda states: states.mean(0),
    "cls": lambda states: states[0],
    "max": lambda states: states.max(0),
}


def save_bert(folder: Path, model: Bert, pooling: str, normalises: bool) -> None:
    save_json(folder / "config.json", {"model_type": "bert", **model.config})
    save_json(folder / "tokenizer.json", tokenizer(marks=True))
    save_json(folder / "sentence_bert_config.json", {"max_seq_length": 30, "do_lower_case": False})
    keys = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens"}
    modes = {f"pooling_mode_{key}": name == pooling for name, key in keys.items()}
    save_json(folder / "1_Pooling/config.json", {"word_embedding_dimension": 8, **modes})
    kinds = ["Transformer", "Pooling"] + ["Normalize"] * normalises
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": i, "name": str(i), "path": paths[i], "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    save_json(folder / "modules.json", modules)
    save_tensors(folder / "model.safetensors", model.saved)
    expected = []
    for text, words in TEXTS.items():
        tokens = [VOCABULARY[word] for word in ["[CLS]", *words.split()[:28], "[SEP]"]]
        vector = POOLINGS[pooling](model.states(tokens))
        if normalises:
            vector = vector / np.linalg.norm(vector)
        expected.append({"text": text, "tokens": tokens, "vector": vector.tolist()})
    save_json(folder / "expected.json", expected)


def save_static(folder: Path, seed: int, dtype: str, shared: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = 7 if shared else len(VOCABULARY)
    table = rng.normal(size=(rows, 12))
    vectors = widened(table, dtype)
    saved = {"embeddings": (dtype, table)}
    weights = np.ones(len(VOCABULARY))
    mapping = np.arange(len(VOCABULARY))
    if shared:
        weights, mapping = rng.random(len(VOCABULARY)), rng.integers(0, rows, len(VOCABULARY))
        saved |= {"weights": ("F32", weights), "mapping": ("I32", mapping)}
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": not shared}
    save_json(folder / "config.json", config)
    save_json(folder / "tokenizer.json", tokenizer(marks=False))
    save_tensors(folder / "model.safetensors", saved)
    expected = []
    for text, words in TEXTS.items():
        tokens = [VOCABULARY[word] for word in words.split() if word != "[UNK]"]
        vector = (
            (vectors[mapping[tokens]] * weights[tokens, None]).mean(0) if tokens else np.zeros(12)
        )
        if not shared:
            vector = vector / (np.linalg.norm(vector) + 1e-32)
        expected.append({"text": text, "tokens": tokens, "vector": vector.tolist()})
    save_json(folder / "expected.json", expected)


def config(hidden: int, heads: int, layers: int, inner: int, activation: str) -> dict:
    return {
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        "intermediate_size": inner,
        "hidden_act": activation,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": TOKENS_MAX,
        "type_vocab_size": 2,
        "vocab_size": len(VOCABULARY),
    }


def main() -> None:
    root = Path(sys.argv[1])
    mean = Bert(1, "F32", "", False, config(40, 2, 2, 72, "gelu"))
    save_bert(root / "mean", mean, "mean", True)
    first = Bert(2, "F16", "bert.", True, config(24, 3, 1, 50, "gelu_new"))
    save_bert(root / "first", first, "cls", False)
    most = Bert(3, "BF16", "", False, config(16, 1, 2, 33, "relu"))
    save_bert(root / "most", most, "max", False)
    save_static(root / "static", 4, "F32", False)
    save_static(root / "shared", 5, "F16", True)


main()
