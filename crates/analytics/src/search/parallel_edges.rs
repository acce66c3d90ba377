//! Paths over the same nodes that differ in their edges, in order of cost.
//!
//! Claim: of all paths over the nodes of some paths that come in order of cost, the cheapest, each once. Of those that cost
//! the same, those over the earlier nodes come first, and among these in the order in which the store gives edges.
//! Cost: for each path given a heap entry for each step; the edges of a path are fetched when its nodes are come to.
//! After: Lawler, "A procedure for computing the k best solutions to discrete optimization problems", 1972.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use model::error::Result;
use model::id::NodeId;
use model::store::ReadView;
use model::value::{EdgeValue, PathValue};

use super::path::{StepEdges, for_each_step};
use crate::held::SearchContext;
use crate::projection::{Projection, Weight};

/// One choice of edges over the nodes of one path.
struct Choice {
    cost: f64,
    /// Number of the path.
    path: usize,
    /// For each step which of its edges.
    edges: Vec<u32>,
    /// The last step whose edge is not the cheapest: only steps from here on are changed further, so that every choice is
    /// come to once.
    last: usize,
}

impl Ord for Choice {
    fn cmp(&self, other: &Choice) -> Ordering {
        let by_cost = self.cost.total_cmp(&other.cost);
        by_cost.then_with(|| self.path.cmp(&other.path)).then_with(|| self.edges.cmp(&other.edges))
    }
}

impl PartialOrd for Choice {
    fn partial_cmp(&self, other: &Choice) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Choice {
    fn eq(&self, other: &Choice) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Choice {}

/// The `wanted` cheapest paths over the nodes of these paths, which come in order of cost.
pub(crate) fn cheapest(
    view: &dyn ReadView,
    projection: &Projection,
    weight: Option<&Weight>,
    paths: &[Vec<NodeId>],
    wanted: usize,
    context: SearchContext<'_>,
) -> Result<Vec<(PathValue, f64)>> {
    let mut held = context.held();
    let mut steps: Vec<Vec<StepEdges>> = Vec::new();
    let mut open: BinaryHeap<Reverse<Choice>> = BinaryHeap::new();
    let mut found = Vec::new();
    // The next path over other nodes costs no less than the newest one with its cheapest edges, so that it need not be
    // looked at before those were given; from then on it may be cheaper than whatever is open.
    let mut is_next_due = true;
    while found.len() < wanted {
        context.interrupt.check()?;
        if is_next_due && let Some(nodes) = paths.get(steps.len()) {
            let mut of_path = Vec::with_capacity(nodes.len() - 1);
            for_each_step(view, projection, weight, nodes, &mut |edges| {
                held.grow(size_of_val(edges) + size_of::<StepEdges>() + size_of::<u32>())?;
                of_path.push(edges.to_vec());
                Ok(())
            })?;
            let edges = vec![0; of_path.len()];
            open.push(Reverse(Choice { cost: cost_of(&of_path, &edges), path: steps.len(), edges, last: 0 }));
            steps.push(of_path);
        }
        let Some(Reverse(choice)) = open.pop() else { break };
        is_next_due = choice.path + 1 == steps.len();
        let of_path = &steps[choice.path];
        for step in choice.last..choice.edges.len() {
            if (choice.edges[step] as usize) + 1 < of_path[step].len() {
                held.grow(size_of_val(&*choice.edges) + size_of::<Choice>())?;
                let mut edges = choice.edges.clone();
                edges[step] += 1;
                open.push(Reverse(Choice { cost: cost_of(of_path, &edges), path: choice.path, edges, last: step }));
            }
        }
        held.grow(size_of_val(&*paths[choice.path]) + of_path.len() * size_of::<EdgeValue>())?;
        let edges = of_path.iter().zip(&choice.edges).map(|(edges, &at)| edges[at as usize].1).collect();
        found.push((PathValue { nodes: paths[choice.path].clone(), edges }, choice.cost));
    }
    Ok(found)
}

/// The cost of a choice, added up from its start on as searches do.
fn cost_of(steps: &[Vec<(f64, EdgeValue)>], edges: &[u32]) -> f64 {
    steps.iter().zip(edges).fold(0.0, |cost, (step, &at)| cost + step[at as usize].0)
}
