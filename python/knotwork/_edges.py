"""Edges as arrays of NumPy, one streamed pass after another."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional, Sequence, Union

from . import _knotwork
from ._tables import _library


def _numpy() -> Any:
    return _library("numpy", "edges as arrays")


class Edges:
    """A batch of edges: arrays of one length, not to be written.

    ``sources`` and ``targets`` hold the numbers of nodes (``uint32``), ``weights`` what edges weigh (``float64``) or
    ``None``, ``edges["since"]`` a property: numbers and booleans as they are, integers with gaps and mixtures of
    numbers as floats with ``nan``, anything else as objects.
    """

    __slots__ = ("sources", "targets", "weights", "_places", "_properties")

    def __init__(self, sources: Any, targets: Any, weights: Any, properties: Dict[str, Any]) -> None:
        asarray = _numpy().asarray
        self.sources = asarray(sources)
        self.targets = asarray(targets)
        self.weights = None if weights is None else asarray(weights)
        self._places = targets
        self._properties = properties

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, name: str) -> Any:
        held = self._properties[name]
        np = _numpy()
        if isinstance(held, list):
            made = np.empty(len(held), dtype=object)
            made[:] = held
            return made
        return np.asarray(held)

    def _combine(self, name: str, out: Any, values: Any) -> None:
        np = _numpy()
        if not out.flags.writeable:
            raise ValueError("the array to be changed is read-only")
        values = np.asarray(values)
        if values.ndim == 0 and out.ndim == 1:
            values = np.full(len(self), values, dtype=out.dtype)
        values = values.astype(out.dtype, casting="same_kind", copy=False)
        # NumPy handles, more slowly, types that the engine does not know.
        if not self._places.combine(name, out, np.ascontiguousarray(values)):
            getattr(np, name).at(out, self.targets, values)

    def add(self, out: Any, values: Any) -> None:
        """Adds a value of each edge (or one of all) to ``out`` at the edge's target, in the order of edges."""
        self._combine("add", out, values)

    def minimum(self, out: Any, values: Any) -> None:
        """Lowers ``out`` at each edge's target to the edge's value."""
        self._combine("minimum", out, values)

    def maximum(self, out: Any, values: Any) -> None:
        """Raises ``out`` at each edge's target to the edge's value."""
        self._combine("maximum", out, values)

    def __repr__(self) -> str:
        return f"<knotwork.Edges {len(self):,}>"


class EdgeStream:
    """The edges of one moment, to be passed over in batches as often as one likes; see :meth:`Database.edges`.

    Nodes are known by their numbers: 0, 1, 2, … in the order of their ids. Passes give the same batches each time. A pass
    ends when the next one begins: continuing it raises :class:`ClosedError`.
    """

    def __init__(self, database: Any, settings: Dict[str, Any], properties: Sequence[str], timeout: Any, memory_limit: Any) -> None:
        self._np = _numpy()
        self._properties = list(properties)
        given = {name: value for name, value in settings.items() if value is not None}
        if self._properties:
            given["properties"] = self._properties
        self._reader = _knotwork.EdgeReader(database, given, timeout, memory_limit)
        self._ids: Any = None
        self._degrees: Any = None

    @property
    def node_count(self) -> int:
        """Number of nodes that take part."""
        return self._reader.node_count

    @property
    def edge_count(self) -> int:
        """Number of edges of the requested types, whatever the labels of their ends."""
        return self._reader.edge_count

    @property
    def ids(self) -> Any:
        """For each number, the id of the node (``int64``), ascending."""
        if self._ids is None:
            self._ids = self._np.asarray(self._reader.ids())
        return self._ids

    @property
    def degrees(self) -> Any:
        """For each number, over how many edges the node is left (``uint32``). The first time it takes a pass."""
        if self._degrees is None:
            self._degrees = self._np.asarray(self._reader.degrees())
        return self._degrees

    def number(self, node: Any) -> int:
        """The number of a node that is given as :class:`Node`, or by its id."""
        id = getattr(node, "id", node)
        place = int(self._np.searchsorted(self.ids, id))
        if place == len(self.ids) or self.ids[place] != id:
            raise KeyError(f"the node with the id {id} does not take part")
        return place

    def __iter__(self) -> Iterator[Edges]:
        return self.edges_of(None)

    def edges_of(self, mask: Any) -> Iterator[Edges]:
        """The edges from the nodes whose booleans are set in ``mask`` (one for each number): what holds none of them is not
        read. With ``None`` all, as in ``for edges in stream``."""
        if mask is None:
            number = self._reader.begin()
        else:
            bits = self._np.packbits(self._np.asarray(mask, dtype=bool), bitorder="little").tobytes()
            number = self._reader.begin(bits)
        while True:
            found = self._reader.next(number)
            if found is None:
                return
            sources, targets, weights, columns = found
            yield Edges(sources, targets, weights, dict(zip(self._properties, columns)))

    def close(self) -> None:
        """Lets go of the moment. A stream that is dropped is closed."""
        self._reader.close()

    def __enter__(self) -> "EdgeStream":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<knotwork.EdgeStream of {self.node_count:,} nodes>"


def settings_of(
    labels: "Union[str, Sequence[str], None]",
    types: "Union[str, Sequence[str], None]",
    direction: str,
    weight: Optional[str],
    default_weight: Optional[float],
) -> Dict[str, Any]:
    """The name that the engine uses for them."""
    plain = lambda names: names if names is None or isinstance(names, str) else list(names)
    return {
        "labels": plain(labels),
        "types": plain(types),
        "direction": direction,
        "weightProperty": weight,
        "defaultWeight": default_weight,
    }
