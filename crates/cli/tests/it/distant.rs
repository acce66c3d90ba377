//! The shell and `knot query` on a server, as on a store.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::command::{Folder, finish, pause, signal};

/// A server on a free port.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// Lines that it says behind its first address.
    lines: Receiver<String>,
}

impl Server {
    pub(crate) fn start(folder: &Folder, arguments: &[&str]) -> Server {
        Server::listen(folder, "127.0.0.1:0", arguments)
    }

    pub(crate) fn listen(folder: &Folder, address: &str, arguments: &[&str]) -> Server {
        let all = [&["serve", "s.knot", "--listen", address], arguments].concat();
        let mut child = folder.command(&all).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let line = lines.next().expect("it says where it listens").expect("it is text");
        let address = line.strip_prefix("listening on bolt").expect("it listens");
        let address = address.split_once("://").expect("it is an address").1.to_owned();
        // Later lines have a reader as well.
        let (said, later) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| drop(said.send(line))));
        Server { child, address, lines: later }
    }

    /// Waits for a line in which that stands.
    pub(crate) fn says(&self, part: &str) {
        while !self.lines.recv_timeout(Duration::from_secs(60)).expect("it says more").contains(part) {}
    }

    /// Its address as one of the scheme.
    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }

    pub(crate) fn end(self) {
        signal(&self.child, "TERM");
        assert_eq!(finish(self.child).code, Some(0));
    }
}

#[test]
fn statements_run_on_a_server() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--no-auth"]);
    let url = format!("bolt://{}", server.address);
    let neo4j = format!("neo4j://{}/neo4j", server.address);
    folder.run(&["query", &url, "CREATE (:A {i: $i})", "-P", "i=7"]).ok();
    let rows = folder.run(&["query", &neo4j, "MATCH (a:A) RETURN a, a.i AS i", "-m", "jsonl"]).ok();
    assert_eq!(rows, folder.run(&["query", "s.knot", "MATCH (a:A) RETURN a, a.i AS i", "-m", "jsonl"]).ok());
    let script = ":param i => 8\nBEGIN;\nCREATE (:A {i: $i});\nCOMMIT;\n:schema\nMATCH (a:A) RETURN count(a) AS c;\n:begin\nCREATE (:A);\n:rollback\n";
    let shown = folder.run_with(&[&url, "-m", "jsonl"], script).ok();
    assert!(shown.contains("{\"c\":2}") && shown.contains("A  2") && shown.starts_with("bolt://127.0.0.1"), "{shown}");
    let message = folder.run(&[&url, "-c", "MATCH (a:A) RETRUN a"]).fails(1);
    assert!(message.starts_with("SYNTAX: ") && message.contains("^^^^^^"), "{message}");
    let message = folder.run(&[&format!("bolt://{}/other", server.address), "-c", "RETURN 1"]).fails(1);
    assert!(message.starts_with("NOT_A_STORE: ") || message.contains("there is no database 'other'"), "{message}");
    let output = folder.run_with(&[&url], ":backup b\n");
    assert!(output.code == Some(1) && output.stderr.contains("--files FOLDER"), "{output:?}");
    let output = folder.run_with(&[&url], ":info\n");
    assert!(output.code == Some(1) && output.stderr.contains(":info works in the process"), "{output:?}");
    assert_eq!(folder.run(&["-r", &url, "-c", "RETURN 1"]).code, Some(2));
    server.end();
    let message = folder.run(&[&url, "-c", "RETURN 1"]).fails(1);
    assert!(message.starts_with("CONNECTION: cannot connect to bolt://127.0.0.1"), "{message}");
}

/// A measurement that goes on asking would take half a minute.
#[test]
#[allow(clippy::disallowed_methods, reason = "the time from the end of a real process to that of another is measured")]
fn a_server_that_is_lost_ends_its_measurement() {
    let folder = Folder::new();
    folder.run(&["generate", "barabasi", "-n", "2k", "-o", "s.knot"]).ok();
    let server = Server::start(&folder, &["--no-auth"]);
    let words = ["introspect", &server.url("bolt"), "--quick", "--json", "out.json"];
    let child = folder.command(&words).spawn().expect("it starts");
    pause(4_000);
    signal(&server.child, "KILL");
    finish(server.child);
    let since = std::time::Instant::now();
    let message = finish(child).fails(1);
    let is_told = message.contains("lost") || message.contains("cannot connect");
    assert!(is_told && message.lines().count() == 2, "{message}");
    assert!(since.elapsed() < Duration::from_secs(15), "{:?}", since.elapsed());
    assert!(!folder.join("out.json").exists());
}

