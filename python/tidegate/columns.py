"""What the steps before a linear model make of the fields, as a list of columns.

A `Column` is an affine function of one raw field. A step takes a list of columns and returns
another. A scaler moves and stretches each, an imputer says what an absent field counts as, and an
encoder makes several of one. A ColumnTransformer picks some for each of its parts. Affine
functions of affine functions are affine, so any order and number of steps is exact. A step that
is anything else raises `ExportError`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Crosses = Mapping[str, tuple[str, str]]


class ExportError(ValueError):
    """The model cannot be written as `tidegate-linear-1`; the text says what to do instead."""


@dataclass(frozen=True)
class Column:
    """One input of a step or of the model: (x - mean) / scale of what `name` stands for.

    x is the number in a field, 1 or 0 for a name `field=category`, or the product of two `sides`.
    An absent field counts as `missing`, in the unit of x. Without it the column is then 0.
    A column that `marks_absence` has an x of 1 where its field is absent, and 0 elsewhere.
    """

    name: str
    mean: float = 0.0
    scale: float = 1.0
    missing: float | str | None = None
    sides: tuple[str, str] | None = None
    marks_absence: bool = False

    def scaled(self, mean: Any, scale: Any) -> "Column":
        """Returns (column - mean) / scale."""
        moved = self.mean + self.scale * float(mean)
        return replace(self, mean=moved, scale=self.scale * float(scale))

    def filled(self, value: Any) -> "Column":
        """Returns the column with `value` where it was absent: what fills it first, counts."""
        if self.missing is not None or self.marks_absence or is_absent(value):
            return self
        raw = value if isinstance(value, str) else self.mean + self.scale * float(value)
        return replace(self, missing=raw)


Columns = list[Column]


def final_columns(model: Any, feature_names: Sequence[str] | None, crosses: Crosses) -> Columns:
    """Returns the columns that reach the final estimator of `model`."""
    *steps, _ = leaves = list(leaves_of(model))
    first = leaves[0]
    if kind_of(first) == "DictVectorizer":
        names = vectorized_names(first, feature_names, steps[1:])
        columns = raw_columns(names, crosses, missing=0.0)
        steps = steps[1:]
    else:
        columns = raw_columns(given_names(first, feature_names), crosses, missing=None)
    for step in steps:
        columns = transformed(columns, step)
    return columns


def leaves_of(model: Any) -> Iterator[Any]:
    """Yields what runs one after the other: the steps of a Pipeline, or the model alone."""
    if not hasattr(model, "steps"):
        yield model
        return
    for _, step in model.steps:
        if not is_passthrough(step):
            yield from leaves_of(step)


def vectorized_names(
    vectorizer: Any, given: Sequence[str] | None, after: Sequence[Any]
) -> list[str]:
    """Returns the names that a DictVectorizer made, with only scalers behind it.

    It takes an absent field for 0 and passes NaN on; the format has one value for both. So no
    imputer may fill the NaN.
    """
    if not hasattr(vectorizer, "feature_names_"):
        raise refusal("DictVectorizer", "it is not fitted; call `fit` first")
    if vectorizer.separator != "=":
        raise refusal("DictVectorizer", f"its separator is `{vectorizer.separator}`; use `=`")
    for step in after:
        if kind_of(step) not in SCALERS:
            reason = "after a DictVectorizer only scalers may stand; leave this step out"
            raise refusal(kind_of(step), reason)
    if given is not None and list(given) != list(vectorizer.feature_names_):
        raise ExportError(
            "export: `feature_names` contradict the DictVectorizer's names; leave them out"
        )
    return list(vectorizer.feature_names_)


def given_names(first: Any, given: Sequence[str] | None) -> list[str]:
    """Returns the names of the raw columns, from the argument or from the data frame."""
    names = getattr(first, "feature_names_in_", None) if given is None else given
    if names is None:
        raise ExportError("export: the columns have no names; pass `feature_names`")
    count = getattr(first, "n_features_in_", len(names))
    if len(names) != count:
        raise ExportError(f"export: {len(names)} feature names for {count} columns")
    return [str(name) for name in names]


def raw_columns(names: list[str], crosses: Crosses, missing: float | None) -> Columns:
    """Returns a column for each name; those called `a*b` or in `crosses` are products."""
    for cross in crosses:
        if cross not in names:
            raise ExportError(f"export: cross `{cross}` names no column of the model")
    return [
        Column(name, missing=missing, sides=crosses.get(name) or cross_sides(name))
        for name in names
    ]


def cross_sides(name: str) -> tuple[str, str] | None:
    """Returns the sides of a column called `a*b`, or None for any other."""
    left, star, right = name.partition("*")
    if "*" in right:
        raise ExportError(f"export: column `{name}` has more than the two sides of a cross")
    return (left, right) if star else None


def transformed(columns: Columns, step: Any) -> Columns:
    """Returns what a fitted step makes of `columns`."""
    if is_passthrough(step):
        return columns
    kind = kind_of(step)
    if kind not in STEPS:
        raise refusal(kind, f"allowed are {', '.join(STEPS)} and 'passthrough'; fit with these")
    if kind != "Pipeline":
        check_fitted(step, len(columns))
    return STEPS[kind](columns, step)


def check_fitted(step: Any, count: int) -> None:
    """Raises `ExportError` unless `step` was fitted on so many columns."""
    fitted = getattr(step, "n_features_in_", None)
    if fitted is None:
        raise refusal(kind_of(step), "it is not fitted; call `fit` first")
    if fitted != count:
        raise refusal(kind_of(step), f"it was fitted on {fitted} columns, not {count}; fit again")


def chained(columns: Columns, pipeline: Any) -> Columns:
    """Returns the columns after all steps of a Pipeline."""
    for _, step in pipeline.steps:
        columns = transformed(columns, step)
    return columns


def unchanged(columns: Columns, function: Any) -> Columns:
    """Returns the columns after a FunctionTransformer: fitted, "passthrough" is one without."""
    if function.func is not None:
        raise refusal("FunctionTransformer", "its function is not read; apply it to the fields")
    return columns


def scaled(columns: Columns, scaler: Any) -> Columns:
    """Returns (column - mean) / scale of each column, with the numbers of a scaler."""
    if getattr(scaler, "clip", False):
        raise refusal(kind_of(scaler), "clip=True is no affine function; fit with clip=False")
    means, scales = SCALERS[kind_of(scaler)](scaler)
    means = [0.0] * len(columns) if means is None else means
    scales = [1.0] * len(columns) if scales is None else scales
    parts = zip(columns, means, scales, strict=True)
    return [column.scaled(mean, scale) for column, mean, scale in parts]


def filled(columns: Columns, imputer: Any) -> Columns:
    """Returns the columns with a SimpleImputer's statistic where they were absent.

    As scikit-learn does, it leaves out a column that had no value at all in training.
    """
    if not is_absent(imputer.missing_values):
        reason = f"it fills {imputer.missing_values!r}; only absent values can be, as NaN or None"
        raise refusal("SimpleImputer", reason)
    if imputer.add_indicator:
        raise refusal("SimpleImputer", "add_indicator=True is not written; fit without it")
    pairs = zip(columns, imputer.statistics_, strict=True)
    keeps = getattr(imputer, "keep_empty_features", False)
    return [column.filled(value) for column, value in pairs if keeps or not is_nan(value)]


def one_hots(columns: Columns, encoder: Any) -> Columns:
    """Returns a column for each category of a OneHotEncoder that it does not drop."""
    if encoder.min_frequency is not None or encoder.max_categories is not None:
        reason = "infrequent categories have no name; fit without min_frequency, max_categories"
        raise refusal("OneHotEncoder", reason)
    drops = [None] * len(columns) if encoder.drop_idx_ is None else encoder.drop_idx_
    encoded: Columns = []
    for column, categories, drop in zip(columns, encoder.categories_, drops, strict=True):
        ones = one_hots_of(column, categories.tolist())
        encoded += [one for place, one in enumerate(ones) if place != drop]
    return encoded


def one_hots_of(column: Column, categories: list[Any]) -> Columns:
    """Returns `field=category` for each category of a text field.

    A category for absent values, None or NaN, becomes a column that marks absence.
    """
    field = column.name
    if column.sides or "=" in field:
        raise refusal("OneHotEncoder", f"`{field}` is no text field; encode the field itself")
    gaps = sum(map(is_absent, categories))
    if not all(isinstance(category, str) or is_absent(category) for category in categories):
        reason = f"`{field}` has categories that are not texts, and `field=category` compares texts"
        raise refusal("OneHotEncoder", f"{reason}; make it a text, in training and in the field")
    if gaps + (column.missing is not None) > 1:
        reason = f"`{field}` tells None from NaN, which a file cannot; use one of them in training"
        raise refusal("OneHotEncoder", reason)
    return [
        Column(field, marks_absence=True)
        if is_absent(category)
        else Column(f"{field}={category}", missing=float(category == column.missing))
        for category in categories
    ]


def split(columns: Columns, transformer: Any) -> Columns:
    """Returns the columns of all parts of a ColumnTransformer, the remainder last."""
    if transformer.transformer_weights:
        reason = "transformer_weights are not written; fit without them"
        raise refusal("ColumnTransformer", reason)
    names = getattr(transformer, "feature_names_in_", [column.name for column in columns])
    joined: Columns = []
    for _, part, chosen in transformer.transformers_:
        picked = [columns[place] for place in places_of(chosen, list(names))]
        if picked and not is_drop(part):
            joined += transformed(picked, part)
    return joined


def places_of(chosen: Any, names: list[str]) -> list[int]:
    """Returns the places that a name, number, slice, mask or list of them stands for."""
    places = range(len(names))
    if isinstance(chosen, slice):
        start, stop = chosen.start, chosen.stop
        start = names.index(start) if isinstance(start, str) else start
        stop = names.index(stop) + 1 if isinstance(stop, str) else stop
        return list(places[start : stop : chosen.step])
    listed = chosen.tolist() if hasattr(chosen, "tolist") else chosen
    listed = [listed] if isinstance(listed, (str, int)) else list(listed)
    if listed and all(isinstance(on, bool) for on in listed):
        return [place for place, on in zip(places, listed, strict=True) if on]
    return [names.index(one) if isinstance(one, str) else places[one] for one in listed]


def is_passthrough(step: Any) -> bool:
    """Returns whether scikit-learn leaves out this step of a Pipeline."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def is_drop(part: Any) -> bool:
    """Returns whether scikit-learn drops the columns of this part."""
    return isinstance(part, str) and part == "drop"


