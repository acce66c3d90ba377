//! Databases and files that are attached: statements, queries over several parts, copies, and what goes wrong.

use std::cell::Cell;

use database::session::ResultSink;
use database::{AttachOptions, Config, Database, Error, ErrorCode, Parameters, ResultBatch, Session, Value};
use testing::Folder;

use crate::answer::Answer;
use crate::engine::answer_of;

const DEFINITION: &str = r#"{
  "nodes": { "Person": { "file": "people.csv", "key": "id", "properties": ["id", "name", "age", "city"] } },
  "edges": {
    "KNOWS": { "file": "knows.csv", "source": "Person(a)", "target": "Person(b)", "properties": ["since"] },
    "LIVES_IN": {
      "file": "people.csv", "source": "Person", "target": { "label": "City", "property": "name", "column": "city" }
    }
  }
}"#;
const PEOPLE: &str = "id,name,age,city\n1,Ann,34,Rome\n2,Bob,51,Oslo\n3,Cid,28,Rome\n4,Dan,28,\n5,Eve,40,Bern\n";
const KNOWS: &str = "a,b,since\n1,2,2010\n2,3,2012\n3,1,2015\n1,3,2020\n4,5,2021\n";

/// A database with cities, and files with people.
struct World {
    folder: Folder,
    database: Database,
}

impl World {
    fn new() -> World {
        let folder = Folder::new();
        std::fs::write(folder.join("people.csv"), PEOPLE).expect("the folder of a test can be written");
        std::fs::write(folder.join("knows.csv"), KNOWS).expect("the folder of a test can be written");
        std::fs::write(folder.join("shop.json"), DEFINITION).expect("the folder of a test can be written");
        let config = Config { durability: database::Durability::Off, ..Config::default() };
        let database = Database::open(&folder.join("store.knot"), config).expect("the store of a test can be opened");
        let world = World { folder, database };
        world
            .rows("CREATE (:City {name: 'Rome'})<-[:CAPITAL]-(:Country {name: 'Italy'}) CREATE (:City {name: 'Oslo'})");
        world
    }

    fn attach(&self) -> Session {
        let mut session = self.database.session();
        run(&mut session, &format!("ATTACH '{}' AS shop", self.folder.join("shop.json").display()))
            .expect("a statement of a test runs");
        session
    }

    fn rows(&self, text: &str) -> Vec<String> {
        rows(&mut self.database.session(), text)
    }
}

fn run(session: &mut Session, text: &str) -> Result<Answer, Error> {
    answer_of(session, text, &Parameters::default())
}

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let answer = run(session, text).unwrap_or_else(|failure| panic!("{text}: {failure}"));
    answer.rows.iter().map(|row| row.join(", ")).collect()
}

const VISITS: &str = r#"{
  "nodes": { "Visit": { "file": "visits.csv", "key": "id", "properties": ["id"] } },
  "edges": {
    "BY": { "file": "visits.csv", "source": "Visit", "target": { "label": "Person", "property": "id", "column": "who" } },
    "SAW": { "file": "visits.csv", "source": { "label": "City", "property": "name", "column": "city" }, "target": "Visit(id)" },
    "FAN_OF": {
      "file": "fans.csv", "properties": ["since"],
      "source": { "label": "Person", "property": "id", "column": "who" },
      "target": { "label": "City", "property": "name", "column": "city" }
    }
  }
}"#;

#[test]
fn the_time_of_a_source_is_not_estimated_and_that_of_the_store_is() {
    let world = World::new();
    let mut session = world.attach();
    let mut told = |text: &str| {
        let result = session.query(text, &Parameters::default()).unwrap_or_else(|failure| panic!("{text}: {failure}"));
        let report = result.summary.report.expect("a plan is told");
        report.estimate.expect("it is estimated").time_ns
    };
    for prefix in ["EXPLAIN", "PROFILE"] {
        let time = told(&format!("{prefix} MATCH (p:Person) RETURN count(*)"));
        assert_eq!(time, Err("NodeScan asks the source shop".to_owned()), "{prefix}");
        assert!(told(&format!("{prefix} MATCH (c:Country) RETURN count(*)")).is_ok_and(|ns| ns > 0.0), "{prefix}");
    }
}

