//! Nodes of a large network move in rounds, on all threads.
//!
//! In a round every node that waits is looked at once. The nodes are dealt into hands by a number drawn for each; those
//! of a hand look for their best community at once, seeing the others where they were before it, and then move in order,
//! each only if it still gains by what the communities have become. The next round is for those around which so much has
//! moved that they could gain: hubs are not looked at again for a few of many neighbors. Most neighbors of a node are in
//! another hand, so that little is lost against moving one by one.
//!
//! Invariant: what moves depends on the network and the seed alone, since hands are the same for any number of threads
//! and nothing changes while one is looked at.
//! Cost: a look at the edges of every node that waits; besides, for each node, 16 bytes and its wish.
//! After: Staudt, Meyerhenke, "Engineering parallel algorithms for community detection in massive networks", 2016;
//! Gottesbüren, Hamann, "Deterministic parallel hypergraph partitioning", 2022 (moving by hands).

use std::sync::atomic::{AtomicU32, Ordering};

use model::error::Result;

use super::moving::{Moving, Wish, look};
use super::{Neighborhood, Network, Partition, Sum};
use crate::parallel::map_tasks_with;
use crate::random::Random;

/// Entries below which a network is left to moving one by one, which finds slightly more.
const NETWORK_ENTRIES_MIN: usize = 1 << 19;
/// Entries of the rows to be looked at below which that is as fast.
const WAITING_ENTRIES_MIN: usize = 1 << 16;
/// That part of all entries below which it is, too.
const FEW_ENTRIES: usize = 256;
/// Rounds after which it is left to moving one by one, which comes to an end in any case.
const ROUNDS_MAX: usize = 24;
/// The hands of the first round.
const HANDS_FIRST: usize = 512;
/// The hands of each further round.
const HANDS: usize = 32;
/// Inverse of the share of entries in rows of nodes that moved above which all nodes look again.
const FEW_MOVED: usize = 4;
/// Nodes below which a thread more costs more than it does.
const NODES_PER_THREAD_MIN: usize = 512;
/// Number of units into which the weight of an edge is divided, on average, to measure changes around a node.
const UNITS_PER_EDGE: f64 = 64.0;
/// More is not told apart.
const UNITS_MAX: u32 = 1 << 24;
/// Nodes that a thread takes at a time.
const NODES_PER_TASK: usize = 256;

/// Moves nodes as long as many wait; gives those that wait then, and how many were looked at.
pub(super) fn run<S: Sum>(
    network: &Network<'_>,
    partition: &mut Partition,
    moving: &Moving<'_>,
    near: &mut Vec<Neighborhood<S>>,
) -> Result<(Vec<u32>, usize)> {
    // A node without edges gains nothing by moving.
    let all = || (0..network.node_count() as u32).filter(move |&node| network.strength(node) > 0.0);
    let mut waiting: Vec<u32> = all().collect();
    if network.entry_count < NETWORK_ENTRIES_MIN {
        return Ok((waiting, 0));
    }
    near.resize_with(network.threads(moving.threads), || Neighborhood::new(network.node_count()));
    let mut watches = Vec::new();
    watches.resize_with(network.node_count(), Watch::default);
    let entries_min = WAITING_ENTRIES_MIN.max(network.entry_count / FEW_ENTRIES);
    let entries_of = |nodes: &[u32]| nodes.iter().map(|&node| network.entries(node).len()).sum::<usize>();
    let mut visits = 0;
    for round in 0..ROUNDS_MAX {
        if entries_of(&waiting) < entries_min || waiting.len() > moving.visits_max - visits {
            break;
        }
        visits += waiting.len();
        let mut moved = Vec::new();
        for hand in deal(&waiting, round == 0, &mut Random::of(moving.seed, round as u64)) {
            play(network, partition, moving, &hand, &watches, near, &mut moved)?;
        }
        if entries_of(&moved) > network.entry_count / FEW_MOVED {
            waiting = all().collect();
        } else {
            waiting = around::<S>(network, partition, moving, &moved, &watches)?;
        }
        partition.renumber_if_sparse();
    }
    Ok((waiting, visits))
}

