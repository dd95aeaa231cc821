"""Rankers are written as their libraries write them, with names that the server knows."""

import json
import math
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from tidegate import ExportError, export_ranker, feature_values
from tidegate.names import check_names

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

NAMES = ["item.price", "user.affinity@item.category", "context.hour"]
RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(200, 3))
TARGET = ROWS[:, 0] + 2 * ROWS[:, 1]
GRADES = np.digitize(TARGET, [-1, 1])
QUIET = {"verbose": -1, "num_threads": 1, "num_leaves": 4}


def boosted(objective: str, label, **more):
    group = [100, 100] if "rank" in objective else None
    data = lightgbm.Dataset(ROWS, label, group=group)
    return lightgbm.train(QUIET | {"objective": objective} | more, data, 3)


def test_values_are_those_of_the_item_the_user_and_the_request() -> None:
    item = {"id": "1", "category": "b", "price": 2, "stats": {"age": 3.5}, "sale": True}
    user = {"affinity": {"b": 0.25, "t": 0.5}, "reads": 12}
    for name, wanted in {
        "item.price": 2.0,
        "item.stats.age": 3.5,
        "item.sale": 1.0,
        "item.weight": math.nan,
        "item.category=b": 1.0,
        "item.category=t": 0.0,
        "item.kind=x": 0.0,
        "user.affinity.t": 0.5,
        "user.affinity@item.category": 0.25,
        "user.affinity@item.kind": math.nan,
        "user.seen@item.category": math.nan,
        "context.hour": 9.0,
        "context.device=phone": 1.0,
        "user.reads*item.price": 24.0,
        "user.affinity.b*item.category=t": 0.0,
        "user.age*item.category=t": math.nan,
        "item.category=b*context.hour*item.price": 18.0,
    }.items():
        context = {"hour": 9, "device": "phone"}
        assert feature_values([name], item, user, context) == pytest.approx([wanted], nan_ok=True)


def test_a_value_of_another_kind_is_refused_by_its_name() -> None:
    for name, kind in {"item.price=2": "text", "item.category": "number"}.items():
        with pytest.raises(TypeError, match=f"wants a {kind}"):
            feature_values([name], {"category": "b", "price": 2})


@pytest.mark.parametrize(
    ("names", "library", "reason"),
    [
        (["Column_0"], "", "`Column_0` must start with `item.`, `user.`, `context.`"),
        (["item."], "", "`item.` must start with"),
        (["user.affinity@category"], "", "must be `user.NAME@item.FIELD`"),
        (["item.kind@item.category"], "", "must be `user.NAME@item.FIELD`"),
        (["item.category"], "", "`item.category` is used as a number and as a text"),
        (["item.a", "item.a=b"], "", "`item.a` is used as a number and as a text"),
        (["item.a", "user.x@item.a"], "", "`item.a` is used as a number and as a text"),
        (["item.a", "item.a"], "", "`item.a` is given twice"),
        (["item.town=New York"], "LightGBM", "LightGBM takes no ' ' in a name"),
        (["item.a=b<c"], "XGBoost", "XGBoost takes no '<' in a name"),
    ],
)
def test_names_that_a_server_would_refuse_are_refused_here(names, library, reason) -> None:
    with pytest.raises(ExportError) as found:
        check_names(names, library)
    assert reason in str(found.value)


def test_a_ranker_of_lightgbm_scores_as_before_under_its_new_names(tmp_path) -> None:
    booster = boosted("lambdarank", GRADES)
    estimator = lightgbm.LGBMRanker(n_estimators=3, num_leaves=4, verbose=-1, n_jobs=1)
    estimator.fit(ROWS, GRADES, group=[100, 100])
    for model, scores in ((booster, booster.predict(ROWS)), (estimator, estimator.predict(ROWS))):
        export_ranker(model, tmp_path / "r.txt", features=NAMES)
        written = lightgbm.Booster(model_file=tmp_path / "r.txt")
        assert written.feature_name() == NAMES
        np.testing.assert_array_equal(written.predict(ROWS), scores)


def test_a_ranker_of_xgboost_scores_as_before_under_its_new_names(tmp_path) -> None:
    estimator = xgboost.XGBRanker(n_estimators=3, max_depth=2, n_jobs=1)
    estimator.fit(ROWS, GRADES, group=[100, 100])
    scores = estimator.predict(ROWS)
    for name in ("r.json", "r.ubj"):
        export_ranker(estimator, tmp_path / name, features=NAMES)
        written = xgboost.Booster(model_file=tmp_path / name)
        assert written.feature_names == NAMES
        data = xgboost.DMatrix(ROWS, feature_names=NAMES)
        np.testing.assert_array_equal(written.predict(data), scores)
    assert estimator.get_booster().feature_names is None, "the model itself is left as it was"
    with pytest.raises(ExportError, match=r"use \.json or \.ubj"):
        export_ranker(estimator, tmp_path / "r.model", features=NAMES)


def test_names_of_the_training_count_without_others(tmp_path) -> None:
    data = lightgbm.Dataset(ROWS, TARGET, feature_name=NAMES)
    export_ranker(lightgbm.train(QUIET, data, 2), tmp_path / "r.txt")
    assert lightgbm.Booster(model_file=tmp_path / "r.txt").feature_name() == NAMES


