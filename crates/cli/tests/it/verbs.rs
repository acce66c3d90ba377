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
    // What fails leaves no file, and what was there stays.
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
