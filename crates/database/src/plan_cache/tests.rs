//! One plan serves all parameters of a text, and no longer than the facts it rests on hold.

use std::sync::{Arc, PoisonError};

use model::limits::PLAN_CACHE_ENTRIES;
use model::{ErrorCode, Value};
use testing::Folder;

use super::Compiled;
use crate::{Config, Database, Durability, Parameters, Session};

fn with_database(run: impl FnOnce(&Database, &mut Session)) {
    let folder = Folder::new();
    let config = Config { durability: Durability::Off, threads: 1, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
    let mut session = database.session();
    ask(&mut session, "UNWIND range(1, 20) AS i CREATE (:N {id: i, name: 'n' + i})", &[]);
    run(&database, &mut session);
}

fn parameters(named: &[(&str, Value)]) -> Parameters {
    named.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect()
}

/// All rows of a statement as text.
fn ask(session: &mut Session, text: &str, named: &[(&str, Value)]) -> String {
    let result = session.query(text, &parameters(named)).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let row = |row: Vec<Value>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    result.rows().map(|values| row(values.to_vec())).collect::<Vec<_>>().join("; ")
}

/// The plan that the cache holds of a text, whatever facts it was made under.
fn held(database: &Database, text: &str) -> Option<Arc<Compiled>> {
    let plans = database.shared.plans.plans.lock().unwrap_or_else(PoisonError::into_inner);
    plans.get(text).map(|(_, plan)| plan.clone())
}

fn count(database: &Database) -> usize {
    database.shared.plans.plans.lock().unwrap_or_else(PoisonError::into_inner).len()
}

#[test]
fn one_plan_serves_values_of_all_kinds() {
    with_database(|database, session| {
        ask(session, "CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE", &[]);
        for (text, cases) in [
            (
                "MATCH (n:N {id: $x}) RETURN n.name",
                vec![
                    (Value::Int(3), "'n3'"),
                    (Value::Float(4.0), "'n4'"),
                    (Value::string("3"), ""),
                    (Value::Null, ""),
                    (Value::list(vec![Value::Int(3)]), ""),
                    (Value::Int(20), "'n20'"),
                ],
            ),
            (
                "MATCH (n:N) WHERE n.id IN $x RETURN count(*)",
                vec![
                    (Value::list(vec![Value::Int(1), Value::Int(2), Value::Int(1)]), "2"),
                    (Value::list(Vec::new()), "0"),
                    (Value::Null, "0"),
                    (Value::list(vec![Value::Null, Value::string("a")]), "0"),
                ],
            ),
            (
                "MATCH (n:N) WITH n.id AS id ORDER BY id LIMIT $x RETURN sum(id)",
                vec![(Value::Int(2), "3"), (Value::Int(0), "0"), (Value::Int(100), "210")],
            ),
            (
                "RETURN $x + 1 AS y",
                vec![(Value::Int(1), "2"), (Value::Float(0.5), "1.5"), (Value::string("a"), "'a1'")],
            ),
        ] {
            let mut first = None;
            for (value, expected) in cases {
                assert_eq!(ask(session, text, &[("x", value.clone())]), expected, "{text} of {value}");
                let plan = held(database, text).expect("the plan is kept");
                assert!(Arc::ptr_eq(first.get_or_insert(plan.clone()), &plan), "{text} of {value} was planned anew");
            }
            let error = session.query(text, &Parameters::default()).err().expect("the value is missing");
            assert_eq!(error.code(), ErrorCode::Parameter, "{text}: {error:?}");
        }
    });
}

#[test]
fn a_kept_plan_can_fail_for_one_value_and_serve_the_next() {
    with_database(|database, session| {
        let text = "UNWIND [1, 2] AS i RETURN i / $x AS y";
        assert_eq!(ask(session, text, &[("x", Value::Int(1))]), "1; 2");
        let plan = held(database, text).expect("the plan is kept");
        let error = session.query(text, &parameters(&[("x", Value::Int(0))])).err().expect("nothing is divided by 0");
        assert_eq!(error.code(), ErrorCode::Arithmetic, "{error:?}");
        assert_eq!(ask(session, text, &[("x", Value::Int(2))]), "0; 1");
        assert!(Arc::ptr_eq(&plan, &held(database, text).expect("it is still kept")));
    });
}

#[test]
fn a_plan_ends_with_the_facts_it_rests_on() {
    with_database(|database, session| {
        let text = "MATCH (n:N) WHERE n.id >= $least RETURN count(*)";
        let by_key = "MATCH (n:N {id: $id}) RETURN n.name";
        let mut plans: Vec<Arc<Compiled>> = Vec::new();
        // The change, the number of plans counted after it, and whether the statement must be planned anew.
        for (change, expected, is_new) in [
            ("RETURN 1", "11", true),
            ("MATCH (n:N {id: 10}) SET n.name = 'ten'", "11", false),
            // The label is no longer that of all nodes: a plan that does not test it would count this one too.
            ("CREATE (:Other {id: 15})", "11", true),
            ("CREATE CONSTRAINT one FOR (n:N) REQUIRE n.id IS UNIQUE", "11", true),
            ("MATCH (n:N {id: 20}) DELETE n", "10", false),
            ("DROP CONSTRAINT one", "10", true),
            ("UNWIND range(100, 1000) AS i CREATE (:N {id: i})", "911", true),
        ] {
            ask(session, change, &[]);
            assert_eq!(ask(session, text, &[("least", Value::Int(10))]), expected, "after {change}");
            assert_eq!(ask(session, by_key, &[("id", Value::Int(3))]), "'n3'", "after {change}");
            let plan = held(database, text).expect("the plan is kept");
            let is_kept = plans.last().is_some_and(|last| Arc::ptr_eq(last, &plan));
            assert_eq!(is_kept, !is_new, "after {change}");
            plans.push(plan);
        }
    });
}

#[test]
fn a_full_cache_is_emptied() {
    with_database(|database, session| {
        for number in 0..PLAN_CACHE_ENTRIES + 10 {
            assert_eq!(
                ask(session, &format!("RETURN {number} + $x"), &[("x", Value::Int(1))]),
                (number + 1).to_string()
            );
            assert!(count(database) <= PLAN_CACHE_ENTRIES);
        }
        assert!(count(database) < 20);
    });
}
