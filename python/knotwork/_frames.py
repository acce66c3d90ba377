"""Tables of all sorts as what the engine loads: something with Arrow's capsules, or a list of dictionaries."""

from __future__ import annotations

import os
from typing import Any, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

#: Names of columns to take, or a mapping of the table's names to those of properties.
Columns = Union[Sequence[str], Mapping[str, str], None]


class Loaded(NamedTuple):
    """What a load made."""

    nodes_created: int
    nodes_merged: int
    edges_created: int
    rows_skipped: int


def is_graph(table: Any) -> bool:
    """Whether it is a graph of NetworkX."""
    return all(hasattr(table, name) for name in ("nodes", "edges", "is_directed", "adj"))


def _pyarrow() -> Any:
    try:
        import pyarrow

        return pyarrow
    except ImportError:
        return None


def as_table(table: Any) -> Any:
    """What the engine takes for a table."""
    kind = type(table)
    if isinstance(table, (str, bytes, os.PathLike)):
        raise TypeError(
            f"a table is an Arrow, pandas or polars table, a graph, or an iterable of dictionaries; found {kind.__name__}. "
            "A file is read by a query: db.execute(\"COPY Person FROM 'people.csv'\")"
        )
    if kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame":
        pyarrow = _pyarrow()
        if pyarrow is not None:
            named = [name for name in table.index.names if name is not None]
            if named and not set(named) & set(map(str, table.columns)):
                table = table.reset_index()
            return pyarrow.Table.from_pandas(table, preserve_index=False)
        return table.to_dict("records")
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        return table
    if hasattr(table, "to_arrow") and hasattr(table, "columns"):
        return table.to_arrow()
    if isinstance(table, Mapping):
        pyarrow = _pyarrow()
        if pyarrow is not None:
            return pyarrow.table(dict(table))
        names = list(table)
        return [dict(zip(names, row)) for row in zip(*table.values())]
    if hasattr(table, "dtype") and getattr(table.dtype, "names", None):
        return as_table({name: table[name] for name in table.dtype.names})
    if hasattr(table, "__iter__"):
        return table if isinstance(table, list) else list(table)
    raise TypeError(f"a table is an Arrow, pandas or polars table, a graph, or an iterable of dictionaries; found {kind.__name__}")


def graph_nodes(graph: Any, key: str) -> List[Mapping[str, Any]]:
    """The nodes of a NetworkX graph as rows: what names them, and their attributes."""
    return [{**{str(name): value for name, value in data.items()}, key: node} for node, data in graph.nodes(data=True)]


def graph_edges(graph: Any, source: str, target: str) -> List[Mapping[str, Any]]:
    """The edges of a NetworkX graph as rows; each once, also if it has no direction."""
    rows: List[Mapping[str, Any]] = []
    for start, end, data in graph.edges(data=True):
        rows.append({**{str(name): value for name, value in data.items()}, source: start, target: end})
    return rows


def pairs(columns: Columns, needed: Iterable[str]) -> Optional[List[Tuple[str, str]]]:
    """Old and new names of the columns to take; ``needed`` are taken in any case."""
    if columns is None:
        return None
    named = list(columns.items()) if isinstance(columns, Mapping) else [(name, name) for name in columns]
    taken = {name for pair in named for name in pair}
    return named + [(name, name) for name in needed if name not in taken]


def end(name: str, given: Any, default: str) -> Tuple[str, str, str]:
    """Label, property and column of an end of edges."""
    if isinstance(given, (tuple, list)) and len(given) in (2, 3):
        label, key, *column = given
        return str(label), str(key), str(column[0]) if column else default
    raise TypeError(
        f"{name} is (label, key) or (label, key, column), as {name}=(\"Person\", \"id\", \"{default}\"); found {given!r}"
    )
