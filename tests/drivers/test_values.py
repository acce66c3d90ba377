"""Values of every type, both ways, in every version of the protocol."""

import math

import neo4j
import pytest
import pytz
from neo4j.spatial import CartesianPoint, Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

VERSIONS = ["4.4", "5.0", "5.1", "5.2", "5.3", "5.4", "5.6", "5.7", "5.8", "6.0"]


@pytest.fixture(scope="module")
def drivers(tmp_path_factory):
    import conftest

    servers = {}

    def of(version):
        if version not in servers:
            store = tmp_path_factory.mktemp("values") / "store.knot"
            server = conftest.Server(store, "--bolt-version", version)
            servers[version] = (server, server.driver())
        return servers[version][1]

    yield of
    for server, driver in servers.values():
        driver.close()
        assert server.stop() == 0


def zoned(name):
    return pytz.timezone(name).localize(DateTime(2024, 6, 21, 12, 30, 15, 123_456_789))


def at_offset(minutes):
    return DateTime(2015, 7, 21, 21, 40, 32, 142_000_000, tzinfo=pytz.FixedOffset(minutes))


VALUES = [
    None,
    True,
    False,
    *[sign * (2**bits) + more for bits in (0, 4, 7, 8, 15, 16, 31, 32, 62) for sign in (1, -1) for more in (-1, 0, 1)],
    2**63 - 1,
    -(2**63),
    0.0,
    -1.5,
    1e308,
    math.inf,
    -math.inf,
    "",
    "a",
    "Größenmaßstäbe 𝄞",
    "x" * 70_000,
    b"",
    bytes(range(256)) * 300,
    [],
    [1, "a", None, [2.5, [True]]],
    list(range(70_000)),
    {},
    {"a": 1, "b": {"c": [None, {"d": "e"}]}},
    Date(1, 1, 1),
    Date(1970, 1, 1),
    Date(9999, 12, 31),
    Time(23, 59, 59, 999_999_999),
    Time(1, 2, 3, 4, tzinfo=pytz.FixedOffset(-330)),
    DateTime(1900, 2, 28, 0, 0, 0, 1),
    DateTime(2024, 2, 29, 23, 59, 59, 999_999_999),
    at_offset(0),
    at_offset(120),
    at_offset(-630),
    zoned("Europe/Stockholm"),
    zoned("America/New_York"),
    Duration(months=14, days=-3, seconds=70, nanoseconds=5),
    Duration(seconds=-1, nanoseconds=1),
    CartesianPoint((1, -2.5)),
    CartesianPoint((1, 2, 1e300)),
    WGS84Point((12.5, 55.6)),
    WGS84Point((-180, 90, -3)),
]


def unknown_point():
    point = Point((1.0, 2.0))
    point.srid = 4711
    return point


@pytest.mark.parametrize("version", VERSIONS)
def test_values_come_back(drivers, version):
    driver = drivers(version)
    assert driver.get_server_info().protocol_version == tuple(map(int, version.split(".")))
    with driver.session() as session:
        for value in VALUES:
            found = session.run("RETURN $x AS x", x=value).single()["x"]
            assert found == value and type(found) is type(value), (value, found)
        assert math.isnan(session.run("RETURN $x AS x", x=math.nan).single()["x"])
        many = session.run("UNWIND $rows AS row RETURN row", rows=VALUES).value()
        assert many == VALUES


@pytest.mark.parametrize("version", VERSIONS)
def test_nodes_relationships_and_paths_come(drivers, version):
    driver = drivers(version)
    with driver.session() as session:
        session.run("MATCH (n) DETACH DELETE n").consume()
        session.run(
            "CREATE (a:Person:Admin {name: 'Ann', born: date('1990-01-02')})-[:KNOWS {since: 2001}]->(b:Person {name: 'Bob'})"
            "<-[:LIKES]-(c:Person {name: 'Cid'})"
        ).consume()
        record = session.run("MATCH p = (a {name: 'Ann'})-[r:KNOWS]->(b)<-[s]-(c) RETURN a, r, b, c, p, id(a), elementId(r)").single()
        ann, knows, bob, cid, path, number, element_id = record.values()
        assert ann.labels == {"Person", "Admin"} and ann["name"] == "Ann" and ann["born"] == Date(1990, 1, 2)
        assert knows.type == "KNOWS" and dict(knows) == {"since": 2001}
        assert (knows.start_node, knows.end_node) == (ann, bob)
        assert [node["name"] for node in path.nodes] == ["Ann", "Bob", "Cid"]
        assert [relationship.type for relationship in path.relationships] == ["KNOWS", "LIKES"]
        assert path.relationships[1].start_node == cid
        if version >= "5":
            assert knows.element_id == element_id
            again = session.run("MATCH ()-[r]->() WHERE elementId(r) = $id RETURN r.since", id=knows.element_id)
            assert again.value() == [2001]
            assert session.run("MATCH (n) WHERE elementId(n) = $id RETURN n.name", id=ann.element_id).value() == ["Ann"]
        else:
            assert ann.id == number
        # A walk that visits a node twice, in lists and maps.
        nested = session.run(
            "MATCH p = (a {name: 'Ann'})-[:KNOWS]-(b)-[:KNOWS|LIKES]-(c) RETURN [p, {path: p}] AS found"
        ).values()
        assert all(row[0][0] == row[0][1]["path"] for row in nested)


def test_what_is_no_value_is_refused(drivers):
    with drivers("5.4").session() as session:
        with pytest.raises(neo4j.exceptions.ClientError, match="coordinate reference system 4711"):
            session.run("RETURN $x", x=unknown_point()).consume()
        assert session.run("RETURN 1").single()[0] == 1
