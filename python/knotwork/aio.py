"""The same database for asyncio: queries run in threads, and the event loop goes on.

>>> import asyncio, knotwork.aio
>>> async def main():
...     async with knotwork.aio.connect() as db:
...         await db.execute("UNWIND range(1, 3) AS i CREATE (:N {i: i})")
...         return [row.i async for row in await db.execute("MATCH (n:N) RETURN n.i AS i ORDER BY i")]
>>> asyncio.run(main())
[1, 2, 3]
"""

from __future__ import annotations

import asyncio
import queue
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Callable, Dict, List, Optional

from . import _scan
from ._algo import Algorithms
from ._database import Connection, Database
from ._database import connect as _connect
from ._frames import Loaded
from ._programs import EdgeProgramResult
from .errors import _told

#: Rows that are turned into objects in one step of a thread.
_STEP = 256
#: Methods of results as Kuzu has them, which do not wait.
_OF_KUZU = {
    "has_next", "get_next", "get_all", "get_n", "rows_as_dict", "get_column_names", "get_column_data_types", "get_schema",
    "get_num_tuples", "get_as_df", "get_as_pl", "get_as_arrow", "get_as_networkx",
}


class AsyncResult:
    """A result whose rows are awaited; see :class:`knotwork.Result`."""

    def __init__(self, owner: "AsyncConnection", result: Any) -> None:
        self._owner = owner
        #: The result itself.
        self.result = result
        self._waiting: List[Any] = []

    @property
    def columns(self) -> Any:
        """The names of the columns."""
        return self.result.columns

    def __aiter__(self) -> "AsyncResult":
        return self

    async def __anext__(self) -> Any:
        if not self._waiting:
            self._waiting = await self._owner._run(self.result.fetchmany, _STEP)
            self._waiting.reverse()
        if not self._waiting:
            raise StopAsyncIteration
        return self._waiting.pop()

    async def fetchone(self) -> Any:
        """The next record, or ``None`` at the end."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            return None

    async def fetchmany(self, size: int = 1) -> List[Any]:
        """The next records, as many as that or fewer at the end."""
        taken = self._waiting[::-1][:size]
        self._waiting = self._waiting[: max(len(self._waiting) - len(taken), 0)]
        if len(taken) < size:
            taken += await self._owner._run(self.result.fetchmany, size - len(taken))
        return taken

    async def fetchall(self) -> List[Any]:
        """All records that are left."""
        taken, self._waiting = self._waiting[::-1], []
        return taken + await self._owner._run(self.result.fetchall)

    def _unread(self) -> None:
        if self._waiting:
            raise RuntimeError("rows of this result were read one by one; take the others in the same way")

    async def to_dicts(self) -> List[Dict[str, Any]]:
        """All records that are left, as dictionaries."""
        return [record.to_dict() for record in await self.fetchall()]

    async def to_arrow(self) -> Any:
        """All rows that are left as a ``pyarrow.Table``."""
        self._unread()
        return await self._owner._run(self.result.to_arrow)

    async def to_pandas(self, **options: Any) -> Any:
        """All rows that are left as a ``pandas.DataFrame``."""
        self._unread()
        return await self._owner._run(lambda: self.result.to_pandas(**options))

    async def to_polars(self) -> Any:
        """All rows that are left as a ``polars.DataFrame``."""
        self._unread()
        return await self._owner._run(self.result.to_polars)

    async def scalar(self) -> Any:
        """The first value of the next record, or ``None`` if there is none."""
        record = await self.fetchone()
        return None if record is None else record[0]

    async def summary(self) -> Any:
        """The summary of the statement."""
        return await self._owner._run(lambda: self.result.summary)

    async def close(self) -> None:
        """Ends the query, if it still runs."""
        await self._owner._run(self.result.close)

    def __getattr__(self, name: str) -> Any:
        # Programs of Kuzu read what was awaited without waiting again.
        if name in _OF_KUZU:
            self._unread()
            return getattr(self.result, name)
        raise AttributeError(f"an asynchronous result has no attribute {name!r}")


def _forget(done: "asyncio.Future[Any]") -> None:
    """Nobody asks any more how this has ended."""
    if not done.cancelled():
        done.exception()


class AsyncConnection:
    """Queries that run at the same time, up to a number, in threads of their own.

    A task that is cancelled cancels its query.
    """

    def __init__(
        self,
        database: Database,
        max_concurrent_queries: int = 4,
        max_threads_per_query: int = 0,
        *,
        _owns: bool = False,
    ) -> None:
        if max_concurrent_queries < 1:
            raise ValueError(f"max_concurrent_queries is 1 or more, found {max_concurrent_queries}")
        self.database = database
        self._owns = _owns
        self._is_closed = False
        self._threads = ThreadPoolExecutor(max_concurrent_queries, thread_name_prefix="knotwork-aio")
        self._connections: "queue.SimpleQueue[Connection]" = queue.SimpleQueue()
        for _ in range(max_concurrent_queries):
            self._connections.put(Connection(database))

    def _start(self, call: Callable[..., Any], *arguments: Any) -> "asyncio.Future[Any]":
        """Has a thread do something."""
        if self._is_closed:
            raise _told("CLOSED", "the connection is closed", "open another one with knotwork.aio.connect")
        return asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def _run(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await self._start(call, *arguments)

    async def _finish(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Waits until a thread has done something, though the task may be cancelled meanwhile; that is told afterwards."""
        running, is_cancelled = self._start(call, *arguments), None
        while not running.done():
            try:
                await asyncio.wait([running])
            except asyncio.CancelledError as error:
                is_cancelled = error
        if is_cancelled is not None:
            _forget(running)
            raise is_cancelled
        return running.result()

    async def _cancellable(self, work: Callable[[], Any], stop: Callable[[], None]) -> Any:
        """The result of work in a thread. A cancelled task stops the work, and waits until the thread is free."""
        running = self._start(work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # A query that is about to begin may lower the flag that stops it, so it is raised until the thread is free. A task may be
            # cancelled again meanwhile.
            while not running.done():
                stop()
                try:
                    await asyncio.wait([running], timeout=0.005)
                except asyncio.CancelledError:
                    continue
            _forget(running)
            raise

    async def _on_connection(self, call: Callable[[Connection], Any]) -> AsyncResult:
        """The result of a call with one of the connections."""
        held: List[Connection] = []
        is_cancelled = False

        def work() -> Any:
            connection = self._connections.get()
            held.append(connection)
            try:
                return None if is_cancelled else call(connection)
            finally:
                held.clear()
                self._connections.put(connection)

        def stop() -> None:
            nonlocal is_cancelled
            is_cancelled = True
            for connection in list(held):
                connection.interrupt()

        return AsyncResult(self, await self._cancellable(work, stop))

    async def execute(self, query: Any, parameters: Optional[Dict[str, Any]] = None, **named: Any) -> AsyncResult:
        """Runs one statement as a transaction of its own."""
        # The variables of the caller are seen from here, and not from the thread.
        known = _scan.known(query)

        def call(connection: Connection) -> Any:
            with _scan.knowing(known):
                return connection.execute(query, parameters, **named)

        return await self._on_connection(call)

    @property
    def algo(self) -> "AsyncAlgorithms":
        """The algorithms, as functions to be awaited: ``await db.algo.pagerank(types="LINKS")``."""
        return AsyncAlgorithms(self)

    async def load_nodes(self, table: Any, *arguments: Any, **settings: Any) -> Loaded:
        """Makes a node of each row of a table; see :meth:`knotwork.Database.load_nodes`. It is not cancelled with its task."""
        return await self._run(lambda: self.database.load_nodes(table, *arguments, **settings))

    async def load_edges(self, table: Any, *arguments: Any, **settings: Any) -> Loaded:
        """Makes an edge of each row of a table; see :meth:`knotwork.Database.load_edges`. It is not cancelled with its task."""
        return await self._run(lambda: self.database.load_edges(table, *arguments, **settings))

    @asynccontextmanager
    async def transaction(self, isolation: Optional[str] = None) -> AsyncIterator["AsyncTransaction"]:
        """A transaction: committed at the end of its block, rolled back if an exception leaves it."""
        connection = Connection(self.database)
        if isolation is not None:
            connection.isolation = isolation
        await self._run(connection.begin)
        try:
            yield AsyncTransaction(self, connection)
        except BaseException:
            connection.interrupt()
            await self._finish(connection.close)
            raise
        try:
            await self._finish(connection.commit)
        finally:
            await self._finish(connection.close)

    async def close(self) -> None:
        """Ends the queries that run; a database that ``knotwork.aio.connect`` opened is closed too."""
        loop = asyncio.get_running_loop()
        self._is_closed = True
        while not self._connections.empty():
            self._connections.get_nowait().close()
        if self._owns:
            await loop.run_in_executor(None, self.database.close)
        await loop.run_in_executor(None, self._threads.shutdown)

    async def __aenter__(self) -> "AsyncConnection":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()


class AsyncAlgorithms:
    """The algorithms of a database, each to be awaited; see :class:`knotwork.Algorithms`.

    >>> async def main():
    ...     async with connect() as db:
    ...         await db.execute("CREATE (:N {name: 'b'})-[:R]->(:N {name: 'a'})")
    ...         return await (await db.algo.degree(direction="IN", key="name")).to_dicts()
    >>> asyncio.run(main())
    [{'name': 'b', 'score': 0.0}, {'name': 'a', 'score': 1.0}]
    """

    def __init__(self, owner: AsyncConnection) -> None:
        self._owner = owner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        async def run(**settings: Any) -> AsyncResult:
            # Found in the thread: the list of algorithms is a query too.
            return await self._owner._on_connection(lambda connection: getattr(Algorithms(connection), name)(**settings))

        run.__name__ = name
        return run

    def __dir__(self) -> List[str]:
        return dir(self._owner.database.algo)

    async def edge_program(self, program: Any, **settings: Any) -> EdgeProgramResult:
        """Runs an edge program in a thread; see :meth:`knotwork.Algorithms.edge_program`.

        The functions of the program are called in that thread. A task that is cancelled ends the program at its next batch.
        """
        streams: List[Any] = []
        is_cancelled = False

        def opened(stream: Any) -> None:
            streams.append(stream)
            if is_cancelled:
                stream.close()

        def stop() -> None:
            nonlocal is_cancelled
            is_cancelled = True
            for stream in streams:
                stream.close()

        algorithms = self._owner.database.algo
        return await self._owner._cancellable(lambda: algorithms.edge_program(program, _opened=opened, **settings), stop)


class AsyncTransaction:
    """A transaction that is open; see :meth:`AsyncConnection.transaction`."""

    def __init__(self, owner: AsyncConnection, connection: Connection) -> None:
        self._owner = owner
        self._connection = connection

    async def execute(self, query: Any, parameters: Optional[Dict[str, Any]] = None, **named: Any) -> AsyncResult:
        """Runs one statement in the transaction."""
        known = _scan.known(query)

        def call() -> Any:
            with _scan.knowing(known):
                return self._connection.execute(query, parameters, **named)

        return AsyncResult(self._owner, await self._owner._run(call))


def connect(path: Any = None, *, max_concurrent_queries: int = 4, **settings: Any) -> AsyncConnection:
    """Opens a database for asyncio; settings are those of :func:`knotwork.connect`."""
    return AsyncConnection(_connect(path, **settings), max_concurrent_queries, _owns=True)
