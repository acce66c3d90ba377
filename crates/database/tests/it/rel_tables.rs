//! Relationship tables: what `CREATE REL TABLE` declares is known to `COPY`, and outlives whatever happens to the store.

use std::path::Path;

use database::export::{ExportFormat, export};
use database::{Access, Config, Database, Interrupt, Parameters, Session};
use testing::Folder;

use crate::engine::answer_of;

const DECLARED: &str = "CREATE NODE TABLE Person(id INT64, PRIMARY KEY(id)); CREATE NODE TABLE City(name STRING PRIMARY KEY);
    CREATE REL TABLE Knows(FROM Person TO Person); CREATE REL TABLE Near(FROM Person TO City, FROM City TO City, km INT64)";
/// The declarations, as they are listed.
const LISTED: &str = "ends_Knows_Person_Person FROM Person TO Person, ends_Near_Person_City FROM Person TO City, \
    ends_Near_City_City FROM City TO City";

fn open(path: &Path, access: Access) -> Database {
    Database::open(path, Config { access, ..Config::default() }).expect("a store can be opened")
}

fn rows(session: &mut Session, text: &str) -> String {
    match answer_of(session, text, &Parameters::default()) {
        Ok(answer) => answer.rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join(", "),
        Err(error) => format!("{error} = {}", error.remedy()),
    }
}

fn run(database: &Database, script: &str) {
    for statement in database::split_statements(script) {
        answer_of(&mut database.session(), statement, &Parameters::default()).expect("it is right");
    }
}

fn listed(database: &Database) -> String {
    let query =
        "SHOW CONSTRAINTS YIELD name, type, propertyType WHERE type = 'RELATIONSHIP_ENDS' RETURN name, propertyType";
    rows(&mut database.session(), query).replace('\'', "")
}

#[test]
fn declarations_outlive_the_process_and_are_in_every_copy() {
    let folder = Folder::new();
    let path = |name: &str| folder.join(name);
    let database = open(&path("s.knot"), Access::ReadWrite);
    run(&database, DECLARED);
    assert_eq!(listed(&database), LISTED);
    database.backup(&path("early.backup"), None, &Interrupt::new()).expect("a store can be backed up");
    drop(database);
    // From the log, then from the files.
    let database = open(&path("s.knot"), Access::ReadWrite);
    assert_eq!(listed(&database), LISTED, "replayed");
    database.checkpoint().expect("a store can be checkpointed");
    database.compact(&Interrupt::new()).expect("a store can be merged");
    assert_eq!(listed(&database), LISTED, "flushed");
    database.backup(&path("late.backup"), None, &Interrupt::new()).expect("a store can be backed up");
    drop(database);
    assert_eq!(listed(&open(&path("s.knot"), Access::ReadOnly)), LISTED, "opened for reading");
    for backup in ["early", "late"] {
        let store = path(&format!("{backup}.knot"));
        database::restore(&path(&format!("{backup}.backup")), &store, &Interrupt::new()).expect("it can be restored");
        assert_eq!(listed(&open(&store, Access::ReadWriteExisting)), LISTED, "{backup}");
    }
    database::recover(&path("s.knot"), &path("saved.knot"), &Interrupt::new()).expect("it can be salvaged");
    assert_eq!(listed(&open(&path("saved.knot"), Access::ReadWrite)), LISTED, "salvaged");
    let problems = database::check(&path("s.knot"), &Interrupt::new()).expect("a store can be checked");
    assert!(problems.is_empty(), "{problems:?}");
    // The exported schema, run as a script.
    let database = open(&path("s.knot"), Access::ReadWriteExisting);
    let view = database.store().read().expect("a snapshot can be taken");
    export(&*view, &path("exported"), ExportFormat::Csv, &Interrupt::new()).expect("a store can be exported");
    let copy = open(&path("copy.knot"), Access::ReadWrite);
    run(&copy, &std::fs::read_to_string(path("exported").join("schema.cypher")).expect("the schema is there"));
    assert_eq!(listed(&copy), LISTED, "exported");
    let info = database.info().expect("a store can be described");
    let near = info.constraints.iter().filter(|statement| statement.contains("`Near`") && statement.contains("FROM"));
    let near: Vec<&str> = near.map(String::as_str).collect();
    assert_eq!(
        near,
        ["CREATE REL TABLE `Near` (FROM `Person` TO `City`)", "ALTER TABLE `Near` ADD FROM `City` TO `City`"]
    );
}

#[test]
fn a_declaration_that_is_rolled_back_is_gone() {
    let folder = Folder::new();
    let database = open(&folder.join("s.knot"), Access::ReadWrite);
    let mut session = database.session();
    session.begin().expect("a transaction can begin");
    assert_eq!(rows(&mut session, "CREATE REL TABLE Knows(FROM Person TO Person)"), "");
    session.rollback().expect("it can be rolled back");
    assert_eq!(listed(&database), "");
    assert_eq!(rows(&mut session, "CREATE REL TABLE Knows(FROM Person TO Person)"), "");
    assert_eq!(listed(&database), "ends_Knows_Person_Person FROM Person TO Person");
}

