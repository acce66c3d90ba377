"""Snapshots as DataFrames of Spark, and algorithms that Spark computes. Skipped where PySpark is not installed."""

from __future__ import annotations

import datetime
import os
import shutil

import pytest

import knotwork

pytest.importorskip("pyspark", reason="PySpark is not installed; scripts/spark.sh test installs it")
if shutil.which("java") is None:
    pytest.skip("there is no Java", allow_module_level=True)

import knotwork.spark  # noqa: E402


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    place = tmp_path_factory.mktemp("spark")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.local.dir", str(place))
    session = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.warehouse.dir", str(place)).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "social.knot"
    with knotwork.connect(path) as db:
        db.execute(
            """CREATE (a:Person {name: "Ann O'Hara", born: 1970, height: 1.75, tags: ['x', "it's"], id: 'a1', mixed: 1}),
                      (b:Person:Admin {name: 'Bob', height: 2, when: date('2026-01-31'), mixed: 'text'}),
                      (c:City {name: 'Oslo', people: [1, 2], at: localdatetime('2026-01-31T12:00:00.5'), capital: true}),
                      (a)-[:KNOWS {since: 2019, type: 'friend'}]->(b), (a)-[:LIVES_IN]->(c), (b)-[:KNOWS]->(a)"""
        )
    return path


def types(frame):
    return dict(frame.dtypes)


def test_all_of_a_graph(spark, store):
    nodes, edges = knotwork.spark.frames(store, spark)
    assert types(nodes) == {
        "id": "bigint", "labels": "array<string>", "at": "timestamp_ntz", "born": "bigint", "capital": "boolean",
        "height": "double", "property_id": "string", "mixed": "string", "name": "string", "people": "array<bigint>",
        "tags": "array<string>", "when": "date",
    }
    ends = {"source": "bigint", "target": "bigint"}
    assert types(edges) == {**ends, "type": "string", "since": "bigint", "property_type": "string"}
    people = {row["name"]: row for row in nodes.collect()}
    ann, bob, oslo = people["Ann O'Hara"], people["Bob"], people["Oslo"]
    assert (ann["labels"], ann["born"], ann["height"], ann["property_id"]) == (["Person"], 1970, 1.75, "a1")
    assert ann["tags"] == ["x", "it's"]
    assert (sorted(bob["labels"]), bob["height"], bob["born"]) == (["Admin", "Person"], 2.0, None)
    assert bob["when"] == datetime.date(2026, 1, 31)
    assert (ann["mixed"], bob["mixed"]) == ("1", "text")
    assert (oslo["people"], oslo["capital"]) == ([1, 2], True)
    assert oslo["at"] == datetime.datetime(2026, 1, 31, 12, 0, 0, 500_000)
    found = sorted((row["source"], row["type"], row["target"], row["since"], row["property_type"]) for row in edges.collect())
    assert found == sorted([
        (ann["id"], "KNOWS", bob["id"], 2019, "friend"),
        (ann["id"], "LIVES_IN", oslo["id"], None, None),
        (bob["id"], "KNOWS", ann["id"], None, None),
    ])


def test_a_selection(spark, store):
    wanted = {"labels": ["Person"], "types": ["KNOWS", "LIVES_IN"], "properties": ["since", "name"]}
    nodes, edges = knotwork.spark.frames(store, spark, **wanted)
    assert sorted(row["name"] for row in nodes.collect()) == ["Ann O'Hara", "Bob"]
    # A property that nothing here has is a column of nulls.
    assert nodes.columns == ["id", "labels", "since", "name"] and edges.columns == ["source", "target", "type", "since", "name"]
    assert edges.count() == 2 and {row["type"] for row in edges.collect()} == {"KNOWS"}


def test_a_snapshot_stays_and_many_rows_have_their_types(spark, tmp_path):
    with knotwork.connect() as db:
        # The first rows of all have no value.
        db.execute("UNWIND range(1, 70000) AS i CREATE (:N {i: CASE WHEN i > 69990 THEN i END})")
        nodes, edges = knotwork.spark.frames(db, spark, folder=tmp_path / "snapshot")
        db.execute("MATCH (n) DELETE n")
    assert (nodes.count(), edges.count()) == (70_000, 0)
    assert nodes.agg({"i": "sum"}).first()[0] == sum(range(69_991, 70_001))
    assert sorted(os.listdir(tmp_path / "snapshot")) == ["edges.parquet", "nodes.parquet"]
    with pytest.raises(FileExistsError), knotwork.connect() as db:
        knotwork.spark.frames(db, spark, folder=tmp_path / "snapshot")


def test_no_nodes(spark):
    with knotwork.connect() as db:
        nodes, edges = knotwork.spark.frames(db, spark)
    assert (nodes.columns, nodes.count()) == (["id", "labels"], 0)
    assert (edges.columns, edges.count()) == (["source", "target", "type"], 0)
    assert types(nodes)["id"] == types(edges)["source"] == "bigint"


def test_errors(spark, store):
    with pytest.raises(ValueError, match="no label 'Persn'; it has Admin, City, Person"):
        knotwork.spark.frames(store, spark, labels=["Persn"])
    with pytest.raises(ValueError, match="no relationshipType 'KNOW'"):
        knotwork.spark.frames(store, spark, types=["KNOW"])
    with knotwork.connect() as db:
        db.execute("CREATE (:A {name: 1, Name: 2})")
        with pytest.raises(ValueError, match="differ in case alone"):
            knotwork.spark.frames(db, spark)
        nodes, _ = knotwork.spark.frames(db, spark, properties=["name"])
        assert nodes.first()["name"] == 1
    with pytest.raises(TypeError, match="spark has no setting 'mster'"):
        knotwork.connect(spark={"mster": "local"})


def test_an_algorithm(tmp_path):
    with knotwork.connect(spark={"folder": tmp_path, "master": "local[2]", "options": {"spark.driver.memory": "1g"}}) as db:
        db.execute("UNWIND range(0, 4) AS i CREATE (:N {i: i})")
        db.execute("MATCH (a:N), (b:N) WHERE b.i = a.i + 1 AND a.i <> 2 CREATE (a)-[:R]->(b)")
        query = "CALL algo.wcc({execution: 'spark'}) YIELD node, component RETURN node.i, component ORDER BY node.i"
        assert [tuple(row) for row in db.execute(query)] == [(0, 0), (1, 0), (2, 0), (3, 3), (4, 3)]
    assert os.listdir(tmp_path) == []


def test_a_python_that_is_not_there():
    with knotwork.connect(spark={"python": "/nowhere/python"}) as db:
        with pytest.raises(knotwork.JobError, match="/nowhere/python"):
            db.execute("CALL algo.wcc({execution: 'spark'})").fetchall()
