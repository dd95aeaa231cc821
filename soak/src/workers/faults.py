"""What both apps under soak do: bodies that a client can foretell, and faults."""

import ctypes
import os
import sys
import time

heap = []


def filler(name, size):
    piece = f"{name}:".encode()
    return (piece * (size // len(piece) + 1))[:size]


def misbehave(kind):
    if kind == "exit":
        os._exit(3)
    if kind == "segv":
        ctypes.string_at(0)
    if kind == "stuck":
        # Sleeps in C and keeps the interpreter's lock.
        ctypes.PyDLL(None).sleep(3600)
    if kind == "hang":
        time.sleep(3600)
    if kind == "raise":
        raise ValueError("not today")
    if kind == "leak":
        heap.append(bytearray(os.urandom(1)) * 70_000_000)
    if kind == "noise":
        sys.stdout.buffer.write(b"\xff\x00\x1b[2J" * 2_000 + b"\n")
        sys.stdout.flush()
    if kind == "fork" and os.fork() == 0:
        time.sleep(3600)
    return b"misbehaved"
