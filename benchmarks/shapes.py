"""Generated shapes of queries beside peers: shapes.py FOLDER [social kronecker flights].

A seeded grammar makes rows of one to four relationships, with directions, conditions on nodes, EXISTS and NOT EXISTS at any
place, from all nodes, a few or one, and counts, sums, groups or makes distinct what they lead to; then nodes that a path of a
variable length joins, and paths of a fixed length. Each stands beside the SQL that says the same, and rows of relationships also
beside the Cypher of peers that match walks: there it says which relationships differ. Every answer is compared; the time of a
peer with another answer does not count.
Printed are the distribution of the ratios (ours / best peer) and the ten worst.

QUERIES (70, and a seventh of them of paths) for each graph, SEED (1), PEERS (duckdb,ladybug,neug), SECONDS (20) the time of a series,
SIZE (large) of the graphs: middle, or small, which take seconds to make and to ask. KNOT and RUNNER name the programs, as for cypher.py.
"""
import os
import random
import sys
from dataclasses import dataclass

import cypher
import kronecker
from cypher import percentile
from graphs import flights, social
from peers import remove
from suites import Query, Suite

QUERIES = int(os.environ.get("QUERIES", 70))
SEED = int(os.environ.get("SEED", 1))
PEERS = os.environ.get("PEERS", "duckdb,ladybug,neug").split(",")
SIZE = os.environ.get("SIZE", "large")
#: Persons, their friendships, companies; scale of the Kronecker graph; flights.
SIZES = {
    "small": ((2_000, 20_000, 100), 10, 20_000),
    "middle": ((20_000, 400_000, 1_000), 13, 200_000),
    "large": ((100_000, 5_000_000, 10_000), 16, 1_000_000),
}
#: The first is left out of the figures.
ROUNDS = ("first", "second", "third", "fourth")


@dataclass
class Edges:
    """A type of relationship, and the labels it joins."""

    type: str
    source: str
    target: str


@dataclass
class Shape:
    """A graph: its relationships, what conditions are made of, and how many nodes there are."""

    edges: list
    #: By label: a column, and how to draw conditions (operator and value) on it.
    columns: dict
    counts: dict
    #: Numbers of relationships in a row: few where nodes have many.
    hops: list


