"""Several databases, users and roles of one server, through Neo4j's driver."""

import json
import os
import random
import signal
import threading

import neo4j
import pytest
from neo4j.exceptions import AuthError, ClientError, DriverError, Neo4jError, TransientError


@pytest.fixture
def server(serve, tmp_path):
    return serve("--databases", str(tmp_path / "others"), "--audit-log", str(tmp_path / "audit"))


def rows(driver, text, database=None, **parameters):
    return [record.values() for record in driver.execute_query(text, parameters, database_=database).records]


def code(driver, text, database=None, **parameters):
    """The code with which a statement fails."""
    with pytest.raises(Neo4jError) as raised:
        driver.execute_query(text, parameters, database_=database)
    return raised.value.code.removeprefix("Neo.ClientError.")


def user(server, name, password="long enough"):
    return neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{server.port}", auth=(name, password))


def names(driver, user_database=None):
    return [name for name, in rows(driver, "SHOW DATABASES YIELD name WHERE name <> 'system'", user_database)]


def test_databases_are_apart(server):
    with server.driver() as driver:
        rows(driver, "CREATE DATABASE Sales", "system")
        rows(driver, "CREATE DATABASE `new-stock.2026` IF NOT EXISTS", "system")
        assert names(driver) == ["neo4j", "new-stock.2026", "sales"]
        for at, database in enumerate([None, "sales", "new-stock.2026"]):
            rows(driver, "UNWIND range(0, $n) AS i CREATE (:Thing {i: i})", database, n=at)
        for at, database in enumerate(["neo4j", "SALES", "new-stock.2026"]):
            assert rows(driver, "MATCH (t:Thing) RETURN count(t)", database) == [[at + 1]]
        summary = driver.execute_query("RETURN 1", database_="sales").summary
        assert summary.database == "sales"
        # A transaction stays where it was begun, beside others of the same connection pool.
        with driver.session(database="sales") as session, session.begin_transaction() as transaction:
            transaction.run("CREATE (:Thing)")
            assert transaction.run("CALL db.info() YIELD name").single()[0] == "sales"
            assert rows(driver, "MATCH (t:Thing) RETURN count(t)", "sales") == [[2]]
            shown = rows(driver, "SHOW TRANSACTIONS YIELD database, transactionId", "sales")
            assert any(name == "sales" and number.startswith("sales-transaction-") for name, number in shown), shown
            transaction.commit()
        assert rows(driver, "MATCH (t:Thing) RETURN count(t)", "sales") == [[3]]
        assert driver.execute_query("SHOW DEFAULT DATABASE YIELD name").records[0][0] == "neo4j"
    with neo4j.GraphDatabase.driver(f"neo4j://127.0.0.1:{server.port}", auth=("neo4j", server.password())) as routed:
        assert rows(routed, "MATCH (t:Thing) RETURN count(t)", "sales") == [[3]]


def test_mistakes_have_codes(server, serve, tmp_path):
    with server.driver() as driver:
        rows(driver, "CREATE DATABASE sales")
        assert code(driver, "CREATE DATABASE sales") == "Database.ExistingDatabaseFound"
        assert code(driver, "CREATE DATABASE neo4j") == "Database.ExistingDatabaseFound"
        assert code(driver, "DROP DATABASE gone") == "Database.DatabaseNotFound"
        assert code(driver, "RETURN 1", "gone") == "Database.DatabaseNotFound"
        rows(driver, "DROP DATABASE gone IF EXISTS")
        for name in ["ab", "`a/b`", "`../up`", "systems", "`9abc`", "`a b`", "x" * 64]:
            assert code(driver, f"CREATE DATABASE {name}") == "Statement.ArgumentError", name
        assert code(driver, "DROP DATABASE neo4j").startswith("Schema.")
        assert code(driver, "CREATE DATABASE $name", name=1) == "Statement.TypeError"
        assert code(driver, "CREATE DATABASE $name") == "Statement.ParameterMissing"
        with driver.session(database="sales") as session, session.begin_transaction() as transaction:
            transaction.run("MATCH (n) RETURN count(n)").consume()
            with pytest.raises(ClientError, match="only statement"):
                transaction.run("CREATE DATABASE other").consume()
            transaction.close()
        with driver.session() as session:
            with session.begin_transaction() as transaction:
                transaction.run("CREATE DATABASE other").consume()
                transaction.rollback()
            with session.begin_transaction() as transaction:
                transaction.run("CREATE DATABASE made").consume()
                assert names(driver) == ["neo4j", "sales"]
                transaction.commit()
            with session.begin_transaction() as transaction:
                transaction.run("DROP DATABASE made").consume()
                with pytest.raises(ClientError, match="only statement"):
                    transaction.run("RETURN 1").consume()
                transaction.close()
        rows(driver, "DROP DATABASE made")
        with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
            with pytest.raises(ClientError) as raised:
                session.run("CREATE DATABASE other").consume()
            assert raised.value.code == "Neo.ClientError.Statement.AccessMode"
        assert names(driver) == ["neo4j", "sales"]
    alone = serve(store=tmp_path / "alone.knot")
    with alone.driver() as driver, pytest.raises(ClientError, match="--databases"):
        driver.execute_query("CREATE DATABASE sales")


