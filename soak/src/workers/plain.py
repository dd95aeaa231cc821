"""The WSGI app under soak: what `app` does, without a loop."""

import time

from faults import filler, misbehave

import models

VERSION = 0
MODEL = models.load()


def large(name):
    piece = filler(name, 1_000_000)
    for _ in range(20):
        yield piece


def half():
    yield b"x" * 100_000
    raise ValueError("half way")


def app(environ, start_response):
    _, _, what, *rest = environ["PATH_INFO"].split("/") + ["", ""]
    headers = [("x-version", str(VERSION)), ("x-model", MODEL)]
    if what == "half":
        start_response("200 OK", headers)
        return half()
    if what == "large":
        start_response("200 OK", headers)
        return large(rest[0])
    if what == "echo":
        answer = rest[0].encode() + b" " + environ["wsgi.input"].read()
    elif what == "slow":
        time.sleep(int(rest[1]) / 1000)
        answer = filler(rest[0], 100)
    elif what == "sleep":
        time.sleep(3600)
    elif what == "fill":
        answer = filler(rest[0], int(rest[1]))
    else:
        answer = misbehave(what)
    start_response("200 OK", headers)
    return [answer]
