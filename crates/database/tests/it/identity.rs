//! Names of relationships: `id(r)`, `elementId(r)` and the relationships that results give, from statement to
//! statement, through files, and after its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use database::{Config, Database, Durability, Parameters, Session};
use model::{Interrupt, Value};
use testing::Folder;

use crate::engine::answer_of;

fn open(folder: &Folder) -> Database {
    let config = Config { durability: Durability::Off, threads: 1, ..Config::default() };
    Database::open(&folder.join("store.knot"), config).expect("a store can be opened")
}

fn run_with(session: &mut Session, text: &str, parameters: &[(&str, Value)]) -> Vec<Vec<Value>> {
    let parameters: Parameters = parameters.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect();
    session.query(text, &parameters).unwrap_or_else(|error| panic!("{text}: {error}")).rows().collect()
}

fn run(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    run_with(session, text, &[])
}

/// The payments: amount, id, element id and the relationship itself.
fn payments(session: &mut Session) -> Vec<Vec<Value>> {
    run(session, "MATCH ()-[r:PAID]->() RETURN r.amt, id(r), elementId(r), r ORDER BY r.amt")
}

/// Each way to ask for a relationship gives the one of that amount, or nothing.
fn check_found(session: &mut Session, payment: &[Value], expected: Option<&Value>) {
    let expected: Vec<Vec<Value>> = expected.iter().map(|&amount| vec![amount.clone()]).collect();
    let [_, id, element_id, edge] = payment else { panic!("four columns were asked for") };
    for (condition, value) in [
        ("elementId(r) = $x", element_id.clone()),
        ("$x = elementId(r)", element_id.clone()),
        ("elementId(r) IN $x", Value::list(vec![element_id.clone(), Value::from("no id".to_owned()), Value::Null])),
        ("id(r) = $x", id.clone()),
        ("r = $x", edge.clone()),
        ("r IN $x", Value::list(vec![edge.clone()])),
    ] {
        let text = format!("MATCH ()-[r]->() WHERE {condition} RETURN r.amt");
        assert_eq!(run_with(session, &text, &[("x", value)]), expected, "{condition}");
    }
    let direct = run_with(session, "RETURN $x.amt", &[("x", edge.clone())]);
    assert_eq!(direct, [[expected.first().map_or(Value::Null, |row| row[0].clone())]], "a property of a parameter");
}

#[test]
fn a_relationship_is_known_by_the_same_id_until_its_end_and_never_after() {
    let folder = Folder::new();
    let mut database = open(&folder);
    let mut session = database.session();
    run(&mut session, "CREATE (a:X {n: 1})-[:PAID {amt: 10}]->(b:X {n: 2}), (b)-[:PAID {amt: 20}]->(a)");
    let first = payments(&mut session);
    assert!(first.iter().all(|row| matches!(row[1], Value::Int(id) if id >= 0)), "{first:?}");
    database.compact(&Interrupt::new()).unwrap();
    assert_eq!(payments(&mut session), first, "after files were written");
    run(&mut session, "MATCH (a:X {n: 1}), (b:X {n: 2}) CREATE (a)-[:PAID {amt: 999}]->(b)");
    first.iter().for_each(|payment| check_found(&mut session, payment, Some(&payment[0])));
    run(&mut session, "CREATE SORT KEY FOR ()-[r:PAID]-() ON (r.amt)");
    run(&mut session, "MATCH (a:X {n: 1}), (b:X {n: 2}) CREATE (a)-[:PAID {amt: 5}]->(b)");
    database.checkpoint().unwrap();
    first.iter().for_each(|payment| check_found(&mut session, payment, Some(&payment[0])));
    run_with(&mut session, "MATCH ()-[r]->() WHERE elementId(r) = $x DELETE r", &[("x", first[0][2].clone())]);
    run(&mut session, "MATCH (a:X {n: 1}), (b:X {n: 2}) CREATE (a)-[:PAID {amt: 11}]->(b)");
    for _ in 0..2 {
        check_found(&mut session, &first[0], None);
        check_found(&mut session, &first[1], Some(&first[1][0]));
        database.compact(&Interrupt::new()).unwrap();
        drop(session);
        drop(database);
        database = open(&folder);
        session = database.session();
    }
}

#[test]
fn a_new_relationship_has_its_id_before_it_is_committed() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    run(&mut session, "CREATE (:X {n: 1}), (:X {n: 2})");
    let make =
        "MATCH (a:X {n: 1}), (b:X {n: 2}) CREATE (a)-[r:PAID {amt: 1}]->(b) RETURN r.amt, id(r), elementId(r), r";
    session.begin().unwrap();
    let made = run(&mut session, make).swap_remove(0);
    check_found(&mut session, &made, Some(&Value::Int(1)));
    let mut other = database.session();
    let others = run(&mut other, make).swap_remove(0);
    session.commit().unwrap();
    assert_ne!(made[1..], others[1..]);
    check_found(&mut session, &made, Some(&Value::Int(1)));
    let last =
        run_with(&mut session, "MATCH ()-[r]->() WHERE r = $x DELETE r RETURN elementId(r)", &[("x", made[3].clone())]);
    assert_eq!(last, [[made[2].clone()]], "what was just deleted is still known by its id");
    check_found(&mut session, &made, None);
    check_found(&mut session, &others, Some(&Value::Int(1)));
}