def test_a_database_that_is_dropped_ends_what_is_at_work_in_it(server, tmp_path):
    with server.driver() as driver:
        rows(driver, "CREATE DATABASE sales")
        rows(driver, "CREATE (:Thing)", "sales")
        session = driver.session(database="sales")
        transaction = session.begin_transaction()
        transaction.run("CREATE (:Lost)").consume()
        failures = []

        def count():
            try:
                rows(driver, "UNWIND range(1, 100000000) AS i RETURN count(i)", "sales")
            except Neo4jError as error:
                failures.append(error.code)

        thread = threading.Thread(target=count)
        thread.start()
        while not any("range" in text for text, in rows(driver, "SHOW TRANSACTIONS YIELD currentQuery", "sales") if "SHOW" not in text):
            pass
        rows(driver, "DROP DATABASE sales")
        thread.join(30)
        assert failures and not os.listdir(tmp_path / "others")
        with pytest.raises((Neo4jError, DriverError)):
            transaction.run("RETURN 1").consume()
            transaction.commit()
        assert code(driver, "RETURN 1", "sales") == "Database.DatabaseNotFound"
        rows(driver, "CREATE DATABASE sales")
        assert rows(driver, "MATCH (n) RETURN count(n)", "sales") == [[0]]
        rows(driver, "CREATE (:Thing)", "sales")
        rows(driver, "CREATE OR REPLACE DATABASE sales")
        assert rows(driver, "MATCH (n) RETURN count(n)", "sales") == [[0]]


def test_databases_and_users_are_there_after_a_restart(serve, tmp_path):
    folder = str(tmp_path / "others")
    server = serve("--databases", folder)
    with server.driver() as driver:
        rows(driver, "CREATE DATABASE sales")
        rows(driver, "CREATE (:Thing)", "sales")
        rows(driver, "CREATE USER ann SET PASSWORD 'long enough' CHANGE NOT REQUIRED")
        rows(driver, "GRANT ROLE reader ON DATABASE sales TO ann")
    assert server.stop() == 0
    # One that is damaged keeps no other from being served.
    (tmp_path / "others" / "damaged.knot").mkdir()
    (tmp_path / "others" / "damaged.knot" / "MANIFEST").write_bytes(b"nothing")
    server = serve("--databases", folder)
    with server.driver() as driver, user(server, "ann") as ann:
        shown = rows(driver, "SHOW DATABASES YIELD name, currentStatus, statusMessage WHERE name = 'damaged'")
        assert shown[0][1] == "offline" and shown[0][2], shown
        with pytest.raises(TransientError):
            with driver.session(database="damaged") as session:
                session.run("RETURN 1").consume()
        assert rows(ann, "MATCH (t:Thing) RETURN count(t)", "sales") == [[1]]
        assert code(ann, "MATCH (n) RETURN n", "neo4j") == "Security.Forbidden"
    # Without the folder, the databases rest.
    assert server.stop() == 0
    server = serve()
    with server.driver() as driver:
        assert names(driver) == ["neo4j"]


