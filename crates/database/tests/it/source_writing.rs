//! Writing through sources with Cypher: what tables with keys take, in a transaction of their own database, and what is
//! refused.

use database::{Config, Database, Error, ErrorCode, Parameters, Session};
use rusqlite::Connection;
use testing::Folder;
use testing::servers;

use crate::engine::answer_of;

const DEFINITION: &str = r#"{
  "nodes": {
    "Person": { "table": "person", "key": "id", "properties": ["id", "name", "age"] },
    "City": { "table": "city", "key": ["country", "code"], "properties": ["country", "code", "name"] },
    "Adult": { "table": "adult", "key": "id", "properties": ["id", "name"] },
    "Named": { "sql": "SELECT id, name FROM person WHERE name <> ''", "key": "id", "properties": ["id", "name"] },
    "Note": { "table": "note", "key": "id", "properties": ["id", "text"] }
  },
  "edges": {
    "KNOWS": { "table": "knows", "source": "Person(a)", "target": "Person(b)", "key": ["a", "b"], "properties": ["since"] },
    "BOSS": { "table": "person", "source": "Person", "target": "Person(boss)" },
    "LIKES": { "table": "likes", "source": "Person(a)", "target": "City(country, code)", "properties": ["much"] },
    "MET": { "sql": "SELECT a, b FROM knows WHERE since > 2000", "source": "Person(a)", "target": "Person(b)" }
  }
}"#;

const TABLES: &str = "
CREATE TABLE person (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, age INTEGER, boss INTEGER,
  FOREIGN KEY (boss) REFERENCES person (id), CHECK (age < 200));
CREATE TABLE knows (a INTEGER NOT NULL, b INTEGER NOT NULL, since INTEGER, PRIMARY KEY (a, b),
  FOREIGN KEY (a) REFERENCES person (id), FOREIGN KEY (b) REFERENCES person (id));
CREATE TABLE city (country VARCHAR(2) NOT NULL, code INTEGER NOT NULL, name VARCHAR(20), PRIMARY KEY (country, code));
CREATE TABLE likes (a INTEGER, country VARCHAR(2), code INTEGER, much INTEGER);
CREATE TABLE note (id INTEGER, text VARCHAR(20));
CREATE VIEW adult AS SELECT id, name FROM person WHERE age >= 18;
INSERT INTO person VALUES (1, 'ann', 34, NULL);
INSERT INTO person VALUES (2, 'bob', 51, 1);
INSERT INTO knows VALUES (1, 2, 2001);
INSERT INTO city VALUES ('it', 1, 'Rome');
INSERT INTO note VALUES (1, 'x');
";

/// A kind of database that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
    Mariadb,
}

/// A database of some kind that is attached to one of ours.
struct World {
    kind: Kind,
    name: String,
    folder: Folder,
    database: Database,
}

impl World {
    /// `None` where the server is not installed.
    fn new(kind: Kind, name: &str) -> Option<World> {
        let folder = Folder::new();
        let url = match kind {
            Kind::Sqlite => {
                let file = folder.join("people.db");
                let connection = Connection::open(&file).expect("the folder of a test can be written");
                connection.execute_batch(TABLES).expect("the tables can be made");
                format!("sqlite:{}", file.display())
            }
            Kind::Postgres => {
                let server = servers::postgres()?;
                let url = server.database(name);
                server.run(name, TABLES);
                url
            }
            Kind::Mariadb => {
                let server = servers::mariadb()?;
                let url = server.database(name);
                server.run(name, TABLES);
                url
            }
        };
        let definition = folder.join("people.json");
        std::fs::write(&definition, DEFINITION).expect("the folder of a test can be written");
        let database =
            Database::open(&folder.join("store.knot"), Config::default()).expect("the store of a test can be opened");
        let world = World { kind, name: name.to_owned(), folder, database };
        world.rows(&format!("ATTACH '{url}' AS people (DEFINITION '{}')", definition.display()));
        Some(world)
    }

    fn all(name: &str) -> impl Iterator<Item = World> {
        [Kind::Sqlite, Kind::Postgres, Kind::Mariadb].into_iter().filter_map(move |kind| World::new(kind, name))
    }

    fn rows(&self, text: &str) -> Vec<String> {
        rows(&mut self.database.session(), text)
    }

