//! Communities are refined: put together again from single nodes by what is well connected; and taken apart where they
//! are not connected.

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph_view::GraphView;
use crate::network::{Neighborhood, Network, Partition};
use crate::random::Random;

/// Nodes between two checks for cancellation.
const CHECK_NODES: usize = 1 << 12;
/// The least `theta` that is told from 0.
const THETA_MIN: f64 = 1e-300;

/// Merges single nodes into `refined`, which begins with every node for itself, never across communities of `partition`.
///
/// Invariant: a node only joins what an edge joins it with, so that what comes out is connected.
pub(super) fn refine(
    network: &Network<'_>,
    partition: &Partition,
    refined: &mut Partition,
    (gamma, theta): (f64, f64),
    random: &mut Random,
    interrupt: &Interrupt,
) -> Result<()> {
    let node_count = network.node_count();
    let communities = &partition.communities;
    let within = |node: u32| {
        network.others(node).filter(move |(other, _)| communities[*other as usize] == communities[node as usize])
    };
    // For each refined community, the weight of its edges to the rest of the community that it is in.
    let mut outside: Vec<f64> =
        (0..node_count as u32).map(|node| within(node).map(|(_, weight)| weight).sum()).collect();
    let is_well_connected = |outside: f64, inner: f64, community: u32| {
        outside >= gamma * inner * (partition.total(community) - inner) / network.total()
    };
    let mut near = Neighborhood::new(node_count);
    let mut choices = Vec::new();
    for (visit, node) in random.shuffled(node_count).into_iter().enumerate() {
        if visit % CHECK_NODES == 0 {
            interrupt.check()?;
        }
        let (own, community) = (refined.communities[node as usize], communities[node as usize]);
        let strength = network.strength(node);
        if refined.size(own) != 1 || !is_well_connected(outside[own as usize], strength, community) {
            continue;
        }
        near.clear();
        within(node).for_each(|(other, weight)| near.add(refined.communities[other as usize], weight));
        choices.clear();
        choices.push((own, 0.0));
        for &other in near.communities() {
            let total = refined.total(other);
            let gain = near.weight(other) - gamma * strength * total / network.total();
            if gain >= 0.0 && is_well_connected(outside[other as usize], total, community) {
                choices.push((other, gain));
            }
        }
        let chosen = choose(&choices, theta, random);
        if chosen != own {
            outside[chosen as usize] += outside[own as usize] - 2.0 * near.weight(chosen);
            refined.put(network, node, chosen);
        }
    }
    Ok(())
}

/// One of the choices, each as likely as the exponential of its gain by `theta`.
fn choose(choices: &[(u32, f64)], theta: f64, random: &mut Random) -> u32 {
    let most = choices.iter().fold(0.0, |most: f64, (_, gain)| most.max(*gain));
    let likelihood = |gain: f64| ((gain - most) / theta.max(THETA_MIN)).exp();
    let all: f64 = choices.iter().map(|(_, gain)| likelihood(*gain)).sum();
    let mut left = random.unit() * all;
    for &(choice, gain) in choices {
        left -= likelihood(gain);
        if left < 0.0 {
            return choice;
        }
    }
    choices.iter().rfind(|(_, gain)| likelihood(*gain) > 0.0).map_or(choices[0].0, |(choice, _)| *choice)
}

/// Gives every connected piece of a community a number of its own, without gaps; true if there are now more.
pub(super) fn take_apart(view: &GraphView, communities: &mut [u32], interrupt: &Interrupt) -> Result<bool> {
    let before = communities.iter().max().map_or(0, |&most| most + 1);
    let mut pieces = vec![u32::MAX; communities.len()];
    let mut count = 0;
    let mut stack = Vec::new();
    for start in 0..communities.len() as u32 {
        if pieces[start as usize] != u32::MAX {
            continue;
        }
        interrupt.check()?;
        pieces[start as usize] = count;
        stack.push(start);
        while let Some(node) = stack.pop() {
            for &neighbor in view.forward().neighbors(node) {
                let is_within = communities[neighbor as usize] == communities[node as usize];
                if is_within && pieces[neighbor as usize] == u32::MAX {
                    pieces[neighbor as usize] = count;
                    stack.push(neighbor);
                }
            }
        }
        count += 1;
    }
    communities.copy_from_slice(&pieces);
    Ok(count > before)
}
