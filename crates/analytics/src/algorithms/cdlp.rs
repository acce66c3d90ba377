//! Communities by label propagation: each node takes the label that is most frequent among its neighbors, again and again.
//!
//! Claim: the labels of LDBC Graphalytics' CDLP. Every node begins with its own id for a label. In an iteration all nodes
//! at once take the label most frequent at the other ends of their edges, in-edges and out-edges each counted, the
//! smallest of several; nodes without edges keep theirs. It ends after `maxIterations`, or when an iteration changes
//! nothing.
//! Cost: per iteration one random read of 4 bytes for each end of an edge, and a count. A node none of whose neighbors
//! changed its label is passed over, once few labels change. The first iteration, in which all labels differ, looks for
//! neighbors that come more than once in rows that are sorted. Memory: two labels for each node (those after an iteration,
//! which come in order, may lie in a temporary file), and for each thread the labels around one node and a table of up to 2 MiB.
//! After: Raghavan, Albert, Kumara, "Near linear time algorithm to detect community structures in large-scale networks",
//! 2007; LDBC Graphalytics 1.0.1, section 2.3.4 (synchronous, and so deterministic).

mod windowed;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::column::{Bitmap, Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::procedure::Workspace;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, JobOf, JobPlan, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::VOTE;
use crate::graph::{Execution, Graph, Rows, Work};
use crate::graph_view::{GraphView, Sides};
use crate::huge;
use crate::parallel::split_mut;
use crate::procedure::column;
use crate::rows::pass::map_pass_with;
use crate::settings::kind::Integer;
use crate::settings::table::{Fixed, Setting};
use crate::settings::{Settings, shared};
use crate::spilled::{PieceWriter, Pieces};

static MAX_ITERATIONS: Setting<Integer, Fixed<u64>> = shared::max_iterations(10);

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Iterations after which to stop in any case.
    pub max_iterations: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config { max_iterations: MAX_ITERATIONS.default.0 }
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// For each node the number of the node whose id is its label.
    pub labels: Vec<u32>,
    /// Iterations done.
    pub iterations: u64,
    /// True if the last iteration changed nothing.
    pub did_converge: bool,
}

/// Labels of fewer neighbors than this are sorted, of more counted in a table.
const TABLE_MIN: usize = 24;
/// Labels of more neighbors than this are sorted again, so that a table takes no more than 2 MiB.
const TABLE_MAX: usize = 1 << 17;
/// If the nodes that changed have less than this part of all nodes among them, the next iteration looks only at their
/// neighbors.
const FEW_CHANGES: usize = 16;
/// Labels looked at to guess which one is most frequent.
const SAMPLED_LABELS: usize = 1024;

/// Spreads labels over a graph that has both sides, or is undirected.
pub fn run(graph: &Graph<'_>, config: &Config, threads: usize, interrupt: &Interrupt) -> Result<Labels> {
    spread(graph, config, (threads, None), interrupt)
}

/// The labels after an iteration, while it goes on.
enum Next<'a> {
    /// In memory, with those of the iteration before.
    Held(Vec<u32>),
    /// In temporary files.
    Spilled(&'a dyn Workspace),
}

/// The same with threads, and where labels lie that need not lie in memory, if they are not to.
fn spread(
    graph: &Graph<'_>,
    config: &Config,
    (threads, workspace): (usize, Option<&dyn Workspace>),
    interrupt: &Interrupt,
) -> Result<Labels> {
    let nodes = graph.node_count();
    let pieces = graph.pieces_of_both(threads);
    let mut labels: Vec<u32> = huge::collect(0..nodes as u32);
    let mut next = match workspace {
        Some(workspace) => Next::Spilled(workspace),
        None => Next::Held(huge::collect(0..nodes as u32)),
    };
    let mut active: Option<Bitmap> = None;
    let mut votes: Vec<Votes> = (0..threads).map(|_| Votes::default()).collect();
    let mut found = Labels { labels: Vec::new(), iterations: 0, did_converge: nodes == 0 };
    while found.iterations < config.max_iterations && !found.did_converge {
        interrupt.step(found.iterations, config.max_iterations)?;
        let step = Step {
            graph,
            changes: AtomicUsize::new(0),
            labels: &labels,
            is_first: found.iterations == 0,
            guess: most_frequent(&labels),
            active: active.as_ref(),
            interrupt,
        };
        let changed;
        let changes;
        match &mut next {
            Next::Held(next) => {
                changed = step.run_held(&mut votes, &pieces, next)?;
                changes = step.changes.into_inner();
                std::mem::swap(&mut labels, next);
            }
            Next::Spilled(workspace) => {
                let spilled;
                (changed, spilled) = step.run_spilled(&mut votes, &pieces, *workspace)?;
                changes = step.changes.into_inner();
                spilled.read_all(threads, &mut labels, &pieces)?;
            }
        }
        found.iterations += 1;
        found.did_converge = changes == 0;
        let is_last = found.iterations == config.max_iterations || found.did_converge;
        active = if is_last || changes > nodes / FEW_CHANGES {
            None
        } else {
            let changed = changed.concat();
            if let Next::Held(next) = &mut next {
                // Nodes that the next round skips need their present labels in both arrays.
                changed.iter().for_each(|&node| next[node as usize] = labels[node as usize]);
            }
            Some(graph.neighbors_of(&changed, &pieces, threads, interrupt)?)
        };
    }
    interrupt.report(found.iterations, found.iterations);
    found.labels = labels;
    Ok(found)
}

