"""The preload process: loads what outlives the app's code, and forks a parent for each generation.

It holds what `preload` returned for as long as the pool lives and never imports the app, so that
new code gets a new parent in the time of its own import, with the model already there.
"""

import gc
import os
import signal
import sys
import time
from typing import NoReturn

from tidegate.workers.control import Control, Order
from tidegate.workers.failure import Failure
from tidegate.workers.family import Family, outlive_terminations
from tidegate.workers.loading import loaded_files, preload
from tidegate.workers.parent import become_parent
from tidegate.workers.pool import Pool, control_path
from tidegate.workers.threads import refuse_threads

SHARED_MEMORY = "/dev/shm"


def start_preload() -> NoReturn:
    """Runs the preload process, from its start by the supervisor to its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outlive_terminations()
    # What is loaded here lives for ever; looking for garbage among it costs time and pages.
    gc.disable()
    control = Control(control_path())
    control.hello("preload")
    try:
        pool = Pool.from_environment()
        started = time.monotonic()
        pool.enter()
        if pool.preload is not None:
            preload(pool.preload, pool.app_dir)
        refuse_threads(pool.preload or "nothing")
    except Failure as failure:
        control.fail(failure)
    seconds = round(time.monotonic() - started, 3)
    files = loaded_files(pool.app_dir)
    control.say("ready", files=files, seconds=seconds, shm=shared_memory())
    family = Family(control, pool.preload or "nothing")

    def fork_parent(order: Order) -> None:
        family.fork(lambda: become_parent(pool, order["generation"]))

    family.serve({"parent": fork_parent})


def shared_memory() -> dict[str, int] | None:
    """Returns the free and the whole size of /dev/shm in bytes, or None where there is none."""
    try:
        found = os.statvfs(SHARED_MEMORY)
    except OSError as error:
        sys.stderr.write(f"measure `{SHARED_MEMORY}`: {error.strerror}\n")
        return None
    return {"free": found.f_bavail * found.f_frsize, "size": found.f_blocks * found.f_frsize}
