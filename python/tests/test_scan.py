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


def test_copy_from_a_table(db):
    people = pandas.DataFrame({"id": [1, 2, 3], "name": ["Ann", "Bob", "Cid"]})
    knows = polars.DataFrame({"a": [1, 2], "b": [2, 3], "since": [2019, 2020]})
    db.execute("CREATE NODE TABLE Person(id INT64, name STRING, PRIMARY KEY(id))")
    db.execute("CREATE REL TABLE Knows(FROM Person TO Person, since INT64)")
    db.execute("COPY Person FROM people")
    db.connection().execute("copy Knows from knows;")
    asked = "MATCH (a:Person)-[k:Knows]->(b) RETURN a.name, k.since, b.name ORDER BY a.id"
    assert db.execute(asked).get_all() == [["Ann", 2019, "Bob"], ["Bob", 2020, "Cid"]]
    db.execute("COPY Person FROM $more", more=[{"id": 4, "name": "Dan"}])
    assert db.execute("MATCH (p:Person) RETURN count(p)").scalar() == 4
    with pytest.raises(knotwork.ConstraintError):
        db.execute("COPY Person FROM people")
    assert db.execute("UNWIND $frame AS row RETURN sum(row.id)", frame=people).scalar() == 6
    with pytest.raises(knotwork.QueryError, match="no table with the name nothing: there is no variable"):
        db.execute("COPY Person FROM nothing")
    number = 7
    with pytest.raises(knotwork.QueryError, match="no table with the name number: it is of the type int"):
        db.execute("COPY Person FROM number")
    with pytest.raises(knotwork.Error, match="no such.csv"):
        db.execute("COPY Person FROM 'no such.csv'")
    with pytest.raises(knotwork.Error, match="no such.csv"):
        db.execute("COPY Person FROM $file", file="no such.csv")
    assert number == 7 and len(knows) == 2


def test_copy_into_declared_relationships(path):
    people = pandas.DataFrame({"id": [1, 2, 3]})
    knows = polars.DataFrame({"a": [1, 2], "b": [2, 3]})
    cities = [{"name": "Rome"}, {"name": "Oslo"}]
    near = pyarrow.table({"a": [3], "b": ["Oslo"], "km": [7]})
    with knotwork.connect(path) as db:
        # Only the key: no other column says that there are such nodes, or such edges.
        db.execute("CREATE NODE TABLE Person(id INT64, PRIMARY KEY(id))")
        db.execute("CREATE NODE TABLE City(name STRING PRIMARY KEY)")
        db.execute("CREATE REL TABLE Knows(FROM Person TO Person)")
        db.execute("CREATE REL TABLE Near(FROM Person TO City, FROM City TO City, km INT64)")
    with knotwork.connect(path) as db:
        db.execute("COPY Person FROM people")
        db.connection().execute("COPY City FROM cities;")
        db.execute("COPY Knows FROM knows")
        with pytest.raises(knotwork.QueryError, match="FROM Person TO City, FROM City TO City"):
            db.execute("COPY Near FROM near")
        db.execute("COPY Near FROM near (from = 'Person')")
        db.execute("COPY Near FROM $more (from='City', to='City')", more=[{"a": "Rome", "b": "Oslo", "km": 2000}])
        assert db.execute("MATCH (a:Person)-[:Knows]->(b:Person) RETURN a.id, b.id ORDER BY a.id").get_all() == [[1, 2], [2, 3]]
        assert db.execute("MATCH (a)-[r:Near]->(c:City {name: 'Oslo'}) RETURN r.km ORDER BY r.km").get_all() == [[7], [2000]]
        assert db.execute("MATCH (n) RETURN count(n)").scalar() == 5
        shown = db.execute("SHOW CONSTRAINTS YIELD type, propertyType WHERE type = 'RELATIONSHIP_ENDS' RETURN propertyType AS pair")
        assert [row["pair"] for row in shown.to_dicts()] == ["FROM Person TO Person", "FROM Person TO City", "FROM City TO City"]
        assert "CREATE REL TABLE `Knows` (FROM `Person` TO `Person`)" in db.info()["constraints"]
        db.execute("CREATE REL TABLE IF NOT EXISTS Knows(FROM City TO City)")
        with pytest.raises(knotwork.Error, match="Knows already exists"):
            db.execute("CREATE REL TABLE Knows(FROM Person TO Person)")
        db.execute("ALTER TABLE Knows ADD FROM City TO City")
        with pytest.raises(knotwork.QueryError, match="FROM Person TO Person, FROM City TO City"):
            db.execute("COPY Knows FROM knows")
    assert len(people) == 3 and len(cities) == 2 and len(near) == 1 and len(knows) == 2


