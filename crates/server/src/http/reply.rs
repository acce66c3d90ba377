//! Answers: their heads, and their bodies, whole where they are short and in pieces where they are long.
//!
//! Nothing of a long body is sent before there is a piece of it, so that what fails early fails with a status of its own.

use std::io::Write;

use model::temporal::calendar::civil_of;

use super::head::{Head, Media, Refusal};
use super::result::Shape;
use super::{json, result};
use crate::limits::SEND_BYTES;

/// The status of an answer to a statement: whether it succeeds is not known before its end.
pub(crate) const ACCEPTED: u16 = 202;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The longest header that is given back to a client.
const ECHO_BYTES_MAX: usize = 256;

/// The answer to one request.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The form of the answer.
    pub(crate) media: Media,
    /// Parts that the client asks for besides rows.
    pub(crate) shape: Shape,
    /// The end of the document, where it is not sent before something else is done.
    pub(crate) held: Option<Vec<u8>>,
    /// Further headers, each with the end of its line.
    headers: String,
    unix_s: i64,
    is_newer: bool,
    is_last: bool,
    is_without_body: bool,
    body: Vec<u8>,
    /// True once the head was sent.
    is_begun: bool,
}

fn line(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes all bytes");
}

impl Reply {
    /// The answer to a request that has come at that moment, in seconds since the Unix epoch.
    pub(crate) fn new(head: &Head, media: Media, unix_s: i64) -> Reply {
        let mut headers = String::new();
        let affinity =
            head.get("neo4j-cluster-affinity").filter(|value| value.len() <= ECHO_BYTES_MAX && value.is_ascii());
        if let Some(affinity) = affinity {
            headers.push_str(&format!("neo4j-cluster-affinity: {affinity}\r\n"));
        }
        Reply {
            media,
            shape: Shape::default(),
            held: None,
            headers,
            unix_s,
            is_newer: head.is_newer,
            is_last: head.is_last(),
            is_without_body: head.method == "HEAD",
            body: Vec::new(),
            is_begun: false,
        }
    }

    /// The answer to something that is no request: the last one.
    pub(crate) fn to_nonsense(media: Media, unix_s: i64) -> Reply {
        Reply {
            media,
            shape: Shape::default(),
            held: None,
            headers: String::new(),
            unix_s,
            is_newer: true,
            is_last: true,
            is_without_body: false,
            body: Vec::new(),
            is_begun: false,
        }
    }

    /// Nothing more is answered behind it.
    pub(crate) fn end(&mut self) {
        self.is_last = true;
    }

    /// Lets pages of that site read it.
    pub(crate) fn open_to(&mut self, origin: &str) {
        self.header("Access-Control-Allow-Origin", origin);
        self.header("Vary", "Origin");
    }

    /// Adds a header.
    pub(crate) fn header(&mut self, name: &str, value: &str) {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
    }

    /// The place where the body is written.
    pub(crate) fn body(&mut self) -> &mut Vec<u8> {
        &mut self.body
    }

    /// Bytes of the body that were not given out.
    pub(crate) fn waiting(&self) -> usize {
        self.body.len()
    }

