//! All paths of one row, in the order of a walk into the depth: a stack holds the edges that are still to be tried at
//! each node of the present path. Its lower part is in a temporary file where it does not fit; the path itself must fit.

use cypher::plan::SearchMode;
use model::store::EdgeIds;
use model::{ColumnData, EdgeBatch, EdgeValue, NodeId, Result};

use super::bounds::{Bounds, Distance};
use super::pattern::{Element, Hop, Pattern, count_list, same_edge, same_node};
use super::{Give, PathFound, Place};
use crate::adjacency::{edge_value, expansion, is_taken};
use crate::memory::Charge;
use crate::operators::variable_expand::edge_list;
use crate::runtime::{Flow, Runtime};
use crate::spill::Records;
use crate::visited::hold_path;

/// See the module.
pub(super) struct DepthFirst<'d, 'r> {
    pattern: &'d Pattern,
    runtime: &'d Runtime<'r>,
    place: Place<'d>,
    end: Option<NodeId>,
    bounds: Option<Bounds<'d, 'r>>,
    /// The edges of a path that is wanted; any number if absent.
    length: Option<u64>,
    /// The least length that a path may have which was too long.
    next_length: Option<u64>,
    nodes: Vec<NodeId>,
    edges: Vec<EdgeValue>,
    frames: Vec<Frame>,
    /// Candidates to be tried at the nodes of the path, one node after the other.
    candidates: Records<'r, Candidate>,
    charge: Charge<'r>,
}

/// An edge, and the node that it leads to.
type Candidate = (EdgeValue, NodeId);

/// The position in the pattern that a path has reached.
#[derive(Clone, Debug)]
struct State {
    element: usize,
    /// Walks through the element that are complete.
    walks: u32,
    hop: usize,
    /// Number of edges of each of the elements before.
    counts: Vec<u32>,
}

/// The candidates still to be tried at a node.
struct Frame {
    state: State,
    /// Edges of the path at the node.
    depth: usize,
    /// The candidates, once they were sought.
    candidates: Option<Untried>,
}

/// Candidates that stand together: all of a frame, and the first that was not tried.
#[derive(Clone, Copy)]
struct Untried {
    first: u64,
    next: u64,
    end: u64,
}

impl<'d, 'r> DepthFirst<'d, 'r> {
    pub(super) fn new(
        pattern: &'d Pattern,
        runtime: &'d Runtime<'r>,
        place: Place<'d>,
        end: Option<NodeId>,
    ) -> Result<DepthFirst<'d, 'r>> {
        let bounds = pattern.selector.and(end).map(|end| Bounds::new(pattern, runtime, end)).transpose()?;
        let charge = runtime.charge("PathSearch");
        let candidates = Records::new(charge.another());
        Ok(DepthFirst {
            pattern,
            runtime,
            place,
            end,
            bounds,
            length: None,
            next_length: None,
            nodes: vec![place.start],
            edges: Vec::new(),
            frames: Vec::new(),
            candidates,
            charge,
        })
    }

    /// The least length that a path to the end may have, if there may be one.
    pub(super) fn least_length(&mut self) -> Result<Option<u64>> {
        let (least, greatest) = (self.pattern.least_length(), self.pattern.greatest_length());
        let Some(bounds) = &mut self.bounds else { return Ok(Some(least)) };
        Ok(match bounds.distance(self.place.start, greatest)? {
            Distance::Exactly(distance) if distance <= greatest => Some(distance.max(least)),
            _ => None,
        })
    }

    /// Gives all paths.
    pub(super) fn all(&mut self, give: &mut Give<'_>) -> Result<Flow> {
        self.length = None;
        self.walk(give)
    }

    /// Gives all paths of exactly that length, and says which length comes next, if there may be longer ones.
    pub(super) fn of_length(&mut self, length: u64, give: &mut Give<'_>) -> Result<(Flow, Option<u64>)> {
        self.length = Some(length);
        self.next_length = None;
        self.frames.clear();
        self.candidates.truncate(0)?;
        self.edges.clear();
        self.nodes.truncate(1);
        let flow = self.walk(give)?;
        Ok((flow, self.next_length))
    }

