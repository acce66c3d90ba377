"""Graphs that functions of the backend work on: one made of arrays, and one that lies in a store.

Both answer :meth:`run`: a procedure with its settings gives columns of plain Python values, where nodes are what the
user calls them.
"""

import weakref
from array import array
from collections.abc import Mapping
from itertools import repeat

import networkx as nx

from .._knotwork import ArrayGraph, has_attribute, read_adjacency

__all__ = ["Graph", "StoreGraph", "Unsuited", "convert_from_nx", "convert_to_nx"]


class Unsuited(Exception):
    """The engine does not compute this as NetworkX does, which is found when it is tried: NetworkX computes it, on the graph that
    was converted. On a graph in a store it is the error `instead`."""

    def __init__(self, reason, instead=None):
        super().__init__(reason)
        self.instead = instead or ValueError(reason)


#: What stands for an edge attribute that no edge has: all edges then weigh the default.
_ABSENT = None
#: The largest weight that the engine takes, and the largest whole number up to which its sums have all.
_WEIGHT_MAX = 1e100
_WHOLE_MAX = 2.0**53


class _Base:
    """The interface of every graph for NetworkX and the functions."""

    __networkx_backend__ = "knotwork"

    def is_directed(self):
        return self._directed

    def is_multigraph(self):
        return self._multigraph

    def original(self):
        """The graph of NetworkX that it was made of, if there is one."""
        return None

    def require_positive(self, weight):
        """Says that NetworkX should compute by itself if an edge has a weight of 0."""

    def require_whole(self, weight):
        """Says that NetworkX should compute by itself if lengths of paths are integers that floats may not have."""

    @property
    def direction(self):
        """The direction in which procedures follow the edges."""
        return "OUT" if self._directed else "BOTH"

    def values(self, procedure, settings=None, weight=None, merged=False, factor=None):
        """A dict of what a procedure yields for each node, by its first column besides the node; times `factor`, if given."""
        nodes, values, *_ = self.run(procedure, settings or {}, weight=weight, merged=merged)
        return dict(zip(nodes, values if factor is None else (value * factor for value in values)))

    def groups(self, procedure, last_first=False):
        """The sets of nodes that a procedure gives the same number, in the order of their first nodes.

        `last_first`, in the order in which a search along the edges ends them, so that each comes after those that it leads
        to; a graph in a store has them as they are found, since it is not read again for that.
        """
        found = {}
        for node, number in self.values(procedure).items():
            found.setdefault(number, set()).add(node)
        return list(found.values())

    def figure(self, procedure):
        """The first figure that a procedure tells of the whole graph."""
        return self.run(f"{procedure}.stats", {})[0][0]


