"""The app environment's uvicorn as a worker's server: the same reports, the same ends."""

import contextlib
import os
import signal
import socket

import pytest

APP = """
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        message = await receive()
        assert message["type"] == "lifespan.startup"
        await send({"type": "lifespan.startup.complete"})
        await receive()
        print("shut down")
        await send({"type": "lifespan.shutdown.complete"})
        return
    if scope["path"] == "/fail":
        raise ValueError("no such thing")
    if scope["path"] == "/wait":
        print("waiting")
        await receive()
        message = await receive()
        print(message["type"])
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["client"][0].encode()})
"""


@pytest.mark.parametrize("how", ["leave", "SIGTERM"])
def test_uvicorn_serves_reports_and_leaves(supervisor, how) -> None:
    worker = supervisor.worker(APP, server="uvicorn")
    headers = {"x-forwarded-for": "192.0.2.7"}
    assert worker.get("/", **headers) == (200, b"192.0.2.7")
    worker.said("free")
    assert worker.get("/fail")[0] == 500
    assert worker.said("error")["reason"] == "ValueError: no such thing"
    os.kill(worker.pid, signal.SIGINT)
    assert worker.get("/", **headers)[0] == 200
    if how == "SIGTERM":
        os.kill(worker.pid, signal.SIGTERM)
        worker.said("leaving")
        assert worker.get("/", **headers)[0] == 200
    worker.order("leave")
    assert supervisor.parent_of(worker).said("exited")["status"] == 0
    supervisor.printed(worker, b"shut down")


def test_connection_outlives_a_framework_that_answers_500_and_raises(supervisor) -> None:
    text = APP.replace(
        'if scope["path"] == "/fail":',
        'if scope["path"] == "/answered":\n'
        '        await send({"type": "http.response.start", "status": 500, "headers": []})\n'
        '        await send({"type": "http.response.body", "body": b"no"})\n'
        '        raise ValueError("answered and raised")\n'
        '    if scope["path"] == "/fail":',
    )
    worker = supervisor.worker(text, server="uvicorn")
    connection = worker.http()
    connection.request("GET", "/answered")
    assert connection.getresponse().read() == b"no"
    assert worker.said("error")["reason"] == "ValueError: answered and raised"
    sent = connection.sock
    connection.request("GET", "/", headers={"x-forwarded-for": "192.0.2.7"})
    assert connection.getresponse().read() == b"192.0.2.7"
    assert connection.sock is sent
    connection.close()


def test_abandoned_request_frees_the_worker_when_it_has_ended(supervisor) -> None:
    worker = supervisor.worker(APP, server="uvicorn")
    connection = worker.raw()
    connection.sendall(b"GET /wait HTTP/1.1\r\nhost: app\r\n\r\n")
    supervisor.printed(worker, b"waiting")
    assert worker.all_said("free") == []
    connection.close()
    supervisor.printed(worker, b"http.disconnect")
    worker.said("free")


