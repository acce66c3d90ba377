//! Several processes write one store: by turns, at once, and killed.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use testing::random::{SeededRandom, seed_or};

use crate::command::{Folder, Output, finish, pause, signal};

/// A shell that is given statements one by one.
pub(crate) struct Shell {
    pub(crate) child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Shell {
    pub(crate) fn start(folder: &Folder, arguments: &[&str]) -> Shell {
        let mut child = folder.command(arguments).stdin(Stdio::piped()).spawn().expect("it starts");
        let stdin = child.stdin.take().expect("it is piped");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        Shell { child, stdin, lines }
    }

    pub(crate) fn open(folder: &Folder) -> Shell {
        let mut shell = Shell::start(folder, &["s.knot", "-m", "jsonl"]);
        assert_eq!(shell.ask("RETURN 1 AS x"), "{\"x\":1}");
        shell
    }

    fn say(&mut self, text: &str) -> bool {
        self.stdin.write_all(format!("{text}\n").as_bytes()).is_ok()
    }

    /// The one row of a statement; empty if the shell has ended.
    pub(crate) fn ask(&mut self, statement: &str) -> String {
        self.say(&format!("{statement};"));
        self.lines.next().and_then(Result::ok).unwrap_or_default()
    }

    /// The end of the shell, once it is told all.
    pub(crate) fn end(self) -> Output {
        drop(self.stdin);
        let rest: Vec<String> = self.lines.map_while(Result::ok).collect();
        let output = finish(self.child);
        Output { stdout: rest.join("\n"), ..output }
    }
}

pub(crate) const COUNT: &str = "MATCH (n:N) RETURN count(n) AS x";

#[test]
fn a_process_that_is_stopped_is_told_and_not_waited_for() {
    let folder = Folder::new();
    folder.make_store("CREATE (:N)");
    let mut first = Shell::open(&folder);
    signal(&first.child, "STOP");
    let message = folder.run(&["query", "s.knot", COUNT, "--timeout", "100ms"]).fails(1);
    assert!(message.starts_with("BUSY: ") && message.contains("does not answer for 1s"), "{message}");
    assert_eq!(folder.run(&["query", "s.knot", COUNT, "-s", "-r"]).ok(), "x\n1\n");
    signal(&first.child, "CONT");
    assert_eq!(folder.run(&["query", "s.knot", COUNT, "-s", "--timeout", "60s"]).ok(), "x\n1\n");
    assert_eq!(first.ask(COUNT), "{\"x\":1}");
    assert_eq!(first.end().code, Some(0));
}

#[test]
fn two_processes_write_by_turns_and_the_second_takes_over() {
    let folder = Folder::new();
    folder.make_store("CREATE CONSTRAINT n FOR (n:N) REQUIRE n.i IS UNIQUE");
    let (mut first, mut second) = (Shell::open(&folder), Shell::open(&folder));
    for turn in 0..20 {
        let shell = if turn % 2 == 0 { &mut first } else { &mut second };
        assert_eq!(shell.ask(&format!("CREATE (n:N {{i: {turn}}}) RETURN n.i AS x")), format!("{{\"x\":{turn}}}"));
        assert_eq!(shell.ask(COUNT), format!("{{\"x\":{}}}", turn + 1));
    }
    assert!(folder.join("s.knot/SOCKET").exists());
    // A third one, which runs one statement and ends.
    assert_eq!(folder.value("MATCH (n:N) RETURN sum(n.i)"), "190");
    assert_eq!(first.end().code, Some(0));
    assert_eq!(second.ask("CREATE (:N {i: 20}) RETURN 1 AS x"), "{\"x\":1}");
    assert!(folder.join("s.knot/SOCKET").exists(), "the second has taken over");
    let mut third = Shell::open(&folder);
    assert_eq!(third.ask(COUNT), "{\"x\":21}");
    assert_eq!((second.end().code, third.end().code), (Some(0), Some(0)));
    assert!(!folder.join("s.knot/SOCKET").exists(), "the socket goes with the last");
    folder.run(&["check", "s.knot"]).ok();
}

#[test]
fn files_and_maintenance_are_asked_of_the_process_that_has_the_store() {
    let folder = Folder::new();
    folder.make_store("CREATE (:N {i: 0})");
    // It runs in another folder than those that ask.
    std::fs::create_dir(folder.join("away")).expect("a folder");
    let mut holder = folder.command(&["../s.knot", "-m", "jsonl"]);
    let mut child = holder.current_dir(folder.join("away")).stdin(Stdio::piped()).spawn().expect("it starts");
    let stdin = child.stdin.take().expect("it is piped");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut first = Shell { child, stdin, lines };
    assert_eq!(first.ask("RETURN 1 AS x"), "{\"x\":1}");
    std::fs::write(folder.join("people.csv"), "id,name\n1,Ann\n2,Bo\n").expect("it is written");
    assert!(folder.join("s.knot/SOCKET").exists());
    folder.run(&["query", "s.knot", "COPY Person FROM 'people.csv'"]).ok();
    assert_eq!(folder.value("LOAD CSV WITH HEADERS FROM 'people.csv' AS row RETURN count(row)"), "2");
    folder.run(&["query", "s.knot", "COPY (MATCH (p:Person) RETURN p.name AS n ORDER BY n) TO 'names.csv'"]).ok();
    assert_eq!(std::fs::read_to_string(folder.join("names.csv")).expect("it is here"), "n\nAnn\nBo\n");
    folder.run(&["query", "s.knot", "BACKUP DATABASE TO 'copy.knot'"]).ok();
    folder.run(&["check", "copy.knot"]).ok();
    folder.run(&["query", "s.knot", "BACKUP DATABASE TO 'next.knot' BASE 'copy.knot'"]).ok();
    let told = folder.run(&["compact", "s.knot"]);
    assert!(told.code == Some(0) && told.stderr.contains("compacted by"), "{told:?}");
    let missing = folder.run(&["query", "s.knot", "COPY Person FROM 'nowhere.csv'"]);
    assert!(missing.code == Some(1) && missing.stderr.contains("nowhere.csv"), "{missing:?}");
    // Nothing was looked for, or left, where the first one runs.
    assert_eq!(std::fs::read_dir(folder.join("away")).expect("a folder").count(), 0);
    assert_eq!(first.ask("MATCH (p:Person) RETURN count(p) AS x"), "{\"x\":2}");
    assert_eq!(first.end().code, Some(0));
    assert_eq!(folder.value("MATCH (p:Person) RETURN count(p)"), "2");
}

#[test]
fn transactions_of_two_processes_conflict_as_in_one() {
    let folder = Folder::new();
    folder.make_store("CREATE (:N {i: 0})");
    let (mut first, mut second) = (Shell::open(&folder), Shell::open(&folder));
    for shell in [&mut first, &mut second] {
        assert!(shell.say("BEGIN;"));
        assert_eq!(shell.ask("MATCH (n:N) SET n.i = n.i + 1 RETURN n.i AS x"), "{\"x\":1}");
    }
    first.say("COMMIT;");
    assert_eq!(first.ask("MATCH (n:N) RETURN n.i AS x"), "{\"x\":1}");
    second.say("COMMIT;");
    let output = second.end();
    assert!(output.code == Some(1) && output.stderr.contains("CONFLICT: "), "{output:?}");
    // Read by a process of its own, while the first has the store.
    assert_eq!(folder.value("MATCH (n:N) RETURN n.i"), "1");
    assert_eq!(first.end().code, Some(0));
}

#[test]
fn a_second_process_has_the_errors_the_plans_and_the_output_of_the_first() {
    let folder = Folder::new();
    folder.make_store("CREATE (:A {i: 1, d: date('2026-01-02'), l: [1, 2]})-[:R {w: 1.5}]->(:B:C {s: 'ä'})");
    let statements = [
        "MATCH p = (a:A)-[r:R]->(b) RETURN p, a, r, b, a.d AS d, a.l AS l, null AS n, {k: [1.5, true]} AS m",
        "EXPLAIN MATCH (a:A) RETURN a.i",
        "MATCH (x:Nowhere) RETURN x",
        "UNWIND range(1, 5000) AS i RETURN i, toString(i) AS s",
        "RETURN duration('P1M2DT3.5S') AS d, datetime('2026-01-02T03:04:05.678[Europe/Stockholm]') AS t, time('01:02:03+01:00') AS u",
        "MATCH (a:A) RETRUN a",
        "RETURN 1 / 0 AS x",
        "RETURN $missing AS x",
        "BEGIN; CREATE (:D); ROLLBACK; MATCH (d:D) RETURN count(d) AS x",
        "BEGIN; CREATE (:D)",
        "COMMIT",
        "MATCH (a:A) RETURN nope(a)",
        "RETURN\n 'ä' + x AS y",
    ];
    let formats = ["table", "csv", "json", "jsonl"];
    let run = |statement: &str, format: &str| {
        let mut output = folder.run(&["query", "s.knot", "-s", "-m", format, statement]);
        // Times differ.
        output.stderr = output.stderr.lines().filter(|line| !line.contains(" ms")).collect::<Vec<_>>().join("\n");
        (output.code, output.stdout, output.stderr)
    };
    let all =
        || statements.iter().flat_map(|statement| formats.map(|format| run(statement, format))).collect::<Vec<_>>();
    let alone = all();
    let first = Shell::open(&folder);
    let beside = all();
    for (number, (alone, beside)) in alone.iter().zip(&beside).enumerate() {
        assert_eq!(alone, beside, "{} as {}", statements[number / 4], formats[number % 4]);
    }
    assert_eq!(alone.len(), statements.len() * 4);
    let schema = folder.run_with(&["s.knot"], ":schema\n").ok();
    assert!(schema.contains("2 nodes, 1 edges") && schema.contains("A  1") && schema.contains("R  1"), "{schema}");
    let output = folder.run_with(&["s.knot"], ":info\n");
    assert!(
        output.code == Some(1) && output.stderr.contains("UNSUPPORTED") && output.stderr.contains(":info works"),
        "{output:?}"
    );
    let output = folder.run_with(&["s.knot"], ":backup b\n");
    assert!(output.code == Some(0) && output.stderr.contains("/b, every checksum verified"), "{output:?}");
    folder.run(&["check", "b"]).ok();
    assert_eq!(first.end().code, Some(0));
}

#[test]
fn time_limits_and_ctrl_c_stop_a_statement_in_the_other_process() {
    let folder = Folder::new();
    folder.make_store("CREATE (:N {i: 0})");
    let mut first = Shell::open(&folder);
    let endless = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a * b) AS x";
    let message = folder.run(&["query", "s.knot", endless, "--timeout", "200ms"]).fails(1);
    assert!(message.contains("TIMEOUT: "), "{message}");
    let child = folder.command(&["query", "s.knot", endless]).spawn().expect("it starts");
    while first.ask("SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery STARTS WITH 'UNWIND' RETURN count(*) AS x")
        != "{\"x\":1}"
    {
        pause(20);
    }
    signal(&child, "INT");
    let output = finish(child);
    assert!(output.code == Some(130) && output.stderr.contains("CANCELLED: "), "{output:?}");
    // It has ended over there as well.
    let left =
        first.ask("SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery STARTS WITH 'UNWIND' RETURN count(*) AS x");
    assert_eq!(left, "{\"x\":0}");
    assert_eq!(first.end().code, Some(0));
}