class Graph(_Base):
    """A graph in arrays, made of a NetworkX graph."""

    def __init__(self, nodes, numbers, sources, targets, loops, attributes, directed, multigraph, graph_attributes):
        self._nodes = nodes
        #: The number of each node; None if nodes are the integers from 0 on, and so their own numbers.
        self._given_numbers = numbers
        self._directed = directed
        self._multigraph = multigraph
        #: For each edge the numbers of its ends, as 32-bit integers, and how many edges are loops.
        self._sources = sources
        self._targets = targets
        self._loops = loops
        #: For each edge attribute its values, or _ABSENT; and whether they are all whole numbers.
        self._attributes = attributes
        self._graphs = {}
        self.graph = graph_attributes
        #: Attributes by which edges weigh otherwise from their other end, and the graph that this was made of, while it is there.
        self.lopsided = ()
        self.original = lambda: None

    def __len__(self):
        return len(self._nodes)

    def __iter__(self):
        return iter(self._nodes)

    def __contains__(self, node):
        if self._given_numbers is None and type(node) is int:
            return 0 <= node < len(self._nodes)
        try:
            return node in self.numbers
        except TypeError:
            return False

    @property
    def numbers(self):
        """The number of each node."""
        if self._given_numbers is None:
            self._given_numbers = {node: number for number, node in enumerate(self._nodes)}
        return self._given_numbers

    def nodes(self):
        return self._nodes

    def number_of_nodes(self):
        return len(self._nodes)

    def is_whole(self, weight):
        """True if all weights are whole numbers, so that sums of them are."""
        return weight is None or self._attributes.get(weight, (_ABSENT, True))[1]

    def _range(self, weight):
        """The least and the largest weight; those of no weight are 1."""
        return self._array_graph(weight, False)[0].weight_range or (1.0, 1.0)

    def require_positive(self, weight):
        if self._range(weight)[0] == 0:
            raise Unsuited(f"edges have the weight 0 in {weight!r}: paths over them are counted by NetworkX")

    def require_whole(self, weight):
        # Also for what it says of other weights.
        most = self._range(weight)[1]
        if self.is_whole(weight) and most * len(self) > _WHOLE_MAX:
            raise Unsuited(f"integers in {weight!r} are so large that their sums are left to NetworkX")

    def setting(self, node):
        """A node as a procedure takes it."""
        if self._given_numbers is None and type(node) is int and 0 <= node < len(self._nodes):
            return node
        return self.numbers[node]

    def has_self_loops(self):
        return self._loops > 0

    def loops(self):
        """Number of self-loops of each node that has one, by node."""
        found = {}
        if self._loops:
            for source, target in zip(self._sources, self._targets):
                if source == target:
                    node = self._nodes[source]
                    found[node] = found.get(node, 0) + 1
        return found

    def path(self, source, target):
        """The nodes of a path of fewest edges; None if there is none."""
        graph, _ = self._array_graph(None, False)
        return graph.path(self.setting(source), self.setting(target), self._directed)

    def _arrays(self, weight, merged):
        """The arrays with that weight; merged, parallel edges are one, of the least weight."""
        values = self._attributes.get(weight, (_ABSENT, True))[0]
        if not (merged and self._multigraph):
            return self._sources, self._targets, values
        least = {}
        for edge in zip(self._sources, self._targets, values or repeat(1.0)):
            ends = edge[:2] if self._directed else tuple(sorted(edge[:2]))
            least[ends] = min(edge[2], least.get(ends, edge[2]))
        sources, targets = array("I", (ends[0] for ends in least)), array("I", (ends[1] for ends in least))
        return sources, targets, None if values is _ABSENT else array("d", least.values())

    def _array_graph(self, weight, merged):
        merged = merged and self._multigraph
        if self._attributes.get(weight, (_ABSENT, True))[0] is _ABSENT:
            weight = None
        if weight in self.lopsided:
            raise Unsuited(f"edges have another {weight!r} from their other end: left to NetworkX")
        if (weight, merged) not in self._graphs:
            sources, targets, weights = self._arrays(weight, merged)
            made = ArrayGraph(
                self._nodes, sources.tobytes(), targets.tobytes(), None if weights is None else weights.tobytes()
            )
            least, most = made.weight_range or (0, 0)
            # Written so that it fails with NaN too.
            if not (0 <= least and most <= _WEIGHT_MAX):
                raise Unsuited(f"edges have weights from {least} to {most} in {weight!r}: left to NetworkX")
            self._graphs[weight, merged] = made
        return self._graphs[weight, merged], weight

    def _prepared(self, settings, weight, merged):
        """The graph that a procedure runs on, and its settings."""
        graph, weight = self._array_graph(weight, merged)
        return graph, settings if weight is None else {**settings, "weightProperty": "weight"}

    def run(self, procedure, settings, weight=None, merged=False):
        """The columns that a procedure yields; `weight` names an edge attribute, `merged` makes parallel edges one."""
        graph, settings = self._prepared(settings, weight, merged)
        return graph.call(procedure, settings)

    def values(self, procedure, settings=None, weight=None, merged=False, factor=None):
        graph, settings = self._prepared(settings or {}, weight, merged)
        return graph.values(procedure, settings, factor)

    def groups(self, procedure, last_first=False):
        edges = (self._sources.tobytes(), self._targets.tobytes()) if last_first else None
        return self._array_graph(None, False)[0].groups(procedure, {}, edges)


