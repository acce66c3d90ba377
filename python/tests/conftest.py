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
