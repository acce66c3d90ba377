//! `knot serve` where another process has the store open: that process takes the clients in, until it ends.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use testing::random::{SeededRandom, seed_or};

use crate::command::{Folder, finish, pause, signal};
use crate::distant::Server;
use crate::together::{COUNT, Shell, check_acknowledged};

const ADDRESS: &str = "SHOW DATABASES YIELD name, address WHERE name = 'neo4j' RETURN address AS x";

/// The rows of a query to a server.
fn rows(folder: &Folder, url: &str, query: &str) -> String {
    folder.run(&["query", url, query, "-m", "jsonl"]).ok()
}

#[test]
fn clients_are_served_by_the_process_that_has_the_store_and_then_by_the_server_itself() {
    let folder = Folder::new();
    folder.make_store("CREATE (:N {i: 0})");
    let mut first = Shell::open(&folder);
    assert_eq!(first.ask(ADDRESS), "{\"x\":\"\"}");
    let server = Server::start(&folder, &["--no-auth"]);
    server.says(&format!("process {} has the store open", first.child.id()));
    let url = server.url("bolt");
    folder.run(&["query", &url, "CREATE (:N {i: 1})"]).ok();
    assert_eq!(first.ask(COUNT), "{\"x\":2}");
    assert_eq!(first.ask(ADDRESS), format!("{{\"x\":\"{}\"}}", server.address));
    let message = folder.run(&["serve", "s.knot", "--no-auth", "--listen", "127.0.0.1:0"]).stderr;
    assert!(message.contains("BUSY: ") && message.contains(&format!("already, at {}", server.address)), "{message}");
    // A session that is open when the store changes hands goes on with its next statement.
    let mut session = Shell::start(&folder, &[&url, "-m", "jsonl"]);
    assert_eq!(session.ask("CREATE (:N {i: 2}) RETURN 1 AS x"), "{\"x\":1}");
    assert_eq!(first.end().code, Some(0));
    server.says("listening on bolt://");
    assert_eq!(session.ask(COUNT), "{\"x\":3}");
    assert_eq!(rows(&folder, &url, COUNT), "{\"x\":3}\n");
    // The server has the store now, and others come by its socket.
    let mut second = Shell::open(&folder);
    assert_eq!(second.ask("CREATE (:N {i: 3}) RETURN 1 AS x"), "{\"x\":1}");
    assert_eq!(rows(&folder, &url, COUNT), "{\"x\":4}\n");
    assert_eq!(session.end().code, Some(0));
    server.end();
    assert_eq!(second.ask(COUNT), "{\"x\":4}");
    assert_eq!(second.end().code, Some(0));
    folder.run(&["check", "s.knot"]).ok();
}

#[test]
fn a_server_that_ends_or_is_killed_leaves_the_process_that_has_the_store_as_it_was() {
    let folder = Folder::new();
    folder.make_store("CREATE (:N {i: 0})");
    let mut first = Shell::open(&folder);
    for how in ["TERM", "KILL", "INT"] {
        let server = Server::start(&folder, &["--no-auth"]);
        let url = server.url("bolt");
        assert_eq!(rows(&folder, &url, COUNT), "{\"x\":1}\n");
        // A transaction that is open is rolled back with it.
        let mut session = Shell::start(&folder, &[&url, "-m", "jsonl"]);
        session.ask("BEGIN; CREATE (:N) RETURN 1 AS x");
        signal(&server.child, how);
        let code = finish(server.child).code;
        assert_eq!(code, if how == "KILL" { None } else { Some(0) }, "{how}");
        session.end();
        while first.ask(ADDRESS) != "{\"x\":\"\"}" {
            pause(20);
        }
        assert_eq!(first.ask(COUNT), "{\"x\":1}", "{how}");
        let message = folder.run(&["query", &url, "RETURN 1"]).fails(1);
        assert!(message.starts_with("CONNECTION: "), "{message}");
    }
    assert_eq!(first.end().code, Some(0));
}

