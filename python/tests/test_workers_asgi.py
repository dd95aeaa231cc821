"""ASGI apps in a worker: scope, bodies both ways, backpressure, lifespan, and what goes wrong."""

import json
import os
import socket

import pytest

SEND = """
async def reply(send, body, status=200):
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": body})
"""
APP = SEND + "async def app(scope, receive, send):\n    assert scope['type'] == 'http'\n"
GET = b"GET / HTTP/1.1\r\nhost: app\r\n\r\n"


def read_all(connection: socket.socket) -> bytes:
    """Reads until the worker closes."""
    got = b""
    while data := connection.recv(65536):
        got += data
    return got


def test_scope_is_complete(supervisor) -> None:
    text = APP + (
        "    shown = {k: v for k, v in scope.items() if k not in ('headers', 'state')}\n"
        "    shown['headers'] = [[k.decode(), v.decode()] for k, v in scope['headers']]\n"
        "    shown['raw_path'] = scope['raw_path'].decode()\n"
        "    shown['query_string'] = scope['query_string'].decode()\n"
        "    import json\n    await reply(send, json.dumps(shown).encode())\n"
    )
    connection = supervisor.worker(text).http()
    connection.putrequest("GET", "/caf%C3%A9?a=%20b", skip_host=True, skip_accept_encoding=True)
    sent = {
        "host": "news.example:8080",
        "x-forwarded-for": "192.0.2.7, 10.0.0.1",
        "x-forwarded-proto": "https",
    }
    for name, value in sent.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert json.loads(connection.getresponse().read()) == {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "https",
        "path": "/café",
        "raw_path": "/caf%C3%A9",
        "query_string": "a=%20b",
        "root_path": "",
        "client": ["192.0.2.7", 0],
        "server": ["news.example", 8080],
        "headers": [list(pair) for pair in sent.items()],
    }
    connection.close()


ECHO = APP + (
    "    more, size, pieces = True, 0, 0\n"
    "    while more:\n"
    "        message = await receive()\n"
    "        size += len(message['body'])\n"
    "        pieces += 1\n"
    "        more = message['more_body']\n"
    "    await reply(send, b'%d' % size)\n"
)


def test_bodies_come_by_length_in_chunks_and_not_at_all(supervisor) -> None:
    worker = supervisor.worker(ECHO)
    connection = worker.http()
    for body, size in ((b"x" * 3_000_000, 3_000_000), (None, 0), (b"abc", 3)):
        connection.request("POST", "/", body)
        assert connection.getresponse().read() == b"%d" % size
    connection.request("POST", "/", iter([b"a" * 100_000] * 30), encode_chunked=True)
    assert connection.getresponse().read() == b"3000000"
    connection.request("GET", "/")
    assert connection.getresponse().read() == b"0"
    connection.close()


def test_requests_that_arrive_together_are_answered_in_order(supervisor) -> None:
    text = APP + "    await receive()\n    await reply(send, scope['path'].encode())\n"
    connection = supervisor.worker(text).raw()
    ask = b"GET /%d HTTP/1.1\r\nhost: app\r\n\r\n"
    chunked = (
        b"POST /3 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
    )
    last = b"GET /4 HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n"
    connection.sendall(ask % 1 + ask % 2 + chunked + last)
    bodies = [part[:2] for part in read_all(connection).split(b"\r\n\r\n")[1:]]
    assert bodies == [b"/1", b"/2", b"/3", b"/4"]


def test_head_that_comes_byte_by_byte_is_read(supervisor) -> None:
    connection = supervisor.worker(ECHO).raw()
    for byte in b"POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 2\r\n\r\nab":
        connection.sendall(bytes([byte]))
    assert read_all(connection).endswith(b"\r\n\r\n2")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 70_000, b"431"),
    ],
)
def test_malformed_request_is_refused_and_closed(supervisor, sent, status) -> None:
    worker = supervisor.worker(ECHO)
    connection = worker.raw()
    connection.sendall(sent)
    assert read_all(connection).startswith(b"HTTP/1.1 " + status)
    assert worker.get() == (200, b"0")


