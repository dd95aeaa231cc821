"""Makes the example's catalogue and its readers from the real data in `raw/`.

`items.jsonl`: the real headlines, with a popularity and a freshness derived from them.
`readers.tsv`: real reading paths of msnbc.com, joined by category with reads of these headlines
that are DRAWN here, from the mixture below. Which headline anyone reads is invented, so an
uplift of personalisation measured on it is planted. README.md says so beside every figure.

The same seed gives the same bytes: only `random.Random.random` is used, whose stream Python
keeps stable.
"""

import argparse
import bisect
import collections
import csv
import io
import itertools
import json
import lzma
import math
import random
from pathlib import Path
from typing import Generic, TypeVar

HERE = Path(__file__).resolve().parent

Drawn = TypeVar("Drawn")

CATEGORIES = "btem"
"""Business, technology and science, entertainment, medicine: the letters of the headlines."""

PAGE_CATEGORY = {3: "t", 6: "e", 10: "m", 11: "e", 12: "b"}
"""msnbc's tech, on-air, health, living and business pages; its other pages are general."""

GENERAL_WEIGHT = 0.25
"""What all general pages of a path count for, where one specific page counts 1."""

FRESHNESS_HALF_LIFE_MS = 24 * 3600 * 1000

APPEAL_POPULARITY = 7.0
APPEAL_FRESHNESS = 1.0
"""A headline's appeal, in every draw but the uniform one, is exp(7 popularity + freshness)."""

PREFERRED_SHARE = 0.75
POPULAR_SHARE = 0.20
"""Of all draws: from the reader's categories by appeal; from everything by appeal.
The rest (0.05) is uniform over everything."""

READS_MIN = 6
READS_MAX = 40
READS_MORE_MEAN = 6.0
"""A reader reads 6 headlines and a geometric number more, 6 on average, at most 40 in all."""


