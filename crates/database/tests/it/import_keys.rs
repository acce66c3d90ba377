//! Ends of edges are keys of nodes: of one type, in every format, whatever a single row says.

use std::fmt::Write as _;

use super::{Subject, plan};
use database::import::{ImportPlan, ImportProgress, OnBadRow};
use database::load::{EdgeTable, EndKey, OnMissing, TableSource};
use database::{Interrupt, Parameters};
use model::{Column, Value};

/// 998 edges among the nodes 1 to 1,000, and one whose source is no number.
fn edges_with_a_stray() -> String {
    let mut text = String::from("source,target\n");
    (1..=998).for_each(|id| writeln!(text, "{id},{}", id + 2).expect("a text takes all"));
    text + "unknown,5\n"
}

fn numbered(count: i64) -> String {
    let mut text = String::from("id\n");
    (1..=count).for_each(|id| writeln!(text, "{id}").expect("a text takes all"));
    text
}

#[test]
fn a_stray_id_makes_one_row_bad() {
    let json: String = (1..=1000).map(|id| format!("{{\"id\":{id}}}\n")).collect();
    for (name, nodes) in [("n.csv", numbered(1000)), ("n.jsonl", json)] {
        let subject = Subject::new();
        let files = [("P", subject.folder.write(name, nodes))];
        let edges = subject.folder.write("e.csv", edges_with_a_stray());
        let mut plan = plan(&files, &[("R:P->P", edges)]);
        let message = subject.import(&plan).expect_err("a row is bad").message().to_owned();
        let expected = "e.csv: line 1000: column 'source': expected int, found 'unknown' (as the keys of P are)";
        assert!(message.ends_with(expected), "{message}");
        let bad = subject.folder.join("bad.csv");
        plan.on_bad_row = OnBadRow::Skip(bad.clone());
        let summary = subject.import(&plan).expect("the bad row is left out");
        assert_eq!((summary.nodes_created, summary.edges_created, summary.rows_skipped), (1000, 998, 1), "{name}");
        let bad = std::fs::read_to_string(bad).expect("bad rows were written");
        assert!(bad.lines().count() == 2 && bad.trim_end().ends_with("\"unknown,5\""), "{bad}");
        subject.check(&[("MATCH (a:P {id: 1})-[:R*3]->(b) RETURN b.id", "7")]);
    }
}

#[test]
fn ends_without_nodes_are_of_one_type() {
    let subject = Subject::new();
    let stray = subject.folder.write("e.csv", edges_with_a_stray());
    let more = subject.folder.write("f.csv", "source,target\n7,2000\n2000,7\n");
    let plan = plan(&[], &[("R:P->P", stray), ("S:P->P", more)]);
    let progress = ImportProgress::default();
    let summary = subject.database.import(&plan, &progress, &Interrupt::new()).expect("all ends are made");
    // 1 to 1,000, `unknown`, and what only the second file names.
    assert_eq!((summary.nodes_created, summary.edges_created), (1002, 1001));
    let notes = progress.notes.into_inner().expect("no holder of this lock panics");
    assert_eq!(notes, ["the ends of edges among P are not of one type; all are read as string"]);
    subject.check(&[
        ("MATCH (a:P {id: '1'})-[:R*3]->(b) RETURN b.id", "'7'"),
        ("MATCH (a:P {id: '7'})-[:S]->(b)-[:S]->(c) RETURN b.id, c.id", "'2000','7'"),
        ("MATCH (n) WHERE valueType(n.id) STARTS WITH 'INTEGER' RETURN count(n)", "0"),
    ]);
}

#[test]
fn ends_of_several_types_in_one_file_are_texts() {
    let subject = Subject::new();
    let json = "{\"source\": \"1\", \"target\": 2}\n{\"source\": 3, \"target\": 2}\n";
    let files = [
        ("R:P->P", subject.folder.write("e.jsonl", json)),
        ("R:P->P", subject.folder.write("e.csv", "source,target\n1,2\n,9\n")),
    ];
    let on_bad_row = OnBadRow::Skip(subject.folder.join("bad.csv"));
    let summary = subject.import(&ImportPlan { on_bad_row, ..plan(&[], &files) }).expect("three rows are good");
    // The end of a row that lacks the other is no node.
    assert_eq!((summary.nodes_created, summary.edges_created, summary.rows_skipped), (3, 3, 1));
    subject.check(&[("MATCH (n:P) RETURN n.id ORDER BY n.id", "'1'; '2'; '3'")]);
}

