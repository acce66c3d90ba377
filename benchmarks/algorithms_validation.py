"""The seconds of `algo.x.estimate` beside runs on graphs that their costs were not fitted to: algorithms_validation.py FOLDER [STORE …].

Graphs of several kinds, sizes and seeds are generated in FOLDER; stores that are given are measured besides, all of their labels and
types. For each graph and algorithm `algo.x.stats.estimate` and then `algo.x.stats` run in a process of their own, ROUNDS times (default 3):
measured is the median of `preProcessingMillis` and `computeMillis` together, so warm for the files and cold for the view in memory. Printed
is for each algorithm measured/estimated on each graph, and the median relative error |measured - estimated| / measured; and that of all
together, with the goal of 0.30. Runs under 20 ms are left out, since times are told in whole milliseconds. KNOT is the program, EXECUTION
"memory" (default) or "streaming".
"""

import json
import os
import statistics
import subprocess
import sys

from introspect_validation import KNOT, store

GRAPHS = [
    ("social", 250_000, 202), ("social", 900_000, 203), ("erdos", 500_000, 204), ("erdos", 1_200_000, 205), ("ratings", 200_000, 206),
    ("kronecker", 262_144, 207), ("kronecker", 1_048_576, 208), ("barabasi", 400_000, 209), ("barabasi", 1_300_000, 210),
]
ALGORITHMS = {
    "pagerank": "", "articleRank": "", "wcc": "", "scc": "", "cdlp": "", "triangleCount": "", "lcc": "", "kcore": "", "louvain": "",
    "articulationPoints": "", "bridges": "", "spanningTree": "", "bfs": "sourceNode: 0, direction: 'BOTH', ",
    "betweenness": "samplingSize: 8, direction: 'BOTH', ",
}
GOAL = 0.30
SHORTEST_MS = 20


def one(file, algorithm, settings):
    """Estimated and measured seconds; None where there is no estimate or the run is too short to be timed."""
    statements = f"CALL algo.{algorithm}.stats.estimate({settings}); CALL algo.{algorithm}.stats({settings});"
    done = subprocess.run([KNOT, "query", "--read-only", "--format", "jsonl", file, statements], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{file}, {algorithm}: {done.stderr}")
    estimate, run = (json.loads(line) for line in done.stdout.splitlines() if line)
    return estimate["seconds"], run["preProcessingMillis"] + run["computeMillis"]


def ratio(file, algorithm, settings):
    runs = [one(file, algorithm, settings) for _ in range(int(os.environ.get("ROUNDS", "3")))]
    measured = statistics.median(ms for _, ms in runs)
    estimated = runs[0][0]
    return measured / 1000 / estimated if estimated and measured >= SHORTEST_MS else None


def error(ratio):
    return abs(1 - 1 / ratio)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    files = [store(folder, *graph) for graph in GRAPHS] + sys.argv[2:]
    execution = os.environ.get("EXECUTION", "memory")
    for number, file in enumerate(files):
        print(f"{number}: {os.path.basename(file.rstrip('/'))}")
    errors = []
    print(f"{'measured / estimated':20}" + "".join(f"{number:>7}" for number in range(len(files))) + "   median error")
    for algorithm, settings in ALGORITHMS.items():
        ratios = [ratio(file, algorithm, f"{{{settings}execution: '{execution}'}}") for file in files]
        told = [error(each) for each in ratios if each]
        errors += told
        cells = "".join(f"{each:7.2f}" if each else "      -" for each in ratios)
        print(f"{algorithm:20}{cells}   {f'{statistics.median(told):.2f}' if told else '-'}", flush=True)
    median = statistics.median(errors)
    print(f"median error {median:.2f} of {len(errors)}{f', above {GOAL:.2f}' if median > GOAL else ''}")


if __name__ == "__main__":
    main()
