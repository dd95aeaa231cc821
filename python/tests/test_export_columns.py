"""Steps before a model are composed exactly, absent fields included, or refused."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from tidegate import ExportError, LinearModel, export_linear
from tidegate.columns import STEPS, places_of

NAMES = ["item.age", "item.price", "item.kind", "user.plan", "item.seen_ms"]
RNG = np.random.default_rng(11)
COUNT = 120
NUMBERS = RNG.normal([40.0, 3.0, 1.4e12], [12.0, 1.0, 4e7], size=(COUNT, 3))
GAPS = np.where(RNG.uniform(size=(COUNT, 3)) < 0.2, np.nan, NUMBERS)
KINDS = RNG.choice(["book", "a*b", "c=d", ""], size=COUNT)
PLANS = RNG.choice(["free", "paid"], size=COUNT)
TARGET = NUMBERS @ [0.02, 0.5, 0.0] + 2.0 * (KINDS == "book") - (PLANS == "paid")
LABELS = (np.median(TARGET) < TARGET).astype(int)


def table(numbers=NUMBERS, kinds=KINDS, plans=PLANS) -> np.ndarray:
    """Rows with numbers and texts, in the order of `NAMES`."""
    columns = [numbers[:, 0], numbers[:, 1], kinds, plans, numbers[:, 2]]
    return np.array([list(row) for row in zip(*columns, strict=True)], dtype=object)


def gappy(texts, gap) -> np.ndarray:
    return np.where(np.arange(COUNT) % 7 == 0, gap, texts.astype(object))


FULL, HOLED = table(), table(GAPS)


def split(*parts, remainder="drop", **options) -> ColumnTransformer:
    named = [(f"part{place}", step, columns) for place, (step, columns) in enumerate(parts)]
    return ColumnTransformer(named, remainder=remainder, **options)


def read_back(model, path, names=NAMES, **options) -> LinearModel:
    export_linear(model, path, name="m", version="1", feature_names=names, **options)
    return LinearModel.load(path)


def sources_of(row, names) -> tuple[dict, dict, dict]:
    """The fields of a row; NaN and None become, in turn, an absent and a null field."""
    sources: dict[str, dict] = {}
    for place, (name, value) in enumerate(zip(names, row, strict=True)):
        source, _, field = name.partition(".")
        gap = value is None or value != value
        if not gap or place % 2:
            sources.setdefault(source, {})[field] = None if gap else value
    return sources.get("item", {}), sources.get("user", {}), sources.get("context", {})


def assert_exact(model, rows, path, target=TARGET, names=NAMES) -> LinearModel:
    """Fits and exports `model`, and compares the score of each row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, target)
        scored = model.decision_function if hasattr(model, "classes_") else model.predict
        expected = scored(rows)
    read = read_back(model, path, names)
    found = [read.linear(*sources_of(row, names)) for row in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    return read


SCALERS = [
    (StandardScaler(),),
    (StandardScaler(with_mean=False, with_std=False),),
    (MinMaxScaler(),),
    (MinMaxScaler((-3, 5)),),
    (MaxAbsScaler(),),
    (RobustScaler(),),
    (RobustScaler(with_centering=False, quantile_range=(10, 80)),),
    (RobustScaler(with_scaling=False, unit_variance=True),),
    (StandardScaler(), "passthrough", MinMaxScaler(), RobustScaler(), MaxAbsScaler()),
    (MinMaxScaler((1, 2)), make_pipeline(None, MaxAbsScaler(), FunctionTransformer())),
]
IMPUTERS = [
    SimpleImputer(),
    SimpleImputer(strategy="median"),
    SimpleImputer(strategy="most_frequent"),
    SimpleImputer(strategy="constant", fill_value=7.5),
]
NUMBER_NAMES = ["item.age", "user.price", "context.seen_ms"]


@pytest.mark.parametrize("scalers", SCALERS)
def test_scalers_are_exact_in_any_order(scalers, tmp_path) -> None:
    model = make_pipeline(*scalers, LogisticRegression())
    assert_exact(model, NUMBERS, tmp_path / "m", LABELS, NUMBER_NAMES)


@pytest.mark.parametrize("imputer", IMPUTERS)
@pytest.mark.parametrize("scalers", SCALERS[::4])
def test_absent_fields_count_as_imputed_on_either_side_of_a_scaler(
    imputer, scalers, tmp_path
) -> None:
    for steps in ((imputer, *scalers), (*scalers, imputer, SimpleImputer())):
        model = make_pipeline(*steps, Ridge())
        assert_exact(model, GAPS, tmp_path / "m", names=NUMBER_NAMES)


def test_absent_number_that_nothing_fills_adds_nothing(tmp_path) -> None:
    model = make_pipeline(StandardScaler(), MinMaxScaler(), Ridge())
    read = assert_exact(model, NUMBERS, tmp_path / "m", names=NUMBER_NAMES)
    assert read.linear({}) == pytest.approx(model[-1].intercept_, abs=1e-12)


@pytest.mark.parametrize("keep", [True, False])
def test_column_without_any_value_is_left_out_or_kept_as_in_training(keep, tmp_path) -> None:
    rows = np.column_stack([GAPS[:, 0], np.full(COUNT, np.nan), GAPS[:, 1]])
    model = make_pipeline(SimpleImputer(keep_empty_features=keep), StandardScaler(), Ridge())
    read = assert_exact(model, rows, tmp_path / "m", names=NUMBER_NAMES)
    assert len(read.features) == 2 + keep


@pytest.mark.parametrize("drop", [None, "first", "if_binary", ["book", "paid"]])
@pytest.mark.parametrize("unknown", ["ignore", "error", "infrequent_if_exist"])
def test_one_hots_become_categories_of_text_fields(drop, unknown, tmp_path) -> None:
    encoder = OneHotEncoder(drop=drop, handle_unknown=unknown)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = split((numbers, [0, 1]), (encoder, [2, 3]), remainder=RobustScaler())
    for after in ((), (StandardScaler(),), (SimpleImputer(), MinMaxScaler((1, 2)))):
        model = make_pipeline(columns, *after, Ridge())
        rows = table(np.column_stack([GAPS[:, :2], NUMBERS[:, 2]]))
        read = assert_exact(model, rows, tmp_path / "m")
        assert {c for c in ("item.kind=a*b", "item.kind=c=d") if drop != "first"} <= {
            feature.name for feature in read.features
        }


@pytest.mark.parametrize("gap", [None, np.nan])
def test_unknown_and_absent_categories_add_nothing(gap, tmp_path) -> None:
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(split((encoder, [2, 3])), StandardScaler(with_mean=False), Ridge())
    read = assert_exact(model, FULL, tmp_path / "m")
    rows = table(kinds=gappy(KINDS, gap), plans=gappy(PLANS, "never seen"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict(rows)
    found = [read.linear(*sources_of(row, NAMES)) for row in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert found[0] == pytest.approx(model[-1].intercept_, abs=1e-12)


@pytest.mark.parametrize("gap", [None, np.nan])
@pytest.mark.parametrize("drop", [None, "first"])
def test_category_for_absent_texts_counts_where_the_field_is_absent(gap, drop, tmp_path) -> None:
    rows = table(kinds=gappy(KINDS, gap), plans=gappy(PLANS, gap))
    for after in ((), (StandardScaler(with_mean=False), MinMaxScaler((1, 3)))):
        columns = split((OneHotEncoder(drop=drop, sparse_output=False), [2, 3]))
        read = assert_exact(make_pipeline(columns, *after, Ridge()), rows, tmp_path / "m")
        assert not any(feature.name.endswith(("=None", "=nan")) for feature in read.features)


@pytest.mark.parametrize("gap", [None, np.nan])
@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "most_frequent"},
        {"strategy": "constant", "fill_value": "none"},
        {"strategy": "constant", "fill_value": "book"},
    ],
)
def test_absent_text_counts_as_the_imputed_category(gap, options, tmp_path) -> None:
    texts = make_pipeline(SimpleImputer(missing_values=gap, **options), OneHotEncoder())
    model = make_pipeline(split((texts, [2, 3])), StandardScaler(with_mean=False), Ridge())
    rows = table(kinds=gappy(KINDS, gap), plans=gappy(PLANS, gap))
    assert_exact(model, rows, tmp_path / "m")


@pytest.mark.parametrize(
    "parts",
    [
        [("passthrough", slice(0, 2))],
        [(StandardScaler(), [-1, 0]), ("drop", [2]), (MinMaxScaler(), [])],
        [(MinMaxScaler(), np.array([True, True, False, False, True]))],
        [(StandardScaler(), [True, False, False, False, False]), (RobustScaler(), np.array([1]))],
    ],
)
@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
def test_parts_are_chosen_by_numbers_slices_and_masks(parts, remainder, tmp_path) -> None:
    if remainder == "passthrough":
        parts = [*parts, (OneHotEncoder(), [2, 3])]
    assert_exact(make_pipeline(split(*parts, remainder=remainder), Ridge()), FULL, tmp_path / "m")


@pytest.mark.parametrize(
    ("chosen", "places"),
    [
        ("c", [2]),
        (["d", "a"], [3, 0]),
        (np.array(["d"], dtype=object), [3]),
        (slice("b", "d"), [1, 2, 3]),
        (slice(None, "b"), [0, 1]),
        (slice(None, None, -2), [4, 2, 0]),
        (-2, [3]),
        ([], []),
    ],
)
def test_columns_of_a_frame_are_found_by_name(chosen, places) -> None:
    assert places_of(chosen, list("abcde")) == places


def test_feature_names_rename_the_columns_of_a_frame(tmp_path) -> None:
    model = make_pipeline(split((OneHotEncoder(), [2]), (StandardScaler(), [1, 0])), Ridge())
    model.fit(FULL, TARGET)
    read_back(model, tmp_path / "by_number")
    columns = model[0]
    columns.feature_names_in_ = np.array(["age", "price", "kind", "plan", "seen"], dtype=object)
    columns.transformers_ = [
        ("texts", columns.transformers_[0][1], ["kind"]),
        ("numbers", columns.transformers_[1][1], ["price", "age"]),
    ]
    read_back(model, tmp_path / "by_name")
    assert (tmp_path / "by_name").read_bytes() == (tmp_path / "by_number").read_bytes()
    with pytest.raises(ExportError, match="`kind=` must start with .* pass such `feature_names`"):
        read_back(model, tmp_path / "m", names=None)


def test_names_of_dropped_columns_are_free(tmp_path) -> None:
    model = make_pipeline(split((StandardScaler(), [0])), Ridge())
    assert_exact(model, FULL, tmp_path / "m", names=["item.age", "id", "x*y", "a", "b"])


def test_cross_of_encoded_text_is_kept_apart_from_its_one_hot(tmp_path) -> None:
    shares = RNG.uniform(size=COUNT)
    names = ["item.kind", "user.share", "user.share*item.kind=book"]
    rows = np.array(
        [[k, s, s * (k == "book")] for k, s in zip(KINDS, shares, strict=True)], dtype=object
    )
    columns = split((OneHotEncoder(), [0]), (make_pipeline(SimpleImputer(), RobustScaler()), [1]))
    columns.set_params(remainder=StandardScaler())
    model = make_pipeline(columns, Ridge(0.1))
    read = assert_exact(model, rows, tmp_path / "m", names=names)
    assert [(cross.left, cross.right) for cross in read.crosses] == [tuple(names[2].split("*"))]


def test_imputed_cross_is_exact_where_its_sides_count_as_0(tmp_path) -> None:
    left, right = GAPS[:, 0], GAPS[:, 1]
    rows = np.column_stack([left, right, left * right])
    names = ["item.age", "user.price", "item.age*user.price"]
    zeros = SimpleImputer(strategy="constant", fill_value=0.0)
    assert_exact(make_pipeline(zeros, Ridge()), rows, tmp_path / "m", names=names)
    model = make_pipeline(SimpleImputer(), Ridge()).fit(rows, TARGET)
    with pytest.raises(ExportError, match=r"cross `item.age\*user.price`.* with 0"):
        read_back(model, tmp_path / "m", names)


def test_encoder_alone_needs_no_column_transformer(tmp_path) -> None:
    rows = FULL[:, 2:4]
    assert_exact(make_pipeline(OneHotEncoder(), Ridge()), rows, tmp_path / "m", names=NAMES[2:4])


def test_file_of_one_hots_says_that_absence_is_0(tmp_path) -> None:
    model = make_pipeline(split((OneHotEncoder(), [3])), StandardScaler(with_mean=False), Ridge())
    assert_exact(model, FULL, tmp_path / "m")
    features = json.loads((tmp_path / "m").read_text())["features"]
    assert [(one["name"], one["missing"]) for one in features] == [
        ("user.plan=free", 0.0),
        ("user.plan=paid", 0.0),
    ]


WEIGHTS = {"part0": 2.0}
BOTH = np.roll(gappy(np.roll(gappy(KINDS, None), 1), np.nan), 1)
ABSENT_ALONE = np.where(PLANS == "paid", "one", None)


@pytest.mark.parametrize(
    ("steps", "rows", "says"),
    [
        ([MinMaxScaler(clip=True)], NUMBERS, "MinMaxScaler`: clip=True .* clip=False"),
        ([SimpleImputer(missing_values=0)], NUMBERS, "it fills 0; only absent"),
        ([SimpleImputer(add_indicator=True)], GAPS[:, :2], "add_indicator.* fit without it"),
        ([FunctionTransformer(np.sqrt)], NUMBERS[:, 1:] + 9, "its function is not read"),
        ([OneHotEncoder(min_frequency=2)], FULL[:, 2:4], "infrequent .* fit without min_frequency"),
        ([OneHotEncoder(max_categories=2)], FULL[:, 2:4], "infrequent"),
        ([OneHotEncoder()], np.arange(COUNT)[:, None] % 3, "not texts.*; make it a text"),
        ([OneHotEncoder()], BOTH[:, None], "tells None from NaN"),
        ([OneHotEncoder(drop="first")], ABSENT_ALONE[:, None], "no category .*; fill it by"),
        ([split(("passthrough", [0]), (MaxAbsScaler(), [0]))], NUMBERS, "given twice; .*drop the"),
        ([split((MaxAbsScaler(), [0]), transformer_weights=WEIGHTS)], NUMBERS, "fit without them"),
        ([split((MinMaxScaler(clip=True), [0]))], NUMBERS, "clip=True"),
        ([split((make_pipeline(FunctionTransformer(np.abs)), [0]))], NUMBERS, "not read"),
    ],
)
def test_refusal_of_a_step_says_what_to_do_instead(steps, rows, says, tmp_path) -> None:
    model = make_pipeline(*steps, Ridge()).fit(rows, TARGET)
    names = [f"item.x{place}" for place in range(rows.shape[1])]
    with pytest.raises(ExportError, match=says):
        read_back(model, tmp_path / "m", names)
    assert list(tmp_path.iterdir()) == []


def test_encoder_refuses_columns_that_are_no_field(tmp_path) -> None:
    model = make_pipeline(OneHotEncoder(), Ridge()).fit(FULL[:, 2:3], TARGET)
    for name in ("item.kind=a", "item.a*item.b"):
        with pytest.raises(ExportError, match="no text field; encode the field itself"):
            read_back(model, tmp_path / "m", [name])


def test_weightless_categories_cannot_tell_absence(tmp_path) -> None:
    model = make_pipeline(OneHotEncoder(), Lasso(alpha=0.01))
    model.fit(gappy(KINDS, None)[:, None], TARGET)
    model[-1].coef_[:-1] = 0.0
    with pytest.raises(ExportError, match="fill it by SimpleImputer"):
        read_back(model, tmp_path / "m", ["item.kind"])
    model[-1].coef_[-1] = 0.0
    read_back(model, tmp_path / "m", ["item.kind"])


@pytest.mark.parametrize("step", [SimpleImputer(), OneHotEncoder(handle_unknown="ignore")])
def test_only_scalers_stand_behind_a_dict_vectorizer(step, tmp_path) -> None:
    model = make_pipeline(DictVectorizer(sparse=False), step, Ridge())
    model.fit([{"item.a": 1.0}, {"item.a": None, "item.b": 2.0}], [0.0, 1.0])
    with pytest.raises(ExportError, match="only scalers may stand; leave this step out"):
        read_back(model, tmp_path / "m", None)


def test_refuses_a_step_that_is_not_fitted(tmp_path) -> None:
    model = make_pipeline(StandardScaler(), Ridge())
    model.steps[-1] = ("ridge", Ridge().fit(NUMBERS, TARGET))
    with pytest.raises(ExportError, match="step `StandardScaler`: it is not fitted; call `fit`"):
        read_back(model, tmp_path / "m", NUMBER_NAMES)


def test_the_readme_names_every_step_that_is_composed() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    rows = re.search(r"^\| step before the model.*?\n\n", readme, re.DOTALL | re.MULTILINE)
    assert rows
    named = set(re.findall(r"`(\w+)`", rows[0]))
    # A pipeline in a pipeline is its steps.
    assert STEPS.keys() - named == {"Pipeline"}
