//! Aggregates by their text results: every case runs with one group, by groups, in batches, and merged from parts.

use std::sync::Arc;

use model::{Column, ColumnData, NodeId, Result, Value};

use super::{Aggregator, Groups, create};
use crate::expression::tests::{Fixture, columns, shown};

/// Aggregates rows in pieces of `piece` rows, with the group of each row, and merges an aggregator for each piece.
fn merged(function: &str, distinct: bool, arguments: &[Vec<Value>], groups: &[u32], piece: usize) -> Result<Column> {
    let group_count = groups.iter().max().map_or(1, |&last| last as usize + 1);
    let mut total = create(function, distinct, arguments.len())?;
    for start in (0..groups.len()).step_by(piece) {
        let end = (start + piece).min(groups.len());
        let mut part = create(function, distinct, arguments.len())?;
        let columns = slices(arguments, start, end);
        part.update(Groups::Each(&groups[start..end]), group_count, &columns)?;
        // The part's groups are numbered backwards in the total, and back again below.
        let backwards: Vec<u32> = (0..group_count as u32).rev().collect();
        total.merge(part, &backwards, group_count)?;
    }
    let column = total.finish(group_count)?;
    Ok(column.gather(&(0..group_count as u32).rev().collect::<Vec<_>>()))
}

fn slices(arguments: &[Vec<Value>], start: usize, end: usize) -> Vec<Arc<Column>> {
    arguments.iter().map(|values| Arc::new(Column::from_values(&values[start..end]))).collect()
}

/// One aggregator that is given batches of `batch` rows.
fn in_batches(function: &str, distinct: bool, arguments: &[Vec<Value>], batch: usize) -> Result<Value> {
    let mut aggregator = create(function, distinct, arguments.len())?;
    let rows = arguments[0].len();
    for start in (0..rows).step_by(batch) {
        let end = (start + batch).min(rows);
        aggregator.update(Groups::One(end - start), 1, &slices(arguments, start, end))?;
    }
    Ok(aggregator.finish(1)?.value(0))
}

fn check(function: &str, distinct: bool, arguments: &[Vec<Value>], expected: &str) {
    let rows = arguments[0].len();
    let whole = in_batches(function, distinct, arguments, rows.max(1)).unwrap();
    assert_eq!(whole.to_string(), expected, "{function} distinct {distinct} of {arguments:?}");
    for batch in [1, 2, 3] {
        let found = in_batches(function, distinct, arguments, batch).unwrap();
        assert_eq!(found.to_string(), expected, "{function} in batches of {batch}");
        // All rows in group 1 of 3; the groups around it stay empty.
        let mut groups = vec![1; rows];
        groups.push(2);
        let with_empty: Vec<Vec<Value>> =
            arguments.iter().map(|values| values.iter().cloned().chain([Value::Null]).collect()).collect();
        let found = merged(function, distinct, &with_empty, &groups, batch).unwrap();
        assert_eq!(found.value(1).to_string(), expected, "{function} merged from parts of {batch}");
        assert_eq!(found.value(0), found.value(2), "{function}: empty groups");
    }
}

#[test]
fn results() {
    let fixture = Fixture::new();
    let list = |text: &str| columns(&fixture, &[("x", text)]).remove(0).1;
    for (function, distinct, values, expected) in [
        ("count", false, "[1, null, 1, 'a']", "3"),
        ("count", true, "[1, null, 1.0, 'a', 'a']", "2"),
        ("count", false, "[]", "0"),
        ("sum", false, "[1, null, 2]", "3"),
        ("sum", false, "[1, 2.5]", "3.5"),
        ("sum", false, "[0.1, 0.2, 0.3]", "0.6"),
        ("sum", false, "[1e100, 1.0, -1e100]", "1.0"),
        ("sum", false, "[9223372036854775807, 1, -1]", "9223372036854775807"),
        ("sum", false, "[]", "0"),
        ("sum", false, "[null]", "0"),
        ("sum", true, "[2, 2, 3]", "5"),
        ("avg", false, "[1, 2, null]", "1.5"),
        ("avg", false, "[1, 2.5]", "1.75"),
        ("avg", false, "[]", "null"),
        ("avg", true, "[1, 1, 4]", "2.5"),
        ("min", false, "[3, null, 1, 2]", "1"),
        ("max", false, "[3, null, 1, 2]", "3"),
        ("max", false, "[3, 3.5, 1]", "3.5"),
        ("min", false, "['b', 'a', null]", "'a'"),
        ("max", false, "['b', 1, [1]]", "1"),
        ("min", false, "['b', 1, [1]]", "[1]"),
        ("max", true, "[1.0, 0.0 / 0.0]", "NaN"),
        ("min", false, "[0.0 / 0.0, 2.5, 1.5]", "1.5"),
        ("max", false, "[0.0 / 0.0, 2.5]", "NaN"),
        ("min", false, "[0.0 / 0.0]", "NaN"),
        ("min", false, "[1.0 / 0.0]", "Infinity"),
        ("max", false, "[-1.0 / 0.0, -2.5]", "-2.5"),
        ("min", false, "[]", "null"),
        ("collect", false, "[1, null, 'a', 1]", "[1, 'a', 1]"),
        ("collect", true, "[1, null, 'a', 1]", "[1, 'a']"),
        ("collect", false, "[]", "[]"),
        ("stDev", false, "[2, 4, 4, 4, 5, 5, 7, 9]", "2.138089935299395"),
        ("stDevP", false, "[2, 4, 4, 4, 5, 5, 7, 9]", "2.0"),
        ("stDev", false, "[5]", "0.0"),
        ("stDev", false, "[]", "0.0"),
    ] {
        if function == "stDev" && values.len() > 10 {
            // Merging rounds differently; the whole is exact.
            let whole = in_batches(function, distinct, &[list(values)], 8).unwrap();
            assert_eq!(whole.to_string(), expected);
            continue;
        }
        check(function, distinct, &[list(values)], expected);
    }
}

