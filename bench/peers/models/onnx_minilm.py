"""ONNX Runtime embeds texts, one thread. Arguments: MODEL TOKENIZER TEXTS.

Texts are sorted by their tokens, 32 go together, the shorter ones padded; a vector is the mean over
its tokens, of length 1. The tokenizer is the `tokenizers` package.
"""

import sys
from pathlib import Path

import contest
import numpy as np
import onnxruntime
from tokenizers import Tokenizer

TOGETHER, TOKENS_MAX = 32, 256
SLOWER = "SkipLayerNormFusion"
"""What it puts together takes four times as long as its parts, on a CPU."""


def main() -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        sys.argv[1], options, ["CPUExecutionProvider"], disabled_optimizers=[SLOWER]
    )
    tokenizer = Tokenizer.from_file(sys.argv[2])
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    texts = Path(sys.argv[3]).read_text(encoding="utf-8").splitlines()
    dims = session.get_outputs()[0].shape[2]
    vectors = np.zeros((len(texts), dims), np.float32)

    def embed() -> int:
        tokens = [one.ids for one in tokenizer.encode_batch(texts)]
        order = sorted(range(len(texts)), key=lambda text: len(tokens[text]))
        for start in range(0, len(order), TOGETHER):
            part = order[start : start + TOGETHER]
            shape = len(part), max(len(tokens[text]) for text in part)
            ids, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
            for row, text in enumerate(part):
                ids[row, : len(tokens[text])] = tokens[text]
                mask[row, : len(tokens[text])] = 1
            states = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
            means = np.einsum("xyz,xy->xz", states, mask.astype(np.float32))
            vectors[part] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return len(texts)

    def written() -> bytes:
        embed()
        return vectors.astype("<f4").tobytes()

    contest.serve({"embed": embed}, {"vectors": written})


main()
