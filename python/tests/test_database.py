"""Opening, closing, transactions, connections, prepared statements."""

import gc
import os
import pathlib
import threading
import time

import pytest

import knotwork


def count(db):
    return db.execute("MATCH (n) RETURN count(n)").scalar()


def test_a_store_lasts(path):
    with knotwork.connect(path) as db:
        db.execute("CREATE (:N {i: 1})")
        assert not db.in_memory and repr(db) == f"<knotwork.Database {path!r}>" and db.is_open
    assert not db.is_open and "closed" in repr(db)
    with knotwork.connect(pathlib.Path(path), read_only=True) as db:
        assert count(db) == 1
        with pytest.raises(knotwork.ReadOnlyError):
            db.execute("CREATE (:N)")
        with db.transaction() as tx:
            assert tx.execute("MATCH (n) RETURN count(n)").scalar() == 1
    db.close()
    with pytest.raises(knotwork.ClosedError):
        db.execute("RETURN 1")


def test_advice_names_an_index_and_what_it_saves(path):
    with knotwork.connect(path) as db:
        db.execute("UNWIND range(1, 30000) AS i CREATE (:Person {name: 'p' + i})")
        query = "MATCH (p:Person) WHERE p.name = $name RETURN p; RETURN 1"
        [found] = db.advise(query, name="p7")
        assert found["statement"] == "CREATE INDEX FOR (n:Person) ON (n.name)" and found["entries"] == 30_000
        [saved] = found["times"]
        assert saved["statement"] == 0 and 0 < saved["after"] < saved["before"] < 60
        assert found["bytes"] > 0 and found["build"] > 0 and found["write"] > 0
        assert db.advise("MATCH (p:Person) RETURN count(*)") == []
        assert db.info()["indexes"] == []
        db.execute(found["statement"])
        assert db.advise(query, {"name": "p7"}) == []


def test_a_database_without_a_path_leaves_nothing():
    for make in (knotwork.connect, lambda: knotwork.Database(":memory:"), lambda: knotwork.Database("")):
        db = make()
        folder = db._temporary.directory
        assert db.in_memory and os.path.isdir(folder)
        db.execute("CREATE (:N)")
        db.close()
        assert not os.path.exists(folder)
    db = knotwork.connect()
    folder = db._temporary.directory
    del db
    gc.collect()
    assert not os.path.exists(folder)


def test_two_databases_in_memory_are_two():
    with knotwork.connect() as a, knotwork.connect() as b:
        a.execute("CREATE (:N)")
        assert (count(a), count(b)) == (1, 0)


def test_a_transaction_is_whole_or_nothing(db):
    with db.transaction() as tx:
        tx.execute("CREATE (:N)")
        assert tx.execute("MATCH (n) RETURN count(n)").scalar() == 1
        assert count(db) == 0
    assert count(db) == 1
    with pytest.raises(ZeroDivisionError):
        with db.transaction() as tx:
            tx.execute("CREATE (:N)")
            raise ZeroDivisionError
    assert count(db) == 1
    with db.transaction() as tx:
        tx.execute("CREATE (:N)")
        with pytest.raises(knotwork.DataError):
            tx.execute("CREATE (:M {x: 1 / 0})")
        tx.rollback()
    assert count(db) == 1
    with pytest.raises(knotwork.ClosedError):
        tx.execute("RETURN 1")


def test_large_results_within_a_transaction(db):
    with db.transaction() as tx:
        tx.execute("UNWIND range(1, 100000) AS i CREATE (:N {i: i})")
        first = tx.execute("MATCH (n:N) RETURN n.i AS i")
        second = tx.execute("MATCH (n:N) WHERE n.i > 50000 RETURN n.i AS i")
        assert len(second.fetchall()) == 50000 and len(first.fetchall()) == 100000


def test_conflicts_can_be_tried_again(db):
    db.execute("CREATE (:Counter {n: 0})")
    add = "MATCH (c:Counter) SET c.n = c.n + 1"
    with pytest.raises(knotwork.ConflictError) as caught:
        with db.transaction() as first:
            first.execute(add)
            with db.transaction() as second:
                second.execute(add)
    assert caught.value.retryable
    assert db.execute("MATCH (c:Counter) RETURN c.n").scalar() == 1


def test_serializable_transactions_see_write_skew(db):
    db.execute("CREATE (:D {n: 'a', on: true}), (:D {n: 'b', on: true})")
    leave = "MATCH (d:D {on: true}) WITH count(d) AS c WHERE c > 1 MATCH (d:D {n: $n}) SET d.on = false"
    with pytest.raises(knotwork.ConflictError):
        with db.transaction("serializable") as a, db.transaction("serializable") as b:
            a.execute(leave, n="a")
            b.execute(leave, n="b")
    assert db.execute("MATCH (d:D {on: true}) RETURN count(d)").scalar() == 1


def test_begin_needs_a_connection(db):
    with pytest.raises(knotwork.TransactionError, match="connection"):
        db.execute("BEGIN")
    assert count(db) == 0
    with db.connection() as connection:
        connection.execute("BEGIN TRANSACTION")
        assert connection.in_transaction
        connection.execute("CREATE (:N)")
        connection.execute("ROLLBACK")
        connection.begin()
        connection.execute("CREATE (:N)")
        connection.commit()
        assert count(db) == 1 and not connection.in_transaction
        connection.begin()
        connection.execute("CREATE (:N)")
    # Closing rolls back.
    assert count(db) == 1
    with pytest.raises(knotwork.ClosedError):
        connection.execute("RETURN 1")