def test_answer_of_a_gigabyte_passes_in_bounded_memory(supervisor) -> None:
    text = APP + (
        "    import resource\n"
        "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
        "    piece = bytes(1 << 20)\n"
        "    for _ in range(1024):\n"
        "        message = {'type': 'http.response.body', 'body': piece, 'more_body': True}\n"
        "        await send(message)\n"
        "    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "    await send({'type': 'http.response.body', 'body': b'%8d' % peak})\n"
    )
    connection = supervisor.worker(text).http()
    connection.request("GET", "/")
    response, size, last = connection.getresponse(), 0, b""
    while data := response.read(1 << 20):
        size, last = size + len(data), data
    assert size == (1 << 30) + 8
    assert int(last[-8:]) < 200_000
    connection.close()


def test_body_that_the_app_does_not_read_stays_with_the_gateway(supervisor) -> None:
    text = APP + (
        "    import asyncio\n"
        "    exchange = receive.__self__\n"
        "    while exchange.connection.is_read:\n        await asyncio.sleep(0)\n"
        "    held, size, more = exchange.unread_bytes, 0, True\n"
        "    while more:\n"
        "        message = await receive()\n"
        "        size, more = size + len(message['body']), message['more_body']\n"
        "    await reply(send, b'%d %d' % (held, size))\n"
    )
    held, size = supervisor.worker(text).ask("POST", "/", b"x" * 10_000_000)[1].split()
    assert int(held) <= 320 * 1024
    assert int(size) == 10_000_000


def test_answer_before_the_body_was_read_closes_the_connection(supervisor) -> None:
    worker = supervisor.worker(APP + "    await reply(send, b'enough')\n")
    connection = worker.raw()
    connection.sendall(b"POST / HTTP/1.1\r\nhost: app\r\ncontent-length: 1000000\r\n\r\nabc")
    answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 200") and b"connection: close" in answer
    assert worker.get() == (200, b"enough")


def test_exception_is_answered_and_reported(supervisor) -> None:
    worker = supervisor.worker(APP + "    raise ValueError('no such\\nthing')\n")
    connection = worker.http()
    for count in (1, 2, 3):
        connection.request("GET", "/")
        response = connection.getresponse()
        assert (response.status, response.read()) == (500, b"the app failed\n")
        error = worker.said("error", count=count)
        assert error["reason"] == "ValueError: no such thing"
        assert "app.py" in error["traceback"] and "asgi.py" not in error["traceback"]
    connection.close()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("    return\n", "without a complete answer"),
        ("    raise SystemExit(2)\n", "SystemExit: 2"),
        ("    import asyncio\n    raise asyncio.CancelledError\n", "CancelledError"),
        ("    def f():\n        f()\n    f()\n", "RecursionError"),
        ("    await send({'type': 'http.response.body'})\n", "before `http.response.start`"),
        ("    await send({'type': 'http.response.start', 'status': 200})\n", "complete answer"),
        (
            "    await send({'type': 'http.response.start', 'status': 200,"
            " 'headers': [(b'x', b'a\\r\\nb: c')]})\n"
            "    await send({'type': 'http.response.body'})\n",
            "line break",
        ),
        (
            "    await send({'type': 'http.response.start', 'status': 200,"
            " 'headers': [('x', 'text')]})\n"
            "    await send({'type': 'http.response.body'})\n",
            "TypeError",
        ),
    ],
)
def test_app_that_breaks_the_protocol_gets_500_and_is_reported(supervisor, body, told) -> None:
    worker = supervisor.worker(APP + body)
    assert worker.get()[0] == 500
    assert told in worker.said("error")["reason"]
    assert worker.get()[0] == 500


@pytest.mark.parametrize(("length", "word"), [(4, "longer"), (6, "shorter")])
def test_body_unlike_its_content_length_is_answered_with_500(supervisor, length, word) -> None:
    text = APP + (
        "    headers = [(b'content-length', b'%d')]\n"
        "    await send({'type': 'http.response.start', 'status': 200, 'headers': headers})\n"
        "    await send({'type': 'http.response.body', 'body': b'hello'})\n"
    )
    worker = supervisor.worker(text % length)
    connection = worker.http()
    for count in (1, 2):
        connection.request("GET", "/")
        response = connection.getresponse()
        assert (response.status, response.read()) == (500, b"the app failed\n")
        told = f"AnswerError: the body is {word} than content-length says"
        assert worker.said("error", count=count)["reason"] == told
    connection.close()


