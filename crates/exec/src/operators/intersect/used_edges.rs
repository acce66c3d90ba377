//! Edges of a pattern differ from each other: how many ways are left to reach a node by the legs of an intersection.
//!
//! Nodes tell whether two edges could be the same: a leg from `x` to `c` can only be an edge that is bound between `x`
//! and `c`, or that of another leg from `x`. So edges need not be looked at to count.

use cypher::plan::BoundEdge;
use model::{Direction, EdgeValue, Result};

use super::Leg;
use crate::chunk::{Chunk, Layout};
use crate::lowering::column_of;
use crate::rows::holds_edge;
use crate::runtime::Flow;

/// An edge that is bound in each row, and its ends.
pub(super) struct Ends {
    pub(super) left: usize,
    pub(super) right: usize,
    direction: Direction,
    /// The edge itself, where legs give their edges.
    edge: Option<usize>,
}

impl Ends {
    /// The columns of a bound edge; `column` gives a number to the column of an end.
    pub(super) fn lower(
        bound: &BoundEdge,
        layout: &Layout,
        with_edges: bool,
        column: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Ends> {
        let edge = with_edges.then(|| column_of(layout, bound.edge)).transpose()?;
        let left = column(column_of(layout, bound.left)?);
        let right = column(column_of(layout, bound.right)?);
        Ok(Ends { left, right, direction: bound.direction, edge })
    }

    /// The node that the edge leads to if it is followed from a node as a leg follows its edges.
    fn met(&self, left: u32, right: u32, from: u32, leg: Direction) -> Option<u32> {
        let (source, target) = if self.direction == Direction::In { (right, left) } else { (left, right) };
        match leg {
            Direction::Out => (source == from).then_some(target),
            Direction::In => (target == from).then_some(source),
            Direction::Both if source == from => Some(target),
            Direction::Both => (target == from).then_some(source),
        }
    }
}

/// The edges that are taken in one row.
#[derive(Default)]
pub(super) struct UsedEdges {
    /// Legs, and nodes to which a bound edge leads that the leg would meet again.
    met: Vec<(usize, u32)>,
    /// Two legs that must differ start from the same node.
    shares: bool,
    chosen: Vec<EdgeValue>,
}

impl UsedEdges {
    /// Looks at a row; `node` gives the node in a numbered column.
    #[inline]
    pub(super) fn look(&mut self, legs: &[Leg], node: impl Fn(usize) -> u32) {
        self.met.clear();
        self.shares = false;
        for (index, leg) in legs.iter().enumerate() {
            if leg.distinct_from.is_empty() && leg.distinct_legs.is_empty() {
                continue;
            }
            let from = node(leg.from);
            for ends in &leg.distinct_from {
                let met = ends.met(node(ends.left), node(ends.right), from, leg.kind.direction);
                self.met.extend(met.map(|to| (index, to)));
            }
            self.shares |= leg.distinct_legs.iter().any(|&other| node(legs[other].from) == from);
        }
    }

    /// True if any two edges could be the same.
    pub(super) fn is_any(&self) -> bool {
        self.shares || !self.met.is_empty()
    }

    /// The nodes that edges lead to that could be the same, if only those of few nodes could.
    pub(super) fn nodes(&self) -> Option<impl Iterator<Item = u32> + '_> {
        let is_first = |at: usize| self.met[..at].iter().all(|(_, other)| *other != self.met[at].1);
        (!self.shares).then(|| (0..self.met.len()).filter(move |&at| is_first(at)).map(|at| self.met[at].1))
    }

    /// In how many ways the legs lead to a node by edges that differ as they must; `edges` says how many each leg has.
    ///
    /// Legs that share edges have sets of them that contain each other or have nothing in common: those of one direction, and
    /// of both. UsedEdges in that order, each has as many ways left as edges less those that are taken of its set.
    pub(super) fn count(
        &self,
        legs: &[Leg],
        node: &dyn Fn(usize) -> u32,
        to: u32,
        edges: &dyn Fn(usize) -> usize,
    ) -> i64 {
        let mut ways = 1;
        for last in [false, true] {
            for (index, leg) in legs.iter().enumerate() {
                let direction = leg.kind.direction;
                if (direction == Direction::Both) != last {
                    continue;
                }
                let from = node(leg.from);
                let met = self.met.iter().filter(|met| **met == (index, to)).count();
                let shares = |other: usize| {
                    let earlier = legs[other].kind.direction;
                    let is_before = (earlier == Direction::Both, other) < (last, index);
                    let must_differ = leg.distinct_legs.contains(&other) || legs[other].distinct_legs.contains(&index);
                    let is_within = earlier == direction || last || from == to;
                    is_before && must_differ && is_within && node(legs[other].from) == from
                };
                let taken = met + (0..legs.len()).filter(|&other| other != index && shares(other)).count();
                ways *= (edges(index) as i64 - taken as i64).max(0);
            }
        }
        ways
    }

    /// Calls `give` with each combination of edges, one for each leg, that differ as they must, until it has enough.
    pub(super) fn combine(
        &mut self,
        legs: &[Leg],
        (chunk, row): (&Chunk, u32),
        places: &dyn Fn(usize) -> std::ops::Range<usize>,
        edge: &dyn Fn(usize, usize) -> EdgeValue,
        give: &mut dyn FnMut(&[EdgeValue]) -> Result<Flow>,
    ) -> Result<Flow> {
        let at = self.chosen.len();
        let Some(leg) = legs.get(at) else { return give(&self.chosen) };
        for place in places(at) {
            let value = edge(at, place);
            let is_bound = |ends: &Ends| {
                ends.edge.is_some_and(|column| holds_edge(&chunk.columns[column], row as usize, value.id))
            };
            let is_taken = leg.distinct_legs.iter().any(|&other| self.chosen[other].id == value.id);
            if !is_taken && !leg.distinct_from.iter().any(is_bound) {
                self.chosen.push(value);
                let flow = self.combine(legs, (chunk, row), places, edge, give);
                self.chosen.pop();
                if flow? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
        }
        Ok(Flow::Continue)
    }
}
