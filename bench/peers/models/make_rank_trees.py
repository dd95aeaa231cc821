"""Trains the ranker of row `rank-trees`: 500 trees of 31 leaves over 50 columns, 8 of requests.

Arguments: the files to write the model, the items and the requests to. A column is the user's
affinity to the item's own category. No item and no request was trained on.
"""

import json
import sys
from pathlib import Path

import lightgbm
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
from tidegate import feature_values  # noqa: E402

TRAINED, ITEMS, REQUESTS, CATEGORIES = 60, 674, 50, 7
NUMBERS = [f"f{number:02}" for number in range(41)]
COLUMNS = [
    *(f"item.{name}" for name in NUMBERS),
    "item.category=c0",
    "user.affinity@item.category",
    *(f"user.affinity.c{number}" for number in range(4)),
    *("user.reads", "user.age_days", "context.hour"),
]
OPTIONS = {
    "objective": "lambdarank",
    "num_leaves": 31,
    "learning_rate": 0.05,
    "num_threads": 1,
    "seed": 3,
    "verbosity": -1,
    "deterministic": True,
}
RANDOM = np.random.default_rng(7)


def item(number: int) -> dict[str, object]:
    numbers = dict(zip(NUMBERS, RANDOM.normal(size=len(NUMBERS)).round(4).tolist(), strict=True))
    return {"id": str(number), "category": f"c{RANDOM.integers(CATEGORIES)}"} | numbers


def request() -> dict[str, dict[str, object]]:
    shares = RANDOM.dirichlet(np.full(CATEGORIES, 0.5)).round(4).tolist()
    affinity = {f"c{number}": share for number, share in enumerate(shares)}
    user = {"affinity": affinity, "reads": int(RANDOM.integers(99)), "age_days": 9.5}
    return {"user": user, "context": {"hour": int(RANDOM.integers(24))}}


def main() -> None:
    model, items_file, requests_file = map(Path, sys.argv[1:])
    seen, x = [item(number) for number in range(200)], []
    for asked in (request() for _ in range(TRAINED)):
        x += [feature_values(COLUMNS, one, **asked) for one in seen]
    x = np.array(x)
    linear = x[:, :41] @ RANDOM.normal(size=41) * 0.3
    y = linear + 6 * x[:, 42] + np.where(x[:, -1] > 12, x[:, 0], x[:, 1]) + x[:, 46] / 50
    grades = np.digitize(y, np.quantile(y, [0.5, 0.75, 0.9]))
    data = lightgbm.Dataset(x, grades, feature_name=COLUMNS, group=[len(seen)] * TRAINED)
    items = [item(number) for number in range(ITEMS)]
    requests = [request() for _ in range(REQUESTS)]
    for path, lines in ((items_file, items), (requests_file, requests)):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    lightgbm.train(OPTIONS, data, 500).save_model(model)


main()
