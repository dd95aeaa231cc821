"""The committed catalogue and readers are what `prepare.py` says they are."""

import collections
import json
import math
import random
from pathlib import Path

import pytest

import prepare

NEWS = Path(prepare.__file__).parent
FIELDS = {"id", "title", "category", "publisher", "popularity", "freshness"}
NUMBERS = {"popularity", "freshness"}
READERS_BYTES_MAX = 600_000


@pytest.fixture(scope="module")
def items() -> list[dict]:
    lines = (NEWS / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def readers() -> list[tuple[str, dict[str, float], list[str]]]:
    rows = []
    for line in (NEWS / "readers.tsv").read_text(encoding="ascii").splitlines():
        reader, preference, ids = line.split("\t")
        shares = dict(share.split(":") for share in preference.split(","))
        rows.append((reader, {c: float(s) for c, s in shares.items()}, ids.split(" ")))
    return rows


def test_committed_files_are_what_prepare_writes(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("sys.argv", ["prepare.py", "--out", str(tmp_path)])
    prepare.main()
    for name in ("items.jsonl", "readers.tsv"):
        assert (tmp_path / name).read_bytes() == (NEWS / name).read_bytes()


def test_items_are_well_formed(items) -> None:
    for item in items:
        assert set(item) == FIELDS
        assert all(isinstance(item[key], str) and item[key] for key in FIELDS - NUMBERS)
        assert item["title"].isprintable() and "\\" not in item["title"] + item["publisher"]
        assert item["category"] in prepare.CATEGORIES
        assert all(0 < item[key] <= 1 for key in NUMBERS)


def test_ids_and_titles_are_unique(items) -> None:
    for key in ("id", "title"):
        assert len({item[key] for item in items}) == len(items)


def test_every_category_has_more_items_than_a_page_shows(items) -> None:
    counts = collections.Counter(item["category"] for item in items)
    assert set(counts) == set(prepare.CATEGORIES) and min(counts.values()) > 10


def test_no_reader_reads_an_item_twice_or_one_that_is_not_there(items, readers) -> None:
    ids = {item["id"] for item in items}
    for _, _, reads in readers:
        assert len(set(reads)) == len(reads) and ids.issuperset(reads)
        assert prepare.READS_MIN <= len(reads) <= prepare.READS_MAX
    assert len({reader for reader, _, _ in readers}) == len(readers)


def test_readers_stay_small_enough_to_embed() -> None:
    assert (NEWS / "readers.tsv").stat().st_size < READERS_BYTES_MAX


def test_preferences_are_shares_of_known_categories(readers) -> None:
    for _, preference, _ in readers:
        assert set(preference) <= set(prepare.CATEGORIES)
        assert sum(preference.values()) == pytest.approx(1.0, abs=0.005)
        assert list(preference.values()) == sorted(preference.values(), reverse=True)


def test_reads_follow_the_stated_mixture(items, readers) -> None:
    category = {item["id"]: item["category"] for item in items}
    devoted = [row for row in readers if row[1].get("b", 0.0) > 0.8]
    reads = [category[item] for _, _, ids in devoted for item in ids]
    preferred = sum(preference["b"] * len(ids) for _, preference, ids in devoted) / len(reads)
    appeal = {
        c: sum(appeal_of(item) for item in items if item["category"] == c)
        for c in prepare.CATEGORIES
    }
    in_catalogue = sum(item["category"] == "b" for item in items) / len(items)
    uniform = 1.0 - prepare.PREFERRED_SHARE - prepare.POPULAR_SHARE
    expected = (
        prepare.PREFERRED_SHARE * preferred
        + prepare.POPULAR_SHARE * appeal["b"] / sum(appeal.values())
        + uniform * in_catalogue
    )
    assert len(reads) > 1000
    assert reads.count("b") / len(reads) == pytest.approx(expected, abs=0.03)


def appeal_of(item: dict) -> float:
    popularity, freshness = item["popularity"], item["freshness"]
    return math.exp(prepare.APPEAL_POPULARITY * popularity + prepare.APPEAL_FRESHNESS * freshness)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((12,), {"b": 1.0}),
        ((3, 12), {"b": 0.5, "t": 0.5}),
        ((6, 11, 3), {"e": 2 / 3, "t": 1 / 3}),
        ((10, 1), {"m": 0.85, "b": 0.05, "t": 0.05, "e": 0.05}),
        ((1, 2), {"b": 0.25, "t": 0.25, "e": 0.25, "m": 0.25}),
    ],
)
def test_path_becomes_the_preference_of_its_pages(path, expected) -> None:
    general = dict.fromkeys(prepare.CATEGORIES, 0.25)
    assert prepare.preference_of(path, general) == pytest.approx(expected)


def test_counted_paths_still_hold_every_reader() -> None:
    paths = prepare.read_paths(prepare.read_packed(NEWS / "raw" / "msnbc_paths.tsv.xz"))
    assert sum(count for count, _ in paths) == 989_818
    assert all(len(set(path)) == len(path) for _, path in paths)


def test_draw_follows_its_weights() -> None:
    draw = prepare.Draw(["a", "b", "c"], [1.0, 0.0, 3.0])
    rng = random.Random(1)
    counts = collections.Counter(draw.one(rng) for _ in range(4000))
    assert counts["b"] == 0
    assert counts["c"] / 4000 == pytest.approx(0.75, abs=0.03)
