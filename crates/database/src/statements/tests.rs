//! Calls are counted once, and the table is bounded.

use std::sync::Arc;

use model::limits::{STATEMENTS_BYTES_MAX, STATEMENTS_MAX};
use model::meter::Meter;
use model::{Consumer, MemoryBudget, Value};

use super::{Call, Statements};
use crate::phases::Phases;

fn call(phases: &Phases, now_ns: u64) -> Call<'_> {
    Call {
        phases,
        counts: Meter::default(),
        rows: 2,
        spilled_bytes: 0,
        has_failed: false,
        now_ns,
        plan: Some(now_ns),
        expectation: None,
    }
}

fn count(statements: &Statements, text: &str, now_ns: u64) {
    statements.count(&statements.entry(text), &call(&Phases::default(), now_ns));
}

fn texts_and_calls(statements: &Statements) -> Vec<(String, i64)> {
    let row = |row: &Vec<Value>| match (&row[0], &row[1]) {
        (Value::String(text), Value::Int(calls)) => (text.to_string(), *calls),
        other => panic!("{other:?}"),
    };
    statements.rows().iter().map(row).collect()
}

#[test]
fn texts_that_differ_in_literals_are_one_statement() {
    let statements = Statements::new(MemoryBudget::unlimited());
    count(&statements, "RETURN 1", 1);
    count(&statements, "RETURN   2;", 2);
    count(&statements, "RETURN 'secret", 3);
    count(&statements, "RETURN \"other", 4);
    let expected = [("(a text that is no Cypher)".to_owned(), 2), ("RETURN ?".to_owned(), 2)];
    assert_eq!(texts_and_calls(&statements), expected);
    assert_eq!(statements.rows()[1].last(), Some(&Value::string("0000000000000002")));
    assert_eq!(statements.reset(), 2);
    assert_eq!(texts_and_calls(&statements), []);
}

#[test]
fn an_entry_that_was_forgotten_comes_back_with_its_next_call() {
    let statements = Statements::new(MemoryBudget::unlimited());
    let held = statements.entry("RETURN 1");
    let phases = Phases::default();
    (1..=3).for_each(|now| statements.count(&held, &call(&phases, now)));
    assert_eq!(texts_and_calls(&statements), [("RETURN ?".to_owned(), 3)]);
    statements.reset();
    statements.count(&held, &call(&phases, 4));
    assert_eq!(texts_and_calls(&statements), [("RETURN ?".to_owned(), 1)]);
    statements.reset();
    count(&statements, "RETURN 5", 5);
    statements.count(&held, &call(&phases, 6));
    assert_eq!(texts_and_calls(&statements), [("RETURN ?".to_owned(), 2)]);
}

#[test]
fn many_distinct_texts_stay_within_bounds() {
    for limit in [1 << 30, 1 << 20, 64 << 10] {
        let budget = MemoryBudget::new(limit);
        let statements = Statements::new(budget.clone());
        for number in 0..100_000_u64 {
            count(&statements, &format!("MATCH (n{number}) RETURN n{number}"), number);
            if number % 10 == 0 {
                count(&statements, "RETURN 'in use'", number);
            }
        }
        let kept = texts_and_calls(&statements);
        let bytes = budget.used_by(Consumer::Statements);
        assert!(kept.len() <= STATEMENTS_MAX, "{}", kept.len());
        assert!(bytes <= (limit / 16).min(STATEMENTS_BYTES_MAX) && bytes > 0, "{bytes} of {limit}");
        assert!(kept.contains(&("MATCH (n99999) RETURN n99999".to_owned(), 1)));
        assert!(!kept.contains(&("MATCH (n1) RETURN n1".to_owned(), 1)));
        if limit > 1 << 20 {
            assert!(kept.contains(&("RETURN ?".to_owned(), 10_000)), "what is used is not forgotten");
            assert!(kept.len() > STATEMENTS_MAX / 2, "{}", kept.len());
        }
        drop(statements);
        assert_eq!(budget.used_by(Consumer::Statements), 0);
    }
}

#[test]
fn threads_that_count_at_the_same_time_lose_nothing() {
    let statements = Arc::new(Statements::new(MemoryBudget::unlimited()));
    let shared = statements.entry("RETURN 0");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (statements, shared) = (&statements, &shared);
            scope.spawn(move || {
                let phases = Phases::default();
                for at in 0..2_000 {
                    statements.count(shared, &call(&phases, at));
                    count(statements, &format!("RETURN x{}", (thread + at) % 16), at);
                }
            });
        }
    });
    let kept = texts_and_calls(&statements);
    assert_eq!((kept.len(), kept.iter().map(|(_, calls)| calls).sum::<i64>()), (17, 32_000));
    assert!(kept.contains(&("RETURN ?".to_owned(), 16_000)));
}
