#!/usr/bin/env python3
"""Knotwork beside JanusGraph on the same ring of three Cassandra nodes, one after the other, with the same data:

    benchmarks/ring.py FOLDER

Starts a ring (scripts/ring.sh), generates ratings of products by users with a fixed seed, loads them into a keyspace of each, with three
copies of each row, and asks at LOCAL_QUORUM. Answers of both are compared. Prints Markdown tables, and keeps all figures in
FOLDER/figures.json, also those of a run that ends early. The ring is stopped at the end; FOLDER/ring and FOLDER/graph stay until the next
run. It takes a quarter of an hour and 6 GB of memory.

USERS (5000) and RATINGS of each (8) are the size, ROUNDS (2) the processes in turns for each traversal, STARTS (50) the users that each
asks about, SECONDS (15) the time of eight clients and, twice, of a node's death, KEYS (500) those of the unique race, of which RACE_SECONDS
(240) is the limit. STEPS (default "traversals clients race kill") leaves steps out. KNOT is the program (target/release/knot), JANUSGRAPH a
folder with the jars of janusgraph-cql and what it needs; without it Maven fetches them into .cache.

Times of Knotwork are those of its shell in a process of its own, from the statement to its row, through a pipe; those of JanusGraph are
taken within its process. Eight clients are Neo4j's driver for Python at `knot serve`, and threads within the process of JanusGraph.
Requests are counted by the nodes (system_views). Needs Java 17 with its compiler, Maven, and the package neo4j. Ends with 2 where
something is missing, with 1 if answers differ.
"""
import contextlib
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
VERSION = "1.1.0"
KNOT = os.environ.get("KNOT", str(ROOT / "target/release/knot"))
JARS = pathlib.Path(os.environ.get("JANUSGRAPH", ROOT / f".cache/janusgraph-{VERSION}"))
CASSANDRA = ROOT / ".cache/cassandra-5.0.6"


def number(name, default):
    return int(os.environ.get(name, default))


USERS, RATINGS, ROUNDS, STARTS = number("USERS", 5000), number("RATINGS", 8), number("ROUNDS", 2), number("STARTS", 50)
SECONDS, KEYS, RACE_SECONDS, CLIENTS = number("SECONDS", 15), number("KEYS", 500), number("RACE_SECONDS", 240), 8
STEPS = os.environ.get("STEPS", "traversals clients race kill").split()
HOSTS = [f"127.0.0.{node}" for node in (1, 2, 3)]
KEYSPACES = {"Knotwork": "knot", "JanusGraph": "janus"}
LIKED = "MATCH (u:User {id: $i})-[r:RATED]->(p)<-[s:RATED]-(v) WHERE r.score = 5 AND s.score = 5 AND v <> u"
TRAVERSALS = {
    "preference": "MATCH (u:User {id: $i})-[r:RATED]->(p) WHERE r.score = 5 WITH p, r ORDER BY r.time DESC LIMIT 10 "
                  "RETURN collect(p.id) AS answer",
    "similarity": f"{LIKED} RETURN count(DISTINCT v) AS answer",
    "recommendation": f"{LIKED} WITH DISTINCT u, v MATCH (v)-[t:RATED]->(q) WHERE t.score = 5 AND NOT EXISTS {{ MATCH (u)-[:RATED]->(q) }} "
                      "WITH q, count(*) AS n WITH q.id AS id, n ORDER BY n DESC, id LIMIT 10 RETURN collect([id, n]) AS answer",
}
SCHEMA = [
    "CREATE CONSTRAINT FOR (u:User) REQUIRE u.id IS UNIQUE;",
    "CREATE CONSTRAINT FOR (p:Product) REQUIRE p.id IS UNIQUE;",
    "CREATE CONSTRAINT FOR (r:Race) REQUIRE r.key IS UNIQUE;",
    "CREATE SORT KEY FOR ()-[r:RATED]-() ON (r.score, r.time);",
]


def fail(problem, code=1):
    sys.exit(print(f"ring: {problem}", file=sys.stderr) or code)


