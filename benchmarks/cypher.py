"""Queries beside peers on generated graphs: cypher.py FOLDER [SUITE…]; suites: social kronecker lsqb lubm ratings.

Each peer loads the same Parquet files and answers the same queries with the same parameters; every answer is compared.
ROUNDS (2) runs of each, in turning order; medians of them. LSQB_SCALE (0.1,0.3), UNIVERSITIES (50), REVIEWS (5000000),
SCALE (20, of the Kronecker graph) set sizes, PEERS (ladybug,duckdb,sqlite) the peers, SECONDS (20) the time of a series.
The peer `base` is another build of Knotwork, whose programs lie in the folder BASE as in target/release.
"""
import json
import os
import subprocess
import sys

import suites
from peers import remove

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KNOT = os.environ.get("KNOT", os.path.join(ROOT, "target/release/knot"))
RUNNER = os.environ.get("RUNNER", os.path.join(ROOT, "target/release/examples/queries"))
PEERS = os.environ.get("PEERS", "ladybug,duckdb,sqlite").split(",")
ROUNDS = int(os.environ.get("ROUNDS", 2))
SECONDS = float(os.environ.get("SECONDS", 20))


def forget(path):
    """Takes the files of a store out of the page cache."""
    for folder, _, files in os.walk(path) if os.path.isdir(path) else [(os.path.dirname(path), [], [os.path.basename(path)])]:
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Knotwork:
    #: Some peers cannot end a query: each has a process of its own, which is ended.
    has_limit = True
    #: The peer whose texts of the queries it takes.
    dialect = "knotwork"

    def __init__(self, folder, suite, name="knotwork"):
        self.name, self.suite, self.store = name, suite, os.path.join(folder, f"{suite.name}-{name}.knot")
        self.knot, self.runner = (KNOT, RUNNER) if name == "knotwork" else programs_of_base()

    def load(self, graph):
        remove(self.store)
        for statement in self.suite.schema:
            subprocess.run([self.knot, self.store, "-c", statement], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        command = [self.knot, "import", self.store, "--no-progress"]
        for label, table in graph["nodes"].items():
            command += ["--nodes", f"{':'.join([label, *table['also']])}={table['file']}"]
        for table in graph["edges"]:
            command += ["--edges", f"{table['type']}:{table['source']}->{table['target']}={table['file']}"]
        return timed(command)

    def command(self, spec, result, _):
        return [self.runner, self.store, spec, result]


class Peer:
    def __init__(self, name, folder, suite):
        self.has_limit, self.dialect = name != "neug", name
        self.name, self.store = name, os.path.join(folder, f"{suite.name}.{name}")
        self.graph, self.folder = os.path.join(suite.graph_folder(folder), "graph.json"), folder

    def load(self, _):
        spec, result = os.path.join(self.folder, "spec.json"), os.path.join(self.folder, "result.json")
        write(spec, {"queries": []})
        script = [sys.executable, os.path.join(ROOT, "benchmarks/peers.py"), self.name, "load", self.graph, self.store]
        subprocess.run([*script, spec, result], check=True)
        return read(result)["seconds"]

    def command(self, spec, result, task="run"):
        return [sys.executable, os.path.join(ROOT, "benchmarks/peers.py"), self.name, task, self.graph, self.store, spec, result]


def programs_of_base():
    """The command and the runner of queries of the build that this one is compared with."""
    folder = os.environ.get("BASE") or sys.exit("the peer base wants BASE, a folder with the programs of another build")
    return os.path.join(folder, "knot"), os.path.join(folder, "examples/queries")


def timed(command):
    import time
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}\n{done.stderr}")
    return time.perf_counter() - start


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file)


def read(path):
    with open(path) as file:
        return json.load(file)


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def run(peer, suite, folder):
    """The answers of the peer: {query: {"rounds", "answers"} or {"error"}}; each cold query in a process of its own."""
    asked = [(query, query.texts.get(peer.dialect)) for query in suite.queries]
    batches = [[pair] for pair in asked] if suite.is_cold or not peer.has_limit else [asked]
    found = {}
    for batch in batches:
        if suite.is_cold:
            forget(peer.store)
        spec, result = os.path.join(folder, "spec.json"), os.path.join(folder, "result.json")
        queries = [{"name": query.name, "text": text, "parameters": query.parameters, "rounds": suite.rounds, "seconds": SECONDS}
                   for query, text in batch if text]
        write(spec, {"queries": queries, "threads": suite.threads.get(peer.dialect, 2)})
        if os.path.exists(result):
            os.unlink(result)
        try:
            limit = 60 + 4 * SECONDS * max(1, len(queries)) if peer.has_limit else 10 + SECONDS
            subprocess.run(peer.command(spec, result, "run"), check=True, timeout=limit)
            found.update(read(result)["queries"])
        except (subprocess.SubprocessError, OSError) as error:
            found.update({query["name"]: {"error": f"the process did not end well: {error}"[:100]} for query in queries})
    return found


