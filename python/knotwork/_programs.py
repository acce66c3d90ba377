"""Edge programs: computations over a whole graph that are written in Python, over batches of edges.

After: Zhu, Han, Chen, "GridGraph", 2015; Roy, Mihailovic, Zwaenepoel, "X-Stream", 2013.
"""

from __future__ import annotations

import time
from typing import Any, Dict, Optional

from ._edges import Edges, EdgeStream, _numpy
from ._progress import Progress, shown
from ._tables import _library

#: Nodes that ``update_nodes`` is given at a time: what it makes on its way stays in the processor's cache.
NODES_STEP = 1 << 17


class EdgeProgram:
    """A program over edges: the three functions of edge streaming, its beginning and its result.

    A program need not derive from this class, it need only have ``should_iterate``, ``process_edges`` and
    ``update_nodes``. It keeps the state of nodes in arrays of its own, with a place for each number.

    >>> class Components(knotwork.EdgeProgram):
    ...     only_changed = True
    ...     def start(self, graph):
    ...         self.part, self.least = (numpy.arange(graph.node_count) for _ in range(2))
    ...     def should_iterate(self, iteration, changed):
    ...         return changed > 0
    ...     def process_edges(self, edges):
    ...         edges.minimum(self.least, self.part[edges.sources])
    ...     def update_nodes(self, nodes):
    ...         changed = self.least[nodes] < self.part[nodes]
    ...         self.part[nodes] = self.least[nodes]
    ...         return changed
    ...     def result(self):
    ...         return {"component": self.part}
    >>> import numpy
    >>> with knotwork.connect() as db:
    ...     _ = db.execute("CREATE (a {name: 'a'})-[:R]->({name: 'b'})<-[:R]-({name: 'c'}), ({name: 'd'})")
    ...     db.algo.edge_program(Components(), direction="BOTH", key="name").to_dict()
    {'name': ['a', 'b', 'c', 'd'], 'component': [0, 0, 0, 3]}
    """

    #: Whether only edges from nodes that the iteration before changed are processed: others are then not read.
    only_changed = False

    def start(self, graph: EdgeStream) -> Any:
        """Makes the state of nodes. May give a mask of the nodes that are new: all without one."""

    def should_iterate(self, iteration: int, changed: int) -> bool:
        """True to continue. Called before each iteration, with the number of nodes that the one before changed; before the
        first, with the number of new nodes."""
        raise NotImplementedError

    def process_edges(self, edges: Edges) -> None:
        """Carries what a batch of edges brings from their sources to their targets."""
        raise NotImplementedError

    def update_nodes(self, nodes: slice) -> Any:
        """Makes the new state of some nodes. Gives a mask of those that have changed, or ``None`` for all, ``False`` for
        none."""
        raise NotImplementedError


class EdgeProgramResult:
    """The result of a program: a table of nodes, by their ids or a property, with the arrays of its ``result``."""

    def __init__(self, columns: Dict[str, Any], iterations: int, edges: int, seconds: float) -> None:
        #: The columns by name.
        self.columns = columns
        #: How many iterations were done.
        self.iterations = iterations
        #: How many edges were processed.
        self.edges = edges
        #: How long it took.
        self.seconds = seconds

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def to_dict(self) -> Dict[str, list]:
        """The columns as lists."""
        return {name: column.tolist() for name, column in self.columns.items()}

    def to_arrow(self) -> Any:
        """The columns as a ``pyarrow.Table``."""
        return _library("pyarrow", "to_arrow").table(self.columns)

    def to_pandas(self) -> Any:
        """The columns as a ``pandas.DataFrame``."""
        return _library("pandas", "to_pandas").DataFrame(self.columns)

    def to_polars(self) -> Any:
        """The columns as a ``polars.DataFrame``."""
        return _library("polars", "to_polars").DataFrame(self.columns)

    def __repr__(self) -> str:
        return (
            f"<knotwork.EdgeProgramResult of {len(self):,} nodes: {', '.join(self.columns)}; "
            f"{self.iterations} iterations, {self.edges:,} edges, {self.seconds:.3f} s>"
        )


def _changed(np: Any, told: Any, count: int) -> Any:
    """The answer of a program about some nodes, as a mask or one boolean for all."""
    if told is None or told is True:
        return True
    if told is False:
        return False
    mask = np.asarray(told)
    if mask.dtype != bool or mask.shape != (count,):
        raise TypeError(f"expected a mask of {count} booleans, None or False, found {mask.dtype} of the shape {mask.shape}")
    return mask


