"""The committed model comes from the committed data, is fitted without leaks, and shows."""

import collections
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import msweb
import ranker
import train
from tidegate import LinearModel, export_linear

NEWS = Path(train.__file__).parent
READS_MIN = 5
ANONYMOUS: dict = {}


@pytest.fixture(scope="module")
def items() -> list[dict]:
    return train.read_items(NEWS / "items.jsonl")


@pytest.fixture(scope="module")
def readers() -> dict[str, list[str]]:
    return train.read_readers(NEWS / "readers.tsv")


@pytest.fixture(scope="module")
def model() -> LinearModel:
    return LinearModel.load(NEWS / "model.json")


def top_ten(model: LinearModel, items: list[dict], profile: dict) -> list[dict]:
    return [item for _, item in model.rank(items, profile, limit=10)]


def profile_of(reads: list[str], category: dict[str, str]) -> dict:
    """The profile that Tidegate would build of these reads, were they all of one age."""
    counts = collections.Counter(category[item] for item in reads)
    affinity = {c: count / len(reads) for c, count in counts.items()}
    return {"affinity": affinity, "reads": len(reads), "recent": reads[::-1][:100]}


def test_training_again_writes_the_committed_model(monkeypatch, tmp_path, capsys) -> None:
    out = tmp_path / "model.json"
    monkeypatch.setattr("sys.argv", ["train.py", "--out", str(out)])
    train.main()
    ours, committed = LinearModel.load(out), LinearModel.load(NEWS / "model.json")
    assert ours.intercept == pytest.approx(committed.intercept, abs=1e-5)
    for parts in ("features", "crosses"):
        for one, other in zip(getattr(ours, parts), getattr(committed, parts), strict=True):
            assert dataclasses.asdict(one) == pytest.approx(dataclasses.asdict(other), abs=1e-5)
    printed = capsys.readouterr().out
    assert printed.count("PLANTED uplift") == 2


def test_plain_evaluator_ranks_as_the_measured_ranker(items, readers, model) -> None:
    space = train.space_of(items)
    place = {item["id"]: n for n, item in enumerate(items)}
    category = {item["id"]: item["category"] for item in items}
    cases = train.split(readers, items, seed=1)
    examples = [ex for kept, _ in cases for ex in ranker.leave_one_out(kept)]
    scores_of = ranker.ranker(space, ranker.fit(space, examples, seed=1))
    for reads in list(readers.values())[:20]:
        scores = scores_of([place[item] for item in reads])
        best = [items[n]["id"] for n in np.argsort(-scores, kind="stable")[:10]]
        ranked = top_ten(model, items, profile_of(reads, category))
        assert [item["id"] for item in ranked] == best


@pytest.mark.parametrize("wanted", train.CATEGORIES)
def test_five_reads_of_one_category_show(wanted, items, model) -> None:
    reads = [item["id"] for item in items if item["category"] == wanted][:READS_MIN]
    ranked = top_ten(model, items, profile_of(reads, dict.fromkeys(reads, wanted)))
    anonymous = {item["id"] for item in top_ten(model, items, ANONYMOUS)}
    assert sum(item["category"] == wanted for item in ranked) >= 8
    assert sum(item["id"] not in anonymous for item in ranked) >= 4


@pytest.mark.parametrize("wanted", train.CATEGORIES)
def test_devoted_readers_see_mostly_their_category(wanted, items, readers, model) -> None:
    category = {item["id"]: item["category"] for item in items}
    anonymous = {item["id"] for item in top_ten(model, items, ANONYMOUS)}
    shown = 0
    for reads in readers.values():
        count = sum(category[item] == wanted for item in reads)
        if count < READS_MIN or count < 0.7 * len(reads):
            continue
        ranked = top_ten(model, items, profile_of(reads, category))
        assert sum(item["category"] == wanted for item in ranked) >= 7
        assert sum(item["id"] not in anonymous for item in ranked) >= 3
        shown += 1
        if shown == 8:
            break
    assert shown == 8


def test_anonymous_top_ten_mixes_categories(items, model) -> None:
    categories = {item["category"] for item in top_ten(model, items, ANONYMOUS)}
    assert categories >= {"b", "t", "e"}


def test_target_is_never_in_its_own_profile() -> None:
    reads = [7, 3, 9]
    assert ranker.leave_one_out(reads) == [([3, 9], 7), ([7, 9], 3), ([7, 3], 9)]