/// A label that many nodes have, judged by nodes at even distances.
fn most_frequent(labels: &[u32]) -> u32 {
    let mut sample: Vec<u32> = labels.iter().copied().step_by((labels.len() / SAMPLED_LABELS).max(1)).collect();
    most_of_sorted(&mut sample)
}

/// The most frequent of some labels, the smallest of several; they are sorted for it.
fn most_of_sorted(labels: &mut [u32]) -> u32 {
    labels.sort_unstable();
    let (mut best, mut best_count) = (0, 0);
    for run in labels.chunk_by(|a, b| a == b) {
        if run.len() > best_count {
            (best, best_count) = (run[0], run.len());
        }
    }
    best
}

/// One iteration.
struct Step<'a> {
    graph: &'a Graph<'a>,
    /// Nodes whose label changed, so far.
    changes: AtomicUsize,
    labels: &'a [u32],
    is_first: bool,
    guess: u32,
    active: Option<&'a Bitmap>,
    interrupt: &'a Interrupt,
}

impl Step<'_> {
    fn pass(&self) -> (&dyn Rows, Sides) {
        (self.graph.rows(), Sides::ForwardAndBackward)
    }

    /// Fills in the next labels of all pieces; gives for each the nodes whose label changed, as long as all are few.
    fn run_held(&self, votes: &mut [Votes], pieces: &[Range<usize>], next: &mut [u32]) -> Result<Vec<Vec<u32>>> {
        let parts = pieces.iter().cloned().zip(split_mut(next, pieces)).collect();
        let changed = map_pass_with(self.pass(), votes, parts, |votes, (piece, next)| self.run(votes, piece, next));
        changed.into_iter().collect()
    }

    /// The same with the next labels in temporary files.
    fn run_spilled<'w>(
        &self,
        votes: &mut [Votes],
        pieces: &[Range<usize>],
        workspace: &'w dyn Workspace,
    ) -> Result<(Vec<Vec<u32>>, Pieces<'w>)> {
        let writer = PieceWriter::new(workspace, votes.len())?;
        let done = map_pass_with(self.pass(), votes, pieces.to_vec(), |votes, piece| {
            let mut next = self.labels[piece.clone()].to_vec();
            let changed = self.run(votes, piece, &mut next)?;
            Ok((changed, writer.put(&next)?))
        });
        let (changed, spots) = done.into_iter().collect::<Result<Vec<_>>>()?.into_iter().unzip();
        Ok((changed, writer.finish(spots)))
    }

    /// Fills in the next labels of a piece; gives the nodes whose label changed, as long as all of them are few.
    fn run(&self, votes: &mut Votes, piece: Range<usize>, next: &mut [u32]) -> Result<Vec<u32>> {
        let (mut changed, mut changes) = (Vec::new(), 0);
        let start = piece.start;
        let few = (self.labels.len() / FEW_CHANGES).saturating_sub(self.changes.load(Ordering::Relaxed));
        self.graph.scan_both(piece, self.active, self.interrupt, |node, forward, backward| {
            let before = self.labels[node as usize];
            let label = if forward.len() + backward.len() == 0 {
                before
            } else if self.is_first {
                votes.most_of_rows(forward, backward)
            } else {
                votes.most_of_labels(forward, backward, self.labels, self.guess)
            };
            next[node as usize - start] = label;
            if label != before {
                changes += 1;
                if changes <= few {
                    changed.push(node);
                }
            }
        })?;
        let before = self.changes.fetch_add(changes, Ordering::Relaxed);
        // Many are looked for among all nodes again: which ones they are does not matter.
        let are_few = before + changes <= self.labels.len() / FEW_CHANGES;
        Ok(if are_few { changed } else { Vec::new() })
    }
}

