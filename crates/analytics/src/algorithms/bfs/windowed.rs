//! Breadth-first search as a vertex program: a level in each iteration.
//!
//! Cost: an iteration a level, over the rows that hold nodes of the last level and the columns that they lead to.

use model::error::Result;

use super::UNREACHED;
use crate::algorithm::Run;
use crate::graph::Graph;
use crate::program::{Context, Edge, Node, States, VertexProgram, run_vertex_program};

struct Levels {
    source: u32,
    depth_max: Option<u32>,
}

impl VertexProgram for Levels {
    type State = u32;
    type Value = u32;
    type Gathered = Option<u32>;
    type Total = u64;

    const ONLY_CHANGED: bool = true;

    fn start(&self, node: Node, _total: &mut u64) -> u32 {
        if node.number == self.source { 0 } else { UNREACHED }
    }

    fn is_new(&self, node: Node, _state: &u32) -> bool {
        node.number == self.source
    }

    fn should_iterate(&mut self, iteration: u64, changed: u64, _total: &u64) -> bool {
        changed > 0 && self.depth_max.is_none_or(|most| iteration < u64::from(most))
    }

    fn scatter(&self, _node: Node, &distance: &u32, _edge: Edge, _before: u32) -> u32 {
        distance.saturating_add(1)
    }

    fn gather(&self, nearest: &mut Option<u32>, distance: u32) {
        *nearest = Some(nearest.map_or(distance, |nearest| nearest.min(distance)));
    }

    fn apply(&self, _node: Node, distance: &mut u32, nearest: &mut Option<u32>, _total: &mut u64) -> bool {
        match *nearest {
            Some(nearest) if nearest < *distance => {
                *distance = nearest;
                true
            }
            _ => false,
        }
    }
}

/// For each node its distance from the source; [`UNREACHED`] if there is no path, or none of at most `depth_max` edges.
pub(crate) fn run<'a>(
    graph: &Graph<'_>,
    source: u32,
    depth_max: Option<u32>,
    run: &Run<'a>,
) -> Result<States<'a, u32>> {
    run_vertex_program(&mut Levels { source, depth_max }, graph, &Context::of(run))
}
