"""Centralities, as NetworkX defines them."""

import math

import networkx as nx

from ..graph import Unsuited
from .declare import Error, declared, is_limit

FUNCTIONS = {}


def _iterate(graph, procedure, max_iter, tol, settings, weight, run):
    """Runs, as `run` runs it, until it has converged as NetworkX says: all scores together change by less than `tol` a node.
    What does not converge here may converge there, where norms differ."""
    if max_iter < 1 or not 0 <= tol < math.inf:
        raise Unsuited("limits without a meaning here", nx.PowerIterationFailedConvergence(max_iter))
    settings = {
        "maxIterations": max_iter,
        "tolerance": len(graph) * tol,
        "mustConverge": True,
        "direction": graph.direction,
        **settings,
    }
    try:
        return run(procedure, settings, weight=weight)
    except Error as error:
        if is_limit(error):
            raise Unsuited("did not converge here", nx.PowerIterationFailedConvergence(max_iter)) from error
        raise


def _pagerank_rule(G, alpha, personalization, nstart, dangling, **_):
    if nstart is not None or dangling is not None:
        return "pagerank with nstart or dangling is left to NetworkX"
    if not 0 <= alpha <= 1:
        return "an alpha outside of 0 to 1 is left to NetworkX"
    if personalization is not None and not all(0 <= share < 1e100 for share in personalization.values()):
        return "a personalization below 0, or without bounds, is left to NetworkX"


@declared(FUNCTIONS, _pagerank_rule)
def pagerank(
    G, alpha=0.85, personalization=None, max_iter=100, tol=1e-06, nstart=None, weight="weight", dangling=None
):
    if len(G) == 0:
        return {}
    settings = {"dampingFactor": alpha}
    if personalization is not None:
        shares = {node: share for node, share in personalization.items() if share and node in G}
        if not shares:
            raise ZeroDivisionError("personalization has no node with a value other than 0")
        settings["sourceNodes"] = [G.setting(node) for node in shares]
        settings["sourceWeights"] = [float(share) for share in shares.values()]
    return _iterate(G, "algo.pagerank", max_iter, tol, settings, weight, G.values)


def _eigenvector_rule(G, nstart, **_):
    if nstart is not None:
        return "eigenvector centrality from nstart is left to NetworkX"
    if G.is_multigraph():
        return "eigenvector centrality of multigraphs is left to NetworkX"


@declared(FUNCTIONS, _eigenvector_rule)
def eigenvector_centrality(G, max_iter=100, tol=1.0e-6, nstart=None, weight=None):
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    return _iterate(G, "algo.eigenvector", max_iter, tol / len(G), {}, weight, G.values)


def _hits_rule(G, nstart, normalized, **_):
    if nstart is not None or not normalized:
        return "hits with nstart, or not normalized, is left to NetworkX"


@declared(FUNCTIONS, _hits_rule)
def hits(G, max_iter=100, tol=1.0e-8, nstart=None, normalized=True):
    if len(G) == 0:
        return {}, {}
    nodes, authorities, hubs = _iterate(G, "algo.hits", max_iter, tol / len(G), {}, "weight", G.run)

    def shares(scores):
        total = sum(scores)
        return dict(zip(nodes, (score / total if total else score for score in scores)))

    return shares(hubs), shares(authorities)


@declared(FUNCTIONS)
def betweenness_centrality(G, k=None, normalized=True, weight=None, endpoints=False, seed=None):
    count = len(G)
    if count == 0:
        return {}
    if weight is not None:
        G.require_positive(weight)
    settings = {"direction": G.direction}
    sources = None
    if k is not None and k != count:
        sources = seed.sample(list(G.nodes()), k)
        if not sources:
            raise ZeroDivisionError("betweenness from no source")
        settings["sourceNodes"] = [G.setting(node) for node in sources]
    # Scores are scaled to all sources, and halved for undirected graphs.
    searched = count if sources is None else len(sources)
    raw = searched / count * (1 if G.is_directed() else 2)
    of_other, of_source = _scales(count, normalized, G.is_directed(), endpoints, sources)
    if endpoints:
        scores = G.values("algo.betweenness", settings, weight=weight, merged=True, factor=raw)
        _add_endpoints(G, sources, weight, scores)
        return {node: score * of_other for node, score in scores.items()}
    scores = G.values("algo.betweenness", settings, weight=weight, merged=True, factor=raw * of_other)
    if of_source != of_other:
        for node in set(sources):
            scores[node] *= of_source / of_other
    return scores


def _add_endpoints(G, sources, weight, scores):
    """A path counts for its ends too: for its source as often as it reaches others, for each target once."""
    for source in G.nodes() if sources is None else sources:
        settings = {"sourceNode": G.setting(source), "direction": G.direction}
        reached, _ = G.run("algo.bfs" if weight is None else "algo.sssp", settings, weight=weight, merged=True)
        scores[source] += len(reached) - 1
        for node in reached:
            if node != source:
                scores[node] += 1


def _scales(count, normalized, directed, endpoints, sources):
    """By what sums over the sources become scores, those of other nodes and those of sources: normalized, a share of the pairs
    of nodes that could be joined over a node; else an estimate of the sum over all pairs, each taken once if the graph is
    undirected."""
    others = count if endpoints else count - 1
    if others < 2:
        return 1, 1
    either = 1 if directed else 2

    def scale(searched):
        if searched == 0:
            return math.nan
        return 1 / (searched * (others - 1)) if normalized else others / (searched * either)

    if sources is None or endpoints:
        factor = scale(others if sources is None else len(sources))
        return factor, factor
    # A source can not lie inside its own paths, so that one search fewer speaks of it.
    return scale(len(sources)), scale(len(sources) - 1)


@declared(FUNCTIONS)
def closeness_centrality(G, u=None, distance=None, wf_improved=True):
    if u is not None:
        if u not in G:
            raise nx.NodeNotFound(f"Node {u} is not in G")
        settings = {"sourceNode": G.setting(u), "direction": "IN" if G.is_directed() else "BOTH"}
        _, lengths = G.run("algo.bfs" if distance is None else "algo.sssp", settings, weight=distance)
        total, reached = sum(lengths), len(lengths) - 1
        if total <= 0 or len(G) <= 1:
            return 0.0
        return reached / total * (reached / (len(G) - 1) if wf_improved else 1)
    settings = {"direction": G.direction, "useWassermanFaust": bool(wf_improved)}
    return G.values("algo.closeness", settings, weight=distance)


def _harmonic_rule(G, nbunch, sources, **_):
    if nbunch is not None or sources is not None:
        return "harmonic centrality of some nodes is left to NetworkX"


@declared(FUNCTIONS, _harmonic_rule)
def harmonic_centrality(G, nbunch=None, distance=None, sources=None):
    others = len(G) - 1
    scores = G.values("algo.harmonic", {"direction": G.direction}, weight=distance, factor=others)
    return scores if others else dict.fromkeys(scores, 0)
