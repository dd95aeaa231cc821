"""Refuses to fork a process that has more than one thread, and names the others.

A fork copies the locks of all threads and only one of the threads: what another held stays
locked for ever, and the worker hangs in its first request. The kernel's list is what counts;
threads that C libraries start are unknown to Python.
"""

import os
import sys
import threading
from pathlib import Path

from tidegate.workers.failure import Failure

TASKS = "/proc/self/task"
POOLS_OF_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HINT_PYTHON = (
    "start threads in the app's startup (ASGI lifespan) or in its first request,"
    ' or set `share_memory = "off"` so that each worker imports the app itself'
)
HINT_NATIVE = 'set `share_memory = "off"` so that each worker imports the app itself'


def refuse_threads(loaded: str) -> None:
    """Raises `Failure` of stage `threads` when this process has others than its first thread.

    `loaded` is what has been imported and may have started them.
    """
    others = other_threads()
    if not others:
        return
    native = [name for name, is_python in others if not is_python]
    shown = ", ".join(f"`{name}`" + ("" if py else " (not Python's)") for name, py in others)
    plural = "s" if len(others) > 1 else ""
    reason = f"fork after `{loaded}`: it has started {len(others)} thread{plural}: {shown}"
    raise Failure("threads", reason, hint=hint_native() if native else HINT_PYTHON)


def other_threads() -> list[tuple[str, bool]]:
    """Returns the name of each thread but the first, and whether Python knows it."""
    known = {thread.native_id: thread.name for thread in threading.enumerate()}
    found = []
    for task in sorted(os.listdir(TASKS), key=int):
        if int(task) == os.getpid():
            continue
        name = known.get(int(task)) or command_of(task)
        if name is not None:
            found.append((name, int(task) in known))
    return found


def command_of(task: str) -> str | None:
    """Returns what the kernel calls a thread, or None when it has just ended."""
    try:
        return Path(TASKS, task, "comm").read_text().strip()
    except OSError:
        return None


def hint_native() -> str:
    """Returns the cure for threads of C libraries, which often follow an environment variable."""
    unset = [name for name in POOLS_OF_LIBRARIES if os.environ.get(name) != "1"]
    numeric = any(module in sys.modules for module in ("numpy", "torch", "sklearn", "xgboost"))
    if unset and numeric:
        return f'set `{unset[0]} = "1"` in `environment`, or {HINT_NATIVE[len("set ") :]}'
    return HINT_NATIVE
