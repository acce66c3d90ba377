"""Whole-graph computation beside graph libraries: analytics.py FOLDER [SCALE…], 20 if left out.

A Kronecker graph as `E`, directed without duplicates, with integer weights, and `U`, the same undirected, each pair once.
Knotwork computes from its store by `CALL`; the cost of making the view in memory (the first call) is shown apart. The
libraries load arrays first, which is shown apart as well; the databases among the peers (kuzu, and LadybugDB for searches:
its algorithms are an extension to be downloaded) have the graph in their stores. Every peer is a process of its own, ROUNDS
(3) of them in turning order; seconds are medians, every answer is compared. A second table has the most memory that was
resident while a task ran, what the process held before among it. PEERS (networkit,igraph,graphblas,kuzu,ladybug) and
THREADS (2) may be set; the peer `base` is another build of Knotwork, as for cypher.py. With several scales the table at the
end shows how Knotwork's times grow with the edges.
"""
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import kronecker
from cypher import KNOT, RUNNER, programs_of_base

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = [name for name in os.environ.get("PEERS", "networkit,igraph,graphblas,kuzu,ladybug").split(",") if name]
ROUNDS = int(os.environ.get("ROUNDS", 3))
THREADS = int(os.environ.get("THREADS", 2))
SOURCES = 8

DIRECTED, UNDIRECTED = "types: 'E'", "types: 'U', direction: 'BOTH'"
FROM = "MATCH (n:V {id: $i})"
# Task: Cypher, and whether it starts at each of the sources.
QUERIES = {
    "pagerank": (f"CALL algo.pagerank.stats({{{DIRECTED}, maxIterations: 20, tolerance: 0}}) YIELD ranIterations", False),
    "wcc": ("CALL algo.wcc.stats({types: 'E'}) YIELD componentCount", False),
    "scc": (f"CALL algo.scc.stats({{types: 'E'}}) YIELD componentCount", False),
    "bfs": (f"{FROM} CALL algo.bfs.stats({{{DIRECTED}, sourceNode: n}}) YIELD nodesReached RETURN nodesReached", True),
    "sssp": (f"{FROM} CALL algo.sssp.stats({{{DIRECTED}, sourceNode: n, weightProperty: 'weight'}}) YIELD nodesReached RETURN nodesReached", True),
    "triangles": ("CALL algo.triangleCount.stats({types: 'U'}) YIELD globalTriangleCount", False),
    "clustering": ("CALL algo.localClusteringCoefficient.stats({types: 'U'}) YIELD averageClusteringCoefficient", False),
    "label propagation": (f"CALL algo.cdlp.stats({{{UNDIRECTED}, maxIterations: 10}}) YIELD ranIterations", False),
    "louvain": ("CALL algo.louvain.stats({types: 'U'}) YIELD modularity", False),
    "leiden": ("CALL algo.leiden.stats({types: 'U'}) YIELD modularity", False),
    "k-core": ("CALL algo.kcore.stats({types: 'U'}) YIELD degeneracy", False),
}
# Propagated labels and communities depend on the order, so that libraries differ; their modularity is
# printed.
COMMUNITIES = {"louvain", "leiden"}
UNCOMPARED = {"label propagation", *COMMUNITIES}
TOP = f"CALL algo.pagerank({{{DIRECTED}, maxIterations: 20, tolerance: 0}}) YIELD node, score RETURN node.id AS id ORDER BY score DESC, id LIMIT 10"

# The queries for the databases among the peers; those without algorithms fail and have no figure there.
DATABASES = {
    "pagerank": "CALL page_rank('G', dampingFactor := 0.85, maxIterations := 20, tolerance := 0.0) RETURN max(rank)",
    "wcc": "CALL weakly_connected_components('G') RETURN count(DISTINCT group_id)",
    "scc": "CALL strongly_connected_components('G') RETURN count(DISTINCT group_id)",
    "bfs": "MATCH (n:V {id: $i})-[:E* SHORTEST 1..30]->(m:V) WHERE m.id <> $i RETURN count(*) + 1",
    "sssp": "MATCH (n:V {id: $i})-[e:E* WSHORTEST(weight) 1..30]->(m:V) WHERE m.id <> $i RETURN sum(cost(e))",
    "k-core": "CALL k_core_decomposition('H') RETURN max(k_degree)",
    "top": "CALL page_rank('G', dampingFactor := 0.85, maxIterations := 20, tolerance := 0.0) RETURN node.id AS id, rank ORDER BY rank DESC, id LIMIT 10",
}

COSTS = f"{FROM} CALL algo.sssp({{{DIRECTED}, sourceNode: n, weightProperty: 'weight'}}) YIELD cost RETURN sum(cost)"


