//! Louvain: communities in which edges weigh more than chance would have it, found by moving nodes one by one and then
//! taking communities for nodes, level by level.
//!
//! Claim: a partition of high modularity, equal to that of a recomputation over all edges; no node of the last level
//! gains by moving. Edges are followed both ways, parallel ones add up, a self-loop counts twice. A community is named
//! by the smallest node id in it. Nodes are looked at in an order drawn from `randomSeed`, in large networks many at once in
//! groups that are the same for any number of threads, so that the same seed gives the same communities whatever that is.
//! Cost: a few looks at each edge in the first level, where 4 bytes are read at a random place and 4 bytes written at
//! another for each; the levels after it are much smaller. Rows of communities: at most 12 bytes an edge.
//! After: Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of communities in large networks", 2008; for the
//! threads see `network/rounds.rs`.

use model::column::{Bitmap, Column};
use model::error::Result;
use model::id::PropertyKeyId;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::MOVE;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{GraphView, Sides};
use crate::many_sources::threads_expected;
use crate::network::{Members, Moving, Network, Partition, by_smallest_node, move_nodes, seeds, unfold};
use crate::procedure::column;
use crate::projection::property_key;
use crate::random::Random;
use crate::settings::Settings;
use crate::settings::kind::{Flag, Integer, Number, Seed, Text};
use crate::settings::shared::{self, GAMMA};
use crate::settings::table::{Fixed, Setting, Unset};

pub(super) static MAX_LEVELS: Setting<Integer, Fixed<u64>> =
    Setting::new("maxLevels", Integer(1), Fixed(10), "Largest number of levels.");
pub(super) static TOLERANCE: Setting<Number, Fixed<f64>> =
    shared::tolerance(1e-4, "The run stops when a level gains less modularity than this.");
pub(super) static RANDOM_SEED: Setting<Seed, Fixed<u64>> =
    Setting::new("randomSeed", Seed, Fixed(0), "Seed of the random numbers that decide the order of nodes.");
pub(super) static SEED_PROPERTY: Setting<Text, Unset> = Setting::new(
    "seedProperty",
    Text,
    Unset("each node is a community"),
    "Integer property of nodes that states the community in which they start.",
);
pub(super) static CONSECUTIVE_IDS: Setting<Flag, Fixed<bool>> = Setting::new(
    "consecutiveIds",
    Flag,
    Fixed(false),
    "Numbers communities from 0. By default the id of a community is the smallest id of its nodes.",
);
pub(super) static MIN_COMMUNITY_SIZE: Setting<Integer, Fixed<u64>> = Setting::new(
    "minCommunitySize",
    Integer(1),
    Fixed(1),
    "Smallest number of nodes of a community that is returned or written.",
);
pub(super) static INCLUDE_INTERMEDIATE_COMMUNITIES: Setting<Flag, Fixed<bool>> = Setting::new(
    "includeIntermediateCommunities",
    Flag,
    Fixed(false),
    "Adds the communities of every level as `intermediateCommunityIds`.",
);
static MAX_ITERATIONS: Setting<Integer, Fixed<u64>> = Setting::new(
    "maxIterations",
    Integer(1),
    Fixed(10),
    "Largest number of times that a level visits each node, on average.",
);

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Levels after which to stop in any case.
    pub max_levels: u64,
    /// Upper bound of the looks at a node in one level, on average.
    pub max_iterations: u64,
    /// Gain of modularity in one level below which to stop.
    pub tolerance: f64,
    /// Resolution: the factor of the expected weight. A greater one gives smaller communities.
    pub gamma: f64,
    /// Seed of the order of nodes.
    pub random_seed: u64,
    /// True to keep the communities of every level.
    pub keeps_levels: bool,
    /// The naming of communities in the result.
    pub naming: Naming,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            max_levels: MAX_LEVELS.default.0,
            max_iterations: MAX_ITERATIONS.default.0,
            tolerance: TOLERANCE.default.0,
            gamma: GAMMA.default.0,
            random_seed: RANDOM_SEED.default.0,
            keeps_levels: false,
            naming: Naming::default(),
        }
    }
}

