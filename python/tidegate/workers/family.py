"""The loop of a process that forks: orders in, children out, their ends reported.

Single-threaded by construction and by check. Before a fork it collects and freezes what is
loaded, so that no garbage collection in a child ever writes into the pages they share. It waits
only for children that it forked itself; those that the app started are the app's.
"""

import gc
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from types import FrameType
from typing import NoReturn

from tidegate.workers.control import Control, Order
from tidegate.workers.failure import Failure
from tidegate.workers.inherited import disown_inherited, finalize_own
from tidegate.workers.threads import refuse_threads

Obey = Callable[[Order], None]


class Family:
    """The children of a preload process or of a parent."""

    def __init__(self, control: Control, loaded: str) -> None:
        self.control = control
        self.loaded = loaded
        self.children: set[int] = set()
        self.wake_read, self.wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self, orders: Mapping[str, Obey]) -> NoReturn:
        """Obeys orders and reports ended children until told to exit."""
        # What the app's import did with signals ends here; it has its own process later.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        outlive_terminations()
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self.control.socket, select.POLLIN)
        poll.register(self.wake_read, select.POLLIN)
        while True:
            for ready, _ in poll.poll():
                if ready == self.wake_read:
                    os.read(self.wake_read, 4096)
                    self.report_ended()
                    continue
                for order in self.control.receive():
                    if order["do"] == "exit":
                        self.exit()
                    orders.get(order["do"], ignore)(order)

    def exit(self) -> NoReturn:
        """Ends this process, and what it has made for its children."""
        try:
            finalize_own()
        finally:
            os._exit(0)

    def fork(self, become: Callable[[], object]) -> None:
        """Forks a child that runs `become` and never returns from it.

        A fork that is refused, by the kernel or because of threads, is reported; this process
        stays, and the children it has go on.
        """
        try:
            refuse_threads(self.loaded)
            gc.collect()
            gc.freeze()
            sys.stdout.flush()
            sys.stderr.flush()
            pid = os.fork()
        except Failure as failure:
            self.control.say("failed", **failure.fields())
            return
        except OSError as error:
            reason, hint = f"fork: {error.strerror}", "memory or the limit of processes is used up"
            self.control.say("failed", **Failure("fork", reason, hint).fields())
            return
        if pid:
            self.children.add(pid)
            return
        try:
            self.leave()
            become()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def leave(self) -> None:
        """Drops, in a fresh child, what belongs to the process that forked it."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        disown_inherited()
        self.control.close()
        os.close(self.wake_read)
        os.close(self.wake_write)

    def report_ended(self) -> None:
        """Reaps the children that have ended and says how."""
        for child in list(self.children):
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                self.children.remove(pid)
                self.control.say("exited", pid=pid, status=status)


def outlive_terminations() -> None:
    """Leaves the end of this process to the supervisor when SIGTERM is sent to a whole pool.

    systemd stops a service so: what workers are forked from has to be there until the supervisor
    has answered what it has. It is a handler and not SIG_IGN, which a program that this process
    executes would inherit; one that it forks ends as it would without.
    """
    own = os.getpid()

    def stay(number: int, frame: FrameType | None) -> None:
        if os.getpid() != own:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, stay)


def ignore(order: Order) -> None:
    """An order of a newer supervisor."""
