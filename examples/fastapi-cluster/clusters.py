"""Groups of sentences that mean the same: average linkage over cosine similarity."""

from dataclasses import dataclass

import numpy as np

from models import LanguageModel


@dataclass
class Cluster:
    """Rows that belong together, the most typical one, and how alike they are on average."""

    rows: list[int]
    label: int
    cohesion: float


def clusters(
    model: LanguageModel, sentences: list[str], similarity: float
) -> tuple[list[Cluster], list[int]]:
    """Groups of at least two, largest first, and the rows that are alone."""
    vectors = model.encode(sentences)
    alike = np.asarray(vectors @ vectors.T, np.float64)
    groups = [[row] for row in range(len(sentences))]
    linkage = alike.copy()
    np.fill_diagonal(linkage, -np.inf)
    while len(groups) > 1:
        one, other = divmod(int(np.argmax(linkage)), len(groups))
        if linkage[one, other] < similarity:
            break
        sizes = len(groups[one]), len(groups[other])
        joined = (linkage[one] * sizes[0] + linkage[other] * sizes[1]) / sum(sizes)
        linkage[one], linkage[:, one] = joined, joined
        linkage[one, one] = -np.inf
        linkage = np.delete(np.delete(linkage, other, axis=0), other, axis=1)
        groups[one] += groups.pop(other)
    together = [sorted(group) for group in groups if len(group) > 1]
    together.sort(key=lambda rows: (-len(rows), rows))
    return [described(rows, alike) for rows in together], sorted(
        row for group in groups if len(group) == 1 for row in group
    )


def described(rows: list[int], alike: np.ndarray) -> Cluster:
    within = alike[np.ix_(rows, rows)]
    pairs = len(rows) * (len(rows) - 1)
    label = rows[int(np.argmax(within.sum(axis=1)))]
    return Cluster(rows, label, float((within.sum() - np.trace(within)) / pairs))
