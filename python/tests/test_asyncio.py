"""The same database for asyncio."""

import asyncio
import time

import pytest

import knotwork
import knotwork.aio

SLOW = "UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c WITH a * b + c AS i WHERE i % 7 = 3 RETURN count(*)"


def run(main):
    return asyncio.run(asyncio.wait_for(main, 60))


def test_queries_and_rows():
    async def main():
        async with knotwork.aio.connect() as db:
            await db.execute("UNWIND range(1, 1000) AS i CREATE (:N {i: i})")
            result = await db.execute("MATCH (n:N) RETURN n.i AS i ORDER BY i")
            assert result.columns == ("i",) and (await result.fetchone()).i == 1
            assert [row.i for row in await result.fetchmany(3)] == [2, 3, 4]
            assert [row.i async for row in result] == list(range(5, 1001))
            assert await result.fetchone() is None
            assert await (await db.execute("RETURN $x AS x", x=3)).scalar() == 3
            assert (await (await db.execute("MATCH (n:N) RETURN n.i AS i")).to_arrow()).num_rows == 1000
            assert (await (await db.execute("MATCH (n:N) RETURN n.i AS i")).to_pandas()).shape == (1000, 1)
            assert (await (await db.execute("MATCH (n:N) RETURN n.i AS i")).to_polars()).shape == (1000, 1)
            assert (await (await db.execute("CREATE (:N)")).summary()).counters["nodes_created"] == 1
            assert (await (await db.execute("RETURN 1 AS a")).to_dicts()) == [{"a": 1}]
            with pytest.raises(knotwork.QuerySyntaxError):
                await db.execute("RETRUN 1")

    run(main())


def test_the_event_loop_goes_on_and_queries_run_together():
    async def main():
        steps = 0

        async def tick():
            nonlocal steps
            while True:
                steps += 1
                await asyncio.sleep(0.005)

        async with knotwork.aio.connect(max_concurrent_queries=2) as db:
            ticking = asyncio.ensure_future(tick())
            work = [db.execute("UNWIND range(1, 300) AS a UNWIND range(1, 10000) AS b RETURN sum(a % b)") for _ in range(8)]
            results = await asyncio.gather(*work)
            ticking.cancel()
            assert len({await result.scalar() for result in results}) == 1
        assert steps > 3

    run(main())


def test_a_cancelled_task_cancels_its_query():
    async def main():
        async with knotwork.aio.connect(max_concurrent_queries=1) as db:
            start = time.monotonic()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(db.execute(SLOW), 0.3)
            assert time.monotonic() - start < 20
            assert await (await db.execute("RETURN 1")).scalar() == 1

    run(main())


def test_transactions():
    async def main():
        async with knotwork.aio.connect() as db:
            async with db.transaction() as tx:
                await tx.execute("CREATE (:N)")
                assert await (await db.execute("MATCH (n) RETURN count(n)")).scalar() == 0
            with pytest.raises(ZeroDivisionError):
                async with db.transaction() as tx:
                    await tx.execute("CREATE (:N)")
                    raise ZeroDivisionError
            assert await (await db.execute("MATCH (n) RETURN count(n)")).scalar() == 1

    run(main())


def test_kuzu_name(db):
    async def main():
        connection = knotwork.AsyncConnection(db, max_concurrent_queries=4)
        result = await connection.execute("RETURN 1 AS x")
        assert result.result.get_next() == [1]
        await connection.close()
        assert db.is_open

    run(main())


def test_algorithms_and_loads():
    async def main():
        async with knotwork.aio.connect() as db:
            people, knows = [{"id": i} for i in range(4)], [{"source": 0, "target": i} for i in range(1, 4)]
            assert (await db.load_nodes(people, label="P", key="id")).nodes_created == 4
            assert (await db.load_edges(knows, type="K", source=("P", "id"))).edges_created == 3
            assert [row async for row in await db.algo.degree(direction="OUT", key="id")] == [(0, 3.0), (1, 0.0), (2, 0.0), (3, 0.0)]
            assert (await (await db.algo.pagerank(mode="stats")).fetchone())["didConverge"] in (True, False)
            assert "pagerank" in dir(db.algo) and "edge_program" in dir(db.algo)
            with pytest.raises(AttributeError, match="there is no algorithm"):
                await db.algo.pagerankk()
            extra = [{"id": 9}]
            await db.execute("COPY P FROM extra")
            async with db.transaction() as tx:
                assert await (await tx.execute("LOAD FROM extra RETURN id")).scalar() == 9
            assert await (await db.execute("MATCH (p:P) RETURN count(p)")).scalar() == 5

    run(main())


