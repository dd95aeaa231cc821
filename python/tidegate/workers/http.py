"""HTTP/1.1 as the gateway speaks it to a worker: heads read, bodies framed, answers written.

Pure functions and small state machines over bytes, without I/O, used by both servers (RFC 9112).
The gateway writes heads in one canonical form, so a header line is looked up whole among those
seen before and parsed only when it is new; any other valid form is understood just as well.
Refuses, with a status and a reason, what is malformed or ambiguous (two lengths, a length beside
`transfer-encoding`, folded lines), heads above 64 KB, and answers that would split into two.
"""

import functools
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Literal

HEAD_BYTES_MAX = 64 * 1024
CHUNK_LINE_BYTES_MAX = 1024
LENGTH_DIGITS_MAX = 18

Headers = list[tuple[bytes, bytes]]

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
LINE = re.compile(rb"(" + TOKEN + rb"):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
METHOD = re.compile(TOKEN)
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")

# Lines seen before, whole. Some are new in each request (an id, an address), so the table is
# emptied when it is full; relearning costs about a microsecond a line.
KNOWN_LINES: dict[bytes, tuple[bytes, bytes]] = {}
KNOWN_LINES_MAX = 1024
KNOWN_LINE_BYTES_MAX = 256

STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode())
    for status in HTTPStatus
}
# Fields that say how an answer is framed; the worker decides that, not the app.
FRAMING = frozenset((b"connection", b"content-length", b"keep-alive", b"transfer-encoding"))
BODILESS = frozenset((204, 304))
LAST_CHUNK = b"0\r\n\r\n"
# A longer piece of an answer is written as it is, not first copied behind its head.
COPIED_BYTES_MAX = 16 * 1024


class BadRequest(Exception):
    """A request that cannot be read; the connection is of no more use."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class AnswerError(RuntimeError):
    """An answer of the app that cannot be sent as it is."""


class Head:
    """A request's head. `length` is of the body in bytes, None when it comes in chunks."""

    __slots__ = ("fields", "headers", "keep", "length", "method", "target")

    def __init__(self, method: str, target: str, headers: Headers) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.fields = dict(headers)
        self.keep = True
        self.length: int | None = 0


def read_head(data: bytes) -> Head:
    """Reads a head without the empty line that ends it, or raises `BadRequest`."""
    first, *lines = data.split(b"\r\n")
    try:
        method, target, version = first.split(b" ")
        word, text = method_of(method), target.decode("ascii")
    except ValueError:
        raise BadRequest(400, "malformed request line") from None
    if version != b"HTTP/1.1":
        raise BadRequest(505 if version.startswith(b"HTTP/") else 400, "not HTTP/1.1")
    if not text.isprintable():
        raise BadRequest(400, "malformed request line")
    if text[:1] != "/" and text != "*":
        text = origin_form(text)
    known = KNOWN_LINES.get
    headers = [known(line) or learn(line) for line in lines]
    head = Head(word, text, headers)
    fields = head.fields
    if len(fields) != len(headers):
        refuse_repeated(headers)
    if b"host" not in fields:
        raise BadRequest(400, "no host")
    if b"content-length" in fields or b"transfer-encoding" in fields:
        head.length = body_length(fields)
    if b"connection" in fields:
        head.keep = b"close" not in fields[b"connection"].lower()
    return head


@functools.lru_cache(maxsize=64)
def method_of(method: bytes) -> str:
    """Returns a method as text; raises `ValueError` for what is no token."""
    if not METHOD.fullmatch(method):
        raise ValueError("no token")
    return method.decode()


def learn(line: bytes) -> tuple[bytes, bytes]:
    """Parses a header line that has not been seen, and remembers it."""
    match = LINE.fullmatch(line)
    if match is None:
        raise BadRequest(400, "malformed header line")
    pair = (match[1].lower(), match[2].rstrip(b" \t"))
    if len(line) <= KNOWN_LINE_BYTES_MAX:
        if len(KNOWN_LINES) >= KNOWN_LINES_MAX:
            KNOWN_LINES.clear()
        KNOWN_LINES[line] = pair
    return pair


