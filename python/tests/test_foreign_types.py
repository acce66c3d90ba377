"""Types of NumPy, pandas, polars and Arrow: taken as what they are, or refused; never as something else.

Each goes every way that a table or a value can go: as a parameter, as what LOAD FROM names, and into nodes.
"""

import datetime as dt
import uuid
from decimal import Decimal

import numpy
import pandas
import polars
import pyarrow
import pytest

import knotwork
from knotwork import Duration

ONE = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


def every_way(db, table):
    """The column ``v`` of a table, each way that it can go."""
    ways = {
        "parameter": lambda: [row["v"] for row in db.execute("RETURN $t AS t", t=table).scalar()],
        "load from": lambda: [row[0] for row in db.execute("LOAD FROM $t RETURN v", t=table)],
        "nodes": lambda: load(db, table),
    }
    return {name: outcome(way) for name, way in ways.items()}


def load(db, table):
    db.load_nodes(table, label="T")
    try:
        return [row[0] for row in db.execute("MATCH (t:T) RETURN t.v AS v ORDER BY id(t)")]
    finally:
        db.execute("MATCH (t:T) DELETE t")


def outcome(call):
    try:
        return call()
    except (knotwork.QueryError, TypeError, ValueError) as error:
        return type(error), str(error)


def map_array():
    return pyarrow.array([[("a", 1), ("b", None)], None, []], pyarrow.map_(pyarrow.string(), pyarrow.int64()))


