"""A graph in SQLite as a subject of `knot introspect`: it speaks JSON lines (docs/introspect.md) and measures each call itself.

    knot generate barabasi --nodes 100k -o graph
    knot introspect "subject: python3 examples/introspect_sqlite.py graph.db graph" --quick

The first argument is the database; it is made of the folder of CSV files, the second argument, where it is not there.
Copy this file for another system: `OPERATIONS` has what it can do.
"""

import csv
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time

NEIGHBORS = {
    "out": "SELECT target FROM edge WHERE source = :node",
    "in": "SELECT source FROM edge WHERE target = :node",
    "both": "SELECT target FROM edge WHERE source = :node UNION ALL SELECT source FROM edge WHERE target = :node",
}
WITH_PROPERTY = {
    "out": "SELECT target, time FROM edge WHERE source = :node",
    "in": "SELECT source, time FROM edge WHERE target = :node",
}


def hops(direction, count):
    step = {
        "out": "SELECT target, depth + 1 FROM reach JOIN edge ON source = node WHERE depth < {0}",
        "both": "SELECT target, depth + 1 FROM reach JOIN edge ON source = node WHERE depth < {0} "
                "UNION SELECT source, depth + 1 FROM reach JOIN edge ON target = node WHERE depth < {0}",
    }[direction].format(count)
    return (f"WITH RECURSIVE reach(node, depth) AS (SELECT :node, 0 UNION {step}) "
            "SELECT DISTINCT node FROM reach WHERE node <> :node")


# Names as `knot introspect` has them, and a statement each: its rows are counted, its first column is summed.
OPERATIONS = {
    "node by id": "SELECT rowid FROM node WHERE id = :node",
    "node by key": "SELECT id FROM node WHERE id = :key",
    "node property, integer": "SELECT age FROM node WHERE id = :node",
    "node property, string": "SELECT name FROM node WHERE id = :node",
    "edge by id": "SELECT source, target FROM edge WHERE rowid = :edge",
    "edge property": "SELECT time FROM edge WHERE rowid = :edge",
}
# Statements that write, within a transaction that is not committed.
WRITES = {
    "add node": "INSERT INTO node (id, age, name) VALUES ((SELECT max(id) + 1 FROM node), NULL, NULL)",
    "add edge": "INSERT INTO edge VALUES (:node, :target, NULL)",
    "set node property": "UPDATE node SET age = :target WHERE id = :node",
}
# Edges that are put into a new database, as many as `knot introspect` takes, and those of one transaction.
INGEST_EDGES = 1_000_000
COMMIT_EDGES = 1_000
for direction, statement in NEIGHBORS.items():
    OPERATIONS[f"neighbours {direction}"] = statement
    OPERATIONS[f"first neighbour {direction}"] = f"{statement} LIMIT 1"
    OPERATIONS[f"degree {direction}"] = f"SELECT count(*) FROM ({statement})"
for direction, statement in WITH_PROPERTY.items():
    OPERATIONS[f"neighbours {direction} with property"] = statement
for direction in ("out", "both"):
    for count in (1, 2):
        OPERATIONS[f"{count}-hop {direction}"] = hops(direction, count)


def columns(file, *wanted):
    """The rows of a file of `knot generate`, with the columns whose names begin so."""
    rows = csv.reader(file)
    head = next(rows)
    places = [next(at for at, name in enumerate(head) if name.startswith(start)) for start in wanted]
    return ([row[at] for at in places] for row in rows)


def tables(database):
    database.execute("CREATE TABLE node (id INTEGER PRIMARY KEY, age INTEGER, name TEXT)")
    database.execute("CREATE TABLE edge (source INTEGER, target INTEGER, time INTEGER)")


def indexes(database):
    database.execute("CREATE INDEX edge_source ON edge (source, target)")
    database.execute("CREATE INDEX edge_target ON edge (target, source)")


def load(path, folder):
    """Makes the database of the files of `knot generate`, under another name first: a load that is killed leaves none."""
    made = path + ".loading"
    if os.path.exists(made):
        os.remove(made)
    database = sqlite3.connect(made)
    tables(database)
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), newline="") as file:
            if name.startswith("nodes-"):
                database.executemany("INSERT INTO node VALUES (?, ?, ?)", columns(file, "id", "age", "name"))
            elif name.startswith("edges-"):
                database.executemany("INSERT INTO edge VALUES (?, ?, ?)", columns(file, ":START_ID", ":END_ID", "time"))
    indexes(database)
    database.commit()
    database.close()
    os.rename(made, path)


