"""Rankings by LightGBM's own predictor, by its C functions. Arguments: MODEL ITEMS REQUESTS.

The rows of items are made once; a request writes its columns into them, and the best 10 are found
by numpy.
"""

import ctypes
import json
import sys
from pathlib import Path

import contest
import lightgbm
import numpy as np
from lightgbm.basic import _LIB as LIBRARY

sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
from tidegate import feature_values  # noqa: E402

DOUBLES, NORMAL, ROW_MAJOR, BEST = 1, 0, 1, 10


def main() -> None:
    booster = lightgbm.Booster(model_file=sys.argv[1])
    items, requests = (
        [json.loads(line) for line in Path(name).read_text().splitlines()] for name in sys.argv[2:]
    )
    names = booster.feature_name()
    of_requests = [at for at, name in enumerate(names) if not name.startswith("item.")]
    rows = np.array([feature_values(names, one) for one in items])
    written = [
        np.array([feature_values([names[at] for at in of_requests], one, **asked) for one in items])
        for asked in requests
    ]
    scores = np.zeros(len(rows))
    length, parameters = ctypes.c_int64(), b"num_threads=1"
    data, into = ctypes.c_void_p(rows.ctypes.data), ctypes.c_void_p(scores.ctypes.data)
    options = NORMAL, 0, -1, parameters, ctypes.byref(length), into
    shape = *rows.shape, ROW_MAJOR

    def best(columns: np.ndarray) -> np.ndarray:
        rows[:, of_requests] = columns
        predict = LIBRARY.LGBM_BoosterPredictForMat
        if predict(booster._handle, data, DOUBLES, *shape, *options):
            raise RuntimeError(LIBRARY.LGBM_GetLastError())
        some = np.argpartition(-scores, BEST)[:BEST]
        return some[np.lexsort((some, -scores[some]))]

    def rank() -> int:
        for columns in written:
            best(columns)
        return len(written)

    def lists() -> bytes:
        return np.concatenate([best(columns) for columns in written]).astype("<f8").tobytes()

    contest.serve({"rank": rank}, {"scores": lists})


main()
