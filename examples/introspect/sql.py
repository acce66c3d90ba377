"""A graph in a relational database as a subject of `knot introspect`: SQLite, DuckDB or PostgreSQL.

    knot generate barabasi --nodes 100k -o graph
    knot introspect "subject: python3 examples/introspect/sql.py sqlite graph.db graph" --quick

The arguments are `sqlite FILE`, `duckdb FILE` (with the package duckdb) or `postgresql URL` (with psycopg), and the folder of
files that the graph is made of where it is not there yet. Two tables, with the indexes that both directions need:

    node (id, age, name)    edge (id, source, target, time)
"""

import csv
import os
import random
import re
import shutil
import sys
import tempfile
import time

from protocol import forget, serve, tables_of

NEIGHBORS = {
    "out": "SELECT target FROM edge WHERE source = {node}",
    "in": "SELECT source FROM edge WHERE target = {node}",
    # An edge from a node to itself is one neighbour.
    "both": "SELECT target FROM edge WHERE source = {node} "
            "UNION ALL SELECT source FROM edge WHERE target = {node} AND source <> {node}",
}
WITH_PROPERTY = {
    "out": "SELECT target, time FROM edge WHERE source = {node}",
    "in": "SELECT source, time FROM edge WHERE target = {node}",
}


def hops(direction, count):
    ends = {"out": [("source", "target")], "both": [("source", "target"), ("target", "source")]}[direction]
    edges = " UNION ALL ".join(f"SELECT {start} AS a, {end} AS b FROM edge" for start, end in ends)
    steps = " UNION ".join(
        [f"SELECT b, 1 FROM ({edges}) AS first WHERE a = {{node}}"]
        + [f"SELECT x{depth}.b, {depth} FROM " + " JOIN ".join(
            f"({edges}) AS x{at}" + (f" ON x{at - 1}.b = x{at}.a" if at > 1 else "") for at in range(1, depth + 1))
           + " WHERE x1.a = {node}" for depth in range(2, count + 1)])
    return f"SELECT DISTINCT b FROM ({steps}) AS reach WHERE b <> {{node}}"


#: Names as `knot introspect` has them, and a statement each: its rows are counted, its first column is summed.
READS = {
    "node by id": "SELECT id FROM node WHERE id = {node}",
    "node by key": "SELECT id FROM node WHERE id = {node}",
    "node property, integer": "SELECT age FROM node WHERE id = {node}",
    "node property, string": "SELECT name FROM node WHERE id = {node}",
    "edge by id": "SELECT source, target FROM edge WHERE id = {edge}",
    "edge property": "SELECT time FROM edge WHERE id = {edge}",
}
for direction, statement in NEIGHBORS.items():
    READS[f"neighbours {direction}"] = statement
    READS[f"first neighbour {direction}"] = f"{statement} LIMIT 1"
    READS[f"degree {direction}"] = f"SELECT count(*) FROM ({statement}) AS found"
for direction, statement in WITH_PROPERTY.items():
    READS[f"neighbours {direction} with property"] = statement
for direction in ("out", "both"):
    for count in (1, 2):
        READS[f"{count}-hop {direction}"] = hops(direction, count)
#: Statements that write, within a transaction that is not committed; `new` is a number that is free.
WRITES = {
    "add node": "INSERT INTO node VALUES ({new}, NULL, NULL)",
    "add edge": "INSERT INTO edge VALUES ({new}, {node}, {target}, NULL)",
    "set node property": "UPDATE node SET age = {target} WHERE id = {node}",
}
TABLES = ["CREATE TABLE node (id BIGINT PRIMARY KEY, age BIGINT, name TEXT)",
          "CREATE TABLE edge (id BIGINT PRIMARY KEY, source BIGINT, target BIGINT, time BIGINT)"]
INDEXES = ["CREATE INDEX edge_source ON edge (source, target)", "CREATE INDEX edge_target ON edge (target, source)"]
#: Edges that are put into new tables, as many as `knot introspect` takes, and those of one transaction.
INGEST_EDGES = 1_000_000
COMMIT_EDGES = 1_000


