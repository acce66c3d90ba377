//! Each verb does what it says.

use crate::command::Folder;

fn import_people(folder: &Folder) {
    folder.write("people.csv", "id,name\n1,Ada\n2,Bela\n");
    folder.write("knows.csv", "source,target,since\n1,2,2001\n2,1,2002\n");
    let output = folder.run(&["import", "s.knot", "--nodes", "Person=people.csv", "--edges", "KNOWS=knows.csv"]);
    assert!(output.stderr.contains("2 nodes, 2 edges"), "{output:?}");
    assert_eq!(output.ok(), "", "an import prints nothing to standard output");
}

#[test]
fn import_then_info_check_and_query() {
    let folder = Folder::new();
    import_people(&folder);
    assert_eq!(folder.value("MATCH (:Person {name: 'Ada'})-[k:KNOWS]->(p) RETURN p.name + ' ' + k.since"), "Bela 2001");
    let info = folder.run(&["info", "s.knot"]).ok();
    for expected in ["2 nodes, 2 edges", "Person  2", "KNOWS  2", "since", "REQUIRE n.`id` IS UNIQUE"] {
        assert!(info.contains(expected), "{expected} in {info}");
    }
    let json = folder.run(&["info", "s.knot", "--json"]).ok();
    for expected in ["\"nodes\": 2", "\"Person\": 2", "\"KNOWS\": 2", "FOR (n:`Person`) REQUIRE n.`id` IS UNIQUE"] {
        assert!(json.contains(expected), "{expected} in {json}");
    }
    assert!(folder.run(&["check", "s.knot"]).ok().contains("every checksum and cross-reference is right"));
}

#[test]
fn check_finds_a_flipped_bit_in_every_file() {
    let folder = Folder::new();
    import_people(&folder);
    let mut damaged = 0;
    for entry in std::fs::read_dir(folder.join("s.knot")).expect("the store is a folder") {
        let path = entry.expect("a folder can be read on").path();
        let bytes = std::fs::read(&path).expect("a file can be read");
        let is_data = path
            .extension()
            .is_some_and(|extension| ["nodes", "edges", "props", "keys"].iter().any(|e| extension == *e));
        if !is_data {
            continue;
        }
        damaged += 1;
        let mut wrong = bytes.clone();
        let middle = wrong.len() / 2;
        wrong[middle] ^= 0x10;
        std::fs::write(&path, &wrong).expect("a file can be written");
        let output = folder.run(&["check", "s.knot"]);
        assert!(output.code == Some(1) && output.stderr.contains("CORRUPT"), "{}: {output:?}", path.display());
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        assert!(format!("{}{}", output.stdout, output.stderr).contains(&name), "{name} in {output:?}");
        std::fs::write(&path, &bytes).expect("a file can be written");
    }
    assert!(damaged >= 4, "found {damaged} files");
    folder.run(&["check", "s.knot"]).ok();
}

#[test]
fn export_and_import_again() {
    let folder = Folder::new();
    import_people(&folder);
    for format in ["csv", "jsonl"] {
        let out = format!("out-{format}");
        let output = folder.run(&["export", "s.knot", &out, "--format", format]);
        assert!(output.stderr.contains("2 nodes and 2 edges"), "{output:?}");
        assert_eq!(output.ok(), "");
        let copy = format!("copy-{format}.knot");
        let files = [format!("{out}/nodes-Person.{format}"), format!("{out}/edges-KNOWS.{format}")];
        folder.run(&["import", &copy, &files[0], &files[1]]).ok();
        let query = "MATCH (a:Person)-[k:KNOWS]->(b) RETURN a, k, b ORDER BY a.id";
        let rows = |store: &str| folder.run(&["query", store, query]).ok();
        assert_eq!(rows(&copy), rows("s.knot"));
        folder.run(&["check", &copy]).ok();
    }
    let message = folder.run(&["export", "s.knot", "out-csv"]).fails(1);
    assert!(message.contains("not empty"), "{message}");
}