def make(scale, folder):
    """The graph as arrays for the libraries and as Parquet for Knotwork."""
    if os.path.exists(f"{folder}/sources.npy"):
        return
    os.makedirs(folder, exist_ok=True)
    nodes = 1 << scale
    source, target = kronecker.edges(scale, nodes * 16, np.random.Generator(np.random.PCG64(42)))
    keys = np.unique(source.astype(np.uint64) << np.uint64(32) | target)
    keys = keys[(keys >> np.uint64(32)) != (keys & np.uint64(0xFFFFFFFF))]
    directed = np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], 1).astype(np.uint32)
    low, high = directed.min(1).astype(np.uint64), directed.max(1).astype(np.uint64)
    keys = np.unique(low << np.uint64(32) | high)
    undirected = np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], 1).astype(np.uint32)
    weights = np.random.Generator(np.random.PCG64(1)).integers(1, 256, len(directed), dtype=np.int32)
    np.save(f"{folder}/directed.npy", directed)
    np.save(f"{folder}/undirected.npy", undirected)
    np.save(f"{folder}/weights.npy", weights)
    starts = np.flatnonzero(np.bincount(directed[:, 0], minlength=nodes))
    parquet = pyarrow.parquet.write_table
    parquet(pa.table({"id": np.arange(nodes, dtype=np.int64)}), f"{folder}/nodes.parquet")
    ends = lambda edges: {"src": edges[:, 0].astype(np.int64), "dst": edges[:, 1].astype(np.int64)}
    parquet(pa.table({**ends(directed), "weight": weights}), f"{folder}/directed.parquet", compression="none")
    parquet(pa.table(ends(undirected)), f"{folder}/undirected.parquet", compression="none")
    np.save(f"{folder}/sources.npy", np.random.Generator(np.random.PCG64(7)).choice(starts, SOURCES, replace=False))


def knotwork(folder, name):
    """Seconds and answers of Knotwork, from its store."""
    knot, runner = (KNOT, RUNNER) if name == "knotwork" else programs_of_base()
    store = f"{folder}/analytics-{name}.knot"
    if not os.path.exists(store):
        command = [knot, "import", store, "--no-progress", "--nodes", f"V={folder}/nodes.parquet"]
        command += ["--edges", f"E:V->V={folder}/directed.parquet", "--edges", f"U:V->V={folder}/undirected.parquet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sources = [{"i": int(node)} for node in np.load(f"{folder}/sources.npy")]
    spec = {"threads": THREADS, "queries": []}
    for task, (text, is_each) in QUERIES.items():
        spec["queries"].append({"name": task, "text": text, "parameters": sources if is_each else [{}],
                                "rounds": ["first", "warm"], "seconds": 300})
    spec["queries"].append({"name": "top", "text": TOP, "parameters": [{}], "rounds": ["first"], "seconds": 300})
    spec["queries"].append({"name": "costs", "text": COSTS, "parameters": sources, "rounds": ["first"], "seconds": 300})
    with open(f"{folder}/spec.json", "w") as file:
        json.dump(spec, file)
    subprocess.run([runner, store, f"{folder}/spec.json", f"{folder}/result.json"], check=True)
    with open(f"{folder}/result.json") as file:
        queries = json.load(file)["queries"]
    found = {task: figures(queries[task]) for task in QUERIES}
    found["pagerank"]["answer"] = [row[0] for row in queries["top"]["answers"][0]]
    found["sssp"]["answer"] = [rows[0][0] for rows in queries["costs"]["answers"]]
    return found


def figures(told):
    """The figures of a query that ran first and then warm: the difference is the cost of the view."""
    if "error" in told:
        return {"error": told["error"]}
    warm = sum(told["rounds"]["warm"]) / len(told["rounds"]["warm"]) / 1e6
    load = max(0.0, told["rounds"]["first"][0] / 1e6 - warm)
    return {"seconds": warm, "load": load, "peak_mib": told["peak_mib"], "answer": [rows[0][0] for rows in told["answers"]]}


def database(name, folder):
    """Seconds and answers of a database, from its store."""
    store, graph, spec, result = (f"{folder}/{name}{end}" for end in (".db", ".graph.json", ".spec.json", ".result.json"))
    run = lambda what: subprocess.run(
        [sys.executable, os.path.join(ROOT, "benchmarks/peers.py"), name, what, graph, store, spec, result], check=True)
    if not os.path.exists(store):
        edges = lambda kind, file, columns: {"type": kind, "source": "V", "target": "V", "file": file, "columns": columns}
        tables = {"nodes": {"V": {"file": f"{folder}/nodes.parquet", "columns": {"id": "INT64"}}},
                  "edges": [edges("E", f"{folder}/directed.parquet", {"weight": "INT32"}),
                            edges("U", f"{folder}/undirected.parquet", {})]}
        with open(graph, "w") as file:
            json.dump(tables, file)
        with open(spec, "w") as file:
            json.dump({"threads": THREADS, "queries": []}, file)
        run("load")
        with open(result) as file:
            print(f"{name} loaded both graphs in {json.load(file)['seconds']:.1f} s")
    sources = [{"i": int(node)} for node in np.load(f"{folder}/sources.npy")]
    queries = [{"name": task, "text": text, "parameters": sources[:2] if "$i" in text else [{}],
                "rounds": ["first"] if task == "top" else ["first", "warm"], "seconds": 120}
               for task, text in DATABASES.items()]
    statements = ["CALL project_graph('G', ['V'], ['E'])", "CALL project_graph('H', ['V'], ['U'])"]
    with open(spec, "w") as file:
        json.dump({"threads": THREADS, "statements": statements, "queries": queries}, file)
    run("run")
    with open(result) as file:
        told = json.load(file)["queries"]
    # Their stores are loaded: what the first call takes more is no view of its own.
    found = {task: {**figures(told[task]), "load": 0} for task in DATABASES if task != "top" and "error" not in told[task]}
    if "pagerank" in found and "error" not in told["top"]:
        found["pagerank"]["answer"] = [row[0] for row in told["top"]["answers"][0]]
    return found


def run_of(name, folder):
    if name in ("knotwork", "base"):
        return knotwork(folder, name)
    return database(name, folder) if name in ("kuzu", "ladybug") else library(name, folder, f"{folder}/result.json")


def library(name, folder, result):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "benchmarks/analytics_peers.py"), name, folder, result, str(THREADS)])
    if done.returncode != 0:
        return {}
    with open(result) as file:
        return json.load(file)


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def is_same(task, ours, theirs):
    if task == "pagerank":
        return ours[:5] == theirs[:5]
    pairs = zip(ours, theirs)
    return all(abs(a - b) <= 1e-6 * max(1, abs(b)) for a, b in pairs)


