//! The work of plans, in units.

use std::sync::Arc;

use cypher::plan::Plan;
use model::{Interrupt, ReadView};

use super::{Rows, Sizes, UNITS, Unit, Work, each, of_plan};
use crate::{Config, Database, Parameters};

fn filled() -> (testing::Folder, Database) {
    let folder = testing::Folder::new();
    let database = Database::open(&folder.join("s.knot"), Config::default()).expect("a new store opens");
    let mut session = database.session();
    for text in [
        "CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE",
        "UNWIND range(0, 999) AS i CREATE (:P {id: i, age: i % 50})",
        "MATCH (a:P), (b:P) WHERE b.id = (a.id * 7) % 1000 CREATE (a)-[:K]->(b)",
    ] {
        session.query(text, &Parameters::default()).expect(text);
    }
    drop(session);
    (folder, database)
}

fn plan(database: &Database, view: &dyn ReadView, text: &str) -> Arc<Plan> {
    let registry = database.registry();
    let plan = crate::compiling::plan_under(text, &*registry, view, view.schema(), &Interrupt::new());
    plan.expect(text).expect("it is a query")
}

/// Checks how many of some units a statement has, by the rows that are expected.
fn check(text: &str, expected: &[(Unit, f64)]) {
    let (_folder, database) = filled();
    let view = database.store().read().expect("it is read");
    let work = of_plan(&plan(&database, &*view, text), Rows::Expected, sizes(&*view));
    for &(unit, count) in expected {
        assert_eq!(work.0[unit as usize], count, "{text}: {unit:?} of {:?}", work.units().collect::<Vec<_>>());
    }
}

fn sizes(view: &dyn ReadView) -> Sizes<'_> {
    Sizes { schema: view.schema(), statistics: view.estimates() }
}

#[test]
fn units_have_names_of_their_own_and_cost_something() {
    let mut names: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), UNITS.len());
    assert!(UNITS.iter().all(|(_, ns)| *ns >= 0.0 && ns.is_finite()));
    let mut work = Work::default();
    work.add(Unit::Edge, 2.0);
    work.add(Unit::Commit, 1.0);
    assert_eq!(work.ns(), 2.0 * Unit::Edge.ns() + Unit::Commit.ns());
    assert_eq!(work.units().collect::<Vec<_>>(), [("edge", 2.0), ("commit", 1.0)]);
}

#[test]
fn what_a_plan_does_is_counted() {
    check("RETURN 1", &[(Unit::Statement, 1.0), (Unit::ScannedNode, 0.0), (Unit::Cell, 1.0)]);
    check("MATCH (p:P {id: 7}) RETURN p", &[(Unit::Lookup, 1.0), (Unit::Record, 1.0), (Unit::ScannedNode, 0.0)]);
    let aged = [(Unit::ScannedNode, 1_000.0), (Unit::Property, 1_000.0), (Unit::PropertyColumn, 1.0)];
    check("MATCH (p:P) WHERE p.age = 3 RETURN count(*)", &aged);
    check("MATCH (a:P {id: 1})-[:K]->(b) RETURN count(b.age)", &[(Unit::ExpandedNode, 1.0), (Unit::Edge, 1.0)]);
    check("MATCH (p:P) RETURN p.id ORDER BY p.age", &[(Unit::ComparedRow, 1_000.0 * 1_000_f64.log2())]);
    check("CREATE (:Q {x: 1, y: 2})", &[(Unit::CreatedNode, 1.0), (Unit::SetProperty, 2.0), (Unit::Commit, 1.0)]);
    check("CREATE INDEX FOR (p:P) ON (p.age, p.id)", &[(Unit::IndexEntry, 2_000.0)]);
    check("MATCH (p:P) SET p.age = 1", &[(Unit::SetProperty, 2_000.0)]);
    check("MATCH (p:P) DETACH DELETE p", &[(Unit::Deleted, 1_000.0)]);
}

#[test]
fn a_limit_ends_what_is_below_it() {
    let scanned = |text: &str| {
        let (_folder, database) = filled();
        let mut session = database.session();
        let text_of_more = "UNWIND range(1, 50) AS i UNWIND range(1, 1000) AS j CREATE (:Many)";
        session.query(text_of_more, &Parameters::default()).expect("nodes are created");
        let view = database.store().read().expect("it is read");
        of_plan(&plan(&database, &*view, text), Rows::Expected, sizes(&*view)).0[Unit::ScannedNode as usize]
    };
    let limited = scanned("MATCH (n:Many) RETURN n LIMIT 5");
    assert!(limited < 5_000.0, "{limited}");
    assert_eq!(scanned("MATCH (n:Many) RETURN n.x ORDER BY n.x LIMIT 5"), 50_000.0);
}

#[test]
fn a_subplan_runs_for_each_row_and_its_rows_are_all_that_came() {
    let (_folder, database) = filled();
    let view = database.store().read().expect("it is read");
    let text = "MATCH (a:P) WHERE a.age < 10 OPTIONAL MATCH (a)-[:K]->(b) WHERE b.age > a.age RETURN a.id, b.id";
    let plan = plan(&database, &*view, text);
    let expected = of_plan(&plan, Rows::Expected, sizes(&*view)).0[Unit::SubplanRow as usize];
    assert!(expected > 1.0, "{expected}");
    let came = |_| 10.0;
    let work = of_plan(&plan, Rows::Came(&came), sizes(&*view));
    assert_eq!(work.0[Unit::SubplanRow as usize], 10.0);
    let mut sum = Work::default();
    each(&plan, Rows::Came(&came), sizes(&*view), &mut |_, work| sum.merge(work));
    assert_eq!(sum.ns() + Unit::Statement.ns(), work.ns());
}

#[test]
fn edges_are_counted_once_at_most() {
    let counted = |text: &str| {
        let (_folder, database) = filled();
        let view = database.store().read().expect("it is read");
        let work = of_plan(&plan(&database, &*view, text), Rows::Expected, sizes(&*view));
        (work.0[Unit::CountedRow as usize], work.0[Unit::CountedEdge as usize])
    };
    // Degrees are enough for the last edge.
    let (rows, edges) = counted("MATCH (a:P)-[:K]->(b) RETURN a.id, count(*)");
    assert!(rows <= 1_000.0 && edges == 0.0, "{rows} rows, {edges} edges");
    let (rows, edges) = counted("MATCH (a:P)-[:K]->(b)-[:K]->(c) RETURN a.id, count(*)");
    assert!((1_000.0..=3_000.0).contains(&rows) && edges <= 1_000.0, "{rows} rows, {edges} edges");
}

#[test]
fn texts_of_their_own_are_told_from_those_of_dictionaries() {
    let (_folder, database) = filled();
    let text = "UNWIND range(0, 2999) AS i CREATE (:T {name: 't' + i, city: 'c' + i % 9, n: i})";
    database.session().query(text, &Parameters::default()).expect(text);
    database.checkpoint().expect("sketches are drawn");
    let view = database.store().read().expect("it is read");
    for (key, unit) in [("name", Unit::Text), ("city", Unit::Property), ("n", Unit::Property)] {
        let text = format!("MATCH (t:T) RETURN max(t.{key})");
        let work = of_plan(&plan(&database, &*view, &text), Rows::Expected, sizes(&*view));
        assert_eq!(work.0[unit as usize], 3_000.0, "{text}: {:?}", work.units().collect::<Vec<_>>());
    }
}
