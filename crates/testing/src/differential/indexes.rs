//! Ordered indexes of a view against what reading everything finds.

use std::cmp::Ordering;
use std::ops::Bound;

use model::store::by_scan::index_by_scan;
use model::{
    Column, Index, IndexBatch, IndexCursor, IndexScan, KeyOrder, KeyRange, PropertyKeyId, ReadView, Subject, Value,
};

/// Values looked for at most in one index.
const PROBES: usize = 12;

/// A row that an index found: the question it answers, the ids, and the values by which it is ordered.
type Row = (u32, Vec<u64>, Vec<Value>);

/// Checks that every ordered index finds, in order, what a scan finds.
///
/// # Panics
/// If it does not.
pub(super) fn check_indexes(view: &dyn ReadView) {
    for index in view.schema().indexes.iter().chain(&view.schema().searchable) {
        let all = IndexScan {
            index: index.clone(),
            equal: Vec::new(),
            rows: 1,
            range: KeyRange::All,
            order: KeyOrder::Ascending,
        };
        let found = compare(view, &all);
        compare(view, &IndexScan { order: KeyOrder::Descending, ..all.clone() });
        let step = found.len().div_ceil(PROBES).max(1);
        let mut probes: Vec<Vec<Value>> = found.into_iter().step_by(step).map(|(_, _, values)| values).collect();
        probes.push(vec![Value::Float(f64::NAN); index.keys.len()]);
        probes.push(vec![Value::Null; index.keys.len()]);
        for length in 1..=index.keys.len() {
            let column = |at: usize| Column::from_values(probes.iter().map(|values| &values[at]));
            let equal: Vec<Column> = (0..length).map(column).collect();
            let order = if length == 1 { KeyOrder::Ascending } else { KeyOrder::Descending };
            compare(view, &IndexScan { equal, rows: probes.len(), order, ..all.clone() });
        }
        for values in &probes {
            let bound = &values[0];
            let mut ranges = vec![
                KeyRange::Between(Bound::Included(bound.clone()), Bound::Unbounded),
                KeyRange::Between(Bound::Unbounded, Bound::Excluded(bound.clone())),
                KeyRange::Between(Bound::Excluded(probes[0][0].clone()), Bound::Included(bound.clone())),
            ];
            if let Value::String(text) = bound {
                ranges.push(KeyRange::StartsWith(text.chars().take(1).collect::<String>().into()));
            }
            for range in ranges {
                compare(view, &IndexScan { range, ..all.clone() });
            }
        }
    }
}

/// The rows that the index finds, which are those that a scan finds.
fn compare(view: &dyn ReadView, scan: &IndexScan) -> Vec<Row> {
    let mut cursor = view.index_scan(scan).expect("scanning an index");
    let found = rows(view, &scan.index, &mut *cursor);
    let mut by_scan = index_by_scan(view, scan).expect("reading everything");
    let expected = rows(view, &scan.index, &mut *by_scan);
    let is_in_order = found.is_sorted_by(|a, b| {
        let by_values = if scan.order == KeyOrder::Ascending { a.2.cmp(&b.2) } else { b.2.cmp(&a.2) };
        a.0.cmp(&b.0).then(by_values) != Ordering::Greater
    });
    assert!(is_in_order, "index {} is out of order: {:?}", scan.index.name, scan.range);
    let sorted = |rows: &[Row]| {
        let mut sorted = rows.to_vec();
        sorted.sort();
        sorted
    };
    assert_eq!(sorted(&found), sorted(&expected), "index {}, {:?} = {:?}", scan.index.name, scan.range, scan.equal);
    found
}

fn rows(view: &dyn ReadView, index: &Index, cursor: &mut dyn IndexCursor) -> Vec<Row> {
    let (mut rows, mut batch) = (Vec::new(), IndexBatch::default());
    while cursor.next(&mut batch).expect("reading an index") {
        let (columns, ids) = read(view, index.subject, &index.keys, &batch);
        for (row, ids) in ids.into_iter().enumerate() {
            rows.push((batch.inputs[row], ids, columns.iter().map(|column| column.value(row)).collect()));
        }
    }
    rows
}

fn read(
    view: &dyn ReadView,
    subject: Subject,
    keys: &[PropertyKeyId],
    batch: &IndexBatch,
) -> (Vec<Column>, Vec<Vec<u64>>) {
    match subject {
        Subject::Label(_) => {
            let columns = view.node_properties(&batch.nodes, keys).expect("reading properties");
            (columns, batch.nodes.iter().map(|node| vec![node.0]).collect())
        }
        Subject::EdgeType(_) => {
            let ids: Vec<_> = batch.edges.iter().map(|edge| edge.id).collect();
            let columns = view.edge_properties(&ids, keys).expect("reading properties");
            (columns, batch.edges.iter().map(|edge| vec![edge.id.0, edge.source.0, edge.target.0]).collect())
        }
    }
}