def _iterate(program: Any, stream: EdgeStream, call: Any) -> Any:
    np, count = stream._np, stream.node_count
    only_changed = bool(getattr(program, "only_changed", False))
    new = _changed(np, program.start(stream) if hasattr(program, "start") else None, count)
    mask = np.full(count, new) if isinstance(new, bool) else new
    changed, iteration, edges_seen = int(np.count_nonzero(mask)), 0, 0
    while program.should_iterate(iteration, changed):
        for edges in stream.edges_of(mask if only_changed else None):
            edges_seen += len(edges)
            program.process_edges(edges)
        changed, next_mask = 0, np.empty(count, dtype=bool) if only_changed else None
        for first in range(0, count, NODES_STEP):
            nodes = slice(first, min(first + NODES_STEP, count))
            told = _changed(np, program.update_nodes(nodes), nodes.stop - first)
            changed += (nodes.stop - first) * told if isinstance(told, bool) else int(np.count_nonzero(told))
            if next_mask is not None:
                next_mask[nodes] = told
        mask = next_mask
        iteration += 1
        if call is not None:
            call(iteration, 0)
    return iteration, edges_seen


def _results(program: Any, stream: EdgeStream) -> Dict[str, Any]:
    found = program.result() if hasattr(program, "result") else {}
    found = found if isinstance(found, dict) else {"value": found}
    columns = {name: stream._np.asarray(column) for name, column in found.items()}
    for name, column in columns.items():
        if len(column) != stream.node_count:
            raise ValueError(f"expected {stream.node_count} values in the result {name}, one for each node, found {len(column)}")
    return columns


def _keys(database: Any, ids: Any, key: str) -> Any:
    """A property of nodes in the order of their ids."""
    np = _numpy()
    quoted = "`" + key.replace("`", "``") + "`"
    found = database.execute(f"UNWIND $ids AS id MATCH (n) WHERE id(n) = id RETURN id, n.{quoted} AS key", ids=ids)
    by_id = {id: value for id, value in found}
    values = [by_id.get(id) for id in ids.tolist()]
    made = np.array(values) if values and all(type(value) is type(values[0]) for value in values) else None
    if made is None or made.ndim != 1 or made.dtype.kind not in "biufU":
        made = np.empty(len(values), dtype=object)
        made[:] = values
    return made.astype(object) if made.dtype.kind == "U" else made


def _write(database: Any, ids: Any, columns: Dict[str, Any], name: str) -> None:
    """Writes results to properties of nodes: one to ``name``, several to ``name_<result>`` each."""
    quoted = lambda text: "`" + text.replace("`", "``") + "`"
    table = {"id": ids, **{f"value{at}": column for at, column in enumerate(columns.values())}}
    names = [name] if len(columns) == 1 else [f"{name}_{result}" for result in columns]
    sets = ", ".join(f"n.{quoted(key)} = value{at}" for at, key in enumerate(names))
    database.execute(f"LOAD FROM $results MATCH (n) WHERE id(n) = id SET {sets}", results=table).close()


def run_program(
    database: Any,
    program: Any,
    *,
    edges: Dict[str, Any],
    key: Optional[str],
    write_property: Optional[str],
    progress: Progress,
    opened: Any = None,
) -> EdgeProgramResult:
    """Runs a program; see :meth:`Algorithms.edge_program`. ``edges`` are arguments of :meth:`Database.edges`,
    and ``opened`` is told the stream, to close which ends the program."""
    missing = [name for name in ("should_iterate", "process_edges", "update_nodes") if not callable(getattr(program, name, None))]
    if missing:
        raise TypeError(f"a program over edges has should_iterate, process_edges and update_nodes; {missing[0]} is missing")
    start = time.perf_counter()
    with database.edges(**edges) as stream:
        if opened is not None:
            opened(stream)
        with shown(progress, type(program).__name__) as call:
            iterations, passed = _iterate(program, stream, call)
        columns, ids = _results(program, stream), stream.ids
    if write_property is not None:
        if not columns:
            raise ValueError("there is nothing to write: the program has no result")
        _write(database, ids, columns, write_property)
    named = {"nodeId": ids} if key is None else {key: _keys(database, ids, key)}
    return EdgeProgramResult({**named, **columns}, iterations, passed, time.perf_counter() - start)
