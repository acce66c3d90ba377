"""Tables of all sorts as what the engine loads: something with Arrow's capsules, or a list of dictionaries."""

from __future__ import annotations

import os
from typing import Any, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

#: Names of columns to take, or a mapping of the table's names to those of properties.
Columns = Union[Sequence[str], Mapping[str, str], None]


class Loaded(NamedTuple):
    """Counts of a load."""

    nodes_created: int
    nodes_merged: int
    edges_created: int
    rows_skipped: int


def is_graph(table: Any) -> bool:
    """True if it is a graph of NetworkX."""
    return all(hasattr(table, name) for name in ("nodes", "edges", "is_directed", "adj"))


def _pyarrow() -> Any:
    try:
        import pyarrow

        return pyarrow
    except ImportError:
        return None


def _named_columns(table: "Mapping[Any, Any]") -> "Mapping[str, Any]":
    """A mapping of names to columns, checked: a text or a number is no column."""
    for name, column in table.items():
        if not isinstance(name, str):
            raise TypeError(f"the names of columns are texts, found {name!r}")
        if isinstance(column, (str, bytes)) or not hasattr(column, "__iter__"):
            raise TypeError(f"the column {name!r} is a list, an array or a series of values; found {type(column).__name__}")
    return table


def of_polars(held: Any) -> Any:
    """A frame or series of polars whose Arrow types say what its values are.

    Polars writes columns of nulls in a way that others do not read, integers of 128 bits under a name of its own, and objects
    of Python as addresses of its memory.
    """
    import polars

    if isinstance(held, polars.LazyFrame):
        held = held.collect()
    is_series = isinstance(held, polars.Series)
    types = {held.name: held.dtype} if is_series else dict(held.schema) if hasattr(held, "schema") else {}
    suited = {name: _plain_dtype(polars, name, dtype) for name, dtype in types.items()}
    changed = {name: dtype for name, dtype in suited.items() if dtype != types[name]}
    if not changed:
        return held
    return held.cast(changed[held.name]) if is_series else held.cast(changed)


def _plain_dtype(polars: Any, name: str, dtype: Any) -> Any:
    """The type that values of a polars type are taken as."""
    plain = lambda inner: _plain_dtype(polars, name, inner)
    if dtype == polars.Object:
        raise TypeError(f"the column {name!r} holds objects of Python, which polars does not give away: pass its values as a list")
    if dtype == polars.Null:
        return polars.Boolean
    if dtype in [getattr(polars, wide) for wide in ("Int128", "UInt128") if hasattr(polars, wide)]:
        return polars.Int64
    if isinstance(dtype, polars.List):
        return polars.List(plain(dtype.inner))
    if isinstance(dtype, polars.Array):
        return polars.Array(plain(dtype.inner), dtype.size) if len(dtype.shape) == 1 else dtype
    if isinstance(dtype, polars.Struct):
        return polars.Struct({field.name: plain(field.dtype) for field in dtype.fields})
    return dtype


def as_table(table: Any) -> Any:
    """The value in a form that the engine accepts as a table."""
    kind = type(table)
    if kind.__module__.split(".")[0] == "polars":
        return of_polars(table)
    if isinstance(table, (str, bytes, os.PathLike)):
        raise TypeError(
            f"a table is an Arrow, pandas or polars table, a graph, or an iterable of dictionaries; found {kind.__name__}. "
            "A file is read by a query: db.execute(\"COPY Person FROM 'people.csv'\")"
        )
    if kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame":
        pyarrow = _pyarrow()
        if len(table.columns) == 0:
            # Arrow has no rows without columns.
            return [{} for _ in range(len(table))]
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
        table = _named_columns(table)
        pyarrow = _pyarrow()
        if pyarrow is not None:
            return pyarrow.table(dict(table))
        names = list(table)
        return [dict(zip(names, row)) for row in zip(*table.values())]
    if hasattr(table, "dtype") and getattr(table.dtype, "names", None):
        return as_table({name: table[name] for name in table.dtype.names})
    if hasattr(table, "__iter__"):
        return [row._asdict() if hasattr(row, "_asdict") else row for row in table]
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
