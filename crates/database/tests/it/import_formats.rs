//! Every format and every form of header.

use super::{Subject, plan};
use database::import::{EdgeFile, ImportPlan, NodeFile, OnBadRow};
use model::FixedKind;

/// Files that say themselves what they hold.
fn self_described(subject: &Subject, nodes: &[(&str, &[u8])], edges: &[(&str, &[u8])]) -> ImportPlan {
    let nodes = nodes.iter().map(|(name, bytes)| ("", subject.folder.write(name, bytes))).collect::<Vec<_>>();
    let edges = edges.iter().map(|(name, bytes)| ("", subject.folder.write(name, bytes))).collect::<Vec<_>>();
    for (_, path) in &nodes {
        assert!(!database::import::holds_edges(path, &Default::default()).expect("the file says what it holds"));
    }
    for (_, path) in &edges {
        assert!(database::import::holds_edges(path, &Default::default()).expect("the file says what it holds"));
    }
    plan(&nodes, &edges)
}

fn check_import(plan: &ImportPlan, subject: &Subject, nodes: u64, edges: u64, steps: &[(&str, &str)]) {
    let summary = subject.import(plan).expect("the files are right");
    assert_eq!((summary.nodes_created, summary.edges_created), (nodes, edges));
    subject.check(steps);
    subject.check_files();
}

#[test]
fn neo4j_admin() {
    let subject = Subject::new();
    let people = b"personId:ID(Person),name,born:int,tags:string[],:LABEL\np1,Ada,1815,math;code,Person\np2,Bela,,,Person;Admin\n";
    let cities = b"code:ID(City)|name:string|area:float|capital:boolean|:LABEL\np1|Oslo|454.5|true|City\n";
    let lives = b":START_ID(Person),:END_ID(City),since:date,:TYPE\np1,p1,2001-02-28,LIVES_IN\np2,p1,,VISITED\n";
    let knows = b":START_ID(Person),weight:double,:END_ID(Person),ignored:IGNORE,:TYPE\np1,0.5,p2,x,KNOWS\n";
    let files = [("people.csv", &people[..]), ("cities.csv", &cities[..])];
    let plan = self_described(&subject, &files, &[("lives.csv", &lives[..]), ("knows.csv", &knows[..])]);
    check_import(
        &plan,
        &subject,
        3,
        3,
        &[
            (
                "MATCH (p:Person) RETURN p ORDER BY p.personId",
                "(:Person {born: 1815, name: 'Ada', personId: 'p1', tags: ['math', 'code']}); (:Admin:Person {name: 'Bela', personId: 'p2'})",
            ),
            ("MATCH (c:City) RETURN c", "(:City {area: 454.5, capital: true, code: 'p1', name: 'Oslo'})"),
            (
                "MATCH (p)-[r:LIVES_IN|VISITED]->(c:City) RETURN p.name, r, c.name ORDER BY p.name",
                "'Ada',[:LIVES_IN {since: 2001-02-28}],'Oslo'; 'Bela',[:VISITED],'Oslo'",
            ),
            ("MATCH (a)-[k:KNOWS]->(b) RETURN a.name, k, b.name", "'Ada',[:KNOWS {weight: 0.5}],'Bela'"),
        ],
    );
}

#[test]
fn neo4j_admin_without_groups_or_kept_keys() {
    let subject = Subject::new();
    let nodes = b":ID,:LABEL,name\n1,A,x\n2,A;B,y\n3,,z\n";
    let edges = b":START_ID,:END_ID,:TYPE\n1,2,R\n3,1,S\n";
    let plan = self_described(&subject, &[("n.csv", &nodes[..])], &[("e.csv", &edges[..])]);
    check_import(
        &plan,
        &subject,
        3,
        2,
        &[
            ("MATCH (n) RETURN n ORDER BY n.name", "(:A {name: 'x'}); (:A:B {name: 'y'}); ({name: 'z'})"),
            ("MATCH (a)-[r]->(b) RETURN a.name, r, b.name ORDER BY a.name", "'x',[:R],'y'; 'z',[:S],'x'"),
        ],
    );
}

