"""Fixtures that the tests share."""

import os
import subprocess
import sys
import textwrap

import pytest

import knotwork


@pytest.fixture
def db():
    """A database in memory."""
    with knotwork.connect() as database:
        yield database


@pytest.fixture
def path(tmp_path):
    """A path at which a store can be made."""
    return str(tmp_path / "store.knot")


@pytest.fixture
def run():
    """Runs a script in a process of its own."""

    def run(script, *arguments, timeout=120, code=0):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        )
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    return run


@pytest.fixture
def exchange(path, run):
    """Has another process find a value by it, beside this one, and store a second one, which is given back."""

    def exchange(read, first, second):
        with knotwork.connect(path) as db:
            db.execute("CREATE (:T {value: $value})", value=first)
            run(
                f"""
                import sys, uuid, knotwork
                first, second = map({read}, sys.argv[2:])
                with knotwork.connect(sys.argv[1]) as db:
                    found = db.execute("MATCH (t:T) RETURN t.value").scalar()
                    assert found == first, found
                    query = "MATCH (t:T {{value: $value}}) SET t.next = $next RETURN count(*)"
                    assert db.execute(query, value=found, next=second).scalar() == 1
                """,
                path,
                first,
                second,
            )
            return db.execute("MATCH (t:T) RETURN t.next").scalar()

    return exchange