#[test]
fn a_transaction_is_rolled_back_with_the_process_that_has_the_store() {
    let folder = Folder::new();
    folder.make_store("CREATE (:N {i: 0})");
    let (first, mut second) = (Shell::open(&folder), Shell::open(&folder));
    second.say("BEGIN;");
    assert_eq!(second.ask("CREATE (:N {i: 1}) RETURN 1 AS x"), "{\"x\":1}");
    signal(&first.child, "KILL");
    first.end();
    assert_eq!(second.ask(COUNT), "");
    let output = second.end();
    assert!(output.code == Some(1) && output.stderr.contains("CONNECTION: "), "{output:?}");
    assert!(output.stderr.contains("rolled back"), "{output:?}");
    assert_eq!(folder.value("MATCH (n:N) RETURN count(n)"), "1");
}

#[test]
fn a_store_with_a_long_path_is_shared() {
    let folder = Folder::new();
    let long = format!("{}/{}", "long".repeat(30), "path".repeat(30));
    std::fs::create_dir_all(folder.join(&long)).expect("a folder can be made");
    let store = folder.join(&format!("{long}/s.knot")).display().to_string();
    let mut first = Shell::start(&folder, &[&store, "-m", "jsonl"]);
    assert_eq!(first.ask("CREATE (:N) RETURN 1 AS x"), "{\"x\":1}");
    folder.run(&["query", &store, "CREATE (:N)"]).ok();
    assert_eq!(first.ask(COUNT), "{\"x\":2}");
    assert_eq!(first.end().code, Some(0));
}