def log(text):
    print(f"ring: {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# The ring.


class Ring:
    def __init__(self, folder):
        self.folder, self.port = folder, None

    def start(self):
        words = [ROOT / "scripts/ring.sh", "start", "3", self.folder]
        # Its output goes to a file: nodes would keep a pipe open.
        with open(f"{self.folder}.address", "w") as out:
            if code := subprocess.run(words, stdout=out).returncode:
                fail("the ring does not start", 2 if code == 3 else 1)
        self.port = int(pathlib.Path(f"{self.folder}.address").read_text().split(":")[1])

    def stop(self):
        if (self.folder / "pids").exists():
            subprocess.run([ROOT / "scripts/ring.sh", "stop", self.folder])

    def pids(self):
        return [int(line) for line in (self.folder / "pids").read_text().split()]

    def store(self, options=""):
        return f"cql://{','.join(f'{host}:{self.port}' for host in HOSTS)}/{KEYSPACES['Knotwork']}{options}"

    def tool(self, *words):
        """Runs nodetool at each node."""
        for pid in self.pids():
            options = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            port = next(option.split("=")[1] for option in options if option.startswith("-Dcassandra.jmx.local.port="))
            # It keeps a history in the home of its user.
            exports = [f"--add-exports=java.base/{name}=ALL-UNNAMED" for name in ("sun.nio.ch", "jdk.internal.ref", "jdk.internal.misc")]
            command = ["java", f"-Duser.home={self.folder}", *exports, "-cp", f"{CASSANDRA}/*", "org.apache.cassandra.tools.NodeTool"]
            subprocess.run([*command, "-p", port, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        """Kills the last node; tells how it was started."""
        pid = self.pids()[-1]
        process = pathlib.Path(f"/proc/{pid}")
        words = [os.fsdecode(word) for word in (process / "cmdline").read_bytes().split(b"\0")[:-1]]
        self.victim = words, os.readlink(process / "cwd")
        os.kill(pid, 9)

    def revive(self):
        """Starts the node that was killed."""
        words, home = self.victim
        with open(f"{home}/log", "a") as log:
            process = subprocess.Popen(words, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (self.folder / "pids").write_text("".join(f"{pid}\n" for pid in [*self.pids()[:-1], process.pid]))
        wait_for(HOSTS[-1], self.port, process, "the node that was killed")
        # The others see it up.
        time.sleep(15)

    def bytes(self, keyspace):
        files = self.folder.glob(f"*/data/{keyspace}/**/*")
        return sum(file.stat().st_size for file in files if file.is_file() and not {"snapshots", "backups"} & set(file.parts))


def wait_for(host, port, process, name):
    for _ in range(1200):
        if process.poll() is not None:
            fail(f"{name} ended")
        with socket.socket() as asked:
            if asked.connect_ex((host, port)) == 0:
                return
        time.sleep(0.1)
    fail(f"{name} does not answer")


# Processes that answer.


class Java:
    """A process of JanusRing.java: a line of JSON for each line of JSON."""

    def __init__(self, folder, mode, ring, heap):
        words = ["java", f"-Xmx{heap}", "-cp", f"{JARS}/*", HERE / "ring/JanusRing.java", mode, ",".join(HOSTS), str(ring.port)]
        words += [KEYSPACES["JanusGraph"]] if mode == "graph" else []
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=(folder / f"janus-{mode}.log").open("a"))

    def ask(self, ask, **given):
        self.send(ask, **given)
        return self.answer()

    def send(self, ask, **given):
        self.process.stdin.write(json.dumps({"ask": ask, **given}) + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            fail(f"JanusGraph: {answer['error']}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Shell:
    """A process of knot."""

    def __init__(self, store):
        self.process = subprocess.Popen([KNOT, store, "--format", "jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, traversal, user):
        start = time.perf_counter()
        # A parameter that the shell sets would be a statement of its own, which asks the ring as well.
        self.process.stdin.write(TRAVERSALS[traversal].replace("$i", str(user)) + ";\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        took = (time.perf_counter() - start) * 1e3
        if not line:
            fail(f"Knotwork does not answer {traversal} of {user}")
        return took, json.loads(line)["answer"]

    def run(self, traversal, users):
        told = [self.ask(traversal, user) for user in users]
        return {"ms": [ms for ms, _ in told], "answers": [answer for _, answer in told]}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Meter:
    """Requests of a keyspace since the last look."""

    def __init__(self, folder, ring):
        self.java, self.last = Java(folder, "meter", ring, "256m"), {}

    def look(self, system):
        counts = self.java.ask("count").get(KEYSPACES[system], {})
        since = {kind: counts[kind] - self.last.get(system, {}).get(kind, 0) for kind in counts}
        self.last[system] = counts
        return {"requests": since.get("coordinator_read", 0) + since.get("coordinator_scan", 0), "replicas": since.get("local_read", 0)}


# Steps.


def comparable(traversal, answers):
    """Gremlin may move equal products of a preference together, so their order is not compared."""
    return [sorted(answer) if traversal == "preference" else answer for answer in answers]


def load(folder, ring, figures):
    log("loading Knotwork")
    start = time.monotonic()
    shell = subprocess.run([KNOT, ring.store()], input="\n".join(SCHEMA) + "\n", text=True, capture_output=True)
    if shell.returncode:
        fail(f"Knotwork: {shell.stderr.strip()}")
    made = time.monotonic()
    shutil.rmtree(folder / "staging", ignore_errors=True)
    subprocess.run([KNOT, "import", ring.store(), folder / "graph", "--no-progress", "--staging", folder / "staging"], check=True)
    edges = sum(1 for _ in (folder / "graph/edges-RATED.csv").open()) - 1
    knot = {"edges": edges, "seconds": time.monotonic() - made, "schema_seconds": made - start}
    log("loading JanusGraph")
    janus = Java(folder, "graph", ring, "1g")
    start = time.monotonic()
    told = janus.ask("load", folder=str(folder / "graph"))
    told["schema_seconds"] = time.monotonic() - start - told["seconds"]
    janus.close()
    figures["load"] = {"Knotwork": knot, "JanusGraph": told}
    for system, keyspace in KEYSPACES.items():
        ring.tool("flush", keyspace)
        figures["load"][system]["bytes_flushed"] = ring.bytes(keyspace)
        ring.tool("compact", keyspace)
        figures["load"][system]["bytes"] = ring.bytes(keyspace)


def traverse_knotwork(ring, meter, traversal, users, others, options, kinds):
    shell, told = Shell(ring.store(options)), {}
    for kind, asked in (("cold", users), ("warm", others), ("hot", users)):
        meter.look("Knotwork")
        answer = shell.run(traversal, asked)
        told[kinds[kind]] = answer | meter.look("Knotwork")
    shell.close()
    return told


def traverse_janusgraph(folder, ring, meter, traversal, users, others):
    janus, told = Java(folder, "graph", ring, "1g"), {}
    janus.ask("open", caches=True)
    kinds = [("cold", users, False), ("warm", others, False), ("hot", users, False), ("hot, one transaction", users, True)]
    for kind, asked, shares in kinds:
        meter.look("JanusGraph")
        answer = janus.ask("run", traversal=traversal, users=asked, shares=shares)
        told[kind] = answer | meter.look("JanusGraph")
    janus.close()
    return told


def traversals(folder, ring, meter, figures, draws):
    figures["traversals"] = {name: {"Knotwork": {}, "JanusGraph": {}} for name in TRAVERSALS}
    figures["different"] = []
    for round in range(ROUNDS):
        drawn = draws.sample(range(USERS), 2 * STARTS)
        users, others = drawn[:STARTS], drawn[STARTS:]
        for traversal in TRAVERSALS:
            log(f"{traversal}, round {round + 1}")
            exact = {"cold": "cold", "warm": "warm", "hot": "hot"}
            late = {"cold": "cold, late", "warm": "warm, late", "hot": "hot, late"}
            told = {
                "Knotwork": lambda: traverse_knotwork(ring, meter, traversal, users, others, "", exact)
                | traverse_knotwork(ring, meter, traversal, users, others, "?staleness=10s", late),
                "JanusGraph": lambda: traverse_janusgraph(folder, ring, meter, traversal, users, others),
            }
            turns = list(told) if round % 2 == 0 else list(told)[::-1]
            told = {system: told[system]() for system in turns}
            for kind, answer in told["Knotwork"].items():
                peer = told["JanusGraph"].get(kind.removesuffix(", late"))
                if comparable(traversal, answer["answers"]) != comparable(traversal, peer["answers"]):
                    figures["different"].append(f"{traversal}, {kind}, round {round + 1}")
            for system, kinds in told.items():
                for kind, answer in kinds.items():
                    empty = {"ms": [], "first": [], "requests": 0, "replicas": 0}
                    kept = figures["traversals"][traversal][system].setdefault(kind, empty)
                    kept["ms"] += answer["ms"]
                    kept["first"].append(answer["ms"][0])
                    kept["requests"] += answer["requests"]
                    kept["replicas"] += answer["replicas"]
            keep(folder, figures)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """`knot serve` on the ring."""

    def __init__(self, folder, ring, options=""):
        self.port = free_port()
        words = [KNOT, "serve", ring.store(options), "--no-auth", "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(words, stderr=(folder / "knot-serve.log").open("a"), stdout=subprocess.DEVNULL)
        wait_for("127.0.0.1", self.port, self.process, "`knot serve` (see knot-serve.log)")

    def close(self):
        self.process.terminate()
        self.process.wait()


def bolt_client(port, traversal, users, offset, begin, seconds, told):
    import neo4j

    ends, failures, slowest = [], {}, 0
    with neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{port}", telemetry_disabled=True) as driver, driver.session() as session:
        session.run("RETURN 1").consume()
        begin.wait()
        start = time.monotonic()
        at = offset
        while (before := time.monotonic()) < start + seconds:
            try:
                session.run(TRAVERSALS[traversal], i=users[at % len(users)]).single(strict=True)
                ends.append(time.monotonic() - start)
            except Exception as failure:  # any failure of a query is counted
                failures[str(failure)[:200]] = failures.get(str(failure)[:200], 0) + 1
            slowest = max(slowest, time.monotonic() - before)
            at += 1
    told.put((ends, failures, slowest, time.monotonic() - start))


def bolt_clients(port, traversal, users, clients, seconds, meanwhile=lambda: None):
    fork = multiprocessing.get_context("fork")
    begin, told = fork.Barrier(clients + 1), fork.Queue()
    workers = [fork.Process(target=bolt_client, args=(port, traversal, users, at * len(users) // clients, begin, seconds, told))
               for at in range(clients)]
    for worker in workers:
        worker.start()
    begin.wait(timeout=60)
    meanwhile()
    results = [told.get(timeout=seconds + 120) for _ in workers]
    for worker in workers:
        worker.join()
    took = max(result[3] for result in results)
    ends = [0, *sorted(end for result in results for end in result[0]), took]
    problems = {}
    for result in results:
        for problem, count in result[1].items():
            problems[problem] = problems.get(problem, 0) + count
    return {"answers": len(ends) - 2, "failures": sum(problems.values()), "seconds": took, "problems": problems,
            "slowest_s": max(result[2] for result in results), "pause_s": max(b - a for a, b in zip(ends, ends[1:]))}


def clients(folder, ring, figures, draws):
    figures["clients"] = {"Knotwork": {}, "JanusGraph": {}}
    users = draws.sample(range(USERS), 200)
    log("eight clients of Knotwork")
    with contextlib.closing(Server(folder, ring)) as server:
        for traversal in TRAVERSALS:
            bolt_clients(server.port, traversal, users, CLIENTS, SECONDS)
            figures["clients"]["Knotwork"][traversal] = bolt_clients(server.port, traversal, users, CLIENTS, SECONDS)
    log("eight clients of JanusGraph")
    janus = Java(folder, "graph", ring, "1g")
    janus.ask("open", caches=True)
    for traversal in TRAVERSALS:
        given = {"traversal": traversal, "users": users, "clients": CLIENTS, "seconds": SECONDS}
        janus.ask("clients", **given)
        figures["clients"]["JanusGraph"][traversal] = janus.ask("clients", **given)
    janus.close()


def race(folder, ring, figures):
    log("the race of Knotwork")
    statements = "".join(f"MERGE (:Race {{key: {key}}});\n" for key in range(KEYS))
    (folder / "race.cypher").write_text(statements)
    start = time.monotonic()
    words = [KNOT, "query", ring.store()]
    racers = [subprocess.Popen(words, stdin=(folder / "race.cypher").open(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
              for _ in range(CLIENTS)]
    errors = [racer.communicate()[1] for racer in racers]
    took = time.monotonic() - start
    count = [KNOT, "query", ring.store(), "MATCH (r:Race) RETURN count(r.key) AS n", "--format", "csv"]
    nodes = int(subprocess.run(count, check=True, capture_output=True, text=True).stdout.split()[-1])
    failed = [error.strip().splitlines()[-1] for error, racer in zip(errors, racers) if racer.returncode]
    figures["race"] = {"Knotwork": {"nodes": nodes, "seconds": took, "keys": KEYS, "failures": len(failed), "problems": failed}}
    for key in ("free", "locked"):
        log(f"the race of JanusGraph, {key}")
        janus = Java(folder, "graph", ring, "1500m")
        figures["race"][f"JanusGraph, {key}"] = janus.ask("race", key=key, clients=CLIENTS, keys=KEYS, seconds=RACE_SECONDS)
        janus.close()
        keep(folder, figures)


def kill(folder, ring, figures, draws):
    users = draws.sample(range(USERS), 200)
    figures["kill"] = {}
    seconds = 2 * SECONDS

    def strike():
        time.sleep(seconds / 3)
        ring.kill()

    log("a node dies under Knotwork")
    # Without caches every query goes to the ring.
    with contextlib.closing(Server(folder, ring, "?cache=0")) as server:
        bolt_clients(server.port, "preference", users, 4, SECONDS)
        figures["kill"]["Knotwork"] = bolt_clients(server.port, "preference", users, 4, seconds, strike)
    keep(folder, figures)
    ring.revive()
    log("a node dies under JanusGraph")
    janus = Java(folder, "graph", ring, "1g")
    janus.ask("open", caches=False)
    given = {"traversal": "preference", "users": users, "clients": 4}
    janus.ask("clients", seconds=SECONDS, **given)
    janus.send("clients", seconds=seconds, **given)
    strike()
    figures["kill"]["JanusGraph"] = janus.answer()
    janus.close()


# Figures.


def keep(folder, figures):
    (folder / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")


def ratio(knot, janus):
    return f"{janus / knot:.1f}" if knot else "–"


def percentile(times, part):
    times = sorted(times)
    return times[min(len(times) - 1, int(len(times) * part))]


def print_traversals(traversals):
    columns = [("Knotwork", ""), ("Knotwork", ", late"), ("JanusGraph", "")]
    for unit in ("ms", "requests"):
        if traversals:
            print(f"\n| {unit} | Knotwork | Knotwork, `staleness=10s` | JanusGraph | ratio | ratio, `staleness=10s` |")
            print("|---|---|---|---|---|---|")
        for name, told in traversals.items():
            for kind in ("cold", "warm", "hot"):
                if not all(kind + late in told[system] for system, late in columns):
                    continue
                kept = [told[system][kind + late] for system, late in columns]
                if unit == "ms":
                    values = [statistics.median(one["ms"]) for one in kept]
                    shown = [f"{value:.2f} ({percentile(one['ms'], .99):.0f})" for value, one in zip(values, kept)]
                else:
                    values = [one["requests"] / len(one["ms"]) for one in kept]
                    shown = [f"{value:.1f}" for value in values]
                print(f"| {name}, {kind} | {' | '.join(shown)} | {ratio(values[0], values[2])} | {ratio(values[1], values[2])} |")
            if unit == "ms" and "hot, one transaction" in told["JanusGraph"]:
                kept = [told["Knotwork"]["hot"], told["Knotwork"]["hot, late"], told["JanusGraph"]["hot, one transaction"]]
                values = [statistics.median(one["ms"]) for one in kept]
                print(f"| {name}, hot, JanusGraph in one transaction | {values[0]:.2f} | {values[1]:.2f} | {values[2]:.2f} | "
                      f"{ratio(values[0], values[2])} | {ratio(values[1], values[2])} |")


def print_tables(figures):
    print("\n| | Knotwork | JanusGraph | ratio |\n|---|---|---|---|")
    if "load" in figures:
        knot, janus = figures["load"]["Knotwork"], figures["load"]["JanusGraph"]
        a, b = knot["edges"] / knot["seconds"], janus["edges"] / janus["seconds"]
        print(f"| load, edges/s | {a:,.0f} | {b:,.0f} | {a / b:.1f} |")
        print(f"| load, s | {knot['seconds']:.1f} | {janus['seconds']:.1f} | {ratio(knot['seconds'], janus['seconds'])} |")
        print(f"| keyspace, tables and schema, s | {knot['schema_seconds']:.1f} | {janus['schema_seconds']:.1f} | "
              f"{ratio(knot['schema_seconds'], janus['schema_seconds'])} |")
        for name, key in (("flushed", "bytes_flushed"), ("compacted", "bytes")):
            a, b = knot[key] / knot["edges"], janus[key] / janus["edges"]
            print(f"| bytes per edge, {name}, three copies | {a:,.0f} | {b:,.0f} | {ratio(a, b)} |")
    for name in TRAVERSALS:
        if name in figures.get("clients", {}).get("JanusGraph", {}):
            a, b = (figures["clients"][system][name]["answers"] / figures["clients"][system][name]["seconds"]
                    for system in ("Knotwork", "JanusGraph"))
            print(f"| {CLIENTS} clients, {name}, queries/s | {a:,.0f} | {b:,.0f} | {a / b:.1f} |")
    print_traversals(figures.get("traversals", {}))
    for system, told in figures.get("race", {}).items():
        print(f"\n{system}: {told['nodes']} nodes of {told['keys']} keys that {CLIENTS} clients made, in {told['seconds']:.1f} s"
              f" ({told.get('retries', 0)} repeated, {told['failures']} failed)")
    for system, told in figures.get("kill", {}).items():
        print(f"\n{system}: {told['answers']} answers and {told['failures']} failures while a node was killed; "
              f"slowest {told['slowest_s']:.2f} s, longest time without an answer {told['pause_s']:.2f} s")
    if figures.get("different"):
        print("\nAnswers differ: " + "; ".join(figures["different"]))


def fetch():
    if (JARS / "complete").exists() or "JANUSGRAPH" in os.environ:
        return
    log(f"fetching JanusGraph {VERSION}")
    JARS.mkdir(parents=True, exist_ok=True)
    (JARS / "pom.xml").write_text(f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>knotwork</groupId><artifactId>ring</artifactId><version>1</version>
<dependencies><dependency><groupId>org.janusgraph</groupId><artifactId>janusgraph-cql</artifactId>
<version>{VERSION}</version></dependency></dependencies></project>
""")
    words = ["mvn", "-B", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={JARS}", "-DincludeScope=runtime"]
    if subprocess.run(words, cwd=JARS).returncode:
        fail(f"Maven could not fetch JanusGraph {VERSION}", 2)
    (JARS / "complete").touch()


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        fail("usage: benchmarks/ring.py FOLDER", 2)
    missing = [remedy for program, remedy in (("java", "there is no Java; install openjdk-17-jdk-headless"),
                                              ("mvn", "there is no Maven; install maven"),
                                              (KNOT, f"there is no {KNOT}; build it with --features cql, or name it by KNOT"))
               if not shutil.which(program)]
    try:
        import neo4j  # noqa: F401
    except ImportError:
        missing.append("this Python has no package neo4j; install it with pip")
    if missing:
        fail("; ".join(missing), 2)
    fetch()
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    ring, figures, draws = Ring(folder / "ring"), {}, random.Random(1)
    if (ring.folder / "pids").exists():
        fail(f"{ring.folder} has a ring; end it with: scripts/ring.sh stop {ring.folder}", 2)
    for path in (ring.folder, folder / "graph"):
        shutil.rmtree(path, ignore_errors=True)
    words = [KNOT, "generate", "ratings", "-n", str(USERS), "-e", str(RATINGS), "--seed", "1", "-o", folder / "graph"]
    subprocess.run(words, check=True)
    try:
        ring.start()
        load(folder, ring, figures)
        keep(folder, figures)
        if "traversals" in STEPS:
            meter = Meter(folder, ring)
            traversals(folder, ring, meter, figures, draws)
            meter.java.close()
        if "clients" in STEPS:
            clients(folder, ring, figures, draws)
            keep(folder, figures)
        if "race" in STEPS:
            race(folder, ring, figures)
        if "kill" in STEPS:
            kill(folder, ring, figures, draws)
            keep(folder, figures)
    finally:
        ring.stop()
        print_tables(figures)
    if figures.get("different"):
        sys.exit(1)


if __name__ == "__main__":
    main()
