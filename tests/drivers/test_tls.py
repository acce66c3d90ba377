"""TLS through the driver: its schemes, certificates that are checked, files that change, and clients that do not encrypt."""

import pathlib
import shutil
import signal
import ssl
import subprocess
import time

import conftest
import neo4j
import pytest
from conftest import FAILURE, PULL, SUCCESS, message
from neo4j.exceptions import DriverError, Neo4jError


def one(driver):
    return driver.execute_query("RETURN 1 AS x").records[0]["x"]


@pytest.mark.parametrize("scheme", ["bolt+ssc", "neo4j+ssc"])
def test_a_certificate_of_its_own_serves_whoever_trusts_it(serve, scheme):
    server = serve("--tls-self-signed")
    assert any(line.startswith("listening on bolt+ssc://") for line in server.lines)
    with server.driver(scheme) as driver:
        assert one(driver) == 1
        many = driver.execute_query("UNWIND range(1, 200000) AS i RETURN i, 'text ' + i AS t").records
        assert len(many) == 200_000 and many[-1]["t"] == "text 200000"
        text = "x" * 3_000_000
        assert driver.execute_query("RETURN size($text) AS n", text=text).records[0]["n"] == 3_000_000
        assert driver.get_server_info().agent.startswith("Neo4j/")
    key = pathlib.Path(f"{server.store}.key.pem")
    assert key.stat().st_mode & 0o777 == 0o600
    # Nobody signs it but itself, and nobody is let in without encryption.
    for strict in ("bolt+s", "bolt"):
        with server.driver(strict, connection_timeout=5) as driver, pytest.raises((DriverError, Neo4jError)):
            driver.verify_connectivity()


def test_a_certificate_is_checked_by_name(serve):
    server = serve("--tls-self-signed")
    trusted = neo4j.TrustCustomCAs(f"{server.store}.certificate.pem")
    for host in ("127.0.0.1", "localhost"):
        with server.driver("bolt", host=host, encrypted=True, trusted_certificates=trusted) as driver:
            assert one(driver) == 1


def test_both_are_let_in_if_that_is_said(serve):
    server = serve("--tls-self-signed", "--tls", "optional")
    for scheme in ("bolt", "bolt+ssc"):
        with server.driver(scheme) as driver:
            assert one(driver) == 1
    # Older and newer forms of TLS.
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = context.maximum_version = version
        client = server.client()
        client.socket = context.wrap_socket(client.socket)
        client.log_in(server.password())
        client.run("RETURN 1")
        client.send(message(PULL, {"n": -1}))
        assert client.summary() == SUCCESS and client.summary() == SUCCESS
        client.close()


def test_a_client_that_does_not_read_over_tls_gets_all_rows_at_last(serve):
    server = serve("--tls-self-signed", "--patience", "200ms")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = server.client(receive_buffer=4096)
    client.socket = context.wrap_socket(client.socket)
    client.log_in(server.password())
    client.run("UNWIND range(1, 200000) AS i RETURN i, 'a text that takes some room on its way ' + i AS t")
    client.send(message(PULL, {"n": -1}))
    time.sleep(2)
    assert client.summary() == SUCCESS
    rows = 0
    while client.answer()[0] == 0x71:
        rows += 1
    assert rows == 200_000


def test_certificates_are_renewed_without_a_restart(serve, tmp_path):
    first, second = serve("--tls-self-signed", store=tmp_path / "a.knot"), serve("--tls-self-signed", store=tmp_path / "b.knot")
    server = first

    def shown():
        return ssl.get_server_certificate(("127.0.0.1", server.port))

    old, new = shown(), pathlib.Path(f"{second.store}.certificate.pem").read_text()
    for ending in ("certificate.pem", "key.pem"):
        shutil.copy(f"{second.store}.{ending}", f"{first.store}.{ending}")
    deadline = time.monotonic() + 20
    while shown() == old:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert shown().split() == new.split()
    with server.driver("bolt+ssc") as driver:
        assert one(driver) == 1


def test_what_cannot_be_used_ends_the_start(tmp_path):
    def said(*arguments):
        command = [conftest.KNOT, "serve", str(tmp_path / "a.knot"), "--listen", "127.0.0.1:0", *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert ended.returncode != 0
        return ended.stderr

    empty = tmp_path / "empty.pem"
    empty.write_text("")
    assert "missing.pem" in said("--tls-certificate", str(tmp_path / "missing.pem"), "--tls-key", str(empty))
    assert "no certificate stands in it" in said("--tls-certificate", str(empty), "--tls-key", str(empty))
    assert "--tls-key" in said("--tls-certificate", str(empty))


def test_tls_where_there_is_none_is_told(serve):
    server = serve()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = server.client()
    with pytest.raises(ssl.SSLError):
        context.wrap_socket(client.socket)
    with server.driver() as driver:
        assert one(driver) == 1


LONG = "UNWIND range(1, 1000000) AS i UNWIND range(1, 100000) AS j WITH i, j WHERE i * j = -1 RETURN count(*)"


def test_a_second_signal_ends_at_once(serve):
    server = serve("--drain", "10min")
    client = server.client().log_in(server.password())
    client.run(LONG)
    time.sleep(0.5)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert server.process.poll() is None
    assert server.stop() == 130


def test_a_statement_that_outlasts_the_drain_is_told(serve):
    server = serve("--drain", "500ms")
    client = server.client().log_in(server.password())
    client.run(LONG)
    client.send(message(PULL, {"n": -1}))
    time.sleep(0.5)
    assert server.stop() == 0
    while True:
        tag, body = client.answer()
        if tag == FAILURE:
            break
    assert b"Neo.TransientError.General.DatabaseUnavailable" in body
