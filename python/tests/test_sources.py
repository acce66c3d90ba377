"""Other data as a part of the graph, attached by definition."""

import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import knotwork


def test_files_by_a_definition(db, tmp_path):
    (tmp_path / "airports.csv").write_text("iata,name,lat\nOSL,Oslo,60.2\nARN,Stockholm,59.7\n")
    (tmp_path / "flights.csv").write_text("origin,destination,delay\nOSL,ARN,5\nARN,OSL,7\n")
    definition = {
        "url": f"file:{tmp_path}",
        "nodes": {"Airport": {"file": "airports.csv", "key": "iata", "properties": ["name", {"name": "lat", "type": "FLOAT"}]}},
        "edges": {"FLIGHT": {"file": "flights.csv", "source": "Airport(origin)", "target": "Airport(destination)", "properties": ["delay"]}},
    }
    made = db.attach(definition, "air").fetchone()
    assert made["name"] == "air" and made["labels"] == ["Airport"]
    assert db.execute("MATCH (a:Airport) RETURN count(a)").scalar() == 2
    assert db.execute("MATCH (a:Airport) RETURN a.name AS name ORDER BY name").to_arrow().column("name").to_pylist() == ["Oslo", "Stockholm"]
    assert "air" in str(db.sources().to_dicts())
    db.detach("air")
    assert db.execute("MATCH (a:Airport) RETURN count(a)").scalar() == 0
    with pytest.raises(knotwork.Error):
        db.detach("air")


def test_what_cannot_be_attached(db):
    with pytest.raises(knotwork.Error):
        db.attach("nothing://here", "x")
    with pytest.raises(knotwork.Error):
        db.attach({"nodes": 1}, "x")


SHOP = """
    CREATE TABLE customers (id int PRIMARY KEY, name varchar(20) NOT NULL, handle varchar(20));
    CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customers(id), total float);
    INSERT INTO customers VALUES (1, 'Ann', 'ann'), (2, 'Bob', 'bob'), (3, 'Cid', NULL);
    INSERT INTO orders VALUES (10, 1, 2.5), (11, 1, 4.0), (12, 3, 1.0);
"""
DEFINITION = {
    "nodes": {
        "Customer": {"table": "customers", "key": "id", "properties": ["name", "handle"]},
        "Order": {"table": "orders", "key": "id", "properties": ["total"]},
    },
    "edges": {"ORDERED": {"table": "orders", "source": "Customer(customer)", "target": "Order(id)"}},
}


def is_the_shop(db):
    spent = db.execute("MATCH (c:Customer)-[:ORDERED]->(o:Order) RETURN c.name AS name, sum(o.total) AS spent ORDER BY name").fetchall()
    assert spent == [("Ann", 6.5), ("Cid", 1.0)]
    db.execute("CREATE (:Note {about: 'Ann'})")
    assert db.execute("MATCH (n:Note), (c:Customer {name: n.about}) RETURN c.handle").scalar() == "ann"
    # Algorithms and streamed edges see it too.
    assert {row.score for row in db.algo.degree(types="ORDERED", key="name")} == {0.0, 1.0, 2.0}
    assert sum(map(len, db.edges(types="ORDERED"))) == 3


def test_sqlite(db, tmp_path):
    import sqlite3

    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as shop:
        shop.executescript(SHOP)
    db.attach(f"sqlite:{file}", "shop", definition=DEFINITION)
    is_the_shop(db)
    db.detach("shop")
    # Without a definition one is read from the tables' keys.
    made = db.attach(f"sqlite:{file}", "inferred").fetchone()
    assert set(made["labels"]) == {"Customer", "Order"} or len(made["labels"]) == 2
    db.detach("inferred")
    with pytest.raises(knotwork.Error, match="absent"):
        db.attach(f"sqlite:{tmp_path}/absent/file.db", "shop", definition=DEFINITION)
        db.execute("MATCH (c:Customer) RETURN c").fetchall()


