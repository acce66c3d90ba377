"""Tables that a query names after ``LOAD FROM``: parameters, or variables of whoever runs the query."""

from __future__ import annotations

import re
import sys
from typing import Any, Dict, Mapping, Optional, Tuple

_NAMED = re.compile(r"\bLOAD\s+FROM\s+(\$?[A-Za-z_][A-Za-z0-9_]*)", re.IGNORECASE)


def _is_table(thing: Any) -> bool:
    if isinstance(thing, (list, dict)):
        return True
    return any(hasattr(thing, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "to_arrow")) or hasattr(thing, "columns")


def _variable(name: str) -> Any:
    """The variable of that name of the first caller outside of this package; ``None`` if it has none."""
    frame: Any = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "knotwork":
        frame = frame.f_back
    if frame is None:
        return None
    return frame.f_locals.get(name, frame.f_globals.get(name))


def tables(query: str, parameters: Optional[Mapping[str, Any]], named: Optional[Dict[str, Any]]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The tables that the query names, and the parameters that are none of them."""
    given = {str(name).lstrip("$"): value for name, value in {**(parameters or {}), **(named or {})}.items()}
    found = {}
    for name in _NAMED.findall(query):
        table = given.pop(name[1:], None) if name.startswith("$") else _variable(name)
        if table is not None and _is_table(table):
            found[name] = table
    return found, given
