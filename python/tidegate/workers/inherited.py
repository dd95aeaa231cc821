"""What a fork has a copy of and must not end: it belongs to the process that made it.

A worker runs the app's `atexit` functions when it leaves. Among them are the finalizers of objects
(`weakref.finalize`, which `tempfile.TemporaryDirectory` uses) and those of `multiprocessing`: run
in the first worker that is replaced, they would delete a folder, or end a process, that all others
share. So a fork disowns those that were there before it, and what made them finalizes them when it
ends. Functions that the app registered with `atexit` are left alone.
"""

import sys
import weakref
from typing import Any


def disown_inherited() -> None:
    """Leaves finalizers and processes to the process that this one was forked from."""
    finalizers: Any = weakref.finalize
    for inherited in finalizers._registry.values():
        inherited.atexit = False
    processes: Any = sys.modules.get("multiprocessing.process")
    if processes is not None:
        # As multiprocessing does in the processes that it forks itself.
        processes._children = set()


def finalize_own() -> None:
    """Finalizes what this process has made, and ends the daemons that it has started."""
    processes: Any = sys.modules.get("multiprocessing.process")
    for child in processes._children if processes is not None else ():
        if child.daemon:
            child.terminate()
    finalizers: Any = weakref.finalize
    finalizers._exitfunc()
