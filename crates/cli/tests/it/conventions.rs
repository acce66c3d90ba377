//! Rows on standard output and nothing else there; errors on standard error; exit codes 0, 1 and 2.

use crate::command::Folder;

const GRAPH: &str =
    "CREATE (a:P {n: 1, s: 'x,\"y\"', l: [1, 2]})-[:R {w: 1.5}]->(b:P {n: 2}), (:Q {d: date('2024-02-29')})";

#[test]
fn formats() {
    let folder = Folder::new();
    folder.make_store(GRAPH);
    let query = "MATCH (p:P) RETURN p.n AS n, p.s AS s, p.l AS l, p ORDER BY n";
    let check = |format: &str, expected: &str| {
        assert_eq!(folder.run(&["query", "s.knot", query, "--format", format, "--no-stats"]).ok(), expected);
    };
    check(
        "csv",
        "n,s,l,p\n1,\"x,\"\"y\"\"\",\"[1, 2]\",\"(:P {n: 1, s: 'x,\"\"y\"\"', l: [1, 2]})\"\n2,,,(:P {n: 2})\n",
    );
    let rows = [
        r#"{"n":1,"s":"x,\"y\"","l":[1,2],"p":{"id":0,"labels":["P"],"properties":{"n":1,"s":"x,\"y\"","l":[1,2]}}}"#,
        r#"{"n":2,"s":null,"l":null,"p":{"id":1,"labels":["P"],"properties":{"n":2}}}"#,
    ];
    check("jsonl", &format!("{}\n{}\n", rows[0], rows[1]));
    check("json", &format!("[\n  {},\n  {}\n]\n", rows[0], rows[1]));
    let table = folder.run(&["query", "s.knot", "RETURN 1 AS one, 'x' AS text", "--format", "table"]).ok();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 5, "{table}");
    assert!(
        lines[1].contains("one") && lines[1].contains("text") && lines[3].contains('1') && lines[3].contains('x'),
        "{table}"
    );
    // Without a terminal the default is CSV. No rows: a header, or an empty array.
    assert_eq!(folder.run(&["query", "s.knot", "MATCH (n:None) RETURN n"]).ok(), "n\n");
    assert_eq!(folder.run(&["query", "s.knot", "MATCH (n:None) RETURN n", "-m", "json"]).ok(), "[]\n");
    assert_eq!(folder.run(&["query", "s.knot", "MATCH (n:None) RETURN n", "-m", "jsonl"]).ok(), "");
    let odd =
        "RETURN 0.0 / 0 AS none, 1.0 / 0 AS large, 1.0 AS one, date('2024-02-29') AS d, {a: null} AS m, null AS z";
    assert_eq!(
        folder.run(&["query", "s.knot", odd, "-m", "jsonl"]).ok(),
        "{\"none\":\"NaN\",\"large\":\"Infinity\",\"one\":1.0,\"d\":\"2024-02-29\",\"m\":{\"a\":null},\"z\":null}\n"
    );
    let path = folder.run(&["query", "s.knot", "MATCH p = (:P)-[:R]->() RETURN p"]).ok();
    assert!(path.contains("-[:R {w: 1.5}]->(:P {n: 2})"), "{path}");
}

#[test]
fn counts_go_to_standard_error() {
    let folder = Folder::new();
    folder.make_store(GRAPH);
    let output = folder.run(&["query", "s.knot", "CREATE (n:N {x: 1}) RETURN n.x"]);
    assert!(output.stderr.contains("1 row") && output.stderr.contains("1 node created"), "{output:?}");
    assert_eq!(output.ok(), "n.x\n1\n");
    assert_eq!(folder.run(&["query", "s.knot", "RETURN 1", "-s"]).stderr, "");
    let created = folder.run(&["query", "s.knot", "CREATE (n:N)"]);
    assert_eq!(created.ok(), "");
}

#[test]
fn errors_go_to_standard_error_with_a_caret() {
    let folder = Folder::new();
    folder.make_store(GRAPH);
    let message = folder.run(&["query", "s.knot", "MATCH (p:P)\nRETRUN p"]).fails(1);
    assert!(message.starts_with("SYNTAX: "), "{message}");
    assert!(message.contains(" 2 | RETRUN p\n   | ^^^^^^\n"), "{message}");
    assert!(!message.contains('\x1b'), "no colours without a terminal");
    let message = folder.run(&["query", "s.knot", "MATCH (p:P) RETURN q.n"]).fails(1);
    assert!(message.starts_with("SEMANTIC: ") && message.contains("`q`") && message.contains('^'), "{message}");
    let message = folder.run(&["query", "s.knot", "MATCH (p:P) RETURN p.n / 0"]).stderr;
    assert!(message.contains("ARITHMETIC: "), "{message}");
    let message = folder.run(&["query", "s.knot", "RETURN $x"]).stderr;
    assert!(message.contains("PARAMETER: ") && message.contains("--param"), "{message}");
}

