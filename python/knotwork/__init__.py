"""Knotwork: an embedded property-graph database.

>>> import knotwork
>>> with knotwork.connect() as db:
...     _ = db.execute("CREATE (:Person {name: 'Ann'})-[:KNOWS {since: 2019}]->(:Person {name: 'Bob'})")
...     for name, since in db.execute("MATCH (:Person {name: $name})-[k:KNOWS]->(f) RETURN f.name, k.since", name="Ann"):
...         print(name, since)
Bob 2019

A store is one directory: ``knotwork.connect("social.knot")``. Many threads may use one database, and
other processes write through the one that has it open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._database import Connection, Database, PreparedStatement, Transaction, connect
from ._edges import Edges, EdgeStream
from ._knotwork import Duration, Edge, Node, Path, Point, Record, __version__
from ._knotwork import Result
from ._programs import EdgeProgram, EdgeProgramResult
from ._summary import HintWarning, Summary
from .errors import (
    BusyError,
    ClosedError,
    ConflictError,
    ConstraintError,
    CorruptionError,
    DataError,
    Error,
    FileError,
    InternalError,
    InterruptedError,
    JobError,
    NotFoundError,
    ParameterError,
    QueryError,
    QuerySyntaxError,
    ReadOnlyError,
    ResourceLimitError,
    SourceError,
    StoreError,
    TimeoutError,
    TransactionError,
    TypeMismatchError,
)

#: What Kuzu calls the class of results.
QueryResult = Result


def _find_duckdb() -> None:
    """Names the library in DuckDB's own package, if that is installed: it attaches files of DuckDB. It is not imported here."""
    from importlib.util import find_spec
    from pathlib import Path as FilePath

    from ._knotwork import set_duckdb_library

    found = find_spec("_duckdb")
    if found is not None and found.origin is not None:
        set_duckdb_library(FilePath(found.origin))


_find_duckdb()

__all__ = [
    "AsyncConnection", "BusyError", "ClosedError", "ConflictError", "Connection", "ConstraintError", "CorruptionError",
    "DataError", "Database", "Duration", "Edge", "EdgeProgram", "EdgeProgramResult", "EdgeStream", "Edges", "Error", "FileError", "HintWarning", "InternalError", "InterruptedError", "JobError", "Node",
    "NotFoundError", "ParameterError", "Path", "Point", "PreparedStatement", "QueryError", "QueryResult", "QuerySyntaxError",
    "ReadOnlyError", "Record", "ResourceLimitError", "Result", "SourceError", "StoreError", "Summary", "TimeoutError", "Transaction",
    "TransactionError", "TypeMismatchError", "__version__", "connect",
]


def __dir__() -> "list[str]":
    return sorted([*(name for name in globals() if name != "annotations"), "AsyncConnection", "aio"])


if TYPE_CHECKING:
    from . import aio
    from .aio import AsyncConnection
else:

    def __getattr__(name):
        # Asyncio is imported only by those who use it.
        if name in ("AsyncConnection", "aio"):
            import importlib

            aio = importlib.import_module("knotwork.aio")
            return aio if name == "aio" else aio.AsyncConnection
        raise AttributeError(f"module 'knotwork' has no attribute {name!r}")
