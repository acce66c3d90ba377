//! Shortest paths from one node to all others: levels of nodes, each with the edges that lead to it from the level before.
//!
//! Memory: the nodes that are reached, and an edge for each (all edges between levels, if all paths are wanted).

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, EdgeValue, Expand, Map, NodeId, ReadView, Result, Value};

use super::search::Search;
use crate::adjacency::{edge_value, expansion};
use crate::operators::path_search::{self, Place};
use crate::operators::variable_expand::edge_list;
use crate::runtime::Flow;
use crate::visited::{Visited, hold};

/// Takes the end of a path and its edges.
type Give<'g> = dyn FnMut(NodeId, Value) -> Result<Flow> + 'g;

/// Nodes of one distance from the start.
struct Level {
    nodes: Vec<NodeId>,
    /// In the order of the nodes that they lead to.
    steps: Vec<Step>,
}

/// An edge from the level before.
struct Step {
    /// The place in its level of the node that it leads to.
    node: u32,
    /// The place in the level before of the node that it comes from.
    parent: u32,
    edge: EdgeValue,
}

impl Level {
    fn byte_count(&self) -> usize {
        8 * self.nodes.capacity() + std::mem::size_of::<Step>() * self.steps.capacity()
    }

    fn first_step(&self, node: u32) -> usize {
        self.steps.partition_point(|step| step.node < node)
    }
}

impl Search<'_, '_> {
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
        let mut visited = Visited::new(view);
        // Along directed edges the start is an end too, if it is met again.
        if self.path.min == 0 || self.path.direction == Direction::Both {
            visited.insert(from);
        }
        let mut charge = self.runtime.charge("ShortestPath");
        let mut levels = vec![Level { nodes: vec![from], steps: Vec::new() }];
        let mut held = 0;
        while (levels.len() as u64) <= u64::from(self.path.max) {
            let last = &levels[levels.len() - 1];
            let next = self.next_level(view, &expand, &last.nodes, &mut visited)?;
            if next.nodes.is_empty() {
                break;
            }
            held += next.byte_count();
            hold(&mut charge, held + visited.byte_count())?;
            levels.push(next);
            if self.give_level(&levels, give)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn next_level(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        frontier: &[NodeId],
        visited: &mut Visited,
    ) -> Result<Level> {
        let mut level = Level { nodes: Vec::new(), steps: Vec::new() };
        let mut places: Map<NodeId, u32> = Map::default();
        let mut batch = EdgeBatch::default();
        let mut cursor = view.expand(frontier, expand)?;
        while cursor.next(&mut batch)? {
            self.runtime.environment.interrupt.check()?;
            for index in self.passing(&batch, frontier, expand.direction, false)? {
                let index = index as usize;
                let (node, parent) = (batch.neighbors[index], batch.inputs[index]);
                let place = if visited.insert(node) {
                    let place = level.nodes.len() as u32;
                    level.nodes.push(node);
                    if self.path.all {
                        places.insert(node, place);
                    }
                    place
                } else if let Some(&place) = places.get(&node) {
                    place
                } else {
                    continue;
                };
                let edge = edge_value(&batch, index, frontier[parent as usize], expand.direction);
                level.steps.push(Step { node: place, parent, edge });
            }
        }
        if self.path.all {
            level.steps.sort_by_key(|step| step.node);
        }
        Ok(level)
    }

    /// Gives the paths to the nodes of the last level.
    fn give_level(&self, levels: &[Level], give: &mut Give<'_>) -> Result<Flow> {
        let last = &levels[levels.len() - 1];
        for (place, &node) in last.nodes.iter().enumerate() {
            let flow = if self.path.gives_edges || self.path.all {
                give_paths(levels, place as u32, &mut |edges| give(node, edges))?
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

/// Gives the edges of each path to a node of the last level, which is read off from its end to its start.
fn give_paths(levels: &[Level], node: u32, give: &mut dyn FnMut(Value) -> Result<Flow>) -> Result<Flow> {
    let depth = levels.len() - 1;
    // For each level from the last on: the node there, and the next of its steps to try.
    let mut stack: Vec<(u32, usize)> = vec![(node, levels[depth].first_step(node))];
    let mut edges: Vec<EdgeValue> = Vec::with_capacity(depth);
    while let Some((node, place)) = stack.last_mut() {
        let node = *node;
        let level = depth + 1 - (edges.len() + 1);
        let Some(step) = levels[level].steps.get(*place).filter(|step| step.node == node) else {
            stack.pop();
            edges.pop();
            continue;
        };
        *place += 1;
        edges.push(step.edge);
        if level > 1 {
            stack.push((step.parent, levels[level - 1].first_step(step.parent)));
            continue;
        }
        if give(edge_list(edges.iter().rev().copied()))? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        edges.pop();
    }
    Ok(Flow::Continue)
}
