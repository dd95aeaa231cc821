"""WSGI apps and plain functions in a worker: the standard, threads, and what goes wrong."""

import json
import socket
import threading

import pytest

GET = b"GET / HTTP/1.1\r\nhost: app\r\n\r\n"
START = "def app(environ, start_response):\n    start_response('200 OK', [])\n"


def read_all(connection: socket.socket) -> bytes:
    """Reads until the worker closes."""
    got = b""
    while data := connection.recv(65536):
        got += data
    return got


VALID = """
from wsgiref.validate import validator
@validator
def app(environ, start_response):
    size, first = 0, environ["wsgi.input"].readline(100)
    while piece := environ["wsgi.input"].read(65536):
        size += len(piece)
    write = start_response("200 Fine", [("Content-Type", "text/plain")])
    write(b"%d " % len(first))
    return [b"%d " % size, environ["REQUEST_METHOD"].encode()]
"""


def test_app_under_the_validator_is_served_as_the_standard_says(supervisor) -> None:
    worker = supervisor.worker(VALID, kind="wsgi")
    connection = worker.http()
    connection.request("POST", "/a?b=c", b"line\n" + b"x" * 1_000_000)
    response = connection.getresponse()
    assert (response.status, response.reason) == (200, "Fine")
    assert response.read() == b"5 1000000 POST"
    connection.request("POST", "/", iter([b"line\n", b"y" * 100_000] * 2), encode_chunked=True)
    assert connection.getresponse().read() == b"5 200005 POST"
    connection.request("GET", "/")
    assert connection.getresponse().read() == b"0 0 GET"
    connection.close()
    assert worker.all_said("error") == []


def test_environ_is_complete(supervisor) -> None:
    text = START + (
        "    shown = {k: v for k, v in environ.items() if isinstance(v, (str, bool))}\n"
        "    import json\n    return [json.dumps(shown).encode()]\n"
    )
    connection = supervisor.worker(text, threads=2).http()
    connection.putrequest("POST", "/caf%C3%A9?a=%20b", skip_host=True, skip_accept_encoding=True)
    for name, value in [
        ("host", "news.example"),
        ("x-forwarded-for", "192.0.2.7, 10.0.0.1"),
        ("x-forwarded-proto", "https"),
        ("content-type", "text/plain"),
        ("content-length", "0"),
        ("x-many", "1"),
        ("x-many", "2"),
        ("cookie", "a=1"),
        ("cookie", "b=2"),
        ("x_many", "forged"),
    ]:
        connection.putheader(name, value)
    connection.endheaders()
    assert json.loads(connection.getresponse().read()) == {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/caf\u00c3\u00a9",
        "QUERY_STRING": "a=%20b",
        "RAW_URI": "/caf%C3%A9?a=%20b",
        "SERVER_NAME": "news.example",
        "SERVER_PORT": "443",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "192.0.2.7",
        "CONTENT_TYPE": "text/plain",
        "CONTENT_LENGTH": "0",
        "HTTP_HOST": "news.example",
        "HTTP_X_FORWARDED_FOR": "192.0.2.7, 10.0.0.1",
        "HTTP_X_FORWARDED_PROTO": "https",
        "HTTP_X_MANY": "1,2",
        "HTTP_COOKIE": "a=1; b=2",
        "wsgi.url_scheme": "https",
        "wsgi.input_terminated": True,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    connection.close()


CLOSED = """
class Pieces:
    def __init__(self, pieces):
        self.pieces = pieces
    def __iter__(self):
        for piece in self.pieces:
            if piece is None:
                raise ValueError("half way")
            yield piece
    def close(self):
        print("closed")
"""


@pytest.mark.parametrize(
    ("pieces", "status"), [("[b'a', b'', b'b']", 200), ("[b'a', None]", 200), ("[None]", 500)]
)
def test_iterable_is_always_closed(supervisor, pieces, status) -> None:
    worker = supervisor.worker(CLOSED + START + f"    return Pieces({pieces})\n")
    connection = worker.raw()
    connection.sendall(b"GET / HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n")
    answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 %d" % status)
    supervisor.printed(worker, b"closed")
    is_whole = answer.endswith(b"0\r\n\r\n") or b"content-length" in answer
    assert is_whole == ("None" not in pieces or status == 500)
    if "None" in pieces:
        assert "half way" in worker.said("error")["reason"]


def test_answer_can_be_started_again_until_its_first_byte_has_left(supervisor) -> None:
    text = (
        "import sys\ndef app(environ, start_response):\n"
        "    start_response('200 OK', [('X-One', '1')])\n"
        "    if environ['PATH_INFO'] == '/late':\n        yield b'left'\n"
        "    try:\n        raise KeyError('lost')\n"
        "    except KeyError:\n        start_response('503 Later', [], sys.exc_info())\n"
        "    yield b'sorry'\n"
    )
    worker = supervisor.worker(text)
    assert worker.get() == (503, b"sorry")
    connection = worker.raw()
    connection.sendall(b"GET /late HTTP/1.1\r\nhost: app\r\n\r\n")
    assert not read_all(connection).endswith(b"0\r\n\r\n")
    assert worker.said("error")["reason"] == "KeyError: 'lost'"


def test_file_wrapper_streams_a_file(supervisor) -> None:
    (supervisor.app_dir / "large").write_bytes(b"z" * 1_000_000)
    text = START + "    return environ['wsgi.file_wrapper'](open('large', 'rb'))\n"
    assert supervisor.worker(text).get() == (200, b"z" * 1_000_000)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("    return ['text']\n", "`str`, not bytes"),
        ("    start_response('200 OK', [])\n    return []\n", "twice without `exc_info`"),
        ("    raise SystemExit(1)\n", "SystemExit: 1"),
        ("    return None\n", "TypeError"),
        ("    def f():\n        f()\n    f()\n", "RecursionError"),
    ],
)
def test_wsgi_app_that_breaks_the_protocol_gets_500(supervisor, body, told) -> None:
    worker = supervisor.worker(START + body)
    for count in (1, 2):
        assert worker.get()[0] == 500
        assert told in worker.said("error", count=count)["reason"]


