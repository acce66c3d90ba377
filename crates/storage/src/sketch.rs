//! Sketches for the planner: which labels edges join, how many edges nodes have, how many values properties have.
//!
//! They are drawn when a manifest is written after an import or a flush that moved the counts by a stated share, never when
//! a transaction commits. Samples are spread over all edges of a type and all nodes of a label, and every store gets the
//! same again, as what is left to chance comes from a fixed hash.
//!
//! Cost: up to `EDGES_MAX` edges and `CELLS_MAX` values are read, and the ids of all nodes that carry a label.

use std::hash::BuildHasher;
use std::sync::Arc;

use model::statistics::{EdgeSketch, LabelPair, ValueSketch};
use model::{
    Column, Direction, EdgeTypeId, LabelId, Map, NodeBatch, NodeId, NodeScan, PropertyKeyId, ReadView, Result,
    Sketches, Value,
};

use crate::snapshot::Snapshot;
use crate::version::Version;

/// Edges that are looked at in all, and of each type at least.
const EDGES_MAX: u64 = 1 << 17;
const EDGES_OF_TYPE: u64 = 1 << 10;
/// Values that are looked at in all, and nodes of each label at least and at most.
const CELLS_MAX: u64 = 1 << 20;
const NODES_OF_LABEL: (u64, u64) = (1 << 9, 1 << 14);
/// Labels and edge types that are looked at: the most frequent ones.
const NAMES_MAX: usize = 256;
/// Rows of node runs that are read in all. Each label reads the states of every row, however few nodes carry it, so that many
/// rows leave sketches for fewer labels, but for `LABELS_MIN` at least.
const RUN_ROWS_MAX: u64 = 1 << 27;
const LABELS_MIN: u64 = 32;
/// Pairs of labels that are kept of one edge type, and labels of one node that are heeded.
const PAIRS_MAX: usize = 512;
const LABELS_OF_NODE: usize = 8;
/// Ids looked at by one call.
const BATCH: usize = 4_096;

/// New sketches of a version, if its counts have moved far enough from those of its last.
pub(crate) fn renewed(version: &Arc<Version>) -> Option<Sketches> {
    let statistics = &version.manifest().statistics;
    let are_due = statistics.sketches.as_ref().map_or(statistics.nodes > 0, |sketches| sketches.are_old(statistics));
    // Without new sketches plans are made with the old ones: no reason to fail for what cannot be read.
    are_due.then(|| draw(&Snapshot::new(version.clone())).ok()).flatten()
}

/// Looks through what the files hold.
fn draw(snapshot: &Snapshot) -> Result<Sketches> {
    let statistics = snapshot.statistics();
    let mut sketches = Sketches { nodes: statistics.nodes, edges: statistics.edges, ..Sketches::default() };
    let types = most(&statistics.edges_by_type);
    let edges = (EDGES_MAX / types.len().max(1) as u64).max(EDGES_OF_TYPE);
    for (edge_type, count) in types {
        sketches.edge_types.insert(edge_type, draw_edges(snapshot, edge_type, count, edges)?);
    }
    let run_rows: u64 = snapshot.version.layers().runs().iter().map(|run| run.rows()).sum();
    let mut labels = most(&statistics.nodes_by_label);
    labels.truncate((RUN_ROWS_MAX / run_rows.max(1)).max(LABELS_MIN) as usize);
    let keys: Vec<PropertyKeyId> =
        (0..snapshot.schema().property_keys.len().min(NAMES_MAX) as u32).map(PropertyKeyId).collect();
    let cells = CELLS_MAX / (labels.len() * keys.len()).max(1) as u64;
    for (label, count) in labels {
        draw_values(snapshot, label, count, &keys, cells.clamp(NODES_OF_LABEL.0, NODES_OF_LABEL.1), &mut sketches)?;
    }
    Ok(sketches)
}

/// The most frequent ones.
fn most<I: Copy + Ord>(counts: &Map<I, u64>) -> Vec<(I, u64)> {
    let mut most: Vec<(I, u64)> =
        counts.iter().map(|(&id, &count)| (id, count)).filter(|&(_, count)| count > 0).collect();
    most.sort_unstable_by_key(|&(id, count)| (std::cmp::Reverse(count), id));
    most.truncate(NAMES_MAX);
    most
}

