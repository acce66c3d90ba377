//! Time that counting triangles is expected to take beyond passes over the edges, from the degrees of nodes.
//!
//! Cost model: each node's list holds its neighbors of higher degree. In memory a pair of neighbors in it that are not both hubs
//! is looked up among marks, and pairs of hubs by words of bits, as `count.rs` does; streamed, lists are merged.

use super::count::{HUB_DEGREE_MIN, HUBS_MAX};
use crate::graph::Execution;
use crate::graph::degrees::Degrees;
use crate::graph::work::{PassCost, cost};

/// Nanoseconds to make the lists, for each end of an edge and each node.
const LISTS: PassCost = cost(5.6, 16.5, 95.0);
/// Nanoseconds to look an entry of a list up among marks.
const MARK_NS: f64 = 3.7;
/// Nanoseconds to intersect a word of bits.
const WORD_NS: f64 = 0.7;
/// The same as [`LISTS`], streamed.
const STREAMED_LISTS: PassCost = cost(29.0, 0.0, 570.0);
/// Nanoseconds to advance in two lists by an entry.
const MERGE_NS: f64 = 6.0;

/// Nanoseconds of one thread; `None` if it was not measured in this mode. Streamed, all lists are in memory together.
pub(crate) fn expected_ns(degrees: &Degrees, execution: Execution) -> Option<f64> {
    let lists = |cost: PassCost| cost.ns(degrees.ends, degrees.nodes);
    match execution {
        Execution::Memory => {
            let Steps { lookups, words } = steps(degrees, HUBS_MAX);
            Some(lists(LISTS) + lookups * MARK_NS + words * WORD_NS)
        }
        Execution::Streaming => Some(lists(STREAMED_LISTS) + steps(degrees, 0).lookups * MERGE_NS),
        Execution::Windows | Execution::Spark => None,
    }
}

/// Expected steps.
#[derive(Clone, Copy, Debug)]
struct Steps {
    /// Entries of lists of neighbors that are no hubs.
    lookups: f64,
    /// Words of bits of neighbors that are hubs.
    words: f64,
}

fn steps(degrees: &Degrees, hubs_max: usize) -> Steps {
    let classes = degrees.classes();
    // Share of the pairs of two classes in which the second node is in the list of the first: of one class, every other.
    let share = |of: usize, other: usize| if other < of { 1.0 } else { 0.5 };
    let listed = |of: usize, other: usize| classes[other].nodes * degrees.joined(of, other) * share(of, other);
    let lengths: Vec<f64> = (0..classes.len()).map(|of| (0..=of).map(|other| listed(of, other)).sum()).collect();
    let mut left = hubs_max as f64;
    let hub_shares: Vec<f64> = (0..classes.len())
        .map(|of| {
            let neighbors: f64 = classes.iter().enumerate().map(|(other, c)| c.nodes * degrees.joined(of, other)).sum();
            let hubs = if neighbors >= f64::from(HUB_DEGREE_MIN) { classes[of].nodes.min(left) } else { 0.0 };
            left -= hubs;
            hubs / classes[of].nodes
        })
        .collect();
    let hubs: f64 = classes.iter().zip(&hub_shares).map(|(class, share)| class.nodes * share).sum();
    let row_words = (hubs / f64::from(u64::BITS)).max(1.0);
    let mut steps = Steps { lookups: 0.0, words: 0.0 };
    for (of, class) in classes.iter().enumerate() {
        let hubs: f64 = (0..=of).map(|other| listed(of, other) * hub_shares[other]).sum();
        // Number of words in which at least one of the hubs has its bit.
        let words = row_words * (1.0 - (-hubs / row_words).exp());
        steps.words += class.nodes * hubs * words;
        let lookups: f64 = (0..=of).map(|other| listed(of, other) * (1.0 - hub_shares[other]) * lengths[other]).sum();
        steps.lookups += class.nodes * lookups;
    }
    steps
}

#[cfg(test)]
mod tests {
    use model::interrupt::Interrupt;
    use model::statistics::EdgeSketch;
    use model::store::Direction;

    use super::super::ranked::Ranked;
    use super::{Steps, expected_ns, steps};
    use crate::edges::EdgeList;
    use crate::graph::Execution;
    use crate::graph::degrees::Degrees;
    use crate::graph_view::{GraphView, Sides};
    use crate::random::Random;

    const NODES: usize = 20_000;
    const SEED: u64 = 0x7a1;

    /// Edges drawn evenly, or so that a few nodes have many.
    fn edges(power: i32) -> Vec<(u32, u32)> {
        let mut random = Random::new(SEED);
        let mut end = || (NODES as f64 * random.unit().powi(power)) as u32;
        (0..10 * NODES).map(|_| (end(), end())).collect()
    }

    fn degrees_of(edges: &[(u32, u32)]) -> Degrees {
        let histogram = |ends: &dyn Fn(&(u32, u32)) -> u32| {
            let mut degrees = vec![0_u32; NODES];
            edges.iter().for_each(|edge| degrees[ends(edge) as usize] += 1);
            let mut counts = vec![0; 32];
            degrees.iter().filter(|&&degree| degree > 0).for_each(|degree| counts[degree.ilog2() as usize] += 1);
            counts
        };
        let (out_degrees, in_degrees) = (histogram(&|edge| edge.0), histogram(&|edge| edge.1));
        let sketch = EdgeSketch { out_degrees, in_degrees, ..EdgeSketch::default() };
        Degrees::of_sketches(&[&sketch], NODES as f64, 2.0 * edges.len() as f64)
    }

    /// Entries of the lists of all entries of all lists, counted.
    fn counted(edges: &[(u32, u32)]) -> f64 {
        let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
        let list = EdgeList { sources: &sources, targets: &targets, weights: &[] };
        let view = GraphView::from_edges(NODES as u32, &list, Direction::Both, Sides::ForwardAndBackward, 1);
        let ranked = Ranked::new(&view, 1, &Interrupt::new()).expect("nothing interrupts it");
        let length = |rank: u32| ranked.range(rank).len();
        let of_list = |rank| ranked.targets[ranked.range(rank)].iter().map(|&other| length(other)).sum::<usize>();
        (0..NODES as u32).map(of_list).sum::<usize>() as f64
    }

    #[test]
    fn expected_steps_are_those_of_drawn_graphs() {
        for power in [1, 2, 3] {
            let edges = edges(power);
            let Steps { lookups, words } = steps(&degrees_of(&edges), 0);
            let counted = counted(&edges);
            assert!((0.6..1.6).contains(&(lookups / counted)), "seed {SEED}, power {power}: {lookups} of {counted}");
            // Without hubs there are no words; with a hub for every node there are few lookups.
            assert_eq!(words, 0.0);
            let all = steps(&degrees_of(&edges), NODES);
            assert!(all.words > 0.0 && all.lookups < lookups, "seed {SEED}, power {power}: {all:?}");
        }
    }

    #[test]
    fn a_graph_without_edges_takes_the_time_of_its_nodes() {
        let degrees = degrees_of(&[]);
        let ns = expected_ns(&degrees, Execution::Memory).expect("it was measured");
        assert!(ns > 0.0 && ns < 1e7, "{ns}");
        assert_eq!(expected_ns(&degrees, Execution::Windows), None);
    }
}
