//! Rows read from the store's edge partitions, in sequential reads.
//!
//! Whole rows come from the partitions whose intervals hold them: from one without copying, from several gathered. Parts
//! are stretches of one partition in one direction: a column of the grid, cut so that there is work for all threads.
//! After: Zhu, Han, Chen, "GridGraph", 2015; Kyrola, Guestrin, "GraphChi-DB", 2014.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use model::batch::EdgeRuns;
use model::column::Bitmap;
use model::error::Result;
use model::id::EdgeTypeId;
use model::interrupt::Interrupt;
use model::store::{Direction, EdgePartitions, RunScan};

use super::blocks::{EmptyRows, Pieces, WholeRows};
use super::gathered::{WINDOW_EXCESS, WINDOW_ROWS_MAX, Window};
use super::numbered::{Numberer, SelfLoops};
use super::resident::{Added, ResidentRuns, Unsorted};
use super::{Source, has_any};
use crate::numbering::Numbering;
use crate::projection::Weight;
use crate::rows::Sides;
use crate::rows::pass::{Hand, Lane as PassLane};
use crate::rows::{RowSink, Rows, Side};

/// Edges of a part, at most about.
const PART_EDGES_MAX: u64 = 1 << 22;
/// Edges of a part, at least about.
const PART_EDGES_MIN: u64 = 1 << 14;
/// Approximate number of parts for each thread.
const PARTS_PER_THREAD: u64 = 16;

/// Edges of a partition that is read once and kept, at most.
const RESIDENT_EDGES_MAX: u64 = 1 << 16;
/// Edges kept of all such partitions, at most.
const RESIDENT_EDGES_TOTAL: u64 = 1 << 20;
/// Inverse of the largest share of all edges that a kept partition may have.
const RESIDENT_SHARE: u64 = 16;

/// A partition that holds edges of the selection.
struct Held {
    partition: usize,
    /// The interval of its targets.
    targets: Range<u64>,
    edges: u64,
    /// True if they are of one type, so that its runs ascend from start to end.
    is_one_type: bool,
}

/// A stretch of a partition, in one direction.
#[derive(Clone)]
struct Part {
    /// `None` for all edges of the partitions that are kept.
    held: Option<usize>,
    direction: Direction,
    ids: Range<u64>,
}

/// A partition, read in one direction.
#[derive(Clone, Copy)]
struct Lane<'a> {
    held: &'a Held,
    direction: Direction,
}

/// A selection whose rows lie in partitions.
pub(super) struct PartitionedRows<'a> {
    source: Source<'a>,
    partitions: &'a dyn EdgePartitions,
    /// Shared with others who read the store; none within a transaction that has written.
    hand: Option<Arc<Hand>>,
    held: Vec<Held>,
    /// The edges of the other partitions, by source and by target.
    resident: [ResidentRuns; 2],
    edges: u64,
    forward: Vec<Part>,
    backward: Vec<Part>,
}

