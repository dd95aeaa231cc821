"""Who asked, whom, and by which scheme, as the gateway tells it.

The gateway is the only client of a worker, and writes these fields anew: nothing that a client sent
in them comes here. Behind proxies that `listen.trusted` names, they hold what these say.
"""

import functools


def scheme_of(fields: dict[bytes, bytes]) -> str:
    """Returns the scheme that the client used."""
    return "https" if fields.get(b"x-forwarded-proto") == b"https" else "http"


@functools.lru_cache(maxsize=1024)
def client_of(forwarded: bytes) -> tuple[str, int] | None:
    """Returns the client: the first of the list, before the proxies in between."""
    first = forwarded.partition(b",")[0].strip().decode("latin-1")
    return (first, 0) if first else None


@functools.lru_cache(maxsize=256)
def server_of(host: bytes, scheme: str) -> tuple[str, int]:
    """Returns name and port that the request was sent to."""
    name, colon, port = host.decode("latin-1").rpartition(":")
    if colon and port.isdigit():
        return name.strip("[]"), int(port)
    return host.decode("latin-1").strip("[]"), 443 if scheme == "https" else 80
