//! The ends of the edges of each kind of graph, as a function of the edge's number.
//!
//! After: Sanders, Schulz, "Scalable generation of scale-free graphs", 2016 (Barabási–Albert without communication);
//! Chakrabarti, Zhan, Faloutsos, "R-MAT: a recursive model for graph mining", 2004 (stochastic Kronecker);
//! Erdős, Rényi, "On random graphs", 1959.

use crate::random::{Permutation, Stream, Zipf};

/// Exponents with which users rate and products are rated.
const USER_EXPONENT: f64 = 0.6;
const PRODUCT_EXPONENT: f64 = 0.9;
/// Share of friendships, of 16, that are made nearby.
const NEARBY_OF_16: u64 = 11;
/// Distance in numbers within which friends are nearby.
const NEARBY_MAX: u64 = 50;
/// Exponent with which persons are known from far away.
const KNOWN_EXPONENT: f64 = 0.7;

/// A rule for the ends of edges.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Each node but the first is joined to earlier nodes, with a probability proportional to their degree.
    Barabasi { edges_per_node: u64, stream: Stream },
    /// An edge falls into a quadrant of the adjacency matrix, then into a quadrant of that, and so on.
    Kronecker { scale: u32, thresholds: [f64; 3], stream: Stream, names: Permutation },
    /// Different pairs of different nodes.
    Erdos { nodes: u64, pairs: Permutation },
    /// Few users rate much, and few products are rated much.
    Ratings { users: Zipf, user_names: Permutation, products: Zipf, product_names: Permutation, stream: Stream },
    /// Friends are mostly nearby, and otherwise persons whom many know.
    Friends { persons: u64, friends: u64, known: Zipf, names: Permutation, stream: Stream },
}

impl Shape {
    pub(crate) fn barabasi(edges_per_node: u64, seed: u64) -> Shape {
        Shape::Barabasi { edges_per_node, stream: Stream::new(seed, "barabasi") }
    }

    /// The initiator sums up to 1.
    pub(crate) fn kronecker(scale: u32, initiator: [f64; 4], seed: u64) -> Shape {
        let [a, b, c, _] = initiator;
        let names = Permutation::new(Stream::new(seed, "kronecker names"), 1 << scale);
        Shape::Kronecker { scale, thresholds: [a, a + b, a + b + c], stream: Stream::new(seed, "kronecker"), names }
    }

    pub(crate) fn erdos(nodes: u64, seed: u64) -> Shape {
        let pairs = Permutation::new(Stream::new(seed, "erdos"), nodes.saturating_mul(nodes.saturating_sub(1)));
        Shape::Erdos { nodes, pairs }
    }

    pub(crate) fn ratings(users: u64, products: u64, seed: u64) -> Shape {
        Shape::Ratings {
            users: Zipf::new(users, USER_EXPONENT),
            user_names: Permutation::new(Stream::new(seed, "users"), users),
            products: Zipf::new(products, PRODUCT_EXPONENT),
            product_names: Permutation::new(Stream::new(seed, "products"), products),
            stream: Stream::new(seed, "ratings"),
        }
    }

    pub(crate) fn friends(persons: u64, friends: u64, seed: u64) -> Shape {
        let names = Permutation::new(Stream::new(seed, "known"), persons);
        let known = Zipf::new(persons, KNOWN_EXPONENT);
        Shape::Friends { persons, friends, known, names, stream: Stream::new(seed, "friends") }
    }

    /// Source and target of an edge.
    pub(crate) fn ends(&self, edge: u64) -> (u64, u64) {
        match self {
            Shape::Barabasi { edges_per_node, stream } => retrace(edge, *edges_per_node, *stream),
            Shape::Kronecker { scale, thresholds, stream, names } => {
                let (source, target) = cell(edge, *scale, thresholds, *stream);
                (names.apply(source), names.apply(target))
            }
            Shape::Erdos { nodes, pairs } => {
                let pair = pairs.apply(edge);
                let (source, other) = (pair / (nodes - 1), pair % (nodes - 1));
                (source, if other < source { other } else { other + 1 })
            }
            Shape::Ratings { users, user_names, products, product_names, stream } => {
                let mut draws = stream.draws(edge);
                let (user, product) = (users.draw(&mut draws), products.draw(&mut draws));
                (user_names.apply(user), product_names.apply(product))
            }
            Shape::Friends { persons, friends, known, names, stream } => {
                let (person, mut draws) = (edge / friends, stream.draws(edge));
                let step = if draws.below(16) < NEARBY_OF_16 {
                    1 + draws.below(NEARBY_MAX.min(persons - 1))
                } else {
                    let other = names.apply(known.draw(&mut draws));
                    (other + persons - person) % persons
                };
                // Nobody is a friend of their own.
                (person, (person + step.max(1)) % persons)
            }
        }
    }
}

/// The ends of an edge of a Barabási–Albert graph. The list of all ends of all edges, source and target by turns, is what
/// a target is drawn from evenly; an even place holds a source, which is known, and an odd place a target, which is
/// found in the same way. The expected number of steps is 2.
fn retrace(edge: u64, edges_per_node: u64, stream: Stream) -> (u64, u64) {
    let mut place = 2 * edge + 1;
    loop {
        // Places of the edges of earlier nodes.
        let earlier = 2 * edges_per_node * (place / (2 * edges_per_node));
        if earlier == 0 {
            return (1 + edge / edges_per_node, 0);
        }
        place = stream.below(place, earlier);
        if place.is_multiple_of(2) {
            return (1 + edge / edges_per_node, 1 + place / 2 / edges_per_node);
        }
    }
}

