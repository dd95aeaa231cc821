"""Model2Vec embeds texts, one thread. Arguments: FOLDER TEXTS."""

import sys
from pathlib import Path

import contest
import numpy as np
from model2vec import StaticModel


def main() -> None:
    model = StaticModel.from_pretrained(sys.argv[1])
    texts = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()

    def vectors() -> np.ndarray:
        return model.encode(texts, use_multiprocessing=False)

    def embed() -> int:
        vectors()
        return len(texts)

    def written() -> bytes:
        return vectors().astype("<f4").tobytes()

    contest.serve({"embed": embed}, {"vectors": written})


main()