#[test]
fn edges_that_cross_are_copied_where_both_ends_are_native() {
    let world = World::new();
    let write = |name: &str, text: &str| {
        std::fs::write(world.folder.join(name), text).expect("the folder of a test can be written");
    };
    write("visits.csv", "id,who,city\n1,1,Rome\n2,2,Oslo\n3,5,Bern\n4,9,Rome\n");
    write("fans.csv", "who,city,since\n1,Oslo,2001\n2,Rome,2002\n3,Bern,2003\n");
    write("visits.json", VISITS);
    let mut session = world.attach();
    rows(&mut session, &format!("ATTACH '{}' AS visits", world.folder.join("visits.json").display()));
    let questions = [
        "MATCH (v:Visit)-[:BY]->(p:Person) RETURN v.id, p.name ORDER BY v.id",
        "MATCH (c:City)-[:SAW]->(v:Visit) RETURN c.name, v.id ORDER BY v.id",
        "MATCH (p:Person)-[f:FAN_OF]->(c:City) RETURN p.name, c.name, f.since ORDER BY f.since",
        "MATCH (p:Person)-[:LIVES_IN]->(c:City) RETURN p.name, c.name ORDER BY p.name",
    ];
    let attached = questions.map(|text| rows(&mut session, text));
    assert_eq!(attached[0], ["1, 'Ann'", "2, 'Bob'", "3, 'Eve'"]);
    assert_eq!(attached[1], ["'Rome', 1", "'Oslo', 2", "'Rome', 4"]);
    assert_eq!(attached[2], ["'Ann', 'Oslo', 2001", "'Bob', 'Rome', 2002"]);
    // The people are not native yet: what leads to them is left out, and counted.
    assert_eq!(rows(&mut session, "PRELOAD visits NODES (v:Visit WHERE v.id < 3)"), ["2, 2, 2"]);
    rows(&mut session, "MATCH (v:Visit) WHERE id(v) < 1000000 DETACH DELETE v");
    rows(&mut session, "PRELOAD shop");
    rows(&mut session, "DETACH shop");
    assert_eq!(rows(&mut session, "PRELOAD visits"), ["4, 8, 0"]);
    rows(&mut session, "DETACH visits");
    for (text, expected) in questions.iter().zip(&attached) {
        assert_eq!(&rows(&mut session, text), expected, "{text}");
    }
}

/// Questions whose answers do not depend on where the people are.
const QUESTIONS: &[&str] = &[
    "MATCH (p:Person) RETURN count(*)",
    "MATCH ()-[r:KNOWS]->() RETURN count(*)",
    "MATCH (p:Person) WHERE p.age >= 34 RETURN p.name ORDER BY p.name",
    "MATCH (p:Person {id: 3}) RETURN p.name, p.age, labels(p)",
    "MATCH (p:Person) WHERE p.name STARTS WITH 'B' OR p.id IN [4, 5] RETURN p.name ORDER BY p.name",
    "MATCH (a:Person)-[r:KNOWS]->(b)-[:KNOWS]->(c) RETURN a.name, b.name, c.name, r.since ORDER BY a.name, b.name, c.name",
    "MATCH (a:Person)<-[:KNOWS]-(b) RETURN a.name, collect(b.name) ORDER BY a.name",
    "MATCH (a:Person {name: 'Ann'})-[:KNOWS*1..3]->(b) RETURN b.name, count(*) ORDER BY b.name",
    "MATCH p = shortestPath((a:Person {name: 'Ann'})-[:KNOWS*]->(b:Person {name: 'Cid'})) RETURN length(p)",
    "MATCH (p:Person) RETURN p.age, count(*) ORDER BY p.age LIMIT 2",
    "CALL algo.pagerank({labels: 'Person', types: 'KNOWS'}) YIELD node, score RETURN node.name, round(score * 1000000) AS s ORDER BY node.name",
    "CALL algo.wcc() YIELD node, component WITH component, collect(node.name) AS names WHERE size(names) > 1 \
     UNWIND names AS n WITH component, n WHERE n IN ['Ann', 'Bob', 'Cid', 'Dan', 'Eve'] WITH component, n ORDER BY n \
     RETURN collect(n) AS all ORDER BY all[0]",
];

