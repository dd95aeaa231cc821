"""LightGBM's own predictor, by its C functions. Arguments: MODEL ROWS."""

import ctypes
import sys

import contest
import lightgbm
import numpy as np
from lightgbm.basic import _LIB as LIBRARY

DOUBLES, NORMAL, ROW_MAJOR = 1, 0, 1


def main() -> None:
    booster = lightgbm.Booster(model_file=sys.argv[1])
    handle, features = booster._handle, booster.num_feature()
    rows = np.fromfile(sys.argv[2], "<f8").reshape(-1, features)
    scores = np.zeros(len(rows))
    length, parameters = ctypes.c_int64(), b"num_threads=1"
    fast = ctypes.c_void_p()
    check(
        LIBRARY.LGBM_BoosterPredictForMatSingleRowFastInit(
            handle, NORMAL, 0, -1, DOUBLES, features, parameters, ctypes.byref(fast)
        )
    )
    out = ctypes.byref(length)
    data, into = ctypes.c_void_p(rows.ctypes.data), ctypes.c_void_p(scores.ctypes.data)
    # Made before the clock starts, so that little but the C function is timed.
    places = [
        (ctypes.c_void_p(row.ctypes.data), ctypes.c_void_p(scores[index:].ctypes.data))
        for index, row in enumerate(rows)
    ]
    one = LIBRARY.LGBM_BoosterPredictForMatSingleRowFast

    def together() -> int:
        shape = len(rows), features, ROW_MAJOR
        options = NORMAL, 0, -1, parameters
        check(LIBRARY.LGBM_BoosterPredictForMat(handle, data, DOUBLES, *shape, *options, out, into))
        return len(rows)

    def alone() -> int:
        for row, score in places:
            one(fast, row, out, score)
        return len(rows)

    def written() -> bytes:
        together()
        return scores.astype("<f8").tobytes()

    contest.serve({"together": together, "alone": alone}, {"scores": written})


def check(status: int) -> None:
    if status:
        raise RuntimeError(LIBRARY.LGBM_GetLastError())


main()
