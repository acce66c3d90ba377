//! Weakly connected components as a vertex program: the smaller number of a node is passed on, both ways.
//!
//! Cost: at most as many iterations as the longest of all shortest paths has edges, over the rows and columns in which
//! something changes.

use model::error::Result;

use crate::algorithm::Run;
use crate::graph::Graph;
use crate::program::{Context, Edge, Node, States, VertexProgram, run_vertex_program};

struct Components;

impl VertexProgram for Components {
    type State = u32;
    type Value = u32;
    type Gathered = Option<u32>;
    type Total = u64;

    const BOTH_WAYS: bool = true;
    const ONLY_CHANGED: bool = true;

    fn start(&self, node: Node, _total: &mut u64) -> u32 {
        node.number
    }

    fn should_iterate(&mut self, _iteration: u64, changed: u64, _total: &u64) -> bool {
        changed > 0
    }

    fn scatter(&self, _node: Node, &name: &u32, _edge: Edge, _before: u32) -> u32 {
        name
    }

    fn gather(&self, least: &mut Option<u32>, name: u32) {
        *least = Some(least.map_or(name, |least| least.min(name)));
    }

    fn apply(&self, _node: Node, name: &mut u32, least: &mut Option<u32>, _total: &mut u64) -> bool {
        match *least {
            Some(least) if least < *name => {
                *name = least;
                true
            }
            _ => false,
        }
    }
}

/// For each node the smallest number of a node in its component.
pub(crate) fn run<'a>(graph: &Graph<'_>, run: &Run<'a>) -> Result<States<'a, u32>> {
    run_vertex_program(&mut Components, graph, &Context::of(run))
}
