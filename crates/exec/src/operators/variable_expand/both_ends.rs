//! Paths between two nodes that are both known: they grow from both ends and are put together where they meet.
//!
//! With each step, all paths of a pair become one edge longer on the side where fewer edges lead on. Then the outermost
//! paths of both sides that stand at the same node make paths of that length, each of which is found once. So short paths
//! come first, and the consumer can stop before long ones are looked for. The paths of the last step are not kept.
//!
//! Cost: for a length of `n`, about the walks of `n / 2` edges from either end instead of those of `n` edges from one.
//! Memory: these walks, up to [`HELD_BYTES_MAX`] and a quarter of what the query may hold; beyond, the caller goes on
//! without them.

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, EdgeId, EdgeValue, Expand, Map, NodeId, ReadView, Result, Set};

use super::{Found, VariableExpand, edge_list};
use crate::adjacency::{ID_AGAINST_DIRECTION_COST, edge_value, expansion, is_taken};
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::runtime::{Flow, Runtime, Sink};
use crate::visited::{fits, is_batch_full};

/// Most bytes of the paths of both sides.
const HELD_BYTES_MAX: usize = 256 << 20;
/// Divisor of the query's memory limit: the share that they may take.
const HELD_SHARE: usize = 4;
/// Bytes of an entry in the tables of a step.
const ENTRY_BYTES: usize = 48;
/// Paths that are compared between two looks at the interrupt.
const COMPARED_PATHS: u64 = 1 << 8;
/// Stands for the beginning of a path, and for the end of a chain.
const NONE: u32 = u32::MAX;

/// Two nodes of a row, between which paths are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) row: u32,
    pub(super) start: NodeId,
    pub(super) end: NodeId,
}

/// The paths that are wanted between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// All of them.
    All,
    /// Any one, if there is one.
    Any,
    /// Any one, where the shortest walk will do. Nodes are visited once.
    Nearest,
}

/// The end of a search.
pub(super) enum Outcome {
    /// All pairs are done, or the consumer has enough.
    Over(Flow),
    /// Memory was refused. Of these pairs, paths of that length and longer ones were not looked for.
    Refused(u32, Vec<Pair>),
}

/// The end of a path, seen from the side it grew from.
#[derive(Clone, Copy)]
struct Path {
    pair: u32,
    node: NodeId,
    edge: EdgeValue,
    parent: u32,
}

/// The paths that grew from one end of each pair.
#[derive(Default)]
struct Side {
    paths: Vec<Path>,
    /// Those of the present length of each pair.
    top: Vec<u32>,
    visited: Set<(u32, NodeId)>,
}

/// The side of the starts and the side of the ends.
const SIDES: [usize; 2] = [0, 1];

/// The outermost paths of a side, by pair and node.
#[derive(Default)]
struct Table {
    firsts: Map<(u32, NodeId), u32>,
    /// For each path in the table, the next with the same key.
    next: Map<u32, u32>,
}

impl Table {
    fn of(side: &Side, is_wanted: impl Fn(u32) -> bool) -> Table {
        let mut table = Table::default();
        for &at in side.top.iter().rev() {
            let path = &side.paths[at as usize];
            if is_wanted(path.pair)
                && let Some(later) = table.firsts.insert((path.pair, path.node), at)
            {
                table.next.insert(at, later);
            }
        }
        table
    }
}

/// See the module.
pub(super) struct BothEnds<'w, 'r> {
    expand: &'w VariableExpand,
    runtime: &'w Runtime<'r>,
    chunk: &'w Chunk,
    aim: Aim,
    pairs: Vec<Pair>,
    /// Pairs of which nothing more is wanted, or nothing more can come.
    done: Vec<bool>,
    sides: [Side; 2],
    found: Found,
    /// Number of paths that are given together next.
    part: usize,
    /// Edges that were looked at.
    pub(super) followed: u64,
    /// Paths of both sides that were compared.
    compared: u64,
    charge: Charge<'r>,
}

impl<'w, 'r> BothEnds<'w, 'r> {
    /// True if a store can be searched so.
    pub(super) fn suits(view: &dyn ReadView) -> bool {
        let capabilities = view.capabilities();
        capabilities.expands_against_direction && !capabilities.is_remote
    }