#[test]
fn percentiles() {
    let fixture = Fixture::new();
    let list = |text: &str| columns(&fixture, &[("x", text)]).remove(0).1;
    for (function, values, percentile, expected) in [
        ("percentileCont", "[1, 2, 3, null, 4]", 0.5, "2.5"),
        ("percentileCont", "[10.0]", 0.9, "10.0"),
        ("percentileCont", "[1, 2]", 1.0, "2.0"),
        ("percentileCont", "[]", 0.5, "null"),
        ("percentileDisc", "[3, 1, 2, 4]", 0.5, "2"),
        ("percentileDisc", "[3, 1, 2, 4]", 0.0, "1"),
        ("percentileDisc", "[3, 1, 2, 4.5]", 1.0, "4.5"),
    ] {
        let values = list(values);
        let percentiles = vec![Value::Float(percentile); values.len()];
        check(function, false, &[values, percentiles], expected);
    }
    let outside = in_batches("percentileDisc", false, &[vec![Value::Int(1)], vec![Value::Float(1.5)]], 1);
    assert!(outside.unwrap_err().message().contains("the percentile of percentileDisc() is 1.5"));
}

#[test]
fn errors() {
    let overflow = in_batches("sum", false, &[vec![Value::Int(i64::MAX), Value::Int(1)]], 2);
    assert!(overflow.unwrap_err().to_string().starts_with("ARITHMETIC: the sum 9223372036854775808"));
    for function in ["sum", "avg", "stDev"] {
        let error = in_batches(function, false, &[vec![Value::from("a")]], 1).unwrap_err();
        assert!(error.message().starts_with(&format!("{function}() takes numbers")), "{error}");
    }
    assert!(create("median", false, 1).is_err());
    assert!(create("sum", false, 0).is_err());
}

#[test]
fn rows_are_counted_without_columns() {
    let mut aggregator = create("count", false, 0).unwrap();
    aggregator.update(Groups::One(5_000_000_000), 1, &[]).unwrap();
    aggregator.update(Groups::Each(&[0, 1, 1]), 2, &[]).unwrap();
    assert_eq!(shown(&aggregator.finish(3).unwrap().values().collect::<Vec<_>>()), "[5000000001, 2, 0]");
}

#[test]
fn distinct_nodes_are_counted_at_any_size() {
    for seed in 1..=4_u64 {
        for (rows, bound) in [(10, 5), (400, 300), (30_000, 10_000), (30_000, 1 << 40)] {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 20) % bound
            };
            let nodes: Vec<NodeId> = (0..rows).map(|_| NodeId(next())).collect();
            let expected = nodes.iter().collect::<model::Set<_>>().len();
            let column = |nodes: &[NodeId]| vec![Arc::new(Column::new(ColumnData::Node(nodes.to_vec())))];
            let mut whole = create("count", true, 1).unwrap();
            let mut parts = create("count", true, 1).unwrap();
            for batch in nodes.chunks(1_000) {
                whole.update(Groups::One(batch.len()), 1, &column(batch)).unwrap();
                let mut part: Box<dyn Aggregator> = create("count", true, 1).unwrap();
                part.update(Groups::Each(&vec![0; batch.len()]), 1, &column(batch)).unwrap();
                parts.merge(part, &[0], 1).unwrap();
            }
            for aggregator in [whole, parts] {
                let count = aggregator.finish(1).unwrap().value(0);
                assert_eq!(count, Value::Int(expected as i64), "seed {seed}, {rows} rows below {bound}");
            }
        }
    }
}

#[test]
fn distinct_integers_are_counted_at_any_size() {
    for seed in 1..=4_u64 {
        for (rows, values, run) in
            [(10, 5, 1), (4_000, 300, 1), (30_000, 1 << 40, 1), (30_000, 4_000, 8), (30_000, 20, 100)]
        {
            let mut state = seed;
            let mut next = |bound: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 20) % bound
            };
            let (mut groups, mut integers) = (Vec::new(), Vec::new());
            for _ in 0..rows / run {
                let integer = next(values) as i64 - 3;
                for _ in 0..run {
                    groups.push(next(7) as u32);
                    integers.push(Value::Int(integer));
                }
            }
            // Equal floats are the same values.
            let floats = |value: &Value| if let Value::Int(x) = value { Value::Float(*x as f64) } else { Value::Null };
            let twice = [integers.clone(), integers.iter().map(floats).collect()].concat();
            let groups = [groups.clone(), groups].concat();
            let mut expected = [const { Vec::new() }; 7];
            groups.iter().zip(&twice).for_each(|(&group, value)| expected[group as usize].push(value.clone()));
            let expected: Vec<Value> = expected
                .iter()
                .map(|values| Value::Int(values.iter().collect::<model::Set<_>>().len() as i64))
                .collect();
            for piece in [1_000, 1 << 20] {
                let groups_and_end: Vec<u32> = groups.iter().copied().chain([6]).collect();
                let values = [twice.clone(), vec![Value::Null]].concat();
                let found = merged("count", true, &[values], &groups_and_end, piece).unwrap();
                let found: Vec<Value> = found.values().collect();
                assert_eq!(found, expected, "seed {seed}, {rows} rows in runs of {run}, pieces of {piece}");
            }
        }
    }
}
