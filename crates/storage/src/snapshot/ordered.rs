//! Reading ordered indexes.
//!
//! An entry of an edge names its two ends; of the edges between these, those whose values are the entry's are meant.

use std::collections::VecDeque;

use model::id::{EdgeTypeId, NodeId};
use model::limits::BATCH_ROWS;
use model::{
    Column, Constraint, EdgeId, EdgeValue, Error, Index, IndexBatch, IndexCursor, IndexScan, KeyOrder, Map, ReadView,
    Result, Subject, error,
};

use super::Snapshot;
use crate::ordered_index::encoding::{ByteRange, byte_range, has_nan, put_value, split_edge, split_node};
use crate::ordered_index::merge::Merged;

/// Edges whose values are held at once.
const EDGES_AT_ONCE: usize = 4_096;
/// Edges compared for each entry, from which on more entries are looked for at once.
const PARALLEL_MAX: usize = 8;
/// Entries that are looked for at once, at most: some megabytes.
const ENTRIES_MAX: usize = 65_536;

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

    /// The edges that each entry stands for, and the number of those that were compared with entries to find them.
    pub(crate) fn edges_of_entries(
        &self,
        edge_type: EdgeTypeId,
        index: &Index,
        entries: &[(NodeId, NodeId, &[u8])],
    ) -> Result<(Vec<Vec<EdgeId>>, usize)> {
        let mut pairs: Vec<(NodeId, NodeId)> = entries.iter().map(|&(source, target, _)| (source, target)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut wanted: Map<(usize, &[u8]), usize> = Map::default();
        // Equal entries, which several rows of a scan may ask for, have the list of the first.
        let lists: Vec<usize> = (entries.iter().zip(0..))
            .map(|(&(source, target, values), at)| {
                let pair = pairs.partition_point(|pair| *pair < (source, target));
                *wanted.entry((pair, values)).or_insert(at)
            })
            .collect();
        let parallel = self.edges_between(edge_type, &pairs)?;
        let mut found = vec![Vec::new(); entries.len()];
        let (mut pair, mut values) = (0, Vec::new());
        for start in (0..parallel.edges.len()).step_by(EDGES_AT_ONCE) {
            let edges = &parallel.edges[start..parallel.edges.len().min(start + EDGES_AT_ONCE)];
            let columns = self.edge_properties(edges, &index.keys)?;
            for (row, &edge) in edges.iter().enumerate() {
                while parallel.rows(pair).end <= start + row {
                    pair += 1;
                }
                if put_values_at(&columns, row, &mut values)
                    && let Some(&at) = wanted.get(&(pair, values.as_slice()))
                {
                    found[at].push(edge);
                }
            }
        }
        for at in 0..lists.len() {
            if lists[at] != at {
                found[at] = found[lists[at]].clone();
            }
        }
        Ok((found, parallel.edges.len()))
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

/// The values of a row as an index has them; `None` if one is missing.
pub(crate) fn values_at(columns: &[Column], row: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    put_values_at(columns, row, &mut bytes).then_some(bytes)
}

/// The same into a buffer; false if one is missing.
fn put_values_at(columns: &[Column], row: usize, bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    columns.iter().all(|column| put_value(&column.value(row), bytes))
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
    /// Number of entries whose edges are looked for together.
    entries_at_once: usize,
    /// Edges that were found and not answered yet, and their rows.
    found: VecDeque<(u32, EdgeValue)>,
}

impl<'a> OrderedCursor<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, scan: &'a IndexScan) -> Result<OrderedCursor<'a>> {
        let at = snapshot.index_place(&scan.index)?;
        let merged = snapshot.merged(at, scan.order);
        let index = &snapshot.memtable.schema.indexes[at];
        Ok(OrderedCursor {
            snapshot,
            scan,
            index,
            merged,
            row: 0,
            is_open: false,
            must_compare: false,
            entries_at_once: BATCH_ROWS,
            found: VecDeque::new(),
        })
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
        if self.found.is_empty() {
            self.find_edges(edge_type)?;
        }
        for (row, edge) in self.found.drain(..self.found.len().min(BATCH_ROWS)) {
            out.inputs.push(row);
            out.edges.push(edge);
        }
        if self.must_compare {
            let ids: Vec<_> = out.edges.iter().map(|edge| edge.id).collect();
            let key = self.index.keys[self.scan.equal.len()];
            let values = self.snapshot.edge_properties(&ids, &[key])?.swap_remove(0);
            self.keep_compared(&values, out);
        }
        Ok(())
    }

    /// Finds the edges of the next entries. Where nodes have many parallel edges, those are compared with many entries at
    /// once.
    fn find_edges(&mut self, edge_type: EdgeTypeId) -> Result<()> {
        let mut entries: Vec<(u32, Vec<u8>)> = Vec::new();
        while entries.len() < self.entries_at_once && self.open()? {
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
        let (found, compared) = self.snapshot.edges_of_entries(edge_type, self.index, &places)?;
        if compared / PARALLEL_MAX > entries.len() {
            self.entries_at_once = (self.entries_at_once * PARALLEL_MAX).min(ENTRIES_MAX);
        }
        for (((row, _), &(source, target, _)), edges) in entries.iter().zip(&places).zip(found) {
            self.found.extend(edges.into_iter().map(|id| (*row, EdgeValue { id, source, target, edge_type })));
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
            if self.found.is_empty() && !self.open()? {
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