#[test]
fn messages_of_nodes_without_a_group_name_none() {
    let subject = Subject::new();
    let twice = self_described(&subject, &[("n.csv", b":ID,name\n0,a\n0,b\n")], &[]);
    let error = subject.import(&twice).expect_err("the key comes twice");
    assert!(error.message().contains("the key 0 is there already"), "{error:?}");
    let (nodes, edges) = (b":ID,name\n1,a\n", b":START_ID,:END_ID,:TYPE\n1,2,R\n");
    let dangling = self_described(&subject, &[("m.csv", nodes)], &[("e.csv", edges)]);
    let error = subject.import(&dangling).expect_err("there is no node 2");
    assert!(error.message().ends_with("the target 2 of the edge is no node"), "{error:?}");
}

#[test]
fn json_lines_with_mixed_types() {
    let subject = Subject::new();
    let nodes = r#"{"id": "a", "v": 1, "l": [1, 2]}
{"id": "b", "v": "text", "extra": true}
{"id": "c", "v": 2.5, "n": null}
"#;
    let edges = r#"{"source": "a", "target": "b", "w": 1}
{"source": "b", "target": "c", "w": "heavy"}
"#;
    let nodes = subject.folder.write("n.jsonl", nodes);
    let edges = subject.folder.write("e.jsonl", edges);
    check_import(
        &plan(&[("J", nodes)], &[("E", edges)]),
        &subject,
        3,
        2,
        &[
            (
                "MATCH (j:J) RETURN j ORDER BY j.id",
                "(:J {id: 'a', l: [1, 2], v: 1}); (:J {extra: true, id: 'b', v: 'text'}); (:J {id: 'c', v: 2.5})",
            ),
            ("MATCH (j:J) WHERE j.v > 1 RETURN j.id", "'c'"),
            ("MATCH (j:J) RETURN j.v ORDER BY j.v", "'text'; 1; 2.5"),
            ("MATCH ()-[e:E]->() RETURN e.w ORDER BY e.w", "'heavy'; 1"),
        ],
    );
}

#[test]
fn csv_columns_of_mixed_values() {
    let subject = Subject::new();
    let nodes = subject.folder.write("n.csv", "id,v,w\n1,10,1\n2,2.5,\n3,abc,x\n4,,2\n");
    check_import(
        &plan(&[("M", nodes)], &[]),
        &subject,
        4,
        0,
        &[
            ("MATCH (m:M) RETURN count(m), count(m.v), count(m.w)", "4,3,3"),
            ("MATCH (m:M {id: 3}) RETURN m.v, m.w", "'abc','x'"),
        ],
    );
}

#[test]
fn quotes_line_ends_marks_and_tabs() {
    let subject = Subject::new();
    let nodes = subject.folder.write("n.tsv", b"\xEF\xBB\xBFid\tname\r\n1\t\"a \"\"b\"\"\nc\"\r\n2\t\xC3\xA4\r\n");
    check_import(
        &plan(&[("Q", nodes)], &[]),
        &subject,
        2,
        0,
        &[("MATCH (q:Q) RETURN q.name ORDER BY q.id", "'a \"b\"\\nc'; 'ä'")],
    );
}

#[test]
fn snap_and_compressed() {
    let text = "# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n0\t1\n2\t2\n";
    let gzip = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).expect("memory can be written")
    };
    let zstd = zstd::encode_all(text.as_bytes(), 1).expect("memory can be written");
    for (name, bytes) in [("g.txt", text.as_bytes().to_vec()), ("g.txt.gz", gzip), ("g.txt.zst", zstd)] {
        let subject = Subject::new();
        let plan = self_described(&subject, &[], &[(name, &bytes)]);
        check_import(
            &plan,
            &subject,
            3,
            4,
            &[
                (
                    "MATCH (a)-[e]->(b) RETURN a.id, type(e), b.id ORDER BY a.id, b.id",
                    "0,'EDGE',1; 0,'EDGE',1; 1,'EDGE',2; 2,'EDGE',2",
                ),
                ("MATCH (n:Node) RETURN count(n)", "3"),
            ],
        );
    }
}

