"""The summary of a statement, given with its result."""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any, Dict, List, Optional


class HintWarning(UserWarning):
    """A warning of something in a query that is probably not meant: a name that the graph does not have, as a rule.

    It is shown once for each place of a program; ``warnings.simplefilter("ignore", knotwork.HintWarning)`` turns it off.
    """


def warn(hints: List[str]) -> None:
    """Warns of hints, at the line outside of this package that asked."""
    frame: Any = sys._getframe(1)
    level = 2
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "knotwork":
        frame = frame.f_back
        level += 1
    for hint in hints:
        warnings.warn(hint, HintWarning, stacklevel=level)


class Summary:
    """The summary of a statement: counters, time, memory, plan and hints.

    >>> import knotwork
    >>> with knotwork.connect() as db:
    ...     summary = db.execute("CREATE (:A)-[:B]->(:C)").summary
    >>> summary.counters["nodes_created"], summary.counters["edges_created"]
    (2, 1)
    """

    __slots__ = ("query", "counters", "time", "memory_peak", "spilled_bytes", "plan", "hints", "phases", "waits", "plan_cached",
                 "_report")

    def __init__(
        self,
        query: str,
        counters: Dict[str, int],
        time: float,
        memory_peak: int,
        spilled_bytes: int,
        plan: Optional[str],
        plan_json: Optional[str],
        hints: List[str],
        phases: Dict[str, float],
        waits: Dict[str, float],
        plan_cached: bool,
    ) -> None:
        #: The text of the statement.
        self.query = query
        #: How many nodes, edges, properties, labels, constraints and indexes it made and removed.
        self.counters = counters
        #: Seconds from the text to the last row.
        self.time = time
        #: The most bytes that its operators held at a time.
        self.memory_peak = memory_peak
        #: Bytes that it wrote to temporary files because they did not fit.
        self.spilled_bytes = spilled_bytes
        #: The plan as a table, for ``EXPLAIN`` and ``PROFILE``.
        self.plan = plan
        #: What is probably not meant, though it is no error.
        self.hints = hints
        #: Seconds by phase: ``parse``, ``bind``, ``plan``, ``prepare``, ``run``, ``records``, ``commit``, ``retry``,
        #: ``deliver`` and ``between``.
        self.phases = phases
        #: Seconds that its threads waited, all together: for ``disk``, ``verify``, ``source``, ``log``, ``lock``, ``queue``
        #: and ``spill``.
        self.waits = waits
        #: True if its plan was found in the plan cache.
        self.plan_cached = plan_cached
        self._report: Dict[str, Any] = json.loads(plan_json) if plan_json else {}

    @property
    def plan_tree(self) -> Optional[Dict[str, Any]]:
        """The plan as nested dictionaries, for ``EXPLAIN`` and ``PROFILE``."""
        return self._report.get("plan")

    @property
    def waterfall(self) -> Optional[List[Dict[str, Any]]]:
        """The parts of the time, which add up to the whole, for ``PROFILE``: ``part``, ``kind`` and ``ns`` of each."""
        return self._report["waterfall"]["parts"] if "waterfall" in self._report else None

    @property
    def estimated_time(self) -> Optional[float]:
        """Seconds that the statement was expected to take, for ``EXPLAIN`` and ``PROFILE``; ``None`` where no estimate is possible.

        >>> import knotwork
        >>> with knotwork.connect() as db:
        ...     summary = db.execute("EXPLAIN MATCH (n) RETURN count(n)").summary
        >>> 0 < summary.estimated_time < 1
        True
        """
        time_ns = self._report.get("estimatedNs")
        return None if time_ns is None else time_ns / 1e9

    @property
    def finding(self) -> Optional[str]:
        """One sentence that says where the time went and what would change it, for ``PROFILE``."""
        return self._report.get("finding")

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={count}" for name, count in self.counters.items() if count)
        return f"<Summary {self.time * 1e3:.3f} ms{'; ' + changed if changed else ''}>"

    def _repr_html_(self) -> str:
        from ._notebook import summary_html

        return summary_html(self)
