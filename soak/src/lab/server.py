"""A server whose latency has a known cause. Arguments: PORT KIND [OPTION=VALUE ...].

kinds:
  steps    fifteen steps, told by Server-Timing; step `slow` stalls `stall_ms` with probability `p`
  burn     `cpu_ms` of processor time
  reads    0 to 5 calls of pread64, each of which somebody else may delay
  pieces   half of the answers in two pieces; `nodelay=1` sends the second one at once
  origin   sleeps evenly between 50 and 2,200 ms; its answers may be kept
"""

import os
import random
import socket
import sys
import threading
import time

STEPS = [0.6, 1.2, 0.4, 3.0, 0.8, 2.0, 1.5, 0.5, 4.0, 1.0, 0.7, 2.5, 0.9, 1.1, 0.3]


def main() -> None:
    port, kind = int(sys.argv[1]), sys.argv[2]
    options = {name: float(value) for name, value in (word.split("=") for word in sys.argv[3:])}
    random.seed(options.get("seed", 1.0))
    kinds = {"steps": steps, "burn": burn, "reads": reads, "pieces": pieces, "origin": origin}
    answer = kinds[kind]
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


main()
