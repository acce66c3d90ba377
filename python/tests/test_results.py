"""Rows as records, dictionaries, tables and graphs."""

import datetime as dt
import gc

import networkx
import pandas
import polars
import pyarrow
import pytest

import knotwork

PEOPLE = (
    "CREATE (a:Person {name: 'Ann', age: 41})-[:KNOWS {since: 2019}]->(b:Person {name: 'Bob'}), (b)-[:KNOWS]->(a)"
)


def test_records_are_read_by_name_place_and_attribute(db):
    record = db.execute("RETURN 1 AS a, 'x' AS b, null AS c").fetchone()
    assert (record["a"], record[1], record.c, record[-1]) == (1, "x", None, None)
    assert tuple(record) == (1, "x", None) and record == (1, "x", None) and len(record) == 3
    assert record.keys() == ("a", "b", "c") and record.to_dict() == {"a": 1, "b": "x", "c": None} == dict(record.items())
    assert record[0:2] == (1, "x") and record.get("d", 7) == 7 and "x" in record
    assert repr(record) == "<Record a=1 b='x' c=None>"
    for wrong, error in [("d", KeyError), (3, IndexError), (-4, IndexError)]:
        with pytest.raises(error):
            record[wrong]
    with pytest.raises(AttributeError):
        record.d


def test_rows_come_once_and_in_order(db):
    result = db.execute("UNWIND range(1, 10) AS i RETURN i")
    assert result.columns == ("i",)
    assert [row.i for row in result.fetchmany(3)] == [1, 2, 3]
    assert result.fetchone().i == 4
    assert next(result)[0] == 5
    assert [row[0] for row in result] == [6, 7, 8, 9, 10]
    assert result.fetchone() is None and result.fetchall() == [] and result.fetchmany(2) == []
    assert db.execute("RETURN 1 AS x").scalar() == 1
    assert db.execute("UNWIND [] AS x RETURN x").scalar() is None


def test_kuzu_names(db):
    result = db.execute("UNWIND range(1, 4) AS i RETURN i, i * i AS j")
    assert result.get_column_names() == ["i", "j"]
    assert result.has_next() and result.get_next() == [1, 1]
    assert result.get_n(1) == [[2, 4]] and result.get_all() == [[3, 9], [4, 16]]
    assert not result.has_next()
    with pytest.raises(knotwork.NotFoundError):
        result.get_next()
    assert list(db.execute("RETURN 1 AS x").rows_as_dict()) == [{"x": 1}]
    assert db.execute("RETURN 1 AS x").get_as_df().x[0] == 1
    assert db.execute("RETURN 1 AS x").get_as_pl()["x"][0] == 1
    assert db.execute("RETURN 1 AS x").get_as_arrow().num_rows == 1


def test_large_results_stream(db):
    result = db.execute("UNWIND range(1, 3000000) AS i RETURN i, toString(i) AS s")
    assert result.fetchone() == (1, "1")
    assert [row.i for row in result.fetchmany(3)] == [2, 3, 4]
    result.close()
    assert result.fetchone() is None
    assert sum(row.i for row in db.execute("UNWIND range(1, 300000) AS i RETURN i")) == 300000 * 300001 // 2
    # Half-read results that nobody closes end their queries too.
    for _ in range(10):
        assert db.execute("UNWIND range(1, 3000000) AS i RETURN i").fetchone() == (1,)


def test_results_that_turn_out_large_lose_nothing(db):
    # More rows than the planner expects of a list in a parameter.
    rows = db.execute("UNWIND $list AS x RETURN x", list=list(range(200_000))).fetchall()
    assert [row.x for row in rows] == list(range(200_000))


