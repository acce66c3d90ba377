"""NetworkX functions beside other libraries: networkx_speed.py FOLDER [SCALE…], 16 if left out.

An undirected Kronecker graph, edge factor 16, as a `networkx.Graph`: PageRank, components, shortest paths between 20 random
pairs, betweenness from 8 sources, triangles. NetworkX by itself, with nx-parallel and with Knotwork as its backend (the
conversion, which NetworkX keeps with the graph, is shown apart), then igraph and NetworKit by their own interfaces, on
graphs of their own, whose making is shown apart too. Each a process of its own; seconds are medians of ROUNDS (3). A task
that would take a peer longer than LIMIT (600) seconds is given up. Every answer is compared.
"""
import json
import multiprocessing
import os
import statistics
import sys
import time

import numpy as np

import kronecker

ROUNDS = int(os.environ.get("ROUNDS", 3))
LIMIT = int(os.environ.get("LIMIT", 600))
PEERS = os.environ.get("PEERS", "networkx nx-parallel knotwork igraph networkit").split()
PAIRS, SOURCES = 20, 8
TASKS = ["pagerank", "connected_components", "shortest_path", "betweenness_centrality", "triangles"]


def graph_arrays(scale):
    """Undirected edges, each once, no loops; and pairs and sources among the nodes that have edges."""
    nodes = 1 << scale
    source, target = kronecker.edges(scale, nodes * 16, np.random.Generator(np.random.PCG64(42)))
    low, high = np.minimum(source, target).astype(np.uint64), np.maximum(source, target).astype(np.uint64)
    keys = np.unique(low << np.uint64(32) | high)
    edges = np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], 1).astype(np.int64)
    edges = edges[edges[:, 0] != edges[:, 1]]
    starts = np.unique(edges[:, 0])
    random = np.random.Generator(np.random.PCG64(7))
    pairs = [[int(x) for x in random.choice(starts, 2, replace=False)] for _ in range(PAIRS)]
    return nodes, edges, pairs, [int(x) for x in random.choice(starts, SOURCES, replace=False)]


