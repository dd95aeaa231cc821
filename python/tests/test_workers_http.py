"""What a worker reads as HTTP/1.1, what it refuses, and how it frames answers."""

import pytest

from tidegate.workers import http
from tidegate.workers.http import Answer, AnswerError, BadRequest, Body, Head, read_head

FIRST = b"POST /a%20b?c=d HTTP/1.1\r\nhost: app"


def head(*lines: bytes) -> Head:
    return read_head(b"\r\n".join((FIRST, *lines)))


def test_canonical_head_is_read_whole() -> None:
    read = head(b"x-one: 1", b"x-two: a b", b"x-one: 3", b"x-empty: ")
    assert (read.method, read.target, read.length, read.keep) == ("POST", "/a%20b?c=d", 0, True)
    assert read.headers == [
        (b"host", b"app"),
        (b"x-one", b"1"),
        (b"x-two", b"a b"),
        (b"x-one", b"3"),
        (b"x-empty", b""),
    ]


def test_other_valid_forms_of_a_head_mean_the_same() -> None:
    read = head(b"X-Mixed:\tvalue \t", b"Connection: Close", b"Content-Length:5")
    assert read.headers[1] == (b"x-mixed", b"value")
    assert (read.keep, read.length) == (False, 5)
    assert read_head(b"GET http://app:80/p?q HTTP/1.1\r\nhost: app").target == "/p?q"
    assert read_head(b"GET http://app HTTP/1.1\r\nhost: app").target == "/"
    assert read_head(b"GET http://app?q HTTP/1.1\r\nhost: app").target == "/?q"
    assert read_head(b"OPTIONS * HTTP/1.1\r\nhost: app").target == "*"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 400),
        (b"GET /", 400),
        (b"GET  / HTTP/1.1\r\nhost: a", 400),
        (b"GET / HTTP/1.1 \r\nhost: a", 400),
        (b"GET  HTTP/1.1\r\nhost: a", 400),
        (b"G@T / HTTP/1.1\r\nhost: a", 400),
        (b"GET /\xff HTTP/1.1\r\nhost: a", 400),
        (b"GET /\x00 HTTP/1.1\r\nhost: a", 400),
        (b"GET here HTTP/1.1\r\nhost: a", 400),
        (b"GET / HTTP/2\r\nhost: a", 505),
        (b"GET / HTTP/1.0\r\nhost: a", 505),
        (b"GET / FTP/1.1\r\nhost: a", 400),
        (b"GET / HTTP/1.1\r\nx: y", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\nhost: b", 400),
        (FIRST + b"\r\nno colon", 400),
        (FIRST + b"\r\nspace : 1", 400),
        (FIRST + b"\r\n folded", 400),
        (FIRST + b"\r\nx: a\rb", 400),
        (FIRST + b"\r\nx: a\nb: c", 400),
        (FIRST + b"\r\nx: a\x00b", 400),
        (FIRST + b"\r\n: a", 400),
        (FIRST + b"\r\n\r\n", 400),
        (FIRST + b"\r\ncontent-length: -1", 400),
        (FIRST + b"\r\ncontent-length: +1", 400),
        (FIRST + b"\r\ncontent-length: 1, 1", 400),
        (FIRST + b"\r\ncontent-length: " + b"9" * 30, 400),
        (FIRST + b"\r\ncontent-length: 1\r\ncontent-length: 1", 400),
        (FIRST + b"\r\ncontent-length: 1\r\ntransfer-encoding: chunked", 400),
        (FIRST + b"\r\ntransfer-encoding: gzip", 501),
        (FIRST + b"\r\ntransfer-encoding: gzip, chunked", 501),
        (FIRST + b"\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked", 400),
    ],
)
def test_malformed_or_ambiguous_head_is_refused(data, status) -> None:
    with pytest.raises(BadRequest) as refused:
        read_head(data)
    assert refused.value.status == status
    assert http.refusal(refused.value).startswith(b"HTTP/1.1 %d " % status)
    assert b"connection: close" in http.refusal(refused.value)


