"""Trains the example's ranker on the drawn reads and writes `model.json`.

Features: the item's popularity and freshness, and for each category the product of the reader's
affinity to it with the item's being of it. Affinity is the share of the reader's OTHER reads:
the read to predict is left out. A fifth of each reader's reads, at random places, is hidden from
training and measures the result.

The reads are drawn from a mixture that prefers the reader's categories (`prepare.py`), so the
uplift printed at the end is planted: it shows that the loop works, not that it would pay.
"""

import argparse
import collections
import json
from pathlib import Path

import numpy as np

from ranker import Space, fit, hold_out, leave_one_out, measure, ranker, uplift_interval
from tidegate import export_linear

HERE = Path(__file__).resolve().parent

CATEGORIES = "btem"
HIDDEN_SHARE = 0.2


def main() -> None:
    """Trains, exports, measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE, help="folder of items and readers")
    parser.add_argument("--out", type=Path, default=HERE / "model.json", help="file to write")
    parser.add_argument("--seed", type=int, default=1, help="seed of hidden reads and negatives")
    options = parser.parse_args()
    items = read_items(options.data / "items.jsonl")
    cases = split(read_readers(options.data / "readers.tsv"), items, options.seed)
    space = space_of(items)
    model = fit(space, [ex for kept, _ in cases for ex in leave_one_out(kept)], options.seed)
    export_linear(model, options.out, name="news", version="1", feature_names=space.column_names())
    report(space, model, cases, options.seed)


def read_items(path: Path) -> list[dict]:
    """Returns the catalogue."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_readers(path: Path) -> dict[str, list[str]]:
    """Returns the item ids read by each reader, in order."""
    rows = (line.split("\t") for line in path.read_text(encoding="ascii").splitlines())
    return {reader: ids.split() for reader, _, ids in rows}


def split(readers: dict[str, list[str]], items: list[dict], seed: int) -> list[tuple[list, list]]:
    """Returns (kept, hidden) places in the catalogue for each reader."""
    place = {item["id"]: n for n, item in enumerate(items)}
    rng = np.random.default_rng(seed)
    return [hold_out([place[i] for i in reads], HIDDEN_SHARE, rng) for reads in readers.values()]


def space_of(items: list[dict]) -> Space:
    """Returns the features of the catalogue."""
    category = np.array([CATEGORIES.index(item["category"]) for item in items])
    one_hot = np.eye(len(CATEGORIES))[category]
    return Space(
        names=["item.popularity", "item.freshness"],
        features=np.array([[item["popularity"], item["freshness"]] for item in items]),
        user_names=[f"user.affinity.{c}" for c in CATEGORIES],
        side_names=[f"item.category={c}" for c in CATEGORIES],
        sides=one_hot,
        crosses=[(c, c) for c in range(len(CATEGORIES))],
        profile=lambda reads: one_hot[list(reads)].mean(axis=0),
    )


def report(space: Space, model, cases: list, seed: int) -> None:
    """Prints the weights and the planted uplift."""
    weights = model["fit"].coef_[0] / model["scale"].scale_
    for name, weight in zip(space.column_names(), weights, strict=True):
        print(f"{weight:8.3f}  {name}")
    reads = collections.Counter(item for kept, _ in cases for item in kept)
    most_read = np.array([reads[item] for item in range(len(space.features))], dtype=float)
    score = ranker(space, model)
    no_profile = space.features @ weights[: len(space.names)]
    personal = measure(cases, score)
    popular = measure(cases, lambda _: most_read)
    print(f"{len(cases)} readers, {sum(len(hidden) for _, hidden in cases)} hidden reads")
    print(f"personalised           {personal}")
    print(f"same model, no profile {measure(cases, lambda _: no_profile)}")
    print(f"most read              {popular}")
    for name in ("recall", "ndcg"):
        better, base = getattr(personal, name), getattr(popular, name)
        low, high = uplift_interval(better, base, seed)
        share = better.mean() / base.mean() - 1.0
        print(f"PLANTED uplift of {name}@10 on most read: {share:+.0%} ({low:+.0%} to {high:+.0%})")


if __name__ == "__main__":
    main()
