//! Leiden: communities of high modularity, each of them connected.
//!
//! Claim: a partition of high modularity, equal to that of a recomputation over all edges, in which any two nodes of a
//! community are joined by a path within it. Between moving nodes and taking communities for nodes, each community is
//! refined: its nodes are put together again by chance, the better the gain the likelier (`theta`), and only with what
//! is well connected within it. Edges and seeds count as in `louvain.rs`; so are communities named.
//! When no more communities can be taken for nodes it begins again with the nodes of the graph and the communities
//! found, until that gains less than `tolerance` or `maxLevels` are done.
//! What is in pieces at the end of the last level, as when a run is cut off by `maxLevels` or `tolerance`, or starts from
//! communities that are not connected, is taken apart, which never lowers modularity.
//! Cost: about twice that of Louvain for each time it begins; a community is refined by one thread, several at once.
//! After: Traag, Waltman, van Eck, "From Louvain to Leiden: guaranteeing well-connected communities", 2019.

mod refine;

use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};

use super::louvain::{self, Communities, STATS, YIELDS};
use crate::algorithm::{About, Follows, Needs, Outcome, Run, Shape};
use crate::graph::work::REFINE;
use crate::graph::{Graph, Work};
use crate::graph_view::GraphView;
use crate::network::{Members, Moving, Network, Partition, move_nodes, unfold};
use crate::random::Random;
use crate::settings::Settings;
use crate::settings::kind::Number;
use crate::settings::shared::GAMMA;
use crate::settings::table::{Fixed, Setting};

static THETA: Setting<Number, Fixed<f64>> = Setting::new(
    "theta",
    Number::POSITIVE,
    Fixed(0.01),
    "Randomness of the refinement. `0` always takes the greatest gain.",
);

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Parameters in common with Louvain; nodes are looked at until none gains.
    pub shared: louvain::Config,
    /// Degree of randomness of the refinement: 0 for none.
    pub theta: f64,
}

impl Default for Config {
    fn default() -> Config {
        Config { shared: louvain::Config::default(), theta: THETA.default.0 }
    }
}

/// Finds communities in an undirected view with forward rows, from those given or from every node for itself.
pub fn run(
    view: &GraphView,
    config: &Config,
    start: Option<Vec<u32>>,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Communities> {
    let shared = &config.shared;
    let first = Network::of_view(view, threads)?;
    let mut partition = match start {
        Some(communities) => Partition::new(&first, communities),
        None => Partition::singletons(&first),
    };
    let mut found = Communities { communities: partition.communities.clone(), ..Communities::default() };
    let mut seeds = Random::new(shared.random_seed);
    let mut last = f64::NEG_INFINITY;
    while (found.modularities.len() as u64) < shared.max_levels {
        Climb { first: &first, config, threads, interrupt }.run(partition, &mut found, &mut seeds)?;
        let modularity = found.modularities.last().copied().unwrap_or(0.0);
        if !found.did_converge || modularity - last < shared.tolerance {
            break;
        }
        last = modularity;
        partition = Partition::new(&first, found.communities.clone());
    }
    Ok(found)
}

/// The way up from the nodes, level by level, until communities cannot be taken for nodes any more.
struct Climb<'a> {
    first: &'a Network<'a>,
    config: &'a Config,
    threads: usize,
    interrupt: &'a Interrupt,
}