def test_what_does_not_rank_is_refused_and_leaves_the_file_as_it_was(tmp_path) -> None:
    path = tmp_path / "r.txt"
    path.write_text("as it was")
    classes = boosted("multiclass", GRADES, num_class=3)
    forest = RandomForestClassifier(2).fit(ROWS, GRADES)
    several = xgboost.XGBClassifier(n_estimators=1).fit(ROWS, GRADES)
    for model, reason in (
        (classes, "gives 3 scores"),
        (several, "gives 3 scores"),
        (forest, "gives 3 scores"),
        (boosted("regression", TARGET), "`Column_0` must start with"),
        (object(), "no fitted model of LightGBM, XGBoost or scikit-learn"),
    ):
        with pytest.raises(ExportError, match=reason):
            export_ranker(model, path if model is not several else path.with_suffix(".json"))
    with pytest.raises(ExportError, match="2 names for 3 columns"):
        export_ranker(boosted("regression", TARGET), path, features=NAMES[:2])
    assert path.read_text() == "as it was"
    assert [one.name for one in tmp_path.iterdir()] == ["r.txt"]


def test_categories_of_a_data_frame_are_refused(tmp_path) -> None:
    booster = boosted("regression", TARGET)
    booster.pandas_categorical = [["a", "b"]]
    with pytest.raises(ExportError, match="categories of a data frame"):
        export_ranker(booster, tmp_path / "r.txt", features=NAMES)


def test_a_pipeline_becomes_a_graph_that_names_its_columns(tmp_path) -> None:
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    rows = np.array(ROWS, dtype=np.float32)
    rows[::5, 0] = np.nan
    for final, output in (
        (RandomForestRegressor(3, random_state=1), 0),
        (RandomForestClassifier(3, random_state=1), 1),
    ):
        target = TARGET if output == 0 else (TARGET > 0).astype(int)
        model = make_pipeline(SimpleImputer(), final).fit(rows, target)
        export_ranker(model, tmp_path / "r.onnx", features=NAMES)
        graph = onnx.load(tmp_path / "r.onnx")
        assert {one.key: json.loads(one.value) for one in graph.metadata_props} == {
            "tidegate.features": NAMES
        }
        session = runtime.InferenceSession(graph.SerializeToString())
        found = session.run(None, {"input": rows})[output]
        wanted = model.predict(rows) if output == 0 else model.predict_proba(rows)
        np.testing.assert_allclose(np.ravel(found), np.ravel(wanted), rtol=1e-5)


@pytest.mark.parametrize(
    "final",
    [
        LinearSVC(),
        RidgeClassifier(),
        Perceptron(),
        PassiveAggressiveClassifier(),
        SGDClassifier(),
        SVC(),
        NuSVC(),
        LogisticRegression(),
        SGDClassifier(loss="log_loss"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("scaled", [False, True], ids=["alone", "scaled"])
def test_a_classifier_of_two_classes_scores_the_second(tmp_path, final, scaled) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    rows = np.array(ROWS, dtype=np.float32)
    model = make_pipeline(StandardScaler(), clone(final)) if scaled else clone(final)
    model.fit(rows, TARGET > 0.5)
    export_ranker(model, tmp_path / "r.onnx", features=NAMES)
    session = runtime.InferenceSession(tmp_path / "r.onnx")
    assert [one.type for one in session.get_outputs()][1:] == ["tensor(float)"]
    found = session.run(None, {"input": rows})[1]
    if hasattr(model, "predict_proba"):
        wanted = model.predict_proba(rows)[:, 1]
    else:
        wanted = model.decision_function(rows)
    np.testing.assert_allclose(found[:, -1], wanted, rtol=1e-3, atol=1e-4)


def test_columns_of_texts_are_inputs_of_their_own(tmp_path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    rows = np.array([[0.5, "b"], [1.5, "t"], [2.5, "b"], [3.5, "t"]], dtype=object)
    parts = [
        ("numbers", SimpleImputer(), [0]),
        ("texts", OneHotEncoder(handle_unknown="ignore", sparse_output=False), [1]),
    ]
    model = make_pipeline(ColumnTransformer(parts), RandomForestRegressor(3, random_state=1))
    model.fit(rows, [0, 1, 2, 3])
    names = ["item.price", "item.category"]
    with pytest.raises(ExportError, match="`item.category` is used as a number"):
        export_ranker(model, tmp_path / "r.onnx", features=names)
    export_ranker(model, tmp_path / "r.onnx", features=names, texts=["item.category"])
    session = runtime.InferenceSession(tmp_path / "r.onnx")
    # The converter makes names of its own of those with dots.
    price, category = (one.name for one in session.get_inputs())
    given = {price: rows[:, :1].astype(np.float32), category: rows[:, 1:].astype(str)}
    found = session.run(None, given)[0]
    np.testing.assert_allclose(np.ravel(found), model.predict(rows), rtol=1e-5)
    texts = ["item.category", "item.brand"]
    with pytest.raises(ExportError, match="`item.brand` of `texts` is none of the columns"):
        export_ranker(model, tmp_path / "r.onnx", features=names, texts=texts)


def test_a_missing_converter_is_said_with_how_to_get_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    model = RandomForestRegressor(2).fit(ROWS, TARGET)
    with pytest.raises(ExportError, match="pip install skl2onnx"):
        export_ranker(model, tmp_path / "r.onnx", features=NAMES)
