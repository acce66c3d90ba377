"""The evaluation of Yoneki, Roy, "A unified graph query layer for multiple databases", 2012, run anew.

    evaluate.py WORK [rome|grid]

A* between the same places everywhere, with growing numbers of nodes expanded: the native store; PL/pgSQL with tables as
priority queue and closed set; pgRouting whole and with a bounding box; Knotwork over PostgreSQL and over Redis without
prefetching, with lookahead, with blocks and adaptive, cold, cached and hot; the same with a millisecond of latency; and a
series of queries again and again. Every length is compared. WORK gets the servers' data while it runs, the graph, and
results.json, tables.md, tables.csv and a plot for each of the paper's figures 4 to 7.

ROADS names a folder with rome.gr and rome.co (DIMACS, length in decimetres, zstd-packed or not) and, if there are chosen
queries, astar_rome_queries.json; without it a grid like that of roads is generated (SIDE, SEED). RUNS and SECONDS bound the
work. BIN is where the examples roads and road_search are.
"""

import csv
import json
import math
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import time

import load

HERE = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(os.environ.get("BIN", HERE.parent.parent / "target/release/examples"))
RUNS = int(os.environ.get("RUNS", "5"))
# Seconds that one query of a peer may take.
SECONDS = int(os.environ.get("SECONDS", "60"))
TARGETS = [420, 800, 1700, 2700, 5300, 8000, 100_000]
SERIES_QUERIES, SERIES = 20, 40
LOOKAHEADS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
BLOCKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
# Lookahead and blocks as the paper chose them for its figure 6, and the best of ours.
CHOSEN = ["none", "lookahead:7", "block:0.01", "block:0.05", "adaptive"]
LATENCY_MS = 1.0


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def wait_for(port, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on port {port}")


class Postgres:
    """A server of this run alone."""

    def __init__(self, folder):
        self.port, self.folder = free_port(), folder
        self.bin = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), default=None)
        if self.bin is None:
            raise SystemExit("PostgreSQL is not installed; run scripts/servers.sh")
        # PostgreSQL refuses to run as root.
        self.as_user = []
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
            self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        data = folder / "data"
        self.run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync")
        options = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {folder} -c fsync=off -c shared_buffers=512MB"
        self.run("pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "start")

    def run(self, program, *arguments):
        command = [*self.as_user, self.bin / program, *arguments]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def connect(self, database):
        import psycopg
        connection = psycopg.connect(f"host=127.0.0.1 port={self.port} user=postgres dbname={database}", autocommit=True)
        connection.prepare_threshold = 0
        return connection

    def stop(self):
        self.run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.folder)


class Redis:
    """A server of this run alone."""

    def __init__(self, folder):
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        if shutil.which("redis-server") is None:
            raise SystemExit("Redis is not installed; run scripts/servers.sh")
        command = f"redis-server --port {self.port} --bind 127.0.0.1 --dir {folder} --appendonly no --daemonize no".split()
        self.process = subprocess.Popen([*command, "--save", ""], stdout=subprocess.DEVNULL)
        wait_for(self.port)

    def client(self):
        import redis
        return redis.Redis(port=self.port)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Delayed:
    """A proxy that makes a server one a network away."""

    def __init__(self, port):
        self.port = free_port()
        command = [sys.executable, HERE / "delay.py", str(self.port), f"127.0.0.1:{port}", str(LATENCY_MS)]
        self.process = subprocess.Popen(list(map(str, command)))
        wait_for(self.port)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def run_lines(command, seconds=None):
    """The lines of JSON that a program prints; those so far if it takes too long."""
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
        else:
            if process.returncode != 0:
                raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return [json.loads(line) for line in out.splitlines() if line.startswith("{") and line.endswith("}")]


def graph(work, name):
    """The graph's files, and the queries chosen for it if there are any."""
    folder = work / "graph"
    folder.mkdir(parents=True, exist_ok=True)
    if name == "rome":
        roads = pathlib.Path(os.environ["ROADS"])
        for file in ("rome.gr", "rome.co"):
            if (roads / file).exists():
                shutil.copy(roads / file, folder / file)
            else:
                subprocess.run(["zstd", "-dqf", roads / f"{file}.zst", "-o", folder / file], check=True)
    elif not (folder / "grid.gr").exists():
        load.write_grid(folder, int(os.environ.get("SIDE", "500")), int(os.environ.get("SEED", "7")))
    return folder / f"{name}.gr", folder / f"{name}.co"


