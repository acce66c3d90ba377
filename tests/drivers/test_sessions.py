"""Statements, transactions, errors and summaries through the driver."""

import re
import threading
import time

import neo4j
import pytest
from conftest import BEGIN, COMMIT, FAILURE, IGNORED, PULL, RESET, RUN, SUCCESS, message
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConstraintError,
    CypherSyntaxError,
    CypherTypeError,
    DriverError,
    TransientError,
)


def test_it_is_found_and_says_what_it_is(driver):
    driver.verify_connectivity()
    assert driver.verify_authentication()
    info = driver.get_server_info()
    assert re.fullmatch(r"Neo4j/5\.26\.0 \(Knotwork \d+\.\d+\.\d+\)", info.agent)
    [component] = driver.execute_query("CALL dbms.components() YIELD name, versions, edition RETURN *").records
    assert component.data() == {"name": "Neo4j Kernel", "versions": ["5.26.0"], "edition": "community"}
    assert driver.execute_query("CALL db.ping()").records[0]["success"] is True
    assert driver.execute_query("CALL dbms.licenseAgreementDetails() YIELD status").records[0]["status"] == "yes"


def test_a_wrong_password_is_refused(serve):
    server = serve()
    for auth in (("neo4j", "neo4j"), ("nobody", server.password()), None):
        with neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{server.port}", auth=auth) as driver:
            with pytest.raises(AuthError):
                driver.verify_connectivity()
    said = "".join(server.lines)
    assert server.password() not in said
    # The password is made once.
    password = server.password()
    assert server.stop() == 0
    again = serve()
    assert again.password() == password and "password" not in "".join(again.lines)
    again.driver().verify_connectivity()


def test_everybody_comes_in_if_that_is_said(serve):
    with serve("--no-auth").driver() as driver:
        driver.verify_connectivity()


def test_a_route_leads_back(shared):
    with shared.driver("neo4j") as driver:
        assert driver.execute_query("RETURN 1 AS x").records[0]["x"] == 1
        assert driver.execute_query("RETURN 1 AS x", database_="neo4j", routing_="r").records[0]["x"] == 1
        with pytest.raises(ClientError) as failure:
            driver.execute_query("RETURN 1", database_="elsewhere")
        assert failure.value.code == "Neo.ClientError.Database.DatabaseNotFound"


def test_counters_tell_what_was_changed(driver):
    def counters(text):
        return driver.execute_query(text).summary.counters

    made = counters("CREATE (a:A:B {x: 1, y: 2})-[:R {z: 3}]->(:C)")
    assert (made.nodes_created, made.relationships_created, made.properties_set, made.labels_added) == (2, 1, 3, 3)
    assert made.contains_updates
    assert counters("MATCH (a:A) SET a.x = 2 REMOVE a:B").labels_removed == 1
    assert counters("CREATE INDEX some_index IF NOT EXISTS FOR (n:A) ON (n.x)").indexes_added == 1
    assert counters("DROP INDEX some_index").indexes_removed == 1
    gone = counters("MATCH (n) DETACH DELETE n")
    assert (gone.nodes_deleted, gone.relationships_deleted) == (2, 1)
    assert not counters("RETURN 1").contains_updates


@pytest.mark.parametrize(
    "text, kind",
    [
        ("RETURN 1", "r"),
        ("CREATE (:T)", "w"),
        ("CREATE (n:T) RETURN n", "rw"),
        # It gives no columns, and still says that it would write.
        ("EXPLAIN CREATE (n:T) RETURN n", "w"),
        ("CREATE INDEX kind_index IF NOT EXISTS FOR (n:T) ON (n.k)", "s"),
    ],
)
def test_a_statement_has_a_kind(driver, text, kind):
    summary = driver.execute_query(text).summary
    assert summary.query_type == kind and summary.database == "neo4j"


def test_plans_and_profiles_come(driver):
    driver.execute_query("UNWIND range(1, 10) AS i CREATE (:P {i: i})")
    plan = driver.execute_query("EXPLAIN MATCH (n:P) WHERE n.i > 3 RETURN n").summary.plan
    assert plan["operatorType"] and isinstance(plan["args"]["EstimatedRows"], float)
    profile = driver.execute_query("PROFILE MATCH (n:P) WHERE n.i > 3 RETURN n").summary.profile

    def operators(plan):
        return [plan] + [below for child in plan["children"] for below in operators(child)]

    assert profile["rows"] == 7 and len(operators(profile)) >= 2
    assert any(operator["rows"] == 10 for operator in operators(profile)) or len(operators(profile)) == 2


