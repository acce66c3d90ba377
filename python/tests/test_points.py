"""Points are a type of their own: in properties, constraints, results, files, and through another process."""

import copy
import math
import pickle

import pytest

import knotwork
from knotwork import Point

HERE = Point(longitude=12.5, latitude=55.6)
THERE = Point(x=3, y=4)
UP = Point(x=1, y=2, z=-3.5)


def test_they_are_kept_and_found(path):
    with knotwork.connect(path) as db:
        db.execute("CREATE CONSTRAINT FOR (t:T) REQUIRE t.at IS UNIQUE")
        db.execute("CREATE CONSTRAINT FOR (t:T) REQUIRE t.at IS :: POINT")
        db.execute("UNWIND $points AS at CREATE (:T {at: at, list: [at]})", points=[HERE, THERE, UP])
    with knotwork.connect(path) as db:
        rows = list(db.execute("MATCH (t:T) RETURN t.at, t.list, valueType(t.at) ORDER BY t.at"))
        assert [tuple(row) for row in rows] == [(point, [point], "POINT NOT NULL") for point in (HERE, THERE, UP)]
        assert db.execute("MATCH (t:T {at: $at}) RETURN count(*)", at=UP).scalar() == 1
        assert db.execute("MATCH (t:T {at: $at}) RETURN t.at.x + t.at.y", at=THERE).scalar() == 7
        with pytest.raises(knotwork.ConstraintError, match="already has at"):
            db.execute("CREATE (:T {at: $at})", at=HERE)
        with pytest.raises(knotwork.QueryError, match="coordinate reference system 'mars'"):
            db.execute("RETURN point({x: 1, y: 2, crs: 'mars'})")
        texts = db.execute("MATCH (t:T) RETURN t.at AS at ORDER BY at").to_arrow()["at"].to_pylist()
        assert [Point.parse(text) for text in texts] == [HERE, THERE, UP]


def test_the_class():
    assert (HERE.longitude, HERE.latitude, HERE.height, HERE.x, HERE.y, HERE.z) == (12.5, 55.6, None, 12.5, 55.6, None)
    assert (HERE.srid, HERE.crs, UP.coordinates, UP.longitude) == (4326, "wgs-84", (1.0, 2.0, -3.5), None)
    assert THERE.distance(Point(x=0, y=0)) == 5.0 and THERE.distance(HERE) is None
    assert repr(UP) == "Point(x=1.0, y=2.0, z=-3.5, crs='cartesian-3d')" and eval(repr(UP)) == UP
    assert len({HERE, THERE, Point(x=3.0, y=4), copy.deepcopy(UP), pickle.loads(pickle.dumps(UP))}) == 3
    assert THERE != (3, 4) and Point(x=-0.0, y=0) == Point(x=0, y=0)
    with pytest.raises(TypeError):
        HERE < THERE
    for wrong in [{}, {"x": 1}, {"x": 1, "latitude": 2}, {"x": math.nan, "y": 0}, {"x": 1, "y": 2, "srid": 1}]:
        with pytest.raises(knotwork.Error):
            Point(**wrong)
    with pytest.raises(ValueError, match="expected a point"):
        Point.parse("here")


def test_tuples_with_the_number_of_a_system_are_points(db):
    class Elsewhere(tuple):
        srid = 4979

    assert db.execute("RETURN $at", at=Elsewhere((1.0, 2.0, 3.0))).scalar() == Point(longitude=1, latitude=2, height=3)
    with pytest.raises(knotwork.Error, match="3 coordinates, found 2"):
        db.execute("RETURN $at", at=Elsewhere((1.0, 2.0)))


def test_files_have_them(db, tmp_path):
    db.execute("UNWIND $points AS at CREATE (:T {id: at.srid, at: at})", points=[HERE, THERE, UP])
    for name in ["points.csv", "points.jsonl"]:
        file = tmp_path / name
        db.execute(f"COPY (MATCH (t:T) RETURN t.id AS id, t.at AS at) TO '{file}'")
        assert sum("oint" in line for line in file.read_text().splitlines()) >= 3


def test_another_process_gets_them_as_they_are(exchange):
    assert exchange("knotwork.Point.parse", HERE, Point(x=1, y=2)) == Point(x=1, y=2)
