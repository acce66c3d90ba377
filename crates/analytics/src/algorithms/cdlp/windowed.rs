//! Community detection by label propagation as a vertex program: a node takes the label that most of its neighbors have.
//!
//! Claim: that of LDBC Graphalytics: labels begin as the nodes themselves; in each iteration, all at once, a node takes
//! the label most frequent among its neighbors, of several the smallest. Edges count in both directions.
//! Cost: per iteration two passes over the edges, both ways. Holds the labels around one node beside the windows.

use model::error::Result;

use super::{Config, Labels};
use crate::algorithm::Run;
use crate::graph::Graph;
use crate::program::{Context, Edge, Node, States, VertexProgram, run_vertex_program};

struct Propagation<'c> {
    config: &'c Config,
    found: Labels,
}

impl VertexProgram for Propagation<'_> {
    type State = u32;
    type Value = u32;
    type Gathered = Vec<u32>;
    type Total = u64;

    const BOTH_WAYS: bool = true;
    const ONLY_CHANGED: bool = true;

    fn start(&self, node: Node, _total: &mut u64) -> u32 {
        node.number
    }

    fn should_iterate(&mut self, iteration: u64, changed: u64, _total: &u64) -> bool {
        self.found.iterations = iteration;
        self.found.did_converge = iteration > 0 && changed == 0;
        changed > 0 && iteration < self.config.max_iterations
    }

    fn scatter(&self, _node: Node, &label: &u32, _edge: Edge, _before: u32) -> u32 {
        label
    }

    fn gather(&self, labels: &mut Vec<u32>, label: u32) {
        labels.push(label);
    }

    fn apply(&self, _node: Node, label: &mut u32, labels: &mut Vec<u32>, _total: &mut u64) -> bool {
        labels.sort_unstable();
        let mut most = (0, *label);
        for group in labels.chunk_by(|a, b| a == b) {
            if group.len() > most.0 {
                most = (group.len(), group[0]);
            }
        }
        let is_other = most.1 != *label;
        *label = most.1;
        is_other
    }

    fn clear(&self, labels: &mut Vec<u32>) {
        labels.clear();
    }
}

/// Labels the nodes of a graph that has forward rows; the labels are apart from what else was found.
pub(crate) fn run<'a>(graph: &Graph<'_>, config: &Config, run: &Run<'a>) -> Result<(States<'a, u32>, Labels)> {
    let found = Labels { labels: Vec::new(), iterations: 0, did_converge: false };
    let mut program = Propagation { config, found };
    let labels = run_vertex_program(&mut program, graph, &Context::of(run))?;
    Ok((labels, program.found))
}
