"""Trains the model of row `trees` with LightGBM: 500 trees of 31 leaves over 50 numbers.

Arguments: the files to write the model, the same for ONNX Runtime, and the rows to. Rows are
little-endian doubles, one row after the other; none of them was trained on.
"""

import sys
from pathlib import Path

import lightgbm
import numpy as np
import onnxmltools
from onnxmltools.convert.common.data_types import FloatTensorType

FEATURES, TRAINED, ROWS = 50, 20_000, 674
OPTIONS = {
    "objective": "binary",
    "num_leaves": 31,
    "learning_rate": 0.05,
    "num_threads": 1,
    "seed": 3,
    "verbosity": -1,
    "deterministic": True,
}


def main() -> None:
    model, onnx_model, rows = map(Path, sys.argv[1:])
    random = np.random.default_rng(7)
    x = random.normal(size=(TRAINED, FEATURES))
    linear = x[:, 3:] @ random.normal(size=FEATURES - 3)
    y = x[:, 0] * x[:, 1] * 3 + np.abs(x[:, 2]) + linear + random.normal(size=TRAINED) > 0
    booster = lightgbm.train(OPTIONS, lightgbm.Dataset(x, y), 500)
    # Floats, so that a runtime of floats and one of doubles see the same numbers.
    wanted = random.normal(size=(ROWS, FEATURES)).astype(np.float32).astype("<f8")
    rows.write_bytes(wanted.tobytes())
    types = [("rows", FloatTensorType([None, FEATURES]))]
    made = onnxmltools.convert_lightgbm(booster, initial_types=types, zipmap=False)
    onnx_model.write_bytes(made.SerializeToString())
    booster.save_model(model)


main()
