//! Servers that let a client in and say nothing, or nothing after a first word.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The time that anything may take that must end by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// The port of a server that answers the first thing that it hears with `word`, and nothing else. Lives as long as the test.
pub(crate) fn server(word: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if !word.is_empty() {
                let _ = stream.read(&mut [0; 1024]);
                stream.write_all(word).unwrap();
            }
            held.push(stream);
        }
    });
    port
}

/// The outcome of a call that must end by itself.
pub(crate) fn ends<T: Send + 'static>(what: &str, call: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = channel();
    std::thread::spawn(move || done.send(call()));
    wait.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what} goes on and on"))
}

/// Fails unless a silent server is given up, by an error that says so and names it.
pub(crate) fn check(url: &str, definition: &str) {
    let definition = sources::definition::GraphDefinition::from_json(definition).unwrap();
    let (address, connector) = (url.to_owned(), sources::connect::connect(url, &definition).unwrap());
    let failure = ends(url, move || {
        connector.facts().err().or_else(|| {
            let question = sources::connector::Question::CountNodes { kind: 0, which: sources::connector::Which::All };
            connector.read().unwrap().ask(&[question], &mut |_, _| Ok(true)).err()
        })
    });
    let failure = failure.unwrap_or_else(|| panic!("{address}: a silent server has answered"));
    assert_eq!(failure.code(), model::ErrorCode::Source, "{address}: {failure}");
    assert!(failure.message().contains("127.0.0.1"), "{address}: {failure}");
}
