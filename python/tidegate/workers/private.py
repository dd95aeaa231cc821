"""Descriptors that what the app forks must not have.

A child that the app forks inherits every socket of its worker: it would keep the control
connection open after the worker's end, hold requests' connections, or come back from the app and
answer a second time. In such a child each of them leads nowhere (/dev/null), under the same
number, so that nothing else is taken for it.
"""

import os

PRIVATE: set[int] = set()


def hide_from_forks() -> None:
    """Starts to keep private what is in `PRIVATE`; called once, in a worker."""
    os.register_at_fork(after_in_child=lead_nowhere)


def lead_nowhere() -> None:
    """Replaces private descriptors, in a child."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in PRIVATE:
        os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)
    PRIVATE.clear()