#[test]
fn an_export_carries_its_schema() {
    let folder = Folder::new();
    import_people(&folder);
    for statement in [
        "CREATE CONSTRAINT `odd name` FOR (p:Person) REQUIRE (p.name, p.id) IS NODE KEY",
        "CREATE CONSTRAINT typed FOR (p:Person) REQUIRE p.name IS :: STRING",
        "CREATE INDEX by_since FOR ()-[k:KNOWS]-() ON (k.since)",
        "CREATE SORT KEY FOR ()-[k:KNOWS]-() ON (k.`si``nce`)",
        "CREATE REL TABLE LIKES (FROM Person TO Person, FROM Person TO `A``B`, weight DOUBLE)",
    ] {
        folder.run(&["query", "s.knot", statement]).ok();
    }
    let rules = |store: &str| {
        let shown = ["SHOW CONSTRAINTS YIELD *", "SHOW INDEXES YIELD *"];
        let mut lines: Vec<String> = Vec::new();
        for query in shown {
            lines.extend(folder.run(&["query", store, query, "-m", "jsonl"]).ok().lines().map(str::to_owned));
        }
        let info = folder.run(&["info", store]).ok();
        lines.extend(info.lines().filter(|line| line.contains("SORT KEY") || line.contains("si`")).map(str::to_owned));
        // Numbers are given in the order in which rules are made.
        let mut lines: Vec<String> = lines.iter().map(|line| without_id(line)).collect();
        lines.sort();
        lines
    };
    for format in ["csv", "jsonl"] {
        let (out, copy) = (format!("out-{format}"), format!("copy-{format}.knot"));
        folder.run(&["export", "s.knot", &out, "--format", format]).ok();
        folder.run(&["import", &copy, &out]).ok();
        assert_eq!(rules(&copy), rules("s.knot"));
        folder.run(&["check", &copy]).ok();
    }
    // A schema without a graph is one too.
    folder.run(&["query", "s.knot", "MATCH (n) DETACH DELETE n"]).ok();
    folder.run(&["export", "s.knot", "alone"]).ok();
    folder.run(&["import", "alone.knot", "alone"]).ok();
    assert_eq!(rules("alone.knot"), rules("s.knot"));
}

#[test]
fn an_export_into_a_store_says_what_was_done() {
    let folder = Folder::new();
    import_people(&folder);
    folder.run(&["query", "s.knot", "CREATE CONSTRAINT named FOR (p:Person) REQUIRE p.name IS UNIQUE"]).ok();
    folder.run(&["export", "s.knot", "out"]).ok();
    // Declarations that are there already are no error; one that fails says that the rest is there.
    folder.run(&["t.knot", "-c", "CREATE CONSTRAINT named FOR (p:Person) REQUIRE p.name IS UNIQUE"]).ok();
    folder.run(&["import", "t.knot", "out"]).ok();
    folder.run(&["u.knot", "-c", "CREATE (:Person {id: 1, name: 'other'})"]).ok();
    let message = folder.run(&["import", "u.knot", "out"]).fails(1);
    assert!(
        message.contains("schema.cypher: statement 1: ") && message.contains("= the nodes and edges are imported"),
        "{message}"
    );
    let count = folder.run(&["query", "u.knot", "MATCH (p:Person) RETURN count(p)"]).ok();
    assert_eq!(count, "count(p)\n3\n");
    // Of a store that would be new nothing is left.
    folder.write("out/schema.cypher", "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.nothing IS NOT NULL;\n");
    let message = folder.run(&["import", "v.knot", "out"]).fails(1);
    assert!(message.contains("= no store was made") && !folder.path().join("v.knot").exists(), "{message}");
}

