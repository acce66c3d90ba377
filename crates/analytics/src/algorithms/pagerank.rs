//! PageRank: how likely a walker is to be at each node who follows a random edge with probability `dampingFactor`,
//! and otherwise, or where no edge leads on, goes to a random node.
//!
//! Claim: the scores of LDBC Graphalytics, which sum to 1: score(v) = (1 − d)/n + d · (Σ score(u)/degree(u) over edges
//! u→v + Σ score(w)/n over nodes w without edges), from 1/n each, until `maxIterations` or until an iteration changes
//! all scores together by less than `tolerance`. Sums are kept in 64-bit floats. What a node gives to each neighbor is
//! rounded to a 32-bit float (relative error 6e-8), which moves a score by at most 6e-8/(1 − d) of itself, 4e-7 for
//! the default; with a tolerance above 0 and below 1e-7 nothing is rounded. With weights, or with `sourceNodes` to
//! return to, the general form is computed: see `pagerank/general.rs`.
//! A score is kept as what the node gives to each neighbor, times their number.
//! Cost: per iteration one pass over the in-edges, 4 bytes each, and one random read of 4 bytes an edge. Of the state only
//! what a node gives to each neighbor must lie in memory, 4 bytes a node: see `pagerank/state.rs`.
//! After: Page, Brin, Motwani, Winograd, "The PageRank citation ranking", 1999; Beamer, Asanović, Patterson,
//! "The GAP benchmark suite", 2015 (pulling); LDBC Graphalytics 1.0.1, section 2.3.2 (nodes without edges).

pub mod general;
mod state;
mod windowed;

use model::column::{Column, ColumnData};
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::limits::WEIGHT_MAX;
use model::procedure::Workspace;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, JobOf, JobPlan, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::RANK;
use crate::graph::{Execution, Graph, Rows, Side, Work};
use crate::graph_view::{GraphView, Sides};
use crate::procedure::column;
use crate::program::Plain;
use crate::projection::is_cost;
use crate::settings::kind::{Integer, Nodes, Number, Numbers};
use crate::settings::table::{Fixed, Setting, Table, Unset};
use crate::settings::{Settings, shared};
use general::Formula;
use state::{Piece, State};

static DAMPING_FACTOR: Setting<Number, Fixed<f64>> =
    Setting::new("dampingFactor", Number::PART, Fixed(0.85), "Probability that the walk follows a relationship.");
static MAX_ITERATIONS: Setting<Integer, Fixed<u64>> = shared::max_iterations(20);
static TOLERANCE: Setting<Number, Fixed<f64>> = shared::tolerance(
    1e-7,
    "The run stops when an iteration changes the scores by less than this in total. `0` runs all iterations.",
);
static SOURCE_NODES: Setting<Nodes, Unset> =
    shared::source_nodes("all nodes", "Nodes to which the walk returns: personalized ranks.");
static SOURCE_WEIGHTS: Setting<Numbers, Unset> = Setting::new(
    "sourceWeights",
    Numbers,
    Unset("equal"),
    "A weight for each node of `sourceNodes`: the walk returns to nodes in proportion to their weights.",
);
/// The settings of random walks that rank.
pub(super) const WALK: Table = &[&DAMPING_FACTOR, &MAX_ITERATIONS, &TOLERANCE, &SOURCE_NODES];

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The probability of following an edge.
    pub damping_factor: f64,
    /// Iterations after which to stop in any case.
    pub max_iterations: u64,
    /// Change of all scores together below which to stop.
    pub tolerance: f64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            damping_factor: DAMPING_FACTOR.default.0,
            max_iterations: MAX_ITERATIONS.default.0,
            tolerance: TOLERANCE.default.0,
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct PageRank {
    /// For each node of the view, its score.
    pub scores: Vec<f64>,
    /// Iterations done.
    pub iterations: u64,
    /// Sum of the changes of all scores in the last iteration.
    pub change: f64,
    /// True if that was below the tolerance.
    pub did_converge: bool,
}

/// Pieces for each thread: enough to even out, few enough to hand out cheaply.
const PIECES_PER_THREAD: usize = 16;
/// The same where state lies in files: a thread holds some numbers for each node of a piece.
const SPILLED_PIECES_PER_THREAD: usize = 32;
/// Edges below which one thread does all.
const EDGES_PER_THREAD_MIN: usize = 1 << 16;
/// A tolerance below this needs shares in full precision.
const ROUNDED_TOLERANCE_MIN: f64 = 1e-7;

/// The share that a node gives to each of its neighbors, in the precision asked for.
trait Share: Plain {
    fn from_f64(share: f64) -> Self;
    fn to_f64(self) -> f64;
}

