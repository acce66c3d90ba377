"""Spark on a graph: a snapshot as DataFrames, for jobs of one's own.

>>> import knotwork.spark                                        # doctest: +SKIP
>>> nodes, edges = knotwork.spark.frames("social.knot", spark)   # doctest: +SKIP
>>> edges.groupBy("target").count().orderBy("count", ascending=False).show(3)   # doctest: +SKIP

Algorithms run by Spark with ``CALL algo.pagerank({execution: 'spark'})``; their program is :mod:`knotwork.spark.job`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .. import Database

__all__ = ["frames"]

#: Types of DataFrames for the types of values; values of other types are texts, as Cypher writes them.
_TYPES = {
    "INTEGER": "bigint",
    "FLOAT": "double",
    "BOOLEAN": "boolean",
    "STRING": "string",
    "DATE": "date",
    "LOCAL DATETIME": "timestamp_ntz",
}
#: Columns that are no properties: names, expressions, and the types that texts are read as.
_OF_NODES = (("id", "id(n)", "bigint"), ("labels", "labels(n)", "array<string>"))
_OF_EDGES = (("source", "id(a)", "bigint"), ("target", "id(b)", "bigint"), ("type", "type(r)", "string"))


def frames(
    graph: "Union[Database, str, os.PathLike[str]]",
    spark: "SparkSession",
    labels: Optional[Sequence[str]] = None,
    types: Optional[Sequence[str]] = None,
    properties: Optional[Sequence[str]] = None,
    folder: "Union[str, os.PathLike[str], None]" = None,
) -> "Tuple[DataFrame, DataFrame]":
    """A consistent snapshot of a graph as two DataFrames: its nodes, and its edges.

    ``graph`` is a database, the path of a store, or an address ``cql://HOST/KEYSPACE``. Nodes carry one of the ``labels``,
    and edges are of one of the ``types`` and lie between such nodes; without them all are there. Of properties there are
    those named, or all.

    The DataFrame of nodes has the columns ``id`` (bigint) and ``labels`` (array of strings), that of edges ``source``,
    ``target`` (bigint, ids of nodes) and ``type`` (string); behind them both have a column for each property: bigint,
    double, boolean, date, timestamp without zone, string, or an array of one of them, by the types of all its values;
    integers among floats are double. What has no such type, or several, is a string, as Cypher writes it. A property that
    has the name of one of the first columns is in ``property_<name>``.

    The rows are written as Parquet files first, once, in one transaction, and are read from there as often as the DataFrames
    are. They lie in a temporary folder, which is removed when Python ends, or in ``folder``, which must not exist and stays.
    A cluster needs a ``folder`` that all of its machines see by the same path.

    Raises ``ValueError`` for two properties whose names differ in case alone, which Spark does not tell apart,
    ``FileExistsError`` for a folder that exists, and what statements raise, as for a label that the graph does not have.
    """
    database, is_own = _open(graph)
    try:
        place = _folder(folder)
        with database.transaction() as transaction:
            _require(transaction, "label", labels)
            _require(transaction, "relationshipType", types)
            pattern = f"MATCH {_node_pattern('n', labels)}"
            nodes = _written(transaction, pattern, "n", _OF_NODES, properties, os.path.join(place, "nodes.parquet"))
            pattern = f"MATCH {_node_pattern('a', labels)}-{_edge_pattern(types)}->{_node_pattern('b', labels)}"
            edges = _written(transaction, pattern, "r", _OF_EDGES, properties, os.path.join(place, "edges.parquet"))
    finally:
        if is_own:
            database.close()
    return _read(spark, *nodes), _read(spark, *edges)


def _open(graph: Any) -> "Tuple[Any, bool]":
    """The database, and whether it was opened here."""
    from .. import Database, connect

    if isinstance(graph, Database):
        return graph, False
    return connect(os.fspath(graph), read_only=True), True


def _folder(named: Any) -> str:
    """An empty folder: the one that is named, or a temporary one."""
    if named is not None:
        path = os.path.abspath(os.fspath(named))
        os.makedirs(path)
        return path
    path = tempfile.mkdtemp(prefix="knotwork-frames-")
    atexit.register(shutil.rmtree, path, True)
    return path


def _require(transaction: Any, kind: str, names: Optional[Sequence[str]]) -> None:
    """Fails for a label or type that the graph does not have: more likely a slip than a wish."""
    if names:
        listed = transaction.execute(f"CALL db.{kind}s() YIELD {kind} RETURN collect({kind})").scalar()
        for name in names:
            if name not in listed:
                raise ValueError(f"the graph has no {kind} {name!r}; it has {', '.join(sorted(listed)) or 'none'}")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _node_pattern(variable: str, labels: Optional[Sequence[str]]) -> str:
    return f"({variable}:{'|'.join(map(_quoted, labels))})" if labels else f"({variable})"


def _edge_pattern(types: Optional[Sequence[str]]) -> str:
    return f"[r:{'|'.join(map(_quoted, types))}]" if types else "[r]"


def _types(transaction: Any, pattern: str, of: str, wanted: Optional[Sequence[str]]) -> "Dict[str, str]":
    """The properties with the types of their columns, by one pass over all values."""
    query = f"{pattern} UNWIND keys({of}) AS key RETURN key, collect(DISTINCT valueType({of}[key])) AS types ORDER BY key"
    found = {key: types for key, types in transaction.execute(query)}
    names = list(found) if wanted is None else list(dict.fromkeys(wanted))
    folded: Dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.lower(), name)
        if other != name:
            remedy = "which Spark does not tell apart; name one by properties="
            raise ValueError(f"the properties {other!r} and {name!r} differ in case alone, {remedy}")
    return {name: _type(found.get(name, [])) for name in names}


def _type(types: Sequence[str]) -> str:
    """The type of a column for the types of all its values."""
    plain = {_plain(name) for name in types}
    if len(plain) > 1:
        plain.discard("array<>")
    if plain == {"bigint", "double"}:
        return "double"
    if plain == {"array<bigint>", "array<double>"}:
        return "array<double>"
    found = plain.pop() if len(plain) == 1 else "string"
    return "array<string>" if found == "array<>" else found


def _plain(name: str) -> str:
    """The type of a column for the type of a value, as ``LIST<INTEGER NOT NULL> NOT NULL``."""
    name = name[: -len(" NOT NULL")] if name.endswith(" NOT NULL") else name
    if name.startswith("LIST<") and name.endswith(">"):
        element = name[5:-1]
        element = element[: -len(" NOT NULL")] if element.endswith(" NOT NULL") else element
        if element == "NOTHING":
            return "array<>"
        return f"array<{_TYPES[element]}>" if element in ("INTEGER", "FLOAT", "STRING", "BOOLEAN") else "string"
    return _TYPES.get(name, "string")


def _written(
    transaction: Any, pattern: str, of: str, own: Any, wanted: Optional[Sequence[str]], file: str
) -> "Tuple[str, List[Tuple[str, str]]]":
    """Writes rows, properties as texts, so that no column has to be of the type of its first values; gives the columns."""
    columns = [(name, kind) for name, _, kind in own]
    taken = {name for name, _, _ in own}
    texts = [f"{expression} AS {name}" for name, expression, _ in own]
    for key, kind in _types(transaction, pattern, of, wanted).items():
        name = f"property_{key}" if key.lower() in taken else key
        value = f"{of}.{_quoted(key)}"
        # Texts, lists and values of several types are written as Cypher writes them.
        if kind != "string" and not kind.startswith("array"):
            value = f"toString({value})"
        texts.append(f"{value} AS {_quoted(name)}")
        columns.append((name, kind))
    transaction.execute(f"COPY ({pattern} RETURN {', '.join(texts)}) TO '{_escaped(file)}'").fetchall()
    return file, columns


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _read(spark: "SparkSession", file: str, columns: "List[Tuple[str, str]]") -> "DataFrame":
    from pyspark.sql import functions as F

    frame = spark.read.parquet("file://" + file)
    options = {"allowBackslashEscapingAnyCharacter": "true"}
    chosen = []
    for name, kind in columns:
        column = frame["`" + name.replace("`", "``") + "`"]
        if kind.startswith("array"):
            column = F.from_json(column, kind, options)
        else:
            column = column.cast(kind)
        chosen.append(column.alias(name))
    return frame.select(*chosen)
