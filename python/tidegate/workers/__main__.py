"""`python -m tidegate.workers preload|worker`, and the same from the zipapp.

Reads the environment that the supervisor gave and becomes the process it names. It imports the
rest only after the version check, so that an old Python says so instead of failing on syntax.
"""

import sys

OLDEST = (3, 10)
USAGE = "usage: python -m tidegate.workers preload|worker (started by `tidegate serve`)"


def main() -> int:
    """Runs the named process; returns only when it could not be started."""
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        sys.stderr.write(f"interpreter `{sys.executable}`: Python {found} is older than 3.10\n")
        return 1
    # Python knows bytecode by the second and the size of its source: code that changes twice in a
    # second would stay as it was.
    sys.dont_write_bytecode = True
    if sys.argv[1:] not in (["preload"], ["worker"]):
        sys.stderr.write(USAGE + "\n")
        return 2
    if sys.argv[1] == "preload":
        from tidegate.workers.preload import start_preload

        start_preload()
    from tidegate.workers.worker import start_worker

    start_worker()


if __name__ == "__main__":
    raise SystemExit(main())