#[test]
fn wrong_usage_ends_with_two() {
    let folder = Folder::new();
    for arguments in [
        &["query"][..],
        &["--nonsense"],
        &["import", "s.knot"],
        &["import", "s.knot", "--nodes", "people.csv"],
        &["import", "s.knot", "--nodes", "P=x.csv", "--memory-limit", "much"],
        &["import", "s.knot", "--nodes", "P=x.csv", "--delimiter", "ab"],
        &["query", "s.knot", "RETURN 1", "--format", "xml"],
        &[],
    ] {
        let message = folder.run(arguments).fails(2);
        assert!(!message.is_empty(), "{arguments:?}");
    }
    assert!(!folder.join("s.knot").exists(), "wrong usage makes no store");
    assert!(folder.run(&["--help"]).ok().contains("Usage"));
    assert!(folder.run(&["--version"]).ok().contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn parameters() {
    let folder = Folder::new();
    folder.make_store(GRAPH);
    let check = |parameters: &[&str], query: &str, expected: &str| {
        let mut arguments = vec!["query", "s.knot", query, "-m", "jsonl"];
        parameters.iter().for_each(|parameter| arguments.extend(["--param", parameter]));
        assert_eq!(folder.run(&arguments).ok().trim_end(), expected);
    };
    check(&["n=2"], "MATCH (p:P {n: $n}) RETURN p.n AS n", r#"{"n":2}"#);
    check(
        &["a=1.5", "b=text", "c=\"2\"", "d=true"],
        "RETURN $a, $b, $c, $d",
        r#"{"$a":1.5,"$b":"text","$c":"2","$d":true}"#,
    );
    check(&["rows=[{\"i\": 1}, {\"i\": null}]"], "UNWIND $rows AS r RETURN collect(r.i) AS l", r#"{"l":[1]}"#);
    check(&["t=a=b"], "RETURN $t AS t", r#"{"t":"a=b"}"#);
    check(&["t="], "RETURN $t AS t", r#"{"t":""}"#);
    let message = folder.run(&["query", "s.knot", "RETURN 1", "--param", "novalue"]).stderr;
    assert!(message.contains("expected name=value, found 'novalue'"), "{message}");
}

#[test]
fn scripts_from_standard_input() {
    let folder = Folder::new();
    folder.make_store(GRAPH);
    let script = "// A comment; with a semicolon.\nCREATE (:N {s: 'a;b'});\nMATCH (n:N) RETURN n.s;\nMATCH (p:P) RETURN count(p)";
    assert_eq!(folder.run_with(&["query", "s.knot"], script).ok(), "n.s\na;b\ncount(p)\n2\n");
    assert_eq!(folder.run_with(&["query", "s.knot", "-"], "RETURN 1 AS x").ok(), "x\n1\n");
    // The first error ends the script; what was done before stays done.
    let output = folder.run_with(&["query", "s.knot"], "CREATE (:M); RETURN nonsense; CREATE (:M)");
    assert!(output.stderr.contains("SEMANTIC"), "{output:?}");
    output.fails(1);
    assert_eq!(folder.value("MATCH (m:M) RETURN count(m)"), "1");
    // A transaction that is not committed is undone, and the script has failed.
    for arguments in [&["query", "s.knot"][..], &["s.knot"]] {
        let message = folder.run_with(arguments, "BEGIN; CREATE (:M); CREATE (:M);\n").fails(1);
        assert!(message.contains("TRANSACTION_STATE: the input ends in an open transaction"), "{message}");
    }
    folder.run(&["s.knot", "-c", "BEGIN; CREATE (:M)"]).fails(1);
    assert_eq!(folder.value("MATCH (m:M) RETURN count(m)"), "1");
    folder.run_with(&["query", "s.knot"], "BEGIN; CREATE (:M); COMMIT; BEGIN; CREATE (:M); ROLLBACK").ok();
    assert_eq!(folder.value("MATCH (m:M) RETURN count(m)"), "2");
}

#[test]
fn the_shell_runs_scripts_and_commands() {
    let folder = Folder::new();
    let script = ":param n=3\nUNWIND range(1, $n) AS i\nCREATE (:N {i: i});\n:params\n:format jsonl\nMATCH (n:N)\nRETURN sum(n.i) AS s;\n\
                  :begin\nCREATE (:N {i: 10});\n:rollback\nMATCH (n:N) RETURN count(n) AS c;\n:schema\n:help\n:quit\nRETURN 5;\n";
    let text = folder.run_with(&["s.knot"], script).ok();
    for expected in ["$n = 3\n", "{\"s\":6}\n", "{\"c\":3}\n", "N  3\n", ":rollback"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("5\n{"), "nothing runs after :quit");
    // A command that fails ends a script as a statement does.
    for (command, expected) in [
        (":nonsense", "ARGUMENT: line 2, :nonsense: unknown command ':nonsense'"),
        (":param x =>", "ARGUMENT: line 2, :param: expected a parameter and its value"),
        (":commit", "TRANSACTION_STATE: line 2, :commit: "),
        (":format xml", "ARGUMENT: line 2, :format: unknown format 'xml'"),
    ] {
        let message = folder.run_with(&["s.knot"], &format!("\n{command}\nCREATE (:Late);\n")).fails(1);
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(folder.value("MATCH (n:Late) RETURN count(n)"), "0");
}

#[test]
fn errors_of_scripts_say_where_in_the_input() {
    let folder = Folder::new();
    folder.make_store(GRAPH);
    let script = "CREATE (:M);\n\n\nMATCH (n)\nRETRN n;\nRETURN 1;\n";
    for arguments in [&["query", "s.knot"][..], &["s.knot"]] {
        let message = folder.run_with(arguments, script).fails(1);
        assert!(message.contains("SYNTAX: statement 2, line 5: "), "{message}");
        assert!(message.contains(" 5 | RETRN n;\n   | ^^^^^\n"), "{message}");
    }
    // Errors that point nowhere name the statement too, and commands of the shell count as lines.
    let script = ":param x => 1\nCREATE (:U {id: $x});\nCREATE CONSTRAINT FOR (u:U) REQUIRE u.id IS UNIQUE;\n\nCREATE (:U {id: 1});\n";
    let output = folder.run_with(&["s.knot"], script);
    assert!(output.stderr.contains("CONSTRAINT: statement 3, line 5: "), "{output:?}");
    let mut command = folder.command(&["query", "s.knot"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("the command starts");
    let mut input = child.stdin.take().expect("it is piped");
    std::io::Write::write_all(&mut input, b"RETURN 1;\nRETURN 'caf\xE9';\n").expect("the command reads");
    drop(input);
    let message = crate::command::finish(child).fails(1);
    assert!(message.contains("the standard input is not UTF-8, from line 2 on"), "{message}");
}

#[test]
fn a_mistyped_command_makes_no_store() {
    let folder = Folder::new();
    folder.make_store(GRAPH);
    for (arguments, expected) in [
        (&["inof"][..], "did you mean info?"),
        (&["inof", "s.knot"], "did you mean info?"),
        (&["exprot", "s.knot", "out"], "did you mean export?"),
        (&["stats"], "there is no command and no store 'stats'"),
        (&["typo", "-c", "MATCH (n) RETURN n"], "the name of a new store ends in .knot"),
    ] {
        let message = folder.run(arguments).fails(2);
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert!(!folder.join(arguments[0]).exists(), "{arguments:?}");
    }
    // A store that is there may have any name.
    std::fs::rename(folder.join("s.knot"), folder.join("stats")).expect("a folder can be renamed");
    folder.run(&["stats", "-c", "RETURN 1"]).ok();
}

#[test]
fn parameters_of_the_shell_are_expressions() {
    let folder = Folder::new();
    let script = ":param x => 8\n:param y: $x + 1\n:param {a: [1, 2], b: 'two'}\n:param d=date(\"2020-01-01\")\n\
                  :param w=Ada\n:param j={\"k\": 1}\n:param x\n:params\n";
    let message = folder.run_with(&["s.knot"], ":param ?\n").fails(1);
    assert!(message.contains("expected a parameter and its value, found '?'"), "{message}");
    assert_eq!(
        folder.run_with(&["s.knot"], script).ok(),
        "$a = [1, 2]\n$b = 'two'\n$d = 2020-01-01\n$j = {k: 1}\n$w = 'Ada'\n$y = 9\n"
    );
    let message = folder.run(&["s.knot", "-c", "RETURN $x", "--param", "x=12345678901234567890"]).fails(1);
    assert!(message.contains("larger than a 64-bit integer"), "{message}");
}

#[test]
fn null_is_told_from_an_empty_text() {
    let folder = Folder::new();
    folder.make_store(GRAPH);
    let query = "UNWIND [[null, ''], ['', null]] AS r RETURN r[0] AS a, r[1] AS b";
    assert_eq!(folder.run(&["query", "s.knot", query]).ok(), "a,b\n,\"\"\n\"\",\n");
    assert_eq!(folder.run(&["query", "s.knot", query, "--null", "NULL"]).ok(), "a,b\nNULL,\"\"\n\"\",NULL\n");
    let named = "UNWIND [null, 'NULL'] AS n RETURN n";
    assert_eq!(folder.run(&["query", "s.knot", named, "--null", "NULL"]).ok(), "n\nNULL\n\"NULL\"\n");
    folder.run(&["query", "s.knot", &format!("COPY ({query}) TO 'x.csv'")]).ok();
    folder.run(&["query", "s.knot", "COPY X FROM 'x.csv' (skip_bad = 'bad.csv')"]).ok();
    assert_eq!(folder.value("MATCH (x:X) RETURN collect([x.a, x.b])"), "\"[['', null]]\"");
}

#[test]
fn output_that_nobody_reads_is_no_error() {
    let folder = Folder::new();
    folder.make_store("RETURN 1");
    let mut child =
        folder.command(&["query", "s.knot", "UNWIND range(1, 1000000) AS x RETURN x"]).spawn().expect("it starts");
    drop(child.stdout.take());
    let output = crate::command::finish(child);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(!output.stderr.contains("panicked"), "{output:?}");
}