#[test]
fn dimacs() {
    let subject = Subject::new();
    let graph = b"c comment\np sp 3 3\na 1 2 803\na 2 3 158\na 3 1 5\n";
    let coordinates =
        b"c comment\np aux sp co 3\nv 1 -73530767 41085396\nv 2 -73530538 41086098\nv 3 -73519366 41048796\n";
    let plan = self_described(&subject, &[("usa.co", &coordinates[..])], &[("usa.gr", &graph[..])]);
    let summary = subject.import(&plan).expect("the files are right");
    assert_eq!((summary.nodes_created, summary.edges_created), (3, 3));
    subject.check_files();
    let node = subject.rows("MATCH (n {id: 1}) RETURN n");
    assert!(node.contains("41.085396") && node.contains("-73.530767"), "{node}");
    let edge = subject.rows("MATCH ({id: 1})-[e]->(b {id: 2}) RETURN e");
    assert!(edge.contains("803"), "{edge}");
}

#[test]
fn parquet() {
    use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
    let subject = Subject::new();
    let nodes = parquet_file(
        &subject,
        "n.parquet",
        vec![
            ("id", std::sync::Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef),
            ("name", std::sync::Arc::new(StringArray::from(vec![Some("x"), None, Some("z")]))),
        ],
    );
    let edges = parquet_file(
        &subject,
        "e.parquet",
        vec![
            ("source", std::sync::Arc::new(Int64Array::from(vec![1, 3])) as ArrayRef),
            ("target", std::sync::Arc::new(Int64Array::from(vec![2, 3]))),
            ("w", std::sync::Arc::new(Float64Array::from(vec![Some(0.5), None]))),
        ],
    );
    check_import(
        &plan(&[("P", nodes)], &[("E", edges)]),
        &subject,
        3,
        2,
        &[
            ("MATCH (p:P) RETURN p ORDER BY p.id", "(:P {id: 1, name: 'x'}); (:P {id: 2}); (:P {id: 3, name: 'z'})"),
            ("MATCH (a)-[e:E]->(b) RETURN a.id, e.w, b.id ORDER BY a.id", "1,0.5,2; 3,null,3"),
        ],
    );
}

/// Writes a file of Parquet.
fn parquet_file(subject: &Subject, name: &str, columns: Vec<(&str, arrow::array::ArrayRef)>) -> std::path::PathBuf {
    let batch = arrow::array::RecordBatch::try_from_iter(columns).expect("the columns have one length");
    let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("it can be made");
    writer.write(&batch).expect("memory can be written");
    subject.folder.write(name, writer.into_inner().expect("memory can be written"))
}

