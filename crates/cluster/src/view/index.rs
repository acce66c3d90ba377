//! Lookups by unique values, and scans of ordered indexes.

use std::ops::Bound;
use std::sync::Arc;

use model::codec::ordered::{ByteRange, after_prefix, byte_range, has_nan, put_value};
use model::limits::BATCH_ROWS;
use model::store::lookup_by_scan;
use model::{
    Column, ColumnBuilder, EdgeId, EdgeValue, IndexBatch, IndexCursor, IndexScan, KeyOrder, KeyRange, LabelId, NodeId,
    PropertyKeyId, Result, Subject, Value, error,
};

use super::View;
use crate::overlay::{edge_entry, node_entry};
use crate::reader::EntryAsk;
use crate::rows::{ENTRY_BYTES_MAX, Entry, property, shard};
use crate::state::NumberedIndex;

/// A question for entries of one index.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// Bytes of the entries.
    pub(crate) range: ByteRange,
    /// Bytes of their first value, if it is the same in all of them.
    pub(crate) first_value: Option<Vec<u8>>,
}

impl Question {
    /// The question for entries with these values, all of them.
    pub(crate) fn equal(entry: Vec<u8>, first_value: Vec<u8>) -> Question {
        let range = ByteRange { end: after_prefix(entry.clone()), start: entry, must_compare: false };
        Question { range, first_value: Some(first_value) }
    }
}

/// Entries of an index, for each question in order.
pub(crate) fn find(view: &View, index: &NumberedIndex, questions: &[Question]) -> Result<Vec<Vec<Entry>>> {
    let ask = |question: &Question| EntryAsk {
        index: index.number,
        shard: question.first_value.as_deref().map(shard),
        range: question.range.clone(),
    };
    let (own, is_edge) = (&view.own, matches!(index.subject, Subject::EdgeType(_)));
    let mut found = match own.is_fresh(index) {
        true => vec![Vec::new(); questions.len()],
        false => view.reader.entries(&questions.iter().map(ask).collect::<Vec<_>>())?,
    };
    let is_touched = |id: u64| if is_edge { own.edges.contains_key(&id) } else { own.nodes.contains_key(&NodeId(id)) };
    found.iter_mut().for_each(|entries| entries.retain(|entry| !is_touched(entry.id)));
    complete(view, index, &mut found)?;
    for (entries, Question { range, .. }) in found.iter_mut().zip(questions) {
        entries.retain(|entry| *range.start <= *entry.bytes && *entry.bytes < *range.end);
        let from = (index.number, Arc::from(&range.start[..]), 0);
        let to = (index.number, Arc::from(&range.end[..]), 0);
        for ((_, bytes, id), ends) in own.entries.range(from..to) {
            entries.push(Entry { bytes: bytes.clone(), id: *id, edge: *ends });
        }
        entries.sort_unstable_by(|a, b| (&a.bytes, a.id).cmp(&(&b.bytes, b.id)));
    }
    Ok(found)
}

/// Makes entries whole that are cut off in the tables.
fn complete(view: &View, index: &NumberedIndex, found: &mut [Vec<Entry>]) -> Result<()> {
    let is_cut = |entry: &&mut Entry| entry.bytes.len() >= ENTRY_BYTES_MAX;
    let cut: Vec<&mut Entry> = found.iter_mut().flatten().filter(is_cut).collect();
    if cut.is_empty() {
        return Ok(());
    }
    let whole: Vec<Option<Vec<u8>>> = match index.subject {
        Subject::Label(_) => {
            let ids: Vec<NodeId> = cut.iter().map(|entry| NodeId(entry.id)).collect();
            view.nodes(&ids)?.iter().map(|node| node_entry(index, node.as_ref()?)).collect()
        }
        Subject::EdgeType(_) => {
            let ids: Vec<EdgeId> = cut.iter().map(|entry| EdgeId(entry.id)).collect();
            view.edges(&ids)?.iter().map(|edge| edge_entry(index, edge.as_ref()?)).collect()
        }
    };
    for (entry, whole) in cut.into_iter().zip(whole) {
        entry.bytes = Arc::from(whole.unwrap_or_default());
    }
    Ok(())
}

/// Bytes of values that equal themselves; `None` if one does not, or is null.
fn bytes_of_values(values: &[Value]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    values.iter().all(|value| !has_nan(value) && put_value(value, &mut bytes)).then_some(bytes)
}

