//! PostgreSQL, Redis, a file and the native store as one graph.

use database::{Config, Database, Parameters, Session};
use testing::Folder;
use testing::servers;

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
  "nodes": { "Place": { "file": "places.csv", "key": "name", "properties": ["name", "country"] } },
  "edges": {
    "HOME_OF": {
      "file": "homes.csv",
      "source": { "label": "Place", "property": "name", "column": "place" },
      "target": { "label": "Profile", "property": "handle", "column": "handle" }
    },
    "IN_COUNTRY": {
      "file": "places.csv", "source": "Place",
      "target": { "label": "Country", "property": "code", "column": "country" }
    }
  }
}"#;

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let answer = answer_of(session, text, &Parameters::default()).unwrap_or_else(|failure| panic!("{text}: {failure}"));
    answer.rows.iter().map(|row| row.join(", ")).collect()
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
    std::fs::write(folder.join("places.csv"), "name,country\nRome,IT\nOslo,NO\nBern,CH\n")
        .expect("the folder of a test can be written");
    std::fs::write(folder.join("homes.csv"), "place,handle\nRome,ann\nOslo,bob\nRome,dan\nBern,eve\n")
        .expect("the folder of a test can be written");
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
    let Some((_folder, database)) = world("four_hops", 3) else { return };
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
    assert!(told.contains("shop: SELECT") && told.contains("$1"), "{told}");
    assert!(told.contains("profiles: "), "{told}");
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
        "NodeIndexRange",
        &["'Bob'", "'Cid'", "'Dan'"],
    );
    check("MATCH (c:Customer) WHERE c.name IN ['Ann', 'Dan'] RETURN c.id ORDER BY c.id", "NodeIndexSeek", &["1", "4"]);
    check("MATCH (c:Customer) WHERE c.name STARTS WITH 'C' RETURN c.id", "NodeIndexRange", &["3"]);
    assert_eq!(rows(&mut session, "MATCH (c:Customer) RETURN count(*)"), ["4"]);
}