#[test]
fn lists_of_parquet_are_kept_and_those_with_null_are_bad_rows() {
    use arrow::array::{ArrayRef, Int64Array, ListArray, StringArray, UInt64Array};
    use arrow::datatypes::Int64Type;
    use std::sync::Arc;
    let numbers = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4]));
    let subject = Subject::new();
    let file = parquet_file(&subject, "n.parquet", vec![("id", ids.clone()), ("ns", Arc::new(numbers))]);
    let mut lists = plan(&[("P", file)], &[]);
    let message = subject.import(&lists).expect_err("a list has a null").message().to_owned();
    let reason = "line 2: column 'ns': a list with a null, or with a number beyond 64 bits, cannot be a property";
    assert!(message.ends_with(reason), "{message}");
    lists.on_bad_row = OnBadRow::Skip(subject.folder.join("bad.csv"));
    let summary = subject.import(&lists).expect("the bad row is left out");
    assert_eq!((summary.nodes_created, summary.rows_skipped), (3, 1));
    subject.check(&[("MATCH (p:P) RETURN p.id, p.ns ORDER BY p.id", "1,[1, 2]; 3,null; 4,[]")]);
    // The same of texts, of lists within lists, and of numbers that are too large.
    let mut texts = arrow::array::ListBuilder::new(arrow::array::StringBuilder::new());
    let mut nested = arrow::array::ListBuilder::new(arrow::array::ListBuilder::new(arrow::array::StringBuilder::new()));
    for (row, value) in [Some("a"), None, Some("c;d"), Some("")].into_iter().enumerate() {
        texts.values().append_option(value);
        texts.append(true);
        nested.values().values().append_option(if row == 0 { None } else { Some("x") });
        nested.values().append(true);
        nested.append(true);
    }
    let wide = UInt64Array::from(vec![1, 2, 3, u64::MAX]);
    let columns: Vec<(&str, ArrayRef)> =
        vec![("id", ids), ("ts", Arc::new(texts.finish())), ("tss", Arc::new(nested.finish())), ("u", Arc::new(wide))];
    let file = parquet_file(&subject, "q.parquet", columns);
    let bad = subject.folder.join("bad-q.csv");
    let on_bad_row = OnBadRow::Skip(bad.clone());
    subject.import(&ImportPlan { on_bad_row, ..plan(&[("Q", file)], &[]) }).expect("one row is good");
    subject.check(&[("MATCH (q:Q) RETURN q.id, q.ts, q.tss, q.u", "3,['c;d'],[['x']],3")]);
    let bad = std::fs::read_to_string(bad).expect("bad rows were written");
    assert!(bad.contains("1,tss,") && bad.contains("2,ts,") && bad.contains("4,u,the number is larger"), "{bad}");
    // A key that is a text in the file is a text of the edges too.
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["1", "02"]));
    let nodes = parquet_file(&subject, "z.parquet", vec![("id", keys)]);
    let edges = subject.folder.write("z.csv", "source,target\n1,02\n02,1\n");
    subject.import(&plan(&[("Z", nodes)], &[("E:Z->Z", edges)])).expect("all ends are there");
    subject.check(&[("MATCH (a:Z)-[:E]->(b) RETURN a.id, b.id ORDER BY a.id", "'02','1'; '1','02'")]);
}

/// A named pipe, which waits for its writer.
#[cfg(unix)]
fn pipe(subject: &Subject, name: &str) -> std::path::PathBuf {
    let path = subject.folder.join(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("the system has mkfifo");
    assert!(made.success());
    path
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_whole_and_a_silent_one_is_given_up() {
    use std::io::Write;
    let subject = Subject::new();
    let path = pipe(&subject, "rows.csv");
    let nodes = plan(&[("P", path.clone())], &[]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut out = std::fs::OpenOptions::new().write(true).open(&path).expect("a reader comes");
            out.write_all(b"id,name\n").expect("it is read");
            for id in 0..30_000 {
                writeln!(out, "{id},the name of {id}").expect("it is read");
            }
        });
        subject.import(&nodes).expect("the rows are right");
    });
    subject.check(&[("MATCH (p:P) RETURN count(p), sum(p.id), count(DISTINCT p.name)", "30000,449985000,30000")]);
    // Nobody writes to this one. A cancel and a time-out are heard.
    let silent = pipe(&subject, "silent.csv");
    let mut session = subject.database.session();
    session.set_timeout(Some(std::time::Duration::from_millis(50)));
    for query in ["COPY Q FROM '{}'", "LOAD CSV FROM 'file://{}' AS row RETURN row"] {
        let query = query.replace("{}", &silent.display().to_string());
        let error = session.query(&query, &database::Parameters::default()).err().expect("nobody writes");
        assert_eq!(error.code(), database::ErrorCode::Timeout, "{query}: {error}");
    }
    let interrupt = database::Interrupt::new();
    interrupt.cancel();
    let progress = database::import::ImportProgress::default();
    let error =
        subject.database.import(&plan(&[("Q", silent)], &[]), &progress, &interrupt).expect_err("nobody writes");
    assert_eq!(error.code(), database::ErrorCode::Cancelled, "{error}");
}