    fn write_head(&self, out: &mut Vec<u8>, status: u16, kind: &str, length: Option<usize>) {
        line(out, format_args!("HTTP/1.1 {status} {}\r\n", reason(status)));
        line(out, format_args!("Date: {}\r\n", date(self.unix_s)));
        match length {
            _ if status == 204 => {}
            Some(length) => line(out, format_args!("Content-Type: {kind}\r\nContent-Length: {length}\r\n")),
            None if self.is_newer => line(out, format_args!("Content-Type: {kind}\r\nTransfer-Encoding: chunked\r\n")),
            None => line(out, format_args!("Content-Type: {kind}\r\n")),
        }
        out.extend_from_slice(b"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
        out.extend_from_slice(self.headers.as_bytes());
        if self.is_last {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Gives out what there is of a long body.
    pub(crate) fn advance(&mut self, out: &mut Vec<u8>) {
        if self.body.len() < SEND_BYTES {
            return;
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            self.write_head(out, ACCEPTED, self.media.name, None);
        }
        self.piece(out);
    }

    fn piece(&mut self, out: &mut Vec<u8>) {
        if self.is_without_body || self.body.is_empty() {
            return self.body.clear();
        }
        if self.is_newer {
            line(out, format_args!("{:x}\r\n", self.body.len()));
        }
        out.append(&mut self.body);
        if self.is_newer {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Gives out the rest. True if nothing is to be answered behind it.
    pub(crate) fn finish(self, status: u16, out: &mut Vec<u8>) -> bool {
        let kind = self.media.name;
        self.finish_as(status, kind, out)
    }

    /// Gives out the rest, of that type if nothing was given out. True if nothing is to be answered behind it.
    pub(crate) fn finish_as(mut self, status: u16, kind: &str, out: &mut Vec<u8>) -> bool {
        if self.is_begun {
            self.piece(out);
            if self.is_newer && !self.is_without_body {
                out.extend_from_slice(b"0\r\n\r\n");
            }
        } else {
            self.write_head(out, status, kind, Some(self.body.len()));
            if !self.is_without_body && status != 204 {
                out.append(&mut self.body);
            }
        }
        self.is_last
    }

    /// Tells a failure: with a status of its own, or at the end of what was given out. True if nothing is to be answered behind it.
    pub(crate) fn fail(mut self, refusal: &Refusal, out: &mut Vec<u8>) -> bool {
        if self.is_begun && self.media.is_arrow {
            // There is no place for it: the client sees that the answer has no end.
            return true;
        }
        if self.is_begun {
            self.body.extend_from_slice(b"]},");
        } else {
            if self.media.is_arrow {
                self.media = Media::JSON;
            }
            self.body.clear();
            self.body.push(b'{');
            match refusal.status {
                401 => self.header("WWW-Authenticate", "Basic realm=\"Knotwork\", charset=\"UTF-8\""),
                405 => self.header("Allow", refusal.allowed),
                429 => self.header("Retry-After", "5"),
                503 => self.header("Retry-After", "1"),
                _ => {}
            }
        }
        result::errors(&mut self.body, &refusal.failure);
        self.body.push(b'}');
        self.finish(refusal.status, out)
    }

    /// Answers with an object of texts.
    pub(crate) fn finish_with(mut self, status: u16, entries: &[(&str, &str)], out: &mut Vec<u8>) -> bool {
        json::object(&mut self.body, entries.iter().copied(), json::text);
        self.body.push(b'\n');
        self.finish_as(status, "application/json", out)
    }
}

/// An answer in plain text to a client that is closed.
pub(crate) fn plain_answer(text: &str) -> Vec<u8> {
    let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close";
    format!("{head}\r\nContent-Length: {}\r\n\r\n{text}\n", text.len() + 1).into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        101 => "Switching Protocols",
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        409 => "Conflict",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    }
}

/// A moment as HTTP writes it.
fn date(unix_s: i64) -> String {
    let (days, second) = (unix_s.div_euclid(86_400), unix_s.rem_euclid(86_400));
    let (year, month, day) = civil_of(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let weekday = DAYS[days.rem_euclid(7) as usize];
    let month = MONTHS[(month - 1) as usize];
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use super::{Head, Reply, date};

    fn reply(request: &str) -> Reply {
        let (head, _) = Head::read(format!("{request}\r\n\r\n").as_bytes()).unwrap();
        Reply::new(&head, head.accepted().unwrap(), 0)
    }

    #[test]
    fn moments_are_those_of_the_specification() {
        assert_eq!(date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    }

    #[test]
    fn short_bodies_have_a_length_and_long_ones_come_in_pieces() {
        let mut out = Vec::new();
        let mut short = reply("GET / HTTP/1.1");
        short.body().extend_from_slice(b"{}");
        short.advance(&mut out);
        assert!(out.is_empty());
        assert!(!short.finish(200, &mut out));
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n")
                && text.ends_with(
                    "Content-Length: 2\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n{}"
                ),
            "{text}"
        );
        for (version, has_pieces) in [("1.1", true), ("1.0", false)] {
            let mut out = Vec::new();
            let mut long = reply(&format!("POST / HTTP/{version}"));
            for _ in 0..3 {
                long.body().extend_from_slice(&[b' '; 40_000]);
                long.advance(&mut out);
            }
            long.body().extend_from_slice(b"{}");
            assert_eq!(long.finish(200, &mut out), !has_pieces);
            let text = String::from_utf8(out).unwrap();
            assert!(text.starts_with("HTTP/1.1 202 Accepted\r\n"), "{text:.100}");
            assert_eq!(text.matches("9c40\r\n").count(), if has_pieces { 3 } else { 0 });
            assert!(text.ends_with(if has_pieces { "\r\n2\r\n{}\r\n0\r\n\r\n" } else { "  {}" }));
        }
    }

    #[test]
    fn a_body_that_is_not_wanted_is_not_sent() {
        let mut out = Vec::new();
        let mut reply = reply("HEAD / HTTP/1.1\r\nConnection: close");
        reply.body().extend_from_slice(b"{}");
        assert!(reply.finish(200, &mut out));
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Content-Length: 2\r\n") && text.ends_with("Connection: close\r\n\r\n"), "{text}");
    }
}