#[test]
fn files_and_the_native_store_are_one_graph() {
    let world = World::new();
    let mut session = world.attach();
    let mut check = |text: &str, expected: &[&str]| assert_eq!(rows(&mut session, text), expected, "{text}");
    check(
        "SHOW SOURCES YIELD name, labels, relationshipTypes, writable RETURN *",
        &["'shop', ['Person'], ['KNOWS', 'LIVES_IN'], false"],
    );
    check(
        "MATCH (p:Person)-[:LIVES_IN]->(c:City) RETURN p.name, c.name ORDER BY p.name",
        &["'Ann', 'Rome'", "'Bob', 'Oslo'", "'Cid', 'Rome'"],
    );
    check(
        "MATCH (x:Country)-[:CAPITAL]->(c)<-[:LIVES_IN]-(p)-[:KNOWS]->(q) RETURN x.name, p.name, q.name ORDER BY p.name, q.name",
        &["'Italy', 'Ann', 'Bob'", "'Italy', 'Ann', 'Cid'", "'Italy', 'Cid', 'Ann'"],
    );
    check(
        "MATCH (c:City) OPTIONAL MATCH (c)<-[:LIVES_IN]-(p) RETURN c.name, count(p) ORDER BY c.name",
        &["'Oslo', 1", "'Rome', 2"],
    );
    check("MATCH (n) RETURN labels(n)[0] AS l, count(*) ORDER BY l", &["'City', 2", "'Country', 1", "'Person', 5"]);
    // A new node that belongs to no source is native.
    check("CREATE (:City {name: 'Bern'})", &[]);
    check("MATCH (p {name: 'Eve'})-[:LIVES_IN]->(c) RETURN c.name, id(c) < id(p)", &["'Bern', true"]);
    check(
        "CALL source.stats() YIELD name, roundTrips, rowsFetched RETURN name, roundTrips > 0, rowsFetched > 0",
        &["'shop', true, true"],
    );
    check("CALL source.forget('shop')", &["'shop'"]);
    check("DETACH shop", &[]);
    check("MATCH (p:Person) RETURN count(*)", &["0"]);
    check("MATCH (n)-[r]->(m) RETURN type(r)", &["'CAPITAL'"]);
    check("DETACH IF EXISTS shop", &[]);
}

#[test]
fn what_is_copied_answers_as_what_is_attached() {
    let world = World::new();
    let mut session = world.attach();
    let attached: Vec<Vec<String>> = QUESTIONS.iter().map(|text| rows(&mut session, text)).collect();
    assert_eq!(rows(&mut session, "PRELOAD shop"), ["5, 8, 0"]);
    rows(&mut session, "DETACH shop");
    for (text, expected) in QUESTIONS.iter().zip(&attached) {
        assert_eq!(&rows(&mut session, text), expected, "{text}");
    }
    // Its key is unique in the native store too.
    let failure = run(&mut session, "CREATE (:Person {id: 1})").unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Constraint);
}

/// The constraint that a copy makes is no business of users: they hear the place of the rows, the key, and the value.
#[test]
fn a_key_that_is_there_twice_is_told_with_its_place() {
    let world = World::new();
    std::fs::write(world.folder.join("people.csv"), format!("{PEOPLE}3,Fay,20,Rome\n")).expect("it can be written");
    let mut session = world.attach();
    let before = rows(&mut session, "SHOW CONSTRAINTS");
    let error = run(&mut session, "PRELOAD shop").expect_err("the key 3 is there twice");
    assert_eq!(error.code(), ErrorCode::Constraint, "{error}");
    let message = error.message();
    let place = format!("two rows of {}", world.folder.join("people.csv").display());
    assert!(message.starts_with("source shop: ") && message.contains(&place), "{message}");
    assert!(message.contains(" have the same key id: the value 3 of :Person(id) is there already"), "{message}");
    assert!(!message.contains("constraint") && !error.remedy().contains("constraint"), "{error}: {}", error.remedy());
    assert_eq!(rows(&mut session, "SHOW CONSTRAINTS"), before);
    assert_eq!(rows(&mut session, "DETACH shop"), [""; 0]);
    assert_eq!(rows(&mut session, "MATCH (p:Person) RETURN count(*)"), ["0"]);
}