    /// The answer of the source itself, without Knotwork.
    fn told(&self, query: &str) -> String {
        match self.kind {
            Kind::Sqlite => {
                let connection = Connection::open(self.folder.join("people.db")).expect("it is there");
                let mut statement = connection.prepare(query).expect("a query of a test can be read");
                let count = statement.column_count();
                let line = |row: &rusqlite::Row<'_>| {
                    let cell = |at: usize| match row.get_ref(at)? {
                        rusqlite::types::ValueRef::Null => Ok(String::new()),
                        rusqlite::types::ValueRef::Integer(number) => Ok(number.to_string()),
                        other => Ok(other.as_str()?.to_owned()),
                    };
                    Ok((0..count).map(cell).collect::<rusqlite::Result<Vec<String>>>()?.join(","))
                };
                let rows = statement.query_map([], line).expect("a query of a test runs");
                rows.collect::<rusqlite::Result<Vec<String>>>().expect("its rows can be read").join(";")
            }
            Kind::Postgres => joined(servers::postgres().expect("it runs").rows(&self.name, query)),
            Kind::Mariadb => joined(servers::mariadb().expect("it runs").rows(&self.name, query)),
        }
    }

    fn check(&self, text: &str, query: &str, expected: &str) {
        self.rows(text);
        assert_eq!(self.told(query), expected, "{:?}: {text}", self.kind);
    }
}

fn joined(rows: Vec<Vec<String>>) -> String {
    let row = |row: &Vec<String>| {
        row.iter().map(|text| if text == "NULL" { "" } else { text.as_str() }).collect::<Vec<_>>().join(",")
    };
    rows.iter().map(row).collect::<Vec<_>>().join(";")
}

fn run(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let answer = answer_of(session, text, &Parameters::default())?;
    Ok(answer.rows.iter().map(|row| row.join(", ")).collect())
}

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    run(session, text).unwrap_or_else(|failure| panic!("{text}: {failure}"))
}

const PEOPLE: &str = "SELECT id, name, age, boss FROM person ORDER BY id";
const KNOWS: &str = "SELECT a, b, since FROM knows ORDER BY a, b";

#[test]
fn nodes_and_edges_are_made_changed_and_deleted_in_tables() {
    for world in World::all("writing") {
        world.check(
            "CREATE (:Person {id: 3, name: 'cid', age: 28}), (:Person {id: 4, name: 'dan'})",
            PEOPLE,
            "1,ann,34,;2,bob,51,1;3,cid,28,;4,dan,,",
        );
        world.check(
            "MATCH (a:Person {id: 1}), (b:Person {id: 3}) CREATE (a)-[:KNOWS {since: 2010}]->(b)-[:BOSS]->(a)",
            KNOWS,
            "1,2,2001;1,3,2010",
        );
        assert_eq!(world.told("SELECT boss FROM person WHERE id = 3"), "1");
        world.check(
            "MATCH (a:Person {name: 'ann'})-[r:KNOWS]->(b) SET r.since = r.since + 1, b.age = coalesce(b.age, 0) + 1",
            KNOWS,
            "1,2,2002;1,3,2011",
        );
        world.check("MATCH (p:Person) WHERE p.id > 2 REMOVE p.age", PEOPLE, "1,ann,34,;2,bob,52,1;3,cid,,1;4,dan,,");
        // A node that is there is found, one that is not is made; so are edges.
        world.check(
            "UNWIND [['it', 1, 'Roma'], ['fr', 7, 'Lyon']] AS row MERGE (c:City {country: row[0], code: row[1]}) \
             ON CREATE SET c.name = row[2] ON MATCH SET c.name = row[2] + '!'",
            "SELECT country, code, name FROM city ORDER BY country",
            "fr,7,Lyon;it,1,Roma!",
        );
        world.rows("MATCH (c:City {country: 'fr'}) DELETE c");
        world.rows("MATCH (c:City {country: 'it'}) SET c.name = 'Rome'");
        world.rows("CREATE (:Person {id: 5, name: 'eve'})");
        for _ in 0..2 {
            world.check(
                "MATCH (a:Person {id: 4}), (b:Person {id: 5}) MERGE (a)-[r:KNOWS]->(b) ON CREATE SET r.since = 1",
                "SELECT since FROM knows WHERE a = 4",
                "1",
            );
        }
        world.check("MATCH (:Person {id: 1})-[r:KNOWS]->(:Person {id: 3}) DELETE r", KNOWS, "1,2,2002;4,5,1");
        world.check("MATCH (p:Person {id: 3})-[r:BOSS]->() DELETE r", "SELECT boss FROM person WHERE id = 3", "");
        world.check("MATCH (p:Person) WHERE p.id >= 3 DETACH DELETE p", PEOPLE, "1,ann,34,;2,bob,52,1");
        assert_eq!(world.told(KNOWS), "1,2,2002");
        // Keys of two columns, and edges without a key of their own.
        world.rows("CREATE (:City {country: 'no', code: 2, name: 'Oslo'})");
        world.check(
            "MATCH (p:Person), (c:City) CREATE (p)-[:LIKES {much: p.id + c.code}]->(c)",
            "SELECT a, country, code, much FROM likes ORDER BY a, code",
            "1,it,1,2;1,no,2,3;2,it,1,3;2,no,2,4",
        );
        world.check(
            "MATCH (p:Person {id: 2})-[r:LIKES]->(c {name: 'Oslo'}) DELETE r",
            "SELECT a, code FROM likes ORDER BY a, code",
            "1,1;1,2;2,1",
        );
        world.check(
            "MATCH (c:City {country: 'no', code: 2}) SET c.name = 'Bergen'",
            "SELECT name FROM city WHERE code = 2",
            "Bergen",
        );
        assert_eq!(
            world.rows("MATCH (p:Person)-[:LIKES]->(c) RETURN p.name, c.name ORDER BY p.name, c.name"),
            ["'ann', 'Bergen'", "'ann', 'Rome'", "'bob', 'Rome'"]
        );
    }
}

