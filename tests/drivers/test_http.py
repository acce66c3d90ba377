"""Sessions of the driver over HTTP, which it speaks from 6.4 on; and clients of HTTP that are slow."""

import asyncio
import base64
import datetime
import json
import signal
import socket
import time
import urllib.error
import urllib.request

import neo4j
import pytest
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

VERSION = tuple(int(part) for part in neo4j.__version__.split(".")[:2])
needs_http = pytest.mark.skipif(VERSION < (6, 4), reason=f"the driver {neo4j.__version__} does not speak HTTP")
pytestmark = pytest.mark.filterwarnings("ignore::neo4j.warnings.PreviewWarning" if VERSION >= (6, 0) else "default")

ENDLESS = "UNWIND range(1, 1000000) AS i UNWIND range(1, 100000) AS j WITH i, j WHERE i * j = -1 RETURN count(*) AS c"
MANY = "UNWIND range(1, 1000000) AS i RETURN i, 'a text that takes some room on its way ' + i AS t"


@pytest.fixture
def http(shared):
    """A driver over HTTP on an empty store."""
    for module in ("aiohttp", "urllib3"):
        pytest.importorskip(module, reason="neo4j[http] is not installed")
    with shared.driver("http") as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n", database_="neo4j")
        yield driver


def single(driver, text, **parameters):
    return driver.execute_query(text, parameters, database_="neo4j").records[0][0]


@needs_http
def test_values_go_there_and_back(http):
    zone = datetime.timezone(datetime.timedelta(minutes=-90))
    for value in [
        None,
        True,
        -(2**63),
        2**63 - 1,
        1.5,
        float("inf"),
        'a"\n\u00e4\U0001f600',
        b"\x00\xff",
        [1, [2.0, None], "x"],
        {"a": {"b": [1]}},
        Date(2020, 2, 29),
        Time(1, 2, 3, 4),
        Time(1, 2, 3, 4, zone),
        DateTime(2020, 1, 2, 3, 4, 5, 6),
        DateTime(2020, 1, 2, 3, 4, 5, 6, zone),
        Duration(months=14, days=-2, seconds=-3, nanoseconds=5),
        WGS84Point((12.5, -55.25)),
        CartesianPoint((1, 2, 3.5)),
    ]:
        assert single(http, "RETURN $x", x=value) == value
    text = "datetime('2020-07-02T03:04:05[Europe/Paris]')"
    assert single(http, f"RETURN {text}").tzinfo.zone == "Europe/Paris"
    assert single(http, f"RETURN $x = {text}", x=single(http, f"RETURN {text}"))


@needs_http
def test_entities_and_summaries(http):
    records, summary, keys = http.execute_query(
        "CREATE p = (a:A {x: 1})-[r:R {y: 2.5}]->(:B) RETURN a, r, p", database_="neo4j"
    )
    record = records[0]
    assert keys == ["a", "r", "p"] and record["a"].labels == {"A"} and dict(record["r"]) == {"y": 2.5}
    assert record["p"].nodes[0] == record["a"] == record["r"].start_node and len(record["p"]) == 1
    counters = summary.counters
    assert (counters.nodes_created, counters.relationships_created, counters.contains_updates) == (2, 1, True)
    assert summary.query_type == "rw"
    with http.session(database="neo4j") as session:
        assert session.run("PROFILE MATCH (n:A) RETURN n").consume().profile["rows"] == 1
        assert session.run("EXPLAIN MATCH (n:A) RETURN n").consume().plan["operatorType"]


@needs_http
def test_transactions(http):
    with http.session(database="neo4j") as session:
        with session.begin_transaction() as transaction:
            transaction.run("CREATE (:A)").consume()
            assert transaction.run("MATCH (n:A) RETURN count(n)").single().value() == 1
            transaction.commit()
        assert session.last_bookmarks().raw_values
        with session.begin_transaction() as transaction:
            transaction.run("CREATE (:A)").consume()
            transaction.rollback()
        assert session.run("MATCH (n:A) RETURN count(n)").single().value() == 1
        assert session.execute_write(lambda work: work.run("CREATE (n:A) RETURN 1").single().value()) == 1
        rows = session.execute_read(lambda work: list(work.run("UNWIND range(1, 50000) AS i RETURN i")))
        assert len(rows) == 50_000
        with pytest.raises(neo4j.exceptions.ClientError, match="begun for reading"):
            session.execute_read(lambda work: work.run("CREATE (:X)").consume())