def test_a_name_that_nobody_has_seen_is_told(driver):
    driver.execute_query("CREATE (:Person)")
    summary = driver.execute_query("MATCH (n:Persn) RETURN n").summary
    [status] = [status for status in summary.gql_status_objects if status.is_notification]
    assert status.gql_status == "01N50" and "Persn" in status.status_description
    assert status.position.offset == 9
    [outcome] = [status for status in summary.gql_status_objects if not status.is_notification]
    assert outcome.gql_status == "02000"


@pytest.mark.parametrize(
    "text, kind, code, status",
    [
        ("RETRUN 1", CypherSyntaxError, "Statement.SyntaxError", "42001"),
        ("RETURN x", ClientError, "Statement.SemanticError", "42001"),
        ("RETURN $x", ClientError, "Statement.ParameterMissing", "42N51"),
        ("RETURN nothing(1)", CypherSyntaxError, "Statement.SyntaxError", "42001"),
        ("CALL nothing()", ClientError, "Procedure.ProcedureNotFound", "42N08"),
        ("UNWIND [1, 'a'] AS x RETURN x + date()", CypherTypeError, "Statement.TypeError", "22N01"),
        ("RETURN 1 / 0", ClientError, "Statement.ArithmeticError", "22003"),
        ("CREATE (a:U {k: 1}), (b:U {k: 1})", ConstraintError, "Schema.ConstraintValidationFailed", "22N79"),
        ("COPY (RETURN 1) TO 'x.csv'", ClientError, None, None),
        ("LOAD CSV FROM 'x.csv' AS row RETURN row", ClientError, "Security.Forbidden", "42NFF"),
        ("CALL db.loadCsv('/etc/passwd') YIELD row RETURN row", ClientError, "Security.Forbidden", "42NFF"),
        ("ATTACH 'sqlite:x.db' AS s", ClientError, "Security.Forbidden", "42NFF"),
        ("BEGIN", ClientError, "Statement.UnsupportedOperationError", "42001"),
        ("COMMIT", ClientError, "Statement.UnsupportedOperationError", "42001"),
    ],
)
def test_errors_have_the_classes_and_codes_that_drivers_know(driver, text, kind, code, status):
    driver.execute_query("CREATE CONSTRAINT u IF NOT EXISTS FOR (n:U) REQUIRE n.k IS UNIQUE")
    with driver.session() as session:
        with pytest.raises(kind) as failure:
            session.run(text).consume()
        if code:
            assert failure.value.code == f"Neo.ClientError.{code}", failure.value
            assert failure.value.gql_status == status
        # The connection serves on.
        assert session.run("RETURN 1").single()[0] == 1
    assert driver.execute_query("MATCH (n) RETURN count(n)").records[0][0] == 0


def test_an_error_points_into_the_text(driver):
    with pytest.raises(CypherSyntaxError) as failure:
        driver.execute_query("RETURN 1,\n  RETRUN x x")
    position = failure.value.diagnostic_record["_position"]
    assert position["line"] == 2 and failure.value.diagnostic_record["_classification"] == "CLIENT_ERROR"


def test_an_error_after_rows_ends_the_stream(driver):
    with driver.session(fetch_size=10) as session:
        result = session.run("UNWIND range(1, 5000) AS i RETURN 1 / (4500 - i) AS x")
        with pytest.raises(ClientError) as failure:
            list(result)
        assert failure.value.code.endswith("ArithmeticError")
        assert session.run("RETURN 1").single()[0] == 1


def test_transactions_commit_and_roll_back(driver):
    with driver.session() as session:
        with session.begin_transaction() as transaction:
            transaction.run("CREATE (:T {x: 1})")
            assert transaction.run("MATCH (n:T) RETURN count(n)").single()[0] == 1
            with driver.session() as other:
                assert other.run("MATCH (n:T) RETURN count(n)").single()[0] == 0
            transaction.commit()
        with session.begin_transaction() as transaction:
            transaction.run("CREATE (:T {x: 2})")
            transaction.rollback()
        assert session.run("MATCH (n:T) RETURN collect(n.x)").single()[0] == [1]
        assert session.last_bookmarks().raw_values


def test_a_failure_ends_its_transaction(driver):
    with driver.session() as session:
        transaction = session.begin_transaction()
        transaction.run("CREATE (:T)")
        with pytest.raises(CypherSyntaxError):
            transaction.run("RETRUN 1")
        with pytest.raises(DriverError):
            transaction.commit()
        transaction.close()
        assert session.run("MATCH (n:T) RETURN count(n)").single()[0] == 0