/// Choice of those of `count` things that are looked at if about `wanted` may be: one of each stretch, any of them.
struct Stretches {
    stride: u64,
    at: u64,
    count: u64,
}

impl Stretches {
    fn new(count: u64, wanted: u64) -> Stretches {
        Stretches { stride: count.div_ceil(wanted.max(1)).max(1), at: 0, count }
    }
}

impl Iterator for Stretches {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.at >= self.count {
            return None;
        }
        let stretch = self.stride.min(self.count - self.at);
        // The constants of SplitMix64: data that repeats itself must not always show the same side.
        let mixed = (self.at ^ self.at >> 30).wrapping_add(1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let chosen = self.at + (mixed ^ mixed >> 31) % stretch;
        self.at += stretch;
        Some(chosen)
    }
}

fn draw_edges(snapshot: &Snapshot, edge_type: EdgeTypeId, count: u64, wanted: u64) -> Result<EdgeSketch> {
    let (sources, targets) = sample_edges(snapshot, edge_type, wanted)?;
    let sampled = sources.len() as u64;
    let scale = count as f64 / sampled.max(1) as f64;
    let mut pairs: Map<LabelPair, u64> = Map::default();
    for (sources, targets) in sources.chunks(BATCH).zip(targets.chunks(BATCH)) {
        let (sources, targets) = (snapshot.node_labels(sources)?, snapshot.node_labels(targets)?);
        sources.iter().zip(&targets).for_each(|(source, target)| count_pairs(source, target, &mut pairs));
    }
    let is_exact = sampled == count;
    let mut listed: Vec<(LabelPair, u64)> =
        pairs.into_iter().map(|(pair, seen)| (pair, (seen as f64 * scale).round() as u64)).collect();
    listed.sort_unstable_by_key(|&(pair, seen)| (std::cmp::Reverse(seen), pair));
    let unlisted = match listed.get(PAIRS_MAX) {
        Some(&(_, seen)) => seen,
        None if is_exact => 0,
        None => scale.ceil() as u64,
    };
    listed.truncate(PAIRS_MAX);
    Ok(EdgeSketch {
        edges: count,
        sampled,
        pairs: listed.into_iter().collect(),
        unlisted,
        out_degrees: histogram(snapshot, sources, Direction::Out, edge_type, scale)?,
        in_degrees: histogram(snapshot, targets, Direction::In, edge_type, scale)?,
    })
}

/// Sources and targets of edges, spread over all positions of all sections.
fn sample_edges(snapshot: &Snapshot, edge_type: EdgeTypeId, wanted: u64) -> Result<(Vec<NodeId>, Vec<NodeId>)> {
    let version = &snapshot.version;
    let places = version.places_of(edge_type);
    let total = places.iter().map(|&place| version.at(place).1.section.edge_count()).sum();
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    let mut rest = places.iter().map(|&place| version.at(place).1);
    let (mut section, mut first) = (rest.next(), 0);
    for chosen in Stretches::new(total, wanted) {
        while let Some(passed) = &section
            && chosen - first >= passed.section.edge_count()
        {
            first += passed.section.edge_count();
            section = rest.next();
        }
        let Some(section) = &section else { break };
        if section.is_there(chosen - first)? {
            sources.push(section.section.source_at(chosen - first)?);
            targets.push(section.section.target_at(chosen - first)?);
        }
    }
    Ok((sources, targets))
}

fn count_pairs(source: &[LabelId], target: &[LabelId], pairs: &mut Map<LabelPair, u64>) {
    let any = |labels: &[LabelId]| -> Vec<Option<LabelId>> {
        std::iter::once(None).chain(labels.iter().take(LABELS_OF_NODE).map(|&label| Some(label))).collect()
    };
    let targets = any(target);
    for source in any(source) {
        for &target in &targets {
            if source.is_some() || target.is_some() {
                *pairs.entry((source, target)).or_default() += 1;
            }
        }
    }
}

