"""A graph library on the arrays of analytics.py: analytics_peers.py PEER FOLDER RESULT.json THREADS, a process of its own.

PEER is networkit, igraph or graphblas, each through its normal Python API. The result has for each task the seconds, those
of loading, and the answer.
"""
import json
import sys
import time

import numpy as np

import resident

name, folder, result, threads = sys.argv[1:5]
threads = int(threads)
directed, undirected = np.load(f"{folder}/directed.npy"), np.load(f"{folder}/undirected.npy")
weights, sources = np.load(f"{folder}/weights.npy"), [int(node) for node in np.load(f"{folder}/sources.npy")]
nodes = int(max(directed.max(), undirected.max())) + 1
nodes = 1 << (nodes - 1).bit_length()
found = {}
ITERATIONS = 20


def timed(work):
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


def task(what, load_seconds, work, of=lambda answer: [answer], each=1):
    resident.forget_peak()
    seconds, answer = timed(work)
    found[what] = {"seconds": seconds / each, "load": load_seconds, "peak_mib": resident.peak_mib(), "answer": of(answer)}


def total(distances):
    """The sum of the distances of the nodes that are reached."""
    distances = np.asarray(distances)
    return float(distances[distances < 1e300].sum())


def top(scores):
    scores = np.asarray(scores)
    best = np.argpartition(-scores, 10)[:10]
    return [int(node) for node in best[np.lexsort((best, -scores[best]))]]


def networkit():
    import networkit as nk
    nk.setNumberOfThreads(threads)

    def graph(edges, values=None, is_directed=True):
        # As three arrays: with a matrix of SciPy's it takes every weight for 1.
        costs = np.ones(len(edges)) if values is None else values.astype(np.float64)
        triples = costs, (edges[:, 0].astype(np.int64), edges[:, 1].astype(np.int64))
        return nk.GraphFromCoo(triples, n=nodes, directed=is_directed, weighted=values is not None)

    load, g = timed(lambda: graph(directed))

    def pagerank():
        run = nk.centrality.PageRank(g, 0.85, 1e-300)
        run.maxIterations = ITERATIONS
        return run.run().scores()

    def components(kind):
        return lambda: kind(g).run().numberOfComponents()

    task("pagerank", load, pagerank, top)
    task("wcc", load, components(nk.components.WeaklyConnectedComponents))
    task("scc", load, components(nk.components.StronglyConnectedComponents))
    task("bfs", load, lambda: [nk.distance.BFS(g, s, False).run() for s in sources],
         lambda runs: [int((np.array(run.getDistances()) < nodes).sum()) for run in runs], len(sources))
    del g
    load, g = timed(lambda: graph(directed, weights))
    task("sssp", load, lambda: [nk.distance.Dijkstra(g, s, False).run() for s in sources],
         lambda runs: [total(run.getDistances()) for run in runs], len(sources))
    del g
    load, g = timed(lambda: graph(undirected, is_directed=False))
    task("clustering", load, lambda: nk.centrality.LocalClusteringCoefficient(g, True).run().scores(),
         lambda scores: [float(np.mean(scores))])
    task("label propagation", load, lambda: nk.community.PLP(g, 1, 10).run(), lambda run: [run.numberOfIterations()])
    modularity = lambda run: [nk.community.Modularity().getQuality(run.getPartition(), g)]
    task("louvain", load, lambda: nk.community.PLM(g, refine=False).run(), modularity)
    task("leiden", load, lambda: nk.community.ParallelLeiden(g, iterations=1).run(), modularity)
    task("k-core", load, lambda: nk.centrality.CoreDecomposition(g).run().maxCoreNumber(), lambda core: [int(core)])


