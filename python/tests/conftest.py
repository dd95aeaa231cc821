"""Plays the supervisor of a worker pool: control socket, output socket, leash, real processes.

Nothing waits for a time: messages, output lines and ends of processes are events, each awaited
under one generous deadline that only a failing test reaches.
"""

import collections
import contextlib
import http.client
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DEADLINE_S = 30.0
PACKAGE = Path(__file__).parent.parent
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class UnixHttp(http.client.HTTPConnection):
    """An HTTP client on a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("app", timeout=DEADLINE_S)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(self.path)


class Process:
    """One process of the pool, as its control connection shows it."""

    def __init__(self, supervisor: "Supervisor", connection: socket.socket) -> None:
        self.supervisor = supervisor
        self.connection = connection
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        self.pid, _, _ = struct.unpack("3i", credentials)
        self.messages: list[dict[str, Any]] = []
        self.is_gone = False

    @property
    def hello(self) -> dict[str, Any]:
        return self.messages[0]

    def order(self, what: str, **fields: object) -> None:
        self.connection.sendall(json.dumps({"do": what, **fields}).encode() + b"\n")

    def all_said(self, what: str) -> list[dict[str, Any]]:
        return [message for message in list(self.messages) if message["say"] == what]

    def said(self, what: str, count: int = 1) -> dict[str, Any]:
        """Waits until the process has said `what` for the `count`th time."""
        self.supervisor.wait(
            lambda: len(self.all_said(what)) >= count or self.is_gone,
            f"`{what}` of {self.messages}",
        )
        found = self.all_said(what)
        assert len(found) >= count, self.messages
        return found[count - 1]

    def ended(self) -> None:
        """Waits for the end of the process itself."""
        wait_for_end(self.pid)

    @property
    def path(self) -> str:
        return str(self.said("ready")["socket"])

    def http(self) -> UnixHttp:
        return UnixHttp(self.path)

    def raw(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(DEADLINE_S)
        connection.connect(self.path)
        return connection

    def get(self, target: str = "/", **headers: str) -> tuple[int, bytes]:
        return self.ask("GET", target, None, **headers)

    def ask(self, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        """One request on a connection of its own."""
        connection = self.http()
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer


class Supervisor:
    """Starts a preload process and keeps what its family says."""

    def __init__(self, folder: Path, app_dir: Path) -> None:
        self.folder, self.app_dir = folder, app_dir
        self.news = threading.Condition()
        self.processes: list[Process] = []
        self.output: dict[int, list[bytes]] = collections.defaultdict(list)
        self.started: list[subprocess.Popen[bytes]] = []
        self.listeners = [self.listen("control.sock", self.listen_to)]
        self.listeners.append(self.listen("output.sock", self.take_output))
        os.mkfifo(folder / "leash")
        self.leash = os.open(folder / "leash", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def app(self, text: str, name: str = "app.py") -> None:
        (self.app_dir / name).write_text(text)

    def environment(self, **settings: object) -> dict[str, str]:
        pool = {
            "app": "app:app",
            "kind": "auto",
            "preload": None,
            "app_dir": str(self.app_dir),
            "folder": str(self.folder),
            "threads": 1,
            "concurrency": 1,
            "server": "tidegate",
            "lifespan": "auto",
            "root_path": "",
            "niceness": 0,
        }
        return (
            os.environ
            | ONE_THREAD
            | {
                "PYTHONPATH": str(PACKAGE),
                "PYTHONUNBUFFERED": "1",
                "PYTHONDONTWRITEBYTECODE": "1",
                "TIDEGATE_CONTROL": str(self.folder / "control.sock"),
                "TIDEGATE_POOL": json.dumps(pool | settings),
            }
        )

    def start(self, role: str, environment: dict[str, str], *command: str) -> Process:
        """Executes a preload process or a worker."""
        before = len(self.processes)
        arguments = [sys.executable, *(command or ("-m", "tidegate.workers")), role]
        self.started.append(subprocess.Popen(arguments, env=environment, stdin=subprocess.DEVNULL))
        self.wait(lambda: len(self.processes) > before, f"hello of the {role}")
        return self.processes[before]

    def preload(self, **settings: object) -> Process:
        return self.start("preload", self.environment(**settings))

    def forked(self, by: Process, what: str, **fields: object) -> Process:
        """Orders a fork and returns the new process when it has said hello."""
        before = len(self.processes)
        by.order(what, **fields)
        self.wait(lambda: len(self.processes) > before, f"a new process by {by.messages}")
        return self.processes[-1]

    def parent(self, **settings: object) -> Process:
        preload = self.preload(**settings)
        preload.said("ready")
        return self.forked(preload, "parent", generation=1)

    def worker(self, text: str | None = None, **settings: object) -> Process:
        """A worker that is ready, with its family above it."""
        if text is not None:
            self.app(text)
        parent = self.parent(**settings)
        parent.said("ready")
        worker = self.forked(parent, "worker", id=7)
        worker.said("ready")
        return worker

    def parent_of(self, worker: Process) -> Process:
        return next(p for p in self.processes if p.hello["role"] == "parent")

    def printed(self, worker: Process, line: bytes) -> None:
        """Waits until a worker has printed a line."""
        self.wait(lambda: line in self.output[worker.pid], f"{line!r} in {self.output}")

    def wait(self, is_true: Callable[[], bool], what: str) -> None:
        with self.news:
            assert self.news.wait_for(is_true, DEADLINE_S), f"waited in vain for {what}"

    def note(self, change: Callable[[], None]) -> None:
        with self.news:
            change()
            self.news.notify_all()

    def listen(self, name: str, take: Callable[[socket.socket], None]) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self.folder / name))
        listener.listen(64)

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=take, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return listener

    def listen_to(self, connection: socket.socket) -> None:
        process = Process(self, connection)
        for line in lines_of(connection):
            message = json.loads(line)

            def keep(message: dict[str, Any] = message) -> None:
                process.messages.append(message)
                if message["say"] == "hello":
                    self.processes.append(process)

            self.note(keep)
        self.note(lambda: setattr(process, "is_gone", True))

    def take_output(self, connection: socket.socket) -> None:
        lines = lines_of(connection)
        pid = json.loads(next(lines))["pid"]
        for line in lines:
            self.note(lambda line=line: self.output[pid].append(line))

    def vanish(self, *what: str) -> None:
        """Goes away as a killed supervisor does: the kernel closes what it has, in any order."""
        for part in what or ("leash", "sockets"):
            if part == "leash":
                os.close(self.leash)
            else:
                self.close_sockets()

    def close_sockets(self) -> None:
        self.stop_listening()
        for process in self.processes:
            # `close` alone would leave the descriptor to the thread that reads it.
            process.connection.shutdown(socket.SHUT_RDWR)
            process.connection.close()

    def stop_listening(self) -> None:
        for listener in self.listeners:
            # Wakes the thread that accepts.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def close(self) -> None:
        self.stop_listening()
        for started in self.started:
            started.kill()
            started.wait()
        for process in self.processes:
            kill(process.pid)


def lines_of(connection: socket.socket) -> Iterator[bytes]:
    held = b""
    while True:
        try:
            data = connection.recv(65536)
        except OSError:
            return
        if not data:
            return
        *lines, held = (held + data).split(b"\n")
        yield from lines


def kill(pid: int) -> None:
    """Ends a process of this test and what it has forked."""
    for end in (lambda: os.killpg(pid, signal.SIGKILL), lambda: os.kill(pid, signal.SIGKILL)):
        try:
            end()
        except ProcessLookupError:
            continue


def wait_for_end(pid: int) -> None:
    """Waits until a process has ended, whoever its parent is."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], DEADLINE_S)[0], f"process {pid} lives on"
    finally:
        os.close(descriptor)


@pytest.fixture
def supervisor(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Supervisor]:
    # A socket's path is bounded, and pytest's folders carry the test's name.
    folder = Path(f"/tmp/tidegate-{os.getpid()}-{abs(hash(request.node.name)) % 10**8}")
    folder.mkdir(mode=0o700)
    app_dir = tmp_path / "site"
    app_dir.mkdir()
    playing = Supervisor(folder, app_dir)
    yield playing
    playing.close()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