def of_networkx(nodes, edges, pairs, sources, backend):
    import random

    import networkx as nx

    nx.config.warnings_to_ignore.add("cache")
    graph = nx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(edges.tolist())
    chosen = {} if backend is None else {"backend": backend}
    drawn = random.Random(0)
    drawn.sample = lambda _population, _count: sources

    def scores(values):
        return [values[node] for node in range(0, nodes, max(1, nodes // 100))]

    tasks = {
        "pagerank": lambda: scores(nx.pagerank(graph, **chosen)),
        "connected_components": lambda: sum(1 for _ in nx.connected_components(graph, **chosen)),
        "shortest_path": lambda: [path_length(nx, graph, pair, chosen) for pair in pairs],
        "betweenness_centrality": lambda: scores(
            nx.betweenness_centrality(graph, k=len(sources), seed=drawn, **chosen)
        ),
        "triangles": lambda: sum(nx.triangles(graph, **chosen).values()) // 3,
    }
    if backend == "knotwork":
        # The graph is converted by the first call, and kept.
        start = time.perf_counter()
        nx.is_connected(graph, **chosen)
        return tasks, time.perf_counter() - start
    return tasks, None


def path_length(nx, graph, pair, chosen):
    try:
        return len(nx.shortest_path(graph, *pair, **chosen)) - 1
    except nx.NetworkXNoPath:
        return -1


def of_igraph(nodes, edges, pairs, sources):
    import igraph

    start = time.perf_counter()
    graph = igraph.Graph(n=nodes, edges=edges)
    made = time.perf_counter() - start
    step = max(1, nodes // 100)
    lengths = lambda: [(lambda d: -1 if d == float("inf") else int(d))(graph.distances(a, b)[0][0]) for a, b in pairs]
    tasks = {
        "pagerank": lambda: graph.pagerank()[::step],
        "connected_components": lambda: len(graph.connected_components()),
        "shortest_path": lengths,
        "betweenness_centrality": lambda: graph.betweenness(sources=sources, targets=None) and None,
        "triangles": lambda: sum(graph.count_triangles() for _ in [0]) if hasattr(graph, "count_triangles") else len(graph.list_triangles()),
    }
    return tasks, made


def of_networkit(nodes, edges, pairs, sources):
    import networkit as nk

    nk.setNumberOfThreads(os.cpu_count())
    start = time.perf_counter()
    graph = nk.GraphFromCoo((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), n=nodes, directed=False, weighted=False)
    made = time.perf_counter() - start
    step = max(1, nodes // 100)

    def pagerank():
        run = nk.centrality.PageRank(graph, 0.85, 1e-6)
        return run.run().scores()[::step]

    def lengths():
        def one(a, b):
            distance = nk.distance.BidirectionalBFS(graph, a, b, False).run().getDistance()
            return -1 if distance > nodes else int(distance)

        return [one(a, b) for a, b in pairs]

    def triangles():
        run = nk.centrality.LocalClusteringCoefficient(graph, True).run().scores()
        degrees = np.array([graph.degree(node) for node in range(nodes)])
        return round(float((np.array(run) * degrees * (degrees - 1) / 2).sum() / 3))

    tasks = {
        "pagerank": pagerank,
        "connected_components": lambda: nk.components.ConnectedComponents(graph).run().numberOfComponents(),
        "shortest_path": lengths,
        "betweenness_centrality": lambda: nk.centrality.EstimateBetweenness(graph, len(sources)).run().scores() and None,
        "triangles": triangles,
    }
    return tasks, made


def work(peer, scale, results):
    arrays = graph_arrays(scale)
    own = {"igraph": of_igraph, "networkit": of_networkit}
    backend = {"networkx": None, "nx-parallel": "parallel", "knotwork": "knotwork"}.get(peer)
    tasks, made = own[peer](*arrays) if peer in own else of_networkx(*arrays, backend)
    if made is not None:
        results.put(("made", made, None))
    for name in TASKS:
        times = []
        for _ in range(ROUNDS):
            results.put(("begin", name, None))
            start = time.perf_counter()
            answer = tasks[name]()
            times.append(time.perf_counter() - start)
        results.put((name, statistics.median(times), answer))
    results.put(("end", None, None))


def measure(peer, scale):
    """What a peer took for each task; None for what it did not finish."""
    results = multiprocessing.get_context("spawn").Queue()
    process = multiprocessing.get_context("spawn").Process(target=work, args=(peer, scale, results))
    process.start()
    found, at = {}, "begin"
    while at != "end":
        try:
            at, seconds, answer = results.get(timeout=LIMIT)
        except Exception:  # the queue's own Empty: the task takes too long, or the process has died
            process.kill()
            break
        if at not in ("begin", "end"):
            found[at] = (seconds, answer)
    process.join()
    return found


def compare(found):
    """Fails where two peers differ in an answer."""
    for task in TASKS:
        answers = [(peer, results[task][1]) for peer, results in found.items() if task in results and results[task][1] is not None]
        for peer, answer in answers[1:]:
            close = np.allclose(np.ravel(answer), np.ravel(answers[0][1]), rtol=0.05 if task == "pagerank" else 1e-6, atol=1e-6)
            if not close:
                sys.exit(f"{task}: {peer} answers otherwise than {answers[0][0]}")


def main():
    folder, scales = sys.argv[1], [int(scale) for scale in sys.argv[2:]] or [16]
    os.makedirs(folder, exist_ok=True)
    for scale in scales:
        found = {peer: measure(peer, scale) for peer in PEERS}
        compare(found)
        print(f"\nKronecker scale {scale}, seconds: {' '.join(f'{peer:>12}' for peer in PEERS)}")
        for task in ["made", *TASKS]:
            cells = (f"{found[peer][task][0]:12.4f}" if task in found[peer] else f"{'–':>12}" for peer in PEERS)
            print(f"{'graph made or converted' if task == 'made' else task:<29} {' '.join(cells)}")
        with open(f"{folder}/networkx-{scale}.json", "w") as file:
            json.dump({peer: {task: value[0] for task, value in tasks.items()} for peer, tasks in found.items()}, file)


if __name__ == "__main__":
    main()