#[test]
fn a_server_is_measured_and_traces_run_on_it() {
    let folder = Folder::new();
    folder.run(&["generate", "barabasi", "-n", "1k", "-o", "s.knot"]).ok();
    let server = Server::start(&folder, &["--no-auth", "--record", "t.jsonl"]);
    let url = format!("bolt://{}", server.address);
    let text = folder.run(&["introspect", &url, "--quick", "--json", "out.json"]).ok();
    for expected in ["1000 nodes, 4995 edges", "neighbours out", "shortest path", "key Node.id", "FINDINGS"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let heading = format!("Knotwork {}: {url} (1000 nodes, 4995 edges)\n", env!("CARGO_PKG_VERSION"));
    assert!(text.starts_with(&heading), "{text}");
    let json = std::fs::read_to_string(folder.join("out.json")).expect("the file is written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let runs = json["runs"].as_array().expect("there are runs");
    assert!(runs.len() > 60 && runs.iter().all(|run| run["error"].is_null() && run["way"] == "cypher"), "{text}");
    folder.run(&["bench", "report", "out.json", "--html", "out.html"]).ok();
    // All of that was recorded, and is run on the server as it was.
    let again = folder.run(&["replay", "t.jsonl", "--on", &url, "--speed", "max"]).ok();
    assert!(again.contains("; 0 differ,"), "{again}");
    server.end();
    let message = folder.run(&["introspect", &url, "--quick"]).fails(1);
    assert!(message.starts_with("CONNECTION: cannot connect"), "{message}");
}

#[test]
fn connections_are_encrypted_and_certificates_are_believed_as_asked() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--no-auth", "--tls-self-signed"]);
    let port = server.address.rsplit_once(':').expect("it has a port").1.to_owned();
    let query = "UNWIND range(1, 30000) AS i RETURN sum(size('text ' + i)) AS s";
    let url = |scheme: &str| format!("{scheme}://localhost:{port}");
    let rows = folder.run(&["query", &url("bolt+ssc"), query, "-m", "jsonl"]).ok();
    assert!(rows.contains("{\"s\":"), "{rows}");
    // Many messages, larger than a record of TLS, and a session that waits between them.
    let script = "RETURN reduce(s = 'x', i IN range(1, 18) | s + s) AS s;\nUNWIND range(1, 20000) AS i RETURN i;\nRETURN 7 AS last;\n";
    let shown = folder.run_with(&[&url("neo4j+ssc"), "-m", "jsonl"], script).ok();
    assert!(shown.contains("{\"i\":20000}") && shown.ends_with("{\"last\":7}\n"), "{}", shown.len());
    let message = folder.run(&["query", &url("bolt+s"), query]).fails(1);
    assert!(message.starts_with("CONNECTION: cannot connect to bolt+s://localhost"), "{message}");
    assert!(message.contains("certificate") && message.contains("SSL_CERT_FILE"), "{message}");
    let trusting = folder.command(&["query", &url("bolt+s"), query, "-m", "jsonl"]);
    let child = { trusting }.env("SSL_CERT_FILE", "s.knot.certificate.pem").spawn();
    assert_eq!(finish(child.expect("it starts")).ok(), rows);
    let message = folder.run(&["query", &url("bolt"), query]).fails(1);
    assert!(message.starts_with("CONNECTION: ") && message.contains("bolt+s://"), "{message}");
    server.end();
}

#[test]
fn passwords_come_from_the_address_or_the_environment_and_stand_in_no_message() {
    let folder = Folder::new();
    folder.make_store("CREATE (:A)");
    folder.run_with(&["serve", "s.knot", "--set-password"], "a/secret@word\n");
    let server = Server::start(&folder, &[]);
    let url = format!("bolt://neo4j:a%2Fsecret%40word@{}", server.address);
    folder.run(&["query", &url, "RETURN 1"]).ok();
    let plain = format!("bolt://neo4j@{}", server.address);
    let child = folder.command(&["query", &plain, "RETURN 1"]).env("KNOT_PASSWORD", "a/secret@word").spawn();
    finish(child.expect("it starts")).ok();
    for (address, password) in
        [(&plain, "wrong-secret"), (&format!("bolt://neo4j:wrong-secret@{}", server.address), "")]
    {
        let child = folder.command(&["query", address, "RETURN 1"]).env("KNOT_PASSWORD", password).spawn();
        let message = finish(child.expect("it starts")).fails(1);
        assert!(message.starts_with("CONNECTION: the name or the password is wrong"), "{message}");
        assert!(!message.contains("secret") && message.contains("KNOT_PASSWORD"), "{message}");
    }
    for bad in ["bolt://u:secret@h:x", "bolt+x://u:secret@h", "bolt://u:secret@h?a=b"] {
        let message = folder.run(&["query", bad, "RETURN 1"]).fails(1);
        assert!(!message.contains("secret"), "{message}");
    }
    server.end();
}
