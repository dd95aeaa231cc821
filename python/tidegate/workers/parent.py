"""A parent: one generation of the app's code, imported once, and the workers forked from it.

It never runs the app: no request, no event loop, no thread. An app whose import starts threads
is refused by name, because a fork would leave their locks held for ever in each worker.
"""

import time
from typing import NoReturn

from tidegate.workers.control import Control, Order
from tidegate.workers.failure import Failure
from tidegate.workers.family import Family, outlive_terminations
from tidegate.workers.kinds import kind_of
from tidegate.workers.loading import load_app, loaded_files
from tidegate.workers.pool import Pool, control_path
from tidegate.workers.threads import refuse_threads
from tidegate.workers.worker import Duty, become_worker, import_server


def become_parent(pool: Pool, generation: int) -> NoReturn:
    """Runs a parent in a process that the preload process has just forked."""
    outlive_terminations()
    control = Control(control_path())
    control.hello("parent", generation)
    started = time.monotonic()
    try:
        pool.enter_folder()
        app = load_app(pool.app, pool.app_dir)
        kind = kind_of(app, pool.app, pool.kind)
        import_server(pool, app, kind)
        refuse_threads(pool.app)
    except Failure as failure:
        control.fail(failure)
    seconds = round(time.monotonic() - started, 3)
    control.say("ready", files=loaded_files(pool.app_dir), seconds=seconds, kind=kind)
    family = Family(control, pool.app)

    def fork_worker(order: Order) -> None:
        duty = Duty(pool, app, kind, generation, order["id"])
        family.fork(lambda: become_worker(duty))

    family.serve({"worker": fork_worker})