def test_body_longer_than_its_content_length_is_cut_there_and_reported(supervisor) -> None:
    text = APP + (
        "    headers = [(b'content-length', b'4')]\n"
        "    await send({'type': 'http.response.start', 'status': 200, 'headers': headers})\n"
        "    await send({'type': 'http.response.body', 'body': b'hell', 'more_body': True})\n"
        "    await send({'type': 'http.response.body', 'body': b'o'})\n"
    )
    worker = supervisor.worker(text)
    connection = worker.raw()
    connection.sendall(GET)
    assert read_all(connection).endswith(b"\r\n\r\nhell")
    assert "longer" in worker.said("error")["reason"]


@pytest.mark.parametrize("headers", ["[]", "[(b'content-length', b'100')]"])
def test_answer_that_breaks_off_closes_the_connection(supervisor, headers) -> None:
    text = APP + (
        f"    await send({{'type': 'http.response.start', 'status': 200, 'headers': {headers}}})\n"
        "    await send({'type': 'http.response.body', 'body': b'part', 'more_body': True})\n"
        "    raise ValueError('half way')\n"
    )
    worker = supervisor.worker(text)
    connection = worker.raw()
    connection.sendall(GET)
    answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 200") and b"part" in answer
    assert not answer.endswith(b"0\r\n\r\n")
    assert "half way" in worker.said("error")["reason"]


def test_head_request_gets_the_length_without_the_body(supervisor) -> None:
    text = APP + "    await reply(send, b'')\n"
    connection = supervisor.worker(text).http()
    for _ in range(2):
        connection.request("HEAD", "/")
        assert connection.getresponse().read() == b""
    connection.close()


WAITING = (
    APP
    + """
    import asyncio
    print('waiting')
    if scope['path'] == '/listens':
        await receive()
        message = await receive()
        print(message['type'])
        return
    try:
        while True:
            await asyncio.sleep(0)
            await send({'type': 'http.response.start', 'status': 200, 'headers': []})
            while True:
                await asyncio.sleep(0)
                await send({'type': 'http.response.body', 'body': b'x', 'more_body': True})
    except OSError as error:
        print(type(error).__name__)
        raise
"""
)


@pytest.mark.parametrize(
    ("path", "line"), [(b"/listens", b"http.disconnect"), (b"/sends", b"ConnectionResetError")]
)
def test_app_learns_that_the_gateway_gave_up_and_the_worker_is_free(supervisor, path, line) -> None:
    worker = supervisor.worker(WAITING)
    connection = worker.raw()
    connection.sendall(b"GET %s HTTP/1.1\r\nhost: app\r\n\r\n" % path)
    supervisor.printed(worker, b"waiting")
    assert worker.all_said("free") == []
    connection.close()
    supervisor.printed(worker, line)
    worker.said("free")
    assert worker.all_said("error") == []


TURNS = (
    APP
    + """
    import asyncio, os, time
    print('begun', scope['path'])
    while scope['path'] == '/waits' and not os.path.exists('go'):
        await asyncio.sleep(0.001)
    if scope['path'] == '/computes':
        time.sleep(0.01)
        while not os.path.exists('go'):
            time.sleep(0.001)
    await reply(send, scope['path'].encode())
"""
)


def test_request_whose_turn_does_not_come_soon_is_given_back_unbegun(supervisor) -> None:
    worker = supervisor.worker(TURNS, concurrency=2)
    asked = [worker.raw() for _ in range(3)]
    for connection, path in zip(asked, (b"/waits", b"/waits", b"/one"), strict=True):
        connection.sendall(b"GET %s HTTP/1.1\r\nhost: app\r\n\r\n" % path)
    given_back = asked[2].recv(65536)
    assert given_back.startswith(b"HTTP/1.1 421 ") and b"\r\ntidegate-turn: none\r\n" in given_back
    (supervisor.app_dir / "go").touch()
    for connection in asked[:2]:
        assert connection.recv(65536).endswith(b"\r\n\r\n/waits")
    # The connection is as good as before.
    asked[2].sendall(b"GET /one HTTP/1.1\r\nhost: app\r\n\r\n")
    assert asked[2].recv(65536).endswith(b"\r\n\r\n/one")
    supervisor.printed(worker, b"begun /one")
    begun = [line for line in supervisor.output[worker.pid] if line.startswith(b"begun")]
    assert begun == [b"begun /waits", b"begun /waits", b"begun /one"]
    assert worker.all_said("free") == [] and worker.all_said("error") == []
    for connection in asked:
        connection.close()