def test_nodes_edges_and_paths(db):
    db.execute(PEOPLE)
    node, edge, path = db.execute("MATCH p = (a {name: 'Ann'})-[k]->(b) RETURN a, k, p").fetchone()
    assert node.labels == ("Person",) and node["name"] == "Ann" and node.get("x", 1) == 1 and "age" in node
    assert dict(node) == {"name": "Ann", "age": 41} == node.properties and len(node) == 2
    assert sorted(node.keys()) == ["age", "name"] and node["_label"] == "Person" and node["_id"] == node.id
    assert edge.type == "KNOWS" and edge["since"] == 2019 and edge.source == node.id and edge["_dst"] == edge.target
    assert len(path) == 1 and path.nodes[0] == node and path.edges == (edge,) == (path[0],)
    assert repr(node) == f"<Node {node.id}:Person {{name: 'Ann', age: 41}}>" or "Ann" in repr(node)
    assert "-[:KNOWS]->" in repr(path)
    # They are values too.
    assert db.execute("MATCH (a)-[k]->(b) WHERE a = $a RETURN b.name", a=node).scalar() == "Bob"
    assert {node: 1}[db.execute("MATCH (a {name: 'Ann'}) RETURN a").scalar()] == 1
    with pytest.raises(KeyError):
        node["none"]


def test_arrow_has_the_narrowest_type(db):
    table = db.execute(
        "UNWIND [1, null, 3] AS i RETURN i, toFloat(i) AS f, toString(i) AS s, i = 1 AS b, [i, 2] AS l, {k: i, t: 'x'} AS m"
    ).to_arrow()
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "i": "int64", "f": "double", "s": "large_string", "b": "bool", "l": "large_list<item: int64>",
        "m": "struct<k: int64, t: large_string>",
    }
    assert table.column("i").to_pylist() == [1, None, 3]
    assert table.column("s").to_pylist() == ["1", None, "3"]
    assert table.column("b").to_pylist() == [True, None, False]
    assert table.column("l").to_pylist() == [[1, 2], [None, 2], [3, 2]]
    assert table.column("m").to_pylist()[0] == {"k": 1, "t": "x"}


def test_mixtures_in_arrow(db):
    check = lambda text: db.execute(f"UNWIND {text} AS x RETURN x").to_arrow().column("x")  # noqa: E731
    assert str(check("[1, 2.5, null]").type) == "double" and check("[1, 2.5, null]").to_pylist() == [1.0, 2.5, None]
    # An integer that a float would round is kept as text.
    assert check("[9007199254740993, 0.5]").to_pylist() == ["9007199254740993", "0.5"]
    assert check("[1, 'a', [true]]").to_pylist() == ["1", '"a"', "[true]"]
    assert str(check("[]").type) == "null"
    assert check("[{a: 1}, {b: 'x'}]").to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]


def test_moments_in_arrow(db):
    table = db.execute(
        "RETURN date('2024-02-29') AS d, localdatetime('2024-02-29T12:30:00.5') AS l, datetime('2024-02-29T12:30:00+02:00') AS z,"
        " localtime('12:30:15') AS t, duration('P1DT2H') AS s, duration('P1Y2M3D') AS m, localtime('12:00:00.000000001') AS n"
    ).to_arrow()
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "d": "date32[day]", "l": "timestamp[us]", "z": "timestamp[us, tz=+02:00]", "t": "time64[us]",
        "s": "duration[us]", "m": "month_day_nano_interval", "n": "time64[ns]",
    }
    row = {name: table.column(name)[0] for name in "dlts"}
    assert row["d"].as_py() == dt.date(2024, 2, 29)
    assert row["l"].as_py() == dt.datetime(2024, 2, 29, 12, 30, 0, 500000)
    assert row["t"].as_py() == dt.time(12, 30, 15)
    assert row["s"].as_py() == dt.timedelta(days=1, hours=2)
    assert table.column("z")[0].as_py() == dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert tuple(table.column("m")[0].as_py()) == (14, 3, 0)


def test_nodes_and_edges_are_structures_in_arrow(db):
    db.execute(PEOPLE)
    table = db.execute("MATCH p = (a:Person)-[k]->() RETURN a, k, p ORDER BY a.name").to_arrow()
    first = table.to_pylist()[0]
    assert first["a"]["labels"] == ["Person"] and first["a"]["properties"] == {"name": "Ann", "age": 41}
    assert first["k"]["type"] == "KNOWS" and first["k"]["properties"] == {"since": 2019}
    assert [node["properties"]["name"] for node in first["p"]["nodes"]] == ["Ann", "Bob"]


