"""Finds and runs what `python` and `preload` name, and lists the files that were loaded.

An app is named `module:attribute`, where the attribute may be dotted, or a factory,
`module:create_app()`, with literal arguments. A preload is `module:function`; it is called once,
and the function is replaced by one that returns the same value, so that the app that calls it
again loads nothing. Errors of the app's own code keep their traceback; a name that cannot be
found says what was sought where.
"""

import ast
import functools
import importlib
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

from tidegate.workers.failure import Failure, one_line, traceback_of

LIBRARIES = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


def load_app(name: str, app_dir: str) -> Any:
    """Imports the app that `module:attribute` or `module:factory(…)` names."""
    module_name, path, arguments = split_name("import", name)
    module = import_module("import", name, module_name, app_dir)
    found = resolve("import", name, module, path)
    if arguments is None:
        return found
    args, kwargs = arguments
    return guarded("import", f"call `{name}`", app_dir, lambda: found(*args, **kwargs))


def preload(name: str, app_dir: str) -> None:
    """Calls `module:function` and makes it return the same value from here on."""
    module_name, path, arguments = split_name("preload", name)
    if arguments is not None:
        raise Failure("preload", f"preload `{name}`: give the function's name without `()`")
    module = import_module("preload", name, module_name, app_dir)
    function = resolve("preload", name, module, path)
    if not callable(function) or inspect.iscoroutinefunction(function):
        reason = f"preload `{name}`: it is not a plain function"
        raise Failure("preload", reason, hint="name a `def` that loads and returns the model")
    value = guarded("preload", f"preload `{name}`", app_dir, function)
    *owners, last = path.split(".")
    owner = functools.reduce(getattr, owners, module)
    setattr(owner, last, keep_value(function, value))


def keep_value(function: Callable[..., Any], value: Any) -> Callable[..., Any]:
    """Returns `function` with its value without arguments known; with arguments it is called."""

    @functools.wraps(function)
    def kept(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if args or kwargs else value

    return kept


def loaded_files(app_dir: str) -> list[str]:
    """Returns the files of the app's folder that are loaded, without installed packages."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return sorted(file for file in files if file is not None and is_of_app(file, app_dir))


def is_of_app(file: str, app_dir: str) -> bool:
    """Whether a file lies in the app's folder and is not an installed package there."""
    inside = file.startswith(os.path.join(app_dir, ""))
    return inside and not file.startswith(LIBRARIES) and not file.startswith(sys.prefix + os.sep)


def split_name(stage: str, name: str) -> tuple[str, str, tuple[list[Any], dict[str, Any]] | None]:
    """Splits `module:attribute` or `module:factory(…)` into module, path and arguments."""
    module, _, rest = name.partition(":")
    hint = "write `module:attribute`, as in `app:app`, or `app:create_app()`"
    if not module or not rest:
        raise Failure(stage, f"{stage} `{name}`: not of the form `module:attribute`", hint=hint)
    try:
        parsed = ast.parse(rest, mode="eval").body
        arguments = None
        if isinstance(parsed, ast.Call):
            args = [ast.literal_eval(argument) for argument in parsed.args]
            pairs = {str(word.arg): ast.literal_eval(word.value) for word in parsed.keywords}
            arguments, parsed = (args, pairs), parsed.func
        path = ast.unparse(parsed)
    except (SyntaxError, ValueError):
        path = ""
    if not all(part.isidentifier() for part in path.split(".")):
        raise Failure(stage, f"{stage} `{name}`: `{rest}` is no attribute or call", hint=hint)
    return module, path, arguments


def import_module(stage: str, name: str, module: str, app_dir: str) -> Any:
    """Imports a module; one that does not exist is told apart from one whose imports fail."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module == missing or module.startswith(missing + "."):
            reason = f"{stage} `{name}`: no module `{missing}` in `{app_dir}`"
            raise Failure(stage, reason, hint="set `app_dir` or the name", files=[]) from error
        hint = f"install it for the interpreter `{sys.executable}`"
        raise of_app(stage, f"{stage} `{name}`", app_dir, error, hint) from error
    except BaseException as error:
        raise of_app(stage, f"{stage} `{name}`", app_dir, error) from error


def resolve(stage: str, name: str, module: Any, path: str) -> Any:
    """Returns the attribute, or says what the module offers instead."""
    found = module
    for part in path.split("."):
        if not hasattr(found, part):
            offered = sorted(word for word in vars(module) if not word.startswith("_"))[:20]
            hint = f"`{module.__name__}` has: {', '.join(offered)}" if offered else None
            raise Failure(
                stage,
                f"{stage} `{name}`: no attribute `{part}`",
                hint=hint,
                files=loaded_files(os.getcwd()),
            )
        found = getattr(found, part)
    return found


def guarded(stage: str, doing: str, app_dir: str, call: Callable[[], Any]) -> Any:
    """Calls the app's code and turns whatever it raises into a `Failure`."""
    try:
        return call()
    except BaseException as error:
        raise of_app(stage, doing, app_dir, error) from error


def of_app(
    stage: str, doing: str, app_dir: str, error: BaseException, hint: str | None = None
) -> Failure:
    """Returns the failure for an exception of the app's code."""
    files = set(loaded_files(app_dir))
    if isinstance(error, SyntaxError) and error.filename:
        files.add(error.filename)
    trace = error.__traceback__
    while trace is not None:
        files.add(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    named = sorted(file for file in files if is_of_app(file, app_dir))
    reason = f"{doing}: {one_line(error)}"
    return Failure(stage, reason, hint=hint, trace=traceback_of(error), files=named)
