//! The head of a request: its first line and its headers.

use bolt::Failure;

use super::json::Json;
use crate::failure;

/// Headers that one request may have.
const HEADERS_MAX: usize = 64;

/// Reason for which a request is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The status of the answer.
    pub(crate) status: u16,
    /// The error in its body.
    pub(crate) failure: Box<Failure>,
    /// For a method that a path does not take, those that it takes.
    pub(crate) allowed: &'static str,
}

impl Refusal {
    /// A request that is wrong in itself.
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Refusal {
        Refusal { status, failure: Box::new(failure::of_protocol(message)), allowed: "" }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        Refusal { status: failure::http_status(&failure), failure: Box::new(failure), allowed: "" }
    }
}

/// Length of the body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Bytes(u64),
    /// Pieces, each behind its length.
    Chunks,
}

/// A form of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Media {
    /// Its name.
    pub(crate) name: &'static str,
    /// The form of values in it.
    pub(crate) json: Json,
    /// True if rows are a stream of Arrow, and values in them that Arrow has no type for are texts of JSON.
    pub(crate) is_arrow: bool,
}

impl Media {
    /// The form that is taken and given unless a client says something else.
    pub(crate) const JSON: Media = Media { name: "application/json", json: Json::Plain, is_arrow: false };
}

const fn typed(name: &'static str) -> Media {
    Media { name, json: Json::Typed, is_arrow: false }
}

const MEDIA: &[Media] = &[
    Media::JSON,
    typed("application/vnd.neo4j.query"),
    typed("application/vnd.neo4j.query.v1.0"),
    typed("application/vnd.neo4j.query.v1.1"),
    Media { name: "application/vnd.apache.arrow.stream", json: Json::Plain, is_arrow: true },
];

/// The head of a request.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// The method, such as `GET`.
    pub(crate) method: String,
    /// The path, without what follows a question mark.
    pub(crate) path: String,
    /// True in HTTP/1.1, false in HTTP/1.0.
    pub(crate) is_newer: bool,
    headers: Vec<(String, String)>,
}

impl Head {
    /// Reads the head at the beginning of a message, and gives its length too.
    pub(crate) fn read(message: &[u8]) -> Result<(Head, usize), Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let length = match request.parse(message) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Err(Refusal::new(400, "the head of the request is not whole")),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(Refusal::new(431, format!("a request has at most {HEADERS_MAX} headers")));
            }
            Err(httparse::Error::Version) => return Err(Refusal::new(505, "this server speaks HTTP/1.1 and HTTP/1.0")),
            Err(cause) => return Err(Refusal::new(400, format!("this is no request of HTTP: {cause}"))),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = request.headers.iter().map(|header| (header.name.to_ascii_lowercase(), text(header.value)));
        let head = Head {
            method: request.method.unwrap_or_default().to_owned(),
            path: path_of(request.path.unwrap_or_default()).to_owned(),
            is_newer: request.version == Some(1),
            headers: headers.collect(),
        };
        Ok((head, length))
    }

    /// The headers of that name.
    pub(crate) fn all<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h str> {
        self.headers.iter().filter(move |(held, _)| held == name).map(|(_, value)| value.trim())
    }

    /// The first header of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.trim())
    }

    /// True if a list in headers of that name has that word.
    fn lists(&self, name: &str, word: &str) -> bool {
        self.all(name).flat_map(|value| value.split(',')).any(|held| held.trim().eq_ignore_ascii_case(word))
    }

    /// True if the client sends nothing more on the connection.
    pub(crate) fn is_last(&self) -> bool {
        self.lists("connection", "close") || !self.is_newer
    }

    /// True if a WebSocket is to begin.
    pub(crate) fn is_upgrade(&self) -> bool {
        self.method == "GET" && self.lists("connection", "upgrade") && self.lists("upgrade", "websocket")
    }

    /// True if the client waits for a word before it sends the body.
    pub(crate) fn is_expecting(&self) -> bool {
        self.get("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) && self.is_newer
    }

    /// The length of the body.
    pub(super) fn length(&self) -> Result<Length, Refusal> {
        if self.get("expect").is_some() && !self.is_expecting() {
            return Err(Refusal::new(417, "the only expectation that is met is 100-continue"));
        }
        let mut lengths = self.all("content-length");
        match (self.get("transfer-encoding"), lengths.next(), lengths.next()) {
            (Some(_), Some(_), _) => {
                Err(Refusal::new(400, "a request has either Content-Length or Transfer-Encoding, not both"))
            }
            (None, Some(_), Some(_)) => Err(Refusal::new(400, "a request has one Content-Length")),
            (Some(coding), None, _) if coding.eq_ignore_ascii_case("chunked") && self.is_newer => Ok(Length::Chunks),
            (Some(_), None, _) => Err(Refusal::new(501, "the only transfer coding that is understood is chunked")),
            (None, Some(length), None) => {
                let is_number = !length.is_empty() && length.len() <= 18 && length.bytes().all(|b| b.is_ascii_digit());
                let length = is_number.then(|| length.parse().ok()).flatten();
                length.map(Length::Bytes).ok_or_else(|| Refusal::new(400, "the Content-Length is no number"))
            }
            (None, None, _) => Ok(Length::Bytes(0)),
        }
    }

    /// Fails if the body says that it is longer than that.
    pub(crate) fn check_length(&self, limit: usize) -> Result<(), Refusal> {
        match self.length()? {
            Length::Bytes(length) if length > limit as u64 => Err(too_long(limit)),
            _ => Ok(()),
        }
    }

    /// The form of the body, which is JSON unless the client says something else.
    pub(crate) fn content(&self) -> Result<Media, Refusal> {
        let Some(value) = self.get("content-type") else { return Ok(Media::JSON) };
        known(value).filter(|media| !media.is_arrow).ok_or_else(|| {
            let message = format!("a body of the type '{value}' is not understood: send {}", names());
            Refusal::new(415, message)
        })
    }

    /// The first form of the answer that the client takes, of those that there are.
    pub(crate) fn accepted(&self) -> Result<Media, Refusal> {
        if self.get("accept").is_none() {
            return Ok(Media::JSON);
        }
        let mut wanted = self.all("accept").flat_map(|value| value.split(',')).map(str::trim);
        let found = wanted.find_map(|value| {
            let mut parts = value.split(';').map(str::trim);
            let is_any = ["*/*", "application/*"].contains(&parts.next().unwrap_or_default());
            let found = if is_any { Some(Media::JSON) } else { known(value) };
            // A weight of zero means that it is not wanted.
            let is_refused = parts.any(|part| part.strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0)));
            found.filter(|_| !is_refused)
        });
        found.ok_or_else(|| {
            Refusal::new(406, format!("the answer cannot have the form that is asked for, but {}", names()))
        })
    }
}

