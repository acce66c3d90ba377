//! PostgreSQL, Redis, Parquet files and the native store as one graph.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use database::{Config, Database, Parameters, Session};
use parquet::arrow::ArrowWriter;
use testing::servers;
use testing::{Folder, golden};

use crate::answer::without_time;
use crate::engine::answer_of;

const SHOP: &str = r#"{
  "nodes": { "Customer": { "table": "customers", "key": "id", "properties": ["id", "name", "handle"] } },
  "edges": {
    "REFERRED": { "table": "referrals", "source": "Customer(by)", "target": "Customer(who)" },
    "HAS_PROFILE": {
      "table": "customers", "source": "Customer",
      "target": { "label": "Profile", "property": "handle", "column": "handle" }
    }
  }
}"#;

const PROFILES: &str = r#"{
  "nodes": { "Profile": { "keys": "profile:{id}", "properties": ["handle", "city"] } },
  "edges": {
    "FOLLOWS": { "source": "Profile", "target": "Profile", "keys": "profile:{id}:follows", "structure": "set",
                 "reverse-keys": "profile:{id}:followers" }
  }
}"#;

const CITIES: &str = r#"{
  "nodes": { "Place": { "file": "places.parquet", "key": "name", "properties": ["name", "country"] } },
  "edges": {
    "HOME_OF": {
      "file": "homes.parquet",
      "source": { "label": "Place", "property": "name", "column": "place" },
      "target": { "label": "Profile", "property": "handle", "column": "handle" }
    },
    "IN_COUNTRY": {
      "file": "places.parquet", "source": "Place",
      "target": { "label": "Country", "property": "code", "column": "country" }
    }
  }
}"#;

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let answer = answer_of(session, text, &Parameters::default()).unwrap_or_else(|failure| panic!("{text}: {failure}"));
    answer.rows.iter().map(|row| row.join(", ")).collect()
}

/// Compares what statements are said to do with a golden file, in which the folder of the test has a name of its own.
fn check_golden(name: &str, told: &str, folder: &Folder) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/sources").join(name);
    golden::check_text(&file, &told.replace(&folder.path().display().to_string(), "FOLDER"));
}

/// A Parquet file of two columns of texts.
fn parquet_file(folder: &Folder, name: &str, columns: [(&str, &[&str]); 2]) {
    let array = |texts: &[&str]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
    let columns = columns.map(|(name, texts)| (name, array(texts)));
    let batch = RecordBatch::try_from_iter(columns).expect("the columns have one length");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("it can be made");
    writer.write(&batch).expect("memory can be written");
    let bytes = writer.into_inner().expect("memory can be written");
    std::fs::write(folder.join(&format!("{name}.parquet")), bytes).expect("the folder of a test can be written");
}

/// A database to which all three are attached; `None` where a server is not installed.
fn world(name: &str, redis_database: u8) -> Option<(Folder, Database)> {
    let (postgres, redis) = (servers::postgres()?, servers::redis()?);
    let url = postgres.database(name);
    postgres.run(
        name,
        "CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, handle text);
         CREATE TABLE referrals (by int REFERENCES customers, who int REFERENCES customers, PRIMARY KEY (by, who));
         CREATE INDEX ON referrals (who); CREATE INDEX ON customers (handle);
         INSERT INTO customers VALUES (1, 'Ann', 'ann'), (2, 'Bob', 'bob'), (3, 'Cid', NULL), (4, 'Dan', 'dan');
         INSERT INTO referrals VALUES (1, 2), (2, 3), (1, 4);",
    );
    redis.run(
        redis_database,
        "FLUSHDB
         HSET profile:10 handle ann city Rome
         HSET profile:11 handle bob city Oslo
         HSET profile:12 handle dan city Rome
         HSET profile:13 handle eve city Bern
         SADD profile:11:follows 13 12
         SADD profile:12:follows 10
         SADD profile:13:followers 11
         SADD profile:12:followers 11
         SADD profile:10:followers 12",
    );
    let folder = Folder::new();
    parquet_file(&folder, "places", [("name", &["Rome", "Oslo", "Bern"]), ("country", &["IT", "NO", "CH"])]);
    let (places, handles) = (&["Rome", "Oslo", "Rome", "Bern"], &["ann", "bob", "dan", "eve"]);
    parquet_file(&folder, "homes", [("place", places), ("handle", handles)]);
    let mut files = vec![("shop", SHOP, url), ("profiles", PROFILES, redis.url(redis_database))];
    files.push(("places", CITIES, format!("file:{}", folder.join("").display())));
    let database =
        Database::open(&folder.join("store.knot"), Config::default()).expect("the store of a test can be opened");
    let mut session = database.session();
    rows(&mut session, "CREATE (:Country {code: 'IT', name: 'Italy'}), (:Country {code: 'CH', name: 'Switzerland'})");
    for (name, definition, url) in files {
        let path = folder.join(&format!("{name}.json"));
        std::fs::write(&path, definition).expect("the folder of a test can be written");
        rows(&mut session, &format!("ATTACH '{url}' AS {name} (DEFINITION '{}')", path.display()));
    }
    Some((folder, database))
}