#[test]
fn zeros_in_front_are_kept_by_nodes_and_need_not_be_among_the_ends() {
    let nodes = "zip,name\n02134,a\n90210,b\n90211,c\n";
    let edges = "source,target\n90210,90211\n90211,90210\n";
    let subject = Subject::new();
    let files = [("Z", subject.folder.write("z.csv", nodes))];
    let file = subject.folder.write("e.csv", edges);
    subject.import(&plan(&files, &[("NEAR", file)])).expect("all ends are there");
    let expected = "'90210','90211'; '90211','90210'";
    subject.check(&[("MATCH (a:Z)-[:NEAR]->(b) RETURN a.zip, b.zip ORDER BY a.zip", expected)]);
    // The same with nodes that the store has: by an import, and by COPY.
    let file = subject.folder.write("more.csv", edges);
    subject.import(&plan(&[], &[("ALSO:Z->Z", file.clone())])).expect("all ends are there");
    subject.check(&[("MATCH (a:Z)-[:ALSO]->(b) RETURN a.zip, b.zip ORDER BY a.zip", expected)]);
    let copy = format!("COPY THIRD FROM '{}' (from = 'Z', to = 'Z')", file.display());
    subject.database.session().query(&copy, &Parameters::default()).expect("all ends are there");
    subject.check(&[("MATCH (a:Z)-[:THIRD]->(b) RETURN a.zip, b.zip ORDER BY a.zip", expected)]);
    // And in JSON, where each value says its own type.
    let file = subject.folder.write("e.jsonl", "{\"source\": 90210, \"target\": \"02134\"}\n");
    subject.import(&plan(&[], &[("JSON:Z->Z", file)])).expect("all ends are there");
    subject.check(&[("MATCH (a:Z)-[:JSON]->(b) RETURN a.zip, b.zip", "'90210','02134'")]);
}

#[test]
fn files_of_one_label_have_keys_of_one_type() {
    let subject = Subject::new();
    let first = subject.folder.write("a.csv", "id\n1\n2\n");
    let second = subject.folder.write("b.csv", "id\nx3\n");
    let edges = subject.folder.write("e.csv", "source,target\n1,2\n2,1\n");
    let more = subject.folder.write("f.csv", "source,target\nx3,1\n");
    subject.import(&plan(&[("P", first), ("P", second)], &[("R", edges), ("R", more)])).expect("all ends are there");
    subject.check(&[
        ("MATCH (p:P) RETURN p.id ORDER BY p.id", "'1'; '2'; 'x3'"),
        ("MATCH (a)-[:R]->(b) RETURN a.id, b.id ORDER BY a.id", "'1','2'; '2','1'; 'x3','1'"),
    ]);
}

#[test]
fn nothing_but_bad_rows_is_no_success() {
    let subject = Subject::new();
    let nodes = subject.folder.write("n.csv", numbered(3));
    subject.import(&plan(&[("P", nodes)], &[])).expect("the file is right");
    let edges = subject.folder.write("e.csv", "a,b\n8,9\n9,8\n");
    let mut plan = plan(&[], &[("R:P->P", edges)]);
    plan.on_bad_row = OnBadRow::Skip(subject.folder.join("bad.csv"));
    let error = subject.import(&plan).expect_err("no row is good");
    assert_eq!(error.message(), "all 2 rows of edges are bad, and nothing was imported");
    let bad = std::fs::read_to_string(subject.folder.join("bad.csv")).expect("bad rows were written");
    assert!(bad.contains("\"8,9\"") && bad.contains("\"9,8\""), "{bad}");
    plan.on_bad_row = OnBadRow::Stop;
    let error = subject.import(&plan).expect_err("no row is good");
    assert!(error.remedy().contains("columns 'a' and 'b' are taken for the ends"), "{}", error.remedy());
}

#[test]
fn what_is_no_header_and_what_is_no_number() {
    let subject = Subject::new();
    let refused = |name: &str, text: &str, expected: &str| {
        let plan = plan(&[("P", subject.folder.write(name, text))], &[]);
        let error = subject.import(&plan).expect_err(name);
        let message = format!("{} = {}", error.message(), error.remedy());
        assert!(message.contains(expected), "{message}");
    };
    refused(
        "a.csv",
        "6,2,4,1289241911.72836\n6,5,2,1289241941.53378\n",
        "expected the names of the columns, found numbers",
    );
    refused("a.jsonl", "[{\"id\": 1},\n{\"id\": 2}]\n", "jq -c '.[]'");
    refused("b.jsonl", "{\"id\": 1}\n{\"id\": 12345678901234567890123}\n", "is larger than a 64-bit integer");
    refused("b.csv.gz", "id\n1\n", "cannot be unpacked");
    refused("c.txt", "1 2\n2 3\n", "an edge list holds no nodes");
    let mut latin = subject.folder.write("l.csv", b"id,name\n1,caf\xE9\n");
    let message = subject.import(&plan(&[("P", latin)], &[])).expect_err("no UTF-8").message().to_owned();
    assert!(
        message.ends_with("the text is not UTF-8: convert the file, as with iconv -f LATIN1 -t UTF-8"),
        "{message}"
    );
    latin = subject.folder.write("w.csv", "id,v\n1,12345678901234567890\n2,1\n");
    subject.import(&plan(&[("P", latin)], &[])).expect("large numbers are kept as text");
    subject.check(&[("MATCH (p:P) RETURN p.v ORDER BY p.id", "'12345678901234567890'; '1'")]);
}

