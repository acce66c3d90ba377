//! Expansions with ranges and top, compared with filtering and sorting what a plain expansion finds.

use std::ops::Bound;

use model::store::EdgeIds;
use model::{
    Direction, EdgeBatch, EdgeId, EdgeRange, EdgeTop, EdgeTypeId, Expand, NodeId, PropertyKeyId, ReadView, Value,
};

/// An edge that an expansion found, with the properties of one type's sort key.
type Found = (u32, EdgeId, Vec<Value>);

/// Checks, for every type with a sort key, that ranges and top choose the edges that they say.
pub(super) fn check_choices(view: &dyn ReadView, from: &[NodeId]) {
    for sort_key in &view.schema().sort_keys {
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let types = Some(vec![sort_key.edge_type]);
            let all = found(view, from, &Expand { direction, types, ..Expand::default() }, &sort_key.keys);
            (0..sort_key.keys.len()).for_each(|at| check_ranges(view, from, direction, sort_key, at, &all));
            check_top(view, from, direction, sort_key, &all);
        }
    }
}

/// The rows of an expansion, sorted.
fn found(view: &dyn ReadView, from: &[NodeId], expand: &Expand, keys: &[PropertyKeyId]) -> Vec<Found> {
    let expand = Expand { edge_ids: EdgeIds::Include, keys: keys.to_vec(), ..expand.clone() };
    let mut cursor = view.expand(from, &expand).expect("expanding");
    let (mut batch, mut rows) = (EdgeBatch::default(), Vec::new());
    while cursor.next(&mut batch).expect("expanding on") {
        for row in 0..batch.len() {
            let values = batch.properties.iter().map(|column| column.value(row)).collect();
            rows.push((batch.inputs[row], batch.edges[row], values));
        }
    }
    assert!(rows.is_sorted_by_key(|(input, ..)| *input), "inputs come in the order given");
    rows.sort_unstable_by_key(|(input, edge, _)| (*input, *edge));
    rows
}

fn check_ranges(
    view: &dyn ReadView,
    from: &[NodeId],
    direction: Direction,
    sort_key: &model::SortKey,
    at: usize,
    all: &[Found],
) {
    let mut values: Vec<&Value> = all.iter().map(|(_, _, values)| &values[at]).collect();
    values.sort_unstable();
    let pick = |share: usize| values.get(values.len() * share / 4).map_or(Value::Int(0), |&value| value.clone());
    let (low, high) = (pick(1), pick(3));
    let bounds = [
        (Bound::Unbounded, Bound::Unbounded),
        (Bound::Included(low.clone()), Bound::Included(low.clone())),
        (Bound::Excluded(low.clone()), Bound::Unbounded),
        (Bound::Unbounded, Bound::Excluded(high.clone())),
        (Bound::Included(low), Bound::Included(high)),
    ];
    for (lower, upper) in bounds {
        let mut ranges = vec![EdgeRange { key: sort_key.keys[at], lower, upper }];
        // Also behind an equality on the key before.
        if let Some((_, _, before)) = all.get(all.len() / 2).filter(|_| at > 0) {
            ranges.push(EdgeRange::equal(sort_key.keys[at - 1], before[at - 1].clone()));
        }
        let is_chosen = |(_, _, values): &&Found| {
            let place = |key| sort_key.keys.iter().position(|&other| other == key).expect("a key of the sort key");
            ranges.iter().all(|range| range.contains(&values[place(range.key)]))
        };
        let expected: Vec<Found> = all.iter().filter(is_chosen).cloned().collect();
        let types = Some(vec![sort_key.edge_type]);
        let expand = Expand { direction, types, ranges: ranges.clone(), ..Expand::default() };
        let chosen = found(view, from, &expand, &sort_key.keys);
        assert_eq!(chosen, expected, "edges going {direction:?} in {ranges:?}");
    }
}

fn check_top(view: &dyn ReadView, from: &[NodeId], direction: Direction, sort_key: &model::SortKey, all: &[Found]) {
    for (descending, limit, parts) in [(true, 1, 1), (false, 2, 1), (true, 3, 2), (false, 0, 1)] {
        let keys = sort_key.keys[..parts.min(sort_key.keys.len())].to_vec();
        let parts = keys.len();
        let mut expected = Vec::new();
        for rows in all.chunk_by(|a, b| a.0 == b.0) {
            let mut values: Vec<(u32, Vec<Value>)> =
                rows.iter().map(|(input, _, values)| (*input, values[..parts].to_vec())).collect();
            values.sort_by(|a, b| if descending { b.cmp(a) } else { a.cmp(b) });
            values.truncate(limit);
            values.sort_unstable();
            expected.append(&mut values);
        }
        let top = Some(EdgeTop { keys, descending, limit });
        let expand = Expand { direction, types: Some(vec![sort_key.edge_type]), top, ..Expand::default() };
        let rows = found(view, from, &expand, &sort_key.keys);
        assert!(rows.iter().all(|row| all.contains(row)), "the first edges are edges");
        assert!(rows.windows(2).all(|pair| (pair[0].0, pair[0].1) != (pair[1].0, pair[1].1)), "each comes once");
        let mut values: Vec<(u32, Vec<Value>)> =
            rows.into_iter().map(|(input, _, values)| (input, values[..parts].to_vec())).collect();
        values.sort_unstable();
        assert_eq!(values, expected, "the first edges going {direction:?} of {:?}", EdgeTypeId(sort_key.edge_type.0));
    }
}