#[test]
fn four_hops_lead_through_four_parts() {
    let Some((folder, database)) = world("four_hops", 3) else { return };
    let mut session = database.session();
    let path = "(c:Customer)-[:REFERRED]->(d)-[:HAS_PROFILE]->(p:Profile)-[:FOLLOWS]->(q)<-[:HOME_OF]-(m:Place)-[:IN_COUNTRY]->(x:Country)";
    let text = format!("MATCH {path} RETURN c.name, d.name, q.handle, m.name, x.name ORDER BY d.name, q.handle");
    assert_eq!(
        rows(&mut session, &text),
        [
            "'Ann', 'Bob', 'dan', 'Rome', 'Italy'",
            "'Ann', 'Bob', 'eve', 'Bern', 'Switzerland'",
            "'Ann', 'Dan', 'ann', 'Rome', 'Italy'"
        ]
    );
    // The same from the other end.
    let back = format!("MATCH {path} WHERE x.code = 'CH' RETURN c.name, q.handle");
    assert_eq!(rows(&mut session, &back), ["'Ann', 'eve'"]);
    let report = session.query(&format!("EXPLAIN {text}"), &Parameters::default()).unwrap().summary.report.unwrap();
    let told = report.text();
    check_golden("four_parts.txt", &format!("{text}\n\n{}\n", without_time(told).trim_end()), &folder);
    assert!(report.json().contains("\"statements\""), "{}", report.json());
}

#[test]
fn conditions_become_statements() {
    let Some((_folder, database)) = world("conditions", 4) else { return };
    let mut session = database.session();
    let mut check = |text: &str, operator: &str, expected: &[&str]| {
        let report = session.query(&format!("EXPLAIN {text}"), &Parameters::default()).unwrap().summary.report.unwrap();
        let told = report.text().to_owned();
        assert!(told.contains(operator) && told.contains("shop: SELECT") && told.contains("$1"), "{text}\n{told}");
        assert_eq!(rows(&mut session, text), expected, "{text}\n{told}");
    };
    check("MATCH (c:Customer {id: 2}) RETURN c.name", "NodeLookup", &["'Bob'"]);
    check(
        "MATCH (c:Customer) WHERE c.name > 'B' RETURN c.name ORDER BY c.name",
        "pushed: c.name > 'B'",
        &["'Bob'", "'Cid'", "'Dan'"],
    );
    check("MATCH (c:Customer) WHERE c.name IN ['Ann', 'Dan'] RETURN c.id ORDER BY c.id", "pushed:", &["1", "4"]);
    check("MATCH (c:Customer) WHERE c.name STARTS WITH 'C' RETURN c.id", "pushed:", &["3"]);
    assert_eq!(rows(&mut session, "MATCH (c:Customer) RETURN count(*)"), ["4"]);
}

/// Queries whose plans and profiles are told in a golden file.
const PLANNED: &[&str] = &[
    "MATCH (c:Customer {id: 2}) RETURN c.name",
    "MATCH (c:Customer) WHERE c.name > 'B' AND c.handle IS NOT NULL RETURN c.id, c.name",
    "MATCH (c:Customer) RETURN count(*)",
    "MATCH (c:Customer) RETURN c.name ORDER BY c.name LIMIT 2",
    "MATCH (c:Customer)-[:REFERRED]->(d) RETURN c.name, d.name",
    "MATCH (p:Profile)-[:FOLLOWS]->(q) RETURN p.handle, q.handle",
    "MATCH (m:Place) WHERE m.country = 'IT' RETURN m.name",
    "MATCH (c:Customer {id: 1})-[:HAS_PROFILE]->(p)<-[:HOME_OF]-(m:Place) RETURN c.name, m.name",
];

#[test]
fn plans_and_profiles_of_sources_are_told() {
    let Some((folder, database)) = world("plans", 5) else { return };
    let mut session = database.session();
    // The number of rows fetched ahead depends on how long answers take.
    let urls = [
        ("shop", servers::postgres().map(|server| server.url("plans"))),
        ("profiles", servers::redis().map(|server| server.url(5))),
        ("places", Some(format!("file:{}", folder.join("").display()))),
    ];
    for (name, url) in urls {
        let (url, path) = (url.expect("it was attached above"), folder.join(&format!("{name}.json")));
        rows(&mut session, &format!("DETACH {name}"));
        let attach =
            format!("ATTACH '{url}' AS {name} (DEFINITION '{}', PREFETCH 'none', MAX_AGE '0s')", path.display());
        rows(&mut session, &attach);
    }
    let mut told = String::new();
    for text in PLANNED {
        let mut report = |prefix: &str| {
            let result = session.query(&format!("{prefix} {text}"), &Parameters::default());
            let result = result.unwrap_or_else(|failure| panic!("{text}: {failure}"));
            result.summary.report.expect("it is asked for")
        };
        told.push_str(&format!("{text}\n\n{}\n\n", without_time(report("EXPLAIN").text()).trim_end()));
        for line in report("PROFILE").lines {
            let actual = line.actual.expect("it was run");
            let storage = actual.storage;
            told.push_str(&format!(
                "{}{}: {} rows, {} round trips, {} fetched, {} used\n",
                "  ".repeat(line.depth),
                line.operator,
                actual.rows,
                storage.round_trips,
                storage.rows_fetched,
                storage.rows_used
            ));
        }
        told.push_str("\n\n");
    }
    check_golden("plans.txt", &told, &folder);
}
