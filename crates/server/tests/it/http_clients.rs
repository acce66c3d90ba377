//! Clients of HTTP that leave, wait, guess, come from elsewhere, or send what they like; and WebSockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use server::{Admission, Settings, credentials};

use super::client::{Client, ENDLESS, Stream, socket};
use super::encryption::{secure, start as start_encrypted};
use super::running::{Running, folder};
use super::web::{QUERY, Web};

const MANY: &str = "UNWIND range(1, 10000000) AS i RETURN i, 'a text that takes some room on its way ' + i AS t";
/// The password `long enough` of the user neo4j.
const RIGHT: &str = "Authorization: Basic bmVvNGo6bG9uZyBlbm91Z2g=\r\n";

fn with_password(settings: Settings) -> Running {
    let folder = folder();
    let users = folder.join("a.knot.users");
    credentials::set_password(&users, "long enough").unwrap();
    let settings = Settings { admission: Admission::Users(users), ..settings };
    Running::start_with(settings, database::Config::default(), folder)
}

fn statement(text: &str) -> String {
    json!({ "statement": text }).to_string()
}

#[test]
fn a_client_that_hangs_up_frees_its_statement() {
    let hour = Duration::from_secs(3_600);
    let running = Running::start(Settings { statements_max: 1, patience: hour, ..Settings::default() });
    for text in [ENDLESS, MANY] {
        let mut web = Web::connect(running.address);
        let request = web.request("POST", QUERY, "", &statement(text));
        web.send(&request);
        if text == MANY {
            // Its answer has begun, and waits for it with the one thread that there is.
            assert_eq!(web.take_line(), "HTTP/1.1 202 Accepted");
        }
        drop(web);
        assert_eq!(Web::connect(running.address).run("RETURN 1 AS x").rows(), json!([[1]]), "{text}");
    }
}

#[test]
fn a_client_that_does_not_read_takes_little_memory_and_gets_all_in_the_end() {
    let running = Running::start(Settings { patience: Duration::from_millis(50), ..Settings::default() });
    let mut web = Web::connect(running.address);
    let request =
        web.request("POST", QUERY, "", &statement("UNWIND range(1, 1000000) AS i RETURN i, 'some text ' + i AS t"));
    web.send(&request);
    // The statement goes on without it, into a file.
    let mut other = Web::connect(running.address);
    let is_done = |page: &str| page.contains("knotwork_statements_total{protocol=\"http\",outcome=\"success\"} 1\n");
    while !is_done(&other.get("/metrics").text) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(other.run("RETURN 1 AS x").rows(), json!([[1]]));
    assert!(running.database.memory().used_by(model::Consumer::Query) < 8 << 20);
    let rows = web.answer(false).rows();
    assert_eq!(
        (rows.as_array().map(Vec::len), &rows[999_999]),
        (Some(1_000_000), &json!([1_000_000, "some text 1000000"]))
    );
}

