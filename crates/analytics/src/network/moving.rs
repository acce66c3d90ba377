//! Nodes move to the community where they raise modularity most, until none gains by moving.
//!
//! In a large network many nodes look for their best community at once ([`super::rounds`]); what is left to do after
//! that, and small networks, are done one node after another.
//!
//! Cost: a look at the edges of every node, and again at those of the neighbors of each node that moved.
//! After: Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of communities in large networks", 2008; Traag,
//! Waltman, van Eck, "From Louvain to Leiden: guaranteeing well-connected communities", 2019 (the queue).

use std::collections::VecDeque;

use model::error::Result;
use model::interrupt::Interrupt;

use super::{Neighborhood, Network, Partition, Sum};
use crate::random::Random;

/// Visits between two checks for cancellation.
const CHECK_VISITS: usize = 1 << 12;
/// A gain of less than this part of all weight is taken for rounding.
const GAIN_MIN: f64 = 1e-12;
/// Stands for a community without nodes, whichever.
const EMPTY: u32 = u32::MAX;

/// Parameters of the moving of nodes.
#[derive(Clone, Copy)]
pub(crate) struct Moving<'a> {
    /// Resolution: the factor of the expected weight.
    pub(crate) gamma: f64,
    /// Looks at nodes, at most.
    pub(crate) visits_max: usize,
    /// Seed of the order of nodes.
    pub(crate) seed: u64,
    /// Threads that may be used.
    pub(crate) threads: usize,
    /// To be checked.
    pub(crate) interrupt: &'a Interrupt,
}

/// Moves nodes, all at first, then those whose neighbors have moved.
pub(crate) fn move_nodes(network: &Network<'_>, partition: &mut Partition, moving: &Moving<'_>) -> Result<()> {
    if network.total() == 0.0 {
        return Ok(());
    }
    if network.counts_edges() {
        move_by::<u32>(network, partition, moving)
    } else {
        move_by::<f64>(network, partition, moving)
    }
}

fn move_by<S: Sum>(network: &Network<'_>, partition: &mut Partition, moving: &Moving<'_>) -> Result<()> {
    let mut near = vec![Neighborhood::<S>::new(network.node_count())];
    let (mut waiting, visits) = super::rounds::run(network, partition, moving, &mut near)?;
    Random::new(moving.seed).shuffle(&mut waiting);
    one_by_one(network, partition, moving, waiting, visits, &mut near[0])
}

/// Moves the nodes that wait, then those whose neighbors have moved.
fn one_by_one<S: Sum>(
    network: &Network<'_>,
    partition: &mut Partition,
    moving: &Moving<'_>,
    waiting: Vec<u32>,
    mut visits: usize,
    near: &mut Neighborhood<S>,
) -> Result<()> {
    let mut is_queued = vec![false; network.node_count()];
    waiting.iter().for_each(|&node| is_queued[node as usize] = true);
    let mut queue = VecDeque::from(waiting);
    while let Some(node) = queue.pop_front() {
        is_queued[node as usize] = false;
        visits += 1;
        if visits.is_multiple_of(CHECK_VISITS) {
            moving.interrupt.check()?;
        }
        if visits > moving.visits_max {
            break;
        }
        let Some(wish) = look(network, partition, moving.gamma, node, near).wish else { continue };
        let Some(community) = wish.grant(network, partition, moving.gamma) else { continue };
        for &other in network.row(node) {
            if partition.communities[other as usize] != community && !is_queued[other as usize] {
                is_queued[other as usize] = true;
                queue.push_back(other);
            }
        }
    }
    Ok(())
}

/// The result of a look at a node.
pub(super) struct Look {
    /// The move by which it gains most, if it gains by moving at all.
    pub(super) wish: Option<Wish>,
    /// The amount by which its gain where it is exceeds that anywhere else.
    pub(super) slack: f64,
}

/// A node gains most by moving to a community.
#[derive(Clone, Copy)]
pub(super) struct Wish {
    pub(super) node: u32,
    community: u32,
    /// The weight of its edges to the community that it is in.
    to_own: f64,
    /// That of its edges to the other one.
    to_other: f64,
}

/// Looks for the community that a node gains most by moving to: one of a neighbor, or an empty one.
#[inline]
pub(super) fn look<S: Sum>(
    network: &Network<'_>,
    partition: &Partition,
    gamma: f64,
    node: u32,
    near: &mut Neighborhood<S>,
) -> Look {
    near.add_row(network, node, &partition.communities);
    let (own, totals) = (partition.communities[node as usize], partition.totals());
    let strength = network.strength(node);
    let to_own = near.weight(own) - network.own_in_row(node);
    let share = gamma * strength / network.total();
    let stays = to_own - share * (partition.total(own) - strength);
    // To be alone gains nothing and costs nothing.
    let (mut community, mut to_other) = (EMPTY, 0.0);
    let mut most = if partition.size(own) > 1 { 0.0 } else { f64::NEG_INFINITY };
    near.drain(|other, weight| {
        let gain = weight - share * totals[other as usize];
        if gain > most && other != own {
            (community, to_other, most) = (other, weight, gain);
        }
    });
    let gains = most > stays + GAIN_MIN * network.total();
    Look { wish: gains.then_some(Wish { node, community, to_own, to_other }), slack: stays - most }
}

impl Wish {
    /// Moves the node if it still gains, now that others may have moved before it; gives the community it is in now.
    #[inline]
    pub(super) fn grant(self, network: &Network<'_>, partition: &mut Partition, gamma: f64) -> Option<u32> {
        let (strength, own) = (network.strength(self.node), partition.communities[self.node as usize]);
        let share = gamma * strength / network.total();
        let stays = self.to_own - share * (partition.total(own) - strength);
        let community = if self.community == EMPTY {
            if stays >= 0.0 || partition.size(own) == 1 {
                return None;
            }
            partition.find_empty()?
        } else {
            let gains = self.to_other - share * partition.total(self.community);
            if gains <= stays + GAIN_MIN * network.total() || partition.size(self.community) == 0 {
                return None;
            }
            self.community
        };
        partition.put(network, self.node, community);
        Some(community)
    }
}
