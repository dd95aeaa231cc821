"""What went wrong in words that an operator can act on: one line, a hint, a traceback.

Tracebacks are cut to the app's own frames: those of this package and of the import machinery
tell nobody anything. They are bounded, and keep their end, where the error stands.
"""

import os
import traceback
from types import TracebackType

TRACEBACK_BYTES_MAX = 16 * 1024
# What Starlette and uvicorn raise where the client has left.
DEPARTURES = frozenset(("ClientDisconnect", "ClientDisconnected", "WebSocketDisconnect"))
OWN_FOLDER = os.path.dirname(__file__)


class Failure(Exception):
    """A process cannot do what it was started for; `stage` says in which part of its life."""

    def __init__(
        self,
        stage: str,
        reason: str,
        hint: str | None = None,
        trace: str | None = None,
        files: list[str] | None = None,
    ) -> None:
        super().__init__(reason)
        self.stage = stage
        self.reason = reason
        self.hint = hint
        self.trace = trace
        self.files = files

    def fields(self) -> dict[str, object]:
        """Returns what a `failed` message carries."""
        told: dict[str, object] = {"stage": self.stage, "reason": self.reason}
        told |= {"hint": self.hint, "traceback": self.trace}
        return told | ({"files": self.files} if self.files is not None else {})


def comes_of(
    error: BaseException,
    kinds: tuple[type[BaseException], ...],
    names: frozenset[str] = frozenset(),
) -> bool:
    """Whether an exception, its explicit cause or all of its group are of one of these kinds.

    `names` are of kinds that are not imported here. What was raised while one of them was handled
    is an error of its own.
    """
    parts = getattr(error, "exceptions", None)
    if isinstance(parts, tuple) and parts:
        return all(comes_of(part, kinds, names) for part in parts)
    step: BaseException | None = error
    seen: set[int] = set()
    while step is not None and id(step) not in seen:
        if isinstance(step, kinds) or type(step).__name__ in names:
            return True
        seen.add(id(step))
        step = step.__cause__
    return False


def one_line(error: BaseException) -> str:
    """Returns an exception as `Kind: text`, on one line, at most 500 characters."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__


def traceback_of(error: BaseException) -> str:
    """Returns the traceback without the frames that are not the app's."""
    told = traceback.TracebackException(type(error), error, first_of_app(error.__traceback__))
    text = "".join(told.format())
    if len(text) > TRACEBACK_BYTES_MAX:
        text = "… (cut)\n" + text[-TRACEBACK_BYTES_MAX:]
    return text


def first_of_app(trace: TracebackType | None) -> TracebackType | None:
    """Returns the traceback from its first frame on that is neither ours nor the importer's."""
    step = trace
    while step is not None and is_machinery(step.tb_frame.f_code.co_filename):
        step = step.tb_next
    return step


def is_machinery(file: str) -> bool:
    """Whether a frame belongs to this package or to Python's import system."""
    importer = file.startswith("<frozen importlib") or "/importlib/" in file
    return importer or os.path.dirname(file) == OWN_FOLDER
