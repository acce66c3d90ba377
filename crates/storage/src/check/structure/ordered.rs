//! The runs of an ordered index hold exactly the values of its nodes or edges, in order.
//!
//! Cost: one pass over the nodes or edges and one over the runs; the entries of the edges of one batch of nodes are in memory
//! as hashes, since parallel edges with equal values share one.

use std::sync::Arc;

use model::store::by_scan::each_node;
use model::store::{EdgeIds, NodeScan};
use model::{
    Column, Direction, EdgeBatch, EdgeTypeId, Expand, Index, Interrupt, KeyOrder, NodeBatch, NodeId, ReadView, Result,
    Subject,
};

use crate::check::Problems;
use crate::codec::hash::{hash_bytes, mix};
use crate::ordered_index::encoding::{put_node, put_value};
use crate::ordered_index::merge::Merged;
use crate::snapshot::Snapshot;
use crate::version::Version;

/// Entries between two looks at the interrupt.
const STEPS: u64 = 1 << 16;
/// Nodes whose edges are looked at together.
const NODES: usize = 64;

/// Number of entries, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entries {
    count: u64,
    sum: u64,
}

impl Entries {
    fn add(&mut self, hash: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(mix(hash));
    }
}

/// Adds what is wrong with an index to the problems.
pub(super) fn check(
    version: &Arc<Version>,
    index: &Index,
    interrupt: &Interrupt,
    problems: &mut Problems,
) -> Result<()> {
    let runs: Vec<_> = version.ordered_runs(index).cloned().collect();
    let path = runs.last().map_or_else(|| version.directory().to_owned(), |run| run.file().path().to_owned());
    let snapshot = Snapshot::new(version.clone());
    let expected = match index.subject {
        Subject::Label(_) => of_nodes(&snapshot, index, interrupt)?,
        Subject::EdgeType(edge_type) => of_edges(&snapshot, index, edge_type, interrupt)?,
    };
    let (mut found, mut last) = (Entries::default(), Vec::new());
    let mut merged = Merged::new(runs.iter().map(|run| &**run), None, KeyOrder::Ascending);
    merged.seek(&[], &[0xff])?;
    while let Some(entry) = merged.next()? {
        if found.count > 0 && last.as_slice() >= entry {
            problems.add(&path, 0, format!("entry {} of the index {} is not in order", found.count, index.name));
            return Ok(());
        }
        last.clear();
        last.extend_from_slice(entry);
        found.add(hash_bytes(entry, 0));
        if found.count.is_multiple_of(STEPS) {
            interrupt.check()?;
        }
    }
    if found != expected {
        let (name, found, expected) = (&index.name, found.count, expected.count);
        let message = format!("the index {name} has {found} entries that differ from the {expected} it should have");
        problems.add(&path, 0, message);
    }
    Ok(())
}

/// The hash of the entry of one row; `None` if a value is missing.
fn entry_of(columns: &[Column], row: usize, entry: &mut Vec<u8>, ends: &[NodeId]) -> Option<u64> {
    entry.clear();
    if !columns.iter().all(|column| put_value(&column.value(row), entry)) {
        return None;
    }
    ends.iter().for_each(|&node| put_node(node, entry));
    Some(hash_bytes(entry, 0))
}

fn of_nodes(snapshot: &Snapshot, index: &Index, interrupt: &Interrupt) -> Result<Entries> {
    let (mut entries, mut entry) = (Entries::default(), Vec::new());
    let Subject::Label(label) = index.subject else { return Ok(entries) };
    each_node(snapshot, label, &index.keys, |batch| {
        interrupt.check()?;
        for (row, &node) in batch.nodes.iter().enumerate() {
            if let Some(hash) = entry_of(&batch.properties, row, &mut entry, &[node]) {
                entries.add(hash);
            }
        }
        Ok(())
    })?;
    Ok(entries)
}

fn of_edges(snapshot: &Snapshot, index: &Index, edge_type: EdgeTypeId, interrupt: &Interrupt) -> Result<Entries> {
    let expand = Expand {
        direction: Direction::Out,
        types: Some(vec![edge_type]),
        edge_ids: EdgeIds::Omit,
        keys: index.keys.clone(),
        ..Expand::default()
    };
    let (mut entries, mut entry, mut hashes) = (Entries::default(), Vec::new(), Vec::new());
    let (mut nodes, mut from) = (snapshot.scan(&NodeScan::default())?, NodeBatch::default());
    let mut batch = EdgeBatch::default();
    while nodes.next(&mut from)? {
        for some in from.nodes.chunks(NODES) {
            interrupt.check()?;
            hashes.clear();
            let mut cursor = snapshot.expand(some, &expand)?;
            while cursor.next(&mut batch)? {
                for (row, (&input, &target)) in batch.inputs.iter().zip(&batch.neighbors).enumerate() {
                    let ends = [some[input as usize], target];
                    hashes.extend(entry_of(&batch.properties, row, &mut entry, &ends));
                }
            }
            hashes.sort_unstable();
            hashes.dedup();
            hashes.iter().for_each(|&hash| entries.add(hash));
        }
    }
    Ok(entries)
}
