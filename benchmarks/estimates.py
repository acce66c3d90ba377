"""Estimated times compared with measured ones: estimates.py FOLDER [GRAPH:SEED…], graphs social, kronecker and flights of shapes.py.

Generated statements of each graph are explained, profiled and run. Printed is the distribution of max(e/a, a/e), e the estimated and a
the measured time: as EXPLAIN tells it, with the rows that came in place of those expected, which leaves the error of the unit costs, and
the factor between the two, which is the error of the expected rows. A statement is run ROUNDS (7) times in turn with all others, with its
plan in the cache; the lower quartile counts, since others use the machine too, without the time of its consumer. One thread runs them, or
all with THREADS=all. How many matches came on the way of CountMatches is not known: statements with it are `counted`. `calibrated` is
what EXPLAIN tells after they ran; it is left out if the program was built with other unit costs than the source has.

    KNOT=target/release/knot python3 benchmarks/estimates.py FOLDER
    KNOT=target/release/knot python3 benchmarks/estimates.py FOLDER --fit social:1

--fit fits the unit costs of crates/database/src/costs.rs to the statements of the graphs it names, least squares of relative errors, and
prints them with the errors that they leave; with WRITE=1 it writes them there. SIZE (middle) as for shapes.py, QUERIES (60) for each
graph, and half as many of plain forms. WORST (3) are shown. Ends with 1 if the error of unit costs is more than 30 % in the median.
"""
import importlib
import json
import os
import random
import re
import subprocess
import sys

os.environ.setdefault("SIZE", "middle")
os.environ.setdefault("QUERIES", "60")
ROUNDS = int(os.environ.get("ROUNDS", 7))
WORST = int(os.environ.get("WORST", 3))
THREADS = os.environ.get("THREADS", "1")
#: Nanoseconds up to which all rounds are run, and those from which on a statement is left out.
BRIEF_NS, LONG_NS = 100e6, 5e9
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../crates/database/src/costs.rs")


def forms(draw, shape):
    """Statements of plain forms on the nodes of a label that has a column, and their relationships."""
    label = draw.choice(sorted(shape.columns))
    column, condition = shape.columns[label]
    count, edges = shape.counts[label], draw.choice([edges for edges in shape.edges if edges.source == label])
    first, some = draw.randrange(count), draw.choice([1, 10, 100, 1000])
    test = f"n.{column} {condition(draw)}"
    return draw.choice([
        f"MATCH (n:{label} {{id: {first}}}) RETURN n.{column}",
        f"MATCH (n:{label} {{id: {first}}}) RETURN n",
        f"MATCH (n:{label} {{id: {first}}})-[r:{edges.type}]->(m) RETURN m LIMIT {some}",
        f"MATCH (n:{label}) WHERE {test} RETURN n.id, n.{column} LIMIT {some}",
        f"MATCH (n:{label}) WHERE {test} RETURN n.id",
        f"MATCH (n:{label}) WHERE n.{column} + 1 = {draw.randint(1, 80)} RETURN count(*)",
        f"MATCH (n:{label}) RETURN n.id, n.{column} ORDER BY n.{column}, n.id",
        f"MATCH (n:{label}) WHERE {test} RETURN n.id ORDER BY n.{column} DESC LIMIT {some}",
        f"MATCH (n:{label}) RETURN n.{column} % 7 AS k, count(*), avg(n.id)",
        f"MATCH (n:{label}) RETURN min(n.{column}), max(n.id), count(n)",
        f"MATCH (n:{label}) WHERE {test} RETURN n LIMIT {some}",
        f"UNWIND range({first}, {first + some}) AS i MATCH (n:{label} {{id: i}}) RETURN sum(n.{column})",
        f"UNWIND range(1, {10 * some}) AS i RETURN sum(i * i % 7)",
        f"UNWIND range(1, {10 * some}) AS i WITH i % 100 AS k, collect(i) AS l RETURN k, size(l) ORDER BY k",
        f"MATCH (n:{label}) WHERE n.id < {some} OPTIONAL MATCH (n)-[:{edges.type}]->(m) RETURN n.id, count(m)",
        f"MATCH (n:{label}), (m:{label}) WHERE n.id < {some} AND n.{column} = m.{column} RETURN count(*)",
        f"MATCH (n:{label})-[r:{edges.type}]->(m) WHERE n.id < {some} RETURN n.id, collect(m.id)[..3]",
        f"MATCH (n:{label}) WHERE toString(n.id) ENDS WITH '{draw.randrange(10)}' RETURN count(*)",
    ])


