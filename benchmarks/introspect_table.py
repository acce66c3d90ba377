"""The medians of measurements side by side: introspect_table.py JSON…, each as `knot introspect --json` wrote it.

One line for each operation that most of them have: microseconds by calls, or by statements where a subject has no others, hot.
An ingest is given in nanoseconds for each edge.
"""

import json
import sys


def hot_runs(measured):
    """The runs of a measurement from evenly chosen starts with hot caches, by operation: by calls, or by statements where there are
    no calls."""
    found = {}
    for run in measured["runs"]:
        if run["regime"] == "hot" and run["starts"] == "uniform" and run["calls"]:
            found.setdefault(run["operation"], run)
            if run["way"] == "api":
                found[run["operation"]] = run
    return found


def medians(path):
    with open(path) as file:
        measured = json.load(file)
    found = {}
    for operation, run in hot_runs(measured).items():
        per_edge = operation.startswith("ingest")
        found[operation] = run["p50Ns"] / max(run["counts"]["edges"], 1) if per_edge else run["p50Ns"] / 1e3
    return measured["subject"]["system"], found


def main():
    systems = [medians(path) for path in sys.argv[1:]]
    names = {name: None for _, found in systems for name in found}
    print(f"{'µs of a call, hot (ingest: ns an edge)':40}" + "".join(f"{system:>12}" for system, _ in systems))
    for name in names:
        cells = [found.get(name) for _, found in systems]
        if sum(cell is not None for cell in cells) * 2 > len(cells):
            print(f"{name:40}" + "".join(f"{'-' if cell is None else format(cell, '.2f'):>12}" for cell in cells))


if __name__ == "__main__":
    main()