class Row:
    """A row of relationships in both languages."""

    def __init__(self, rng, shape, hops):
        self.rng, self.shape = rng, shape
        self.labels, self.hops = [rng.choice(sorted({edges.source for edges in shape.edges}))], []
        self.conditions, self.parameters = [], {}
        for _ in range(hops):
            self.add_hop()
        self.add_conditions()

    def add_hop(self):
        at = self.labels[-1]
        # Mostly those within one label: such relationships could come twice in a row, and must not.
        fits = [edges for edges in self.shape.edges if at in (edges.source, edges.target)]
        inner = [edges for edges in fits if edges.source == edges.target]
        edges = self.rng.choice(inner if inner and self.rng.random() < 0.8 else fits)
        if edges.source == edges.target:
            way = self.rng.choice(["out", "out", "in", "both"])
        else:
            way = "out" if edges.source == at else "in"
        self.hops.append((edges, way))
        self.labels.append(edges.target if way == "out" else edges.source if way == "in" else at)

    def add_conditions(self):
        if len(self.hops) > 2 or self.rng.random() < 0.5:
            # Long rows start at one node, or at a few.
            key = self.rng.randrange(self.shape.counts[self.labels[0]])
            width = 1 if len(self.hops) > 2 or self.rng.random() < 0.5 else 20
            self.condition(0, f"{{0}}.id >= {key} AND {{0}}.id < {key + width}" if width > 1 else f"{{0}}.id = {key}")
        for node, label in enumerate(self.labels):
            if self.rng.random() < 0.3 and label in self.shape.columns:
                column, draw = self.shape.columns[label]
                self.condition(node, f"{{0}}.{column} {draw(self.rng)}")
            if self.rng.random() < 0.15:
                self.add_exists(node, label)

    def condition(self, node, text):
        text = text.format(f"n{node}")
        self.conditions.append((text, text))

    def add_exists(self, node, label):
        edges = self.rng.choice([edges for edges in self.shape.edges if label in (edges.source, edges.target)])
        forth = edges.source == label
        near, far = ("src", "dst") if forth else ("dst", "src")
        left, right = ("-", "->") if forth else ("<-", "-")
        other = edges.target if forth else edges.source
        inner, joined = "", ""
        if other in self.shape.columns and self.rng.random() < 0.5:
            column, draw = self.shape.columns[other]
            text = f"o.{column} {draw(self.rng)}"
            inner, joined = f" WHERE {text}", f" AND EXISTS (SELECT 1 FROM {other} o WHERE o.id = x.{far} AND {text})"
        word = self.rng.choice(["", "NOT "])
        self.conditions.append((
            f"{word}EXISTS {{ MATCH (n{node}){left}[:{edges.type}]{right}(o:{other}){inner} }}",
            f"{word}EXISTS (SELECT 1 FROM {edges.type} x WHERE x.{near} = n{node}.id{joined})"))

    def match(self, as_walk=False):
        text = f"(n0:{self.labels[0]})"
        for number, (edges, way) in enumerate(self.hops, 1):
            left, right = {"out": ("-", "->"), "in": ("<-", "-"), "both": ("-", "-")}[way]
            text += f"{left}[{f'e{number}' if as_walk else ''}:{edges.type}]{right}(n{number}:{self.labels[number]})"
        conditions = [ours for ours, _ in self.conditions]
        if as_walk:
            conditions += [f"id(e{a}) <> id(e{b})" for a, b in self.same_type()]
        return f"MATCH {text}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")

    def same_type(self):
        """Pairs of hops that could be one relationship."""
        hops = range(1, len(self.hops) + 1)
        return [(a, b) for b in hops for a in range(1, b) if self.hops[a - 1][0].type == self.hops[b - 1][0].type]

    def source(self):
        """What SQL selects from."""
        tables, conditions = [f"{self.labels[0]} n0"], [sql for _, sql in self.conditions]
        for number, (edges, way) in enumerate(self.hops, 1):
            out = f"SELECT rowid AS r, src AS a, dst AS b FROM {edges.type}"
            back = f"SELECT rowid AS r, dst AS a, src AS b FROM {edges.type}"
            # A loop is met once.
            walked = {"out": out, "in": back, "both": f"{out} UNION ALL {back} WHERE src <> dst"}[way]
            tables.append(f"JOIN ({walked}) e{number} ON e{number}.a = n{number - 1}.id")
            tables.append(f"JOIN {self.labels[number]} n{number} ON n{number}.id = e{number}.b")
        conditions += [f"e{a}.r <> e{b}.r" for a, b in self.same_type()]
        return f"FROM {' '.join(tables)}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")

    def query(self, number):
        end = len(self.hops)
        node = self.rng.choice([0, end, self.rng.randrange(end + 1)])
        kinds = ["count", "count", "distinct", "distinct id", "group", "exists"]
        numbers = [at for at, label in enumerate(self.labels) if label in self.shape.columns]
        kind = self.rng.choice(kinds + (["sum", "group by property"] if numbers else []))
        if kind in ("sum", "group by property"):
            node = self.rng.choice(numbers)
        column = self.shape.columns.get(self.labels[node], ("id",))[0]
        ours, theirs = {
            "count": ("count(*)", "count(*)"),
            "distinct": (f"count(DISTINCT n{node})", f"count(DISTINCT n{node}.id)"),
            "distinct id": (f"count(DISTINCT n{node}.id)", f"count(DISTINCT n{node}.id)"),
            "sum": (f"sum(n{node}.{column}), min(n{node}.{column})", None),
            "group": (f"n{node}.id AS k, count(*) AS c ORDER BY c DESC, k LIMIT 10", f"n{node}.id AS k, count(*) AS c"),
            "group by property": (f"n{node}.{column} AS k, count(*) AS c ORDER BY k", f"n{node}.{column} AS k, count(*) AS c"),
            "exists": (f"DISTINCT n{node}.id AS k ORDER BY k LIMIT 10", f"DISTINCT n{node}.id AS k"),
        }[kind]
        tail = {
            "group": "GROUP BY k ORDER BY c DESC, k LIMIT 10", "group by property": "GROUP BY k ORDER BY k",
            "exists": "ORDER BY k LIMIT 10",
        }.get(kind, "")
        if kind == "sum":
            theirs = f"coalesce(CAST(sum(n{node}.{column}) AS BIGINT), 0), min(n{node}.{column})"
        text = f"{self.match()} RETURN {ours}"
        sql = f"SELECT {theirs} {self.source()} {tail}".strip()
        walked = f"{self.match(as_walk=True)} RETURN {ours}"
        # A sum is of 128 bits there, which Python gets as a string.
        narrow = walked.replace(f"sum(n{node}.{column})", f"CAST(sum(n{node}.{column}) AS INT64)")
        return Query(f"{number}: {kind}, {end} hops", {"knotwork": text, "duckdb": sql, "ladybug": narrow, "neug": walked})