#[test]
fn nobody_comes_in_without_a_password() {
    let running = with_password(Settings::default());
    let mut web = Web::connect(running.address);
    assert_eq!((web.get("/").status, web.get("/health").status), (200, 200));
    let code = "Neo.ClientError.Security.Unauthorized";
    for (header, expected) in [
        ("", code),
        ("Authorization: Bearer abc\r\n", code),
        ("Authorization: Basic ???\r\n", "Neo.ClientError.Request.InvalidFormat"),
        ("Authorization: Basic bmVvNGo=\r\n", code),
        ("Authorization: Basic bmVvNGo6d3Jvbmc=\r\n", code),
    ] {
        for (method, path) in [("POST", QUERY), ("GET", "/metrics"), ("DELETE", "/db/neo4j/query/v2/tx/1")] {
            let answer = web.ask(method, path, header, "");
            let scheme = answer.header("www-authenticate").map(|value| value.starts_with("Basic realm="));
            if answer.status == 429 {
                assert!(answer.header("retry-after").is_some());
                continue;
            }
            assert_eq!(
                (answer.status, answer.error().1.as_str(), scheme),
                (401, expected, Some(true)),
                "{header} {path}"
            );
        }
    }
    // Guesses were too many by now, and Bolt knows that too.
    loop {
        let answer = web.ask("POST", QUERY, "Authorization: Basic bmVvNGo6d3Jvbmc=\r\n", "");
        if answer.status == 429 {
            break assert_eq!(answer.error().1, "Neo.ClientError.Security.AuthenticationRateLimit");
        }
    }
    loop {
        let answer = web.ask("POST", QUERY, RIGHT, &statement("RETURN 1 AS x"));
        if answer.status != 429 {
            break assert_eq!(answer.rows(), json!([[1]]));
        }
    }
    // A long body is not read before the password was.
    let mut web = Web::connect(running.address);
    let head = format!("POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
    web.send(head.as_bytes());
    let answer = web.answer(false);
    assert_eq!((answer.status, answer.header("connection")), (401, Some("close")));
    assert!(web.is_closed());
    let page = Web::connect(running.address).ask("GET", "/metrics", RIGHT, "");
    assert!(page.header("content-type").is_some_and(|kind| kind.starts_with("application/openmetrics-text")));
    for part in
        ["knotwork_statements_total{protocol=\"http\",outcome=\"success\"} 1\n", "knotwork_logins_total", "# EOF\n"]
    {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
}

#[test]
fn names_and_pages_of_others_are_refused() {
    let running = Running::start(Settings { origins: vec!["https://app.example.com".into()], ..Settings::default() });
    let mut web = Web::connect(running.address);
    web.headers.clear();
    for (headers, status) in [
        ("Host: 127.0.0.1\r\n", 202),
        ("Host: evil.com\r\n", 403),
        ("", 400),
        ("Host: localhost\r\nHost: localhost\r\n", 400),
        ("Host: localhost\r\nOrigin: https://evil.com\r\n", 403),
        ("Host: localhost\r\nOrigin: null\r\n", 403),
        ("Host: localhost\r\nOrigin: http://localhost:3000\r\n", 202),
        ("Host: localhost\r\nOrigin: https://app.example.com\r\n", 202),
    ] {
        let answer = web.ask("POST", QUERY, headers, &statement("RETURN 1 AS x"));
        assert_eq!(answer.status, status, "{headers}");
        let allowed = answer.header("access-control-allow-origin");
        let origin = headers.lines().find_map(|line| line.strip_prefix("Origin: "));
        assert_eq!(allowed, origin.filter(|_| status == 202), "{headers}");
    }
    let answer = web.ask("OPTIONS", QUERY, "Host: localhost\r\nOrigin: https://app.example.com\r\n", "");
    assert_eq!((answer.status, answer.header("access-control-allow-methods")), (204, Some("POST, OPTIONS")));
}

#[test]
fn bytes_that_are_no_request_end_their_connection_alone() {
    let running = Running::start(Settings::default());
    let mut state: u64 = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20);
    eprintln!("FUZZ_SEED={state}");
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let body = statement("RETURN 1 AS x");
    let whole = format!("POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let pieces = format!(
        "POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let upgrade = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\u{1}\u{2}\u{3}";
    let rounds = std::env::var("FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(300);
    for round in 0..rounds {
        let mut bytes = [whole.as_str(), &pieces, upgrade][random(3)].repeat(1 + random(3)).into_bytes();
        for _ in 0..random(4) {
            let at = random(bytes.len().max(1));
            match random(4) {
                0 => bytes[at] = random(256) as u8,
                1 if bytes.len() > 1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"\r\n :0\0\xFF"[random(7)]),
                _ => bytes.truncate(at + 1),
            }
        }
        let mut socket = socket(running.address);
        // The server may have closed it before all were sent.
        let _ = socket.write_all(&bytes);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        // The first byte of TLS is answered by an alert.
        let is_answer = answer.is_empty() || bytes[0] == 0x16 || answer.starts_with(b"HTTP/1.1 ");
        assert!(
            is_answer,
            "round {round}: {:?} {:?}",
            String::from_utf8_lossy(&bytes),
            String::from_utf8_lossy(&answer)
        );
    }
    assert_eq!(Web::connect(running.address).run("RETURN 1 AS x").rows(), json!([[1]]));
    assert_eq!(Client::connect(running.address).rows("RETURN 1 AS x"), 1);
}

#[test]
fn many_that_say_nothing_keep_nobody_out() {
    let running = with_password(Settings::default());
    let head = format!("POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf");
    let strangers: Vec<TcpStream> = (0..200)
        .map(|number| {
            let mut socket = socket(running.address);
            // Some begin a head, some a body.
            let _ = socket.write_all(&head.as_bytes()[..[1, 30, head.len()][number % 3]]);
            socket
        })
        .collect();
    let answer = Web::connect(running.address).ask("POST", QUERY, RIGHT, &statement("RETURN 1 AS x"));
    assert_eq!(answer.rows(), json!([[1]]));
    drop(strangers);
}

#[test]
fn what_is_encrypted_is_served_and_plain_text_is_told_so() {
    let (running, trusted) = start_encrypted(Settings::default(), true);
    let mut web = Web::over(secure(socket(running.address), &trusted, rustls::ALL_VERSIONS));
    assert_eq!(web.get("/").json()["query"], "https://localhost/db/{databaseName}/query/v2");
    let rows = web.run("UNWIND range(1, 100000) AS i RETURN i").rows();
    assert_eq!(rows.as_array().map(Vec::len), Some(100_000));
    let mut plain = Web::connect(running.address);
    let request = plain.request("POST", QUERY, "", &statement("RETURN 1 AS x"));
    plain.send(&request);
    let answer = plain.answer(false);
    assert!(answer.status == 400 && answer.text.contains("https://"), "{}", answer.text);
}

/// A stream of bytes within the frames of a WebSocket.
struct Framed {
    stream: Box<dyn Stream>,
    behind: Vec<u8>,
    payload: Vec<u8>,
}

impl Framed {
    /// Begins one over a connection.
    fn begin(mut web: Web) -> Framed {
        let headers = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let answer = web.ask("GET", "/", headers, "");
        assert_eq!(answer.status, 101);
        assert_eq!(answer.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        let (stream, behind) = web.into_stream();
        Framed { stream, behind, payload: Vec::new() }
    }

    fn exactly(&mut self, count: usize) -> std::io::Result<Vec<u8>> {
        while self.behind.len() < count {
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                read => self.behind.extend_from_slice(&buffer[..read]),
            }
        }
        Ok(self.behind.drain(..count).collect())
    }
}

impl Read for Framed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.payload.is_empty() {
            let head = self.exactly(2)?;
            assert_eq!(head[0], 0x82, "a whole message of raw bytes");
            let length = match head[1] {
                126 => self.exactly(2)?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
                127 => self.exactly(8)?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
                length => usize::from(length),
            };
            self.payload = self.exactly(length)?;
        }
        let count = buffer.len().min(self.payload.len());
        buffer[..count].copy_from_slice(&self.payload[..count]);
        self.payload.drain(..count);
        Ok(count)
    }
}

