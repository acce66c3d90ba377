"""A peer on a described graph: peers.py PEER load|run GRAPH.json STORE SPEC.json RESULT.json, a process of its own for each.

The specification and the result are those of the example `queries` of the database crate; prepared statements, the peer's
normal Python API. PEER is ladybug, kuzu, neug, duckdb or sqlite. The latter two have a table with indexes on both ends for each
type of edge and are asked in SQL. NeuG loads CSV files, which are made of the Parquet files, and has no time-out.
"""
import importlib
import json
import logging
import os
import shutil
import sqlite3
import sys
import threading
import time
import warnings

import resident

now = time.perf_counter


class Kuzu:
    """LadybugDB, or kuzu, from which it descends."""

    def __init__(self, name, store, threads):
        self.module = importlib.import_module(name)
        self.database = self.module.Database(store)
        self.connection = self.module.Connection(self.database, num_threads=threads)

    def load(self, graph):
        run = self.connection.execute
        for label, table in graph["nodes"].items():
            run(f"CREATE NODE TABLE {label}({columns(table['columns'])}, PRIMARY KEY(id))")
        for kind in dict.fromkeys(table["type"] for table in graph["edges"]):
            tables = [table for table in graph["edges"] if table["type"] == kind]
            ends = ", ".join(f"FROM {table['source']} TO {table['target']}" for table in tables)
            properties = columns(tables[0]["columns"])
            run(f"CREATE REL TABLE {kind}({ends}{', ' + properties if properties else ''})")
        for label, table in graph["nodes"].items():
            run(f"COPY {label} FROM '{table['file']}'")
        for table in graph["edges"]:
            run(f"COPY {table['type']} FROM '{table['file']}' (from='{table['source']}', to='{table['target']}')")
        run("CHECKPOINT")

    def limit(self, seconds):
        self.connection.set_query_timeout(int(seconds * 1000))

    def prepare(self, text):
        statement = self.connection.prepare(text)

        def ask(parameters):
            result, rows = self.connection.execute(statement, parameters), []
            while result.has_next():
                rows.append(result.get_next())
            return rows

        return ask

    def close(self):
        self.connection.close()
        self.database.close()


class Neug:
    """NeuG, embedded."""

    def __init__(self, name, store, threads):
        os.environ.setdefault("GLOG_minloglevel", "3")
        logging.disable(logging.WARNING)
        os.environ.setdefault("OMP_NUM_THREADS", str(threads))
        self.store = store
        self.database = importlib.import_module(name).Database(store, mode="rw", buffer_strategy="M_FULL")
        self.connection = self.database.connect()

    def load(self, graph):
        run = self.connection.execute
        for label, table in graph["nodes"].items():
            run(f"CREATE NODE TABLE {label}({columns(table['columns'])}, PRIMARY KEY(id))")
            self.copy(label, table["file"], "")
        for table in graph["edges"]:
            properties = columns(table["columns"])
            ends = f"FROM {table['source']} TO {table['target']}"
            run(f"CREATE REL TABLE {table['type']}({ends}{', ' + properties if properties else ''})")
            self.copy(table["type"], table["file"], f'from="{table["source"]}", to="{table["target"]}", ')
        run("CHECKPOINT")

    def copy(self, name, file, ends):
        csv, parquet = importlib.import_module("pyarrow.csv"), importlib.import_module("pyarrow.parquet")
        text = f"{self.store}.{name}.csv"
        csv.write_csv(parquet.read_table(file), text)
        self.connection.execute(f'COPY {name} FROM "{text}" ({ends}header=true, delim=",", parallel=true)')
        os.unlink(text)

    def limit(self, seconds):
        pass

    def prepare(self, text):
        return lambda parameters: list(self.connection.execute(text, "read", parameters or None))

    def close(self):
        self.connection.close()
        self.database.close()


