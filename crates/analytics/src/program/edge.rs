//! Edge programs: what an edge carries from its source to the accumulator of its target, and what a node makes of it.
//!
//! With states in memory, either every node pulls over its backward rows, or the few nodes that have changed push over
//! their forward rows; with states on disk, see [`super::windows::edges`].
//! Cost: an iteration reads the edges once, 4 bytes each (12 with weights), or only those of nodes that have changed.
//! After: Zhu, Han, Chen, "GridGraph", 2015; Roy, Mihailovic, Zwaenepoel, "X-Stream", 2013.

use std::ops::Range;

use model::column::Bitmap;
use model::error::Result;

use super::windows::edges;
use super::{Context, Node, guarded};
use crate::graph::{Graph, Rows, Side};
use crate::graph_view::Sides;
use crate::parallel::{map_tasks, split_mut};
use crate::scratch::plain::Plain;

/// A program that works on one edge at a time: three functions, and where nodes begin.
///
/// ```
/// use std::sync::Arc;
/// use analytics::program::{Context, EdgeProgram, Node, edge_program_sides, run_edge_program};
/// use analytics::{EdgeList, Graph, GraphView};
/// use model::{Direction, Interrupt};
///
/// /// PageRank, where no node is without edges; a state is a score and how many edges share it.
/// struct PageRank { iterations: u64, nodes: f64 }
///
/// impl EdgeProgram for PageRank {
///     type State = (f64, u32);
///     type Accumulator = f64;
///
///     fn start(&self, node: Node) -> (f64, u32) {
///         (1.0 / self.nodes, node.degree)
///     }
///     fn should_iterate(&mut self, iteration: u64, _changed: u64) -> bool {
///         iteration < self.iterations
///     }
///     fn process_edge(&self, &(score, degree): &(f64, u32), _weight: f64, sum: &mut f64) {
///         *sum += score / f64::from(degree);
///     }
///     fn update_node(&self, _node: Node, state: &mut (f64, u32), sum: f64) -> bool {
///         state.0 = 0.15 / self.nodes + 0.85 * sum;
///         true
///     }
/// }
///
/// let list = EdgeList { sources: &[0, 0, 1, 2], targets: &[1, 2, 2, 0], weights: &[] };
/// let sides = edge_program_sides::<PageRank>();
/// let graph = Graph::in_memory(Arc::new(GraphView::from_edges(3, &list, Direction::Out, sides, 1)));
/// let (interrupt, mut program) = (Interrupt::new(), PageRank { iterations: 50, nodes: 3.0 });
/// let states = run_edge_program(&mut program, &graph, &Context::in_memory(2, &interrupt))?;
/// assert!((states.iter().map(|(score, _)| score).sum::<f64>() - 1.0).abs() < 1e-9);
/// assert!(states[2].0 > states[1].0);
/// # Ok::<(), model::Error>(())
/// ```
pub trait EdgeProgram: Sync {
    /// The state that is kept of a node.
    type State: Plain;
    /// The value that gathers at a node in an iteration. The result must not depend on the order of edges, except for
    /// rounding.
    type Accumulator: Default + Clone + Send;

    /// True if only edges from nodes that the iteration before changed matter: others are then not processed, and nodes
    /// that none of these edges leads to are not updated.
    const ONLY_CHANGED: bool = false;
    /// True if `process_edge` looks at weights; without them, or with a graph that has none, every edge weighs 1.
    const USES_WEIGHTS: bool = false;

    /// The state of a node before the first iteration.
    fn start(&self, node: Node) -> Self::State;

    /// True if a node counts as changed in the first iteration.
    fn is_new(&self, _node: Node, _state: &Self::State) -> bool {
        true
    }

    /// True to go on. Asked before each iteration, with the number of nodes that the one before changed; before the
    /// first, the number of new ones.
    fn should_iterate(&mut self, iteration: u64, changed: u64) -> bool;

    /// Carries the state of an edge's source to its target.
    fn process_edge(&self, source: &Self::State, weight: f64, accumulator: &mut Self::Accumulator);

    /// Makes the new state of a node; true if it is another.
    fn update_node(&self, node: Node, state: &mut Self::State, accumulator: Self::Accumulator) -> bool;
}

