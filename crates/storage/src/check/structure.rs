//! Invariants within and between the files of a version whose bytes are as they were written.

use std::path::Path;
use std::sync::Arc;

use model::id::{EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use model::{Interrupt, Map, Result};

use super::Problems;
use crate::codec::hash::mix;
use crate::column::{BlockHeader, BlockSource, ColumnReader};
use crate::format::COLUMN_BLOCK_ROWS;
use crate::index::merge::MergedPairs;
use crate::index::{KeyIndex, indexed_hash};
use crate::node_run::NodeRun;
use crate::partition::stream::{SectionCursor, kept_rows};
use crate::partition::{LiveSection, Partition, Section};
use crate::segment::Segment;
use crate::version::Version;
use crate::version::edit::overlaps;
use order::is_in_order;

mod numbers;
mod order;
mod ordered;
mod patches;

/// Words of bitmaps looked at together.
const WORDS: usize = COLUMN_BLOCK_ROWS / 64;
/// Edges compared at a time.
const EDGES: u64 = 8_192;

/// Adds what is wrong to the problems.
pub(super) fn check(version: &Arc<Version>, interrupt: &Interrupt, problems: &mut Problems) -> Result<()> {
    check_counts(version, problems)?;
    for segment in version.segments().iter().flatten() {
        let step = check_segment(segment, version, interrupt, problems);
        problems.take(segment.file().path(), 0, step)?;
    }
    for run in version.layers().runs() {
        let step = check_run(run, version, interrupt, problems);
        problems.take(run.file().path(), 0, step)?;
    }
    check_intervals(version, problems);
    for partition in version.partitions() {
        for live in partition.live_sections() {
            let step = check_section(live, partition, version, interrupt, problems);
            problems.take(live.section.file().path(), 0, step)?;
            let step = patches::check(live, version, problems);
            problems.take(live.section.file().path(), 0, step)?;
        }
    }
    for constraint in version.manifest().schema.constraints.clone() {
        interrupt.check()?;
        let Some((label, key)) = constraint.lookup_key() else { continue };
        let step = check_index(version, label, key, problems);
        problems.take(version.directory(), 0, step)?;
    }
    for index in version.manifest().schema.indexes.clone() {
        let step = ordered::check(version, &index, interrupt, problems);
        problems.take(version.directory(), 0, step)?;
    }
    for index in version.indexes() {
        let entry = index.entry();
        if version.manifest().schema.unique(entry.label, entry.key).is_none() {
            problems.manifest(version, format!("the key index {} belongs to no constraint", entry.file.number));
        }
    }
    Ok(())
}

fn check_counts(version: &Version, problems: &mut Problems) -> Result<()> {
    let manifest = version.manifest();
    let step = version.count();
    let Some(found) = problems.take(version.directory(), 0, step)? else { return Ok(()) };
    let listed = &manifest.statistics;
    for (what, found, listed) in [("nodes", found.nodes, listed.nodes), ("edges", found.edges, listed.edges)] {
        if found != listed {
            problems.manifest(version, format!("the files hold {found} {what}, the manifest says {listed}"));
        }
    }
    for label in (0..manifest.schema.labels.len() as u32).map(LabelId) {
        if found.label(label) != listed.label(label) {
            let name = manifest.schema.label_name(label);
            let (found, listed) = (found.label(label), listed.label(label));
            problems.manifest(version, format!("the files hold {found} nodes :{name}, the manifest says {listed}"));
        }
    }
    for edge_type in (0..manifest.schema.edge_types.len() as u32).map(EdgeTypeId) {
        if found.edge_type(edge_type) != listed.edge_type(edge_type) {
            let name = manifest.schema.edge_type_name(edge_type);
            let (found, listed) = (found.edge_type(edge_type), listed.edge_type(edge_type));
            problems.manifest(version, format!("the files hold {found} edges :{name}, the manifest says {listed}"));
        }
    }
    if let Some((_, file)) = manifest.files().find(|(_, file)| file.number >= manifest.next_file_number) {
        let message = format!("file {} is not below the next number {}", file.number, manifest.next_file_number);
        problems.manifest(version, message);
    }
    Ok(())
}

/// The ids of a run ascend below the bound, its states name sets that are there, and its columns can be read.
fn check_run(run: &NodeRun, version: &Version, interrupt: &Interrupt, problems: &mut Problems) -> Result<()> {
    let path = run.file().path();
    let (mut ids, mut last) = (Vec::new(), None);
    for start in (0..run.rows()).step_by(COLUMN_BLOCK_ROWS) {
        interrupt.check()?;
        let end = (start + COLUMN_BLOCK_ROWS as u64).min(run.rows());
        run.ids().read(run.file(), start..end, &mut ids)?;
        for (row, &id) in (start..end).zip(&ids) {
            if last.is_some_and(|last| last >= id) || run.row_of(NodeId(id))? != Some(row) {
                problems.add(path, 0, format!("row {row} of a run is node {id}, which is not in order or not found"));
            }
            last = Some(id);
            run.state(row)?;
        }
    }
    if let Some(last) = last.filter(|&last| last >= version.node_id_bound()) {
        let bound = version.node_id_bound();
        problems.add(path, 0, format!("a run knows node {last}, the manifest's bound is {bound}"));
    }
    for label in run.sets().iter().flat_map(|set| set.iter()) {
        if version.manifest().schema.labels.name(label.0).is_none() {
            problems.add(path, 0, format!("label {} has no name", label.0));
        }
    }
    for columns in run.keys() {
        for column in columns.values.iter().chain(&columns.removed) {
            check_column(column, columns.key, version, path, interrupt, problems)?;
        }
    }
    Ok(())
}

fn check_segment(segment: &Segment, version: &Version, interrupt: &Interrupt, problems: &mut Problems) -> Result<()> {
    let path = segment.file().path();
    let words = segment.rows().div_ceil(64);
    let mut living = Vec::with_capacity(words);
    for index in 0..words {
        living.push(segment.word(segment.alive(), index)?);
    }
    let alive = living.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
    if alive != segment.alive_count() {
        problems.add(path, 0, format!("{alive} nodes exist, the directory says {}", segment.alive_count()));
    }
    // Label by label, as the file has them: one of very many labels takes a few blocks.
    for label in segment.labels() {
        interrupt.check()?;
        let (mut count, mut is_beyond) = (0, false);
        segment.each_word(label.rows, 0..words, |index, word| {
            count += u64::from(word.count_ones());
            is_beyond |= word & !living[index] != 0;
            Ok(())
        })?;
        if is_beyond {
            problems.add(path, 0, format!("label {} is on a node that does not exist", label.label.0));
        }
        if count != label.count {
            let message = format!("label {} is on {count} nodes, the directory says {}", label.label.0, label.count);
            problems.add(path, 0, message);
        }
        if version.manifest().schema.labels.name(label.label.0).is_none() {
            problems.add(path, 0, format!("label {} has no name", label.label.0));
        }
    }
    for (key, column) in segment.columns() {
        check_column(column, *key, version, path, interrupt, problems)?;
    }
    Ok(())
}

/// Reads every value of a column once. Blocks without values have no bytes: a store with very many keys has very many.
fn check_column(
    column: &ColumnReader,
    key: PropertyKeyId,
    version: &Version,
    path: &Path,
    interrupt: &Interrupt,
    problems: &mut Problems,
) -> Result<()> {
    if version.manifest().schema.property_keys.name(key.0).is_none() {
        problems.add(path, 0, format!("property key {} has no name", key.0));
    }
    interrupt.check()?;
    let has_bytes = |header: &BlockHeader| header.present > 0 || header.length > 0;
    for (index, header) in column.headers().iter().enumerate().filter(|(_, header)| has_bytes(header)) {
        interrupt.check()?;
        let start = (index * COLUMN_BLOCK_ROWS) as u64;
        let step = column.range(start..start + u64::from(header.rows));
        let Some(values) = problems.take(path, header.offset, step)? else { continue };
        let present = (0..values.len()).filter(|&row| !values.is_null(row)).count();
        if present != header.present as usize {
            let message = format!("a block has {present} values, its header says {}", header.present);
            problems.add(path, header.offset, message);
        }
    }
    Ok(())
}

/// Of partitions whose intervals overlap the older has no lower level.
fn check_intervals(version: &Version, problems: &mut Problems) {
    let entries: Vec<_> = version.partitions().iter().map(|partition| partition.entry()).collect();
    for (index, newer) in entries.iter().enumerate() {
        for older in entries[..index].iter().filter(|older| overlaps(&older.interval, &newer.interval)) {
            if older.level < newer.level {
                let (level, file) = (newer.level, newer.topology.number);
                let message = format!("partition {file} of level {level} is newer than one of level {}", older.level);
                problems.manifest(version, message);
            }
        }
    }
}

/// Both directions hold the same edges, sorted, between nodes that exist.
fn check_section(
    live: LiveSection<'_>,
    partition: &Partition,
    version: &Version,
    interrupt: &Interrupt,
    problems: &mut Problems,
) -> Result<()> {
    let section = live.section;
    let path = section.file().path().to_owned();
    if version.manifest().schema.edge_types.name(section.edge_type().0).is_none() {
        problems.add(&path, 0, format!("edge type {} has no name", section.edge_type().0));
    }
    let mut cursor = SectionCursor::new(section, 0..u64::MAX)?;
    let (mut out_sum, mut count) = (0u64, 0u64);
    // The edge before: its source, position and target.
    let mut last = (NodeId(0), Vec::new(), Vec::new());
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    loop {
        interrupt.check()?;
        sources.clear();
        targets.clear();
        let run = cursor.next(EDGES, &mut sources, &mut targets)?;
        if run.is_empty() {
            break;
        }
        count += run.end - run.start;
        let mut at = 0;
        for of_source in sources.chunk_by(|a, b| a == b) {
            let source = of_source[0];
            let rows = at..at + of_source.len();
            let (mut positions, mut others) = if last.0 == source { (last.1, last.2) } else { Default::default() };
            positions.extend(rows.clone().map(|row| run.start + row as u64));
            others.extend_from_slice(&targets[rows.clone()]);
            if source < last.0 || !is_in_order(section, &positions, &others)? {
                problems.add(&path, 0, format!("the edges after node {} are not sorted", source.0));
            }
            let end = positions.len() - 1;
            last = (source, positions.split_off(end), others.split_off(end));
            at = rows.end;
        }
        for ((source, target), position) in sources.iter().zip(&targets).zip(run.clone()) {
            if !partition.interval().contains(&target.0) {
                problems.add(&path, 0, format!("target {} lies outside the partition's interval", target.0));
            }
            out_sum = out_sum.wrapping_add(edge_hash(*source, *target, position));
        }
        let mut lost = Vec::new();
        live.patches.map_or(Ok(()), |patches| patches.lost(&run, false, &mut lost))?;
        let kept = kept_rows(sources.len(), run.start, &lost);
        let kept = |ends: &[NodeId]| kept.iter().map(|&row| ends[row as usize]).collect::<Vec<_>>();
        check_ends(version, &kept(&sources), &kept(&targets), &path, problems)?;
    }
    let in_sum = sum_in_direction(section, interrupt, &path, problems)?;
    if count != section.edge_count() || out_sum != in_sum {
        problems.add(&path, 0, format!("the two directions of edge type {} differ", section.edge_type().0));
    }
    for (key, column) in section.columns() {
        check_column(column, *key, version, &path, interrupt, problems)?;
    }
    numbers::check(section, version, interrupt, problems)
}

fn edge_hash(source: NodeId, target: NodeId, position: u64) -> u64 {
    mix(mix(mix(source.0).wrapping_add(target.0)).wrapping_add(position))
}

fn check_ends(
    version: &Version,
    sources: &[NodeId],
    targets: &[NodeId],
    path: &Path,
    problems: &mut Problems,
) -> Result<()> {
    for ends in [sources, targets] {
        let there = version.nodes_exist(ends)?;
        if there.count_ones() < ends.len() {
            let missing = (0..ends.len()).find(|&row| !there.get(row)).map_or(0, |row| ends[row].0);
            problems.add(path, 0, format!("an edge ends at node {missing}, which does not exist"));
        }
    }
    Ok(())
}

/// The sum of the hashes of all edges, read against their direction.
fn sum_in_direction(section: &Section, interrupt: &Interrupt, path: &Path, problems: &mut Problems) -> Result<u64> {
    let mut sum = 0u64;
    let index = section.in_index();
    let (mut nodes, mut ends, mut sources) = (Vec::new(), Vec::new(), Vec::new());
    let mut positions = Vec::new();
    for start in (0..index.slot_count()).step_by(1_024) {
        interrupt.check()?;
        let slots = start..(start + 1_024).min(index.slot_count());
        let mut at = index.runs(section.file(), slots, &mut nodes, &mut ends)?;
        for (&node, &end) in nodes.iter().zip(&ends) {
            if end < at || end > section.edge_count() {
                problems.add(path, 0, format!("the in-edges of node {node} are at {at}..{end}"));
                return Ok(sum);
            }
            sources.clear();
            section.sources(at..end, &mut sources)?;
            positions.clear();
            section.in_positions(at..end, &mut positions)?;
            if !is_in_order(section, &positions, &sources)? {
                problems.add(path, 0, format!("the in-edges of node {node} are not sorted"));
            }
            at = end;
            for (&source, &position) in sources.iter().zip(&positions) {
                sum = sum.wrapping_add(edge_hash(source, NodeId(node), position));
            }
        }
    }
    Ok(sum)
}

/// The runs of an index have exactly the nodes of the label that have a value, each once, and no value twice.
fn check_index(version: &Version, label: LabelId, key: PropertyKeyId, problems: &mut Problems) -> Result<()> {
    let runs = version.index_runs(label, key);
    let path = runs.last().map_or_else(|| version.directory().to_owned(), |run| run.file().path().to_owned());
    let (mut expected, mut sum) = (0u64, 0u64);
    let (mut words, mut nodes) = (Vec::new(), Vec::new());
    for first in (0..version.node_id_bound().div_ceil(64)).step_by(WORDS) {
        version.label_words(&[label], first, WORDS, &mut words)?;
        nodes.clear();
        for (index, &word) in words.iter().enumerate() {
            let bits = (0..64).filter(|bit| word >> bit & 1 == 1);
            nodes.extend(bits.map(|bit| NodeId((first + index as u64) * 64 + bit)));
        }
        let values = version.node_property(&nodes, key)?;
        for (row, &node) in nodes.iter().enumerate() {
            if let Some(hash) = indexed_hash(&values, row) {
                expected += 1;
                sum = sum.wrapping_add(entry_hash(hash, node));
            }
        }
    }
    let (found, found_sum) = sum_index(runs, version, key, &path, problems)?;
    if (found, found_sum) != (expected, sum) {
        let message = format!("the key index has {found} entries that differ from the {expected} values of its nodes");
        problems.add(&path, 0, message);
    }
    Ok(())
}

fn entry_hash(hash: u64, node: NodeId) -> u64 {
    mix(mix(hash).wrapping_add(node.0))
}

fn sum_index(
    runs: &[Arc<KeyIndex>],
    version: &Version,
    key: PropertyKeyId,
    path: &Path,
    problems: &mut Problems,
) -> Result<(u64, u64)> {
    let (mut count, mut sum) = (0u64, 0u64);
    let mut pairs = MergedPairs::new(runs.iter().map(|run| &**run))?;
    // Nodes with the hash at hand: only those can have equal values.
    let mut same: (u64, Vec<NodeId>) = (0, Vec::new());
    while let Some((hash, node)) = pairs.next_pair()? {
        count += 1;
        sum = sum.wrapping_add(entry_hash(hash, node));
        if same.0 != hash {
            same = (hash, Vec::new());
        }
        same.1.push(node);
        if same.1.len() > 1 {
            let values = version.node_property(&same.1, key)?;
            let mut seen: Map<model::Value, NodeId> = Map::default();
            for (row, &node) in same.1.iter().enumerate() {
                if let Some(other) = seen.insert(values.value(row), node) {
                    let message = format!("nodes {} and {} have the same value of a unique key", other.0, node.0);
                    problems.add(path, 0, message);
                }
            }
        }
    }
    Ok((count, sum))
}
