//! The community of each node, and the nodes of each community.

use super::Network;

/// A community for each node.
pub(crate) struct Partition {
    /// The community of each node, below the number of nodes.
    pub(crate) communities: Vec<u32>,
    totals: Vec<f64>,
    sizes: Vec<u32>,
    /// Empty communities below `unseen`.
    free: Vec<u32>,
    /// Those from here on were not looked through for empty ones yet.
    unseen: u32,
}

impl Partition {
    /// The partition with these communities, which are less than the number of nodes.
    pub(crate) fn new(network: &Network<'_>, communities: Vec<u32>) -> Partition {
        let (mut totals, mut sizes) = (vec![0.0; communities.len()], vec![0; communities.len()]);
        for (node, &community) in (0..).zip(&communities) {
            totals[community as usize] += network.strength(node);
            sizes[community as usize] += 1;
        }
        Partition { communities, totals, sizes, free: Vec::new(), unseen: 0 }
    }

    /// Every node for itself.
    pub(crate) fn singletons(network: &Network<'_>) -> Partition {
        let count = network.node_count();
        let communities = (0..count as u32).collect();
        let totals = (0..count as u32).map(|node| network.strength(node)).collect();
        Partition { communities, totals, sizes: vec![1; count], free: Vec::new(), unseen: 0 }
    }

    /// The strengths of the nodes of each community together.
    #[inline]
    pub(crate) fn totals(&self) -> &[f64] {
        &self.totals
    }

    /// The strengths of the nodes of a community together.
    #[inline]
    pub(crate) fn total(&self, community: u32) -> f64 {
        self.totals[community as usize]
    }

    /// Number of nodes of a community.
    #[inline]
    pub(crate) fn size(&self, community: u32) -> u32 {
        self.sizes[community as usize]
    }

    /// Moves a node.
    pub(crate) fn put(&mut self, network: &Network<'_>, node: u32, community: u32) {
        let from = std::mem::replace(&mut self.communities[node as usize], community);
        let strength = network.strength(node);
        self.sizes[from as usize] -= 1;
        if self.sizes[from as usize] == 0 {
            self.totals[from as usize] = 0.0;
            if from < self.unseen {
                self.free.push(from);
            }
        } else {
            self.totals[from as usize] -= strength;
        }
        self.sizes[community as usize] += 1;
        self.totals[community as usize] += strength;
    }

    /// A community without nodes; there is one as long as any has several.
    pub(crate) fn find_empty(&mut self) -> Option<u32> {
        while let Some(community) = self.free.pop() {
            if self.size(community) == 0 {
                return Some(community);
            }
        }
        while (self.unseen as usize) < self.sizes.len() {
            self.unseen += 1;
            if self.size(self.unseen - 1) == 0 {
                return Some(self.unseen - 1);
            }
        }
        None
    }

    /// Names the communities by numbers without gaps, those of several nodes first, so that what is often looked at lies
    /// together; gives how many there are.
    pub(crate) fn renumber(&mut self) -> usize {
        let node_count = self.communities.len();
        let mut numbers = vec![0; node_count];
        let (mut totals, mut sizes) = (Vec::with_capacity(node_count), Vec::with_capacity(node_count));
        for is_single in [false, true] {
            for (community, &size) in self.sizes.iter().enumerate() {
                if size > 0 && (size == 1) == is_single {
                    numbers[community] = sizes.len() as u32;
                    totals.push(self.totals[community]);
                    sizes.push(size);
                }
            }
        }
        let count = sizes.len();
        totals.resize(node_count, 0.0);
        sizes.resize(node_count, 0);
        (self.totals, self.sizes) = (totals, sizes);
        self.communities.iter_mut().for_each(|community| *community = numbers[*community as usize]);
        (self.free, self.unseen) = (Vec::new(), count as u32);
        count
    }

    /// The same if communities of several nodes are few among those before the last of them.
    pub(crate) fn renumber_if_sparse(&mut self) {
        let several = self.sizes.iter().filter(|&&size| size > 1).count();
        let end = self.sizes.iter().rposition(|&size| size > 1).map_or(0, |last| last + 1);
        if 2 * several < end {
            self.renumber();
        }
    }
}

/// The nodes of each community, one community after another.
pub(crate) struct Members {
    /// The offset of those of each community, and the end of the last ones.
    pub(crate) starts: Vec<u64>,
    /// All nodes.
    pub(crate) nodes: Vec<u32>,
}

impl Members {
    /// Those of communities that are numbered below `count`.
    pub(crate) fn of(communities: &[u32], count: usize) -> Members {
        let mut starts = vec![0_u64; count + 1];
        communities.iter().for_each(|&community| starts[community as usize + 1] += 1);
        (0..count).for_each(|community| starts[community + 1] += starts[community]);
        let mut next = starts.clone();
        let mut nodes = vec![0; communities.len()];
        for (node, &community) in (0..).zip(communities) {
            nodes[next[community as usize] as usize] = node;
            next[community as usize] += 1;
        }
        Members { starts, nodes }
    }

    /// Number of communities.
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The nodes of one community.
    #[inline]
    pub(crate) fn of_one(&self, community: usize) -> &[u32] {
        &self.nodes[self.starts[community] as usize..self.starts[community + 1] as usize]
    }

    /// For each community how many entries the rows of its nodes have, added up from 0, and all of them.
    pub(crate) fn entries_before(&self, network: &Network<'_>) -> Vec<u64> {
        let mut before = Vec::with_capacity(self.count() + 1);
        before.push(0);
        let mut sum = 0;
        for community in 0..self.count() {
            sum += self.of_one(community).iter().map(|&node| network.entries(node).len() as u64).sum::<u64>();
            before.push(sum);
        }
        before
    }
}

/// A partition of a coarse network's nodes as one of those of the network it was made of.
pub(crate) fn unfold(fine: &mut [u32], coarse: &[u32]) {
    fine.iter_mut().for_each(|community| *community = coarse[*community as usize]);
}
