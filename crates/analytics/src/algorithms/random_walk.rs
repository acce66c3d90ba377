//! Random walks: a number of walks from each node, each step along a random edge.
//!
//! Claim: a step from v, with the node t before it, goes to x in proportion to the weight of the edge v→x (1 without
//! weights) times 1/`returnFactor` if x is t, 1 if there is an edge t→x, and 1/`inOutFactor` otherwise; the first step
//! in proportion to the weight alone. A walk has `walkLength` nodes, or fewer if no edge of any weight leads on. The
//! same seed gives the same walks, whatever the number of threads and whichever other nodes are asked for.
//! Cost: a step draws a few times, and with weights or factors searches rows in the logarithm of their length. Walks
//! are handed on as they are made; factors need a sorted copy of the rows, weights 8 bytes an edge.
//! After: Grover, Leskovec, "node2vec: scalable feature learning for networks", 2016; Yang, Zhang, Chen, Li, Xu, Chen,
//! "KnightKing: a fast distributed graph random walk engine", 2019 (drawing by rejection).

mod walker;

use std::sync::Arc;

use model::error::Result;
use model::id::NodeId;
use model::limits::LIST_ELEMENTS_MAX;
use model::procedure::RowSink;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::{Execution, Graph};
use crate::graph_view::{GraphView, Sides};
use crate::held::SearchContext;
use crate::long_rows::LongRows;
use crate::parallel::{even_ranges, map_tasks};
use crate::procedure::column;
use crate::random::Random;
use crate::search::path::path_of;
use crate::settings::kind::{Flag, Integer, Nodes, Number, Seed};
use crate::settings::table::{Fixed, Setting, Unset};
use crate::settings::{Settings, shared};
use walker::Walker;

static SOURCE_NODES: Setting<Nodes, Unset> = shared::source_nodes("all nodes", "Nodes where walks begin.");
static WALK_LENGTH: Setting<Integer, Fixed<u64>> =
    Setting::new("walkLength", Integer(2), Fixed(80), "Number of nodes on a walk, including the first.");
static WALKS_PER_NODE: Setting<Integer, Fixed<u64>> =
    Setting::new("walksPerNode", Integer(1), Fixed(10), "Number of walks from each node.");
static IN_OUT_FACTOR: Setting<Number, Fixed<f64>> = Setting::new(
    "inOutFactor",
    Number::POSITIVE,
    Fixed(1.0),
    "Above 1, walks stay near the node before; q of node2vec. Must not be 0.",
);
static RETURN_FACTOR: Setting<Number, Fixed<f64>> = Setting::new(
    "returnFactor",
    Number::POSITIVE,
    Fixed(1.0),
    "Above 1, walks go back less often; p of node2vec. Must not be 0.",
);
static RANDOM_SEED: Setting<Seed, Fixed<u64>> =
    Setting::new("randomSeed", Seed, Fixed(0), "Seed of the random numbers that decide the walks.");
static WITH_PATHS: Setting<Flag, Fixed<bool>> = Setting::new(
    "withPaths",
    Flag,
    Fixed(false),
    "Returns each walk as a path as well, for which the store is read again.",
);

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The nodes at which walks begin; empty for all nodes.
    pub sources: Vec<NodeId>,
    /// Nodes of a walk, its first one counted.
    pub walk_length: usize,
    /// Walks from each node.
    pub walks_per_node: u64,
    /// Above 1, walks go back less.
    pub return_factor: f64,
    /// Above 1, walks stay near.
    pub in_out_factor: f64,
    /// Seed of the walks.
    pub seed: u64,
    /// True if rows have the relationships that were followed.
    pub with_paths: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            sources: Vec::new(),
            walk_length: WALK_LENGTH.default.0 as usize,
            walks_per_node: WALKS_PER_NODE.default.0,
            return_factor: RETURN_FACTOR.default.0,
            in_out_factor: IN_OUT_FACTOR.default.0,
            seed: RANDOM_SEED.default.0,
            with_paths: WITH_PATHS.default.0,
        }
    }
}

/// Walks that a task makes at most.
const WALKS_PER_TASK: u64 = 64;
/// Approximate number of nodes of walks that are held before they are handed on.
const NODES_HELD: u64 = 1 << 20;

/// Walks from nodes of a view that has forward rows: gives them in order, from each node the walks one after another, a
/// batch at a time. Ends when `take` says that no more are wanted.
pub fn run(
    view: &GraphView,
    config: &Config,
    sources: &[u32],
    threads: usize,
    context: SearchContext<'_>,
    mut take: impl FnMut(Vec<Vec<u32>>) -> Result<bool>,
) -> Result<()> {
    let walker = Walker::new(view, config, threads)?;
    let total = (sources.len() as u64).saturating_mul(config.walks_per_node);
    // Long walks are made one after another where memory is short; a list grows to twice its length at most.
    let walk_bytes = 2 * size_of::<u32>() * config.walk_length;
    let fit = (context.workspace.bytes_free() / 2 / walk_bytes.max(1)) as u64;
    let tasks_at_once = (4 * threads as u64).min(fit).max(1);
    let each = (NODES_HELD / config.walk_length as u64 / tasks_at_once).clamp(1, WALKS_PER_TASK);
    let batch = each * tasks_at_once;
    let mut held = context.held();
    let mut start = 0;
    while start < total {
        let interrupt = context.interrupt;
        interrupt.report(start, total);
        held.resize(walk_bytes.saturating_mul(batch.min(total - start) as usize))?;
        let walks = (batch.min(total - start)) as usize;
        let tasks = even_ranges(walks, walks.div_ceil(each as usize), 1);
        let done = map_tasks(threads, tasks, |range| -> Result<Vec<Vec<u32>>> {
            let mut walks = Vec::with_capacity(range.len());
            for walk in range.start as u64 + start..range.end as u64 + start {
                let source = sources[(walk / config.walks_per_node) as usize];
                let key = u64::from(source).wrapping_mul(config.walks_per_node) + walk % config.walks_per_node;
                walks.push(walker.walk(source, &mut Random::of(config.seed, key), interrupt)?);
            }
            Ok(walks)
        });
        let made = done.into_iter().collect::<Result<Vec<_>>>()?;
        if !take(made.into_iter().flatten().collect())? {
            break;
        }
        start += batch;
    }
    context.interrupt.report(total, total);
    Ok(())
}

