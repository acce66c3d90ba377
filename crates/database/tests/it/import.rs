//! Files into stores and back: every format, appending, duplicates, bad rows, memory, round trips.

use std::fmt::Write as _;
use std::path::PathBuf;

use database::export::{ExportFormat, export};
use database::import::{
    EdgeFile, FileFormat, ImportPlan, ImportProgress, ImportSummary, NodeFile, OnBadRow, OnDuplicate, ReadOptions,
};
use database::{Config, Database, Error, Interrupt, Parameters};

use crate::engine::answer_of;
use testing::Folder;

#[path = "import_edge_keys.rs"]
mod edge_keys;
#[path = "import_formats.rs"]
mod formats;
#[path = "import_keys.rs"]
mod keys;
#[path = "import_round_trip.rs"]
mod round_trip;

/// A store and the folder that its files are written into.
struct Subject {
    folder: Folder,
    database: Database,
}

impl Subject {
    fn new() -> Subject {
        let folder = Folder::new();
        let database = Database::open(&folder.join("store.knot"), Config::default()).expect("a store can be opened");
        Subject { folder, database }
    }

    fn import(&self, plan: &ImportPlan) -> Result<ImportSummary, Error> {
        self.database.import(plan, &ImportProgress::default(), &Interrupt::new())
    }

    /// Runs statements; each must give the rows that stand beside it.
    fn check(&self, steps: &[(&str, &str)]) {
        for (text, expected) in steps {
            assert_eq!(self.rows(text), *expected, "{text}");
        }
    }

    fn rows(&self, text: &str) -> String {
        match answer_of(&mut self.database.session(), text, &Parameters::default()) {
            Ok(answer) => answer.rows.iter().map(|row| row.join(",")).collect::<Vec<_>>().join("; "),
            Err(error) => error.to_string(),
        }
    }

    fn check_files(&self) {
        let path = self.folder.join("store.knot");
        let problems = database::check(&path, &Interrupt::new()).expect("a store can be checked while it is open");
        assert!(problems.is_empty(), "{problems:?}");
    }
}

/// A plan for files of nodes with a label, and files of edges with a type or `TYPE:Source->Target`.
fn plan(nodes: &[(&str, PathBuf)], edges: &[(&str, PathBuf)]) -> ImportPlan {
    let node = |(label, path): &(&str, PathBuf)| NodeFile {
        path: path.clone(),
        labels: label.split(':').filter(|label| !label.is_empty()).map(str::to_string).collect(),
        ..NodeFile::default()
    };
    let edge = |(name, path): &(&str, PathBuf)| {
        let (edge_type, ends) = name.split_once(':').unwrap_or((name, ""));
        let ends = ends.split_once("->");
        EdgeFile {
            path: path.clone(),
            edge_type: (!edge_type.is_empty()).then(|| edge_type.to_string()),
            source_label: ends.map(|(source, _)| source.to_string()),
            target_label: ends.map(|(_, target)| target.to_string()),
            ..EdgeFile::default()
        }
    };
    ImportPlan {
        nodes: nodes.iter().map(node).collect(),
        edges: edges.iter().map(edge).collect(),
        threads: 2,
        ..ImportPlan::default()
    }
}

const PEOPLE: &str = "id,name,age\n1,Ada,36\n2,Bela,\n3,\"Cyd, the third\",41\n";
const KNOWS: &str = "source,target,since\n1,2,2001\n2,3,2002\n1,2,2003\n3,3,\n";

fn people() -> Subject {
    let subject = Subject::new();
    let nodes = subject.folder.write("people.csv", PEOPLE);
    let edges = subject.folder.write("knows.csv", KNOWS);
    let summary = subject.import(&plan(&[("Person", nodes)], &[("KNOWS", edges)])).expect("the files are right");
    assert_eq!((summary.nodes_created, summary.edges_created, summary.rows_skipped), (3, 4, 0));
    subject
}