def columns(paths, *wanted):
    """The rows of files of `knot generate`, with the columns whose names begin so."""
    for path in paths:
        with open(path, newline="") as file:
            rows = csv.reader(file)
            head = next(rows)
            places = [next(at for at, name in enumerate(head) if name.startswith(start)) for start in wanted]
            for row in rows:
                yield [row[at] for at in places]


def remove_left_copies(folder):
    """Removes copies whose process was ended before it could."""
    for name in os.listdir(folder):
        made = re.fullmatch(r"introspect-(\d+)-\w+", name)
        if made and os.path.exists("/proc/self") and not os.path.exists(f"/proc/{made[1]}"):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


class Subject:
    """Answers questions, one method each. Each system says how it is opened, filled, copied and emptied of caches."""

    cold = "the database is closed, its file is dropped from the page cache, and it is opened anew"
    reads, writes, tables, indexes = READS, WRITES, TABLES, INDEXES
    begin = "BEGIN"

    def __init__(self, place, folder):
        self.place, self.new = place, 1 << 40
        if not self.is_there() and folder:
            nodes, edges = tables_of(folder)
            self.make(columns(nodes, "id", "age", "name"),
                      ([number, *row] for number, row in enumerate(columns(edges, ":START_ID", ":END_ID", "time"))))
        self.open()
        self.nodes, self.edges = self.counts()
        self.statements = {name: self.marked(text) for name, text in {**self.reads, **self.writes}.items()}

    def counts(self):
        return (self.value(f"SELECT count(*) FROM {table}") for table in ("node", "edge"))

    def marked(self, statement):
        """A statement with parameters as the driver has them."""
        return statement.format(**{name: self.mark.format(name) for name in ("node", "edge", "target", "new")})

    def execute(self, statement, parameters=()):
        return self.database.execute(statement, parameters)

    def used(self, statement, parameters):
        """Those parameters that a statement has; drivers refuse others."""
        return {name: value for name, value in parameters.items() if self.mark.format(name) in statement}

    def value(self, statement, **parameters):
        statement = self.marked(statement)
        row = self.execute(statement, self.used(statement, parameters)).fetchone()
        return row[0] if row else None

    def describe(self, _):
        return {"system": self.system, "version": self.version(), "place": self.shown(), "nodes": self.nodes,
                "edges": self.edges, "bytes": self.bytes(), "settings": {"driver": f"Python's {self.driver}"},
                "coldMethod": self.cold,
                "operations": [*self.reads, *self.writes, "commit", "ingest, bulk", "ingest, increment"]}

    def choose(self, question):
        draws = random.Random(question["seed"])
        below = min(question["within"] or self.nodes, self.nodes)
        # Generated nodes are numbered from 0 on, without gaps; so are edges.
        starts = []
        for _ in range(question["count"]):
            is_by_degree = question["choice"] == "by degree" and self.edges
            node = self.by_degree(draws) if is_by_degree else draws.randrange(below)
            edge = draws.randrange(self.edges) if self.edges else None
            starts.append({"node": node, "edge": edge, "target": draws.randrange(self.nodes), "key": node})
        return {"starts": starts}

    def by_degree(self, draws):
        """An end of an edge: a node is as likely as it has edges."""
        end = draws.choice(["source", "target"])
        return self.value(f"SELECT {end} FROM edge WHERE id = {{edge}}", edge=draws.randrange(self.edges))

    def perform(self, question):
        operation, start = question["operation"], question["start"]
        if operation.startswith("ingest"):
            return self.ingest(operation == "ingest, bulk")
        if operation == "commit" or operation in self.writes:
            return self.write(operation, start)
        statement = self.statements[operation]
        parameters = self.used(statement, start)
        before = time.perf_counter_ns()
        rows = self.execute(statement, parameters).fetchall()
        ns = time.perf_counter_ns() - before
        counts = {}
        if operation.startswith("neighbours"):
            counts = {"neighborhoods": 2 if "both" in operation else 1, "edges": len(rows)}
            counts["properties"] = len(rows) if operation.endswith("property") else 0
        checksum = sum(row[0] if isinstance(row[0], int) else 0 for row in rows) % 2**63
        return {"ns": ns, "rows": len(rows), "checksum": checksum, "counts": counts}

    def write(self, operation, start):
        self.new += 1
        statement = self.statements["add node" if operation == "commit" else operation]
        parameters = self.used(statement, {**start, "new": self.new})
        self.execute(self.begin)
        before = time.perf_counter_ns()
        self.execute(statement, parameters)
        if operation == "commit":
            before = time.perf_counter_ns()
            self.execute("COMMIT")
        ns = time.perf_counter_ns() - before
        if operation != "commit":
            self.execute("ROLLBACK")
        return {"ns": ns, "rows": 1}

    def copy(self, _):
        sample = self.sample()
        rows = [(number, *edge, 1) for number, edge in enumerate(sample)]
        self.bulk_rows = [row for row in rows if row[0] % 10 < 9]
        self.increment = [row for row in rows if row[0] % 10 == 9]
        self.node_rows = [(node, None, None) for node in sorted({end for edge in sample for end in edge})]
        self.use_copy()
        return {}

    def sample(self):
        return self.execute(f"SELECT source, target FROM edge LIMIT {INGEST_EDGES}").fetchall()

    def ingest(self, is_bulk):
        if is_bulk:
            self.empty()
            before = time.perf_counter_ns()
            self.fill(self.node_rows, self.bulk_rows)
            counts = {"uniqueNodes": len(self.node_rows), "edges": len(self.bulk_rows),
                      "properties": len(self.node_rows) + len(self.bulk_rows)}
        else:
            before = time.perf_counter_ns()
            pieces = range(0, len(self.increment), COMMIT_EDGES)
            for start in pieces:
                self.ingested(self.begin)
                self.put("edge", self.increment[start:start + COMMIT_EDGES])
                self.ingested("COMMIT")
            counts = {"edges": len(self.increment), "properties": len(self.increment), "passes": len(pieces)}
        return {"ns": time.perf_counter_ns() - before, "rows": counts["edges"], "counts": counts}

    def fill(self, nodes, edges):
        self.begin_ingest()
        self.put("node", nodes)
        self.put("edge", edges)
        self.end_ingest()

    def begin_ingest(self):
        self.ingested(self.begin)
        for statement in self.tables:
            self.ingested(statement)

    def end_ingest(self):
        for statement in self.indexes:
            self.ingested(statement)
        self.ingested("COMMIT")

    def warm(self, _):
        for table, column in (("node", "age"), ("edge", "time")):
            self.execute(f"SELECT count(*), max({column}) FROM {table}").fetchall()
        return {}

    def is_there(self):
        return os.path.exists(self.place)

    def shown(self):
        return self.place

    def bytes(self):
        return os.path.getsize(self.place)

    def cool(self, _):
        self.database.close()
        forget(self.place)
        self.open()
        return {}

    def make(self, nodes, edges):
        """Makes the database, under another name first: a load that is killed leaves none."""
        made = self.place + ".loading"
        if os.path.exists(made):
            os.remove(made)
        self.target = self.writable(made)
        self.fill(nodes, edges)
        self.target.close()
        os.rename(made, self.place)

    def use_copy(self):
        beside = os.path.dirname(os.path.abspath(self.place))
        remove_left_copies(beside)
        self.folder = tempfile.TemporaryDirectory(prefix=f"introspect-{os.getpid()}-", dir=beside)
        self.database.close()
        path = os.path.join(self.folder.name, "copy")
        shutil.copyfile(self.place, path)
        self.place, self.database, self.target = path, self.writable(path), None

    def empty(self):
        path = os.path.join(self.folder.name, "ingest")
        if self.target:
            self.target.close()
            os.remove(path)
        self.target = self.writable(path)

    def ingested(self, statement):
        self.target.execute(statement)


