"""A server for code that blocks: N threads, one epoll, plain sockets.

Each thread waits for a readable connection, reads one request, lets the app answer, and waits
again; with one thread everything runs in the main thread and nothing is handed over. Reading a
body and sending an answer block, which is all the backpressure there is to do: memory holds what
the app asks for. A connection belongs to one thread at a time (EPOLLONESHOT). The gateway may have
more requests sent than there are threads; it takes one back by closing its connection.
"""

import io
import os
import select
import socket
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Protocol

from tidegate.workers.failure import comes_of
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
from tidegate.workers.private import PRIVATE
from tidegate.workers.sockets import prepare

if TYPE_CHECKING:
    from tidegate.workers.worker import Reports

READ_BYTES = 64 * 1024


class GivenUp(ConnectionError):
    """The gateway closed the connection in the middle of a request."""


class BlockingApp(Protocol):
    """An app as this server calls it."""

    def answer(self, request: "Request") -> None:
        """Answers one request through `request.send`, or raises."""


class BlockingServer:
    """Serves one app in `threads` threads."""

    def __init__(self, app: BlockingApp, threads: int, reports: "Reports") -> None:
        self.app = app
        self.threads = threads
        self.reports = reports
        self.epoll = select.epoll()
        self.connections: dict[int, Connection] = {}
        self.once = select.EPOLLONESHOT if threads > 1 else 0
        self.lock = threading.Lock()
        self.running = 0
        self.leaving = False
        # Readable for ever once told to leave, so that every thread wakes up.
        self.wake_read, self.wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.pid = os.getpid()

    def run(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Serves until told to leave; see `worker.Server`."""
        listener.setblocking(False)
        self.epoll.register(self.wake_read, select.EPOLLIN)
        self.epoll.register(listener, select.EPOLLIN | self.once)
        helpers = [
            threading.Thread(target=self.work, args=(listener,), name=f"tidegate-{number}")
            for number in range(1, self.threads)
        ]
        for helper in helpers:
            helper.start()
        ready()
        self.work(listener)
        for helper in helpers:
            helper.join()

    def leave(self) -> None:
        """Stops taking requests; `run` returns when those that run have ended."""
        self.leaving = True
        os.write(self.wake_write, b"!")

    def work(self, listener: socket.socket) -> None:
        """One thread: takes what is ready, one at a time."""
        listening = listener.fileno()
        poll, connections = self.epoll.poll, self.connections
        while not self.leaving:
            for ready, events in poll(-1, 1):
                if ready == listening:
                    self.accept(listener)
                elif ready in connections:
                    self.serve(connections[ready], bool(events & select.EPOLLHUP))

    def accept(self, listener: socket.socket) -> None:
        """Takes a new connection."""
        try:
            accepted, _ = listener.accept()
        except BlockingIOError:
            return
        finally:
            if self.once:
                self.epoll.modify(listener, select.EPOLLIN | self.once)
        accepted.setblocking(True)
        prepare(accepted)
        PRIVATE.add(accepted.fileno())
        self.connections[accepted.fileno()] = Connection(accepted)
        self.epoll.register(accepted, select.EPOLLIN | self.once)

    def serve(self, connection: "Connection", is_closed: bool) -> None:
        """Reads requests and has them answered until none is there; then waits or closes.

        What the gateway sent on a connection that it has closed, it has taken back.
        """
        with self.lock:
            self.running += 1
        keep = not is_closed
        while keep:
            keep = self.serve_one(connection)
            if not connection.held:
                break
        if not keep:
            descriptor = connection.socket.fileno()
            del self.connections[descriptor]
            PRIVATE.discard(descriptor)
            # A child that the app has forked may still have it, and its end is not another's.
            self.epoll.unregister(descriptor)
            connection.socket.close()
        elif self.once:
            self.epoll.modify(connection.socket, select.EPOLLIN | self.once)
        with self.lock:
            self.running -= 1
        if not keep:
            self.reports.free()

    def serve_one(self, connection: "Connection") -> bool:
        """Answers one request; returns whether the connection can take another."""
        try:
            head = connection.read_head()
        except BadRequest as error:
            connection.send_last(refusal(error))
            return False
        if head is None:
            return False
        request = Request(connection, head)
        is_given_up = False
        try:
            # What it sets in context variables is not for the next request of the thread.
            copy_context().run(self.app.answer, request)
            if not request.answer.complete:
                raise AnswerError("the app returned without a complete answer")
        except BaseException as error:
            is_given_up = comes_of(error, (GivenUp,))
            if not is_given_up and os.getpid() == self.pid:
                self.reports.error(error)
                request.fail()
        if os.getpid() != self.pid:
            # The app forked in a request and its child came back: it is no worker.
            os._exit(0)
        is_whole = request.answer.complete and not is_given_up
        return is_whole and request.answer.keep and request.is_read()


class Connection:
    """One connection of the gateway."""

    __slots__ = ("held", "socket")

    def __init__(self, accepted: socket.socket) -> None:
        self.socket = accepted
        # What has arrived of the next request.
        self.held = b""

    def receive(self) -> bytes:
        """Waits for bytes; none is the end."""
        try:
            return self.socket.recv(READ_BYTES)
        except ConnectionError:
            return b""

    def read_head(self) -> Head | None:
        """Returns the next head, or None at the end of the connection."""
        data = self.held or self.receive()
        while True:
            end = data.find(b"\r\n\r\n")
            if end > HEAD_BYTES_MAX or end < 0 and len(data) > HEAD_BYTES_MAX:
                raise BadRequest(431, "the head is larger than 64 KB")
            if end >= 0:
                self.held = data[end + 4 :]
                return read_head(data[:end])
            more = self.receive()
            if not more:
                return None
            data += more

    def send_last(self, data: bytes) -> None:
        """Sends what nobody may want any more."""
        try:
            self.socket.sendall(data)
        except OSError:
            return


class Request:
    """One request as an app for this server sees it."""

    __slots__ = ("answer", "body", "connection", "head")

    def __init__(self, connection: Connection, head: Head) -> None:
        self.connection = connection
        self.head = head
        self.answer = Answer(head)
        self.body = None if head.length == 0 else Body(head.length)

    def stream(self) -> io.BufferedIOBase:
        """Returns the body as a file; what has not arrived is read when it is asked for."""
        if self.body is None:
            return io.BytesIO()
        return io.BufferedReader(BodyStream(self, self.body), READ_BYTES)

    def is_read(self) -> bool:
        """Whether the body is out of the way of the next request, as far as it has arrived."""
        if self.body is None or self.body.complete:
            return True
        try:
            self.body.feed(self.connection.held)
        except BadRequest:
            return False
        self.connection.held = self.body.rest
        return self.body.complete

    def send(self, body: bytes, more: bool) -> None:
        """Sends a piece of the answer, its head before the first."""
        if not more and not self.is_read():
            # The rest of the request's body is not waited for.
            self.answer.keep = False
        parts: tuple[bytes, ...]
        if len(body) > COPIED_BYTES_MAX:
            parts = self.answer.frame(body, more)
        else:
            parts = (self.answer.encode(body, more),)
        send = self.connection.socket.sendall
        try:
            for part in parts:
                if part:
                    send(part)
        except ConnectionError as error:
            raise GivenUp("the request was given up; nobody waits for the answer") from error

    def fail(self) -> None:
        """Answers 500 in the app's place, unless its answer has begun."""
        if not self.answer.begun:
            self.answer, data = plain_answer(self.head, 500, "the app failed")
            self.connection.send_last(data)


class BodyStream(io.RawIOBase):
    """The bytes of a request's body, from what is held and from the socket."""

    def __init__(self, request: Request, body: Body) -> None:
        super().__init__()
        self.request = request
        self.body = body
        self.ready = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Reads what there is, at least one byte before the end."""
        while not self.ready and not self.body.complete:
            self.ready = self.read_part()
        count = min(len(buffer), len(self.ready))
        buffer[:count] = self.ready[:count]
        self.ready = self.ready[count:]
        return count

    def read_part(self) -> bytes:
        """Waits for more of the body; raises `GivenUp` where it cannot be had."""
        connection = self.request.connection
        data = connection.held or connection.receive()
        connection.held = b""
        if not data:
            raise GivenUp("the request's body broke off")
        try:
            part = self.body.feed(data)
        except BadRequest as error:
            if not self.request.answer.begun:
                connection.send_last(refusal(error))
            raise GivenUp(f"the request's body cannot be read: {error}") from error
        if self.body.complete:
            connection.held = self.body.rest
        return part