const ALL_EDGES: &str = "MATCH (a)-[k]->(b) RETURN a.id, k.since, b.id ORDER BY a.id, b.id, k.since";

#[test]
fn plain_csv_is_mapped_by_custom() {
    let subject = people();
    subject.check(
        &[
            (
                "MATCH (p:Person) RETURN p.id, p.name, p.age ORDER BY p.id",
                "1,'Ada',36; 2,'Bela',null; 3,'Cyd, the third',41",
            ),
            (ALL_EDGES, "1,2001,2; 1,2003,2; 2,2002,3; 3,null,3"),
            (
                "MATCH (p:Person {id: 2})<-[k:KNOWS]-(q) RETURN q.name, k.since ORDER BY k.since",
                "'Ada',2001; 'Ada',2003",
            ),
            ("SHOW CONSTRAINTS YIELD *", &subject.rows("SHOW CONSTRAINTS YIELD *")),
            ("CREATE (:Person {id: 1})", "CONSTRAINT: a node with the label Person and id = 1 exists already"),
        ][..3],
    );
    assert!(subject.rows("CREATE (:Person {id: 1})").starts_with("CONSTRAINT"), "the key is unique from here on");
    subject.check_files();
}

#[test]
fn importing_into_a_store_appends() {
    let subject = people();
    subject.check(&[("MATCH (p:Person {id: 1}) SET p.name = 'Ada L.' CREATE (:Other)-[:X]->(p)", "")]);
    let nodes = subject.folder.write("more.csv", "id,name,city\n4,Dan,Oslo\n5,Eve,Rome\n");
    let edges = subject.folder.write("more_edges.csv", "source,target,since\n4,1,2010\n1,5,2011\n5,4,2012\n2,3,2013\n");
    let summary = subject.import(&plan(&[("Person", nodes)], &[("KNOWS", edges)])).expect("the files are right");
    assert_eq!((summary.nodes_created, summary.edges_created), (2, 4));
    subject.check(&[
        (
            "MATCH (p:Person) RETURN p.name, p.city ORDER BY p.id",
            "'Ada L.',null; 'Bela',null; 'Cyd, the third',null; 'Dan','Oslo'; 'Eve','Rome'",
        ),
        (
            "MATCH (a:Person)-[k]->(b) RETURN a.id, k.since, b.id ORDER BY a.id, b.id, k.since",
            "1,2001,2; 1,2003,2; 1,2011,5; 2,2002,3; 2,2013,3; 3,null,3; 4,2010,1; 5,2012,4",
        ),
        ("MATCH (:Other)-[:X]->(p) RETURN p.name", "'Ada L.'"),
        ("MATCH (n) RETURN count(n)", "6"),
    ]);
    // Edges alone, between nodes that the store has.
    let edges = subject.folder.write("last.csv", "from,to\n5,5\n");
    subject.import(&plan(&[], &[("LIKES", edges)])).expect("the nodes are there");
    subject
        .check(&[("MATCH (a)-[:LIKES]->(b) RETURN a.name, b.name", "'Eve','Eve'"), ("MATCH (n) RETURN count(n)", "6")]);
    subject.check_files();
}

#[test]
fn a_duplicate_key_is_an_error_passed_over_or_an_update() {
    let text = "id,name,city\n3,Changed,Paris\n4,Dan,Oslo\n4,Dora,Bern\n";
    for (choice, created, merged, expected) in [
        (OnDuplicate::Skip, 1, 2, "1,'Ada',null; 2,'Bela',null; 3,'Cyd, the third',null; 4,'Dan','Oslo'"),
        (OnDuplicate::Update, 1, 2, "1,'Ada',null; 2,'Bela',null; 3,'Changed','Paris'; 4,'Dora','Bern'"),
    ] {
        let subject = people();
        let nodes = subject.folder.write("again.csv", text);
        let plan = ImportPlan { on_duplicate: choice, ..plan(&[("Person", nodes)], &[]) };
        let summary = subject.import(&plan).expect("duplicates are allowed");
        assert_eq!((summary.nodes_created, summary.nodes_merged), (created, merged), "{choice:?}");
        subject.check(&[("MATCH (p:Person) RETURN p.id, p.name, p.city ORDER BY p.id", expected)]);
        subject.check(&[
            ("MATCH (p:Person {id: 3}) RETURN count(p)", "1"),
            ("MATCH (p {id: 1})-->(q) RETURN count(q)", "2"),
        ]);
        subject.check_files();
    }
    let subject = people();
    let nodes = subject.folder.write("again.csv", text);
    let error = subject.import(&plan(&[("Person", nodes)], &[])).expect_err("the key 3 is taken");
    let message = error.message();
    assert!(message.contains("again.csv: line 2: column 'id':") && message.contains('3'), "{message}");
    subject
        .check(&[("MATCH (p:Person) RETURN count(p)", "3"), ("MATCH (p {id: 3}) RETURN p.name", "'Cyd, the third'")]);
}