#[test]
fn a_pipe_is_read_once_or_not_at_all() {
    let folder = Folder::new();
    folder.run_with(&["import", "p.knot", "--nodes", "P=/dev/stdin", "--format", "csv"], "id\n1\n2\n").ok();
    assert_eq!(folder.run(&["query", "p.knot", "MATCH (p:P) RETURN count(p)"]).ok(), "count(p)\n2\n");
    for arguments in [&["import", "q.knot", "--edges", "R:P->P=/dev/stdin"][..], &["import", "q.knot", "/dev/stdin"]] {
        let output = folder.run_with(&[arguments, &["--format", "csv"]].concat(), ":START_ID,:END_ID\na,b\n");
        let message = output.fails(1);
        assert!(message.contains("/dev/stdin: has to be read twice"), "{message}");
        assert!(!folder.path().join("q.knot").exists());
    }
}

/// A row of JSON without its number.
fn without_id(line: &str) -> String {
    let mut row: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    match row.as_object_mut() {
        Some(row) => drop(row.remove("id")),
        None => return line.to_owned(),
    }
    row.to_string()
}

#[test]
fn options_for_one_label() {
    let folder = Folder::new();
    folder.write("a.csv", "code|mails\n1|x,y\n");
    folder.write("b.csv", "2;Oslo\n");
    let import = |more: &[&str]| {
        let usual = ["import", "s.knot", "--nodes", "A=a.csv", "--nodes", "B=b.csv", "--header", "B=id,name"];
        folder.run(&[&usual[..], more].concat())
    };
    import(&["--type", "A=mails:string[]", "--list-delimiter", "A=,", "--delimiter", "B=;", "--key", "A=code"]).ok();
    assert_eq!(folder.value("MATCH (a:A), (b:B) RETURN a.code + size(a.mails) + b.id"), "5");
    for (more, expected) in [
        (&["--key", "Z=id"][..], "--key names the label 'Z', which no file is given for"),
        (&["--type", "Z=id:int"], "--type names the label or type 'Z'"),
        (&["--type", "nothing"], "run knot import --help"),
    ] {
        let message = import(more).fails(2);
        assert!(message.contains(expected), "{message}");
    }
    let message = import(&["--type", "nothing:int"]).fails(1);
    assert!(message.contains("there is no column 'nothing' to give a type"), "{message}");
}

#[test]
fn an_import_that_is_repeated_says_what_it_makes_again() {
    let folder = Folder::new();
    import_people(&folder);
    let again = ["import", "s.knot", "--nodes", "Person=people.csv", "--edges", "KNOWS=knows.csv"];
    let message = folder.run(&again).fails(1);
    assert!(message.contains("--on-duplicate skip or update"), "{message}");
    let output = folder.run(&[&again[..], &["--on-duplicate", "skip"]].concat());
    assert!(output.stderr.contains("besides the 2 that are there"), "{output:?}");
    assert!(output.stderr.contains("0 nodes (2 there already), 2 edges"), "{output:?}");
    output.ok();
    // With a key relationships are known again, those that came twice before among them.
    let keyed = |key: &str| folder.run(&[&again[..], &["--on-duplicate", "skip", "--edge-key", key]].concat());
    let output = keyed("KNOWS=since");
    assert!(output.stderr.contains("0 edges (2 there already)") && !output.stderr.contains("note"), "{output:?}");
    output.ok();
    folder.write("knows.csv", "source,target,since\n1,2,2001\n2,1,2009\n2,1,2009\n");
    assert!(keyed("KNOWS").stderr.contains("0 edges (3 there already)"));
    assert!(keyed("KNOWS=since").stderr.contains("1 edge (2 there already)"));
    assert_eq!(folder.value("MATCH ()-[k:KNOWS]->() RETURN count(k)"), "5");
    keyed("LIKES").fails(1);
    assert!(keyed("KNOWS=weight").fails(1).contains("the key 'weight' of edges of type KNOWS is no column"));
    let edges = &["import", "s.knot", "--edges", "KNOWS=knows.csv", "--edge-key", "KNOWS=since"];
    assert!(folder.run(edges).fails(1).contains("line 2: column 'since': an edge of type KNOWS with this key"));
    let message = folder.run(&[&edges[..], &["--on-duplicate", "update"]].concat()).fails(1);
    assert!(message.contains("is there several times: it is open which to update"), "{message}");
    let copy = "COPY KNOWS FROM 'knows.csv' (edge_key = 'since', on_duplicate = 'skip')";
    assert!(folder.value(copy).ends_with("0,0,3,0"));
}

