"""Writes a seeded Kronecker graph: kronecker.py SCALE EDGE_FACTOR FOLDER.

R-MAT with a=.57 b=.19 c=.19, ids shuffled, duplicates and self-loops kept; edges have an integer `time` and a float
`weight`, nodes an integer `val`. Beside the graph as Parquet and CSV: `queries.json` with seeded start nodes.
"""
import json
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

CHUNK = 1 << 22
A, B, C = 0.57, 0.19, 0.19


def edges(scale, count, rng):
    """Source and target of each edge: one quadrant a bit, most significant first."""
    source = np.empty(count, np.uint32)
    target = np.empty(count, np.uint32)
    shuffle = rng.permutation(1 << scale).astype(np.uint32)
    for low in range(0, count, CHUNK):
        size = min(CHUNK, count - low)
        s = np.zeros(size, np.uint32)
        t = np.zeros(size, np.uint32)
        for _ in range(scale):
            draw = rng.random(size, dtype=np.float32)
            below = draw >= A + B
            right = ((draw >= A) & (draw < A + B)) | (draw >= A + B + C)
            s = (s << 1) | below
            t = (t << 1) | right
        source[low : low + size] = shuffle[s]
        target[low : low + size] = shuffle[t]
    return source, target


def main(scale, factor, folder):
    os.makedirs(folder, exist_ok=True)
    rng = np.random.Generator(np.random.PCG64(42))
    nodes = 1 << scale
    source, target = edges(scale, nodes * factor, rng)
    table = pa.table({
        "src": source.astype(np.int64),
        "dst": target.astype(np.int64),
        "time": rng.integers(1_500_000_000, 1_600_000_000, len(source), dtype=np.int32),
        "weight": (1.0 - rng.random(len(source), dtype=np.float32)).astype(np.float32),
    })
    pyarrow.parquet.write_table(table, f"{folder}/edges.parquet", compression="none", use_dictionary=False)
    pyarrow.csv.write_csv(table, f"{folder}/edges.csv")
    values = rng.integers(0, 1 << 30, nodes, dtype=np.int64)
    table = pa.table({"id": np.arange(nodes, dtype=np.int64), "val": values})
    pyarrow.parquet.write_table(table, f"{folder}/nodes.parquet", compression="none", use_dictionary=False)
    pyarrow.csv.write_csv(table, f"{folder}/nodes.csv")

    degree = np.bincount(source, minlength=nodes)
    starts = np.flatnonzero(degree > 0)
    pick = np.random.Generator(np.random.PCG64(7))
    queries = {
        "nodes": nodes,
        "edges": len(source),
        "one_hop": pick.choice(starts, 10_000).tolist(),
        "friends": pick.choice(starts, 1_000).tolist(),
    }
    with open(f"{folder}/queries.json", "w") as file:
        json.dump(queries, file)
    print(f"{folder}: {nodes:,} nodes, {len(source):,} edges")


def write(folder, scale):
    """The graph with a description of its tables, for cypher.py."""
    main(scale, 16, folder)
    with open(f"{folder}/queries.json") as file:
        given = json.load(file)
    nodes, count = given.pop("nodes"), given.pop("edges")
    pick = np.random.Generator(np.random.PCG64(9))
    ends = pick.choice(given["one_hop"], (500, 2))
    columns = {"time": "INT32", "weight": "FLOAT"}
    described = {
        "nodes": {"V": {"file": f"{folder}/nodes.parquet", "columns": {"id": "INT64", "val": "INT64"}, "also": []}},
        "edges": [{"type": "E", "source": "V", "target": "V", "file": f"{folder}/edges.parquet", "columns": columns}],
        "counts": {"V": nodes, "E": count},
        "parameters": {**given, "pairs": ends.tolist()},
    }
    with open(f"{folder}/graph.json", "w") as file:
        json.dump(described, file)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
