"""Trains the network of row `mlp` with scikit-learn: 50 numbers, two layers of 100, three classes.

Arguments: the files to write the network to, as skl2onnx exports it, and the rows. Rows are
little-endian doubles, one row after the other; none of them was trained on.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

FEATURES, TRAINED, ROWS = 50, 4_000, 674


def main() -> None:
    model, rows = map(Path, sys.argv[1:])
    random = np.random.default_rng(7)
    x = random.normal(size=(TRAINED, FEATURES)).astype(np.float32)
    y = np.digitize(x[:, 0] * x[:, 1] + x[:, 2:] @ random.normal(size=FEATURES - 2), [-4, 4])
    warnings.simplefilter("ignore", ConvergenceWarning)
    network = MLPClassifier((100, 100), max_iter=10, random_state=1).fit(x, y)
    made = to_onnx(network, x[:1], options={"zipmap": False})
    model.write_bytes(made.SerializeToString())
    rows.write_bytes(
        random.normal(size=(ROWS, FEATURES)).astype(np.float32).astype("<f8").tobytes()
    )


main()
