"""NetworkX functions beside other libraries: networkx_speed.py FOLDER [SCALE…], 16 if left out.

An undirected Kronecker graph, edge factor 16, as a `networkx.Graph`: PageRank, components, shortest paths between 20 random
pairs, betweenness from 8 sources, triangles. NetworkX by itself, with nx-parallel and with Knotwork as its backend (the
conversion, which NetworkX keeps with the graph, is shown apart), then igraph and NetworKit by their own interfaces, on
graphs of their own, whose making is shown apart too. Each a process of its own; seconds are medians of ROUNDS (3). A task
that takes longer than LIMIT (600) seconds is given up, which is said. Every answer is compared, but for NetworKit's
betweenness, whose sources cannot be chosen.

`networkx_speed.py --requirements` prints the versions of the peers, for pip; `--parallel-requirements` those of nx-parallel,
which has an environment of its own.
"""
import json
import os
import queue
import signal
import statistics
import subprocess
import sys
import threading
import time

import numpy as np

import kronecker

ROUNDS = int(os.environ.get("ROUNDS", 3))
LIMIT = int(os.environ.get("LIMIT", 600))
REQUIREMENTS = ["networkx==3.6.1", "networkit==11.2.2", "igraph==1.0.0", "scipy", "numpy", "pyarrow"]
#: nx-parallel does not load beside this NetworkX: NX_PARALLEL_PYTHON names the Python of an environment with these.
PARALLEL_REQUIREMENTS = ["nx-parallel==0.3", "networkx==3.4.2", "scipy", "numpy", "pyarrow"]
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
    if backend == "parallel":
        nx.config.backends.parallel.active = True
        nx.config.backends.parallel.n_jobs = -1
    drawn = random.Random(0)
    drawn.sample = lambda _population, _count: sources

    def scores(values):
        return [values[node] for node in range(0, nodes, max(1, nodes // 100))]

    tasks = {
        # NetworkX stops when all scores together change by less than nodes times the tolerance.
        "pagerank": lambda: scores(nx.pagerank(graph, tol=1e-6 / nodes, **chosen)),
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

    def betweenness():
        # Scaled as NetworkX scales a sample: a source is not counted among its own sources.
        found = graph.betweenness(sources=sources, targets=list(range(nodes)))
        counted = {source: len(sources) - 1 for source in sources}
        return [2 * found[v] / (counted.get(v, len(sources)) * (nodes - 2)) for v in range(0, nodes, step)]

    def triangles():
        degrees = np.array(graph.degree(), dtype=np.float64)
        return round(graph.transitivity_undirected() * (degrees * (degrees - 1) / 2).sum() / 3)

    tasks = {
        "pagerank": lambda: graph.pagerank()[::step],
        "connected_components": lambda: len(graph.connected_components()),
        "shortest_path": lengths,
        "betweenness_centrality": betweenness,
        "triangles": triangles,
    }
    return tasks, made


def of_networkit(nodes, edges, pairs, sources):
    import networkit as nk

    nk.setNumberOfThreads(os.cpu_count())
    start = time.perf_counter()
    graph = nk.GraphFromCoo((np.ones(len(edges)), tuple(np.ascontiguousarray(ends) for ends in edges.T)), n=nodes, directed=False, weighted=False)
    made = time.perf_counter() - start
    step = max(1, nodes // 100)

    def pagerank():
        # Its scores leave out what nodes without edges hold, so that they do not sum to 1.
        scores = np.array(nk.centrality.PageRank(graph, 0.85, 1e-6).run().scores())
        return (scores / scores.sum())[::step].tolist()

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


class TooLong(Exception):
    """A task took longer than LIMIT."""


def alarm(*_):
    raise TooLong


def run_task(task):
    """The median time of the rounds, and the answer; a task that takes a third of the limit is run once."""
    times, answer = [], None
    while len(times) < ROUNDS and (not times or times[0] < LIMIT / 3):
        signal.alarm(LIMIT)
        start = time.perf_counter()
        try:
            answer = task()
        except TooLong:
            return None, f"> {LIMIT}"
        except (NotImplementedError, RuntimeError):
            return None, "not there"
        finally:
            signal.alarm(0)
        times.append(time.perf_counter() - start)
    return statistics.median(times), answer


def work(peer, scale):
    """Runs the tasks of one peer, and prints a line of JSON for each: in a process of its own."""
    signal.signal(signal.SIGALRM, alarm)
    arrays = graph_arrays(scale)
    own = {"igraph": of_igraph, "networkit": of_networkit}
    backend = {"networkx": None, "nx-parallel": "parallel", "knotwork": "knotwork"}.get(peer)
    tasks, made = own[peer](*arrays) if peer in own else of_networkx(*arrays, backend)
    print(json.dumps(["made", [made, None if made is not None else "–"]]), flush=True)
    for name in TASKS:
        print(json.dumps([name, run_task(tasks[name])]), flush=True)


def measure(peer, scale):
    """Time and answer of a peer for each task; no time, and the reason, for a task that it did not finish."""
    python = os.environ.get("NX_PARALLEL_PYTHON") if peer == "nx-parallel" else None
    command = [python or sys.executable, os.path.abspath(__file__), "--work", peer, str(scale)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    lines = queue.Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in process.stdout] + [lines.put(None)], daemon=True).start()
    found, why = {}, "failed"
    while True:
        try:
            # A library that does not hear the alarm is ended with its process; making the graph has its own time.
            line = lines.get(timeout=(ROUNDS * LIMIT if found else 3600) + 60)
        except queue.Empty:
            why = f"> {LIMIT}"
            process.kill()
            break
        if line is None:
            break
        name, told = json.loads(line)
        found[name] = told
    process.wait()
    return {task: found.get(task, (None, why)) for task in ["made", *TASKS]}


def compare(found):
    """Fails where two peers differ in an answer."""
    for task in TASKS:
        told = [(peer, *results[task]) for peer, results in found.items()]
        answers = [(peer, answer) for peer, seconds, answer in told if seconds is not None and answer is not None]
        for peer, answer in answers[1:]:
            close = np.allclose(np.ravel(answer), np.ravel(answers[0][1]), rtol=0.01 if task == "pagerank" else 1e-6, atol=1e-6)
            if not close:
                sys.exit(f"{task}: {peer} answers otherwise than {answers[0][0]}")


def cell(seconds, why):
    return f"{why:>12}" if seconds is None else f"{seconds:12.4f}"


def main():
    wanted = {"--requirements": REQUIREMENTS, "--parallel-requirements": PARALLEL_REQUIREMENTS}.get(sys.argv[1])
    if wanted:
        print(*wanted)
        return
    if sys.argv[1] == "--work":
        work(sys.argv[2], int(sys.argv[3]))
        return
    folder, scales = sys.argv[1], [int(scale) for scale in sys.argv[2:]] or [16]
    os.makedirs(folder, exist_ok=True)
    for scale in scales:
        found = {peer: measure(peer, scale) for peer in PEERS}
        print(f"\nKronecker scale {scale}, seconds: {' '.join(f'{peer:>12}' for peer in PEERS)}")
        for task in ["made", *TASKS]:
            cells = " ".join(cell(*found[peer][task]) for peer in PEERS)
            print(f"{'graph made or converted' if task == 'made' else task:<29} {cells}", flush=True)
        compare(found)
        with open(f"{folder}/networkx-{scale}.json", "w") as file:
            json.dump({peer: {task: value[0] for task, value in tasks.items()} for peer, tasks in found.items()}, file)


if __name__ == "__main__":
    main()
