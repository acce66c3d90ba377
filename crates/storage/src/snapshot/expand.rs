//! Follows edges from a batch of nodes: runs of the files first, then lists of the memtable, node by node.
//!
//! Cost: for each node a search in each wanted section of the files; then targets are copied run by run. What the
//! memtable deleted is looked for only at nodes that lost an edge.

use std::ops::Range;

use model::limits::BATCH_ROWS;
use model::store::chosen::Chooser;
use model::store::{EdgeCursor, EdgeIds};
use model::{Column, Direction, EdgeBatch, EdgeId, EdgeTypeId, Expand, NodeId, PropertyKeyId, Result};

use super::Snapshot;
use crate::file::StoreFile;
use crate::format::EdgePlace;
use crate::memtable::{Links, Memtable, edge_id};
use crate::partition::patch::SectionPatches;
use crate::partition::sorted::Narrowed;
use crate::partition::{LiveSection, Section};
use crate::version::edges;

/// Number of sections from which on those out of the nodes' reach are left out before the first node is looked at.
const PRUNED_PLACES: usize = 16;

/// A section whose type is wanted.
struct Place<'a> {
    section: &'a Section,
    patches: Option<&'a SectionPatches>,
    /// The targets of its partition.
    interval: &'a Range<u64>,
    /// The edge id of its position 0.
    first_id: u64,
    /// Runs are in the order of the sort key, and edges are chosen by properties.
    is_narrowed: bool,
    /// True if the edges that are left of a run lie in all the ranges.
    is_exact: bool,
}

/// Stage of the present node that comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Runs of out-edges in the files, from this place on.
    Out(usize),
    /// Out-edges of the memtable.
    NewOut,
    /// Runs of in-edges in the files, from this place on.
    In(usize),
    /// In-edges of the memtable.
    NewIn,
    /// Nothing: the next node.
    End,
}

/// Edges that are being handed out.
enum Current<'a> {
    Nothing,
    Run { place: usize, run: Range<u64>, is_in: bool },
    List { links: Links<'a>, is_in: bool },
}

/// A cursor over the edges of an expansion.
pub(super) struct ExpandCursor<'a> {
    snapshot: &'a Snapshot,
    from: &'a [NodeId],
    expand: &'a Expand,
    /// Properties to bring along.
    keys: Vec<PropertyKeyId>,
    /// Looks at the edges that ranges may leave out, where the files do not tell; and the properties it reads.
    chooser: Option<(Chooser, Vec<PropertyKeyId>)>,
    /// The batch holds edges that the ranges may leave out.
    is_untested: bool,
    places: Vec<Place<'a>>,
    /// The index of the node after the present one.
    next_input: usize,
    /// The index of the first node whose blocks were not asked for.
    asked: usize,
    node: NodeId,
    stage: Stage,
    current: Current<'a>,
    /// The ids of the batch's edges, where only properties need them.
    ids: Vec<EdgeId>,
    /// The ids of one run.
    run_ids: Vec<EdgeId>,
    positions: Vec<u64>,
    /// The places of a run whose edges patches deleted.
    lost: Vec<u64>,
    /// All edges are out-edges in the files as they were written, of which no ids are wanted: then properties are read by
    /// the places of the batch's runs.
    is_plain: bool,
    runs: Vec<(usize, Range<u64>)>,
    /// Most edges of a batch.
    batch_rows: usize,
}

impl Snapshot {
    /// True if the edges of a section are in the order of a sort key, with the values that they have now.
    fn is_in_key_order(&self, live: LiveSection<'_>) -> bool {
        let keys = live.section.sort_keys();
        let is_patched = || live.patches.is_some_and(|patches| patches.keys().any(|key| keys.contains(&key)));
        !keys.is_empty() && !self.memtable.changes_edge_keys(keys) && !is_patched()
    }
}

/// Leaves out sections that hold no edge of any node between the least and the greatest of these. With few sections a look
/// at each costs less than this does; a store with thousands of edge types has thousands.
fn keep_reached(places: &mut Vec<Place<'_>>, from: &[NodeId], direction: Direction) {
    let (Some(least), Some(greatest)) = (from.iter().min(), from.iter().max()) else { return };
    if places.len() < PRUNED_PLACES {
        return;
    }
    let meets = |span: Option<(u64, u64)>| span.is_some_and(|(first, last)| first <= greatest.0 && least.0 <= last);
    places.retain(|place| {
        (direction != Direction::In && meets(place.section.out_index().span()))
            || (direction != Direction::Out && meets(place.section.in_index().span()))
    });
}

