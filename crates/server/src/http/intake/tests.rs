//! Tests of requests in pieces.

use super::Intake;

/// The bodies of requests that come in pieces of that size, or the status with which one is refused.
fn bodies(bytes: &[u8], piece: usize, limit: usize) -> Result<Vec<Vec<u8>>, u16> {
    let (mut intake, mut found) = (Intake::default(), Vec::new());
    for mut piece in bytes.chunks(piece) {
        loop {
            match intake.feed(&mut piece, limit) {
                Ok(Some(message)) => {
                    let end = message.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
                    found.push(message[end..].to_vec());
                }
                Ok(None) => break,
                Err(refusal) => return Err(refusal.status),
            }
        }
    }
    assert!(!intake.is_half() && intake.question().is_none());
    Ok(found)
}

#[test]
fn requests_in_any_pieces_are_whole() {
    let stream = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n\
        POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello\r\n\
        POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: z\r\n\r\n\
        GET /c HTTP/1.0\r\n\r\n";
    for piece in [1, 2, 3, 7, 50, stream.len()] {
        let found = bodies(stream, piece, 100).unwrap();
        assert_eq!(found, [&b""[..], b"hello", b"abc0123456789", b""], "pieces of {piece}");
    }
}

#[test]
fn lengths_are_compared_and_never_taken() {
    // The length alone asks; what then comes beyond it is refused.
    let mut intake = Intake::default();
    let mut input = &b"POST / HTTP/1.1\r\nContent-Length: 999999999999999999\r\n\r\nabc"[..];
    assert_eq!(intake.feed(&mut input, 10), Ok(None));
    assert!(intake.question().is_some_and(|head| head.ends_with(b"\r\n\r\n")) && intake.memory() < 4_096);
    let behind = intake.admit();
    assert_eq!(behind, b"abc");
    assert_eq!(intake.feed(&mut behind.as_slice(), 1 << 20).map_err(|refusal| refusal.status), Err(413));
    // Pieces have no length of all: the question comes once there are too many.
    let mut intake = Intake::default();
    let mut input = &b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFF\r\n0123456789abcdef"[..];
    assert_eq!(intake.feed(&mut input, 10), Ok(None));
    assert!(intake.question().is_some());
    let behind = intake.admit();
    assert_eq!(behind, b"abcdef");
    assert_eq!(intake.feed(&mut behind.as_slice(), 16), Ok(None));
    assert_eq!(intake.feed(&mut &b"x"[..], 16).map_err(|refusal| refusal.status), Err(413));
}

#[test]
fn clients_that_ask_first_and_those_that_change_the_protocol_wait() {
    for (lines, is_asked) in [
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue", true),
        ("POST / HTTP/1.1\r\nContent-Length: 0\r\nExpect: 100-continue", false),
        ("GET / HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket", true),
        ("POST / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket", false),
        ("GET / HTTP/1.1\r\nUpgrade: websocket", false),
    ] {
        let mut intake = Intake::default();
        let text = format!("{lines}\r\n\r\n");
        let found = intake.feed(&mut text.as_bytes(), 100).unwrap();
        assert_eq!((intake.question().is_some(), found.is_none()), (is_asked, is_asked), "{lines}");
    }
}

#[test]
fn nonsense_is_refused() {
    let chunked = |rest: &str| format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{rest}");
    for (bytes, status) in [
        (chunked("x\r\n"), 400),
        (chunked("-1\r\n"), 400),
        (chunked("FFFFFFFFFFFFFFFFF\r\n"), 400),
        (chunked("1\r\nab\r\n"), 400),
        (chunked(&format!("1;{}\r\n", "x".repeat(300))), 400),
        (chunked(&format!("0\r\n{}", "A: b\r\n".repeat(80))), 400),
        (format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(20_000)), 431),
        ("GET / HTTP/1.1\nHost: x\n\nGET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("QUIT\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nA b: c\r\n\r\n".to_owned(), 400),
    ] {
        for piece in [1, 3, bytes.len()] {
            assert_eq!(bodies(bytes.as_bytes(), piece, 100), Err(status), "{bytes:.80}");
        }
    }
}