class StoreGraph(_Base):
    """A graph that lies in a store, for the functions of NetworkX: nothing is converted or copied.

    >>> G = StoreGraph(db, labels="Person", types="KNOWS", key="name")   # doctest: +SKIP
    >>> nx.pagerank(G)                                                   # doctest: +SKIP

    `key` names the property that nodes are called by in arguments and results; without it they are called by their
    ids. `directed=False` follows relationships both ways.
    """

    def __init__(self, db, labels=None, types=None, key=None, directed=True):
        self._db = db
        self._key = key
        self._labels = [labels] if isinstance(labels, str) else labels
        self._selection = {}
        if self._labels is not None:
            self._selection["labels"] = self._labels
        if types is not None:
            self._selection["types"] = [types] if isinstance(types, str) else list(types)
        self._directed = directed
        self._multigraph = True
        self.graph = {}

    # NetworkX keeps converted graphs here; this one is never converted.
    __networkx_cache__ = None

    def _pattern(self, name="n"):
        labels = "|".join(f"`{label.replace('`', '``')}`" for label in self._labels or ())
        return f"({name}:{labels})" if labels else f"({name})"

    def _called(self, expression):
        return f"id({expression})" if self._key is None else f"{expression}[$key]"

    def _query(self, text, **parameters):
        if self._key is not None:
            parameters["key"] = self._key
        return self._db.execute(text, parameters)

    def __len__(self):
        return self._query(f"MATCH {self._pattern()} RETURN count(*) AS count").fetchall()[0][0]

    number_of_nodes = __len__

    def __iter__(self):
        return (row[0] for row in self._query(f"MATCH {self._pattern()} RETURN {self._called('n')} AS node"))

    def nodes(self):
        return list(self)

    def __contains__(self, node):
        return self._id(node) is not None

    def _id(self, node):
        rows = self._query(
            f"MATCH {self._pattern()} WHERE {self._called('n')} = $node RETURN id(n) AS id LIMIT 1", node=node
        ).fetchall()
        return rows[0][0] if rows else None

    def setting(self, node):
        found = self._id(node)
        if found is None:
            raise nx.NodeNotFound(f"Node {node} is not in G")
        return found

    def is_whole(self, weight):
        return weight is None

    def has_self_loops(self):
        types = "|".join(f"`{name.replace('`', '``')}`" for name in self._selection.get("types", ()))
        edge = f"[:{types}]" if types else "[]"
        return bool(self._query(f"MATCH {self._pattern()}-{edge}->(n) RETURN 1 LIMIT 1").fetchall())

    def loops(self):
        """Number of self-loops of each node that has one, by node."""
        types = "|".join(f"`{name.replace('`', '``')}`" for name in self._selection.get("types", ()))
        edge = f"[e:{types}]" if types else "[e]"
        found = self._query(f"MATCH {self._pattern()}-{edge}->(n) RETURN {self._called('n')} AS node, count(e) AS loops")
        return {row[0]: row[1] for row in found}

    def path(self, source, target):
        """The nodes of a path of fewest edges; None if there is none."""
        settings = {"direction": self.direction, "sourceNode": self.setting(source), "targetNode": self.setting(target)}
        paths = self.run("algo.shortestPath", settings)[0]
        return paths[0] if paths else None

    def run(self, procedure, settings, weight=None, merged=False):
        """As :meth:`Graph.run`. Parallel relationships are not merged."""
        settings = {**self._selection, **settings}
        if weight is not None:
            settings.update(weightProperty=weight, defaultWeight=1.0)
        rows = self._db.execute(f"CALL {procedure}($settings)", {"settings": settings})
        columns = [list(column) for column in zip(*rows.fetchall())] or [[] for _ in rows.columns]
        return [self._plain(column) for column in columns]

    def _plain(self, column):
        """Nodes and paths as users call their nodes."""
        if not column or not (hasattr(column[0], "labels") or hasattr(column[0], "nodes")):
            return column

        def called(node):
            return node.id if self._key is None else node.properties.get(self._key)

        if hasattr(column[0], "labels"):
            return [called(node) for node in column]
        return [[called(node) for node in path.nodes] for path in column]