#[test]
fn decimals_of_parquet_are_exact_or_refused() {
    use arrow::array::{ArrayRef, Decimal128Array, Decimal256Array, Int64Array};
    use database::import::FieldType;
    use std::sync::Arc;
    let decimal = |values: Vec<Option<i128>>, precision: u8, scale: i8| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(precision, scale).expect("they fit"))
    };
    let ids = || -> ArrayRef { Arc::new(Int64Array::from(vec![1, 2])) };
    let subject = Subject::new();
    let exact = vec![
        ("id", ids()),
        ("whole", decimal(vec![Some(999_999_999_999_999_999), Some(-1)], 18, 0)),
        ("price", decimal(vec![Some(1999), None], 10, 2)),
    ];
    let file = parquet_file(&subject, "exact.parquet", exact);
    subject.import(&plan(&[("E", file)], &[])).expect("both columns are exact");
    subject.check(&[(
        "MATCH (e:E) RETURN e.whole, e.price, valueType(e.whole) ORDER BY e.id",
        "999999999999999999,19.99,'INTEGER NOT NULL'; -1,null,'INTEGER NOT NULL'",
    )]);
    let long = 12_345_678_901_234_567_890_123_456_789_i128;
    let wide =
        Decimal256Array::from(vec![arrow::datatypes::i256::from_i128(long), arrow::datatypes::i256::from_i128(1)]);
    let wide = wide.with_precision_and_scale(60, 3).expect("they fit");
    let columns: [(&str, ArrayRef, &str); 4] = [
        ("twenty", decimal(vec![Some(long), Some(5)], 38, 0), "'12345678901234567890123456789','5'"),
        ("cents", decimal(vec![Some(long), Some(5)], 38, 2), "'123456789012345678901234567.89','0.05'"),
        ("large", decimal(vec![Some(12), Some(-5)], 19, 0), "'12','-5'"),
        ("wide", Arc::new(wide), "'12345678901234567890123456.789','0.001'"),
    ];
    for (name, column, texts) in columns {
        let file = parquet_file(&subject, &format!("{name}.parquet"), vec![("id", ids()), (name, column)]);
        let mut decimals = plan(&[("D", file)], &[]);
        let error = subject.import(&decimals).expect_err("a float would round it");
        assert!(error.message().contains(&format!("column '{name}' has the type Decimal")), "{}", error.message());
        assert!(error.remedy().contains(&format!("--type {name}:string")), "{}", error.remedy());
        decimals.read.types = vec![(name.to_owned(), FieldType::String)];
        subject.import(&decimals).expect("a text keeps every digit");
        let query = format!("MATCH (d:D) WITH d ORDER BY d.id RETURN collect(d.{name})");
        subject.check(&[(&query, &format!("[{}]", texts.replace("','", "', '"))), ("MATCH (d:D) DELETE d", "")]);
    }
}