class Count:
    """Counts the edges into nodes, so many times over."""

    def __init__(self, iterations):
        self.iterations, self.begun = iterations, 0

    def start(self, graph):
        import numpy

        self.count = numpy.zeros(graph.node_count)

    def should_iterate(self, iteration, changed):
        self.begun = iteration
        return iteration < self.iterations

    def process_edges(self, edges):
        edges.add(self.count, 1.0)

    def update_nodes(self, nodes):
        return None

    def result(self):
        return {"count": self.count}


def test_edge_programs_and_their_end():
    pytest.importorskip("numpy")

    async def main():
        async with knotwork.aio.connect() as db:
            await db.execute("UNWIND range(1, 50) AS i CREATE (:A)-[:R]->(:B)")
            found, others = await asyncio.gather(
                db.algo.edge_program(Count(2), types="R"), (await db.execute("MATCH (a:A) RETURN a")).fetchall()
            )
            assert sum(found["count"]) == 100 and found.iterations == 2 and len(others) == 50
            with pytest.raises(TypeError, match="should_iterate"):
                await db.algo.edge_program(object())
            endless = Count(10**9)
            running = asyncio.ensure_future(db.algo.edge_program(endless, types="R"))
            while endless.begun < 3:
                await asyncio.sleep(0.005)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            ended = endless.begun
            await asyncio.sleep(0.05)
            assert endless.begun == ended
            assert await (await db.execute("RETURN 1")).scalar() == 1

    run(main())


def test_a_task_that_is_cancelled_twice_leaves_nothing_running(run):
    done = run(
        """
        import asyncio, knotwork.aio

        async def main():
            async with knotwork.aio.connect(max_concurrent_queries=1) as db:
                for pause in (0, 0.001, 0.01):
                    task = asyncio.ensure_future(db.execute("UNWIND range(1, 1000000000) AS i RETURN sum(i)"))
                    await asyncio.sleep(0.1)
                    task.cancel()
                    await asyncio.sleep(pause)
                    task.cancel()
                    await asyncio.sleep(0)
                    task.cancel()
                    try:
                        await task
                        raise AssertionError("it was cancelled")
                    except asyncio.CancelledError:
                        pass
                    # The one thread is free again.
                    assert await (await db.execute("RETURN 1")).scalar() == 1

                async def write():
                    async with db.transaction() as tx:
                        await tx.execute("CREATE (:N)")
                        await tx.execute("UNWIND range(1, 1000000000) AS i RETURN sum(i)")

                task = asyncio.ensure_future(write())
                await asyncio.sleep(0.1)
                for _ in range(3):
                    task.cancel()
                    await asyncio.sleep(0.001)
                assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], asyncio.CancelledError)
                assert await (await db.execute("MATCH (n) RETURN count(*)")).scalar() == 0

        asyncio.run(main(), debug=True)
        """
    )
    assert "never retrieved" not in done.stderr, done.stderr


def test_after_close_every_call_says_so():
    async def main():
        db = knotwork.aio.connect()
        result = await db.execute("RETURN 1")
        await db.close()
        for call in (lambda: db.execute("RETURN 1"), lambda: db.load_nodes([{"a": 1}], label="N"), lambda: db.algo.pagerank(),
                     result.fetchall):
            with pytest.raises(knotwork.ClosedError):
                await call()
        await db.close()

    asyncio.run(main())


def test_results_are_read_as_in_kuzu():
    async def main():
        async with knotwork.aio.connect() as db:
            result = await db.execute("UNWIND [1, 2, 3] AS i RETURN i, toString(i) AS text")
            assert result.get_column_names() == ["i", "text"] and result.has_next() and result.get_next() == [1, "1"]
            assert result.get_all() == [[2, "2"], [3, "3"]]
            result = await db.execute("UNWIND [1, 2, 3] AS i RETURN i")
            assert (await result.fetchone()).i == 1
            with pytest.raises(RuntimeError, match="one by one"):
                result.get_all()
            assert [row.i async for row in result] == [2, 3]
            with pytest.raises(AttributeError, match="no attribute 'colour'"):
                result.colour

    asyncio.run(main())
