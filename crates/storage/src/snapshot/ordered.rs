//! Reading ordered indexes.
//!
//! An entry of an edge names its two ends; the edges themselves are found by expanding the ends that have fewer edges,
//! and those whose values are the entry's are meant.

use model::id::{EdgeTypeId, NodeId};
use model::limits::BATCH_ROWS;
use model::store::EdgeIds;
use model::{
    Column, Constraint, Direction, EdgeBatch, EdgeValue, Error, Expand, Index, IndexBatch, IndexCursor, IndexScan,
    KeyOrder, Map, ReadView, Result, Subject, error,
};

use super::Snapshot;
use crate::ordered_index::encoding::{ByteRange, byte_range, has_nan, put_value, split_edge, split_node};
use crate::ordered_index::merge::Merged;

/// An edge, and its values as an index has them.
type ParallelEdge = (EdgeValue, Vec<u8>);
/// The edges between pairs of ends: source, target.
type Parallel = Map<(NodeId, NodeId), Vec<ParallelEdge>>;

impl Snapshot {
    /// The entries of the index at a place of the schema.
    pub(crate) fn merged(&self, at: usize, order: KeyOrder) -> Merged<'_> {
        let (index, entries) = (&self.memtable.schema.indexes[at], &self.memtable.ordered[at]);
        let is_of_files = !entries.is_new();
        let runs = self.version.ordered_runs(index).filter(move |_| is_of_files).chain(entries.built());
        Merged::new(runs.map(|run| &**run), Some(entries), order)
    }

    /// The place in the schema of the index with that subject and those keys.
    pub(super) fn index_place(&self, index: &Index) -> Result<usize> {
        let mut indexes = self.memtable.schema.indexes.iter();
        let place = indexes.position(|held| held.subject == index.subject && held.keys == index.keys);
        place.ok_or_else(|| error!(SchemaRule, "the store has no index {}", index.name))
    }

    /// The edges that each entry stands for.
    pub(crate) fn edges_of_entries(
        &self,
        edge_type: EdgeTypeId,
        index: &Index,
        entries: &[(NodeId, NodeId, &[u8])],
    ) -> Result<Vec<Vec<EdgeValue>>> {
        let types = [edge_type];
        let ends = |of: fn(&(NodeId, NodeId, &[u8])) -> NodeId, direction| -> Result<Map<NodeId, u64>> {
            let nodes = distinct(entries.iter().map(of));
            let degrees = self.degrees(&nodes, direction, Some(&types))?;
            Ok(nodes.into_iter().zip(degrees).collect())
        };
        let (out, into) = (ends(|entry| entry.0, Direction::Out)?, ends(|entry| entry.1, Direction::In)?);
        // A hub among the ends of some entries must not be expanded for entries of other nodes.
        let (mut forward, mut backward) = (Parallel::default(), Parallel::default());
        let is_forward = |source: NodeId, target: NodeId| out[&source] <= into[&target];
        for &(source, target, _) in entries {
            let side = if is_forward(source, target) { &mut forward } else { &mut backward };
            side.entry((source, target)).or_default();
        }
        self.find_parallel(Direction::Out, edge_type, index, &mut forward)?;
        self.find_parallel(Direction::In, edge_type, index, &mut backward)?;
        let edges_of = |&(source, target, values): &(NodeId, NodeId, &[u8])| {
            let side = if is_forward(source, target) { &forward } else { &backward };
            let parallel = side[&(source, target)].iter();
            parallel.filter(|(_, held)| held == values).map(|(edge, _)| *edge).collect()
        };
        Ok(entries.iter().map(edges_of).collect())
    }

    /// Adds the edges of each pair of ends, found by expanding the sources (`Out`) or the targets (`In`).
    fn find_parallel(
        &self,
        direction: Direction,
        edge_type: EdgeTypeId,
        index: &Index,
        pairs: &mut Parallel,
    ) -> Result<()> {
        let from = distinct(pairs.keys().map(|ends| if direction == Direction::Out { ends.0 } else { ends.1 }));
        let (types, keys) = (Some(vec![edge_type]), index.keys.clone());
        let expand = Expand { direction, types, edge_ids: EdgeIds::Include, keys, ..Expand::default() };
        let (mut cursor, mut batch) = (self.expand(&from, &expand)?, EdgeBatch::default());
        while cursor.next(&mut batch)? {
            for row in 0..batch.len() {
                let (own, other) = (from[batch.inputs[row] as usize], batch.neighbors[row]);
                let (source, target) = if direction == Direction::Out { (own, other) } else { (other, own) };
                let Some(list) = pairs.get_mut(&(source, target)) else { continue };
                if let Some(values) = values_at(&batch.properties, row) {
                    list.push((EdgeValue { id: batch.edges[row], source, target, edge_type }, values));
                }
            }
        }
        Ok(())
    }

    /// The error for two entries with the same values, which a constraint forbids.
    pub(crate) fn two_have_same(&self, constraint: &Constraint, a: &[u8], b: &[u8]) -> Error {
        let whose = |entry: &[u8]| match constraint.subject {
            Subject::Label(_) => split_node(entry).map_or_else(String::new, |(_, node)| format!("node {}", node.0)),
            Subject::EdgeType(_) => split_edge(entry).map_or_else(String::new, |(_, (source, target))| {
                format!("the relationship from node {} to node {}", source.0, target.0)
            }),
        };
        let schema = &self.memtable.schema;
        let keys: Vec<&str> = constraint.keys.iter().map(|&key| schema.property_key_name(key)).collect();
        let (name, subject) = (&constraint.name, schema.subject_name(constraint.subject));
        let (first, second, keys) = (whose(a), whose(b), keys.join(", "));
        error!(Constraint, "constraint {name}: {first} and {second} of {subject} have the same ({keys})")
    }
}

