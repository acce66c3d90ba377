"""The figures of the paper as tables in Markdown, from what introspect.sh wrote: introspect_figures.py FOLDER

One table for each figure: a row for each system, a column for each graph. Medians of calls with hot caches, or of statements where a
system has no calls. In brackets is the mean over that of the composed model. † marks medians of fewer than ten calls.
"""
import json
import pathlib
import re
import sys

from introspect_table import hot_runs

#: Calls below which a median is marked: the time of an operation was over before.
FEW = 10
SIZES = {"k": 1e3, "M": 1e6}
#: Title, operation whose time is shown, its unit, and a second time to compare it with.
TIMES = [
    ("Figure 2: a node by its key, an edge by its id", "node by key", "edge by id"),
    ("Figure 3: properties of a node: integer, string", "node property, integer", "node property, string"),
    ("Figure 4: the first neighbour, all neighbours (out)", "first neighbour out", "neighbours out"),
    ("Figure 5: an edge added, a node added, within a transaction", "add edge", "add node"),
]
#: Title, and the operation whose measured time and factor to the model are shown.
MODELS = [
    ("Figure 6: neighbours out, measured and over the model n (node + edge)", "neighbours out"),
    ("Figure 7: nodes within two hops (both directions), measured and over the model of 1-hops", "2-hop both"),
]


def order(path):
    kind, size, system = re.fullmatch(r"(.+)-(\w+)-(\w+)", path.stem).groups()
    number = float(size[:-1]) * SIZES[size[-1]] if size[-1] in SIZES else 0
    return kind, number, size, system


def read(folder):
    graphs, found = [], {}
    for path in sorted(folder.glob("*-*-*.json"), key=order):
        kind, _, size, system = order(path)
        graph = f"{kind} {size}"
        if graph not in graphs:
            graphs.append(graph)
        found[system, graph] = json.loads(path.read_text())
    return graphs, found


def run_of(measured, operation):
    return hot_runs(measured).get(operation)


def microseconds(measured, operation):
    run = run_of(measured, operation)
    if not run:
        return "–"
    us = run["p50Ns"] / 1e3
    return (f"{us:.3g}" if us < 1e3 else f"{us:,.0f}") + ("†" if run["calls"] < FEW else "")


def prediction(measured, operation):
    held = [held for held in measured["predictions"] if held["operation"] == operation and held["regime"] == "hot"]
    return min(held, key=lambda held: held["way"] != "api", default=None)


def modelled(measured, operation):
    held = prediction(measured, operation)
    return microseconds(measured, operation) + (f" (× {held['factor']:.2g})" if held else "")


def ingest(measured):
    cells = []
    for operation in ("ingest, bulk", "ingest, increment"):
        run, held = run_of(measured, operation), prediction(measured, operation)
        if run and run["counts"]["edges"]:
            cells.append(f"{run['p50Ns'] / run['counts']['edges']:.0f}" + (f" (× {held['factor']:.2g})" if held else ""))
    return " / ".join(cells) or "–"


def table(title, graphs, found, cell):
    print(f"\n### {title}\n\n| | {' | '.join(graphs)} |\n|---|{'---|' * len(graphs)}")
    for system in dict.fromkeys(system for system, _ in found):
        cells = [cell(found[system, graph]) if (system, graph) in found else "" for graph in graphs]
        if any(text.strip("– ") for text in cells):
            print(f"| {system} | {' | '.join(cells)} |")


def main(folder):
    graphs, found = read(pathlib.Path(folder))
    for title, first, second in TIMES:
        table(f"{title}, µs", graphs, found, lambda of: f"{microseconds(of, first)} / {microseconds(of, second)}".replace("– / –", "–"))
    for title, operation in MODELS:
        table(f"{title}, µs", graphs, found, lambda of: modelled(of, operation))
    table("Figure 8: ingest, bulk / increment, ns an edge, and over the model", graphs, found, ingest)


if __name__ == "__main__":
    main(*sys.argv[1:])