def test_arrow_is_lent_not_copied(db):
    db.execute("UNWIND range(1, 100000) AS i CREATE (:N {i: i, s: 'text ' + i})")
    stream = db.execute("MATCH (n:N) RETURN n.i AS i, n.i * 0.5 AS f, n.s AS s")
    table = pyarrow.table(stream)
    assert table.num_rows == 100000
    table.validate(full=True)
    assert sum(table.column("i").to_pylist()) == 100000 * 100001 // 2
    # The table outlives the result and the database.
    del stream
    db.close()
    assert sorted(table.column("s").to_pylist())[0] == "text 1"
    with pytest.raises(knotwork.ClosedError):
        db.execute("RETURN 1")


def test_tables_of_other_libraries(db):
    query = "UNWIND range(1, 5000) AS i RETURN i, toString(i) AS s, i * 0.5 AS f"
    frame = db.execute(query).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame.shape == (5000, 3) and frame.f.sum() == 5000 * 5001 / 4
    frame = db.execute(query).to_polars()
    assert isinstance(frame, polars.DataFrame) and frame.shape == (5000, 3) and frame["i"].sum() == 5000 * 5001 // 2
    assert polars.DataFrame(db.execute(query)).shape == (5000, 3)
    assert pyarrow.table(db.execute(query)).num_rows == 5000
    # Rows that were read one by one are not given again.
    result = db.execute(query)
    result.fetchmany(10)
    assert result.to_arrow().column("i")[0].as_py() == 11
    with pytest.raises(knotwork.ClosedError):
        result.to_arrow()


def test_a_stream_whose_type_changes_says_so(db):
    query = "UNWIND range(1, 400000) AS i RETURN CASE WHEN i < 399990 THEN i ELSE 'x' END AS x"
    with pytest.raises(Exception, match="came after rows of Arrow type Int64"):
        pyarrow.table(db.execute(query))
    assert db.execute(query).to_arrow().column("x")[399999].as_py() == '"x"'


def test_networkx(db):
    db.execute(PEOPLE)
    graph = db.execute("MATCH (a)-[k]->(b) RETURN a, k, b").to_networkx(key="name")
    assert isinstance(graph, networkx.MultiDiGraph)
    assert set(graph.nodes) == {"Ann", "Bob"} and graph.number_of_edges() == 2
    assert graph.edges["Ann", "Bob", 0] == {"since": 2019, "type": "KNOWS"}
    assert graph.nodes["Ann"]["age"] == 41
    graph = db.execute("MATCH p = ()-[]->() RETURN p").to_networkx(directed=False, multigraph=False)
    assert type(graph) is networkx.Graph and graph.number_of_edges() == 1
    assert db.execute("MATCH (a)-[k]->(b) RETURN a, k, b").get_as_networkx().number_of_nodes() == 2


def test_summaries(db):
    summary = db.execute(PEOPLE).summary
    assert (summary.counters["nodes_created"], summary.counters["edges_created"]) == (2, 2)
    assert summary.time > 0 and "nodes_created=2" in repr(summary)
    result = db.execute("MATCH (n:Persn) RETURN n")
    assert any("Persn" in hint for hint in result.summary.hints)
    plan = db.execute("EXPLAIN MATCH (n:Person) RETURN n.name").summary
    assert plan.plan and plan.plan_tree["operator"] and "rows" not in plan.plan_tree
    assert plan.estimated_time > 0 and "estimated time: " in plan.plan
    result = db.execute("PROFILE MATCH (n:Person) RETURN n.name")
    assert result.summary.plan_tree["rows"] == 2
    assert plan.waterfall is None and plan.finding is None
    parts = result.summary.waterfall
    assert parts[-1]["part"] == "unexplained" and all(part["ns"] >= 0 for part in parts)
    assert f"finding: {result.summary.finding}" in result.summary.plan
    assert set(result.summary.waits) == {"disk", "verify", "source", "log", "lock", "queue", "spill"}
    assert result.summary.phases["run"] > 0 and not result.summary.plan_cached
    statements = db.execute("SHOW STATEMENTS YIELD statement, calls WHERE statement STARTS WITH 'PROFILE'").fetchall()
    assert [tuple(row) for row in statements] == [("PROFILE MATCH (n:Person) RETURN n.name", 1)]
    # Asking for the summary takes no rows.
    assert len(result.fetchall()) == 2


