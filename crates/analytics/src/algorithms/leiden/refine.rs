//! Communities are refined: put together again from single nodes by what is well connected.
//!
//! The refinement of one community depends on nothing outside of it, so that each has random numbers of its own and
//! threads refine different ones at once.

use std::ops::Range;

use model::error::Result;
use model::interrupt::Interrupt;

use crate::network::{Members, Neighborhood, Network, Partition, Sum};
use crate::parallel::{map_tasks_with, ranges_of_equal_work, split_mut};
use crate::random::Random;

/// Nodes between two checks for cancellation.
const CHECK_NODES: usize = 1 << 12;
/// The least `theta` that is told from 0.
const THETA_MIN: f64 = 1e-300;
/// Exponents below which nothing is left of an exponential.
const EXPONENT_MIN: f64 = -746.0;
/// Pieces for each thread.
const PIECES_PER_THREAD: usize = 16;

/// Parameters of the refinement.
#[derive(Clone, Copy)]
pub(super) struct Refining<'a> {
    /// Resolution: the factor of the expected weight.
    pub(super) gamma: f64,
    /// Degree of randomness.
    pub(super) theta: f64,
    /// Seed of the random numbers.
    pub(super) seed: u64,
    /// Threads that may be used.
    pub(super) threads: usize,
    /// To be checked.
    pub(super) interrupt: &'a Interrupt,
}

/// Merges single nodes, never across communities of `partition`, which are numbered below `count`; `within` is the weight
/// that joins each node with others of its community. Gives for each node its refined community, and how many there are.
///
/// Invariant: a node only joins what an edge joins it with, so that what comes out is connected.
pub(super) fn refine(
    network: &Network<'_>,
    partition: &Partition,
    count: usize,
    within: Vec<f64>,
    refining: &Refining<'_>,
) -> Result<(Vec<u32>, usize)> {
    if network.counts_edges() {
        refine_by::<u32>(network, partition, count, &within, refining)
    } else {
        refine_by::<f64>(network, partition, count, &within, refining)
    }
}

fn refine_by<S: Sum>(
    network: &Network<'_>,
    partition: &Partition,
    count: usize,
    within: &[f64],
    refining: &Refining<'_>,
) -> Result<(Vec<u32>, usize)> {
    let members = Members::of(&partition.communities, count);
    let mut positions = vec![0; network.node_count()];
    (0..).zip(&members.nodes).for_each(|(position, &node)| positions[node as usize] = position);
    let threads = network.threads(refining.threads);
    let work = members.entries_before(network);
    let ranges = ranges_of_equal_work(&work, PIECES_PER_THREAD * threads);
    // For each place in order of the communities, the place whose node its refined community is named by.
    let mut named_by = vec![0_u32; network.node_count()];
    let places: Vec<Range<usize>> =
        ranges.iter().map(|range| members.starts[range.start] as usize..members.starts[range.end] as usize).collect();
    let mut tasks: Vec<_> = ranges.iter().cloned().zip(split_mut(&mut named_by, &places)).collect();
    // The largest come first, so that no thread is left with one at the end.
    tasks.sort_by_key(|(range, _)| std::cmp::Reverse(work[range.end] - work[range.start]));
    let ground = Ground { network, partition, members: &members, positions: &positions, within, refining };
    let mut states: Vec<State<S>> = (0..threads).map(|_| State::new()).collect();
    let done = map_tasks_with(&mut states, tasks, |state, (communities, mut named_by)| -> Result<()> {
        for community in communities {
            let (own, rest) = std::mem::take(&mut named_by).split_at_mut(members.of_one(community).len());
            ground.refine(community, state, own)?;
            named_by = rest;
        }
        Ok(())
    });
    done.into_iter().collect::<Result<()>>()?;
    Ok(number(&members, &named_by))
}

/// Numbers refined communities without gaps, those of one community one after another.
fn number(members: &Members, named_by: &[u32]) -> (Vec<u32>, usize) {
    let mut numbers = vec![u32::MAX; named_by.len()];
    let mut refined = vec![0; named_by.len()];
    let mut count = 0;
    for (&node, &name) in members.nodes.iter().zip(named_by) {
        let number = &mut numbers[name as usize];
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        refined[node as usize] = *number;
    }
    (refined, count as usize)
}

/// The data that the refinement of all communities shares.
struct Ground<'a> {
    network: &'a Network<'a>,
    partition: &'a Partition,
    members: &'a Members,
    /// For each node its place in order of the communities.
    positions: &'a [u32],
    within: &'a [f64],
    refining: &'a Refining<'a>,
}

/// The working memory for the refinement of one community: its nodes are known by their places in it.
struct State<S> {
    /// For each node the one that its refined community is named by; behind the last, one that stands for all others.
    refined: Vec<u32>,
    /// For each refined community, the strengths of its nodes.
    totals: Vec<f64>,
    /// The weight of its edges to the rest of the community.
    outside: Vec<f64>,
    /// Number of its nodes.
    sizes: Vec<u32>,
    order: Vec<u32>,
    near: Neighborhood<S>,
    choices: Vec<(u32, f64, f64)>,
}

