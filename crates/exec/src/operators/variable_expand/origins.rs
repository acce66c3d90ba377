//! The distinct ends of paths from several starts, where it matters from which of them a path comes: in any direction the way back
//! along the edge just walked is no path, and the paths of a start may have to differ from the edge that led to it.
//!
//! A breadth-first search takes along which start it came from. A node takes two different starts at most, the nearest ones, and a start
//! two besides itself: any third is no nearer to what lies beyond, and no search comes back to its own start. Of the shortest path to a
//! node only the first edge touches its start, so an edge there that is used already is left out of the first step; others that come by
//! may go along it. A start at which another one arrives is an end, and so is every other node that is reached. Only starts that no
//! other one is near to are asked for a way back to themselves.
//!
//! With edges that are left out, two may be too few: where the nearest starts of a node cannot go on from themselves to what lies
//! beyond, as they have used the edge, a third one can. So nodes that may be ends besides are found, and asked one by one
//! ([`super::entries`]).
//!
//! Cost: each edge four times at most, eight if edges are left out, and the searches for ways back and for nodes that are asked.
//! Memory: some 64 bytes for each node reached.

use std::ops::ControlFlow::{Break, Continue};

use model::store::EdgeIds;
use model::{Column, ColumnData, Direction, EdgeValue, Expand, Map, NodeId, Result, Value};

use super::entries;
use super::level::find_edges;
use super::reach::Reach;
use super::round::{has_way, has_way_round};
use super::used::Used;
use crate::memory::Charge;
use crate::runtime::Runtime;
use crate::visited::fits;

/// Approximate bytes of a reached node, with its place among those of a level.
const NODE_BYTES: usize = 40;
/// Stands for no start.
const NONE: u32 = u32::MAX;

/// A node that rows start from.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub(super) node: NodeId,
    /// The edge of each row at the node, which its paths must not go along; up to two different ones.
    used: [Option<EdgeValue>; 2],
    /// True if paths may go along any edge: a row has none, or three rows have different ones, two of which a path back to the
    /// node can have at most.
    is_free: bool,
}

impl Start {
    /// Rows that have used no edge.
    pub(super) fn free(node: NodeId) -> Start {
        Start { node, used: [None; 2], is_free: true }
    }

    /// A row that has used an edge at the node.
    pub(super) fn behind(node: NodeId, edge: EdgeValue) -> Start {
        Start { node, used: [Some(edge), None], is_free: false }
    }

    /// Adds a row that has used an edge at the node.
    pub(super) fn add(&mut self, edge: EdgeValue) {
        match &mut self.used {
            _ if self.is_free => {}
            [Some(known), _] | [_, Some(known)] if known.id == edge.id => {}
            [_, second @ None] => *second = Some(edge),
            _ => *self = Start::free(self.node),
        }
    }

    /// The edges that its rows have used, of which those of one row at a time must be left out; `None` stands for no edge.
    pub(super) fn rows(&self) -> impl Iterator<Item = Option<EdgeValue>> + use<> {
        let free = self.is_free.then_some(None);
        free.into_iter().chain(self.used.into_iter().filter(|edge| edge.is_some()))
    }

    /// The edge that no path begins with.
    pub(super) fn left_out(&self) -> Option<EdgeValue> {
        if self.used[1].is_none() { self.used[0] } else { None }
    }
}

/// A column of the edges that rows have used.
pub(super) fn used_column(edges: impl Iterator<Item = Option<EdgeValue>>) -> Column {
    Column::new(ColumnData::Value(edges.map(|edge| edge.map_or(Value::Null, Value::Edge)).collect()))
}

/// The starts that a node was reached from.
struct Nearest {
    /// The node itself, if it is one.
    own: u32,
    others: [u32; 2],
}

impl Nearest {
    fn of_start(own: u32) -> Nearest {
        Nearest { own, others: [NONE; 2] }
    }

    /// Adds a start that arrives; false if it is known, or not among the nearest ones.
    fn add(&mut self, origin: u32) -> bool {
        match self.others.iter_mut().find(|known| **known == NONE || **known == origin) {
            Some(place) if *place == NONE && origin != self.own => {
                *place = origin;
                true
            }
            _ => false,
        }
    }
}

/// The nearest starts of each node that was reached.
struct Origins<'r> {
    of: Map<NodeId, Nearest>,
    charge: Charge<'r>,
}