impl Climb<'_> {
    fn run(&self, mut partition: Partition, found: &mut Communities, seeds: &mut Random) -> Result<()> {
        let Climb { config: Config { shared, theta }, threads, interrupt, .. } = *self;
        let mut coarse: Option<Network<'static>> = None;
        // For each node of the graph, the node of the current level that it is in.
        let mut places: Vec<u32> = (0..self.first.node_count() as u32).collect();
        let mut last = f64::NEG_INFINITY;
        loop {
            let network = coarse.as_ref().unwrap_or(self.first);
            interrupt.step(found.modularities.len() as u64, shared.max_levels)?;
            let seed = seeds.next_u64();
            let moving = Moving { gamma: shared.gamma, visits_max: usize::MAX, seed, threads, interrupt };
            move_nodes(network, &mut partition, &moving)?;
            let count = partition.renumber();
            let within = network.within(&partition.communities, threads, interrupt)?;
            let modularity = network.modularity(&partition, &within, shared.gamma);
            found.did_converge = count == network.node_count() || modularity - last < shared.tolerance;
            last = modularity;
            let is_last = found.modularities.len() as u64 + 1 >= shared.max_levels;
            let refining = refine::Refining { gamma: shared.gamma, theta: *theta, seed: seed ^ 1, threads, interrupt };
            let mut refined = (Vec::new(), network.node_count());
            if !found.did_converge && !is_last {
                refined = refine::refine(network, &partition, count, within, &refining)?;
                found.did_converge = refined.1 == network.node_count();
            }
            if found.did_converge || is_last {
                return self.finish(network, partition, modularity, &places, found);
            }
            self.keep(found, modularity, &places, &partition.communities);
            let (refined, count) = refined;
            let next = network.coarsen(&refined, &Members::of(&refined, count), threads, interrupt)?;
            let mut above = vec![0; count];
            for (&place, &community) in refined.iter().zip(&partition.communities) {
                above[place as usize] = community;
            }
            unfold(&mut places, &refined);
            partition = Partition::new(&next, above);
            coarse = Some(next);
        }
    }

    /// Keeps what a level found.
    fn keep(&self, found: &mut Communities, modularity: f64, places: &[u32], communities: &[u32]) {
        found.communities.clear();
        found.communities.extend(places.iter().map(|&place| communities[place as usize]));
        found.modularities.push(modularity);
        if self.config.shared.keeps_levels {
            found.levels.push(found.communities.clone());
        }
    }

    /// Takes communities of the last level apart where they are not connected. The nodes of every level are, so that it
    /// suffices to look at that level's edges.
    fn finish(
        &self,
        network: &Network<'_>,
        partition: Partition,
        modularity: f64,
        places: &[u32],
        found: &mut Communities,
    ) -> Result<()> {
        let (before, gamma) =
            (partition.communities.iter().max().map_or(0, |&most| most as usize + 1), self.config.shared.gamma);
        let (pieces, count) = network.pieces(&partition.communities, self.interrupt)?;
        if count == before {
            self.keep(found, modularity, places, &partition.communities);
            return Ok(());
        }
        let apart = Partition::new(network, pieces);
        let within = network.within(&apart.communities, self.threads, self.interrupt)?;
        self.keep(found, network.modularity(&apart, &within, gamma), places, &apart.communities);
        Ok(())
    }
}

/// Checks a result by another method: its modularity is the one that a pass over all edges finds, and a search within
/// each community, from one of its nodes, finds all of them.
pub fn verify(view: &GraphView, config: &Config, result: &Communities) -> Result<()> {
    let communities = &result.communities;
    super::modularity::verify(view, communities, config.shared.gamma, result.modularities.last().copied())?;
    let count = communities.iter().max().map_or(0, |&most| most as usize + 1);
    let (mut is_met, mut is_found) = (vec![false; count], vec![false; communities.len()]);
    for start in 0..communities.len() as u32 {
        let community = communities[start as usize];
        if std::mem::replace(&mut is_met[community as usize], true) {
            continue;
        }
        let mut stack = vec![start];
        is_found[start as usize] = true;
        while let Some(node) = stack.pop() {
            for &neighbor in view.forward().neighbors(node) {
                if communities[neighbor as usize] == community && !is_found[neighbor as usize] {
                    is_found[neighbor as usize] = true;
                    stack.push(neighbor);
                }
            }
        }
    }
    match is_found.iter().position(|found| !found) {
        None => Ok(()),
        Some(node) => {
            let community = communities[node];
            Err(model::error!(Internal, "no path within community {community} joins node {node} with the others"))
        }
    }
}

/// `algo.leiden`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "leiden",
        aliases: &["gds.leiden"],
        description: "Finds communities of high modularity, each of them connected.",
        settings: &[
            &louvain::MAX_LEVELS,
            &louvain::TOLERANCE,
            &GAMMA,
            &louvain::RANDOM_SEED,
            &louvain::SEED_PROPERTY,
            &louvain::CONSECUTIVE_IDS,
            &louvain::MIN_COMMUNITY_SIZE,
            &louvain::INCLUDE_INTERMEDIATE_COMMUNITIES,
            &THETA,
        ],
        direction: Follows::Always(Direction::Both),
        takes_weights: true,
        yields: YIELDS,
        stats: STATS,
        shape: Shape::Nodes,
    };

    fn read(settings: &Settings<'_>, view: &dyn ReadView) -> Result<Config> {
        let theta = settings.get(&THETA)?;
        Ok(Config { shared: louvain::read_shared(settings, view)?, theta })
    }

    fn needs(config: &Config, _is_weighted: bool) -> Needs {
        // The nodes by community and where each is, what lies within and outside, the refined partition, and the places.
        louvain::shared_needs(&config.shared, 88)
    }

    fn work(_config: &Config, is_weighted: bool) -> Option<Work> {
        (!is_weighted).then_some(Work::Passes { count: 1, kernel: REFINE })
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let view = graph.in_memory_only()?;
        let start = louvain::start(graph, &config.shared, run)?;
        let found = self::run(view, config, start, run.threads, run.interrupt)?;
        Ok(louvain::outcome(graph, &config.shared, &found))
    }
}
