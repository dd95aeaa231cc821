"""Distils all-MiniLM-L6-v2 into the small static embeddings of the demo (the method of Model2Vec).

Each frequent token goes through the encoder alone; its vector is reduced to DIMS principal
components, weighted by how rare the token is (the vocabulary stands in the order of frequency, so
Zipf's law tells), and kept in bytes. MODEL is an ONNX file of the encoder with the inputs
`input_ids`, `attention_mask` and `token_type_ids`, FOLDER the model's folder with `tokenizer.json`.

Run from the root of the repository:
    pip install numpy onnxruntime==1.31.1
    python3 examples/news/embedding.py MODEL FOLDER
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import onnxruntime

DIMS = 96
RANK_MAX = 16_000
KINDS = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
OUT = Path("examples/news/embedding")


def is_kept(token: str, rank: int) -> bool:
    """Whether a token is frequent enough, or a piece that spells others."""
    word = token.removeprefix("##")
    return rank < RANK_MAX and word.isascii() and (word.isalnum() or len(word) == 1)


def vectors(model: str, ids: list[int], first: int, last: int) -> np.ndarray:
    """The mean of what the encoder makes of each token between its marks."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    found = []
    for start in range(0, len(ids), 256):
        batch = [[first, token, last] for token in ids[start : start + 256]]
        tokens = np.array(batch, dtype=KINDS[session.get_inputs()[0].type])
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
        inputs["token_type_ids"] = np.zeros_like(tokens)
        inputs = {name: inputs[name] for name in (one.name for one in session.get_inputs())}
        found.append(session.run(None, inputs)[0].mean(axis=1))
    return np.concatenate(found).astype(np.float64)


def reduced(found: np.ndarray) -> np.ndarray:
    """The principal components, weighted by rarity (smooth inverse frequency)."""
    centred = found - found.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    found = centred @ directions[:, ::-1][:, :DIMS]
    share = 1 / np.arange(2, len(found) + 2)
    share /= share.sum()
    return found * (1e-3 / (1e-3 + share))[:, None]


def main() -> None:
    model, folder = sys.argv[1], Path(sys.argv[2])
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    ranked = sorted(vocabulary.items(), key=lambda pair: pair[1])
    kept = [(token, rank) for token, rank in ranked if is_kept(token, rank)]
    first, last = vocabulary["[CLS]"], vocabulary["[SEP]"]
    rows = reduced(vectors(model, [rank for _, rank in kept], first, last))
    scale = np.abs(rows).max() / 127
    rows = np.concatenate([np.zeros((1, DIMS)), rows])
    values = np.clip(np.round(rows / scale), -127, 127).astype(np.int8)
    tokenizer["model"]["vocab"] = {"[UNK]": 0} | {
        token: row for row, (token, _) in enumerate(kept, 1)
    }
    tokenizer["added_tokens"] = []
    tokenizer["post_processor"] = tokenizer["truncation"] = tokenizer["padding"] = None
    OUT.mkdir(exist_ok=True)
    written = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (OUT / "tokenizer.json").write_text(written + "\n")
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True}
    (OUT / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    about = {"dtype": "I8", "shape": list(values.shape), "data_offsets": [0, values.size]}
    head = json.dumps({"embeddings": about}).encode()
    head += b" " * (-len(head) % 8)
    (OUT / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + values.tobytes())
    print(f"{len(values)} tokens of {DIMS} numbers")


if __name__ == "__main__":
    main()
