"""Writes headlines of the news example, a line each.

Arguments: ARCHIVE TITLES COUNT [STORIES].
Beyond those that there are, headlines come again without their last word, then without their first.
STORIES takes the story of each, for those that are whole.
"""

import csv
import io
import lzma
import sys
from pathlib import Path


def main() -> None:
    archive, titles, count, *stories = sys.argv[1:]
    with lzma.open(archive) as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file, "utf-8")))
    words = [row["title"].split() for row in rows]
    texts = [*words, *(each[:-1] for each in words), *(each[1:] for each in words)]
    lines = (" ".join(each) + "\n" for each in texts[: int(count)])
    Path(titles).write_text("".join(lines), encoding="utf-8")
    for file in stories:
        Path(file).write_text("".join(row["story"] + "\n" for row in rows))


main()