#[test]
fn copies_and_checks_pass_over_the_socket() {
    let folder = Folder::new();
    folder.make_store("CREATE (:N {i: 0})");
    let first = Shell::open(&folder);
    folder.run(&["backup", "s.knot", "b"]).ok();
    folder.run(&["check", "s.knot"]).ok();
    folder.run(&["export", "s.knot", "e"]).ok();
    // Left by a process that was killed.
    signal(&first.child, "KILL");
    first.end();
    assert!(folder.join("s.knot/SOCKET").exists());
    folder.run(&["check", "s.knot"]).ok();
    folder.run(&["backup", "s.knot", "c"]).ok();
    folder.run(&["restore", "c", "r.knot"]).ok();
    folder.run(&["recover", "s.knot", "n.knot"]).ok();
    for copy in ["b", "c", "r.knot", "n.knot"] {
        assert!(!folder.join(copy).join("SOCKET").exists(), "{copy}");
    }
    let message = folder.run(&["import", "s.knot", "--nodes", "X=none.csv"]).stderr;
    assert!(!message.contains("SOCKET"), "{message}");
    assert_eq!(folder.value("MATCH (n:N) RETURN count(n)"), "1");
    assert!(!folder.join("s.knot/SOCKET").exists());
}

/// Writers, each of which starts a shell, has it write as long as it answers, and starts another.
struct Load<'f> {
    folder: &'f Folder,
    is_over: AtomicBool,
    acknowledged: AtomicU64,
    /// Processes of writers that run.
    running: Mutex<BTreeSet<u32>>,
}

