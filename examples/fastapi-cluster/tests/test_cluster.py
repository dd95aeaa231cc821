"""Claims about the service, by its own client."""

import sys
from pathlib import Path

from fastapi.testclient import TestClient

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import main  # noqa: E402

WALKING = [
    "Dog Walking: 10 Simple Steps",
    "The Secrets of Dog Walking",
    "Why You Need To Dog Walking",
    "The Art of Dog Walking",
    "The Joy of Dog Walking",
]
SPEAKING = [
    "Public Speaking For The Modern Age",
    "Learn The Art of Public Speaking",
    "Master The Art of Public Speaking",
    "The Best Way To Public Speaking",
]
client = TestClient(main.app)


def test_nine_sentences_are_two_clusters() -> None:
    answer = client.post("/cluster", json={"sentences": WALKING + SPEAKING}).json()
    assert [group["sentences"] for group in answer["clusters"]] == [WALKING, SPEAKING]
    assert answer["noise"] == []
    assert all(0.25 <= group["cohesion"] <= 1.0 for group in answer["clusters"])


def test_a_sentence_about_something_else_is_noise() -> None:
    other = "Stocks fall after Fed official hints at tapering"
    answer = client.post("/cluster", json={"sentences": [*WALKING, other]}).json()
    assert answer["noise"] == [other]


def test_nothing_is_no_cluster_and_too_much_is_refused() -> None:
    empty = client.post("/cluster", json={"sentences": []}).json()
    assert empty == {"clusters": [], "noise": []}
    assert client.post("/cluster", json={"sentences": ["a"] * 1001}).status_code == 413
    assert client.post("/cluster", json={"sentences": "a"}).status_code == 422
