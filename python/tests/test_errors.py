"""Errors by class, with the place in the query."""

import os

import pytest

import knotwork


@pytest.mark.parametrize(
    "query, error, code, line, column",
    [
        ("RETRUN 1", knotwork.QuerySyntaxError, "SYNTAX", 1, 1),
        ("MATCH (n)\nRETURN m", knotwork.QueryError, "SEMANTIC", 2, 8),
        ("RETURN nothing(1)", knotwork.QueryError, "UNKNOWN_FUNCTION", 1, 8),
        ("CALL no.such()", knotwork.QueryError, "UNKNOWN_PROCEDURE", 1, 6),
        ("RETURN $p", knotwork.ParameterError, "PARAMETER", 1, 8),
        ("RETURN 1 / 0", knotwork.DataError, "ARITHMETIC", 1, 8),
        ("CREATE (:P {id: 1})", knotwork.ConstraintError, "CONSTRAINT", None, None),
        ("MATCH (p:P) DELETE p CREATE (p)-[:R]->(p)", knotwork.Error, None, None, None),
        ("COMMIT", knotwork.TransactionError, "TRANSACTION_STATE", None, None),
        ("COPY P FROM '/no/such/file.csv'", knotwork.FileError, "FILE", None, None),
    ],
)
def test_classes_and_places(db, query, error, code, line, column):
    db.execute("CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE")
    db.execute("CREATE (:P {id: 1})")
    with pytest.raises(error) as caught:
        db.execute(query).fetchall()
    raised = caught.value
    if code:
        assert raised.code == code
    if line:
        assert (raised.line, raised.column) == (line, column)
        assert "^" in str(raised) and query.splitlines()[line - 1] in str(raised)
    assert raised.remedy and raised.remedy in str(raised) and raised.query in (query, None)
    assert isinstance(raised, knotwork.Error) and not raised.retryable


def test_errors_are_kinds_of_those_that_python_has():
    assert issubclass(knotwork.TimeoutError, TimeoutError)
    assert issubclass(knotwork.TypeMismatchError, TypeError)
    assert issubclass(knotwork.DataError, ValueError)
    assert issubclass(knotwork.ConflictError, knotwork.TransactionError) and knotwork.ConflictError.retryable


def test_every_code_of_the_engine_has_a_class():
    import pathlib
    import re

    from knotwork import errors

    registry = pathlib.Path(__file__).parents[2] / "crates/model/src/error.rs"
    codes = re.findall(r'^    \(\w+, "([A-Z_]+)", \w+, "', registry.read_text(), re.M)
    assert len(codes) > 20 and set(codes) <= set(errors._CLASSES)


def test_an_error_among_the_rows(db):
    result = db.execute("UNWIND range(1, 500000) AS i RETURN 1 / (400000 - i) AS x")
    assert result.fetchone().x == 0
    with pytest.raises(knotwork.DataError, match="zero"):
        result.fetchall()
    assert result.fetchall() == []


def test_a_store_of_a_newer_kind_or_none(tmp_path):
    (tmp_path / "file.knot").write_text("not a directory")
    with pytest.raises(knotwork.Error):
        knotwork.connect(tmp_path / "file.knot")
    with pytest.raises(knotwork.StoreError):
        knotwork.connect(tmp_path / "missing.knot", read_only=True)


def test_damage_is_told(path):
    import pathlib

    with knotwork.connect(path) as db:
        db.execute("UNWIND range(1, 5000) AS i CREATE (:N {i: i, s: 'text number ' + i})")
        db.checkpoint()
    for file in pathlib.Path(path).iterdir():
        if file.stat().st_size > 4096 and file.suffix == ".noderun":
            data = bytearray(file.read_bytes())
            for at in range(64, len(data), 97):
                data[at] ^= 0x55
            file.write_bytes(data)
    with pytest.raises(knotwork.CorruptionError) as caught:
        with knotwork.connect(path) as db:
            db.execute("MATCH (n:N) RETURN n.s").fetchall()
    assert caught.value.code == "CORRUPT"


def test_settings_out_of_range(db, path):
    for settings in ({"durability": "some"}, {"isolation": "none"}, {"timeout": -1}):
        with pytest.raises(knotwork.DataError):
            knotwork.connect(path, **settings)
    connection = db.connection()
    for name, value in [("isolation", "x"), ("priority", "x"), ("timeout", -1.0)]:
        with pytest.raises(knotwork.DataError):
            setattr(connection, name, value)


def test_remedies_are_those_of_python(db):
    with pytest.raises(knotwork.ParameterError) as caught:
        db.execute("RETURN $p")
    assert "execute(query, name=value)" in str(caught.value) and "--param" not in str(caught.value)
    with pytest.raises(knotwork.QueryError) as caught:
        db.execute("MATCH (n) RETURN n UNION")
    assert "see the" not in str(caught.value) and str(caught.value).endswith("^")
    with pytest.raises(TypeError, match="COPY Person FROM"):
        db.load_nodes("people.csv", label="Person")
    with pytest.raises(TypeError, match='source=."Person", "id", "source".'):
        db.load_edges([{"source": 1}], type="R", source="Person")
    with pytest.raises(knotwork.DataError) as caught:
        db.algo.pagerank(max_iterationz=3)
    told = str(caught.value)
    assert "algo.pagerank has no setting 'max_iterationz'" in told and "did you mean 'max_iterations'" in told and "CALL" not in told


def test_limits_of_memory_with_units(path):
    for given, bytes in [("1GB", 1 << 30), ("1.5 MiB", 3 << 19), ("300k", 300 << 10), (1 << 20, 1 << 20), ("1000000", 10**6)]:
        with knotwork.connect(path, memory_limit=given, query_memory_limit=given) as db:
            assert db.execute("RETURN 1").scalar() == 1, bytes
    with pytest.raises(ValueError, match="much"):
        knotwork.connect(path, memory_limit="much")


@pytest.mark.skipif(os.name == "nt", reason="this system has no such rights")
def test_a_path_that_may_not_be_written(tmp_path, run):
    tmp_path.chmod(0o555)
    done = run(
        """
        import os, sys, knotwork
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            knotwork.connect(sys.argv[1])
        except knotwork.StoreError as error:
            print(error)
        """,
        tmp_path / "store.knot",
    )
    tmp_path.chmod(0o755)
    assert "ermission denied" in done.stdout and "check the rights" in done.stdout, done.stdout
