//! Estimated times are told, calibrated by statements, and not told where they would be guesses.

use super::{Calibration, STATEMENTS_MIN, time_text, wall_ns};
use crate::{Config, Database, Parameters, PlanReport};

fn report(database: &Database, text: &str) -> PlanReport {
    let result = database.session().query(text, &Parameters::default());
    *result.unwrap_or_else(|failure| panic!("{text}: {failure}")).summary.report.expect("a plan is told")
}

fn line(database: &Database, text: &str) -> String {
    let report = report(database, text);
    let line = report.text().lines().find(|line| line.starts_with("estimated time: "));
    line.unwrap_or_else(|| panic!("{text}: {}", report.text())).to_owned()
}

fn open(folder: &testing::Folder) -> Database {
    Database::open(&folder.join("s.knot"), Config::default()).expect("a new store opens")
}

#[test]
fn durations_have_two_digits_or_three() {
    let told = [0.0, 999.4, 4_250.0, 3.2e6, 47.3e6, 61e9, 1e20].map(time_text);
    assert_eq!(told, ["0.00 ns", "999 ns", "4.2 µs", "3.2 ms", "47 ms", "61 s", "more than two hours"]);
}

#[test]
fn the_factor_is_a_median_within_limits() {
    assert_eq!(Calibration::of(vec![2.0; STATEMENTS_MIN - 1]), Calibration { factor: 1.0, statements: 0 });
    let factors = vec![1.5, 900.0, 0.001, 1.4, 1.6];
    assert_eq!(Calibration::of(factors), Calibration { factor: 1.5, statements: 5 });
    assert_eq!(Calibration::of(vec![1e9; 9]), Calibration { factor: 10.0, statements: 9 });
}

#[test]
fn long_work_is_divided_among_threads() {
    assert_eq!(wall_ns(1e6, 8), 1e6);
    assert_eq!(wall_ns(1e9, 1), 1e9);
    assert!(wall_ns(1e9, 2) < 0.6e9 && wall_ns(1e9, 2) > 0.5e9);
}

#[test]
fn explain_tells_a_time_or_the_reason_why_not() {
    let folder = testing::Folder::new();
    let database = open(&folder);
    for text in ["RETURN 1", "MATCH (n) RETURN n", "CREATE (:A)", "MATCH (n:None) DETACH DELETE n", "CALL db.labels()"]
    {
        let told = line(&database, &format!("EXPLAIN {text}"));
        assert!(told.ends_with(" (by default unit costs)"), "{text}: {told}");
    }
    let told = line(&database, "EXPLAIN CALL algo.pagerank() YIELD node RETURN node");
    assert_eq!(told, "estimated time: unknown (CALL algo.pagerank: see algo.pagerank.estimate)");
    let told = line(&database, "EXPLAIN LOAD CSV FROM 'file:///x.csv' AS row RETURN row");
    assert_eq!(told, "estimated time: unknown (LOAD CSV)");
    let told = report(&database, "EXPLAIN CALL algo.pagerank() YIELD node RETURN node").json();
    assert!(told.contains("\"estimatedNs\":null") && told.contains("\"unknown\":\"CALL algo.pagerank"), "{told}");
    let told = report(&database, "EXPLAIN MATCH (n) RETURN n").json();
    assert!(told.contains("\"basis\":\"default\"") && told.contains("\"units\":{"), "{told}");
}

#[test]
fn a_profile_tells_the_time_by_the_rows_that_came() {
    let folder = testing::Folder::new();
    let database = open(&folder);
    database
        .session()
        .query("UNWIND range(1, 5000) AS i CREATE (:A {i: i})", &Parameters::default())
        .expect("it writes");
    let report = report(&database, "PROFILE MATCH (n:A) WHERE n.i % 2 = 0 RETURN n.i");
    let estimate = report.estimate.as_ref().expect("it is estimated");
    assert!(estimate.by_rows_ns.is_some_and(|ns| ns > 0.0) && estimate.time_ns.is_ok(), "{estimate:?}");
    assert!(report.text().contains(" by the rows that came ("), "{}", report.text());
    assert!(report.json().contains("\"estimatedNsByRows\""), "{}", report.json());
}

#[test]
fn statements_that_were_run_calibrate() {
    let folder = testing::Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    let mut run = |text: &str| drop(session.query(text, &Parameters::default()).expect(text));
    run("UNWIND range(1, 100) AS i CREATE (:A {i: i})");
    let explained = "EXPLAIN MATCH (n:A) RETURN n.i";
    // Of those with other numbers of rows than were expected, and those that write, nothing is learnt.
    for at in 0..STATEMENTS_MIN {
        run(&format!("MATCH (n:A) WHERE n.i < 0 RETURN n.i AS x{at}"));
        run(&format!("CREATE (n:B) RETURN n.x AS x{at}"));
        run(&format!("PROFILE MATCH (n:A) RETURN n.i AS x{at}"));
    }
    assert!(line(&database, explained).ends_with("(by default unit costs)"));
    (0..STATEMENTS_MIN).for_each(|at| run(&format!("MATCH (n:A) RETURN n.i AS x{at}")));
    let told = report(&database, explained).estimate.expect("it is estimated");
    assert_eq!(told.calibration.statements, STATEMENTS_MIN);
    let told = line(&database, explained);
    assert!(told.ends_with(", the median of 5 statements of this process)"), "{told}");
    run("CALL dbms.resetStatements()");
    assert!(line(&database, explained).ends_with("(by default unit costs)"));
}