impl Write for Framed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = &bytes[..bytes.len().min(100)];
        let mask = [1, 2, 3, 4];
        let mut frame = vec![0x82, 0x80 | taken.len() as u8];
        frame.extend(mask);
        frame.extend(taken.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]));
        self.stream.write_all(&frame)?;
        Ok(taken.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

#[test]
fn bolt_is_spoken_within_a_websocket() {
    let running = Running::start(Settings { keep_alive: Duration::from_millis(20), ..Settings::default() });
    let mut client = Client::log_in(Framed::begin(Web::connect(running.address)), "5.8");
    assert_eq!(client.rows("UNWIND range(1, 200000) AS i RETURN i, 'text ' + i AS t"), 200_000);
    // Signs of life come in frames too.
    client.send(&super::client::run(ENDLESS, super::client::map(&[])));
    client.expect(super::client::SUCCESS);
    client.hear();
    client.hear();
    client.reset();
    let (encrypted, trusted) = start_encrypted(Settings::default(), true);
    let web = Web::over(secure(socket(encrypted.address), &trusted, rustls::ALL_VERSIONS));
    assert_eq!(Client::log_in(Framed::begin(web), "5.4").rows("UNWIND range(1, 50000) AS i RETURN i"), 50_000);
    // Pages of other sites, and old versions, have none.
    for (headers, status) in [
        (
            "Origin: https://evil.com\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
            403,
        ),
        ("Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", 426),
        ("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n", 400),
    ] {
        let headers = format!("Connection: Upgrade\r\nUpgrade: websocket\r\n{headers}");
        let mut web = Web::connect(running.address);
        assert_eq!(web.ask("GET", "/", &headers, "").status, status, "{headers}");
        assert!(web.is_closed());
    }
}
