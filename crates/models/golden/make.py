"""Fits a scikit-learn model and writes it, items, requests and scikit-learn's own scores here.

Run from the root of the repository, with the packages of `python/` installed:
    PYTHONPATH=python python3 crates/models/golden/make.py
"""

import json
from pathlib import Path

import numpy as np
import sklearn
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tidegate import export_linear

FOLDER = Path(__file__).parent
ITEMS = 60
NUMBERS = 12
CATEGORIES = ["b", "t", "e", "m"]

rng = np.random.default_rng(20)


def make_item(row: int) -> dict:
    numbers = {f"n{n}": round(float(rng.normal(n, 1 + n)), 6) for n in range(NUMBERS)}
    published = 1394470370698 + int(rng.integers(0, 86_400_000))
    category = CATEGORIES[int(rng.integers(4))]
    return {"id": f"i{row}", "category": category, "published_ms": published, **numbers}


def make_request() -> dict:
    shares = rng.dirichlet([1.0] * len(CATEGORIES))
    affinity = {c: float(s) for c, s in zip(CATEGORIES, shares, strict=True)}
    user = {"affinity": affinity, "reads": int(rng.integers(1, 60))}
    return {"user": user, "context": {"hour": int(rng.integers(24))}}


def columns(item: dict, request: dict) -> dict:
    """The row that scikit-learn sees: plain features, one-hot features and products."""
    row = {f"item.n{n}": item[f"n{n}"] for n in range(NUMBERS)}
    row["item.published_ms"] = item["published_ms"]
    row["user.reads"] = request["user"]["reads"]
    row["context.hour"] = request["context"]["hour"]
    for category in CATEGORIES:
        share, is_category = request["user"]["affinity"][category], item["category"] == category
        row[f"item.category={category}"] = float(is_category)
        row[f"user.affinity.{category}*item.category={category}"] = share * is_category
        row[f"user.affinity.{category}*item.n3"] = share * item["n3"]
    row["context.hour*item.published_ms"] = request["context"]["hour"] * item["published_ms"]
    return row


items = [make_item(row) for row in range(ITEMS)]
requests = [make_request() for _ in range(20)]
pairs = [(item, request) for request in requests for item in items]
rows = [columns(item, request) for item, request in pairs]
truth = [
    request["user"]["affinity"][item["category"]] * 3 + item["n2"] / 3 + rng.normal() > 1.5
    for item, request in pairs
]
model = make_pipeline(
    DictVectorizer(), StandardScaler(with_mean=False), LogisticRegression(max_iter=2000)
)
model.fit(rows, truth)
export_linear(model, FOLDER / "model.json", name="golden", version=sklearn.__version__)
(FOLDER / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
with open(FOLDER / "requests.jsonl", "w", encoding="utf-8") as out:
    for request in requests[:6]:
        scores = model.predict_proba([columns(item, request) for item in items])[:, 1]
        out.write(json.dumps({**request, "scores": scores.tolist()}) + "\n")
