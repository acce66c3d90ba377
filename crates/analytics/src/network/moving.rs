//! Nodes move to the community where they raise modularity most, until none gains by moving.
//!
//! Cost: a look at the edges of every node, and again at those of the neighbors of each node that moved.
//! After: Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of communities in large networks", 2008; Traag,
//! Waltman, van Eck, "From Louvain to Leiden: guaranteeing well-connected communities", 2019 (the queue).

use std::collections::VecDeque;

use model::error::Result;
use model::interrupt::Interrupt;

use super::Network;
use crate::random::Random;

/// Visits between two checks for cancellation.
const CHECK_VISITS: usize = 1 << 12;
/// A gain of less than this part of all weight is taken for rounding.
const GAIN_MIN: f64 = 1e-12;

/// A community for each node, and what lies in each community.
pub(crate) struct Partition {
    /// The community of each node, below the number of nodes.
    pub(crate) communities: Vec<u32>,
    totals: Vec<f64>,
    sizes: Vec<u32>,
}

impl Partition {
    /// The partition with these communities, which are less than the number of nodes.
    pub(crate) fn new(network: &Network<'_>, communities: Vec<u32>) -> Partition {
        let (mut totals, mut sizes) = (vec![0.0; communities.len()], vec![0; communities.len()]);
        for (node, &community) in (0..).zip(&communities) {
            totals[community as usize] += network.strength(node);
            sizes[community as usize] += 1;
        }
        Partition { communities, totals, sizes }
    }

    /// Every node for itself.
    pub(crate) fn singletons(network: &Network<'_>) -> Partition {
        Partition::new(network, (0..network.node_count() as u32).collect())
    }

    /// The strengths of the nodes of a community together.
    #[inline]
    pub(crate) fn total(&self, community: u32) -> f64 {
        self.totals[community as usize]
    }

    /// How many nodes a community has.
    #[inline]
    pub(crate) fn size(&self, community: u32) -> u32 {
        self.sizes[community as usize]
    }

    /// Moves a node.
    pub(crate) fn put(&mut self, network: &Network<'_>, node: u32, community: u32) {
        let from = std::mem::replace(&mut self.communities[node as usize], community);
        let strength = network.strength(node);
        self.sizes[from as usize] -= 1;
        self.totals[from as usize] = if self.sizes[from as usize] == 0 { 0.0 } else { self.total(from) - strength };
        self.sizes[community as usize] += 1;
        self.totals[community as usize] += strength;
    }

    /// Names the communities by numbers without gaps, in order of their first nodes; gives how many there are.
    pub(crate) fn renumber(&mut self) -> usize {
        let mut numbers = vec![u32::MAX; self.communities.len()];
        let mut count = 0;
        for community in &mut self.communities {
            let number = &mut numbers[*community as usize];
            if *number == u32::MAX {
                *number = count;
                count += 1;
            }
            *community = *number;
        }
        let (totals, sizes) = (std::mem::take(&mut self.totals), std::mem::take(&mut self.sizes));
        (self.totals, self.sizes) = (vec![0.0; totals.len()], vec![0; sizes.len()]);
        for (old, &number) in numbers.iter().enumerate().filter(|(_, number)| **number != u32::MAX) {
            (self.totals[number as usize], self.sizes[number as usize]) = (totals[old], sizes[old]);
        }
        count as usize
    }
}

/// The weights that join one node with communities, found again and again without clearing more than was touched.
pub(crate) struct Neighborhood {
    weights: Vec<f64>,
    touched: Vec<u32>,
}

impl Neighborhood {
    pub(crate) fn new(communities: usize) -> Neighborhood {
        Neighborhood { weights: vec![0.0; communities], touched: Vec::new() }
    }

    /// Forgets what was added.
    pub(crate) fn clear(&mut self) {
        self.touched.drain(..).for_each(|community| self.weights[community as usize] = 0.0);
    }

    /// Adds the weight of an edge to a community; one of no weight joins nothing.
    #[inline]
    pub(crate) fn add(&mut self, community: u32, weight: f64) {
        let sum = &mut self.weights[community as usize];
        if weight == 0.0 {
            return;
        }
        if *sum == 0.0 {
            self.touched.push(community);
        }
        *sum += weight;
    }

    /// The weight of the edges to a community.
    #[inline]
    pub(crate) fn weight(&self, community: u32) -> f64 {
        self.weights[community as usize]
    }

    /// The communities that were added, in order.
    pub(crate) fn communities(&self) -> &[u32] {
        &self.touched
    }
}

/// Moves nodes, in random order at first, then those whose neighbors have moved; `visits_max` looks at most. Gives how
/// many moves there were.
pub(crate) fn move_nodes(
    network: &Network<'_>,
    partition: &mut Partition,
    gamma: f64,
    visits_max: usize,
    random: &mut Random,
    interrupt: &Interrupt,
) -> Result<usize> {
    let node_count = network.node_count();
    if network.total() == 0.0 {
        return Ok(0);
    }
    let mut queue: VecDeque<u32> = random.shuffled(node_count).into();
    let mut is_queued = vec![true; node_count];
    let mut free: Vec<u32> = (0..node_count as u32).filter(|&community| partition.size(community) == 0).collect();
    let mut near = Neighborhood::new(node_count);
    let (mut visits, mut moves) = (0, 0);
    while let Some(node) = queue.pop_front() {
        is_queued[node as usize] = false;
        visits += 1;
        if visits % CHECK_VISITS == 0 {
            interrupt.check()?;
        }
        if visits > visits_max {
            break;
        }
        let own = partition.communities[node as usize];
        let Some(best) = best_community(network, partition, gamma, node, &mut near, &mut free) else { continue };
        partition.put(network, node, best);
        moves += 1;
        if partition.size(own) == 0 {
            free.push(own);
        }
        for (other, _) in network.others(node) {
            if !is_queued[other as usize] && partition.communities[other as usize] != best {
                is_queued[other as usize] = true;
                queue.push_back(other);
            }
        }
    }
    Ok(moves)
}

/// The community that a node gains most by moving to, if it gains by moving at all: one of a neighbor, or an empty one.
fn best_community(
    network: &Network<'_>,
    partition: &Partition,
    gamma: f64,
    node: u32,
    near: &mut Neighborhood,
    free: &mut Vec<u32>,
) -> Option<u32> {
    near.clear();
    network.others(node).for_each(|(other, weight)| near.add(partition.communities[other as usize], weight));
    let strength = network.strength(node);
    let own = partition.communities[node as usize];
    let share = gamma * strength / network.total();
    let stays = near.weight(own) - share * (partition.total(own) - strength);
    let (mut best, mut most) = (None, stays + GAIN_MIN * network.total());
    for &community in near.communities().iter().filter(|&&community| community != own) {
        let gain = near.weight(community) - share * partition.total(community);
        if gain > most {
            (best, most) = (Some(community), gain);
        }
    }
    if most < 0.0 && partition.size(own) > 1 {
        while let Some(community) = free.pop() {
            if partition.size(community) == 0 {
                return Some(community);
            }
        }
    }
    best
}
