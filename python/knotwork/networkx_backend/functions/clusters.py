"""Triangles, clustering, cores and communities."""

import networkx as nx

from .declare import declared

FUNCTIONS = {}


def _undirected_rule(G, **_):
    if G.is_directed() or G.is_multigraph():
        return "only undirected graphs without parallel edges are taken"


def _chosen(G, found, nodes, none):
    """The values of some nodes, of one, or of all."""
    if nodes is None:
        return found
    try:
        is_one = nodes in G
    except TypeError:
        is_one = False
    if is_one:
        return found.get(nodes, none)
    return {node: found.get(node, none) for node in nodes if node in G}


@declared(FUNCTIONS, _undirected_rule)
def triangles(G, nodes=None):
    return _chosen(G, G.values("algo.triangleCount"), nodes, 0)


def _clustering_rule(G, weight, **_):
    return "weighted clustering is left to NetworkX" if weight is not None else _undirected_rule(G)



def _coefficients(G):
    return G.values("algo.lcc", {"direction": "BOTH"})


@declared(FUNCTIONS, _clustering_rule)
def clustering(G, nodes=None, weight=None):
    return _chosen(G, _coefficients(G), nodes, 0)


@declared(FUNCTIONS, _clustering_rule)
def average_clustering(G, nodes=None, weight=None, count_zeros=True):
    found = _coefficients(G)
    values = list(found.values() if nodes is None else (found[node] for node in nodes))
    if not count_zeros:
        values = [value for value in values if abs(value) > 0]
    return sum(values) / len(values)


@declared(FUNCTIONS, _undirected_rule)
def transitivity(G):
    counts = G.values("algo.triangleCount")
    shares = _coefficients(G)
    # A node with t triangles and clustering c has t/c pairs of neighbors; one without triangles is asked for its degree.
    closed = sum(counts.values())
    if closed == 0:
        return 0
    degrees = G.values("algo.degree", {"direction": "BOTH"}, merged=True)
    loops = G.loops()
    pairs = sum(
        round(counts[node] / share) if share else _pairs(degrees[node] - loops.get(node, 0))
        for node, share in shares.items()
    )
    return closed / pairs


def _pairs(degree):
    return int(degree) * (int(degree) - 1) // 2


@declared(FUNCTIONS, _undirected_rule)
def core_number(G):
    if G.has_self_loops():
        raise nx.NetworkXNotImplemented("Input graph has self loops, which are not permitted; remove them first")
    return G.values("algo.kcore")


def _leiden_rule(G, **_):
    if G.is_directed():
        return "communities of directed graphs are not found here"


@declared(FUNCTIONS, _leiden_rule)
def leiden_communities(G, weight="weight", resolution=1, max_level=None, seed=None):
    settings = {"gamma": float(resolution)}
    if seed is not None:
        settings["randomSeed"] = seed if isinstance(seed, int) else seed.randrange(2**31)
    if max_level is not None:
        settings["maxLevels"] = max_level
    found = {}
    for node, community in G.values("algo.leiden", settings, weight=weight).items():
        found.setdefault(community, set()).add(node)
    return list(found.values())