def convert_from_nx(
    graph,
    *,
    edge_attrs=None,
    node_attrs=None,
    preserve_edge_attrs=False,
    preserve_node_attrs=False,
    preserve_graph_attrs=False,
    preserve_all_attrs=False,
    name=None,
    graph_name=None,
):
    """A NetworkX graph as arrays, with the edge attributes that a function asks for."""
    if isinstance(graph, _Base):
        return graph
    if preserve_edge_attrs or preserve_all_attrs:
        names = {key for *_, data in graph.edges(data=True) for key in data}
        edge_attrs = dict.fromkeys(names, 1)
    wanted = {key: 1 if default is None else default for key, default in (edge_attrs or {}).items() if key is not None}
    # A graph may not be what it keeps, as the complement of one.
    keeps_all = type(graph).__getitem__ is nx.Graph.__getitem__ and type(graph._adj) is dict
    if hasattr(graph, "_graph"):
        # A view is not told when the graph below it changes, so that nothing is kept with it.
        graph.__networkx_cache__ = None
    adjacency = graph._adj if keeps_all else _copied(graph)
    if keeps_all and wanted and (known := _serving(graph, wanted)) is not None:
        return known
    nodes = list(adjacency)
    kind = graph.is_directed(), graph.is_multigraph()
    asked = [(key, float(default), isinstance(default, int)) for key, default in wanted.items()]
    read = read_adjacency(adjacency, nodes, *kind, asked) or read_adjacency(_copied(graph), nodes, *kind, asked)
    numbers, sources, targets, loops, found = read
    attributes = {}
    for (key, default), (values, is_whole) in zip(wanted.items(), found):
        if values is not None:
            attributes[key] = memoryview(values).cast("d"), is_whole
        elif default == 1:
            attributes[key] = _ABSENT, True
        else:
            attributes[key] = array("d", repeat(default, len(sources) // 4)), isinstance(default, int)
    sources, targets = memoryview(sources).cast("I"), memoryview(targets).cast("I")
    made = Graph(nodes, numbers, sources, targets, loops, attributes, *kind, dict(graph.graph))
    made.original = weakref.ref(graph)
    if wanted and not keeps_all and not graph.is_directed():
        made.lopsided = _lopsided(adjacency, wanted)
    return made


def _copied(graph):
    """The adjacency of a graph as plain dictionaries, whatever it is kept in."""

    def plain(row, depth):
        if not isinstance(row, Mapping):
            return dict.fromkeys(row, {0: {}} if depth > 1 else {})
        return {key: plain(value, depth - 1) for key, value in row.items()} if depth else dict(row)

    depth = 2 if graph.is_multigraph() else 1
    return {node: plain(row, depth) for node, row in graph.adjacency()}


def _lopsided(adjacency, wanted):
    """The attributes by which an edge weighs otherwise from its other end, as in an undirected view of a directed graph."""
    found = set()
    for node, row in adjacency.items():
        for other, data in row.items():
            back = adjacency[other][node]
            if back is not data:
                found.update(key for key in wanted if _weights(back, key) != _weights(data, key))
    return found


def _weights(data, key):
    """The weights of an edge, or of parallel ones."""
    if data and all(isinstance(held, Mapping) for held in data.values()):
        return [held.get(key) for held in data.values()]
    return data.get(key)


def _serving(graph, wanted):
    """A conversion of the graph that NetworkX keeps and that serves here as well, since no edge has what is asked for; None if
    there is none."""
    kept = getattr(graph, "__networkx_cache__", None)
    if not kept or not nx.config.cache_converted_graphs or any(default != 1 for default in wanted.values()):
        return None
    kept = kept.get("backends", {}).get("knotwork", {}).values()
    known = next((held for held in kept if isinstance(held, Graph) and len(held) == len(graph._adj)), None)
    if known is None:
        return None
    for key in wanted:
        if has_attribute(graph._adj, graph.is_multigraph(), key) is not False:
            return None
    known.graph = dict(graph.graph)
    return known


def convert_to_nx(result, *, name=None):
    """A graph of the backend as a NetworkX graph; anything else as it is."""
    if isinstance(result, StoreGraph):
        graph = nx.MultiDiGraph() if result.is_directed() else nx.MultiGraph()
        graph.add_nodes_from(result)
        types = "|".join(f"`{name.replace('`', '``')}`" for name in result._selection.get("types", ()))
        edge = f"[e:{types}]" if types else "[e]"
        text = (
            f"MATCH {result._pattern('a')}-{edge}->{result._pattern('b')} "
            f"RETURN {result._called('a')} AS a, {result._called('b')} AS b, properties(e) AS p"
        )
        graph.add_edges_from((row[0], row[1], dict(row[2])) for row in result._query(text))
        return graph
    if not isinstance(result, Graph):
        return result
    kinds = {(False, False): nx.Graph, (True, False): nx.DiGraph, (False, True): nx.MultiGraph}
    graph = kinds.get((result.is_directed(), result.is_multigraph()), nx.MultiDiGraph)()
    graph.graph.update(result.graph)
    nodes = result.nodes()
    graph.add_nodes_from(nodes)
    columns = {
        key: [int(value) for value in values] if whole else values
        for key, (values, whole) in result._attributes.items()
        if values is not _ABSENT
    }
    for place, (source, target) in enumerate(zip(result._sources, result._targets)):
        data = {key: values[place] for key, values in columns.items()}
        graph.add_edge(nodes[source], nodes[target], **data)
    return graph