def test_negatives_share_the_targets_profile_and_are_unchosen(items) -> None:
    seen = []
    space = dataclasses.replace(
        train.space_of(items[:30]), profile=lambda known: seen.append(tuple(known)) or np.ones(4)
    )
    ranker.fit(space, [([1, 2], 3), ([2, 3], 1)], seed=1)
    assert seen == [(1, 2), (2, 3)]
    rng = np.random.default_rng(1)
    for _ in range(200):
        others = ranker.draw_others(8, {1, 2, 3}, rng)
        assert len(set(others)) == ranker.NEGATIVES and not {1, 2, 3} & set(others)
    assert len(ranker.draw_others(5, {1, 2, 3}, rng)) == 2


def test_hold_out_hides_at_random_places_and_keeps_the_rest() -> None:
    rng = np.random.default_rng(1)
    places = collections.Counter()
    for _ in range(500):
        kept, hidden = ranker.hold_out([10, 11, 12, 13, 14], 0.2, rng)
        assert len(hidden) == 1 and sorted(kept + hidden) == [10, 11, 12, 13, 14]
        places.update(hidden)
    assert len(places) == 5 and min(places.values()) > 60
    assert len(ranker.hold_out([1, 2], 0.9, rng)[1]) == 1


def test_measures_agree_with_values_worked_by_hand() -> None:
    scores = np.array([5.0, 4.0, 3.0, 2.0])
    quality = ranker.measure([([0], [2, 3]), ([3], [0])], lambda _: scores)
    assert quality.first.tolist() == [False, True]
    assert quality.recall.tolist() == [1.0, 1.0]
    discount = 1 / np.log2(3), 1 / np.log2(4)
    assert quality.ndcg.tolist() == pytest.approx([sum(discount) / (1 + discount[0]), 1.0])


def test_what_is_known_is_never_recommended() -> None:
    assert ranker.top(np.array([3.0, 2.0, 1.0]), [0]) == [1, 2]


def test_areas_ranker_is_within_the_file_format(tmp_path) -> None:
    rng = np.random.default_rng(2)
    visits = (rng.uniform(size=(300, 150)) < 0.05).astype(np.float32)
    space = msweb.area_space(visits)
    examples = [ex for row in visits[:60] for ex in ranker.leave_one_out(np.flatnonzero(row))]
    examples = [(known, target) for known, target in examples if len(known)]
    model = ranker.fit(space, examples, seed=1)
    path = tmp_path / "areas.json"
    export_linear(model, path, name="areas", version="1", feature_names=space.column_names())
    read = LinearModel.load(path)
    known = [3, 8]
    user = {"factor": {str(n): x for n, x in enumerate(space.profile(known))}}
    scores = [
        read.linear(
            {
                "log_visits": space.features[n, 0],
                "factor": {str(k): x for k, x in enumerate(space.sides[n])},
            },
            user,
        )
        for n in range(150)
    ]
    expected = ranker.ranker(space, model)(known)
    np.testing.assert_allclose(np.diff(scores), np.diff(expected), atol=1e-9)


def test_next_task_learns_a_path_that_always_goes_on_alike() -> None:
    space = msweb.next_space()
    steps = [step for _ in range(40) for step in msweb.steps_of([0, 4, 2])]
    scores_of = ranker.ranker(space, ranker.fit(space, steps, seed=1))
    assert ranker.top(scores_of([0]), [0])[0] == 4
    assert ranker.top(scores_of([0, 4]), [0, 4])[0] == 2


def test_visits_are_read_whole() -> None:
    train_visits = msweb.read_visits(NEWS / "raw" / "anonymous-msweb.data.xz")
    test_visits = msweb.read_visits(NEWS / "raw" / "anonymous-msweb.test.xz")
    assert (len(train_visits), len(test_visits)) == (32_711, 5_000)
    assert sum(map(len, train_visits)) == 98_654


def test_committed_model_has_the_features_the_profile_offers() -> None:
    model = json.loads((NEWS / "model.json").read_text())
    names = {f["name"] for f in model["features"]} | {c["left"] for c in model["crosses"]}
    assert names == {"item.popularity", "item.freshness"} | {
        f"user.affinity.{c}" for c in train.CATEGORIES
    }
