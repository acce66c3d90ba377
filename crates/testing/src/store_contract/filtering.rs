//! Promises of scans with conditions: they find what a scan finds for which the conditions hold, tested by the store or by the executor.

use std::ops::Bound;

use model::condition::{Condition, Test};
use model::store::scan_filtered;
use model::{Column, Count, FirstNodes, KeyOrder, NodeBatch, NodeScan, PropertyKeyId, ReadView, Value};

use super::Check;
use super::subject::{Subject, add_node, key, label};
use crate::random::SeededRandom;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("a scan with a condition is a scan, then the condition", single_conditions),
    ("so it is with conditions of conditions", nested_conditions),
    ("of the first nodes none is missing", first_nodes),
    ("nodes that meet conditions are counted right, or not at all", counts),
];

const PROPERTIES: [&str; 3] = ["a", "b", "c"];
const NODES: usize = 60;
const ROUNDS: usize = 60;

/// Texts that databases compare otherwise, or that are special in their patterns.
const TEXTS: [&str; 19] = [
    "", "a", "A", "ab", "aB", "AB", "a%b", "a_b", "axb", "a\\b", "it's", "\"q\"", "b", "b ", " b", "ä", "Ä", "日本",
    "ß",
];

fn ints() -> Vec<Value> {
    [-3, 0, 1, 2, 17, i64::MAX, i64::MIN, (1 << 53) + 1].map(Value::Int).to_vec()
}

fn floats() -> Vec<Value> {
    [-2.5, 0.0, -0.0, 1.0, 1.5, 2.0, 1e300, 9_007_199_254_740_992.0].map(Value::Float).to_vec()
}

/// Values that a condition may name: of the property's kind, of other kinds, and NaN.
fn named_values() -> Vec<Value> {
    let mut values = ints();
    values.extend(floats());
    values.extend(TEXTS.map(Value::string));
    values.extend([Value::Float(f64::NAN), Value::Bool(true), Value::string("2"), Value::Float(0.5)]);
    values
}

fn fill(subject: &mut Subject<'_>) {
    let mut random = SeededRandom::new(23);
    let texts = TEXTS.map(Value::string);
    subject.commit(|transaction| {
        for name in 0..NODES {
            let mut row = vec![("name", Value::Int(name as i64))];
            for (property, values) in [("a", ints()), ("b", texts.to_vec()), ("c", floats())] {
                if random.below(4) > 0 {
                    row.push((property, random.pick(&values).clone()));
                }
            }
            add_node(transaction, &["N"], &row);
        }
    });
}

fn test(random: &mut SeededRandom) -> Test {
    let values = named_values();
    let value = |random: &mut SeededRandom| random.pick(&values).clone();
    let text = |random: &mut SeededRandom| {
        let text = *random.pick(&TEXTS);
        // Beginnings and ends of texts, which may be empty.
        let letters: Vec<char> = text.chars().collect();
        let from = random.below(letters.len() as u64 + 1) as usize;
        if random.below(2) == 0 { letters[from..].iter().collect::<String>() } else { letters[..from].iter().collect() }
    };
    let bound = |random: &mut SeededRandom| match random.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(value(random)),
        _ => Bound::Excluded(value(random)),
    };
    let of_strings = |random: &mut SeededRandom| match random.below(3) {
        0 => Test::StartsWith(text(random)),
        1 => Test::EndsWith(text(random)),
        _ => Test::Contains(text(random)),
    };
    match random.below(10) {
        9 => Test::NotBetween(bound(random), bound(random)),
        0 => Test::OneOf((0..random.below(4)).map(|_| value(random)).collect()),
        1 => Test::NoneOf((0..random.below(4)).map(|_| value(random)).collect()),
        2 | 3 => Test::Between(bound(random), bound(random)),
        4 | 5 => of_strings(random),
        6 => Test::NoMatch(Box::new(of_strings(random))),
        7 => Test::Present,
        _ => Test::Absent,
    }
}

fn condition(random: &mut SeededRandom, keys: &[PropertyKeyId], depth: u32) -> Condition<PropertyKeyId> {
    let parts = |random: &mut SeededRandom| {
        (0..=random.below(3)).map(|_| condition(random, keys, depth - 1)).collect::<Vec<_>>()
    };
    match if depth == 0 { 9 } else { random.below(10) } {
        0..=3 => Condition::Any(parts(random)),
        4..=6 => Condition::All(parts(random)),
        _ => Condition::is(*random.pick(keys), test(random)),
    }
}

/// The names of the nodes of a cursor.
fn names(view: &dyn ReadView, scan: &NodeScan) -> Vec<i64> {
    let scan = NodeScan { keys: vec![key(view, "name")], ..scan.clone() };
    let (mut cursor, mut batch) = (scan_filtered(view, &scan).expect("scanning"), NodeBatch::default());
    let mut names = Vec::new();
    while cursor.next(&mut batch).expect("scanning on") {
        assert_eq!(batch.properties.len(), 1, "one column for each key");
        names.extend(batch.properties[0].values().map(|name| match name {
            Value::Int(name) => name,
            other => panic!("a name is {other}"),
        }));
    }
    names.sort_unstable();
    names
}

