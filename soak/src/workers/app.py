"""The ASGI app under soak: handlers that are well, and one for each way not to be."""

import asyncio

from faults import filler, misbehave

import models

VERSION = 0
MODEL = models.load()


async def body_of(receive):
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def app(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("no lifespan here")
    _, _, what, *rest = scope["path"].split("/") + ["", ""]
    start = {
        "type": "http.response.start",
        "status": 200,
        "headers": [(b"x-version", str(VERSION).encode()), (b"x-model", MODEL.encode())],
    }
    if what == "half":
        await send(start)
        await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        raise ValueError("half way")
    if what == "large":
        await send(start)
        piece = filler(rest[0], 1_000_000)
        for _ in range(20):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    if what == "echo":
        answer = rest[0].encode() + b" " + await body_of(receive)
    elif what == "slow":
        await asyncio.sleep(int(rest[1]) / 1000)
        answer = filler(rest[0], 100)
    elif what == "sleep":
        await asyncio.sleep(3600)
    elif what == "fill":
        answer = filler(rest[0], int(rest[1]))
    else:
        answer = misbehave(what)
    await send(start)
    await send({"type": "http.response.body", "body": answer})