def test_table_of_known_lines_stays_bounded() -> None:
    for number in range(3 * http.KNOWN_LINES_MAX):
        head(b"x-request-id: %d" % number)
    head(b"x-long: " + b"a" * 1000)
    assert len(http.KNOWN_LINES) <= http.KNOWN_LINES_MAX
    assert all(len(line) <= http.KNOWN_LINE_BYTES_MAX for line in http.KNOWN_LINES)


CHUNKS = b"5\r\nhello\r\n6;name=value\r\n world\r\n00\r\ntrailer: x\r\n\r\nGET"


@pytest.mark.parametrize("step", [1, 2, 3, 7, len(CHUNKS)])
def test_chunks_are_decoded_however_they_arrive(step) -> None:
    body, got, at = Body(None), b"", 0
    while not body.complete:
        got += body.feed(CHUNKS[at : at + step])
        at += step
    assert got == b"hello world"
    assert body.rest + CHUNKS[at:] == b"GET"


@pytest.mark.parametrize("data", [b"x\r\n", b"-1\r\n", b"1\r\nab\r\n", b"\r\n", b"1" * 2000])
def test_broken_chunk_is_refused(data) -> None:
    with pytest.raises(BadRequest):
        Body(None).feed(data)


def test_counted_body_ends_where_it_says() -> None:
    body = Body(5)
    assert body.feed(b"abc") == b"abc" and not body.complete
    assert body.feed(b"deGET") == b"de" and body.complete and body.rest == b"GET"


def answer(method: str = "GET") -> Answer:
    return Answer(Head(method, "/", []))


def test_answer_known_whole_gets_its_length() -> None:
    framed = answer()
    framed.start(200, [(b"X-One", b"1")])
    assert framed.encode(b"hello", more=False) == (
        b"HTTP/1.1 200 OK\r\nx-one: 1\r\ncontent-length: 5\r\n\r\nhello"
    )
    assert framed.complete and framed.keep


def test_answer_of_unknown_length_comes_in_chunks() -> None:
    framed = answer()
    framed.start(200, [(b"transfer-encoding", b"chunked"), (b"connection", b"keep-alive")])
    assert framed.encode(b"", more=True) == b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    assert framed.encode(b"", more=True) == b""
    assert framed.encode(b"a" * 16, more=True) == b"10\r\n" + b"a" * 16 + b"\r\n"
    assert framed.encode(b"b", more=False) == b"1\r\nb\r\n0\r\n\r\n"


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 304), ("GET", 204)])
def test_answer_without_body_drops_what_the_app_gives(method, status) -> None:
    framed = answer(method)
    framed.start(status, [(b"content-length", b"5")])
    head, _, body = framed.encode(b"hello", more=False).partition(b"\r\n\r\n")
    assert body == b""
    assert (b"content-length: 5" in head) == (status != 204)


@pytest.mark.parametrize("length", [b"4", b"6"])
def test_answer_of_another_length_than_promised_is_refused_whole_or_closes(length) -> None:
    framed = answer()
    framed.start(200, [(b"content-length", length)])
    with pytest.raises(AnswerError):
        framed.encode(b"hello", more=False)
    assert not framed.begun and not framed.complete
    assert framed.encode(b"hell", more=True).endswith(b"\r\n\r\nhell")
    with pytest.raises(AnswerError):
        framed.encode(b"hello", more=False)
    assert framed.begun and not framed.complete and not framed.keep


@pytest.mark.parametrize(
    "header",
    [(b"x", b"a\r\nset-cookie: b"), (b"x", b"a\nb"), (b"x\r\ny", b"a"), (b"content-length", b"+5")],
)
def test_header_that_would_split_the_answer_is_refused(header) -> None:
    framed = answer()
    framed.start(200, [header])
    with pytest.raises(AnswerError):
        framed.encode(b"hello", more=False)
    assert not framed.begun


def test_status_that_is_not_final_is_refused() -> None:
    with pytest.raises(AnswerError):
        answer().start(103, [])


def test_close_asked_for_by_app_or_client_is_said_and_done() -> None:
    framed = answer()
    framed.start(200, [(b"Connection", b"close")])
    assert b"connection: close\r\n" in framed.encode(b"", more=False)
    assert not framed.keep