/// Names and properties of all nodes.
fn rows(view: &dyn ReadView) -> Vec<(i64, Vec<Value>)> {
    let keys: Vec<PropertyKeyId> = ["name"].iter().chain(&PROPERTIES).map(|name| key(view, name)).collect();
    let scan = NodeScan { labels: vec![label(view, "N")], keys, ..NodeScan::default() };
    let (mut cursor, mut batch, mut rows) = (view.scan(&scan).expect("scanning"), NodeBatch::default(), Vec::new());
    while cursor.next(&mut batch).expect("scanning on") {
        for row in 0..batch.nodes.len() {
            let Value::Int(name) = batch.properties[0].value(row) else { panic!("a node without a name") };
            rows.push((name, batch.properties[1..].iter().map(|column: &Column| column.value(row)).collect()));
        }
    }
    rows.sort_by_key(|(name, _)| *name);
    rows
}

struct Filled {
    view: std::sync::Arc<dyn ReadView>,
    keys: Vec<PropertyKeyId>,
    rows: Vec<(i64, Vec<Value>)>,
}

impl Filled {
    fn of(subject: &mut Subject<'_>) -> Filled {
        fill(subject);
        let view = subject.view();
        let keys = PROPERTIES.iter().map(|name| key(&*view, name)).collect();
        let rows = rows(&*view);
        assert_eq!(rows.len(), NODES);
        Filled { view, keys, rows }
    }

    fn matching(&self, filter: &[Condition<PropertyKeyId>]) -> Vec<&(i64, Vec<Value>)> {
        let place = |of: &PropertyKeyId| self.keys.iter().position(|key| key == of).expect("a property of the table");
        let holds = |values: &Vec<Value>| filter.iter().all(|part| part.holds(&|key| values[place(key)].clone()));
        self.rows.iter().filter(|(_, values)| holds(values)).collect()
    }

    fn scan(&self, filter: Vec<Condition<PropertyKeyId>>) -> NodeScan {
        NodeScan { labels: vec![label(&*self.view, "N")], filter, ..NodeScan::default() }
    }

    fn check(&self, filter: Vec<Condition<PropertyKeyId>>) {
        let expected: Vec<i64> = self.matching(&filter).iter().map(|(name, _)| *name).collect();
        assert_eq!(names(&*self.view, &self.scan(filter.clone())), expected, "{filter:?}");
    }
}

fn single_conditions(subject: &mut Subject<'_>) {
    let filled = Filled::of(subject);
    let mut random = SeededRandom::new(1);
    for &key in &filled.keys {
        for _ in 0..ROUNDS {
            filled.check(vec![Condition::is(key, test(&mut random))]);
        }
    }
}

fn nested_conditions(subject: &mut Subject<'_>) {
    let filled = Filled::of(subject);
    let mut random = SeededRandom::new(2);
    for _ in 0..ROUNDS {
        let count = 1 + random.below(3);
        filled.check((0..count).map(|_| condition(&mut random, &filled.keys, 2)).collect());
    }
    filled.check(vec![Condition::never()]);
    filled.check(vec![Condition::All(Vec::new())]);
}

fn first_nodes(subject: &mut Subject<'_>) {
    let filled = Filled::of(subject);
    let mut random = SeededRandom::new(3);
    for _ in 0..ROUNDS {
        let filter: Vec<_> = (0..random.below(2)).map(|_| condition(&mut random, &filled.keys, 1)).collect();
        let count = random.below(3) as usize;
        let places: Vec<usize> = (0..count).map(|_| random.below(3) as usize).collect();
        let mut order = || if random.below(2) == 0 { KeyOrder::Ascending } else { KeyOrder::Descending };
        let order: Vec<_> = places.iter().map(|&place| (filled.keys[place], order())).collect();
        let limit = random.below(8);
        let first = FirstNodes { order: order.clone(), limit };
        let sorted = |mut rows: Vec<Vec<Value>>| {
            rows.sort_by(|a, b| {
                let by = places.iter().zip(&order).map(|(&place, (_, way))| way.of(a[place].order(&b[place])));
                by.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
            });
            let keys = rows.into_iter().map(|row| places.iter().map(|&place| row[place].clone()).collect());
            keys.take(limit as usize).collect::<Vec<Vec<Value>>>()
        };
        let scan = NodeScan { first: Some(first.clone()), ..filled.scan(filter.clone()) };
        let found = names(&*filled.view, &scan);
        if filled.view.takes(&scan).first {
            assert!(found.len() as u64 <= limit, "{filter:?} {first:?}: {} nodes", found.len());
        }
        let matching = filled.matching(&filter);
        let all = |rows: Vec<&(i64, Vec<Value>)>| rows.into_iter().map(|(_, values)| values.clone()).collect();
        let given = matching.iter().filter(|(name, _)| found.contains(name)).copied().collect();
        assert_eq!(sorted(all(given)), sorted(all(matching)), "{filter:?} {first:?}");
    }
}

fn counts(subject: &mut Subject<'_>) {
    let filled = Filled::of(subject);
    let mut random = SeededRandom::new(4);
    for _ in 0..ROUNDS / 2 {
        let filter = vec![condition(&mut random, &filled.keys, 1)];
        let count = Count::Matching(vec![label(&*filled.view, "N")], filter.clone());
        let found = filled.view.count(&count).expect("counting");
        let expected = filled.matching(&filter).len() as u64;
        assert!(found.is_none_or(|found| found == expected), "{filter:?}: {found:?}, not {expected}");
    }
}
