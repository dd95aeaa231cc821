"""The language model: what takes long to load and must be in memory once.

Latent semantic analysis (Deerwester et al., 1990) of news headlines: words that occur in similar
headlines have similar vectors. Any model may stand here, such as a sentence transformer; `load`
is what matters, because Tidegate calls it once (`preload = "models:load"`) and keeps what it
returns while the rest of the code changes.
"""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from settings import settings

Vectors = npt.NDArray[np.float32]

WORD = re.compile(r"[a-z']+")
SEED = 7


class LanguageModel:
    """Vectors of words, and how telling each word is."""

    def __init__(self, vocabulary: dict[str, int], weights: Vectors, vectors: Vectors) -> None:
        self.vocabulary = vocabulary
        self.weights = weights
        self.vectors = vectors

    def encode(self, sentences: list[str]) -> Vectors:
        """A vector of length 1 for each sentence; of length 0 where no word is known.

        Half of it says which words there are, half what they are about, so that a word that the
        headlines do not have still counts.
        """
        about = np.zeros((len(sentences), self.vectors.shape[1]), np.float32)
        seen: dict[str, int] = {}
        rare = float(self.weights.max())
        telling: list[dict[int, float]] = []
        for row, sentence in enumerate(sentences):
            own: dict[int, float] = {}
            for word in words(sentence):
                known = self.vocabulary.get(word)
                weight = rare if known is None else float(self.weights[known])
                own[seen.setdefault(word, len(seen))] = weight
                if known is not None:
                    about[row] += self.weights[known] * self.vectors[known]
            telling.append(own)
        there = np.zeros((len(sentences), max(len(seen), 1)), np.float32)
        for row, own in enumerate(telling):
            there[row, list(own)] = list(own.values())
        return unit(np.hstack([unit(there), unit(about)]))


def load() -> LanguageModel:
    """Reads the headlines and learns from them; takes some seconds."""
    headlines = [words(title) for title in titles(settings.headlines)]
    counts = Counter(word for headline in headlines for word in set(headline))
    vocabulary = {word: row for row, word in enumerate(sorted(counts))}
    frequency = np.array([counts[word] for word in vocabulary], np.float32)
    weights = np.log(len(headlines) / frequency, dtype=np.float32)
    matrix = np.zeros((len(vocabulary), len(headlines)), np.float32)
    for column, headline in enumerate(headlines):
        for word in headline:
            matrix[vocabulary[word], column] = weights[vocabulary[word]]
    return LanguageModel(vocabulary, weights, unit(principal(matrix, settings.dimensions)))


def titles(file: Path) -> list[str]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line)["title"] for line in lines]


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def principal(matrix: Vectors, dimensions: int) -> Vectors:
    """The rows along the first principal directions (randomised: Halko et al., 2011)."""
    random = np.random.default_rng(SEED)
    basis = random.standard_normal((matrix.shape[1], dimensions), np.float32)
    for _ in range(3):
        basis = np.linalg.qr(matrix.T @ (matrix @ basis))[0]
    return np.asarray(matrix @ basis, np.float32)


def unit(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0.0, 1.0, lengths), np.float32)