def test_several_results_are_open_in_a_transaction(driver):
    with driver.session(fetch_size=100) as session, session.begin_transaction() as transaction:
        first = transaction.run("UNWIND range(1, 50000) AS i RETURN i, 'text ' + i AS t")
        second = transaction.run("UNWIND range(1, 3000) AS i RETURN -i AS i")
        third = transaction.run("CREATE (n:T {x: 1}) RETURN n.x AS i")
        pairs = [(next(first)["i"], next(second)["i"]) for _ in range(3000)]
        assert pairs == [(i, -i) for i in range(1, 3001)]
        assert third.single()["i"] == 1
        assert [record["i"] for record in first] == list(range(3001, 50001))
        transaction.commit()


def test_what_is_left_of_a_stream_is_not_wanted(driver):
    with driver.session(fetch_size=10) as session:
        started = time.monotonic()
        result = session.run("UNWIND range(1, 1000000000) AS i RETURN i")
        assert [next(result)["i"] for _ in range(25)] == list(range(1, 26))
        result.consume()
        assert time.monotonic() - started < 20
        assert session.run("RETURN 1").single()[0] == 1


def test_readers_do_not_write(driver):
    with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        with pytest.raises(ClientError) as failure:
            session.run("CREATE (:T)").consume()
        assert failure.value.code == "Neo.ClientError.Statement.AccessMode"
        transaction = session.begin_transaction()
        with pytest.raises(ClientError):
            transaction.run("MATCH (n) SET n.x = 1").consume()
        transaction.close()
        assert session.run("EXPLAIN CREATE (:T)").consume().plan


def test_bookmarks_are_passed_on_and_strange_ones_refused(driver):
    with driver.session() as session:
        session.run("CREATE (:T)").consume()
        bookmarks = session.last_bookmarks()
    with driver.session(bookmarks=bookmarks) as session:
        assert session.run("MATCH (n:T) RETURN count(n)").single()[0] == 1
    with driver.session(bookmarks=neo4j.Bookmarks.from_raw_values(["FB:kcwQlSg7"])) as session:
        with pytest.raises(ClientError) as failure:
            session.run("RETURN 1").consume()
        assert failure.value.code == "Neo.ClientError.Transaction.InvalidBookmark"


def test_nobody_acts_for_others(driver):
    with driver.session(impersonated_user="somebody") as session:
        with pytest.raises(ClientError) as failure:
            session.run("RETURN 1").consume()
        assert failure.value.code == "Neo.ClientError.Security.Forbidden"


LONG = "UNWIND range(1, 100000) AS i UNWIND range(1, 100000) AS j WITH i, j WHERE i * j = -1 RETURN count(*)"


def test_a_statement_ends_at_its_time_limit(driver):
    with driver.session() as session:
        started = time.monotonic()
        with pytest.raises(ClientError) as failure:
            session.run(neo4j.Query(LONG, timeout=0.3)).consume()
        assert failure.value.code == "Neo.ClientError.Transaction.TransactionTimedOut"
        transaction = session.begin_transaction(timeout=0.3)
        with pytest.raises(ClientError):
            transaction.run(LONG).consume()
        transaction.close()
        assert time.monotonic() - started < 20
        # The limit was of those alone.
        assert session.run("UNWIND range(1, 2000000) AS i RETURN max(i)").single()[0] == 2_000_000


def test_a_transaction_ends_at_its_time_limit_while_nothing_runs(driver):
    with driver.session() as session:
        transaction = session.begin_transaction(timeout=0.3)
        transaction.run("CREATE (:T)").consume()
        time.sleep(0.6)
        with pytest.raises(ClientError) as failure:
            transaction.run("RETURN 1").consume()
        assert failure.value.code == "Neo.ClientError.Transaction.TransactionTimedOut"
        transaction.close()
        assert session.run("MATCH (n:T) RETURN count(n)").single()[0] == 0


def test_a_server_has_a_time_limit_of_its_own(serve):
    with serve("--timeout", "300ms").driver() as driver, driver.session() as session:
        with pytest.raises(ClientError) as failure:
            session.run(LONG).consume()
        assert failure.value.code == "Neo.ClientError.Transaction.TransactionTimedOut"


def test_reset_interrupts_what_runs(shared):
    client = shared.client().log_in(shared.password())
    for _ in range(5):
        client.run(LONG)
        client.send(message(PULL, {"n": -1}), message(RUN, "CREATE (:Never)", {}, {}), message(RESET))
        started = time.monotonic()
        answers = [client.summary() for _ in range(4)]
        # The columns may have been told before.
        assert answers[-1] == SUCCESS and set(answers[1:-1]) <= {IGNORED, FAILURE}, answers
        assert time.monotonic() - started < 10
    # It comes while the statement runs, and before it has begun.
    for pause in (0, 0.001, 0.002, 0.005, 0.02, 0.1, 0.3):
        client.run(LONG)
        time.sleep(pause)
        client.send(message(RESET))
        assert client.summary() in (SUCCESS, IGNORED, FAILURE) and client.summary() == SUCCESS
    client.run("MATCH (n:Never) RETURN count(n)")
    client.send(message(PULL, {"n": -1}))
    assert client.summary() == SUCCESS and client.answer()[1][-1] == 0 and client.summary() == SUCCESS
    client.close()


