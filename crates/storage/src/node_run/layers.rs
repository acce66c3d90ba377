//! The nodes of a version: segments with the node runs over them, read as one.
//!
//! Invariant: of a node, the newest run that says something wins; a segment is asked where no run says anything. A
//! segment holds what runs up to its age say, so that only newer ones count over it.
//! Cost: nodes in groups of ids that no run knows cost one more bit test than without runs; others a look into each run.

use std::sync::Arc;

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::{Bitmap, Column, Result};

use super::ids::GROUP_BITS;
use super::{DELETED, NodeRun, Said, State};
use crate::column::grouped::grouped;
use crate::format::{SEGMENT_BITS, SEGMENT_NODES, segment_range};
use crate::segment::Segment;

mod labels;

/// In a place: the number of a run rather than of a segment.
const RUN: u32 = 1 << 31;
/// In a place: there is no value.
const NOWHERE: u32 = u32::MAX;

/// Segments and runs.
#[derive(Debug, Default)]
pub struct Layers {
    /// By number; `None` where there is none.
    segments: Vec<Option<Arc<Segment>>>,
    /// Oldest first.
    runs: Vec<Arc<NodeRun>>,
    /// A bit for each group of ids, set if some run knows one of them.
    touched: Vec<u64>,
}

impl Layers {
    /// Segments by number, and runs in order of their ages.
    pub fn new(segments: Vec<Option<Arc<Segment>>>, runs: Vec<Arc<NodeRun>>) -> Layers {
        debug_assert!(runs.is_sorted_by_key(|run| run.entry().age));
        let mut touched = Vec::new();
        for group in runs.iter().flat_map(|run| run.ids().groups()) {
            let word = (group / 64) as usize;
            if touched.len() <= word {
                touched.resize(word + 1, 0);
            }
            touched[word] |= 1u64 << (group % 64);
        }
        Layers { segments, runs, touched }
    }

    /// The segments by number; `None` where there is none.
    pub fn segments(&self) -> &[Option<Arc<Segment>>] {
        &self.segments
    }

    /// The segment with that number.
    #[inline]
    pub fn segment(&self, number: u64) -> Option<&Segment> {
        self.segments.get(number as usize)?.as_deref()
    }

    /// The runs, oldest first.
    pub fn runs(&self) -> &[Arc<NodeRun>] {
        &self.runs
    }

    /// The largest age of a segment or run; what is written next has one more.
    pub fn age(&self) -> u64 {
        let segments = self.segments.iter().flatten().map(|segment| segment.entry().age);
        segments.chain(self.runs.last().map(|run| run.entry().age)).max().unwrap_or(0)
    }

    /// The age that a run must exceed to count over a segment.
    #[inline]
    pub fn age_of(&self, segment: u64) -> u64 {
        self.segment(segment).map_or(0, |segment| segment.entry().age)
    }

    /// The runs that count over a segment, oldest first.
    pub fn runs_over(&self, segment: u64) -> &[Arc<NodeRun>] {
        let age = self.age_of(segment);
        &self.runs[self.runs.partition_point(|run| run.entry().age <= age)..]
    }

    /// True if some run may know the node.
    #[inline]
    fn is_touched(&self, node: NodeId) -> bool {
        let group = node.0 >> GROUP_BITS;
        self.touched.get((group / 64) as usize).is_some_and(|word| word >> (group % 64) & 1 == 1)
    }

    /// The segment of a node and its row there.
    #[inline]
    fn place(&self, node: NodeId) -> Option<(&Segment, usize)> {
        let segment = self.segment(node.0 >> SEGMENT_BITS)?;
        Some((segment, (node.0 & (SEGMENT_NODES - 1)) as usize))
    }

    /// One more than the largest id that a segment or run may know.
    pub fn row_bound(&self) -> u64 {
        let of_segments = (0..self.segments.len() as u64).rev().find_map(|number| {
            let rows = self.segment(number)?.rows() as u64;
            Some(segment_range(number).start + rows)
        });
        let of_runs = self.runs.iter().filter_map(|run| run.ids().groups().last()).max();
        of_segments.unwrap_or(0).max(of_runs.map_or(0, |group| (group + 1) << GROUP_BITS))
    }

