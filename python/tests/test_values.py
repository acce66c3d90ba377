"""Values across the border, in both directions."""

import datetime as dt
import enum
import pickle
import uuid
import zoneinfo
from decimal import Decimal

import numpy
import pandas
import polars
import pyarrow
import pytest

import knotwork
from knotwork import Duration


def echo(db, value):
    return db.execute("RETURN $x AS x", x=value).scalar()


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -1, 2**63 - 1, -(2**63), 0.0, -1.5, float("inf"), 1e308, "", "a'b\n\u00e9\U0001f600", b"\x00\xff",
        [], [1, [2.5, None], "x"], {}, {"a": 1, "b": [{"c": None}]},
        dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31),
        dt.time(0), dt.time(23, 59, 59, 999999), dt.time(12, 30, tzinfo=dt.timezone.utc),
        dt.time(12, 30, tzinfo=dt.timezone(dt.timedelta(hours=-5, minutes=-30))),
        dt.datetime(1, 1, 1), dt.datetime(2024, 2, 29, 12, 30, 15, 123456),
        dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc),
        dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=45))),
        dt.datetime(2024, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo("Europe/Stockholm")),
        dt.datetime(1969, 12, 31, 23, 59, 59, 1),
    ],
    ids=repr,
)
def test_values_come_back_as_they_went(db, value):
    found = echo(db, value)
    assert found == value and type(found) is type(value)
    if isinstance(value, (dt.datetime, dt.time)):
        assert found.utcoffset() == value.utcoffset()


def test_zones_keep_their_names_and_folds(db):
    zone = zoneinfo.ZoneInfo("Europe/Stockholm")
    for fold in (0, 1):
        moment = dt.datetime(2024, 10, 27, 2, 30, tzinfo=zone, fold=fold)
        found = echo(db, moment)
        assert found.tzinfo.key == "Europe/Stockholm"
        assert found.fold == fold and found.astimezone(dt.timezone.utc) == moment.astimezone(dt.timezone.utc)


def test_nan(db):
    found = echo(db, float("nan"))
    assert found != found


