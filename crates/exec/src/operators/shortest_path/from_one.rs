//! Shortest paths from one node to all others: levels of nodes, and the edges that lead to them from the level before.
//!
//! The search keeps the nodes that are reached, and an edge for each if paths are wanted (all edges between levels, if
//! all paths are). They are in temporary files where they do not fit; one path must fit.

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, EdgeValue, Expand, NodeId, ReadView, Result, Value};

use super::search::Search;
use crate::adjacency::{edge_value, expansion};
use crate::memory::Charge;
use crate::operators::path_search::{self, Place};
use crate::operators::variable_expand::edge_list;
use crate::runtime::{Flow, Runtime};
use crate::spill::{NodeNumbers, NodeSet, Record, Records};
use crate::visited::{hold_path, path_bytes};

/// Takes the end of a path and its edges.
type Give<'g> = dyn FnMut(NodeId, Value) -> Result<Flow> + 'g;

/// The nodes reached so far.
struct Reached<'m> {
    met: Met<'m>,
    /// The nodes of the last level.
    nodes: Records<'m, NodeId>,
    /// Number of nodes of the levels before.
    before: u64,
    /// The edges that lead to nodes, in the order of these.
    steps: Records<'m, Step>,
    /// For each node, from the start on, the place of the first edge that leads to it; of all paths alone.
    firsts: Records<'m, u64>,
    depth: u32,
    charge: Charge<'m>,
}