    /// True if a node exists; `None` if the runs know nothing of it.
    #[inline]
    fn existence_in_runs(&self, node: NodeId) -> Result<Option<bool>> {
        if !self.is_touched(node) {
            return Ok(None);
        }
        for run in self.runs_over(node.0 >> SEGMENT_BITS).iter().rev() {
            if let Some(row) = run.row_of(node)? {
                return Ok(Some(run.code(row)? != Some(DELETED)));
            }
        }
        Ok(None)
    }

    /// The labels of a node, as far as the runs know; none if it is gone.
    fn labels_in_runs(&self, node: NodeId) -> Result<Option<&[LabelId]>> {
        if !self.is_touched(node) {
            return Ok(None);
        }
        for run in self.runs_over(node.0 >> SEGMENT_BITS).iter().rev() {
            if let Some(row) = run.row_of(node)? {
                match run.state(row)? {
                    State::Unsaid => {}
                    State::Deleted => return Ok(Some(&[])),
                    State::Labels { labels, .. } => return Ok(Some(labels)),
                }
            }
        }
        Ok(None)
    }

    /// True if the node exists.
    pub fn exists(&self, node: NodeId) -> Result<bool> {
        match self.existence_in_runs(node)? {
            Some(exists) => Ok(exists),
            None => self.place(node).map_or(Ok(false), |(segment, row)| segment.bit(segment.alive(), row)),
        }
    }

    /// For each node, whether it exists.
    pub fn all_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        let mut bits = Bitmap::filled(nodes.len(), false);
        for (row, &node) in nodes.iter().enumerate() {
            if self.exists(node)? {
                bits.set(row, true);
            }
        }
        Ok(bits)
    }

    /// One property of each node, null where it has none.
    pub fn property(&self, nodes: &[NodeId], key: PropertyKeyId) -> Result<Column> {
        if self.runs.is_empty() || !nodes.iter().any(|&node| self.is_touched(node)) {
            let place_of = |node: NodeId| (node.0 >> SEGMENT_BITS, node.0 & (SEGMENT_NODES - 1));
            if let &[node] = nodes {
                let (number, row) = place_of(node);
                return self.read_segment(number, key, &[row]);
            }
            let place = |row: usize| place_of(nodes[row]);
            return grouped(nodes.len(), place, |number, rows| self.read_segment(number, key, rows));
        }
        let places = self.places(nodes, key)?;
        grouped(
            nodes.len(),
            |row| places[row],
            |source, rows| match source {
                NOWHERE => Ok(Column::nulls(rows.len())),
                run if run & RUN != 0 => {
                    let values = self.runs[(run ^ RUN) as usize].key(key).and_then(|columns| columns.values.as_ref());
                    values.map_or_else(|| Ok(Column::nulls(rows.len())), |values| values.read(rows))
                }
                segment => self.read_segment(u64::from(segment), key, rows),
            },
        )
    }

    /// Bytes of these properties of nodes around this one, on the average.
    pub fn row_bytes(&self, node: NodeId, keys: &[PropertyKeyId]) -> u64 {
        let of_segment: u64 = self.place(node).map_or(0, |(segment, row)| {
            let columns = keys.iter().filter_map(|&key| segment.column(key));
            columns.map(|column| column.row_bytes(row as u64)).sum()
        });
        let runs = self.runs_over(node.0 >> SEGMENT_BITS).iter();
        of_segment.max(runs.map(|run| run.entry().file.length / run.rows().max(1)).max().unwrap_or(0))
    }

    fn read_segment(&self, number: u64, key: PropertyKeyId, rows: &[u64]) -> Result<Column> {
        let column = self.segment(number).and_then(|segment| segment.column(key));
        column.map_or_else(|| Ok(Column::nulls(rows.len())), |column| column.read(rows))
    }

    /// Place of the property of each node: the run or segment, and the row there.
    fn places(&self, nodes: &[NodeId], key: PropertyKeyId) -> Result<Vec<(u32, u64)>> {
        let in_segment = |node: &NodeId| ((node.0 >> SEGMENT_BITS) as u32, node.0 & (SEGMENT_NODES - 1));
        let mut places: Vec<(u32, u64)> = nodes.iter().map(in_segment).collect();
        // Rows for which no run has said anything yet.
        let mut open: Vec<bool> = nodes.iter().map(|&node| self.is_touched(node)).collect();
        let mut left = open.iter().filter(|open| **open).count();
        let is_sorted = nodes.is_sorted();
        let largest_age = self.segments.iter().flatten().map(|segment| segment.entry().age).max().unwrap_or(0);
        let (mut ids, mut found) = (Vec::new(), Vec::new());
        for (number, run) in self.runs.iter().enumerate().rev() {
            if left == 0 {
                break;
            }
            let (columns, age) = (run.key(key), run.entry().age);
            if columns.is_none() && run.state_column().is_none() {
                continue;
            }
            rows_of(run, nodes, &open, is_sorted, &mut ids, &mut found)?;
            for &(row, at) in &found {
                let row = row as usize;
                if largest_age >= age && age <= self.age_of(nodes[row].0 >> SEGMENT_BITS) {
                    continue;
                }
                match run.says(columns, at)? {
                    Said::Value => places[row] = (RUN | number as u32, at),
                    Said::Null => places[row] = (NOWHERE, 0),
                    Said::Nothing => continue,
                }
                open[row] = false;
                left -= 1;
            }
        }
        Ok(places)
    }

    /// The properties that nodes of a segment may have, in order.
    pub fn keys_in(&self, segment: u64) -> Vec<PropertyKeyId> {
        let of_segment = self.segment(segment).map_or(&[][..], Segment::columns).iter().map(|(key, _)| *key);
        let of_runs = self.runs_over(segment).iter().flat_map(|run| run.keys()).map(|columns| columns.key);
        let mut keys: Vec<PropertyKeyId> = of_segment.chain(of_runs).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Advice that properties of nodes will be read soon.
    pub fn will_need(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) {
        for &node in nodes {
            if let Some((segment, row)) = self.place(node) {
                keys.iter().filter_map(|&key| segment.column(key)).for_each(|column| column.will_need(row as u64));
            }
        }
    }
}

