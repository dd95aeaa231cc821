"""Model files for Tidegate, written and read without leaving Python.

`export_linear` writes a fitted scikit-learn model as a `tidegate-linear-1` file; `LinearModel`
evaluates such a file with nothing but the standard library, by the rules the server follows.
"""

from tidegate.export import ExportError, export_linear
from tidegate.linear import LinearModel, ModelFileError

__all__ = ["ExportError", "LinearModel", "ModelFileError", "export_linear"]
