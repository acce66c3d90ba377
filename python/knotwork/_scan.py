"""Tables that a query names after ``LOAD FROM`` or ``COPY … FROM``: parameters, or variables of the caller of the query."""

from __future__ import annotations

import re
import sys
import threading
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from ._frames import as_table

_NAME = r"\$?(?!\d)\w+|`[^`]+`"
_COPIED = re.compile(rf"(\s*COPY\s+(?:`[^`]+`|\w+)\s+FROM\s+)({_NAME})(\s*(?:\(.*\))?\s*;?\s*)$", re.IGNORECASE | re.DOTALL)
_NAMED = re.compile(rf"\bLOAD\s+FROM\s+({_NAME})", re.IGNORECASE)
#: Names of code that Python (before 3.12) runs in a frame of its own, which sees few of the variables around it.
_INNER = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")


def _is_table(thing: Any) -> bool:
    if isinstance(thing, list):
        return not thing or isinstance(thing[0], Mapping)
    if isinstance(thing, dict):
        return True
    if isinstance(thing, type):
        return False
    return any(hasattr(thing, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "to_arrow", "collect_schema", "columns"))


#: What this thread was told of variables that it cannot see, since the caller is in another thread.
_told = threading.local()


@contextmanager
def knowing(variables: Dict[str, Any]) -> Iterator[None]:
    """Queries that this thread runs meanwhile know these variables."""
    _told.variables = variables
    try:
        yield
    finally:
        _told.variables = {}


def known(query: Any) -> Dict[str, Any]:
    """The variables of the caller that a query may name as tables, for a thread that runs it."""
    if not isinstance(query, str):
        return {}
    copied = _COPIED.match(query)
    names = [name.strip("`") for name in _NAMED.findall(query) + ([copied[2]] if copied else [])]
    found = {name: _variable(name) for name in names if not name.startswith("$")}
    return {name: table for name, table in found.items() if table is not None}


def _variable(name: str) -> Any:
    """The variable of that name of the first caller outside of this package; ``None`` if it has none."""
    told = getattr(_told, "variables", {})
    if name in told:
        return told[name]
    frame: Any = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "knotwork":
        frame = frame.f_back
    while frame is not None:
        found = frame.f_locals.get(name, frame.f_globals.get(name))
        if found is not None or frame.f_code.co_name not in _INNER:
            return found
        # Names that the comprehension does not see belong to the frame that runs it, or the one before.
        frame = frame.f_back
    return None


def _columns(table: Any) -> List[str]:
    """The names of the columns of what :func:`as_table` gives."""
    if isinstance(table, list):
        return [str(name) for name in dict.fromkeys(name for row in table for name in row)]
    names = getattr(table, "column_names", None) or getattr(table, "columns", None)
    if names is None:
        import pyarrow

        names = pyarrow.table(table).column_names
    return [str(name) for name in names]


def _refusal(name: str, found: Any) -> Exception:
    from .errors import _told

    what = "there is no variable or parameter of that name" if found is None else f"it is of the type {type(found).__name__}"
    remedy = "name a frame of pandas or polars, a table of Arrow, a mapping of columns or a list of dictionaries; a file is named in quotes"
    return _told("SEMANTIC", f"there is no table with the name {name}: {what}", remedy)


def tables(
    query: str, parameters: Optional[Mapping[str, Any]], named: Optional[Dict[str, Any]]
) -> Tuple[str, Dict[str, Any], Dict[str, Any]]:
    """The query as the engine takes it, the tables that it names, and the parameters that are none of them."""
    given = {str(name).lstrip("$"): value for name, value in {**(parameters or {}), **(named or {})}.items()}
    copied = _COPIED.match(query)
    if copied:
        # ``COPY T FROM frame`` is ``COPY T FROM (query)``; ``COPY T FROM $file`` is of a file.
        prefix, name, options = copied.groups()
        table = given.get(name[1:]) if name.startswith("$") else _variable(name.strip("`"))
        if table is not None and _is_table(table):
            table = as_table(table)
            columns = ", ".join("`" + column.replace("`", "``") + "`" for column in _columns(table))
            query = f"{prefix}(LOAD FROM {name} RETURN {columns}){options}"
        elif not name.startswith("$"):
            raise _refusal(name.strip("`"), table)
    found = {}
    for name in (name.strip("`") for name in _NAMED.findall(query)):
        table = given.pop(name[1:], None) if name.startswith("$") else _variable(name)
        if table is not None and _is_table(table):
            found[name] = table
    return query, found, given
