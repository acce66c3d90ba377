"""Shortest paths, by edges or by weight."""

import math

import networkx as nx

from .declare import declared

FUNCTIONS = {}


def _require(G, *nodes, role="Source"):
    for node in nodes:
        if node not in G:
            raise nx.NodeNotFound(f"{role} {node} is not in G")


def _number(G, weight, length):
    """A length as NetworkX gives it: a whole number if all weights are."""
    return int(length) if G.is_whole(weight) and length == int(length) else length


def _search(G, procedure, settings, weight):
    if weight is not None:
        G.require_whole(weight)
    return G.run(procedure, {"direction": G.direction, **settings}, weight=weight)


def _path(G, source, target, weight=None, is_searched=False):
    """A shortest path and its length. A target that is not there is one that can not be reached for functions that search
    from the source until they meet it."""
    _require(G, source)
    if is_searched and target not in G:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    _require(G, target, role="Target")
    if weight is None:
        path = G.path(source, target)
        if path is None:
            raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
        return path, len(path) - 1
    paths, lengths, *_ = _search(
        G, "algo.dijkstra", {"sourceNode": G.setting(source), "targetNode": G.setting(target)}, weight
    )
    if not paths:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return paths[0], _number(G, weight, lengths[0])


def _lengths(G, source, cutoff=None, weight=None, against=False):
    """The nodes that can be reached, nearest first, with how far they are."""
    _require(G, source)
    settings = {"sourceNode": G.setting(source)}
    if against and G.is_directed():
        settings["direction"] = "IN"
    if weight is None and cutoff is not None:
        # NetworkX goes a step on as long as the steps before are fewer than the cutoff, and always gives the source.
        cutoff = max(math.ceil(cutoff), 0) if cutoff < len(G) else None
        if cutoff is not None:
            settings["maxDepth"] = cutoff
    nodes, lengths = _search(G, "algo.bfs" if weight is None else "algo.sssp", settings, weight)
    if weight is not None:
        lengths = [_number(G, weight, length) for length in lengths]
    found = dict(zip(nodes, lengths))
    if weight is not None and cutoff is not None:
        found = {node: length for node, length in found.items() if node == source or length <= cutoff}
    return found


def _generic_rule(G, source, target, method, **_):
    if method != "dijkstra":
        return "only Dijkstra's method is taken"
    if source is None or target is None:
        return "paths of many nodes are left to NetworkX"



@declared(FUNCTIONS, _generic_rule)
def shortest_path(G, source=None, target=None, weight=None, method="dijkstra"):
    return _path(G, source, target, weight)[0]


def _length_rule(G, source, target, method, **_):
    if method != "dijkstra":
        return "only Dijkstra's method is taken"
    if source is None:
        return "lengths to a target from everywhere, or of all pairs, are left to NetworkX"


@declared(FUNCTIONS, _length_rule)
def shortest_path_length(G, source=None, target=None, weight=None, method="dijkstra"):
    return _lengths(G, source, weight=weight) if target is None else _path(G, source, target, weight)[1]


@declared(FUNCTIONS)
def has_path(G, source, target):
    try:
        _path(G, source, target)
    except nx.NetworkXNoPath:
        return False
    return True


@declared(FUNCTIONS)
def bidirectional_shortest_path(G, source, target):
    return _path(G, source, target)[0]


@declared(FUNCTIONS)
def single_source_shortest_path_length(G, source, cutoff=None):
    return _lengths(G, source, cutoff)


@declared(FUNCTIONS)
def single_target_shortest_path_length(G, target, cutoff=None):
    _require(G, target, role="Target")
    return _lengths(G, target, cutoff, against=True)


@declared(FUNCTIONS)
def all_pairs_shortest_path_length(G, cutoff=None):
    for node in G.nodes():
        yield node, _lengths(G, node, cutoff)


@declared(FUNCTIONS)
def dijkstra_path(G, source, target, weight="weight"):
    return _path(G, source, target, weight, is_searched=True)[0]


@declared(FUNCTIONS)
def dijkstra_path_length(G, source, target, weight="weight"):
    return _path(G, source, target, weight, is_searched=True)[1]


@declared(FUNCTIONS)
def single_source_dijkstra_path_length(G, source, cutoff=None, weight="weight"):
    return _lengths(G, source, cutoff, weight)


@declared(FUNCTIONS)
def all_pairs_dijkstra_path_length(G, cutoff=None, weight="weight"):
    # Before the first pair is asked for, when NetworkX can still compute by itself.
    G.require_whole(weight)
    return ((node, _lengths(G, node, cutoff, weight)) for node in G.nodes())


@declared(FUNCTIONS)
def bidirectional_dijkstra(G, source, target, weight="weight"):
    path, length = _path(G, source, target, weight)
    return length, path


@declared(FUNCTIONS)
def descendants(G, source):
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    return set(_lengths(G, source)) - {source}


@declared(FUNCTIONS)
def ancestors(G, source):
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    return set(_lengths(G, source, against=True)) - {source}
