"""A server whose latency has a known cause. Arguments: PORT KIND [OPTION=VALUE ...].

kinds:
  steps    fifteen steps, told by Server-Timing; step `slow` stalls `stall_ms` with probability `p`
  burn     `cpu_ms` of processor time
  reads    0 to 5 calls of pread64, each of which somebody else may delay
  pieces   half of the answers in two pieces; `nodelay=1` sends the second one at once
  origin   sleeps evenly between 50 and 2,200 ms; its answers may be kept
  saves    now and then the program `checkin` rewrites a file for a quarter of a second; calls wait
           for it if `in_the_way=1`, else one in twenty-five stalls for a reason of its own
  turns    some 20 ms, `factor` times that after `after` calls; `spike` is one call of 2 s
  switched some 5 ms; while the file `switched` is there, `stall_ms` more with probability `p`
"""

import itertools
import os
import random
import socket
import subprocess
import sys
import threading
import time

STEPS = [0.6, 1.2, 0.4, 3.0, 0.8, 2.0, 1.5, 0.5, 4.0, 1.0, 0.7, 2.5, 0.9, 1.1, 0.3]


def main() -> None:
    port, kind = int(sys.argv[1]), sys.argv[2]
    options = {name: float(value) for name, value in (word.split("=") for word in sys.argv[3:])}
    random.seed(options.get("seed", 1.0))
    kinds = [steps, burn, reads, pieces, origin, saves, turns, switched]
    answer = {answer.__name__: answer for answer in kinds}[kind]
    if answer is saves:
        begin_saving(options)
    listener = socket.create_server(("127.0.0.1", port), backlog=256)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, answer, options), daemon=True).start()


def serve(connection: socket.socket, answer, options: dict[str, float]) -> None:
    """Answers the requests of a connection, which have no bodies."""
    if options.get("nodelay"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    kept = b""
    try:
        while True:
            while b"\r\n\r\n" not in kept:
                piece = connection.recv(65536)
                if not piece:
                    return
                kept += piece
            _, kept = kept.split(b"\r\n\r\n", 1)
            answer(connection, options)
    except OSError:
        return
    finally:
        connection.close()


def head(length: int, more: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def steps(connection: socket.socket, options: dict[str, float]) -> None:
    told = []
    for number, usual_ms in enumerate(STEPS, 1):
        begun = time.monotonic()
        # Every step varies by a third, as work does.
        milliseconds = usual_ms * random.uniform(0.8, 1.2)
        if number == options.get("slow") and random.random() < options["p"]:
            milliseconds += options["stall_ms"] * random.uniform(0.5, 1.5)
        time.sleep(milliseconds / 1000)
        told.append(f"s{number};dur={(time.monotonic() - begun) * 1000:.3f}")
    connection.sendall(head(2, f"Server-Timing: {', '.join(told)}\r\n") + b"ok")


def burn(connection: socket.socket, options: dict[str, float]) -> None:
    until = time.thread_time() + options["cpu_ms"] / 1000
    while time.thread_time() < until:
        pass
    connection.sendall(head(2) + b"ok")


def reads(connection: socket.socket, _: dict[str, float]) -> None:
    file = os.open(__file__, os.O_RDONLY)
    for _ in range(random.randrange(6)):
        os.pread(file, 16, 0)
    os.close(file)
    connection.sendall(head(2) + b"ok")


def pieces(connection: socket.socket, _: dict[str, float]) -> None:
    body = b"ok" * 500
    if random.random() < 0.5:
        connection.sendall(head(len(body)) + body)
    else:
        connection.sendall(head(len(body)))
        connection.sendall(body)


def origin(connection: socket.socket, _: dict[str, float]) -> None:
    time.sleep(random.uniform(0.05, 2.2))
    connection.sendall(head(2, "Cache-Control: max-age=600\r\n") + b"ok")


PAGE = threading.Lock()
CHECKIN = """
import os, time
end = time.monotonic() + 0.25
while time.monotonic() < end:
    with open("page.txt,v", "wb") as versions:
        versions.write(b"x" * 200_000)
        versions.flush()
        os.fsync(versions.fileno())
"""


def begin_saving(options: dict[str, float]) -> None:
    """Starts what saves, and three threads that wait for nothing."""
    with open("checkin", "w") as program:
        program.write(f"#!{sys.executable}\n{CHECKIN}")
    os.chmod("checkin", 0o755)
    chance = random.Random(options.get("seed", 1.0))

    def save() -> None:
        while True:
            time.sleep(0.2 + chance.expovariate(0.5))
            if options.get("in_the_way"):
                with PAGE:
                    subprocess.run(["./checkin"], check=True)
            else:
                subprocess.run(["./checkin"], check=True)

    def poll(seconds: float) -> None:
        never = threading.Event()
        while not never.wait(seconds):
            pass

    threading.Thread(target=save, daemon=True).start()
    for seconds in (0.25, 0.5, 1.0):
        threading.Thread(target=poll, args=(seconds,), daemon=True).start()


def saves(connection: socket.socket, options: dict[str, float]) -> None:
    with PAGE:
        pass
    if not options.get("in_the_way") and random.random() < 0.04:
        time.sleep(random.uniform(0.1, 0.3))
    connection.sendall(head(2) + b"ok")


CALLS = itertools.count()


def turns(connection: socket.socket, options: dict[str, float]) -> None:
    call = next(CALLS)
    usual = 0.02 * random.uniform(0.8, 1.2)
    is_turned = call >= options.get("after", float("inf"))
    time.sleep(usual * options["factor"] if is_turned else usual)
    if call == options.get("spike"):
        time.sleep(2)
    connection.sendall(head(2) + b"ok")


def switched(connection: socket.socket, options: dict[str, float]) -> None:
    time.sleep(0.005 * random.uniform(0.8, 1.2))
    if os.path.exists("switched") and random.random() < options["p"]:
        time.sleep(options["stall_ms"] / 1000)
    connection.sendall(head(2) + b"ok")


main()