#[test]
fn import_reports_a_bad_row_and_leaves_nothing() {
    let folder = Folder::new();
    folder.write("people.csv", "id,name\n1,Ada\n1,Again\n");
    let message = folder.run(&["import", "s.knot", "--nodes", "Person=people.csv"]).fails(1);
    assert!(message.contains("people.csv: line 3: column 'id':") && message.contains("--skip-bad"), "{message}");
    assert!(!folder.join("s.knot").exists(), "a store that was made for the import goes with it");
    let arguments = ["import", "s.knot", "--nodes", "Person=people.csv", "--skip-bad", "bad.csv"];
    let output = folder.run(&arguments);
    assert!(output.stderr.contains("1 node,") && output.stderr.contains("1 bad row left out"), "{output:?}");
    let bad = std::fs::read_to_string(folder.join("bad.csv")).expect("bad rows were written");
    assert!(bad.lines().count() == 2 && bad.contains("people.csv,3,id,"), "{bad}");
    assert_eq!(folder.value("MATCH (p) RETURN collect(p.name)"), "['Ada']");
    let message = folder.run(&["import", "s.knot", "--nodes", "Person=missing.csv"]).fails(1);
    assert!(message.starts_with("FILE: ") && message.contains("missing.csv"), "{message}");
    folder.run(&["import", "s.knot", "--nodes", "Person=people.csv", "--on-duplicate", "update"]).ok();
    assert_eq!(folder.value("MATCH (p) RETURN collect(p.name)"), "['Again']");
}

#[test]
fn explain_and_profile_print_a_plan() {
    let folder = Folder::new();
    import_people(&folder);
    let plan = folder.run(&["query", "s.knot", "EXPLAIN MATCH (p:Person {id: 1}) RETURN p.name"]).ok();
    assert!(plan.contains("operator") && plan.contains("estimated rows"), "{plan}");
    let profile = folder.run(&["query", "s.knot", "PROFILE MATCH (p:Person)-->(q) RETURN q.name"]).ok();
    assert!(profile.contains("time (ms)") && profile.contains("'Bela'") | profile.contains("Bela"), "{profile}");
}

#[test]
fn load_csv_reads_rows_into_a_query() {
    let folder = Folder::new();
    folder.make_store("CREATE (:Other)");
    folder.write("people.csv", "\u{feff}id;name;city\n1;Ada;\"Köln; am Rhein\"\n2;;Rom\n");
    let query = "LOAD CSV WITH HEADERS FROM 'people.csv' AS row FIELDTERMINATOR ';' \
                 CREATE (:Person {id: toInteger(row.id), name: row.name, city: row.city})";
    folder.run(&["query", "s.knot", query]).ok();
    let found = folder.value("MATCH (p:Person) RETURN collect([p.id, coalesce(p.name, '-'), p.city])");
    assert!(found.contains("[[1, 'Ada', 'Köln; am Rhein'], [2, '-', 'Rom']]"), "{found}");
    folder.write("plain.csv", "a,b\nc\n");
    assert!(folder.value("LOAD CSV FROM 'plain.csv' AS row RETURN collect(row)").contains("[['a', 'b'], ['c']]"));
    let message = folder.run(&["query", "s.knot", "LOAD CSV FROM 'missing.csv' AS row RETURN row"]).fails(1);
    assert!(message.contains("missing.csv: no such file"), "{message}");
}

