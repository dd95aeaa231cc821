"""How well groups of headlines are the stories that they tell, beside scikit-learn's.

V-measure and adjusted Rand index against the stories of a CSV file; a row of noise is a group of
its own. Run from the root of the repository, after the vectors of the titles were written as
little-endian floats, row after row:
    pip install scikit-learn==1.9.1
    cargo build --release -p models --example clusters
    cd crates/models/golden
    python3 stories.py headlines.csv vectors.f32 ../../../target/release/examples/clusters
"""

import argparse
import csv
import subprocess
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score, v_measure_score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("headlines", type=Path)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("program", type=Path)
    options = parser.parse_args()
    with options.headlines.open(encoding="utf-8") as file:
        stories = [row["story"] for row in csv.DictReader(file)]
    vectors = np.fromfile(options.vectors, "<f4").reshape(len(stories), -1)

    def ours(method: str, similarity: float) -> None:
        command = [options.program, options.vectors, str(vectors.shape[1]), method]
        done = subprocess.run(
            [*command, str(similarity)], capture_output=True, text=True, check=True
        )
        found = np.array(done.stdout.split(), int)
        alone = found < 0
        found[alone] = -1 - np.flatnonzero(alone)
        report(f"{method:12}  {similarity:4}", stories, found, done.stderr.split(",")[-1].strip())

    for similarity in (0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65):
        started = time.perf_counter()
        theirs = AgglomerativeClustering(
            n_clusters=None, metric="cosine", linkage="average", distance_threshold=1 - similarity
        ).fit_predict(vectors)
        took = time.perf_counter() - started
        report(f"scikit-learn  {similarity:4}", stories, theirs, f"{took * 1e3:.0f} ms")
        ours("linkage", similarity)
    for similarity in (0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75):
        ours("communities", similarity)


def report(name: str, stories: list[str], found: np.ndarray, note: str) -> None:
    v, ari = v_measure_score(stories, found), adjusted_rand_score(stories, found)
    print(f"{name}  V {v:.4f}  ARI {ari:.4f}  {len(set(found))} groups  {note}", flush=True)


if __name__ == "__main__":
    main()