#[test]
fn a_transaction_is_the_source_s_own() {
    for world in World::all("transactions") {
        let mut session = world.database.session();
        let mut do_all = |statements: &[&str]| statements.iter().for_each(|text| drop(rows(&mut session, text)));
        do_all(&["BEGIN", "CREATE (:Person {id: 3, name: 'cid'})", "MATCH (p:Person {id: 1}) SET p.name = 'anna'"]);
        // Nobody else sees it before it is committed.
        assert_eq!(world.told("SELECT count(*), max(name) FROM person"), "2,bob", "{:?}", world.kind);
        do_all(&["MATCH (p:Person {id: 3}), (q:Person {id: 2}) CREATE (q)-[:KNOWS {since: 5}]->(p)", "COMMIT"]);
        assert_eq!(world.told(PEOPLE), "1,anna,34,;2,bob,51,1;3,cid,,");
        do_all(&[
            "BEGIN",
            "MATCH (p:Person {id: 3}) DETACH DELETE p",
            "CREATE (:Person {id: 9, name: 'x'})",
            "ROLLBACK",
        ]);
        assert_eq!(world.told(PEOPLE), "1,anna,34,;2,bob,51,1;3,cid,,", "{:?}", world.kind);
        assert_eq!(world.told(KNOWS), "1,2,2001;2,3,5", "{:?}", world.kind);
        assert_eq!(
            world.rows("MATCH (:Person)-[r:KNOWS]->(p) RETURN p.name, r.since ORDER BY r.since"),
            ["'cid', 5", "'bob', 2001"]
        );
    }
}

#[test]
fn what_others_changed_meanwhile_is_not_overwritten() {
    for world in World::all("meanwhile") {
        if world.kind == Kind::Sqlite {
            // Elsewhere readers and writers wait for each other.
            let file = Connection::open(world.folder.join("people.db")).expect("it is there");
            file.execute_batch("PRAGMA journal_mode = WAL").expect("the journal's mode can be changed");
        }
        let (mut first, mut second) = (world.database.session(), world.database.session());
        // Rows read before are cached, and must not be the base of the addition.
        rows(&mut first, "MATCH (p:Person {id: 1}) RETURN p.age");
        for session in [&mut first, &mut second] {
            for _ in 0..2 {
                rows(session, "MATCH (p:Person {id: 1}) SET p.age = p.age + 1");
            }
        }
        assert_eq!(world.told("SELECT age FROM person WHERE id = 1"), "38", "{:?}", world.kind);
        rows(&mut first, "BEGIN");
        assert_eq!(rows(&mut first, "MATCH (p:Person {id: 1}) RETURN p.age"), ["38"]);
        rows(&mut second, "MATCH (p:Person {id: 1}) SET p.age = 99");
        let late = run(&mut first, "MATCH (p:Person {id: 1}) SET p.age = p.age + 1");
        let late = late.and_then(|_| run(&mut first, "COMMIT"));
        let failure = late.expect_err("it would overwrite what it has not seen");
        assert!(matches!(failure.code(), ErrorCode::Conflict | ErrorCode::TransactionState), "{failure}");
        if first.in_transaction() {
            rows(&mut first, "ROLLBACK");
        }
        assert_eq!(world.told("SELECT age FROM person WHERE id = 1"), "99", "{:?}", world.kind);
    }
}

