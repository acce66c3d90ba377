"""Threads, processes, forks, signals, and how it all ends."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import knotwork


def test_eight_threads_read_and_write(path):
    with knotwork.connect(path, durability="off") as db:
        db.execute("CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE")
        db.execute("CREATE (:Counter {n: 0})")
        failures = []

        def work(number):
            try:
                for step in range(60):
                    id = number * 1000 + step
                    db.execute("CREATE (:N {id: $id, by: $by})", id=id, by=number)
                    assert db.execute("MATCH (n:N {id: $id}) RETURN n.by", id=id).scalar() == number
                    db.execute("MATCH (c:Counter) SET c.n = c.n + 1")
                    if step % 20 == 0:
                        own = db.execute("MATCH (n:N {by: $by}) RETURN n.id AS id ORDER BY id", by=number)
                        assert [row.id for row in own] == list(range(number * 1000, id + 1))
                        assert db.execute("MATCH (n:N) RETURN n.id").to_arrow().num_rows >= step + 1
            except BaseException as failure:  # noqa: BLE001 - told below
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert failures == []
        assert db.execute("MATCH (c:Counter) RETURN c.n").scalar() == 480
        assert db.execute("MATCH (n:N) RETURN count(n)").scalar() == 480


def test_threads_may_share_a_connection_and_a_result(db):
    connection = db.connection()
    result = db.execute("UNWIND range(1, 200000) AS i RETURN i")
    taken, failures = [], []

    def work():
        try:
            while rows := result.fetchmany(1000):
                taken.append(sum(row.i for row in rows))
            for _ in range(50):
                assert connection.execute("RETURN 1").scalar() == 1
        except BaseException as failure:  # noqa: BLE001 - told below
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert failures == [] and sum(taken) == 200000 * 200001 // 2


def test_other_threads_run_while_the_engine_works(db):
    steps = 0
    done = threading.Event()

    def count():
        nonlocal steps
        while not done.is_set():
            steps += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    db.execute("UNWIND range(1, 4000000) AS i WITH i WHERE i % 7 = 3 RETURN count(*)").fetchall()
    done.set()
    thread.join()
    assert steps > 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_is_told_and_harms_nothing(path, run):
    done = run(
        """
        import os, sys, warnings, knotwork
        warnings.simplefilter("ignore")
        db = knotwork.connect(sys.argv[1])
        memory = knotwork.connect()
        connection = db.connection()
        db.execute("CREATE (:N {i: 1})")
        rows = db.execute("UNWIND range(1, 10000000) AS i RETURN i")
        rows.fetchone()
        child = os.fork()
        if child == 0:
            calls = [lambda: db.execute("RETURN 1"), lambda: connection.execute("RETURN 1"), db.checkpoint, db.close, lambda: rows.fetchmany(10**7)]
            for call in calls:
                try:
                    call()
                except knotwork.ClosedError as error:
                    assert "fork" in str(error), error
                else:
                    os._exit(3)
            del db, connection, rows
            # The child has databases of its own.
            with knotwork.connect() as own:
                assert own.execute("UNWIND range(1, 200000) AS i RETURN i").to_arrow().num_rows == 200000
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        db.execute("CREATE (:N {i: 2})")
        assert memory.execute("RETURN 1").scalar() == 1 and os.path.exists(memory.path)
        assert len(rows.fetchmany(100000)) == 100000
        db.close()
        print("well")
        """,
        path,
    )
    assert done.stdout == "well\n"
    with knotwork.connect(path) as db:
        assert db.execute("MATCH (n:N) RETURN sum(n.i)").scalar() == 3


@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "del db", "import gc; gc.collect()"])
def test_the_interpreter_ends_cleanly(path, run, end):
    done = run(
        f"""
        import sys, threading, knotwork
        db = knotwork.connect(sys.argv[1])
        memory = knotwork.connect()
        print(memory._temporary.directory)
        kept = [db.execute("UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c WITH a * b + c AS i RETURN i, toString(i)") for _ in range(3)]
        [result.fetchone() for result in kept]
        stream = kept[0].__arrow_c_stream__()
        transaction = db.transaction()
        transaction.__enter__()
        transaction.execute("CREATE (:Lost)")
        db.execute("CREATE (:Kept)")
        def work():
            try:
                db.execute("UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c RETURN sum(a * b + c)")
            except knotwork.Error:
                pass  # The end of the process ends it.
        threading.Thread(target=work, daemon=True).start()
        {end}
        """,
        path,
    )
    assert done.stderr == ""
    assert not os.path.exists(done.stdout.strip())
    with knotwork.connect(path) as db:
        assert db.execute("MATCH (n) RETURN labels(n)").fetchall() == [(["Kept"],)]


@pytest.mark.skipif(os.name == "nt", reason="this system has no SIGINT between processes")
@pytest.mark.parametrize(
    "work",
    [
        'db.execute("UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c WITH a * b + c AS i WHERE i % 7 = 3 RETURN count(*)")',
        'db.execute("UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c WITH a * b + c AS i RETURN i").fetchall()',
        'db.execute("UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c WITH a * b + c AS i CREATE (:N {i: i})")',
        'connection.execute("UNWIND $list AS i UNWIND $list AS j WITH i * j AS x WHERE x % 7 = 3 RETURN count(*)", list=list(range(100000)))',
    ],
    ids=["read", "rows", "write", "misjudged"],
)
def test_control_c_ends_a_query(path, work):
    script = textwrap.dedent(
        f"""
        import sys, knotwork
        db = knotwork.connect(sys.argv[1])
        connection = db.connection()
        print("ready", flush=True)
        try:
            {work}
        except KeyboardInterrupt:
            print(db.execute("MATCH (n) RETURN count(n)").scalar())
        db.close()
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    out, _ = process.communicate(timeout=60)
    assert out == "0\n" and process.returncode == 0
    assert time.monotonic() - start < 30


def test_a_million_queries_leak_nothing(run):
    done = run(
        """
        import gc, os, time, knotwork
        def memory():
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        db = knotwork.connect()
        db.execute("CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE")
        db.execute("UNWIND range(1, 1000) AS i CREATE (:P {id: i, name: 'name ' + i, at: date()})")
        query = "MATCH (p:P {id: $id}) RETURN p.name AS name, p, p.at AS at"
        def ask(count):
            for i in range(count):
                assert db.execute(query, {"id": i % 1000 + 1}).fetchone() is not None
        def stream(count):
            for _ in range(count):
                db.execute("UNWIND range(1, 100000) AS i RETURN i, toString(i)").fetchone()
                db.execute("UNWIND range(1, 1000) AS i RETURN i, toString(i)").to_arrow()
        ask(50_000)
        stream(100)
        before, start = memory(), time.monotonic()
        # As many as can be asked in a minute, a million at most.
        asked = 0
        while asked < 1_000_000 and time.monotonic() - start < 60:
            ask(50_000)
            asked += 50_000
        stream(200)
        print(asked, memory() - before)
        """,
        timeout=300,
    )
    asked, grown = map(int, done.stdout.split())
    assert asked >= 100_000 and grown < 24 << 20, (asked, grown)