def igraph():
    import igraph as ig
    graph = lambda edges, is_directed: ig.Graph(n=nodes, edges=memoryview(np.ascontiguousarray(edges.astype(np.int64))), directed=is_directed)
    load, g = timed(lambda: graph(directed, True))
    task("wcc", load, lambda: len(g.connected_components(mode="weak")))
    task("scc", load, lambda: len(g.connected_components(mode="strong")))
    task("bfs", load, lambda: [int(np.isfinite(np.array(g.distances(source=[s])[0])).sum()) for s in sources[:2]], list, 2)
    costs = weights.astype(float).tolist()
    task("sssp", load, lambda: [total(g.distances(source=[s], weights=costs)[0]) for s in sources[:2]], list, 2)
    del g
    load, g = timed(lambda: graph(undirected, False))
    task("clustering", load, lambda: g.transitivity_local_undirected(mode="zero"), lambda scores: [float(np.mean(scores))])
    # Minutes on larger graphs.
    if g.ecount() < 5_000_000:
        task("louvain", load, g.community_multilevel, lambda found: [found.modularity])
        leiden = lambda: g.community_leiden(objective_function="modularity", n_iterations=1)
        task("leiden", load, leiden, lambda found: [found.modularity])
    task("k-core", load, lambda: max(g.coreness()), lambda core: [int(core)])


def graphblas():
    import graphblas as gb
    from graphblas import Matrix, Vector, binary, monoid, semiring
    gb.ss.config["nthreads"] = threads

    def matrix(edges, values=True):
        order = np.lexsort((edges[:, 1], edges[:, 0]))
        starts = np.zeros(nodes + 1, np.int64)
        np.cumsum(np.bincount(edges[:, 0], minlength=nodes), out=starts[1:])
        made = Matrix.from_csr(starts, edges[order, 1].astype(np.int64), values if values is True else values[order], ncols=nodes)
        made.wait()
        return made

    def load_both():
        forward = matrix(directed)
        backward = forward.T.new()
        backward.wait()
        return forward, backward

    load, (forward, backward) = timed(load_both)

    def pagerank():
        degrees = forward.reduce_rowwise(gb.agg.count).new(gb.dtypes.FP32).apply(binary.times, right=1 / 0.85).new(gb.dtypes.FP32)
        ranks = Vector(gb.dtypes.FP32, nodes)
        ranks[:] = 1 / nodes
        for _ in range(ITERATIONS):
            shares = ranks.ewise_mult(degrees, binary.truediv).new(gb.dtypes.FP32)
            held = float(ranks.reduce(monoid.plus).value) - float(ranks.ewise_mult(degrees, binary.first).new().reduce(monoid.plus).value)
            ranks = Vector(gb.dtypes.FP32, nodes)
            ranks[:] = 0.15 / nodes + 0.85 * held / nodes
            ranks(binary.plus) << backward.mxv(shares, semiring.plus_second)
        return ranks.to_dense(0)

    def bfs(source):
        seen = Vector(gb.dtypes.BOOL, nodes)
        seen[source] = True
        front = seen.dup()
        while front.nvals:
            following = Vector(gb.dtypes.BOOL, nodes)
            if front.nvals > nodes // 50:
                following(~seen.S, replace=True) << backward.mxv(front, semiring.any_pair)
            else:
                following(~seen.S, replace=True) << front.vxm(forward, semiring.any_pair)
            front = following
            seen(front.S) << True
        return int(seen.nvals)

    task("pagerank", load, pagerank, top)
    task("bfs", load, lambda: [bfs(s) for s in sources], lambda answers: answers, len(sources))
    del forward, backward
    both = np.concatenate([undirected, undirected[:, ::-1]])
    load, adjacency = timed(lambda: matrix(both))

    def triangles():
        degrees = adjacency.reduce_rowwise(gb.agg.count).new(gb.dtypes.INT64).to_dense(0)
        order = np.argsort(-degrees, kind="stable")
        lower = adjacency[order, order].new().select("tril", -1).new()
        counts = Matrix(gb.dtypes.INT64, nodes, nodes)
        counts(lower.S) << lower.mxm(lower.T, semiring.plus_pair)
        return int(counts.reduce_scalar(monoid.plus).value)

    task("triangles", load, triangles)


{"networkit": networkit, "igraph": igraph, "graphblas": graphblas}[name]()
with open(result, "w") as file:
    json.dump(found, file)
