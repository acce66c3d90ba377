"""Generated questions to an attached database, beside the SQL that says the same.

A seeded grammar makes questions of the kinds in KINDS over flights, airports, airlines and planes, which are generated too.
Each is asked of a new process, whose connection is open and whose cache is empty; its answer must be that of the SQL. Printed are the rows that
were fetched for each row that SQL returns, by the meters of PROFILE, and the times.

    questions.py WORK [--knot PATH] [--questions 30] [--flights 100000] [--seed 1] [--rounds 3] [--databases sqlite,postgres,duckdb]
    questions.py WORK --check       few rows in SQLite, answers and rows fetched checked, with nothing but the standard library

Times: of Knotwork the statement alone, of SQL its execution by a connection that is open. Medians of the rounds. For DuckDB its package
for Python is wanted, and KNOTWORK_DUCKDB names the library that the command loads.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time

TABLES = """
CREATE TABLE airline (code {text} PRIMARY KEY, name {text} NOT NULL);
CREATE TABLE airport (faa {text} PRIMARY KEY, name {text} NOT NULL, lat {float} NOT NULL, alt integer, tz {text} NOT NULL);
CREATE TABLE plane (tailnum {text} PRIMARY KEY, year integer, maker {text} NOT NULL, seats integer NOT NULL);
CREATE TABLE flight (id integer PRIMARY KEY, month integer NOT NULL, day integer NOT NULL, dep_delay integer, arr_delay integer,
    distance integer NOT NULL, note {text}, carrier {text} NOT NULL REFERENCES airline (code), tailnum {text} REFERENCES plane (tailnum),
    origin {text} NOT NULL REFERENCES airport (faa), dest {text} NOT NULL REFERENCES airport (faa));
