"""A server for each test that asks, and a client of bare bytes."""

import os
import pathlib
import re
import select
import signal
import socket
import struct
import subprocess
import threading

import neo4j
import pytest

KNOT = os.environ["KNOT"]


class Server:
    """`knot serve` on a free port."""

    def __init__(self, store, *arguments):
        self.store = pathlib.Path(store)
        command = [KNOT, "serve", str(store), "--listen", "127.0.0.1:0", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.lines = []
        self.port = None
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.match(r"listening on bolt(?:\+s|\+ssc)?://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                break
        assert self.port, "".join(self.lines)
        # What it says from now on is kept, so that the pipe never fills.
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def password(self):
        return pathlib.Path(f"{self.store}.password").read_text().strip()

    def driver(self, scheme="bolt", host="127.0.0.1", **settings):
        auth = ("neo4j", self.password()) if "--no-auth" not in self.process.args else None
        return neo4j.GraphDatabase.driver(f"{scheme}://{host}:{self.port}", auth=auth, **settings)

    def client(self, **settings):
        return Client(self.port, **settings)

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def resident_mib(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) / 1024

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, by=signal.SIGTERM, timeout=30):
        if self.process.poll() is None:
            self.process.send_signal(by)
        code = self.process.wait(timeout)
        self.reader.join(5)
        self.process.stderr.close()
        return code


@pytest.fixture
def serve(tmp_path):
    """Starts servers; they are gone with the test."""
    started = []

    def start(*arguments, store=None):
        server = Server(store or tmp_path / "store.knot", *arguments)
        started.append(server)
        return server

    yield start
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for the tests of a module."""
    server = Server(tmp_path_factory.mktemp("shared") / "store.knot")
    yield server
    assert server.stop() == 0


@pytest.fixture
def driver(shared):
    """A driver on an empty store."""
    with shared.driver() as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")
        yield driver


def packed(value):
    """A value in PackStream's form, for messages of tests."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return b"\xcb" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xc1" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"\xd2" + struct.pack(">I", len(value.encode())) + value.encode()
    if isinstance(value, list):
        return b"\xd6" + struct.pack(">I", len(value)) + b"".join(map(packed, value))
    pairs = b"".join(packed(key) + packed(item) for key, item in value.items())
    return b"\xda" + struct.pack(">I", len(value)) + pairs


HELLO, LOGON, GOODBYE, RESET, RUN, PULL, DISCARD = 0x01, 0x6A, 0x02, 0x0F, 0x10, 0x3F, 0x2F
BEGIN, COMMIT, ROLLBACK = 0x11, 0x12, 0x13
SUCCESS, RECORD, IGNORED, FAILURE = 0x70, 0x71, 0x7E, 0x7F


def message(tag, *fields):
    body = bytes([0xB0 | len(fields), tag]) + b"".join(map(packed, fields))
    pieces = [body[at : at + 0xFFFF] for at in range(0, len(body), 0xFFFF)]
    return b"".join(struct.pack(">H", len(piece)) + piece for piece in pieces) + b"\0\0"


class Client:
    """A client that does what a test says, also what no driver does."""

    def __init__(self, port, receive_buffer=None, version=(5, 4)):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(30)
        self.socket.connect(("127.0.0.1", port))
        self.version = version

    def greet(self):
        proposal = bytes([0, 0, self.version[1], self.version[0]])
        self.socket.sendall(b"\x60\x60\xb0\x17" + proposal + bytes(12))
        assert self.exactly(4) == proposal
        return self

    def log_in(self, password):
        self.greet()
        credentials = {"scheme": "basic", "principal": "neo4j", "credentials": password}
        self.send(message(HELLO, {"user_agent": "test/1"}), message(LOGON, credentials))
        assert self.summary() == SUCCESS and self.summary() == SUCCESS
        return self

    def send(self, *messages):
        self.socket.sendall(b"".join(messages))

    def run(self, text, parameters=None, extra=None):
        self.send(message(RUN, text, parameters or {}, extra or {}))

    def exactly(self, count):
        found = b""
        while len(found) < count:
            piece = self.socket.recv(count - len(found))
            if not piece:
                raise EOFError
            found += piece
        return found

    def answer(self):
        """The tag and the body of the next message."""
        body = b""
        while True:
            (length,) = struct.unpack(">H", self.exactly(2))
            if length == 0 and body:
                return body[1], body[2:]
            body += self.exactly(length)

    def summary(self):
        """The tag of the next message that is no record."""
        while True:
            tag, self.body = self.answer()
            if tag != RECORD:
                return tag

    def is_silent(self, seconds=0.3):
        return not select.select([self.socket], [], [], seconds)[0]

    def is_closed(self):
        """True once the server has closed the connection."""
        try:
            while self.socket.recv(65_536):
                pass
        except ConnectionError:
            pass
        return True

    def close(self):
        self.socket.close()