STATEMENTS = {
    "MATCH (n) RETURN count(n)": "reader",
    "EXPLAIN CREATE (:N)": "reader",
    "PROFILE MATCH (n) RETURN count(n)": "reader",
    "CALL db.labels()": "reader",
    "RETURN COUNT { (n) }": "reader",
    "RETURN [(a)-->(b) | b.x]": "reader",
    "RETURN reduce(x = [], y IN [1] | x + COLLECT { MATCH (n) RETURN n.x })": "reader",
    "SHOW INDEXES": "reader",
    "CREATE (:N)": "writer",
    "PROFILE CREATE (:N)": "writer",
    "MATCH (n:N) SET n.x = 1": "writer",
    "MATCH (n:N) DETACH DELETE n": "writer",
    "UNWIND [1] AS i CALL (i) { CREATE (:N) } IN TRANSACTIONS": "writer",
    "CALL algo.pagerank.write({writeProperty: 'rank'})": "writer",
    "CREATE INDEX x IF NOT EXISTS FOR (n:N) ON (n.x)": "admin",
    "DROP INDEX x IF EXISTS": "admin",
    "CREATE CONSTRAINT c IF NOT EXISTS FOR (n:N) REQUIRE n.k IS UNIQUE": "admin",
    "DROP CONSTRAINT c IF EXISTS": "admin",
    "CREATE SORT KEY IF NOT EXISTS FOR ()-[r:R]-() ON (r.x)": "admin",
    "CREATE NODE TABLE IF NOT EXISTS T(id INT64, PRIMARY KEY (id))": "admin",
    "CHECKPOINT": "admin",
    "SHOW STATEMENTS": "administrator",
    "CREATE DATABASE made IF NOT EXISTS": "administrator",
    "DROP DATABASE made IF EXISTS": "administrator",
    "CREATE USER made IF NOT EXISTS SET PASSWORD 'long enough'": "administrator",
    "ALTER USER made IF EXISTS SET STATUS ACTIVE": "administrator",
    "GRANT ROLE reader TO made": "administrator",
    "REVOKE ROLE reader FROM made": "administrator",
    "DROP USER made IF EXISTS": "administrator",
    "SHOW DATABASES": None,
    "SHOW USERS": None,
    "SHOW CURRENT USER": None,
    "SHOW TRANSACTIONS": None,
    "RETURN 1": None,
    "COPY (MATCH (n) RETURN n.x) TO 'x.csv'": "nobody",
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line": "nobody",
}
LEVELS = [None, "reader", "writer", "admin", "administrator", "nobody"]


@pytest.mark.parametrize("role", LEVELS[:-1])
def test_each_role_may_do_what_it_says_and_no_more(server, role):
    with server.driver() as driver:
        rows(driver, "CREATE DATABASE sales")
        rows(driver, "CREATE (:N)", "sales")
        rows(driver, "CREATE USER ann SET PASSWORD $password CHANGE NOT REQUIRED", password="long enough")
        if role == "administrator":
            rows(driver, "GRANT ROLE admin TO ann")
        elif role:
            rows(driver, f"GRANT ROLE {role} ON DATABASE sales TO ann")
    with user(server, "ann") as ann:
        for text, needed in STATEMENTS.items():
            with ann.session(database="sales") as session:
                try:
                    session.run(text).consume()
                    found = None
                except Neo4jError as error:
                    found = error.code
            if LEVELS.index(role) >= LEVELS.index(needed):
                assert found is None, (role, text, found)
            else:
                assert found and (needed == "nobody" or found.endswith("Security.Forbidden")), (role, text, found)
        expected = ["sales"] if role else []
        assert names(ann) == (["neo4j", "sales"] if role == "administrator" else expected)
        if role and role != "administrator":
            assert code(ann, "MATCH (n) RETURN n", "neo4j") == "Security.Forbidden"
        seen = sorted(name for name, in rows(ann, "SHOW USERS YIELD user"))
        assert seen == (["ann", "neo4j"] if role == "administrator" else ["ann"])


def test_roles_hold_from_the_next_statement_on(server):
    with server.driver() as driver, user(server, "ann") as ann:
        rows(driver, "CREATE USER ann SET PASSWORD 'long enough' CHANGE NOT REQUIRED")
        with ann.session() as session:
            def fails(text):
                with pytest.raises(Neo4jError) as raised:
                    session.run(text).consume()
                return raised.value.code

            assert fails("MATCH (n) RETURN n") == "Neo.ClientError.Security.Forbidden"
            rows(driver, "GRANT ROLES reader, writer TO ann")
            session.run("CREATE (:N)").consume()
            rows(driver, "REVOKE ROLE writer FROM ann")
            assert session.run("MATCH (n) RETURN count(n)").single()[0] == 1
            assert fails("CREATE (:N)") == "Neo.ClientError.Security.Forbidden"
            rows(driver, "ALTER USER ann SET STATUS SUSPENDED")
            assert fails("RETURN 1") == "Neo.ClientError.Security.Forbidden"
            rows(driver, "ALTER USER ann SET STATUS ACTIVE")
            session.run("RETURN 1").consume()
            rows(driver, "DROP USER ann")
            assert fails("RETURN 1") == "Neo.ClientError.Security.Forbidden"
        assert rows(driver, "SHOW USERS YIELD user") == [["neo4j"]]


