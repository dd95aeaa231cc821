"""Plain functions as apps: a request in, a value out.

    def app(body): ...                  gets the decoded JSON body, None where there is none
    def app(request: Request): ...      gets the request itself

What it returns becomes the answer: a `dict`, `list`, number or bool as JSON (NumPy values too), a
`str` as text, `bytes` as they are, and `(status, value)` or `(status, value, headers)` for
another status. Anything else, `None` included, is an error of the app: a forgotten `return` must
not look like an answer. A body that is not JSON is answered with 400.
"""

import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

from tidegate.workers import blocking
from tidegate.workers.http import AnswerError, Head

Reply = tuple[int, bytes, list[tuple[bytes, bytes]]]
JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"
BYTES = b"application/octet-stream"


@dataclass(frozen=True)
class Request:
    """An HTTP request as a plain function sees it. Header names are in lower case."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Returns the decoded body, None for an empty one; raises `ValueError` for another."""
        return json.loads(self.body) if self.body else None


class FunctionApp:
    """A sync function for the blocking server."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function
        self.takes_request = takes_request(function)

    def answer(self, request: blocking.Request) -> None:
        """Answers one request; see `blocking.BlockingApp`."""
        body = b"" if request.body is None else request.stream().read()
        try:
            argument = argument_of(request.head, body, self.takes_request)
        except ValueError as error:
            reply = not_json(error)
        else:
            reply = reply_of(self.function(argument))
        status, data, headers = reply
        request.answer.start(status, headers)
        request.send(data, more=False)


class AsyncFunction:
    """An async function as an ASGI app."""

    def __init__(self, function: Callable[[Any], Awaitable[Any]]) -> None:
        self.function = function
        self.takes_request = takes_request(function)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI app."""
        parts, more = [], True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionResetError("the request was given up before its body was whole")
            parts.append(message["body"])
            more = message["more_body"]
        target = scope["raw_path"].decode() + "?" + scope["query_string"].decode()
        head = Head(scope["method"], target, scope["headers"])
        try:
            argument = argument_of(head, b"".join(parts), self.takes_request)
        except ValueError as error:
            reply = not_json(error)
        else:
            reply = reply_of(await self.function(argument))
        status, data, headers = reply
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})


def takes_request(function: Callable[..., Any]) -> bool:
    """Whether the function's parameter is annotated as `Request`."""
    first = next(iter(inspect.signature(function).parameters.values()))
    return first.annotation in (Request, "Request", "tidegate.Request")


def argument_of(head: Head, body: bytes, takes_request: bool) -> Any:
    """Returns what the function is called with; raises `ValueError` where JSON is no JSON."""
    if not takes_request:
        return json.loads(body) if body else None
    path, _, query = head.target.partition("?")
    headers: dict[str, str] = {}
    for name, value in head.headers:
        key, text = name.decode(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return Request(
        head.method, unquote(path), parse_qs(query, keep_blank_values=True), headers, body
    )


def not_json(error: ValueError) -> Reply:
    """Returns the answer to a body that is not JSON."""
    return 400, json.dumps({"error": f"the body is no JSON: {error}"}).encode(), [content(JSON)]


def reply_of(value: Any) -> Reply:
    """Returns status, body and headers for what the function returned."""
    status: int = 200
    headers: dict[str, Any] = {}
    if isinstance(value, tuple):
        if len(value) not in (2, 3) or type(value[0]) is not int:
            raise AnswerError("a tuple must be `(status, value)` or `(status, value, headers)`")
        status, value, *rest = value
        headers = rest[0] if rest else {}
    body, kind = body_of(value)
    fields = [(name.lower().encode(), str(text).encode()) for name, text in headers.items()]
    if not any(name == b"content-type" for name, _ in fields):
        fields.append(content(kind))
    return status, body, fields


def body_of(value: Any) -> tuple[bytes, bytes]:
    """Returns the body and its type."""
    if isinstance(value, bytes):
        return value, BYTES
    if isinstance(value, str):
        return value.encode(), TEXT
    if value is None:
        hint = "return a value, or `(204, b'')` for no content"
        raise AnswerError(f"the function returned None; {hint}")
    try:
        return json.dumps(value, default=plain, allow_nan=False).encode(), JSON
    except (TypeError, ValueError) as error:
        raise AnswerError(f"the function returned `{type(value).__name__}`: {error}") from error


def plain(value: Any) -> Any:
    """Returns NumPy's arrays and numbers as Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"`{type(value).__name__}` cannot be written as JSON")


def content(kind: bytes) -> tuple[bytes, bytes]:
    """Returns the header for a type of content."""
    return b"content-type", kind