/// A key that is no property has no name but that of its column.
#[test]
fn a_key_that_is_taken_is_told_with_the_column_of_the_file() {
    for (header, column) in [(":ID,name", ":ID"), (":ID(Person),name", ":ID(Person)"), ("name,id:ID", "id:ID")] {
        let subject = Subject::new();
        let nodes = subject.folder.write("twice.csv", format!("{header}\n1,1\n2,2\n1,1\n"));
        let error = subject.import(&plan(&[("Person", nodes)], &[])).expect_err("the key 1 comes twice");
        let place = format!("twice.csv: line 4: column '{column}': ");
        assert!(error.message().contains(&place), "{}", error.message());
        assert!(error.remedy().contains("--on-duplicate"), "{}", error.remedy());
    }
}

#[test]
fn properties_of_many_chunks_stay_with_their_edges() {
    const NODES: u64 = 1_000;
    let text_of = |source: u64, target: u64| format!("text {}", (source * 7 + target * target) % 13);
    let (mut nodes, mut csv, mut json) = (String::from("id\n"), String::from("source,target,s,n\n"), String::new());
    (0..NODES).for_each(|id| writeln!(nodes, "{id}").expect("a text takes all"));
    for (source, target) in
        (0..NODES).flat_map(|source| (0..90).map(move |step| (source, (source + step * step) % NODES)))
    {
        let text = text_of(source, target);
        writeln!(csv, "{source},{target},{text},{}", source + target).expect("a text takes all");
        writeln!(json, "{{\"source\":{source},\"target\":{target},\"s\":\"{text}\"}}").expect("a text takes all");
    }
    assert!(csv.len() > 1 << 20, "there is more than a chunk");
    let subject = Subject::new();
    let nodes = subject.folder.write("nodes.csv", nodes);
    let edges = [("C", subject.folder.write("edges.csv", csv)), ("J", subject.folder.write("edges.jsonl", json))];
    let summary = subject.import(&plan(&[("P", nodes)], &edges)).expect("the files are right");
    assert_eq!(summary.edges_created, 2 * NODES * 90);
    let wrong = "WHERE r.s <> 'text ' + toString((a.id * 7 + b.id * b.id) % 13) RETURN count(r)";
    for edge_type in ["C", "J"] {
        subject.check(&[(&format!("MATCH (a:P)-[r:{edge_type}]->(b:P) {wrong}"), "0")]);
    }
    subject.check(&[("MATCH (a:P)-[r:C]->(b:P) WHERE r.n <> a.id + b.id RETURN count(r)", "0")]);
}

/// Bad rows of each kind, with the line, the column and a word of the reason.
const BAD_EDGES: &str = "source,target,since:int\n1,2,2001\n1,9,2002\n,2,2003\n1,2\n2,3,soon\n3,1,2004\n";