@pytest.mark.parametrize(
    "column, expected",
    [
        (pyarrow.array([1, 0, None], pyarrow.int8()).cast(pyarrow.bool8()), [True, False, None]),
        (pyarrow.array([ONE.bytes, None], pyarrow.uuid()), [ONE, None]),
        (pyarrow.array([Decimal(5), Decimal(-7), None], pyarrow.decimal128(38, 0)), [5, -7, None]),
        (pyarrow.array(["a", "a", None]).run_end_encode() if hasattr(pyarrow.Array, "run_end_encode") else
         pyarrow.compute.run_end_encode(pyarrow.array(["a", "a", None])), ["a", "a", None]),
        (map_array(), [{"a": 1, "b": None}, None, {}]),
        (pyarrow.array([dt.time(0), dt.time(23, 59, 59)], pyarrow.time64("ns")), [dt.time(0), dt.time(23, 59, 59)]),
        (pyarrow.array([[1], None], pyarrow.list_(pyarrow.int8())), [[1], None]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pyarrow.Array) else "",
)
def test_arrow_types_are_what_they_mean(db, column, expected):
    found = every_way(db, pyarrow.table({"v": column}))
    # A store keeps no maps.
    if any(isinstance(value, dict) for value in expected):
        assert isinstance(found.pop("nodes"), tuple)
    assert found == dict.fromkeys(found, expected)


@pytest.mark.parametrize(
    "table, said",
    [
        (pyarrow.table({"v": pyarrow.array([25 * 3600 * 10**9], pyarrow.int64()).cast(pyarrow.time64("ns"))}), "24:00"),
        (pyarrow.table({"v": pyarrow.array([-1], pyarrow.int32()).cast(pyarrow.time32("s"))}), "24:00"),
        (pandas.DataFrame({"v": pandas.period_range("2020-01", periods=2, freq="M")}), "pandas.period"),
        (pandas.DataFrame({"v": pandas.interval_range(0, 2)}), "pandas.interval"),
        (pyarrow.table({"v": pyarrow.array([Decimal("1.5")])}), "Decimal"),
        (pyarrow.table({"v": pyarrow.array([Decimal(2**70)], pyarrow.decimal128(38, 0))}), "cannot be taken"),
        (pyarrow.table([[1], [2]], names=["v", "v"]), "two columns have the name"),
        (pyarrow.table([[1], [2]], names=["v", "a\0b"]), "number 0"),
        ({"v": [1], "a\0b": [2]}, "number 0"),
        (polars.DataFrame({"v": [1], "a\0b": [2]}), "number 0"),
        (polars.DataFrame({"v": polars.Series([object()], dtype=polars.Object)}), "objects of Python"),
    ],
)
def test_what_cannot_be_taken_is_refused(db, table, said):
    ways = every_way(db, table)
    if isinstance(table, dict):
        del ways["parameter"]
    for way, found in ways.items():
        assert isinstance(found, tuple) and said in found[1], (way, found)


def test_polars_columns_of_nulls_and_wide_integers(db):
    nothing = polars.DataFrame({"k": [1, 2], "v": [None, None]})
    assert set(map(str, every_way(db, nothing).values())) == {"[None, None]"}
    assert db.execute("RETURN $s AS s", s=polars.Series("s", [None, None])).scalar() == [None, None]
    nested = polars.DataFrame({"v": [{"a": None, "b": [None]}]})
    assert every_way(db, nested)["load from"] == [{"a": None, "b": [None]}]
    if hasattr(polars, "Int128"):
        wide = polars.DataFrame({"v": polars.Series([5, None], dtype=polars.Int128)})
        assert set(map(str, every_way(db, wide).values())) == {"[5, None]"}
    lazy = polars.LazyFrame({"v": [1, 2]})
    assert set(map(str, every_way(db, lazy).values())) == {"[1, 2]"}


def test_rows_without_columns_are_nodes(db):
    for table in [[{}, {}, {}], pandas.DataFrame(index=range(3))]:
        assert db.load_nodes(table, label="Bare").nodes_created == 3
    assert db.execute("MATCH (b:Bare) RETURN count(*) AS count").scalar() == 6
    assert db.load_nodes([{}] * 30_000, label="Many").nodes_created == 30_000
    assert db.execute("MATCH (b:Many) RETURN count(*) AS count").scalar() == 30_000


@pytest.mark.parametrize(
    "given, expected",
    [
        (numpy.timedelta64(5, "M"), Duration(months=5)),
        (numpy.timedelta64(2, "Y"), Duration(years=2)),
        (numpy.timedelta64(3, "W"), Duration(weeks=3)),
        (numpy.timedelta64(36, "h"), Duration(days=1, hours=12)),
        (numpy.timedelta64(-1, "s"), Duration(days=-1, hours=23, minutes=59, seconds=59)),
        (numpy.timedelta64(10**9, "D"), Duration(days=10**9)),
        (numpy.timedelta64("NaT"), None),
        (numpy.array([5, 6], "timedelta64[25s]"), [Duration(seconds=125), Duration(seconds=150)]),
        (numpy.datetime64("2020-01-02"), dt.date(2020, 1, 2)),
        (numpy.datetime64("2020-03"), dt.date(2020, 3, 1)),
        (numpy.datetime64("2020-01-02T03:04:05"), dt.datetime(2020, 1, 2, 3, 4, 5)),
        (numpy.array(["2020-01-02"], "datetime64[D]"), [dt.date(2020, 1, 2)]),
        (numpy.array([(1, "a"), (2, "b")], [("n", "i4"), ("t", "U1")]), [{"n": 1, "t": "a"}, {"n": 2, "t": "b"}]),
        (numpy.array([(1, "a")], [("n", "i4"), ("t", "U1")])[0], {"n": 1, "t": "a"}),
        (numpy.longdouble(1.5), 1.5),
        (numpy.array([1.5, 2.5], numpy.longdouble), [1.5, 2.5]),
        (ONE, ONE),
        (memoryview(b"abc"), b"abc"),
        (memoryview(numpy.array([1, 2], "int32")), [1, 2]),
    ],
    ids=repr,
)
def test_values_of_numpy_are_what_they_are(db, given, expected):
    found = db.execute("RETURN $v AS v", v=given).scalar()
    assert found == expected and type(found) is type(expected)


def test_values_that_are_none_are_refused(db):
    for given, said in [
        (int, "class 'int'"), (numpy.timedelta64(5), "timedelta64"), (numpy.timedelta64(5, "ps"), "timedelta64"),
        (polars.Series([object()], dtype=polars.Object), "objects of Python"),
    ]:
        with pytest.raises((knotwork.QueryError, TypeError), match=said):
            db.execute("RETURN $v AS v", v=given)


def test_tables_that_are_none_are_refused_in_clear_words(db):
    for table, said in [
        ({"a": 1}, "column 'a' is a list"), ({1: [1]}, "names of columns are texts"), ([{1: 1}], "names of columns are texts"),
        ({"a": "text"}, "column 'a' is a list"), ("file.csv", "COPY"),
    ]:
        with pytest.raises(TypeError, match=said):
            db.load_nodes(table, label="T")


def test_months_reach_polars_as_texts(db):
    text = "UNWIND [duration('P1M2D'), duration('PT5S'), null] AS d RETURN d, [d] AS list, {d: d} AS map"
    frame = db.execute(text).to_polars()
    assert frame["d"].to_list() == ["P1M2D", "PT5S", None]
    assert frame["list"].to_list() == [["P1M2D"], ["PT5S"], [None]]
    assert frame["map"].to_list() == [{"d": "P1M2D"}, {"d": "PT5S"}, {"d": None}]
    assert db.execute("RETURN duration('PT5S') AS d").to_polars()["d"].to_list() == [dt.timedelta(seconds=5)]
    assert db.execute(text).to_arrow().column("d").type == pyarrow.month_day_nano_interval()
