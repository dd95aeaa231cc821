"""ASGI 3 (spec 2.4) over HTTP/1.1: the event loop, its connections, one exchange at a time each.

A connection is an asyncio protocol, not a pair of streams: a request is read in the callback that
brings it, and an answer leaves in as few writes as the app makes of it. What the app does not read
is not read from the socket either, and what the gateway does not take stops the app in `send`.
`send` raises `ConnectionError` when the gateway has gone, so that an app does not compute for
nobody. When a request is begun that was read is for `turns.py` to say. WebSockets are refused with
501: upgrades need `server = "uvicorn"`.
"""

import asyncio
import os
import select
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote_to_bytes

from tidegate.workers.addresses import client_of, scheme_of, server_of
from tidegate.workers.failure import DEPARTURES, comes_of
from tidegate.workers.http import (
    COPIED_BYTES_MAX,
    HEAD_BYTES_MAX,
    Answer,
    AnswerError,
    BadRequest,
    Body,
    Head,
    plain_answer,
    read_head,
    refusal,
)
from tidegate.workers.lifespan import Lifespan
from tidegate.workers.pool import Pool
from tidegate.workers.private import PRIVATE
from tidegate.workers.sockets import prepare
from tidegate.workers.turns import Turns

if TYPE_CHECKING:
    from tidegate.workers.worker import Reports

Message = dict[str, Any]
App = Callable[[Any, Any, Any], Awaitable[None]]

VERSIONS = {"version": "3.0", "spec_version": "2.4"}
# Unread bytes of a body that are held for the app before the socket is no longer read.
UNREAD_BYTES_MAX = 64 * 1024
READ_BYTES = 256 * 1024
# Bytes of a long answer that wait in the transport, which copies them, until the socket has room.
WAITING_BYTES = 64 * 1024
# Says that a request was not begun: an answer that the gateway keeps for itself.
GIVEN_BACK = b"HTTP/1.1 421 \r\ntidegate-turn: none\r\ncontent-length: 0\r\n\r\n"
# What an app may well let out when the gateway has gone.
GIVEN_UP = (ConnectionError, asyncio.CancelledError)
GIVEN_UP_TEXT = "the request was given up; nobody waits for the answer"


