"""UUIDs are a type of their own: in properties, constraints, results, files, and through another process."""

import uuid

import pyarrow.parquet
import pytest

import knotwork

ONE = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
TWO = uuid.UUID("ffffffff-0000-4000-8000-000000000000")


def test_they_are_kept_and_found(path):
    with knotwork.connect(path) as db:
        db.execute("CREATE CONSTRAINT FOR (t:T) REQUIRE t.id IS UNIQUE")
        db.execute("CREATE CONSTRAINT FOR (t:T) REQUIRE t.id IS :: UUID")
        db.execute("UNWIND $ids AS id CREATE (:T {id: id, list: [id]})", ids=[ONE, TWO])
    with knotwork.connect(path) as db:
        rows = list(db.execute("MATCH (t:T) RETURN t.id, t.list, valueType(t.id) ORDER BY t.id"))
        assert [tuple(row) for row in rows] == [(id, [id], "UUID NOT NULL") for id in (ONE, TWO)]
        assert db.execute("MATCH (t:T {id: $id}) RETURN count(*)", id=TWO).scalar() == 1
        assert db.execute("MATCH (t:T {id: $id}) RETURN count(*)", id=str(TWO)).scalar() == 0
        assert db.execute("RETURN uuid($text)", text=str(ONE).upper()).scalar() == ONE
        with pytest.raises(knotwork.ConstraintError, match="already has id"):
            db.execute("CREATE (:T {id: $id})", id=ONE)
        with pytest.raises(knotwork.QueryError, match="is no universally unique identifier"):
            db.execute("RETURN uuid('1234')")
        assert db.execute("MATCH (t:T) RETURN t.id AS id ORDER BY id").to_arrow()["id"].to_pylist() == [str(ONE), str(TWO)]


def test_parquet_has_them_as_they_are(db, tmp_path):
    file = tmp_path / "ids.parquet"
    db.execute("UNWIND $ids AS id CREATE (:T {id: id})", ids=[ONE, None, TWO])
    db.execute(f"COPY (MATCH (t:T) WHERE t.id IS NOT NULL RETURN t.id AS id ORDER BY id) TO '{file}'")
    logical = pyarrow.parquet.ParquetFile(file).schema.column(0).logical_type
    assert str(logical) == "UUID"
    db.execute("CREATE NODE TABLE U(id UUID, PRIMARY KEY(id))")
    db.execute(f"COPY U FROM '{file}'")
    assert [row[0] for row in db.execute("MATCH (u:U) RETURN u.id ORDER BY u.id")] == [ONE, TWO]


def test_another_process_gets_them_as_they_are(exchange):
    assert exchange("uuid.UUID", ONE, uuid.UUID(int=7)) == uuid.UUID(int=7)