#[test]
fn element_ids_are_seeks() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    run(&mut session, "CREATE (:X)-[:PAID]->(:X)-[:OWES]->(:X)");
    for (text, is_seek) in [
        ("MATCH (a)-[r]->(b) WHERE elementId(r) = $x RETURN a, b", true),
        ("MATCH (a)<-[r:PAID]-(b) WHERE elementId(r) IN [$x, 'y'] RETURN a, b", true),
        ("MATCH (a)-[r]-(b) WHERE elementId(r) = $x RETURN a, b", true),
        ("UNWIND [$x] AS x MATCH ()-[r]->() WHERE elementId(r) = x DELETE r", true),
        ("MATCH (a)-[r]->(b) WHERE elementId(r) > $x RETURN a, b", false),
        ("MATCH (a)-[r*1..2]->(b) WHERE elementId(r[0]) = $x RETURN a, b", false),
    ] {
        let parameters: Parameters = [(Arc::from("x"), Value::from("0:0:1:0".to_owned()))].into_iter().collect();
        let plan = session.query(&format!("EXPLAIN {text}"), &parameters).unwrap().summary.plan.unwrap();
        assert_eq!(plan.contains("EdgeById"), is_seek, "{text}\n{plan}");
        let counted = format!("{} RETURN count(*)", text.split(" RETURN").next().unwrap().replace(" DELETE r", ""));
        let with_index = answer_of(&mut session, &counted, &parameters).unwrap().rows;
        let without = counted.replace("elementId(r)", "elementId(r) + ''");
        assert_eq!(with_index, answer_of(&mut session, &without, &parameters).unwrap().rows, "{text}");
    }
}

/// Ends a thread, also when another has panicked.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn transactions_of_batches_change_the_relationships_of_their_rows() {
    const EDGES: i64 = 400;
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    run(&mut session, "CREATE (:X {n: 1}), (:X {n: 2})");
    run(&mut session, "MATCH (a:X {n: 1}), (b:X {n: 2}) UNWIND range(1, 400) AS i CREATE (a)-[:E {uid: i}]->(b)");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (database, is_done) = (&database, &is_done);
        scope.spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                database.checkpoint().unwrap();
            }
        });
        let stop = Stop(is_done);
        let rows = run(
            &mut session,
            "MATCH ()-[r:E]->() CALL (r) { SET r.t = r.uid RETURN r AS same } IN TRANSACTIONS OF 3 ROWS
             RETURN r.uid, r.t, same.uid, r = same",
        );
        let seventh = run(&mut session, "MATCH ()-[r:E {uid: 7}]->() RETURN r").swap_remove(0).swap_remove(0);
        let count = "UNWIND range(1, 20) AS i
             CALL (i) { MATCH ()-[q:E]->() WHERE q = $r SET q.hits = coalesce(q.hits, 0) + 1 } IN TRANSACTIONS OF 1 ROWS";
        run_with(&mut session, count, &[("r", seventh)]);
        let hits = run(&mut session, "MATCH ()-[r:E]->() WHERE r.hits > 0 RETURN r.uid, r.hits");
        let deleted = run(
            &mut session,
            "MATCH ()-[r:E]->() WHERE r.uid % 2 = 0 CALL (r) { DELETE r } IN TRANSACTIONS OF 3 ROWS RETURN count(*)",
        );
        drop(stop);
        let mut uids: Vec<i64> = rows
            .into_iter()
            .map(|row| match row.as_slice() {
                [Value::Int(uid), Value::Int(t), Value::Int(same), Value::Bool(true)] if uid == t && uid == same => {
                    *uid
                }
                other => panic!("another relationship was changed or read: {other:?}"),
            })
            .collect();
        uids.sort_unstable();
        assert_eq!(uids, (1..=EDGES).collect::<Vec<_>>());
        assert_eq!(hits, [[Value::Int(7), Value::Int(20)]]);
        assert_eq!(deleted, [[Value::Int(EDGES / 2)]]);
    });
    let left = run(&mut session, "MATCH ()-[r:E]->() RETURN r.uid, r.t ORDER BY r.uid");
    let odd = (1..=EDGES).step_by(2).map(|uid| vec![Value::Int(uid), Value::Int(uid)]);
    assert_eq!(left, odd.collect::<Vec<_>>());
}
