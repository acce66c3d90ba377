"""Tables of Python by name in queries."""

import pandas
import polars
import pyarrow
import pytest

import knotwork

GLOBAL = [{"id": 7}]


def test_variables_and_parameters(db):
    rows = [{"id": 1, "name": "Ann"}, {"id": 2, "name": None}]
    for people in (rows, pandas.DataFrame(rows), polars.DataFrame(rows), pyarrow.Table.from_pylist(rows)):
        assert db.execute("LOAD FROM people RETURN *").to_dicts() == rows
        assert db.execute("load  from $t WITH id, name WHERE id > $least RETURN name, id", t=people, least=1).fetchall() == [(None, 2)]
        assert db.connection().execute("LOAD FROM people RETURN count(*)").scalar() == 2
        with db.transaction() as tx:
            tx.execute("LOAD FROM people MERGE (p:Person {id: id}) SET p.name = name")
    assert db.execute("MATCH (p:Person) RETURN p.id AS id, p.name AS name ORDER BY id").to_dicts() == rows
    assert db.execute("LOAD FROM GLOBAL RETURN id").scalar() == 7
    assert db.execute("MATCH (p:Person {id: 1}) LOAD FROM GLOBAL RETURN p.name, id").fetchall() == [("Ann", 7)]


def test_a_table_may_change_from_query_to_query(db):
    query = "LOAD FROM frame RETURN *"
    frame = pandas.DataFrame({"a": [1], "b": [2]})
    assert db.execute(query).to_dicts() == [{"a": 1, "b": 2}]
    frame = pandas.DataFrame({"b": ["x", "y"]})
    assert db.execute(query).to_dicts() == [{"b": "x"}, {"b": "y"}]


def test_large_tables(db):
    numbers = pyarrow.table({"i": range(300_000), "s": [str(i) for i in range(300_000)]})
    assert db.execute("LOAD FROM numbers RETURN count(s), sum(i), max(size(s))").fetchone() == (300_000, sum(range(300_000)), 6)
    assert db.execute("LOAD FROM numbers RETURN i LIMIT 2").fetchall() == [(0,), (1,)]
    assert len(db.execute("LOAD FROM numbers RETURN i, s").fetchall()) == 300_000


def test_what_is_no_table(db):
    with pytest.raises(knotwork.QueryError, match="no table with the name nothing"):
        db.execute("LOAD FROM nothing RETURN *")
    number = 1
    with pytest.raises(knotwork.QueryError, match="no table with the name number"):
        db.execute("LOAD FROM number RETURN *")
    assert number == 1
    with pytest.raises(knotwork.QuerySyntaxError):
        db.execute("LOAD FROM 'file.csv' RETURN *")
    table = [{"x": 1}]
    with pytest.raises(knotwork.QueryError):
        db.execute("WITH 1 AS x LOAD FROM table RETURN x")
    assert db.execute("RETURN 'LOAD FROM table' AS text").scalar() == "LOAD FROM table" and table
