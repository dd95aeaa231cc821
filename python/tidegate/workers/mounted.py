"""Apps behind a prefix of the path, which their links begin with (`root_path`).

Routes pass paths on as they are, so a path holds the prefix already. An ASGI app gets it as
`root_path`, a WSGI app as `SCRIPT_NAME`. A path outside the prefix, such as a canary's, is passed
on without.
"""

from collections.abc import Awaitable, Callable
from typing import Any


def mounted(app: Any, kind: str, prefix: str) -> Any:
    """Returns an app that is told of its prefix; a function is told of none."""
    if not prefix or kind not in ("asgi", "wsgi"):
        return app
    return asgi(app, prefix) if kind == "asgi" else wsgi(app, prefix)


def asgi(app: Any, prefix: str) -> Callable[..., Awaitable[None]]:
    """The ASGI app, with `root_path` in its scopes; `path` holds it too, as ASGI wants."""

    async def under_prefix(scope: Any, receive: Any, send: Any) -> None:
        if is_under(scope.get("path", ""), prefix):
            scope["root_path"] = prefix
        await app(scope, receive, send)

    return under_prefix


def wsgi(app: Any, prefix: str) -> Callable[..., Any]:
    """The WSGI app, with the prefix moved from `PATH_INFO` to `SCRIPT_NAME` (PEP 3333)."""

    def under_prefix(environ: dict[str, Any], start_response: Any) -> Any:
        if is_under(environ["PATH_INFO"], prefix):
            environ["SCRIPT_NAME"] = prefix
            environ["PATH_INFO"] = environ["PATH_INFO"][len(prefix) :]
        return app(environ, start_response)

    return under_prefix


def is_under(path: str, prefix: str) -> bool:
    """Whether a path is the prefix or begins with it and a slash."""
    return path == prefix or path.startswith(prefix + "/")
