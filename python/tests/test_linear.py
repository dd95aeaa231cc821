"""The plain evaluator follows the format's rules on absence, one-hots and links."""

import json

import pytest

from tidegate import LinearModel, ModelFileError

HEAD = {"format": "tidegate-linear-1", "name": "m", "version": "1", "intercept": 0.5}


def one(feature: dict) -> LinearModel:
    return LinearModel.parse(HEAD | {"features": [feature]})


@pytest.mark.parametrize(
    ("feature", "item", "expected"),
    [
        ({"name": "item.x", "weight": 2.0}, {"x": 3.0}, 6.5),
        ({"name": "item.x", "weight": 2.0, "mean": 1.0, "scale": 4.0}, {"x": 3.0}, 1.5),
        ({"name": "item.x", "weight": 2.0, "mean": 1.0}, {}, 0.5),
        ({"name": "item.x", "weight": 2.0, "mean": 1.0}, {"x": None}, 0.5),
        ({"name": "item.x", "weight": 2.0, "mean": 1.0, "missing": 0.0}, {}, -1.5),
        ({"name": "item.c=b", "weight": 2.0}, {"c": "b"}, 2.5),
        ({"name": "item.c=b", "weight": 2.0, "mean": 0.25}, {"c": "t"}, 0.0),
        ({"name": "item.c=b", "weight": 2.0, "mean": 0.25}, {}, 0.5),
        ({"name": "item.c=a=b", "weight": 2.0}, {"c": "a=b"}, 2.5),
        ({"name": "item.deep.x", "weight": 2.0}, {"deep": {"x": 1}}, 2.5),
        ({"name": "item.deep.x", "weight": 2.0}, {"deep": 3}, 0.5),
    ],
)
def test_feature_contributes_by_the_rule(feature, item, expected) -> None:
    assert one(feature).score(item) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("item", "user", "expected"),
    [
        ({"c": "b"}, {"affinity": {"b": 0.25}}, 1.5),
        ({"c": "t"}, {"affinity": {"b": 0.25}}, 0.5),
        ({"c": "b"}, {}, 0.5),
        ({}, {"affinity": {"b": 0.25}}, 0.5),
    ],
)
def test_cross_multiplies_raw_values_and_takes_an_unknown_side_for_0(item, user, expected) -> None:
    cross = {"left": "user.affinity.b", "right": "item.c=b", "weight": 4.0}
    model = LinearModel.parse(HEAD | {"crosses": [cross]})
    assert model.score(item, user) == expected


def test_absent_side_of_a_cross_counts_as_its_feature_does() -> None:
    model = LinearModel.parse(
        HEAD
        | {
            "features": [{"name": "item.x", "weight": 1.0, "mean": 0.25}],
            "crosses": [{"left": "user.y", "right": "item.x", "weight": 4.0}],
        }
    )
    assert model.score({}, {"y": 3.0}) == 0.5 + 4.0 * 3.0 * 0.25
    assert model.score({"x": float("nan")}, {"y": 3.0}) == model.score({}, {"y": 3.0})


@pytest.mark.parametrize(("name", "value"), [("item.x", "3"), ("item.x=3", 3)])
def test_refuses_a_value_of_the_wrong_kind(name, value) -> None:
    with pytest.raises(TypeError, match="`item.x`"):
        one({"name": name, "weight": 1.0}).score({"x": value})


def test_logistic_link_does_not_overflow() -> None:
    model = LinearModel.parse(
        HEAD | {"link": "logistic", "features": [{"name": "item.x", "weight": 1.0}]}
    )
    assert model.score({"x": 1e6}) == 1.0
    assert model.score({"x": -1e6}) == 0.0
    assert model.score({"x": -0.5}) == 0.5


def test_rank_orders_best_first_and_keeps_ties_in_order() -> None:
    model = one({"name": "item.x", "weight": 1.0})
    items = [{"id": n, "x": x} for n, x in enumerate([1.0, 3.0, 1.0, 2.0])]
    assert [item["id"] for _, item in model.rank(items, limit=3)] == [1, 3, 0]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "format"),
        ({"format": "tidegate-linear-2"}, "format"),
        (HEAD | {"link": "probit"}, "probit"),
        ({"format": HEAD["format"], "name": "m"}, "version"),
        (HEAD | {"version": 1}, "version"),
        (HEAD | {"intercept": "0.5"}, "number"),
        (HEAD | {"colour": 1}, "colour"),
        (HEAD | {"features": [{"name": "item.x", "weight": float("nan")}]}, "finite"),
        (HEAD | {"features": [{"name": "item.x", "weight": 1.0}] * 2}, "`item.x` is given twice"),
        (
            HEAD
            | {
                "crosses": [
                    {"left": "item.x", "right": "user.y", "weight": 1.0},
                    {"left": "user.y", "right": "item.x", "weight": 1.0},
                ]
            },
            "given twice",
        ),
        (
            HEAD
            | {
                "features": [
                    {"name": "item.x", "weight": 1.0},
                    {"name": "item.x=a", "weight": 1.0},
                ]
            },
            "number and as a text",
        ),
        (HEAD | {"features": [{"name": "item.x"}]}, "weight"),
        (HEAD | {"features": [{"name": "item.x", "weight": 1.0, "colour": 1}]}, "colour"),
        (HEAD | {"features": [{"name": "x", "weight": 1.0}]}, "must start with"),
        (HEAD | {"features": [{"name": "item.x", "weight": 1.0, "scale": 0.0}]}, "scale"),
        (HEAD | {"crosses": [{"left": "item.x", "right": "y", "weight": 1.0}]}, "`y`"),
    ],
)
def test_refuses_a_file_that_is_not_of_the_format(document, says) -> None:
    with pytest.raises(ModelFileError, match=says):
        LinearModel.parse(document)


def test_refuses_a_file_that_is_not_json(tmp_path) -> None:
    (tmp_path / "m.json").write_text(json.dumps(HEAD)[:-5])
    with pytest.raises(ModelFileError, match="not JSON"):
        LinearModel.load(tmp_path / "m.json")