/// Checks a walk against the rows: every step is along an edge, and it ends early only where no edge leads on.
///
/// The view must have forward rows.
pub fn verify(view: &GraphView, config: &Config, walk: &[u32]) -> Result<()> {
    let rows = view.forward();
    let could_step = |node: u32| {
        !rows.neighbors(node).is_empty()
            && (!rows.has_weights() || rows.weights(node).iter().any(|&weight| weight > 0.0))
    };
    if let Some(step) = walk.windows(2).find(|step| !rows.neighbors(step[0]).contains(&step[1])) {
        return Err(model::error!(Internal, "a walk steps from node {} to {}, without an edge", step[0], step[1]));
    }
    match walk.last() {
        Some(&last) if walk.len() == config.walk_length || walk.len() < config.walk_length && !could_step(last) => {
            Ok(())
        }
        _ => Err(model::error!(Internal, "a walk has {} nodes, expected {}", walk.len(), config.walk_length)),
    }
}

fn source_numbers(graph: &Graph<'_>, config: &Config) -> Result<Vec<u32>> {
    if config.sources.is_empty() {
        return Ok((0..graph.node_count() as u32).collect());
    }
    config.sources.iter().map(|&node| graph.require(node, SOURCE_NODES.name)).collect()
}

/// A factor, which must be greater than 0.
fn factor(settings: &Settings<'_>, setting: &'static Setting<Number, Fixed<f64>>) -> Result<f64> {
    let (name, factor) = (setting.name, settings.get(setting)?);
    if factor == 0.0 || !(1.0 / factor).is_finite() {
        return Err(settings.refuse(&format!("setting '{name}' is {factor}, expected a number greater than 0")));
    }
    Ok(factor)
}

/// `algo.randomWalk`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "randomWalk",
        aliases: &["gds.randomWalk"],
        description: "Walks along random relationships from each node.",
        settings: &[
            &SOURCE_NODES, &WALK_LENGTH, &WALKS_PER_NODE, &IN_OUT_FACTOR, &RETURN_FACTOR, &RANDOM_SEED, &WITH_PATHS,
        ],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[column("nodes", "LIST<NODE>"), column("path", "PATH?")],
        stats: &[column("walkCount", "INTEGER"), column("stepCount", "INTEGER")],
        shape: Shape::Rows,
    };

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Config> {
        let length = settings.get(&WALK_LENGTH)?;
        if length > LIST_ELEMENTS_MAX as u64 {
            return Err(settings.refuse(&format!(
                "setting 'walkLength' is {length}, expected at most {LIST_ELEMENTS_MAX}, the longest that a list may be"
            )));
        }
        Ok(Config {
            sources: settings.get(&SOURCE_NODES)?.unwrap_or_default(),
            walk_length: length as usize,
            walks_per_node: settings.get(&WALKS_PER_NODE)?,
            return_factor: factor(settings, &RETURN_FACTOR)?,
            in_out_factor: factor(settings, &IN_OUT_FACTOR)?,
            seed: settings.get(&RANDOM_SEED)?,
            with_paths: settings.get(&WITH_PATHS)?,
        })
    }

    fn needs(config: &Config, is_weighted: bool) -> Needs {
        let of_weights = if is_weighted { size_of::<f64>() } else { 0 };
        let of_factors = if walker::is_first_order(config) { 0 } else { size_of::<u32>() };
        Needs {
            sides: Sides::Forward,
            node_bytes: size_of::<u32>(),
            edge_bytes: of_weights + of_factors,
            executions: &[Execution::Memory],
        }
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let sources = source_numbers(graph, config)?;
        let (mut walks, mut steps) = (0, 0);
        self::run(graph.in_memory_only()?, config, &sources, run.threads, run.context(), |made| {
            walks += made.len();
            steps += made.iter().map(|walk| walk.len() - 1).sum::<usize>();
            Ok(true)
        })?;
        Ok(Outcome {
            columns: Vec::new(),
            order: RowOrder::ByNumber,
            stats: vec![Value::Int(walks as i64), Value::Int(steps as i64)],
        })
    }

    fn send(graph: &Graph<'_>, config: &Config, run: &Run<'_>, sink: &mut RowSink<'_>) -> Result<()> {
        let sources = source_numbers(graph, config)?;
        let selection = run.selection;
        let mut rows = LongRows::new(2, run.workspace, sink);
        self::run(graph.in_memory_only()?, config, &sources, run.threads, run.context(), |made| {
            for walk in made {
                run.interrupt.check()?;
                // A path has a node and an edge for each node of the list.
                let elements = walk.len() * if config.with_paths { 3 } else { 1 };
                let goes_on = rows.push(elements, || {
                    let nodes: Vec<NodeId> = walk.iter().map(|&number| graph.node(number)).collect();
                    let list = Value::list(nodes.iter().map(|&node| Value::Node(node)).collect());
                    if !config.with_paths {
                        return Ok(vec![list, Value::Null]);
                    }
                    let path = path_of(selection.view, selection.projection, selection.weight, nodes)?;
                    Ok(vec![list, Value::Path(Arc::new(path))])
                })?;
                if !goes_on {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        rows.flush().map(drop)
    }
}
