"""Errors by class, with the place in the query."""

import os
import time
import warnings

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
    with pytest.raises(knotwork.ClosedError, match="earlier read"):
        result.fetchall()


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
    assert "ermission denied" in done.stdout and "give this user the right" in done.stdout, done.stdout


def test_errors_are_runtime_errors(db):
    # As Kuzu's are.
    with pytest.raises(RuntimeError, match="SYNTAX"):
        db.execute("RETRUN 1")
    assert all(issubclass(getattr(knotwork, name), RuntimeError) for name in dir(knotwork) if name.endswith("Error"))


def test_settings_that_are_not_known_are_refused():
    for settings, error, said in [
        ({"memory_limt": 5}, TypeError, "did you mean memory_limit"),
        ({"colour": 5}, TypeError, "there are path"),
        ({"threads": -1}, ValueError, "threads is a number of at least 0"),
        ({"max_num_threads": -1}, ValueError, "max_num_threads"),
        ({"memory_limit": -5}, ValueError, "memory_limit is a number of bytes"),
        ({"memory_limit": "much"}, ValueError, "memory_limit is a number of bytes"),
        ({"buffer_pool_size": -1}, ValueError, "buffer_pool_size"),
    ]:
        with pytest.raises(error, match=said):
            knotwork.Database(**settings)
    knotwork.Database(max_db_size=1 << 30, auto_checkpoint=True).close()


def test_limits_of_a_statement_are_read_as_those_of_a_database(db):
    text = "UNWIND range(1, 300000) AS i RETURN collect(toString(i)) AS c"
    with pytest.raises(knotwork.ResourceLimitError):
        db.execute(text, memory_limit="64KB").fetchall()
    assert len(db.execute(text, memory_limit="512MB").scalar()) == 300_000
    with db.cursor() as connection:
        connection.memory_limit = "1MB"
        assert connection.memory_limit == 1 << 20
        connection.memory_limit = None
    for limit in (-1, "much", 1.5):
        with pytest.raises(ValueError, match="memory_limit is a number of bytes"):
            db.execute("RETURN 1", memory_limit=limit)
    for size in (-1, -(2**40)):
        with pytest.raises(knotwork.DataError, match="of at least 0"):
            db.execute("RETURN 1").fetchmany(size)


def test_a_store_that_is_open_here_says_what_to_do(path):
    with knotwork.connect(path) as db:
        with pytest.raises(knotwork.BusyError, match=r"db\.connection\(\)"):
            knotwork.connect(path)
        db.execute("RETURN 1")


def test_hints_are_warnings_once_for_each_place(db):
    db.execute("CREATE (:Person {name: 'Ann'})")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            assert db.execute("MATCH (p:Person) RETURN p.nme").scalar() is None
        assert db.execute("MATCH (p:Person) RETURN p.name").scalar() == "Ann"
    assert [(warning.category, warning.filename) for warning in caught] == [(knotwork.HintWarning, __file__)]
    assert "nme" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(knotwork.HintWarning):
            db.execute("MATCH (p:Person) RETURN p.nme")


def test_a_commit_has_no_time_limit_of_the_statement_before(db):
    with db.connection() as connection:
        connection.timeout = 0.1
        connection.begin()
        connection.execute("CREATE (:N)")
        time.sleep(0.15)
        connection.commit()
    assert db.execute("MATCH (n:N) RETURN count(*) AS count").scalar() == 1


def test_a_row_that_cannot_be_loaded_speaks_of_no_command_line(db):
    with pytest.raises(knotwork.DataError, match="row 1") as caught:
        db.load_nodes([{"id": 1}, {"id": None}], label="T", key="id")
    assert "--" not in str(caught.value) and "leave it out" in caught.value.remedy