@pytest.mark.parametrize(
    "value, expected",
    [
        ((1, 2), [1, 2]), (range(3), [0, 1, 2]), ({1}, [1]), ((x for x in "ab"), ["a", "b"]), (bytearray(b"x"), b"x"),
        (dt.timedelta(days=-1, seconds=5), Duration(days=-1, seconds=5)),
        (numpy.int32(5), 5), (numpy.uint8(5), 5), (numpy.float32(0.5), 0.5), (numpy.bool_(True), True), (numpy.str_("x"), "x"),
        (numpy.array([1, 2]), [1, 2]), (numpy.array([[1.5], [2.5]]), [[1.5], [2.5]]), (numpy.array(["a"]), ["a"]),
        (numpy.datetime64("2024-02-29T12:30:00.123456"), dt.datetime(2024, 2, 29, 12, 30, 0, 123456)),
        (numpy.datetime64("NaT"), None), (numpy.timedelta64(90, "m"), Duration(seconds=5400)),
        (numpy.array(["2024-01-01"], dtype="datetime64[ns]"), [dt.datetime(2024, 1, 1)]),
        (pandas.Timestamp("2024-02-29 12:30"), dt.datetime(2024, 2, 29, 12, 30)), (pandas.NaT, None), (pandas.NA, None),
        (pandas.Timedelta("1 days 2 hours"), Duration(days=1, seconds=7200)),
        (pandas.Series([1, 2]), [1, 2]), (polars.Series([1.5, None]), [1.5, None]), (pyarrow.array(["a", None]), ["a", None]),
        (pyarrow.chunked_array([[1], [2]]), [1, 2]), (enum.IntEnum("E", "A").A, 1),
        (pyarrow.array([[1], None, [2, 3]]), [[1], None, [2, 3]]), (pyarrow.array([b"x"]), [b"x"]),
        (pyarrow.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]), (pyarrow.array([True, None]), [True, None]),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_other_objects_are_values_too(db, value, expected):
    assert echo(db, value) == expected


def test_frames_are_lists_of_maps(db):
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    for frame in (pandas.DataFrame(rows), polars.DataFrame(rows), pyarrow.Table.from_pylist(rows)):
        assert echo(db, frame) == rows
        found = db.execute("UNWIND $rows AS row RETURN row.a AS a, row.b AS b", rows=frame).to_dicts()
        assert found == rows


@pytest.mark.parametrize(
    "value, words",
    [
        (2**63, "does not fit into 64 bits"), (object(), "object"), (Decimal("1.5"), "Decimal"),
        ({1: 2}, "keys of a map"), (1j, "complex"), ([[object()]], "object"),
    ],
    ids=repr,
)
def test_what_is_no_value_is_refused(db, value, words):
    with pytest.raises(knotwork.Error, match=words) as caught:
        echo(db, value)
    assert "parameter $x" in str(caught.value)


def test_deep_nesting_is_refused(db):
    value = []
    for _ in range(10_000):
        value = [value]
    with pytest.raises(knotwork.DataError, match="deep"):
        echo(db, value)


def test_parameters(db):
    assert db.execute("RETURN $a + $b", {"a": 1}, b=2).scalar() == 3
    assert db.execute("RETURN $a", {"$a": 1}).scalar() == 1
    with pytest.raises(knotwork.ParameterError):
        db.execute("RETURN $a")
    with pytest.raises(knotwork.TypeMismatchError):
        db.execute("RETURN $a", [1])
    with pytest.raises(TypeError):
        db.execute("RETURN $a", {1: 1})


def test_large_parameters(db):
    numbers = numpy.arange(1_000_000)
    assert db.execute("RETURN size($x)", x=numbers).scalar() == 1_000_000
    assert db.execute("UNWIND $x AS x RETURN sum(x)", x=numbers).scalar() == int(numbers.sum())


def test_what_python_has_no_date_for_is_text(db):
    assert db.execute("RETURN date('+12345-01-01')").scalar() == "+12345-01-01"
    assert db.execute("RETURN localdatetime('-0001-01-01T00:00')").scalar().startswith("-0001-01-01")
    assert db.execute("RETURN localdatetime('2024-01-01T00:00:00.123456789')").scalar() == dt.datetime(2024, 1, 1, 0, 0, 0, 123456)


def test_durations():
    duration = Duration(years=1, months=2, weeks=1, days=3, hours=4, minutes=5, seconds=6, nanoseconds=7)
    assert (duration.months, duration.days, duration.seconds, duration.nanoseconds) == (14, 10, 14706, 7)
    assert str(duration) == "P1Y2M10DT4H5M6.000000007S" and Duration.parse(str(duration)) == duration
    assert pickle.loads(pickle.dumps(duration)) == duration and hash(duration) == hash(Duration.parse(str(duration)))
    assert Duration.of(dt.timedelta(days=1, seconds=2)) == dt.timedelta(days=1, seconds=2)
    assert Duration(days=1, hours=26).timedelta() == dt.timedelta(days=2, hours=2)
    assert duration + duration == Duration(months=28, days=20, seconds=29412, nanoseconds=14)
    assert duration - duration == Duration() and -Duration(days=1) == Duration(days=-1) and Duration(days=2) * 1.5 == Duration(days=3)
    with pytest.raises(ValueError):
        duration.timedelta()
    with pytest.raises(ValueError):
        Duration.parse("yesterday")
    with pytest.raises(OverflowError):
        Duration(years=2**62)


def test_a_duration_comes_back(db):
    duration = Duration(months=14, days=3, seconds=90, nanoseconds=5)
    found = echo(db, duration)
    assert type(found) is Duration and found == duration


def test_durations_are_equal_and_hashed_by_their_parts_and_have_no_order():
    day, other = Duration(days=1), Duration(days=2)
    for compare in ("__lt__", "__le__", "__gt__", "__ge__"):
        assert getattr(day, compare)(other) is NotImplemented
    for call in (lambda: day < other, lambda: day <= day, lambda: sorted([other, day]), lambda: max(day, other),
                 lambda: day > dt.timedelta(1), lambda: dt.timedelta(1) >= day):
        with pytest.raises(TypeError):
            call()
    assert day == Duration(days=1) and day != other and not day == other and day != 1 and not day == "P1D"
    # A month is not thirty days, nor a day 24 hours.
    assert Duration(months=1) != Duration(days=30) and day != Duration(hours=24)
    for duration, delta in [
        (day, dt.timedelta(1)), (Duration(seconds=5), dt.timedelta(seconds=5)), (Duration(), dt.timedelta()),
        (Duration(days=-1, seconds=1), dt.timedelta(-1, 1)), (Duration(nanoseconds=7000), dt.timedelta(microseconds=7)),
    ]:
        assert duration == delta and delta == duration and hash(duration) == hash(delta) and {duration: 1}[delta] == 1
    assert Duration(nanoseconds=7) != dt.timedelta() and Duration(hours=24) != dt.timedelta(1)
    many = [Duration(months=m, days=d, seconds=s, nanoseconds=n) for m in (0, 1) for d in (-1, 0, 1) for s in (-1, 0, 90_000) for n in (0, 1)]
    assert len(set(many)) == len(many) and all(hash(a) == hash(pickle.loads(pickle.dumps(a))) for a in many)


def test_durations_are_added_and_multiplied_from_both_sides():
    day = Duration(days=1)
    assert 2 * day == day * 2 == Duration(days=2) == day + dt.timedelta(1) == dt.timedelta(1) + day
    assert dt.timedelta(3) - day == Duration(days=2) and day - dt.timedelta(3) == Duration(days=-2)