/// Nodes in order, each once.
fn distinct(nodes: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The values of a row as an index has them; `None` if one is missing.
pub(crate) fn values_at(columns: &[Column], row: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    columns.iter().all(|column| put_value(&column.value(row), &mut bytes)).then_some(bytes)
}

/// A cursor over what an index found.
pub(super) struct OrderedCursor<'a> {
    snapshot: &'a Snapshot,
    scan: &'a IndexScan,
    index: &'a Index,
    merged: Merged<'a>,
    /// The row of equal values that is answered next.
    row: usize,
    is_open: bool,
    /// The bytes of the range hold more than is meant; so for every row or for none.
    must_compare: bool,
}

impl<'a> OrderedCursor<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, scan: &'a IndexScan) -> Result<OrderedCursor<'a>> {
        let at = snapshot.index_place(&scan.index)?;
        let merged = snapshot.merged(at, scan.order);
        let index = &snapshot.memtable.schema.indexes[at];
        Ok(OrderedCursor { snapshot, scan, index, merged, row: 0, is_open: false, must_compare: false })
    }

    /// The keys that answer a row; `None` if there can be none.
    fn range_of(&self, row: usize) -> Option<ByteRange> {
        let mut prefix = Vec::new();
        for column in &self.scan.equal {
            let value = column.value(row);
            if has_nan(&value) || !put_value(&value, &mut prefix) {
                return None;
            }
        }
        byte_range(&prefix, &self.scan.range)
    }

    /// Goes to the next row that may have an answer; false if there is none.
    fn open(&mut self) -> Result<bool> {
        while !self.is_open && self.row < self.scan.rows {
            match self.range_of(self.row) {
                Some(range) => {
                    self.merged.seek(&range.start, &range.end)?;
                    (self.is_open, self.must_compare) = (true, range.must_compare);
                }
                None => self.row += 1,
            }
        }
        Ok(self.is_open)
    }

    fn next_nodes(&mut self, out: &mut IndexBatch) -> Result<()> {
        while out.inputs.len() < BATCH_ROWS && self.open()? {
            match self.merged.next()? {
                Some(entry) => {
                    let (_, node) = split_node(entry).ok_or_else(|| damaged(self.index))?;
                    out.inputs.push(self.row as u32);
                    out.nodes.push(node);
                }
                None => (self.is_open, self.row) = (false, self.row + 1),
            }
        }
        if self.must_compare {
            let key = self.index.keys[self.scan.equal.len()];
            let values = self.snapshot.node_properties(&out.nodes, &[key])?.swap_remove(0);
            self.keep_compared(&values, out);
        }
        Ok(())
    }

    fn next_edges(&mut self, edge_type: EdgeTypeId, out: &mut IndexBatch) -> Result<()> {
        let mut entries: Vec<(u32, Vec<u8>)> = Vec::new();
        while entries.len() < BATCH_ROWS && self.open()? {
            match self.merged.next()? {
                Some(entry) => entries.push((self.row as u32, entry.to_vec())),
                None => (self.is_open, self.row) = (false, self.row + 1),
            }
        }
        let mut places = Vec::with_capacity(entries.len());
        for (_, entry) in &entries {
            let (values, (source, target)) = split_edge(entry).ok_or_else(|| damaged(self.index))?;
            places.push((source, target, values));
        }
        let edges = self.snapshot.edges_of_entries(edge_type, self.index, &places)?;
        for ((row, _), edges) in entries.iter().zip(edges) {
            out.inputs.extend(std::iter::repeat_n(*row, edges.len()));
            out.edges.extend(edges);
        }
        if self.must_compare {
            let ids: Vec<_> = out.edges.iter().map(|edge| edge.id).collect();
            let key = self.index.keys[self.scan.equal.len()];
            let values = self.snapshot.edge_properties(&ids, &[key])?.swap_remove(0);
            self.keep_compared(&values, out);
        }
        Ok(())
    }

    /// Keeps the rows whose values are in the range as `<` and its like say.
    fn keep_compared(&self, values: &Column, out: &mut IndexBatch) {
        let kept: Vec<bool> = values.values().map(|value| self.scan.range.holds(&value)).collect();
        fn keep<T>(rows: &mut Vec<T>, kept: &[bool]) {
            let mut kept = kept.iter();
            rows.retain(|_| kept.next().copied().unwrap_or(true));
        }
        keep(&mut out.inputs, &kept);
        keep(&mut out.nodes, &kept);
        keep(&mut out.edges, &kept);
    }
}

fn damaged(index: &Index) -> Error {
    error!(Corrupt, "an entry of the index {} is too short", index.name)
}

impl IndexCursor for OrderedCursor<'_> {
    fn next(&mut self, out: &mut IndexBatch) -> Result<bool> {
        loop {
            out.clear();
            if !self.open()? {
                return self.snapshot.sound(false);
            }
            match self.index.subject {
                Subject::Label(_) => self.next_nodes(out)?,
                Subject::EdgeType(edge_type) => self.next_edges(edge_type, out)?,
            }
            // Of a batch nothing may be left.
            if !out.inputs.is_empty() {
                return self.snapshot.sound(true);
            }
        }
    }
}
