"""A plugin for pytest that counts, while NetworkX's own tests run, the calls that the backend was given and what became of
them: answered, ended by an exception that NetworkX's tests may expect, or left to NetworkX by ``can_run``. Three tests are left out."""

import collections
import inspect

from knotwork.networkx_backend import Backend
from knotwork.networkx_backend.functions import FUNCTIONS

#: Tests that expect one of several right answers: a cycle is written from where NetworkX's own search for a shortest path
#: begins it, in its direction. Another of the shortest paths gives the same cycle, written otherwise.
OTHERWISE = tuple(
    f"::TestMinimumCycleBasis::{name}"
    for name in ("test_weighted_diamond", "test_petersen_graph", "test_gh6787_and_edge_attribute_names")
)
ANSWERED, RAISED, LEFT = (collections.Counter() for _ in range(3))


def _rows(name, rows):
    # A generator is answered when its rows are read.
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


def pytest_collection_modifyitems(config, items):
    # By the ends of their names: where these begin depends on what pytest was given.
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid.endswith(OTHERWISE)])
    items[:] = [item for item in items if not item.nodeid.endswith(OTHERWISE)]


def pytest_terminal_summary(terminalreporter):
    given = lambda counts: f"{sum(counts.values()):,}"
    terminalreporter.write_line(
        f"backend knotwork: {given(ANSWERED)} calls of {len(ANSWERED)} of {len(FUNCTIONS)} functions answered, "
        f"{given(RAISED)} ended by an exception, {given(LEFT)} left to NetworkX"
    )
