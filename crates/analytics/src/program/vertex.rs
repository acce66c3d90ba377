//! Vertex programs: a node gathers the values on its edges, is updated, and scatters new values onto its edges.
//!
//! All nodes of an iteration see what was scattered in the one before (synchronously), in the same order in every run:
//! so a program gives the same states whatever the number of threads and wherever its files lie.
//! After: Kyrola, Blelloch, Guestrin, "GraphChi: large-scale graph computation on just a PC", 2012.

use std::ops::AddAssign;

use model::error::Result;

use super::shards::build;
use super::windows::{Machine, Plan, States};
use super::{Context, Edge, Node, guarded};
use crate::graph::Graph;
use crate::scratch::plain::Plain;

/// A program that works on one node at a time, with values on edges.
///
/// A run makes the state of every node, then repeats as long as [`VertexProgram::should_iterate`] says so: every node
/// scatters a value onto each edge that it sends over; every node gathers the values on the edges that it receives over
/// and is updated.
///
/// ```
/// use std::sync::Arc;
/// use analytics::program::{Context, Edge, Node, VertexProgram, run_vertex_program};
/// use analytics::{EdgeList, Graph, GraphView, Sides};
/// use model::{Direction, Interrupt};
///
/// /// What a cheapest path from a node costs.
/// struct Cheapest { source: u32 }
///
/// impl VertexProgram for Cheapest {
///     type State = f64; // the cost of the cheapest path found
///     type Value = f64; // on an edge: what a path that ends with it costs
///     type Gathered = Option<f64>;
///     type Total = u64;
///     const ONLY_CHANGED: bool = true;
///     const USES_WEIGHTS: bool = true;
///
///     fn start(&self, node: Node, _total: &mut u64) -> f64 {
///         if node.number == self.source { 0.0 } else { f64::INFINITY }
///     }
///     fn should_iterate(&mut self, _iteration: u64, changed: u64, _total: &u64) -> bool {
///         changed > 0
///     }
///     fn scatter(&self, _node: Node, cost: &f64, edge: Edge, _before: f64) -> f64 {
///         cost + edge.weight
///     }
///     fn gather(&self, best: &mut Option<f64>, cost: f64) {
///         *best = Some(best.map_or(cost, |best| best.min(cost)));
///     }
///     fn apply(&self, _node: Node, cost: &mut f64, best: &mut Option<f64>, _total: &mut u64) -> bool {
///         let is_better = best.is_some_and(|best| best < *cost);
///         if let (true, Some(best)) = (is_better, *best) { *cost = best; }
///         is_better
///     }
/// }
///
/// let list = EdgeList { sources: &[0, 0, 1], targets: &[1, 2, 2], weights: &[1.0, 5.0, 2.0] };
/// let view = GraphView::from_edges(4, &list, Direction::Out, Sides::Forward, 1);
/// let (graph, interrupt) = (Graph::in_memory(Arc::new(view)), Interrupt::new());
/// let costs = run_vertex_program(&mut Cheapest { source: 0 }, &graph, &Context::in_memory(2, &interrupt))?;
/// assert_eq!(costs.to_vec()?, [0.0, 1.0, 3.0, f64::INFINITY]);
/// # Ok::<(), model::Error>(())
/// ```
pub trait VertexProgram: Sync {
    /// The state that is kept of a node.
    type State: Plain;
    /// The value on an edge, for each end that sends over it. Without anything sent yet it is the default.
    type Value: Plain;
    /// The value that a node gathers before it is updated.
    type Gathered: Default;
    /// Figures of a whole iteration, added up over the nodes in about their order.
    type Total: Default + Send + AddAssign;

    /// True if nodes also send over the edges that lead to them. In an undirected graph every edge leads both ways as
    /// it is, and this changes nothing.
    const BOTH_WAYS: bool = false;
    /// True if a node may be left out of an iteration if no node that it receives from has changed in the one before.
    const ONLY_CHANGED: bool = false;
    /// True if `scatter` looks at weights.
    const USES_WEIGHTS: bool = false;
    /// True if `scatter` looks at the value that it sent before over the same edge.
    const USES_VALUES: bool = false;

    /// The state of a node before the first iteration.
    fn start(&self, node: Node, total: &mut Self::Total) -> Self::State;

    /// True if a node has something to send in the first iteration. To be written where [`VertexProgram::ONLY_CHANGED`]
    /// is true and few have: before a node has sent for the first time, the others may receive nothing from it.
    fn is_new(&self, _node: Node, _state: &Self::State) -> bool {
        true
    }

    /// True to go on. Asked before each iteration, with the number of nodes that the iteration before changed, and its
    /// total. For the first, numbered 0, that is the number of new nodes, and the total of `start`.
    fn should_iterate(&mut self, iteration: u64, changed: u64, total: &Self::Total) -> bool;

    /// The value that a node puts onto an edge. It is only kept, not necessarily asked for again, while the node does
    /// not change.
    fn scatter(&self, node: Node, state: &Self::State, edge: Edge, before: Self::Value) -> Self::Value;

    /// Adds a value on an edge to what a node has gathered.
    fn gather(&self, gathered: &mut Self::Gathered, value: Self::Value);

    /// Updates a node; true if it changed.
    fn apply(
        &self,
        node: Node,
        state: &mut Self::State,
        gathered: &mut Self::Gathered,
        total: &mut Self::Total,
    ) -> bool;

    /// Makes ready for the next node. To be written where what was gathered has memory to keep.
    fn clear(&self, gathered: &mut Self::Gathered) {
        *gathered = Self::Gathered::default();
    }
}

/// Runs a vertex program over a graph that has forward rows; gives the states of all nodes.
///
/// States and values lie in temporary files with [`Execution::Windows`](crate::Execution::Windows), and then nothing is
/// assumed to fit into memory but the states of one interval of nodes; the interval is as long as the workspace allows.
pub fn run_vertex_program<'a, P: VertexProgram>(
    program: &mut P,
    graph: &Graph<'_>,
    context: &Context<'a>,
) -> Result<States<'a, P::State>> {
    guarded(|| {
        let (plan, held) = Plan::of::<P>(graph, context)?;
        let shards = match P::USES_WEIGHTS {
            true => build::<f64>(graph, plan.layout, plan.bytes, context)?,
            false => build::<()>(graph, plan.layout, plan.bytes, context)?,
        };
        let mut machine = Machine::<P>::new(&shards, &plan, context)?;
        let (mut changed, mut totals) = machine.start(program)?;
        let mut iteration = 0;
        while program.should_iterate(iteration, changed, &totals) {
            context.interrupt.check()?;
            context.interrupt.step(iteration, 0)?;
            machine.scatter(program)?;
            (changed, totals) = machine.gather(program)?;
            iteration += 1;
        }
        drop(held);
        Ok(machine.into_states())
    })
}