"""
INDEXES = [f"CREATE INDEX flight_{column} ON flight ({column})" for column in
           ("carrier", "tailnum", "origin", "dest", "dep_delay", "month", "note")]
WORDS = {"sqlite": {"text": "text", "float": "real", "find": "instr"},
         "postgres": {"text": "text", "float": "double precision", "find": "strpos"},
         "duckdb": {"text": "varchar", "float": "double", "find": "strpos"}}


@dataclasses.dataclass
class Column:
    """A property that conditions are made of: its values in the data."""

    name: str
    values: list
    is_nullable: bool = False

    @property
    def is_text(self):
        return isinstance(self.values[0], str)


@dataclasses.dataclass
class Question:
    """What is asked. With `all_rows`, SQL without the limit, any rows of those will do."""

    kind: str
    cypher: str
    sql: str
    all_rows: str = ""
    is_ordered: bool = False
    # The rows of the tables that it is about, by table and alias.
    tables: tuple = ()


def make_data(flights, seed):
    """Rows of the tables by name."""
    rng = random.Random(seed)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    code = lambda count: "".join(rng.choice(letters) for _ in range(count))
    codes = lambda count, length: sorted({code(length) for _ in range(2 * count)})[:count]
    many = max(8, round(math.sqrt(flights)))
    airlines = [(held, f"{rng.choice(['Air', 'Sky', 'Jet'])} {code(4).title()}") for held in codes(16, 2)]
    airports = [(held, f"{rng.choice(['North', 'South', 'New', 'Port'])} {code(5).title()}", round(rng.uniform(20, 70), 3),
                 None if rng.random() < 0.1 else rng.randrange(3000), rng.choice(["E", "C", "M", "P"])) for held in codes(many, 3)]
    planes = [(f"N{number:05}", None if rng.random() < 0.05 else rng.randrange(1980, 2014),
               rng.choice(["Boeing", "Airbus", "Embraer", "Cessna"]), rng.choice([9, 55, 140, 178, 200, 330])) for number in range(2 * many)]
    hubs = [row[0] for row in rng.sample(airports, max(3, many // 20))]
    rows = []
    for number in range(flights):
        is_cancelled = rng.random() < 0.03
        delay = None if is_cancelled else round(rng.expovariate(1 / 25)) - 12
        rows.append((number + 1, rng.randrange(1, 13), rng.randrange(1, 29), delay,
                     None if delay is None else delay + rng.randrange(-20, 21), rng.randrange(80, 5000),
                     code(3).lower() if rng.random() < 0.5 else None, rng.choice(airlines)[0],
                     None if rng.random() < 0.02 else rng.choice(planes)[0], rng.choice(hubs), rng.choice(airports)[0]))
    return {"airline": airlines, "airport": airports, "plane": planes, "flight": rows}


COLUMNS = {"airline": "code name", "airport": "faa name lat alt tz", "plane": "tailnum year maker seats",
           "flight": "id month day dep_delay arr_delay distance note carrier tailnum origin dest"}
# Foreign keys are edges; they are no properties.
KEYS = {"carrier", "tailnum", "origin", "dest"}


class Grammar:
    """Questions in Cypher and SQL, from a seed."""

    def __init__(self, data, seed):
        self.rng = random.Random(seed)
        self.columns = {}
        for table, names in COLUMNS.items():
            for at, name in enumerate(names.split()):
                if table == "flight" and name in KEYS:
                    continue
                values = [row[at] for row in data[table]]
                held = sorted({value for value in values if value is not None})
                self.columns.setdefault(table, []).append(Column(name, held, None in values))

    def column(self, table, wanted=lambda column: True):
        return self.rng.choice([column for column in self.columns[table] if wanted(column)])

    def literal(self, value):
        return f"'{value}'" if isinstance(value, str) else repr(value)

    def test(self, alias, table):
        """One test of a property as (Cypher, SQL)."""
        rng = self.rng
        column = self.column(table)
        name, values = f"{alias}.{column.name}", column.values
        value = self.literal(rng.choice(values))
        kinds = ["=", "<>", "<", "<=", ">", ">=", "in", "range"]
        kinds += ["prefix", "prefix", "contains"] if column.is_text else []
        kinds += ["null", "present"] if column.is_nullable else []
        kind = rng.choice(kinds)
        if kind == "in":
            some = ", ".join(map(self.literal, rng.sample(values, min(3, len(values)))))
            return f"{name} IN [{some}]", f"{name} IN ({some})"
        if kind == "range":
            at = rng.randrange(len(values))
            low, high = self.literal(values[at]), self.literal(values[min(len(values) - 1, at + len(values) // 20)])
            return f"{low} <= {name} <= {high}", f"{name} BETWEEN {low} AND {high}"
        if kind in ("prefix", "contains"):
            text = rng.choice(values)
            part = text[: rng.randrange(1, 3)] if kind == "prefix" else text[1:3]
            if kind == "prefix":
                return f"{name} STARTS WITH '{part}'", f"substr({name}, 1, {len(part)}) = '{part}'"
            return f"{name} CONTAINS '{part}'", f"{{find}}({name}, '{part}') > 0"
        if kind in ("null", "present"):
            text = f"{name} IS {'' if kind == 'null' else 'NOT '}NULL"
            return text, text
        return f"{name} {kind} {value}", f"{name} {kind} {value}"

    def condition(self, alias, table, most=3):
        """Tests joined by AND, OR and NOT."""
        parts = [self.test(alias, table) for _ in range(self.rng.randrange(1, most + 1))]
        cypher, sql = parts[0]
        for more in parts[1:]:
            word = self.rng.choice(["AND", "AND", "OR"])
            cypher, sql = f"({cypher} {word} {more[0]})", f"({sql} {word} {more[1]})"
        if self.rng.random() < 0.1:
            cypher, sql = f"NOT ({cypher})", f"NOT ({sql})"
        return cypher, sql

    def group(self, alias, table):
        """A property of few values."""
        few = self.column(table, lambda column: len(column.values) <= 40)
        return f"{alias}.{few.name}"

    def filter(self):
        cypher, sql = self.condition("f", "flight")
        return Question("filter", f"MATCH (f:Flight) WHERE {cypher} RETURN f.id AS a, f.distance AS b",
                        f"SELECT f.id, f.distance FROM flight f WHERE {sql}", tables=("flight",))

    def limit(self):
        cypher, sql = self.condition("f", "flight", 2)
        most, every = self.rng.choice([1, 5, 20]), f"SELECT f.id FROM flight f WHERE {sql}"
        return Question("limit", f"MATCH (f:Flight) WHERE {cypher} RETURN f.id AS a LIMIT {most}", f"{every} LIMIT {most}",
                        every, tables=("flight",))

    def top(self):
        name = f"f.{self.column('flight').name}"
        cypher, sql = self.condition("f", "flight", 2) if self.rng.random() < 0.5 else ("true", "1 = 1")
        way, most = self.rng.choice([("", 5), ("DESC", 5), ("DESC", 20)])
        # Null is the greatest value in Cypher.
        nulls = "NULLS FIRST" if way else "NULLS LAST"
        return Question("order, limit", f"MATCH (f:Flight) WHERE {cypher} RETURN {name} AS a, f.id AS b ORDER BY {name} {way}, f.id LIMIT {most}",
                        f"SELECT {name}, f.id FROM flight f WHERE {sql} ORDER BY {name} {way} {nulls}, f.id LIMIT {most}",
                        is_ordered=True, tables=("flight",))

    def count(self):
        cypher, sql = self.condition("f", "flight")
        return Question("count", f"MATCH (f:Flight) WHERE {cypher} RETURN count(*) AS a", f"SELECT count(*) FROM flight f WHERE {sql}",
                        tables=("flight",))

    def distinct(self):
        name = self.group("f", "flight")
        cypher, sql = self.condition("f", "flight", 2)
        return Question("distinct", f"MATCH (f:Flight) WHERE {cypher} RETURN DISTINCT {name} AS a",
                        f"SELECT DISTINCT {name} FROM flight f WHERE {sql}", tables=("flight",))

    def aggregate(self):
        name, other = self.group("f", "flight"), f"f.{self.column('flight', lambda column: not column.is_text).name}"
        cypher, sql = self.condition("f", "flight", 2)
        return Question("group", f"MATCH (f:Flight) WHERE {cypher} RETURN {name} AS a, count(*) AS b, count({other}) AS c, min({other}) AS d, max({other}) AS e",
                        f"SELECT {name}, count(*), count({other}), min({other}), max({other}) FROM flight f WHERE {sql} GROUP BY {name}", tables=("flight",))

    def extreme(self):
        other = f"f.{self.column('flight', lambda column: not column.is_text).name}"
        return Question("extreme", f"MATCH (f:Flight) RETURN min({other}) AS a, max({other}) AS b",
                        f"SELECT min({other}), max({other}) FROM flight f", tables=("flight",))

    def hop(self):
        column, table, key = self.rng.choice([("origin", "airport", "faa"), ("dest", "airport", "faa"),
                                              ("carrier", "airline", "code"), ("tailnum", "plane", "tailnum")])
        near, far = self.condition("f", "flight", 2), self.condition("o", table, 1)
        match = f"MATCH (f:Flight)-[:HAS_{column.upper()}]->(o:{table.title()}) WHERE {near[0]} AND {far[0]}"
        rest = f"FROM flight f JOIN {table} o ON o.{key} = f.{column} WHERE {near[1]} AND {far[1]}"
        if self.rng.random() < 0.5:
            return Question("one hop", f"{match} RETURN f.id AS a, o.{key} AS b", f"SELECT f.id, o.{key} {rest}", tables=("flight", table))
        return Question("one hop, group", f"{match} RETURN o.{key} AS a, count(*) AS b", f"SELECT o.{key}, count(*) {rest} GROUP BY o.{key}",
                        tables=("flight", table))

    def hops(self):
        start, plane = self.condition("o", "airport", 1), self.condition("p", "plane", 1)
        near = self.condition("f", "flight", 2) if self.rng.random() < 0.5 else ("true", "1 = 1")
        match = (f"MATCH (o:Airport)<-[:HAS_ORIGIN]-(f:Flight)-[:HAS_TAILNUM]->(p:Plane) WHERE {start[0]} AND {near[0]} AND {plane[0]}")
        rest = ("FROM airport o JOIN flight f ON f.origin = o.faa JOIN plane p ON p.tailnum = f.tailnum"
                f" WHERE {start[1]} AND {near[1]} AND {plane[1]}")
        if self.rng.random() < 0.5:
            return Question("two hops", f"{match} RETURN o.faa AS a, f.id AS b, p.tailnum AS c", f"SELECT o.faa, f.id, p.tailnum {rest}",
                            tables=("airport", "flight", "plane"))
        return Question("two hops, group", f"{match} RETURN p.maker AS a, count(*) AS b", f"SELECT p.maker, count(*) {rest} GROUP BY p.maker",
                        tables=("airport", "flight", "plane"))


KINDS = (Grammar.filter, Grammar.limit, Grammar.top, Grammar.count, Grammar.distinct, Grammar.aggregate, Grammar.hop,
         Grammar.hops, Grammar.filter, Grammar.hop, Grammar.extreme)


def make_questions(data, count, seed):
    grammar = Grammar(data, seed)
    return [KINDS[number % len(KINDS)](grammar) for number in range(count)]


class Sqlite:
    """A database in a file."""

    name = "sqlite"

    def __init__(self, work, data):
        path = work / "flights.db"
        path.unlink(missing_ok=True)
        self.url, self.connection = f"sqlite:{path}", sqlite3.connect(path)
        self.connection.executescript(TABLES.format(**WORDS["sqlite"]))
        for table, rows in data.items():
            self.connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        for statement in [*INDEXES, "ANALYZE"]:
            self.connection.execute(statement)
        self.connection.commit()

    def rows(self, sql):
        return self.connection.execute(sql.format(**WORDS["sqlite"])).fetchall()

    def stop(self):
        self.connection.close()


class Postgres:
    """A database of a server of this run alone."""

    name = "postgres"

    def __init__(self, work, data):
        import evaluate

        self.server = evaluate.Postgres(work / "server")
        self.url = f"postgres://postgres@127.0.0.1:{self.server.port}/flights"
        with self.server.connect("postgres") as connection:
            # Strings are ordered by their characters, as Cypher orders them.
            connection.execute("CREATE DATABASE flights ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
        self.connection = self.server.connect("flights")
        for statement in TABLES.format(**WORDS["postgres"]).split(";")[:-1]:
            self.connection.execute(statement)
        for table, rows in data.items():
            with self.connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        for statement in [*INDEXES, "ANALYZE"]:
            self.connection.execute(statement)

    def rows(self, sql):
        return self.connection.execute(sql.format(**WORDS["postgres"])).fetchall()

    def stop(self):
        self.connection.close()
        self.server.stop()


class Duckdb:
    """A database in a file, which both sides read at once."""

    name = "duckdb"

    def __init__(self, work, data):
        import csv

        import duckdb

        path = work / "flights.duckdb"
        path.unlink(missing_ok=True)
        self.url = f"duckdb:{path}"
        with duckdb.connect(str(path)) as connection:
            connection.execute(TABLES.format(**WORDS["duckdb"]))
            for table, rows in data.items():
                file = work / f"{table}.csv"
                with file.open("w", newline="") as out:
                    csv.writer(out).writerows([["\\N" if value is None else value for value in row] for row in rows])
                connection.execute(f"COPY {table} FROM '{file}' (HEADER false, NULLSTR '\\N')")
            for statement in INDEXES:
                connection.execute(statement)
        self.connection = duckdb.connect(str(path), read_only=True)

    def rows(self, sql):
        return self.connection.execute(sql.format(**WORDS["duckdb"])).fetchall()

    def stop(self):
        self.connection.close()


def fetched(plan):
    """Rows that the operators of a plan were sent."""
    return plan.get("sources", {}).get("rowsFetched", 0) + sum(map(fetched, plan["children"]))


def ask(knot, work, url, question):
    """The rows of an answer, the rows that were fetched for it, and its milliseconds."""
    store = work / "questions.knot"
    shutil.rmtree(store, ignore_errors=True)
    # As the connection of SQL's side, that of the source is open; nothing of it is cached.
    statements = f"MATCH (a:Airline) RETURN count(*); CALL source.forget('air'); PROFILE {question.cypher}"
    command = [knot, store, "--attach", f"air={url}", "--format", "json", "-c", statements]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"{question.cypher}\n{done.stderr}")
    # Rows and plan, each as JSON; of an answer without rows the plan comes first.
    text, answers = done.stdout.strip(), []
    while text:
        answer, end = json.JSONDecoder().raw_decode(text)
        answers.append(answer)
        text = text[end:].strip()
    first, second = answers[-2:]
    rows, plan = (first, second) if isinstance(first, list) else (second, first)
    return [tuple(row.values()) for row in rows], fetched(plan["plan"]), time_of(done.stderr)


def time_of(line):
    """The milliseconds of a line as `12 rows in 3.4 ms`."""
    number, unit = line.strip().splitlines()[-1].split(" in ")[1].split()[:2]
    return float(number) * {"µs": 1e-3, "us": 1e-3, "ms": 1, "s": 1000, "min": 60_000}[unit.rstrip(",")]


def plain(rows, is_ordered):
    """Rows that can be compared: whole floats are integers."""
    value = lambda held: int(held) if isinstance(held, float) and held.is_integer() else held
    rows = [tuple(map(value, row)) for row in rows]
    return rows if is_ordered else sorted(rows, key=repr)


def is_right(question, rows, database):
    """True if an answer is that of SQL."""
    expected = database.rows(question.sql)
    if not question.all_rows:
        return plain(rows, question.is_ordered) == plain(expected, question.is_ordered)
    allowed = set(plain(database.rows(question.all_rows), False))
    found = plain(rows, False)
    return len(found) == len(expected) == len(set(found)) and set(found) <= allowed


def timed(run):
    begin = time.perf_counter()
    rows = run()
    return rows, 1000 * (time.perf_counter() - begin)


def measure(knot, work, database, questions, rounds):
    """A line for each question; ends the run at a wrong answer."""
    lines = []
    for question in questions:
        times, sql_times = [], []
        for _ in range(rounds):
            expected, sql_time = timed(lambda: database.rows(question.sql))
            rows, count, own_time = ask(knot, work, database.url, question)
            if not is_right(question, rows, database):
                raise SystemExit(f"WRONG on {database.name}: {question.cypher}\n  {question.sql}\n  {rows[:5]} and {expected[:5]}")
            times.append(own_time)
            sql_times.append(sql_time)
        lines.append({"question": question, "needed": max(1, len(expected)), "fetched": count,
                      "ms": statistics.median(times), "sql_ms": statistics.median(sql_times)})
    return lines


def report(name, lines):
    """Medians by kind, and the ten questions that fetch most for each row needed."""
    share = lambda line: line["fetched"] / line["needed"]
    slowness = lambda line: line["ms"] / line["sql_ms"]
    print(f"\n## {name}: {len(lines)} questions, all answers equal\n")
    print("| kind | questions | rows fetched for each needed, median | time of SQL's, median |\n|---|---|---|---|")
    for kind in [*dict.fromkeys(line["question"].kind for line in lines), "all"]:
        of = [line for line in lines if kind in (line["question"].kind, "all")]
        print(f"| {kind} | {len(of)} | {statistics.median(map(share, of)):,.2f} | {statistics.median(map(slowness, of)):.1f} × |")
    print("\n| the ten worst | needed | fetched | ms | SQL ms |\n|---|---|---|---|---|")
    for line in sorted(lines, key=share, reverse=True)[:10]:
        print(f"| `{line['question'].cypher}` | {line['needed']:,} | {line['fetched']:,} | {line['ms']:.1f} | {line['sql_ms']:.1f} |")
    sys.stdout.flush()


def check(data, lines):
    """Ends the run if more rows were fetched than is promised: each row of the tables, and each edge that is followed, three
    times at most, as further columns of rows that are known are fetched by their keys."""
    for line in lines:
        tables = line["question"].tables
        edges = (len(tables) - 1) * len(data["flight"])
        most = 3 * (sum(len(data[table]) for table in tables) + edges)
        if line["fetched"] > most:
            raise SystemExit(f"{line['fetched']} rows fetched, expected at most {most}: {line['question'].cypher}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--knot", default="target/release/knot")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--flights", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--databases", default="sqlite,postgres")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        given.flights, given.rounds, given.databases = 2_000, 1, "sqlite"
    given.work.mkdir(parents=True, exist_ok=True)
    print(f"seed {given.seed}, {given.flights:,} flights")
    data = make_data(given.flights, given.seed)
    questions = make_questions(data, given.questions, given.seed)
    for name in given.databases.split(","):
        database = {"sqlite": Sqlite, "postgres": Postgres, "duckdb": Duckdb}[name](given.work, data)
        try:
            lines = measure(given.knot, given.work, database, questions, given.rounds)
        finally:
            database.stop()
        report(name, lines)
        if given.check:
            check(data, lines)


if __name__ == "__main__":
    main()
