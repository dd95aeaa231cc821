"""A FastAPI service that keeps something large in memory, and reads a little of it by request.

BENCH_LARGE says what: a numpy `array` of 500 MiB, about 300 MB of `dicts`, or an `onnx` model.
BENCH_FILE names the model's file, which is written when it is missing.
"""

import os
import random

from fastapi import FastAPI

ROWS = 65_536
COLUMNS = 1_000
ITEMS = 700_000
ITEMS_READ = 20

app = FastAPI()
kind = os.environ["BENCH_LARGE"]

if kind == "array":
    import numpy

    ARRAY = numpy.full((ROWS, 2 * COLUMNS), 0.5, dtype=numpy.float32)

    @app.get("/score")
    async def score() -> dict:
        return {"score": float(ARRAY[random.randrange(ROWS)].sum())}

elif kind == "dicts":
    DICTS = {
        f"item-{number}": {
            "title": f"Title of item {number}",
            "price": number * 1.01,
            "sold": number,
        }
        for number in range(ITEMS)
    }

    @app.get("/score")
    async def score() -> dict:
        items = [DICTS[f"item-{random.randrange(ITEMS)}"] for _ in range(ITEMS_READ)]
        return {"score": sum(item["price"] * len(item["title"]) for item in items)}

else:
    import numpy
    import onnx_table
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    file = onnx_table.written(os.environ["BENCH_FILE"], ROWS, COLUMNS)
    SESSION = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    @app.get("/score")
    async def score() -> dict:
        rows = numpy.array([random.randrange(ROWS) for _ in range(ITEMS_READ)], dtype=numpy.int64)
        return {"score": float(SESSION.run(None, {"rows": rows})[0].sum())}