pub(super) fn lookup(view: &View, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Column> {
    let index = view.own.schema.unique(label, key).and_then(|held| view.own.index(&held.name));
    let Some(index) = index else { return lookup_by_scan(view, label, key, values) };
    let bytes: Vec<Option<Vec<u8>>> = values.values().map(|value| bytes_of_values(&[value])).collect();
    let questions: Vec<Question> =
        bytes.iter().flatten().map(|bytes| Question::equal(bytes.clone(), bytes.clone())).collect();
    let mut found = find(view, index, &questions)?.into_iter();
    let mut nodes = ColumnBuilder::default();
    for bytes in bytes {
        let entry = bytes.and_then(|_| found.next()).and_then(|entries| entries.first().map(|entry| entry.id));
        nodes.push(&entry.map_or(Value::Null, |id| Value::Node(NodeId(id))));
    }
    Ok(nodes.finish())
}

pub(super) fn index_scan<'a>(view: &'a View, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
    // Subject and properties name an index; a plan may give it any name.
    let same = |held: &&model::Index| held.subject == scan.index.subject && held.keys == scan.index.keys;
    let held = view.own.schema.indexes.iter().find(same);
    let Some(index) = held.and_then(|held| view.own.index(&held.name)) else {
        return Err(error!(SchemaRule, "there is no index {}", scan.index.name));
    };
    let (mut rows, mut questions) = (Vec::new(), Vec::new());
    for row in 0..scan.rows {
        let equal: Vec<Value> = scan.equal.iter().map(|column| column.value(row)).collect();
        if let Some(question) = question(&equal, &scan.range, index.keys.len()) {
            rows.push(row as u32);
            questions.push(question);
        }
    }
    let mut found = Vec::new();
    for ((row, question), entries) in rows.into_iter().zip(&questions).zip(find(view, index, &questions)?) {
        let mut entries = if question.range.must_compare { compared(view, index, scan, entries)? } else { entries };
        if scan.order == KeyOrder::Descending {
            entries.reverse();
        }
        found.extend(entries.into_iter().map(|entry| (row, entry)));
    }
    Ok(Box::new(EntryCursor { subject: scan.index.subject, found, at: 0 }))
}

/// The entries whose first values are equal to these and whose next is in the range; `None` if there can be none.
fn question(equal: &[Value], range: &KeyRange, keys: usize) -> Option<Question> {
    let prefix = bytes_of_values(equal)?;
    let is_unbounded = matches!(range, KeyRange::Between(Bound::Unbounded, Bound::Unbounded));
    let range = if equal.len() == keys || is_unbounded { &KeyRange::All } else { range };
    let first_value = equal.first().and_then(|value| bytes_of_values(std::slice::from_ref(value)));
    Some(Question { range: byte_range(&prefix, range)?, first_value })
}

/// The entries whose values are in the range of a scan; bytes alone do not tell.
fn compared(view: &View, index: &NumberedIndex, scan: &IndexScan, entries: Vec<Entry>) -> Result<Vec<Entry>> {
    let Some(&key) = index.keys.get(scan.equal.len()) else { return Ok(entries) };
    let is_in = |value: Option<&Value>| value.is_some_and(|value| scan.range.holds(value));
    let kept: Vec<bool> = match index.subject {
        Subject::Label(_) => {
            let ids: Vec<NodeId> = entries.iter().map(|entry| NodeId(entry.id)).collect();
            let value = |node: &Option<Arc<crate::rows::NodeData>>| {
                is_in(node.as_ref().and_then(|node| property(&node.properties, key)))
            };
            view.nodes(&ids)?.iter().map(value).collect()
        }
        Subject::EdgeType(_) => {
            let ids: Vec<EdgeId> = entries.iter().map(|entry| EdgeId(entry.id)).collect();
            let value = |edge: &Option<Arc<crate::rows::EdgeData>>| {
                is_in(edge.as_ref().and_then(|edge| property(&edge.properties, key)))
            };
            view.edges(&ids)?.iter().map(value).collect()
        }
    };
    Ok(entries.into_iter().zip(kept).filter(|(_, is_kept)| *is_kept).map(|(entry, _)| entry).collect())
}

/// Entries handed out in order.
struct EntryCursor {
    subject: Subject,
    found: Vec<(u32, Entry)>,
    at: usize,
}

impl IndexCursor for EntryCursor {
    fn next(&mut self, out: &mut IndexBatch) -> Result<bool> {
        out.clear();
        let end = self.found.len().min(self.at + BATCH_ROWS);
        for (row, entry) in &self.found[self.at..end] {
            out.inputs.push(*row);
            match self.subject {
                Subject::Label(_) => out.nodes.push(NodeId(entry.id)),
                Subject::EdgeType(_) => {
                    let (edge_type, source, target) = entry.edge;
                    out.edges.push(EdgeValue { id: EdgeId(entry.id), source, target, edge_type });
                }
            }
        }
        self.at = end;
        Ok(!out.inputs.is_empty())
    }
}
