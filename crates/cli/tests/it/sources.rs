//! Failures of databases that are attached: each names the source, what was asked, and a remedy.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use testing::random::{SeededRandom, seed_or};
use testing::servers::{self, Postgres, PostgresOptions};

use crate::command::{Folder, finish, pause, signal};

const SHOP: &str = r#"{
  "nodes": { "Customer": { "table": "customers", "key": "id", "properties": ["id", "name"] } },
  "edges": { "KNOWS": { "table": "knows", "source": "Customer(a)", "target": "Customer(b)" } }
}"#;
const TABLES: &str = "CREATE TABLE customers (id int PRIMARY KEY, name text); \
    CREATE TABLE knows (a int REFERENCES customers, b int REFERENCES customers); \
    INSERT INTO customers VALUES (1, 'ann'), (2, 'bob'); INSERT INTO knows VALUES (1, 2);";

/// Fails if a message lacks one of these parts, or shows what it must not.
fn check(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
    assert!(!message.contains("wrong-password"), "{message}");
    assert!(message.contains('\n'), "a remedy follows: {message}");
}

#[test]
fn a_server_that_lets_nobody_in() {
    let options = PostgresOptions { password: Some("right".to_owned()), ..PostgresOptions::default() };
    let Some(server) = Postgres::start(&options) else { return };
    let folder = Folder::new();
    folder.write("shop.json", SHOP);
    let url = server.url("postgres");
    let wrong = url.replace("postgres@", "postgres:wrong-password@");
    for url in [&wrong, &url] {
        let reason = if *url == wrong { "password authentication failed" } else { "asks for a password" };
        let statement = format!("ATTACH '{url}' AS shop (DEFINITION 'shop.json'); MATCH (c:Customer) RETURN c.name");
        let message = folder.run(&["s.knot", "-c", &statement]).fails(1);
        check(&message, &["SOURCE: ", "shop", "@127.0.0.1", reason, "PGPASSWORD"]);
    }
    let message = folder.run(&["query", "s.knot", "RETURN 1", "--attach", &format!("shop={wrong}")]).fails(1);
    check(&message, &["SOURCE: ", "shop", "password authentication failed", "PGPASSWORD"]);
}

#[test]
fn a_server_that_is_not_there() {
    let folder = Folder::new();
    folder.write("shop.json", SHOP);
    for (url, parts) in [
        ("postgres://u@no-such-host.invalid/d", ["no-such-host.invalid", "cannot connect"]),
        ("postgres://u@127.0.0.1:1/d", ["127.0.0.1:1", "refused"]),
        ("mysql://u@no-such-host.invalid/d", ["no-such-host.invalid", "lookup"]),
        ("mysql://u@127.0.0.1:1/d", ["127.0.0.1:1", "refused"]),
        ("sqlite:missing.db", ["missing.db", "unable to open database file"]),
    ] {
        let statement = format!("ATTACH '{url}' AS shop (DEFINITION 'shop.json'); MATCH (c:Customer) RETURN c.name");
        let message = folder.run(&["s.knot", "-c", &statement]).fails(1);
        check(&message, &["SOURCE: ", "shop"]);
        check(&message, &parts);
    }
    assert!(!folder.join("missing.db").exists(), "nothing is made");
}