#[test]
fn copy_there_and_back() {
    let folder = Folder::new();
    import_people(&folder);
    let copy = |statement: &str| folder.run(&["query", "s.knot", statement]);
    for file in ["p.csv", "p.jsonl", "p.parquet"] {
        let out =
            copy(&format!("COPY (MATCH (p:Person) RETURN p.id AS id, p.name AS name, 1.5 AS x) TO '{file}'")).ok();
        assert!(out.contains(file) && out.contains('2'), "{out}");
        let label = file.replace('.', "_");
        copy(&format!("COPY {label} FROM '{file}' (key = 'id')")).ok();
        let found = folder.value(&format!("MATCH (p:{label}) RETURN collect([p.id, p.name, p.x])"));
        assert!(found.contains("[[1, 'Ada', 1.5], [2, 'Bela', 1.5]]"), "{file}: {found}");
    }
    copy("COPY (MATCH (a)-[k:KNOWS]->(b) RETURN a.id AS source, b.id AS target, k.since AS since) TO 'k.csv'").ok();
    copy("COPY LIKES FROM 'k.csv' (from = 'p_csv', to = 'p_jsonl')").ok();
    assert_eq!(folder.value("MATCH (:p_csv)-[l:LIKES]->(:p_jsonl) RETURN sum(l.since)"), "4003");
    // A failed export leaves no file, and keeps the file that was there.
    let message = copy("COPY (UNWIND [1, 0] AS x RETURN 1 / x) TO 'p.csv'").fails(1);
    assert!(message.contains("zero") && message.contains('^'), "{message}");
    assert!(std::fs::read_to_string(folder.join("p.csv")).expect("it is there").contains("Ada"));
    let left = std::fs::read_dir(folder.join(".")).expect("it is a folder");
    assert!(left.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with(".p.csv")));
    for (statement, expected) in [
        ("COPY (RETURN 1) TO 'no/such/x.csv'", "no/such/x.csv"),
        ("COPY (RETURN 1) TO 'x.doc'", "COPY cannot write x.doc"),
        ("COPY Person FROM 'p.csv' (colour = 'red')", "COPY has no option colour here"),
        (
            "COPY (UNWIND range(1, 70000) AS i RETURN CASE WHEN i < 69000 THEN i ELSE 'x' END AS v) TO 'y.parquet'",
            "Parquet needs one type",
        ),
    ] {
        let message = copy(statement).fails(1);
        assert!(message.contains(expected), "{statement}: {message}");
    }
}

/// Real graphs, where they lie beside the repository.
#[test]
fn shared_data_sets() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies in a folder");
    let data = crates.parent().expect("the folder of crates lies in the root").join("../shared/data/ego-facebook");
    let file = data.join("facebook-combined.jlg.csv.zst");
    if !file.exists() {
        println!("not run: there is no {}", file.display());
        return;
    }
    let folder = Folder::new();
    // The first line of the file is no edge.
    let edges = format!("KNOWS={}", file.display());
    let output =
        folder.run(&["import", "s.knot", "--edges", &edges, "--header", "source,target", "--skip-bad", "bad.csv"]);
    assert!(output.stderr.contains("1 bad row left out"), "{output:?}");
    assert_eq!(folder.value("MATCH (n) RETURN count(n)"), "4039");
    assert_eq!(folder.value("MATCH ()-[e]->() RETURN count(e)"), "88234");
    assert_eq!(folder.value("CALL algo.wcc() YIELD component RETURN count(DISTINCT component)"), "1");
    folder.run(&["check", "s.knot"]).ok();
}

