//! Compaction: edge partitions that overlap are merged into fewer and larger ones, level by level.

/// When and how partitions are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Overlapping partitions of one level that are merged into the next.
    pub fanout: usize,
    /// Edges that a flush writes, about: the size of a partition of level 0.
    pub level0_edges: u64,
    /// Edges in one partition, at most, about.
    pub partition_edges_max: u64,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { fanout: 6, level0_edges: 400_000, partition_edges_max: 1 << 28 }
    }
}

impl Policy {
    /// The level of a partition of that many edges that was not merged level by level.
    pub fn level_of(&self, edges: u64) -> u8 {
        let (mut level, mut size) = (0, self.level0_edges);
        while size < edges {
            size = size.saturating_mul(self.fanout as u64);
            level += 1;
        }
        level
    }
}