#[test]
fn a_definition_that_cannot_be_read() {
    let folder = Folder::new();
    folder.write("comma.json", "{\n  \"nodes\": {\n    \"A\": { \"table\": \"a\" },\n  }\n}");
    folder.write("words.json", r#"{ "nodes": { "A": { "tabel": "a" } } }"#);
    folder.write("end.json", r#"{ "nodes": { "A": { "table": "a" } }, "edges": { "E": { "table": "e", "source": "B(x)", "target": "A(y)" } } }"#);
    folder.write("secret.json", r#"{ "url": "postgres://u:wrong-password@h/d", "nodes": { "A": { "table": "a" } } }"#);
    for (file, parts) in [
        ("missing.json", &["missing.json", "No such file"][..]),
        ("comma.json", &["comma.json", "line 4"]),
        ("words.json", &["words.json", "tabel"]),
        ("end.json", &["end.json", "E", "B"]),
        ("secret.json", &["secret.json", "password"]),
    ] {
        let statement = format!("ATTACH 'sqlite:x.db' AS shop (DEFINITION '{file}')");
        check(&folder.run(&["s.knot", "-c", &statement]).fails(1), parts);
        check(&folder.run(&["source", "check", file]).fails(1), parts);
    }
}

#[test]
fn a_table_that_is_spelt_otherwise() {
    let Some(server) = servers::postgres() else { return };
    let url = server.database("misspelt");
    server.run("misspelt", TABLES);
    let folder = Folder::new();
    folder.write("table.json", SHOP.replace("\"customers\"", "\"custmers\""));
    folder.write("column.json", SHOP.replace("\"name\"", "\"nam\""));
    let attached = |file: &str, query: &str| {
        let statement = format!("ATTACH '{url}' AS shop (DEFINITION '{file}'); {query}");
        folder.run(&["s.knot", "-m", "csv", "-c", &statement])
    };
    let message = attached("table.json", "MATCH (c:Customer) RETURN c.id").fails(1);
    check(&message, &["DEFINITION: ", "shop", "custmers", "knot source check"]);
    let output = attached("column.json", "MATCH (c:Customer) RETURN c.nam");
    assert_eq!(output.code, Some(1), "{output:?}");
    check(&output.stderr, &["DEFINITION: ", "misspelt", "nodes Customer", "n.\"nam\"", "SELECT", "knot source check"]);
    // Both are found by the command that the remedy names.
    for (file, found) in [("table.json", "did you mean `customers`"), ("column.json", "did you mean `name`")] {
        let with_url = std::fs::read_to_string(folder.join(file)).expect("it was written");
        folder.write(file, with_url.replacen('{', &format!("{{ \"url\": \"{url}\","), 1));
        let output = folder.run(&["source", "check", file]);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(format!("{}{}", output.stdout, output.stderr).contains(found), "{output:?}");
    }
}

/// Counts what a server is working on; the question itself has other words in it.
type Running = Box<dyn Fn() -> bool>;

/// A database of SQLite with a query that takes very long.
fn endless_source(folder: &Folder) -> (String, &'static str) {
    folder.write("endless.db", "");
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000000) \
               SELECT max(i) AS id, 'x' AS word FROM n";
    (format!("sqlite:{}", folder.join("endless.db").display()), sql)
}

/// Writes the definition of a node `Slow`, which such a query gives: `slow.json`.
fn define_slow(folder: &Folder, (url, sql): (&str, &str)) {
    let definition = format!(
        r#"{{ "url": "{url}", "nodes": {{ "Slow": {{ "sql": "{sql}", "key": "id", "properties": ["word"] }} }} }}"#
    );
    folder.write("slow.json", &definition);
}

/// Databases with queries whose rows come slowly: all of them take minutes.
fn slow_sources(folder: &Folder) -> Vec<(String, &'static str, Running)> {
    let (url, sql) = endless_source(folder);
    // It waits in this very process.
    let mut sources: Vec<(String, &'static str, Running)> = vec![(url, sql, Box::new(|| false))];
    if let Some(server) = servers::postgres() {
        let active = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_slee' || 'p(0.1)%' AND state = 'active';";
        let sql = "SELECT i AS id, pg_sleep(0.1)::text AS word FROM generate_series(1, 10000) i";
        sources.push((server.database("slow"), sql, Box::new(move || !server.rows("slow", active).is_empty())));
    }
    if let Some(server) = servers::mariadb() {
        let active = "SELECT 1 FROM information_schema.processlist WHERE info LIKE CONCAT('%SLEE', 'P(0.1)%');";
        let sql = "SELECT seq AS id, SLEEP(0.1) AS word FROM seq_1_to_10000";
        sources.push((server.database("slow"), sql, Box::new(move || !server.rows("slow", active).is_empty())));
    }
    sources
}

#[test]
fn ctrl_c_ends_a_query_that_waits_for_a_database() {
    let folder = Folder::new();
    folder.make_store("CREATE (:A)");
    for (url, sql, is_running) in slow_sources(&folder) {
        define_slow(&folder, (&url, sql));
        let query = "MATCH (n:Slow) RETURN max(n.word)";
        let arguments = ["query", "s.knot", query, "--attach", "slow=slow.json"];
        let child = folder.command(&arguments).spawn().expect("it starts");
        let wait_for = |running: bool| {
            (0..100).any(|_| {
                pause(50);
                is_running() == running
            })
        };
        if url.starts_with("sqlite") {
            pause(1_500);
        } else {
            assert!(wait_for(true), "{url} works on it");
        }
        signal(&child, "INT");
        let output = finish(child);
        assert_eq!(output.code, Some(130), "{url}: {output:?}");
        assert!(output.stderr.contains("CANCELLED: "), "{url}: {output:?}");
        assert!(wait_for(false), "{url} was told to give up");
        // The time that a query may take is kept while it waits, too.
        let timed = [&arguments[..], &["--timeout", "1s"]].concat();
        check(&folder.run(&timed).fails(1), &["TIMEOUT: "]);
    }
}

/// True if `SIGINT` is in a set of signals of a process, as Linux shows it; false where that is not shown.
fn has_interrupt(process: u32, set: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(':').map(str::trim));
    bits.and_then(|bits| u64::from_str_radix(bits, 16).ok()).is_some_and(|bits| bits & 2 != 0)
}

/// A Ctrl-C that comes between two pieces of work, such as attaching a source and the statement, is not lost.
#[test]
fn ctrl_c_ends_a_query_at_any_time() {
    let folder = Folder::new();
    folder.make_store("CREATE (:A)");
    let (url, sql) = endless_source(&folder);
    define_slow(&folder, (&url, sql));
    let seed = seed_or(130);
    println!("FUZZ_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    let ignores_interrupts = has_interrupt(std::process::id(), "SigIgn");
    let mut cancelled = 0;
    for _ in 0..40 {
        let arguments = ["query", "s.knot", "MATCH (n:Slow) RETURN max(n.word)", "--attach", "slow=slow.json"];
        let child = folder.command(&arguments).spawn().expect("it starts");
        let after = random.below(120);
        pause(after);
        // A shell that starts the tests in the background lets them and their children ignore it, until those catch it.
        let waits = if ignores_interrupts { 2_000 } else { 0 };
        (0..waits).take_while(|_| !has_interrupt(child.id(), "SigCgt")).for_each(|_| pause(5));
        signal(&child, "INT");
        let output = finish(child);
        // Without a code the signal came before the program could catch it.
        assert!(matches!(output.code, None | Some(130)), "after {after} ms: {output:?}");
        cancelled += usize::from(output.stderr.contains("CANCELLED: "));
    }
    assert!(cancelled > 0, "none of them ran");
}

#[test]
fn a_server_that_is_killed() {
    let Some(server) = Postgres::start(&PostgresOptions::default()) else { return };
    let url = server.database("killed");
    server.run("killed", TABLES);
    let folder = Folder::new();
    folder.write("shop.json", SHOP);
    let mut child = folder.command(&["s.knot", "-m", "jsonl"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut say = |text: String| stdin.write_all(text.as_bytes()).expect("the child reads");
    let mut heard = |expected: &str| {
        let found = lines.by_ref().map_while(Result::ok).any(|line| line.contains(expected));
        assert!(found, "{expected} was not heard");
    };
    say(format!("ATTACH '{url}' AS shop (DEFINITION 'shop.json', MAX_AGE '0s');\n"));
    say("MATCH (c:Customer)-[:KNOWS]->(d) RETURN d.name AS name;\n".to_owned());
    heard("{\"name\":\"bob\"}");
    server.server().kill();
    say("MATCH (c:Customer)-[:KNOWS]->(d) RETURN d.name AS gone;\n".to_owned());
    drop(stdin);
    let output = finish(child);
    assert_eq!(output.code, Some(1), "{output:?}");
    check(
        &output.stderr,
        &["SOURCE: ", "127.0.0.1", "/killed", "nodes Customer", "SELECT", "see that the server runs"],
    );
    server.start_again();
    let statement = format!("ATTACH '{url}' AS shop (DEFINITION 'shop.json'); MATCH (c:Customer) RETURN count(*) AS n");
    assert!(folder.run(&["s.knot", "-m", "jsonl", "-c", &statement]).ok().contains("{\"n\":2}"));
}