def test_a_client_that_leaves_stops_its_statement(shared):
    for _ in range(3):
        client = shared.client().log_in(shared.password())
        client.run(LONG)
        time.sleep(0.05)
        client.close()
    deadline = time.monotonic() + 20

    def processor_seconds():
        fields = open(f"/proc/{shared.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    while True:
        before = processor_seconds()
        time.sleep(0.5)
        if processor_seconds() - before < 5:
            break
        assert time.monotonic() < deadline, "the statements go on"


def test_a_conflict_is_tried_again_by_the_driver(driver):
    driver.execute_query("CREATE (:Counter {n: 0})")

    def add(transaction):
        value = transaction.run("MATCH (c:Counter) RETURN c.n").single()[0]
        transaction.run("MATCH (c:Counter) SET c.n = $n", n=value + 1).consume()

    def work():
        with driver.session() as session:
            for _ in range(20):
                session.execute_write(add)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert driver.execute_query("MATCH (c:Counter) RETURN c.n").records[0][0] == 80

    with driver.session() as one, driver.session() as two:
        first, second = one.begin_transaction(), two.begin_transaction()
        for transaction in (first, second):
            transaction.run("MATCH (c:Counter) SET c.n = c.n + 1").consume()
        first.commit()
        with pytest.raises(TransientError) as failure:
            second.commit()
        assert failure.value.code == "Neo.TransientError.Transaction.Outdated"


def test_batches_commit_on_their_own(driver):
    with driver.session() as session:
        text = "UNWIND range(1, 1000) AS i CALL (i) { CREATE (:B {i: i}) } IN TRANSACTIONS OF 100 ROWS"
        assert session.run(text).consume().counters.nodes_created == 1000
        transaction = session.begin_transaction()
        with pytest.raises(ClientError):
            transaction.run(text).consume()
        transaction.close()


def test_messages_out_of_order_end_the_connection(shared):
    for messages in (
        [message(PULL, {"n": -1})],
        [message(COMMIT)],
        [message(BEGIN, {}), message(BEGIN, {})],
        [message(RUN, "RETURN 1", {}, {}), message(RUN, "RETURN 1", {}, {})],
        [message(0x77)],
        [message(RUN, "RETURN 1")],
    ):
        client = shared.client().log_in(shared.password())
        client.send(*messages)
        tags = [client.summary() for _ in messages]
        assert tags[-1] == FAILURE and b"Neo.ClientError.Request.Invalid" in client.body
        assert client.is_closed()
        client.close()


def test_the_server_ends_when_it_is_told(serve):
    server = serve("--drain", "5s")
    with server.driver() as driver:
        session = driver.session()
        transaction = session.begin_transaction()
        transaction.run("CREATE (:T)").consume()
        ended = threading.Thread(target=lambda: codes.append(server.stop()))
        codes = []
        ended.start()
        time.sleep(0.3)
        # What is under way may come to its end; nothing new begins.
        transaction.commit()
        with pytest.raises(Exception), driver.session() as other:
            other.run("RETURN 1").consume()
        ended.join(20)
        assert codes == [0]
    with serve(store=server.store).driver() as driver:
        assert driver.execute_query("MATCH (n:T) RETURN count(n)").records[0][0] == 1


def test_a_password_can_be_set(serve, tmp_path):
    import subprocess

    import conftest

    store = tmp_path / "own.knot"
    command = [conftest.KNOT, "serve", str(store), "--set-password"]
    assert subprocess.run(command, input="short\n", text=True, capture_output=True).returncode == 1
    assert subprocess.run(command, input="a long password\n", text=True, capture_output=True).returncode == 0
    server = serve(store=store)
    url = f"bolt://127.0.0.1:{server.port}"
    with neo4j.GraphDatabase.driver(url, auth=("neo4j", "a long password")) as driver:
        driver.verify_connectivity()


def test_other_machines_are_not_let_in_by_accident(tmp_path):
    import subprocess

    import conftest

    for arguments in (["--listen", "0.0.0.0:0"], ["--listen", "0.0.0.0:0", "--no-auth", "--plaintext"]):
        command = [conftest.KNOT, "serve", str(tmp_path / "a.knot"), *arguments]
        assert subprocess.run(command, capture_output=True, timeout=30).returncode == 2