FASTAPI = """
from fastapi import FastAPI, Request, WebSocket
app = FastAPI()
@app.post("/upload")
async def upload(request: Request):
    print("waiting")
    await request.body()
@app.websocket("/echo")
async def echo(socket: WebSocket):
    await socket.accept()
    while True:
        text = await socket.receive_text()
        if text == "bye":
            return await socket.close()
        await socket.send_text(text)
"""
UPGRADE = (
    b"GET /echo HTTP/1.1\r\nhost: app\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def text_frame(text: bytes) -> bytes:
    """A short text message as a client sends it, masked by zeros (RFC 6455 §5.2)."""
    return bytes([0x81, 0x80 | len(text)]) + bytes(4) + text


def read_until(connection: socket.socket, end: bytes) -> bytes:
    got = b""
    while not got.endswith(end):
        data = connection.recv(65536)
        assert data, got
        got += data
    return got


@pytest.mark.parametrize("who", ["client", "app"])
def test_end_of_a_websocket_is_told_whoever_ends_it(supervisor, who) -> None:
    worker = supervisor.worker(FASTAPI, server="uvicorn")
    for count in (1, 2):
        connection = worker.raw()
        connection.sendall(UPGRADE)
        assert read_until(connection, b"\r\n\r\n").startswith(b"HTTP/1.1 101 ")
        connection.sendall(text_frame(b"hello"))
        assert read_until(connection, b"hello") == b"\x81\x05hello"
        assert len(worker.all_said("free")) == count - 1
        if who == "app":
            connection.sendall(text_frame(b"bye"))
            read_until(connection, b"\x88\x02\x03\xe8")
        connection.close()
        worker.said("free", count=count)
    assert worker.all_said("error") == []
    worker.order("leave")
    assert supervisor.parent_of(worker).said("exited")["status"] == 0
    assert len(worker.all_said("free")) == 2


def test_websocket_of_a_worker_that_leaves_is_closed_as_restarting(supervisor) -> None:
    worker = supervisor.worker(FASTAPI, server="uvicorn")
    connection = worker.raw()
    connection.sendall(UPGRADE)
    read_until(connection, b"\r\n\r\n")
    connection.sendall(text_frame(b"hello"))
    read_until(connection, b"hello")
    worker.order("leave")
    assert read_until(connection, b"\x03\xf4")[-4:-2] == b"\x88\x02"
    # It waits for no answer that comes late.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(b"\x88\x82" + bytes(4) + b"\x03\xf4")
    connection.close()
    assert supervisor.parent_of(worker).said("exited")["status"] == 0


def test_client_that_leaves_an_upload_is_no_error_of_the_app(supervisor) -> None:
    worker = supervisor.worker(FASTAPI, server="uvicorn")
    connection = worker.raw()
    connection.sendall(b"POST /upload HTTP/1.1\r\nhost: app\r\ncontent-length: 9\r\n\r\n")
    supervisor.printed(worker, b"waiting")
    connection.close()
    worker.said("free")
    assert worker.all_said("error") == []


def test_idle_connections_are_the_gateways_to_close(supervisor) -> None:
    text = (
        "import gc\nfrom uvicorn import Config\nasync def app(request):\n"
        "    configs = [it for it in gc.get_objects() if isinstance(it, Config)]\n"
        "    return [it.timeout_keep_alive > 600 for it in configs]\n"
    )
    assert supervisor.worker(text, server="uvicorn").get() == (200, b"[true]")


def test_async_function_is_served_and_other_kinds_are_refused(supervisor) -> None:
    text = "async def app(request):\n    return [request]\n"
    assert supervisor.worker(text, server="uvicorn").get() == (200, b"[null]")
    supervisor.app("def app(request):\n    return 1\n")
    parent = supervisor.parent(server="uvicorn")
    parent.said("ready")
    failed = supervisor.forked(parent, "worker", id=1).said("failed")
    assert failed["stage"] == "config" and failed["hint"] == 'set `server = "tidegate"`'


def test_failed_startup_is_reported(supervisor) -> None:
    supervisor.app(
        "async def app(scope, receive, send):\n    await receive()\n"
        "    await send({'type': 'lifespan.startup.failed', 'message': 'no database'})\n"
    )
    parent = supervisor.parent(server="uvicorn")
    parent.said("ready")
    worker = supervisor.forked(parent, "worker", id=1)
    assert worker.said("failed")["stage"] == "lifespan"
    supervisor.wait(
        lambda: b"no database" in b"\n".join(supervisor.output[worker.pid]), "uvicorn's words"
    )


def test_missing_uvicorn_is_named_with_the_way_out(supervisor) -> None:
    supervisor.app(APP)
    # Without `site` there are no installed packages.
    environment = supervisor.environment(server="uvicorn")
    preload = supervisor.start("preload", environment, "-S", "-m", "tidegate.workers")
    preload.said("ready")
    parent = supervisor.forked(preload, "parent", generation=1)
    parent.said("ready")
    failed = supervisor.forked(parent, "worker", id=1).said("failed")
    assert failed["reason"] == "import `uvicorn`: No module named 'uvicorn'"
    assert 'set `server = "tidegate"`' in failed["hint"]