impl Load<'_> {
    /// Writes until told to end; gives the numbers that were acknowledged.
    fn write(&self, writer: u64) -> Vec<u64> {
        let (mut number, mut acknowledged) = (0, Vec::new());
        while !self.is_over.load(Ordering::Acquire) {
            let mut shell = Shell::start(self.folder, &["s.knot", "-m", "jsonl"]);
            let id = shell.child.id();
            self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
            while !self.is_over.load(Ordering::Acquire) {
                // No number is written twice, whatever the outcome.
                number += 1;
                let statement = format!("CREATE (n:N {{w: {writer}, i: {number}}}) RETURN n.i AS x");
                if shell.ask(&statement) != format!("{{\"x\":{number}}}") {
                    break;
                }
                acknowledged.push(number);
                self.acknowledged.fetch_add(1, Ordering::AcqRel);
            }
            self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            let output = shell.end();
            let said = ["CONNECTION: ", "OUTCOME_UNKNOWN: "].iter().any(|code| output.stderr.contains(code));
            assert!(matches!(output.code, None | Some(0)) || output.code == Some(1) && said, "{output:?}");
        }
        acknowledged
    }

    /// Kills the process that has the store, if it is one of the writers'.
    fn kill(&self) -> bool {
        let lock = std::fs::read_to_string(self.folder.join("s.knot/LOCK")).unwrap_or_default();
        let digits: String =
            lock.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(id) = digits.parse::<u32>().ok().filter(|id| running.contains(id)) else { return false };
        let status = std::process::Command::new("kill").args(["-KILL", &id.to_string()]).status();
        status.is_ok_and(|status| status.success())
    }

    /// Kills that number of times, each time after others went on.
    fn kill_often(&self, random: &mut SeededRandom, times: u32) {
        let mut killed = 0;
        while killed < times {
            let before = self.acknowledged.load(Ordering::Acquire);
            while self.acknowledged.load(Ordering::Acquire) < before + 10 + random.below(40) {
                pause(5);
            }
            killed += u32::from(self.kill());
        }
        self.is_over.store(true, Ordering::Release);
    }
}

#[test]
fn killed_under_load_the_others_go_on_and_nothing_acknowledged_is_lost() {
    let seed = seed_or(11);
    println!("FUZZ_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    let folder = Folder::new();
    folder.make_store("CREATE INDEX n FOR (n:N) ON (n.w, n.i)");
    let load = Load {
        folder: &folder,
        is_over: AtomicBool::new(false),
        acknowledged: AtomicU64::new(0),
        running: Mutex::default(),
    };
    let acknowledged: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                scope.spawn({
                    let load = &load;
                    move || load.write(writer)
                })
            })
            .collect();
        load.kill_often(&mut random, 20);
        writers.into_iter().map(|writer| writer.join().expect("a writer ends")).collect()
    });
    check_acknowledged(&folder, seed, &acknowledged);
    assert!(acknowledged.iter().map(Vec::len).sum::<usize>() >= 200);
    folder.run(&["check", "s.knot"]).ok();
}

/// Every number that a writer was told of is there, and none twice.
pub(crate) fn check_acknowledged(folder: &Folder, seed: u64, acknowledged: &[Vec<u64>]) {
    for (writer, numbers) in acknowledged.iter().enumerate() {
        let query = format!("MATCH (n:N {{w: {writer}}}) RETURN n.i AS i ORDER BY i");
        let rows = folder.run(&["query", "s.knot", &query, "-m", "csv"]).ok();
        let found: Vec<u64> = rows.lines().skip(1).map(|row| row.parse().expect("it is a number")).collect();
        let distinct: BTreeSet<u64> = found.iter().copied().collect();
        assert_eq!(distinct.len(), found.len(), "seed {seed}: nothing was written twice");
        let lost: Vec<&u64> = numbers.iter().filter(|number| !distinct.contains(number)).collect();
        assert!(lost.is_empty(), "seed {seed}: writer {writer} lost {lost:?}");
    }
}