class AsgiServer:
    """Serves one ASGI app on one socket."""

    def __init__(self, app: App, pool: Pool, reports: "Reports") -> None:
        self.app = app
        self.reports = reports
        self.lifespan = Lifespan(app, pool.lifespan, reports)
        self.connections: set[Connection] = set()
        self.running: set[Exchange] = set()
        self.loop = asyncio.new_event_loop()
        self.turns = Turns(pool.concurrency, self.loop)
        # What asyncio's own loop runs next; another loop that the app installed may have none.
        self.queue = getattr(self.loop, "_ready", None)
        self.leaving = False
        self.left = asyncio.Event()
        self.pid = os.getpid()
        # One for all connections: what has been read is taken out before the next is read.
        self.buffer = memoryview(bytearray(READ_BYTES))

    def run(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Serves until told to leave; see `worker.Server`."""
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.serve(listener, ready))

    def leave(self) -> None:
        """Stops taking requests; `run` returns when those that run have ended."""
        self.loop.call_soon_threadsafe(self.begin_leaving)

    async def serve(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """The life of the server: startup, requests, shutdown."""
        await self.lifespan.startup()
        server = await self.loop.create_unix_server(lambda: Connection(self), sock=listener)
        ready()
        await self.left.wait()
        server.close()
        await self.lifespan.shutdown()

    def begin(self, exchange: "Exchange") -> None:
        """Runs the app up to where it first waits; most answer without, in no turn of the loop."""
        self.running.add(exchange)
        exchange.connection.running += 1
        # The loop keeps only a weak reference to its tasks, hence the attribute.
        if sys.version_info >= (3, 12):
            exchange.task = asyncio.Task(exchange.run(), loop=self.loop, eager_start=True)
            return
        exchange.task = asyncio.Task(exchange.run(), loop=self.loop)
        # Python 3.10 and 3.11 can only queue the first step; it stands last in the queue, or
        # just before what another thread has queued since, and then both run all the same.
        if self.queue is not None:
            self.queue.pop()._run()

    def begin_leaving(self) -> None:
        """Closes what is idle."""
        self.leaving = True
        for connection in list(self.connections):
            if connection.exchange is None:
                connection.transport.close()
        self.see_whether_left()

    def see_whether_left(self) -> None:
        """Notices, after `leave`, that the last request has ended and its answer has left."""
        if self.leaving and not self.running and not self.connections:
            self.left.set()

    def ended(self, exchange: "Exchange") -> None:
        """Takes note that the app has returned from a request, answered or not."""
        if os.getpid() != self.pid:
            # The app forked in a request and its child came back: it is no worker.
            os._exit(0)
        self.running.discard(exchange)
        self.turns.end(exchange)
        exchange.connection.ended_one()
        self.see_whether_left()


class Connection(asyncio.BufferedProtocol):
    """One connection of the gateway: requests one after the other."""

    transport: asyncio.Transport

    def __init__(self, server: AsgiServer) -> None:
        self.server = server
        self.exchange: Exchange | None = None
        # The body of the request that is being read, None when it is whole.
        self.body: Body | None = None
        # What has arrived of the next request.
        self.held = b""
        # Calls of the app that have not returned; one may have work left after its answer.
        self.running = 0
        self.gone = False
        self.is_read = True
        self.may_write: asyncio.Event | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        # Not every loop's transports are of asyncio's classes.
        self.transport = cast(asyncio.Transport, transport)
        self.descriptor = transport.get_extra_info("socket").fileno()
        PRIVATE.add(self.descriptor)
        prepare(transport.get_extra_info("socket"))
        # The app waits until the transport has nothing left, so that long answers go past it.
        self.transport.set_write_buffer_limits(high=0)
        self.server.connections.add(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Says where to read to."""
        return self.server.buffer

    def buffer_updated(self, size: int) -> None:
        """Takes bytes of a body, or of the next head."""
        data = bytes(self.server.buffer[:size])
        if self.body is not None:
            self.take_body(data)
            return
        if self.held:
            data = self.held + data
        if self.exchange is None:
            self.begin(data)
            return
        self.held = data
        if len(data) > HEAD_BYTES_MAX:
            self.pause()

    def begin(self, data: bytes) -> None:
        """Starts the request that begins with `data`, when its head is there."""
        end = data.find(b"\r\n\r\n")
        try:
            if end > HEAD_BYTES_MAX or end < 0 and len(data) > HEAD_BYTES_MAX:
                raise BadRequest(431, "the head is larger than 64 KB")
            if end < 0:
                self.held = data
                return
            head = read_head(data[:end])
        except BadRequest as error:
            self.transport.write(refusal(error))
            self.transport.close()
            return
        exchange = self.exchange = Exchange(self, head)
        self.held = b""
        if head.length != 0:
            self.body = Body(head.length)
            exchange.is_whole = False
            self.take_body(data[end + 4 :])
            if self.transport.is_closing():
                return
        elif len(data) > end + 4:
            self.held = data[end + 4 :]
        self.server.turns.admit(exchange)

    def take_body(self, data: bytes) -> None:
        """Hands bytes of the body to the exchange; stops reading when it does not keep up."""
        body, exchange = self.body, self.exchange
        assert body is not None and exchange is not None
        try:
            part = body.feed(data)
        except BadRequest as error:
            if not exchange.answer.begun:
                self.transport.write(refusal(error))
            self.transport.close()
            return
        if part:
            exchange.unread.append(part)
            exchange.unread_bytes += len(part)
        if body.complete:
            exchange.is_whole = True
            self.held, self.body = body.rest, None
        elif exchange.unread_bytes > UNREAD_BYTES_MAX:
            self.pause()
        exchange.tell()

    def answered(self, answer: Answer) -> None:
        """Goes on to the next request, or closes."""
        assert self.exchange is not None
        self.server.turns.end(self.exchange)
        self.exchange = None
        if not answer.keep or self.body is not None or self.server.leaving:
            self.transport.close()
            return
        self.resume()
        if self.held:
            self.server.loop.call_soon(self.begin_held)

    def begin_held(self) -> None:
        """Starts a request that had arrived before the last one was answered."""
        if self.exchange is None and not self.gone:
            self.begin(self.held)

    def is_closed(self) -> bool:
        """Whether the gateway has closed it, which the loop may still have to see."""
        poll = select.poll()
        poll.register(self.descriptor, 0)
        return bool(poll.poll(0))

    def pause(self) -> None:
        """Reads no more for the time being."""
        if self.is_read:
            self.is_read = False
            self.transport.pause_reading()

    def resume(self) -> None:
        """Reads on."""
        if not self.is_read:
            self.is_read = True
            self.transport.resume_reading()

    async def write_long(self, parts: tuple[bytes, ...]) -> None:
        """Writes a long piece of an answer, no faster than the gateway takes it."""
        sent = self.write_now(parts)
        if sent == sum(map(len, parts)):
            return
        rest = without([memoryview(part) for part in parts], sent)
        while rest:
            self.transport.write(rest[0][:WAITING_BYTES])
            rest = without(rest, min(len(rest[0]), WAITING_BYTES))
            if self.may_write is not None:
                await self.may_write.wait()
            if self.gone:
                raise ConnectionResetError(GIVEN_UP_TEXT)
            rest = without(rest, self.write_now(rest))

    def write_now(self, parts: Sequence[bytes | memoryview]) -> int:
        """Writes what the socket has room for, past the transport, which would copy the rest."""
        if self.transport.get_write_buffer_size() > 0:
            return 0
        try:
            return os.writev(self.descriptor, parts)
        except OSError:
            # The transport meets the same error, and ends the connection.
            return 0

    def pause_writing(self) -> None:
        """The gateway does not keep up: `send` waits."""
        self.may_write = asyncio.Event()

    def resume_writing(self) -> None:
        """The gateway keeps up again."""
        if self.may_write is not None:
            self.may_write.set()
            self.may_write = None

    def connection_lost(self, error: Exception | None) -> None:
        """Tells the app, and the supervisor when nothing of this connection runs."""
        self.gone = True
        PRIVATE.discard(self.descriptor)
        self.server.connections.discard(self)
        self.resume_writing()
        if self.exchange is not None:
            self.exchange.tell()
            self.server.turns.end(self.exchange)
        if not self.running:
            self.server.reports.free()
        self.server.see_whether_left()

    def ended_one(self) -> None:
        """Tells the supervisor, once, that a connection is gone and nothing of it runs."""
        self.running -= 1
        if self.gone and not self.running:
            self.server.reports.free()


class Exchange:
    """One request of the app with its answer: what `receive` and `send` do."""

    __slots__ = (
        "answer",
        "connection",
        "has_ended",
        "head",
        "is_whole",
        "news",
        "started",
        "task",
        "told",
        "unread",
        "unread_bytes",
    )

    def __init__(self, connection: Connection, head: Head) -> None:
        self.connection = connection
        self.head = head
        self.answer = Answer(head)
        self.started = False
        # Whether its turn is over.
        self.has_ended = False
        self.unread: list[bytes] = []
        self.unread_bytes = 0
        # All of the body has arrived; all of it has been handed to the app.
        self.is_whole = True
        self.told = False
        self.news: asyncio.Event | None = None
        self.task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Has the app answer it."""
        self.connection.server.begin(self)

    def drop(self) -> None:
        """Ends a connection that the gateway has closed, before the loop sees it."""
        self.connection.exchange = None
        self.connection.transport.close()

    def give_back(self) -> None:
        """Tells the gateway that it was not begun."""
        self.connection.transport.write(GIVEN_BACK)
        self.connection.answered(self.answer)

    async def run(self) -> None:
        """Calls the app and answers for it when it fails to."""
        server = self.connection.server
        try:
            if b"upgrade" in self.head.fields and is_websocket(self.head):
                self.finish_with(501, 'WebSockets need `server = "uvicorn"` in the pool')
                return
            await server.app(scope_of(self.head, server.lifespan.state), self.receive, self.send)
            if not self.answer.complete and not self.connection.gone:
                server.reports.broken("the app returned without a complete answer")
        except BaseException as error:
            if not self.connection.gone or not comes_of(error, GIVEN_UP, DEPARTURES):
                server.reports.error(error)
        finally:
            if not self.answer.complete and not self.connection.gone:
                self.finish_with(500, "the app failed")
            server.ended(self)

    def finish_with(self, status: int, text: str) -> None:
        """Answers in the app's place, or breaks off an answer that has begun."""
        if self.answer.begun:
            self.connection.transport.close()
            return
        self.answer, data = plain_answer(self.head, status, text)
        self.connection.transport.write(data)
        self.connection.answered(self.answer)

    async def receive(self) -> Message:
        """The app's `receive`: the body, piece by piece, then the end of the connection."""
        while True:
            if self.answer.complete:
                return {"type": "http.disconnect"}
            if self.unread or (self.is_whole and not self.told):
                return self.next_piece()
            if self.connection.gone:
                return {"type": "http.disconnect"}
            if self.news is None:
                self.news = asyncio.Event()
            self.news.clear()
            await self.news.wait()

    def next_piece(self) -> Message:
        """Returns all of the body that has arrived."""
        body = self.unread[0] if len(self.unread) == 1 else b"".join(self.unread)
        self.unread.clear()
        self.unread_bytes = 0
        self.told = self.is_whole
        if not self.is_whole:
            self.connection.resume()
        return {"type": "http.request", "body": body, "more_body": not self.is_whole}

    def tell(self) -> None:
        """Wakes whoever waits in `receive`."""
        if self.news is not None:
            self.news.set()

    async def send(self, message: Message) -> None:
        """The app's `send`: the head is kept until the first piece of the body comes."""
        connection, answer = self.connection, self.answer
        if connection.gone:
            raise ConnectionResetError(GIVEN_UP_TEXT)
        kind = message["type"]
        if not self.started:
            if kind != "http.response.start":
                raise AnswerError(f"`{kind}` sent before `http.response.start`")
            answer.start(message["status"], message.get("headers", ()))
            self.started = True
            return
        if kind != "http.response.body":
            raise AnswerError(f"`{kind}` sent where `http.response.body` was due")
        more = message.get("more_body", False)
        if not more and connection.body is not None:
            # The rest of the request's body is not waited for.
            answer.keep = False
        body = message.get("body", b"")
        if len(body) > COPIED_BYTES_MAX:
            await connection.write_long(answer.frame(body, more))
        elif data := answer.encode(body, more):
            connection.transport.write(data)
        if not more:
            self.tell()
            connection.answered(answer)
        elif connection.may_write is not None:
            await connection.may_write.wait()


def without(parts: list[memoryview], count: int) -> list[memoryview]:
    """Returns what is left of `parts` after their first `count` bytes."""
    for at, part in enumerate(parts):
        if count < len(part):
            return [part[count:], *parts[at + 1 :]]
        count -= len(part)
    return []


def scope_of(head: Head, state: dict[str, Any] | None) -> Message:
    """Returns the ASGI scope of a request."""
    target, fields = head.target, head.fields
    path, _, query = target.partition("?")
    raw_path = path.encode()
    if "%" in path:
        path = unquote_to_bytes(raw_path).decode("utf-8", "replace")
    scheme = scheme_of(fields)
    scope = {
        "type": "http",
        "asgi": VERSIONS,
        "http_version": "1.1",
        "method": head.method,
        "scheme": scheme,
        "path": path,
        "raw_path": raw_path,
        "query_string": query.encode(),
        "root_path": "",
        "headers": head.headers,
        "client": client_of(fields.get(b"x-forwarded-for", b"")),
        "server": server_of(fields[b"host"], scheme),
    }
    if state is not None:
        scope["state"] = state.copy()
    return scope


def is_websocket(head: Head) -> bool:
    """Whether the request asks for a WebSocket (RFC 6455 §4.1)."""
    return head.fields[b"upgrade"].lower() == b"websocket"