impl Share for f32 {
    #[inline]
    fn from_f64(share: f64) -> f32 {
        share as f32
    }
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Share for f64 {
    #[inline]
    fn from_f64(share: f64) -> f64 {
        share
    }
    #[inline]
    fn to_f64(self) -> f64 {
        self
    }
}

impl Config {
    pub(crate) fn is_rounded(&self) -> bool {
        !(self.tolerance > 0.0 && self.tolerance < ROUNDED_TOLERANCE_MIN)
    }
}

/// With what a run works, and what it gives.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    threads: usize,
    /// The place of the state that need not lie in memory; `None` if it is to lie there.
    workspace: Option<&'a dyn Workspace>,
    gives_scores: bool,
}

impl Means<'_> {
    /// Means with `threads` threads, with all state in memory; the run gives scores.
    pub fn threads(threads: usize) -> Means<'static> {
        Means { threads, workspace: None, gives_scores: true }
    }
}

/// Ranks the nodes of a graph that has backward rows.
pub fn run(graph: &Graph<'_>, config: &Config, means: Means<'_>, interrupt: &Interrupt) -> Result<PageRank> {
    if config.is_rounded() {
        iterate::<f32>(graph, config, means, interrupt)
    } else {
        iterate::<f64>(graph, config, means, interrupt)
    }
}

fn iterate<S: Share>(graph: &Graph<'_>, config: &Config, means: Means<'_>, interrupt: &Interrupt) -> Result<PageRank> {
    let Means { threads, workspace, gives_scores } = means;
    let node_count = graph.node_count();
    let threads = threads.min(graph.edge_count() as usize / EDGES_PER_THREAD_MIN + 1);
    let degrees = graph.forward_degrees(threads, interrupt)?;
    let start = 1.0 / node_count as f64;
    let mut dangling = start * degrees.iter().filter(|&&degree| degree == 0).count() as f64;
    let pieces = if workspace.is_some() { SPILLED_PIECES_PER_THREAD } else { PIECES_PER_THREAD } * threads;
    let ranges = graph.rows().pieces(Side::Backward, pieces);
    let mut state = State::<S>::new(degrees, start, ranges, (threads, workspace))?;
    let mut found = PageRank { scores: Vec::new(), iterations: 0, change: f64::INFINITY, did_converge: false };

    while found.iterations < config.max_iterations && node_count > 0 {
        interrupt.check()?;
        interrupt.step(found.iterations, config.max_iterations)?;
        let base = (1.0 - config.damping_factor + config.damping_factor * dangling) / node_count as f64;
        let parts = state.step(graph.rows(), threads, |shares, piece| {
            Step { shares, base, damping_factor: config.damping_factor }.pull(graph.rows(), piece, interrupt)
        })?;
        (found.change, dangling) = (0.0, 0.0);
        for (change, left) in parts {
            (found.change, dangling) = (found.change + change, dangling + left);
        }
        found.iterations += 1;
        if found.change < config.tolerance {
            found.did_converge = true;
            break;
        }
    }
    interrupt.report(found.iterations, found.iterations);
    if gives_scores {
        found.scores = state.into_scores()?;
    }
    Ok(found)
}

/// The share that a node with `degree` edges gives along each; its score itself where there is no edge to give it
/// along.
#[inline]
fn share_of<S: Share>(degree: u32, score: f64) -> S {
    S::from_f64(if degree == 0 { score } else { score / f64::from(degree) })
}

/// The score of a node that gives `share` along each of `degree` edges.
#[inline]
fn score_of<S: Share>(degree: u32, share: S) -> f64 {
    share.to_f64() * f64::from(degree.max(1))
}

/// One iteration.
struct Step<'a, S> {
    shares: &'a [S],
    base: f64,
    damping_factor: f64,
}

impl<S: Share> Step<'_, S> {
    /// Works on some rows; gives by how much their scores changed and what nodes without edges hold.
    fn pull(&self, rows: &dyn Rows, piece: Piece<'_, S>, interrupt: &Interrupt) -> Result<(f64, f64)> {
        let (mut change, mut dangling) = (0.0, 0.0);
        let Piece { rows: nodes, degrees, next } = piece;
        let start = nodes.start;
        rows.scan(Side::Backward, nodes, None, &mut |block| {
            interrupt.check()?;
            let first = block.first as usize;
            let at = first - start..first - start + block.len();
            let before = degrees[at.clone()].iter().zip(&self.shares[first..]);
            for (row, (next_share, (&degree, &share))) in next[at].iter_mut().zip(before).enumerate() {
                let received = sum_of(self.shares, block.neighbors(row));
                let score = self.base + self.damping_factor * received;
                change += (score - score_of(degree, share)).abs();
                *next_share = share_of(degree, score);
                if degree == 0 {
                    dangling += score;
                }
            }
            Ok(())
        })?;
        Ok((change, dangling))
    }
}

