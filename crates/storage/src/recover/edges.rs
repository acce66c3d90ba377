//! Salvage of edges: from their starts, and where those cannot be read from their ends; then their values.

use model::store::{EdgeIds, Expand, ReadView};
use model::{
    Column, ColumnBuilder, Direction, EdgeBatch, EdgeId, EdgeTypeId, Interrupt, Map, NodeId, PropertyKeyId, Result,
    Set, Value,
};

use super::nodes::Copied;
use super::{BATCH, Losses, What, all_keys, in_halves};
use crate::bulk::EdgeLoader;
use crate::problem::Problem;
use crate::snapshot::Snapshot;

/// Copies all edges; gives how many.
pub(super) fn copy(
    snapshot: &Snapshot,
    copied: &Copied,
    loader: &mut EdgeLoader,
    losses: &mut Losses,
    interrupt: &Interrupt,
) -> Result<u64> {
    let nodes = copied.old_ids();
    let mut salvage = Salvage { snapshot, copied, loader, losses, count: 0 };
    for edge_type in (0..snapshot.schema().edge_types.len() as u32).map(EdgeTypeId) {
        let mut unread = Set::default();
        for batch in nodes.chunks(BATCH / 4) {
            interrupt.check()?;
            salvage.read_from_starts(edge_type, batch, &mut unread)?;
        }
        if !unread.is_empty() {
            for batch in nodes.chunks(BATCH / 4) {
                interrupt.check()?;
                salvage.read_from_ends(edge_type, batch, &unread)?;
            }
        }
    }
    Ok(salvage.count)
}

struct Salvage<'a> {
    snapshot: &'a Snapshot,
    copied: &'a Copied,
    loader: &'a mut EdgeLoader,
    losses: &'a mut Losses,
    count: u64,
}

/// Edges found, by their old ids.
#[derive(Default)]
struct Found {
    sources: Vec<NodeId>,
    targets: Vec<NodeId>,
    edges: Vec<EdgeId>,
}

impl Salvage<'_> {
    /// The edges that start at some nodes; the nodes where that fails become `unread`.
    fn read_from_starts(&mut self, edge_type: EdgeTypeId, nodes: &[NodeId], unread: &mut Set<NodeId>) -> Result<()> {
        let what = What::OutEdges(self.snapshot.schema().edge_type_name(edge_type).to_owned());
        let expand = expand(Direction::Out, edge_type, EdgeIds::Include);
        let mut found = Found::default();
        let (snapshot, losses) = (self.snapshot, &mut *self.losses);
        let mut read = |nodes: &[NodeId]| {
            let length = found.edges.len();
            let outcome = each_batch(snapshot, nodes, &expand, |batch| {
                found.sources.extend(batch.inputs.iter().map(|&input| nodes[input as usize]));
                found.targets.extend_from_slice(&batch.neighbors);
                found.edges.extend_from_slice(&batch.edges);
            });
            if outcome.is_err() {
                found.sources.truncate(length);
                found.targets.truncate(length);
                found.edges.truncate(length);
            }
            outcome
        };
        in_halves(nodes, &mut read, &mut |&node, cause| {
            unread.insert(node);
            losses.add(cause, 1, &what);
        })?;
        self.push(edge_type, &found)
    }

    /// The edges from `unread` nodes that end at some nodes. Without their ids their properties cannot be read.
    fn read_from_ends(&mut self, edge_type: EdgeTypeId, nodes: &[NodeId], unread: &Set<NodeId>) -> Result<()> {
        let what = What::InEdges(self.snapshot.schema().edge_type_name(edge_type).to_owned());
        let expand = expand(Direction::In, edge_type, EdgeIds::Omit);
        let mut found = Found::default();
        let (snapshot, losses) = (self.snapshot, &mut *self.losses);
        let mut read = |nodes: &[NodeId]| {
            let length = found.sources.len();
            let outcome = each_batch(snapshot, nodes, &expand, |batch| {
                for (&input, &source) in batch.inputs.iter().zip(&batch.neighbors) {
                    if unread.contains(&source) {
                        found.sources.push(source);
                        found.targets.push(nodes[input as usize]);
                    }
                }
            });
            if outcome.is_err() {
                found.sources.truncate(length);
                found.targets.truncate(length);
            }
            outcome
        };
        in_halves(nodes, &mut read, &mut |_, cause| losses.add(cause, 1, &what))?;
        self.push(edge_type, &found)
    }

    fn push(&mut self, edge_type: EdgeTypeId, found: &Found) -> Result<()> {
        let ends = |row: usize| Some((self.copied.get(found.sources[row])?, self.copied.get(found.targets[row])?));
        let (mut rows, mut sources, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..found.sources.len() {
            if let Some((source, target)) = ends(row) {
                rows.push(row as u32);
                sources.push(source);
                targets.push(target);
            }
        }
        let without_end = (found.sources.len() - rows.len()) as u64;
        if without_end > 0 {
            let file = self.snapshot.version.directory().to_owned();
            let cause = Problem { file, offset: 0, message: "nodes were lost".to_owned(), part: String::new() };
            self.losses.add(&cause, without_end, &What::EdgesWithoutEnd);
        }
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        if !found.edges.is_empty() {
            let edges: Vec<EdgeId> = rows.iter().map(|&row| found.edges[row as usize]).collect();
            for key in all_keys(self.snapshot) {
                let column = self.read_values(&edges, key)?;
                if (0..edges.len()).any(|row| !column.is_null(row)) {
                    names.push(self.snapshot.schema().property_key_name(key));
                    columns.push(column);
                }
            }
        }
        self.count += sources.len() as u64;
        let name = self.snapshot.schema().edge_type_name(edge_type);
        self.loader.push_ids(name, &sources, &targets, &names, &columns)
    }

    /// The values of one property; null where they cannot be read.
    fn read_values(&mut self, edges: &[EdgeId], key: PropertyKeyId) -> Result<Column> {
        let snapshot = self.snapshot;
        let what = What::EdgeValues(snapshot.schema().property_key_name(key).to_owned());
        if let Ok(columns) = snapshot.edge_properties(edges, &[key]) {
            return Ok(columns.into_iter().next().unwrap_or_else(|| Column::nulls(edges.len())));
        }
        let mut values: Map<EdgeId, Value> = Map::default();
        let mut read = |ids: &[EdgeId]| {
            let columns = snapshot.edge_properties(ids, &[key])?;
            values.extend(ids.iter().copied().zip(columns[0].values()));
            Ok(())
        };
        in_halves(edges, &mut read, &mut |_, cause| self.losses.add(cause, 1, &what))?;
        let mut column = ColumnBuilder::default();
        edges.iter().for_each(|edge| column.push(&values.remove(edge).unwrap_or(Value::Null)));
        Ok(column.finish())
    }
}

fn expand(direction: Direction, edge_type: EdgeTypeId, edge_ids: EdgeIds) -> Expand {
    Expand { direction, types: Some(vec![edge_type]), edge_ids, keys: Vec::new(), ranges: Vec::new(), top: None }
}

fn each_batch(snapshot: &Snapshot, nodes: &[NodeId], expand: &Expand, mut take: impl FnMut(&EdgeBatch)) -> Result<()> {
    let mut cursor = snapshot.expand(nodes, expand)?;
    let mut batch = EdgeBatch::default();
    while cursor.next(&mut batch)? {
        take(&batch);
    }
    Ok(())
}
