"""Measures the example's trainer on untouched real choices, where nothing is planted.

Two tasks. `areas`: real visitors of a site with 294 areas; hide a third of each test visitor's
areas, rank all others from the rest. `next`: real reading paths of msnbc; given the set of
categories a reader has visited, rank the others by which is visited next.

The ranker is fitted by `ranker.py` as the news ranker is, and has only products of user and item
features: of factors of the co-visits in the first task, of visited x candidate in the second.
Beside it stand popularity and item-to-item rules. Nothing is tuned on the test readers.
"""

import argparse
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ranker import (
    Case,
    Example,
    Space,
    fit,
    hold_out,
    leave_one_out,
    measure,
    ranker,
    uplift_interval,
)

HERE = Path(__file__).resolve().parent

FACTORS = 128
"""How many directions of the co-visits the ranker sees."""

HIDDEN_SHARE = 1 / 3
PAGE_CATEGORIES = 17
TEST_READERS = 20000

EASE_PENALTY = 100.0
"""Chosen on held-out training visitors, as FACTORS was."""

Scores = Callable[[Sequence[int]], np.ndarray]


def main() -> None:
    """Runs both tasks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raw", type=Path, default=HERE / "raw", help="folder of the packed data")
    parser.add_argument("--task", choices=["areas", "next", "both"], default="both")
    parser.add_argument("--visitors", type=int, default=20000, help="visitors to fit `areas` on")
    parser.add_argument("--readers", type=int, default=10000, help="readers to fit `next` on")
    parser.add_argument("--seed", type=int, default=1, help="seed of all samples")
    options = parser.parse_args()
    if options.task != "next":
        measure_areas(options.raw, options.visitors, options.seed)
    if options.task != "areas":
        measure_next(options.raw, options.readers, options.seed)


def measure_areas(raw: Path, visitors: int, seed: int) -> None:
    """Fits on training visitors, prints the quality on test visitors."""
    train = read_visits(raw / "anonymous-msweb.data.xz")
    test = read_visits(raw / "anonymous-msweb.test.xz")
    place = {area: n for n, area in enumerate(sorted({a for v in train for a in v}))}
    train = [[place[area] for area in visits] for visits in train]
    test = [[place[area] for area in visits if area in place] for visits in test]
    visits = choices(train, len(place))
    rng = np.random.default_rng(seed)
    cases = [hold_out(v, HIDDEN_SHARE, rng) for v in test if len(v) >= 2]
    space = area_space(visits)
    sample = [train[n] for n in rng.permutation(len(train)) if len(train[n]) >= 2][:visitors]
    model = fit(space, [ex for v in sample for ex in leave_one_out(v)], seed)
    print(f"areas: {len(cases)} test visitors, {sum(len(h) for _, h in cases)} hidden visits")
    popularity = visits.sum(axis=0, dtype=float)
    alike, follow, ease = cosines(visits), conditionals(visits), ease_weights(visits)
    rankings: dict[str, Scores] = {
        "popularity": lambda known: popularity,
        "item-to-item, cosine": lambda known: alike[list(known)].sum(axis=0),
        "item-to-item, conditional": lambda known: follow[list(known)].sum(axis=0),
        "item-to-item, fitted (EASE)": lambda known: ease[list(known)].sum(axis=0),
        "ranker": ranker(space, model),
    }
    report(cases, rankings, seed)


def read_visits(path: Path) -> list[list[int]]:
    """Returns the areas of each visitor: lines `C,…` open a visitor, `V,area,1` is a visit."""
    visitors: list[list[int]] = []
    for line in lzma.decompress(path.read_bytes()).decode("latin-1").splitlines():
        if line.startswith("C,"):
            visitors.append([])
        elif line.startswith("V,"):
            visitors[-1].append(int(line.split(",")[1]))
    return visitors


def choices(visitors: list[list[int]], count: int) -> np.ndarray:
    """Returns the matrix of visitors by items, 1 where visited."""
    matrix = np.zeros((len(visitors), count), dtype=np.float32)
    for row, items in enumerate(visitors):
        matrix[row, items] = 1.0
    return matrix


def cosines(visits: np.ndarray) -> np.ndarray:
    """Returns how alike the visitors of each two items are; 0 of an item with itself."""
    together = (visits.T @ visits).astype(float)
    norms = np.sqrt(np.maximum(np.diag(together), 1.0))
    alike = together / np.outer(norms, norms)
    np.fill_diagonal(alike, 0.0)
    return alike


def conditionals(visits: np.ndarray) -> np.ndarray:
    """Returns, for each item of a row, the share of its visitors who visited the column's."""
    together = (visits.T @ visits).astype(float)
    shares = together / np.maximum(np.diag(together), 1.0)[:, None]
    np.fill_diagonal(shares, 0.0)
    return shares


