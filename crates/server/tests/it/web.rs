//! A client of HTTP that sends what it is told.

use std::io::{Read, Write};
use std::net::SocketAddr;

use serde_json::Value;

use super::client::{Stream, socket};

pub(crate) const QUERY: &str = "/db/neo4j/query/v2";
pub(crate) const BEGIN: &str = "/db/neo4j/query/v2/tx";
pub(crate) const TYPED: &str = "application/vnd.neo4j.query";
pub(crate) const ARROW: &str = "application/vnd.apache.arrow.stream";

pub(crate) struct Web {
    stream: Box<dyn Stream>,
    /// Bytes that have arrived behind the last answer.
    behind: Vec<u8>,
    /// Headers that all requests have.
    pub(crate) headers: String,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|cause| panic!("{cause}: {:.300}", self.text))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.split_once(": ").filter(|(held, _)| held.eq_ignore_ascii_case(name)))
            .map(|(_, value)| value)
    }

    /// The rows of a result.
    pub(crate) fn rows(&self) -> Value {
        let json = self.json();
        assert!(self.status == 202 && json.get("errors").is_none(), "{} {:.500}", self.status, self.text);
        json["data"]["values"].clone()
    }

    /// The status, the code and the message of an error.
    pub(crate) fn error(&self) -> (u16, String, String) {
        let json = self.json();
        let text = |key: &str| json["errors"][0][key].as_str().unwrap_or_else(|| panic!("{}", self.text)).to_owned();
        (self.status, text("code"), text("message"))
    }
}

impl Web {
    pub(crate) fn connect(address: SocketAddr) -> Web {
        Web::over(socket(address))
    }

    pub(crate) fn over(stream: impl Stream + 'static) -> Web {
        Web { stream: Box::new(stream), behind: Vec::new(), headers: "Host: localhost\r\n".into() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
        self.stream.flush().unwrap();
    }

    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The bytes of a request.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        format!("{method} {path} HTTP/1.1\r\n{}{headers}{length}\r\n{body}", self.headers).into_bytes()
    }

    /// Sends a request, and gives the answer.
    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let request = self.request(method, path, headers, body);
        self.send(&request);
        self.answer(method == "HEAD")
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, "", "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, "Content-Type: application/json\r\n", body)
    }

    /// The answer to a statement.
    pub(crate) fn run(&mut self, statement: &str) -> Answer {
        self.post(QUERY, &serde_json::json!({ "statement": statement }).to_string())
    }

    /// The answer to a statement, with types both ways.
    pub(crate) fn run_typed(&mut self, body: &Value) -> Answer {
        let headers = format!("Content-Type: {TYPED}\r\nAccept: {TYPED}\r\n");
        self.ask("POST", QUERY, &headers, &body.to_string())
    }

    fn more(&mut self) -> bool {
        let mut buffer = [0; 16 << 10];
        let count = self.stream.read(&mut buffer).unwrap_or(0);
        self.behind.extend_from_slice(&buffer[..count]);
        count > 0
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        while self.behind.len() < count {
            assert!(self.more(), "the answer ends early: {:.300}", String::from_utf8_lossy(&self.behind));
        }
        self.behind.drain(..count).collect()
    }

    pub(crate) fn take_line(&mut self) -> String {
        loop {
            if let Some(end) = self.behind.windows(2).position(|two| two == b"\r\n") {
                let line = self.take(end + 2);
                return String::from_utf8(line[..end].to_vec()).unwrap();
            }
            assert!(self.more(), "the line ends early: {:.300}", String::from_utf8_lossy(&self.behind));
        }
    }

    /// The next answer.
    pub(crate) fn answer(&mut self, is_without_body: bool) -> Answer {
        let first = self.take_line();
        let mut lines = Vec::new();
        loop {
            let line = self.take_line();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let status =
            first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{first}"));
        let mut answer = Answer { status, head: lines.join("\n"), text: String::new(), bytes: Vec::new() };
        let bytes = match (answer.header("content-length"), answer.header("transfer-encoding")) {
            _ if is_without_body || [101, 204].contains(&status) => Vec::new(),
            (Some(length), None) => self.take(length.parse().unwrap()),
            (None, Some("chunked")) => self.take_pieces(),
            (None, None) => {
                while self.more() {}
                std::mem::take(&mut self.behind)
            }
            other => panic!("{other:?}"),
        };
        answer.text = String::from_utf8_lossy(&bytes).into_owned();
        answer.bytes = bytes;
        answer
    }

    fn take_pieces(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let line = self.take_line();
            let length = usize::from_str_radix(&line, 16).unwrap_or_else(|_| panic!("{line}"));
            all.extend(self.take(length));
            assert!(self.take_line().is_empty());
            if length == 0 {
                return all;
            }
        }
    }

    /// All bytes up to the end of the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.behind)
    }

    /// True once the server has closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        while self.more() {}
        true
    }

    /// The stream, once nothing of an answer is left.
    pub(crate) fn into_stream(self) -> (Box<dyn Stream>, Vec<u8>) {
        (self.stream, self.behind)
    }
}