def origin_form(target: str) -> str:
    """Returns the path of a target in absolute form (RFC 9112 §3.2.2)."""
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise BadRequest(400, "malformed request target")
    authority = re.split("[/?]", rest, maxsplit=1)[0]
    path = rest[len(authority) :]
    return path if path.startswith("/") else "/" + path


def refuse_repeated(headers: Headers) -> None:
    """Raises `BadRequest` where a field that decides about framing or host stands twice."""
    for single in (b"content-length", b"transfer-encoding", b"host"):
        if sum(name == single for name, _ in headers) > 1:
            raise BadRequest(400, f"{single.decode()} given twice")


def body_length(fields: dict[bytes, bytes]) -> int | None:
    """Returns the length of the body, None for chunks (RFC 9112 §6.3)."""
    coding = fields.get(b"transfer-encoding")
    if coding is None:
        length = length_of(fields[b"content-length"])
        if length is None:
            raise BadRequest(400, "malformed content-length")
        return length
    if b"content-length" in fields:
        raise BadRequest(400, "content-length beside transfer-encoding")
    if coding.lower() != b"chunked":
        raise BadRequest(501, "unknown transfer-encoding")
    return None


def length_of(value: bytes) -> int | None:
    """Returns the number in a content-length, None for what is none."""
    return int(value) if value.isdigit() and len(value) <= LENGTH_DIGITS_MAX else None


class Body:
    """Takes a request's body out of what arrives; `rest` is what came after its end."""

    __slots__ = ("buffer", "complete", "left", "rest", "stage")

    def __init__(self, length: int | None) -> None:
        self.complete = length == 0
        self.rest = b""
        # Bytes left of the body, or of the chunk that is being read.
        self.left = length or 0
        self.buffer = b""
        self.stage: Literal["counted", "size", "chunk", "after", "trailer"]
        self.stage = "size" if length is None else "counted"

    def feed(self, data: bytes) -> bytes:
        """Returns the part of `data` that is body; raises `BadRequest` for a broken chunk."""
        if self.stage != "counted":
            return self.feed_chunks(data)
        if len(data) < self.left:
            self.left -= len(data)
            return data
        self.complete = True
        body, self.rest = data[: self.left], data[self.left :]
        return body

    def feed_chunks(self, data: bytes) -> bytes:
        """Decodes chunks (RFC 9112 §7.1); trailers are read over."""
        data, self.buffer = self.buffer + data, b""
        at, parts = 0, []
        while not self.complete:
            if self.stage == "chunk":
                part = data[at : at + self.left]
                parts.append(part)
                at += len(part)
                self.left -= len(part)
                if self.left:
                    return b"".join(parts)
                self.stage = "after"
            end = data.find(b"\r\n", at)
            if end < 0:
                if len(data) - at > CHUNK_LINE_BYTES_MAX:
                    raise BadRequest(400, "malformed chunk")
                self.buffer = data[at:]
                return b"".join(parts)
            self.line(data[at:end])
            at = end + 2
        self.rest = data[at:]
        return b"".join(parts)

    def line(self, line: bytes) -> None:
        """Takes a line between chunks."""
        if self.stage == "size":
            match = CHUNK_SIZE.fullmatch(line)
            if match is None:
                raise BadRequest(400, "malformed chunk size")
            self.left = int(match[1], 16)
            self.stage = "chunk" if self.left else "trailer"
        elif self.stage == "after":
            if line:
                raise BadRequest(400, "malformed end of chunk")
            self.stage = "size"
        elif not line:
            self.complete = True