#[test]
fn a_bad_row_stops_the_import_and_leaves_the_store_as_it_was() {
    for (text, place) in [
        ("source,target\n1,2\n1,9\n", "line 3: column 'target': "),
        ("source,target\n1,2\n,2\n", "line 3: column 'source': "),
        ("source,target\n1,2\n1,2,3\n", "line 3: "),
        ("source,target\n1,2\n\"1,2\n", "line 3: "),
    ] {
        let subject = people();
        let edges = subject.folder.write("bad.csv", text);
        let nodes = subject.folder.write("more.csv", "id,name\n7,Gus\n");
        let outcome = subject.import(&plan(&[("Person", nodes)], &[("KNOWS", edges)]));
        let message = outcome.expect_err(text).message().to_string();
        assert!(message.contains(&format!("bad.csv: {place}")), "{message}");
        subject
            .check(&[("MATCH (p:Person) RETURN count(p)", "3"), (ALL_EDGES, "1,2001,2; 1,2003,2; 2,2002,3; 3,null,3")]);
        subject.check(&[("CREATE (:Person {id: 8})", ""), ("MATCH (p:Person {id: 8}) RETURN count(p)", "1")]);
        subject.check_files();
    }
}

#[test]
fn bad_rows_can_be_left_out_and_are_written_down() {
    let subject = people();
    let edges = subject.folder.write("bad.csv", BAD_EDGES);
    let written = subject.folder.join("bad_rows.csv");
    let mut plan = plan(&[], &[("LIKES", edges)]);
    plan.on_bad_row = OnBadRow::Skip(written.clone());
    plan.read.types = vec![("since".into(), database::import::FieldType::Int)];
    let summary = subject.import(&plan).expect("bad rows are left out");
    assert_eq!((summary.edges_created, summary.rows_skipped), (2, 4));
    subject.check(&[("MATCH (a)-[l:LIKES]->(b) RETURN a.id, l.since, b.id ORDER BY l.since", "1,2001,2; 3,2004,1")]);
    let text = std::fs::read_to_string(written).expect("bad rows were written");
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.remove(0), "file,line,column,reason,text");
    lines.sort_unstable_by_key(|line| line.rsplit("bad.csv,").next().map(str::to_string));
    let expect = [("3,target", "9"), ("4,source", ""), ("5,", "1,2"), ("6,since", "soon")];
    assert_eq!(lines.len(), expect.len(), "{text}");
    for (line, (place, word)) in lines.iter().zip(expect) {
        let (_, rest) = line.split_once("bad.csv,").expect("a bad row names its file");
        assert!(rest.starts_with(place) && rest.contains(word), "{line}");
    }
}

#[test]
fn a_broken_line_of_a_million_is_named() {
    let subject = Subject::new();
    let mut text = String::from("id,value:int\n");
    for id in 1..=1_001_000 {
        // The header is line 1, so line 1,000,000 holds the row 999,999.
        let value = if id == 999_999 { "broken" } else { "7" };
        let _ = writeln!(text, "{id},{value}");
    }
    let mut plan = plan(&[("N", subject.folder.write("large.csv", text))], &[]);
    plan.read.types = vec![("value".into(), database::import::FieldType::Int)];
    let message = subject.import(&plan).expect_err("a line is broken").message().to_string();
    let place = "large.csv: line 1000000: column 'value:int': ";
    let is_named = message.contains(place) || message.contains("large.csv: line 1000000: column 'value': ");
    assert!(is_named && message.contains("broken"), "{message}");
    subject.check(&[("MATCH (n) RETURN count(n)", "0")]);
    plan.on_bad_row = OnBadRow::Skip(subject.folder.join("bad_rows.csv"));
    let summary = subject.import(&plan).expect("the bad row is left out");
    assert_eq!((summary.nodes_created, summary.rows_skipped), (1_000_999, 1));
    subject.check(&[("MATCH (n:N {id: 999998})  RETURN n.id", "999998"), ("MATCH (n:N {id: 999999}) RETURN n.id", "")]);
}

