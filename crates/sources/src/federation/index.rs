//! Nodes and edges by their properties, in all parts that have such.
//!
//! A part finds them by its ordered index, or by its uniqueness constraint; one that has neither is read and compared.

use std::cmp::Ordering;

use model::edge_range::order_rows;
use model::limits::BATCH_ROWS;
use model::store::by_scan::index_by_scan;
use model::store::{lookup_by_scan, nodes_of};
use model::{
    Column, ColumnBuilder, EdgeTypeId, EdgeValue, IndexBatch, IndexCursor, IndexScan, KeyOrder, KeyRange, LabelId,
    NodeId, PropertyKeyId, ReadView, Result, Subject, Value,
};

use super::names::{Finds, finds};
use super::shared_edge;
use super::view::Joined;

/// Searches that one view keeps; further ones are read to their end at once.
const KEPT_MAX: usize = 512;
/// Rows of a search that is kept; what those of larger ones find is read at once.
const KEPT_ROWS_MAX: usize = 16;

impl Joined {
    pub(super) fn lookup_in_parts(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Column> {
        let mut found: Option<Column> = None;
        for part in 0..self.parts.len() {
            let map = self.map(part);
            let known = map.labels.to_part(label.0).zip(map.keys.to_part(key.0));
            let Some((label, key)) = known.map(|(label, key)| (LabelId(label), PropertyKeyId(key))) else { continue };
            let view = self.parts[part].view();
            let more = if view.schema().unique(label, key).is_some() {
                view.lookup(label, key, values)?
            } else if self.is_empty_label(part, label) {
                continue;
            } else {
                lookup_by_scan(view, label, key, values)?
            };
            found = Some(match found {
                None => more,
                Some(before) => either(&before, &more),
            });
        }
        Ok(found.unwrap_or_else(|| Column::nulls(values.len())))
    }

    /// True if a part surely has no node of that label, which is told for the native store alone.
    fn is_empty_label(&self, part: usize, label: LabelId) -> bool {
        part == 0 && self.parts[0].view().statistics().label(label) == 0
    }

    /// True if the native store surely has no node of a label.
    pub(super) fn lacks_nodes_of(&self, label: LabelId) -> bool {
        self.map(0).labels.to_part(label.0).is_none_or(|label| self.is_empty_label(0, LabelId(label)))
    }

    /// A search as a part is asked it; `None` if it has no such nodes or edges.
    pub(super) fn index_scan_in(&self, part: usize, scan: &IndexScan) -> Option<IndexScan> {
        let map = self.map(part);
        let subject = map.subject_to_part(scan.index.subject)?;
        let keys = map.keys_to_part(&scan.index.keys)?;
        let index = model::Index { name: scan.index.name.clone(), subject, keys };
        Some(IndexScan { index, ..scan.clone() })
    }

    pub(super) fn index_scan_parts<'a>(&'a self, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
        let mut asked = Vec::new();
        for part in 0..self.parts.len() {
            if let Some(own) = self.index_scan_in(part, scan) {
                let is_empty = matches!(own.index.subject, Subject::Label(label) if self.is_empty_label(part, label));
                if !is_empty {
                    asked.push((part, own));
                }
            }
        }
        if asked.len() > 1 {
            return Ok(Box::new(self.merged(scan, &asked)?));
        }
        let Some((part, own)) = asked.pop() else { return Ok(Box::new(Found::default())) };
        if part == 0 && self.map(0).is_same() {
            return self.open_index(part, scan);
        }
        let max = if scan.rows <= KEPT_ROWS_MAX { KEPT_MAX } else { 0 };
        match self.index_scans.find_or_keep(max, |_| false, || own) {
            Ok(own) => Ok(Box::new(PartIndex { joined: self, part, cursor: self.open_index(part, own)? })),
            Err(own) => {
                let mut found = Found::default();
                self.drain(part, &own, &mut found)?;
                Ok(Box::new(found))
            }
        }
    }