def test_a_graph_can_be_written_to_a_file(db, tmp_path):
    db.execute("CREATE (:Person:Boss {name: 'Ann', tags: ['x'], born: date('1980-01-02')})-[:KNOWS {since: 2019}]->(:Person)")
    result = lambda: db.execute("MATCH (a)-[k]->(b) RETURN a, k, b")
    assert result().to_networkx().nodes[0]["labels"] == ("Person", "Boss")
    graph = result().to_networkx(plain=True)
    assert graph.nodes[0] == {"labels": "Person:Boss", "name": "Ann", "tags": "['x']", "born": "1980-01-02"}
    for write, read in [(networkx.write_graphml, networkx.read_graphml), (networkx.write_gexf, networkx.read_gexf)]:
        file = tmp_path / "graph.xml"
        write(graph, file)
        found = read(file)
        assert found.number_of_edges() == 1 and found.nodes["0"]["labels"] == "Person:Boss"


def test_the_list_of_algorithms_has_algorithms_alone(db):
    listed = dir(db.algo)
    assert {"pagerank", "wcc", "yens", "edge_program"} <= set(listed)
    assert not [name for name in listed if name.startswith("k") and name != "kcore"]
    assert db.algo.kept_list().fetchall() == []
    assert "annotations" not in dir(knotwork) and {"aio", "AsyncConnection", "connect"} <= set(dir(knotwork))
    assert knotwork.aio.AsyncConnection is knotwork.AsyncConnection


def test_results_tell_their_size_and_types_as_kuzu_does(db):
    db.execute(PEOPLE)
    result = db.execute("MATCH (a)-[k]->() RETURN a, k, a.name AS name, a.age AS age, [1.5] AS list, {x: true} AS map, null AS none")
    assert result.get_num_tuples() == 2
    assert result.get_column_data_types() == ["NODE", "REL", "STRING", "INT64", "DOUBLE[]", "STRUCT(x BOOL)", "ANY"]
    assert result.get_schema()["name"] == "STRING" and list(result.get_schema()) == list(result.columns)
    result.get_next()
    assert result.get_num_tuples() == 2 and len(result.get_all()) == 1 and result.get_num_tuples() == 2
    whole = db.execute("UNWIND range(1, 50000) AS i RETURN i")
    assert whole.to_arrow().num_rows == 50_000 == whole.get_num_tuples()


def test_ids_are_the_same_numbers_as_in_cypher(db):
    db.execute("CREATE (a:N)-[:R {i: 1}]->(b:N), (a)-[:R {i: 2}]->(b), (b)-[:R {i: 3}]->(a)")
    for a, r, a_id, r_id in db.execute("MATCH (a)-[r]->() RETURN a, r, id(a), id(r)"):
        assert (a.id, r.id) == (a_id, r_id) and r.id >= 0
        db.execute("CREATE (:Other)-[:S]->(:Other)")
        assert db.execute("MATCH ()-[r]->() WHERE id(r) = $id RETURN r.i AS i", id=r.id).scalar() == r["i"]
        assert db.execute("MATCH ()-[r]->() WHERE r = $r RETURN r.i AS i", r=r).scalar() == r["i"]
        assert db.execute("MATCH (n) WHERE id(n) = $id RETURN n AS n", id=a.id).scalar() == a