/// The page on imports: its files are written, its commands run, and each must succeed.
#[test]
fn the_page_on_imports_runs() {
    let page = include_str!("../../../../docs/import.md");
    let folder = Folder::new();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_knot")).parent().expect("a binary lies in a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let mut commands = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (kind, text) = block.split_once('\n').expect("a block has a first line");
        match kind.split_once(' ') {
            Some(("csv", name)) => drop(folder.write(name, format!("{text}\n"))),
            _ => {
                assert_eq!(kind, "sh");
                for line in text.lines() {
                    commands += 1;
                    let mut command = std::process::Command::new("sh");
                    let output = command.args(["-c", line]).env("PATH", &path).current_dir(folder.path()).output();
                    let output = output.expect("there is a shell");
                    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
                }
            }
        }
    }
    assert_eq!(commands, 12);
    let count = |store: &str| folder.run(&["query", store, "MATCH (a)-[k]->(b) RETURN count(k), sum(k.since)"]).ok();
    assert_eq!(count("lines.knot"), "count(k),sum(k.since)\n3,6006\n");
    assert_eq!(count("copy.knot"), count("lines.knot"));
}

#[test]
fn generated_files_are_imported() {
    let folder = Folder::new();
    let words = ["generate", "barabasi", "-n", "2k", "--seed", "7", "--edge-types", "2", "-o", "graph"];
    let output = folder.run(&words);
    assert!(output.stderr.contains("2000 nodes and 9995 edges in graph"), "{output:?}");
    assert_eq!(output.ok(), "");
    folder.run(&["import", "s.knot", "graph"]).ok();
    assert_eq!(
        folder.value("MATCH (n:Node) WHERE n.age >= 18 AND n.age <= 65 RETURN count(DISTINCT n.number)"),
        "2000"
    );
    assert_eq!(folder.value("MATCH (:Node {id: 1})-[r:LINK_1|LINK_2]->(:Node {id: 0}) RETURN count(r.time)"), "5");
    let again = folder.run(&words).fails(1);
    assert!(again.contains("the folder is not empty"), "{again}");
}

#[test]
fn generated_universities_are_imported() {
    let folder = Folder::new();
    folder.run(&["generate", "lubm", "-n", "4k", "-o", "graph"]).ok();
    folder.run(&["generate", "lubm", "-n", "4k", "-o", "made.knot"]).ok();
    folder.run(&["import", "s.knot", "graph"]).ok();
    let taught = "MATCH (p:Professor)-[:teacherOf]->(:Course)<-[:takesCourse]-(s:UndergraduateStudent) \
                  RETURN count(*), count(DISTINCT s), sum(p.id * s.id), min(p.rank)";
    let of = |store: &str| folder.run(&["query", store, taught]).ok();
    assert!(of("s.knot") == of("made.knot") && of("s.knot").contains("assistant"), "{}", of("s.knot"));
    let refused = folder.run(&["generate", "lubm", "-n", "4k", "-e", "3", "-o", "x"]).fails(2);
    assert!(refused.contains("the edges of universities have types"), "{refused}");
}

#[test]
fn generated_stores_and_properties() {
    let folder = Folder::new();
    let output = folder.run(&[
        "generate", "erdos", "--nodes", "300", "-e", "4", "--property", "rank=zipf:9", "--edge-property", "none", "-o",
        "s.knot",
    ]);
    assert!(output.stderr.contains("300 nodes and 1200 edges in s.knot"), "{output:?}");
    assert_eq!(folder.value("MATCH (n:Node)-[r]->(m) WHERE n.rank < 9 AND n <> m RETURN count(r)"), "1200");
    assert!(folder.run(&["check", "s.knot"]).ok().contains("is right"));
    for (words, expected) in [
        (&["generate", "erdos", "-n", "many", "-o", "x"][..], "'many' is no count"),
        (&["generate", "erdos", "-n", "9", "--property", "a=b", "-o", "x"], "'b' is no distribution"),
        (&["generate", "erdos", "-n", "9", "--property", "a", "-o", "x"], "expected NAME=DISTRIBUTION"),
        (&["generate", "kronecker", "--scale", "4", "--initiator", "1,2", "-o", "x"], "expected four shares"),
        (&["generate", "erdos", "-n", "9", "-e", "9", "-o", "x"], "different others"),
    ] {
        let message = folder.run(words).fails(2);
        assert!(message.contains(expected) && message.contains("run knot generate --help"), "{message}");
    }
    assert!(!folder.join("x").exists());
}