/// Largest number of rows of a run, for each node that is asked for, at which the run is read from end to end.
const ROWS_PER_NODE: u64 = 4;

/// Replaces `found` by those of the `open` nodes that a run knows, each with its row there.
fn rows_of(
    run: &NodeRun,
    nodes: &[NodeId],
    open: &[bool],
    is_sorted: bool,
    ids: &mut Vec<u64>,
    found: &mut Vec<(u32, u64)>,
) -> Result<()> {
    found.clear();
    let (first, last) = (open.iter().position(|open| *open), open.iter().rposition(|open| *open));
    if let (true, Some(first), Some(last)) = (is_sorted, first, last)
        && first < last
    {
        let rows = run.ids().rows_in(run.file(), nodes[first].0..nodes[last].0 + 1)?;
        if rows.is_empty() {
            return Ok(());
        }
        if rows.end - rows.start <= (last - first) as u64 * ROWS_PER_NODE {
            run.ids().read(run.file(), rows.clone(), ids)?;
            let (mut at, nodes) = (first, &nodes[..=last]);
            for (row, &id) in rows.zip(ids.iter()) {
                // Nodes that follow each other are where their distance says; others are stepped to.
                let near = at + nodes.get(at).map_or(0, |node| id.saturating_sub(node.0)) as usize;
                if nodes.get(near).is_some_and(|node| node.0 == id) && (near == at || nodes[near - 1].0 < id) {
                    at = near;
                }
                while nodes.get(at).is_some_and(|node| node.0 < id) {
                    at += 1;
                }
                while nodes.get(at).is_some_and(|node| node.0 == id) {
                    found.extend(open[at].then_some((at as u32, row)));
                    at += 1;
                }
            }
            return Ok(());
        }
    }
    for (at, &node) in nodes.iter().enumerate().filter(|&(at, _)| open[at]) {
        found.extend(run.row_of(node)?.map(|row| (at as u32, row)));
    }
    Ok(())
}
