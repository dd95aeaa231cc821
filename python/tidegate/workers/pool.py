"""What the supervisor tells a pool's processes through the environment.

The only reader of `TIDEGATE_*` variables. Defaults are the supervisor's; a key it left out of
`TIDEGATE_POOL` is an error here, so that the two never differ silently.
"""

import importlib
import json
import os
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tidegate.workers.failure import Failure


@dataclass(frozen=True)
class Pool:
    """Those of a pool's settings that its processes need, as `TIDEGATE_POOL` holds them."""

    app: str
    kind: str
    preload: str | None
    app_dir: str
    folder: str
    threads: int
    concurrency: int
    server: str
    lifespan: str
    root_path: str
    niceness: int

    @classmethod
    def from_environment(cls) -> "Pool":
        """Reads `TIDEGATE_POOL`, or raises `Failure` of stage `config`."""
        try:
            given: dict[str, Any] = json.loads(os.environ["TIDEGATE_POOL"])
            return cls(**{field.name: given[field.name] for field in fields(cls)})
        except (KeyError, TypeError, ValueError) as error:
            raise Failure("config", f"read `TIDEGATE_POOL`: {error!r}") from error

    def enter(self) -> None:
        """Makes the app's folder the current one and the first that modules are sought in.

        From here on this process yields to others as it was told, and so does all that it forks:
        whoever was executed calls this once, and whoever was forked does not.
        """
        os.nice(self.niceness)
        self.enter_folder()
        sys.path.insert(0, self.app_dir)

    def enter_folder(self) -> None:
        """Makes the app's folder the current one: the path may lead elsewhere than it did."""
        try:
            os.chdir(self.app_dir)
        except OSError as error:
            reason = f"enter folder `{self.app_dir}`: {error.strerror}"
            raise Failure("config", reason, hint="set `app_dir`") from error
        # What was found in the folder before, perhaps of another release, is looked for anew.
        importlib.invalidate_caches()

    def socket_of(self, worker: int) -> str:
        """Returns the path that a worker listens on."""
        return str(Path(self.folder, f"w{worker}.sock"))

    @property
    def output(self) -> str:
        """The socket that takes what workers print."""
        return str(Path(self.folder, "output.sock"))


def control_path() -> str:
    """Returns the path of the control socket; without it nothing can be reported but to stderr."""
    path = os.environ.get("TIDEGATE_CONTROL")
    if path is None:
        raise SystemExit("`TIDEGATE_CONTROL` is not set: started by `tidegate serve` only")
    return path


def own_number() -> int:
    """Returns the id of a worker that was executed, not forked."""
    return int(os.environ.get("TIDEGATE_WORKER_ID", "0"))


def own_generation() -> int:
    """Returns the generation of the app's code that an executed process belongs to."""
    return int(os.environ.get("TIDEGATE_GENERATION", "0"))