class Subject:
    """Answers questions, one method each."""

    def __init__(self, path):
        self.path = path
        self.open()
        self.nodes = self.value("SELECT count(*) FROM node")
        self.edges = self.value("SELECT count(*) FROM edge")

    def open(self):
        self.database = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)

    def value(self, statement, **parameters):
        row = self.database.execute(statement, parameters).fetchone()
        return row[0] if row else None

    def describe(self, _):
        return {
            "system": "sqlite", "version": sqlite3.sqlite_version, "place": self.path, "nodes": self.nodes,
            "edges": self.edges, "bytes": os.path.getsize(self.path), "settings": {"driver": "Python's sqlite3"},
            "coldMethod": "the database is closed, its file is dropped from the page cache, and it is opened anew",
            "operations": [*OPERATIONS, *WRITES, "commit", "ingest, bulk", "ingest, increment"],
        }

    def choose(self, question):
        draws = random.Random(question["seed"])
        below = min(question["within"] or self.nodes, self.nodes)
        starts = []
        for _ in range(question["count"]):
            if question["choice"] == "by degree" and self.edges:
                edge = draws.randrange(self.edges) + 1
                node = self.value("SELECT " + draws.choice(["source", "target"]) + " FROM edge WHERE rowid = :e", e=edge)
            else:
                node = self.value("SELECT id FROM node LIMIT 1 OFFSET :n", n=draws.randrange(below))
            edge = self.value("SELECT rowid FROM edge WHERE source = :n LIMIT 1", n=node)
            target = self.value("SELECT id FROM node LIMIT 1 OFFSET :n", n=draws.randrange(self.nodes))
            starts.append({"node": node, "edge": edge, "target": target, "key": node})
        return {"starts": starts}

    def perform(self, question):
        if question["operation"].startswith("ingest"):
            return self.ingest(question["operation"] == "ingest, bulk")
        if question["operation"] not in OPERATIONS:
            return self.write(question["operation"], question["start"])
        start, statement = question["start"], OPERATIONS[question["operation"]]
        parameters = {"node": start["node"], "key": start["key"], "edge": start["edge"]}
        before = time.perf_counter_ns()
        rows = self.database.execute(statement, parameters).fetchall()
        ns = time.perf_counter_ns() - before
        counts = {}
        if question["operation"].startswith("neighbours"):
            counts = {"neighborhoods": 1, "edges": len(rows)}
        checksum = sum(row[0] if isinstance(row[0], int) else 0 for row in rows) % 2**63
        return {"ns": ns, "rows": len(rows), "checksum": checksum, "counts": counts}

    def copy(self, _):
        """Writes go to a copy, in the form in which SQLite is fast and durable."""
        self.folder = tempfile.TemporaryDirectory(prefix="introspect-", dir=os.path.dirname(os.path.abspath(self.path)))
        self.sample = self.database.execute(f"SELECT source, target FROM edge LIMIT {INGEST_EDGES}").fetchall()
        path = os.path.join(self.folder.name, "copy.db")
        shutil.copyfile(self.path, path)
        self.database.close()
        self.path = path
        self.database = self.writable(path)
        return {}

    def writable(self, path):
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        return database

    def write(self, operation, start):
        parameters = {"node": start["node"], "target": start["target"]}
        self.database.execute("BEGIN")
        if operation == "commit":
            self.database.execute(WRITES["add node"])
        before = time.perf_counter_ns()
        self.database.execute("COMMIT" if operation == "commit" else WRITES[operation], parameters)
        ns = time.perf_counter_ns() - before
        if operation != "commit":
            self.database.execute("ROLLBACK")
        return {"ns": ns, "rows": 1}

    def ingest(self, is_bulk):
        path = os.path.join(self.folder.name, "ingest.db")
        bulk = [(*edge, 1) for place, edge in enumerate(self.sample) if place % 10 < 9]
        increment = [(*edge, 1) for place, edge in enumerate(self.sample) if place % 10 == 9]
        nodes = sorted({end for edge in self.sample for end in edge})
        add = "INSERT INTO edge VALUES (?, ?, ?)"
        if is_bulk:
            if os.path.exists(path):
                self.ingested.close()
                os.unlink(path)
            before = time.perf_counter_ns()
            self.ingested = self.writable(path)
            tables(self.ingested)
            self.ingested.execute("BEGIN")
            self.ingested.executemany("INSERT INTO node VALUES (?, NULL, NULL)", [(node,) for node in nodes])
            self.ingested.executemany(add, bulk)
            indexes(self.ingested)
            self.ingested.execute("COMMIT")
            counts = {"uniqueNodes": len(nodes), "edges": len(bulk), "properties": len(nodes) + len(bulk)}
        else:
            before = time.perf_counter_ns()
            pieces = range(0, len(increment), COMMIT_EDGES)
            for start in pieces:
                self.ingested.execute("BEGIN")
                self.ingested.executemany(add, increment[start:start + COMMIT_EDGES])
                self.ingested.execute("COMMIT")
            counts = {"edges": len(increment), "properties": len(increment), "passes": len(pieces)}
        return {"ns": time.perf_counter_ns() - before, "rows": counts["edges"], "counts": counts}

    def cool(self, _):
        self.database.close()
        file = os.open(self.path, os.O_RDONLY)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
        self.open()
        return {}

    def warm(self, _):
        for table in ("node", "edge"):
            self.database.execute(f"SELECT count(*), max(rowid) FROM {table}").fetchall()
        return {}


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: introspect_sqlite.py DATABASE [FOLDER]")
    path, folder = sys.argv[1], (sys.argv[2:] or [None])[0]
    if not os.path.exists(path) and folder:
        load(path, folder)
    subject = Subject(path)
    for line in sys.stdin:
        question = json.loads(line)
        if question["ask"] == "close":
            break
        try:
            answer = getattr(subject, question["ask"])(question)
        except Exception as failure:
            answer = {"error": f"{type(failure).__name__}: {failure}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
