"""Seeded graphs for the benchmarks, each written once as Parquet files with a description of its tables.

A description is `{"nodes": {label: {"file", "columns", "also"}}, "edges": [{"type", "source", "target", "file", "columns"}],
"counts": …, "parameters": …}`. The first column of nodes is their integer key `id`; edges have `src` and `dst`. Columns are
`{name: type}` with the types of Kùzu's dialect.
"""
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet

KINDS = {"INT64": pa.int64(), "INT32": pa.int32(), "FLOAT": pa.float32(), "STRING": pa.string()}


class Writer:
    """Writes the tables of one graph into a folder, and its description."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.nodes_of, self.edges_of, self.counts = folder, {}, [], {}

    def table(self, name, columns, values):
        file = os.path.join(self.folder, f"{name}.parquet")
        arrays = {key: pa.array(values[key], KINDS[kind]) for key, kind in columns.items()}
        pyarrow.parquet.write_table(pa.table(arrays), file)
        self.counts[name] = len(next(iter(arrays.values())))
        return file

    def nodes(self, label, count, columns=None, also=(), **values):
        """`also` are more labels, for databases that have them."""
        columns = {"id": "INT64", **(columns or {})}
        file = self.table(label, columns, {"id": np.arange(count), **values})
        self.nodes_of[label] = {"file": file, "columns": columns, "also": list(also)}

    def edges(self, kind, source, target, src, dst, columns=None, **values):
        columns = {"src": "INT64", "dst": "INT64", **(columns or {})}
        file = self.table(f"{source}_{kind}_{target}", columns, {"src": src, "dst": dst, **values})
        properties = {key: column for key, column in columns.items() if key not in ("src", "dst")}
        self.edges_of.append({"type": kind, "source": source, "target": target, "file": file, "columns": properties})

    def finish(self, parameters):
        described = {"nodes": self.nodes_of, "edges": self.edges_of, "counts": self.counts, "parameters": parameters}
        with open(os.path.join(self.folder, "graph.json"), "w") as file:
            json.dump(described, file)


def described(write, folder, *arguments):
    """The description of a graph, which is written first if it is not there."""
    path = os.path.join(folder, "graph.json")
    if not os.path.exists(path):
        write(folder, *arguments)
    with open(path) as file:
        return json.load(file)


def zipf(rng, count, draws, exponent, shift):
    """Draws from 0..count-1 with weights 1 / (rank + shift) ** exponent; who has which rank is random."""
    cumulated = np.cumsum(1 / (np.arange(count) + shift) ** exponent)
    return rng.permutation(count)[np.searchsorted(cumulated, rng.random(draws) * cumulated[-1])]


def lognormal(rng, count, draws):
    """Draws from 0..count-1 with weights that are lognormal."""
    cumulated = np.cumsum(rng.lognormal(0, 1, count))
    return np.searchsorted(cumulated, rng.random(draws) * cumulated[-1]).clip(0, count - 1)


def pairs(rng, draw, wanted, width):
    """So many different pairs of different ends, in random order; `draw` makes pairs."""
    keys = np.empty(0, np.int64)
    while len(keys) < wanted:
        source, target = draw(wanted)
        fresh = (source.astype(np.int64) * width + target)[source != target]
        keys = np.unique(np.concatenate([keys, fresh]))
    keys = rng.permutation(keys)[:wanted]
    return keys // width, keys % width
