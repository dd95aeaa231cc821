"""What the columns of a ranker are called, and which numbers they hold.

| name | value |
|---|---|
| `item.FIELD` | the number of the item |
| `item.FIELD=TEXT` | 1 where the item's text is this one, else 0 |
| `user.NAME`, `context.NAME` | the number of the profile or the request |
| `user.NAME=TEXT`, `context.NAME=TEXT` | 1 where the text is this one, else 0 |
| `user.NAME@item.FIELD` | the user's number `NAME.TEXT`, where TEXT is the item's text |
| `LEFT*RIGHT` | the product of these |

An absent number is NaN, and a product with it is NaN. The server reads the same names by code of
its own (`column_name.rs` of crates/models); tests of both compare the numbers.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.columns import ExportError
from tidegate.linear import NOTHING, SOURCES, Fields

TIMES = re.compile(r"\*(?=(?:item|user|context)\.)")
"""What parts the sides of a product; a text may hold other stars."""

TEXTS = ("item.id", "item.title", "item.category")
"""Fields that are always texts."""

FORBIDDEN = {"LightGBM": ',:[]{}" \t\n\r', "XGBoost": "[]<"}
"""Characters that a library takes in no name; LightGBM makes `_` of blanks."""


@dataclass(frozen=True)
class Side:
    """One factor of a column: the field `path`, or what `path` holds for the text of `of_item`."""

    path: str
    text: str | None = None
    of_item: str | None = None

    def value(self, fields: Mapping[str, Any]) -> float:
        """Returns the number, NaN where it is absent."""
        path = self.path
        if self.of_item is not None:
            found = fields.get(self.of_item)
            if not isinstance(found, str):
                return math.nan
            path = f"{path}.{found}"
        found = fields.get(path)
        if self.text is not None:
            if not isinstance(found, str | None):
                raise TypeError(f"`{path}` is {found!r}, the column wants a text")
            return float(found == self.text)
        if found is None:
            return math.nan
        if isinstance(found, str):
            raise TypeError(f"`{path}` is {found!r}, the column wants a number")
        return float(found)


def feature_values(
    names: Sequence[str], item: Fields, user: Fields = NOTHING, context: Fields = NOTHING
) -> list[float]:
    """Returns the row that a model with these columns is given for an item and a request.

    Train with such rows, and a ranker is served what it was trained with. `item` is a line of the
    items file, `user` a profile (`{"affinity": {"b": 0.6}, "reads": 12}`) and `context` what a
    request brings.
    """
    fields = {
        f"{source}.{path}": value
        for source, given in zip(SOURCES, (item, user, context), strict=True)
        for path, value in flattened(given).items()
    }
    return [math.prod(side.value(fields) for side in sides_of(name)) for name in names]


def check_names(names: Sequence[str], library: str = "", texts: Sequence[str] = ()) -> None:
    """Raises `ExportError` for names that a server would refuse, or the library does not take.

    Columns of `texts` hold the text of a field.
    """
    kinds: dict[str, bool] = dict.fromkeys(TEXTS, True)
    repeated = {name for name in names if list(names).count(name) > 1}
    if repeated:
        raise ExportError(f"export: `{min(repeated)}` is given twice; name each column once")
    for name in names:
        bad = sorted(set(name) & set(FORBIDDEN.get(library, "")))
        if bad:
            reason = f"{library} takes no {bad[0]!r} in a name; write such texts otherwise"
            raise ExportError(f"export: column `{name}`: {reason}")
        for side in sides_of(name):
            path = side.of_item or side.path
            is_text = name in texts or side.of_item is not None or side.text is not None
            if kinds.setdefault(path, is_text) != is_text:
                raise ExportError(f"export: `{path}` is used as a number and as a text")


def sides_of(name: str) -> list[Side]:
    """Returns the factors of a column.

    Raises `ExportError` for a name that is none.
    """
    return [side_of(side, name) for side in TIMES.split(name)]


def side_of(name: str, whole: str) -> Side:
    """Returns one factor."""
    path, equals, text = name.partition("=")
    source, _, field = path.partition(".")
    if source not in SOURCES or not field:
        sources = ", ".join(f"`{source}.`" for source in SOURCES)
        raise ExportError(f"export: column `{whole}`: `{name}` must start with {sources}")
    left, at, of_item = path.partition("@")
    if not at:
        return Side(path, text if equals else None)
    if source == "item" or equals or left.endswith(".") or not re.match(r"item\..", of_item):
        wanted = "`user.NAME@item.FIELD`, such as `user.affinity@item.category`"
        raise ExportError(f"export: column `{whole}`: `{name}` must be {wanted}")
    return Side(left, of_item=of_item)


def flattened(fields: Fields) -> dict[str, Any]:
    """Returns the fields with those of nested objects under dotted names."""
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": one for inner, one in flattened(value).items()}
        else:
            flat[name] = value
    return flat