#[test]
fn a_part_is_copied() {
    let world = World::new();
    let mut session = world.attach();
    let copied = rows(
        &mut session,
        "PRELOAD shop NODES (p:Person WHERE p.age > 30), (:Person {name: 'Cid'}) RELATIONSHIPS KNOWS",
    );
    assert_eq!(copied, ["4, 4, 0"]);
    rows(&mut session, "DETACH shop");
    assert_eq!(
        rows(&mut session, "MATCH (p:Person) RETURN p.name ORDER BY p.name"),
        ["'Ann'", "'Bob'", "'Cid'", "'Eve'"]
    );
    assert_eq!(
        rows(&mut session, "MATCH (:Person)-[r:KNOWS]->() RETURN r.since ORDER BY r.since"),
        ["2010", "2012", "2015", "2020"]
    );
}

#[test]
fn a_prefix_keeps_names_apart() {
    let world = World::new();
    let mut session = world.database.session();
    let path = world.folder.join("shop.json");
    let text =
        format!("ATTACH '{}' AS a (PREFIX 'a_', PREFETCH = 'none', CACHE '1 MiB', MAX_AGE '0s')", path.display());
    run(&mut session, &text).unwrap();
    world.database.attach("b", &path.display().to_string(), &AttachOptions::default()).unwrap();
    assert_eq!(
        rows(&mut session, "MATCH (p) WHERE p:a_Person OR p:Person RETURN labels(p)[0] AS l, count(*) ORDER BY l"),
        ["'Person', 5", "'a_Person', 5"]
    );
    assert_eq!(rows(&mut session, "MATCH (:a_Person)-[:a_KNOWS]->(p:a_Person) RETURN count(*)"), ["5"]);
    assert_eq!(world.database.attachments().unwrap().len(), 2);
}

#[test]
fn a_plan_does_not_outlive_what_it_was_made_for() {
    let world = World::new();
    let mut session = world.attach();
    let text = "MATCH (p:Person {id: 2}) RETURN p.name";
    assert_eq!(rows(&mut session, text), ["'Bob'"]);
    rows(&mut session, "DETACH shop");
    assert_eq!(rows(&mut session, text), [""; 0]);
    world.attach();
    assert_eq!(rows(&mut session, text), ["'Bob'"]);
    run(&mut session, "BEGIN").unwrap();
    let mut other = world.database.session();
    rows(&mut other, "DETACH shop");
    // A transaction goes on with what it began with.
    assert_eq!(rows(&mut session, text), ["'Bob'"]);
    assert_eq!(rows(&mut other, text), [""; 0]);
    run(&mut session, "COMMIT").unwrap();
    assert_eq!(rows(&mut session, text), [""; 0]);
}

/// Detaches the source when it is given the first rows.
struct Detaching<'a> {
    database: &'a Database,
    rows: Cell<usize>,
}

impl ResultSink for Detaching<'_> {
    fn columns(&mut self, _: &[std::sync::Arc<str>]) -> Result<(), Error> {
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> Result<bool, Error> {
        if self.rows.get() == 0 {
            self.database.detach("shop")?;
        }
        self.rows.set(self.rows.get() + batch.rows);
        Ok(true)
    }
}

#[test]
fn a_query_ends_with_the_source_that_it_began_with() {
    let world = World::new();
    let mut session = world.attach();
    let mut sink = Detaching { database: &world.database, rows: Cell::new(0) };
    let text =
        "UNWIND range(1, 3000) AS i MATCH (p:Person)-[:KNOWS]->(q) WHERE p.id <= i RETURN i, p.name, q.name, q.age";
    session.run(text, &Parameters::default(), &mut sink).unwrap();
    // Ann knows two; the others come in one row later each.
    assert_eq!(sink.rows.get(), 2 * 3000 + 2999 + 2998 + 2997);
    assert!(world.database.attachments().unwrap().is_empty());
}