/// The nodes that were met.
enum Met<'m> {
    /// The nodes alone, where one edge to each is enough.
    Once(NodeSet<'m>),
    /// The place of each among all, where all edges from the level before count.
    Places(NodeNumbers<'m>),
}

/// An edge from the level before.
#[derive(Clone, Copy)]
struct Step {
    /// The place among all nodes of the one that it leads to.
    node: u64,
    /// The place of the one that it comes from.
    parent: u64,
    edge: EdgeValue,
}

impl Record for Step {
    const BYTES: usize = 2 * u64::BYTES + EdgeValue::BYTES;

    fn write(&self, out: &mut &mut [u8]) {
        (self.node, (self.parent, self.edge)).write(out);
    }

    fn read(bytes: &mut &[u8]) -> Step {
        let (node, (parent, edge)) = Record::read(bytes);
        Step { node, parent, edge }
    }
}

impl<'r> Search<'_, 'r> {
    /// Gives the paths of the row to every node, near ones first.
    pub(super) fn to_all_from(&self, from: NodeId, give: &mut Give<'_>) -> Result<Flow> {
        if self.path.min == 0 {
            if give(from, edge_list([]))? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        } else if let Some(round) = &self.path.round {
            let place = Place { chunk: self.chunk, row: self.row, start: from, distinct_from: &[] };
            let flow = path_search::search(round, self.runtime, place, Some(from), &mut |path| {
                give(path.end, edge_list(path.edges.iter().copied()))
            })?;
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        let guard = self.runtime.view();
        let view = guard.view();
        let wants_ids = self.path.gives_edges || self.path.filter.is_some();
        let ids = if wants_ids { EdgeIds::Include } else { EdgeIds::Omit };
        let Some(expand) = expansion(view, self.path.direction, &self.path.types, ids) else {
            return Ok(Flow::Continue);
        };
        let mut reached = Reached::new(self.runtime, view, from, self.path.all)?;
        // Along directed edges the start is an end too, if it is met again.
        if self.path.min == 0 || self.path.direction == Direction::Both {
            reached.met.insert(from, 0)?;
        }
        while reached.depth < self.path.max {
            self.grow_from_one(view, &expand, &mut reached)?;
            if reached.nodes.is_empty() {
                break;
            }
            if self.give_level(&mut reached, give)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// True if paths are read off, not only their ends.
    fn wants_steps(&self) -> bool {
        self.path.gives_edges || self.path.all
    }

    /// Grows one level.
    fn grow_from_one(&self, view: &dyn ReadView, expand: &Expand, reached: &mut Reached<'r>) -> Result<()> {
        let wants_steps = self.wants_steps();
        let next = reached.nodes.another();
        let mut frontier = std::mem::replace(&mut reached.nodes, next);
        let parents = reached.before;
        reached.before += frontier.len();
        reached.depth += 1;
        let mut steps = reached.steps.another();
        let (mut batch, mut buffer, mut place) = (EdgeBatch::default(), Vec::new(), 0);
        while place < frontier.len() {
            let nodes = frontier.piece(place, &mut buffer)?;
            let mut cursor = view.expand(nodes, expand)?;
            while cursor.next(&mut batch)? {
                self.runtime.environment.interrupt.check()?;
                for index in self.passing(&batch, nodes, expand.direction, false)? {
                    let index = index as usize;
                    let (node, parent) = (batch.neighbors[index], batch.inputs[index]);
                    let Some(met) = reached.meet(node)? else { continue };
                    if wants_steps {
                        let edge = edge_value(&batch, index, nodes[parent as usize], expand.direction);
                        let step = Step { node: met, parent: parents + place + u64::from(parent), edge };
                        // With one step for each node, the steps come in the order of the nodes.
                        if self.path.all { steps.push(step)? } else { reached.steps.push(step)? }
                    }
                }
                reached.met.settle(view)?;
            }
            place += nodes.len() as u64;
        }
        drop(frontier);
        let mut steps = steps.sorted_by_key(self.runtime.environment.interrupt, |step| step.node)?;
        reached.add_steps(&mut steps)
    }

    /// Gives the paths to the nodes of the last level.
    fn give_level(&self, reached: &mut Reached<'r>, give: &mut Give<'_>) -> Result<Flow> {
        for place in 0..reached.nodes.len() {
            self.runtime.environment.interrupt.check()?;
            let node = reached.nodes.get(place)?;
            let flow = if self.wants_steps() {
                reached.give_paths(reached.before + place, &mut |edges| give(node, edges))?
            } else {
                give(node, Value::Null)?
            };
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

impl Met<'_> {
    /// Takes a node that has the given place if it is new, and gives the place of one that is not.
    fn insert(&mut self, node: NodeId, place: u64) -> Result<Option<u64>> {
        match self {
            Met::Once(set) => Ok(if set.insert(node)? { None } else { Some(0) }),
            Met::Places(places) => {
                let number = u32::try_from(place).ok().filter(|&number| number < u32::MAX);
                let number = number.ok_or_else(|| {
                    model::error!(Limit, "shortest paths from one node reach at most {} others", u32::MAX - 1)
                })?;
                Ok(places.put(node, number)?.map(u64::from))
            }
        }
    }

    fn settle(&mut self, view: &dyn ReadView) -> Result<()> {
        match self {
            Met::Once(set) => set.settle(view),
            Met::Places(_) => Ok(()),
        }
    }
}

impl<'m> Reached<'m> {
    fn new(runtime: &Runtime<'m>, view: &dyn ReadView, from: NodeId, all: bool) -> Result<Reached<'m>> {
        let charge = runtime.charge("ShortestPath");
        let met = if all {
            Met::Places(NodeNumbers::new(charge.another(), view))
        } else {
            Met::Once(NodeSet::new(charge.another(), view))
        };
        let mut nodes = Records::new(charge.another());
        nodes.push(from)?;
        let (steps, mut firsts) = (nodes.another(), nodes.another());
        // No edge leads to the start.
        firsts.push(0)?;
        Ok(Reached { met, nodes, before: 0, steps, firsts, depth: 0, charge })
    }

    /// Adds the edges to a level, in the order of its nodes: each has one at least.
    fn add_steps(&mut self, steps: &mut Records<'m, Step>) -> Result<()> {
        let (mut place, mut buffer) = (0, Vec::new());
        while place < steps.len() {
            let piece = steps.piece(place, &mut buffer)?;
            for &step in piece {
                if step.node == self.firsts.len() {
                    self.firsts.push(self.steps.len())?;
                }
                self.steps.push(step)?;
            }
            place += piece.len() as u64;
        }
        Ok(())
    }

    /// The place of a node of the level that grows; none if it was met before, or once where once is enough.
    fn meet(&mut self, node: NodeId) -> Result<Option<u64>> {
        let place = self.before + self.nodes.len();
        Ok(match self.met.insert(node, place)? {
            None => {
                self.nodes.push(node)?;
                Some(place)
            }
            Some(known) => Some(known).filter(|&known| known >= self.before && matches!(self.met, Met::Places(_))),
        })
    }

    /// The first step to a node.
    fn first_step(&mut self, node: u64) -> Result<u64> {
        if let Met::Once(_) = self.met {
            // The start has none.
            return Ok(node - 1);
        }
        self.firsts.get(node)
    }

    /// Gives the edges of each path to a node of the last level, which is read off from its end to its start.
    fn give_paths(&mut self, node: u64, give: &mut dyn FnMut(Value) -> Result<Flow>) -> Result<Flow> {
        let depth = self.depth as usize;
        hold_path(&mut self.charge, depth, path_bytes(depth) + 2 * depth * size_of::<u64>())?;
        // For each level from the last on: the node there, and the next of its steps to try.
        let mut stack: Vec<(u64, u64)> = vec![(node, self.first_step(node)?)];
        let mut edges: Vec<EdgeValue> = Vec::with_capacity(depth);
        while let Some((node, place)) = stack.last_mut() {
            let node = *node;
            let step = if *place < self.steps.len() { Some(self.steps.get(*place)?) } else { None };
            let Some(step) = step.filter(|step| step.node == node) else {
                stack.pop();
                edges.pop();
                continue;
            };
            *place += 1;
            edges.push(step.edge);
            if edges.len() < depth {
                stack.push((step.parent, self.first_step(step.parent)?));
                continue;
            }
            if give(edge_list(edges.iter().rev().copied()))? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            edges.pop();
        }
        Ok(Flow::Continue)
    }
}
