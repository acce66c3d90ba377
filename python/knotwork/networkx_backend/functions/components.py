"""Components and what holds them together."""

import networkx as nx

from .declare import declared

FUNCTIONS = {}

_NULL = "Connectivity is undefined for the null graph."


def _is_one(G, procedure):
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept(_NULL)
    return G.figure(procedure) == 1


@declared(FUNCTIONS)
def connected_components(G):
    yield from G.groups("algo.wcc")


@declared(FUNCTIONS)
def number_connected_components(G):
    return G.figure("algo.wcc")


@declared(FUNCTIONS)
def is_connected(G):
    return _is_one(G, "algo.wcc")


@declared(FUNCTIONS)
def node_connected_component(G, n):
    reached, _ = G.run("algo.bfs", {"sourceNode": G.setting(n), "direction": "BOTH"})
    return set(reached)


@declared(FUNCTIONS)
def weakly_connected_components(G):
    yield from G.groups("algo.wcc")


@declared(FUNCTIONS)
def number_weakly_connected_components(G):
    return G.figure("algo.wcc")


@declared(FUNCTIONS)
def is_weakly_connected(G):
    return _is_one(G, "algo.wcc")


@declared(FUNCTIONS)
def strongly_connected_components(G):
    # As NetworkX has it: a component comes after those that it leads to.
    yield from G.groups("algo.scc", last_first=True)


@declared(FUNCTIONS)
def number_strongly_connected_components(G):
    return G.figure("algo.scc")


@declared(FUNCTIONS)
def is_strongly_connected(G):
    return _is_one(G, "algo.scc")


@declared(FUNCTIONS)
def articulation_points(G):
    yield from G.values("algo.articulationPoints")


@declared(FUNCTIONS)
def bridges(G, root=None):
    if root is not None and root not in G:
        raise nx.NodeNotFound(f"Root node {root} is not in graph")
    among = None if root is None else node_connected_component(G, root)
    sources, targets, *_ = G.run("algo.bridges", {})
    for source, target in zip(sources, targets):
        if among is None or source in among:
            yield source, target


@declared(FUNCTIONS)
def has_bridges(G, root=None):
    return next(bridges(G, root), None) is not None