class Sqlite(Subject):
    system, driver, mark = "sqlite", "sqlite3", ":{}"

    def open(self):
        self.database = sqlite3.connect(f"file:{self.place}?mode=ro", uri=True)

    def version(self):
        return sqlite3.sqlite_version

    def writable(self, path):
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        return database

    def make(self, nodes, edges):
        super().make(nodes, edges)
        # The journal of its own would leave two files beside the database wherever it is read.
        database = sqlite3.connect(self.place)
        database.execute("PRAGMA journal_mode = DELETE")
        database.close()

    def put(self, table, rows):
        marks = "?, ?, ?" if table == "node" else "?, ?, ?, ?"
        self.target.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


class Duckdb(Subject):
    system, driver, mark = "duckdb", "duckdb", "${}"

    def open(self):
        self.database = duckdb.connect(self.place, read_only=True)

    def version(self):
        return duckdb.__version__

    def writable(self, path):
        return duckdb.connect(path)

    def put(self, table, rows):
        # Rows in a file, since the driver adds single ones slowly.
        with tempfile.NamedTemporaryFile("w", newline="", suffix=".csv") as file:
            csv.writer(file).writerows(rows)
            file.flush()
            self.target.execute(f"COPY {table} FROM '{file.name}' (HEADER false)")


class Postgresql(Subject):
    system, driver, mark = "postgresql", "psycopg", "%({})s"
    cold = "none: the caches of a server stay"

    def connect(self, schema="public"):
        database = psycopg.connect(self.place, autocommit=True)
        # A statement ends with the client that is ended because it took too long; older servers lack the setting.
        database.execute("SELECT set_config(name, '1000', false) FROM pg_settings WHERE name = 'client_connection_check_interval'")
        database.execute(f"SET search_path = {schema}")
        return database

    def is_there(self):
        with self.connect() as database:
            return database.execute("SELECT to_regclass('public.edge')").fetchone()[0] is not None

    def open(self):
        self.database = self.connect()

    def make(self, nodes, edges):
        self.target = self.connect()
        self.fill(nodes, edges)
        self.target.execute("VACUUM ANALYZE")
        self.target.close()

    def version(self):
        return self.value("SHOW server_version")

    def shown(self):
        info = self.database.info
        return f"{info.host}:{info.port}/{info.dbname}"

    def bytes(self):
        return self.value("SELECT pg_total_relation_size('node') + pg_total_relation_size('edge')")

    def cool(self, _):
        return {}

    def use_copy(self):
        self.names = f"introspect_copy_{os.getpid()}", f"introspect_ingest_{os.getpid()}"
        self.execute(f"CREATE SCHEMA {self.names[0]}")
        self.database, self.target = self.connect(self.names[0]), None
        # Indexes afterwards: entry by entry they take hours for a large graph.
        for table in ("node", "edge"):
            self.execute(f"CREATE TABLE {table} (LIKE public.{table} INCLUDING ALL EXCLUDING INDEXES)")
            self.execute(f"INSERT INTO {table} SELECT * FROM public.{table}")
            self.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (id)")
        for statement in self.indexes:
            self.execute(statement)

    def empty(self):
        self.target = self.target or self.connect(self.names[1])
        self.ingested(f"DROP SCHEMA IF EXISTS {self.names[1]} CASCADE")
        self.ingested(f"CREATE SCHEMA {self.names[1]}")

    def put(self, table, rows):
        with self.target.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row([None if value == "" else value for value in row])

    def close(self):
        if hasattr(self, "names"):
            for name in self.names:
                self.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


def main():
    systems = {"sqlite": ("sqlite3", Sqlite), "duckdb": ("duckdb", Duckdb), "postgresql": ("psycopg", Postgresql)}
    if len(sys.argv) < 3 or sys.argv[1] not in systems:
        sys.exit("usage: sql.py sqlite|duckdb|postgresql FILE|URL [FOLDER]")
    driver, subject = systems[sys.argv[1]]
    try:
        globals()[driver] = __import__(driver)
    except ImportError:
        sys.exit(f"the Python package {driver} is not installed: pip install {driver}")
    made = subject(sys.argv[2], (sys.argv[3:] or [None])[0])
    try:
        serve(made)
    finally:
        getattr(made, "close", lambda: None)()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
