"""Writes a fitted scikit-learn model as a `tidegate-linear-1` file.

What it writes scores as the model does, within rounding, or it raises `ExportError`: a model,
a step or a setting that the format cannot hold is never approximated. scikit-learn itself is
not imported here; the objects handed in are read by their fitted attributes.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from tidegate.linear import FORMAT, LinearModel, ModelFileError

CLASSIFIERS = ("LogisticRegression", "SGDClassifier")
REGRESSORS = ("LinearRegression", "Ridge")

Crosses = Mapping[str, tuple[str, str]]


class ExportError(ValueError):
    """The model cannot be written as `tidegate-linear-1`; the text says what stands in the way."""


@dataclass(frozen=True)
class Column:
    """One input of the model: weight * (x - mean) / scale."""

    name: str
    weight: float
    mean: float
    scale: float


def export_linear(
    model: Any,
    path: str | PathLike[str],
    *,
    name: str,
    version: str,
    feature_names: Sequence[str] | None = None,
    crosses: Crosses | None = None,
) -> None:
    """Writes `model` to `path`, whole or not at all.

    `model` is a fitted LogisticRegression, SGDClassifier (both binary), LinearRegression or
    Ridge, alone or at the end of a Pipeline of DictVectorizer and StandardScaler. The file's
    link is logistic where the model's `predict_proba` is the logistic of its score, so that the
    server answers the probability of `classes_[1]`; otherwise the server answers the score
    (`decision_function` or `predict`).

    Names come from the DictVectorizer, else from `feature_names`, else from the columns that
    the model was fitted on. Each starts with `item.`, `user.` or `context.`. A column called
    `a*b` becomes the cross of `a` and `b`; `crosses` gives the sides of columns called
    otherwise. A DictVectorizer takes an absent field for 0, so those features are written with
    `missing` 0; another absent field counts as the mean that the StandardScaler saw.

    Raises `ExportError` for anything the format cannot hold.
    """
    steps, final = split_pipeline(model)
    link = link_of(final)
    weights, intercept = weights_of(final)
    names = names_of(steps, final, feature_names, len(weights))
    means, scales = scaling_of(steps, len(weights))
    columns = [Column(*row) for row in zip(names, weights, means, scales, strict=True)]
    absent_is_zero = "DictVectorizer" in steps
    document = compose(columns, intercept, dict(crosses or {}), absent_is_zero)
    head = {"format": FORMAT, "name": name, "version": version, "link": link}
    try:
        LinearModel.parse(head | document)
    except ModelFileError as error:
        raise ExportError(f"export: {error}") from error
    write_whole(Path(path), json.dumps(head | document, indent=1) + "\n")


def split_pipeline(model: Any) -> tuple[dict[str, Any], Any]:
    """Returns the transforming steps by class, in order, and the final estimator."""
    if not hasattr(model, "steps"):
        return {}, model
    *transforms, final = [step for _, step in model.steps if step not in (None, "passthrough")]
    steps: dict[str, Any] = {}
    for step in transforms:
        kind = type(step).__name__
        allowed = ("StandardScaler",) if steps else ("DictVectorizer", "StandardScaler")
        if kind not in allowed or kind in steps:
            raise ExportError(
                f"export pipeline: step `{kind}` cannot be written;"
                " allowed are one DictVectorizer, then one StandardScaler"
            )
        steps[kind] = step
    return steps, final


def link_of(model: Any) -> str:
    """Returns the link of a final estimator, or refuses its kind."""
    lineage = [kind.__name__ for kind in type(model).__mro__]
    if not any(kind in lineage for kind in CLASSIFIERS + REGRESSORS):
        raise ExportError(
            f"export `{type(model).__name__}`: not a linear model of one of the kinds"
            f" {', '.join(CLASSIFIERS + REGRESSORS)}"
        )
    if not hasattr(model, "coef_"):
        raise ExportError(f"export `{type(model).__name__}`: it is not fitted")
    if any(kind in lineage for kind in REGRESSORS):
        return "identity"
    if len(model.classes_) != 2:
        raise ExportError(
            f"export `{type(model).__name__}`: it has {len(model.classes_)} classes, not 2;"
            " fit one binary model for each class"
        )
    return "logistic" if getattr(model, "loss", "log_loss") == "log_loss" else "identity"


def weights_of(model: Any) -> tuple[list[float], float]:
    """Returns the weights and the intercept of a model with a single output."""
    coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    if len(coefficients.shape) == 2 and coefficients.shape[0] != 1:
        raise ExportError(f"export: the model has {coefficients.shape[0]} outputs, not 1")
    weights = [float(weight) for weight in coefficients.ravel()]
    intercept = model.intercept_
    if hasattr(intercept, "ravel"):
        intercept = intercept.ravel()[0]
    return weights, float(intercept)


def names_of(
    steps: Mapping[str, Any], final: Any, given: Sequence[str] | None, count: int
) -> list[str]:
    """Returns the name of each column, from the best source there is."""
    vectorizer = steps.get("DictVectorizer")
    if vectorizer is not None:
        if vectorizer.separator != "=":
            raise ExportError(
                f"export DictVectorizer: separator is `{vectorizer.separator}`, not `=`"
            )
        fitted = vectorizer.feature_names_
        if given is not None and list(given) != list(fitted):
            raise ExportError("export: `feature_names` contradict the DictVectorizer's names")
        names = list(fitted)
    elif given is not None:
        names = list(given)
    else:
        first = steps.get("StandardScaler", final)
        if not hasattr(first, "feature_names_in_"):
            raise ExportError("export: the columns have no names; pass `feature_names`")
        names = list(first.feature_names_in_)
    if len(names) != count:
        raise ExportError(f"export: {len(names)} feature names for {count} weights")
    return [str(name) for name in names]


def scaling_of(steps: Mapping[str, Any], count: int) -> tuple[list[float], list[float]]:
    """Returns the mean and scale of each column; 0 and 1 without a StandardScaler."""
    scaler = steps.get("StandardScaler")
    means = getattr(scaler, "mean_", None) if getattr(scaler, "with_mean", False) else None
    scales = getattr(scaler, "scale_", None)
    return (
        [0.0] * count if means is None else [float(mean) for mean in means],
        [1.0] * count if scales is None else [float(scale) for scale in scales],
    )


def compose(
    columns: list[Column], intercept: float, crosses: dict[str, tuple[str, str]], zero: bool
) -> dict[str, Any]:
    """Returns intercept, features and crosses as the file holds them.

    A cross is written without mean and scale, moved into weight and intercept: then its absence
    and a product of 0 mean the same, as they did in training.
    """
    features, products = [], []
    for column in columns:
        sides = crosses.pop(column.name, None) or cross_sides(column.name)
        if sides is not None:
            weight = column.weight / column.scale
            intercept -= weight * column.mean
            products.append({"left": sides[0], "right": sides[1], "weight": weight})
            continue
        feature: dict[str, Any] = {"name": column.name, "weight": column.weight}
        if (column.mean, column.scale) != (0.0, 1.0):
            feature |= {"mean": column.mean, "scale": column.scale}
        if zero:
            feature["missing"] = 0.0
        features.append(feature)
    if crosses:
        raise ExportError(f"export: cross `{next(iter(crosses))}` names no column of the model")
    return {"intercept": intercept, "features": features, "crosses": products}


def cross_sides(name: str) -> tuple[str, str] | None:
    """Returns the sides of a column called `a*b`, or None for any other."""
    left, star, right = name.partition("*")
    if "*" in right:
        raise ExportError(f"export: column `{name}` has more than the two sides of a cross")
    return (left, right) if star else None


def write_whole(path: Path, text: str) -> None:
    """Replaces `path` by `text` in one step: a server that watches it never reads half."""
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