def test_wsgi_app_that_starts_no_answer_gets_500(supervisor) -> None:
    worker = supervisor.worker("def app(environ, start_response):\n    return [b'x']\n")
    assert worker.get()[0] == 500
    assert "before it called `start_response`" in worker.said("error")["reason"]


@pytest.mark.parametrize(("length", "word"), [(4, "longer"), (6, "shorter")])
@pytest.mark.parametrize("pieces", ["[b'hello']", "iter([b'hello'])"])
def test_body_unlike_its_content_length_is_told_and_never_passes_for_whole(
    supervisor, length, word, pieces
) -> None:
    text = START.replace("[]", f"[('content-length', '{length}')]") + f"    return {pieces}\n"
    worker = supervisor.worker(text)
    connection = worker.raw()
    connection.sendall(b"GET / HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n")
    answer = read_all(connection)
    told = f"AnswerError: the body is {word} than content-length says"
    assert worker.said("error")["reason"] == told
    if word == "shorter" and "iter" in pieces:
        assert answer.endswith(b"content-length: 6\r\nconnection: close\r\n\r\nhello")
    else:
        assert answer.startswith(b"HTTP/1.1 500 ")


@pytest.mark.parametrize(
    ("raised", "is_error"), [("raise KeyError from error", False), ("raise KeyError", True)]
)
def test_body_that_breaks_off_is_no_error_of_an_app_that_says_so(
    supervisor, raised, is_error
) -> None:
    text = START + (
        "    print('reading')\n    try:\n        environ['wsgi.input'].read()\n"
        f"    except OSError as error:\n        {raised}\n"
    )
    worker = supervisor.worker(text)
    connection = worker.raw()
    connection.sendall(b"POST / HTTP/1.1\r\nhost: app\r\ncontent-length: 9\r\n\r\n")
    supervisor.printed(worker, b"reading")
    connection.close()
    worker.said("free")
    assert len(worker.all_said("error")) == is_error


def test_requests_that_arrive_together_are_answered_in_order(supervisor) -> None:
    worker = supervisor.worker(START + "    return [environ['PATH_INFO'].encode()]\n")
    connection = worker.raw()
    post = b"POST /2 HTTP/1.1\r\nhost: app\r\ncontent-length: 3\r\n\r\nabc"
    last = b"GET /3 HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n"
    connection.sendall(GET.replace(b"/ ", b"/1 ") + post + last)
    bodies = [part[:2] for part in read_all(connection).split(b"\r\n\r\n")[1:]]
    assert bodies == [b"/1", b"/2", b"/3"]


