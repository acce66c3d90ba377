//! A whole ordered index from what is there: small ones stay in the memtable, large ones are sorted and written as a
//! run.
//!
//! Cost: every node of the label, or edge of the type, is read once; entries are sorted within the budget of a build.
//! Readers go on meanwhile, and the interrupt stops it.

use std::sync::Arc;

use model::store::by_scan::{each_edge, each_node};
use model::{Column, Constraint, Consumer, Index, Interrupt, ReadView, Result, Subject};

use crate::build::BuildConfig;
use crate::build::BuildContext;
use crate::ordered_index::encoding::{EDGE_BYTES, NODE_BYTES, hold_nan, put_node, put_value};
use crate::ordered_index::entries::OrderedEntries;
use crate::ordered_index::run::{OrderedEntry, OrderedRun};
use crate::ordered_index::sort::EntrySorter;
use crate::ordered_index::write::RunWriter;
use crate::snapshot::Snapshot;

/// Entries up to which a new index stays in the memtable.
const MEMORY_ENTRIES_MAX: u64 = 1 << 16;

/// The entries of a new index; fails with `CONSTRAINT` if two are equal that its constraint wants to differ.
pub(crate) fn build(
    snapshot: &Snapshot,
    index: &Index,
    owner: Option<&Constraint>,
    interrupt: &Interrupt,
) -> Result<OrderedEntries> {
    let context = snapshot.version.build(&BuildConfig::default(), interrupt);
    let mut last = Vec::new();
    if subject_count(snapshot, index) <= MEMORY_ENTRIES_MAX {
        let mut entries = Vec::new();
        let sorter = EntrySorter::new(usize::MAX);
        sorted_entries(&context, snapshot, index, owner, sorter, |entry| {
            if last.as_slice() != entry {
                last = entry.to_vec();
                entries.push(last.clone());
            }
            Ok(())
        })?;
        return Ok(OrderedEntries::made(entries));
    }
    let memory = context.memory_for(Consumer::Sort);
    let Some(entry) = build_run(&context, snapshot, index, owner, memory.bytes())? else {
        return Ok(OrderedEntries::written(None));
    };
    let run = OrderedRun::open(&context.platform.disk, &context.directory, &entry)?;
    // Until a manifest names it, the file goes with the last that reads it.
    run.file().retire();
    context.keep();
    Ok(OrderedEntries::written(Some(Arc::new(run))))
}

/// Nodes or edges that may be in the index.
fn subject_count(snapshot: &Snapshot, index: &Index) -> u64 {
    match index.subject {
        Subject::Label(label) => snapshot.statistics().label(label),
        Subject::EdgeType(edge_type) => snapshot.statistics().edge_type(edge_type),
    }
}

/// Writes all entries of an index as one run, sorted in that much memory.
pub(crate) fn build_run(
    context: &BuildContext,
    snapshot: &Snapshot,
    index: &Index,
    owner: Option<&Constraint>,
    memory_bytes: usize,
) -> Result<Option<OrderedEntry>> {
    let mut writer = RunWriter::new(context, index, 1)?;
    let mut last = Vec::new();
    let sorter = EntrySorter::new(memory_bytes);
    sorted_entries(context, snapshot, index, owner, sorter, |entry| {
        if last.as_slice() == entry {
            return Ok(());
        }
        last.clear();
        last.extend_from_slice(entry);
        writer.push(entry, false)
    })?;
    writer.finish(context)
}

/// Calls `each` with the entries in order; those of parallel edges with equal values come more than once.
fn sorted_entries(
    context: &BuildContext,
    snapshot: &Snapshot,
    index: &Index,
    owner: Option<&Constraint>,
    mut sorter: EntrySorter,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let total = subject_count(snapshot, index);
    let (mut entry, mut done) = (Vec::new(), 0);
    let mut add = |columns: &[Column], row: usize, ends: &dyn Fn(&mut Vec<u8>)| {
        entry.clear();
        if columns.iter().all(|column| put_value(&column.value(row), &mut entry)) {
            ends(&mut entry);
            sorter.push(context, &entry)?;
        }
        Ok(())
    };
    let mut progress = |rows: usize| {
        done += rows as u64;
        context.interrupt.report(done, total);
        context.interrupt.check()
    };
    let suffix_bytes = match index.subject {
        Subject::Label(label) => {
            each_node(snapshot, label, &index.keys, |batch| {
                progress(batch.nodes.len())?;
                let mut rows = batch.nodes.iter().enumerate();
                rows.try_for_each(|(row, &node)| add(&batch.properties, row, &|entry| put_node(node, entry)))
            })?;
            NODE_BYTES
        }
        Subject::EdgeType(edge_type) => {
            each_edge(snapshot, edge_type, &index.keys, |batch| {
                progress(batch.edges.len())?;
                (0..batch.edges.len()).try_for_each(|row| {
                    add(&batch.properties, row, &|entry| {
                        put_node(batch.sources[row], entry);
                        put_node(batch.targets[row], entry);
                    })
                })
            })?;
            EDGE_BYTES
        }
    };
    let mut before: Vec<u8> = Vec::new();
    sorter.finish(context, |entry| {
        if let Some(owner) = owner {
            let values = &entry[..entry.len() - suffix_bytes];
            let is_same = before.len() >= suffix_bytes && &before[..before.len() - suffix_bytes] == values;
            if is_same && !hold_nan(values) {
                return Err(snapshot.two_have_same(owner, &before, entry));
            }
            before.clear();
            before.extend_from_slice(entry);
        }
        each(entry)
    })
}
