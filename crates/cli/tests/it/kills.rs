//! Killed at any moment, a store opens by itself with everything that was acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use testing::random::{SeededRandom, seed_or};

use crate::command::{Folder, finish, pause, signal};

/// Runs numbered statements until it is killed; gives the last number that was acknowledged.
fn write_until_killed(folder: &Folder, statement: fn(u64) -> String, first: u64, milliseconds: u64) -> u64 {
    let mut child = folder.command(&["s.knot", "-m", "jsonl"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let writer = std::thread::spawn(move || {
        for number in first.. {
            let text = statement(number);
            if stdin.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    });
    let mut last = first - 1;
    let mut lines = stdout.lines();
    let first_line = lines.next().expect("the child answers").expect("the child answers");
    assert_eq!(first_line, format!("{{\"i\":{first}}}"));
    let killer = std::thread::spawn(move || {
        pause(milliseconds);
        signal(&child, "KILL");
        child
    });
    last += 1;
    for line in lines.map_while(Result::ok) {
        // The last line may be cut off in the middle.
        if line == format!("{{\"i\":{}}}", last + 1) {
            last += 1;
        }
    }
    let output = finish(killer.join().expect("the child was killed"));
    assert_eq!(output.code, None, "it was killed: {output:?}");
    writer.join().expect("the writer ends when the child does");
    last
}

/// Adds a node to a chain.
fn link(number: u64) -> String {
    format!(
        "MATCH (m:N {{i: {}}}) CREATE (m)-[:NEXT {{i: {number}}}]->(n:N {{i: {number}, text: 'number {number}'}}) \
         RETURN n.i AS i;\n",
        number - 1
    )
}

/// Adds so much that unmerged writes fill their memory every few statements and are merged into files.
fn bulk(number: u64) -> String {
    let text = "some text that takes room ".repeat(8);
    format!(
        "UNWIND range(1, 20000) AS j CREATE (b:Bulk {{i: {number}, text: '{text}' + j}}) WITH count(b) AS c \
         RETURN {number} AS i;\n"
    )
}

#[test]
fn during_merges() {
    let seed = seed_or(7);
    println!("FUZZ_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    let folder = Folder::new();
    folder.make_store("RETURN 1");
    let mut found = 0;
    for _ in 0..3 {
        let acknowledged = write_until_killed(&folder, bulk, found + 1, random.below(1_500));
        let query = "MATCH (b:Bulk) WITH b.i AS i, count(DISTINCT b.text) AS c \
                     RETURN count(i) + ' ' + max(i) + ' ' + min(c) + ' ' + max(c) AS x";
        let text = folder.value(query);
        found = text.split(' ').next().and_then(|word| word.parse().ok()).expect("it is a number");
        assert_eq!(text, format!("{found} {found} 20000 20000"), "seed {seed}: every statement is whole");
        assert!(found >= acknowledged, "seed {seed}: {acknowledged} were acknowledged, {found} are there");
        folder.run(&["check", "s.knot"]).ok();
    }
}

#[test]
fn during_writes() {
    let seed = seed_or(5);
    println!("FUZZ_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    let folder = Folder::new();
    folder.make_store("CREATE CONSTRAINT n_i FOR (n:N) REQUIRE n.i IS UNIQUE; CREATE (:N {i: 0})");
    let mut found = 0;
    for round in 0..6 {
        let acknowledged = write_until_killed(&folder, link, found + 1, random.below(250));
        if round % 2 == 0 {
            folder.run(&["check", "s.knot"]).ok();
        }
        let query = "MATCH (n:N) WITH count(n) - 1 AS c, max(n.i) AS m OPTIONAL MATCH (:N)-[e:NEXT]->(n:N) \
                     WHERE e.i = n.i AND n.text = 'number ' + n.i WITH c, m, count(e) AS e RETURN c + ' ' + m + ' ' + e AS x";
        let text = folder.value(query);
        let numbers: Vec<u64> = text.split(' ').map(|word| word.parse().expect("it is a number")).collect();
        found = numbers[0];
        assert_eq!(numbers, [found, found, found], "seed {seed}: every statement is whole, none is missing");
        assert!(found >= acknowledged, "seed {seed}: {acknowledged} were acknowledged, {found} are there");
    }
    folder.run(&["check", "s.knot"]).ok();
}

#[test]
fn during_an_import() {
    let seed = seed_or(6);
    println!("FUZZ_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    let folder = Folder::new();
    folder.make_store("UNWIND range(1, 100) AS i CREATE (:Old {i: i})");
    let (mut nodes, mut edges) = (String::from("id,name\n"), String::from("source,target,w\n"));
    for id in 0..200_000_u64 {
        nodes += &format!("{id},name {id}\n");
    }
    for number in 0..400_000_u64 {
        edges += &format!("{},{},{number}\n", random.below(200_000), random.below(200_000));
    }
    folder.write("nodes.csv", nodes);
    folder.write("edges.csv", edges);
    let arguments = ["import", "s.knot", "--nodes", "New=nodes.csv", "--edges", "E=edges.csv"];
    let mut killed = 0;
    for round in 0..6 {
        let child = folder.command(&arguments).spawn().expect("it starts");
        pause(20 + round * 60 + random.below(60));
        // It may have ended by itself.
        let _ =
            std::process::Command::new("kill").args(["-KILL", &child.id().to_string()]).stderr(Stdio::null()).status();
        let output = finish(child);
        killed += u32::from(output.code.is_none());
        folder.run(&["check", "s.knot"]).ok();
        let counts = folder.value("MATCH (n) OPTIONAL MATCH (n)-[e:E]->() RETURN count(DISTINCT n) + ' ' + count(e)");
        if counts == "200100 400000" {
            // The manifest had been replaced before the kill: the import is whole.
            break;
        }
        assert_eq!(counts, "100 0", "seed {seed}, round {round}");
    }
    assert!(killed > 0, "an import takes longer than the shortest pause");
    if folder.value("MATCH (n) RETURN count(n)") == "100" {
        folder.run(&arguments).ok();
    }
    assert_eq!(folder.value("MATCH ()-[e:E]->() RETURN count(e)"), "400000");
    let files = std::fs::read_dir(folder.join("s.knot")).expect("the store is a folder").count();
    assert!(files < 30, "what killed imports left is removed, found {files} files");
    folder.run(&["check", "s.knot"]).ok();
}
