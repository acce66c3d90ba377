//! Cheapest paths as a vertex program: every node whose cost has become less tells its neighbors (Bellman, Ford).
//!
//! Cost: as many iterations as the cheapest path of the most edges has, over the rows that hold nodes that changed.

use model::error::Result;

use crate::algorithm::Run;
use crate::graph::Graph;
use crate::program::{Context, Edge, Node, States, VertexProgram, run_vertex_program};

struct Costs<const WEIGHTED: bool> {
    source: u32,
}

impl<const WEIGHTED: bool> VertexProgram for Costs<WEIGHTED> {
    type State = f64;
    type Value = f64;
    type Gathered = Option<f64>;
    type Total = u64;

    const ONLY_CHANGED: bool = true;
    const USES_WEIGHTS: bool = WEIGHTED;

    fn start(&self, node: Node, _total: &mut u64) -> f64 {
        if node.number == self.source { 0.0 } else { f64::INFINITY }
    }

    fn is_new(&self, node: Node, _state: &f64) -> bool {
        node.number == self.source
    }

    fn should_iterate(&mut self, _iteration: u64, changed: u64, _total: &u64) -> bool {
        changed > 0
    }

    fn scatter(&self, _node: Node, cost: &f64, edge: Edge, _before: f64) -> f64 {
        cost + edge.weight
    }

    fn gather(&self, least: &mut Option<f64>, cost: f64) {
        *least = Some(least.map_or(cost, |least| least.min(cost)));
    }

    fn apply(&self, _node: Node, cost: &mut f64, least: &mut Option<f64>, _total: &mut u64) -> bool {
        match *least {
            Some(least) if least < *cost => {
                *cost = least;
                true
            }
            _ => false,
        }
    }
}

/// For each node what a cheapest path from the source costs; infinite without one.
pub(crate) fn run<'a>(graph: &Graph<'_>, source: u32, run: &Run<'a>) -> Result<States<'a, f64>> {
    let context = Context::of(run);
    if run.selection.weight.is_some() {
        run_vertex_program(&mut Costs::<true> { source }, graph, &context)
    } else {
        run_vertex_program(&mut Costs::<false> { source }, graph, &context)
    }
}