/// The ends of paths of at least `min` edges, 0 or 1, from these starts; `None` if they do not fit into memory.
pub(super) fn ends(
    runtime: &Runtime<'_>,
    reach: &Reach<'_, '_>,
    min: u32,
    starts: &[Start],
) -> Result<Option<Vec<NodeId>>> {
    let mut origins = Origins { of: Map::default(), charge: reach.charge.another() };
    if starts.len() >= NONE as usize || !fits(&mut origins.charge, starts.len() * NODE_BYTES) {
        return Ok(None);
    }
    if !origins.search(runtime, reach, starts)? {
        return Ok(None);
    }
    let is_alone = |start: &&Start| origins.of.get(&start.node).is_some_and(|nearest| nearest.others[0] == NONE);
    let alone: Vec<Start> = starts.iter().filter(|_| min > 0).filter(is_alone).copied().collect();
    for start in alone {
        match comes_back(runtime, reach, &start)? {
            Some(true) => {}
            Some(false) => drop(origins.of.remove(&start.node)),
            None => return Ok(None),
        }
    }
    let mut ends: Vec<NodeId> = origins.of.keys().copied().collect();
    let expansion = reach.expansion.as_ref().filter(|_| starts.iter().any(|start| start.left_out().is_some()));
    let Some(expansion) = expansion else { return Ok(Some(ends)) };
    let (max, charge) = (reach.most_edges(), &mut reach.charge.another());
    let Some(reached) = entries::reached(runtime, expansion, max, charge, starts)? else { return Ok(None) };
    let doubts: Vec<NodeId> = reached.into_iter().filter(|node| !origins.of.contains_key(node)).collect();
    if doubts.len() > starts.len() {
        return Ok(None);
    }
    let starts: Map<NodeId, Start> =
        starts.iter().filter(|_| !doubts.is_empty()).map(|start| (start.node, *start)).collect();
    for node in doubts {
        match entries::is_end(runtime, expansion, max, charge, (&starts, node))? {
            Some(is_end) => ends.extend(is_end.then_some(node)),
            None => return Ok(None),
        }
    }
    Ok(Some(ends))
}

/// True if a path of a row leads back to its start; `None` if that does not fit into memory.
fn comes_back(runtime: &Runtime<'_>, reach: &Reach<'_, '_>, start: &Start) -> Result<Option<bool>> {
    let Some(expansion) = &reach.expansion else { return Ok(Some(false)) };
    let charge = &mut reach.charge.another();
    for edge in start.rows() {
        let (edges, node) = ((expansion, &Used::of_edges(edge)), start.node);
        let found = match expansion.direction {
            Direction::Both => has_way_round(runtime, edges, reach.most_edges(), charge, node)?,
            _ => has_way(runtime, edges, reach.most_edges(), charge, (node, node))?,
        };
        if found != Some(false) {
            return Ok(found);
        }
    }
    Ok(Some(false))
}

/// The nodes of a level, and the start that each was reached from.
#[derive(Default)]
struct Level {
    nodes: Vec<NodeId>,
    origins: Vec<u32>,
}

impl Origins<'_> {
    /// Finds the nearest starts of all nodes that are near enough; false if they do not fit into memory.
    fn search(&mut self, runtime: &Runtime<'_>, reach: &Reach<'_, '_>, starts: &[Start]) -> Result<bool> {
        let Some(expansion) = &reach.expansion else {
            self.of.extend(starts.iter().zip(0..).map(|(start, number)| (start.node, Nearest::of_start(number))));
            return Ok(true);
        };
        let mut first = Level::default();
        for (start, number) in starts.iter().zip(0..) {
            self.of.insert(start.node, Nearest::of_start(number));
            first.nodes.push(start.node);
            first.origins.push(number);
        }
        let leaves_out = starts.iter().any(|start| start.left_out().is_some());
        let with_ids = Expand { edge_ids: EdgeIds::Include, ..expansion.clone() };
        let (mut level, mut length) = (first, 0);
        while !level.nodes.is_empty() && length < reach.most_edges() {
            let is_first = length == 0 && leaves_out;
            let left_out = |origin: u32| starts[origin as usize].left_out().filter(|_| is_first);
            let expansion = if is_first { &with_ids } else { expansion };
            let Some(next) = self.step(runtime, expansion, &level, left_out)? else { return Ok(false) };
            (level, length) = (next, length + 1);
        }
        Ok(true)
    }

    /// The nodes at which a start arrives by one more edge; `None` if they do not fit into memory.
    fn step(
        &mut self,
        runtime: &Runtime<'_>,
        expansion: &Expand,
        level: &Level,
        left_out: impl Fn(u32) -> Option<EdgeValue>,
    ) -> Result<Option<Level>> {
        let mut next = Level::default();
        let unfit = find_edges(runtime, &level.nodes, expansion, |batch| {
            for (row, (&input, &node)) in batch.inputs.iter().zip(&batch.neighbors).enumerate() {
                let origin = level.origins[input as usize];
                if left_out(origin).is_some_and(|edge| edge.id == batch.edges[row]) {
                    continue;
                }
                if self.of.entry(node).or_insert(Nearest::of_start(NONE)).add(origin) {
                    next.nodes.push(node);
                    next.origins.push(origin);
                }
            }
            let bytes = (self.of.len() + next.nodes.len()) * NODE_BYTES;
            if fits(&mut self.charge, bytes) { Continue(()) } else { Break(()) }
        })?;
        Ok(unfit.is_none().then_some(next))
    }
}