class Sql:
    """DuckDB or SQLite."""

    def __init__(self, name, store, threads):
        self.name, self.timer = name, threading.Timer(0, lambda: None)
        if name == "duckdb":
            self.connection = importlib.import_module("duckdb").connect(store)
            self.connection.execute(f"SET threads TO {threads}")
        else:
            self.connection = sqlite3.connect(store, isolation_level=None)
            self.connection.execute("PRAGMA cache_size=-1000000")

    def load(self, graph):
        run = self.connection.execute
        tables = [(label, table, True) for label, table in graph["nodes"].items()]
        tables += [(table["type"], table, False) for table in graph["edges"]]
        for name, table, are_nodes in tables:
            if self.name == "duckdb":
                run(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{table['file']}')")
            else:
                self.copy(name, table["file"])
            for index in ["id"] if are_nodes else ["src", "dst"]:
                run(f"CREATE {'UNIQUE ' if are_nodes else ''}INDEX {name}_{index} ON {name}({index})")
        run("ANALYZE")

    def copy(self, name, file):
        parquet = importlib.import_module("pyarrow.parquet")
        table = parquet.read_table(file)
        self.connection.execute(f"CREATE TABLE {name}({', '.join(table.column_names)})")
        self.connection.execute("BEGIN")
        marks = ", ".join("?" * table.num_columns)
        rows = zip(*(column.to_pylist() for column in table.columns))
        self.connection.executemany(f"INSERT INTO {name} VALUES({marks})", rows)
        self.connection.execute("COMMIT")

    def limit(self, seconds):
        if self.name == "duckdb":
            # It has no time-out of its own.
            self.timer.cancel()
            self.timer = threading.Timer(seconds, self.connection.interrupt)
            self.timer.daemon = True
            self.timer.start()
        else:
            self.end = now() + seconds
            self.connection.set_progress_handler(lambda: now() > self.end, 1_000_000)

    def prepare(self, text):
        # DuckDB answers an update with the number of its rows; the others with nothing.
        is_update = text.startswith("UPDATE")

        def ask(parameters):
            rows = self.connection.execute(text, parameters).fetchall()
            return [] if is_update else rows

        return ask

    def close(self):
        self.timer.cancel()
        self.connection.close()


def columns(described):
    return ", ".join(f"{name} {kind}" for name, kind in described.items())


def remove(store):
    folder, name = os.path.split(store)
    for entry in os.listdir(folder):
        if entry.startswith(name):
            path = os.path.join(folder, entry)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def ask(peer, query):
    """Latencies and answers of one query; a round ends early when its seconds are over."""
    seconds = query.get("seconds", 30)
    resident.forget_peak()
    peer.limit(seconds)
    run, sets = peer.prepare(query["text"]), query.get("parameters") or [{}]
    rounds, answers = {}, []
    for kind in query["rounds"]:
        latencies, end = [], now() + seconds
        for parameters in sets:
            if kind == "hot":
                run(parameters)
            before = now()
            found = run(parameters)
            latencies.append((now() - before) * 1e6)
            if not rounds:
                answers.append([list(row) for row in found])
            if now() > end:
                break
        rounds[kind] = latencies
    return {"rounds": rounds, "answers": answers, "peak_mib": resident.peak_mib()}


def main(name, task, graph, store, spec, result):
    warnings.simplefilter("ignore", DeprecationWarning)
    with open(spec) as file:
        spec = json.load(file)
    if task == "load":
        remove(store)
    start = now()
    kinds = {"duckdb": Sql, "sqlite": Sql, "neug": Neug}
    peer = kinds.get(name, Kuzu)(name, store, spec.get("threads", 2))
    outcome = {"open_ms": (now() - start) * 1e3, "queries": {}}
    if task == "load":
        with open(graph) as file:
            peer.load(json.load(file))
        outcome["seconds"] = now() - start
    for statement in spec.get("statements", []) if task == "run" else []:
        peer.prepare(statement)({})
    for query in spec["queries"] if task == "run" else []:
        try:
            outcome["queries"][query["name"]] = ask(peer, query)
        except Exception as error:  # Whatever a peer says is its answer.
            outcome["queries"][query["name"]] = {"error": str(error).strip()[:200]}
    peer.close()
    with open(result, "w") as file:
        json.dump(outcome, file, default=str)


if __name__ == "__main__":
    main(*sys.argv[1:])