def test_request_gets_its_turn_when_the_one_before_it_ends_or_is_given_up(supervisor) -> None:
    text = APP + (
        "    import asyncio\n    server = receive.__self__.connection.server\n"
        "    print('begun', scope['path'])\n"
        "    while scope['path'] == '/first' and not server.turns.waiting:\n"
        "        await asyncio.sleep(0)\n"
        "    while scope['path'] == '/given-up':\n        await asyncio.sleep(1)\n"
        "    await reply(send, scope['path'].encode())\n"
    )
    worker = supervisor.worker(text)
    first, second, third = (worker.raw() for _ in range(3))
    first.sendall(b"GET /first HTTP/1.1\r\nhost: app\r\n\r\n")
    second.sendall(b"GET /second HTTP/1.1\r\nhost: app\r\n\r\n")
    assert first.recv(65536).endswith(b"/first")
    assert second.recv(65536).endswith(b"/second")
    third.sendall(b"GET /given-up HTTP/1.1\r\nhost: app\r\n\r\n")
    supervisor.printed(worker, b"begun /given-up")
    third.close()
    # The app does not notice, and the worker takes the next one all the same.
    answer = b""
    while not answer.endswith(b"/next"):
        second.sendall(b"GET /next HTTP/1.1\r\nhost: app\r\n\r\n")
        answer = second.recv(65536)
        assert answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 421 "))
    first.close()
    second.close()


def test_request_that_is_taken_back_before_it_is_read_is_never_begun(supervisor) -> None:
    path = b"/computes"
    worker = supervisor.worker(TURNS)
    first, second = worker.raw(), worker.raw()
    # Both connections have been used, so that the worker need not accept them meanwhile.
    for connection in (first, second):
        connection.sendall(GET)
        assert connection.recv(65536).endswith(b"/")
    first.sendall(b"GET %s HTTP/1.1\r\nhost: app\r\n\r\n" % path)
    supervisor.printed(worker, b"begun " + path)
    second.sendall(b"GET /second HTTP/1.1\r\nhost: app\r\n\r\n")
    second.close()
    (supervisor.app_dir / "go").touch()
    assert first.recv(65536).endswith(path)
    worker.said("free")
    first.sendall(GET)
    assert first.recv(65536).endswith(b"/")
    assert b"begun /second" not in supervisor.output[worker.pid]
    assert worker.all_said("error") == []
    first.close()


