"""A worker: serves the app on a Unix socket of its own, one process among equals.

Owns everything that must not be shared or inherited: the control connection, the socket, what it
prints, its seeds of randomness, its signal handlers, its event loop and threads. Threads and
loops exist only here. It leaves when told to, after what runs has ended; it never restarts
anything and keeps no time limits, which are the supervisor's.
"""

import atexit
import faulthandler
import gc
import importlib
import json
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol

from tidegate.workers.control import Control
from tidegate.workers.failure import Failure, one_line, traceback_of
from tidegate.workers.kinds import is_async, kind_of
from tidegate.workers.loading import load_app, loaded_files, preload
from tidegate.workers.mounted import mounted
from tidegate.workers.pool import Pool, control_path, own_generation, own_number
from tidegate.workers.private import PRIVATE, hide_from_forks

SOCKET_PATH_BYTES_MAX = 107
BACKLOG = 1024


@dataclass(frozen=True)
class Duty:
    """What a worker serves, and as whom."""

    pool: Pool
    app: Any
    kind: str
    generation: int
    number: int


class Server(Protocol):
    """What serves an app on a listening socket."""

    def run(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Serves until told to leave; calls `ready` when requests can come."""

    def leave(self) -> None:
        """Asks `run` to return when what runs has ended; safe from any thread."""


class Reports:
    """What a server tells the supervisor about requests."""

    def __init__(self, control: Control) -> None:
        self.control = control

    def free(self) -> None:
        """A request whose connection had gone has ended, or a connection without one."""
        self.control.say("free")

    def error(self, error: BaseException) -> None:
        """The app let out an exception."""
        self.control.say("error", reason=one_line(error), traceback=traceback_of(error))

    def broken(self, reason: str) -> None:
        """The app broke its protocol without raising."""
        self.control.say("error", reason=reason, traceback=None)


def become_worker(duty: Duty) -> NoReturn:
    """Runs a worker in a process that its parent has just forked."""
    gc.enable()
    control = enter(duty.pool, duty.generation, duty.number)
    work(control, duty, {})


def start_worker() -> NoReturn:
    """Runs a worker that loads preload and app itself (`share_memory = "off"`)."""
    number, generation = own_number(), own_generation()
    try:
        pool = Pool.from_environment()
    except Failure as failure:
        control = Control(control_path())
        control.hello("worker", generation, number)
        control.fail(failure)
    control = enter(pool, generation, number)
    try:
        pool.enter()
        if pool.preload is not None:
            preload(pool.preload, pool.app_dir)
        app = load_app(pool.app, pool.app_dir)
        kind = kind_of(app, pool.app, pool.kind)
    except Failure as failure:
        control.fail(failure)
    files = loaded_files(pool.app_dir)
    work(control, Duty(pool, app, kind, generation, number), {"files": files, "kind": kind})


def enter(pool: Pool, generation: int, number: int) -> Control:
    """Makes this process a worker, before any code of the app runs in it."""
    # A group of its own: what the app forks can be ended with it.
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    control = Control(control_path())
    control.hello("worker", generation, number)
    redirect_output(pool.output, number)
    # So the supervisor asks where a request hangs before it kills; answered from C, too.
    faulthandler.register(signal.SIGUSR2, all_threads=True)
    PRIVATE.add(control.socket.fileno())
    hide_from_forks()
    return control


def work(control: Control, duty: Duty, told: dict[str, object]) -> NoReturn:
    """Serves until told to leave, then ends without touching the memory it shares."""
    started = time.monotonic()
    path = duty.pool.socket_of(duty.number)
    try:
        reseed()
        listener = listen(path)
        PRIVATE.add(listener.fileno())
        server = server_for(duty, Reports(control))
        hand_on_termination(control)
        obeying = threading.Thread(
            target=obey, args=(control, server), name="tidegate-control", daemon=True
        )
        obeying.start()

        def ready() -> None:
            seconds = round(time.monotonic() - started, 3)
            control.say("ready", socket=path, seconds=seconds, **told)

        server.run(listener, ready)
    except Failure as failure:
        control.fail(failure)
    except BaseException as error:
        control.fail(Failure("serve", f"serve: {one_line(error)}", trace=traceback_of(error)))
    os.unlink(path)
    # An interpreter that is finalised writes into every page; `atexit` is what the app relies on.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def hand_on_termination(control: Control) -> None:
    """Has SIGTERM ask the supervisor for the end: it knows which requests are on their way here."""
    pid = os.getpid()

    def terminated(*_: object) -> None:
        if os.getpid() != pid:
            # A child that the app has forked is nobody's worker.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        # The thread that was interrupted may be speaking.
        threading.Thread(target=control.say, args=("leaving",), daemon=True).start()

    signal.signal(signal.SIGTERM, terminated)


def import_server(pool: Pool, app: Any, kind: str) -> None:
    """Imports what `server_for` is going to use, so that workers forked from here share it.

    uvicorn belongs to the app's environment: each worker imports it for itself, after the fork.
    """
    if pool.server == "uvicorn":
        return
    modules = {"asgi": ("asgi",), "wsgi": ("blocking", "wsgi")}.get(
        kind, ("function", "asgi") if is_async(app) else ("function",)
    )
    for module in modules:
        importlib.import_module(f"tidegate.workers.{module}")


def server_for(duty: Duty, reports: Reports) -> Server:
    """Returns the server for the app's kind, importing only that one."""
    duty = replace(duty, app=mounted(duty.app, duty.kind, duty.pool.root_path))
    if duty.pool.server == "uvicorn":
        from tidegate.workers.uvicorn import UvicornServer

        return UvicornServer(duty, reports)
    if duty.kind == "asgi":
        from tidegate.workers.asgi import AsgiServer

        return AsgiServer(duty.app, duty.pool, reports)
    from tidegate.workers.blocking import BlockingServer

    if duty.kind == "wsgi":
        from tidegate.workers.wsgi import WsgiApp

        threads = duty.pool.threads
        return BlockingServer(WsgiApp(duty.app, threads > 1), threads, reports)
    from tidegate.workers.function import AsyncFunction, FunctionApp

    if is_async(duty.app):
        from tidegate.workers.asgi import AsgiServer

        pool = replace(duty.pool, lifespan="off")
        return AsgiServer(AsyncFunction(duty.app), pool, reports)
    return BlockingServer(FunctionApp(duty.app), duty.pool.threads, reports)


def obey(control: Control, server: Server) -> NoReturn:
    """Answers the supervisor, beside whatever the app does."""
    while True:
        for order in control.receive():
            if order["do"] == "leave":
                server.leave()


def listen(path: str) -> socket.socket:
    """Returns a listening socket that only this user may connect to."""
    size = len(os.fsencode(path))
    if size > SOCKET_PATH_BYTES_MAX:
        reason = f"listen on `{path}`: the path has {size} bytes; a socket's may have at most 107"
        raise Failure("listen", reason, hint="set a shorter `dir`")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        if os.path.lexists(path):
            os.unlink(path)
        listener.bind(path)
    except OSError as error:
        hint = "the directory must exist and be writable; set `dir`"
        raise Failure("listen", f"listen on `{path}`: {error.strerror}", hint=hint) from error
    finally:
        os.umask(mask)
    listener.listen(BACKLOG)
    return listener


def redirect_output(path: str, number: int) -> None:
    """Sends what this process prints, also from C, to the supervisor's log."""
    output = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        output.connect(path)
    except OSError as error:
        sys.stderr.write(f"connect to output socket `{path}`: {error.strerror}\n")
        return
    output.sendall(json.dumps({"pid": os.getpid(), "id": number}).encode() + b"\n")
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    output.close()


def reseed() -> None:
    """Gives each worker randomness of its own; generators that the app made itself are its own."""
    random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.seed()
