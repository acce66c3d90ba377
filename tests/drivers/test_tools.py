"""Sessions of tools: what they send on connecting, and real work through their own classes.

Tools whose packages are not installed are skipped, aloud: TOOLS=1 scripts/drivers.sh installs them.
"""

import threading
import time

import neo4j
import pytest
from neo4j.exceptions import ClientError, Neo4jError


def password_of(server):
    return "neo4j", server.password()


def url_of(server, scheme="bolt"):
    return f"{scheme}://127.0.0.1:{server.port}"


def test_neo4j_browser_and_desktop_start(driver, shared):
    def ask(text, database="neo4j", **parameters):
        return driver.execute_query(text, database_=database, parameters_=parameters).records

    databases = {row["name"]: row for row in ask("SHOW DATABASES", "system")}
    assert set(databases) == {"neo4j", "system"}
    neo = databases["neo4j"]
    assert neo["currentStatus"] == "online" and neo["role"] == "primary" and neo["default"] and neo["home"]
    assert neo["address"] == f"127.0.0.1:{shared.port}" and neo["aliases"] == [] and neo["type"] == "standard"
    [component] = ask("CALL dbms.components() YIELD name, versions, edition")
    assert component["versions"] == ["5.26.0"]
    assert {row["name"] for row in ask("CALL dbms.clientConfig()")} >= {"client.allow_telemetry"}
    [user] = ask("SHOW CURRENT USER", "system")
    assert user["user"] == "neo4j"
    assert [row["user"] for row in ask("SHOW USERS")] == ["neo4j"]
    assert ask("CALL dbms.showCurrentUser()")[0]["username"] == "neo4j"
    ask("CREATE (:Person {name: 'Ann'})-[:KNOWS {since: 1999}]->(:Person {name: 'Bob'})")
    ask(
        "CALL db.labels() YIELD label RETURN COLLECT(label)[..1000] AS result "
        "UNION ALL CALL db.relationshipTypes() YIELD relationshipType RETURN COLLECT(relationshipType)[..1000] AS result "
        "UNION ALL CALL db.propertyKeys() YIELD propertyKey RETURN COLLECT(propertyKey)[..1000] AS result"
    )
    procedures = ask("SHOW PROCEDURES yield name, description, signature")
    assert "db.schema.visualization" in {row["name"] for row in procedures}
    assert ask("SHOW FUNCTIONS yield name, description, signature")
    [picture] = ask("CALL db.schema.visualization")
    assert {label for node in picture["nodes"] for label in node.labels} == {"Person"}
    [edge] = picture["relationships"]
    assert edge.type == "KNOWS" and edge.start_node.labels == {"Person"} and picture["nodes"][0]["name"] == "Person"
    [index] = [ask("CREATE INDEX by_name IF NOT EXISTS FOR (p:Person) ON (p.name)"), ask("SHOW INDEXES")][1]
    assert index["state"] == "ONLINE" and index["populationPercent"] == 100.0 and index["type"] == "RANGE"
    ask("DROP INDEX by_name")


def test_a_graph_is_not_in_the_database_of_lists(driver):
    for text in ("MATCH (n) RETURN n", "CREATE (n)", "CALL db.labels()"):
        with pytest.raises(ClientError) as failure:
            driver.execute_query(text, database_="system")
        assert failure.value.code == "Neo.ClientError.Statement.UnsupportedOperationError"
    assert driver.execute_query("RETURN 1 AS x", database_="system").records[0]["x"] == 1


def test_the_official_mcp_server_starts(driver):
    def ask(text, **parameters):
        return driver.execute_query(text, parameters_=parameters).records

    driver.execute_query("CREATE (:A {x: 1})-[:R {w: 1.5}]->(:B {y: 'z'})")
    assert ask("RETURN 1 as first")[0]["first"] == 1
    there = "SHOW PROCEDURES YIELD name WHERE name = 'apoc.meta.schema' RETURN count(name) > 0 AS apocMetaSchemaAvailable"
    assert ask(there)[0]["apocMetaSchemaAvailable"] is True
    schema = ask(
        "CALL apoc.meta.schema({sample: $sampleSize}) YIELD value UNWIND keys(value) as key "
        "WITH key, value[key] as value RETURN key, value { .properties, .type, .relationships } as value",
        sampleSize=100,
    )
    found = {row["key"]: row["value"] for row in schema}
    assert found["A"]["properties"]["x"]["type"] == "INTEGER" and found["A"]["relationships"]["R"]["labels"] == ["B"]
    assert found["R"]["type"] == "relationship" and found["R"]["properties"]["w"]["type"] == "FLOAT"
    assert driver.execute_query("EXPLAIN CREATE (n)").summary.query_type in ("w", "rw")
    assert driver.execute_query("EXPLAIN MATCH (n) RETURN n").summary.query_type == "r"


