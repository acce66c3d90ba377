"""Mishaps of new or unlucky users: full disks, kills, signals in the middle of a load."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import knotwork

LOAD = """
    import sys, knotwork, pyarrow
    db = knotwork.connect(sys.argv[1])
    db.load_nodes([{"id": 1}], label="First", key="id")
    def rows():
        count = 3_000_000
        return pyarrow.table({"id": range(count), "name": [f"person number {i}" for i in range(count)]})
    table = rows()
    print("ready", flush=True)
"""


def started(path, script):
    script = textwrap.dedent(LOAD) + textwrap.dedent(script)
    process = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.skipif(os.name == "nt", reason="this system has no SIGINT between processes")
@pytest.mark.parametrize("wait", [0.05, 0.5])
def test_control_c_in_the_middle_of_a_load(path, wait):
    process = started(
        path,
        """
        try:
            while True:
                db.load_nodes(table, label="N", key="id", on_duplicate="update")
        except KeyboardInterrupt:
            print(db.execute("MATCH (n:First) RETURN count(n)").scalar(), db.execute("MATCH (n:N) RETURN count(n)").scalar())
        db.close()
        """,
    )
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and out in ("1 0\n", "1 3000000\n")
    assert knotwork.connect(path, read_only=True).execute("MATCH (n:First) RETURN count(n)").scalar() == 1


@pytest.mark.parametrize("wait", [0.05, 0.3, 1.0])
def test_a_kill_in_the_middle_of_a_load(path, wait):
    process = started(
        path,
        """
        while True:
            db.load_nodes(table, label="N", key="id", on_duplicate="update")
        """,
    )
    time.sleep(wait)
    process.kill()
    process.wait()
    with knotwork.connect(path) as db:
        assert db.execute("MATCH (n:First) RETURN count(n)").scalar() == 1
        assert db.execute("MATCH (n:N) RETURN count(n)").scalar() in (0, 3_000_000)
        db.load_nodes([{"id": -1}], label="N", key="id")


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a file's size is set as Linux has it")
def test_a_full_disk_is_told_and_survived(path, run):
    done = run(
        """
        import os, resource, sys, knotwork
        db = knotwork.connect(sys.argv[1])
        db.execute("CREATE (:Kept)")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
        try:
            db.load_nodes([{"id": i, "name": os.urandom(50).hex()} for i in range(100_000)], label="N", key="id")
        except knotwork.Error as error:
            print(type(error).__name__)
        """,
        path,
    )
    assert done.stdout.strip() in ("ResourceLimitError", "StoreError", "FileError"), (done.stdout, done.stderr)
    with knotwork.connect(path) as db:
        assert db.execute("MATCH (n:Kept) RETURN count(n)").scalar() == 1
        assert db.execute("MATCH (n:N) RETURN count(n)").scalar() == 0


def test_files_that_are_not_there(db, tmp_path):
    missing = str(tmp_path / "missing.csv")
    for query in (f"LOAD CSV FROM '{missing}' AS row RETURN row", f"COPY P FROM '{missing}'"):
        with pytest.raises(knotwork.Error, match="missing.csv"):
            db.execute(query).fetchall()
    with pytest.raises(knotwork.Error, match="nowhere"):
        knotwork.connect(tmp_path / "nowhere.knot", read_only=True)


def test_a_syntax_error_shows_the_place(db):
    with pytest.raises(knotwork.QuerySyntaxError) as caught:
        db.execute("MATCH (n)\nRETRUN n")
    lines = str(caught.value).splitlines()
    line = next(at for at, text in enumerate(lines) if "RETRUN" in text and "|" in text)
    assert lines[line + 1].index("^") == lines[line].index("RETRUN")
    assert (caught.value.line, caught.value.column) == (2, 1)


def test_results_that_are_open_when_all_ends(run):
    done = run(
        """
        import knotwork
        db = knotwork.connect()
        db.execute("UNWIND range(1, 100) AS i CREATE (:A)-[:B]->(:C)")
        stream = db.edges()
        batches = iter(stream)
        next(batches)
        rows = db.execute("UNWIND range(1, 10000000) AS i RETURN i")
        next(rows)
        """
    )
    assert done.stderr == ""