/// A graph with skew, parallel edges and texts, as two CSV files.
fn larger_files(folder: &Folder) -> (PathBuf, PathBuf) {
    let mut random = testing::random::SeededRandom::new(11);
    let (mut nodes, mut edges) = (String::from("id,name,score\n"), String::from("source,target,weight,note\n"));
    for id in 0..20_000 {
        let _ = writeln!(nodes, "k{id},name {},{}.5", id % 977, id % 31);
    }
    for number in 0..150_000_u64 {
        let (a, b) = (random.below(random.clone().below(20_000) + 1), random.below(20_000));
        let _ = writeln!(edges, "k{a},k{b},{},{}", number % 1000, if number % 3 == 0 { "x" } else { "" });
    }
    (folder.write("nodes.csv", nodes), folder.write("edges.csv", edges))
}

#[test]
fn little_memory_and_one_thread_give_the_same_store() {
    let digest = |memory_bytes: Option<usize>, threads: usize| {
        let subject = Subject::new();
        let (nodes, edges) = larger_files(&subject.folder);
        let plan = ImportPlan { memory_bytes, threads, ..plan(&[("N", nodes)], &[("E", edges)]) };
        let summary = subject.import(&plan).expect("the files are right");
        assert_eq!((summary.nodes_created, summary.edges_created), (20_000, 150_000));
        subject.check_files();
        [
            "MATCH (n:N) RETURN count(n), count(DISTINCT n.name), sum(n.score), min(n.id), max(n.id)",
            "MATCH (a)-[e:E]->(b) RETURN count(e), sum(e.weight), count(e.note)",
            "MATCH (a:N)-[e:E]->(b) WITH a.id AS a, count(e) AS c, sum(e.weight) AS w RETURN a, c, w ORDER BY c DESC, a LIMIT 20",
            "MATCH (a:N)<-[e:E]-(b) WITH a.id AS a, count(e) AS c, sum(e.weight) AS w RETURN a, c, w ORDER BY c DESC, a LIMIT 20",
            "MATCH (a:N {id: 'k7'})-[e:E]-(b) RETURN b.id, e.weight, e.note ORDER BY b.id, e.weight, e.note",
        ]
        .map(|text| subject.rows(text))
    };
    let expected = digest(None, 2);
    assert!(expected[0].starts_with("20000,977,"), "{}", expected[0]);
    assert_eq!(digest(Some(64 << 20), 2), expected);
    assert_eq!(digest(Some(64 << 20), 1), expected);
    let subject = Subject::new();
    let (nodes, _) = larger_files(&subject.folder);
    let tiny = ImportPlan { memory_bytes: Some(1 << 20), ..plan(&[("N", nodes)], &[]) };
    assert!(subject.import(&tiny).expect_err("that is too little").message().contains("64 MiB"));
}

#[test]
fn a_cancelled_import_leaves_the_store_as_it_was() {
    let subject = people();
    let (nodes, edges) = larger_files(&subject.folder);
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let plan = plan(&[("N", nodes)], &[("E", edges)]);
    let outcome = subject.database.import(&plan, &ImportProgress::default(), &interrupt);
    assert_eq!(outcome.expect_err("it was cancelled").code(), database::ErrorCode::Cancelled);
    subject.check(&[("MATCH (n) RETURN count(n)", "3")]);
    subject.check_files();
}

/// All nodes and edges of a store as text, sorted.
fn content(subject: &Subject, label: &str) -> Vec<String> {
    let nodes = subject.rows(&format!("MATCH (n{label}) RETURN n"));
    let edges = subject.rows(&format!("MATCH (a{label})-[r]->(b{label}) RETURN a, r, b"));
    let mut rows: Vec<String> = nodes.split("; ").chain(edges.split("; ")).map(str::to_string).collect();
    rows.sort();
    rows
}