impl<'a> ExpandCursor<'a> {
    /// The edges of an expansion with the properties of these keys; of those that ranges and top leave out some.
    pub(super) fn new(
        snapshot: &'a Snapshot,
        from: &'a [NodeId],
        expand: &'a Expand,
        keys: Vec<PropertyKeyId>,
    ) -> ExpandCursor<'a> {
        let version = &*snapshot.version;
        let place_of = |place: edges::Place| {
            let (partition, live) = version.at(place);
            let first_id = EdgePlace::base(partition.slot().into(), place.section as usize);
            let (section, patches) = (live.section, live.patches);
            let is_narrowed = expand.is_chosen() && snapshot.is_in_key_order(live);
            let is_exact = is_narrowed && section.narrows_exactly(&expand.ranges);
            Place { section, patches, interval: &partition.entry().interval, first_id, is_narrowed, is_exact }
        };
        let mut places: Vec<Place<'_>> = version.wanted_places(expand.types.as_deref()).map(place_of).collect();
        keep_reached(&mut places, from, expand.direction);
        let is_told = snapshot.memtable.edges.is_empty() && places.iter().all(|place| place.is_exact);
        let must_choose = !expand.ranges.is_empty() && expand.top.is_none() && !is_told;
        let chooser = must_choose.then(|| {
            let (plain, chooser) = Chooser::new(expand);
            (chooser, plain.keys)
        });
        let memtable = &snapshot.memtable;
        let is_plain = expand.direction == Direction::Out
            && expand.edge_ids == EdgeIds::Omit
            && memtable.edges.is_empty()
            && memtable.edge_changes.is_empty()
            && places.iter().all(|place| place.patches.is_none());
        ExpandCursor {
            snapshot,
            from,
            expand,
            keys,
            chooser,
            is_untested: false,
            places,
            next_input: 0,
            asked: 0,
            node: NodeId(0),
            stage: Stage::End,
            current: Current::Nothing,
            ids: Vec::new(),
            run_ids: Vec::new(),
            positions: Vec::new(),
            lost: Vec::new(),
            is_plain,
            runs: Vec::new(),
            batch_rows: BATCH_ROWS,
        }
    }

    fn memtable(&self) -> &'a Memtable {
        &self.snapshot.memtable
    }

    fn wants_ids(&self) -> bool {
        self.expand.edge_ids == EdgeIds::Include || !self.keys.is_empty() || self.chooser.is_some()
    }

    /// Begins to read what the next nodes need from files that are not wholly in memory, many blocks at once.
    fn ask_ahead(&mut self) -> Result<()> {
        let step = StoreFile::nodes_ahead(self.places.iter().map(|place| place.section.file()));
        self.asked = self.from.len().min(self.next_input + step);
        let nodes = &self.from[self.next_input..self.asked];
        if nodes.len() < 2 {
            return Ok(());
        }
        for place in self.places.iter().filter(|place| place.section.file().is_cold()) {
            if self.expand.direction != Direction::In {
                place.section.ask_out(nodes.iter())?;
            }
            if self.expand.direction != Direction::Out {
                place.section.ask_in(nodes.iter().filter(|node| place.interval.contains(&node.0)))?;
            }
        }
        Ok(())
    }

    /// Finds the next run or list that is not empty; false at the end.
    fn advance(&mut self) -> Result<bool> {
        loop {
            match self.stage {
                Stage::End => {
                    let Some(&node) = self.from.get(self.next_input) else { return Ok(false) };
                    if self.next_input == self.asked {
                        self.ask_ahead()?;
                    }
                    self.node = node;
                    self.next_input += 1;
                    self.stage = if self.expand.direction == Direction::In { Stage::In(0) } else { Stage::Out(0) };
                }
                Stage::Out(at) => {
                    self.stage = Stage::NewOut;
                    for place in at..self.places.len() {
                        let run = self.places[place].section.out_run(self.node)?;
                        let run = self.narrowed(place, run, false)?;
                        if !run.is_empty() {
                            self.stage = Stage::Out(place + 1);
                            self.current = Current::Run { place, run, is_in: false };
                            return Ok(true);
                        }
                    }
                }
                Stage::NewOut => {
                    self.stage = if self.expand.direction == Direction::Out { Stage::End } else { Stage::In(0) };
                    let links = self.memtable().edges.out_edges(self.node);
                    if !links.is_empty() {
                        self.current = Current::List { links, is_in: false };
                        return Ok(true);
                    }
                }
                Stage::In(at) => {
                    self.stage = Stage::NewIn;
                    for place in at..self.places.len() {
                        if !self.places[place].interval.contains(&self.node.0) {
                            continue;
                        }
                        let run = self.places[place].section.in_run(self.node)?;
                        let run = self.narrowed(place, run, true)?;
                        if !run.is_empty() {
                            self.stage = Stage::In(place + 1);
                            self.current = Current::Run { place, run, is_in: true };
                            return Ok(true);
                        }
                    }
                }
                Stage::NewIn => {
                    self.stage = Stage::End;
                    let links = self.memtable().edges.in_edges(self.node);
                    if !links.is_empty() {
                        self.current = Current::List { links, is_in: true };
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// The part of a run that may hold chosen edges: what the ranges leave, and of that only as many as are wanted of a
    /// node and as may be gone.
    #[inline]
    fn narrowed(&self, place: usize, run: Range<u64>, is_in: bool) -> Result<Range<u64>> {
        let place = &self.places[place];
        if !place.is_narrowed || run.is_empty() {
            return Ok(run);
        }
        let Narrowed { run, pinned, is_exact } = place.section.narrow(run, is_in, &self.expand.ranges)?;
        let Some(top) = &self.expand.top else { return Ok(run) };
        let keys = place.section.sort_keys().get(pinned..pinned + top.keys.len());
        // Of in-edges among all edges self-loops are left out, however many there are.
        if !is_exact || keys != Some(&top.keys[..]) || (is_in && self.expand.direction == Direction::Both) {
            return Ok(run);
        }
        let lost = &self.memtable().base_edges_deleted;
        let lost = if is_in { lost.in_edges(self.node) } else { lost.out_edges(self.node) };
        let patched = place.patches.map_or(Ok(0), |patches| patches.count_lost(&run, is_in))?;
        let wanted = (top.limit as u64).saturating_add(patched + lost.count() as u64);
        Ok(match top.descending {
            true => run.start.max(run.end.saturating_sub(wanted))..run.end,
            false => run.start..run.end.min(run.start.saturating_add(wanted)),
        })
    }

    /// Adds a part of a run of the files to the batch.
    fn take_run(&mut self, place: usize, run: Range<u64>, is_in: bool, out: &mut EdgeBatch) -> Result<()> {
        let start = out.neighbors.len();
        let Place { section, patches, first_id, is_exact, .. } = self.places[place];
        self.is_untested |= !is_exact;
        let patches = patches.filter(|patches| patches.may_have_lost(&run, is_in));
        let lost = &self.memtable().base_edges_deleted;
        let lost = if is_in { lost.in_edges(self.node) } else { lost.out_edges(self.node) };
        let lost_some = !lost.is_empty();
        let wants_ids = self.wants_ids();
        if self.is_plain {
            section.targets(run.clone(), &mut out.neighbors)?;
            if wants_ids {
                match self.runs.last_mut() {
                    Some((last, before)) if *last == place && before.end == run.start => before.end = run.end,
                    _ => self.runs.push((place, run)),
                }
            }
            self.fill(section.edge_type(), is_in, out);
            return Ok(());
        }
        if is_in {
            section.sources(run.clone(), &mut out.neighbors)?;
        } else {
            section.targets(run.clone(), &mut out.neighbors)?;
        }
        if wants_ids || lost_some {
            self.run_ids.clear();
            if is_in {
                self.positions.clear();
                section.in_positions(run.clone(), &mut self.positions)?;
                self.run_ids.extend(self.positions.iter().map(|position| EdgeId(first_id + position)));
            } else {
                self.run_ids.extend(run.clone().map(|position| EdgeId(first_id + position)));
            }
        }
        if let Some(patches) = patches {
            patches.lost(&run, is_in, &mut self.lost)?;
            if !self.lost.is_empty() {
                remove_rows(&mut out.neighbors, start, run.start, &self.lost);
                if wants_ids || lost_some {
                    remove_rows(&mut self.run_ids, 0, run.start, &self.lost);
                }
            }
        }
        let skips_loops = is_in && self.expand.direction == Direction::Both;
        if lost_some || (skips_loops && out.neighbors[start..].contains(&self.node)) {
            self.leave_out(start, lost_some, skips_loops, &mut out.neighbors);
        }
        if wants_ids {
            let ids = if self.expand.edge_ids == EdgeIds::Include { &mut out.edges } else { &mut self.ids };
            ids.extend_from_slice(&self.run_ids);
        }
        self.fill(section.edge_type(), is_in, out);
        Ok(())
    }

    /// Takes deleted edges, and self-loops that came already, out of `neighbors[start..]` and `run_ids`.
    fn leave_out(&mut self, start: usize, lost_some: bool, skips_loops: bool, neighbors: &mut Vec<NodeId>) {
        let memtable = self.memtable();
        let has_ids = !self.run_ids.is_empty() && (lost_some || self.wants_ids());
        let mut kept = 0;
        for row in 0..neighbors.len() - start {
            let neighbor = neighbors[start + row];
            let is_lost = lost_some && memtable.edge_change(self.run_ids[row]).is_some_and(|change| change.is_deleted);
            if is_lost || (skips_loops && neighbor == self.node) {
                continue;
            }
            neighbors[start + kept] = neighbor;
            if has_ids {
                self.run_ids[kept] = self.run_ids[row];
            }
            kept += 1;
        }
        neighbors.truncate(start + kept);
        if has_ids {
            self.run_ids.truncate(kept);
        }
    }

    /// Fills up the columns of the batch that are the same for all edges just added.
    fn fill(&self, edge_type: EdgeTypeId, is_in: bool, out: &mut EdgeBatch) {
        let rows = out.neighbors.len();
        out.inputs.resize(rows, (self.next_input - 1) as u32);
        out.types.resize(rows, edge_type);
        if self.expand.direction == Direction::Both {
            out.reversed.resize(rows, is_in);
        }
    }

    /// Adds as much of a list of the memtable as the batch holds.
    fn take_list(&mut self, links: &mut Links<'a>, is_in: bool, out: &mut EdgeBatch) {
        let skips_loops = is_in && self.expand.direction == Direction::Both;
        let wants_ids = self.wants_ids();
        self.is_untested = true;
        while out.neighbors.len() < self.batch_rows {
            let Some((ordinal, link)) = links.next() else { return };
            let neighbor = if is_in { link.source } else { link.target };
            let is_wanted = self.expand.types.as_ref().is_none_or(|types| types.contains(&link.edge_type));
            if link.is_deleted || !is_wanted || (skips_loops && neighbor == self.node) {
                continue;
            }
            out.neighbors.push(neighbor);
            if wants_ids {
                let ids = if self.expand.edge_ids == EdgeIds::Include { &mut out.edges } else { &mut self.ids };
                ids.push(edge_id(ordinal));
            }
            self.fill(link.edge_type, is_in, out);
        }
    }

    /// Adds what fits of the present run or list; false once it is used up.
    fn take_current(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        match std::mem::replace(&mut self.current, Current::Nothing) {
            Current::Nothing => Ok(false),
            Current::Run { place, run, is_in } => {
                let middle = run.end.min(run.start + (self.batch_rows - out.neighbors.len()) as u64);
                self.take_run(place, run.start..middle, is_in, out)?;
                if middle < run.end {
                    self.current = Current::Run { place, run: middle..run.end, is_in };
                }
                Ok(true)
            }
            Current::List { mut links, is_in } => {
                self.take_list(&mut links, is_in, out);
                if !links.is_empty() {
                    self.current = Current::List { links, is_in };
                }
                Ok(true)
            }
        }
    }
}

/// Takes the rows of lost positions, which ascend, out of a list whose row `start` has the position `first`.
fn remove_rows<T: Copy>(rows: &mut Vec<T>, start: usize, first: u64, lost: &[u64]) {
    let (mut kept, mut lost) = (start, lost.iter().peekable());
    for row in start..rows.len() {
        if lost.next_if(|&&position| position == first + (row - start) as u64).is_none() {
            rows[kept] = rows[row];
            kept += 1;
        }
    }
    rows.truncate(kept);
}

impl ExpandCursor<'_> {
    fn fill_batch(&mut self, out: &mut EdgeBatch) -> Result<()> {
        out.clear();
        self.ids.clear();
        self.runs.clear();
        self.is_untested = false;
        while out.neighbors.len() < self.batch_rows {
            if !self.take_current(out)? && !self.advance()? {
                break;
            }
        }
        Ok(())
    }

    fn properties(&mut self, out: &EdgeBatch, keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        if self.is_plain {
            if let [(place, run)] = self.runs.as_slice() {
                let section = self.places[*place].section;
                return keys.iter().map(|&key| section.property_range(key, run.clone())).collect();
            }
            for (place, run) in &self.runs {
                let first_id = self.places[*place].first_id;
                self.ids.extend(run.clone().map(|position| EdgeId(first_id + position)));
            }
        }
        let ids = if self.expand.edge_ids == EdgeIds::Include { &out.edges } else { &self.ids };
        self.snapshot.columns_of_edges(ids, keys)
    }
}

impl EdgeCursor for ExpandCursor<'_> {
    fn limit_batches(&mut self, rows: usize) {
        self.batch_rows = rows.clamp(1, BATCH_ROWS);
    }

    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        loop {
            self.fill_batch(out)?;
            if out.neighbors.is_empty() {
                return self.snapshot.sound(false);
            }
            if let Some((mut chooser, keys)) = self.chooser.take_if(|_| self.is_untested) {
                out.properties = self.properties(out, &keys)?;
                chooser.retain(out);
                self.chooser = Some((chooser, keys));
                if out.neighbors.is_empty() {
                    continue;
                }
            } else if !self.keys.is_empty() {
                let keys = std::mem::take(&mut self.keys);
                out.properties = self.properties(out, &keys)?;
                self.keys = keys;
            }
            return self.snapshot.sound_edges(out.neighbors.iter().map(|node| node.0));
        }
    }
}
