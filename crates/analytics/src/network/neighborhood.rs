//! The weights that join one node, or several, with communities: added up again and again without clearing more than was
//! touched.
//!
//! Without weights they are counted in integers of half the size, as these arrays are read at random places.

use super::Network;

/// The type of the sums.
pub(crate) trait Sum: Copy + Default + PartialEq + Send + Sync {
    /// The weights of some entries, to be asked by [`Sum::weight`].
    fn weights<'n>(network: &'n Network<'_>, entries: std::ops::Range<usize>) -> &'n [f64];
    /// The weight of an entry.
    fn weight(weights: &[f64], at: usize) -> Self;
    /// Both together.
    fn plus(self, other: Self) -> Self;
    /// As a number.
    fn number(self) -> f64;
}

/// Edges, each of which weighs 1.
impl Sum for u32 {
    #[inline]
    fn weights<'n>(_network: &'n Network<'_>, _entries: std::ops::Range<usize>) -> &'n [f64] {
        &[]
    }

    #[inline]
    fn weight(_weights: &[f64], _at: usize) -> u32 {
        1
    }

    #[inline]
    fn plus(self, other: u32) -> u32 {
        self + other
    }

    #[inline]
    fn number(self) -> f64 {
        f64::from(self)
    }
}

/// Weights; 1 each if there are none.
impl Sum for f64 {
    #[inline]
    fn weights<'n>(network: &'n Network<'_>, entries: std::ops::Range<usize>) -> &'n [f64] {
        if network.weights.is_empty() { &[] } else { &network.weights[entries] }
    }

    #[inline]
    fn weight(weights: &[f64], at: usize) -> f64 {
        weights.get(at).copied().unwrap_or(1.0)
    }

    #[inline]
    fn plus(self, other: f64) -> f64 {
        self + other
    }

    #[inline]
    fn number(self) -> f64 {
        self
    }
}

/// Sums by number of a community.
pub(crate) struct Neighborhood<S> {
    sums: Vec<S>,
    touched: Vec<u32>,
    count: usize,
}

impl<S: Sum> Neighborhood<S> {
    /// Nothing, for communities below a number.
    pub(crate) fn new(communities: usize) -> Neighborhood<S> {
        Neighborhood { sums: vec![S::default(); communities], touched: Vec::new(), count: 0 }
    }

    /// Adds the weights of a node's row to the communities of its ends: also that of a self-loop, if rows hold them. An
    /// edge of no weight joins nothing.
    #[inline]
    pub(crate) fn add_row(&mut self, network: &Network<'_>, node: u32, communities: &[u32]) {
        let entries = network.entries(node);
        let (row, weights) = (&network.neighbors[entries.clone()], S::weights(network, entries));
        self.reserve(row.len());
        let (sums, touched, mut count) = (&mut self.sums[..], &mut self.touched[..], self.count);
        for (at, &other) in row.iter().enumerate() {
            let community = communities[other as usize];
            let (sum, weight) = (&mut sums[community as usize], S::weight(weights, at));
            // Written in any case and kept only if it is new, since whether it is can hardly be foreseen.
            touched[count] = community;
            count += usize::from((*sum == S::default()) & (weight != S::default()));
            *sum = sum.plus(weight);
        }
        self.count = count;
    }

    /// Adds a weight; there must be room for one more.
    #[inline]
    pub(crate) fn add(&mut self, community: u32, weight: S) {
        let sum = &mut self.sums[community as usize];
        self.touched[self.count] = community;
        self.count += usize::from((*sum == S::default()) & (weight != S::default()));
        *sum = sum.plus(weight);
    }

    /// Makes room for communities below a number.
    pub(crate) fn widen(&mut self, communities: usize) {
        if self.sums.len() < communities {
            self.sums.resize(communities, S::default());
        }
    }

    /// Makes room for `more` more communities, but not for more than there are.
    #[inline]
    pub(crate) fn reserve(&mut self, more: usize) {
        let needed = (self.count + more).min(self.sums.len()) + 1;
        if self.touched.len() < needed {
            self.touched.resize(needed.next_power_of_two(), 0);
        }
    }

    /// The weight of the edges to a community.
    #[inline]
    pub(crate) fn weight(&self, community: u32) -> f64 {
        self.sums[community as usize].number()
    }

    /// The communities that were added, in order, with their weights; all are forgotten.
    #[inline]
    pub(crate) fn drain(&mut self, mut each: impl FnMut(u32, f64)) {
        for &community in &self.touched[..self.count] {
            each(community, std::mem::take(&mut self.sums[community as usize]).number());
        }
        self.count = 0;
    }
}
