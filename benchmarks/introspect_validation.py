"""The fitted costs of `knot introspect` on graphs that they were not fitted to: introspect_validation.py FOLDER.

Costs are fitted to one half of the starts on Barabási–Albert of 100,000 nodes, and judged on the other half and on graphs of other kinds, sizes
and seeds. Printed is for each graph the median over operations of their median relative errors, hot, warm and cold. KNOT is the program,
SIZES "small" or "large" (default: with graphs of a million nodes). Errors above the goals, 0.20 and for cold calls 0.50, are marked.
"""

import json
import os
import statistics
import subprocess
import sys

KNOT = os.environ.get("KNOT", "target/release/knot")
SMALL = [("social", 300_000, 2), ("erdos", 300_000, 3), ("ratings", 110_000, 4), ("kronecker", 131_072, 5)]
LARGE = [("barabasi", 1_000_000, 6), ("erdos", 1_000_000, 7), ("kronecker", 1_048_576, 8)]
GOALS = {"hot": 0.20, "warm": 0.20, "cold": 0.50}


def run(*arguments):
    done = subprocess.run([KNOT, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr}")


def store(folder, kind, nodes, seed):
    name = os.path.join(folder, f"{kind}-{nodes}-{seed}")
    if not os.path.exists(f"{name}.knot"):
        run("generate", kind, "--nodes", str(nodes), "--seed", str(seed), "-o", name)
        run("import", f"{name}.knot", name)
    return f"{name}.knot"


def medians(judgements):
    errors = {}
    for judgement in judgements:
        errors.setdefault(judgement["regime"], []).append(judgement["medianError"])
    return {regime: (statistics.median(all_of), len(all_of)) for regime, all_of in errors.items()}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    fitted = store(folder, "barabasi", 100_000, 1)
    graphs = SMALL if os.environ.get("SIZES") == "small" else SMALL + LARGE
    lines = []
    for kind, nodes, seed in graphs:
        file = os.path.join(folder, "validation.json")
        run("introspect", fitted, "--quick", "--beside", store(folder, kind, nodes, seed), "--json", file)
        with open(file) as report:
            report = json.load(report)
        if not lines:
            lines.append(("other starts", medians(report["judgements"])))
        lines.append((f"{kind}, {nodes:,} nodes, seed {seed}", medians(report["elsewhere"]["judgements"])))
    for name, errors in lines:
        cells = []
        for regime, goal in GOALS.items():
            if regime in errors:
                error, operations = errors[regime]
                mark = f" above {goal:.2f}" if error > goal else ""
                cells.append(f"{regime} {error:.2f} of {operations}{mark}")
        print(f"{name:45} {', '.join(cells)}")


if __name__ == "__main__":
    main()