#[test]
fn batches_do_not_wait_for_what_was_read_before_them() {
    for world in World::all("batches") {
        let mut session = world.database.session();
        rows(&mut session, "UNWIND range(3, 60) AS i CREATE (:Person {id: i, name: 'p' + toString(i)})");
        rows(
            &mut session,
            "MATCH (a:Person), (b:Person) WHERE b.id = a.id + 1 AND a.id > 1 CREATE (a)-[:KNOWS {since: a.id}]->(b)",
        );
        let kind = world.kind;
        assert_eq!(world.told("SELECT count(*) FROM knows"), "59", "{kind:?}");
        // All rows are read first; what the source keeps for them would keep each batch from its commit.
        let text = "MATCH (a:Person)-[r:KNOWS]->() WHERE r.since % 2 = 0 \
                    CALL (a, r) { DELETE r SET a.age = 7 } IN TRANSACTIONS OF 5 ROWS \
                    WITH count(*) AS rows MATCH ()-[r:KNOWS]->() RETURN rows, count(r)";
        assert_eq!(rows(&mut session, text), ["29, 30"], "{kind:?}");
        assert_eq!(world.told("SELECT count(*), min(since), max(since) FROM knows"), "30,3,2001", "{kind:?}");
        assert_eq!(world.told("SELECT count(*) FROM person WHERE age = 7"), "29", "{kind:?}");
        // So would an edge that is a parameter.
        let edge = session.query("MATCH ({id: 3})-[r:KNOWS]->() RETURN r", &Parameters::default()).expect("an edge");
        let parameters = Parameters::from_iter([("r".into(), edge.single().expect("one edge"))]);
        let text = "UNWIND range(1, 6) AS i CALL (i) { MATCH ()-[q:KNOWS]->() WHERE q = $r SET q.since = q.since + i } \
                    IN TRANSACTIONS OF 2 ROWS";
        session.query(text, &parameters).unwrap_or_else(|failure| panic!("{kind:?}: {failure}"));
        assert_eq!(world.told("SELECT since FROM knows WHERE a = 3"), "24", "{kind:?}");
    }
}

