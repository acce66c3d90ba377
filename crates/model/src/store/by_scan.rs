//! Ordered indexes for stores that have none: all that could be in the index is read, filtered and sorted.

use super::{Direction, EdgeIds, Expand, NodeScan, ReadView};
use crate::batch::{EdgeBatch, NodeBatch};
use crate::column::Column;
use crate::error::Result;
use crate::id::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use crate::index_scan::{IndexBatch, IndexCursor, IndexScan, KeyOrder};
use crate::limits::BATCH_ROWS;
use crate::schema::Subject;
use crate::value::{EdgeValue, Value};

/// Default of [`ReadView::index_scan`]: reads all nodes of the label, or edges of the type, and compares.
///
/// Rows come in order of the input rows, then of the values, then of the ids.
pub fn index_by_scan<V: ReadView + ?Sized>(view: &V, scan: &IndexScan) -> Result<Box<dyn IndexCursor + 'static>> {
    let (keys, mut entries) = (&scan.index.keys, Vec::new());
    match scan.index.subject {
        Subject::Label(label) => each_node(view, label, keys, |batch| {
            for (row, &node) in batch.nodes.iter().enumerate() {
                note(&batch.properties, row, Found::Node(node), &mut entries);
            }
            Ok(())
        })?,
        Subject::EdgeType(edge_type) => each_edge(view, edge_type, keys, |batch| {
            for (row, &edge) in batch.edges.iter().enumerate() {
                note(&batch.properties, row, Found::Edge(edge_at(batch, row, edge)), &mut entries);
            }
            Ok(())
        })?,
    }
    entries.sort_unstable();
    if scan.order == KeyOrder::Descending {
        entries.reverse();
    }
    let mut found = Vec::new();
    for row in 0..scan.rows {
        let equal: Vec<Value> = scan.equal.iter().map(|column| column.value(row)).collect();
        for (values, entity) in &entries {
            let is_equal = equal.iter().zip(values).all(|(wanted, value)| wanted.equals(value) == Some(true));
            let in_range = || values.get(equal.len()).is_none_or(|value| scan.range.holds(value));
            if is_equal && in_range() {
                found.push((row as u32, *entity));
            }
        }
    }
    Ok(Box::new(FoundCursor { found, position: 0 }))
}

fn note(columns: &[Column], row: usize, entity: Found, entries: &mut Vec<(Vec<Value>, Found)>) {
    if columns.iter().all(|column| !column.is_null(row)) {
        entries.push((columns.iter().map(|column| column.value(row)).collect(), entity));
    }
}

fn edge_at(batch: &EdgesOfType, row: usize, id: EdgeId) -> EdgeValue {
    EdgeValue { id, source: batch.sources[row], target: batch.targets[row], edge_type: batch.edge_type }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Node(NodeId),
    Edge(EdgeValue),
}

struct FoundCursor {
    found: Vec<(u32, Found)>,
    position: usize,
}

impl IndexCursor for FoundCursor {
    fn next(&mut self, out: &mut IndexBatch) -> Result<bool> {
        out.clear();
        let end = self.found.len().min(self.position + BATCH_ROWS);
        for &(row, entity) in &self.found[self.position..end] {
            out.inputs.push(row);
            match entity {
                Found::Node(node) => out.nodes.push(node),
                Found::Edge(edge) => out.edges.push(edge),
            }
        }
        self.position = end;
        Ok(!out.inputs.is_empty())
    }
}

/// Calls `visit` with all nodes of a label, batch by batch, and these properties of them.
pub fn each_node<V: ReadView + ?Sized>(
    view: &V,
    label: LabelId,
    keys: &[PropertyKeyId],
    mut visit: impl FnMut(&NodeBatch) -> Result<()>,
) -> Result<()> {
    let scan = NodeScan { labels: vec![label], keys: keys.to_vec(), ..NodeScan::default() };
    let (mut cursor, mut batch) = (view.scan(&scan)?, NodeBatch::default());
    while cursor.next(&mut batch)? {
        visit(&batch)?;
    }
    Ok(())
}

/// Edges of one type, with their ids and properties.
#[derive(Clone, Debug, Default)]
pub struct EdgesOfType {
    /// Their type.
    pub edge_type: EdgeTypeId,
    /// Their ids.
    pub edges: Vec<EdgeId>,
    /// Source node of each edge.
    pub sources: Vec<NodeId>,
    /// Target node of each edge.
    pub targets: Vec<NodeId>,
    /// A column for each key that was asked for.
    pub properties: Vec<Column>,
}

/// Calls `visit` with all edges of a type, batch by batch, and these properties of them.
pub fn each_edge<V: ReadView + ?Sized>(
    view: &V,
    edge_type: EdgeTypeId,
    keys: &[PropertyKeyId],
    mut visit: impl FnMut(&EdgesOfType) -> Result<()>,
) -> Result<()> {
    let expand = Expand {
        direction: Direction::Out,
        types: Some(vec![edge_type]),
        edge_ids: EdgeIds::Include,
        keys: keys.to_vec(),
        ..Expand::default()
    };
    let (mut nodes, mut from) = (view.scan(&NodeScan::default())?, NodeBatch::default());
    let mut batch = EdgeBatch::default();
    while nodes.next(&mut from)? {
        let mut cursor = view.expand(&from.nodes, &expand)?;
        while cursor.next(&mut batch)? {
            visit(&EdgesOfType {
                edge_type,
                edges: std::mem::take(&mut batch.edges),
                sources: batch.inputs.iter().map(|&input| from.nodes[input as usize]).collect(),
                targets: batch.neighbors.clone(),
                properties: std::mem::take(&mut batch.properties),
            })?;
        }
    }
    Ok(())
}
