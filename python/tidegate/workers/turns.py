"""Whose turn it is in an event loop: the gateway may send more requests than the app has at once.

A request that is not read yet the gateway takes back by closing its connection. So before one is
begun that may have lain there, its connection is looked at. A request that was read waits here for
its turn; if that does not come soon, it is given back.
Refuses: to read, to write and to call the app, which the connections do (`asgi.py`).
"""

import asyncio
import collections
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.workers.asgi import Exchange

# How long a request waits for its turn before it is given back.
TURN_S = 0.005
# How long after the app last returned a request may have been taken back before it is read: the app
# had the loop, or the machine something else to do.
LONG_S = 0.002


class Turns:
    """The requests that the app has, and those that wait."""

    def __init__(self, concurrency: int, loop: asyncio.AbstractEventLoop) -> None:
        self.concurrency = concurrency
        self.loop = loop
        # Requests that were begun, and neither answered nor given up.
        self.taken = 0
        self.waiting: collections.deque[Exchange] = collections.deque()
        # When the app last returned, and for how many turns of the loop what is read may be stale.
        self.returned = 0.0
        self.late_turns = 0

    def admit(self, exchange: "Exchange") -> None:
        """Begins a request, or has it wait for its turn."""
        now = time.monotonic()
        if now - self.returned > LONG_S:
            self.note_lateness()
        if self.taken >= self.concurrency:
            self.waiting.append(exchange)
            self.loop.call_later(TURN_S, self.give_back, exchange)
        elif self.late_turns and exchange.connection.is_closed():
            exchange.drop()
        else:
            self.taken += 1
            exchange.begin()
            self.returned = time.monotonic()
            if self.returned - now > LONG_S:
                self.note_lateness()

    def end(self, exchange: "Exchange") -> None:
        """Takes note, once, that a request was answered, given up, or left by the app."""
        if exchange.has_ended:
            return
        exchange.has_ended = True
        if exchange in self.waiting:
            self.waiting.remove(exchange)
            return
        self.taken -= 1
        if self.waiting:
            # What the gateway has taken back is seen first.
            self.note_lateness()
            self.loop.call_soon(self.begin_waiting)

    def begin_waiting(self) -> None:
        """Begins requests whose turn has come."""
        while self.waiting and self.taken < self.concurrency:
            self.admit(self.waiting.popleft())

    def give_back(self, exchange: "Exchange") -> None:
        """Gives back a request whose turn has not come, for another worker."""
        if exchange in self.waiting:
            exchange.give_back()

    def note_lateness(self) -> None:
        """Notes that what this turn of the loop reads, and the next, may have been taken back."""
        self.late_turns += 1
        self.loop.call_soon(self.loop.call_soon, self.forget_lateness)

    def forget_lateness(self) -> None:
        """Trusts again in what is read."""
        self.late_turns -= 1