#[test]
fn a_statement_that_fails_in_the_middle_leaves_nothing() {
    for world in World::all("middle") {
        let kind = world.kind;
        let mut session = world.database.session();
        // The first rows were written when a later one fails: a key that is taken, a rule, a value that is no number.
        for (text, code) in [
            ("UNWIND [7, 8, 1] AS id CREATE (:Person {id: id, name: 'x'})", ErrorCode::Constraint),
            ("MATCH (p:Person) SET p.age = p.id * 120", ErrorCode::Constraint),
            (
                "CREATE (:Person {id: 7, name: 'x'}) WITH 1 AS one MATCH (p:Person {id: 1}) DELETE p",
                ErrorCode::StillConnected,
            ),
            (
                "CREATE (:Person {id: 7, name: 'x'}) WITH 1 AS one UNWIND range(0, 3) AS i RETURN 1 / (1 - i)",
                ErrorCode::Arithmetic,
            ),
        ] {
            let failure = run(&mut session, text).expect_err(text);
            assert_eq!(failure.code(), code, "{kind:?}: {text}: {failure}");
            assert_eq!(world.told(PEOPLE), "1,ann,34,;2,bob,51,1", "{kind:?}: {text}");
            // Within a transaction it is undone alone, and the transaction goes on.
            rows(&mut session, "BEGIN");
            rows(&mut session, "CREATE (:Person {id: 5, name: 'eve'})");
            run(&mut session, text).expect_err(text);
            assert_eq!(rows(&mut session, "MATCH (p:Person) RETURN p.id ORDER BY p.id"), ["1", "2", "5"], "{kind:?}");
            rows(&mut session, "MATCH (p:Person {id: 5}) SET p.age = 3");
            rows(&mut session, "COMMIT");
            assert_eq!(world.told(PEOPLE), "1,ann,34,;2,bob,51,1;5,eve,3,", "{kind:?}: {text}");
            rows(&mut session, "MATCH (p:Person {id: 5}) DELETE p");
        }
        // A statement that only reads may fail as well: here, in the source.
        rows(&mut session, "BEGIN");
        rows(&mut session, "CREATE (:Person {id: 5, name: 'eve'})");
        if kind == Kind::Postgres {
            let server = servers::postgres().expect("it runs");
            server.run(&world.name, "SET lock_timeout = 9000; ALTER TABLE city RENAME COLUMN name TO gone;");
            run(&mut session, "MATCH (c:City) RETURN c.name").unwrap_err();
            server.run(&world.name, "SET lock_timeout = 9000; ALTER TABLE city RENAME COLUMN gone TO name;");
        }
        rows(&mut session, "MATCH (p:Person {id: 5}) DELETE p");
        rows(&mut session, "COMMIT");
        // The statement that fails may be the first of its transaction.
        rows(&mut session, "BEGIN");
        run(&mut session, "CREATE (:Person {id: 1, name: 'x'})").unwrap_err();
        rows(&mut session, "CREATE (:Person {id: 6, name: 'fay'})");
        rows(&mut session, "COMMIT");
        assert_eq!(world.told("SELECT id FROM person ORDER BY id"), "1;2;6", "{kind:?}");
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    for world in World::all("refused") {
        let mut session = world.database.session();
        for (text, code, part) in [
            ("CREATE (:Adult {id: 3, name: 'x'})", ErrorCode::ReadOnly, "is a view"),
            ("MATCH (p:Adult {id: 1}) SET p.name = 'x'", ErrorCode::ReadOnly, "is a view"),
            ("MATCH (p:Named {id: 1}) SET p.name = 'x'", ErrorCode::ReadOnly, "come from a query"),
            ("MATCH (n:Note) SET n.text = 'y'", ErrorCode::ReadOnly, "has no unique index on its key (id)"),
            ("MATCH (p:Person)-[r:MET]->() DELETE r", ErrorCode::ReadOnly, "come from a query"),
            ("MATCH (p:Person {id: 1}) SET p.id = 9", ErrorCode::ReadOnly, "is the key of Person"),
            ("MATCH (p:Person {id: 1}) SET p.height = 9", ErrorCode::Argument, "has no property height"),
            ("MATCH (p:Person {id: 1}) SET p:Hero", ErrorCode::Argument, "with the label Hero"),
            (
                "MATCH (p:Person {id: 1}) SET p.age = 1 CREATE (:Native {a: 1})",
                ErrorCode::Unsupported,
                "this transaction has written to the source people",
            ),
        ] {
            let failure = run(&mut session, text).expect_err(text);
            assert_eq!(failure.code(), code, "{:?}: {text}: {failure}", world.kind);
            assert!(failure.message().contains(part), "{:?}: {text}: {failure}", world.kind);
            assert!(!failure.remedy().is_empty(), "{:?}: {text}: {failure}", world.kind);
        }
        assert_eq!(world.told(PEOPLE), "1,ann,34,;2,bob,51,1");
        assert_eq!(world.told("SELECT text FROM note"), "x");
    }
}

#[test]
fn files_and_redis_are_only_read() {
    let folder = Folder::new();
    let database =
        Database::open(&folder.join("store.knot"), Config::default()).expect("the store of a test can be opened");
    std::fs::write(folder.join("p.csv"), "id,name\n1,ann\n").expect("the folder of a test can be written");
    let file = r#"{ "nodes": { "Person": { "file": "p.csv", "key": "id", "properties": ["id", "name"] } } }"#;
    let hash = r#"{ "nodes": { "Person": { "keys": "person:{id}", "properties": ["id", "name"] } } }"#;
    let mut sources = vec![(file, format!("file:{}", folder.path().display()))];
    if let Some(redis) = servers::redis() {
        redis.run(9, "FLUSHDB\nHSET person:1 id 1 name ann");
        sources.push((hash, redis.url(9)));
    }
    let mut session = database.session();
    for (definition, url) in sources {
        let path = folder.join("d.json");
        std::fs::write(&path, definition).expect("the folder of a test can be written");
        rows(&mut session, &format!("ATTACH '{url}' AS there (DEFINITION '{}')", path.display()));
        for text in [
            "MATCH (p:Person) SET p.name = 'x'",
            "MATCH (p:Person) DELETE p",
            "MATCH (p:Person) CREATE (p)-[:KNOWS]->(p)",
        ] {
            let failure = run(&mut session, text).expect_err(text);
            assert_eq!(failure.code(), ErrorCode::ReadOnly, "{url}: {text}: {failure}");
            let said = ["read only here", "are not written to"];
            assert!(said.iter().any(|part| failure.message().contains(part)), "{url}: {failure}");
        }
        assert_eq!(rows(&mut session, "MATCH (p:Person) RETURN p.name"), ["'ann'"]);
        rows(&mut session, "DETACH there");
    }
}
