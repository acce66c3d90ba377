//! Leiden: communities of high modularity, each of them connected.
//!
//! Claim: a partition of high modularity, equal to that of a recomputation over all edges, in which any two nodes of a
//! community are joined by a path within it. Between moving nodes and taking communities for nodes, each community is
//! refined: its nodes are put together again by chance, the better the gain the likelier (`theta`), and only with what
//! is well connected within it. Edges and seeds count as in `louvain.rs`; so are communities named.
//! When no more communities can be taken for nodes it begins again with the nodes of the graph and the communities
//! found, until that gains less than `tolerance` or `maxLevels` are done.
//! Cost: about twice that of Louvain for each time it begins. A run that is cut off by `maxLevels` or `tolerance`, or that starts from
//! communities which are not connected, has those in pieces taken apart at the end, which never lowers modularity.
//! After: Traag, Waltman, van Eck, "From Louvain to Leiden: guaranteeing well-connected communities", 2019.

mod refine;

use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};

use super::louvain::{self, Communities, STATS, YIELDS};
use crate::algorithm::{About, Follows, Needs, Outcome, Run, Shape};
use crate::graph::Graph;
use crate::graph_view::GraphView;
use crate::network::{Network, Partition, move_nodes, unfold};
use crate::random::Random;
use crate::settings::Settings;

/// What a run is asked for.
#[derive(Clone, Debug)]
pub struct Config {
    /// What it has in common with Louvain; nodes are looked at until none gains.
    pub shared: louvain::Config,
    /// How much chance there is in refining: 0 for none.
    pub theta: f64,
}

impl Default for Config {
    fn default() -> Config {
        Config { shared: louvain::Config::default(), theta: 0.01 }
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
    let first = Network::of_view(view)?;
    let mut partition = match start {
        Some(communities) => Partition::new(&first, communities),
        None => Partition::singletons(&first),
    };
    let mut found = Communities { communities: partition.communities.clone(), ..Communities::default() };
    let mut random = Random::new(shared.random_seed);
    let mut last = f64::NEG_INFINITY;
    while (found.modularities.len() as u64) < shared.max_levels {
        climb(&first, partition, config, &mut found, threads, &mut random, interrupt)?;
        let modularity = found.modularities.last().copied().unwrap_or(0.0);
        if !found.did_converge || modularity - last < shared.tolerance {
            break;
        }
        last = modularity;
        partition = Partition::new(&first, found.communities.clone());
    }
    if refine::take_apart(view, &mut found.communities, interrupt)? {
        found.modularities.push(first.modularity(&found.communities, shared.gamma));
        if shared.keeps_levels {
            found.levels.push(found.communities.clone());
        }
    }
    Ok(found)
}

/// Goes up from the nodes, level by level, until communities cannot be taken for nodes any more.
fn climb(
    first: &Network<'_>,
    mut partition: Partition,
    config: &Config,
    found: &mut Communities,
    threads: usize,
    random: &mut Random,
    interrupt: &Interrupt,
) -> Result<()> {
    let Config { shared, theta } = config;
    let mut coarse: Option<Network<'static>> = None;
    // For each node of the graph, the node of the current level that it is in.
    let mut places: Vec<u32> = (0..first.node_count() as u32).collect();
    let mut last = f64::NEG_INFINITY;
    found.did_converge = false;
    while (found.modularities.len() as u64) < shared.max_levels {
        interrupt.report(found.modularities.len() as u64, shared.max_levels);
        let network = coarse.as_ref().unwrap_or(first);
        move_nodes(network, &mut partition, shared.gamma, usize::MAX, random, interrupt)?;
        let count = partition.renumber();
        found.communities.clone_from(&places);
        unfold(&mut found.communities, &partition.communities);
        let modularity = network.modularity(&partition.communities, shared.gamma);
        found.modularities.push(modularity);
        if shared.keeps_levels {
            found.levels.push(found.communities.clone());
        }
        let is_stable = modularity - last < shared.tolerance;
        last = modularity;
        let mut refined = Partition::singletons(network);
        if count < network.node_count() && !is_stable {
            refine::refine(network, &partition, &mut refined, (shared.gamma, *theta), random, interrupt)?;
        }
        let refined_count = refined.renumber();
        if refined_count == network.node_count() {
            found.did_converge = true;
            break;
        }
        let next = network.coarsen(&refined.communities, refined_count, threads, interrupt)?;
        let mut above = vec![0; refined_count];
        for (&place, &community) in refined.communities.iter().zip(&partition.communities) {
            above[place as usize] = community;
        }
        unfold(&mut places, &refined.communities);
        partition = Partition::new(&next, above);
        coarse = Some(next);
    }
    Ok(())
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
        settings: louvain::shared_settings!("theta"),
        direction: Follows::Always(Direction::Both),
        takes_weights: true,
        yields: YIELDS,
        stats: STATS,
        shape: Shape::Nodes,
    };

    fn read(settings: &Settings<'_>, view: &dyn ReadView) -> Result<Config> {
        let theta = settings.number("theta", 0.0, f64::MAX)?.unwrap_or(Config::default().theta);
        Ok(Config { shared: louvain::read_shared(settings, view)?, theta })
    }

    fn needs(config: &Config, _is_weighted: bool) -> Needs {
        // The refined partition, what is outside of each community, and the places of nodes.
        louvain::shared_needs(&config.shared, 48)
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let view = graph.in_memory_only()?;
        let start = louvain::start(graph, &config.shared, run)?;
        let found = self::run(view, config, start, run.threads, run.interrupt)?;
        Ok(louvain::outcome(graph, &config.shared, &found))
    }
}