def test_copy_to_a_file(db, tmp_path):
    db.execute("CREATE (:P {x: 1})")
    db.execute(f"COPY (MATCH (p:P) RETURN p.x AS x) TO '{tmp_path}/p.csv'")
    assert (tmp_path / "p.csv").read_text().split() == ["x", "1"]


def test_tables_are_seen_from_comprehensions_and_lambdas(db):
    frame = pandas.DataFrame({"a": [1, 2]})
    assert [row.a for _ in range(2) for row in db.execute("LOAD FROM frame RETURN a")] == [1, 2, 1, 2]
    assert [db.execute("LOAD FROM frame RETURN count(*)").scalar() for _ in range(2)] == [2, 2]
    assert (lambda: db.execute("LOAD FROM frame RETURN sum(a)").scalar())() == 3
    assert sum(db.execute("LOAD FROM frame RETURN sum(a)").scalar() for _ in range(2)) == 6
    assert list(map(lambda _: db.execute("LOAD FROM frame RETURN max(a)").scalar(), range(2))) == [2, 2]
    assert db.execute("LOAD FROM `frame` RETURN count(*)").scalar() == 2
    größe = frame
    assert db.execute("LOAD FROM größe RETURN count(*)").scalar() == 2
    db.execute("COPY T FROM `frame`")
    assert db.execute("MATCH (t:T) RETURN count(*)").scalar() == 2
    lazy = polars.LazyFrame({"a": [1, 2, 3]})
    assert db.execute("LOAD FROM lazy RETURN count(*)").scalar() == 3

    def other():
        return db.execute("LOAD FROM frame RETURN count(*)").scalar()

    # A function sees its own variables, and those of its module: as everywhere in Python.
    with pytest.raises(knotwork.QueryError, match="no table with the name frame"):
        other()


def test_the_quick_start_of_kuzu(db, tmp_path, monkeypatch):
    files = {
        "user.csv": "Adam,30\nKarissa,40\nZhang,50\nNoura,25\n",
        "city.csv": "Waterloo,150000\nKitchener,200000\nGuelph,75000\n",
        "follows.csv": "Adam,Karissa,2020\nAdam,Zhang,2020\nKarissa,Zhang,2021\nZhang,Noura,2022\n",
        "lives-in.csv": "Adam,Waterloo\nKarissa,Waterloo\nZhang,Kitchener\nNoura,Guelph\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    conn = db.connection()
    conn.execute("CREATE NODE TABLE User(name STRING, age INT64, PRIMARY KEY (name))")
    conn.execute("CREATE NODE TABLE City(name STRING, population INT64, PRIMARY KEY (name))")
    conn.execute("CREATE REL TABLE Follows(FROM User TO User, since INT64)")
    conn.execute("CREATE REL TABLE LivesIn(FROM User TO City)")
    conn.execute('COPY User FROM "user.csv"')
    conn.execute('COPY City FROM "city.csv"')
    conn.execute('COPY Follows FROM "follows.csv"')
    conn.execute('COPY LivesIn FROM "lives-in.csv"')
    conn.execute("CHECKPOINT")
    found = conn.execute("MATCH (a:User)-[f:Follows]->(b:User) RETURN a.name, b.name, f.since ORDER BY f.since, b.name")
    expected = [["Adam", "Karissa", 2020], ["Adam", "Zhang", 2020], ["Karissa", "Zhang", 2021], ["Zhang", "Noura", 2022]]
    assert found.get_all() == expected
