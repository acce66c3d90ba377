"""Workloads on the native store, with peers beside it where they can: prints tables.

store.py FOLDER [PART…]; parts: inserts upserts linkbench reads at_once. EDGES (default 2000000) is the number of edges of the
sustained inserts; 100000000 is the length of the paper's figure 7a. RUN_SECONDS bounds each run of single inserts.
SQLite comes with Python; LadybugDB is measured if it can be imported. Needs `workload`, built for release.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import warnings

warnings.simplefilter("ignore", DeprecationWarning)
FOLDER = sys.argv[1]
PARTS = sys.argv[2:] or ["inserts", "upserts", "linkbench", "reads", "at_once"]
EDGES = int(os.environ.get("EDGES", 2_000_000))
SECONDS = int(os.environ.get("RUN_SECONDS", 5))
NODES = int(os.environ.get("NODES", 100_000))
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKLOAD = os.environ.get("WORKLOAD", os.path.join(ROOT, "target/release/examples/workload"))
RESULTS = []


def clear(name):
    path = os.path.join(FOLDER, name)
    shutil.rmtree(path, ignore_errors=True)
    if os.path.isfile(path):
        os.unlink(path)
    return path


def run(name, store, keep=False, **arguments):
    """Runs one workload; gives its lines."""
    path = os.path.join(FOLDER, store) if keep else clear(store)
    words = [WORKLOAD, name, f"store={path}"] + [f"{key}={value}" for key, value in arguments.items()]
    output = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    if output.returncode != 0:
        sys.exit(f"{' '.join(words)} failed")
    lines = [json.loads(line) for line in output.stdout.splitlines()]
    RESULTS.extend({"workload": name, "arguments": arguments, **line} for line in lines)
    return lines


def table(title, header, rows):
    cells = [header] + [[cell if isinstance(cell, str) else f"{cell:,.1f}" if isinstance(cell, float) else f"{cell:,}"
                         for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(header))]
    print(f"\n{title}")
    for row in cells:
        print("  " + row[0].ljust(widths[0]) + "".join("  " + cell.rjust(width) for cell, width in zip(row[1:], widths[1:])))
    sys.stdout.flush()


def quarters(lines):
    """The rates of the four quarters of a run, as figure 7a shows them."""
    rates = [line["edges_per_second"] for line in lines if line["result"] == "progress"]
    if len(rates) < 4:
        return ["-"] * 4
    size = len(rates) / 4
    parts = [rates[int(at * size):int((at + 1) * size)] for at in range(4)]
    return [sum(part) / len(part) for part in parts]


def inserts():
    rows = []
    single = dict(batch=1, seconds=SECONDS, edges=EDGES)
    cases = [
        ("one edge a commit, 1 client, full", dict(single, clients=1, durability="full")),
        ("one edge a commit, 64 clients, full", dict(single, clients=64, durability="full")),
        ("one edge a commit, 1 client, relaxed", dict(single, clients=1, durability="relaxed")),
        ("one edge a commit, 2 clients, off", dict(single, clients=2, durability="off")),
        ("1,000 edges a commit, full", dict(batch=1000, clients=1, durability="full", edges=EDGES)),
        ("1,000 edges a commit, relaxed", dict(batch=1000, clients=1, durability="relaxed", edges=EDGES)),
        ("1,000 edges a commit, off", dict(batch=1000, clients=1, durability="off", edges=EDGES)),
        ("the same while PageRank runs", dict(batch=1000, clients=1, durability="off", edges=EDGES, pagerank=1)),
    ]
    for name, arguments in cases:
        lines = run("inserts", "inserts.knot", nodes=max(1000, EDGES // 16), **arguments)
        end = lines[-1]
        commits, store = end["commits"], end["store"]
        rows.append([name, end["edges"], end["edges_per_second"], *quarters(lines), commits["p50_us"],
                     commits["p99_us"], commits["max_us"] / 1e3, store["stall_ms"], end["pagerank_runs"]["count"]])
    header = ["inserts of edges", "edges", "edges/s", "1st quarter", "2nd", "3rd", "4th", "commit p50 µs", "p99 µs",
              "max ms", "stalled ms", "PageRanks"]
    table("Sustained inserts between random nodes (power law); quarters are edges/s over time", header, rows)
    table("Peers, durable inserts of one edge a commit and of 1,000", ["peer", "edges/s, one", "edges/s, 1,000"],
          [sqlite_inserts(), *ladybug_inserts()])


def ends(count, nodes):
    state, made = 88172645463325252, []
    for _ in range(2 * count):
        state = (state ^ (state << 13)) & (1 << 64) - 1
        state ^= state >> 7
        state = (state ^ (state << 17)) & (1 << 64) - 1
        made.append(state % nodes)
    return list(zip(made[::2], made[1::2]))


def timed(step, limit):
    """Steps a second, within a time."""
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < limit:
        step(count)
        count += 1
    return count / (time.perf_counter() - start)


def sqlite_inserts():
    path = clear("peer.sqlite")
    edges = ends(200_000, NODES)
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE e(source INTEGER, target INTEGER, t INTEGER)")
    database.execute("CREATE INDEX out_edges ON e(source)")
    database.execute("CREATE INDEX in_edges ON e(target)")
    one = timed(lambda i: database.execute("INSERT INTO e VALUES(?,?,?)", (*edges[i % len(edges)], i)), SECONDS)

    def many(i):
        start = i * 1000 % len(edges)
        database.execute("BEGIN")
        database.executemany("INSERT INTO e VALUES(?,?,1)", edges[start:start + 1000])
        database.execute("COMMIT")

    batch = 1000 * timed(many, SECONDS)
    database.close()
    clear("peer.sqlite")
    return [f"SQLite {sqlite3.sqlite_version}, WAL, synchronous=FULL, both directions indexed", one, batch]


def ladybug(path):
    import ladybug as module
    database = module.Database(path)
    return module, database, module.Connection(database)


def ladybug_inserts():
    try:
        module, database, connection = ladybug(clear("peer.lbug"))
    except ImportError:
        return []
    connection.execute("CREATE NODE TABLE V(id INT64 PRIMARY KEY)")
    connection.execute("CREATE REL TABLE E(FROM V TO V, t INT64)")
    connection.execute(f"UNWIND range(0, {NODES - 1}) AS i CREATE (:V {{id: i}})")
    edges = ends(200_000, NODES)
    query = connection.prepare("MATCH (a:V {id: $a}), (b:V {id: $b}) CREATE (a)-[:E {t: 1}]->(b)")
    one = timed(lambda i: connection.execute(query, dict(zip("ab", edges[i % len(edges)]))), SECONDS)

    # A list of rows is joined with the nodes by scanning them, which takes minutes: statements in a transaction do not.
    def many(i):
        connection.execute("BEGIN TRANSACTION")
        for edge in edges[i * 1000 % len(edges):][:1000]:
            connection.execute(query, dict(zip("ab", edge)))
        connection.execute("COMMIT")

    batch = 1000 * timed(many, SECONDS)
    connection.close()
    database.close()
    return [[f"LadybugDB {module.__version__}, Cypher", one, batch]]


def upserts():
    rows = []
    for durability in ["full", "off"]:
        for line in run("upserts", "upserts.knot", rows=min(EDGES, 200_000), batch=1000, durability=durability):
            batches = line["batches"]
            rows.append([f"Knotwork, {line['what']}, {durability}", line["rows_per_second"], batches["p50_us"] / 1e3,
                         batches["p99_us"] / 1e3])
    rows += ladybug_upserts()
    table("Upserts: UNWIND of 1,000 rows, MERGE, SET", ["what", "rows/s", "batch p50 ms", "p99 ms"], rows)


def ladybug_upserts():
    try:
        module, database, connection = ladybug(clear("peer.lbug"))
    except ImportError:
        return []
    connection.execute("CREATE NODE TABLE V(id INT64 PRIMARY KEY, score INT64)")
    connection.execute("CREATE REL TABLE E(FROM V TO V, t INT64)")
    pairs, rows = ends(100_000, 50_000), []
    # Statements in a transaction of 1,000: a list of rows is joined with the nodes by scanning them.
    queries = [
        ("nodes", "MERGE (n:V {id: $a}) SET n.score = $b"),
        ("edges", "MATCH (a:V {id: $a}), (b:V {id: $b}) MERGE (a)-[e:E]->(b) SET e.t = $a"),
    ]
    for what, text in queries:
        query, latencies, at = connection.prepare(text), [], 0
        until = time.perf_counter() + 2 * SECONDS
        while at < len(pairs) and time.perf_counter() < until:
            before = time.perf_counter()
            connection.execute("BEGIN TRANSACTION")
            for pair in pairs[at:at + 1000]:
                connection.execute(query, dict(zip("ab", pair)))
            connection.execute("COMMIT")
            latencies.append(time.perf_counter() - before)
            at += 1000
        latencies.sort()
        rows.append([f"LadybugDB {module.__version__}, {what}, full", at / sum(latencies),
                     latencies[len(latencies) // 2] * 1e3, latencies[len(latencies) * 99 // 100] * 1e3])
    connection.close()
    database.close()
    return rows


def linkbench():
    rows, totals = [], []
    for threads in [1, 64]:
        lines = run("linkbench", "linkbench.knot", keep=threads > 1, nodes=NODES, threads=threads, seconds=2 * SECONDS,
                    durability="full")
        for line in lines[:-1]:
            latency = line["latency"]
            if latency["count"]:
                rows.append([f"{line['request']}, {threads} threads", line["share"] / 10.0, latency["count"],
                             *(latency[f"p{p}_us"] for p in (50, 75, 95, 99))])
        end = lines[-1]
        totals.append([f"{threads} threads", end["requests_per_second"], end["conflicts"]])
    table(f"LinkBench mix on {NODES:,} nodes and {5 * NODES:,} edges, durable; latencies in µs",
          ["request", "share %", "count", "p50", "p75", "p95", "p99"], rows)
    table("The same, all requests", ["", "requests/s", "conflicts"], totals)


def reads():
    lines = run("reads", "reads.knot", edges=EDGES, nodes=max(1000, EDGES // 16), durability="off")
    sizes = lines[0]["store"]
    table("Size", ["", "edges", "bytes an edge, nodes and one property each"],
          [["Knotwork", sizes["edges"], sizes["bytes_per_edge"]]])
    queries = [[line["query"], *(line["latency"][f"p{p}_us"] for p in (50, 75, 95, 99))]
               for line in lines if line["result"] == "query"]
    table("Queries by Cypher, in µs (friends of friends: the first 200 friends)", ["query", "p50", "p75", "p95", "p99"], queries)
    by_degree = {}
    for line in lines:
        if line["result"] == "degree":
            by_degree.setdefault(line["degree"], {})[line["direction"]] = line["latency"]
    rows = [[f"{degree} to {2 * degree - 1}", *(found[way][key] if way in found else "-" for way in ("out", "in")
                                               for key in ("p50_us", "p99_us"))] for degree, found in sorted(by_degree.items())]
    table("Lists of neighbours by degree, in µs", ["edges of the node", "out p50", "p99", "in p50", "p99"], rows)


def at_once():
    """Queries beside computations over the whole graph."""
    rows = [[line["query"], line["computations"], line["priority"], *(line["latency"][f"p{p}_us"] for p in (50, 95, 99))]
            for line in run("at_once", "at_once.knot", edges=EDGES, nodes=max(1000, EDGES // 16), durability="off")
            if line["result"] == "at_once"]
    table("Queries while PageRank runs in so many sessions, in µs", ["query", "PageRanks", "priority", "p50", "p95", "p99"], rows)


for part in PARTS:
    {"at_once": at_once, "inserts": inserts, "upserts": upserts, "linkbench": linkbench, "reads": reads}[part]()
with open(os.path.join(FOLDER, "store.json"), "w") as file:
    json.dump(RESULTS, file, indent=1)