def test_duckdb(db, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as shop:
        shop.execute(SHOP)
        # The library would open the file a second time.
        with pytest.raises(knotwork.Error, match="by DuckDB itself"):
            db.attach(f"duckdb:{file}", "shop", definition=DEFINITION)
    db.attach(f"duckdb:{file}", "shop", definition=DEFINITION)
    is_the_shop(db)
    with pytest.raises(knotwork.ReadOnlyError, match="mode=rw"):
        db.execute("MATCH (c:Customer {handle: 'ann'}) SET c.name = 'Anna'")
    db.detach("shop")
    made = db.attach(f"duckdb:{file}?mode=rw", "inferred").fetchone()
    assert set(made["labels"]) == {"Customer", "Order"} or len(made["labels"]) == 2
    db.detach("inferred")


def found(*patterns):
    """A program of a server, or the test is passed over."""
    for pattern in patterns:
        for path in sorted(glob.glob(pattern), reverse=True):
            return path
    pytest.skip(f"{patterns[0]} is not installed: scripts/servers.sh installs it")


def as_user(user):
    """The command that starts a server that refuses to run as root."""
    if os.getuid() != 0:
        return []
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_postgresql(db):
    initdb = found("/usr/lib/postgresql/*/bin/initdb", "/usr/bin/initdb")
    bin, user = os.path.dirname(initdb), as_user("postgres")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        if user:
            shutil.chown(folder, "postgres")
        port = free_port()
        subprocess.run([*user, initdb, "-D", f"{folder}/data", "-A", "trust", "-U", "shop"], check=True, capture_output=True, cwd=folder)
        server = subprocess.Popen(
            [*user, f"{bin}/postgres", "-D", f"{folder}/data", "-p", str(port), "-k", folder, "-h", "127.0.0.1"],
            stderr=subprocess.DEVNULL, cwd=folder,
        )
        try:
            psql = [f"{bin}/psql", "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "shop", "postgres"]
            for _ in range(100):
                if subprocess.run([*psql, "-c", "SELECT 1"], capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
            subprocess.run([*psql, "-c", SHOP], check=True, capture_output=True)
            db.attach(f"postgresql://shop@127.0.0.1:{port}/postgres", "shop", definition=DEFINITION)
            is_the_shop(db)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
        # A server that is gone is an error to try again, not a wrong answer.
        with pytest.raises(knotwork.SourceError):
            db.execute("MATCH (c:Customer {name: 'Bob'}) RETURN c.handle, rand()").fetchall()


def test_mysql(db):
    server_program = found("/usr/sbin/mariadbd", "/usr/sbin/mysqld")
    install, client = found("/usr/bin/mariadb-install-db"), found("/usr/bin/mariadb")
    user = as_user("mysql")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        if user:
            shutil.chown(folder, "mysql")
        data, connection, port = f"--datadir={folder}/data", f"--socket={folder}/socket", free_port()
        made = [install, "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run([*made, *(["--user=mysql"] if user else [])], check=True, capture_output=True)
        server = subprocess.Popen(
            [*user, server_program, "--no-defaults", data, connection, f"--pid-file={folder}/pid", f"--port={port}",
             "--bind-address=127.0.0.1", "--character-set-server=utf8mb4"],
            stderr=subprocess.DEVNULL, cwd=folder,
        )
        try:
            ask = [client, "--no-defaults", connection, "-u", "root"]
            for _ in range(150):
                if subprocess.run([*ask, "-e", "SELECT 1"], capture_output=True).returncode == 0:
                    break
                time.sleep(0.2)
            script = f"CREATE DATABASE shop; USE shop; {SHOP} CREATE USER reader@127.0.0.1; GRANT SELECT ON shop.* TO reader@127.0.0.1;"
            subprocess.run(ask, input=script, text=True, check=True, capture_output=True)
            url = f"mysql://reader@127.0.0.1:{port}/shop"
            db.attach(url, "shop", definition=DEFINITION)
            is_the_shop(db)
            db.detach("shop")
            # Without a definition one is read from the tables' keys.
            assert len(db.attach(url, "inferred").fetchone()["labels"]) == 2
            db.detach("inferred")
            db.attach(url, "shop", definition=DEFINITION)
        finally:
            server.terminate()
            server.wait(60)
        # A server that is gone is an error to try again, not a wrong answer.
        with pytest.raises(knotwork.SourceError):
            db.execute("MATCH (c:Customer {name: 'Bob'}) RETURN c.handle, rand()").fetchall()


def test_redis(db):
    server_program, cli = found("/usr/bin/redis-server"), found("/usr/bin/redis-cli")
    port = free_port()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        server = subprocess.Popen([server_program, "--port", str(port), "--dir", folder, "--save", ""], stdout=subprocess.DEVNULL)
        try:
            commands = "\n".join([
                "HSET profile:ann handle ann city Oslo", "HSET profile:bob handle bob city Bergen",
                "SADD profile:ann:follows bob", "SADD profile:bob:followers ann",
            ])
            for _ in range(100):
                if subprocess.run([cli, "-p", str(port), "ping"], capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
            subprocess.run([cli, "-p", str(port)], input=commands, text=True, check=True, capture_output=True)
            definition = {
                "nodes": {"Profile": {"keys": "profile:{id}", "properties": ["handle", "city"]}},
                "edges": {"FOLLOWS": {"source": "Profile", "target": "Profile", "keys": "profile:{id}:follows", "structure": "set",
                                      "reverse-keys": "profile:{id}:followers"}},
            }
            db.attach(f"redis://127.0.0.1:{port}/0", "profiles", definition=definition)
            asked = db.execute("MATCH (a:Profile {id: 'ann'})-[:FOLLOWS]->(b) RETURN b.city")
            assert asked.scalar() == "Bergen"
        finally:
            server.terminate()
            server.wait(30)
