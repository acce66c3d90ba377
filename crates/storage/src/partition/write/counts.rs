//! Nodes in ascending order, each with a number of edges, in about two bytes each: what a partition that is written keeps of
//! its sources until the end.

use crate::codec::bytes::put_varint;

/// Nodes that ascend and how often each came; see [`NodeCounts::iter`].
#[derive(Debug, Default)]
pub(super) struct NodeCounts {
    /// For each node but the last how far it is above the one before, and its number of edges, in seven bits a byte.
    bytes: Vec<u8>,
    /// The node before `last`.
    before: u32,
    first: u32,
    last: u32,
    /// Edges of `last`.
    count: u32,
    count_max: u32,
}

impl NodeCounts {
    /// Counts an edge of a node, which is not below the one before.
    #[inline]
    pub(super) fn add(&mut self, node: u32) {
        if node == self.last && self.count > 0 {
            self.count += 1;
        } else {
            self.next(node);
        }
    }

    fn next(&mut self, node: u32) {
        match self.count {
            0 => (self.first, self.before) = (node, node),
            count => {
                put_varint(u64::from(self.last - self.before), &mut self.bytes);
                put_varint(u64::from(count), &mut self.bytes);
                self.count_max = self.count_max.max(count);
                self.before = self.last;
            }
        }
        (self.last, self.count) = (node, 1);
    }

    /// The first node; 0 if there is none.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// The last node; 0 if there is none.
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    /// Edges of the node that has most.
    pub(super) fn count_max(&self) -> u32 {
        self.count_max.max(self.count)
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// The nodes and their numbers of edges, in order.
    pub(super) fn iter(&self) -> Counts<'_> {
        let last = (self.count > 0).then_some((self.last, self.count));
        Counts { bytes: &self.bytes, node: self.first, last }
    }
}

/// Nodes in order, each with its number of edges.
#[derive(Clone, Debug)]
pub(super) struct Counts<'a> {
    bytes: &'a [u8],
    node: u32,
    last: Option<(u32, u32)>,
}

impl Counts<'_> {
    #[inline]
    fn varint(&mut self) -> u32 {
        let mut number = 0;
        let mut shift = 0;
        while let Some((&byte, rest)) = self.bytes.split_first() {
            self.bytes = rest;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        number
    }
}

impl Iterator for Counts<'_> {
    type Item = (u32, u32);

    #[inline]
    fn next(&mut self) -> Option<(u32, u32)> {
        if self.bytes.is_empty() {
            return self.last.take();
        }
        self.node += self.varint();
        Some((self.node, self.varint()))
    }
}

#[cfg(test)]
mod tests {
    use super::NodeCounts;

    fn check(nodes: &[(u32, u32)]) {
        let mut counts = NodeCounts::default();
        for &(node, edges) in nodes {
            (0..edges).for_each(|_| counts.add(node));
        }
        assert_eq!(counts.iter().collect::<Vec<_>>(), nodes);
        let ends = (nodes.first().map_or(0, |of| of.0), nodes.last().map_or(0, |of| of.0));
        assert_eq!((counts.first(), counts.last()), ends);
        assert_eq!(counts.count_max(), nodes.iter().map(|of| of.1).max().unwrap_or(0));
    }

    #[test]
    fn nodes_come_back_with_their_counts() {
        check(&[]);
        check(&[(0, 1)]);
        check(&[(0, 3), (1, 1)]);
        check(&[(7, 200), (8, 1), (300, 70_000), (u32::MAX, 2)]);
        check(&(0..1_000).map(|at| (at * at, at % 7 + 1)).collect::<Vec<_>>());
    }
}
