"""A plugin for pytest that counts, while NetworkX's own tests run, the calls that the backend was given and what became of
them: answered, ended by an exception that NetworkX's tests may expect, or left to NetworkX by ``can_run``."""

import collections
import inspect

from knotwork.networkx_backend import Backend
from knotwork.networkx_backend.functions import FUNCTIONS

ANSWERED, RAISED, LEFT = (collections.Counter() for _ in range(3))


def _rows(name, rows):
    # What is given row by row is answered when its rows are asked for.
    for row in rows:
        yield row
    ANSWERED[name] += 1


def _counted(name, function):
    def call(*args, **kwargs):
        try:
            found = function(*args, **kwargs)
        except Exception:
            RAISED[name] += 1
            raise
        if inspect.isgenerator(found):
            return _rows(name, found)
        ANSWERED[name] += 1
        return found

    return call


def _can_run(name, args, kwargs, original=Backend.can_run):
    answer = original(name, args, kwargs)
    LEFT[name] += answer is not True
    return answer


def pytest_configure(config):
    for name in FUNCTIONS:
        setattr(Backend, name, staticmethod(_counted(name, getattr(Backend, name))))
    Backend.can_run = staticmethod(_can_run)


def pytest_terminal_summary(terminalreporter):
    given = lambda counts: f"{sum(counts.values()):,}"
    terminalreporter.write_line(
        f"backend knotwork: {given(ANSWERED)} calls of {len(ANSWERED)} of {len(FUNCTIONS)} functions answered, "
        f"{given(RAISED)} ended by an exception, {given(LEFT)} left to NetworkX"
    )