class Answer:
    """Frames one answer: what the app gives goes in, what goes onto the wire comes out.

    `begun` once bytes have left, `complete` once all have. A body that is not what
    `content-length` promised raises `AnswerError` and is not sent; where the answer had begun the
    connection must then be closed, so that nothing truncated passes for whole.
    """

    __slots__ = (
        "begun",
        "chunked",
        "complete",
        "head",
        "headers",
        "keep",
        "left",
        "status",
        "status_line",
    )

    def __init__(self, head: Head) -> None:
        self.head = head
        self.keep = head.keep
        self.begun = False
        self.complete = False
        self.chunked = False
        self.left: int | None = None
        self.status = 0
        self.status_line = b""
        self.headers: Iterable[tuple[bytes, bytes]] = ()

    def start(
        self, status: int, headers: Iterable[tuple[bytes, bytes]], reason: bytes | None = None
    ) -> None:
        """Takes status and headers, which leave with the first bytes of the body."""
        line = STATUS_LINES.get(status) if reason is None else None
        if line is None:
            line = b"HTTP/1.1 %d %s\r\n" % (status, reason or b"")
        if not 200 <= status <= 999:
            raise AnswerError(f"status {status} is no final status")
        self.status = status
        self.status_line = line
        self.headers = headers

    def encode(self, body: bytes, more: bool) -> bytes:
        """Returns the bytes of the next piece of the answer, its head before the first."""
        before, body, after = self.frame(body, more)
        return b"%b%b%b" % (before, body, after) if after else before + body

    def frame(self, body: bytes, more: bool) -> tuple[bytes, bytes, bytes]:
        """Returns what goes onto the wire for a piece, without a copy: before it, it, after it."""
        if self.complete:
            raise AnswerError("the answer is complete; nothing can follow")
        before = b"" if self.begun else self.compose_head(len(body), more)
        if self.left is not None:
            left = self.left - len(body)
            if left < 0 or (left and not more):
                self.keep = False
                word = "longer" if left < 0 else "shorter"
                raise AnswerError(f"the body is {word} than content-length says")
            self.left = left
        self.begun = True
        self.complete = not more
        if self.left is not None:
            return before, body, b""
        if self.chunked:
            after = b"" if more else LAST_CHUNK
            if not body:
                return before, b"", after
            return b"%b%x\r\n" % (before, len(body)), body, b"\r\n" + after
        return before, b"", b""

    def compose_head(self, length: int, more: bool) -> bytes:
        """Writes the head and settles how the body is framed (RFC 9112 §6.1)."""
        lines = [self.status_line]
        given: bytes | None = None
        for name, value in self.headers:
            lower = name.lower()
            if lower not in FRAMING:
                lines.append(b"%b: %b\r\n" % (lower, value))
            elif lower == b"content-length":
                given = value
            elif lower == b"connection" and b"close" in value.lower():
                self.keep = False
        if self.head.method == "HEAD" or self.status in BODILESS:
            if given is not None and self.status != 204:
                lines.append(b"content-length: %b\r\n" % given)
        elif given is not None:
            self.left = length_of(given)
            if self.left is None:
                raise AnswerError(f"content-length {given!r} is no number")
            lines.append(b"content-length: %b\r\n" % given)
        elif not more:
            self.left = length
            lines.append(b"content-length: %d\r\n" % length)
        else:
            self.chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        if not self.keep:
            lines.append(b"connection: close\r\n")
        written = b"".join(lines)
        if not written.count(b"\n") == written.count(b"\r") == len(lines):
            raise AnswerError("a header holds a line break")
        return written + b"\r\n"


def plain_answer(head: Head, status: int, text: str) -> tuple[Answer, bytes]:
    """Returns a whole answer of one line of text, and its bytes."""
    answer = Answer(head)
    answer.start(status, [(b"content-type", b"text/plain; charset=utf-8")])
    return answer, answer.encode(text.encode() + b"\n", more=False)


def refusal(error: BadRequest) -> bytes:
    """Returns the whole answer to a request that cannot be read; the connection is closed."""
    head = Head("GET", "/", [])
    head.keep = False
    return plain_answer(head, error.status, f"{error}")[1]
