"""Runs Knotwork and LadybugDB in turn, compares every answer, and prints a table: compare.py GRAPH CACHE ROUNDS.

With BASE, a folder with the programs of another build of Knotwork as in target/release, that build is the peer.
"""
import json
import os
import shutil
import subprocess
import sys
import time

PROGRAMS = "target/release"
BASE = os.environ.get("BASE")


def median(values):
    return sorted(values)[len(values) // 2]


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def run(command):
    """Seconds and peak resident bytes of a command of its own process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}\n{error}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def size(path):
    if not os.path.isdir(path):
        folder, name = os.path.split(path)
        return sum(os.stat(os.path.join(folder, f)).st_blocks * 512 for f in os.listdir(folder) if f.startswith(name))
    return sum(os.stat(os.path.join(r, f)).st_blocks * 512 for r, _, files in os.walk(path) for f in files)


def remove(path):
    folder, name = os.path.split(path)
    for entry in os.listdir(folder):
        if entry.startswith(name):
            full = os.path.join(folder, entry)
            shutil.rmtree(full) if os.path.isdir(full) else os.unlink(full)


class Knotwork:
    def __init__(self, graph, cache, name="knotwork", programs=PROGRAMS):
        self.name, self.graph, self.programs = name, graph, programs
        self.store, self.result = f"{cache}/{name}.knot", f"{cache}/{name}.json"

    def import_graph(self, kind):
        remove(self.store)
        nodes, edges = f"V={self.graph}/nodes.{kind}", f"E={self.graph}/edges.{kind}"
        return run([f"{self.programs}/knot", "import", self.store, "--nodes", nodes, "--edges", edges])

    def queries(self):
        run([f"{self.programs}/examples/measure", self.store, f"{self.graph}/queries.json", self.result])
        return json.load(open(self.result))


class Ladybug:
    name = "ladybug"

    def __init__(self, graph, cache):
        self.graph, self.store, self.result = graph, f"{cache}/ladybug.lbug", f"{cache}/ladybug.json"

    def script(self, task, *more):
        return [sys.executable, "benchmarks/ladybug_peer.py", "ladybug", task, self.graph, self.store, self.result, *more]

    def import_graph(self, kind):
        remove(self.store)
        _, memory = run(self.script("import", kind))
        return json.load(open(self.result))["import_seconds"], memory

    def queries(self):
        run(self.script("queries"))
        result = json.load(open(self.result))
        # LadybugDB downloads its PageRank from a server of its own; kuzu, its ancestor, carries it.
        store = f"{os.path.dirname(self.store)}/kuzu.kuzu"
        remove(store)
        run([sys.executable, "benchmarks/ladybug_peer.py", "kuzu", "pagerank", self.graph, store, self.result])
        remove(store)
        return {**result, **json.load(open(self.result))}


def measure(peers, edges, rounds):
    """One dictionary of figures for each peer: medians over rounds, in alternating order."""
    figures = {peer.name: {} for peer in peers}
    answers = {}

    def add(peer, key, value):
        figures[peer.name].setdefault(key, []).append(value)

    for round_number in range(rounds):
        for peer in peers if round_number % 2 == 0 else peers[::-1]:
            for kind in ("csv", "parquet"):
                seconds, memory = peer.import_graph(kind)
                add(peer, f"import {kind}, million edges/s", edges / seconds / 1e6)
                add(peer, f"import {kind}, peak memory, MiB", memory / 2**20)
            add(peer, "disk, bytes/edge", size(peer.store) / edges)
            result = peer.queries()
            answers[peer.name] = result
            add(peer, "open and first answer, ms", result["open_ms"])
            for series, words in (("one_hop", "one hop"), ("friends", "friends of friends")):
                add(peer, f"{words}, p50, us", percentile(result[f"{series}_us"], 0.5))
                add(peer, f"{words}, p99, us", percentile(result[f"{series}_us"], 0.99))
            add(peer, "PageRank (peer: kuzu), s/iteration", result["pagerank_iteration_seconds"])
            add(peer, "PageRank (peer: kuzu), 20 iterations, s", result["pagerank_20_seconds"])
    return {name: {key: median(values) for key, values in rows.items()} for name, rows in figures.items()}, answers


def compare_answers(peer, ours, theirs, edges):
    """The difference, in words. Friends of friends of a node with over 200 neighbours depend on which 200 come first."""
    lines = []
    for name, result in (("knotwork", ours), (peer, theirs)):
        if result["count"] != edges:
            lines.append(f"WRONG: {name} counts {result['count']} edges of {edges}")
    if ours["first"] != theirs["first"]:
        lines.append(f"DIFFERENT: property of node 1: {ours['first']} and {theirs['first']}")
    pairs = list(zip(ours["one_hop"], theirs["one_hop"]))
    lines.append(f"one hop: {sum(a == b for a, b in pairs)} of {len(pairs)} answers equal")
    small = [(a, b) for a, b, d in zip(ours["friends"], theirs["friends"], ours["friends_degree"]) if d <= 200]
    lines.append(f"friends of friends (at most 200 neighbours): {sum(a == b for a, b in small)} of {len(small)} answers equal")
    same = ours["pagerank_top"] == theirs["pagerank_top"]
    error = max(abs(a - b) for a, b in zip(ours["pagerank_ratio"], theirs["pagerank_ratio"]))
    lines.append(f"PageRank: top ten {'equal' if same else 'DIFFERENT'}, largest difference of relative scores {error:.1e}")
    return lines


def main(graph, cache, rounds):
    edges = json.load(open(f"{graph}/queries.json"))["edges"]
    peer = Knotwork(graph, cache, "base", BASE) if BASE else Ladybug(graph, cache)
    peers = [Knotwork(graph, cache), peer]
    figures, answers = measure(peers, edges, int(rounds))
    ours, theirs = figures["knotwork"], figures[peer.name]
    print(f"\n{'medians of ' + rounds + ' rounds':42}{'knotwork':>12}{peer.name:>12}{'ratio':>9}")
    behind = []
    for key, value in ours.items():
        ratio = value / theirs[key] if "/s" in key and "s/it" not in key else theirs[key] / value
        print(f"{key:42}{value:12.3f}{theirs[key]:12.3f}{ratio:8.1f}x")
        if ratio < 1:
            behind.append(key)
    print("(ratio above 1: Knotwork is ahead)\n")
    print("\n".join(compare_answers(peer.name, answers["knotwork"], answers[peer.name], edges)))
    if behind:
        print("BEHIND in: " + "; ".join(behind))


if __name__ == "__main__":
    main(*sys.argv[1:])
