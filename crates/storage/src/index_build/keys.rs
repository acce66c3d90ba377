//! The key index of a new constraint over the nodes that are there: small ones stay in the memtable, large ones are
//! sorted on the disk and written as a run.
//!
//! Cost: every node of the label is read once; pairs of hash and node are sorted within the budget of a build. Values
//! are compared only where hashes are equal. Readers go on meanwhile, and the interrupt stops it.

use std::sync::Arc;

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::store::by_scan::each_node;
use model::{Consumer, Interrupt, ReadView, Result, Value};

use crate::build::BuildConfig;
use crate::index::sort::PairSorter;
use crate::index::write::{IndexShape, IndexWriter, id_bits_of};
use crate::index::{KeyIndex, indexed_hash};
use crate::memtable::UniqueIndex;
use crate::snapshot::Snapshot;

/// Nodes of a label up to which their values stay in the memtable.
const MEMORY_NODES_MAX: u64 = 1 << 16;

/// Two nodes with the same value.
pub(crate) type Twins = (NodeId, NodeId, Value);

/// The values that nodes of a label have for a key; or two nodes that have the same.
pub(crate) fn build(
    snapshot: &Snapshot,
    label: LabelId,
    key: PropertyKeyId,
    interrupt: &Interrupt,
) -> Result<std::result::Result<UniqueIndex, Twins>> {
    if snapshot.statistics().label(label) <= MEMORY_NODES_MAX {
        return in_memory(snapshot, label, key, interrupt);
    }
    let context = snapshot.version.build(&BuildConfig::default(), interrupt);
    let memory = context.memory_for(Consumer::Sort);
    let total = snapshot.statistics().label(label);
    let (mut sorter, mut done) = (PairSorter::new(memory.bytes()), 0);
    each_node(snapshot, label, &[key], |batch| {
        done += batch.nodes.len() as u64;
        interrupt.report(done, total);
        interrupt.check()?;
        for (row, &node) in batch.nodes.iter().enumerate() {
            if let Some(hash) = indexed_hash(&batch.properties[0], row) {
                sorter.push(&context, hash, node, false)?;
            }
        }
        Ok(())
    })?;
    let id_bits = id_bits_of(snapshot.node_id_bound());
    let count = sorter.count();
    let shape = IndexShape { label, key, age: 1, count, id_bits, has_removals: false, has_filter: false };
    let mut writer = IndexWriter::new(&context, shape)?;
    let mut same = SameHash { snapshot, key, hash: 0, nodes: Vec::new(), twins: None };
    sorter.finish(&context, |hash, node, is_removed| {
        same.add(hash, node)?;
        if same.twins.is_some() { Ok(()) } else { writer.push(hash, node, is_removed) }
    })?;
    if let Some(twins) = same.twins {
        return Ok(Err(twins));
    }
    let Some(entry) = writer.finish(&context)? else { return Ok(Ok(UniqueIndex::default())) };
    let run = KeyIndex::open(&context.platform.disk, &context.directory, entry)?;
    // The next flush writes the index anew with what came since; this file goes with the last that reads it.
    run.file().retire();
    context.keep();
    Ok(Ok(UniqueIndex::written(Arc::new(run))))
}

fn in_memory(
    snapshot: &Snapshot,
    label: LabelId,
    key: PropertyKeyId,
    interrupt: &Interrupt,
) -> Result<std::result::Result<UniqueIndex, Twins>> {
    let (mut index, mut twins) = (UniqueIndex::default(), None);
    each_node(snapshot, label, &[key], |batch| {
        interrupt.check()?;
        for (row, &node) in batch.nodes.iter().enumerate() {
            let value = batch.properties[0].value(row);
            if value.is_null() {
                continue;
            }
            match index.get(&value) {
                Some(owner) => drop(twins.get_or_insert((owner, node, value))),
                None => index.insert(&value, node),
            }
        }
        Ok(())
    })?;
    Ok(match twins {
        Some(twins) => Err(twins),
        None => Ok(index),
    })
}

/// The nodes that share the hash at hand: only those can have equal values.
struct SameHash<'a> {
    snapshot: &'a Snapshot,
    key: PropertyKeyId,
    hash: u64,
    nodes: Vec<NodeId>,
    twins: Option<Twins>,
}

impl SameHash<'_> {
    fn add(&mut self, hash: u64, node: NodeId) -> Result<()> {
        if self.hash != hash {
            self.hash = hash;
            self.nodes.clear();
        }
        if self.twins.is_none() && !self.nodes.is_empty() {
            let value = self.snapshot.node_property(node, self.key)?;
            for &other in &self.nodes {
                if self.snapshot.node_property(other, self.key)?.equals(&value) == Some(true) {
                    self.twins = Some((other, node, value));
                    break;
                }
            }
        }
        self.nodes.push(node);
        Ok(())
    }
}
