//! Nodes that come again and again in a batch, as where many edges lead to few nodes: asked about once each.

use model::NodeId;

/// Fewer nodes than this are asked about as they come.
const NODES_MIN: usize = 256;
/// Nodes that are looked at to tell whether others come again.
const SAMPLE: usize = 128;
/// Places for a sample; two nodes with the same place are taken for different ones.
const SAMPLE_PLACES: usize = 512;
/// Repeats among a sample from which on it pays to number the nodes.
const REPEATS_MIN: usize = 10;

const FREE: u32 = u32::MAX;
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The different nodes of a batch, and for each row the place of its node among them.
pub(crate) struct Repeats {
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) places: Vec<u32>,
}

impl Repeats {
    /// The nodes of a batch without repeats; `None` if few come again.
    pub(crate) fn of(nodes: &[NodeId]) -> Option<Repeats> {
        if nodes.len() < NODES_MIN || !come_again(nodes) {
            return None;
        }
        // Open addressing, at most half full.
        let shift = 64 - (nodes.len() * 2).next_power_of_two().trailing_zeros();
        let mut table = vec![FREE; 1 << (64 - shift)];
        let mask = table.len() - 1;
        let mut found = Repeats { nodes: Vec::new(), places: Vec::with_capacity(nodes.len()) };
        for &node in nodes {
            let mut slot = (node.0.wrapping_mul(MULTIPLIER) >> shift) as usize;
            let place = loop {
                match table[slot] {
                    FREE => {
                        let place = found.nodes.len() as u32;
                        table[slot] = place;
                        found.nodes.push(node);
                        break place;
                    }
                    place if found.nodes[place as usize] == node => break place,
                    _ => slot = (slot + 1) & mask,
                }
            };
            found.places.push(place);
        }
        Some(found)
    }
}

/// True if enough nodes of a sample come again in it.
fn come_again(nodes: &[NodeId]) -> bool {
    let step = nodes.len() / SAMPLE;
    let sample = || nodes.iter().step_by(step.max(1)).take(SAMPLE);
    // As a scan gives them: no table is needed to see that.
    if sample().is_sorted_by(|a, b| a < b) {
        return false;
    }
    let mut last = [None; SAMPLE_PLACES];
    let mut repeats = 0;
    for &node in sample() {
        let place = (node.0.wrapping_mul(MULTIPLIER) >> 55) as usize;
        repeats += usize::from(last[place].replace(node) == Some(node));
    }
    repeats >= REPEATS_MIN
}

#[cfg(test)]
mod tests {
    use super::Repeats;
    use model::NodeId;
    use testing::random::{SeededRandom, seed_or};

    #[test]
    fn rows_have_their_nodes() {
        let seed = seed_or(20_261_129);
        let mut random = SeededRandom::new(seed);
        for _ in 0..100 {
            let different = 1 + random.below(600);
            let rows = 200 + random.index(2_000);
            let nodes: Vec<NodeId> = (0..rows).map(|_| NodeId(random.below(different) * 4_096)).collect();
            let Some(found) = Repeats::of(&nodes) else {
                assert!(rows < 256 || different > 100, "seed {seed}: {different} nodes in {rows} rows");
                continue;
            };
            let again: Vec<NodeId> = found.places.iter().map(|&place| found.nodes[place as usize]).collect();
            assert_eq!(again, nodes, "seed {seed}");
            let mut sorted = found.nodes.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), found.nodes.len(), "seed {seed}");
        }
    }

    #[test]
    fn different_nodes_are_left_as_they_are() {
        let nodes: Vec<NodeId> = (0..2_048).map(|node| NodeId(node * 7)).collect();
        assert!(Repeats::of(&nodes).is_none());
    }
}
