"""Five profiles of work, after the Ruby Concurrency Primer: what a task does decides what helps.

`function` is for workers and threads, `asgi` for one event loop. BENCH_ORIGIN names the service
that answers after 20 ms.
"""

import asyncio
import hashlib
import http.client
import os
import time
from pathlib import Path

from tidegate.workers.function import Request

ORIGIN = os.environ["BENCH_ORIGIN"]
WAIT_PATH = "/slow/20/profile"
BUSY_SECONDS = 0.005
FILES = sorted(Path(__file__).parent.glob("*.py"))
BLOCK = bytes(1 << 20)


def busy() -> None:
    """Computes for 5 ms, all of it in Python."""
    end = time.thread_time() + BUSY_SECONDS
    while time.thread_time() < end:
        pass


def mixed() -> None:
    """Computes for 2 ms in Python, looks at files, and hashes 1 MiB with the lock released."""
    end = time.thread_time() + 0.002
    while time.thread_time() < end:
        pass
    for file in FILES:
        file.read_bytes()
    hashlib.sha256(BLOCK).digest()


def sync_io() -> None:
    """Waits for another service."""
    connection = http.client.HTTPConnection(ORIGIN, timeout=10)
    connection.request("GET", WAIT_PATH, headers={"Connection": "close"})
    connection.getresponse().read()
    connection.close()


async def async_io() -> None:
    """Waits for another service, and lets others work meanwhile."""
    host, port = ORIGIN.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        f"GET {WAIT_PATH} HTTP/1.1\r\nHost: {ORIGIN}\r\nConnection: close\r\n\r\n".encode()
    )
    await reader.readuntil(b"\r\n\r\n")
    writer.close()


def fork() -> None:
    """Has the 5 ms computed by a process of its own."""
    child = os.fork()
    if child == 0:
        busy()
        os._exit(0)
    os.waitpid(child, 0)


WORK = {"busy": busy, "mixed": mixed, "sync-io": sync_io, "fork": fork}


def function(request: Request) -> str:
    WORK[request.path.rpartition("/")[2]]()
    return "done"


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("HTTP only")
    name = scope["path"].rpartition("/")[2]
    if name == "async-io":
        await async_io()
    else:
        WORK[name]()
    headers = [(b"content-length", b"4")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"done"})
