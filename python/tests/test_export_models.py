"""Every linear model of scikit-learn is exported exactly or refused, class by class."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    RANSACRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDOneClassSVM,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.utils import all_estimators

from tidegate import ExportError, LinearModel, export_linear
from tidegate.export import CLASSIFIERS, REGRESSORS

NAMES = ["item.a", "user.b", "context.c"]
OPTIONS = {"LogisticRegressionCV": {"Cs": 2, "cv": 2, "use_legacy_attributes": False}}
RNG = np.random.default_rng(5)
ROWS = RNG.normal(loc=[0.5, 4.0, -2.0], scale=[0.2, 2.0, 1.0], size=(90, 3))
TARGET = ROWS @ [3.0, 0.5, -1.0] + RNG.normal(scale=0.2, size=90)
TWO = np.where(np.median(TARGET) < TARGET, "yes", "no")
THREE = np.array(["low", "mid", "top"])[np.searchsorted(np.quantile(TARGET, [0.3, 0.7]), TARGET)]


def export(model, path, **options) -> LinearModel:
    export_linear(model, path, name="m", version="1", feature_names=NAMES, **options)
    return LinearModel.load(path)


def assert_scores(score, expected) -> None:
    """Asserts that `score` of each row is what scikit-learn said."""
    found = [score({"a": a}, {"b": b}, {"c": c}) for a, b, c in ROWS]
    np.testing.assert_allclose(found, np.ravel(expected), rtol=1e-9, atol=1e-9)


def fitted(model, target):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(ROWS, target)


def estimators(kinds) -> list:
    """Estimators of scikit-learn whose class or a base of it has one of these names."""
    return [
        pytest.param(estimator, id=name)
        for name, estimator in all_estimators()
        if {base.__name__ for base in estimator.__mro__} & set(kinds)
    ]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("estimator", estimators(CLASSIFIERS))
def test_every_classifier_is_exact_for_each_of_two_and_of_three_classes(
    estimator, tmp_path
) -> None:
    options = OPTIONS.get(estimator.__name__, {})
    model = fitted(estimator(**options), TWO)
    assert_scores(export(model, tmp_path / "m").linear, model.decision_function(ROWS))
    no = export(model, tmp_path / "m", class_label="no")
    assert_scores(no.linear, -model.decision_function(ROWS))
    if no.link == "logistic":
        assert_scores(no.score, model.predict_proba(ROWS)[:, 0])
    model = fitted(estimator(**options), THREE)
    for place, label in enumerate(model.classes_):
        read = export(model, tmp_path / "m", class_label=label)
        assert read.link == "identity"
        assert_scores(read.score, model.decision_function(ROWS)[:, place])


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("estimator", estimators(REGRESSORS))
def test_every_regressor_is_exact(estimator, tmp_path) -> None:
    several = "MultiTask" in estimator.__name__
    model = fitted(estimator(), TARGET[:, None] if several else TARGET)
    assert_scores(export(model, tmp_path / "m").score, model.predict(ROWS))


def test_every_other_estimator_is_refused_by_its_name(tmp_path) -> None:
    known = {param.values[0] for param in estimators(CLASSIFIERS + REGRESSORS)}
    predictors = dict(all_estimators(type_filter=["classifier", "regressor"]))
    others = {name: kind for name, kind in predictors.items() if kind not in known}
    linear = {"GammaRegressor", "PLSRegression", "PoissonRegressor", "SVC", "SVR"}
    assert linear <= set(others)
    for name, estimator in {**others, "SGDOneClassSVM": SGDOneClassSVM}.items():
        with pytest.raises(ExportError, match=f"`{name}`: not a linear model"):
            export(object.__new__(estimator), tmp_path / "m")


@pytest.mark.parametrize("estimator", [LinearDiscriminantAnalysis, LogisticRegression])
def test_probability_of_two_classes_is_the_score(estimator, tmp_path) -> None:
    model = fitted(estimator(), TWO)
    assert_scores(export(model, tmp_path / "m").score, model.predict_proba(ROWS)[:, 1])


@pytest.mark.parametrize(
    "model", [LinearSVC(), Perceptron(), RidgeClassifier(), SGDClassifier(loss="modified_huber")]
)
def test_score_without_a_logistic_probability_has_no_link(model, tmp_path) -> None:
    assert export(fitted(model, TWO), tmp_path / "m").link == "identity"


def test_binary_softmax_of_older_versions_has_no_link(tmp_path) -> None:
    model = fitted(LogisticRegression(), TWO)
    model.multi_class = "multinomial"
    assert export(model, tmp_path / "m").link == "identity"


def test_labels_of_several_outputs_are_named_by_their_place(tmp_path) -> None:
    both = np.stack([TARGET > np.median(TARGET), ROWS[:, 1] > 4.0], axis=1).astype(int)
    model = fitted(RidgeClassifier(), both)
    for place in range(2):
        read = export(model, tmp_path / "m", class_label=place)
        assert_scores(read.score, model.decision_function(ROWS)[:, place])


def test_default_class_is_the_second_to_the_byte(tmp_path) -> None:
    model = fitted(LogisticRegression(), TWO)
    export(model, tmp_path / "a")
    export(model, tmp_path / "b", class_label="yes")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_more_classes_of_an_unnamed_one_name_the_argument(tmp_path) -> None:
    model = fitted(LogisticRegression(), THREE)
    says = "3 classes, 'low', 'mid', 'top'; pass .* `class_label`"
    with pytest.raises(ExportError, match=says):
        export(model, tmp_path / "m")


@pytest.mark.parametrize(
    ("model", "target", "label", "says"),
    [
        (LogisticRegression(), TWO, "maybe", "'maybe' is none of 'no', 'yes'"),
        (RidgeClassifier(), np.arange(90) % 30, 77, "none of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …"),
        (Ridge(), TARGET, "yes", "no classes; leave `class_label` out"),
        (Ridge(), np.stack([TARGET, TARGET], axis=1), None, "2 outputs, not 1; fit a model for"),
        (PoissonRegressor(), TARGET - TARGET.min(), None, "PoissonRegressor.*fit a Ridge"),
        (SVC(kernel="linear"), THREE, "mid", "fit a LinearSVC"),
        (SVR(kernel="linear"), TARGET, None, "fit a LinearSVR"),
        (RANSACRegressor(random_state=1), TARGET, None, "export its `estimator_`"),
        (GridSearchCV(Ridge(), {"alpha": [1.0]}), TARGET, None, "export its `best_estimator_`"),
        (FrozenEstimator(Ridge().fit(ROWS, TARGET)), TARGET, None, "export its `estimator`"),
        (OneVsRestClassifier(LinearSVC()), THREE, "mid", "export one of its `estimators_`"),
    ],
)
def test_refusal_says_what_to_do_instead(model, target, label, says, tmp_path) -> None:
    with pytest.raises(ExportError, match=says):
        export(fitted(model, target), tmp_path / "m", class_label=label)
    assert list(tmp_path.iterdir()) == []


def test_what_a_refusal_offers_is_exported(tmp_path) -> None:
    search = fitted(GridSearchCV(Ridge(), {"alpha": [1.0]}), TARGET)
    assert_scores(export(search.best_estimator_, tmp_path / "m").score, search.predict(ROWS))
    rest = fitted(OneVsRestClassifier(LogisticRegression()), THREE)
    read = export(rest.estimators_[1], tmp_path / "m")
    assert_scores(read.linear, rest.decision_function(ROWS)[:, 1])
    assert is_classifier(rest) and json.loads((tmp_path / "m").read_text())["link"] == "logistic"
