"""The exported file scores as scikit-learn does, and what cannot be exported is refused."""

import json

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from tidegate import ExportError, LinearModel, export_linear

TOLERANCE = 1e-9
NAMES = ["item.popularity", "user.age", "context.hour", "user.affinity.b*item.popularity"]


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    """200 rows whose last column is the product that its name says."""
    rng = np.random.default_rng(7)
    x = rng.normal(loc=[0.5, 40.0, 12.0, 0.0], scale=[0.2, 12.0, 5.0, 1.0], size=(200, 4))
    affinity = rng.uniform(size=200)
    x[:, 3] = affinity * x[:, 0]
    y = (x[:, 0] + x[:, 3] + 0.01 * x[:, 1] + rng.normal(scale=0.3, size=200) > 1.1).astype(int)
    return x, y


def sources_of(row: np.ndarray) -> tuple[dict, dict, dict]:
    """Item, user and context that a row was made from."""
    user = {"age": row[1], "affinity": {"b": row[3] / row[0]}}
    return {"popularity": row[0]}, user, {"hour": row[2]}


def check(model, rows, path, expected, probability: bool) -> None:
    """Exports `model` and compares the file's scores, row by row, with `expected`."""
    export_linear(model, path, name="m", version="3", feature_names=NAMES)
    read = LinearModel.load(path)
    assert (read.name, read.version) == ("m", "3")
    score = read.score if probability else read.linear
    scores = [score(*sources_of(row)) for row in rows[0]]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LogisticRegression(fit_intercept=False),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
        make_pipeline(StandardScaler(with_std=False), LogisticRegression()),
        make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=1)),
    ],
)
def test_file_reproduces_probability_and_decision(model, rows, tmp_path) -> None:
    model.fit(*rows)
    path = tmp_path / "model.json"
    check(model, rows, path, model.predict_proba(rows[0])[:, 1], probability=True)
    check(model, rows, path, model.decision_function(rows[0]), probability=False)
    assert LinearModel.load(path).link == "logistic"


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        LinearRegression(fit_intercept=False),
        Ridge(alpha=2.0),
        make_pipeline(StandardScaler(), Ridge()),
    ],
)
def test_file_reproduces_regression(model, rows, tmp_path) -> None:
    model.fit(*rows)
    check(model, rows, tmp_path / "model.json", model.predict(rows[0]), probability=True)


def test_hinge_loss_is_served_as_its_decision(rows, tmp_path) -> None:
    model = make_pipeline(StandardScaler(), SGDClassifier(loss="hinge", random_state=1)).fit(*rows)
    check(model, rows, tmp_path / "m.json", model.decision_function(rows[0]), probability=True)


def test_sparse_weights_are_exported(rows, tmp_path) -> None:
    model = LogisticRegression().fit(*rows).sparsify()
    check(model, rows, tmp_path / "m.json", model.decision_function(rows[0]), probability=False)


@pytest.mark.parametrize("sparse", [True, False])
def test_dict_vectorizer_names_one_hots_and_absent_fields(sparse, tmp_path) -> None:
    rng = np.random.default_rng(3)
    records, sources = [], []
    for _ in range(300):
        category, share = str(rng.choice(list("btem"))), float(rng.uniform())
        record = {"item.category": category, f"user.affinity.b*item.category={category}": share}
        item, user = {"category": category}, {"affinity": {"b": share}}
        if rng.uniform() < 0.7:
            record["item.popularity"] = item["popularity"] = float(rng.uniform())
        records.append(record)
        sources.append((item, user))
    cross = "user.affinity.b*item.category=b"
    records = [
        {key: value for key, value in record.items() if "*" not in key or key == cross}
        for record in records
    ]
    y = [int(rng.uniform() < 0.2 + 0.6 * record.get(cross, 0.0)) for record in records]
    scaler = StandardScaler(with_mean=not sparse)
    model = Pipeline(
        [("names", DictVectorizer(sparse=sparse)), ("scale", scaler), ("fit", LogisticRegression())]
    ).fit(records, y)
    path = tmp_path / "model.json"
    export_linear(model, path, name="m", version="1")
    read = LinearModel.load(path)
    scores = [read.score(item, user) for item, user in sources]
    expected = model.predict_proba(records)[:, 1]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)
    assert [(c.left, c.right) for c in read.crosses] == [tuple(cross.split("*"))]


def test_named_columns_of_a_frame_need_no_feature_names(rows, tmp_path) -> None:
    model = LogisticRegression().fit(*rows)
    model.feature_names_in_ = np.array(NAMES, dtype=object)
    export_linear(model, tmp_path / "m.json", name="m", version="1")
    assert len(LinearModel.load(tmp_path / "m.json").features) == 3


