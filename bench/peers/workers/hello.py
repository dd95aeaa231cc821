"""Handlers that cost next to nothing, and one that computes for 5 ms, as ASGI and as WSGI."""

import os
import time

BUSY_SECONDS = 0.005
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/plain"), (b"content-length", b"5")],
}
BODY = {"type": "http.response.body", "body": b"hello"}


def compute() -> None:
    """Takes 5 ms of this thread's own time, however many others want the core."""
    end = time.thread_time() + BUSY_SECONDS
    while time.thread_time() < end:
        pass


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("HTTP only")
    if scope["path"] == "/busy":
        compute()
    await send(START)
    await send(BODY)


def wsgi(environ, start_response):
    if environ["PATH_INFO"] == "/busy":
        compute()
    headers = [("Content-Type", "text/plain"), ("Content-Length", "5")]
    start_response("200 OK", [*headers, ("X-Worker", str(os.getpid()))])
    return [b"hello"]