impl<'a> PartitionedRows<'a> {
    pub(super) fn new(source: Source<'a>, partitions: &'a dyn EdgePartitions) -> Result<PartitionedRows<'a>> {
        let types = source.selection.projection.types.as_deref();
        let counts: Vec<u64> = (0..partitions.count()).map(|at| partitions.edge_count(at, types)).collect();
        let edges = counts.iter().sum();
        let (mut held, mut small, mut small_edges) = (Vec::new(), Vec::new(), 0);
        for (partition, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let targets = partitions.interval(partition);
            let is_one_type = holds_one_type(&source, partitions, partition, count);
            let this = Held { partition, targets, edges: count, is_one_type };
            let is_small = count <= RESIDENT_EDGES_MAX && count <= edges / RESIDENT_SHARE;
            if is_small && small_edges + count <= RESIDENT_EDGES_TOTAL {
                small_edges += count;
                small.push(this);
            } else {
                held.push(this);
            }
        }
        let resident = [ResidentRuns::default(), ResidentRuns::default()];
        let (forward, backward) = (Vec::new(), Vec::new());
        let types = source.selection.projection.types.clone();
        let hand = source.selection.view.topology().map(|topology| Hand::of((topology.store, types)));
        let mut rows = PartitionedRows { source, partitions, hand, held, resident, edges, forward, backward };
        rows.resident = [rows.keep(&small, Direction::Out)?, rows.keep(&small, Direction::In)?];
        rows.forward = rows.parts(Side::Forward);
        rows.backward = rows.parts(Side::Backward);
        Ok(rows)
    }

    /// Reads partitions that are to be kept.
    fn keep(&self, small: &[Held], direction: Direction) -> Result<ResidentRuns> {
        let mut edges = Unsorted::default();
        let mut numberer = Numberer::new(&self.source, self.self_loops(direction));
        for held in small {
            self.read(held, direction, self.ids_of(held, direction), None, |runs| {
                edges.take(&numberer.number(runs)?);
                Ok(true)
            })?;
        }
        Ok(edges.sort())
    }

    fn resident(&self, direction: Direction) -> &ResidentRuns {
        &self.resident[usize::from(direction == Direction::In)]
    }

    /// The directions in which partitions are read for rows of a side, in the order of a row's edges.
    fn directions(&self, side: Side) -> &'static [Direction] {
        match self.source.direction(side) {
            Direction::Out => &[Direction::Out],
            Direction::In => &[Direction::In],
            Direction::Both => &[Direction::Out, Direction::In],
        }
    }

    /// The ids of nodes that may have edges of a partition in a direction.
    fn ids_of(&self, held: &Held, direction: Direction) -> Range<u64> {
        if direction == Direction::In { held.targets.clone() } else { 0..self.source.selection.view.node_id_bound() }
    }

    fn parts(&self, side: Side) -> Vec<Part> {
        let entries = self.source.entries(self.edges);
        let part_edges = entries / (PARTS_PER_THREAD * self.source.threads as u64);
        let part_edges = part_edges.clamp(PART_EDGES_MIN, PART_EDGES_MAX);
        let mut parts = Vec::new();
        for &direction in self.directions(side) {
            if !self.resident(direction).runs().nodes.is_empty() {
                let ids = 0..self.source.selection.view.node_id_bound();
                parts.push(Part { held: None, direction, ids });
            }
            for (at, held) in self.held.iter().enumerate() {
                let ids = self.ids_of(held, direction);
                let step = (ids.end - ids.start).div_ceil(held.edges.div_ceil(part_edges)).next_multiple_of(64).max(64);
                let starts = ids.clone().step_by(step as usize);
                parts.extend(starts.map(|start| Part {
                    held: Some(at),
                    direction,
                    ids: start..(start + step).min(ids.end),
                }));
            }
        }
        parts
    }

    /// The parts of a side.
    fn parts_of(&self, side: Side) -> &[Part] {
        match side {
            Side::Forward => &self.forward,
            Side::Backward => &self.backward,
        }
    }

    /// Reads runs of a partition.
    fn read(
        &self,
        held: &Held,
        direction: Direction,
        ids: Range<u64>,
        among: Option<&Bitmap>,
        mut take: impl FnMut(&EdgeRuns) -> Result<bool>,
    ) -> Result<()> {
        let scan = RunScan {
            direction,
            types: self.source.selection.projection.types.clone(),
            nodes: Some(ids),
            among,
            keys: self.source.selection.weight.map_or_else(Vec::new, Weight::keys),
            others: self.hand.as_ref().map_or(0, |hand| hand.others(direction)),
        };
        let mut cursor = self.partitions.runs(held.partition, &scan)?;
        let mut runs = EdgeRuns::default();
        while cursor.next(&mut runs)? {
            self.source.interrupt.check()?;
            if !take(&runs)? {
                break;
            }
        }
        Ok(())
    }

    /// The treatment of edges from a node to itself when reading in a direction: in undirected rows they come once.
    fn self_loops(&self, direction: Direction) -> SelfLoops {
        let is_second = self.source.selection.projection.direction == Direction::Both && direction == Direction::In;
        if is_second { SelfLoops::Drop } else { SelfLoops::Keep }
    }

    /// The bits of some nodes by their ids.
    fn by_id<'b>(&self, among: Option<&'b Bitmap>, numbers: Range<usize>) -> Option<Cow<'b, Bitmap>> {
        let among = among?;
        let numbering = &*self.source.numbering;
        if matches!(numbering, Numbering::Identity(_)) {
            return Some(Cow::Borrowed(among));
        }
        let end = numbers.end.checked_sub(1).map_or(0, |last| numbering.node(last as u32).index() + 1);
        let mut bits = Bitmap::filled(end, false);
        for number in numbers.filter(|&number| among.get(number)) {
            bits.set(numbering.node(number as u32).index(), true);
        }
        Some(Cow::Owned(bits))
    }

    /// The stretches of a range of ids, each with the partitions that hold edges of its nodes.
    fn stretches(&self, side: Side, ids: Range<u64>) -> Vec<(Range<u64>, Vec<Lane<'_>>)> {
        let directions = self.directions(side);
        let mut bounds = vec![ids.start, ids.end];
        if directions.contains(&Direction::In) {
            let ends = self.held.iter().flat_map(|held| [held.targets.start, held.targets.end]);
            bounds.extend(ends.filter(|bound| ids.contains(bound)));
        }
        bounds.sort_unstable();
        bounds.dedup();
        let stretch = |bounds: &[u64]| {
            let ids = bounds[0]..bounds[1];
            let mut lanes = Vec::new();
            for &direction in directions {
                let covers = |held: &&Held| {
                    let of = self.ids_of(held, direction);
                    of.start <= ids.start && ids.end <= of.end
                };
                lanes.extend(self.held.iter().filter(covers).map(|held| Lane { held, direction }));
            }
            (ids, lanes)
        };
        bounds.windows(2).map(stretch).collect()
    }

    /// Rows of one partition with one type: they come in order.
    fn scan_one(&self, lane: Lane<'_>, rows: Range<u32>, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()> {
        let empty_rows = if among.is_some() { EmptyRows::LeaveOut } else { EmptyRows::Pass };
        let ids = self.ids(&(rows.start as usize..rows.end as usize));
        let added = Added::new(self.resident(lane.direction), rows.clone());
        let mut whole = WholeRows::new(rows, empty_rows, added, sink);
        let mut numberer = Numberer::new(&self.source, self.self_loops(lane.direction));
        self.read(lane.held, lane.direction, ids, among, |runs| {
            whole.take(&numberer.number(runs)?)?;
            Ok(true)
        })?;
        whole.finish()
    }

    /// Rows whose edges lie in several partitions.
    fn gather(
        &self,
        side: Side,
        lanes: &[Lane<'_>],
        numbers: Range<usize>,
        among: (Option<&Bitmap>, Option<&Bitmap>),
        sink: &mut RowSink<'_>,
    ) -> Result<()> {
        let (by_number, by_id) = among;
        let density: f64 = lanes.iter().map(|lane| self.density(lane)).sum();
        let window_edges = self.source.buffer_entries;
        let rows_max = (window_edges / 2).clamp(1, WINDOW_ROWS_MAX);
        let mut width = ((window_edges as f64 / density.max(1e-3)) as usize).clamp(1, rows_max);
        let mut window = Window::default();
        let mut start = numbers.start;
        while start < numbers.end {
            let nodes = start..(start + width).min(numbers.end);
            if by_number.is_none_or(|among| has_any(among, nodes.clone())) {
                if !self.fill(&mut window, lanes, &nodes, by_id)? {
                    width = (nodes.len() / 2).max(1);
                    continue;
                }
                for &direction in self.directions(side) {
                    let resident = self.resident(direction);
                    let which = resident.of(nodes.start as u32..nodes.end as u32);
                    window.take_some(&resident.runs(), which);
                }
                window.pass(nodes.clone(), sink)?;
                if window.edge_count() < window_edges / 2 {
                    width = (2 * width).min(rows_max);
                }
            }
            start = nodes.end;
        }
        Ok(())
    }

    /// Edges of a partition for each id.
    fn density(&self, lane: &Lane<'_>) -> f64 {
        let ids = self.ids_of(lane.held, lane.direction);
        lane.held.edges as f64 / (ids.end - ids.start).max(1) as f64
    }

    /// Fills a window; false if it would hold too much.
    fn fill(
        &self,
        window: &mut Window,
        lanes: &[Lane<'_>],
        nodes: &Range<usize>,
        among: Option<&Bitmap>,
    ) -> Result<bool> {
        window.clear();
        let ids = self.ids(nodes);
        for lane in lanes {
            let mut numberer = Numberer::new(&self.source, self.self_loops(lane.direction));
            let mut fits = true;
            self.read(lane.held, lane.direction, ids.clone(), among, |runs| {
                window.take(&numberer.number(runs)?);
                fits = window.edge_count() <= WINDOW_EXCESS * self.source.buffer_entries || nodes.len() == 1;
                Ok(fits)
            })?;
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The ids of the nodes with some numbers, and of those between them that do not take part.
    fn ids(&self, numbers: &Range<usize>) -> Range<u64> {
        let numbering = &self.source.numbering;
        numbering.node(numbers.start as u32).0..numbering.node(numbers.end as u32 - 1).0 + 1
    }
}

/// True if all edges of a partition that take part are of one type.
fn holds_one_type(source: &Source<'_>, partitions: &dyn EdgePartitions, partition: usize, edges: u64) -> bool {
    let holds_all = |edge_type: EdgeTypeId| partitions.edge_count(partition, Some(&[edge_type])) == edges;
    match &source.selection.projection.types {
        Some(types) => types.iter().any(|&edge_type| holds_all(edge_type)),
        None => (0..source.selection.view.schema().edge_types.len() as u32).map(EdgeTypeId).any(holds_all),
    }
}

impl Rows for PartitionedRows<'_> {
    fn node_count(&self) -> usize {
        self.source.numbering.len()
    }

    fn lane(&self, sides: Sides) -> Option<(&PassLane, &Interrupt)> {
        let direction = match sides {
            Sides::Forward => self.source.direction(Side::Forward),
            Sides::Backward => self.source.direction(Side::Backward),
            Sides::ForwardAndBackward => Direction::Both,
        };
        Some((self.hand.as_ref()?.lane(direction), self.source.interrupt))
    }

    fn edge_count(&self) -> u64 {
        self.source.entries(self.edges)
    }

    /// Cut at the bounds of partitions, and within them so that ranges have about as many edges each.
    fn pieces(&self, side: Side, count: usize) -> Vec<Range<usize>> {
        if self.node_count() == 0 {
            return Vec::new();
        }
        let stretches = self.stretches(side, self.ids(&(0..self.node_count())));
        let work = |(ids, lanes): &(Range<u64>, Vec<Lane<'_>>)| {
            (1.0 + lanes.iter().map(|lane| self.density(lane)).sum::<f64>()) * (ids.end - ids.start) as f64
        };
        let step = stretches.iter().map(work).sum::<f64>() / count.max(1) as f64;
        let mut pieces = Vec::new();
        let mut start = 0;
        for stretch in &stretches {
            let cuts = (work(stretch) / step).ceil().max(1.0) as u64;
            let (ids, width) = (&stretch.0, (stretch.0.end - stretch.0.start).div_ceil(cuts).max(1));
            for at in ids.clone().step_by(width as usize) {
                let end = self.source.numbering.lower((at + width).min(ids.end));
                if end > start {
                    pieces.push(start..end);
                    start = end;
                }
            }
        }
        pieces
    }

    fn scan(&self, side: Side, nodes: Range<usize>, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()> {
        if nodes.is_empty() || among.is_some_and(|among| !has_any(among, nodes.clone())) {
            return Ok(());
        }
        let by_id = self.by_id(among, nodes.clone());
        let mut start = nodes.start;
        for (ids, lanes) in self.stretches(side, self.ids(&nodes)) {
            let numbers = start..self.source.numbering.lower(ids.end);
            start = numbers.end;
            if numbers.is_empty() || among.is_some_and(|among| !has_any(among, numbers.clone())) {
                continue;
            }
            let is_directed = self.directions(side).len() == 1;
            match &lanes[..] {
                [lane] if lane.held.is_one_type && is_directed => {
                    self.scan_one(*lane, numbers.start as u32..numbers.end as u32, by_id.as_deref(), sink)?;
                }
                _ => self.gather(side, &lanes, numbers, (among, by_id.as_deref()), sink)?,
            }
        }
        Ok(())
    }

    fn part_count(&self, side: Side) -> usize {
        self.parts_of(side).len()
    }

    fn part_neighbors(&self, side: Side, part: usize) -> Range<usize> {
        match self.parts_of(side).get(part) {
            Some(Part { held: Some(held), direction: Direction::Out, .. }) => {
                let targets = &self.held[*held].targets;
                self.source.numbering.lower(targets.start)..self.source.numbering.lower(targets.end)
            }
            _ => 0..self.node_count(),
        }
    }

    fn scan_part(&self, side: Side, part: usize, among: Option<&Bitmap>, sink: &mut RowSink<'_>) -> Result<()> {
        let Some(part) = self.parts_of(side).get(part) else { return Ok(()) };
        let numbering = &self.source.numbering;
        let numbers = numbering.lower(part.ids.start)..numbering.lower(part.ids.end);
        if numbers.is_empty() || among.is_some_and(|among| !has_any(among, numbers.clone())) {
            return Ok(());
        }
        let mut pieces = Pieces::new(sink);
        let Some(held) = part.held else {
            let runs = self.resident(part.direction).runs();
            return pieces.pass(&runs, 0..runs.nodes.len());
        };
        let by_id = self.by_id(among, numbers);
        let mut numberer = Numberer::new(&self.source, self.self_loops(part.direction));
        self.read(&self.held[held], part.direction, part.ids.clone(), by_id.as_deref(), |runs| {
            let runs = numberer.number(runs)?;
            pieces.pass(&runs, 0..runs.nodes.len())?;
            Ok(true)
        })
    }
}