def native(work, files, queries, runs):
    path = work / "asked.json"
    path.write_text(json.dumps({"queries": queries}))
    return run_lines([BIN / "roads", work / "roads.knot", *files, path, str(runs)])


def pick(work, files, places, target, count, rng):
    """Queries that expand about a given number of nodes."""
    found = []
    for _ in range(20):
        candidates = []
        while len(candidates) < 150:
            a = rng.choice(places)
            reach = math.sqrt(target / len(places)) * 2 * 10 ** rng.uniform(-0.5, 0.5)
            lon, lat = (a[i] + rng.uniform(-reach, reach) * 4e5 for i in (1, 2))
            b = min(rng.sample(places, 2000), key=lambda p: (p[1] - lon) ** 2 + (p[2] - lat) ** 2)
            if a[0] != b[0]:
                candidates.append({"s": a[0], "g": b[0]})
        for line in native(work, files, candidates, 0):
            expanded = line["expanded"]
            if line["cost_m"] is not None and abs(expanded - target) < 0.05 * target and len(found) < count:
                found.append({"s": line["s"], "g": line["g"], "cost_m": line["cost_m"], "target": target})
        if len(found) == count:
            break
    return found


def search(definition, url, prefetch, queries, work, runs=RUNS, series=0, seconds=600):
    path = work / "searched.json"
    path.write_text(json.dumps({"queries": queries}))
    command = [BIN / "road_search", HERE / f"{definition}.json", url, prefetch, path, str(runs), str(series)]
    lines = run_lines(command, seconds)
    print(f"  {definition} {prefetch}: " + ", ".join(f"{line['cold_ms']:.1f}" for line in lines if "cold_ms" in line), flush=True)
    return lines


def timed_sql(server, database, query, sql, check):
    """Milliseconds of the first call of a connection and the median of two more; or why not."""
    import psycopg
    times = []
    try:
        start = time.perf_counter()
        with server.connect(database) as connection:
            connection.execute(f"SET statement_timeout = '{SECONDS}s'")
            for _ in range(3):
                row = connection.execute(sql).fetchone()
                times.append((time.perf_counter() - start) * 1e3)
                if sum(times) > SECONDS * 1e3:
                    break
                start = time.perf_counter()
    except psycopg.errors.QueryCanceled:
        return {"s": query["s"], "g": query["g"], "error": f"not finished in {SECONDS} s"}
    cost = None if row is None or row[0] is None else float(row[0])
    is_shortest = cost is not None and abs(cost - query["cost_m"]) < 0.05
    if check and not is_shortest:
        raise SystemExit(f"{sql}: {cost}, expected {query['cost_m']}")
    return {"s": query["s"], "g": query["g"], "cold_ms": times[0], "hot_ms": sorted(times[1:] or times)[0], "cost_m": cost,
            "is_shortest": is_shortest, "expanded": row[1] if row else None}


def plpgsql(server, queries):
    return [timed_sql(server, "roads", q, f"SELECT cost, expanded FROM astar({q['s']}, {q['g']})", True) for q in queries]


def pgrouting(server, scale, places, queries, with_box):
    at = {key: (lon / 1e6 * scale[0], lat / 1e6 * scale[1]) for key, lon, lat in places}
    lines = []
    for query in queries:
        rows = "SELECT id, source, target, cost, reverse_cost, x1, y1, x2, y2 FROM edge"
        if with_box:
            (x1, y1), (x2, y2) = at[query["s"]], at[query["g"]]
            pad = 0.2 * max(abs(x1 - x2), abs(y1 - y2))
            low, high = (min(x1, x2) - pad, min(y1, y2) - pad), (max(x1, x2) + pad, max(y1, y2) + pad)
            rows += f" WHERE point(x1, y1) <@ box(point({low[0]:.1f}, {low[1]:.1f}), point({high[0]:.1f}, {high[1]:.1f}))"
        call = f"pgr_aStar('{rows}', {query['s']}, {query['g']}, directed := true, heuristic := 4, factor := 1, epsilon := 1)"
        # The plane is not the sphere: what it finds may be a little longer, and with a box much.
        lines.append(timed_sql(server, "roads", query, f"SELECT max(agg_cost), NULL FROM {call}", False))
    return lines


