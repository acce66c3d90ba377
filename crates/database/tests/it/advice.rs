//! Advice: which index, constraint, sort key or rewrite is found for which statement, that nothing is changed by looking, and that it helps
//! on a copy.

use database::advice::WorkloadStatement;
use database::advising::verify_on_copy;
use database::{Config, Database, Durability, ErrorCode, Interrupt, Parameters};
use testing::Folder;

fn open(folder: &Folder) -> Database {
    let config = Config { durability: Durability::Off, ..Config::default() };
    Database::open(&folder.join("s.knot"), config).expect("the store of a test can be opened")
}

/// 20,000 persons of 50 cities, each of whom knows ten; and 200 shops.
/// A store in which each statement of these tests takes many times what it takes with its index: no test judges times, but advice does.
fn filled(folder: &Folder) -> Database {
    let database = open(folder);
    let mut session = database.session();
    for statement in [
        "UNWIND range(0, 79999) AS i CREATE (:Person {id: i, name: 'p' + i, age: i % 90, city: 'c' + (i % 50), email: 'e' + i})",
        "UNWIND range(0, 19) AS i CREATE (:Shop {id: i, name: 's' + i})",
        "CREATE CONSTRAINT FOR (s:Shop) REQUIRE s.id IS UNIQUE",
        "CREATE INDEX persons FOR (p:Person) ON (p.id)",
        "UNWIND range(0, 19999) AS i MATCH (a:Person {id: i}) UNWIND range(1, 10) AS k \
         MATCH (b:Person {id: (i * 7 + k * k) % 20000}) CREATE (a)-[:KNOWS {since: (i + k) % 1000, weight: k}]->(b)",
        "MATCH (a:Person {id: 0}), (b:Person) WHERE b.id > 0 CREATE (a)-[:RATED {at: b.id, score: b.id % 5}]->(b)",
        "CHECKPOINT",
    ] {
        session.query(statement, &Parameters::default()).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    database
}

fn statement(text: &str) -> WorkloadStatement {
    WorkloadStatement { text: text.to_owned(), parameters: Parameters::default(), calls: 1 }
}

/// The statements of all recommendations for a workload.
fn advised(database: &Database, workload: &[WorkloadStatement]) -> Vec<String> {
    let advice = database.advise(workload, &Interrupt::new()).expect("the store can be read");
    advice.recommendations.iter().map(|held| held.remedy.statement()).collect()
}

const PERSONS_BY_NAME: &str = "CREATE INDEX FOR (n:Person) ON (n.name)";

#[test]
fn the_index_or_sort_key_that_a_statement_would_use_is_found() {
    let folder = Folder::new();
    let database = filled(&folder);
    let cases = [
        ("MATCH (p:Person) WHERE p.name = 'p77' RETURN p.age", PERSONS_BY_NAME),
        ("profile MATCH (p:Person) WHERE p.name = 'p77' RETURN p.age", PERSONS_BY_NAME),
        ("MATCH (p:Person {name: 'p77'})-[:KNOWS]->(f) RETURN count(f)", PERSONS_BY_NAME),
        ("MATCH (p:Person) WHERE p.name STARTS WITH 'p777' RETURN p.id", PERSONS_BY_NAME),
        ("MATCH (p:Person) WHERE p.name IN ['p1', 'p2'] RETURN p.id", PERSONS_BY_NAME),
        ("UNWIND ['p1', 'p2'] AS name MATCH (p:Person {name: name}) RETURN p.id", PERSONS_BY_NAME),
        ("MATCH (s:Shop) WHERE EXISTS { MATCH (p:Person) WHERE p.name = s.name } RETURN s.id", PERSONS_BY_NAME),
        (
            "MATCH (a:Person {id: 0})-[r:RATED]->(b) WHERE r.at > 79990 RETURN b.id",
            "CREATE SORT KEY FOR ()-[r:RATED]-() ON (r.at)",
        ),
        (
            "MATCH (a:Person {id: 0})-[r:RATED]->(b) RETURN b.id ORDER BY r.at DESC LIMIT 3",
            "CREATE SORT KEY FOR ()-[r:RATED]-() ON (r.at)",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(advised(&database, &[statement(text)]), [expected], "{text}");
    }
    // One that more than one statement uses comes once, and each statement finds its own.
    let mut both = advised(
        &database,
        &[
            statement("MATCH (p:Person) WHERE p.name = 'p1' RETURN p"),
            statement("MATCH (p:Person) WHERE p.email = 'e1' RETURN p"),
            statement("MATCH (p:Person) WHERE p.name = 'p2' RETURN p"),
        ],
    );
    // Their order is that of times, which no test judges.
    both.sort();
    assert_eq!(both, ["CREATE INDEX FOR (n:Person) ON (n.email)", PERSONS_BY_NAME]);
}

/// 60,000 persons with dates and 40,000 products, of which a fortieth each was bought; the names of products are in lower case.
fn shop(folder: &Folder) -> Database {
    let database = open(folder);
    let mut session = database.session();
    for statement in [
        "UNWIND range(0, 59999) AS i CREATE (:Person {id: i, name: 'P' + i, born: date('1950-01-01') + duration({days: i % 20000}), \
         mail: CASE WHEN i % 7 = 0 THEN 'M' ELSE 'm' END + i})",
        "UNWIND range(0, 39999) AS i CREATE (:Product {sku: 's' + i, title: 't' + i, id: i})",
        "CREATE INDEX FOR (p:Person) ON (p.name)",
        "CREATE INDEX FOR (p:Person) ON (p.born)",
        "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE",
        "UNWIND range(0, 9) AS k MATCH (a:Person), (b:Product {id: 7}) WHERE a.id % 10 = k CREATE (a)-[:BOUGHT {at: a.id}]->(b)",
        "MATCH (b:Product {id: 7}) UNWIND range(0, 19999) AS i CREATE (b)-[:PART {n: i}]->(:Piece {id: i})",
        "CHECKPOINT",
    ] {
        session.query(statement, &Parameters::default()).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    database
}

#[test]
fn another_text_of_a_statement_is_found_where_the_data_allow_it() {
    let folder = Folder::new();
    let database = shop(&folder);
    // Statement; what is advised.
    let cases: &[(&str, &[&str])] = &[
        ("MATCH (n {name: 'P77'}) RETURN n.id", &["MATCH (n:Person {name: 'P77'}) RETURN n.id"]),
        ("MATCH (n) WHERE n.name = 'P77' RETURN n.id", &["MATCH (n:Person) WHERE n.name = 'P77' RETURN n.id"]),
        (
            "MATCH (n {sku: 's77'}) RETURN n.title",
            &["MATCH (n:Product {sku: 's77'}) RETURN n.title", "CREATE INDEX FOR (n:Product) ON (n.sku)"],
        ),
        (
            "MATCH (p:Person) WHERE p.born.year = 1999 RETURN count(p.mail)",
            &["MATCH (p:Person) WHERE date('1999-01-01') <= p.born < date('2000-01-01') RETURN count(p.mail)"],
        ),
        (
            "MATCH (p:Person) WHERE p.name =~ 'P777.*' RETURN p.mail",
            &["MATCH (p:Person) WHERE p.name STARTS WITH 'P777' RETURN p.mail"],
        ),
        (
            "MATCH (p:Person) WHERE left(p.name, 4) = 'P777' RETURN p.mail",
            &["MATCH (p:Person) WHERE p.name STARTS WITH 'P777' RETURN p.mail"],
        ),
        (
            "MATCH (p:Person) WHERE toString(p.name) = 'P777' RETURN p.mail",
            &["MATCH (p:Person) WHERE p.name = 'P777' RETURN p.mail"],
        ),
        (
            "MATCH (p:Product) WHERE toLower(p.title) = 't7' RETURN p.sku",
            &["MATCH (p:Product) WHERE p.title = 't7' RETURN p.sku", "CREATE INDEX FOR (n:Product) ON (n.title)"],
        ),
        // Names of persons are not in lower case, and persons are not the only ones with an id.
        ("MATCH (p:Person) WHERE toLower(p.name) = 'p777' RETURN p.mail", &[]),
        ("MATCH (p:Person) WHERE toLower(p.mail) = 'm777' RETURN p.id", &[]),
        ("MATCH (n) WHERE n.id = 7 RETURN count(n.name)", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(&advised(&database, &[statement(text)]), expected, "{text}");
        let session = &mut database.session();
        let rows = |text: &str, session: &mut database::Session| session.query(text, &Parameters::default()).unwrap();
        if let Some(other) = expected.first() {
            let (before, after) = (rows(text, session), rows(other, session));
            assert_eq!(before.rows().collect::<Vec<_>>(), after.rows().collect::<Vec<_>>(), "{text}");
        }
    }
    // A part of the pattern that was left open.
    let open = [
        ("MATCH (b:Product {id: 7})--(p:Piece) WHERE p.id = 3 RETURN count(*)", "-[:PART]-"),
        ("MATCH (b:Product {id: 7})-[r]->(p:Piece) RETURN sum(r.n)", "-[r:PART]->"),
    ];
    for (text, expected) in open {
        let told = advised(&database, &[statement(text)]);
        assert!(
            told.first().is_none_or(|told| told.contains(expected) || told.starts_with("CREATE INDEX")),
            "{told:?}"
        );
    }
}

#[test]
fn a_constraint_is_advised_where_values_are_unique_and_many_are_looked_up() {
    let folder = Folder::new();
    let database = shop(&folder);
    let many = "UNWIND range(0, 500) AS i MATCH (p:Product {sku: 's' + i}) RETURN count(p.id)";
    let unique = "CREATE CONSTRAINT FOR (n:Product) REQUIRE n.sku IS UNIQUE";
    // The statement is timed, and while other tests keep the machine busy the difference to an index may be lost in the rest of its time.
    let is_advised = (0..40).any(|_| advised(&database, &[statement(many)]) == [unique]);
    assert!(is_advised, "{:?}", advised(&database, &[statement(many)]));
    let mut session = database.session();
    session.query("CREATE (:Product {sku: 's3'})", &Parameters::default()).unwrap();
    assert!(!advised(&database, &[statement(many)]).contains(&unique.to_owned()));
}

#[test]
fn what_would_not_help_is_not_advised() {
    let folder = Folder::new();
    let database = filled(&folder);
    for text in [
        "MATCH (p:Person) WHERE p.id = 7 RETURN p.name",
        "MATCH (s:Shop {id: 7}) RETURN s.name",
        "MATCH (p:Person) WHERE p.age >= 0 RETURN count(p.name)",
        "MATCH (p:Person) RETURN p.city, count(*)",
        "MATCH (p:Person) WHERE p.name CONTAINS '77' RETURN p.id",
        "RETURN 1",
        "BEGIN",
    ] {
        assert_eq!(advised(&database, &[statement(text)]), Vec::<String>::new(), "{text}");
    }
}

/// A condition that few relationships meet, though a third of them was expected; and a hub whose relationships have one type.
#[test]
fn what_the_run_has_shown_counts_more_than_what_was_expected() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    for statement in [
        "UNWIND range(0, 2999) AS i CREATE (:Stop {id: i})",
        "CREATE CONSTRAINT FOR (s:Stop) REQUIRE s.id IS UNIQUE",
        "MATCH (a:Stop {id: 0}), (b:Stop) WHERE b.id > 0 UNWIND range(0, 49) AS k \
         CREATE (b)-[:LEG {far: 1 + (b.id + k) % 100, late: CASE WHEN b.id = 9 THEN 1000 + k ELSE k END}]->(a)",
        "CHECKPOINT",
    ] {
        session.query(statement, &Parameters::default()).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let late = "MATCH ()-[r:LEG]->() WHERE r.late > 500 RETURN r.far";
    assert_eq!(advised(&database, &[statement(late)]), ["CREATE INDEX FOR ()-[r:LEG]-() ON (r.late)"]);
    // All relationships have the type: to name it saves nothing.
    for hub in [
        "MATCH (a)-[r]->(b:Stop {id: 0}) WHERE r.far % 10 > 5 RETURN count(*)",
        "MATCH (b:Stop {id: 0})<-[r]-(a) RETURN sum(r.far), count(a.id)",
        "MATCH (:Stop)-[r]->(:Stop) RETURN count(r)",
    ] {
        assert_eq!(advised(&database, &[statement(hub)]), Vec::<String>::new(), "{hub}");
    }
}

#[test]
fn looking_changes_nothing_and_writes_are_not_run() {
    let folder = Folder::new();
    let database = filled(&folder);
    let workload = [
        statement("MATCH (p:Person) WHERE p.name = 'p77' SET p.age = 1"),
        statement("MERGE (p:Person {email: 'e19'}) ON CREATE SET p.age = 3"),
        statement("MATCH (p:Person) WHERE p.nme = 1 / 0 RETURN q"),
    ];
    let before = database.info().unwrap();
    let advice = database.advise(&workload, &Interrupt::new()).unwrap();
    let after = database.info().unwrap();
    assert_eq!((before.nodes, &before.indexes), (after.nodes, &after.indexes));
    let found: Vec<String> = advice.recommendations.iter().map(|held| held.remedy.statement()).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.contains(&PERSONS_BY_NAME.to_owned()), "{found:?}");
    assert!(advice.present[..2].iter().all(|present| present.ns.is_some() && !present.is_measured));
    let remark = advice.present[2].remark.as_deref().unwrap_or_default();
    assert!(advice.present[2].ns.is_none() && remark.contains('q'), "{remark}");
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let failure = database.advise(&workload, &interrupt).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Cancelled);
}

#[test]
fn advice_is_verified_on_a_copy_that_is_gone_afterwards() {
    let folder = Folder::new();
    let database = filled(&folder);
    let workload = [statement("MATCH (p:Person) WHERE p.name = 'p77' RETURN p.age"), statement("RETURN 1")];
    let interrupt = Interrupt::new();
    let advice = database.advise(&workload, &interrupt).unwrap();
    assert_eq!(interrupt.progress(), (1, 2), "of two statements one was done as the last one began");
    let path = folder.join("s.knot");
    let verify = |interrupt: &Interrupt| verify_on_copy(&path, Config::default(), &advice, &workload, interrupt);
    let busy = verify(&interrupt).unwrap_err();
    assert_eq!(busy.code(), ErrorCode::Busy, "{busy}");
    drop(database);
    let verified = verify(&interrupt).unwrap();
    assert_eq!(verified.len(), 1);
    assert_eq!(verified[0].times.iter().map(|time| time.statement).collect::<Vec<_>>(), [0]);
    assert!(verified[0].bytes > 100_000 && verified[0].build_ns > 0.0, "{verified:?}");
    assert_eq!(verified[0].helps(&workload), Some(true));
    interrupt.cancel();
    assert_eq!(verify(&interrupt).unwrap_err().code(), ErrorCode::Cancelled);
    let left: Vec<_> =
        std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["s.knot"]);
    let database = open(&folder);
    assert_eq!(database.info().unwrap().indexes.len(), 1);
    assert!(database::check(&path, &Interrupt::new()).unwrap().is_empty());
}

#[test]
fn a_profile_of_many_rows_has_advice() {
    let folder = Folder::new();
    let database = filled(&folder);
    let mut session = database.session();
    let profile = "PROFILE MATCH (p:Person) WHERE p.name = 'p77' RETURN p.age";
    let report = session.query(profile, &Parameters::default()).unwrap().summary.report.unwrap();
    let told = report.advice.clone().unwrap();
    assert!(told.statement.as_deref() == Some(PERSONS_BY_NAME) && told.after_ns > 0.0, "{told}");
    assert!(report.text().contains(&format!("advice: {PERSONS_BY_NAME} would make it about ")), "{}", report.text());
    assert!(report.json().contains("\"advice\""), "{}", report.json());
    // In a transaction too, whose writes count.
    session.begin().unwrap();
    session.query("CREATE (:Person {name: 'p77'})", &Parameters::default()).unwrap();
    let report = session.query(profile, &Parameters::default()).unwrap().summary.report.unwrap();
    assert_eq!(report.advice.unwrap().statement.as_deref(), Some(PERSONS_BY_NAME));
    session.rollback().unwrap();
    session.query(PERSONS_BY_NAME, &Parameters::default()).unwrap();
    let report = session.query(profile, &Parameters::default()).unwrap().summary.report.unwrap();
    assert_eq!(report.advice, None);
    // A rewrite is told with what must hold, which nobody has looked at.
    let profile = "PROFILE MATCH (p:Person) WHERE toString(p.email) = 'e77' RETURN p.age";
    let report = session.query(profile, &Parameters::default()).unwrap().summary.report.unwrap();
    let advice = report.advice.clone().unwrap();
    assert_eq!(advice.statement.as_deref(), Some("CREATE INDEX FOR (n:Person) ON (n.email)"));
    assert_eq!(advice.rewrite.as_deref(), Some("MATCH (p:Person) WHERE p.email = 'e77' RETURN p.age"));
    let told = "advice: writing it as MATCH (p:Person) WHERE p.email = 'e77' RETURN p.age and CREATE INDEX FOR (n:Person) ON (n.email), \
                if toString() leaves email of each :Person node as it is, would make it about ";
    assert!(report.text().contains(told), "{}", report.text());
    assert!(report.json().contains("\"premise\""), "{}", report.json());
}