    fn walk(&mut self, give: &mut Give<'_>) -> Result<Flow> {
        let state = State { element: 0, walks: 0, hop: 0, counts: Vec::new() };
        if self.arrive(state, give)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        while let Some(frame) = self.frames.last_mut() {
            self.edges.truncate(frame.depth);
            self.nodes.truncate(frame.depth + 1);
            let Some(untried) = &mut frame.candidates else {
                self.expand()?;
                continue;
            };
            if untried.next == untried.end {
                let first = untried.first;
                self.candidates.truncate(first)?;
                self.frames.pop();
                continue;
            }
            let (edge, node) = self.candidates.get(untried.next)?;
            untried.next += 1;
            let mut state = frame.state.clone();
            self.edges.push(edge);
            self.nodes.push(node);
            state.hop += 1;
            if state.hop == self.pattern.elements[state.element].hops.len() {
                state.hop = 0;
                state.walks += 1;
            }
            if self.arrive(state, give)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// The path has come to a node in some state: puts on the stack what can follow, and gives the path if it is whole.
    fn arrive(&mut self, mut state: State, give: &mut Give<'_>) -> Result<Flow> {
        let depth = self.edges.len();
        let node = self.nodes[depth];
        let is_round = self.pattern.mode == SearchMode::Simple && depth > 0 && node == self.nodes[0];
        let can_grow = !is_round && self.length.is_none_or(|length| (depth as u64) < length);
        loop {
            let Some(element) = self.pattern.elements.get(state.element) else {
                return self.finish(&state.counts, give);
            };
            if state.hop > 0 || state.walks < element.max {
                if can_grow {
                    self.frames.push(Frame { state: state.clone(), depth, candidates: None });
                } else if !is_round {
                    self.note_longer(depth as u64 + 1);
                }
            }
            let is_at_end = state.hop == 0 && state.walks >= element.min;
            if !is_at_end || !self.passes_end(state.element, node)? {
                return Ok(Flow::Continue);
            }
            let walked = depth as u32 - state.counts.iter().sum::<u32>();
            state.counts.push(walked);
            state.element += 1;
            state.walks = 0;
        }
    }

    fn passes_end(&self, element: usize, node: NodeId) -> Result<bool> {
        let Some(condition) = &self.pattern.elements[element].end else { return Ok(true) };
        let row = (self.place.chunk, self.place.row);
        Ok(!condition.passing(self.runtime, row, 1, [same_node(node, 1)])?.is_empty())
    }

    /// Gives the present path if it ends in the right place, is as long as wanted, and the condition on it holds.
    fn finish(&mut self, counts: &[u32], give: &mut Give<'_>) -> Result<Flow> {
        let end = self.nodes[self.edges.len()];
        let is_wanted = self.end.is_none_or(|wanted| wanted == end)
            && self.length.is_none_or(|length| self.edges.len() as u64 == length);
        if !is_wanted {
            return Ok(Flow::Continue);
        }
        if let Some(condition) = &self.pattern.whole {
            let edges = ColumnData::Value(vec![edge_list(self.edges.iter().copied())]);
            let counts = ColumnData::Value(vec![count_list(counts)]);
            let row = (self.place.chunk, self.place.row);
            let own = [edges, counts, same_node(end, 1)].into_iter().take(condition.own);
            if condition.passing(self.runtime, row, 1, own)?.is_empty() {
                return Ok(Flow::Continue);
            }
        }
        give(PathFound { end, edges: &self.edges, counts })
    }

    /// A path was left because it would have become so long.
    fn note_longer(&mut self, length: u64) {
        self.next_length = Some(self.next_length.map_or(length, |known| known.min(length)));
    }

    /// Finds what can be tried at the node of the topmost frame.
    fn expand(&mut self) -> Result<()> {
        self.runtime.environment.interrupt.check()?;
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let (depth, element, hop_place) = (frame.depth, frame.state.element, frame.state.hop);
        self.hold_path()?;
        let node = self.nodes[depth];
        let pattern = self.pattern;
        let element = &pattern.elements[element];
        let hop = &element.hops[hop_place];
        let first = self.candidates.len();
        let guard = self.runtime.view();
        if let Some(expand) = expansion(guard.view(), hop.direction, &hop.types, EdgeIds::Include) {
            let from = [node];
            let mut cursor = guard.view().expand(&from, &expand)?;
            let mut batch = EdgeBatch::default();
            while cursor.next(&mut batch)? {
                self.runtime.environment.interrupt.check()?;
                let mut found = self.follow(hop, node, &batch)?;
                found.retain(|(edge, neighbor)| self.is_free(edge, *neighbor));
                if hop_place + 1 == element.hops.len() {
                    self.leave_refused(element, depth, &mut found)?;
                }
                self.leave_far(&mut found, depth as u64 + 1)?;
                self.candidates.extend(&found)?;
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.candidates = Some(Untried { first, next: first, end: self.candidates.len() });
        }
        Ok(())
    }

    /// Says what the path takes, with what is kept for each of its nodes.
    fn hold_path(&mut self) -> Result<()> {
        let frame = size_of::<Frame>() + size_of::<u32>() * self.pattern.elements.len();
        let bytes = self.frames.capacity() * frame
            + self.nodes.capacity() * size_of::<NodeId>()
            + self.edges.capacity() * size_of::<EdgeValue>();
        hold_path(&mut self.charge, self.edges.len(), bytes)
    }

    /// The edges of a batch that pass the filter of a hop.
    fn follow(&self, hop: &Hop, node: NodeId, batch: &EdgeBatch) -> Result<Vec<Candidate>> {
        let value = |index: usize| edge_value(batch, index, node, hop.direction);
        let Some(filter) = &hop.filter else {
            return Ok((0..batch.len()).map(|index| (value(index), batch.neighbors[index])).collect());
        };
        let rows = vec![self.place.row; batch.len()];
        let edges = (0..batch.len()).map(value).collect();
        let passing = filter.passing(self.runtime, self.place.chunk, &rows, |_| node, edges)?;
        Ok(passing.into_iter().map(|index| (value(index as usize), batch.neighbors[index as usize])).collect())
    }

    /// Leaves out candidates that end a walk through a part which does not pass its condition.
    fn leave_refused(&self, element: &Element, depth: usize, candidates: &mut Vec<Candidate>) -> Result<()> {
        let Some(walk) = &element.walk else { return Ok(()) };
        let count = candidates.len();
        let first = depth + 1 - element.hops.len();
        let nodes = self.nodes[first..=depth].iter().map(|&node| same_node(node, count));
        let last_node = ColumnData::Node(candidates.iter().map(|(_, node)| *node).collect());
        let edges = self.edges[first..depth].iter().map(|&edge| same_edge(edge, count));
        let last_edge = ColumnData::Edge(candidates.iter().map(|(edge, _)| *edge).collect());
        let own: Vec<ColumnData> = nodes.chain([last_node]).chain(edges).chain([last_edge]).collect();
        let passing = walk.passing(self.runtime, (self.place.chunk, self.place.row), count, own)?;
        *candidates = passing.into_iter().map(|place| candidates[place as usize]).collect();
        Ok(())
    }

    /// True if the path may go along an edge to a node.
    fn is_free(&self, edge: &EdgeValue, node: NodeId) -> bool {
        let is_new_edge = || !self.edges.iter().any(|known| known.id == edge.id);
        let is_allowed = match self.pattern.mode {
            SearchMode::Walk => true,
            SearchMode::Trail => is_new_edge(),
            SearchMode::Acyclic => !self.nodes.contains(&node),
            SearchMode::Simple => !self.nodes[1..].contains(&node) && is_new_edge(),
        };
        is_allowed && !is_taken(self.place.chunk, self.place.distinct_from, self.place.row as usize, edge.id)
    }

    /// Leaves out candidates from which the end is too far for the length that is wanted.
    fn leave_far(&mut self, candidates: &mut Vec<Candidate>, depth: u64) -> Result<()> {
        let (Some(length), Some(bounds)) = (self.length, &mut self.bounds) else { return Ok(()) };
        let (mut kept, mut longer) = (Vec::with_capacity(candidates.len()), None);
        for &candidate in candidates.iter() {
            let least = match bounds.distance(candidate.1, length.saturating_sub(depth))? {
                Distance::Never => continue,
                Distance::Exactly(distance) => depth + distance,
                Distance::Above(distance) => depth + distance + 1,
            };
            if least <= length {
                kept.push(candidate);
            } else {
                longer = Some(longer.map_or(least, |known: u64| known.min(least)));
            }
        }
        *candidates = kept;
        if let Some(longer) = longer {
            self.note_longer(longer);
        }
        Ok(())
    }
}
