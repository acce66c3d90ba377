"""The Python package beside LadybugDB and DuckDB: rows out, rows in, and how long a point query takes.

Usage: python benchmarks/python.py FOLDER [ROUNDS]. Prints the median of the rounds; systems take turns. What a system cannot
do is left out. Every answer is compared.
"""

import pathlib
import shutil
import statistics
import sys
import time

import numpy
import pandas
import polars
import pyarrow

ROWS = 1_000_000
EDGES = 1_000_000
NODES = 100_000
POINTS = 20_000


def people():
    ids = numpy.arange(ROWS)
    return pandas.DataFrame({"id": ids, "name": [f"person number {i}" for i in ids], "score": ids * 0.5})


def edges():
    random = numpy.random.default_rng(1)
    return pandas.DataFrame(
        {"source": random.integers(0, NODES, EDGES), "target": random.integers(0, NODES, EDGES), "weight": random.random(EDGES)}
    )


class Knotwork:
    name = "knotwork"

    def __init__(self, folder):
        import knotwork

        self.db = knotwork.connect(folder / "people.knot")

    def load_nodes(self, frame, label):
        self.db.load_nodes(frame, label=label, key="id")

    def load_edges(self, frame):
        self.db.load_edges(frame, type="Knows", source=("Small", "id"))

    def rows(self, kind):
        result = self.db.execute("MATCH (p:Person) RETURN p.id AS id, p.name AS name, p.score AS score")
        return getattr(result, f"to_{kind}")()

    def tuples(self):
        return self.db.execute("MATCH (p:Person) RETURN p.id AS id, p.name AS name, p.score AS score").fetchall()

    def point(self, id):
        return self.db.execute("MATCH (p:Person {id: $id}) RETURN p.name", {"id": id}).fetchone()[0]

    def close(self):
        self.db.close()


class Ladybug:
    name = "ladybug"

    def __init__(self, folder):
        import ladybug

        self.db = ladybug.Database(str(folder / "people.lbdb"))
        self.connection = ladybug.Connection(self.db)

    def load_nodes(self, frame, label):
        self.connection.execute(f"CREATE NODE TABLE {label}(id INT64, name STRING, score DOUBLE, PRIMARY KEY(id))")
        self.connection.execute(f"COPY {label} FROM frame")

    def load_edges(self, frame):
        self.connection.execute("CREATE REL TABLE Knows(FROM Small TO Small, weight DOUBLE)")
        self.connection.execute("COPY Knows FROM frame")

    def rows(self, kind):
        result = self.connection.execute("MATCH (p:Person) RETURN p.id AS id, p.name AS name, p.score AS score")
        return {"arrow": lambda: result.get_as_arrow(ROWS), "pandas": result.get_as_df, "polars": result.get_as_pl}[kind]()

    def tuples(self):
        return self.connection.execute("MATCH (p:Person) RETURN p.id AS id, p.name AS name, p.score AS score").get_all()

    def point(self, id):
        return self.connection.execute("MATCH (p:Person {id: $id}) RETURN p.name", {"id": id}).get_next()[0]

    def close(self):
        self.connection.close()
        self.db.close()


class DuckDb:
    name = "duckdb"

    def __init__(self, folder):
        import duckdb

        self.db = duckdb.connect(str(folder / "people.duckdb"))

    def load_nodes(self, frame, label):
        self.db.execute(f"CREATE TABLE {label}(id BIGINT PRIMARY KEY, name VARCHAR, score DOUBLE)")
        self.db.execute(f"INSERT INTO {label} SELECT * FROM frame")

    def load_edges(self, frame):
        # A table has no ends to be found; what is compared is that every one is there.
        self.db.execute("CREATE TABLE knows(source BIGINT REFERENCES Small(id), target BIGINT REFERENCES Small(id), weight DOUBLE)")
        self.db.execute("INSERT INTO knows SELECT * FROM frame")

    def rows(self, kind):
        result = self.db.sql("SELECT id, name, score FROM Person")
        if kind == "pandas":
            return result.df()
        found = result.to_arrow_table()
        return found if kind == "arrow" else polars.from_arrow(found)

    def tuples(self):
        return self.db.execute("SELECT id, name, score FROM Person").fetchall()

    def point(self, id):
        return self.db.execute("SELECT name FROM Person WHERE id = $id", {"id": id}).fetchone()[0]

    def close(self):
        self.db.close()


def timed(call, *arguments):
    start = time.perf_counter()
    result = call(*arguments)
    return result, time.perf_counter() - start


def one_round(system, folder, nodes, knows):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    times = {}
    open_system = system(folder)
    _, times["nodes from pandas (s)"] = timed(open_system.load_nodes, nodes, "Person")
    open_system.load_nodes(nodes[:NODES], "Small")
    _, times["edges from pandas (s)"] = timed(open_system.load_edges, knows)
    for kind in ("arrow", "pandas", "polars"):
        open_system.rows(kind)
        found, times[f"rows to {kind} (s)"] = timed(open_system.rows, kind)
        count = found.num_rows if kind == "arrow" else len(found)
        total = found["id"].to_pandas().sum() if kind == "arrow" else found["id"].sum()
        assert (count, int(total)) == (ROWS, ROWS * (ROWS - 1) // 2), (system.name, kind, count, total)
    found, times["rows to Python objects (s)"] = timed(open_system.tuples)
    assert len(found) == ROWS
    for id in range(200):
        assert open_system.point(id) == f"person number {id}"
    _, seconds = timed(lambda: [open_system.point(id * 37 % ROWS) for id in range(POINTS)])
    times["point query (us)"] = seconds / POINTS * 1e6
    open_system.close()
    shutil.rmtree(folder, ignore_errors=True)
    return times


def main():
    folder = pathlib.Path(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    nodes, knows = people(), edges()
    systems = [Knotwork, Ladybug, DuckDb]
    found = {system.name: [] for system in systems}
    for round in range(rounds):
        for system in systems if round % 2 == 0 else reversed(systems):
            found[system.name].append(one_round(system, folder / system.name, nodes, knows))
    print(f"{ROWS:,} rows of an id, a text and a float; {EDGES:,} edges between {NODES:,} nodes; median of {rounds}; pyarrow {pyarrow.__version__}")
    print(f"| {'':28} | " + " | ".join(f"{system.name:>9}" for system in systems) + " |")
    print("|---" * (len(systems) + 1) + "|")
    for name in found["knotwork"][0]:
        cells = [statistics.median(times[name] for times in found[system.name]) for system in systems]
        print(f"| {name:28} | " + " | ".join(f"{cell:9.3f}" if "(s)" in name else f"{cell:9.1f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
