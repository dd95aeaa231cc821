"""Writes a fitted scikit-learn model as a `tidegate-linear-1` file.

What it writes scores as the model does, within rounding, or it raises `ExportError`. A model, a
step or a setting that the format cannot hold is never approximated. `columns.py` reads the steps
before the model, and gives the columns that reach it; here they meet their weights. The objects
handed in are read by their fitted attributes, so scikit-learn itself is not imported.
"""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from tidegate.columns import Column, Columns, Crosses, ExportError, final_columns, leaves_of
from tidegate.linear import FORMAT, SOURCES, LinearModel, ModelFileError

LOGISTIC = ("LogisticRegression", "SGDClassifier", "LinearDiscriminantAnalysis")
"""Classifiers whose probability of two classes is the logistic of their score."""

CLASSIFIERS = (
    *LOGISTIC,
    *("LinearSVC", "PassiveAggressiveClassifier", "Perceptron"),
    *("RidgeClassifier", "RidgeClassifierCV"),
)
"""Classifiers whose `decision_function` is X @ coef_.T + intercept_."""

REGRESSORS = (
    *("ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "HuberRegressor", "Lars"),
    *("LarsCV", "Lasso", "LassoCV", "LinearRegression", "LinearSVR", "MultiTaskElasticNetCV"),
    *("MultiTaskLassoCV", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"),
    *("PassiveAggressiveRegressor", "QuantileRegressor", "Ridge", "RidgeCV", "SGDRegressor"),
    "TheilSenRegressor",
)
"""Regressors whose `predict` is X @ coef_.T + intercept_."""

OTHER_LINK = "its prediction is not its linear sum but a function of it; fit a Ridge, for example"
SEARCH = "it wraps the model that it found; export its `best_estimator_`"
INSTEAD = {
    **dict.fromkeys(("GammaRegressor", "PoissonRegressor", "TweedieRegressor"), OTHER_LINK),
    **dict.fromkeys(("GridSearchCV", "RandomizedSearchCV"), SEARCH),
    **dict.fromkeys(("HalvingGridSearchCV", "HalvingRandomSearchCV"), SEARCH),
    **dict.fromkeys(("NuSVC", "SVC"), "its score is a sum over vectors; fit a LinearSVC"),
    **dict.fromkeys(("NuSVR", "SVR"), "its score is a sum over vectors; fit a LinearSVR"),
    "CalibratedClassifierCV": "the format has no calibration; export the model without it",
    "FrozenEstimator": "it wraps a model; export its `estimator`",
    "OneVsRestClassifier": "it has a model for each class; export one of its `estimators_`",
    "RANSACRegressor": "it wraps the model that it fitted; export its `estimator_`",
    "TransformedTargetRegressor": "it transforms the prediction; fit without a transformer",
}
"""What to do about models that are no such sum, though many look like one."""

KINDS = {*CLASSIFIERS, *REGRESSORS, *INSTEAD}


@dataclass(frozen=True)
class Score:
    """What a final estimator does with its columns: the link of weights * columns + intercept."""

    weights: list[float]
    intercept: float
    link: str = "identity"


def export_linear(
    model: Any,
    path: str | PathLike[str],
    *,
    name: str,
    version: str,
    feature_names: Sequence[str] | None = None,
    crosses: Crosses | None = None,
    class_label: Any = None,
) -> None:
    """Writes `model` to `path`, whole or not at all.

    `model` is a fitted linear model of `CLASSIFIERS` or `REGRESSORS`, alone or at the end of a
    Pipeline. The file's score is the model's, within rounding:

    - A regressor has its `predict`.
    - A classifier of two classes has its `decision_function`. The link is logistic where
      `predict_proba` is the logistic of it; the server then answers the probability of
      `classes_[1]`. With `class_label=classes_[0]` the score is negated, and the probability is
      the other one.
    - A classifier of more classes needs `class_label`, one of its `classes_`. The file has
      `decision_function(X)[:, k]` of that class, with an identity link: this is no probability.
      A multinomial model's probability is the softmax of all scores. A one-vs-rest model divides
      the logistic of each score by the sum of them all.

    Before it, in any order and number:

    - StandardScaler, MinMaxScaler, MaxAbsScaler and RobustScaler. `clip=True` is refused.
    - SimpleImputer of any strategy: its value becomes the `missing` of the field.
      Another `missing_values` than NaN or None and `add_indicator` are refused.
    - OneHotEncoder of text fields, with or without `drop`. A category that it did not see adds
      nothing, also where `handle_unknown="error"` would raise. Categories that are not texts,
      `min_frequency` and `max_categories` are refused.
    - ColumnTransformer of these, "passthrough" and "drop", with any `remainder`. A field in two
      columns and `transformer_weights` are refused.
    - DictVectorizer as the first, then with scalers only.

    Names come from the DictVectorizer, else from `feature_names`, else from the data frame that
    the model was fitted on. `feature_names` has one for each column of the training data, in
    their order. Each that reaches the model starts with `item.`, `user.` or `context.`. A column
    called `a*b` becomes the cross of `a` and `b`; `crosses` gives the sides of columns called
    otherwise.

    A file takes null and NaN for absent. An absent field counts as what the imputer fills in, and
    as 0 where a DictVectorizer made the columns. An absent text has the category that the encoder
    has for None or NaN, else none. Any other absent number, which scikit-learn refuses, adds
    nothing: it counts as what is 0 when scaled, such as the mean.

    Raises `ExportError` for anything the format cannot hold.
    """
    *_, final = [None, *leaves_of(model)]
    score = score_of(final, class_label)
    columns = final_columns(model, feature_names, crosses or {})
    head = {"format": FORMAT, "name": name, "version": version, "link": score.link}
    document = head | terms_of(columns, score)
    try:
        LinearModel.parse(document)
    except ModelFileError as error:
        raise ExportError(f"export: {error}") from error
    write_whole(Path(path), f"{json.dumps(document, indent=1)}\n".encode())


def score_of(model: Any, class_label: Any) -> Score:
    """Returns the weights of a final estimator, or refuses its kind."""
    kind = check_kind(model)
    rows, intercepts = rows_of(model)
    if kind in REGRESSORS:
        if class_label is not None:
            raise refusal(model, "it has no classes; leave `class_label` out")
        if len(rows) != 1:
            raise refusal(model, f"it has {len(rows)} outputs, not 1; fit a model for each")
        return Score(rows[0], intercepts[0])
    classes = model.classes_.tolist()
    if class_label is not None and class_label not in classes:
        raise refusal(model, f"`class_label` {class_label!r} is none of {listed(classes)}")
    if len(rows) == 1 and len(classes) == 2:
        sign = -1.0 if class_label is not None and class_label == classes[0] else 1.0
        weights = [sign * weight for weight in rows[0]]
        return Score(weights, sign * intercepts[0], link_of(model, kind))
    if class_label is None:
        reason = f"it has {len(classes)} classes, {listed(classes)}"
        raise refusal(model, f"{reason}; pass the one to score as `class_label`")
    place = classes.index(class_label)
    return Score(rows[place], intercepts[place])


def check_kind(model: Any) -> str:
    """Returns the kind of a fitted final estimator, the nearest known class of its lineage."""
    lineage = [kind.__name__ for kind in type(model).__mro__]
    kind = next((kind for kind in lineage if kind in KINDS), None)
    if kind is None:
        known = ", ".join(CLASSIFIERS + REGRESSORS)
        raise refusal(model, f"not a linear model of a known kind; fit one of {known}")
    if kind in INSTEAD:
        raise refusal(model, f"not a linear model: {INSTEAD[kind]}")
    if not hasattr(model, "coef_"):
        raise refusal(model, "it is not fitted; call `fit` first")
    return kind


def rows_of(model: Any) -> tuple[list[list[float]], list[float]]:
    """Returns the weights and the intercept of each output or class."""
    coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    rows = coefficients.reshape(-1, coefficients.shape[-1]).astype(float).tolist()
    intercept = model.intercept_
    intercepts = intercept.ravel().tolist() if hasattr(intercept, "ravel") else [intercept]
    intercepts = [float(one) for one in intercepts]
    return rows, intercepts * len(rows) if len(intercepts) == 1 else intercepts


def link_of(model: Any, kind: str) -> str:
    """Returns the link of a classifier of two classes.

    Up to scikit-learn 1.7, `multi_class="multinomial"` made the probability the logistic of twice
    the score.
    """
    other_loss = getattr(model, "loss", "log_loss") != "log_loss"
    softmax = getattr(model, "multi_class", None) == "multinomial"
    return "identity" if kind not in LOGISTIC or other_loss or softmax else "logistic"


def terms_of(columns: Columns, score: Score) -> dict[str, Any]:
    """Returns intercept, features and crosses as the file holds them.

    The mean of a cross moves into the intercept: then its absence and a product of 0 mean the
    same, as they did in training. So does the mean of a column that marks absence.
    """
    if len(columns) != len(score.weights):
        raise ExportError(f"export: {len(columns)} columns for {len(score.weights)} weights")
    intercept = score.intercept
    features, crosses, marks = [], [], []
    for column, weight in zip(columns, score.weights, strict=True):
        if column.sides is None and not column.marks_absence:
            features.append(feature_of(column, weight))
            continue
        slope = weight / column.scale
        intercept -= slope * column.mean
        if column.sides is None:
            marks.append((column.name, slope))
        else:
            crosses.append({"left": column.sides[0], "right": column.sides[1], "weight": slope})
    refuse_repeated(features)
    sides = {side for cross in crosses for side in (cross["left"], cross["right"])}
    for field, slope in marks:
        count_absence(field, slope, [one for one in features if one["name"] not in sides])
    check_filled(columns, features)
    return {"intercept": intercept, "features": features, "crosses": crosses}


def feature_of(column: Column, weight: float) -> dict[str, Any]:
    """Returns the feature of a column that is neither a cross nor a mark of absence."""
    if not column.name.startswith(tuple(f"{source}." for source in SOURCES)):
        sources = ", ".join(f"`{source}.`" for source in SOURCES)
        raise ExportError(
            f"export: name `{column.name}` must start with {sources}; pass such `feature_names`"
        )
    feature: dict[str, Any] = {"name": column.name, "weight": weight}
    if (column.mean, column.scale) != (0.0, 1.0):
        feature |= {"mean": column.mean, "scale": column.scale}
    if column.missing is not None:
        feature["missing"] = column.missing
    return feature


def refuse_repeated(features: list[dict[str, Any]]) -> None:
    """Raises `ExportError` where two columns are of one name."""
    for name, count in Counter(feature["name"] for feature in features).items():
        if count > 1:
            raise ExportError(
                f"export: `{name}` is given twice; a field may be in one column, so drop the other"
            )


def count_absence(field: str, slope: float, features: list[dict[str, Any]]) -> None:
    """Makes the absence of `field` add `slope`, by what one of its categories is then taken for.

    No name of the format says "absent", but `missing` may be any number, and a larger weight
    keeps it small.
    """
    ones = [one for one in features if one["name"].startswith(f"{field}=") and "missing" in one]
    carrier = max(ones, key=lambda one: abs(one["weight"] / one.get("scale", 1.0)), default=None)
    if slope == 0.0:
        return
    if carrier is None or carrier["weight"] == 0.0:
        raise ExportError(
            f"export: no category of `{field}` can say what an absent one adds;"
            " fill it by SimpleImputer(strategy='constant') before the OneHotEncoder"
        )
    carrier["missing"] += slope / (carrier["weight"] / carrier.get("scale", 1.0))


def check_filled(columns: Columns, features: list[dict[str, Any]]) -> None:
    """Raises `ExportError` where an imputer fills a cross with other than its absent sides give.

    The product of absent sides is 0 where each of them counts as 0.
    """
    counts = {one["name"]: one.get("missing", one.get("mean", 0.0)) for one in features}
    for column in columns:
        if column.sides is None or column.missing is None:
            continue
        if any([column.missing, *(counts.get(side, 0.0) for side in column.sides)]):
            raise ExportError(
                f"export step `SimpleImputer`: it fills the cross `{column.name}`, whose absence"
                " follows from its sides; fill it and its sides with 0"
            )


def listed(classes: list[Any]) -> str:
    """Returns the first classes as text."""
    more = ", …" if len(classes) > 10 else ""
    return ", ".join(map(repr, classes[:10])) + more


def refusal(model: Any, reason: str) -> ExportError:
    """Returns the error that refuses a final estimator."""
    return ExportError(f"export `{type(model).__name__}`: {reason}")


def write_whole(path: Path, data: bytes) -> None:
    """Replaces `path` by `data` in one step: a server that watches it never reads half."""
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