/// Deals nodes into hands, each in order. In the first round hands are small at first, and each is a little larger than
/// the one before: where every node is for itself all want to be with another, and what the first of them do others join.
fn deal(nodes: &[u32], is_first: bool, random: &mut Random) -> Vec<Vec<u32>> {
    let key = random.next_u64();
    let count = if is_first { HANDS_FIRST } else { HANDS };
    let mut hands: Vec<Vec<u32>> = vec![Vec::new(); count];
    for &node in nodes {
        let mut mixed = (u64::from(node) ^ key).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let part = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
        let place = if is_first { part.sqrt() } else { part };
        hands[(place * count as f64) as usize].push(node);
    }
    hands
}

/// Looks at the nodes of a hand, then moves them; appends those that moved.
fn play<S: Sum>(
    network: &Network<'_>,
    partition: &mut Partition,
    moving: &Moving<'_>,
    hand: &[u32],
    watches: &[Watch],
    near: &mut [Neighborhood<S>],
    moved: &mut Vec<u32>,
) -> Result<()> {
    let seen: &Partition = partition;
    let workers = (hand.len() / NODES_PER_THREAD_MIN + 1).min(near.len());
    let near = &mut near[..workers];
    let wishes = map_tasks_with(near, hand.chunks(NODES_PER_TASK).collect(), |near, nodes| -> Result<Vec<Wish>> {
        moving.interrupt.check()?;
        let looked = nodes.iter().map(|&node| {
            let look = look(network, seen, moving.gamma, node, near);
            watches[node as usize].begin(look.slack * units_per_weight(network));
            look.wish
        });
        Ok(looked.flatten().collect())
    });
    for wish in wishes.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        if wish.grant(network, partition, moving.gamma).is_some() {
            moved.push(wish.node);
        }
    }
    Ok(())
}

/// The changes around a node since it was looked at, in units of an edge's weight.
#[derive(Default)]
struct Watch {
    /// The change that suffices for it to gain by moving.
    slack: AtomicU32,
    /// Upper bound of the change that has happened.
    stirred: AtomicU32,
}

impl Watch {
    /// The node is looked at.
    #[inline]
    fn begin(&self, slack: f64) {
        self.slack.store(slack.clamp(0.0, f64::from(UNITS_MAX)) as u32, Ordering::Relaxed);
        self.stirred.store(0, Ordering::Relaxed);
    }

    /// A neighbor moved, to another community than that of the node.
    #[inline]
    fn stir(&self, units: u32) {
        // The sum is not added to once it suffices. So it cannot overflow, and the order of additions does not matter.
        if self.stirred.load(Ordering::Relaxed) < self.slack.load(Ordering::Relaxed).max(1) {
            self.stirred.fetch_add(units, Ordering::Relaxed);
        }
    }

    /// True if the node has to be looked at again.
    fn is_due(&self) -> bool {
        self.stirred.load(Ordering::Relaxed) >= self.slack.load(Ordering::Relaxed).max(1)
    }
}

/// Units that are told apart, for each of weight.
fn units_per_weight(network: &Network<'_>) -> f64 {
    UNITS_PER_EDGE * network.entry_count as f64 / network.total()
}

/// The nodes around which so much has happened that they could gain by moving now.
fn around<S: Sum>(
    network: &Network<'_>,
    partition: &Partition,
    moving: &Moving<'_>,
    moved: &[u32],
    watches: &[Watch],
) -> Result<Vec<u32>> {
    let communities = &partition.communities;
    let mut threads = vec![(); network.threads(moving.threads)];
    // A neighbor that moves takes its weight from one community and gives it to another.
    let units = |weight: f64| (2.0 * weight * units_per_weight(network)).ceil().min(f64::from(UNITS_MAX)) as u32;
    let tasks: Vec<&[u32]> = moved.chunks(NODES_PER_TASK).collect();
    let done = map_tasks_with(&mut threads, tasks, |(), nodes: &[u32]| -> Result<()> {
        moving.interrupt.check()?;
        for &node in nodes {
            let (own, entries) = (communities[node as usize], network.entries(node));
            let weights = S::weights(network, entries);
            for (at, &other) in network.row(node).iter().enumerate() {
                if communities[other as usize] != own {
                    watches[other as usize].stir(units(S::weight(weights, at).number()));
                }
            }
        }
        Ok(())
    });
    done.into_iter().collect::<Result<()>>()?;
    Ok((0..).zip(watches).filter(|(_, watch)| watch.is_due()).map(|(node, _)| node).collect())
}
