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

from ._database import Connection, Database
from ._database import connect as _connect

#: Rows that are turned into objects in one step of a thread.
_STEP = 256


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
        """What the statement did."""
        return await self._owner._run(lambda: self.result.summary)

    async def close(self) -> None:
        """Ends the query, if it still runs."""
        await self._owner._run(self.result.close)


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
        self._threads = ThreadPoolExecutor(max_concurrent_queries, thread_name_prefix="knotwork-aio")
        self._connections: "queue.SimpleQueue[Connection]" = queue.SimpleQueue()
        for _ in range(max_concurrent_queries):
            self._connections.put(Connection(database))

    async def _run(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def execute(self, query: Any, parameters: Optional[Dict[str, Any]] = None, **named: Any) -> AsyncResult:
        """Runs one statement as a transaction of its own."""
        held: List[Connection] = []
        is_cancelled = False

        def work() -> Any:
            connection = self._connections.get()
            held.append(connection)
            try:
                if is_cancelled:
                    return None
                return connection.execute(query, parameters, **named)
            finally:
                held.clear()
                self._connections.put(connection)

        running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return AsyncResult(self, await asyncio.shield(running))
        except asyncio.CancelledError:
            is_cancelled = True
            # A statement that is about to begin lowers the flag, so it is raised until the thread is free.
            while not running.done():
                for connection in list(held):
                    connection.interrupt()
                await asyncio.wait([running], timeout=0.005)
            running.exception() if not running.cancelled() else None
            raise

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
            await asyncio.shield(self._run(connection.close))
            raise
        try:
            await self._run(connection.commit)
        finally:
            await self._run(connection.close)

    async def close(self) -> None:
        """Ends the queries that run; a database that ``knotwork.aio.connect`` opened is closed too."""
        loop = asyncio.get_running_loop()
        while not self._connections.empty():
            self._connections.get_nowait().close()
        if self._owns:
            await loop.run_in_executor(None, self.database.close)
        await loop.run_in_executor(None, self._threads.shutdown)

    async def __aenter__(self) -> "AsyncConnection":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()


class AsyncTransaction:
    """A transaction that is open; see :meth:`AsyncConnection.transaction`."""

    def __init__(self, owner: AsyncConnection, connection: Connection) -> None:
        self._owner = owner
        self._connection = connection

    async def execute(self, query: Any, parameters: Optional[Dict[str, Any]] = None, **named: Any) -> AsyncResult:
        """Runs one statement in the transaction."""
        result = await self._owner._run(lambda: self._connection.execute(query, parameters, **named))
        return AsyncResult(self._owner, result)


def connect(path: Any = None, *, max_concurrent_queries: int = 4, **settings: Any) -> AsyncConnection:
    """Opens a database for asyncio; settings are those of :func:`knotwork.connect`."""
    return AsyncConnection(_connect(path, **settings), max_concurrent_queries, _owns=True)
