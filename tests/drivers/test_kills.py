"""The server is killed under load: what it has acknowledged is there afterwards."""

import os
import random
import signal
import threading
import time

import pytest
from neo4j.exceptions import DriverError, Neo4jError

KILLS = int(os.environ.get("SERVER_KILLS", "5"))


@pytest.mark.timeout(120 + 10 * KILLS)
def test_no_acknowledged_commit_is_lost(serve, tmp_path):
    seed = int(os.environ.get("FUZZ_SEED", "41"))
    print(f"FUZZ_SEED={seed}")
    generator = random.Random(seed)
    store = tmp_path / "killed.knot"
    acknowledged, tried = set(), set()
    for life in range(KILLS):
        server = serve(store=store)
        with server.driver() as driver:
            driver.execute_query("CREATE CONSTRAINT k IF NOT EXISTS FOR (n:N) REQUIRE n.k IS UNIQUE")

        def write(worker):
            number = 0
            try:
                with server.driver() as driver, driver.session() as session:
                    while True:
                        key = f"{life}.{worker}.{number}"
                        number += 1
                        tried.add(key)
                        if number % 2:
                            session.run("CREATE (:N {k: $k})-[:R]->(:M {k: $k})", k=key).consume()
                        else:
                            with session.begin_transaction() as transaction:
                                transaction.run("CREATE (:N {k: $k})", k=key)
                                transaction.run("MATCH (n:N {k: $k}) CREATE (n)-[:R]->(:M {k: $k})", k=key)
                                transaction.commit()
                        acknowledged.add(key)
            except (Neo4jError, DriverError, OSError):
                pass

        threads = [threading.Thread(target=write, args=(worker,)) for worker in range(3)]
        [thread.start() for thread in threads]
        before = len(acknowledged)
        deadline = time.monotonic() + 30
        while len(acknowledged) < before + 10 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(generator.random() * 0.3)
        server.stop(signal.SIGKILL)
        [thread.join(60) for thread in threads]
        assert len(acknowledged) > before
    server = serve(store=store)
    with server.driver() as driver:
        found = {record["k"] for record in driver.execute_query("MATCH (n:N)-[:R]->(m:M) WHERE n.k = m.k RETURN n.k AS k").records}
        alone = driver.execute_query("MATCH (n) WHERE NOT (n)--() RETURN count(n)").records[0][0]
    assert acknowledged <= found <= tried, (len(acknowledged - found), len(found - tried))
    assert alone == 0
    assert server.stop() == 0
