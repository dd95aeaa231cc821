"""Tells how well groups are stories: V-measure and adjusted Rand index, as JSON.

Arguments: STORIES GROUPS, a story a line and a little-endian 32-bit number each, for the first
rows; a negative one is a group of its own.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score, v_measure_score


def main() -> None:
    groups = np.fromfile(sys.argv[2], "<i4")
    stories = Path(sys.argv[1]).read_text().splitlines()[: len(groups)]
    alone = groups < 0
    groups[alone] = -1 - np.flatnonzero(alone)
    print(json.dumps([v_measure_score(stories, groups), adjusted_rand_score(stories, groups)]))


main()