def test_passwords_are_changed_by_their_users_and_stand_nowhere(server, serve, tmp_path):
    with server.driver() as driver:
        rows(driver, "CREATE USER ann SET PASSWORD 'first secret'")
        assert code(driver, "CREATE USER ann SET PASSWORD 'x2345678'").startswith("Schema.")
        assert code(driver, "CREATE USER bob SET PASSWORD 'short'") == "Statement.ArgumentError"
        assert code(driver, "CREATE USER `a b` SET PASSWORD 'long enough'") == "Statement.ArgumentError"
        assert code(driver, "DROP USER neo4j") == "Statement.ArgumentError"
        # Nobody locks everybody out.
        assert code(driver, "REVOKE ROLE admin FROM neo4j").startswith("Schema.")
        assert code(driver, "ALTER USER neo4j SET STATUS SUSPENDED").startswith("Schema.")
        assert code(driver, "GRANT ROLE king TO ann") == "Statement.EntityNotFound"
        with user(server, "ann", "first secret") as ann:
            assert code(ann, "RETURN 1") == "Security.CredentialsExpired"
            assert code(ann, "ALTER CURRENT USER SET PASSWORD FROM 'wrong one' TO 'second secret'") == "Statement.ArgumentError"
            rows(ann, "ALTER CURRENT USER SET PASSWORD FROM $old TO 'second secret'", old="first secret")
            rows(ann, "RETURN 1")
            assert code(ann, "CREATE DATABASE mine") == "Security.Forbidden"
        with user(server, "ann", "first secret") as ann, pytest.raises(AuthError):
            ann.execute_query("RETURN 1")
        with user(server, "ann", "second secret") as ann:
            rows(ann, "RETURN 1")
        rows(driver, "ALTER USER ann SET PASSWORD 'third secret' CHANGE NOT REQUIRED SET STATUS SUSPENDED")
        with user(server, "ann", "third secret") as ann, pytest.raises(AuthError):
            ann.execute_query("RETURN 1")
        seen = json.dumps(rows(driver, "SHOW STATEMENTS YIELD statement"))
    assert server.stop() == 0
    audit = (tmp_path / "audit").read_text()
    events = [json.loads(line) for line in audit.splitlines()]
    kinds = {(event["event"], event["outcome"]) for event in events}
    assert {("login", "success"), ("login", "wrong name or password"), ("login", "suspended"), ("CREATE USER", "success"),
            ("CREATE DATABASE", "forbidden"), ("ALTER CURRENT USER", "ARGUMENT"), ("DROP USER", "ARGUMENT")} <= kinds, kinds
    assert all(event["time"] and "client" in event for event in events)
    for text in [seen, audit, "".join(server.lines)]:
        assert "secret" not in text
    assert oct((tmp_path / "audit").stat().st_mode & 0o777) == "0o600"


@pytest.mark.timeout(120 + 10 * int(os.environ.get("SERVER_KILLS", "4")))
@pytest.mark.parametrize("kills", [int(os.environ.get("SERVER_KILLS", "4"))])
def test_a_kill_leaves_whole_databases_and_users(serve, tmp_path, kills):
    seed = int(os.environ.get("FUZZ_SEED", "43"))
    print(f"FUZZ_SEED={seed}")
    generator = random.Random(seed)
    folder = str(tmp_path / "others")
    there = {}  # what was acknowledged: name → True, False if it was dropped, None if it is not known
    users = {}
    for life in range(kills + 1):
        server = serve("--databases", folder)
        with server.driver(max_transaction_retry_time=0) as driver:
            shown = {name: state for name, state in rows(driver, "SHOW DATABASES YIELD name, currentStatus WHERE name STARTS WITH 'db'")}
            assert all(state == "online" for state in shown.values()), shown
            for name, is_there in there.items():
                assert is_there is None or is_there == (name in shown), (seed, name, is_there)
                there[name] = name in shown
            for name in shown:
                marks = rows(driver, "MATCH (m:Mark) RETURN m.name", name)
                assert marks in ([], [[name]]), marks
            seen = {name for name, in rows(driver, "SHOW USERS YIELD user")}
            for name, is_there in users.items():
                assert is_there is None or is_there == (name in seen), (seed, name)
                users[name] = name in seen
            if life == kills:
                break

            def work():
                number = 0
                try:
                    while True:
                        name, number = f"db{life}-{number}", number + 1
                        there[name] = None
                        rows(driver, f"CREATE DATABASE `{name}`")
                        there[name] = True
                        rows(driver, "CREATE (:Mark {name: $name})", name, name=name)
                        users[name] = None
                        rows(driver, f"CREATE USER `{name}` SET PASSWORD 'long enough'")
                        users[name] = True
                        if number % 2:
                            there[name] = None
                            rows(driver, f"DROP DATABASE `{name}`")
                            there[name] = False
                except (Neo4jError, DriverError, OSError):
                    pass

            thread = threading.Thread(target=work)
            thread.start()
            thread.join(0.2 + generator.random())
            server.stop(signal.SIGKILL)
            thread.join(60)
    assert len(there) > kills and any(there.values())