def is_nan(value: Any) -> bool:
    """Returns whether `value` is the number NaN."""
    return isinstance(value, float) and value != value


def is_absent(value: Any) -> bool:
    """Returns whether training data say so that a value is absent: None, NaN or pandas.NA."""
    return value is None or is_nan(value) or type(value).__name__ == "NAType"


def kind_of(step: Any) -> str:
    """Returns the name of a step's class."""
    return type(step).__name__


def refusal(kind: str, reason: str) -> ExportError:
    """Returns the error that refuses a step."""
    return ExportError(f"export step `{kind}`: {reason}")


SCALERS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "StandardScaler": lambda fitted: (fitted.mean_ if fitted.with_mean else None, fitted.scale_),
    "MinMaxScaler": lambda fitted: (-fitted.min_ / fitted.scale_, 1.0 / fitted.scale_),
    "MaxAbsScaler": lambda fitted: (None, fitted.scale_),
    "RobustScaler": lambda fitted: (fitted.center_, fitted.scale_),
}
"""Mean and scale of each column by a scaler, None for 0 and 1."""

STEPS: dict[str, Callable[[Columns, Any], Columns]] = {
    **dict.fromkeys(SCALERS, scaled),
    "SimpleImputer": filled,
    "OneHotEncoder": one_hots,
    "ColumnTransformer": split,
    "Pipeline": chained,
    "FunctionTransformer": unchanged,
}
"""What each kind of step makes of the columns before it."""