def test_a_transaction_is_listed_with_its_remarks_and_ended(driver, shared):
    with shared.driver() as other, other.session() as session:
        transaction = session.begin_transaction(metadata={"app": "tool"})
        transaction.run("CREATE (:Lost)").consume()
        rows = driver.execute_query(
            "SHOW TRANSACTIONS YIELD currentQuery, username, metaData, parameters, status, elapsedTime, database, "
            "transactionId, connectionId, clientAddress WHERE metaData.app = 'tool' RETURN *"
        ).records
        [row] = rows
        assert row["username"] == "neo4j" and row["status"] == "Running" and row["database"] == "neo4j"
        assert row["connectionId"].startswith("bolt-") and row["clientAddress"].startswith("127.0.0.1:")
        [ended] = driver.execute_query("TERMINATE TRANSACTIONS $id", id=row["transactionId"]).records
        assert (ended["username"], ended["message"]) == ("neo4j", "Transaction terminated.")
        with pytest.raises(Neo4jError) as failure:
            transaction.run("RETURN 1").consume()
            transaction.commit()
        assert "Terminated" in failure.value.code
        transaction.close()
        # The connection is as good as before.
        assert session.run("MATCH (n:Lost) RETURN count(n) AS n").single()["n"] == 0


def test_a_statement_that_runs_is_ended_by_another_session(driver, shared):
    failures = []

    def run():
        with shared.driver() as other, other.session() as session:
            try:
                session.run("UNWIND range(1, 2000000000) AS i WITH i WHERE i % 3 = 1 RETURN count(i) AS so_long").consume()
            except Neo4jError as failure:
                failures.append(failure)

    running = threading.Thread(target=run)
    running.start()
    until = time.monotonic() + 30
    while not failures and time.monotonic() < until:
        rows = driver.execute_query(
            "SHOW TRANSACTIONS YIELD transactionId, currentQuery WHERE currentQuery CONTAINS 'so' + '_long' AND "
            "currentQuery STARTS WITH 'UNWIND' RETURN transactionId"
        ).records
        for row in rows:
            driver.execute_query("TERMINATE TRANSACTION $id", id=row["transactionId"])
        time.sleep(0.02)
    running.join(30)
    assert "Terminated" in failures[0].code


def test_neomodel_keeps_and_finds_objects(driver, shared):
    neomodel = pytest.importorskip("neomodel", reason="neomodel is not installed")
    user, password = password_of(shared)

    class City(neomodel.StructuredNode):
        name = neomodel.StringProperty(unique_index=True)

    class Person(neomodel.StructuredNode):
        uid = neomodel.UniqueIdProperty()
        name = neomodel.StringProperty(index=True)
        age = neomodel.IntegerProperty()
        city = neomodel.RelationshipTo(City, "LIVES_IN")

    database = neomodel.db
    database.set_connection(f"bolt://{user}:{password}@127.0.0.1:{shared.port}")
    try:
        database.install_all_labels()
        assert {index["name"] for index in database.list_indexes()} >= {"index_Person_name"}
        rules = {(rule["labelsOrTypes"][0], rule["properties"][0]) for rule in database.list_constraints()}
        assert rules == {("City", "name"), ("Person", "uid")}
        rome = City(name="Rome").save()
        with database.transaction:
            for name, age in (("Ann", 40), ("Bob", 20)):
                Person(name=name, age=age).save().city.connect(rome)
        assert [person.name for person in Person.nodes.filter(age__gt=30)] == ["Ann"]
        ann = Person.nodes.get(name="Ann")
        assert ann.city.single().name == "Rome" and Person.nodes.get(uid=ann.uid).age == 40
        ann.age = 41
        ann.save()
        ann.refresh()
        assert ann.age == 41
        # UniqueProperty is for those messages alone that say what Neo4j's say.
        with pytest.raises(neomodel.exceptions.ConstraintValidationFailed):
            City(name="Rome").save()
        ann.delete()
        assert len(Person.nodes) == 1
    finally:
        database.drop_constraints()
        database.drop_indexes()
        database.close_connection()