#[test]
fn users_certificates_files_and_databases_are_those_of_the_server() {
    let folder = Folder::new();
    folder.make_store("CREATE (:N {i: 0})");
    for name in ["away", "data"] {
        std::fs::create_dir(folder.join(name)).expect("a folder");
    }
    std::fs::write(folder.join("data/people.csv"), "id\n1\n2\n").expect("it is written");
    folder.run_with(&["serve", "s.knot", "--set-password"], "a long secret\n");
    // The one that has the store runs in another folder.
    let mut holder = folder.command(&["../s.knot"]);
    let child = holder.current_dir(folder.join("away")).stdin(Stdio::piped()).spawn().expect("it starts");
    while !folder.join("s.knot/SOCKET").exists() {
        pause(10);
    }
    let settings = [
        "--tls-self-signed", "--files", "data", "--databases", "more", "--audit-log", "audit.jsonl", "--bolt-version",
        "5.4",
    ];
    let server = Server::start(&folder, &settings);
    server.says("has the store open");
    let url = |password: &str| format!("bolt+ssc://neo4j:{password}@{}", server.address);
    let right = url("a%20long%20secret");
    assert_eq!(
        rows(&folder, &right, "LOAD CSV WITH HEADERS FROM 'people.csv' AS row RETURN count(row) AS x"),
        "{\"x\":2}\n"
    );
    let outside = folder.run(&["query", &right, "LOAD CSV FROM '../s.knot.users' AS row RETURN row"]).fails(1);
    assert!(!outside.contains("neo4j:"), "{outside}");
    folder.run(&["query", &right, "CREATE DATABASE other"]).ok();
    assert_eq!(rows(&folder, &format!("{right}/other"), "CREATE (:X) RETURN 1 AS x"), "{\"x\":1}\n");
    let message = folder.run(&["query", &url("wrong"), "RETURN 1"]).fails(1);
    assert!(message.starts_with("CONNECTION: the name or the password is wrong"), "{message}");
    server.end();
    assert_eq!(std::fs::read_dir(folder.join("away")).expect("a folder").count(), 0);
    assert!(folder.join("more/other.knot").is_dir());
    assert!(std::fs::read_to_string(folder.join("audit.jsonl")).expect("it was written").contains("other"));
    // A file that the other process cannot read is told by the server.
    std::fs::write(folder.join("s.knot.users"), "nonsense").expect("it is written");
    let message = folder.run(&["serve", "s.knot", "--listen", "127.0.0.1:0"]).fails(1);
    assert!(message.contains("s.knot.users"), "{message}");
    assert_eq!(finish(child).code, Some(0));
}

#[test]
fn a_server_that_only_reads_is_one_beside_the_process_that_writes() {
    let folder = Folder::new();
    folder.make_store("CREATE (:N {i: 0})");
    let mut first = Shell::open(&folder);
    let server = Server::start(&folder, &["--no-auth", "--read-only"]);
    let url = server.url("bolt");
    let message = folder.run(&["query", &url, "CREATE (:N)"]).fails(1);
    assert!(message.starts_with("READ_ONLY: "), "{message}");
    let mut session = Shell::start(&folder, &[&url, "-m", "jsonl"]);
    session.ask("BEGIN; RETURN 1 AS x");
    assert_eq!(session.ask(COUNT), "{\"x\":1}");
    assert_eq!(first.ask("CREATE (:N {i: 1}) RETURN 1 AS x"), "{\"x\":1}");
    // It follows what is committed, a moment behind; a transaction stays at its own moment.
    while rows(&folder, &url, COUNT) != "{\"x\":2}\n" {
        pause(20);
    }
    assert_eq!(session.ask(COUNT), "{\"x\":1}");
    session.ask("COMMIT; RETURN 1 AS x");
    assert_eq!(session.ask(COUNT), "{\"x\":2}");
    assert_eq!(session.end().code, Some(0));
    assert_eq!(first.end().code, Some(0));
    assert_eq!(rows(&folder, &url, COUNT), "{\"x\":2}\n");
    // A newest state that cannot be read is told, and readers keep what they have.
    let names = ["MANIFEST", "MANIFEST.copy"].map(|name| [name.to_owned(), format!("{name}.away")]);
    let move_all = |from: usize, to: usize| {
        for pair in &names {
            std::fs::rename(folder.join("s.knot").join(&pair[from]), folder.join("s.knot").join(&pair[to]))
                .expect(&pair[from]);
        }
    };
    move_all(0, 1);
    server.says("clients read an older state, the newest cannot be read: ");
    assert_eq!(rows(&folder, &url, COUNT), "{\"x\":2}\n");
    move_all(1, 0);
    server.says("clients read the newest state again");
    server.end();
}