#[test]
fn a_graph_of_dimacs_has_the_nodes_that_it_states() {
    let subject = Subject::new();
    let file = subject.folder.write("g.gr", "p sp 3 2\na 1 2 5\na 1 9 5\n");
    let mut plan = plan(&[], &[("ROAD", file)]);
    let message = subject.import(&plan).expect_err("node 9 is not stated").message().to_owned();
    assert!(message.contains("line 3: the node 9 is not among the 3"), "{message}");
    plan.on_bad_row = OnBadRow::Skip(subject.folder.join("bad.csv"));
    let summary = subject.import(&plan).expect("the bad row is left out");
    assert_eq!((summary.nodes_created, summary.edges_created), (3, 1));
}

/// Two columns of one piece.
struct Ends([Vec<Value>; 2], Vec<String>);

impl TableSource for Ends {
    fn names(&self) -> &[String] {
        &self.1
    }

    fn row_count(&self) -> usize {
        self.0[0].len()
    }

    fn pieces(&self) -> usize {
        1
    }

    fn piece_rows(&self, _index: usize) -> usize {
        self.row_count()
    }

    fn piece(&self, _index: usize) -> database::Result<(usize, Vec<Column>)> {
        Ok((0, self.0.iter().map(Column::from_values).collect()))
    }
}

#[test]
fn tables_in_memory_name_keys_as_the_store_has_them() {
    let subject = Subject::new();
    let nodes = subject.folder.write("z.csv", "zip\n02134\n90210\n");
    subject.import(&plan(&[("Z", nodes)], &[])).expect("the file is right");
    let end = |column: &str| EndKey { label: "Z".into(), property: "zip".into(), column: column.into() };
    let names = vec!["a".to_owned(), "b".to_owned()];
    let mut table =
        EdgeTable { edge_type: "R".into(), source: end("a"), target: end("b"), on_missing: OnMissing::Error };
    for count in [1, 30_000] {
        let rows = Ends([vec![Value::Int(90210); count], vec![Value::string("02134"); count]], names.clone());
        let summary = subject.database.load_edges(&table, &rows, &Interrupt::new()).expect("the ends are there");
        assert_eq!(summary.edges_created, count as u64);
    }
    subject.check(&[("MATCH (:Z {zip: '90210'})-[r:R]->(:Z {zip: '02134'}) RETURN count(r)", "30001")]);
    // With no nodes both columns must be of one type.
    let new = |column: &str| EndKey { label: "New".into(), property: "id".into(), column: column.into() };
    (table.source, table.target, table.on_missing) = (new("a"), new("b"), OnMissing::Create);
    let rows = Ends([vec![Value::Int(1)], vec![Value::string("1")]], names);
    let message =
        subject.database.load_edges(&table, &rows, &Interrupt::new()).expect_err("two types").message().to_owned();
    assert_eq!(message, "the ends are keys of New, but the sources are int, the targets string");
}

