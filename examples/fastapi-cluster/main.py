"""The service: sentences in, clusters of similar ones out."""

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

import models
from clusters import clusters
from settings import settings

app = FastAPI(title="Clusters of sentences")
model = models.load()


class Sentences(BaseModel):
    sentences: list[str]


class Cluster(BaseModel):
    label: str
    cohesion: float
    sentences: list[str]


class Clusters(BaseModel):
    clusters: list[Cluster]
    noise: list[str]


@app.get("/ping")
def ping() -> dict[str, str]:
    return {"status": "ok"}


@app.post("/cluster")
def cluster(asked: Sentences) -> Clusters:
    sentences = asked.sentences
    if len(sentences) > settings.sentences_max:
        raise HTTPException(413, f"at most {settings.sentences_max} sentences")
    found, alone = clusters(model, sentences, settings.similarity)
    return Clusters(
        clusters=[
            Cluster(
                label=sentences[group.label],
                cohesion=round(group.cohesion, 4),
                sentences=[sentences[row] for row in group.rows],
            )
            for group in found
        ],
        noise=[sentences[row] for row in alone],
    )
