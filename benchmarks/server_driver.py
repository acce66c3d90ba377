"""Point reads through Neo4j's driver for Python, one after the other, for benchmarks/server.py: prints a line of JSON.

    benchmarks/server_driver.py PORT SECONDS KEYS
"""
import json
import random
import statistics
import sys
import time

import neo4j

PORT, SECONDS, KEYS = map(int, sys.argv[1:])
STATEMENT = "MATCH (p:Person {id: $key}) RETURN p.name AS name"


def main():
    times = []
    with neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{PORT}", telemetry_disabled=True) as driver, driver.session() as session:
        start = time.monotonic()
        while (now := time.monotonic()) < start + 1.1 * SECONDS:
            key, before = random.randrange(KEYS), time.perf_counter_ns()
            session.run(STATEMENT, key=key).single(strict=True)
            # The first tenth is not counted: caches fill.
            if now > start + 0.1 * SECONDS:
                times.append(time.perf_counter_ns() - before)
    print(json.dumps({"p50_us": statistics.median(times) / 1e3, "per_second": len(times) / (sum(times) / 1e9)}))


main()
