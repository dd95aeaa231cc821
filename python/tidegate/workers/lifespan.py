"""The ASGI lifespan: startup before the first request, shutdown after the last.

An app that fails before it has asked for its first event does not know lifespans, and is served
without (`lifespan = "auto"`). One that asked and then failed has failed at its startup: the worker
reports that and ends, it never serves an app that is half started.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from tidegate.workers.failure import Failure, one_line, traceback_of

if TYPE_CHECKING:
    from tidegate.workers.worker import Reports

Message = dict[str, Any]


class Lifespan:
    """One run of the app's lifespan. `state` is what requests get a copy of, None without."""

    def __init__(
        self, app: Callable[[Any, Any, Any], Awaitable[None]], mode: str, reports: "Reports"
    ) -> None:
        self.app = app
        self.mode = mode
        self.reports = reports
        self.state: dict[str, Any] | None = None
        self.task: asyncio.Task[None] | None = None
        self.events: asyncio.Queue[Message] = asyncio.Queue()
        self.asked = False
        self.started = asyncio.Event()
        self.stopped = asyncio.Event()
        self.error: BaseException | None = None
        self.refused: str | None = None

    async def startup(self) -> None:
        """Returns when the app has started; raises `Failure` when it could not."""
        if self.mode == "off":
            return
        self.state = {}
        self.events.put_nowait({"type": "lifespan.startup"})
        self.task = asyncio.get_running_loop().create_task(self.run(), name="lifespan")
        await self.started.wait()
        if self.refused is not None:
            reason = " ".join(self.refused.strip().rsplit("\n", 1)[-1].split())
            raise Failure("lifespan", f"startup: {reason or 'the app refused'}", trace=self.refused)
        if self.error is not None and (self.asked or self.mode == "on"):
            trace = traceback_of(self.error)
            raise Failure("lifespan", f"startup: {one_line(self.error)}", trace=trace)

    async def shutdown(self) -> None:
        """Returns when the app has shut down; a failure is reported."""
        if self.task is None or self.task.done():
            return
        self.events.put_nowait({"type": "lifespan.shutdown"})
        await self.stopped.wait()
        if self.error is not None:
            self.reports.error(self.error)

    async def run(self) -> None:
        """Calls the app with a lifespan scope."""
        scope = {
            "type": "lifespan",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "state": self.state,
        }
        try:
            await self.app(scope, self.receive, self.send)
        except BaseException as error:
            self.error = error
            if not self.asked:
                self.state = None
        finally:
            self.started.set()
            self.stopped.set()

    async def receive(self) -> Message:
        """The app's `receive`."""
        self.asked = True
        return await self.events.get()

    async def send(self, message: Message) -> None:
        """The app's `send`."""
        kind = message["type"]
        if kind == "lifespan.startup.failed":
            self.refused = message.get("message", "")
        elif kind == "lifespan.shutdown.failed":
            self.reports.broken(f"shutdown: {message.get('message', '')}")
        if kind.startswith("lifespan.startup."):
            self.started.set()
        elif kind.startswith("lifespan.shutdown."):
            self.stopped.set()