def test_unread_body_closes_the_connection_after_the_answer(supervisor) -> None:
    worker = supervisor.worker(START + "    return [b'enough']\n")
    connection = worker.raw()
    connection.sendall(b"POST / HTTP/1.1\r\nhost: app\r\ncontent-length: 1000\r\n\r\nabc")
    answer = read_all(connection)
    assert b"connection: close" in answer and answer.endswith(b"enough")
    assert worker.get() == (200, b"enough")


def test_malformed_request_is_refused_and_the_worker_goes_on(supervisor) -> None:
    worker = supervisor.worker(START + "    return [environ['wsgi.input'].read()]\n")
    for sent in (b"nonsense\r\n\r\n", b"x" * 70_000):
        connection = worker.raw()
        connection.sendall(sent)
        assert read_all(connection)[9:12] in (b"400", b"431")
    connection = worker.raw()
    connection.sendall(b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")
    assert read_all(connection)[9:12] == b"400"
    assert worker.get() == (200, b"")


def test_gigabyte_passes_in_bounded_memory(supervisor) -> None:
    text = START + (
        "    import resource\n    piece = bytes(1 << 20)\n"
        "    for _ in range(1024):\n        yield piece\n"
        "    yield b'%8d' % resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
    )
    connection = supervisor.worker(text).http()
    connection.request("GET", "/")
    response, size, last = connection.getresponse(), 0, b""
    while data := response.read(1 << 20):
        size, last = size + len(data), data
    assert size == (1 << 30) + 8
    assert int(last[-8:]) < 200_000
    connection.close()


def test_abandoned_request_frees_the_worker_when_it_has_ended(supervisor) -> None:
    text = START + (
        "    import os, time\n    print('computing')\n"
        "    while not os.path.exists('go'):\n        time.sleep(0.001)\n"
        "    yield b'x' * 1000\n    yield b'y' * 1000\n"
    )
    worker = supervisor.worker(text)
    connection = worker.raw()
    connection.sendall(GET)
    supervisor.printed(worker, b"computing")
    connection.close()
    worker.order("ping", n=1)
    worker.said("pong")
    assert worker.all_said("free") == []
    (supervisor.app_dir / "go").touch()
    worker.said("free")
    assert worker.all_said("error") == []


def test_request_that_is_taken_back_before_its_turn_is_never_begun(supervisor) -> None:
    text = START + (
        "    import os, time\n    print('begun', environ['PATH_INFO'])\n"
        "    while environ['PATH_INFO'] == '/first' and not os.path.exists('go'):\n"
        "        time.sleep(0.001)\n"
        "    return [environ['PATH_INFO'].encode()]\n"
    )
    worker = supervisor.worker(text)
    first, second = worker.raw(), worker.raw()
    for connection in (first, second):
        connection.sendall(GET)
        assert connection.recv(65536).endswith(b"/")
    first.sendall(b"GET /first HTTP/1.1\r\nhost: app\r\n\r\n")
    supervisor.printed(worker, b"begun /first")
    second.sendall(b"GET /second HTTP/1.1\r\nhost: app\r\n\r\n")
    second.close()
    (supervisor.app_dir / "go").touch()
    assert first.recv(65536).endswith(b"/first")
    worker.said("free")
    assert b"begun /second" not in supervisor.output[worker.pid]
    assert worker.all_said("error") == []
    first.close()


def test_context_variables_of_one_request_are_not_for_the_next(supervisor) -> None:
    text = (
        "import contextvars\nseen = contextvars.ContextVar('seen', default='nothing')\n"
        "def app(request):\n    before = seen.get()\n    seen.set('something')\n"
        "    return before\n"
    )
    worker = supervisor.worker(text)
    assert [worker.get()[1] for _ in range(2)] == [b"nothing"] * 2


MEETING = """
import threading
meeting = None
def app(environ, start_response):
    global meeting
    meeting = meeting or threading.Barrier(3)
    meeting.wait(30)
    start_response("200 OK", [])
    return [b"met"]
"""


def test_threads_answer_at_once(supervisor) -> None:
    # Each request waits for two others: with fewer than three threads none is ever answered.
    supervisor.app(MEETING.replace("meeting = None", "meeting = None\nlock = threading.Lock()"))
    worker = supervisor.worker(threads=3)
    answers: list[tuple[int, bytes]] = []
    asking = [threading.Thread(target=lambda: answers.append(worker.get())) for _ in range(3)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert answers == [(200, b"met")] * 3


def test_threads_serve_many_requests_on_many_connections(supervisor) -> None:
    worker = supervisor.worker(START + "    return [environ['PATH_INFO'].encode()]\n", threads=3)
    wrong: list[object] = []

    def ask(name: int) -> None:
        connection = worker.http()
        for number in range(50):
            connection.request("GET", f"/{name}/{number}")
            body = connection.getresponse().read()
            if body != f"/{name}/{number}".encode():
                wrong.append(body)
        connection.close()

    asking = [threading.Thread(target=ask, args=(name,)) for name in range(6)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert wrong == []
    worker.order("leave")
    assert supervisor.parent_of(worker).said("exited")["status"] == 0


FUNCTION = "from tidegate import Request\n%sdef app(request):\n    return %s\n"


@pytest.mark.parametrize("word", ["", "async "])
@pytest.mark.parametrize(
    ("value", "status", "kind", "body"),
    [
        ("{'got': request}", 200, "application/json", b'{"got": {"a": [1]}}'),
        ("[1, 2.5, None, True]", 200, "application/json", b"[1, 2.5, null, true]"),
        ("'caf\\u00e9'", 200, "text/plain; charset=utf-8", "café".encode()),
        ("b'\\x00'", 200, "application/octet-stream", b"\x00"),
        ("(404, {'error': 'none'})", 404, "application/json", b'{"error": "none"}'),
        ("(200, b'<p>', {'Content-Type': 'text/html', 'X': 1})", 200, "text/html", b"<p>"),
        ("(204, b'')", 204, "application/octet-stream", b""),
        ("__import__('numpy').arange(3)", 200, "application/json", b"[0, 1, 2]"),
        ("{'x': __import__('numpy').float32(0.5)}", 200, "application/json", b'{"x": 0.5}'),
    ],
)
def test_value_of_a_function_becomes_the_answer(
    supervisor, word, value, status, kind, body
) -> None:
    worker = supervisor.worker(FUNCTION % (word, value))
    connection = worker.http()
    connection.request("POST", "/", b'{"a": [1]}')
    response = connection.getresponse()
    assert (response.status, response.getheader("content-type")) == (status, kind)
    assert response.read() == body
    connection.close()


@pytest.mark.parametrize("word", ["", "async "])
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("None", "the function returned None; return a value"),
        ("{1, 2}", "returned `set`: `set` cannot be written as JSON"),
        ("[float('nan')]", "returned `list`: Out of range float"),
        ("('ok', 200)", "a tuple must be `(status, value)`"),
        ("(True, 200)", "a tuple must be `(status, value)`"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_wrong_value_of_a_function_is_an_error_that_says_so(supervisor, word, value, told) -> None:
    worker = supervisor.worker(FUNCTION % (word, value))
    assert worker.get()[0] == 500
    assert told in worker.said("error")["reason"]


@pytest.mark.parametrize("word", ["", "async "])
def test_function_that_asks_for_the_request_gets_it(supervisor, word) -> None:
    text = (
        f"from tidegate import Request\n{word}def app(request: Request):\n"
        "    r = request\n"
        "    return [r.method, r.path, r.query, r.headers['x-two'], r.body.decode(), r.json()]\n"
    )
    connection = supervisor.worker(text).http()
    connection.putrequest("PUT", "/caf%C3%A9?a=1&a=2&b=")
    for name, value in [("X-Two", "1"), ("X-Two", "2"), ("content-length", "3")]:
        connection.putheader(name, value)
    connection.endheaders(b"[7]")
    assert json.loads(connection.getresponse().read()) == [
        "PUT",
        "/café",
        {"a": ["1", "2"], "b": [""]},
        "1, 2",
        "[7]",
        [7],
    ]
    connection.close()


@pytest.mark.parametrize("word", ["", "async "])
def test_body_that_is_not_json_is_the_clients_error(supervisor, word) -> None:
    worker = supervisor.worker(FUNCTION % (word, "[request]"))
    status, body = worker.ask("POST", "/", b'{"a": ')
    assert status == 400 and b"the body is no JSON" in body
    assert worker.get() == (200, b"[null]")
    assert worker.all_said("error") == []


PLACE = """
def app(environ, start_response):
    start_response("200 OK", [])
    return [f"{environ['SCRIPT_NAME']} {environ['PATH_INFO']}".encode()]
"""


def test_wsgi_app_behind_a_prefix_is_told_of_it(supervisor) -> None:
    worker = supervisor.worker(PLACE, root_path="/api")
    for path, told in [("/api/users", b"/api /users"), ("/api", b"/api "), ("/apix", b" /apix")]:
        assert worker.get(path) == (200, told)