    pub(super) fn new(
        expand: &'w VariableExpand,
        runtime: &'w Runtime<'r>,
        chunk: &'w Chunk,
        aim: Aim,
        pairs: Vec<Pair>,
    ) -> BothEnds<'w, 'r> {
        let side = |end: fn(&Pair) -> NodeId| {
            let mut side = Side::default();
            for (number, pair) in pairs.iter().enumerate() {
                let (pair_number, node) = (number as u32, end(pair));
                side.top.push(pair_number);
                side.paths.push(Path { pair: pair_number, node, edge: EdgeValue::default(), parent: NONE });
                if aim == Aim::Nearest && pair.start != pair.end {
                    side.visited.insert((pair_number, node));
                }
            }
            side
        };
        let sides = [side(|pair| pair.start), side(|pair| pair.end)];
        let (done, charge) = (vec![false; pairs.len()], runtime.charge("VariableExpand"));
        // If a few are enough, the first is given at once.
        let part = if expand.few { 1 } else { runtime.environment.settings.batch_rows.max(1) };
        let found = Found::default();
        BothEnds { expand, runtime, chunk, aim, pairs, done, sides, found, part, followed: 0, compared: 0, charge }
    }

    /// Looks for paths of at least `min` edges, shorter ones first.
    pub(super) fn run(&mut self, min: u32, sink: &mut Sink<'_>) -> Result<Outcome> {
        if min == 0 && self.meet_at_once(sink)? == Flow::Stop {
            return Ok(Outcome::Over(Flow::Stop));
        }
        let ids = match self.aim {
            Aim::Nearest if self.expand.filter.is_none() && self.expand.distinct_from.is_empty() => EdgeIds::Omit,
            _ => EdgeIds::Include,
        };
        let guard = self.runtime.view();
        let Some(forth) = expansion(guard.view(), self.expand.direction, &self.expand.types, ids) else {
            return self.end(sink);
        };
        let back = Expand { direction: forth.direction.reverse(), ..forth.clone() };
        let expands = [forth, back];
        let mut length = 0;
        loop {
            self.drop_done();
            if length == self.expand.max || self.sides.iter().any(|side| side.top.is_empty()) {
                return self.end(sink);
            }
            length += 1;
            match self.step(guard.view(), &expands, (length, min), sink)? {
                Some(Flow::Continue) => {}
                Some(Flow::Stop) => return Ok(Outcome::Over(Flow::Stop)),
                None => {
                    let left = self.pairs.iter().zip(&self.done).filter(|(_, done)| !**done);
                    let left = left.map(|(pair, _)| *pair).collect();
                    return Ok(match self.flush(sink)? {
                        Flow::Stop => Outcome::Over(Flow::Stop),
                        Flow::Continue => Outcome::Refused(length.max(min), left),
                    });
                }
            }
            // Those of this length are wanted before longer ones are looked for.
            if self.flush(sink)? == Flow::Stop {
                return Ok(Outcome::Over(Flow::Stop));
            }
        }
    }

    fn end(&mut self, sink: &mut Sink<'_>) -> Result<Outcome> {
        self.flush(sink).map(Outcome::Over)
    }

    fn flush(&mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        self.expand.flush(self.chunk, &mut self.found, sink)
    }