/// Counts labels.
#[derive(Default)]
struct Votes {
    buffer: Vec<u32>,
    /// Labels with how often they came, by open addressing; a count of 0 is a free place. All are free between nodes.
    table: Vec<(u32, u32)>,
}

/// Odd, and far from a fraction of small numbers.
const SCATTER: u32 = 0x9E37_79B1;

impl Votes {
    /// The node that comes most often in two rows, the smallest of several.
    fn most_of_rows(&mut self, forward: &[u32], backward: &[u32]) -> u32 {
        if forward.is_sorted() && backward.is_sorted() {
            return most_of_merged(forward, backward);
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(forward);
        self.buffer.extend_from_slice(backward);
        // Rows are a few sorted runs as a rule, which this sort finds.
        self.buffer.sort();
        most_of_merged(&self.buffer, &[])
    }

    /// The label that comes most often among those of two rows, the smallest of several.
    fn most_of_labels(&mut self, forward: &[u32], backward: &[u32], labels: &[u32], guess: u32) -> u32 {
        let Votes { buffer, table } = self;
        buffer.clear();
        buffer.extend(forward.iter().map(|&neighbor| labels[neighbor as usize]));
        buffer.extend(backward.iter().map(|&neighbor| labels[neighbor as usize]));
        let guessed: usize = buffer.iter().map(|&label| usize::from(label == guess)).sum();
        if 2 * guessed > buffer.len() {
            return guess;
        }
        if !(TABLE_MIN..=TABLE_MAX).contains(&buffer.len()) {
            return most_of_sorted(buffer);
        }
        let bits = (2 * buffer.len()).next_power_of_two().trailing_zeros();
        if table.len() < 1 << bits {
            table.resize(1 << bits, (0, 0));
        }
        let table = &mut table[..1 << bits];
        let (mut best, mut best_count) = (u32::MAX, 0);
        for &label in buffer.iter() {
            let mut place = (label.wrapping_mul(SCATTER) >> (u32::BITS - bits)) as usize;
            while table[place].1 != 0 && table[place].0 != label {
                place = (place + 1) & (table.len() - 1);
            }
            let count = table[place].1 + 1;
            table[place] = (label, count);
            if count > best_count || (count == best_count && label < best) {
                (best, best_count) = (label, count);
            }
        }
        table.fill((0, 0));
        best
    }
}

/// The number that comes most often in two ascending lists, the smallest of several.
fn most_of_merged(a: &[u32], b: &[u32]) -> u32 {
    let (mut at_a, mut at_b) = (0, 0);
    let (mut best, mut best_count) = (0, 0);
    let (mut last, mut count) = (u32::MAX, 0);
    while at_a + at_b < a.len() + b.len() {
        let next_a = a.get(at_a).copied().unwrap_or(u32::MAX);
        let next_b = b.get(at_b).copied().unwrap_or(u32::MAX);
        let number = next_a.min(next_b);
        let (is_a, is_b) = (usize::from(next_a == number), usize::from(next_b == number));
        (at_a, at_b) = (at_a + is_a, at_b + is_b);
        count = if number == last { count } else { 0 } + is_a + is_b;
        last = number;
        (best, best_count) = if count > best_count { (number, count) } else { (best, best_count) };
    }
    best
}

/// Checks a result by another method: one more iteration, counted by sorting, gives the same labels, if it converged;
/// otherwise, and in any case, every label is the number of a node of the same weak component, none larger than the
/// largest there.
///
/// The view must have both sides or be undirected.
pub fn verify(view: &GraphView, result: &Labels) -> Result<()> {
    let backward = |node: u32| if view.is_undirected() { &[][..] } else { view.backward().neighbors(node) };
    if result.did_converge {
        for node in 0..view.node_count() as u32 {
            let row = view.forward().neighbors(node).iter().chain(backward(node));
            let mut around: Vec<u32> = row.map(|&neighbor| result.labels[neighbor as usize]).collect();
            let expected = if around.is_empty() { result.labels[node as usize] } else { most_of_sorted(&mut around) };
            let found = result.labels[node as usize];
            if found != expected {
                return Err(model::error!(Internal, "node {node} has label {found}, expected {expected}"));
            }
        }
    }
    let components = super::wcc::run(view, 1, &Interrupt::new())?;
    match (0..)
        .zip(&result.labels)
        .find(|&(node, &label): &(usize, &u32)| components.get(label as usize) != Some(&components[node]))
    {
        Some((node, label)) => {
            Err(model::error!(Internal, "node {node} has label {label}, which no path joins with it"))
        }
        None => Ok(()),
    }
}

/// `algo.cdlp`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "cdlp",
        aliases: &["algo.labelPropagation", "gds.labelPropagation"],
        description: "Finds communities: each node takes the label most frequent among its neighbors, several times.",
        settings: &[&MAX_ITERATIONS],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: false,
        yields: &[column("communityId", "INTEGER")],
        stats: &[
            column("communityCount", "INTEGER"),
            column("ranIterations", "INTEGER"),
            column("didConverge", "BOOLEAN"),
        ],
        shape: Shape::Nodes,
    };

    const JOB: Option<JobOf<Config>> = Some(|_, config| {
        let settings = vec![("max_iterations", Value::Int(config.max_iterations.cast_signed()))];
        Ok(JobPlan { settings, names_nodes: true })
    });

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Config> {
        Ok(Config { max_iterations: settings.get(&MAX_ITERATIONS)? })
    }

    fn needs(_config: &Config, _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::ForwardAndBackward,
            // Labels before and after; then labels, and as ids. Lists of changes are short.
            node_bytes: 3 * size_of::<u32>(),
            edge_bytes: 0,
            executions: &Execution::ALL,
        }
    }

    fn figures_bytes(_config: &Config, _is_weighted: bool) -> Option<usize> {
        // Labels before and after; then labels, and a bit for each that is used.
        Some(2 * size_of::<u32>() + 1)
    }

    fn spilled_bytes(_config: &Config, _is_weighted: bool) -> Option<usize> {
        // Labels, two bits, and the pieces that threads work on; at the end, a bit for each label that is used.
        Some(size_of::<u32>() + 1)
    }

    fn work(config: &Config, _is_weighted: bool) -> Option<Work> {
        Some(Work::Passes { count: config.max_iterations, kernel: VOTE })
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let mut is_used = Bitmap::filled(graph.node_count(), false);
        let mut ids = Vec::new();
        let mut take = |label: u32| {
            is_used.set(label as usize, true);
            if run.gives_values {
                ids.push(graph.node(label).0.cast_signed());
            }
        };
        let found = if run.execution == Execution::Windows {
            let (labels, found) = windowed::run(graph, config, run)?;
            labels.each(|_, label| {
                take(label);
                Ok(())
            })?;
            found
        } else {
            let means = (run.threads, run.spills.then_some(run.workspace));
            let mut found = spread(graph, config, means, run.interrupt)?;
            std::mem::take(&mut found.labels).into_iter().for_each(&mut take);
            found
        };
        let stats = vec![
            Value::Int(is_used.count_ones() as i64),
            Value::Int(found.iterations.cast_signed()),
            Value::Bool(found.did_converge),
        ];
        Ok(Outcome { columns: vec![Column::new(ColumnData::Int(ids))], order: RowOrder::ByNumber, stats })
    }
}

