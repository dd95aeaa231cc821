"""The connection to the supervisor: JSON lines, both ways.

Owns the socket and its framing. Its end of file means that the supervisor has gone, and then
this process ends at once, whatever it does; so nothing that waits on it can outlive its pool.
Every process opens its own connection after its fork: the supervisor reads the pid from the
kernel, not from what is said. Refuses nothing: an order that is not known is ignored, so that an
older package runs under a newer supervisor.
"""

import fcntl
import json
import os
import platform
import signal
import socket
import threading
from typing import Any, NoReturn

from tidegate.workers.failure import Failure

Order = dict[str, Any]

LEASH = "leash"


class Control:
    """One process's connection to the supervisor, and its leash."""

    def __init__(self, path: str) -> None:
        # Before the connection: a supervisor that still takes it is alive after the leash holds.
        hold_leash(os.path.join(os.path.dirname(path), LEASH))
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.socket.connect(path)
        except OSError as error:
            raise SystemExit(f"connect to control socket `{path}`: {error}") from error
        self.held = b""
        # Workers speak from several threads; a line is never torn.
        self.speaking = threading.Lock()

    def hello(self, role: str, generation: int = 0, worker: int | None = None) -> None:
        """Says who this is; the first line of every connection."""
        python = platform.python_version()
        self.say("hello", role=role, generation=generation, id=worker, python=python)

    def say(self, what: str, **fields: object) -> None:
        """Sends one message; a supervisor that has gone ends this process."""
        line = json.dumps({"say": what, **fields}).encode() + b"\n"
        try:
            with self.speaking:
                self.socket.sendall(line)
        except OSError:
            end_without_supervisor()

    def fail(self, failure: Failure) -> NoReturn:
        """Reports why this process cannot go on, and ends it."""
        self.say("failed", **failure.fields())
        os._exit(1)

    def receive(self) -> list[Order]:
        """Waits for orders and returns them; answers pings itself."""
        try:
            data = self.socket.recv(65536)
        except OSError:
            data = b""
        if not data:
            end_without_supervisor()
        *lines, self.held = (self.held + data).split(b"\n")
        orders: list[Order] = [json.loads(line) for line in lines if line]
        for ping in orders:
            if ping["do"] == "ping":
                self.say("pong", n=ping["n"])
        return [order for order in orders if order["do"] != "ping"]

    def close(self) -> None:
        """Forgets the connection in a fork, which will open its own."""
        self.socket.close()


def end_without_supervisor() -> NoReturn:
    """Ends this process, and with a worker also what its app has forked."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def hold_leash(path: str) -> None:
    """Lets the kernel end this process when the supervisor dies, even inside C code.

    The supervisor holds the pipe at `path` open for writing and never writes. When its last
    writer is gone the kernel sends SIGIO, whose default action ends the process without asking
    the interpreter. A worker's whole group gets it, for the worker may be gone before it could
    end what its app has forked. Where there is no such pipe, only the control socket tells.
    """
    try:
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    whom = -os.getpid() if os.getpgrp() == os.getpid() else os.getpid()
    fcntl.fcntl(pipe, fcntl.F_SETOWN, whom)
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
