//! The levels of edge partitions: their sizes, and when partitions are merged into the next.

/// When and how partitions are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Overlapping partitions of one level that are merged into the next.
    pub fanout: usize,
    /// Approximate number of edges that a flush writes: the size of a partition of level 0.
    pub level0_edges: u64,
    /// Approximate number of edges in one partition above which a merge cuts its interval.
    pub partition_edges_max: u64,
    /// Partitions of level 0 at which writers wait for a merge.
    pub level0_max: usize,
    /// Factor: a partition is rewritten once its deletions and changed properties, times this factor, exceed its edges.
    pub patch_share: u64,
    /// Bytes that merging writes a second, at most; 0 for as many as the disk takes.
    pub bytes_per_second: u64,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            fanout: 4,
            level0_edges: 400_000,
            partition_edges_max: 1 << 28,
            level0_max: 24,
            patch_share: 4,
            bytes_per_second: 0,
        }
    }
}

impl Policy {
    /// The level of a partition of that many edges that was not merged level by level.
    pub fn level_of(&self, edges: u64) -> u8 {
        let (mut level, mut size) = (0, self.level0_edges.max(1));
        while size < edges {
            size = size.saturating_mul(self.fanout.max(2) as u64);
            level += 1;
        }
        level
    }
}