def same(ours, theirs):
    """Numbers of equal answers, and of answers that both gave. Floats may differ in the last digits; order counts where asked."""
    norm = lambda rows: [[round(cell, 6) if isinstance(cell, float) else cell for cell in row] for row in rows]
    pairs = list(zip(ours, theirs))
    return sum(norm(a) == norm(b) or sorted(map(str, norm(a))) == sorted(map(str, norm(b))) for a, b in pairs), len(pairs)


def measure(suite, folder):
    graph = suite.graph(folder)
    peers = [Knotwork(folder, suite)] + [Peer(name, folder, suite) for name in PEERS if name in suite.peers]
    if "base" in PEERS:
        peers.append(Knotwork(folder, suite, "base"))
    edges = sum(count for name, count in graph["counts"].items() if name not in graph["nodes"])
    loads = {peer.name: peer.load(graph) for peer in peers}
    print(f"\n== {suite.title} ({edges:,} edges)")
    print("load, edges/s: " + ", ".join(f"{name} {edges / seconds:,.0f}" for name, seconds in loads.items()))
    figures, answers = {}, {}
    for number in range(ROUNDS):
        for peer in peers if number % 2 == 0 else peers[::-1]:
            for name, outcome in run(peer, suite, folder).items():
                answers.setdefault(name, {})[peer.name] = outcome.get("answers", outcome.get("error"))
                for kind, latencies in outcome.get("rounds", {}).items():
                    cell = figures.setdefault((name, kind), {}).setdefault(peer.name, [])
                    cell.append((percentile(latencies, 0.5), percentile(latencies, 0.99), len(latencies)))
    show(suite, peers, figures, answers)
    for peer in peers:
        remove(peer.store)


def show(suite, peers, figures, answers):
    width = 24
    print(f"{suite.unit} p50 / p99".ljust(44) + "".join(peer.name.rjust(width) for peer in peers) + "   best peer / ours")
    for query in suite.queries:
        for kind in suite.rounds:
            cells = figures.get((query.name, kind), {})
            middle = {name: [percentile([one[at] for one in found], 0.5) / suite.scale for at in (0, 1)]
                      for name, found in cells.items()}
            texts = [" / ".join(f"{value:,.3g}" for value in middle[peer.name]) if peer.name in middle else
                     ("-" if peer.dialect not in query.texts else "failed") for peer in peers]
            others = [value[0] for name, value in middle.items() if name != "knotwork"]
            ratio = f"{min(others) / middle['knotwork'][0]:.1f}x" if others and "knotwork" in middle else ""
            label = query.name + (f", {kind}" if len(suite.rounds) > 1 else "")
            print(label[:43].ljust(44) + "".join(text.rjust(width) for text in texts) + ratio.rjust(12))
    for query in suite.queries:
        given = answers.get(query.name, {})
        ours = given.get("knotwork")
        if isinstance(ours, str):
            print(f"FAILED: {query.name}, knotwork: {ours}")
            continue
        for name, theirs in given.items():
            if name == "knotwork":
                continue
            if isinstance(theirs, str):
                print(f"failed: {query.name}, {name}: {theirs}")
                continue
            equal, count = same(ours or [], theirs)
            if equal != count:
                why = f"; {query.note}" if query.note else ""
                print(f"DIFFERENT: {query.name}: {equal} of {count} answers of {name} equal{why}")
        if query.expected is not None and ours and ours[0][0][0] != query.expected:
            print(f"WRONG: {query.name}: {ours[0][0][0]} instead of {query.expected}")
    sys.stdout.flush()


def main(folder, *names):
    os.makedirs(folder, exist_ok=True)
    for suite in suites.all_suites(names):
        measure(suite, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