def test_a_script_of_kuzu_runs(path):
    import knotwork as kuzu

    db = kuzu.Database(path, buffer_pool_size=256 << 20, max_num_threads=2)
    conn = kuzu.Connection(db)
    conn.execute("CREATE NODE TABLE Person(name STRING, age INT64, PRIMARY KEY(name))")
    conn.execute("CREATE REL TABLE Knows(FROM Person TO Person, since INT64)")
    for name, age in [("Alice", 35), ("Bob", 29)]:
        conn.execute("CREATE (:Person {name: $name, age: $age})", parameters={"name": name, "age": age})
    statement = conn.prepare("MATCH (a:Person {name: $a}), (b:Person {name: $b}) CREATE (a)-[:Knows {since: $s}]->(b)")
    assert statement.is_success()
    conn.execute(statement, {"a": "Alice", "b": "Bob", "s": 2011})
    conn.set_query_timeout(10000)
    result = conn.execute("MATCH (a:Person)-[k:Knows]->(b:Person) RETURN a.name, k.since, b.name")
    while result.has_next():
        assert result.get_next() == ["Alice", 2011, "Bob"]
    frame = conn.execute("MATCH (a:Person) RETURN a.name AS name, a.age AS age ORDER BY name").get_as_df()
    assert list(frame["age"]) == [35, 29]
    conn.close()
    db.close()


def test_prepared_statements(db):
    add = db.prepare("CREATE (n:N {i: $i}) RETURN n.i AS i")
    assert count(db) == 0
    assert [add.execute({"i": i}).scalar() for i in (1, 2)] == [1, 2] and add(i=3).scalar() == 3
    assert count(db) == 3
    with pytest.raises(knotwork.QuerySyntaxError):
        db.prepare("RETRUN 1")


def test_timeouts(db):
    slow = "UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c WITH a * b + c AS i WHERE i % 7 = 3 RETURN count(*)"
    start = time.monotonic()
    with pytest.raises(knotwork.TimeoutError) as caught:
        db.execute(slow, timeout=0.2)
    assert time.monotonic() - start < 10 and caught.value.code == "TIMEOUT"
    connection = db.connection()
    connection.timeout = 0.01
    with pytest.raises(TimeoutError):
        connection.execute(slow)
    connection.timeout = None
    assert connection.execute("RETURN 1").scalar() == 1


def test_memory_limits(db):
    with pytest.raises(knotwork.ResourceLimitError):
        db.execute("UNWIND range(1, 3000000) AS x RETURN collect(toString(x)) AS all", memory_limit=1 << 20).fetchall()


def test_a_query_is_cancelled_by_another_thread(db):
    connection = db.connection()
    threading.Timer(0.3, connection.interrupt).start()
    with pytest.raises(knotwork.InterruptedError):
        connection.execute("UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c WITH a * b + c AS i WHERE i % 7 = 3 RETURN count(*)")
    assert connection.execute("RETURN 1").scalar() == 1


def test_closing_ends_what_runs(path):
    db = knotwork.connect(path)
    rows = db.execute("UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c WITH a * b + c AS i RETURN i")
    assert rows.fetchone().i == 2
    errors = []

    def work():
        try:
            db.execute("UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c WITH a * b + c AS i WHERE i % 7 = 3 RETURN count(*)")
        except knotwork.Error as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    transaction = db.transaction()
    transaction.__enter__()
    transaction.execute("CREATE (:N)")
    thread.start()
    time.sleep(0.3)
    db.close()
    thread.join(20)
    assert not thread.is_alive() and len(errors) == 1
    with pytest.raises(knotwork.ClosedError):
        transaction.execute("RETURN 1")
    # Rows that are missing are told, never left out in silence.
    with pytest.raises(knotwork.ClosedError, match="before all rows were read"):
        rows.fetchall()
    with knotwork.connect(path) as db:
        assert count(db) == 0


def test_closing_a_connection_ends_its_results(db):
    with db.connection() as connection:
        rows = connection.execute("UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b RETURN a, b")
        few = connection.execute("UNWIND range(1, 10) AS a RETURN a")
        assert rows.fetchone() == (1, 1)
    with pytest.raises(knotwork.ClosedError, match="before all rows were read"):
        for _ in rows:
            pass
    assert len(few.fetchall()) == 10


def test_progress(db):
    db.execute("UNWIND range(1, 3000) AS i CREATE (:N {i: i})")
    db.execute("MATCH (a:N), (b:N) WHERE b.i = a.i + 1 OR b.i = a.i * 2 CREATE (a)-[:R]->(b)")
    seen = []
    db.algo.betweenness(progress=lambda done, total: seen.append((done, total))).fetchall()
    assert all(done <= max(total, done) for done, total in seen)


def test_what_a_progress_callback_raises_ends_the_query(db):
    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    with pytest.raises(Enough):
        db.execute("UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c WITH a * b + c AS i WHERE i % 7 = 3 RETURN count(*)", progress=stop)
    assert count(db) == 0


def test_info(path):
    with knotwork.connect(path, memory_limit=512 << 20, threads=1) as db:
        db.execute("CREATE (:A)-[:R]->(:B)")
        info = db.info()
        assert (info["nodes"], info["edges"], info["labels"], info["edge_types"]) == (2, 1, {"A": 1, "B": 1}, {"R": 1})
        assert info["memory_limit"] == 512 << 20


def test_backup(path, tmp_path):
    with knotwork.connect(path) as db:
        db.execute("CREATE (:A)")
        db.backup(tmp_path / "copy.knot")
    with knotwork.connect(tmp_path / "copy.knot", read_only=True) as copy:
        assert count(copy) == 1


def test_databases_cannot_be_pickled(db):
    import pickle

    with pytest.raises(TypeError, match="connect to it in the process"):
        pickle.dumps(db)