def test_crosses_argument_gives_the_sides_of_a_column(rows, tmp_path) -> None:
    model = LogisticRegression().fit(*rows)
    names = [*NAMES[:3], "taste"]
    sides = {"taste": ("user.affinity.b", "item.popularity")}
    export_linear(model, tmp_path / "a", name="m", version="1", feature_names=names, crosses=sides)
    export_linear(model, tmp_path / "b", name="m", version="1", feature_names=NAMES)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_crosses_are_written_without_mean_so_absence_is_zero(rows, tmp_path) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*rows)
    export_linear(model, tmp_path / "m.json", name="m", version="1", feature_names=NAMES)
    (cross,) = json.loads((tmp_path / "m.json").read_text())["crosses"]
    assert set(cross) == {"left", "right", "weight"}
    read = LinearModel.load(tmp_path / "m.json")
    item, user, context = sources_of(rows[0][0])
    without = {"age": user["age"]}
    zero = without | {"affinity": {"b": 0.0}}
    assert read.linear(item, without, context) == read.linear(item, zero, context)


def test_refused_export_leaves_the_old_file(rows, tmp_path) -> None:
    path = tmp_path / "m.json"
    path.write_text("old")
    model = LogisticRegression().fit(*rows)
    with pytest.raises(ExportError, match="version"):
        export_linear(model, path, name="m", version="", feature_names=NAMES)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(
    ("model", "names", "says"),
    [
        (RandomForestClassifier(n_estimators=2), NAMES, "RandomForestClassifier.*not a linear"),
        (CalibratedClassifierCV(LogisticRegression(), cv=2), NAMES, "CalibratedClassifierCV"),
        (make_pipeline(PolynomialFeatures(), Ridge()), NAMES, "allowed are Standard"),
        (LogisticRegression(), None, "pass `feature_names`"),
        (LogisticRegression(), NAMES[:3], "3 feature names for 4 columns"),
        (LogisticRegression(), [*NAMES[:3], NAMES[0]], "given twice"),
        (LogisticRegression(), ["popularity", *NAMES[1:]], "must start with"),
        (LogisticRegression(), ["item.", *NAMES[1:]], "must start with"),
        (LogisticRegression(), [*NAMES[:3], "user.age*user.age=1"], "number and as a text"),
        (LogisticRegression(), ["item.a*item.b*item.c", *NAMES[1:]], "two sides"),
    ],
)
def test_refuses_what_the_format_cannot_hold(model, names, says, rows, tmp_path) -> None:
    model.fit(*rows)
    with pytest.raises(ExportError, match=says):
        export_linear(model, tmp_path / "m.json", name="m", version="1", feature_names=names)
    assert list(tmp_path.iterdir()) == []


def test_refuses_more_than_one_output(rows, tmp_path) -> None:
    model = Ridge().fit(rows[0], np.stack([rows[1], rows[1]], axis=1))
    with pytest.raises(ExportError, match="2 outputs"):
        export_linear(model, tmp_path / "m", name="m", version="1", feature_names=NAMES)


def test_refuses_an_unfitted_model(tmp_path) -> None:
    with pytest.raises(ExportError, match="not fitted"):
        export_linear(
            LogisticRegression(), tmp_path / "m", name="m", version="1", feature_names=NAMES
        )


def test_refuses_another_separator_of_the_vectorizer(tmp_path) -> None:
    model = make_pipeline(DictVectorizer(separator=":"), LogisticRegression())
    model.fit([{"item.c": "a"}, {"item.c": "b"}], [0, 1])
    with pytest.raises(ExportError, match="separator"):
        export_linear(model, tmp_path / "m", name="m", version="1")


def test_refuses_a_cross_of_no_column(rows, tmp_path) -> None:
    model = LogisticRegression().fit(*rows)
    sides = {"taste": ("user.affinity.b", "item.popularity")}
    with pytest.raises(ExportError, match="`taste` names no column"):
        export_linear(
            model, tmp_path / "m", name="m", version="1", feature_names=NAMES, crosses=sides
        )


def test_refuses_weights_that_are_not_finite(rows, tmp_path) -> None:
    model = LogisticRegression().fit(*rows)
    model.coef_[0, 1] = np.inf
    with pytest.raises(ExportError, match="finite"):
        export_linear(model, tmp_path / "m", name="m", version="1", feature_names=NAMES)


def test_export_that_cannot_replace_its_file_leaves_no_scrap(rows, tmp_path) -> None:
    model = LogisticRegression().fit(*rows)
    (tmp_path / "m.json").mkdir()
    with pytest.raises(OSError):
        export_linear(model, tmp_path / "m.json", name="m", version="1", feature_names=NAMES)
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.json"]
