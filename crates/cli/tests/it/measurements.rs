//! Measurements of a store: tables, JSON, comparisons, and the report in a browser.

use std::process::Command;

use testing::servers::program_or_skip;

use crate::command::{Folder, finish, pause, signal};
use crate::mishaps::SmallDisk;

#[test]
fn a_store_is_measured_in_layers() {
    let folder = Folder::new();
    folder.run(&["generate", "barabasi", "-n", "1k", "-o", "s.knot"]).ok();
    let text = folder.run(&["introspect", "s.knot", "--quick", "--json", "out.json", "--html", "out.html"]).ok();
    for expected in [
        "1000 nodes, 4995 edges", "LIMITS OF THE MACHINE", "MICRO OPERATIONS", "GRAPH OPERATIONS", "ALGORITHMS",
        "FROM THE LAYER BELOW", "FITTED COSTS", "FINDINGS", "key Node.id",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("ANSWERS DIFFER"), "{text}");
    let json = std::fs::read_to_string(folder.join("out.json")).expect("the file is written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["schema"], &json["dataset"]["nodes"]), (&"knotwork-bench/1".into(), &1000.into()));
    let runs = json["runs"].as_array().expect("there are runs");
    let failed: Vec<_> = runs.iter().filter(|run| !run["error"].is_null()).collect();
    assert!(runs.len() > 200 && failed.is_empty(), "{} runs, {failed:?}", runs.len());
    assert_eq!(json["disagreements"], serde_json::json!([]));
    let names: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder is there").collect();
    assert_eq!(names.len(), 3, "the store and the files, nothing else: {names:?}");
    reported(&folder);
    compared(&folder);
    mistaken(&folder);
    let message = folder.run(&["introspect", "none.knot", "--quick"]);
    assert!(message.code == Some(1) && message.stdout.is_empty(), "{message:?}");
}

#[test]
fn writes_are_measured_beside_the_store() {
    let folder = Folder::new();
    folder.run(&["generate", "barabasi", "-n", "2k", "-o", "s.knot"]).ok();
    let before = folder.run(&["query", "s.knot", "MATCH (n) RETURN count(n), sum(n.age)"]).ok();
    let text = folder.run(&["introspect", "s.knot", "--quick", "--writes", "--json", "out.json"]).ok();
    for expected in ["WRITES ON A COPY", "add node ", "commit ", "ingest, bulk ", "ingest, increment "] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let json = std::fs::read_to_string(folder.join("out.json")).expect("the file is written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let runs = json["runs"].as_array().expect("there are runs");
    let writes: Vec<_> = runs.iter().filter(|run| run["layer"] == "write").collect();
    assert!(writes.len() == 10 && writes.iter().all(|run| run["error"].is_null()), "{writes:?}");
    let predictions = json["predictions"].as_array().expect("there are predictions").iter();
    let ingest = |held: &&serde_json::Value| held["operation"].as_str().is_some_and(|name| name.starts_with("ingest"));
    assert_eq!(predictions.filter(ingest).count(), 2);
    // The store is what it was, and nothing lies beside it.
    assert_eq!(folder.run(&["query", "s.knot", "MATCH (n) RETURN count(n), sum(n.age)"]).ok(), before);
    let names: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder is there").collect();
    assert_eq!(names.len(), 2, "the store and the file, nothing else: {names:?}");
    // Without edges enough there is no ingest.
    folder.run(&["one.knot", "-c", "CREATE (a:A {id: 1})-[:R]->(a)"]).ok();
    let text = folder.run(&["introspect", "one.knot", "--quick", "--writes"]).ok();
    assert!(text.contains("commit ") && !text.contains("ingest"), "{text}");
    let refused = folder.run(&["introspect", "bolt://127.0.0.1:1", "--writes"]).fails(1);
    assert!(refused.contains("a server's data cannot be copied"), "{refused}");
}

#[test]
fn statements_are_recorded_run_again_and_advised_on() {
    let folder = Folder::new();
    let fails = |arguments: &[&str], expected: &str| {
        let found = folder.run(arguments);
        assert!(found.code != Some(0) && found.stderr.contains(expected), "{expected} in {found:?}");
    };
    let names = "UNWIND range(1, 30000) AS i CREATE (:Person {name: 'p' + i, age: i % 90})";
    fails(&["query", "s.knot", names], "s.knot");
    folder.run(&["s.knot", "-c", names]).ok();
    let reads = "MATCH (p:Person) WHERE p.name = 'p7' RETURN p; MATCH (p:Person {name: 'p9'}) RETURN p.age";
    for _ in 0..2 {
        folder.run(&["query", "s.knot", reads, "--record", "t.jsonl"]).ok();
    }
    let again = folder.run(&["replay", "t.jsonl", "--on", "s.knot", "--speed", "max", "--json", "one.json"]).ok();
    assert!(
        again.contains("4 statements of 2 sessions on 1 threads") && again.contains("; 0 differ, 0 events"),
        "{again}"
    );
    folder.run(&["replay", "t.jsonl", "--on", "s.knot", "--speed", "max", "--json", "two.json"]).ok();
    let compared = folder.run(&["bench", "compare", "one.json", "two.json"]);
    assert!(compared.stdout.contains("2 operations:"), "{compared:?}");
    let json = std::fs::read_to_string(folder.join("one.json")).expect("the file is written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["runs"][0]["layer"], &json["runs"][0]["calls"]), (&"statement".into(), &2.into()));
    let advice = folder.run(&["advise", "s.knot", "--trace", "t.jsonl", "--verify"]).ok();
    for expected in ["1. CREATE INDEX FOR (n:Person) ON (n.name);", "2 times", "30,000 nodes", "; measured: from "] {
        assert!(advice.contains(expected), "{expected} in {advice}");
    }
    // Other data, other rows.
    let change = "MATCH (p:Person {name: 'p9'}) SET p.age = 1000";
    folder.run(&["query", "s.knot", change, "--record", "w.jsonl"]).ok();
    let other = folder.run(&["replay", "t.jsonl", "--on", "s.knot", "--speed", "max"]);
    assert!(other.code == Some(1) && other.stdout.contains("; 2 differ,"), "{other:?}");
    // Writes run on a copy.
    folder.run(&["replay", "w.jsonl", "--on", "s.knot", "--writes"]).ok();
    let json = folder.run(&["advise", "s.knot", reads, "--json"]).ok();
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["recommendations"][0]["statement"], "CREATE INDEX FOR (n:Person) ON (n.name)");
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder is there").flatten().collect();
    names.retain(|entry| entry.path().is_dir());
    assert_eq!(names.len(), 1, "no copy is left: {names:?}");
    fails(&["replay", "one.json", "--on", "s.knot"], "one.json, line 1: expected a first line");
    fails(&["replay", "none.jsonl", "--on", "s.knot"], "none.jsonl");
    fails(&["replay", "t.jsonl", "--on", "none.knot"], "none.knot");
    fails(&["replay", "t.jsonl", "--on", "s.knot", "--speed", "fast"], "max");
    fails(&["replay", "t.jsonl", "--on", "bolt://127.0.0.1:1", "--writes"], "--writes");
    fails(&["advise", "none.knot", "RETURN 1"], "none.knot");
    let passed_over = folder.run(&["advise", "s.knot", "RETRUN 1; RETURN 2"]).ok();
    assert!(passed_over.contains("SYNTAX") && passed_over.contains("no index, constraint, sort key"), "{passed_over}");
}

#[test]
fn statements_are_advised_to_be_written_otherwise_as_long_as_the_data_allow_it() {
    let folder = Folder::new();
    let names = "UNWIND range(1, 30000) AS i CREATE (:Person {name: 'p' + i, age: i % 90})";
    folder.run(&["s.knot", "-c", names]).ok();
    let read = "MATCH (p:Person) WHERE toLower(p.name) = 'p7' RETURN p.age";
    let advice = folder.run(&["advise", "s.knot", read, "--verify"]).ok();
    for expected in [
        "1. write statement 1 as MATCH (p:Person) WHERE p.name = 'p7' RETURN p.age;",
        "toLower() leaves name of each :Person node as it is, now: it must stay so",
        "measured: it gives the same rows",
        "2. CREATE INDEX FOR (n:Person) ON (n.name);",
    ] {
        assert!(advice.contains(expected), "{expected} in {advice}");
    }
    let json = folder.run(&["advise", "s.knot", read, "--json"]).ok();
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let first = &json["recommendations"][0];
    assert_eq!((&first["kind"], &first["of"]), (&"rewrite".into(), &1.into()), "{first}");
    folder.run(&["s.knot", "-c", "CREATE (:Person {name: 'Q'})"]).ok();
    let advice = folder.run(&["advise", "s.knot", read]).ok();
    assert!(!advice.contains("write statement"), "one name is not in lower case: {advice}");
}

#[test]
fn statements_are_a_layer_of_their_own() {
    let folder = Folder::new();
    folder.run(&["generate", "ratings", "-n", "500", "-o", "s.knot"]).ok();
    let text = folder.run(&["introspect", "s.knot", "--quick", "--json", "built.json", "--html", "out.html"]).ok();
    assert!(["STATEMENTS (", "Titan 1 ", "Titan 2 ", "Titan 3 "].iter().all(|name| text.contains(name)), "{text}");
    let page = std::fs::read_to_string(folder.join("out.html")).expect("the page is written");
    assert!(page.contains("<h2>Statements</h2>") && page.contains("Titan 2"));
    let queries = "// name: by key\nMATCH (u:User {id: $key})-[r]->(p) RETURN p.id;\nMATCH (n) RETURN count(n);\n\
                   // name: mistake\nMATCH (u:User RETURN u;\n// name: nobody\nMATCH (n:Nobody {id: $node}) RETURN n";
    std::fs::write(folder.join("q.cypher"), queries).expect("the folder can be written");
    let words = ["introspect", "s.knot", "--quick", "--queries", "q.cypher", "--json", "own.json"];
    let text = folder.run(&words).ok();
    assert!(text.contains("mistake: SYNTAX") && !text.contains("Titan"), "{text}");
    let json = std::fs::read_to_string(folder.join("own.json")).expect("the file is written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let runs = json["runs"].as_array().expect("there are runs");
    let of = |name: &str, regime: &str| {
        let is_it = |run: &&serde_json::Value| run["operation"] == name && run["regime"] == regime;
        runs.iter().find(is_it).unwrap_or_else(|| panic!("{name}, {regime}: {text}"))
    };
    for (name, cold_calls) in [("by key", 2..), ("statement 2", 1..), ("nobody", 2..)] {
        assert_eq!((&of(name, "hot")["layer"], &of(name, "hot")["error"]), (&"statement".into(), &().into()));
        assert!(cold_calls.contains(&of(name, "cold")["calls"].as_u64().expect("a count")), "{name}");
    }
    assert!(of("statement 2", "cold")["calls"] == 1 && of("mistake", "hot")["calls"] == 0);
    let predicted = json["predictions"].as_array().expect("there are predictions").iter();
    assert!(predicted.filter(|held| held["operation"] == "by key").count() == 3, "{}", json["predictions"]);
    folder.run(&["query", "s.knot", "MATCH (u:User {id: 7}) RETURN u.name", "--record", "t.jsonl"]).ok();
    let text = folder.run(&["introspect", "s.knot", "--quick", "--trace", "t.jsonl"]).ok();
    assert!(text.contains("MATCH (u:User {id: ?}) RETURN u.name"), "{text}");
    for (content, expected) in [
        ("", "q.cypher: there is no statement"),
        ("RETURN 1;\nMATCH (n) SET n.a = 1", "q.cypher: line 2: statement 'statement 2' has the word SET"),
        (
            "// name: ranks\nCALL algo.pagerank.write({writeProperty: 'rank'}) YIELD ranIterations RETURN ranIterations",
            "statement 'ranks' writes: it calls a procedure that does",
        ),
    ] {
        std::fs::write(folder.join("q.cypher"), content).expect("the folder can be written");
        let message = folder.run(&words).fails(1);
        assert!(message.contains(expected), "{message}");
    }
    // Editors of some systems put a mark at the beginning of a file.
    let trace = std::fs::read_to_string(folder.join("t.jsonl")).expect("it is written");
    std::fs::write(folder.join("t.jsonl"), format!("\u{feff}{trace}")).expect("the folder can be written");
    std::fs::write(folder.join("q.cypher"), "\u{feff}// name: marked\nMATCH (n) RETURN count(n)").expect("likewise");
    for (option, file, expected) in
        [("--trace", "t.jsonl", "MATCH (u:User {id: ?}) RETURN u.name"), ("--queries", "q.cypher", "marked ")]
    {
        let text = folder.run(&["introspect", "s.knot", "--quick", option, file]).ok();
        assert!(text.contains(expected) && !text.contains("SYNTAX"), "{text}");
    }
    let missing = folder.run(&["introspect", "s.knot", "--queries", "none.cypher"]).fails(1);
    assert!(missing.contains("none.cypher"), "{missing}");
}

#[test]
fn a_full_disk_is_told_by_the_exit_code() {
    let folder = Folder::new();
    let Some(_disk) = SmallDisk::mount(&folder, 8 << 20) else {
        println!("not run: no small disk can be mounted here");
        return;
    };
    folder.run(&["generate", "barabasi", "-n", "2k", "-o", "disk/s.knot"]).ok();
    let ended = folder.run(&["introspect", "disk/s.knot", "--quick", "--json", "out.json"]);
    assert!(ended.code == Some(1) && ended.stderr.contains("DISK_FULL: "), "{ended:?}");
    // The rest is measured all the same.
    assert!(ended.stdout.contains("MICRO OPERATIONS") && ended.stdout.contains("not measured: DISK_FULL"), "{ended:?}");
    assert!(std::fs::read_to_string(folder.join("out.json")).is_ok_and(|json| json.contains("neighbours out")));
}

/// A program of lines in a file, as the argument of the command.
fn program(folder: &Folder, lines: &str) -> String {
    std::fs::write(folder.join("subject.sh"), lines).expect("the folder can be written");
    "subject: sh subject.sh".to_owned()
}

#[test]
fn a_program_that_speaks_json_lines_is_measured() {
    let folder = Folder::new();
    let Some(python) = program_or_skip("a program as a subject", "python3", &[]) else { return };
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/introspect/sql.py");
    folder.run(&["generate", "barabasi", "-n", "500", "-o", "csv"]).ok();
    let subject = format!("subject: {} {example} sqlite graph.db csv", python.display());
    let text = folder.run(&["introspect", &subject, "--quick", "--writes", "--json", "out.json"]).ok();
    for expected in [
        "sqlite ", "500 nodes, 2495 edges", "neighbours out", "2-hop both", "FINDINGS", "set node property",
        "ingest, increment",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let json = std::fs::read_to_string(folder.join("out.json")).expect("the file is written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let runs = json["runs"].as_array().expect("there are runs");
    assert!(runs.len() > 60 && runs.iter().all(|run| run["error"].is_null() && run["way"] == "api"), "{text}");
    folder.run(&["bench", "report", "out.json", "--html", "out.html"]).ok();
}

#[test]
fn programs_that_are_wrong_are_told() {
    let folder = Folder::new();
    let described = r#"{"system":"s","version":"1","place":"p","nodes":9,"edges":9,"bytes":1,"coldMethod":"none","operations":[OPS]}"#;
    let answer = |operations: &str| format!("read line; echo '{}'\n", described.replace("OPS", operations));
    for (lines, expected) in [
        ("exit 3\n".to_owned(), "has ended"),
        ("read line; echo hello\n".to_owned(), "wrote 'hello', which is no JSON"),
        ("read line; echo '{\"error\": \"no rights\"}'\n".to_owned(), "reports: no rights"),
        ("read line; echo '{\"system\": 5}'\n".to_owned(), "answered system: 5, where a string is expected"),
        (answer("\"teleport\""), "has an operation 'teleport', which is not known"),
        (answer("").replace("\"nodes\":9", "\"nodes\":0"), "has no nodes to start from"),
        (answer("").replace("\"nodes\":9", "\"nodes\":9223372036854775808"), "where a count below 2^48 is expected"),
        ("read line; head -c 300000000 /dev/zero | tr '\\0' x; echo\n".to_owned(), "wrote a line of more than 16 MiB"),
        ("read line; printf '\\033[31mhello\\n'\n".to_owned(), "wrote '[31mhello', which is no JSON"),
        (answer("\"node by id\""), "has ended"),
        (
            answer("\"node by id\"") + "read line; echo '{\"starts\": []}'\nread line\n",
            "chose 0 starts, where 1000 were asked for",
        ),
    ] {
        let subject = program(&folder, &lines);
        let message = folder.run(&["introspect", &subject, "--quick", "--json", "out.json"]).fails(1);
        assert!(message.contains(expected), "{lines}: {message}");
        assert!(!folder.join("out.json").exists());
    }
}

/// Waits for a file of a program that is measured, and reads it.
fn told_by_program(folder: &Folder, name: &str) -> String {
    loop {
        match std::fs::read_to_string(folder.join(name)) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => pause(5),
        }
    }
}

#[test]
fn a_program_that_hangs_is_ended_by_ctrl_c_and_one_that_is_killed_is_told() {
    let described = r#"{"system":"s","version":"1","place":"p","nodes":9,"edges":9,"bytes":1,"coldMethod":"none","operations":["node by id"]}"#;
    for signal_name in ["INT", "KILL"] {
        let folder = Folder::new();
        let lines = format!("read line; echo '{described}'\nread line; echo $$ > pid\nwhile :; do sleep 1; done\n");
        let subject = program(&folder, &lines);
        let child =
            folder.command(&["introspect", &subject, "--quick", "--json", "out.json"]).spawn().expect("it starts");
        let pid = told_by_program(&folder, "pid");
        if signal_name == "INT" {
            signal(&child, "INT");
        } else {
            let killed = Command::new("kill").args(["-KILL", &pid]).status();
            assert!(killed.is_ok_and(|status| status.success()), "the program can be killed");
        }
        let ended = finish(child);
        let expected = if signal_name == "INT" { "CANCELLED" } else { "has ended" };
        assert!(ended.stderr.contains(expected) && !folder.join("out.json").exists(), "{ended:?}");
        // The program is gone too.
        let lives = || Command::new("kill").args(["-0", &pid]).output().is_ok_and(|output| output.status.success());
        assert!(
            (0..500).any(|_| !lives() || {
                pause(20);
                false
            }),
            "the program {pid} is left"
        );
    }
}

/// Makes a database of 200 persons and their friends by Python, where it is installed.
fn make_shop(folder: &Folder) -> bool {
    let Some(python) = program_or_skip("a database of SQLite", "python3", &[]) else { return false };
    let lines = [
        "import sqlite3",
        "db = sqlite3.connect('shop.sqlite')",
        "db.execute('CREATE TABLE person (id INTEGER PRIMARY KEY, age INTEGER, name TEXT)')",
        "ends = 'src INTEGER REFERENCES person, dst INTEGER REFERENCES person'",
        "db.execute(f'CREATE TABLE knows ({ends}, since INTEGER, PRIMARY KEY (src, dst))')",
        "db.execute('CREATE INDEX back ON knows (dst, src)')",
        "db.executemany('INSERT INTO person VALUES (?, ?, ?)', [(i, i % 90, f'p{i}') for i in range(200)])",
        "pairs = [(i, (i + d * d) % 200) for i in range(200) for d in (1, 2, 3, 4)]",
        "db.executemany('INSERT INTO knows VALUES (?, ?, 1)', pairs)",
        "db.commit()",
    ];
    let made = Command::new(python).args(["-c", &lines.join("\n")]).current_dir(folder.path()).output();
    let made = made.expect("Python starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    true
}

#[test]
fn a_relational_database_is_measured_by_sql_and_as_a_described_graph() {
    let folder = Folder::new();
    if !make_shop(&folder) {
        return;
    }
    let runs = |file: &str| {
        let json = std::fs::read_to_string(folder.join(file)).expect("the file is written");
        let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
        let runs = json["runs"].as_array().expect("there are runs").clone();
        assert!(runs.iter().all(|run| run["error"].is_null()), "{runs:?}");
        runs
    };
    let text = folder.run(&["introspect", "shop.sqlite", "--quick", "--json", "sql.json"]).ok();
    for expected in [
        "sqlite:shop.sqlite (200 nodes, 800 edges",
        "tables node=person(id) edge=knows(src,dst)",
        "3-hop both",
        "its file is dropped from the page cache",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let found = runs("sql.json");
    assert!(found.len() > 60 && found.iter().all(|run| run["way"] == "api"), "{}", found.len());
    folder.run(&["source", "infer", "sqlite:shop.sqlite", "-o", "shop.json"]).ok();
    let text = folder.run(&["introspect", "shop.json", "--quick", "--json", "described.json"]).ok();
    assert!(text.contains("shop.json (200 nodes, 800 edges") && text.contains("is cached of the source"), "{text}");
    let found = runs("described.json");
    let count = |name: &str| found.iter().filter(|run| run["operation"] == name).count();
    assert!(found.iter().all(|run| run["way"] == "cypher") && count("neighbours out") > 1 && count("pagerank") > 1);
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder is there").flatten().collect();
    names.retain(|entry| entry.file_name() != "shop.sqlite" && !entry.file_name().to_string_lossy().ends_with(".json"));
    assert!(names.is_empty(), "nothing is left: {names:?}");
}

#[test]
fn relational_databases_that_cannot_be_measured_are_told() {
    let folder = Folder::new();
    if !make_shop(&folder) {
        return;
    }
    std::fs::write(folder.join("text.sqlite"), "a text that is no database".repeat(50)).expect("it can be written");
    std::fs::write(folder.join("empty.db"), "").expect("it can be written");
    for (words, expected) in [
        (&["none.sqlite"][..], "a database is never created"),
        (&["text.sqlite"], "file is not a database"),
        (&["empty.db"], "there are no tables"),
        (&["postgresql://me:secret@127.0.0.1:1/d"], "Connection refused"),
        (&["mysql://me:secret@127.0.0.1:1/d"], "Connection refused"),
        (&["shop.sqlite", "--tables", "knows"], "expected node=TABLE(KEY) or edge=TABLE(SOURCE,TARGET)"),
        (&["shop.sqlite", "--tables", "edge=likes(a,b)"], "there are knows(src,dst,since), person(id,age,name)"),
        (&["shop.sqlite", "--tables", "edge=knows(src,no)"], "the table knows has no column no"),
        (&["shop.sqlite", "--tables", "node=person(name)"], "and nodes are known by integers"),
        (&["none.knot", "--tables", "node=person"], "--tables is for relational databases"),
        (&["shop.sqlite", "--writes"], "a relational database is only read"),
        (&["shop.json", "--writes"], "a source's data cannot be copied"),
        (&["none.json"], "none.json"),
    ] {
        let start = ["introspect", "--quick", "--json", "out.json"];
        let words: Vec<&str> = start.into_iter().chain(words.iter().copied()).collect();
        let message = folder.run(&words).fails(1);
        assert!(message.contains(expected) && !message.contains("secret"), "{words:?}: {message}");
        assert!(!folder.join("out.json").exists(), "{words:?}");
    }
}

#[test]
fn ctrl_c_ends_a_measurement_by_sql() {
    let folder = Folder::new();
    if !make_shop(&folder) {
        return;
    }
    let child = folder.command(&["introspect", "shop.sqlite", "--json", "out.json"]).spawn().expect("it starts");
    pause(1_500);
    signal(&child, "INT");
    let ended = finish(child);
    assert!(ended.stderr.contains("CANCELLED") && !folder.join("out.json").exists(), "{ended:?}");
}

/// The report of two measurements, and the page in a browser, if there is one.
fn reported(folder: &Folder) {
    folder.run(&["bench", "report", "out.json", "out.json", "--html", "both.html"]).ok();
    for (page, subject) in [("out.html", "s.knot"), ("both.html", "s.knot (2)")] {
        let text = std::fs::read_to_string(folder.join(page)).expect("the page is written");
        assert!(text.contains(subject) && text.len() < 1 << 20, "{page}: {} bytes", text.len());
        let Some(browser) = program_or_skip("the report in a browser", "chromium", &[]) else { continue };
        let shown = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--timeout=20000"])
            .args(["--dump-dom", "--user-data-dir=profile", &format!("file://{}", folder.join(page).display())])
            .current_dir(folder.path())
            .output()
            .expect("the browser starts");
        // A page that fetches anything breaks its own policy, which is a message of the console too.
        let messages = String::from_utf8_lossy(&shown.stderr);
        let told: Vec<&str> = messages.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(told.is_empty(), "{page}: {told:?}");
        let page_shown = String::from_utf8_lossy(&shown.stdout);
        let body = page_shown.split("<script").next().expect("a text has a start");
        let figures: Vec<&str> = body.split("data-chart=").skip(1).collect();
        let drawn = |figure: &&&str| {
            let figure = figure.split("</figure>").next().expect("a text has a start");
            figure.matches("<path").count() > 3 && figure.contains("<svg") && figure.contains("<table")
        };
        let count = figures.iter().filter(drawn).count();
        assert!(count == figures.len() && count >= 8, "{page}: {count} of {} charts are drawn", figures.len());
    }
}

/// The comparison with itself, and with a slower one.
fn compared(folder: &Folder) {
    let json = std::fs::read_to_string(folder.join("out.json")).expect("the file is there");
    let changed = |name: &str, change: &dyn Fn(&serde_json::Value, usize, u64) -> u64| {
        let mut measured: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
        for run in measured["runs"].as_array_mut().expect("there are runs") {
            let of = run.clone();
            for (at, ns) in run["samplesNs"].as_array_mut().expect("there are times").iter_mut().enumerate() {
                *ns = change(&of, at, ns.as_u64().expect("it is a time")).into();
            }
        }
        std::fs::write(folder.join(name), measured.to_string()).expect("the folder can be written");
    };
    changed("again.json", &|_, at, ns| if at.is_multiple_of(2) { ns + ns / 100 } else { ns - ns / 100 });
    let text = folder.run(&["bench", "compare", "out.json", "out.json", "--again", "again.json"]).ok();
    assert!(text.contains(" 0 slower beyond noise, 0 of them by more than 10 %; 0 faster"), "{text}");
    let is_slow =
        |run: &serde_json::Value| run["operation"] == "node by key" && run["regime"] == "hot" && run["way"] == "api";
    changed("slow.json", &|run, _, ns| if is_slow(run) { ns * 100 } else { ns });
    let compared = folder.run(&["bench", "compare", "out.json", "slow.json", "--again", "again.json"]);
    assert_eq!(compared.code, Some(1), "{compared:?}");
    assert!(
        compared.stdout.contains("begin with the lowest layer that is slower: micro, node by key, api, hot"),
        "{compared:?}"
    );
    let allowed =
        folder.run(&["bench", "compare", "out.json", "slow.json", "--again", "again.json", "--fail-over", "20000%"]);
    assert!(allowed.ok().contains(" 1 slower beyond noise, 0 of them"));
}

/// Mistakes are told, and leave nothing.
fn mistaken(folder: &Folder) {
    std::fs::write(folder.join("bad.json"), "{\"schema\": ").expect("the folder can be written");
    std::fs::write(folder.join("other.json"), "{\"schema\": \"other/1\"}").expect("the folder can be written");
    for (words, code, expected) in [
        (&["bench", "report", "none.json", "--html", "x.html"][..], 1, "none.json"),
        (&["bench", "report", "bad.json", "--html", "x.html"], 1, "bad.json is no JSON"),
        (&["bench", "report", "other.json", "--html", "x.html"], 1, "found 'other/1'"),
        (&["bench", "report", "--html", "x.html"], 2, "JSON"),
        (&["bench", "report", "out.json", "--html", "none/x.html"], 1, "none/x.html"),
        (&["bench", "compare", "out.json"], 2, "NEW.json"),
        (&["bench", "compare", "out.json", "none.json"], 2, "none.json"),
        (&["bench", "compare", "out.json", "bad.json"], 2, "bad.json is no JSON"),
        (
            &["bench", "compare", "out.json", "out.json", "--again", "out.json"],
            2,
            "out.json and out.json are one measurement",
        ),
        (
            &["bench", "compare", "out.json", "out.json", "--fail-over", "much"],
            2,
            "expected a number of percent, as 10%, found 'much'",
        ),
        (&["introspect", "s.knot", "--quick", "--html", "none/x.html"], 1, "none"),
        (&["introspect", "s.knot", "--quick", "--json", "s.knot"], 1, "s.knot is no file that can be written"),
    ] {
        let message = folder.run(words).fails(code);
        assert!(message.contains(expected), "{words:?}: {message}");
        assert!(!folder.join("x.html").exists(), "{words:?}");
    }
}
