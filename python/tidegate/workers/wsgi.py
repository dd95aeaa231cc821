"""WSGI 1.0 (PEP 3333) on the blocking server.

Nothing is sent before the app's first non-empty piece of body, so that `start_response` can still
be called again with `exc_info`. The app's iterable is always closed. `write()` works, and so does
`wsgi.file_wrapper`. The `environ` is a fresh `dict` for each request; names with an underscore are
left out, since they would pass for those with a dash.
"""

import functools
import sys
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any
from urllib.parse import unquote_to_bytes
from wsgiref.util import FileWrapper

from tidegate.workers.addresses import client_of, scheme_of, server_of
from tidegate.workers.blocking import Request
from tidegate.workers.http import AnswerError, Head

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]
WITHOUT_PREFIX = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}


class WsgiApp:
    """A WSGI app for the blocking server."""

    def __init__(self, app: Callable[..., Iterable[bytes]], has_threads: bool) -> None:
        self.app = app
        self.has_threads = has_threads

    def answer(self, request: Request) -> None:
        """Answers one request; see `blocking.BlockingApp`."""
        environ = environ_of(request, self.has_threads)
        response = Response(request)
        pieces = self.app(environ, response.start)
        try:
            if isinstance(pieces, list | tuple) and len(pieces) == 1 and not response.written:
                response.finish(pieces[0])
                return
            for piece in pieces:
                response.write(piece)
            response.finish(b"")
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()


class Response:
    """What `start_response` gave, and the `write` that it returns."""

    __slots__ = ("request", "started", "written")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.started = False
        self.written = False

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: ExcInfo | None = None
    ) -> Callable[[bytes], None]:
        """The app's `start_response`."""
        if exc_info is not None:
            try:
                if self.written:
                    raise exc_info[1].with_traceback(exc_info[2])
            finally:
                exc_info = None
        elif self.started:
            raise AnswerError("`start_response` called twice without `exc_info`")
        code, _, reason = status.partition(" ")
        if not (len(code) == 3 and code.isdigit()):
            raise AnswerError(f"status `{status}` does not start with a number")
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        self.request.answer.start(int(code), encoded, reason.encode("latin-1"))
        self.started = True
        return self.write

    def write(self, piece: bytes) -> None:
        """Sends a piece of the body."""
        self.check(piece)
        if piece:
            self.written = True
            self.request.send(piece, more=True)

    def finish(self, piece: bytes) -> None:
        """Sends the last piece."""
        self.check(piece)
        self.request.send(piece, more=False)

    def check(self, piece: bytes) -> None:
        """Refuses what no body may hold or be."""
        if not self.started:
            raise AnswerError("the app returned a body before it called `start_response`")
        if not isinstance(piece, bytes):
            raise AnswerError(f"the body holds `{type(piece).__name__}`, not bytes")


def environ_of(request: Request, has_threads: bool) -> dict[str, Any]:
    """Returns the environ of a request."""
    head = request.head
    fields = head.fields
    path, _, query = head.target.partition("?")
    if "%" in path:
        path = unquote_to_bytes(path).decode("latin-1")
    scheme = scheme_of(fields)
    name, port = server_of(fields[b"host"], scheme)
    client = client_of(fields.get(b"x-forwarded-for", b""))
    environ: dict[str, Any] = {
        "REQUEST_METHOD": head.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "RAW_URI": head.target,
        "SERVER_NAME": name,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": client[0] if client else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scheme,
        "wsgi.input": request.stream(),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.file_wrapper": FileWrapper,
        "wsgi.multithread": has_threads,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    add_fields(environ, head)
    return environ


def add_fields(environ: dict[str, Any], head: Head) -> None:
    """Adds the request's header fields; one that stands twice is joined."""
    for name, value in head.headers:
        key = key_of(name)
        if key is None:
            continue
        text = value.decode("latin-1")
        if key in environ:
            text = environ[key] + ("; " if name == b"cookie" else ",") + text
        environ[key] = text


@functools.lru_cache(maxsize=1024)
def key_of(name: bytes) -> str | None:
    """Returns a field's name in the environ, None for one that is left out."""
    if b"_" in name:
        return None
    return WITHOUT_PREFIX.get(name) or "HTTP_" + name.decode("ascii").upper().replace("-", "_")