def test_columns_without_values_have_the_types_that_are_known(db):
    import pandas
    import polars
    import pyarrow

    db.execute("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.age IS :: INTEGER")
    db.execute("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.names IS :: LIST<STRING NOT NULL>")
    db.execute("CREATE CONSTRAINT FOR ()-[k:KNOWS]-() REQUIRE k.since IS :: DATE")
    query = """
        MATCH (p:Person)-[k:KNOWS]->(q) WHERE p.age > $age
        RETURN p.age AS age, p.age / 2.0 AS half, p.names AS names, k.since AS since, q.age AS unknown, count(*) AS count,
               toUpper(type(k)) AS upper, collect(p.age) AS ages, max(k.since) AS last, p.age = 1 AS is_one, avg(p.age) AS mean
    """
    types = [
        pyarrow.int64(), pyarrow.float64(), pyarrow.large_list(pyarrow.large_string()), pyarrow.date32(), pyarrow.null(),
        pyarrow.int64(), pyarrow.large_string(), pyarrow.large_list(pyarrow.int64()), pyarrow.date32(), pyarrow.bool_(),
        pyarrow.float64(),
    ]
    for schema in (db.execute(query, age=0).to_arrow().schema, pyarrow.table(db.execute(query, age=0)).schema):
        assert schema.types == types
    frame = db.execute(query, age=0).to_pandas()
    assert (frame["age"].dtype, frame["half"].dtype, frame["is_one"].dtype) == ("int64", "float64", "bool")
    schema = db.execute(query, age=0).to_polars().schema
    assert (schema["age"], schema["names"], schema["since"]) == (polars.Int64, polars.List(polars.String), polars.Date)
    assert db.execute(query, age=0).get_column_data_types()[:4] == ["INT64", "DOUBLE", "STRING[]", "DATE"]
    # A column of nulls alone, too, so that frames can be joined and put one below the other.
    db.execute("CREATE (:Person {name: 'Ann'})-[:KNOWS]->(:Dog)")
    nulls = db.execute("MATCH (p:Person)-[k:KNOWS]->() RETURN p.age AS age, k.since AS since").to_arrow()
    assert nulls.schema.types == [pyarrow.int64(), pyarrow.date32()] and nulls.num_rows == 1
    # No rule holds for a node that has been taken its label, and none was learnt of an optional match.
    removed = db.execute("MATCH (p:Person) REMOVE p:Person RETURN p.age AS age").to_arrow()
    assert removed.schema.types == [pyarrow.null()]
    db.execute("CREATE (:Cat {age: 'old'})")
    optional = db.execute("MATCH (c:Cat) OPTIONAL MATCH (c) WHERE c:Person RETURN c.age AS age").to_dicts()
    assert optional == [{"age": "old"}]
    # Procedures tell what they give.
    procedure = db.execute("CALL algo.pagerank({}) YIELD score WHERE score < 0 RETURN score").to_arrow()
    assert procedure.schema.types == [pyarrow.float64()]
    assert pandas.concat([frame[["age"]], pandas.DataFrame({"age": [1]})])["age"].dtype == "int64"


def test_the_collector_of_garbage_stands_still_while_many_rows_are_made(db):
    runs = []
    count_runs = lambda phase, info: runs.append(phase)
    many, one = "UNWIND range(1, 50000) AS i RETURN i, 'text ' + i AS text", "RETURN 1 AS one"
    gc.callbacks.append(count_runs)
    try:
        rows = db.execute(many).fetchall()
        assert len(rows) == 50000 and rows[49999] == (50000, "text 50000")
        assert len(runs) < 50 and gc.isenabled()
        # A statement that fails on its way, and one that is taken in pieces.
        with pytest.raises(knotwork.Error):
            db.execute("UNWIND range(-40000, 5) AS i RETURN 1 / i AS x").fetchall()
        assert gc.isenabled()
        assert len(db.execute(many).fetchmany(30000)) == 30000 and gc.isenabled()
        gc.disable()
        assert len(db.execute(many).to_dicts()) == 50000 and not gc.isenabled()
        assert db.execute(one).fetchall() == [(1,)] and not gc.isenabled()
    finally:
        gc.callbacks.remove(count_runs)
        gc.enable()


def test_behind_a_read_that_failed_are_no_rows(db):
    query = "UNWIND range(1, 300010) AS i RETURN i, 10 / (i - 300000) AS q"
    for first in ("fetchall", "to_dicts", "to_arrow", "to_pandas", "iterate"):
        for second in ("fetchall", "fetchone", "to_arrow"):
            result = db.execute(query)
            with pytest.raises(knotwork.Error):
                [row for row in result] if first == "iterate" else getattr(result, first)()
            with pytest.raises(knotwork.ClosedError):
                getattr(result, second)()