/// The body is longer than it may be.
pub(super) fn too_long(limit: usize) -> Refusal {
    Refusal::new(413, format!("the body of a request has at most {limit} bytes; --message-limit allows more"))
}

fn known(value: &str) -> Option<Media> {
    let name = value.split(';').next().unwrap_or_default().trim();
    MEDIA.iter().copied().find(|media| media.name.eq_ignore_ascii_case(name))
}

fn names() -> String {
    format!("{} or {}", Media::JSON.name, MEDIA[1].name)
}

/// The path of a target, which may be a whole address if a proxy was to pass it on.
fn path_of(target: &str) -> &str {
    let path = match target.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            rest.find('/').map_or("/", |start| &rest[start..])
        }
        _ => target,
    };
    path.split(['?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Head, Json, Length, MEDIA};

    fn head(lines: &str) -> Head {
        let text = format!("{}\r\n\r\n", lines.replace('\n', "\r\n"));
        let (head, length) = Head::read(text.as_bytes()).unwrap();
        assert_eq!(length, text.len());
        head
    }

    fn status(lines: &str) -> u16 {
        let text = format!("{}\r\n\r\n", lines.replace('\n', "\r\n"));
        match Head::read(text.as_bytes()) {
            Ok((head, _)) => head.length().map_or_else(|refusal| refusal.status, |_| 200),
            Err(refusal) => refusal.status,
        }
    }

    #[test]
    fn the_target_is_a_path_or_a_whole_address() {
        for (target, path) in
            [("/a/b?c=d", "/a/b"), ("http://x:1/a", "/a"), ("http://x", "/"), ("*", "*"), ("/a#b", "/a")]
        {
            assert_eq!(head(&format!("GET {target} HTTP/1.1")).path, path);
        }
    }

    #[test]
    fn a_body_has_one_length() {
        let length = |lines: &str| head(&format!("POST / HTTP/1.1\n{lines}")).length().unwrap();
        assert_eq!(length("Host: x"), Length::Bytes(0));
        assert_eq!(length("Content-Length: 12"), Length::Bytes(12));
        assert_eq!(length("Transfer-Encoding: Chunked"), Length::Chunks);
        for (lines, expected) in [
            ("Content-Length: 1\nContent-Length: 1", 400),
            ("Content-Length: 1\nTransfer-Encoding: chunked", 400),
            ("Content-Length: +1", 400),
            ("Content-Length: 99999999999999999999", 400),
            ("Transfer-Encoding: gzip, chunked", 501),
            ("Expect: more", 417),
        ] {
            assert_eq!(status(&format!("POST / HTTP/1.1\n{lines}")), expected, "{lines}");
        }
        assert_eq!(status("POST / HTTP/1.0\nTransfer-Encoding: chunked"), 501);
        assert_eq!(status("PRI * HTTP/2.0"), 505);
        assert_eq!(status("nonsense"), 400);
        assert_eq!(status(&format!("GET / HTTP/1.1{}", "\nA: b".repeat(65))), 431);
    }

    #[test]
    fn the_first_form_that_there_is_is_chosen() {
        let accepted = |value: &str| {
            let media = head(&format!("GET / HTTP/1.1\nAccept: {value}")).accepted();
            media.map_or_else(|refusal| Err(refusal.status), |media| Ok((media.name, media.json)))
        };
        let plain = Ok(("application/json", Json::Plain));
        assert_eq!(accepted("*/*"), plain);
        assert_eq!(accepted("text/html, application/json;q=0.5"), plain);
        assert_eq!(accepted("application/vnd.neo4j.query"), Ok(("application/vnd.neo4j.query", Json::Typed)));
        assert_eq!(
            accepted("text/html,application/vnd.neo4j.query.v1.1;q=1, */*"),
            Ok(("application/vnd.neo4j.query.v1.1", Json::Typed))
        );
        assert_eq!(accepted("application/vnd.neo4j.query; q=0.0, */*"), plain);
        assert_eq!(accepted("application/vnd.apache.arrow.stream, */*"), Ok((MEDIA[4].name, Json::Plain)));
        assert_eq!(accepted("text/html"), Err(406));
        let arrow = head("POST / HTTP/1.1\nContent-Type: application/vnd.apache.arrow.stream");
        assert_eq!(arrow.content().map_err(|refusal| refusal.status), Err(415));
        assert_eq!(
            head("POST / HTTP/1.1\nContent-Type: text/plain").content().map_err(|refusal| refusal.status),
            Err(415)
        );
    }
}
