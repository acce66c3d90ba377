"""Graphs that functions of the backend work on: one made of arrays, and one that lies in a store.

Both answer :meth:`run`: a procedure with its settings gives columns of plain Python values, where nodes are what the
user calls them.
"""

from array import array
from itertools import chain, repeat

import networkx as nx

from .._knotwork import ArrayGraph

__all__ = ["Graph", "StoreGraph", "convert_from_nx", "convert_to_nx"]

#: What stands for an edge attribute that no edge has: all edges then weigh the default.
_ABSENT = None


class _Base:
    """What NetworkX and the functions ask of every graph."""

    __networkx_backend__ = "knotwork"

    def is_directed(self):
        return self._directed

    def is_multigraph(self):
        return self._multigraph

    @property
    def direction(self):
        """How procedures follow the edges."""
        return "OUT" if self._directed else "BOTH"

    def values(self, procedure, settings=None, weight=None, merged=False):
        """A dict of what a procedure yields for each node, by its first column besides the node."""
        nodes, values, *_ = self.run(procedure, settings or {}, weight=weight, merged=merged)
        return dict(zip(nodes, values))


class Graph(_Base):
    """A graph in arrays, made of a NetworkX graph."""

    def __init__(self, nodes, sources, targets, attributes, directed, multigraph, graph_attributes):
        self._nodes = nodes
        self._directed = directed
        self._multigraph = multigraph
        self._sources = sources
        self._targets = targets
        #: For each edge attribute its values, or _ABSENT; and whether they are all whole numbers.
        self._attributes = attributes
        self._graphs = {}
        self._numbers = None
        self.graph = graph_attributes

    def __len__(self):
        return len(self._nodes)

    def __iter__(self):
        return iter(self._nodes)

    def __contains__(self, node):
        try:
            return node in self.numbers
        except TypeError:
            return False

    @property
    def numbers(self):
        """The number of each node."""
        if self._numbers is None:
            self._numbers = {node: number for number, node in enumerate(self._nodes)}
        return self._numbers

    def nodes(self):
        return self._nodes

    def number_of_nodes(self):
        return len(self._nodes)

    def is_whole(self, weight):
        """True if all weights are whole numbers, so that sums of them are."""
        return weight is None or self._attributes.get(weight, (_ABSENT, True))[1]

    def setting(self, node):
        """A node as a procedure takes it."""
        return self.numbers[node]

    def has_self_loops(self):
        return any(map(int.__eq__, self._sources, self._targets))

    def last_first(self, components):
        """Numbers of strong components, in the order in which a search along the edges ends them: each comes after those that
        it leads to, and where that leaves a choice nodes and edges are taken in their order."""
        of = [0] * len(self._nodes)
        for number, component in enumerate(components):
            for node in component:
                of[self.numbers[node]] = number
        ahead = [{} for _ in components]
        for here, there in zip(map(of.__getitem__, self._sources), map(of.__getitem__, self._targets)):
            if here != there:
                ahead[here][there] = None
        ended, is_seen = [], [False] * len(components)
        for first in range(len(components)):
            if is_seen[first]:
                continue
            is_seen[first], way = True, [(first, iter(ahead[first]))]
            while way:
                here, rest = way[-1]
                there = next((number for number in rest if not is_seen[number]), None)
                if there is None:
                    ended.append(here)
                    way.pop()
                else:
                    is_seen[there] = True
                    way.append((there, iter(ahead[there])))
        return ended

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
        if (weight, merged) not in self._graphs:
            sources, targets, weights = self._arrays(weight, merged)
            self._graphs[weight, merged] = ArrayGraph(
                len(self._nodes), sources.tobytes(), targets.tobytes(), None if weights is None else weights.tobytes()
            )
        return self._graphs[weight, merged], weight

    def run(self, procedure, settings, weight=None, merged=False):
        """The columns that a procedure yields; `weight` names an edge attribute, `merged` makes parallel edges one."""
        graph, weight = self._array_graph(weight, merged)
        if weight is not None:
            settings = {**settings, "weightProperty": "weight"}
        nodes = self._nodes
        columns = []
        for kind, values in graph.call(procedure, settings):
            if kind == "node":
                values = list(map(nodes.__getitem__, array("q", values)))
            elif kind == "path":
                values = [list(map(nodes.__getitem__, path)) for path in values]
            elif isinstance(values, bytes):
                values = array(kind, values).tolist()
            columns.append(values)
        return columns


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

    def last_first(self, components):
        """Numbers of strong components as they are found: what lies between them is not read again."""
        return range(len(components))

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
    adjacency = graph._adj
    if type(graph).__getitem__ is not nx.Graph.__getitem__:
        # A graph that is not what it keeps, as the complement of one.
        adjacency = {node: row if isinstance(row, dict) else dict.fromkeys(row, {}) for node, row in graph.adjacency()}
    nodes = list(adjacency)
    multigraph = graph.is_multigraph()
    rows = adjacency.values()
    if multigraph:
        counts = [sum(map(len, row.values())) for row in rows]
        ends = chain.from_iterable(repeat(target, len(keys)) for row in rows for target, keys in row.items())
        data = [values for row in rows for keys in row.values() for values in keys.values()]
    else:
        counts = list(map(len, rows))
        ends = chain.from_iterable(rows)
        data = None if not edge_attrs else list(chain.from_iterable(row.values() for row in rows))
    sources = array("I", chain.from_iterable(map(repeat, range(len(nodes)), counts)))
    if nodes == list(range(len(nodes))):
        targets = array("I", ends)
    else:
        numbers = {node: number for number, node in enumerate(nodes)}
        targets = array("I", map(numbers.__getitem__, ends))
    attributes = {key: _attribute(data, key, default) for key, default in (edge_attrs or {}).items() if key is not None}
    if not graph.is_directed():
        sources, targets, attributes = _half(sources, targets, attributes)
    return Graph(nodes, sources, targets, attributes, graph.is_directed(), multigraph, dict(graph.graph))


def _attribute(data, key, default):
    """The values of an edge attribute, and whether all are whole numbers."""
    if not any(key in values for values in data):
        return (_ABSENT, True) if default == 1 else (array("d", repeat(1 if default is None else default, len(data))), True)
    found = [values.get(key, 1 if default is None else default) for values in data]
    try:
        return array("d", found), all(isinstance(value, int) for value in found)
    except TypeError as error:
        raise NotImplementedError(f"edge attribute {key!r} has values that are no numbers: {error}") from error


def _half(sources, targets, attributes):
    """Each edge of an undirected graph once: NetworkX lists it at both of its ends."""
    from itertools import compress
    from operator import le

    kept = list(map(le, sources, targets))

    def pick(values):
        return array(values.typecode, compress(values, kept))

    attributes = {
        key: (values if values is _ABSENT else pick(values), whole) for key, (values, whole) in attributes.items()
    }
    return pick(sources), pick(targets), attributes


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