def ease_weights(visits: np.ndarray) -> np.ndarray:
    """Returns the item-to-item weights of EASE (Steck, WWW 2019), in closed form."""
    together = (visits.T @ visits).astype(float)
    inverse = np.linalg.inv(together + EASE_PENALTY * np.eye(len(together)))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return weights


def area_space(visits: np.ndarray) -> Space:
    """Returns features of the areas: log popularity, and factors of the cosines.

    The profile is the sum of the visited areas' factors over the root of their number. With
    equal weights, signed as the eigenvalues, the crosses would add up to the cosines with what
    was visited, cut to their largest directions; the fit chooses better weights.
    """
    values, vectors = np.linalg.eigh(cosines(visits))
    largest = np.argsort(-np.abs(values), kind="stable")[:FACTORS]
    factors = vectors[:, largest] * np.sqrt(np.abs(values[largest]))
    return Space(
        names=["item.log_visits"],
        features=np.log1p(visits.sum(axis=0, dtype=float))[:, None],
        user_names=[f"user.factor.{n}" for n in range(FACTORS)],
        side_names=[f"item.factor.{n}" for n in range(FACTORS)],
        sides=factors,
        crosses=[(n, n) for n in range(FACTORS)],
        profile=lambda known: factors[list(known)].sum(axis=0) / np.sqrt(len(known)),
    )


def measure_next(raw: Path, readers: int, seed: int) -> None:
    """Fits on the steps of some readers' paths, prints the quality on one step of others'."""
    rng = np.random.default_rng(seed)
    paths = sample_paths(raw / "msnbc_paths.tsv.xz", TEST_READERS + readers, rng)
    test, train = paths[:TEST_READERS], paths[TEST_READERS:]
    cuts = [int(rng.integers(1, len(path))) for path in test]
    cases = [(path[:cut], [path[cut]]) for path, cut in zip(test, cuts, strict=True)]
    steps = [step for path in train for step in steps_of(path)]
    space = next_space()
    model = fit(space, steps, seed)
    popularity, follow = np.zeros(PAGE_CATEGORIES), np.zeros((PAGE_CATEGORIES, PAGE_CATEGORIES))
    for known, target in steps:
        popularity[target] += 1.0
        follow[known, target] += 1.0
    follow /= np.maximum(follow.sum(axis=1, keepdims=True), 1.0)
    print(f"next: {len(cases)} test readers, one step of each")
    rankings: dict[str, Scores] = {
        "popularity": lambda known: popularity,
        "item-to-item, conditional": lambda known: follow[list(known)].sum(axis=0),
        "ranker": ranker(space, model),
    }
    report(cases, rankings, seed)


def sample_paths(path: Path, count: int, rng: np.random.Generator) -> list[list[int]]:
    """Returns the paths of different readers who visited at least two categories, from 0 on."""
    rows = [line.split("\t") for line in lzma.decompress(path.read_bytes()).decode().splitlines()]
    long_rows = [(int(n), [int(c) - 1 for c in codes.split()]) for n, codes in rows if " " in codes]
    everyone = np.repeat(np.arange(len(long_rows)), [n for n, _ in long_rows])
    return [long_rows[n][1] for n in rng.permutation(everyone)[:count]]


def steps_of(path: list[int]) -> list[Example]:
    """Returns each category after the first as a target, known by those before it."""
    return [(path[:cut], path[cut]) for cut in range(1, len(path))]


def next_space() -> Space:
    """Returns each category as a feature, and each pair of a visited and a candidate one."""
    one_hot = np.eye(PAGE_CATEGORIES)
    names = [f"item.id={n + 1}" for n in range(PAGE_CATEGORIES)]
    pairs = [(a, b) for a in range(PAGE_CATEGORIES) for b in range(PAGE_CATEGORIES) if a != b]
    return Space(
        names=names,
        features=one_hot,
        user_names=[f"user.visited.{n + 1}" for n in range(PAGE_CATEGORIES)],
        side_names=names,
        sides=one_hot,
        crosses=pairs,
        profile=lambda known: one_hot[list(known)].sum(axis=0),
    )


def report(cases: Sequence[Case], rankings: dict[str, Scores], seed: int) -> None:
    """Prints the quality of each ranking, then how the last compares with the others."""
    qualities = {name: measure(cases, scores_of) for name, scores_of in rankings.items()}
    for name, quality in qualities.items():
        print(f"  {name:28} {quality}")
    name, ours = qualities.popitem()
    for other, theirs in qualities.items():
        for field in ("first", "recall", "ndcg"):
            low, high = uplift_interval(getattr(ours, field), getattr(theirs, field), seed)
            verdict = "wins" if low > 0 else "LOSES" if high < 0 else "ties"
            print(f"  {name} {verdict} against {other}: {field} {low:+.1%} to {high:+.1%}")


if __name__ == "__main__":
    main()
