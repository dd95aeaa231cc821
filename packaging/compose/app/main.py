"""The app of the Compose file: put yours in its place.

It needs nothing but Python. As a program it is a server; Tidegate's workers import `app`.
"""

import os
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from wsgiref.simple_server import make_server
from wsgiref.types import StartResponse, WSGIEnvironment

Answer = Callable[[], str]


def ping() -> str:
    return "ok\n"


def page() -> str:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return f"made at {now} by process {os.getpid()}\n"


PAGES: dict[str, Answer] = {"/": page, "/public/page": page, "/ping": ping}


def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    answer = PAGES.get(environ["PATH_INFO"])
    if answer is None:
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"no such page\n"]
    headers = [("Content-Type", "text/plain")]
    if environ["PATH_INFO"].startswith("/public/"):
        # Everybody may have this answer for ten seconds.
        headers.append(("Cache-Control", "public, max-age=10"))
    start_response("200 OK", headers)
    return [answer().encode()]


if __name__ == "__main__":
    with make_server("0.0.0.0", int(os.environ.get("PORT", "8000")), app) as server:
        server.serve_forever()