def table(results, queries):
    """Rows of system, figure, and milliseconds by query."""
    heads = ["system", "figure", *[str(q["target"]) for q in queries]]
    rows = []

    def add(name, lines, figures):
        by_query = {(line["s"], line["g"]): line for line in lines}
        for figure in figures:
            cells = []
            for query in queries:
                line = by_query.get((query["s"], query["g"]), {})
                value = line.get(figure)
                text = line.get("error", "–") if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
                if figure == "cold_ms" and line.get("is_shortest") is False:
                    text += " (longer)"
                cells.append(text)
            rows.append([name, figure, *cells])

    add("native store", results["native"], ["expanded", "cold_ms", "hot_ms"])
    for name in ("PL/pgSQL", "pgRouting, whole", "pgRouting, box + 20 %"):
        add(name, results[name], ["cold_ms", "hot_ms"])
    for engine in ("postgres", "redis"):
        for prefetch, lines in results[engine].items():
            add(f"{engine}, {prefetch}", lines, ["cold_ms", "cached_ms", "hot_ms", "round_trips", "rows_fetched", "rows_used"])
        for prefetch, lines in results[f"{engine}, {LATENCY_MS:g} ms away"].items():
            add(f"{engine} {LATENCY_MS:g} ms away, {prefetch}", lines, ["cold_ms", "round_trips"])
    return heads, rows