def measure(scale, folder):
    make(scale, folder)
    edges = len(np.load(f"{folder}/directed.npy", mmap_mode="r"))
    names = ["knotwork", *PEERS]
    runs = {name: [] for name in names}
    for number in range(ROUNDS):
        for name in names if number % 2 == 0 else names[::-1]:
            runs[name].append(run_of(name, folder))
    print(f"\n== Kronecker scale {scale}: {edges:,} directed edges, {THREADS} threads; seconds (making the view or loading, apart)")
    print("".ljust(20) + "".join(name.rjust(22) for name in names) + "   best peer / ours")
    table = {}
    for task in QUERIES:
        cells, seconds = [], {}
        for name in names:
            found = [run[task] for run in runs[name] if "seconds" in run.get(task, {})]
            if not found:
                cells.append("-")
                continue
            seconds[name] = median([one["seconds"] for one in found])
            cells.append(f"{seconds[name]:,.4g} (+{median([one['load'] for one in found]):,.3g})")
            if name != "knotwork" and task not in UNCOMPARED:
                ours = runs["knotwork"][0].get(task, {}).get("answer")
                theirs = found[0].get("answer")
                if ours is not None and theirs is not None and not is_same(task, ours, theirs):
                    print(f"DIFFERENT: {task}: {name} answers {theirs}, we {ours}")
        if task in COMMUNITIES:
            told = [f"{name} {run[task]['answer'][0]:.4f}" for name in names for run in runs[name][:1] if "answer" in run.get(task, {})]
            print(f"modularity by {task}: {', '.join(told)}")
        others = [value for name, value in seconds.items() if name != "knotwork"]
        ratio = f"{min(others) / seconds['knotwork']:.1f}x" if others and "knotwork" in seconds else ""
        print(task.ljust(20) + "".join(cell.rjust(22) for cell in cells) + ratio.rjust(12))
        if "error" in runs["knotwork"][0].get(task, {}):
            print(f"FAILED: {task}: {runs['knotwork'][0][task]['error']}")
        table[task] = seconds.get("knotwork")
    print("\nMost memory resident while it ran, MiB")
    for task in QUERIES:
        peaks = [[run[task]["peak_mib"] for run in runs[name] if run.get(task, {}).get("peak_mib")] for name in names]
        print(task.ljust(20) + "".join((f"{median(peak):,.0f}" if peak else "-").rjust(22) for peak in peaks))
    print(f"memory bandwidth, copying 1 GiB with numpy: {bandwidth():.1f} GB/s read and written")
    sys.stdout.flush()
    return edges, table


def bandwidth():
    import time
    source = np.ones(1 << 27)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return 2 * source.nbytes / best / 1e9


def main(folder, *scales):
    grown = [measure(int(scale), f"{folder}/analytics-{scale}") for scale in scales or ["20"]]
    if len(grown) > 1:
        print("\n== Nanoseconds an edge, by size")
        print("".ljust(20) + "".join(f"{edges:,}".rjust(16) for edges, _ in grown) + "   largest / smallest")
        for task in QUERIES:
            cost = [table[task] / edges * 1e9 if table[task] else float("nan") for edges, table in grown]
            print(task.ljust(20) + "".join(f"{one:.2f}".rjust(16) for one in cost) + f"{max(cost) / min(cost):.1f}".rjust(12))


if __name__ == "__main__":
    main(*sys.argv[1:])
