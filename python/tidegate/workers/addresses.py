"""Who asked, whom, and by which scheme, as the gateway tells it.

The gateway is the only client of a worker, so what it adds to a request can be believed. What the
client itself sent before the gateway's own entry cannot, and is not used here.
"""

import functools


def scheme_of(fields: dict[bytes, bytes]) -> str:
    """Returns the scheme that the client used."""
    return "https" if fields.get(b"x-forwarded-proto") == b"https" else "http"


@functools.lru_cache(maxsize=1024)
def client_of(forwarded: bytes) -> tuple[str, int] | None:
    """Returns whom the gateway itself saw: the last of the list, which no client can forge."""
    last = forwarded.rpartition(b",")[2].strip().decode("latin-1")
    return (last, 0) if last else None


@functools.lru_cache(maxsize=256)
def server_of(host: bytes, scheme: str) -> tuple[str, int]:
    """Returns name and port that the request was sent to."""
    name, colon, port = host.decode("latin-1").rpartition(":")
    if colon and port.isdigit():
        return name.strip("[]"), int(port)
    return host.decode("latin-1").strip("[]"), 443 if scheme == "https" else 80
