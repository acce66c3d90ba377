"""Databases, connections, transactions and prepared statements."""

from __future__ import annotations

import atexit
import difflib
import json
import os
import shutil
import sys
import tempfile
import weakref
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from . import _knotwork
from ._knotwork import Result
from ._algo import Algorithms
from ._edges import EdgeStream, settings_of
from ._frames import Columns, Loaded, as_table, end, graph_edges, graph_nodes, is_graph, pairs
from ._limits import bytes_of, count_of
from ._progress import Progress, shown
from .errors import ClosedError, Error

#: The databases that are open, to be closed when the interpreter ends.
_open: "weakref.WeakSet[Database]" = weakref.WeakSet()


def _close_all() -> None:
    for database in list(_open):
        try:
            database.close()
        except Error:
            # A fork of the process that opened it has nothing to close.
            pass


atexit.register(_close_all)


class _TemporaryStore:
    """The directory of a database without a path. It goes with the database, in the process that made it."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.directory = tempfile.mkdtemp(prefix="knotwork-")
        self.path = os.path.join(self.directory, "memory.knot")

    def remove(self) -> None:
        if self.process == os.getpid():
            shutil.rmtree(self.directory, ignore_errors=True)


def _place(path: Union[str, os.PathLike[str]]) -> Union[str, os.PathLike[str]]:
    """A path in full, or the address of a server as it is."""
    text = os.fspath(path)
    return text if "://" in text else os.path.expanduser(text)


def connect(
    path: Union[str, os.PathLike[str], None] = None,
    *,
    read_only: bool = False,
    memory_limit: Union[int, str, None] = None,
    query_memory_limit: Union[int, str, None] = None,
    threads: Optional[int] = None,
    timeout: Optional[float] = None,
    durability: Optional[str] = None,
    isolation: str = "snapshot",
    spark: Optional[Mapping[str, Any]] = None,
) -> Database:
    """Opens the database in a directory, and makes it if it is missing.

    If another process has it open to write, statements run there, until that ends; then this process opens it. With
    ``read_only`` it is read beside that. ``bolt://user:password@host:port`` is the database of a server.

    Without a path (or with ``":memory:"``) the database lives as long as it is open: in a temporary directory, which the
    operating system keeps in memory as far as there is room, and which is removed when the database is closed.

    ``memory_limit`` and ``query_memory_limit`` are in bytes (or texts such as ``"2GB"``), for the database and for each
    query; what does not fit is spilled to temporary files. ``timeout`` is in seconds for each query. ``durability`` is ``"full"`` (a commit waits for
    the disk), ``"relaxed"`` (it is on the disk a tenth of a second later) or ``"off"``. ``isolation`` is ``"snapshot"`` or
    ``"serializable"``. ``spark`` is for algorithms with ``execution: 'spark'``: a mapping that may have ``master`` (by
    default ``"local[*]"``), ``folder`` (for tables of jobs, seen by all machines), ``options`` (a mapping of Spark's settings) and
    ``python`` (the one with PySpark, by default this one).

    >>> db = knotwork.connect()
    >>> db.execute("RETURN 1 + 1").scalar()
    2
    >>> db.close()
    """
    return Database(
        path,
        read_only=read_only,
        memory_limit=memory_limit,
        query_memory_limit=query_memory_limit,
        threads=threads,
        timeout=timeout,
        durability=durability,
        isolation=isolation,
        spark=spark,
    )


#: Settings of Kuzu's databases that have no meaning here.
_OF_KUZU = {
    "max_db_size", "auto_checkpoint", "checkpoint_threshold", "throw_on_wal_replay_failure", "enable_checksums",
    "enable_default_hash_index",
}


def _refuse(settings: Mapping[str, Any]) -> None:
    """A setting that is not known is more likely a slip than a wish."""
    known = [
        "path", "read_only", "memory_limit", "query_memory_limit", "threads", "timeout", "durability", "isolation",
        "spark", "buffer_pool_size", "max_num_threads", "compression", "lazy_init", "database_path",
    ]
    for name in settings:
        if name in _OF_KUZU:
            continue
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known[:9])}"
        raise TypeError(f"a database has no setting {name!r}{hint}")


def _of_spark(settings: Mapping[str, Any]) -> Tuple[str, str, Optional[str], Sequence[Tuple[str, str]]]:
    """Python, master, folder and options."""
    for name in settings:
        if name not in ("python", "master", "folder", "options"):
            raise TypeError(f"spark has no setting {name!r}; there are python, master, folder, options")
    folder = settings.get("folder")
    options = [(str(name), str(value)) for name, value in dict(settings.get("options") or {}).items()]
    python = os.fspath(settings.get("python") or sys.executable or "python3")
    return python, str(settings.get("master") or "local[*]"), None if folder is None else os.fspath(folder), options


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class Database(_knotwork.Database):
    """A database that is open in this process. Threads may share it; make it with :func:`connect`.

    It is a context manager that closes it. Closing ends the queries that run and removes a database without a path.
    """

    _temporary: Optional[_TemporaryStore]
    _algorithms: Optional[Algorithms]
    _finalizer: Any

    def __new__(
        cls,
        path: Union[str, os.PathLike[str], None] = None,
        buffer_pool_size: int = 0,
        max_num_threads: int = 0,
        compression: bool = True,
        lazy_init: bool = False,
        read_only: bool = False,
        *,
        database_path: Union[str, os.PathLike[str], None] = None,
        memory_limit: Union[int, str, None] = None,
        query_memory_limit: Union[int, str, None] = None,
        threads: Optional[int] = None,
        timeout: Optional[float] = None,
        durability: Optional[str] = None,
        isolation: str = "snapshot",
        spark: Optional[Mapping[str, Any]] = None,
        **others: Any,
    ) -> Database:
        _refuse(others)
        spark_settings = _of_spark(spark or {})
        # The first six are Kuzu's, in its order; compression and lazy_init have no meaning here.
        path = database_path if path is None else path
        is_memory = path is None or os.fspath(path) in ("", ":memory:")
        temporary = _TemporaryStore() if is_memory else None
        try:
            self = super().__new__(
                cls,
                temporary.path if temporary else _place(path),  # type: ignore[arg-type]
                access="read" if read_only and not temporary else "write",
                memory_limit=bytes_of("memory_limit", memory_limit) or count_of("buffer_pool_size", buffer_pool_size),
                query_memory_limit=bytes_of("query_memory_limit", query_memory_limit),
                threads=count_of("threads", threads) or count_of("max_num_threads", max_num_threads),
                timeout=timeout,
                durability=durability or ("off" if temporary else "full"),
                isolation=isolation,
                is_shared=temporary is None,
                spark=spark_settings,
            )
        except BaseException:
            if temporary:
                temporary.remove()
            raise
        self._algorithms = None
        self._temporary = temporary
        self._finalizer = weakref.finalize(self, temporary.remove) if temporary else None
        _open.add(self)
        return self

    def __init__(self, *_arguments: Any, **_settings: Any) -> None:
        pass

    def transaction(self, isolation: Optional[str] = None) -> Transaction:
        """A transaction: committed at the end of its block, rolled back if an exception leaves it.

        >>> with knotwork.connect() as db:
        ...     with db.transaction() as tx:
        ...         _ = tx.execute("CREATE (:Account {id: 1, money: 10})")
        ...         _ = tx.execute("MATCH (a:Account {id: 1}) SET a.money = a.money + $more", more=5)
        ...     db.execute("MATCH (a:Account) RETURN a.money").scalar()
        15
        """
        return Transaction(self, isolation)

    def prepare(self, query: str, parameters: Optional[Dict[str, Any]] = None) -> PreparedStatement:
        """A statement to be run often, with other parameters each time.

        The query is checked now. Plans are kept by the database for all statements, prepared or not.

        >>> with knotwork.connect() as db:
        ...     add = db.prepare("RETURN $a + $b AS sum")
        ...     [add.execute(a=1, b=b).scalar() for b in (1, 2, 3)]
        [2, 3, 4]
        """
        return PreparedStatement(self, query, parameters)

    def load_nodes(
        self,
        table: Any,
        label: Union[str, Sequence[str]],
        key: Optional[str] = None,
        columns: Columns = None,
        *,
        on_duplicate: str = "error",
        progress: Progress = None,
    ) -> Loaded:
        """Makes a node of each row of a table.

        The table is one of Arrow, pandas or polars, a mapping of columns, an iterable of dictionaries, or a NetworkX graph.
        ``key`` is the column that names the nodes; it gets a uniqueness constraint with the (first) label. ``columns``
        chooses columns, and renames them if it is a mapping. A row whose key is taken is an error, is passed over
        (``on_duplicate="skip"``) or sets its properties on the node there (``"update"``).

        All rows are loaded, or none.

        >>> with knotwork.connect() as db:
        ...     db.load_nodes([{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}], label="Person", key="id")
        ...     db.load_edges([{"from": 1, "to": 2, "since": 2019}], type="KNOWS",
        ...                   source=("Person", "id", "from"), target=("Person", "id", "to"))
        Loaded(nodes_created=2, nodes_merged=0, edges_created=0, rows_skipped=0)
        Loaded(nodes_created=0, nodes_merged=0, edges_created=1, rows_skipped=0)
        """
        labels = [label] if isinstance(label, str) else list(label)
        if is_graph(table):
            key = key or "id"
            table = graph_nodes(table, key)
        names = pairs(columns, [key] if key else [])
        with shown(progress, f"nodes :{labels[0] if labels else ''}") as call:
            return Loaded(**self._load_nodes(as_table(table), labels, key, names, on_duplicate, call))

    def load_edges(
        self,
        table: Any,
        type: str,
        source: Tuple[str, ...],
        target: Optional[Tuple[str, ...]] = None,
        columns: Columns = None,
        *,
        on_missing: str = "error",
        progress: Progress = None,
    ) -> Loaded:
        """Makes an edge of each row of a table.

        ``source`` and ``target`` say how an end is found: ``(label, key property, column)``; without a column it is the
        column ``source`` or ``target``, without ``target`` it is found as the source is. Other columns are properties. An
        end that is not there is an error, leaves the edge out (``on_missing="skip"``), or is made (``"create"``).

        All rows are loaded, or none.
        """
        start = end("source", source, "source")
        stop = end("target", (start[0], start[1]) if target is None else target, "target")
        if is_graph(table):
            table = graph_edges(table, start[2], stop[2])
        names = pairs(columns, [start[2], stop[2]])
        with shown(progress, f"edges :{type}") as call:
            return Loaded(**self._load_edges(as_table(table), type, start, stop, names, on_missing, call))

    def attach(self, source: Union[str, os.PathLike[str], Mapping[str, Any]], name: Optional[str] = None, **options: Any) -> Any:
        """Makes another database a part of the graph, without copying it; gives its labels and types.

        ``source`` is a URL, the path of a graph definition, or a definition as a dictionary (``docs/sources.md``). Options are
        those of ``ATTACH``. The wheel must have been built with the driver of the database.
        """
        given = json.dumps(source) if isinstance(source, Mapping) else os.fspath(source)
        options = {option: json.dumps(value) if isinstance(value, Mapping) else value for option, value in options.items()}
        text = "ATTACH $source" + ("" if name is None else " AS " + _quoted(name))
        if options:
            text += " (" + ", ".join(f"{_quoted(option)} = ${option}" for option in options) + ")"
        return self.execute(text, {**options, "source": given})

    def detach(self, name: str) -> None:
        """Takes a database that was attached out of the graph again."""
        self.execute("DETACH " + _quoted(name)).close()

    def sources(self) -> Any:
        """The attached sources, as a result."""
        return self.execute("SHOW SOURCES")

    @property
    def algo(self) -> Algorithms:
        """The algorithms, as functions: ``db.algo.pagerank(labels="Page", types="LINKS")``."""
        if self._algorithms is None:
            self._algorithms = Algorithms(self)
        return self._algorithms

    def edges(
        self,
        *,
        labels: Union[str, Sequence[str], None] = None,
        types: Union[str, Sequence[str], None] = None,
        direction: str = "OUT",
        weight: Optional[str] = None,
        default_weight: Optional[float] = None,
        properties: Sequence[str] = (),
        timeout: Optional[float] = None,
        memory_limit: Union[int, str, None] = None,
    ) -> EdgeStream:
        """The edges as NumPy arrays, streamed in batches, in as many passes over one moment as one likes.

        >>> import numpy
        >>> with knotwork.connect() as db:
        ...     _ = db.execute("CREATE (a:N)-[:R {w: 2}]->(b:N), (a)-[:R {w: 5}]->(c:N)")
        ...     with db.edges(types="R", properties=["w"]) as graph:
        ...         for edges in graph:
        ...             print(edges.sources, edges.targets, edges["w"])
        [0 0] [1 2] [2 5]
        """
        settings = settings_of(labels, types, direction, weight, default_weight)
        return EdgeStream(self, settings, properties, timeout, bytes_of("memory_limit", memory_limit))

    def connection(self) -> Connection:
        """A connection: a session of one's own, for one thread."""
        return Connection(self)

    cursor = connection

    @property
    def in_memory(self) -> bool:
        """True if it has no path of its own, and is removed when it is closed."""
        return self._temporary is not None

    def close(self) -> None:
        """Ends the queries that run, rolls open transactions back and closes the store."""
        self._close()
        _open.discard(self)
        if self._finalizer:
            self._finalizer()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        place = "in memory" if self.in_memory else repr(str(self.path))
        return f"<knotwork.Database {place}{'' if self.is_open else ', closed'}>"

    def __reduce__(self) -> Any:
        raise TypeError("a database cannot be pickled: connect to it in the process that uses it")


class Connection(_knotwork.Connection):
    """A connection: a session with settings of its own, in which transactions are begun and ended.

    >>> db = knotwork.Database()
    >>> conn = knotwork.Connection(db)
    >>> conn.execute("CREATE (:City {name: 'Oslo'})").summary.counters["nodes_created"]
    1
    >>> conn.execute("MATCH (c:City) RETURN c.name").get_all()
    [['Oslo']]
    >>> db.close()
    """

    _database: Database

    def __new__(cls, database: Database, num_threads: int = 0) -> Connection:
        self = super().__new__(cls, database)
        self._database = database
        return self

    def __init__(self, *_arguments: Any, **_settings: Any) -> None:
        pass

    @property
    def database(self) -> Database:
        """The database."""
        return self._database

    def execute(  # type: ignore[override]
        self, query: Union[str, PreparedStatement], parameters: Optional[Mapping[str, Any]] = None, **named: Any
    ) -> Result:
        """Runs one statement, in the transaction that is open or as one of its own."""
        if isinstance(query, PreparedStatement):
            query = query.query
        return super().execute(query, parameters, **named)

    def prepare(self, query: str, parameters: Optional[Dict[str, Any]] = None) -> PreparedStatement:
        """A statement to be run often in this connection."""
        return PreparedStatement(self, query, parameters)

    def set_query_timeout(self, milliseconds: int) -> None:
        """Milliseconds that a statement may take; 0 for no limit (as in Kuzu)."""
        self.timeout = milliseconds / 1e3 if milliseconds else None

    def set_max_threads_for_exec(self, threads: int) -> None:
        """Kept for scripts of Kuzu; threads are shared by all statements of a database (``threads=``)."""

    def __repr__(self) -> str:
        return f"<knotwork.Connection to {self._database!r}>"

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class Transaction:
    """A transaction of a database; see :meth:`Database.transaction`."""

    def __init__(self, database: Database, isolation: Optional[str] = None) -> None:
        self._database = database
        self._isolation = isolation
        self._connection: Optional[Connection] = None

    def __enter__(self) -> Transaction:
        connection = Connection(self._database)
        if self._isolation is not None:
            connection.isolation = self._isolation
        connection.begin()
        self._connection = connection
        return self

    def _held(self) -> Connection:
        if self._connection is None:
            raise ClosedError("the transaction has not begun, or is over: use it in a with block")
        return self._connection

    def execute(self, query: str, parameters: Optional[Mapping[str, Any]] = None, **named: Any) -> Result:
        """Runs one statement in the transaction. If it fails it is undone alone, and the transaction goes on."""
        return self._held().execute(query, parameters, **named)

    def commit(self) -> None:
        """Commits now instead of at the end of the block."""
        self._end(True)

    def rollback(self) -> None:
        """Rolls back now instead of at the end of the block."""
        self._end(False)

    def _end(self, commit: bool) -> None:
        connection, self._connection = self._held(), None
        try:
            if commit:
                connection.commit()
            else:
                connection.rollback()
        finally:
            connection.close()

    def __exit__(self, kind: Any, _exception: Any, _traceback: Any) -> None:
        if self._connection is None:
            return
        if kind is None:
            self._end(True)
            return
        try:
            self._end(False)
        except Error:
            # The exception that ended the block is what is told; a closed database has rolled back already.
            pass


class PreparedStatement:
    """A statement to be run often; see :meth:`Database.prepare`."""

    def __init__(self, target: Union[Database, Connection], query: str, parameters: Optional[Dict[str, Any]] = None) -> None:
        self._target = target
        #: The text of the statement.
        self.query = query
        self.parameters = dict(parameters or {})
        target.execute("EXPLAIN " + query)

    def execute(self, parameters: Optional[Mapping[str, Any]] = None, **named: Any) -> Result:
        """Runs the statement with these parameters."""
        if self.parameters:
            parameters = {**self.parameters, **(parameters or {})}
        return self._target.execute(self.query, parameters, **named)

    __call__ = execute

    def is_success(self) -> bool:
        """True: a statement that does not compile raises instead (as in Kuzu)."""
        return True

    def get_error_message(self) -> str:
        """Empty; see :meth:`is_success`."""
        return ""

    def __repr__(self) -> str:
        return f"<knotwork.PreparedStatement {self.query!r}>"