def test_long_body_leaves_without_a_copy_of_it(supervisor) -> None:
    text = APP + (
        "    import resource\n    body = bytes(200_000_000)\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "    await reply(send, body)\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    worker = supervisor.worker(text)
    status, body = worker.get()
    assert (status, len(body)) == (200, 200_000_000)
    supervisor.wait(lambda: supervisor.output[worker.pid], "its memory")
    assert int(supervisor.output[worker.pid][0]) < 200_000


FASTAPI = """
import asyncio
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
app = FastAPI()
async def endless():
    print("waiting")
    while True:
        await asyncio.sleep(0)
        yield b"x"
@app.get("/stream")
def stream():
    return StreamingResponse(endless())
@app.post("/upload")
async def upload(request: Request):
    print("waiting")
    await request.body()
"""


@pytest.mark.parametrize(
    "head", [b"GET /stream HTTP/1.1\r\n", b"POST /upload HTTP/1.1\r\ncontent-length: 9\r\n"]
)
def test_client_that_leaves_a_framework_is_no_error_of_the_app(supervisor, head) -> None:
    worker = supervisor.worker(FASTAPI)
    connection = worker.raw()
    connection.sendall(head + b"host: app\r\n\r\n")
    supervisor.printed(worker, b"waiting")
    connection.close()
    worker.said("free")
    assert worker.all_said("error") == []


@pytest.mark.parametrize(
    ("raised", "is_error"),
    [
        ("raise Wrapped() from error", False),
        ("raise Wrapped()", True),
        ("undefined_name", True),
        ("raise Group('several', [error, error])", False),
        ("raise Group('several', [error, ValueError('a bug')])", True),
    ],
)
def test_error_after_the_client_left_is_told_unless_that_is_its_cause(
    supervisor, raised, is_error
) -> None:
    text = APP + (
        "    class Wrapped(Exception): pass\n"
        "    class Group(Exception):\n"
        "        def __init__(self, text, parts):\n"
        "            self.exceptions = tuple(parts)\n"
        "    print('waiting')\n"
        "    while (await receive())['type'] != 'http.disconnect':\n        pass\n"
        "    try:\n        await reply(send, b'')\n"
        f"    except ConnectionError as error:\n        {raised}\n"
    )
    worker = supervisor.worker(text)
    connection = worker.raw()
    connection.sendall(GET)
    supervisor.printed(worker, b"waiting")
    connection.close()
    worker.said("free")
    assert len(worker.all_said("error")) == is_error


def test_worker_is_not_free_before_an_abandoned_request_has_ended(supervisor) -> None:
    text = APP + (
        "    import asyncio, os\n    print('waiting')\n"
        "    while not os.path.exists('go'):\n        await asyncio.sleep(0.001)\n"
        "    open('done', 'w').close()\n    await reply(send, b'')\n"
    )
    worker = supervisor.worker(text)
    connection = worker.raw()
    connection.sendall(GET)
    supervisor.printed(worker, b"waiting")
    connection.close()
    worker.order("ping", n=1)
    worker.said("pong")
    assert worker.all_said("free") == []
    (supervisor.app_dir / "go").touch()
    worker.said("free")
    assert (supervisor.app_dir / "done").exists()
    assert worker.all_said("error") == []


def test_each_ended_connection_is_told_once_whatever_else_runs(supervisor) -> None:
    text = APP + (
        "    if scope['path'] == '/wait':\n"
        "        print('waiting')\n"
        "        while (await receive())['type'] != 'http.disconnect':\n            pass\n"
        "        return\n"
        "    await reply(send, b'')\n"
    )
    worker = supervisor.worker(text, concurrency=3)
    waiting = [worker.raw() for _ in range(2)]
    for connection in waiting:
        connection.sendall(b"GET /wait HTTP/1.1\r\nhost: app\r\n\r\n")
    supervisor.wait(lambda: len(supervisor.output[worker.pid]) == 2, "both requests")
    assert worker.get() == (200, b"")
    worker.said("free")
    for count, connection in enumerate(waiting, start=2):
        connection.close()
        worker.said("free", count=count)
    assert worker.get() == (200, b"")
    worker.said("free", count=4)
    assert len(worker.all_said("free")) == 4


def test_leaving_worker_finishes_what_runs_and_takes_nothing_new(supervisor) -> None:
    text = APP + (
        "    import asyncio, os\n    print('waiting')\n"
        "    while not os.path.exists('go'):\n        await asyncio.sleep(0.001)\n"
        "    await reply(send, b'finished')\n"
    )
    worker = supervisor.worker(text)
    busy, idle = worker.raw(), worker.raw()
    idle.sendall(b"bad\r\n\r\n")
    busy.sendall(GET)
    supervisor.printed(worker, b"waiting")
    worker.order("leave")
    worker.order("ping", n=1)
    worker.said("pong")
    assert supervisor.parent_of(worker).all_said("exited") == []
    (supervisor.app_dir / "go").touch()
    assert read_all(busy).endswith(b"finished")
    assert supervisor.parent_of(worker).said("exited")["status"] == 0


LIFE = (
    SEND
    + """
async def app(scope, receive, send):
    if scope['type'] == 'lifespan':
        while True:
            message = await receive()
            if message['type'] == 'lifespan.startup':
                scope['state']['count'] = [1]
                await send({'type': 'lifespan.startup.complete'})
            else:
                print('shut down')
                await send({'type': 'lifespan.shutdown.complete'})
                return
    scope['state']['mine'] = 1
    await reply(send, b'%d' % len(scope['state']['count']))
"""
)


def test_lifespan_runs_before_the_first_and_after_the_last_request(supervisor) -> None:
    worker = supervisor.worker(LIFE)
    assert worker.get() == (200, b"1")
    worker.order("leave")
    assert supervisor.parent_of(worker).said("exited")["status"] == 0
    supervisor.printed(worker, b"shut down")


def failing_lifespan(body: str) -> str:
    return f"async def app(scope, receive, send):\n    {body}\n"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("await receive(); raise OSError('no database')", "startup: OSError: no database"),
        (
            "await receive(); await send({'type': 'lifespan.startup.failed',"
            " 'message': 'Traceback:\\n  line\\nOSError: no database\\n'})",
            "startup: OSError: no database",
        ),
    ],
)
def test_failed_startup_ends_the_worker_with_the_reason(supervisor, body, told) -> None:
    supervisor.app(failing_lifespan(body))
    parent = supervisor.parent()
    parent.said("ready")
    worker = supervisor.forked(parent, "worker", id=1)
    failed = worker.said("failed")
    assert (failed["stage"], failed["reason"]) == ("lifespan", told)
    assert "no database" in failed["traceback"]
    assert os.waitstatus_to_exitcode(parent.said("exited")["status"]) == 1