/// The cell of the adjacency matrix that an edge of a Kronecker graph falls into.
fn cell(edge: u64, scale: u32, thresholds: &[f64; 3], stream: Stream) -> (u64, u64) {
    let mut draws = stream.draws(edge);
    let (mut source, mut target) = (0, 0);
    for _ in 0..scale {
        let dice = draws.unit();
        let quadrant = thresholds.iter().filter(|&&threshold| dice >= threshold).count() as u64;
        source = source << 1 | quadrant >> 1;
        target = target << 1 | quadrant & 1;
    }
    (source, target)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Shape, cell};
    use crate::random::Stream;

    fn degrees(shape: &Shape, nodes: u64, edges: u64) -> Vec<u64> {
        let mut degrees = vec![0; nodes as usize];
        for (source, target) in (0..edges).map(|edge| shape.ends(edge)) {
            degrees[source as usize] += 1;
            degrees[target as usize] += 1;
        }
        degrees
    }

    /// The exponent is 3 in the limit (Bollobás et al., 2001). Maximum likelihood over the nodes of degree 30 and more,
    /// about 3 % of them, has a standard error of 2 / sqrt(6,000) = 0.03; the tolerance is four times that and 0.05 for
    /// the bias of the estimate.
    #[test]
    fn barabasi_degrees_follow_a_power_law_of_exponent_three() {
        let (nodes, per_node) = (200_000, 5);
        let shape = Shape::barabasi(per_node, 1);
        let degrees = degrees(&shape, nodes, (nodes - 1) * per_node);
        let least = 30.0;
        let tail: Vec<f64> = degrees.iter().map(|&degree| degree as f64).filter(|degree| *degree >= least).collect();
        let logs: f64 = tail.iter().map(|degree| (degree / (least - 0.5)).ln()).sum();
        let exponent = 1.0 + tail.len() as f64 / logs;
        assert!((exponent - 3.0).abs() < 0.17, "{exponent} of {} nodes", tail.len());
        assert!(degrees.iter().all(|degree| *degree >= 5), "each node has at least its own edges");
        assert_eq!(degrees.iter().sum::<u64>(), 2 * 999_995);
    }

    #[test]
    fn barabasi_edges_lead_to_earlier_nodes() {
        let shape = Shape::barabasi(3, 9);
        for edge in 0..30_000 {
            let (source, target) = shape.ends(edge);
            assert_eq!(source, 1 + edge / 3);
            assert!(target < source, "edge {edge} leads to {target}");
        }
    }

    /// Each quadrant has its share of the edges, at the first level and, within the first quadrant, at the second.
    #[test]
    fn kronecker_edges_fall_into_quadrants_as_the_initiator_says() {
        let (initiator, scale, edges) = ([0.5, 0.25, 0.15, 0.1], 10, 200_000);
        let Shape::Kronecker { thresholds, .. } = Shape::kronecker(scale, initiator, 4) else { unreachable!() };
        let (mut first, mut second) = ([0_u64; 4], [0_u64; 4]);
        for edge in 0..edges {
            let (source, target) = cell(edge, scale, &thresholds, Stream::new(4, "kronecker"));
            let quadrant = |bit: u32| (((source >> bit) & 1) * 2 + ((target >> bit) & 1)) as usize;
            first[quadrant(scale - 1)] += 1;
            if quadrant(scale - 1) == 0 {
                second[quadrant(scale - 2)] += 1;
            }
        }
        for (counts, all) in [(first, edges), (second, first[0])] {
            for (count, share) in counts.iter().zip(initiator) {
                let expected = all as f64 * share;
                // Four standard deviations.
                let tolerance = 4.0 * (expected * (1.0 - share)).sqrt();
                assert!((*count as f64 - expected).abs() < tolerance, "{counts:?}: {share} of {all}");
            }
        }
    }

    #[test]
    fn erdos_pairs_are_different_and_no_loops() {
        let (nodes, edges) = (50, 50 * 49);
        let shape = Shape::erdos(nodes, 2);
        let pairs: BTreeSet<(u64, u64)> = (0..edges).map(|edge| shape.ends(edge)).collect();
        assert_eq!(pairs.len() as u64, edges, "all pairs that there are, each once");
        assert!(pairs.iter().all(|(source, target)| source != target && *source < nodes && *target < nodes));
    }

    #[test]
    fn erdos_degrees_are_even() {
        let degrees = degrees(&Shape::erdos(10_000, 7), 10_000, 100_000);
        let mean = degrees.iter().sum::<u64>() as f64 / 10_000.0;
        let variance = degrees.iter().map(|&degree| (degree as f64 - mean).powi(2)).sum::<f64>() / 10_000.0;
        assert_eq!(mean, 20.0);
        assert!((variance - 20.0).abs() < 1.5, "as of a Poisson distribution: {variance}");
    }

    #[test]
    fn ratings_and_friends_are_skewed_and_within_bounds() {
        let ratings = Shape::ratings(1_000, 100, 1);
        let mut by_product = [0_u64; 100];
        for (user, product) in (0..20_000).map(|edge| ratings.ends(edge)) {
            assert!(user < 1_000);
            by_product[product as usize] += 1;
        }
        by_product.sort_unstable();
        assert!(by_product[99] > 8 * by_product[50], "{by_product:?}");
        let friends = Shape::friends(5_000, 10, 1);
        let mut near = 0;
        for edge in 0..50_000 {
            let (person, friend) = friends.ends(edge);
            assert!(person == edge / 10 && friend < 5_000 && friend != person, "{person} and {friend}");
            near += u64::from((friend + 5_000 - person) % 5_000 <= 50);
        }
        assert!((33_000..37_500).contains(&near), "11 of 16 and a few by chance: {near}");
    }
}