    /// The paths without an edge.
    fn meet_at_once(&mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        for number in 0..self.pairs.len() {
            let Pair { start, end, .. } = self.pairs[number];
            if start == end && self.take(number as u32, |_| Vec::new(), sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Takes a path of a pair.
    fn take(&mut self, pair: u32, edges: impl FnOnce(&Self) -> Vec<EdgeValue>, sink: &mut Sink<'_>) -> Result<Flow> {
        let Pair { row, end, .. } = self.pairs[pair as usize];
        self.found.rows.push(row);
        self.found.ends.push(end);
        if self.expand.gives_edges {
            let edges = edges(self);
            self.found.length += edges.len();
            self.found.edges.push(edge_list(edges));
        }
        self.done[pair as usize] |= self.aim != Aim::All;
        if is_batch_full(self.found.rows.len(), self.part, self.found.length) {
            self.part = self.runtime.environment.settings.batch_rows.max(1).min(2 * self.part);
            return self.flush(sink);
        }
        Ok(Flow::Continue)
    }

    /// Forgets the paths of pairs that are done, and ends pairs that one side has no paths of.
    fn drop_done(&mut self) {
        let mut has_some = [vec![false; self.pairs.len()], vec![false; self.pairs.len()]];
        for side in SIDES {
            let Side { paths, top, .. } = &self.sides[side];
            top.iter().for_each(|&at| has_some[side][paths[at as usize].pair as usize] = true);
        }
        for (number, done) in self.done.iter_mut().enumerate() {
            *done |= SIDES.into_iter().any(|side| !has_some[side][number]);
        }
        let done = &self.done;
        for Side { paths, top, .. } in &mut self.sides {
            top.retain(|&at| !done[paths[at as usize].pair as usize]);
        }
    }

    /// Makes the paths of each pair one edge longer on one side, and takes those that meet; `None` if they do not fit into
    /// memory, and none was taken.
    fn step(
        &mut self,
        view: &dyn ReadView,
        expands: &[Expand; 2],
        (length, min): (u32, u32),
        sink: &mut Sink<'_>,
    ) -> Result<Option<Flow>> {
        let growing = self.choose(view, expands)?;
        let (is_last, meets) = (length == self.expand.max, length >= min);
        let entries = if meets { self.sides.iter().map(|side| side.top.len()).sum() } else { 0 };
        if !self.fits(entries) {
            return Ok(None);
        }
        let tables = match meets {
            true => SIDES.map(|side| Table::of(&self.sides[1 - side], |pair| growing[pair as usize] == side)),
            false => [Table::default(), Table::default()],
        };
        let known = SIDES.map(|side| self.sides[side].paths.len());
        let mut grown = Vec::new();
        for side in SIDES {
            let Side { paths, top, .. } = &mut self.sides[side];
            let is_growing = |at: &u32| growing[paths[*at as usize].pair as usize] == side;
            let (tops, stay): (Vec<u32>, Vec<u32>) = top.iter().partition(|at| is_growing(at));
            *top = stay;
            let batch_rows = self.runtime.environment.settings.batch_rows.max(1);
            for tops in tops.chunks(batch_rows) {
                let nodes: Vec<NodeId> = tops.iter().map(|&at| self.sides[side].paths[at as usize].node).collect();
                let mut cursor = view.expand(&nodes, &expands[side])?;
                let mut batch = EdgeBatch::default();
                while cursor.next(&mut batch)? {
                    self.runtime.environment.interrupt.check()?;
                    self.follow(&batch, side, (tops, &nodes), expands[side].direction, &mut grown)?;
                    if !is_last {
                        self.sides[side].paths.append(&mut grown);
                        if !self.fits(entries) {
                            return Ok(None);
                        }
                    } else if self.meet(side, &tables[side], &grown, sink)? == Flow::Stop {
                        return Ok(Some(Flow::Stop));
                    }
                    grown.clear();
                }
            }
            let Side { paths, top, .. } = &mut self.sides[side];
            top.extend(known[side] as u32..paths.len() as u32);
        }
        if is_last || !meets {
            return Ok(Some(Flow::Continue));
        }
        for side in SIDES {
            for at in known[side]..self.sides[side].paths.len() {
                let path = self.sides[side].paths[at];
                if self.meet(side, &tables[side], &[path], sink)? == Flow::Stop {
                    return Ok(Some(Flow::Stop));
                }
            }
        }
        Ok(Some(Flow::Continue))
    }

    /// The side on which each pair grows: where it has fewer edges to follow.
    fn choose(&self, view: &dyn ReadView, expands: &[Expand; 2]) -> Result<Vec<usize>> {
        let mut costs = vec![[0_u64; 2]; self.pairs.len()];
        for side in SIDES {
            let Side { paths, top, .. } = &self.sides[side];
            let Expand { direction, types, edge_ids, .. } = &expands[side];
            let is_dear = *edge_ids == EdgeIds::Include && *direction == Direction::In;
            let factor = if is_dear { ID_AGAINST_DIRECTION_COST } else { 1 };
            let nodes: Vec<NodeId> = top.iter().map(|&at| paths[at as usize].node).collect();
            let degrees = view.degrees(&nodes, *direction, types.as_deref())?;
            for (&at, degree) in top.iter().zip(degrees) {
                costs[paths[at as usize].pair as usize][side] += factor * degree;
            }
        }
        Ok(costs.into_iter().map(|[forth, back]| usize::from(back < forth)).collect())
    }

    /// The paths that a batch of edges makes of paths of one side.
    fn follow(
        &mut self,
        batch: &EdgeBatch,
        side: usize,
        (tops, nodes): (&[u32], &[NodeId]),
        direction: Direction,
        grown: &mut Vec<Path>,
    ) -> Result<()> {
        let expand = self.expand;
        self.followed += batch.len() as u64;
        let parent = |index: usize| tops[batch.inputs[index] as usize];
        let near = |index: usize| nodes[batch.inputs[index] as usize];
        let pair = |index: usize| self.sides[side].paths[parent(index) as usize].pair;
        let row = |index: usize| self.pairs[pair(index) as usize].row;
        let mut indices: Vec<usize> = Vec::with_capacity(batch.len());
        for index in 0..batch.len() {
            let is_taken = |edge| is_taken(self.chunk, &expand.distinct_from, row(index) as usize, edge);
            let is_new = match self.aim {
                _ if self.done[pair(index) as usize] => false,
                Aim::Nearest => !self.sides[side].visited.contains(&(pair(index), batch.neighbors[index])),
                _ => expand.repeats || !self.contains(side, parent(index), batch.edges[index]),
            };
            if is_new && (expand.distinct_from.is_empty() || !is_taken(batch.edges[index])) {
                indices.push(index);
            }
        }
        let value = |&index: &usize| edge_value(batch, index, near(index), direction);
        if let Some(filter) = expand.filter.as_ref().filter(|_| !indices.is_empty()) {
            let rows: Vec<u32> = indices.iter().map(|&index| row(index)).collect();
            let edges = indices.iter().map(value).collect();
            // The filter sees an edge as the path walks it, also where the search comes from the end.
            let from = |place: usize| if side == 0 { near(indices[place]) } else { batch.neighbors[indices[place]] };
            let passing = filter.passing(self.runtime, self.chunk, &rows, from, edges)?;
            indices = passing.into_iter().map(|place| indices[place as usize]).collect();
        }
        let path = |index: usize| {
            let (pair, node, parent) = (pair(index), batch.neighbors[index], parent(index));
            Path { pair, node, edge: value(&index), parent }
        };
        let known = grown.len();
        grown.extend(indices.into_iter().map(path));
        if self.aim == Aim::Nearest {
            let visited = &mut self.sides[side].visited;
            let mut at = 0;
            grown.retain(|path| {
                at += 1;
                at <= known || visited.insert((path.pair, path.node))
            });
        }
        Ok(())
    }

    /// Takes the paths that meet paths of the other side, which stand in the table.
    fn meet(&mut self, side: usize, table: &Table, grown: &[Path], sink: &mut Sink<'_>) -> Result<Flow> {
        for path in grown {
            let mut next = table.firsts.get(&(path.pair, path.node)).copied();
            while let Some(other) = next.filter(|_| !self.done[path.pair as usize]) {
                // Very many paths of both sides may meet in a node, and none of them make one path.
                self.compared += 1;
                if self.compared.is_multiple_of(COMPARED_PATHS) {
                    self.runtime.environment.interrupt.check()?;
                }
                next = table.next.get(&other).copied();
                if self.are_disjoint(side, path, other)
                    && self.take(path.pair, |it| it.edges_of(side, path, other), sink)? == Flow::Stop
                {
                    return Ok(Flow::Stop);
                }
            }
        }
        Ok(Flow::Continue)
    }

    /// The edges of a path from its last one back to where it began.
    fn chain(&self, side: usize, from: u32) -> impl Iterator<Item = EdgeValue> + '_ {
        let paths = &self.sides[side].paths;
        let links = std::iter::successors(paths.get(from as usize), |path| paths.get(path.parent as usize));
        links.filter(|path| path.parent != NONE).map(|path| path.edge)
    }

    fn contains(&self, side: usize, path: u32, edge: EdgeId) -> bool {
        self.chain(side, path).any(|known| known.id == edge)
    }

    /// True if a path and one of the other side may be parts of one path.
    fn are_disjoint(&self, side: usize, path: &Path, other: u32) -> bool {
        self.expand.repeats
            || self.aim == Aim::Nearest
            || self
                .chain(1 - side, other)
                .all(|edge| edge.id != path.edge.id && !self.contains(side, path.parent, edge.id))
    }

    /// The edges of a path and one of the other side, in walking order.
    fn edges_of(&self, side: usize, path: &Path, other: u32) -> Vec<EdgeValue> {
        let mut edges: Vec<EdgeValue> = if side == 0 {
            std::iter::once(path.edge).chain(self.chain(0, path.parent)).collect()
        } else {
            self.chain(0, other).collect()
        };
        edges.reverse();
        match side {
            0 => edges.extend(self.chain(1, other)),
            _ => edges.extend(std::iter::once(path.edge).chain(self.chain(1, path.parent))),
        }
        edges
    }

    /// True if there is room for what is held, with that many entries of tables.
    fn fits(&mut self, entries: usize) -> bool {
        let of_side = |side: &Side| {
            side.paths.capacity() * size_of::<Path>() + side.top.capacity() * 4 + side.visited.capacity() * ENTRY_BYTES
        };
        let bytes = self.sides.iter().map(of_side).sum::<usize>() + entries * ENTRY_BYTES;
        let most = HELD_BYTES_MAX.min(self.charge.memory().limit() / HELD_SHARE);
        bytes <= most && fits(&mut self.charge, bytes)
    }
}
