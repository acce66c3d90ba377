"""A server beside Neo4j 5.26, by the same client in Rust: point reads, commits, records of one result, connections that rest; and
beside a server of canned answers, by that client and by Neo4j's driver for Python: what the protocol, the network and the clients
cost without a database.

    KNOT=target/release/knot LOAD=target/release/examples/server_load CANNED=target/release/examples/canned_server \
        benchmarks/server.py FOLDER

Each figure is the median of ROUNDS rounds (5) in turns, the order changing from round to round; both servers run all the time, one of
them at work. NEO4J=FOLDER names a folder with the jars of Neo4j; without it, Knotwork is measured alone. CONNECTIONS (8), SECONDS (4)
and PERSONS (100000) may be set. Ends with 1 if a figure misses its goal (docs/server.md).
"""
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import time

import neo4j_server
from neo4j_server import free_port, wait_for

KNOT, LOAD, CANNED = os.environ["KNOT"], os.environ["LOAD"], os.environ["CANNED"]
FOLDER = pathlib.Path(sys.argv[1])
ROUNDS, SECONDS = int(os.environ.get("ROUNDS", 5)), int(os.environ.get("SECONDS", 4))
CONNECTIONS, PERSONS = int(os.environ.get("CONNECTIONS", 8)), int(os.environ.get("PERSONS", 100_000))
JARS = os.environ.get("NEO4J")


def knotwork():
    port, store = free_port(), FOLDER / "graph.knot"
    command = [KNOT, "serve", store, "--no-auth", "--listen", f"127.0.0.1:{port}", "--connections", "20000"]
    process = subprocess.Popen(command, stderr=(FOLDER / "knot.log").open("w"))
    wait_for(port, process)
    return "Knotwork", port, process


def neo4j():
    home = FOLDER / "neo4j"
    port = neo4j_server.configure(home)
    return "Neo4j", port, neo4j_server.start(JARS, home, port, FOLDER / "neo4j.log")


def canned():
    process = subprocess.Popen([CANNED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return "canned", int(process.stdout.readline().rsplit(":", 1)[1]), process


def python_reads(port):
    """Point reads a second of Neo4j's driver for Python, one after the other."""
    words = [sys.executable, pathlib.Path(__file__).with_name("server_driver.py"), str(port), str(SECONDS), str(PERSONS)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def load(port, *arguments):
    if arguments[0] == "python":
        return python_reads(port)
    words = [LOAD, f"bolt://127.0.0.1:{port}", *map(str, arguments)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def fill(port):
    statements = [
        "CREATE CONSTRAINT person IF NOT EXISTS FOR (p:Person) REQUIRE p.id IS UNIQUE",
        f"UNWIND range(0, {PERSONS - 1}) AS i CREATE (:Person {{id: i, name: 'person ' + toString(i)}})",
    ]
    for statement in statements:
        subprocess.run([LOAD, f"bolt://127.0.0.1:{port}", "query", statement], check=True)


def echo_us(rounds=20_000):
    """Median time in µs of 60 bytes to another process and back: what a round trip costs here without a database."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    child = os.fork()
    if child == 0:
        peer, _ = listener.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := peer.recv(4096):
            peer.sendall(data)
        os._exit(0)
    times = []
    with socket.create_connection(listener.getsockname()) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(rounds):
            start = time.perf_counter_ns()
            client.sendall(b"x" * 60)
            client.recv(4096)
            times.append(time.perf_counter_ns() - start)
    os.waitpid(child, 0)
    return statistics.median(times) / 1e3


def resident(process):
    line = next(line for line in open(f"/proc/{process.pid}/status") if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def idle(server, count):
    _, port, process = server
    before = resident(process)
    words = [LOAD, f"bolt://127.0.0.1:{port}", "idle", str(count)]
    holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    holder.stdout.readline()
    time.sleep(1)
    held = resident(process) - before
    # Others are served meanwhile.
    beside = load(port, "reads", 1, 1, PERSONS)
    holder.stdin.close()
    holder.wait()
    return held, beside["p99_us"]


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    servers = [knotwork()] + ([neo4j()] if JARS else []) + [canned()]
    try:
        for name, port, _ in servers:
            if name != "canned":
                fill(port)
        loads = {
            "driver for Python": ("python",),
            "point reads, 1 connection": ("reads", 1, SECONDS, PERSONS),
            f"point reads, {CONNECTIONS} connections": ("reads", CONNECTIONS, SECONDS, PERSONS),
            f"commits, {CONNECTIONS} connections": ("writes", CONNECTIONS, SECONDS, PERSONS),
            "one result": ("stream", 3_000_000),
        }
        found = {}
        for round_ in range(ROUNDS):
            for name, arguments in loads.items():
                for server in servers if round_ % 2 == 0 else servers[::-1]:
                    if server[0] == "canned" and arguments[0] not in ("python", "reads"):
                        continue
                    for figure, value in load(server[1], *arguments).items():
                        found.setdefault((name, figure), {}).setdefault(server[0], []).append(value)
        print(f"medians of {ROUNDS} rounds, {os.cpu_count()} processors, client and servers on the same machine")
        for (name, figure), values in found.items():
            medians = {server: statistics.median(all_) for server, all_ in values.items()}
            print(f"{name:32} {figure:16} " + "  ".join(f"{server} {value:>12,.1f}" for server, value in medians.items()))
        median = {key: statistics.median(values["Knotwork"]) for key, values in found.items()}
        misses = []
        print(f"an echo of 60 bytes between two processes takes {echo_us():.1f} µs here")

        def goal(what, value, is_met):
            print(f"goal: {what}: {value:,.2f}{'' if is_met else '  MISSED'}")
            misses.extend([] if is_met else [what])

        p50 = median["point reads, 1 connection", "p50_us"]
        goal("point read, p50, at most 25 µs", p50, p50 <= 25)
        rate = median[f"point reads, {CONNECTIONS} connections", "per_second"]
        goal("point reads, at least 60,000 a second", rate, rate >= 60_000)
        driven = found["driver for Python", "p50_us"]
        ratio = statistics.median(a / b for a, b in zip(driven["Knotwork"], driven["canned"]))
        goal("driver for Python: p50 as a share of that beside canned answers, at most 1.05", ratio, ratio <= 1.05)
        rows = median["one result", "rows_per_second"]
        goal("records, at least 3 million a second", rows, rows >= 3e6)
        held, p99 = idle(servers[0], 1_000)
        goal("1,000 idle connections, at most 32 MiB", held / 2**20, held <= 32 * 2**20)
        held, p99 = idle(servers[0], 10_000)
        print(f"10,000 idle connections: {held / 2**20:,.1f} MiB, point reads beside them p99 {p99:,.1f} µs")
        return 1 if misses else 0
    finally:
        for _, _, process in servers:
            process.terminate()
            process.wait()


sys.exit(main())