/// Writes through a server until told to end; gives the numbers that were acknowledged.
fn write(folder: &Folder, url: &str, writer: u64, count: &AtomicU64, is_over: &AtomicBool) -> Vec<u64> {
    let (mut number, mut acknowledged) = (0, Vec::new());
    while !is_over.load(Ordering::Acquire) {
        let mut shell = Shell::start(folder, &[url, "-m", "jsonl"]);
        while !is_over.load(Ordering::Acquire) {
            number += 1;
            let statement = format!("CREATE (n:N {{w: {writer}, i: {number}}}) RETURN n.i AS x");
            if shell.ask(&statement) != format!("{{\"x\":{number}}}") {
                break;
            }
            acknowledged.push(number);
            count.fetch_add(1, Ordering::AcqRel);
        }
        let output = shell.end();
        let said = ["CONNECTION: ", "OUTCOME_UNKNOWN: "].iter().any(|code| output.stderr.contains(code));
        assert!(output.code == Some(0) || output.code == Some(1) && said, "{output:?}");
    }
    acknowledged
}

/// Kills the process that has the store, and the server, by turns that the seed chooses, each time after writers went on.
fn kill_often(folder: &Folder, mut server: Server, random: &mut SeededRandom, count: &AtomicU64) -> Server {
    let address = server.address.clone();
    let mut holder = Shell::start(folder, &["s.knot", "-m", "jsonl"]);
    for _ in 0..16 {
        let before = count.load(Ordering::Acquire);
        while count.load(Ordering::Acquire) < before + 5 + random.below(20) {
            pause(5);
        }
        if random.below(2) == 0 {
            signal(&holder.child, "KILL");
            holder.end();
            holder = Shell::start(folder, &["s.knot", "-m", "jsonl"]);
        } else {
            signal(&server.child, "KILL");
            finish(server.child);
            // The process that has the store lets the address go a moment later.
            while std::net::TcpListener::bind(&address).is_err() {
                pause(10);
            }
            server = Server::listen(folder, &address, &["--no-auth"]);
        }
    }
    holder.end();
    server
}

#[test]
fn kills_of_both_processes_lose_nothing_that_clients_were_told_of() {
    let seed = seed_or(17);
    println!("FUZZ_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    let folder = Folder::new();
    folder.make_store("CREATE INDEX n FOR (n:N) ON (n.w, n.i)");
    let (count, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let server = Server::start(&folder, &["--no-auth"]);
    let url = server.url("bolt");
    let acknowledged: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let (folder, url, count, is_over) = (&folder, &url, &count, &is_over);
        let writers: Vec<_> =
            (0..2).map(|writer| scope.spawn(move || write(folder, url, writer, count, is_over))).collect();
        let server = kill_often(folder, server, &mut random, count);
        is_over.store(true, Ordering::Release);
        let acknowledged = writers.into_iter().map(|writer| writer.join().expect("a writer ends")).collect();
        server.end();
        acknowledged
    });
    check_acknowledged(&folder, seed, &acknowledged);
    assert!(acknowledged.iter().map(Vec::len).sum::<usize>() >= 80);
    folder.run(&["check", "s.knot"]).ok();
}
