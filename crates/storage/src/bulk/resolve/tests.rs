//! Tables of keys against a list, in memory and on the disk.

use std::sync::Arc;

use model::{Column, Interrupt, Map, Value};
use testing::random::{SeededRandom, seed_or};

use super::{BuildContext, KeyTable, MISSING};
use crate::build::BuildConfig;
use crate::bulk::tests::empty_store;
use crate::codec::hash::mix;

fn context() -> Arc<BuildContext> {
    Arc::new(empty_store(1).build(&BuildConfig::default(), &Interrupt::new()))
}

/// Adds the rows of a batch that are not there, with ids from `next` on, as a bulk load does; gives each row's node.
fn add(table: &mut KeyTable, context: &BuildContext, column: &Column, next: &mut u32) -> Vec<u32> {
    let mut found = Vec::new();
    table.prepare(context, column).unwrap();
    table.find_all(column, &mut found).unwrap();
    for (row, node) in found.iter_mut().enumerate().filter(|(_, node)| **node == MISSING) {
        *node = table.insert(column, row, *next).unwrap_or_else(|| {
            *next += 1;
            *next - 1
        });
    }
    found
}

fn check(keys: &[Value], memory_bytes: usize, batch: usize, goes_to_disk: bool) {
    let context = context();
    let mut table = KeyTable::new(memory_bytes);
    let mut expected: Map<String, u32> = Map::default();
    let mut next = 0;
    for keys in keys.chunks(batch) {
        let found = add(&mut table, &context, &Column::from_values(keys), &mut next);
        for (key, node) in keys.iter().zip(found) {
            let count = expected.len() as u32;
            assert_eq!(node, *expected.entry(format!("{key:?}")).or_insert(count), "{key}");
        }
        let most = (memory_bytes * 5 / 4).max(batch * 64 + memory_bytes);
        assert!(table.memory_bytes() <= most, "{} of {memory_bytes}", table.memory_bytes());
    }
    assert_eq!(table.count(), expected.len() as u64);
    assert_eq!(table.runs.is_some(), goes_to_disk);
    for is_frozen in [false, true] {
        if is_frozen {
            table.freeze(&context, if batch.is_multiple_of(2) { usize::MAX } else { 0 }).unwrap();
        }
        let (column, mut found) = (Column::from_values(keys), Vec::new());
        table.find_all(&column, &mut found).unwrap();
        for (key, node) in keys.iter().zip(&found) {
            assert_eq!(*node, expected[&format!("{key:?}")], "{key}");
        }
        let absent = Column::from_values(&[Value::Int(987_654_321_987), Value::string("nobody"), Value::Null]);
        table.find_all(&absent, &mut found).unwrap();
        assert_eq!(found, [MISSING; 3]);
    }
    drop(table);
    let files = context.platform.disk.list(&context.directory).unwrap();
    assert!(files.iter().all(|name| !name.ends_with(".run")), "{files:?}");
}

#[test]
fn every_kind_of_key_is_found_again() {
    for batch in [1_000, 7] {
        let check = |keys: &[Value]| check(keys, 1 << 26, batch, false);
        check(&(0..500).map(|i| Value::Int(i * 3 - 700)).collect::<Vec<_>>());
        check(&(0..500).rev().map(|i| Value::Int(i * 3)).collect::<Vec<_>>());
        check(&(0..500).map(|i| Value::Int(mix(i) as i64)).collect::<Vec<_>>());
        check(&(0..500).map(|i| Value::string(&format!("k{}", i % 400))).collect::<Vec<_>>());
        check(&[Value::Int(1), Value::Float(1.5), Value::string("1"), Value::Bool(true)]);
        check(&[Value::Int(i64::MIN), Value::Int(i64::MAX), Value::Int(0)]);
    }
}

#[test]
fn an_integer_and_the_float_equal_to_it_are_one_key() {
    let mut next = 0;
    let keys = Column::from_values(&[Value::Int(1), Value::Float(1.0), Value::Float(1.5)]);
    assert_eq!(add(&mut KeyTable::new(1 << 26), &context(), &keys, &mut next), [0, 0, 1]);
}

#[test]
fn keys_that_do_not_fit_in_memory_are_found_on_the_disk() {
    let seed = seed_or(7);
    let mut random = SeededRandom::new(seed);
    println!("seed {seed}");
    let memory = 1 << 16;
    for batch in [333, 1_024] {
        // Hashed integers, texts of which some come twice, and integers that fill an array first.
        check(&(0..40_000).map(|i| Value::Int(mix(i) as i64)).collect::<Vec<_>>(), memory, batch, true);
        let texts: Vec<Value> = (0..60_000).map(|_| Value::string(&format!("key {}", random.index(50_000)))).collect();
        check(&texts, memory, batch, true);
        let dense = (0..14_000).map(Value::Int);
        let mixed: Vec<Value> = dense.chain((0..9_000).map(|i| Value::string(&format!("{}", i % 8_000)))).collect();
        check(&mixed, memory, batch, true);
        check(&(0..14_000).map(Value::Int).collect::<Vec<_>>(), memory, batch, false);
        check(&(0..40_000).map(Value::Int).collect::<Vec<_>>(), memory, batch, true);
    }
}

#[test]
fn a_table_gives_its_memory_to_others() {
    let (context, mut next) = (context(), 0);
    let mut table = KeyTable::new(1 << 20);
    let column = |first: i64| Column::from_values(&(first..first + 1_000).map(Value::Int).collect::<Vec<_>>());
    add(&mut table, &context, &column(0), &mut next);
    table.spill_all(&context).unwrap();
    let found = add(&mut table, &context, &column(500), &mut next);
    assert_eq!(found, (500..1_500).collect::<Vec<u32>>());
}
