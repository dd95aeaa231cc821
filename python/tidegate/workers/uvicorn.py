"""The app environment's own uvicorn in a worker's place of a server (`server = "uvicorn"`).

It is imported after the fork, listens on the worker's socket, and obeys the worker's control
connection; signals, logging and access log stay out of it. What it adds is what it can: WebSockets
and its own loop. `free` and `error` are said as by our own server, for WebSockets too. Idle
connections are the gateway's to close: one that uvicorn closed could take a request with it.
"""

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tidegate.workers.failure import DEPARTURES, Failure, comes_of
from tidegate.workers.function import AsyncFunction
from tidegate.workers.kinds import is_async

if TYPE_CHECKING:
    from tidegate.workers.worker import Duty, Reports


# Longer than the gateway keeps a connection that it does not use.
KEEP_ALIVE_S = 3600


class UvicornServer:
    """Serves one app by uvicorn."""

    def __init__(self, duty: "Duty", reports: "Reports") -> None:
        try:
            import uvicorn
        except ImportError as error:
            hint = 'add it to the app\'s environment, or set `server = "tidegate"`'
            raise Failure("import", f"import `uvicorn`: {error}", hint=hint) from error
        self.reports = reports
        self.running = 0
        # Connections that have gone while requests ran; whose is not known here.
        self.gone = 0
        self.app = as_asgi(duty)
        config = uvicorn.Config(
            self.watched,
            interface="asgi3",
            lifespan=duty.pool.lifespan,  # type: ignore[arg-type]
            log_config=None,
            access_log=False,
            proxy_headers=True,
            forwarded_allow_ips="*",
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
        config.load()
        config.http_protocol_class = reporting(config.http_protocol_class, self.connection_ended)
        # An upgraded connection leaves the one for the other, and the first hears no more of it.
        if config.ws_protocol_class is not None:
            config.ws_protocol_class = reporting(config.ws_protocol_class, self.connection_ended)
        self.server = uvicorn.Server(config)

    def run(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Serves until told to leave; see `worker.Server`."""
        server: Any = self.server
        startup = server.startup

        async def start(sockets: list[socket.socket] | None = None) -> None:
            await startup(sockets=sockets)
            if server.started and not server.should_exit:
                ready()

        server.startup = start
        # The supervisor's signals are the worker's business.
        server.capture_signals = no_signals
        server.install_signal_handlers = ignore_signals
        with contextlib.suppress(SystemExit):
            server.run(sockets=[listener])
        if not server.started:
            reason = "startup: uvicorn could not start the app"
            raise Failure("lifespan", reason, hint="its own words are in the worker's output")

    def leave(self) -> None:
        """Lets uvicorn finish what runs."""
        self.server.should_exit = True

    async def watched(self, scope: Any, receive: Any, send: Any) -> None:
        """The app, its requests counted and its exceptions reported."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        pid = os.getpid()
        self.running += 1
        is_answered = False

        async def sending(message: Any) -> None:
            nonlocal is_answered
            await send(message)
            if message["type"] == "http.response.body":
                is_answered = not message.get("more_body", False)

        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            if not comes_of(error, (), DEPARTURES):
                self.reports.error(error)
            # Frameworks answer 500 and raise again. uvicorn would close the connection, which the
            # gateway has in use again by then.
            if not is_answered:
                raise
        finally:
            if os.getpid() != pid:
                os._exit(0)
            self.running -= 1
            if self.gone:
                self.gone -= 1
                self.reports.free()

    def connection_ended(self) -> None:
        """Tells the supervisor when nothing runs, else when the next request has ended."""
        if self.running > self.gone:
            self.gone += 1
        else:
            self.reports.free()


def as_asgi(duty: "Duty") -> Any:
    """Returns the app as ASGI 3; sync apps are refused, they gain nothing here."""
    if duty.kind == "asgi":
        return duty.app
    if duty.kind == "function" and is_async(duty.app):
        return AsyncFunction(duty.app)
    reason = f"app `{duty.pool.app}` is not ASGI; uvicorn serves nothing else here"
    raise Failure("config", reason, hint='set `server = "tidegate"`')


def reporting(protocol: Any, ended: Callable[[], None]) -> Any:
    """Returns uvicorn's protocol class with the end of each connection told."""

    class Reporting(protocol):  # type: ignore[misc]
        def connection_lost(self, error: Exception | None) -> None:
            super().connection_lost(error)
            ended()

    return Reporting


@contextlib.contextmanager
def no_signals() -> Iterator[None]:
    """In place of uvicorn's signal handlers."""
    yield


def ignore_signals() -> None:
    """The same for uvicorn before 0.29."""
