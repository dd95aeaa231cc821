"""The trainer and the measures shared by `train.py` and `msweb.py`.

A ranker here is what `tidegate-linear-1` can hold: weights on item features, and on products of
one user feature and one item feature. It is fitted by logistic regression on what readers chose
against items drawn from those they did not choose.

A target is never part of the profile it is predicted from, and its negatives see the very same
profile: otherwise the mere size of a profile would tell the chosen from the drawn.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

NEGATIVES = 4
"""How many unchosen items are drawn for each chosen one."""

TOP = 10
"""The measures look at the first ten places."""

Example = tuple[Sequence[int], int]
"""What the reader is known to have chosen, and the item chosen beside that."""


@dataclass(frozen=True)
class Space:
    """The features of one catalogue.

    `crosses` holds pairs (user column, item column): products of a profile's entries and the
    columns of `sides`. `profile` turns chosen items into the user's columns.
    """

    names: list[str]
    features: np.ndarray
    user_names: list[str]
    side_names: list[str]
    sides: np.ndarray
    crosses: list[tuple[int, int]]
    profile: Callable[[Sequence[int]], np.ndarray]
    left: np.ndarray = field(init=False)
    right: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        """Unzips the crosses for numpy."""
        object.__setattr__(self, "left", np.array([left for left, _ in self.crosses]))
        object.__setattr__(self, "right", np.array([right for _, right in self.crosses]))

    def column_names(self) -> list[str]:
        """Returns the names of the columns of `rows`, crosses as `a*b`."""
        crosses = [f"{self.user_names[u]}*{self.side_names[i]}" for u, i in self.crosses]
        return self.names + crosses

    def rows(self, profile: np.ndarray, items: Sequence[int] | slice) -> np.ndarray:
        """Returns one row of features for each item, all for one profile."""
        products = profile[self.left] * self.sides[items][:, self.right]
        return np.hstack([self.features[items], products])


def fit(space: Space, examples: Sequence[Example], seed: int) -> Pipeline:
    """Returns the ranker fitted to `examples`; the same arguments give the same weights."""
    rng = np.random.default_rng(seed)
    blocks = []
    for known, target in examples:
        negatives = draw_others(len(space.features), {*known, target}, rng)
        blocks.append(space.rows(space.profile(known), [target, *negatives]))
    labels = np.concatenate([[1] + [0] * (len(block) - 1) for block in blocks])
    model = Pipeline(
        [
            ("scale", StandardScaler()),
            ("fit", LogisticRegression(C=1.0, max_iter=1000, tol=1e-6)),
        ]
    )
    return model.fit(np.concatenate(blocks), labels)


def draw_others(count: int, taken: Collection[int], rng: np.random.Generator) -> list[int]:
    """Returns up to `NEGATIVES` different items, uniformly, none of them `taken`."""
    wanted = min(NEGATIVES, count - len(taken))
    drawn: dict[int, None] = {}
    while len(drawn) < wanted:
        item = int(rng.integers(count))
        if item not in taken:
            drawn[item] = None
    return list(drawn)


def leave_one_out(reads: Sequence[int]) -> list[Example]:
    """Returns each read as a target, known by the reader's other reads."""
    return [([*reads[:n], *reads[n + 1 :]], target) for n, target in enumerate(reads)]


def hold_out(reads: Sequence[int], share: float, rng: np.random.Generator) -> tuple[list, list]:
    """Returns what is kept and what is hidden, at random places, at least one of each."""
    hidden_count = min(max(1, round(share * len(reads))), len(reads) - 1)
    hidden = set(rng.choice(len(reads), size=hidden_count, replace=False).tolist())
    kept = [item for place, item in enumerate(reads) if place not in hidden]
    return kept, [reads[place] for place in sorted(hidden)]


@dataclass(frozen=True)
class Quality:
    """Hits at the first place, recall@10 and nDCG@10 of a ranking, a value for each reader."""

    first: np.ndarray
    recall: np.ndarray
    ndcg: np.ndarray

    def __str__(self) -> str:
        """The three means."""
        means = self.first.mean(), self.recall.mean(), self.ndcg.mean()
        return "first {:.4f}  recall@10 {:.4f}  nDCG@10 {:.4f}".format(*means)


Case = tuple[Sequence[int], Sequence[int]]
"""What is known of a reader, and what was hidden."""


def measure(cases: Sequence[Case], scores_of: Callable[[Sequence[int]], np.ndarray]) -> Quality:
    """Returns the quality of `scores_of`, which scores every item given what is known.

    What is known is never recommended. Recall is over min(10, hidden) so that 1 can be reached.
    """
    first, recall, ndcg = [], [], []
    for known, hidden in cases:
        hits = [item in set(hidden) for item in top(scores_of(known), known)]
        possible = min(TOP, len(hidden))
        first.append(bool(hits and hits[0]))
        recall.append(sum(hits) / possible)
        gained = sum(1.0 / math.log2(place + 2) for place, hit in enumerate(hits) if hit)
        ndcg.append(gained / sum(1.0 / math.log2(place + 2) for place in range(possible)))
    return Quality(np.array(first), np.array(recall), np.array(ndcg))


def top(scores: np.ndarray, known: Sequence[int]) -> list[int]:
    """Returns the best unknown items, best first, ties in the catalogue's order."""
    scores = scores.astype(float)
    scores[list(known)] = -np.inf
    order = np.argsort(-scores, kind="stable")[:TOP]
    return [int(item) for item in order if scores[item] > -np.inf]


def ranker(space: Space, model: Pipeline) -> Callable[[Sequence[int]], np.ndarray]:
    """Returns the scores of all items, as the exported file computes them, for `measure`."""
    scaler, fitted = model["scale"], model["fit"]
    weights = fitted.coef_[0] / scaler.scale_
    plain, crossed = weights[: len(space.names)], weights[len(space.names) :]
    base = space.features @ plain
    mixing = np.zeros((len(space.user_names), len(space.side_names)))
    mixing[space.left, space.right] = crossed
    return lambda known: base + space.sides @ (space.profile(known) @ mixing)


def uplift_interval(better: np.ndarray, base: np.ndarray, seed: int) -> tuple[float, float]:
    """Returns the 95 % bootstrap interval, over readers, of mean(better) / mean(base) - 1."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(base), size=(1000, len(base)))
    ratios = better[picks].mean(axis=1) / base[picks].mean(axis=1) - 1.0
    return float(np.quantile(ratios, 0.025)), float(np.quantile(ratios, 0.975))
