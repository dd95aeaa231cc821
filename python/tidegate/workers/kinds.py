"""Tells whether an app is ASGI, WSGI or a plain function, by what it can be called with.

    three arguments   ASGI 3   `app(scope, receive, send)`
    two arguments     WSGI     `app(environ, start_response)`
    one argument      function `app(request)`, sync or async

Only positional arguments without a default count. Where that says nothing (`*args`, a class, an
old ASGI 2 app, a factory that was not called) it refuses and says what to write, and `kind` in the
config overrides it. It never calls the app to find out.
"""

import inspect
from typing import Any

from tidegate.workers.failure import Failure

KINDS = {1: "function", 2: "wsgi", 3: "asgi"}
HINT = 'set `kind = "asgi"`, `"wsgi"` or `"function"`'


def kind_of(app: Any, name: str, configured: str) -> str:
    """Returns `asgi`, `wsgi` or `function`, or raises `Failure` of stage `config`."""
    if inspect.isclass(app):
        hint = f"name an instance, or `{name}()` to have it made"
        raise Failure("config", f"app `{name}` is a class", hint=hint)
    if not callable(app):
        shown = type(app).__name__
        raise Failure("config", f"app `{name}` is of type `{shown}` and cannot be called")
    if configured != "auto":
        return configured
    try:
        parameters = inspect.signature(app).parameters.values()
    except (TypeError, ValueError) as error:
        raise Failure("config", f"app `{name}`: its arguments cannot be read", HINT) from error
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        raise Failure("config", f"app `{name}` takes any arguments (`*args`)", hint=HINT)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in positional and p.default is p.empty]
    if not needed:
        hint = f"if it is a factory, write `{name}()`"
        raise Failure("config", f"app `{name}` takes no argument", hint=hint)
    if len(needed) not in KINDS:
        raise Failure("config", f"app `{name}` takes {len(needed)} arguments", hint=HINT)
    if len(needed) == 1 and needed[0].name == "scope":
        raise Failure("config", f"app `{name}` looks like ASGI 2", hint="wrap it as ASGI 3")
    return KINDS[len(needed)]


def is_async(app: Any) -> bool:
    """Whether calling the app gives a coroutine."""
    method = getattr(type(app), "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(method)