def knot(store, statements, *options):
    """Lines of JSON that statements give, each followed by that of the slow log."""
    log = store + ".log"
    if os.path.exists(log):
        os.unlink(log)
    command = [os.environ["KNOT"], store, "--read-only", "--format", "jsonl", "--slow-log", log, "--slow-time", "0", *options]
    if THREADS == "1":
        command = ["taskset", "-c", "0", *command]
    done = subprocess.run(command, input=";\n".join(statements) + ";\n", capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"knot failed: {done.stderr[-2000:]}")
    with open(log) as lines:
        logged = [json.loads(line) for line in lines]
    if len(logged) != len(statements):
        sys.exit(f"{len(statements)} statements were run, and {len(logged)} are in the log: {done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"plan"') or line.startswith('{"estimate')], logged


def run_ns(line):
    """Nanoseconds of a run without what makes a plan, and without its consumer."""
    return sum(line["phases"].get(f"{phase}Ns", 0) for phase in ("run", "records", "commit", "between"))


def median(values):
    return sorted(values)[len(values) // 2]


def measured(folder, name, seed):
    """The statements of a graph: text, nanoseconds, the report of EXPLAIN before they ran and after, and that of PROFILE."""
    os.environ["SEED"] = seed
    import cypher
    import shapes
    importlib.reload(shapes)
    suite, = shapes.suites([name])
    described = suite.graph(folder)
    ours = cypher.Knotwork(folder, suite)
    if not os.path.exists(ours.store):
        ours.load(described)
    draw = random.Random(f"{seed} {name}")
    shape = shapes.shape_of(name)
    texts = [query.texts["knotwork"] for query in suite.queries]
    texts += [forms(draw, shape) for _ in range(len(texts) // 2)] if shape.columns else []
    explained, _ = knot(ours.store, [f"EXPLAIN {text}" for text in texts])
    profiled, _ = knot(ours.store, [f"PROFILE {text}" for text in texts])
    kept = [at for at, report in enumerate(profiled) if report["waterfall"]["wholeNs"] < LONG_NS]
    rounds = [at for each in range(ROUNDS + 1) for at in kept
              if each < 3 or profiled[at]["waterfall"]["wholeNs"] < BRIEF_NS]
    after, logged = knot(ours.store, [texts[at] for at in rounds] + [f"EXPLAIN {texts[at]}" for at in kept])
    times = {at: [] for at in kept}
    for at, line in zip(rounds, logged):
        if line["planCached"]:
            times[at].append(run_ns(line))
    return [{"text": texts[at], "ns": max(sorted(times[at])[len(times[at]) // 4], 1), "before": explained[at], "profile": profiled[at], "after": told}
            for at, told in zip(kept, after[-len(kept):]) if times[at]]


def factor(estimated, actual):
    return max(estimated / actual, actual / max(estimated, 1e-9))


def time_of(units, costs):
    return sum(count * costs[name] for name, count in units.items())


def show(title, cases):
    """Prints the errors of cases, by the unit costs of the source; gives the median of those of unit costs."""
    costs = dict(table()[1])
    told = [case for case in cases if case["before"]["estimatedNs"] is not None]
    expected = [time_of(case["before"]["estimate"]["units"], costs) for case in told]
    by_rows = [time_of(case["profile"]["estimate"]["unitsByRows"], costs) for case in told]
    plain = [case["before"]["estimatedNs"] / case["before"]["estimate"]["factor"] for case in told]
    if THREADS != "1":
        # The share of each thread is known to the program alone.
        expected = plain
        by_rows = [case["profile"]["estimatedNsByRows"] / case["profile"]["estimate"]["factor"] for case in told]
    times = [case["ns"] for case in told]
    columns = {
        "as EXPLAIN tells it": list(map(factor, expected, times)),
        "with the rows that came": list(map(factor, by_rows, times)),
        "error of the rows": list(map(factor, expected, by_rows)),
    }
    if all(abs(one / other - 1) < 0.01 for one, other in zip(plain, expected)):
        columns["calibrated"] = [factor(case["after"]["estimatedNs"], case["ns"]) for case in told]
    is_counted = ["counting" in case["profile"]["estimate"]["unitsByRows"] for case in told]
    for name, wanted in (("  of them counted", True), ("  of them not counted", False)):
        some = [off for off, counted in zip(columns["with the rows that came"], is_counted) if counted == wanted]
        columns.update({name: some} if some else {})
    ratio = median([estimated / time for estimated, time in zip(by_rows, times)])
    print(f"\n== {title}: {len(told)} statements, estimated / measured {ratio:.2f} in the median")
    for name, factors in columns.items():
        ordered = sorted(factors)
        print(f"  {name:<24} median {median(factors):5.2f}   90 % {ordered[int(0.9 * len(ordered))]:6.2f}   worst {ordered[-1]:8.1f}")
    wrong = sorted(zip(columns["with the rows that came"], by_rows, times, told), key=lambda it: -it[0])[:WORST]
    for off, estimated, time, case in wrong:
        print(f"    {off:6.2f}  {estimated / 1e3:10.1f} µs estimated, {time / 1e3:10.1f} measured  {case['text'][:150]}")
    return median(columns["with the rows that came"])


def table():
    """The units of the source: name, nanoseconds, and the place of the number."""
    with open(SOURCE) as file:
        text = file.read()
    return text, [(found[1], float(found[2].replace("_", ""))) for found in re.finditer(r'^    \w+ "(\w+)" ([\d_.]+) "', text, re.M)]


def fit(cases, names, before):
    """Unit costs that leave the least relative errors; those of which the cases say little stay near to what they are.

    Least squares of the logarithm of estimated / measured, by the logarithms of the costs, which are never below 0. What is off by more
    than a third counts less (Huber)."""
    import numpy as np
    start = np.log(np.maximum(before, 0.2))
    counts = np.array([[case["profile"]["estimate"]["unitsByRows"].get(name, 0) for name in names] for case in cases])
    times = np.array([case["ns"] for case in cases], float)
    stiffness = float(os.environ.get("STIFFNESS", 0.3))
    found = start.copy()
    for _ in range(100):
        parts = counts * np.exp(found)
        estimated = np.maximum(parts.sum(axis=1), 1.0)
        errors = np.log(times / estimated)
        weights = np.sqrt(np.minimum(1.0, 0.3 / np.maximum(np.abs(errors), 1e-9)))
        rows = np.vstack([parts / estimated[:, None] * weights[:, None], stiffness * np.eye(len(names))])
        step, *_ = np.linalg.lstsq(rows, np.concatenate([errors * weights, stiffness * (start - found)]), rcond=None)
        found += np.clip(step, -0.5, 0.5)
    return np.exp(found), counts @ np.exp(found), times


def print_fit(cases):
    text, units = table()
    names, before = [name for name, _ in units], [ns for _, ns in units]
    costs, estimated, times = fit(cases, names, before)
    for name, old, ns in zip(names, before, costs):
        print(f"  {name:<18} {old:>10.1f} -> {ns:>10.2f}")
        digits = f"{ns:_.0f}.0" if ns >= 100 else f"{ns:.1f}"
        text = re.sub(rf'^(    \w+ "{name}") [\d_.]+ "', rf'\1 {digits} "', text, flags=re.M)
    off = sorted(((factor(one, time), one, time, case["text"]) for one, time, case in zip(estimated, times, cases)), reverse=True)
    for worst, one, time, statement in off[:WORST]:
        print(f"    {worst:6.2f}  {one / 1e3:10.1f} µs estimated, {time / 1e3:10.1f} measured  {statement[:150]}")
    factors = [it[0] for it in reversed(off)]
    print(f"fitted to {len(times)} statements: median {median(factors):.2f}, 90 % {factors[int(0.9 * len(factors))]:.2f}")
    if os.environ.get("WRITE"):
        with open(SOURCE, "w") as file:
            file.write(text)


def main(folder, *arguments):
    os.environ.setdefault("KNOT", "target/release/knot")
    os.makedirs(folder, exist_ok=True)
    wanted = [name for name in arguments if name != "--fit"] or ["social:2", "kronecker:1", "flights:1"]
    groups = {name: measured(folder, *name.split(":")) for name in wanted}
    if "--fit" in arguments:
        return print_fit([case for cases in groups.values() for case in cases])
    errors = [show(name, cases) for name, cases in groups.items()]
    if len(groups) > 1:
        errors.append(show("all", [case for cases in groups.values() for case in cases]))
    sys.exit(errors[-1] > 1.3)


if __name__ == "__main__":
    main(*sys.argv[1:])
