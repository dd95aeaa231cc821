"""The same trees as C of TL2cgen's, compiled by gcc. Arguments: MODEL LIBRARY FEATURES ROWS.

The library is made from the model when it is not there.
"""

import sys
from pathlib import Path

import contest
import numpy as np
import tl2cgen
import treelite


def main() -> None:
    model, library = Path(sys.argv[1]), Path(sys.argv[2])
    if not library.exists():
        part = library.with_suffix(".part.so")
        trees = treelite.frontend.load_lightgbm_model(str(model))
        # In parts, or gcc takes minutes; its `-O3` is TL2cgen's choice.
        tl2cgen.export_lib(trees, "gcc", str(part), params={"parallel_comp": 8})
        part.rename(library)
    predictor = tl2cgen.Predictor(str(library), nthread=1)
    rows = np.fromfile(sys.argv[4], "<f8").reshape(-1, int(sys.argv[3]))
    whole = tl2cgen.DMatrix(rows, dtype="float64")

    def together() -> int:
        predictor.predict(whole)
        return len(rows)

    def written() -> bytes:
        return predictor.predict(whole).ravel().astype("<f8").tobytes()

    contest.serve({"together": together}, {"scores": written})


main()