    /// A search of one part, in the part's own names.
    pub(super) fn open_index<'a>(&'a self, part: usize, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
        let view = self.parts[part].view();
        let of_equal = matches!(scan.range, KeyRange::All) && scan.equal.len() == scan.index.keys.len();
        match (finds(view.schema(), scan.index.subject, &scan.index.keys), scan.index.subject) {
            (Finds::Index, _) => view.index_scan(scan),
            (Finds::Lookup, Subject::Label(label)) if of_equal => {
                let nodes = nodes_of(&view.lookup(label, scan.index.keys[0], &scan.equal[0])?);
                let mut found = Found::default();
                for (row, node) in nodes.into_iter().enumerate() {
                    if let Some(node) = node {
                        found.batch.inputs.push(row as u32);
                        found.batch.nodes.push(node);
                    }
                }
                Ok(Box::new(found))
            }
            _ => index_by_scan(view, scan),
        }
    }

    /// Adds all that a part finds.
    fn drain(&self, part: usize, own: &IndexScan, found: &mut Found) -> Result<()> {
        let mut cursor = PartIndex { joined: self, part, cursor: self.open_index(part, own)? };
        let mut batch = IndexBatch::default();
        while cursor.next(&mut batch)? {
            found.batch.inputs.append(&mut batch.inputs);
            found.batch.nodes.append(&mut batch.nodes);
            found.batch.edges.append(&mut batch.edges);
        }
        Ok(())
    }

    /// The rows that several parts find, in order of the rows, then of the values, then of the ids.
    fn merged(&self, scan: &IndexScan, asked: &[(usize, IndexScan)]) -> Result<Found> {
        let mut all = Found::default();
        for (part, own) in asked {
            self.drain(*part, own, &mut all)?;
        }
        let batch = &all.batch;
        let values = match scan.index.subject {
            Subject::Label(_) => self.node_properties(&batch.nodes, &scan.index.keys)?,
            Subject::EdgeType(_) => {
                let edges: Vec<_> = batch.edges.iter().map(|edge| edge.id).collect();
                self.edge_properties(&edges, &scan.index.keys)?
            }
        };
        let mut rows: Vec<usize> = (0..batch.inputs.len()).collect();
        rows.sort_by(|&a, &b| {
            let by_values =
                values.iter().map(|column| order_rows(column, a, column, b)).fold(Ordering::Equal, Ordering::then);
            let by_id = || match scan.index.subject {
                Subject::Label(_) => batch.nodes[a].cmp(&batch.nodes[b]),
                Subject::EdgeType(_) => batch.edges[a].cmp(&batch.edges[b]),
            };
            let order = by_values.then_with(by_id);
            let order = if scan.order == KeyOrder::Descending { order.reverse() } else { order };
            batch.inputs[a].cmp(&batch.inputs[b]).then(order)
        });
        let mut sorted = Found::default();
        sorted.batch.inputs = rows.iter().map(|&row| batch.inputs[row]).collect();
        match scan.index.subject {
            Subject::Label(_) => sorted.batch.nodes = rows.iter().map(|&row| batch.nodes[row]).collect(),
            Subject::EdgeType(_) => sorted.batch.edges = rows.iter().map(|&row| batch.edges[row]).collect(),
        }
        Ok(sorted)
    }
}

/// For each row the first node, or else the second.
fn either(first: &Column, second: &Column) -> Column {
    let mut all = ColumnBuilder::default();
    for (a, b) in nodes_of(first).into_iter().zip(nodes_of(second)) {
        all.push(&a.or(b).map_or(Value::Null, Value::Node));
    }
    all.finish()
}

/// The rows that one part finds, in the names of the whole.
struct PartIndex<'a> {
    joined: &'a Joined,
    part: usize,
    cursor: Box<dyn IndexCursor + 'a>,
}

impl IndexCursor for PartIndex<'_> {
    fn next(&mut self, out: &mut IndexBatch) -> Result<bool> {
        if !self.cursor.next(out)? {
            return Ok(false);
        }
        let types = &self.joined.map(self.part).types;
        for edge in &mut out.edges {
            let id = if self.part == 0 { edge.id } else { shared_edge(edge.id) };
            *edge = EdgeValue { id, edge_type: EdgeTypeId(types.shared(edge.edge_type.0)), ..*edge };
        }
        Ok(true)
    }
}

/// The rows that were found, handed out batch by batch.
#[derive(Default)]
struct Found {
    batch: IndexBatch,
    at: usize,
}

impl IndexCursor for Found {
    fn next(&mut self, out: &mut IndexBatch) -> Result<bool> {
        out.clear();
        let range = self.at..self.batch.inputs.len().min(self.at + BATCH_ROWS);
        out.inputs.extend_from_slice(&self.batch.inputs[range.clone()]);
        if self.batch.edges.is_empty() {
            out.nodes.extend_from_slice(&self.batch.nodes[range.clone()] as &[NodeId]);
        } else {
            out.edges.extend_from_slice(&self.batch.edges[range.clone()]);
        }
        self.at = range.end;
        Ok(!out.inputs.is_empty())
    }
}
