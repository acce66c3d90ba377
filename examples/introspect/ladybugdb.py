"""A graph in LadybugDB as a subject of `knot introspect`, by its Python package.

    knot generate barabasi --nodes 100k -o graph
    knot introspect "subject: python3 examples/introspect/ladybugdb.py graph.lbug graph" --quick

The arguments are the database, and the folder of files that it is made of where it is not there yet.
"""

import csv
import sys
import tempfile
import warnings

from protocol import serve
from sql import INGEST_EDGES, Subject

ARROWS = {"out": "-[{}]->", "in": "<-[{}]-", "both": "-[{}]-"}
START = "MATCH (n:Node {{id: {node}}})"
READS = {
    "node by id": f"{START} RETURN n.id",
    "node by key": f"{START} RETURN n.id",
    "node property, integer": f"{START} RETURN n.age",
    "node property, string": f"{START} RETURN n.name",
    "empty statement": "RETURN 1",
}
for direction, arrow in ARROWS.items():
    found = START + arrow.format("e:LINK") + "(b:Node)"
    READS[f"neighbours {direction}"] = f"{found} RETURN b.id"
    READS[f"first neighbour {direction}"] = f"{found} RETURN b.id LIMIT 1"
    READS[f"degree {direction}"] = f"{found} RETURN count(*)"
    READS[f"neighbours {direction} with property"] = f"{found} RETURN b.id, e.time"
for direction in ("out", "both"):
    for count in (1, 2, 3):
        within = ARROWS[direction].format(f":LINK*1..{count}")
        READS[f"{count}-hop {direction}"] = f"{START}{within}(b:Node) WHERE b.id <> {{node}} RETURN DISTINCT b.id"
WRITES = {
    "add node": "CREATE (:Node {{id: {new}}})",
    "add edge": "MATCH (a:Node {{id: {node}}}), (b:Node {{id: {target}}}) CREATE (a)-[:LINK]->(b)",
    "set node property": f"{START} SET n.age = {{target}}",
}
#: Nodes of which one is chosen by its degree.
CANDIDATES = 16


class Rows:
    """A result as those of other drivers are."""

    def __init__(self, result):
        self.result = result

    def fetchone(self):
        return self.result.get_next() if self.result.has_next() else None

    def fetchall(self):
        return self.result.get_all()


class Ladybug(Subject):
    system, driver, mark, begin = "ladybug", "ladybug", "${}", "BEGIN TRANSACTION"
    reads, writes, indexes = READS, WRITES, []
    tables = ["CREATE NODE TABLE Node(id INT64 PRIMARY KEY, age INT64, name STRING)",
              "CREATE REL TABLE LINK(FROM Node TO Node, time INT64)"]

    def connect(self, path, is_read_only):
        return ladybug.Connection(ladybug.Database(path, read_only=is_read_only), num_threads=2)

    def open(self):
        self.prepared = {}
        self.database = self.connect(self.place, True)

    def execute(self, statement, parameters=()):
        if not parameters:
            return Rows(self.database.execute(statement))
        if statement not in self.prepared:
            self.prepared[statement] = self.database.prepare(statement)
        return Rows(self.database.execute(self.prepared[statement], parameters))

    def counts(self):
        return self.value("MATCH (n:Node) RETURN count(*)"), self.value("MATCH (:Node)-[e:LINK]->(:Node) RETURN count(*)")

    def version(self):
        return ladybug.__version__

    def by_degree(self, draws):
        nodes = [draws.randrange(self.nodes) for _ in range(CANDIDATES)]
        degrees = [self.value(READS["degree both"], node=node) for node in nodes]
        return draws.choices(nodes, degrees)[0] if any(degrees) else nodes[0]

    def warm(self, _):
        for statement in ("MATCH (n:Node) RETURN max(n.age)", "MATCH (:Node)-[e:LINK]->(:Node) RETURN max(e.time)"):
            self.execute(statement).fetchall()
        return {}

    def sample(self):
        ends = f"MATCH (a:Node)-[:LINK]->(b:Node) RETURN a.id, b.id LIMIT {INGEST_EDGES}"
        return self.execute(ends).fetchall()

    def writable(self, path):
        self.prepared = {}
        return self.connect(path, False)

    def use_copy(self):
        super().use_copy()
        self.prepared = {}

    def begin_ingest(self):
        for statement in self.tables:
            self.ingested(statement)

    def end_ingest(self):
        self.ingested("CHECKPOINT")

    def put(self, table, rows):
        with tempfile.NamedTemporaryFile("w", newline="", suffix=".csv") as file:
            csv.writer(file).writerows(row if table == "node" else row[1:] for row in rows)
            file.flush()
            self.ingested(f"COPY {'Node' if table == 'node' else 'LINK'} FROM '{file.name}' (HEADER=false)")


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: ladybugdb.py DATABASE [FOLDER]")
    try:
        globals()["ladybug"] = __import__("ladybug")
    except ImportError:
        sys.exit("the Python package ladybug is not installed: pip install ladybug")
    # Statements that are prepared once are the faster ones.
    warnings.simplefilter("ignore", DeprecationWarning)
    serve(Ladybug(sys.argv[1], (sys.argv[2:] or [None])[0]))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