#[cfg(test)]
mod tests {
    use super::{Votes, most_of_merged, most_of_sorted};

    #[test]
    fn every_way_of_counting_finds_the_smallest_of_the_most_frequent() {
        let mut numbers = 12_345_u64;
        let mut next = |bound: u64| {
            numbers = numbers.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (numbers >> 33) % bound
        };
        for round in 0..300 {
            let labels: Vec<u32> = (0..100).map(|_| next(1 + round % 9) as u32).collect();
            let mut row = || (0..next(40)).map(|_| next(100) as u32).collect::<Vec<u32>>();
            let (forward, backward) = (row(), [row(), vec![5]].concat());
            let all = || forward.iter().chain(&backward);
            let mut around: Vec<u32> = all().map(|&node| labels[node as usize]).collect();
            let expected = most_of_sorted(&mut around);
            let mut votes = Votes::default();
            for guess in [0, 1, 99] {
                assert_eq!(votes.most_of_labels(&forward, &backward, &labels, guess), expected);
            }
            let mut nodes: Vec<u32> = all().copied().collect();
            let expected = most_of_sorted(&mut nodes);
            assert_eq!(votes.most_of_rows(&forward, &backward), expected);
            assert_eq!(most_of_merged(&nodes, &[]), expected);
            let mut backward = backward.clone();
            backward.sort_unstable();
            assert_eq!(votes.most_of_rows(&nodes, &backward), most_of_merged(&backward, &nodes));
        }
    }
}