impl<S: Sum> State<S> {
    fn new() -> State<S> {
        State {
            refined: Vec::new(),
            totals: Vec::new(),
            outside: Vec::new(),
            sizes: Vec::new(),
            order: Vec::new(),
            near: Neighborhood::new(1),
            choices: Vec::new(),
        }
    }

    /// Every node for itself.
    fn begin(&mut self, ground: &Ground<'_>, nodes: &[u32], random: &mut Random) {
        let count = nodes.len() as u32;
        self.refined.clear();
        self.refined.extend(0..=count);
        self.totals.clear();
        self.totals.extend(nodes.iter().map(|&node| ground.network.strength(node)));
        self.outside.clear();
        self.outside.extend(nodes.iter().map(|&node| ground.within[node as usize]));
        self.sizes.clear();
        self.sizes.resize(nodes.len(), 1);
        self.order.clear();
        self.order.extend(0..count);
        random.shuffle(&mut self.order);
        self.near.widen(nodes.len() + 1);
    }
}

impl Ground<'_> {
    /// Refines one community; fills in for each place the one that its refined community is named by.
    fn refine<S: Sum>(&self, community: usize, state: &mut State<S>, named_by: &mut [u32]) -> Result<()> {
        let (nodes, first) = (self.members.of_one(community), self.members.starts[community] as u32);
        if nodes.len() == 1 {
            named_by[0] = first;
            return Ok(());
        }
        let Refining { gamma, theta, seed, interrupt, .. } = *self.refining;
        let mut random = Random::of(seed, community as u64);
        state.begin(self, nodes, &mut random);
        let all = self.partition.total(community as u32);
        let is_well_connected =
            |outside: f64, inner: f64| outside >= gamma * inner * (all - inner) / self.network.total();
        for visit in 0..nodes.len() {
            if visit % CHECK_NODES == 0 {
                interrupt.check()?;
            }
            let own = state.order[visit];
            let strength = state.totals[own as usize];
            // A node that others have joined stays, and so does one that would not be well connected by itself.
            let is_free = state.refined[own as usize] == own && state.sizes[own as usize] == 1;
            if !is_free || !is_well_connected(state.outside[own as usize], strength) {
                continue;
            }
            self.look(nodes[own as usize], first, nodes.len(), state);
            let State { totals, outside, near, choices, .. } = state;
            choices.clear();
            choices.push((own, 0.0, 0.0));
            near.drain(|other, weight| {
                if other == own || other as usize == nodes.len() {
                    return;
                }
                let total = totals[other as usize];
                let gain = weight - gamma * strength * total / self.network.total();
                if gain >= 0.0 && is_well_connected(outside[other as usize], total) {
                    choices.push((other, gain, weight));
                }
            });
            let (chosen, weight) = choose(choices, theta, &mut random);
            if chosen != own {
                state.outside[chosen as usize] += state.outside[own as usize] - 2.0 * weight;
                state.totals[chosen as usize] += strength;
                state.sizes[chosen as usize] += 1;
                state.sizes[own as usize] = 0;
                state.refined[own as usize] = chosen;
            }
        }
        named_by.iter_mut().zip(&state.refined).for_each(|(name, &own)| *name = first + own);
        Ok(())
    }

    /// Adds up the edges that join a node with refined communities of its community.
    #[inline]
    fn look<S: Sum>(&self, node: u32, first: u32, count: usize, state: &mut State<S>) {
        let entries = self.network.entries(node);
        let weights = S::weights(self.network, entries);
        let State { refined, near, .. } = state;
        let row = self.network.row(node);
        near.reserve(row.len());
        for (at, &other) in row.iter().enumerate() {
            let place = self.positions[other as usize].wrapping_sub(first) as usize;
            // Others are added up as well, at a place of no meaning, since who is one can hardly be foreseen.
            near.add(refined[place.min(count)], S::weight(weights, at));
        }
    }
}

/// One of the choices, each as likely as the exponential of its gain by `theta`; with the weight that joins it.
fn choose(choices: &[(u32, f64, f64)], theta: f64, random: &mut Random) -> (u32, f64) {
    let most = choices.iter().fold(0.0, |most: f64, (_, gain, _)| most.max(*gain));
    let likelihood = |gain: f64| {
        let exponent = (gain - most) / theta.max(THETA_MIN);
        if exponent < EXPONENT_MIN { 0.0 } else { exponent.exp() }
    };
    let all: f64 = choices.iter().map(|(_, gain, _)| likelihood(*gain)).sum();
    let mut left = random.unit() * all;
    for &(choice, gain, weight) in choices {
        left -= likelihood(gain);
        if left < 0.0 {
            return (choice, weight);
        }
    }
    let last = choices.iter().rfind(|(_, gain, _)| likelihood(*gain) > 0.0).unwrap_or(&choices[0]);
    (last.0, last.2)
}
