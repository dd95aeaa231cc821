"""The ranking service as an experienced Python engineer writes it: FastAPI, numpy, orjson.

One matrix of all items stays in memory, a request is one gather and one matrix-vector product,
and JSON is read and written by orjson without pydantic models.
Run: uvicorn numpy_ranker:app, with RANKER_DATA naming the folder of items.jsonl and model.json.
"""

import json
import os
from pathlib import Path

import numpy
import orjson
from fastapi import FastAPI, Request, Response

DATA = Path(os.environ["RANKER_DATA"])
MODEL = json.loads((DATA / "model.json").read_text())
ITEMS = [json.loads(line) for line in (DATA / "items.jsonl").read_text().splitlines()]

CROSSES = MODEL["crosses"]
AFFINITIES = [cross["left"].removeprefix("user.affinity.") for cross in CROSSES]
FIELDS = [cross["right"].removeprefix("item.") for cross in CROSSES]
WEIGHTS = numpy.array([cross["weight"] for cross in CROSSES], dtype=numpy.float32)
INTERCEPT = MODEL["intercept"]
MATRIX = numpy.array([[item[field] for field in FIELDS] for item in ITEMS], dtype=numpy.float32)
IDS = [item["id"] for item in ITEMS]
ROWS = {identity: row for row, identity in enumerate(IDS)}

app = FastAPI()


def answer(affinity, rows, limit):
    """Ranks the rows (None: all items) for a user's affinities."""
    user = WEIGHTS * numpy.array([affinity.get(name, 0.0) for name in AFFINITIES], numpy.float32)
    scores = (MATRIX if rows is None else MATRIX[rows]) @ user
    limit = min(limit, len(scores))
    best = numpy.argpartition(scores, -limit)[-limit:]
    best = best[numpy.argsort(-scores[best])]
    chances = 1.0 / (1.0 + numpy.exp(-(scores[best] + INTERCEPT)))
    items = [
        {"id": IDS[row if rows is None else rows[row]], "score": float(chance)}
        for row, chance in zip(best.tolist(), chances.tolist(), strict=True)
    ]
    return Response(orjson.dumps({"items": items}), media_type="application/json")


@app.get("/ping")
async def ping():
    return Response(b"ok")


@app.post("/rank")
async def rank(request: Request):
    body = orjson.loads(await request.body())
    candidates = body["candidates"]
    rows = None if candidates == "all" else [ROWS[identity] for identity in candidates]
    return answer(body["user"]["affinity"], rows, body["limit"])
