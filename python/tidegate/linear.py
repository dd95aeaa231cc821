"""The format `tidegate-linear-1`, and a plain evaluator of it.

A file is one JSON object:

    {"format": "tidegate-linear-1", "name": "news", "version": "1",
     "link": "logistic", "intercept": -1.5,
     "features": [{"name": "item.popularity", "weight": 4.0, "mean": 0.2, "scale": 0.1}],
     "crosses": [{"left": "user.affinity.b", "right": "item.category=b", "weight": 2.0}]}

- A name starts with its source, `item.`, `user.` or `context.`; the rest is a path of fields,
  split at dots. `a=b` is 1 where the field `a` holds the string `b`, 0 where it holds another.
- A feature adds `weight * (x - mean) / scale`. An absent or null x counts as `missing`, which is
  the mean unless stated, so that it adds nothing.
- A cross adds `weight * (left * right - mean) / scale` of its raw sides. An absent side counts as
  the `missing` of the feature of that name, or as 0 where the model has no such feature.
- `link` is "identity", `intercept` 0, `mean` 0, `scale` 1 unless stated. Other keys are refused, a
  scale of 0, a name or a pair given twice, and a field used both as number and as text.

This file never imports numpy or scikit-learn: it is the check on the exporter, so it must not
share its arithmetic.
"""

import json
import math
from collections import Counter
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

    def absent(self) -> float:
        """Returns what an absent value counts as."""
        return self.mean if self.missing is None else self.missing


@dataclass(frozen=True)
class Cross:
    """One weighted product of two inputs."""

    left: str
    right: str
    weight: float
    mean: float = 0.0
    scale: float = 1.0


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
    def parse(cls, document: Any) -> "LinearModel":
        """Returns the model of a parsed file, or raises `ModelFileError`."""
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise ModelFileError(f"format is not `{FORMAT}`")
        keys: dict[str, Any] = {"link": "identity", "intercept": 0.0, **document}
        del keys["format"]
        try:
            keys["features"] = tuple(Feature(**feature) for feature in keys.get("features", ()))
            keys["crosses"] = tuple(Cross(**cross) for cross in keys.get("crosses", ()))
            model = cls(**keys)
        except TypeError as error:
            raise ModelFileError(f"bad or missing key: {error}") from error
        model.check()
        return model

    def check(self) -> None:
        """Raises `ModelFileError` where the server would refuse the model."""
        for key, text in (("name", self.name), ("version", self.version)):
            if not isinstance(text, str) or not text:
                raise ModelFileError(f"`{key}` is not a text")
        if self.link not in LINKS:
            raise ModelFileError(f"link `{self.link}` is none of {', '.join(LINKS)}")
        numbers = [self.intercept]
        numbers += [x for f in self.features for x in (f.weight, f.mean, f.scale, f.absent())]
        numbers += [x for c in self.crosses for x in (c.weight, c.mean, c.scale)]
        if not all(isinstance(x, (int, float)) and math.isfinite(x) for x in numbers):
            raise ModelFileError("a number is missing or not finite")
        if 0 in [part.scale for part in self.features] + [part.scale for part in self.crosses]:
            raise ModelFileError("a scale is 0")
        names = [feature.name for feature in self.features]
        sides = [side for cross in self.crosses for side in (cross.left, cross.right)]
        check_names({*names, *sides})
        refuse_repeated(names)
        refuse_repeated([" and ".join(sorted((c.left, c.right))) for c in self.crosses])

    def linear(self, item: Fields, user: Fields = NOTHING, context: Fields = NOTHING) -> float:
        """Returns the score before the link: scikit-learn's `decision_function` or `predict`."""
        sources = {"item": item, "user": user, "context": context}
        absent = {feature.name: feature.absent() for feature in self.features}

        def raw(name: str) -> float:
            value = look_up(name, sources)
            return absent.get(name, 0.0) if value is None else value

        added = [f.weight * (raw(f.name) - f.mean) / f.scale for f in self.features]
        added += [c.weight * (raw(c.left) * raw(c.right) - c.mean) / c.scale for c in self.crosses]
        return self.intercept + math.fsum(added)

    def score(self, item: Fields, user: Fields = NOTHING, context: Fields = NOTHING) -> float:
        """Returns the score after the link; a probability where the link is logistic."""
        linear = self.linear(item, user, context)
        return sigmoid(linear) if self.link == "logistic" else linear

    def rank(
        self,
        items: Iterable[Fields],
        user: Fields = NOTHING,
        context: Fields = NOTHING,
        limit: int = 10,
    ) -> list[tuple[float, Fields]]:
        """Returns the best items with their scores, best first, ties in the order given."""
        scored = [(self.score(item, user, context), item) for item in items]
        return sorted(scored, key=lambda pair: -pair[0])[:limit]


def check_names(names: Iterable[str]) -> None:
    """Raises `ModelFileError` for a name without source or field, or of two kinds."""
    kinds: dict[str, bool] = {}
    for name in sorted(names):
        source, _, rest = name.partition(".")
        field, equals, _ = rest.partition("=")
        if source not in SOURCES or not field:
            raise ModelFileError(
                f"feature `{name}`: name must start with {', '.join(s + '.' for s in SOURCES)}"
            )
        path = f"{source}.{field}"
        if kinds.setdefault(path, bool(equals)) != bool(equals):
            raise ModelFileError(f"field `{path}` is used as a number and as a text")


def refuse_repeated(names: list[str]) -> None:
    """Raises `ModelFileError` where a name stands twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ModelFileError(f"`{name}` is given twice")


def look_up(name: str, sources: Mapping[str, Fields]) -> float | None:
    """Returns the raw value of a feature, or None where its field is absent, null or NaN."""
    path, one_hot, wanted = name.partition("=")
    value: Any = sources
    for field in path.split("."):
        value = value.get(field) if isinstance(value, Mapping) else None
    if value is None:
        return None
    if isinstance(value, str) != bool(one_hot):
        raise TypeError(
            f"`{path}` is {value!r}, the model wants a {'text' if one_hot else 'number'}"
        )
    if one_hot:
        return 1.0 if value == wanted else 0.0
    return None if math.isnan(value) else float(value)


def sigmoid(x: float) -> float:
    """Returns 1 / (1 + e^-x) without overflow."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    grown = math.exp(x)
    return grown / (1.0 + grown)