/// The quick start of Kùzu, word for word: four files without a header.
#[test]
fn the_quick_start_of_kuzu() {
    let subject = Subject::new();
    let write = |name: &str, text: &str| subject.folder.write(name, text).display().to_string();
    let user = write("user.csv", "Adam,30\nKarissa,40\nZhang,50\nNoura,25\n");
    let city = write("city.csv", "Waterloo,150000\nKitchener,200000\nGuelph,75000\n");
    let follows = write("follows.csv", "Adam,Karissa,2020\nAdam,Zhang,2020\nKarissa,Zhang,2021\nZhang,Noura,2022\n");
    let lives = write("lives-in.csv", "Adam,Waterloo\nKarissa,Waterloo\nZhang,Kitchener\nNoura,Guelph\n");
    let with_header = write("more.csv", "age,name\n61,Eve\n");
    let with_ends = write("more-lives-in.csv", "src,dst\nEve,Guelph\n");
    let mut session = subject.database.session();
    let mut run =
        |text: &str| session.query(text, &Parameters::default()).map(|_| ()).map_err(|error| error.to_string());
    for text in [
        "CREATE NODE TABLE User(name STRING, age INT64, PRIMARY KEY (name))".to_owned(),
        "CREATE NODE TABLE City(name STRING, population INT64, PRIMARY KEY (name))".to_owned(),
        "CREATE REL TABLE Follows(FROM User TO User, since INT64)".to_owned(),
        "CREATE REL TABLE LivesIn(FROM User TO City)".to_owned(),
        format!("COPY User FROM \"{user}\""),
        format!("COPY City FROM \"{city}\""),
        format!("COPY Follows FROM \"{follows}\""),
        format!("COPY LivesIn FROM \"{lives}\""),
        format!("COPY User FROM '{with_header}' (HEADER true)"),
        format!("COPY LivesIn FROM '{with_ends}'"),
        "CHECKPOINT".to_owned(),
    ] {
        assert_eq!(run(&text), Ok(()), "{text}");
    }
    subject.check(&[
        (
            "MATCH (a:User)-[f:Follows]->(b:User) RETURN a.name, b.name, f.since ORDER BY f.since, b.name",
            "'Adam','Karissa',2020; 'Adam','Zhang',2020; 'Karissa','Zhang',2021; 'Zhang','Noura',2022",
        ),
        ("MATCH (:User)-[l:LivesIn]->(c:City) RETURN count(l), sum(c.population)", "5,650000"),
        ("MATCH (u:User) RETURN sum(u.age)", "206"),
    ]);
    for (text, expected) in [
        ("CREATE NODE TABLE T(id SERIAL, PRIMARY KEY(id))", "the type SERIAL"),
        ("CREATE NODE TABLE T(id UINT64, PRIMARY KEY(id))", "the type UINT64"),
        ("CREATE NODE TABLE T(id int128, PRIMARY KEY(id))", "the type INT128"),
    ] {
        let message = run(text).expect_err("the type is not kept");
        assert!(message.starts_with("UNSUPPORTED") && message.contains(expected), "{message}");
    }
}

#[test]
fn files_of_declared_tables() {
    let subject = Subject::new();
    let copy = |name: &str, text: &str, options: &str| {
        let file = subject.folder.write("rows.csv", text);
        subject.rows(&format!("COPY {name} FROM '{}' {options}", file.display()))
    };
    subject.rows("CREATE NODE TABLE L(id INT64, tags STRING[], ns INT64[], PRIMARY KEY (id))");
    assert_eq!(copy("L", "1,\"[a, 'b, c']\",\"[1,2]\"\n2,x;y,\n", ""), "2,0,0,0");
    assert_eq!(copy("L", "ns,id\n3,3\n", ""), "1,0,0,0");
    subject.check(&[(
        "MATCH (l:L) RETURN l.id, l.tags, l.ns ORDER BY l.id",
        "1,['a', 'b, c'],[1, 2]; 2,['x', 'y'],null; 3,null,[3]",
    )]);
    for (text, options) in [("4,a,5,6\n", ""), ("4\n", ""), ("4,a\n", "(header = false)")] {
        let message = copy("L", text, options);
        assert!(message.contains("line 1: expected the declared columns (id, tags, ns), found"), "{message}");
    }
    let message = copy("L", "4,a,5\n6,b,7\n", "(header = true)");
    assert!(message.contains("'4' is taken for the key, but the store has 3 nodes :L"), "{message}");
    assert!(copy("L", "4,\"[[a]]\",\n", "").contains("expected string[], found '[[a]]'"));
    subject.check(&[("MATCH (l:L) RETURN count(l)", "3")]);
}

#[test]
fn headers_of_neo4j_admin_with_options() {
    let subject = Subject::new();
    let nodes = subject.folder.write("n.csv", "id:ID{label:Person},name\n1,Ada\n");
    assert!(!database::import::holds_edges(&nodes, &Default::default()).expect("the header says it"));
    subject.import(&ImportPlan { threads: 1, ..plan(&[("", nodes)], &[]) }).expect("the file is right");
    subject.check(&[("MATCH (p:Person) RETURN p.name", "'Ada'")]);
    let points = subject.folder.write("p.csv", "id:ID,at:point{crs:WGS-84}\n1,x\n");
    let error = subject.import(&plan(&[("", points)], &[])).expect_err("the options are not read");
    assert!(error.remedy().contains("write the system with each point"), "{error}: {}", error.remedy());
}