def joined(rng, shape, number):
    """Pairs of nodes that a path of a variable length joins, or does not."""
    edges = rng.choice([edges for edges in shape.edges if edges.source == edges.target])
    label, longest, width = edges.source, rng.randint(2, 4), rng.choice([1, 5, 20])
    first = rng.randrange(shape.counts[label])
    starts = lambda node: f"{node}.id >= {first} AND {node}.id < {first + width}"
    word = rng.choice(["", "NOT "])
    text = (f"MATCH (n0:{label}), (n1:{label}) WHERE {starts('n0')} AND "
            f"{word}EXISTS {{ (n0)-[:{edges.type}*1..{longest}]->(n1) }} RETURN count(*)")
    sql = (f"WITH RECURSIVE w(s, n, d) AS (SELECT id, id, 0 FROM {label} n0 WHERE {starts('n0')} UNION "
           f"SELECT w.s, e.dst, w.d + 1 FROM w JOIN {edges.type} e ON e.src = w.n WHERE w.d < {longest}) "
           f"SELECT count(*) FROM {label} n0, {label} n1 WHERE {starts('n0')} AND "
           f"{word}EXISTS (SELECT 1 FROM w WHERE w.d > 0 AND w.s = n0.id AND w.n = n1.id)")
    return Query(f"{number}: {'not ' if word else ''}joined, 1 to {longest} hops", {"knotwork": text, "duckdb": sql})


def fixed(rng, shape, number):
    """Paths of a fixed length, counted from a few nodes."""
    edges = rng.choice([edges for edges in shape.edges if edges.source == edges.target])
    label, length = edges.source, rng.randint(2, 3)
    first = rng.randrange(shape.counts[label])
    starts = f"n0.id >= {first} AND n0.id < {first + rng.choice([1, 20])}"
    text = f"MATCH (n0:{label})-[:{edges.type}*{length}]->(n1) WHERE {starts} RETURN count(*)"
    hops = range(1, length + 1)
    tables = "".join(f" JOIN {edges.type} e{hop} ON e{hop}.src = {f'e{hop - 1}.dst' if hop > 1 else 'n0.id'}" for hop in hops)
    differ = "".join(f" AND e{a}.rowid <> e{b}.rowid" for b in hops for a in range(1, b))
    sql = f"SELECT count(*) FROM {label} n0{tables} WHERE {starts}{differ}"
    return Query(f"{number}: count, fixed length {length}", {"knotwork": text, "duckdb": sql})