def test_app_without_lifespan_is_served_unless_it_is_required(supervisor) -> None:
    text = APP + "    await reply(send, b'%d' % ('state' in scope))\n"
    assert supervisor.worker(text).get() == (200, b"0")
    parent = supervisor.parent(lifespan="on")
    parent.said("ready")
    assert supervisor.forked(parent, "worker", id=1).said("failed")["stage"] == "lifespan"


def test_lifespan_can_be_switched_off(supervisor) -> None:
    worker = supervisor.worker(LIFE, lifespan="off")
    assert worker.get()[0] == 500


def test_background_work_after_an_answer_does_not_hold_up_the_next(supervisor) -> None:
    text = APP + (
        "    await reply(send, b'answer')\n"
        "    import asyncio, os\n"
        "    while not os.path.exists('go'):\n        await asyncio.sleep(0.001)\n"
        "    print('background done')\n"
    )
    worker = supervisor.worker(text)
    connection = worker.http()
    for _ in range(2):
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"answer"
    (supervisor.app_dir / "go").touch()
    supervisor.wait(lambda: len(supervisor.output[worker.pid]) == 2, "both background works")
    connection.close()


def test_tasks_and_timeouts_work_from_the_first_step(supervisor) -> None:
    # The app's first step runs before its task is queued; it must see its task all the same.
    text = APP + (
        "    import asyncio\n    task = asyncio.current_task()\n"
        "    await asyncio.wait_for(asyncio.sleep(0), 10)\n"
        "    inner = await asyncio.create_task(asyncio.sleep(0, 'inner'))\n"
        "    same = task is asyncio.current_task() and task is not None\n"
        "    await reply(send, f'{inner} {same}'.encode())\n"
    )
    assert supervisor.worker(text).get() == (200, b"inner True")


def test_app_that_brings_its_own_loop_is_served_on_it(supervisor) -> None:
    text = ECHO.replace("b'%d' % size", "b'%d %s' % (size, loop)").replace(
        "    more, size",
        "    import asyncio\n"
        "    loop = type(asyncio.get_running_loop()).__module__.encode()\n    more, size",
        1,
    )
    worker = supervisor.worker("import uvloop\nuvloop.install()\n" + text)
    assert worker.get() == (200, b"0 uvloop")
    assert worker.ask("POST", "/", b"x" * 1_000_000) == (200, b"1000000 uvloop")
    worker.order("leave")
    assert supervisor.parent_of(worker).said("exited")["status"] == 0


def test_websocket_is_refused_with_the_way_out(supervisor) -> None:
    worker = supervisor.worker(APP + "    await reply(send, b'')\n")
    status, body = worker.get(connection="upgrade", upgrade="websocket")
    assert status == 501 and b'server = "uvicorn"' in body


PLACE = """
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        return
    text = f"{scope['root_path']} {scope['path']}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": text})
"""


def test_app_behind_a_prefix_is_told_of_it(supervisor) -> None:
    worker = supervisor.worker(PLACE, root_path="/api")
    for path, told in [
        ("/api/users", b"/api /api/users"),
        ("/api", b"/api /api"),
        ("/apix", b" /apix"),
        ("/", b" /"),
    ]:
        assert worker.get(path) == (200, told)