/// Nodes by degree. A node with `d` edges is met `d` times as often as one with a single edge, so each edge stands for a
/// `d`th of a node.
fn histogram(
    snapshot: &Snapshot,
    mut ends: Vec<NodeId>,
    direction: Direction,
    edge_type: EdgeTypeId,
    scale: f64,
) -> Result<Vec<u64>> {
    ends.sort_unstable();
    let runs: Vec<(NodeId, u64)> = ends.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect();
    let mut buckets: Vec<f64> = Vec::new();
    for runs in runs.chunks(BATCH) {
        let nodes: Vec<NodeId> = runs.iter().map(|&(node, _)| node).collect();
        let degrees = snapshot.degrees(&nodes, direction, Some(&[edge_type]))?;
        for (&(_, met), degree) in runs.iter().zip(degrees) {
            let bucket = degree.max(1).ilog2() as usize;
            buckets.resize(buckets.len().max(bucket + 1), 0.0);
            buckets[bucket] += met as f64 * scale / degree.max(1) as f64;
        }
    }
    Ok(buckets.into_iter().map(|nodes| nodes.round() as u64).collect())
}

fn draw_values(
    snapshot: &Snapshot,
    label: LabelId,
    count: u64,
    keys: &[PropertyKeyId],
    wanted: u64,
    sketches: &mut Sketches,
) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let nodes = sample_nodes(snapshot, label, count, wanted)?;
    let mut seen: Vec<Seen> = keys.iter().map(|_| Seen::default()).collect();
    for nodes in nodes.chunks(BATCH) {
        let columns = snapshot.node_properties(nodes, keys)?;
        seen.iter_mut().zip(&columns).for_each(|(seen, column)| seen.add(column));
    }
    for (&key, seen) in keys.iter().zip(&seen) {
        if seen.present > 0 {
            sketches.values.insert((label, key), seen.sketch(count, nodes.len() as u64));
        }
    }
    Ok(())
}

/// Nodes of a label, spread over all that carry it.
fn sample_nodes(snapshot: &Snapshot, label: LabelId, count: u64, wanted: u64) -> Result<Vec<NodeId>> {
    let mut nodes = Vec::new();
    let mut places = Stretches::new(count, wanted).peekable();
    let scan = NodeScan { labels: vec![label], ..NodeScan::default() };
    let mut cursor = snapshot.scan(&scan)?;
    let (mut batch, mut first) = (NodeBatch::default(), 0);
    while cursor.next(&mut batch)? {
        let end = first + batch.nodes.len() as u64;
        while let Some(place) = places.next_if(|&place| place < end) {
            nodes.push(batch.nodes[(place - first) as usize]);
        }
        first = end;
    }
    nodes.sort_unstable();
    Ok(nodes)
}

/// Values of one property in a sample.
#[derive(Default)]
struct Seen {
    present: u64,
    /// By the hash of a value, how often it was there.
    values: Map<u64, u64>,
    numbers: Option<(f64, f64)>,
}

impl Seen {
    fn add(&mut self, column: &Column) {
        for value in column.values().filter(|value| !value.is_null()) {
            self.present += 1;
            let number = match value {
                Value::Int(number) => Some(number as f64),
                Value::Float(number) if number.is_finite() => Some(number),
                _ => None,
            };
            if let Some(number) = number {
                let (least, largest) = self.numbers.unwrap_or((number, number));
                self.numbers = Some((least.min(number), largest.max(number)));
            }
            let hash = self.values.hasher().hash_one(&value);
            *self.values.entry(hash).or_default() += 1;
        }
    }

    /// Estimates the sketch for `count` nodes of which `sampled` were looked at.
    fn sketch(&self, count: u64, sampled: u64) -> ValueSketch {
        let present = (self.present as f64 * count as f64 / sampled as f64).round() as u64;
        let seen = self.values.len() as u64;
        let once = self.values.values().filter(|&&times| times == 1).count() as f64;
        // The estimator of Haas and Stokes (Duj1): values met once tell how many were not met.
        let rows = self.present as f64;
        let share = rows / present.max(1) as f64;
        let distinct = rows * seen as f64 / (rows - once + once * share);
        let distinct = (distinct.round() as u64).clamp(seen, present.max(seen));
        ValueSketch { nodes: count, sampled, present, distinct, numbers: self.numbers }
    }
}