/// The names of communities, as they come in and as they are shown.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    /// The property that states the communities to start from.
    pub seed: Option<(String, PropertyKeyId)>,
    /// True if communities are numbered from 0 instead of named by a node.
    pub is_consecutive: bool,
    /// Communities of fewer nodes are not shown.
    pub size_min: u64,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Communities {
    /// For each node its community: numbers without gaps.
    pub communities: Vec<u32>,
    /// The communities after each level, if asked for.
    pub levels: Vec<Vec<u32>>,
    /// The modularity after each level, of which the last is that of the result.
    pub modularities: Vec<f64>,
    /// True if it stopped by itself.
    pub did_converge: bool,
}

/// Finds communities in an undirected view with forward rows, from those given or from every node for itself.
pub fn run(
    view: &GraphView,
    config: &Config,
    start: Option<Vec<u32>>,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Communities> {
    let mut network = Network::of_view(view, threads)?;
    let mut last = network.modularity_apart(config.gamma);
    let mut partition = match start {
        Some(communities) => {
            let partition = Partition::new(&network, communities);
            let within = network.within(&partition.communities, threads, interrupt)?;
            last = network.modularity(&partition, &within, config.gamma);
            partition
        }
        None => Partition::singletons(&network),
    };
    let mut found = Communities { communities: (0..view.node_count() as u32).collect(), ..Communities::default() };
    let mut seeds = Random::new(config.random_seed);
    for level in 0..config.max_levels {
        interrupt.step(level, config.max_levels)?;
        let visits_max = (config.max_iterations as usize).saturating_mul(network.node_count());
        let moving = Moving { gamma: config.gamma, visits_max, seed: seeds.next_u64(), threads, interrupt };
        move_nodes(&network, &mut partition, &moving)?;
        let count = partition.renumber();
        unfold(&mut found.communities, &partition.communities);
        if config.keeps_levels {
            found.levels.push(found.communities.clone());
        }
        if count < network.node_count() {
            let members = Members::of(&partition.communities, count);
            network = network.coarsen(&partition.communities, &members, threads, interrupt)?;
            partition = Partition::singletons(&network);
        } else {
            found.did_converge = true;
        }
        // A community of one network becomes a node of the next.
        let modularity = network.modularity_apart(config.gamma);
        found.modularities.push(modularity);
        found.did_converge |= modularity - last < config.tolerance;
        if found.did_converge {
            break;
        }
        last = modularity;
    }
    Ok(found)
}

/// Checks a result by another method: its modularity is the one that a pass over all edges finds.
pub fn verify(view: &GraphView, config: &Config, result: &Communities) -> Result<()> {
    super::modularity::verify(view, &result.communities, config.gamma, result.modularities.last().copied())
}

/// Reads the settings that Louvain and Leiden share.
pub(super) fn read_shared(settings: &Settings<'_>, view: &dyn ReadView) -> Result<Config> {
    let seed = match settings.get(&SEED_PROPERTY)? {
        Some(name) => Some((name.to_string(), property_key(view.schema(), &name)?)),
        None => None,
    };
    Ok(Config {
        max_levels: settings.get(&MAX_LEVELS)?,
        max_iterations: MAX_ITERATIONS.default.0,
        tolerance: settings.get(&TOLERANCE)?,
        gamma: settings.get(&GAMMA)?,
        random_seed: settings.get(&RANDOM_SEED)?,
        keeps_levels: settings.get(&INCLUDE_INTERMEDIATE_COMMUNITIES)?,
        naming: Naming {
            seed,
            is_consecutive: settings.get(&CONSECUTIVE_IDS)?,
            size_min: settings.get(&MIN_COMMUNITY_SIZE)?,
        },
    })
}

/// Bytes that a thread holds for each community, of which there may be as many as nodes.
const THREAD_BYTES: usize = size_of::<f64>() + size_of::<u32>();

/// The needs that Louvain and Leiden have alike.
pub(super) fn shared_needs(config: &Config, more_node_bytes: usize) -> Needs {
    // Strengths, loops, communities, totals, sizes, before and after they are numbered anew, who waits; then the nodes by
    // community, and the network after the first level. Each thread adds up weights by community.
    let level_bytes = if config.keeps_levels { 4 * config.max_levels.min(16) as usize } else { 0 };
    Needs {
        sides: Sides::Forward,
        node_bytes: 104 + THREAD_BYTES * threads_expected() + level_bytes + more_node_bytes,
        edge_bytes: size_of::<u32>() + size_of::<f64>(),
        executions: &[Execution::Memory],
    }
}

/// The communities that a run starts with; `None` if no property states them.
pub(super) fn start(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Option<Vec<u32>>> {
    let Some((name, key)) = &config.naming.seed else { return Ok(None) };
    let (communities, _) = seeds(graph, run.selection.view, (name, *key), run.interrupt)?;
    Ok(Some(communities))
}

/// The rows and figures of communities.
pub(super) fn outcome(graph: &Graph<'_>, config: &Config, found: &Communities) -> Outcome {
    let naming = &config.naming;
    let count = found.communities.iter().max().map_or(0, |&most| most as usize + 1);
    let mut sizes = vec![0_u64; count];
    found.communities.iter().for_each(|&community| sizes[community as usize] += 1);
    let mut names = by_smallest_node(graph, &found.communities, naming.is_consecutive);
    if naming.size_min > 1 {
        let is_large: Bitmap =
            found.communities.iter().map(|&community| sizes[community as usize] >= naming.size_min).collect();
        names = Column::with_validity(names.data, is_large);
    }
    let levels: Vec<Column> =
        found.levels.iter().map(|level| by_smallest_node(graph, level, naming.is_consecutive)).collect();
    let of_levels = |node: usize| Value::list(levels.iter().map(|level| level.value(node)).collect());
    let intermediate = if config.keeps_levels {
        let lists: Vec<Value> = (0..found.communities.len()).map(of_levels).collect();
        Column::from_values(&lists)
    } else {
        Column::nulls(found.communities.len())
    };
    let modularities = found.modularities.iter().map(|&modularity| Value::Float(modularity)).collect();
    let stats = vec![
        Value::Float(found.modularities.last().copied().unwrap_or(0.0)),
        Value::list(modularities),
        Value::Int(found.modularities.len() as i64),
        Value::Int(count as i64),
        Value::Bool(found.did_converge),
    ];
    Outcome { columns: vec![names, intermediate], order: RowOrder::ByNumber, stats }
}

/// The columns of Louvain and Leiden alike.
pub(super) const YIELDS: &[model::procedure::YieldSpec] =
    &[column("communityId", "INTEGER"), column("intermediateCommunityIds", "LIST OF INTEGER")];
/// Their figures.
pub(super) const STATS: &[model::procedure::YieldSpec] = &[
    column("modularity", "FLOAT"),
    column("modularities", "LIST OF FLOAT"),
    column("ranLevels", "INTEGER"),
    column("communityCount", "INTEGER"),
    column("didConverge", "BOOLEAN"),
];

/// `algo.louvain`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "louvain",
        aliases: &["gds.louvain"],
        description: "Finds communities of high modularity, level by level.",
        settings: &[
            &MAX_LEVELS, &TOLERANCE, &GAMMA, &RANDOM_SEED, &SEED_PROPERTY, &CONSECUTIVE_IDS, &MIN_COMMUNITY_SIZE,
            &INCLUDE_INTERMEDIATE_COMMUNITIES, &MAX_ITERATIONS,
        ],
        direction: Follows::Always(Direction::Both),
        takes_weights: true,
        yields: YIELDS,
        stats: STATS,
        shape: Shape::Nodes,
    };

    fn read(settings: &Settings<'_>, view: &dyn ReadView) -> Result<Config> {
        let shared = read_shared(settings, view)?;
        Ok(Config { max_iterations: settings.get(&MAX_ITERATIONS)?, ..shared })
    }

    fn needs(config: &Config, _is_weighted: bool) -> Needs {
        shared_needs(config, 0)
    }

    fn work(_config: &Config, is_weighted: bool) -> Option<Work> {
        (!is_weighted).then_some(Work::Passes { count: 1, kernel: MOVE })
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let view = graph.in_memory_only()?;
        let start = start(graph, config, run)?;
        let found = self::run(view, config, start, run.threads, run.interrupt)?;
        Ok(outcome(graph, config, &found))
    }
}
