"""The Python side of Tidegate: model files, and what an app in a worker pool may call.

`export_linear` writes a fitted scikit-learn model as a `tidegate-linear-1` file; `LinearModel`
evaluates such a file with nothing but the standard library, by the rules the server follows.
`export_ranker` writes a ranker of LightGBM, XGBoost or scikit-learn with the names of its columns,
and `feature_values` makes the rows to train it with.
`share` puts a model where all workers of a pool share it, and `Request` is what a plain function
gets that asks for it. Each name is imported when it is first used, so that the processes of a
worker pool carry nothing that their app does not use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.columns import ExportError
    from tidegate.export import export_linear
    from tidegate.linear import LinearModel, ModelFileError
    from tidegate.names import feature_values
    from tidegate.rankers import export_ranker
    from tidegate.workers.function import Request
    from tidegate.workers.share import ShareWarning, share

__all__ = [
    "ExportError",
    "LinearModel",
    "ModelFileError",
    "Request",
    "ShareWarning",
    "export_linear",
    "export_ranker",
    "feature_values",
    "share",
]

HOMES = {
    "ExportError": "tidegate.columns",
    "LinearModel": "tidegate.linear",
    "ModelFileError": "tidegate.linear",
    "Request": "tidegate.workers.function",
    "ShareWarning": "tidegate.workers.share",
    "export_linear": "tidegate.export",
    "export_ranker": "tidegate.rankers",
    "feature_values": "tidegate.names",
    "share": "tidegate.workers.share",
}


def __getattr__(name: str) -> Any:
    """Imports a public name from its home and keeps it."""
    if name not in HOMES:
        raise AttributeError(f"module `tidegate` has no attribute `{name}`")
    value = getattr(import_module(HOMES[name]), name)
    globals()[name] = value
    return value
