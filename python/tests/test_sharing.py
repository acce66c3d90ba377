"""Stores that several processes write, and graphs of servers."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import knotwork

KNOT = os.environ.get("KNOT")


class Holder:
    """A process that has a store open, until it is told to close it, or killed."""

    def __init__(self, path, seconds=120):
        script = """
            import sys, knotwork
            db = knotwork.connect(sys.argv[1])
            db.execute("CREATE (:Holder {pid: $pid})", pid=__import__("os").getpid())
            print("open", flush=True)
            sys.stdin.readline()
            db.close()
            print("closed", flush=True)
            sys.stdin.readline()
        """
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.alarm = threading.Timer(seconds, self.process.kill)
        self.alarm.start()
        assert self.process.stdout.readline() == "open\n"

    def close_store(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "closed\n"

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.alarm.cancel()
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def shared(path):
    """A database that another process has open."""
    with Holder(path) as holder, knotwork.connect(path) as db:
        db.holder = holder
        yield db


def test_a_second_process_writes_through_the_first(shared):
    rows = [{"i": i, "t": [i, 1.5]} for i in range(3)]
    made = shared.execute("UNWIND $rows AS row CREATE (n:N {i: row.i, t: row.t}) RETURN n", rows=rows)
    assert [record["n"]["t"] for record in made] == [[0, 1.5], [1, 1.5], [2, 1.5]]
    assert made.summary.counters["nodes_created"] == 3
    assert shared.execute("MATCH (h:Holder) RETURN h.pid").scalar() == shared.holder.process.pid
    assert shared.execute("MATCH (n:N) RETURN n.i AS i ORDER BY i").to_arrow().to_pydict() == {"i": [0, 1, 2]}
    shared.execute("MATCH (a:N {i: 0}), (b:N {i: 1}) CREATE (a)-[:R {w: 2}]->(b)")
    graph = shared.execute("MATCH p = (:N)-[:R]->(:N) RETURN p").to_networkx()
    assert graph.number_of_nodes() == 2 and graph.number_of_edges() == 1
    shared.checkpoint()
    info = shared.info()
    assert info["nodes"] == 4 and info["labels"] == {"Holder": 1, "N": 3} and info["edge_types"] == {"R": 1}


def test_results_of_any_size_come_through(shared):
    result = shared.execute("UNWIND range(1, 300000) AS i RETURN i, toString(i) AS t")
    assert result.fetchone()["t"] == "1"
    # The rest waits while other statements run.
    assert shared.execute("RETURN 2").scalar() == 2
    table = result.to_arrow()
    assert table.num_rows == 299_999 and table["i"][-1].as_py() == 300_000
    with shared.connection() as connection:
        rows = connection.execute("UNWIND range(1, 1000000) AS i RETURN i")
        assert connection.execute("RETURN 3").scalar() == 3
        assert sum(i for (i,) in rows) == 500_000_500_000


def test_transactions_are_isolated_and_undone(shared):
    shared.execute("CREATE (:Account {id: 1, money: 10})")
    with shared.transaction() as tx:
        tx.execute("MATCH (a:Account) SET a.money = 11")
        assert tx.execute("MATCH (a:Account) RETURN a.money").scalar() == 11
        assert shared.execute("MATCH (a:Account) RETURN a.money").scalar() == 10
        with pytest.raises(knotwork.DataError, match="divi"):
            tx.execute("RETURN 1 / 0")
    assert shared.execute("MATCH (a:Account) RETURN a.money").scalar() == 11
    with pytest.raises(KeyError):
        with shared.transaction("serializable") as tx:
            tx.execute("MATCH (a:Account) SET a.money = 0")
            raise KeyError
    assert shared.execute("MATCH (a:Account) RETURN a.money").scalar() == 11
    with pytest.raises(knotwork.TransactionError, match="BEGIN needs a connection"):
        shared.execute("BEGIN")
    assert shared.execute("MATCH (a:Account) RETURN a.money").scalar() == 11
    with shared.connection() as one, shared.connection() as other:
        for connection in (one, other):
            connection.begin()
            connection.execute("MATCH (a:Account) RETURN a.money")
        one.execute("MATCH (a:Account) SET a.money = 1")
        one.commit()
        with pytest.raises(knotwork.ConflictError):
            other.execute("MATCH (a:Account) SET a.money = 2")
            other.commit()


def test_errors_limits_and_signals_are_as_at_home(shared, run, path):
    with pytest.raises(knotwork.QuerySyntaxError, match=r"(?s)RETRUN.*\^"):
        shared.execute("RETRUN 1")
    with pytest.raises(knotwork.TimeoutError):
        shared.execute("UNWIND range(1, 1000000000) AS i RETURN sum(i)", timeout=0.1)
    with pytest.raises(knotwork.ResourceLimitError):
        shared.execute("UNWIND range(1, 3000000) AS i RETURN collect(toString(i))", memory_limit="4MB").fetchall()
    with shared.connection() as connection:
        timer = threading.Timer(0.3, connection.interrupt)
        timer.start()
        with pytest.raises(knotwork.InterruptedError):
            connection.execute("UNWIND range(1, 1000000000) AS i RETURN sum(i)")
        timer.join()
        assert connection.execute("RETURN 1").scalar() == 1
    done = run(
        """
        import os, signal, sys, threading, time, knotwork
        with knotwork.connect(sys.argv[1]) as db:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            began = time.monotonic()
            try:
                db.execute("UNWIND range(1, 1000000000) AS i RETURN sum(i)")
            except KeyboardInterrupt:
                print("interrupted", time.monotonic() - began < 10, db.execute("RETURN 7").scalar())
        """,
        path,
    )
    assert done.stdout == "interrupted True 7\n"


def test_what_needs_the_store_itself_says_so(shared, tmp_path):
    calls = [
        lambda: shared.load_nodes([{"id": 1}], label="N", key="id"),
        lambda: shared.edges(types="R").node_count,
        lambda: shared.execute("LOAD FROM $t RETURN *", t=[{"a": 1}]),
    ]
    for call in calls:
        with pytest.raises(knotwork.QueryError, match="in the process that has the store open") as caught:
            call()
        assert caught.value.code == "UNSUPPORTED"
    assert shared.execute("RETURN 1").scalar() == 1


def test_files_are_reached_by_the_process_that_has_the_store(shared, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,name\n1,Ann\n2,Bo\n")
    with shared.connection() as connection:
        # Its folder is the one in which it was made.
        assert connection.execute(f"COPY Person FROM '{tmp_path}/people.csv'").to_dicts()[0]["nodes"] == 2
    shared.backup(tmp_path / "copy.knot")
    with knotwork.connect(tmp_path / "copy.knot", read_only=True) as copy:
        assert copy.execute("MATCH (p:Person) RETURN count(p)").scalar() == 2
    shared.backup(tmp_path / "next.knot", base=tmp_path / "copy.knot")
    with pytest.raises(knotwork.Error, match="copy.knot"):
        shared.backup(tmp_path / "copy.knot")


@pytest.mark.parametrize("end", ["close_store", "kill"])
def test_the_next_statement_opens_the_store_when_its_holder_ends(path, run, end):
    with Holder(path) as holder, knotwork.connect(path) as db:
        db.execute("CREATE (:N {i: 1})")
        with db.connection() as connection:
            connection.begin()
            connection.execute("CREATE (:N {i: 2})")
            getattr(holder, end)()
            with pytest.raises(knotwork.StoreError, match="rolled back") as caught:
                connection.execute("CREATE (:N {i: 3})")
            assert caught.value.code == "CONNECTION"
            assert connection.execute("MATCH (n:N) RETURN collect(n.i)").scalar() == [1]
            connection.execute("CREATE (:N {i: 4})")
        assert db.load_nodes([{"id": 1}], label="M", key="id").nodes_created == 1
        # Now others write through this one.
        run("import sys, knotwork; knotwork.connect(sys.argv[1]).execute('CREATE (:N {i: 5})')", path)
        assert db.execute("MATCH (n:N) RETURN n.i AS i ORDER BY i").to_dicts() == [{"i": 1}, {"i": 4}, {"i": 5}]


@pytest.mark.parametrize("end", ["close_store", "kill"])
def test_calls_that_were_given_up_do_not_stop_the_next_ones(path, end):
    with Holder(path) as holder, knotwork.connect(path) as db:
        for _ in range(4):
            rows = db.execute("UNWIND range(1, 100000) AS i RETURN i")
            rows.fetchone()
            rows.close()
            assert db.execute("UNWIND range(1, 100000) AS i RETURN i").scalar() == 1
        with db.connection() as connection:
            connection.interrupt()
            getattr(holder, end)()
            assert connection.execute("RETURN 1").scalar() == 1
        for _ in range(5):
            assert db.execute("RETURN 2").scalar() == 2


def test_a_store_is_loaded_right_after_its_holder_has_ended(path):
    with Holder(path) as holder, knotwork.connect(path) as db:
        assert db.execute("RETURN 1").scalar() == 1
        holder.close_store()
        assert db.load_nodes([{"id": 1}], label="M", key="id").nodes_created == 1


def test_types_of_columns_are_known_without_values(shared):
    shared.execute("CREATE NODE TABLE T(id INT64, name STRING, tags STRING[], PRIMARY KEY(id))")
    schema = shared.execute("MATCH (t:T) RETURN t.id, t.name, t.tags, toString(t.id), t").to_arrow().schema
    assert [str(type) for type in schema.types] == ["int64", "large_string", "large_list<item: large_string>", "large_string", "null"]


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot stop processes")
def test_a_holder_that_does_not_answer_can_be_left(shared, run, path):
    os.kill(shared.holder.process.pid, signal.SIGSTOP)
    try:
        done = run(
            """
            import os, signal, sys, threading, time, knotwork
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            began = time.monotonic()
            try:
                knotwork.connect(sys.argv[1])
            except KeyboardInterrupt:
                print("left", time.monotonic() - began < 5)
            """,
            path,
        )
        assert done.stdout == "left True\n", done
        with shared.connection() as connection:
            threading.Timer(0.3, connection.interrupt).start()
            began = time.monotonic()
            with pytest.raises(knotwork.Error):
                connection.execute("MATCH (n) RETURN count(n)")
            assert time.monotonic() - began < 10
    finally:
        os.kill(shared.holder.process.pid, signal.SIGCONT)
    assert shared.execute("RETURN 1").scalar() == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_of_the_holder_does_not_keep_the_store(path):
    script = """
        import os, sys, time, warnings, knotwork
        warnings.simplefilter("ignore")
        db = knotwork.connect(sys.argv[1])
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        print("open", flush=True)
        sys.stdin.readline()
        db.close()
        print("closed", flush=True)
    """
    holder = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )
    try:
        assert holder.stdout.readline() == "open\n"
        with knotwork.connect(path) as db:
            db.execute("CREATE (:N)")
            holder.stdin.write("\n")
            holder.stdin.flush()
            assert holder.stdout.readline() == "closed\n"
            began = time.monotonic()
            assert db.execute("MATCH (n:N) RETURN count(n)").scalar() == 1
            assert time.monotonic() - began < 8
    finally:
        os.killpg(holder.pid, signal.SIGKILL)
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()


def test_processes_that_open_and_close_at_once_know_what_was_done(path, run):
    script = """
        import sys, knotwork
        made = 0
        for i in range(12):
            with knotwork.connect(sys.argv[1]) as db:
                for _ in range(3):
                    db.execute("CREATE (:N)")
                    made += 1
        print(made)
    """
    done = []
    threads = [threading.Thread(target=lambda: done.append(run(script, path).stdout)) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert done == ["36\n"] * 4
    with knotwork.connect(path) as db:
        assert db.execute("MATCH (n:N) RETURN count(n)").scalar() == 144


def test_processes_that_are_killed_lose_nothing_acknowledged(path):
    """Five processes write at once, whoever has the store is killed again and again, and each tells what was acknowledged."""
    script = """
        import sys, knotwork
        db, name = knotwork.connect(sys.argv[1]), int(sys.argv[2])
        i = 0
        while True:
            i += 1
            try:
                db.execute("CREATE (:N {by: $by, i: $i})", by=name, i=i)
                print(i, flush=True)
            except knotwork.StoreError as error:
                if error.code not in ("CONNECTION", "OUTCOME_UNKNOWN", "BUSY"):
                    raise
    """
    acknowledged, unknown = {}, []

    def start(name):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), path, str(name)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        acknowledged[name] = taken = []
        reader = threading.Thread(target=lambda: taken.extend(int(line) for line in process.stdout))
        reader.start()
        return process, reader

    running = [start(name) for name in range(5)]
    for name in range(5, 13):
        time.sleep(0.7)
        process, reader = running.pop(0)
        process.kill()
        process.wait()
        reader.join()
        unknown.append(process.stderr.read())
        running.append(start(name))
    time.sleep(1)
    for process, reader in running:
        process.kill()
        process.wait()
        reader.join()
        unknown.append(process.stderr.read())
    assert [text for text in unknown if text] == []
    with knotwork.connect(path) as db:
        found = {(by, i) for by, i in db.execute("MATCH (n:N) RETURN n.by, n.i")}
    told = {(name, i) for name, taken in acknowledged.items() for i in taken}
    assert told <= found and len(told) > 100, (len(told), sorted(told - found)[:10])


def test_one_process_connects_once(path):
    with knotwork.connect(path) as db:
        with pytest.raises(knotwork.BusyError, match=r"db\.connection\(\)"):
            knotwork.connect(path)
        assert db.execute("RETURN 1").scalar() == 1
    with knotwork.connect(path) as db:
        assert db.execute("RETURN 1").scalar() == 1
    assert not os.path.exists(os.path.join(path, "SOCKET"))


def test_addresses_that_are_none_are_refused():
    for address, message in [
        ("bolt://", "names no host"),
        ("bolt://localhost:99999", "no number up to 65535"),
        ("bolt+x://localhost", "behind the + of the scheme"),
        ("bolt+s://127.0.0.1:1", "cannot connect to bolt+s://127.0.0.1:1"),
        ("bolt://localhost?x=1", "no settings behind a ?"),
        ("bolt://127.0.0.1:1", "cannot connect to bolt://127.0.0.1:1"),
        ("bolt:/neo4j:secret@localhost", "the address of the server is none"),
        ("http://localhost", "the address of the server is none"),
    ]:
        with pytest.raises(knotwork.Error, match=re.escape(message)):
            knotwork.connect(address)
    with pytest.raises(knotwork.QueryError, match="read_only"):
        knotwork.connect("bolt://localhost", read_only=True)


class Server:
    """`knot serve` on a free port."""

    def __init__(self, path):
        serve = [KNOT, "serve", path, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
        self.said = ""
        self.address = self.hears(r"bolt://([0-9.]+:\d+)")[1]
        with open(path + ".password") as file:
            self.password = file.read().strip()

    def hears(self, pattern):
        """Waits until it says that, behind what it has said."""
        start = len(self.said)
        while not (found := re.search(pattern, self.said[start:])):
            line = self.process.stderr.readline()
            assert line, (self.said, self.process.wait())
            self.said += line
        return found

    def connect(self, password=None):
        return knotwork.connect(f"bolt://neo4j:{password or self.password}@{self.address}")

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.process.terminate()
        self.process.communicate(timeout=30)


@pytest.mark.skipif(KNOT is None, reason="KNOT names no knot to serve with")
def test_a_server_is_a_database(path):
    with Server(path) as server:
        with pytest.raises(knotwork.Error, match="(?i)password|unauthorized|credentials"):
            server.connect("wrong")
        with server.connect() as db:
            assert server.password not in repr(db) and server.password not in str(db.path)
            db.execute("CREATE (:Person {name: 'Ann', born: date('1990-02-03')})-[:KNOWS]->(:Person {name: 'Bob'})")
            assert db.execute("MATCH (p:Person {name: 'Ann'}) RETURN p.born").scalar().year == 1990
            with db.transaction() as tx:
                tx.execute("CREATE (:Person {name: 'Cid'})")
            assert db.info()["nodes"] == 3
            assert db.algo.pagerank(labels="Person", types="KNOWS").to_arrow().num_rows == 3


@pytest.mark.skipif(KNOT is None, reason="KNOT names no knot to serve with")
@pytest.mark.parametrize("end", ["close_store", "kill"])
def test_a_store_that_a_program_has_open_is_served(path, end):
    count = "MATCH (n:Holder) RETURN count(n)"
    with Holder(path) as holder, Server(path) as server:
        server.hears(f"process {holder.process.pid} has the store open")
        with pytest.raises(knotwork.Error, match="(?i)password|unauthorized|credentials"):
            server.connect("wrong")
        with server.connect() as db:
            assert db.execute(count).scalar() == 1
            db.execute("CREATE (:Holder)")
            getattr(holder, end)()
            server.hears("listening on")
            assert db.execute(count).scalar() == 2