@needs_http
def test_errors_have_their_classes(http, shared):
    for text, kind in [
        ("RETRN 1", neo4j.exceptions.CypherSyntaxError),
        ("RETURN 1 / 0", neo4j.exceptions.ClientError),
        ("UNWIND range(1, 20000) AS i RETURN 1 / (15000 - i)", neo4j.exceptions.ClientError),
        ("COPY (RETURN 1) TO 'x.csv'", neo4j.exceptions.Forbidden),
    ]:
        with pytest.raises(kind):
            http.execute_query(text, database_="neo4j")
    with pytest.raises(neo4j.exceptions.ClientError, match="'other'"):
        http.execute_query("RETURN 1", database_="other")
    with pytest.raises(neo4j.exceptions.ClientError, match="'ann'"):
        http.execute_query("RETURN 1", database_="neo4j", impersonated_user_="ann")
    with neo4j.GraphDatabase.driver(f"http://127.0.0.1:{shared.port}", auth=("neo4j", "wrong")) as wrong:
        with pytest.raises(neo4j.exceptions.AuthError):
            wrong.execute_query("RETURN 1", database_="neo4j")


@needs_http
def test_many_at_once(http, shared):
    async def all_of_them():
        uri, auth = f"http://127.0.0.1:{shared.port}", ("neo4j", shared.password())
        async with neo4j.AsyncGraphDatabase.driver(uri, auth=auth) as driver:
            text = "UNWIND range(1, 1000) AS i RETURN i"
            found = await asyncio.gather(*(driver.execute_query(text, database_="neo4j") for _ in range(50)))
            return sum(len(result.records) for result in found)

    assert asyncio.run(all_of_them()) == 50_000


def request(server, body, path="/db/neo4j/query/v2"):
    """The bytes of a request with the password."""
    token = base64.b64encode(f"neo4j:{server.password()}".encode()).decode()
    body = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def ask(server, text):
    token = base64.b64encode(f"neo4j:{server.password()}".encode()).decode()
    headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
    url = f"http://127.0.0.1:{server.port}/db/neo4j/query/v2"
    asked = urllib.request.Request(url, json.dumps({"statement": text}).encode(), headers)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)["data"]["values"]


def connect(server, receive_buffer=None):
    client = socket.socket()
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(30)
    client.connect(("127.0.0.1", server.port))
    return client


def test_clients_that_do_not_read_take_little_memory(serve):
    server = serve("--patience", "500ms")
    assert ask(server, "RETURN 1") == [[1]]
    before = server.resident_mib()
    slow = [connect(server, receive_buffer=4096) for _ in range(20)]
    for client in slow:
        client.sendall(request(server, {"statement": MANY}))
    # Each result has 60 MB; the clients take some of it now and then.
    for _ in range(20):
        time.sleep(0.25)
        assert all(client.recv(1000) for client in slow)
        assert ask(server, "RETURN 1") == [[1]]
    assert server.resident_mib() - before < 200
    for client in slow:
        client.close()
    assert server.stop() == 0


def test_a_client_that_hangs_up_stops_its_statement(serve):
    server = serve()
    listed = "SHOW TRANSACTIONS YIELD currentQuery"
    client = connect(server)
    client.sendall(request(server, {"statement": ENDLESS}))
    while len(ask(server, listed)) < 2:
        time.sleep(0.01)
    client.close()
    while len(ask(server, listed)) > 1:
        time.sleep(0.01)
    assert server.stop() == 0


def test_a_server_that_ends_tells_its_clients(serve):
    server = serve("--drain", "100ms")
    client = connect(server)
    client.sendall(request(server, {"statement": ENDLESS}))
    while len(ask(server, "SHOW TRANSACTIONS YIELD currentQuery")) < 2:
        time.sleep(0.01)
    server.process.send_signal(signal.SIGTERM)
    answer = b""
    while piece := client.recv(65_536):
        answer += piece
    assert answer.startswith(b"HTTP/1.1 503 ") and b"DatabaseUnavailable" in answer
    # A second signal would end it at once.
    server.process.wait(30)
    assert server.stop() == 0
    # One that is killed cannot say anything.
    server = serve("--no-auth", store=server.store)
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        server.process.kill()
        server.process.wait()
        urllib.request.urlopen(f"http://127.0.0.1:{server.port}/health", timeout=5)
