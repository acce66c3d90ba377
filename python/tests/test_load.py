"""Tables into a store: of all libraries, few rows and many, and what goes wrong."""

import datetime as dt

import networkx
import numpy
import pandas
import polars
import pyarrow
import pytest

import knotwork

PEOPLE = [{"id": 1, "name": "Ann", "age": 41}, {"id": 2, "name": "Bob", "age": None}, {"id": 3, "name": "Cid", "age": 7}]
KNOWS = [{"from": 1, "to": 2, "since": 2019}, {"from": 2, "to": 3, "since": None}, {"from": 1, "to": 2, "since": 2020}]
ENDS = {"source": ("Person", "id", "from"), "target": ("Person", "id", "to")}


def shapes(rows):
    yield "dicts", rows
    yield "iterator", (row for row in rows)
    yield "pandas", pandas.DataFrame(rows)
    yield "polars", polars.DataFrame(rows)
    yield "pyarrow", pyarrow.Table.from_pylist(rows)
    yield "chunks", pyarrow.concat_tables([pyarrow.Table.from_pylist(rows[:1]), pyarrow.Table.from_pylist(rows[1:])], promote_options="permissive")
    yield "columns", {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize("shape", [name for name, _ in shapes(PEOPLE)])
def test_tables_of_all_shapes(db, shape):
    made = db.load_nodes(dict(shapes(PEOPLE))[shape], label="Person", key="id")
    assert made == (3, 0, 0, 0) and made.nodes_created == 3
    made = db.load_edges(dict(shapes(KNOWS))[shape], type="KNOWS", **ENDS)
    assert made.edges_created == 3
    found = db.execute("MATCH (p:Person) RETURN p.id AS id, p.name AS name, p.age AS age ORDER BY id").to_dicts()
    assert found == PEOPLE
    found = db.execute("MATCH (a)-[k:KNOWS]->(b) RETURN a.id, b.id, k.since ORDER BY a.id, k.since").fetchall()
    assert found == [(1, 2, 2019), (1, 2, 2020), (2, 3, None)]
    assert set(db.execute("MATCH (p:Person {id: 2}) RETURN keys(p)").scalar()) == {"id", "name"}


def test_many_rows_and_few_give_the_same(db):
    for count, label in [(1_000, "Few"), (60_000, "Many")]:
        ids = numpy.arange(count)
        nodes = pandas.DataFrame(
            {
                "id": ids,
                "text": [f"text {i}" if i % 3 else None for i in ids],
                "part": ids / 4,
                "even": ids % 2 == 0,
                "day": pandas.to_datetime("2024-01-01") + pandas.to_timedelta(ids % 300, unit="D"),
                "list": [[int(i), 1] for i in ids],
            }
        )
        assert db.load_nodes(nodes, label=[label, "All"], key="id").nodes_created == count
        edges = pandas.DataFrame({"source": ids, "target": (ids * 7 + 1) % count, "w": ids * 0.5})
        made = db.load_edges(edges, type="TO" + label, source=(label, "id"))
        assert made.edges_created == count
        found = db.execute(f"MATCH (n:{label}:All) RETURN count(n), sum(n.id), count(n.text), sum(n.part), sum(CASE WHEN n.even THEN 1 ELSE 0 END)")
        assert found.fetchone() == (count, sum(range(count)), count - (count + 2) // 3, sum(range(count)) / 4, count // 2)
        row = db.execute(f"MATCH (n:{label} {{id: 5}})-[e:TO{label}]->(m) RETURN n.day, n.list, m.id, e.w").fetchone()
        assert row == (dt.datetime(2024, 1, 6), [5, 1], 36, 2.5)
        with pytest.raises(knotwork.Error, match="999999999"):
            db.load_edges(edges.assign(target=999999999), type="X", source=(label, "id"))
        with pytest.raises(knotwork.Error):
            db.load_nodes(nodes, label=label, key="id")
        again = nodes[["id"]].assign(text="new", extra=1)
        assert db.load_nodes(again, label=label, key="id", on_duplicate="skip")[:2] == (0, count)
        assert db.load_nodes(again, label=label, key="id", on_duplicate="update")[:2] == (0, count)
        assert db.execute(f"MATCH (n:{label}) RETURN count(n), count(n.extra), min(n.text)").fetchone() == (count, count, "new")
    assert db.execute("MATCH ()-[e:X]->() RETURN count(e)").scalar() == 0


@pytest.mark.parametrize("count", [10, 50_000])
def test_ends_that_are_not_there(db, count):
    edges = pyarrow.table({"a": numpy.arange(count), "b": numpy.arange(count) + 1})
    ends = {"source": ("N", "id", "a"), "target": ("N", "id", "b")}
    with pytest.raises(knotwork.DataError, match="row 0"):
        db.load_edges(edges, type="E", **ends)
    assert db.load_edges(edges, type="E", **ends, on_missing="skip") == (0, 0, 0, count)
    assert db.load_edges(edges, type="E", **ends, on_missing="create") == (count + 1, 0, count, 0)
    assert db.execute("MATCH (:N)-[e:E]->(:N) RETURN count(e)").scalar() == count


def test_keys_within_a_table(db):
    rows = [{"id": 1, "a": 1}, {"id": 1, "a": None, "b": 2}]
    with pytest.raises(knotwork.ConstraintError, match="row 1"):
        db.load_nodes(rows, label="N", key="id")
    assert db.load_nodes(rows, label="N", key="id", on_duplicate="update")[:2] == (1, 1)
    assert db.execute("MATCH (n:N) RETURN n.a, n.b").fetchall() == [(1, 2)]
    with pytest.raises(knotwork.DataError, match="row 0: the key is null"):
        db.load_nodes([{"id": None}], label="N", key="id")
    assert db.load_nodes([{"x": 1}, {"x": 1}], label="M").nodes_created == 2


def test_columns_are_chosen_and_renamed(db):
    db.load_nodes(pandas.DataFrame(PEOPLE), label="P", key="id", columns=["name"])
    assert db.execute("MATCH (p:P {id: 1}) RETURN properties(p)").scalar() == {"id": 1, "name": "Ann"}
    db.load_nodes(PEOPLE, label="Q", key="number", columns={"id": "number", "name": "title"})
    assert db.execute("MATCH (p:Q {number: 1}) RETURN properties(p)").scalar() == {"number": 1, "title": "Ann"}
    db.load_edges(KNOWS, type="K", source=("P", "id", "from"), target=("Q", "number", "to"), columns={"since": "year"})
    assert db.execute("MATCH (:P)-[k:K]->(:Q) RETURN sum(k.year)").scalar() == 4039
    with pytest.raises(knotwork.DataError, match="no column none"):
        db.load_nodes(PEOPLE, label="P", key="none")
    with pytest.raises(knotwork.DataError, match="no column none"):
        db.load_nodes(PEOPLE, label="P", columns=["none"])
    frame = pandas.DataFrame(PEOPLE).set_index("id")
    assert db.load_nodes(frame, label="R", key="id").nodes_created == 3


def test_what_is_no_table(db):
    for table in (1, [1], "text"):
        with pytest.raises((TypeError, knotwork.Error)):
            db.load_nodes(table, label="N")
    with pytest.raises(knotwork.DataError, match="label"):
        db.load_nodes(PEOPLE, label=[])
    with pytest.raises(TypeError):
        db.load_edges(KNOWS, type="K", source="Person")
    with pytest.raises(knotwork.DataError):
        db.load_nodes(PEOPLE, label="N", key="id", on_duplicate="maybe")
    with pytest.raises(knotwork.Error):
        db.load_nodes([{"id": 1, "map": {"a": 1}}], label="N", key="id")
    assert db.execute("MATCH (n) RETURN count(n)").scalar() == 0


def test_networkx_graphs(db):
    graph = networkx.karate_club_graph()
    assert db.load_nodes(graph, label="Member").nodes_created == 34
    assert db.load_edges(graph, type="MET", source=("Member", "id")).edges_created == 78
    assert db.execute("MATCH (:Member {id: 0})-[m:MET]-(n) RETURN count(n), sum(m.weight) > 0").fetchone() == (16, True)
    again = db.execute("MATCH (a)-[m:MET]->(b) RETURN a, m, b").to_networkx(directed=False, multigraph=False, key="id")
    assert networkx.is_isomorphic(graph, again)


def test_loads_tell_how_far_they_are(db):
    seen = []
    rows = pyarrow.table({"id": numpy.arange(600_000)})
    db.load_nodes(rows, label="N", key="id", progress=lambda done, total: seen.append((done, total)))
    assert all(0 <= done <= 600_000 and total in (0, 600_000) for done, total in seen)


def test_a_load_that_a_callback_ends_leaves_nothing(db):
    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    rows = pyarrow.table({"id": numpy.arange(3_000_000), "t": [str(i) for i in range(3_000_000)]})
    with pytest.raises(Enough):
        db.load_nodes(rows, label="N", key="id", progress=stop)
    assert db.execute("MATCH (n) RETURN count(n)").scalar() == 0