/// The shares of some nodes added up, in four sums at once, since one addition waits for the one before.
#[inline]
fn sum_of<S: Share>(shares: &[S], nodes: &[u32]) -> f64 {
    let mut sums = [0.0; 4];
    let mut quads = nodes.chunks_exact(4);
    for quad in &mut quads {
        sums[0] += shares[quad[0] as usize].to_f64();
        sums[1] += shares[quad[1] as usize].to_f64();
        sums[2] += shares[quad[2] as usize].to_f64();
        sums[3] += shares[quad[3] as usize].to_f64();
    }
    let rest: f64 = quads.remainder().iter().map(|&node| shares[node as usize].to_f64()).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Checks a result by another method: one exact iteration, pushed along the edges instead of pulled, must change the
/// scores by no more than the last iteration did, damped, and rounding; and the scores must sum to 1.
///
/// The view must have forward rows.
pub fn verify(view: &GraphView, config: &Config, result: &PageRank) -> Result<()> {
    let node_count = view.node_count();
    if node_count == 0 {
        return Ok(());
    }
    let rounding = 1e-6;
    let total: f64 = result.scores.iter().sum();
    if (total - 1.0).abs() > rounding {
        return Err(model::error!(Internal, "pagerank scores sum to {total}, expected 1"));
    }
    let mut received = vec![0.0; node_count];
    let mut dangling = 0.0;
    for (node, &score) in result.scores.iter().enumerate() {
        let neighbors = view.forward().neighbors(node as u32);
        if neighbors.is_empty() {
            dangling += score;
        }
        let share = score / neighbors.len() as f64;
        neighbors.iter().for_each(|&neighbor| received[neighbor as usize] += share);
    }
    let base = (1.0 - config.damping_factor + config.damping_factor * dangling) / node_count as f64;
    let pairs = result.scores.iter().zip(&received);
    let residual: f64 = pairs.map(|(score, received)| (base + config.damping_factor * received - score).abs()).sum();
    let allowed = config.damping_factor * result.change + rounding;
    if residual > allowed {
        return Err(model::error!(
            Internal,
            "one more pagerank iteration changes scores by {residual}, expected {allowed}"
        ));
    }
    Ok(())
}

/// Parameters of a call: a walker who follows no edge goes to one of some nodes, or to any.
#[derive(Clone, Debug, Default)]
pub struct Personalized {
    /// The damping, and the limits at which to stop.
    pub config: Config,
    /// The nodes to return to; empty for all.
    pub sources: Vec<NodeId>,
    /// The weight of each of these nodes relative to the others; empty for equal weights.
    pub source_weights: Vec<f64>,
}

impl Personalized {
    /// The numbers of the nodes to return to, each with its weight.
    pub(super) fn source_numbers(&self, graph: &Graph<'_>) -> Result<Vec<(u32, f64)>> {
        let weights = self.source_weights.iter().copied().chain(std::iter::repeat(1.0));
        self.sources
            .iter()
            .zip(weights)
            .map(|(&node, weight)| Ok((graph.require(node, SOURCE_NODES.name)?, weight)))
            .collect()
    }
}

/// Reads the settings of all random walks that rank.
pub(super) fn read_walk(settings: &Settings<'_>) -> Result<Personalized> {
    let config = Config {
        damping_factor: settings.get(&DAMPING_FACTOR)?,
        max_iterations: settings.get(&MAX_ITERATIONS)?,
        tolerance: settings.get(&TOLERANCE)?,
    };
    let sources = settings.get(&SOURCE_NODES)?.unwrap_or_default();
    Ok(Personalized { config, sources, source_weights: Vec::new() })
}

/// Reads how often the walk returns to each of some nodes.
fn read_source_weights(settings: &Settings<'_>, sources: &[NodeId]) -> Result<Vec<f64>> {
    let source_weights = settings.get(&SOURCE_WEIGHTS)?.unwrap_or_default();
    let is_wrong = |weight: &f64| !is_cost(*weight);
    if !source_weights.is_empty() && (source_weights.iter().any(is_wrong) || source_weights.iter().sum::<f64>() == 0.0)
    {
        let expected = format!("numbers from 0 to {WEIGHT_MAX:e}, not all 0");
        return Err(settings.refuse(&format!("setting 'sourceWeights' must hold {expected}")));
    }
    if !source_weights.is_empty() && source_weights.len() != sources.len() {
        let (weights, nodes) = (source_weights.len(), sources.len());
        return Err(settings.refuse(&format!("{weights} 'sourceWeights' for {nodes} different 'sourceNodes'")));
    }
    Ok(source_weights)
}

/// `algo.pagerank`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Personalized;

    const ABOUT: About = About {
        name: "pagerank",
        aliases: &["algo.pageRank", "gds.pageRank"],
        description: "Ranks nodes by how likely a random walk is to be there.",
        settings: &[&DAMPING_FACTOR, &MAX_ITERATIONS, &TOLERANCE, &SOURCE_NODES, &SOURCE_WEIGHTS],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[column("score", "FLOAT")],
        stats: &[column("ranIterations", "INTEGER"), column("didConverge", "BOOLEAN")],
        shape: Shape::Nodes,
    };

    const JOB: Option<JobOf<Personalized>> = Some(|graph, asked| {
        let (nodes, weights): (Vec<u32>, Vec<f64>) = asked.source_numbers(graph)?.into_iter().unzip();
        let settings = vec![
            ("damping_factor", Value::Float(asked.config.damping_factor)),
            ("max_iterations", Value::Int(asked.config.max_iterations.cast_signed())),
            ("tolerance", Value::Float(asked.config.tolerance)),
            ("sources", Value::list(nodes.into_iter().map(Value::from).collect())),
            ("source_weights", Value::list(weights.into_iter().map(Value::Float).collect())),
        ];
        Ok(JobPlan { settings, names_nodes: false })
    });

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Personalized> {
        let walk = read_walk(settings)?;
        Ok(Personalized { source_weights: read_source_weights(settings, &walk.sources)?, ..walk })
    }

    fn needs(config: &Personalized, is_weighted: bool) -> Needs {
        let share_bytes = if config.config.is_rounded() { size_of::<f32>() } else { size_of::<f64>() };
        let is_general = is_weighted || !config.sources.is_empty();
        // Degrees and shares, then those of the next iteration or the scores.
        let even_bytes = size_of::<u32>() + share_bytes + size_of::<f64>();
        Needs {
            sides: Sides::Backward,
            node_bytes: if is_general { general::NODE_BYTES } else { even_bytes },
            edge_bytes: 0,
            executions: if is_general { &Execution::ALL[..2] } else { &Execution::ALL },
        }
    }

    fn figures_bytes(config: &Personalized, is_weighted: bool) -> Option<usize> {
        let share_bytes = if config.config.is_rounded() { size_of::<f32>() } else { size_of::<f64>() };
        let is_general = is_weighted || !config.sources.is_empty();
        // Degrees, and shares before and after.
        if is_general { None } else { Some(size_of::<u32>() + 2 * share_bytes) }
    }

    fn spilled_bytes(config: &Personalized, is_weighted: bool) -> Option<usize> {
        let share_bytes = if config.config.is_rounded() { size_of::<f32>() } else { size_of::<f64>() };
        let is_general = is_weighted || !config.sources.is_empty();
        // Shares, and the pieces that threads work on.
        if is_general { None } else { Some(share_bytes + 1) }
    }

    fn work(config: &Personalized, is_weighted: bool) -> Option<Work> {
        // Of personal ranks a pass takes more.
        let is_plain = !is_weighted && config.sources.is_empty();
        is_plain.then_some(Work::Passes { count: config.config.max_iterations, kernel: RANK })
    }

    fn run(graph: &Graph<'_>, asked: &Personalized, run: &Run<'_>) -> Result<Outcome> {
        let found = if asked.sources.is_empty() && run.selection.weight.is_none() {
            match run.execution {
                Execution::Windows => windowed::run(graph, &asked.config, run)?,
                Execution::Memory | Execution::Streaming | Execution::Spark => {
                    let workspace = run.spills.then_some(run.workspace);
                    let means = Means { threads: run.threads, workspace, gives_scores: run.gives_values };
                    self::run(graph, &asked.config, means, run.interrupt)?
                }
            }
        } else {
            let sources = asked.source_numbers(graph)?;
            general::run(graph, Formula::PageRank, &asked.config, &sources, run.threads, run.interrupt)?
        };
        let stats = vec![Value::Int(found.iterations.cast_signed()), Value::Bool(found.did_converge)];
        Ok(Outcome { columns: vec![Column::new(ColumnData::Float(found.scores))], order: RowOrder::ByNumber, stats })
    }
}