/// The rows that a graph in memory should have for a program: backward ones to pull, and forward ones to push.
pub fn edge_program_sides<P: EdgeProgram>() -> Sides {
    if P::ONLY_CHANGED { Sides::ForwardAndBackward } else { Sides::Backward }
}

/// Runs an edge program over a graph; gives the states of all nodes.
///
/// With [`Execution::Windows`](crate::Execution::Windows) states lie in temporary files while it runs, and nothing is
/// assumed to fit into memory but those of one interval of nodes.
pub fn run_edge_program<P: EdgeProgram>(
    program: &mut P,
    graph: &Graph<'_>,
    context: &Context<'_>,
) -> Result<Vec<P::State>> {
    guarded(|| match context.is_on_disk() {
        true => edges::run(program, graph, context)?.to_vec(),
        false => Pass::new(program, graph, context)?.run(program),
    })
}

/// Pieces of nodes for each thread.
const PIECES_PER_THREAD: usize = 16;
/// If fewer than this part of all nodes have changed, they push.
const PUSH_SHARE: u64 = 20;

/// A run with states in memory.
struct Pass<'p, S> {
    rows: &'p dyn Rows,
    context: &'p Context<'p>,
    degrees: Vec<u32>,
    states: Vec<S>,
    changed: Bitmap,
    can_push: bool,
    can_pull: bool,
}