#[test]
fn friends_of_friends_are_a_few_round_trips() {
    let world = World::new();
    let mut session = world.attach();
    let text = "PROFILE MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c) RETURN a.name, b.name, c.name";
    let report = session.query(text, &Parameters::default()).unwrap().summary.report.unwrap();
    let trips: u64 = report.lines.iter().filter_map(|line| line.actual).map(|actual| actual.storage.round_trips).sum();
    assert!((1..=8).contains(&trips), "{trips} round trips\n{}", report.text());
    assert!(report.text().contains("round trips"), "{}", report.text());
}

#[test]
fn mistakes_are_told() {
    let world = World::new();
    let mut session = world.attach();
    let folder = world.folder.join("").display().to_string();
    let mut check = |text: &str, code: ErrorCode, message: &str| {
        let text = text.replace("DIR", folder.trim_end_matches('/'));
        let failure = run(&mut session, &text).expect_err(&text);
        assert_eq!(
            (failure.code(), failure.message().replace(folder.trim_end_matches('/'), "DIR").as_str()),
            (code, message),
            "{text}"
        );
        assert!(!failure.remedy().is_empty(), "{text}");
    };
    check("ATTACH 'DIR/shop.json' AS shop", ErrorCode::Argument, "a source named shop is attached already");
    check(
        "ATTACH 'DIR/none.json' AS x",
        ErrorCode::Io,
        "graph definition DIR/none.json: No such file or directory (os error 2)",
    );
    check(
        "ATTACH 'whatever' AS x",
        ErrorCode::Argument,
        "expected a URL or a graph definition to attach, found `whatever`",
    );
    check(
        "ATTACH 'DIR/shop.json' AS `x y`",
        ErrorCode::Argument,
        "expected a name of letters, digits and underscores for the source, found `x y`",
    );
    check("ATTACH 'DIR/shop.json' AS x (COLOUR 'red')", ErrorCode::Argument, "ATTACH has no option colour");
    check(
        "ATTACH 'host=h' AS x (dbtype oracle)",
        ErrorCode::Argument,
        "unknown DBTYPE oracle, expected postgres, mysql, sqlite, duckdb or redis",
    );
    check("DETACH nothing", ErrorCode::NotFound, "no source is named nothing");
    check("PRELOAD nothing", ErrorCode::NotFound, "no source is named nothing");
    check("PRELOAD shop RELATIONSHIPS LIKES", ErrorCode::NotFound, "the source shop has no relationships :LIKES");
    check("CALL source.forget('shop', 'Nobody')", ErrorCode::NotFound, "the source shop has no kind Nobody");
    check("EXPLAIN DETACH shop", ErrorCode::Unsupported, "ATTACH, DETACH and PRELOAD have no plan to show");
    check(
        "MATCH (p:Person {id: 1}), (c:City {name: 'Rome'}) CREATE (p)-[:VISITED]->(c)",
        ErrorCode::Unsupported,
        "a relationship :VISITED from a node of the source shop to a node of the native store can not be created",
    );
    run(&mut session, "BEGIN").unwrap();
    let failure = run(&mut session, "DETACH shop").unwrap_err();
    assert_eq!(failure.code(), ErrorCode::TransactionState);
    run(&mut session, "ROLLBACK").unwrap();
    assert_eq!(rows(&mut session, "MATCH (p:Person) RETURN count(*)"), ["5"]);
}

#[test]
fn parameters_name_what_is_attached() {
    let world = World::new();
    let mut session = world.database.session();
    let mut parameters = Parameters::default();
    parameters.insert("from".into(), Value::string(&world.folder.join("shop.json").display().to_string()));
    parameters.insert("age".into(), Value::Int(0));
    session.query("ATTACH $from (MAX_AGE $age)", &parameters).unwrap();
    assert_eq!(rows(&mut session, "SHOW SOURCES YIELD name"), ["'shop'"]);
}
