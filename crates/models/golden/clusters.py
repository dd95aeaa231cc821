"""Writes rows with the groups that scikit-learn and sentence-transformers' method make of them.

A case is a file `NAME.txt`: a line `linkage SIMILARITY` or `communities SIMILARITY MEMBERS`, then
per line a row and its group, parted by `|`; -1 is noise. Linkage is scikit-learn's
`AgglomerativeClustering`; communities are `util.community_detection` of sentence-transformers
(Apache-2.0), which needs torch and is written out below. It takes communities of one size in the
order of their rows, which here are in the order of their numbers.

Run from the root of the repository, for the small ones that the tests read:
    pip install scikit-learn==1.9.1
    python3 crates/models/golden/clusters.py crates/models/golden/clusters
and for more and larger ones, which the tests make anew:
    python3 crates/models/golden/clusters.py FOLDER --rows 600 --dims 96
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.cluster import AgglomerativeClustering


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--dims", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    for spread in (0.4, 0.7, 1.0):
        rows = drawn(rng, options.rows, options.dims, spread)
        for similarity in (0.2, 0.45, 0.6, 0.75):
            name = f"{round(spread * 10):02}-{round(similarity * 100)}.txt"
            groups = linkage(rows, similarity)
            write(options.folder / f"linkage-{name}", f"linkage {similarity}", rows, groups)
            for members in (2, 4):
                groups = communities(rows, similarity, members)
                how = f"communities {similarity} {members}"
                write(options.folder / f"communities-{members}-{name}", how, rows, groups)


def drawn(rng: np.random.Generator, count: int, dims: int, spread: float) -> np.ndarray:
    """Rows of length 1 around centres of which some are large; a few rows come twice."""
    centres = rng.normal(size=(max(count // 8, 1), dims))
    nearest = (len(centres) * rng.random(count) ** 2).astype(int)
    rows = centres[nearest] + spread * rng.normal(size=(count, dims))
    rows[:: count // 4] = rows[3]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows.astype(np.float32)
    return rows[np.lexsort(rows.T[::-1])]


def linkage(rows: np.ndarray, similarity: float) -> np.ndarray:
    model = AgglomerativeClustering(
        n_clusters=None, metric="cosine", linkage="average", distance_threshold=1 - similarity
    )
    return model.fit_predict(rows.astype(np.float64))


def communities(rows: np.ndarray, similarity: float, members_min: int) -> np.ndarray:
    alike = rows.astype(np.float64) @ rows.astype(np.float64).T
    near = [np.flatnonzero(cosines >= similarity) for cosines in alike]
    found = sorted((rows for rows in near if len(rows) >= members_min), key=len, reverse=True)
    groups = np.full(len(rows), -1)
    for number, community in enumerate(found):
        left = community[groups[community] < 0]
        if len(left) >= members_min:
            groups[left] = number
    return groups


def write(path: Path, how: str, rows: np.ndarray, groups: np.ndarray) -> None:
    with path.open("w") as file:
        file.write(how + "\n")
        for row, group in zip(rows, groups, strict=True):
            file.write(" ".join(str(value) for value in row) + f" | {group}\n")


if __name__ == "__main__":
    main()
