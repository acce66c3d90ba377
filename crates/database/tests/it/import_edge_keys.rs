//! Edges that are known again by a key: passed over, updated, or refused when an import is repeated.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Subject, plan};
use database::Parameters;
use database::import::{ImportPlan, OnBadRow, OnDuplicate};
use testing::random::{SeededRandom, seed_or};

/// A store with people of the keys 1 to 9.
fn people() -> Subject {
    let subject = Subject::new();
    let nodes = subject.folder.write("people.csv", "id\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    subject.import(&plan(&[("P", nodes)], &[])).expect("the file is right");
    subject
}

/// Imports edges of the type R with that key.
fn keyed(subject: &Subject, text: &str, key: Option<&str>, on_duplicate: OnDuplicate) -> Result<(u64, u64), String> {
    let edges = subject.folder.write("edges.csv", text);
    let edge_keys = vec![("R".to_owned(), key.map(str::to_owned))];
    let plan = ImportPlan { edge_keys, on_duplicate, ..plan(&[], &[("R:P->P", edges)]) };
    let summary = subject.import(&plan).map_err(|error| error.message().to_owned())?;
    Ok((summary.edges_created, summary.edges_merged))
}

const ALL: &str = "MATCH (a:P)-[r:R]->(b:P) RETURN a.id, b.id, r.k, r.v, r.w ORDER BY a.id, b.id, r.k";

#[test]
fn edges_that_are_there_are_updated() {
    let subject = people();
    let first = "source,target,k,v\n1,2,a,10\n1,2,b,20\n2,3,a,30\n";
    assert_eq!(keyed(&subject, first, Some("k"), OnDuplicate::Update), Ok((3, 0)));
    let number = "MATCH (:P {id: 1})-[r:R {k: 'b'}]->() RETURN id(r)";
    let before = subject.rows(number);
    // One that no file holds yet is found as well; null leaves a value as it is; and one is new.
    subject.rows("MATCH (a:P {id: 3}), (b:P {id: 4}) CREATE (a)-[:R {k: 'a', v: 40}]->(b)");
    let second = "source,target,k,v,w\n1,2,b,21,x\n3,4,a,,y\n4,5,a,50,\n";
    assert_eq!(keyed(&subject, second, Some("k"), OnDuplicate::Update), Ok((1, 2)));
    let expected = "1,2,'a',10,null; 1,2,'b',21,'x'; 2,3,'a',30,null; 3,4,'a',40,'y'; 4,5,'a',50,null";
    subject.check(&[(ALL, expected)]);
    assert_eq!(subject.rows(number), before, "an update leaves the edge what it is");
    subject.check_files();
    // The same again changes nothing, and another type of a value does.
    assert_eq!(keyed(&subject, second, Some("k"), OnDuplicate::Update), Ok((0, 3)));
    subject.check(&[(ALL, expected)]);
    let float = "source,target,k,v:float\n1,2,b,21\n";
    assert_eq!(keyed(&subject, float, Some("k"), OnDuplicate::Update), Ok((0, 1)));
    subject.check(&[("MATCH ()-[r:R {k: 'b'}]->() RETURN valueType(r.v)", "'FLOAT NOT NULL'")]);
}

#[test]
fn updates_that_are_not_clear_are_refused() {
    let subject = people();
    keyed(&subject, "source,target,k\n1,2,a\n", Some("k"), OnDuplicate::Error).expect("there is none yet");
    let twice = keyed(&subject, "source,target,k,v\n1,2,a,1\n1,2,a,2\n", Some("k"), OnDuplicate::Update);
    assert!(
        twice.as_ref().is_err_and(|message| message.contains("line 3") && message.contains("in an earlier row")),
        "{twice:?}"
    );
    subject.rows("MATCH (a:P {id: 1}), (b:P {id: 2}) CREATE (a)-[:R {k: 'a'}]->(b)");
    let several = keyed(&subject, "source,target,k,v\n1,2,a,1\n", Some("k"), OnDuplicate::Update);
    assert!(several.as_ref().is_err_and(|message| message.contains("is there several times")), "{several:?}");
    subject.rows("CREATE SORT KEY FOR ()-[r:R]-() ON (r.v)");
    subject.rows("MATCH ()-[r:R]->() DELETE r");
    assert_eq!(keyed(&subject, "source,target,k,v,w\n1,2,a,1,2\n", Some("k"), OnDuplicate::Update), Ok((1, 0)));
    assert_eq!(keyed(&subject, "source,target,k,v,w\n1,2,a,1,3\n", Some("k"), OnDuplicate::Update), Ok((0, 1)));
    let moved = keyed(&subject, "source,target,k,v,w\n1,2,a,2,3\n", Some("k"), OnDuplicate::Update);
    let refused = "edges.csv: an update would change v, by which R is sorted";
    assert!(moved.as_ref().is_err_and(|message| message.ends_with(refused)), "{moved:?}");
    subject.check(&[(ALL, "1,2,'a',1,3")]);
    subject.check_files();
}

#[test]
fn updates_keep_the_rules_of_the_store() {
    let subject = people();
    let rows = "source,target,k,v,w\n1,2,a,1,x\n1,2,b,2,y\n";
    keyed(&subject, rows, Some("k"), OnDuplicate::Error).expect("there is none yet");
    subject.rows("CREATE CONSTRAINT FOR ()-[r:R]-() REQUIRE r.v IS UNIQUE");
    subject.rows("CREATE CONSTRAINT FOR ()-[r:R]-() REQUIRE r.w IS :: STRING");
    let before = subject.rows(ALL);
    for (text, word) in [("v\n1,2,b,1", "CONSTRAINT"), ("w:int\n1,2,b,5", "CONSTRAINT")] {
        let edges = subject.folder.write("edges.csv", format!("source,target,k,{text}\n"));
        let edge_keys = vec![("R".to_owned(), Some("k".to_owned()))];
        let plan = ImportPlan { edge_keys, on_duplicate: OnDuplicate::Update, ..plan(&[], &[("R:P->P", edges)]) };
        let error = subject.import(&plan).expect_err("a rule would be broken");
        assert_eq!(error.code().name(), word, "{error}");
        assert_eq!(subject.rows(ALL), before);
    }
    assert_eq!(keyed(&subject, "source,target,k,v\n1,2,b,3\n", Some("k"), OnDuplicate::Update), Ok((0, 1)));
    subject.check(&[
        ("MATCH ()-[r:R]->() WHERE r.v = 3 RETURN r.k", "'b'"),
        ("MATCH ()-[r:R]->() WHERE r.v = 2 RETURN r.k", ""),
    ]);
    subject.check_files();
}

#[test]
fn keys_of_edges_are_of_the_type_that_the_store_has() {
    let subject = people();
    keyed(&subject, "source,target,k\n1,2,007\n1,2,10\n", Some("k"), OnDuplicate::Error).expect("there is none yet");
    // By itself the column would be of integers.
    assert_eq!(keyed(&subject, "source,target,k\n1,2,10\n1,2,11\n", Some("k"), OnDuplicate::Skip), Ok((1, 1)));
    subject.check(&[(ALL, "1,2,'007',null,null; 1,2,'10',null,null; 1,2,'11',null,null")]);
    let json = subject.folder.write("edges.jsonl", "{\"source\": 1, \"target\": 2, \"k\": 10}\n");
    let copy =
        format!("COPY R FROM '{}' (from = 'P', to = 'P', edge_key = 'k', on_duplicate = 'skip')", json.display());
    subject.check(&[(&copy, "0,0,1,0"), ("MATCH ()-[r:R]->() RETURN count(r)", "3")]);
    // Two files of one import are of one type too.
    let (one, two) = ("source,target,k\n2,3,7\n", "source,target,k\n2,3,7\n2,3,x\n");
    let files = [("S:P->P", subject.folder.write("one.csv", one)), ("S:P->P", subject.folder.write("two.csv", two))];
    let edge_keys = vec![("S".to_owned(), Some("k".to_owned()))];
    let plan = ImportPlan { edge_keys, on_duplicate: OnDuplicate::Skip, ..plan(&[], &files) };
    let summary = subject.import(&plan).expect("both are read");
    assert_eq!((summary.edges_created, summary.edges_merged), (2, 1));
}

#[test]
fn edges_without_a_key_are_told() {
    let subject = people();
    let file = subject.folder.write("edges.csv", "source,target\n1,2\n2,3\n");
    let copy = format!("COPY R FROM '{}' (from = 'P', to = 'P')", file.display());
    let hints = || {
        let result = subject.database.session().query(&copy, &Parameters::default()).expect("the file is right");
        result.summary.hints.into_iter().map(|hint| hint.message).collect::<Vec<_>>()
    };
    assert_eq!(hints(), Vec::<String>::new());
    let told = "relationships of type R have no key: 2 of the files are made besides the 2 that are there; \
                write edge_key = 'PROPERTY', or edge_key = '' for their ends alone";
    assert_eq!(hints(), [told]);
}

#[test]
fn all_edges_bad_is_no_success_whatever_the_nodes_are() {
    let subject = people();
    let nodes = subject.folder.write("more.csv", "id\n10\n11\n");
    let edges = subject.folder.write("edges.csv", "source,target\n77,78\n");
    let on_bad_row = OnBadRow::Skip(subject.folder.join("bad.csv"));
    let plan = ImportPlan { on_bad_row, ..plan(&[("P", nodes)], &[("R:P->P", edges)]) };
    let message = subject.import(&plan).expect_err("no edge is good").message().to_owned();
    assert_eq!(message, "the only row of edges is bad, and nothing was imported");
    subject.check(&[("MATCH (p:P) RETURN count(p)", "9")]);
}

#[test]
fn bad_rows_are_not_written_over_what_is_read() {
    let subject = people();
    let nodes = subject.folder.write("more.csv", "id\n10\n");
    let on_bad_row = OnBadRow::Skip(subject.folder.join("./more.csv"));
    let plan = ImportPlan { on_bad_row, ..plan(&[("P", nodes.clone())], &[]) };
    let message = subject.import(&plan).expect_err("the file would be lost").message().to_owned();
    assert!(message.starts_with("bad rows would be written over the file"), "{message}");
    assert_eq!(std::fs::read_to_string(nodes).expect("it is there"), "id\n10\n");
}

#[test]
fn keys_of_nodes_are_of_the_type_that_the_store_has() {
    let subject = people();
    let nodes = subject.folder.write("more.csv", "id\n1\n2\nx\n");
    let mut plan = ImportPlan { on_duplicate: OnDuplicate::Skip, ..plan(&[("P", nodes)], &[]) };
    let message = subject.import(&plan).expect_err("a key is none").message().to_owned();
    assert!(
        message.ends_with("more.csv: line 4: column 'id': expected int, found 'x' (as the keys of P are)"),
        "{message}"
    );
    plan.on_bad_row = OnBadRow::Skip(subject.folder.join("bad.csv"));
    subject.import(&plan).expect("two rows are good");
    subject.check(&[("MATCH (p:P) RETURN count(p)", "9")]);
}

/// Edges as they should be: by source, target and key, their value and their note.
type Model = BTreeMap<(i64, i64, i64), (i64, String)>;

#[test]
fn many_imports_of_keyed_edges_are_what_a_map_would_be() {
    let seed = seed_or(0x0ed6_e5ed);
    let mut random = SeededRandom::new(seed);
    let (subject, mut model) = (people(), Model::new());
    subject.rows("CREATE INDEX FOR ()-[r:R]-() ON (r.v)");
    for round in 0..12 {
        let mut text = String::from("source,target,k,v,w\n");
        let (mut rows, mut merged) = (BTreeMap::new(), 0);
        for _ in 0..random.below(400) {
            let mut number = |limit: u64| random.below(limit) as i64;
            let key = (1 + number(9), 1 + number(9), number(20));
            rows.insert(key, (number(1000), format!("r{round}")));
        }
        let policy = if random.below(3) == 0 { OnDuplicate::Skip } else { OnDuplicate::Update };
        for (key, value) in rows {
            writeln!(text, "{},{},{},{},{}", key.0, key.1, key.2, value.0, value.1).expect("a text takes all");
            merged += u64::from(model.contains_key(&key));
            if policy == OnDuplicate::Update || !model.contains_key(&key) {
                model.insert(key, value);
            }
        }
        let rows = text.lines().count() as u64 - 1;
        assert_eq!(
            keyed(&subject, &text, Some("k"), policy),
            Ok((rows - merged, merged)),
            "seed {seed}, round {round}"
        );
        // Writes of other kinds come between.
        let (source, value) = (1 + random.below(9) as i64, random.below(1000) as i64);
        subject.rows(&format!("MATCH (:P {{id: {source}}})-[r:R {{k: 3}}]->() SET r.v = {value}"));
        subject.rows(&format!("MATCH (:P {{id: {source}}})-[r:R {{k: 4}}]->() DELETE r"));
        model.retain(|key, _| key.0 != source || key.2 != 4);
        model.iter_mut().filter(|(key, _)| key.0 == source && key.2 == 3).for_each(|(_, held)| held.0 = value);
        let expected: Vec<String> = model.iter().map(|((a, b, k), (v, w))| format!("{a},{b},{k},{v},'{w}'")).collect();
        assert_eq!(subject.rows(ALL), expected.join("; "), "seed {seed}, round {round}");
        let found = subject.rows("MATCH ()-[r:R]->() WHERE r.v >= 500 RETURN count(r)");
        assert_eq!(
            found,
            model.values().filter(|held| held.0 >= 500).count().to_string(),
            "seed {seed}, round {round}"
        );
    }
    subject.check_files();
}
