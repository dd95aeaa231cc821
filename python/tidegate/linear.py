"""The format `tidegate-linear-1`, and a plain evaluator of it.

A file is one JSON object:

    {"format": "tidegate-linear-1", "name": "news", "version": "1",
     "link": "logistic", "intercept": -1.5,
     "features": [{"name": "item.popularity", "weight": 4.0, "mean": 0.2, "scale": 0.1}],
     "crosses": [{"left": "user.affinity.b", "right": "item.category=b", "weight": 2.0}]}

- A name starts with its source, `item.`, `user.` or `context.`; the rest is a path of fields,
  split at dots. `a=b` is 1 where the field `a` holds the string `b`, 0 where it holds another.
- A feature adds `weight * (x - mean) / scale`. Where x is absent or null it counts as `missing`,
  or adds nothing where the file names no `missing`.
- A cross adds `weight * (left * right - mean) / scale` of its raw sides, and nothing at all
  where a side is absent.
- `mean` is 0, `scale` 1, `link` "identity" unless stated.

This file never imports numpy or scikit-learn: it is the check on the exporter, so it must not
share its arithmetic.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

FORMAT = "tidegate-linear-1"
SOURCES = ("item", "user", "context")
LINKS = ("identity", "logistic")

Fields = Mapping[str, Any]
"""An item, a user's profile or the context of a request, as parsed from JSON."""

NOTHING: Fields = MappingProxyType({})


class ModelFileError(ValueError):
    """A model file is not what `tidegate-linear-1` allows; the text names the place."""


@dataclass(frozen=True)
class Feature:
    """One weighted input."""

    name: str
    weight: float
    mean: float = 0.0
    scale: float = 1.0
    missing: float | None = None

    def contribution(self, sources: Mapping[str, Fields]) -> float:
        """Returns what this feature adds to the linear score."""
        x = look_up(self.name, sources)
        if x is None:
            x = self.missing
        return 0.0 if x is None else self.weight * (x - self.mean) / self.scale


@dataclass(frozen=True)
class Cross:
    """One weighted product of two inputs."""

    left: str
    right: str
    weight: float
    mean: float = 0.0
    scale: float = 1.0

    def contribution(self, sources: Mapping[str, Fields]) -> float:
        """Returns what this cross adds to the linear score."""
        left, right = look_up(self.left, sources), look_up(self.right, sources)
        if left is None or right is None:
            return 0.0
        return self.weight * (left * right - self.mean) / self.scale


@dataclass(frozen=True)
class LinearModel:
    """A model file in memory."""

    name: str
    version: str
    link: str
    intercept: float
    features: tuple[Feature, ...]
    crosses: tuple[Cross, ...]

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "LinearModel":
        """Returns the model of a file.

        Raises `ModelFileError` where the file is not of this format, `OSError` where it cannot
        be read.
        """
        try:
            return cls.parse(json.loads(Path(path).read_text(encoding="utf-8")))
        except json.JSONDecodeError as error:
            raise ModelFileError(f"read `{path}`: not JSON: {error}") from error

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> "LinearModel":
        """Returns the model of a parsed file, or raises `ModelFileError`."""
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise ModelFileError(f"format is not `{FORMAT}`")
        link = document.get("link", "identity")
        if link not in LINKS:
            raise ModelFileError(f"link `{link}` is none of {', '.join(LINKS)}")
        try:
            features = tuple(Feature(**feature) for feature in document.get("features", ()))
            crosses = tuple(Cross(**cross) for cross in document.get("crosses", ()))
            model = cls(
                name=document["name"],
                version=document["version"],
                link=link,
                intercept=float(document["intercept"]),
                features=features,
                crosses=crosses,
            )
        except (KeyError, TypeError) as error:
            raise ModelFileError(f"bad or missing key: {error}") from error
        for name in [f.name for f in features] + [s for c in crosses for s in (c.left, c.right)]:
            check_name(name)
        for part in (*features, *crosses):
            if not part.scale > 0 or not math.isfinite(part.weight):
                raise ModelFileError(f"scale or weight out of range in `{part}`")
        return model

    def linear(self, item: Fields, user: Fields = NOTHING, context: Fields = NOTHING) -> float:
        """Returns the score before the link: scikit-learn's `decision_function` or `predict`."""
        sources = {"item": item, "user": user, "context": context}
        return self.intercept + math.fsum(
            part.contribution(sources) for part in (*self.features, *self.crosses)
        )

    def score(self, item: Fields, user: Fields = NOTHING, context: Fields = NOTHING) -> float:
        """Returns the score after the link; a probability where the link is logistic."""
        linear = self.linear(item, user, context)
        return sigmoid(linear) if self.link == "logistic" else linear

    def rank(
        self, items: Iterable[Fields], user: Fields = NOTHING, context: Fields = NOTHING, limit: int = 10
    ) -> list[tuple[float, Fields]]:
        """Returns the best items with their scores, best first, ties in the order given."""
        scored = [(self.score(item, user, context), item) for item in items]
        return sorted(scored, key=lambda pair: -pair[0])[:limit]


def check_name(name: str) -> None:
    """Raises `ModelFileError` where `name` does not start with a source and a field."""
    source, _, field = str(name).partition(".")
    if source not in SOURCES or not field:
        raise ModelFileError(
            f"feature `{name}`: name must start with {', '.join(s + '.' for s in SOURCES)}"
        )


def look_up(name: str, sources: Mapping[str, Fields]) -> float | None:
    """Returns the raw value of a feature, or None where its field is absent or null."""
    path, one_hot, wanted = name.partition("=")
    value: Any = sources
    for field in path.split("."):
        value = value.get(field) if isinstance(value, Mapping) else None
    if value is None:
        return None
    if one_hot:
        return 1.0 if value == wanted else 0.0
    return float(value)


def sigmoid(x: float) -> float:
    """Returns 1 / (1 + e^-x) without overflow."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    grown = math.exp(x)
    return grown / (1.0 + grown)