impl<'p, S: Plain> Pass<'p, S> {
    fn new<P: EdgeProgram<State = S>>(
        program: &P,
        graph: &'p Graph<'_>,
        context: &'p Context<'p>,
    ) -> Result<Pass<'p, S>> {
        let degrees = graph.forward_degrees(context.threads, context.interrupt)?;
        let nodes = || degrees.iter().zip(0..).map(|(&degree, number)| Node { number, degree });
        let states: Vec<S> = nodes().map(|node| program.start(node)).collect();
        let changed: Bitmap = nodes().zip(&states).map(|(node, state)| program.is_new(node, state)).collect();
        let (can_push, can_pull) = match graph.view() {
            Some(view) => (P::ONLY_CHANGED && view.find_forward().is_some(), view.find_backward().is_some()),
            None => (P::ONLY_CHANGED, true),
        };
        if !can_push && !can_pull {
            return Err(model::error!(Argument, "an edge program was given a graph without backward rows")
                .with_remedy("build the view with the sides that 'edge_program_sides' names"));
        }
        Ok(Pass { rows: graph.rows(), context, degrees, states, changed, can_push, can_pull })
    }

    fn run<P: EdgeProgram<State = S>>(mut self, program: &mut P) -> Result<Vec<S>> {
        let mut changed = self.changed.count_ones() as u64;
        let mut iteration = 0;
        while program.should_iterate(iteration, changed) {
            self.context.interrupt.check()?;
            self.context.interrupt.step(iteration, 0)?;
            let is_small = changed < self.states.len() as u64 / PUSH_SHARE;
            let lists = match self.can_push && (is_small || !self.can_pull) {
                true => self.push(program)?,
                false => self.pull(program)?,
            };
            changed = lists.iter().map(|list| list.len() as u64).sum();
            if P::ONLY_CHANGED {
                self.changed = Bitmap::filled(self.states.len(), false);
                lists.iter().flatten().for_each(|&node| self.changed.set(node as usize, true));
            }
            iteration += 1;
        }
        Ok(self.states)
    }

    fn node(&self, number: usize) -> Node {
        Node { number: number as u32, degree: self.degrees[number] }
    }

    /// Lets every node gather over the edges that lead to it; gives the nodes that changed.
    fn pull<P: EdgeProgram<State = S>>(&mut self, program: &P) -> Result<Vec<Vec<u32>>> {
        let mut next = self.states.clone();
        let ranges = self.rows.pieces(Side::Backward, PIECES_PER_THREAD * self.context.threads);
        // Pieces may come in an order that reads well; the states of each are cut out of one slice in order.
        let mut in_order = ranges.clone();
        in_order.sort_unstable_by_key(|range| range.start);
        let tasks: Vec<_> = in_order.iter().cloned().zip(split_mut(&mut next, &in_order)).collect();
        let done = map_tasks(self.context.threads, tasks, |(range, states)| -> Result<Vec<u32>> {
            let mut found = Vec::new();
            self.rows.scan(Side::Backward, range.clone(), None, &mut |block| {
                self.context.interrupt.check()?;
                for (row, (number, sources)) in block.rows().enumerate() {
                    let mut accumulator = P::Accumulator::default();
                    let weights = if P::USES_WEIGHTS { block.weights(row) } else { &[] };
                    let is_reached = self.gather(program, sources, weights, &mut accumulator);
                    if P::ONLY_CHANGED && !is_reached {
                        continue;
                    }
                    let state = &mut states[number as usize - range.start];
                    if program.update_node(self.node(number as usize), state, accumulator) {
                        found.push(number);
                    }
                }
                Ok(())
            })?;
            Ok(found)
        });
        let lists = done.into_iter().collect();
        self.states = next;
        lists
    }

    /// Processes the edges that lead to a node; whether there were any that matter.
    #[inline]
    fn gather<P: EdgeProgram<State = S>>(
        &self,
        program: &P,
        sources: &[u32],
        weights: &[f64],
        accumulator: &mut P::Accumulator,
    ) -> bool {
        let mut is_reached = false;
        for (at, &source) in sources.iter().enumerate() {
            if !P::ONLY_CHANGED || self.changed.get(source as usize) {
                let weight = if weights.is_empty() { 1.0 } else { weights[at] };
                program.process_edge(&self.states[source as usize], weight, accumulator);
                is_reached = true;
            }
        }
        is_reached
    }

    /// Lets the nodes that have changed send over their edges; gives the nodes that change.
    fn push<P: EdgeProgram<State = S>>(&mut self, program: &P) -> Result<Vec<Vec<u32>>> {
        let done = map_tasks(self.context.threads, self.groups(), |(targets, parts)| -> Result<Vec<(u32, S)>> {
            let mut accumulators: Vec<Option<P::Accumulator>> = vec![None; targets.len()];
            for part in parts {
                self.rows.scan_part(Side::Forward, part, Some(&self.changed), &mut |block| {
                    self.context.interrupt.check()?;
                    for (row, (source, neighbors)) in block.rows().enumerate() {
                        if !self.changed.get(source as usize) {
                            continue;
                        }
                        let weights = if P::USES_WEIGHTS { block.weights(row) } else { &[] };
                        for (at, &target) in neighbors.iter().enumerate() {
                            let weight = if weights.is_empty() { 1.0 } else { weights[at] };
                            let accumulator = accumulators[target as usize - targets.start].get_or_insert_default();
                            program.process_edge(&self.states[source as usize], weight, accumulator);
                        }
                    }
                    Ok(())
                })?;
            }
            let mut found = Vec::new();
            for (number, accumulator) in targets.zip(accumulators) {
                let Some(accumulator) = accumulator else { continue };
                let mut state = self.states[number];
                if program.update_node(self.node(number), &mut state, accumulator) {
                    found.push((number as u32, state));
                }
            }
            Ok(found)
        });
        let mut lists = Vec::with_capacity(done.len());
        for updates in done {
            let updates = updates?;
            updates.iter().for_each(|&(number, state)| self.states[number as usize] = state);
            lists.push(updates.into_iter().map(|(number, _)| number).collect());
        }
        Ok(lists)
    }

    /// The parts of the forward rows by the targets that they lead to; the targets of groups do not overlap.
    fn groups(&self) -> Vec<(Range<usize>, Vec<usize>)> {
        let mut parts: Vec<(Range<usize>, usize)> = (0..self.rows.part_count(Side::Forward))
            .map(|part| (self.rows.part_neighbors(Side::Forward, part), part))
            .collect();
        parts.sort_by_key(|(targets, part)| (targets.start, *part));
        let mut groups: Vec<(Range<usize>, Vec<usize>)> = Vec::new();
        for (targets, part) in parts {
            match groups.last_mut() {
                Some((all, list)) if targets.start < all.end => {
                    all.end = all.end.max(targets.end);
                    list.push(part);
                }
                _ => groups.push((targets, vec![part])),
            }
        }
        groups
    }
}