def test_langchain_reads_the_schema_and_queries(driver, shared):
    package = pytest.importorskip("langchain_neo4j", reason="langchain-neo4j is not installed")
    user, password = password_of(shared)
    graph = package.Neo4jGraph(url=url_of(shared, "neo4j"), username=user, password=password)
    graph.query("CREATE CONSTRAINT one_title IF NOT EXISTS FOR (m:Movie) REQUIRE m.title IS UNIQUE")
    graph.query(
        "UNWIND $rows AS row MERGE (m:Movie {title: row.title}) MERGE (p:Person {name: row.name}) "
        "MERGE (p)-[:ACTED_IN {role: row.role}]->(m)",
        {"rows": [{"title": "Heat", "name": "Al", "role": "Vincent"}, {"title": "Heat", "name": "Val", "role": "Chris"}]},
    )
    graph.refresh_schema()
    schema = graph.get_structured_schema
    assert schema["node_props"]["Movie"] == [{"property": "title", "type": "STRING"}]
    assert schema["rel_props"] == {"ACTED_IN": [{"property": "role", "type": "STRING"}]}
    assert schema["relationships"] == [{"start": "Person", "type": "ACTED_IN", "end": "Movie"}]
    assert schema["metadata"]["constraint"][0]["name"] == "one_title"
    assert "(:Person)-[:ACTED_IN]->(:Movie)" in graph.schema
    found = graph.query("MATCH (p:Person)-[:ACTED_IN]->(m:Movie {title: $t}) RETURN p.name AS name ORDER BY name", {"t": "Heat"})
    assert found == [{"name": "Al"}, {"name": "Val"}]
    graph.query("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1 ROW", session_params={"database": "neo4j"})
    assert graph.query("MATCH (n) RETURN count(n) AS n") == [{"n": 0}]
    graph.query("DROP CONSTRAINT one_title")
    graph.close()


def test_llama_index_keeps_triplets(shared):
    package = pytest.importorskip("llama_index.graph_stores.neo4j", reason="llama-index-graph-stores-neo4j is not installed")
    user, password = password_of(shared)
    graph = package.Neo4jGraphStore(username=user, password=password, url=url_of(shared, "bolt"))
    graph.upsert_triplet("Ann", "knows", "Bob")
    graph.upsert_triplet("Bob", "likes", "Cid")
    assert graph.get("Ann") == [["KNOWS", "Bob"]]
    assert sorted(graph.get_rel_map(["Ann"], 2)["Ann"]) == [["KNOWS", "Bob"], ["KNOWS", "Bob", "LIKES", "Cid"]]
    assert "KNOWS" in graph.get_schema(refresh=True)
    graph.delete("Ann", "KNOWS", "Bob")
    assert graph.get("Ann") == []
    graph.query("MATCH (n) DETACH DELETE n")
    graph.query("DROP CONSTRAINT unique_Entity_id IF EXISTS")


def test_neo4j_graphrag_reads_the_schema(driver):
    schema = pytest.importorskip("neo4j_graphrag.schema", reason="neo4j-graphrag is not installed")
    driver.execute_query("CREATE INDEX by_age FOR (p:Person) ON (p.age)")
    driver.execute_query("CREATE (:Person {name: 'Ann', age: 40})-[:KNOWS {since: 1999}]->(:Person {name: 'Bob', age: 20})")
    found = schema.get_structured_schema(driver)
    assert found["rel_props"] == {"KNOWS": [{"property": "since", "type": "INTEGER"}]}
    assert found["relationships"] == [{"start": "Person", "type": "KNOWS", "end": "Person"}]
    [index] = found["metadata"]["index"]
    assert (index["label"], index["properties"], index["size"]) == ("Person", ["age"], 2)
    assert "name: STRING" in schema.get_schema(driver)
    driver.execute_query("DROP INDEX by_age")