#[test]
fn files_of_a_declared_type_need_no_options() {
    let folder = Folder::new();
    let database = open(&folder.join("s.knot"), Access::ReadWrite);
    run(&database, DECLARED);
    let file = |name: &str, text: &str| folder.write(name, text).display().to_string();
    let (people, cities) = (file("p.csv", "id\n1\n2\n3\n"), file("c.csv", "name\nRome\nOslo\n"));
    let knows = file("k.csv", "source,target\n1,2\n2,3\n");
    let (near, roads) = (file("n.csv", "a,b,km\n1,Rome,4\n"), file("r.csv", "a,b,km\nRome,Oslo,2000\n"));
    let headed = file("h.csv", ":START_ID(Person),:END_ID(Person)\n3,1\n");
    run(&database, &format!("COPY Person FROM '{people}'; COPY City FROM '{cities}'; COPY Knows FROM '{knows}'"));
    let mut session = database.session();
    let mut check = |text: &str, expected: &str| assert_eq!(rows(&mut session, text), expected, "{text}");
    check("MATCH (a:Person)-[:Knows]->(b:Person) RETURN a.id, b.id ORDER BY a.id", "1 2, 2 3");
    check("MATCH (n:Knows) RETURN count(n)", "0");
    let several = format!(
        "ARGUMENT: {near}: relationships Near need the labels of both ends: declared are FROM Person TO City, FROM City TO \
         City = write (from = …, to = …) behind COPY, or --edges TYPE:SOURCE->TARGET=FILE"
    );
    check(&format!("COPY Near FROM '{near}'"), &several);
    check(&format!("COPY Near FROM '{near}' (from = 'Person')"), "0 1 0 0");
    check(&format!("COPY Near FROM '{roads}' (from = 'City', to = 'City')"), "0 1 0 0");
    check(
        "MATCH (a)-[r:Near]->(c:City) RETURN coalesce(a.id, a.name), r.km, c.name ORDER BY r.km",
        "1 4 'Rome', 'Rome' 2000 'Oslo'",
    );
    // The header says more than the declaration.
    check(&format!("COPY Near FROM '{headed}'"), "0 1 0 0");
    check("MATCH (a:Person)-[:Near]->(b:Person) RETURN a.id, b.id", "3 1");
    // Labels that are declared but have no key are told as ends that are named are.
    check("CREATE REL TABLE Owns(FROM Person TO Thing)", "");
    check("COPY Owns FROM (RETURN 1 AS a, 2 AS b)", &without_key("Thing"));
}

fn without_key(label: &str) -> String {
    format!(
        "ARGUMENT: nodes of {label} have no unique property by which they could be found = CREATE CONSTRAINT FOR \
         (n:{label}) REQUIRE n.id IS UNIQUE, or MATCH … CREATE"
    )
}

#[test]
fn a_table_takes_its_name_from_a_label_in_use() {
    let folder = Folder::new();
    let database = open(&folder.join("s.knot"), Access::ReadWrite);
    run(
        &database,
        "CREATE (:Knows); CREATE NODE TABLE Person(id INT64 PRIMARY KEY); COPY Person FROM (RETURN 1 AS id)",
    );
    run(&database, "COPY Knows FROM (RETURN 1 AS a, 1 AS b)");
    run(&database, "CREATE REL TABLE Knows(FROM Person TO Person); COPY Knows FROM (RETURN 1 AS a, 1 AS b)");
    let counts = "MATCH (n:Knows) WITH count(n) AS nodes MATCH ()-[r:Knows]->() RETURN nodes, count(r)";
    assert_eq!(rows(&mut database.session(), counts), "2 1");
}

#[test]
fn types_that_constraints_demand_are_kept_by_files_and_what_was_there() {
    let folder = Folder::new();
    let database = open(&folder.join("s.knot"), Access::ReadWrite);
    run(
        &database,
        "CREATE CONSTRAINT key FOR (n:V) REQUIRE n.id IS UNIQUE;
         CREATE CONSTRAINT whole FOR ()-[r:E]-() REQUIRE r.time IS :: INTEGER;
         CREATE CONSTRAINT texts FOR ()-[r:E]-() REQUIRE r.note IS :: STRING;
         UNWIND range(0, 99) AS i CREATE (:V {id: i});
         MATCH (a:V {id: 1}), (b:V {id: 2}) CREATE (a)-[:E {time: 1}]->(b)",
    );
    let mut session = database.session();
    let mut copy = |columns: &str| {
        // Parquet says itself of which types its columns are.
        let file = folder.join("edges.parquet").display().to_string();
        let source = format!("UNWIND range(0, 49) AS i RETURN i AS src, 99 - i AS dst, {columns}");
        rows(&mut session, &format!("COPY ({source}) TO '{file}'"));
        let options = "from = 'V', to = 'V', source = 'src', target = 'dst'";
        let answer = rows(&mut session, &format!("COPY E FROM '{file}' ({options})"));
        (answer, rows(&mut session, "MATCH ()-[r:E]->() RETURN count(r), count(r.time), count(r.note)"))
    };
    // A value that is not there is of any type.
    assert_eq!(copy("i AS time, CASE WHEN i < 0 THEN 'a' END AS note").1, "51 51 0");
    for (columns, breaks) in
        [("i * 0.5 AS time, 'a' AS note", "whole"), ("'x' AS time, 'a' AS note", "whole"), ("i AS note", "texts")]
    {
        let (answer, counts) = copy(columns);
        assert!(answer.contains(breaks) && answer.contains("must be"), "{columns}: {answer}");
        assert_eq!(counts, "51 51 0", "{columns}: {answer}");
    }
    assert_eq!(copy("i AS time, 'a' AS note").1, "101 101 50");
}
