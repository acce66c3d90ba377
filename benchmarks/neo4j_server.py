"""A Neo4j server of the jars in a folder, in a home of its own, on loopback and a free port:

    neo4j_server.py JARS HOME GRAPH

loads the files that `knot generate` made in the folder GRAPH, with its own tool for that, makes `id` a unique key of the nodes,
prints the address, and serves until its standard input ends.
"""
import pathlib
import socket
import subprocess
import sys
import time

OPENED = ["java.base/java.nio", "java.base/java.io", "java.base/sun.nio.ch", "java.base/java.util.concurrent"]
JAVA = ["java", "-XX:+UseSerialGC", *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED),
        "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED", "-Dio.netty.tryReflectionSetAccessible=true"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("a server does not start")


def configure(home, page_cache="256m"):
    """Writes the settings of a server; gives its port."""
    port = free_port()
    (home / "conf").mkdir(parents=True, exist_ok=True)
    settings = {
        "server.default_listen_address": "127.0.0.1", "server.bolt.listen_address": f"127.0.0.1:{port}",
        "server.http.listen_address": f"127.0.0.1:{free_port()}", "server.https.enabled": "false",
        "dbms.security.auth_enabled": "false", "dbms.usage_report.enabled": "false", "server.memory.pagecache.size": page_cache,
        "db.tx_log.preallocate": "false",
    }
    (home / "conf" / "neo4j.conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return port


def start(jars, home, port, log, heap="1g"):
    """Starts the server that was configured, and waits until it listens."""
    command = [*JAVA, "-Xms512m", f"-Xmx{heap}", "-cp", f"{jars}/*", "org.neo4j.server.CommunityEntryPoint", f"--home-dir={home}",
               f"--config-dir={home}/conf"]
    process = subprocess.Popen(command, stdout=log.open("w"), stderr=subprocess.STDOUT)
    wait_for(port, process)
    return process


def load(jars, home, graph):
    """Loads files of `knot generate` into the database of a server that does not run yet."""
    nodes, edges = sorted(graph.glob("nodes-*.csv")), sorted(graph.glob("edges-*.csv"))
    command = [*JAVA, "-Xmx2g", "-cp", f"{jars}/*", "org.neo4j.cli.AdminTool", "database", "import", "full", "neo4j",
               *(f"--nodes={path}" for path in nodes), *(f"--relationships={path}" for path in edges), "--overwrite-destination",
               "--max-off-heap-memory=1g", "--threads=2", f"--report-file={home}/import.report"]
    subprocess.run(command, check=True, stdout=(home / "import.log").open("w"), stderr=subprocess.STDOUT,
                   env={"NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf"), "PATH": "/usr/bin:/bin"})


def main(jars, home, graph):
    import neo4j

    home, graph = pathlib.Path(home), pathlib.Path(graph)
    port = configure(home, "1g")
    load(jars, home, graph)
    process = start(jars, home, port, home / "server.log", "2g")
    try:
        address = f"bolt://127.0.0.1:{port}"
        with neo4j.GraphDatabase.driver(address) as driver:
            labels = driver.execute_query("CALL db.labels()").records
            for (label,) in labels:
                driver.execute_query(f"CREATE CONSTRAINT FOR (n:`{label}`) REQUIRE n.id IS UNIQUE")
            driver.execute_query("CALL db.awaitIndexes(600)")
        print(address, flush=True)
        sys.stdin.read()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