#[test]
fn a_type_that_values_contradict_is_refused() {
    use database::import::FieldType;
    let subject = Subject::new();
    let lines = subject.folder.write("lines.jsonl", "{\"id\": 1, \"born\": \"2020-01-01\", \"n\": 12}\n");
    let ids: arrow::array::ArrayRef = std::sync::Arc::new(arrow::array::Int64Array::from(vec![1]));
    let born: arrow::array::ArrayRef = std::sync::Arc::new(arrow::array::StringArray::from(vec!["2020-01-01"]));
    let numbers: arrow::array::ArrayRef = std::sync::Arc::new(arrow::array::Int64Array::from(vec![12]));
    let columns = vec![("id", ids), ("born", born), ("n", numbers)];
    let rows = parquet_file(&subject, "rows.parquet", columns);
    for file in [lines, rows] {
        for (column, stated) in
            [("born", FieldType::Fixed(FixedKind::Date)), ("n", FieldType::String), ("n", FieldType::Float)]
        {
            let mut typed = plan(&[("T", file.clone())], &[]);
            typed.read.types = vec![(column.to_owned(), stated.clone())];
            let error = subject.import(&typed).expect_err("the values are of another type");
            let message = error.message();
            assert!(message.contains(&format!("column '{column}'")), "{message}");
            assert!(message.contains(&stated.name()), "{message}");
            assert!(message.contains(&file.display().to_string()), "{message}");
            assert!(!error.remedy().is_empty(), "{message}");
        }
        let mut typed = plan(&[("T", file)], &[]);
        typed.read.types = vec![("n".to_owned(), FieldType::Int), ("born".to_owned(), FieldType::String)];
        subject.import(&typed).expect("the values are of that type");
        subject.check(&[("MATCH (t:T) RETURN t.born, t.n", "'2020-01-01',12"), ("MATCH (t:T) DELETE t", "")]);
    }
}

#[test]
fn several_labels_and_types_in_one_import() {
    let subject = Subject::new();
    let people = subject.folder.write("people.csv", "id,name\n1,Ada\n2,Bela\n");
    let cities = subject.folder.write("cities.csv", "id,name\n1,Oslo\n");
    let lives = subject.folder.write("lives.csv", "person,city\n1,1\n2,1\n");
    let twin = subject.folder.write("twin.csv", "a,b\n1,1\n");
    let nodes = [("Person", people), ("City", cities)];
    let mut plan = plan(&nodes, &[("LIVES:Person->City", lives), ("TWIN:City->City", twin.clone())]);
    check_import(
        &plan,
        &subject,
        3,
        3,
        &[
            (
                "MATCH (p:Person)-[:LIVES]->(c:City) RETURN p.name, c.name ORDER BY p.name",
                "'Ada','Oslo'; 'Bela','Oslo'",
            ),
            ("MATCH (c:City)-[:TWIN]->(d) RETURN d.name", "'Oslo'"),
        ],
    );
    // An edge must say which group its nodes are of.
    plan.edges = vec![EdgeFile { path: twin, edge_type: Some("TWIN".into()), ..EdgeFile::default() }];
    plan.nodes = Vec::new();
    let message = subject.import(&plan).expect_err("it could be either").message().to_string();
    assert!(message.contains("City, Person"), "{message}");
    let missing =
        ImportPlan { nodes: vec![NodeFile { path: subject.folder.join("no.csv"), ..NodeFile::default() }], ..plan };
    let error = subject.import(&missing).expect_err("there is no such file");
    assert!(error.code() == database::ErrorCode::File && error.message().contains("no.csv"), "{error}");
}

#[test]
fn load_csv_knows_its_lines_and_its_file() {
    let subject = Subject::new();
    let path = subject.folder.write("people.csv", b"id,name\n1,\"Ada\nof two lines\"\n2,Bela\n");
    let file = path.display();
    let load = format!("LOAD CSV WITH HEADERS FROM '{file}' AS row");
    subject.check(&[
        (&format!("{load} RETURN row.id, linenumber() ORDER BY linenumber() DESC"), "'2',4; '1',2"),
        (&format!("{load} WITH row, linenumber() AS line WHERE line > 2 RETURN row.name, line"), "'Bela',4"),
        (&format!("{load} FILTER linenumber() = 2 RETURN file() = '{file}', count(*)"), "true,1"),
    ]);
    let session = &mut subject.database.session();
    for wrong in ["RETURN linenumber()".to_owned(), format!("{load} WITH row RETURN file()")] {
        let error = session.query(&wrong, &Default::default()).map(drop).expect_err("there is no row");
        assert!(error.to_string().contains("known only between LOAD CSV and the WITH after it"), "{error}");
    }
}
