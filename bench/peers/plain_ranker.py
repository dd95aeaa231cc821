"""The ranking service as it is first written: FastAPI, a loop over items and features, json.

Run: uvicorn plain_ranker:app, with RANKER_DATA naming the folder of items.jsonl and model.json.
"""

import json
import math
import os
from pathlib import Path
from typing import Literal

from fastapi import FastAPI
from pydantic import BaseModel

DATA = Path(os.environ["RANKER_DATA"])
MODEL = json.loads((DATA / "model.json").read_text())
CROSSES = [
    (
        cross["left"].removeprefix("user.affinity."),
        cross["right"].removeprefix("item."),
        cross["weight"],
    )
    for cross in MODEL["crosses"]
]
ITEMS = {}
for line in (DATA / "items.jsonl").read_text().splitlines():
    item = json.loads(line)
    ITEMS[item["id"]] = item

app = FastAPI()


class User(BaseModel):
    affinity: dict[str, float]


class Ask(BaseModel):
    user: User
    limit: int
    candidates: list[str] | Literal["all"]


def score(affinity, item):
    total = MODEL["intercept"]
    for name, field, weight in CROSSES:
        total += weight * affinity.get(name, 0.0) * item[field]
    return 1.0 / (1.0 + math.exp(-total))


@app.get("/ping")
async def ping():
    return "ok"


@app.post("/rank")
async def rank(ask: Ask):
    every = ask.candidates == "all"
    candidates = ITEMS.values() if every else [ITEMS[identity] for identity in ask.candidates]
    scored = [{"id": item["id"], "score": score(ask.user.affinity, item)} for item in candidates]
    scored.sort(key=lambda item: -item["score"])
    return {"items": scored[: ask.limit]}