const AWKWARD: &[&str] = &[
    "CREATE (:A {n: 1, s: 'comma, \"quote\" and\nline', f: 1.5, b: true, d: date('2024-02-29')})",
    "CREATE (:A:B {n: -9223372036854775808, l: [1, 2], t: ['x', 'y']})",
    "CREATE (:C {s: ' spaces ', f: 1e300, when: localdatetime('2024-02-29T13:05:00')})",
    "CREATE ({free: 'no label'})",
    "CREATE (:A {s: '007', n: 0})",
    "MATCH (a:A), (c:C) CREATE (a)-[:R {w: 1.25, note: 'x;y'}]->(c)-[:`ODD TYPE`]->(a)",
    "MATCH (a:A {n: 1}) CREATE (a)-[:R]->(a), (a)-[:R]->(a)",
];

#[test]
fn what_is_exported_can_be_imported() {
    for format in [ExportFormat::Csv, ExportFormat::JsonLines] {
        let subject = Subject::new();
        AWKWARD.iter().for_each(|text| subject.check(&[(text, "")]));
        let folder = subject.folder.join("exported");
        let view = subject.database.store().read().expect("a snapshot can be taken");
        let summary = export(&*view, &folder, format, &Interrupt::new()).expect("a store can be exported");
        assert_eq!((summary.nodes, summary.edges), (5, 8));
        assert!(export(&*view, &folder, format, &Interrupt::new()).is_err(), "a folder is not written over");
        let copy = Subject::new();
        let of_kind = |kind: &str| {
            let files = summary
                .files
                .iter()
                .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(kind)));
            files.map(|path| ("", path.clone())).collect::<Vec<_>>()
        };
        copy.import(&plan(&of_kind("nodes"), &of_kind("edges"))).expect("what was exported can be imported");
        let expected = content(&subject, "");
        assert_eq!(content(&copy, ""), expected, "{format:?}");
        copy.check_files();
    }
}

#[test]
fn options_say_what_the_header_does_not() {
    let subject = Subject::new();
    let nodes = subject.folder.write("a.txt", "7|x|1\n8|y|2\n");
    let mut plan = plan(&[("A:B", nodes)], &[]);
    plan.read = ReadOptions {
        format: Some(FileFormat::Csv),
        header: Some(vec!["code".into(), "name".into(), "size".into()]),
        types: vec![("size".into(), database::import::FieldType::String)],
        ..ReadOptions::default()
    };
    plan.nodes[0].key = Some("name".into());
    subject.import(&plan).expect("the file is right");
    subject.check(&[(
        "MATCH (n:A:B) RETURN n ORDER BY n.code",
        "(:A:B {code: 7, name: 'x', size: '1'}); (:A:B {code: 8, name: 'y', size: '2'})",
    )]);
    plan.nodes[0].key = Some("nothing".into());
    let message = subject.import(&plan).expect_err("there is no such column").message().to_string();
    assert!(message.contains("a.txt") && message.contains("no column 'nothing'"), "{message}");
}

#[test]
fn values_of_time_survive_csv() {
    let subject = Subject::new();
    let text = "CREATE (:T {d: date('-0044-03-15'), l: localtime('23:59:59.999999999'), t: time('12:00+01:00'), \
                m: localdatetime('1582-10-15T07:30'), z: datetime('2024-03-31T03:30[Europe/Berlin]'), \
                p: duration('P-1Y2M3DT-4.5S'), zs: [datetime('2024-01-01T00:00Z'), datetime('2024-01-01T00:00-05:00')]})";
    subject.check(&[(text, "")]);
    let folder = subject.folder.join("exported");
    let view = subject.database.store().read().expect("a snapshot can be taken");
    let summary = export(&*view, &folder, ExportFormat::Csv, &Interrupt::new()).expect("a store can be exported");
    let copy = Subject::new();
    let files: Vec<_> = summary.files.iter().map(|path| ("", path.clone())).collect();
    copy.import(&plan(&files, &[])).expect("what was exported can be imported");
    let query = "MATCH (n:T) RETURN n, valueType(n.d), valueType(n.l), valueType(n.t), valueType(n.m), valueType(n.z), \
                 valueType(n.p), n.z.timezone";
    assert_eq!(copy.rows(query), subject.rows(query));
    assert!(copy.rows(query).contains("ZONED DATETIME"), "{}", copy.rows(query));
}
