"""scikit-learn groups vectors by average linkage. Arguments: VECTORS DIMS SIMILARITY COUNT…

A task is named by how many of the first vectors it groups.
"""

import sys

import contest
import numpy as np
from sklearn.cluster import AgglomerativeClustering


def main() -> None:
    dims, similarity = int(sys.argv[2]), float(sys.argv[3])
    vectors = np.fromfile(sys.argv[1], "<f4").reshape(-1, dims)

    def found(count: int) -> np.ndarray:
        return AgglomerativeClustering(
            n_clusters=None, metric="cosine", linkage="average", distance_threshold=1 - similarity
        ).fit_predict(vectors[:count])

    def task(count: int) -> contest.Task:
        return lambda: len(found(count))

    def written(count: int) -> contest.Results:
        return lambda: found(count).astype("<i4").tobytes()

    counts = [int(word) for word in sys.argv[4:]]
    contest.serve(
        {f"group-{count}": task(count) for count in counts},
        {f"groups-{count}": written(count) for count in counts},
    )


main()