def generated(shape):
    def make(_):
        rng = random.Random(f"{SEED} {shape.edges[0].type}")
        rows = [Row(rng, shape, rng.choice(shape.hops)).query(number) for number in range(1, QUERIES + 1)]
        if not any(edges.source == edges.target for edges in shape.edges):
            return rows
        numbers = range(QUERIES + 1, QUERIES + 1 + QUERIES // 7)
        return rows + [rng.choice([joined, fixed])(rng, shape, number) for number in numbers]

    return make


def graphs_of_size():
    """By name: what writes a graph, with which arguments, and its shape."""
    below = lambda low, high: lambda rng: f"{rng.choice(['<', '>=', '='])} {rng.randint(low, high)}"
    if SIZE not in SIZES:
        sys.exit(f"SIZE is {SIZE}, expected one of: {', '.join(SIZES)}")
    (persons, knows, companies), scale, flown = SIZES[SIZE]
    return {
        "social": (social.write, (persons, knows, companies),
                   Shape([Edges("KNOWS", "Person", "Person"), Edges("WORKS_AT", "Person", "Company")],
                         {"Person": ("age", below(18, 80))}, {"Person": persons, "Company": companies}, [1, 2, 2, 3, 3, 4])),
        "kronecker": (kronecker.write, (scale,), Shape([Edges("E", "V", "V")], {}, {"V": 1 << scale}, [1, 2, 2, 3])),
        "flights": (flights.write, (flown,),
                    Shape([Edges("FLIGHT", "Airport", "Airport"), Edges("SERVES", "Airline", "Airport")],
                          {"Airport": ("size", below(1, 5)), "Airline": ("rank", below(0, 9))},
                          {"Airport": 300, "Airline": 30}, [1, 1, 2])),
    }


def shape_of(name):
    return graphs_of_size()[name][2]


def suites(names):
    known = graphs_of_size()
    for name in names or known:
        write, arguments, shape = known[name]
        labels = sorted(shape.counts)
        yield Suite(f"shapes-{name}", f"Generated shapes: {name}", write, arguments, generated(shape), tuple(PEERS),
                    rounds=ROUNDS, schema=tuple(f"CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.id IS UNIQUE" for label in labels))


def measure(suite, folder):
    """Ratios of the queries that both answered, and the number of those without one answer for all."""
    graph = suite.graph(folder)
    ours, peers = cypher.Knotwork(folder, suite), [cypher.Peer(name, folder, suite) for name in PEERS]
    everyone = [ours, *peers]
    for peer in everyone:
        peer.load(graph)
    found = {peer.name: cypher.run(peer, suite, folder) for peer in everyone}
    ratios, wrong = [], 0
    for query in suite.queries:
        outcomes = {name: outcome.get(query.name, {"error": "no answer"}) for name, outcome in found.items()}
        mine = outcomes.pop(ours.name)
        answered = {name: it for name, it in outcomes.items() if "error" not in it}
        if "error" in mine:
            wrong += bool(answered)
            print(f"FAILED: {suite.name} {query.name}: {mine['error']}\n  {query.texts['knotwork']}")
            continue
        equal = {name: it for name, it in answered.items() if is_equal(mine, it)}
        for name in answered.keys() - equal.keys():
            # Walks of undirected loops and the like are counted otherwise by others; SQL says just what is meant.
            wrong += name == "duckdb"
            print(f"DIFFERENT: {suite.name} {query.name}\n  {query.texts['knotwork']}\n  {query.texts[name]}\n"
                  f"  {mine['answers'][:1]}\n  {name} {answered[name]['answers'][:1]}")
        if equal:
            time = warm(mine)
            best = min(equal, key=lambda name: warm(equal[name]))
            ratios.append((time / warm(equal[best]), time, warm(equal[best]), best, query))
        else:
            print(f"no peer answered: {query.name}: {[it.get('error', 'otherwise')[:80] for it in outcomes.values()]}")
    for peer in everyone:
        remove(peer.store)
    return ratios, wrong


def is_equal(mine, theirs):
    equal, count = cypher.same(mine["answers"], theirs["answers"])
    return equal == count


def warm(outcome):
    """The median of what came after the first round, in ms."""
    return percentile([time for kind in ROUNDS[1:] for time in outcome["rounds"].get(kind, outcome["rounds"]["first"])], 0.5) / 1e3


def show(ratios):
    ordered = sorted(ratios, key=lambda it: it[0])
    ahead, near = (sum(ratio <= bound for ratio, *_ in ordered) for bound in (1.0, 1.5))
    print(f"{len(ordered)} shapes: ahead of the best peer in {ahead}, within 1.5 of it in {near}")
    parts = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0]
    values = [ratio for ratio, *_ in ordered]
    print("ours / best peer: " + ", ".join(f"{part:.0%} {percentile(values, part):.3g}" for part in parts))
    for ratio, mine, theirs, best, query in ordered[:-11:-1]:
        print(f"{ratio:8.2f}  {mine:10.2f} ms against {theirs:10.2f} of {best}  {query.name}\n          {query.texts['knotwork']}")


def main(folder, *names):
    os.makedirs(folder, exist_ok=True)
    print(f"seed {SEED}")
    ratios, wrong = [], 0
    for suite in suites(names):
        more, differ = measure(suite, folder)
        print(f"\n== {suite.title}")
        if more:
            show(more)
        ratios, wrong = ratios + more, wrong + differ
    if len(names) != 1 and ratios:
        print("\n== All")
        show(ratios)
    sys.exit(f"{wrong} answers differ or are missing" if wrong else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