def main() -> None:
    """Writes both files and prints what they hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raw", type=Path, default=HERE / "raw", help="folder of the packed data")
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to")
    parser.add_argument("--readers", type=int, default=5000, help="how many readers to sample")
    parser.add_argument("--seed", type=int, default=28091999, help="seed of the sample and draws")
    options = parser.parse_args()
    items = make_items(read_packed(options.raw / "headlines.csv.xz"))
    lines = [json.dumps(item, ensure_ascii=False) + "\n" for item in items]
    (options.out / "items.jsonl").write_text("".join(lines), encoding="utf-8")
    paths = read_paths(read_packed(options.raw / "msnbc_paths.tsv.xz"))
    readers = make_readers(items, paths, options.readers, random.Random(options.seed))
    (options.out / "readers.tsv").write_text("".join(readers), encoding="ascii")
    reads = sum(line.count(" ") + 1 for line in readers)
    print(f"{len(items)} items, {len(readers)} readers, {reads} drawn reads")


def read_packed(path: Path) -> str:
    """Returns the text of an xz file."""
    return lzma.decompress(path.read_bytes()).decode("utf-8")


def read_paths(text: str) -> list[tuple[int, tuple[int, ...]]]:
    """Returns each distinct path of msnbc, as page codes, with the number of its readers."""
    rows = (line.split("\t") for line in text.splitlines())
    return [(int(count), tuple(map(int, codes.split()))) for count, codes in rows]


def make_items(headlines: str) -> list[dict]:
    """Returns the catalogue; of headlines with one title only the first is kept.

    Popularity is coverage of the story (log of its headlines over the largest story's) divided
    by the square root of the headline's place in the story, by the publisher's headlines here:
    the lead of a widely covered story is popular, its fiftieth copy is not. Freshness halves
    every 24 hours before the newest headline. Both are derived from real fields; neither is a
    count of readers.
    """
    rows = list({row["title"]: row for row in reversed(read_headlines(headlines))}.values())[::-1]
    published = collections.Counter(row["publisher"] for row in rows)
    stories = collections.defaultdict(list)
    for row in rows:
        stories[row["story"]].append(row)
    story_size_max = max(map(len, stories.values()))
    popularity: dict[str, float] = {}
    for story in stories.values():
        story.sort(key=lambda row: (-published[row["publisher"]], row["ms"], int(row["id"])))
        coverage = math.log1p(len(story)) / math.log1p(story_size_max)
        popularity.update((row["id"], coverage / math.sqrt(n)) for n, row in enumerate(story, 1))
    newest_ms = max(row["ms"] for row in rows)
    return [
        {
            "id": row["id"],
            "title": row["title"],
            "category": row["category"],
            "publisher": row["publisher"],
            "popularity": round(popularity[row["id"]], 4),
            "freshness": round(0.5 ** ((newest_ms - row["ms"]) / FRESHNESS_HALF_LIFE_MS), 4),
        }
        for row in rows
    ]


def read_headlines(text: str) -> list[dict]:
    """Returns the rows in catalogue order, texts cleaned."""
    rows = []
    for row in csv.DictReader(io.StringIO(text)):
        publisher = row["publisher"] or row["hostname"]
        texts = {"title": clean(row["title"]), "publisher": clean(publisher)}
        rows.append(row | texts | {"ms": int(row["timestamp_ms"])})
    return sorted(rows, key=lambda row: int(row["id"]))


def clean(text: str) -> str:
    """Returns `text` without the source's backslashes and without signs that do not print."""
    spaced = " ".join(text.replace("\\", "").split())
    return "".join(sign for sign in spaced if sign.isprintable())


class Draw(Generic[Drawn]):
    """Draws of one set, in proportion to given weights."""

    def __init__(self, choices: list[Drawn], weights: list[float]) -> None:
        self.choices = choices
        self.cumulated = list(itertools.accumulate(weights))

    def one(self, rng: random.Random) -> Drawn:
        """Returns one of the choices."""
        place = bisect.bisect_right(self.cumulated, rng.random() * self.cumulated[-1])
        return self.choices[min(place, len(self.choices) - 1)]


def make_readers(items: list[dict], paths: list, count: int, rng: random.Random) -> list[str]:
    """Returns the lines of `readers.tsv`, for real paths of at least two categories.

    Each line is `reader TAB preference TAB items`: preference as `b:0.5,t:0.5`, letters by
    falling share; items in the order drawn, none twice.
    """
    draws = {c: appeal_draw([item for item in items if item["category"] == c]) for c in CATEGORIES}
    popular = appeal_draw(items)
    anything = Draw([item["id"] for item in items], [1.0] * len(items))
    in_catalogue = collections.Counter(item["category"] for item in items)
    general = {c: in_catalogue[c] / len(items) for c in CATEGORIES}
    long_paths = [(number, path) for number, path in paths if len(path) >= 2]
    sample = Draw([path for _, path in long_paths], [float(number) for number, _ in long_paths])
    lines = []
    for reader in range(1, count + 1):
        preference = preference_of(sample.one(rng), general)
        category = Draw(list(preference), list(preference.values()))
        reads: dict[str, None] = {}
        wanted = read_count(rng)
        while len(reads) < wanted:
            kind = rng.random()
            if kind < PREFERRED_SHARE:
                reads[draws[category.one(rng)].one(rng)] = None
            else:
                source = popular if kind < PREFERRED_SHARE + POPULAR_SHARE else anything
                reads[source.one(rng)] = None
        shares = ",".join(f"{c}:{share:.3f}" for c, share in preference.items())
        lines.append(f"r{reader:04}\t{shares}\t{' '.join(reads)}\n")
    return lines


def appeal_draw(items: list[dict]) -> Draw[str]:
    """Returns a draw of `items` by appeal."""
    appeal = [
        math.exp(APPEAL_POPULARITY * item["popularity"] + APPEAL_FRESHNESS * item["freshness"])
        for item in items
    ]
    return Draw([item["id"] for item in items], appeal)


def preference_of(path: tuple[int, ...], general: dict[str, float]) -> dict[str, float]:
    """Returns the share of each category that a real path stands for, largest first.

    Each specific page counts 1; general pages together count 0.25, spread like the catalogue.
    """
    weights = dict.fromkeys(CATEGORIES, 0.0)
    for code in path:
        if code in PAGE_CATEGORY:
            weights[PAGE_CATEGORY[code]] += 1.0
    if any(code not in PAGE_CATEGORY for code in path):
        for category, share in general.items():
            weights[category] += GENERAL_WEIGHT * share
    total = sum(weights.values())
    ranked = sorted(weights.items(), key=lambda pair: -pair[1])
    return {category: weight / total for category, weight in ranked if weight > 0}


def read_count(rng: random.Random) -> int:
    """Returns how many headlines a reader reads."""
    go_on = READS_MORE_MEAN / (1.0 + READS_MORE_MEAN)
    reads = READS_MIN
    while reads < READS_MAX and rng.random() < go_on:
        reads += 1
    return reads


if __name__ == "__main__":
    main()