def plot(work, results, queries):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    def save(name, title, x, y, draw, logs=""):
        figure, axes = pyplot.subplots(figsize=(7, 4.5))
        draw(axes)
        axes.set(title=title, xlabel=x, ylabel=y)
        if "x" in logs:
            axes.set_xscale("log")
        if "y" in logs:
            axes.set_yscale("log")
        axes.grid(True, alpha=0.3)
        handles, _ = axes.get_legend_handles_labels()
        if handles:
            axes.legend(fontsize=7)
        figure.tight_layout()
        figure.savefig(work / f"{name}.png", dpi=150)
        pyplot.close(figure)

    def against(modes, numbers):
        def draw(axes):
            for query in queries:
                points = []
                for mode, number in zip(modes, numbers):
                    for line in results["postgres"].get(mode, []):
                        if (line["s"], line["g"]) == (query["s"], query["g"]):
                            points.append((number, line["cold_ms"]))
                axes.plot(*zip(*points) if points else ([], []), marker="o", label=f"{query['target']} nodes")
        return draw

    save("figure4", "Lookahead over PostgreSQL, cold", "depth", "ms",
         against([f"lookahead:{depth}" for depth in LOOKAHEADS], LOOKAHEADS), "y")
    save("figure5", "Blocks over PostgreSQL, cold", "side in degrees", "ms", against([f"block:{b}" for b in BLOCKS], BLOCKS), "xy")

    def systems(axes):
        # More systems than the usual cycle has colours.
        axes.set_prop_cycle(color=pyplot.colormaps["tab20"].colors)
        lines = {"native": results["native"], **{n: results[n] for n in ("PL/pgSQL", "pgRouting, whole", "pgRouting, box + 20 %")}}
        lines |= {f"PostgreSQL, {mode}": results["postgres"].get(mode, []) for mode in CHOSEN}
        lines |= {f"Redis, {mode}": results["redis"].get(mode, []) for mode in ("none", "adaptive")}
        by_expanded = {(line["s"], line["g"]): line["expanded"] for line in results["native"]}
        for name, found in lines.items():
            points = [(by_expanded[line["s"], line["g"]], line["cold_ms"]) for line in found if "cold_ms" in line]
            axes.plot(*zip(*sorted(points)) if points else ([], []), marker=".", label=name)
        points = [(line["expanded"], line["hot_ms"]) for line in results["native"]]
        axes.plot(*zip(*sorted(points)), marker=".", linestyle="--", color="black", label="preloaded")

    save("figure6", "Systems, cold", "nodes expanded", "ms", systems, "xy")

    def series(axes):
        base = results["series"]["native"]["seconds"]
        least = sorted(base)[len(base) // 2]
        for name, line in results["series"].items():
            axes.plot([seconds / least for seconds in line["seconds"]], label=name)

    save("figure7", f"{SERIES_QUERIES} queries again and again, 1 = the native store's median", "series", "times", series, "y")


def main():
    work, name = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "grid"
    work.mkdir(parents=True, exist_ok=True)
    files = graph(work, name)
    places, arcs = load.read_dimacs(work / "graph", name)
    rng = random.Random(20120801)
    chosen = pathlib.Path(os.environ.get("ROADS", "/nonexistent")) / "astar_rome_queries.json"
    if name == "rome" and chosen.exists():
        queries = json.loads(chosen.read_text())["queries"]
    else:
        queries = [query for target in TARGETS for query in pick(work, files, places, target, 1, rng)]
    again = pick(work, files, places, 8000, SERIES_QUERIES, rng)
    print(f"{name}: {len(places)} places, {len(arcs)} arcs, {len(queries)} queries and {len(again)} for the series", flush=True)
    results = {"graph": name, "queries": queries, "native": native(work, files, queries, RUNS)}
    postgres, redis = Postgres(work.absolute() / "postgres"), Redis(work / "redis")
    try:
        scale = load.load_postgres(postgres.connect, "roads", places, arcs)
        load.load_redis(redis.client(), places, arcs)
        urls = {"postgres": "postgresql://postgres@127.0.0.1:{}/roads", "redis": "redis://127.0.0.1:{}/0"}
        ports = {"postgres": postgres.port, "redis": redis.port}
        small = [query for query in queries if query["target"] <= 10_000]
        for engine in ("postgres", "redis"):
            modes = [*CHOSEN, *[f"lookahead:{depth}" for depth in LOOKAHEADS]]
            if engine == "postgres":
                modes += [f"block:{size}" for size in BLOCKS]
            else:
                modes = [mode for mode in modes if not mode.startswith("block")]
            url = urls[engine].format(ports[engine])
            found = {mode: search(engine, url, mode, queries if mode in CHOSEN else small, work) for mode in dict.fromkeys(modes)}
            results[engine] = found
            proxy = Delayed(ports[engine])
            try:
                away = urls[engine].format(proxy.port)
                modes = [mode for mode in CHOSEN if mode in found]
                results[f"{engine}, {LATENCY_MS:g} ms away"] = {mode: search(engine, away, mode, small, work) for mode in modes}
            finally:
                proxy.stop()
        results["series"] = {"native": native_series(work, files, again)}
        for engine, mode in (("postgres", "adaptive"), ("postgres", "block:0.05"), ("redis", "adaptive")):
            url = urls[engine].format(ports[engine])
            lines = search(engine, url, mode, again, work, RUNS, SERIES)
            results["series"] |= {f"{engine}, {mode}": line for line in lines}
        results["PL/pgSQL"] = plpgsql(postgres, queries)
        results["pgRouting, whole"] = pgrouting(postgres, scale, places, queries, False)
        results["pgRouting, box + 20 %"] = pgrouting(postgres, scale, places, queries, True)
    finally:
        redis.stop()
        postgres.stop()
    (work / "results.json").write_text(json.dumps(results, indent=1))
    heads, rows = table(results, queries)
    with open(work / "tables.csv", "w", newline="") as out:
        csv.writer(out).writerows([heads, *rows])
    lines = ["| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows]]
    (work / "tables.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    plot(work, results, queries)


def native_series(work, files, queries):
    """Seconds of each series on the native store."""
    path = work / "asked.json"
    path.write_text(json.dumps({"queries": queries}))
    return run_lines([BIN / "roads", work / "roads.knot", *files, path, "1", str(SERIES)])[0]


if __name__ == "__main__":
    main()
