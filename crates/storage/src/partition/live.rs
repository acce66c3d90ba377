//! A section as readers see it: without the edges that patches deleted, with the properties that they changed.

use std::ops::Range;

use model::id::{EdgeTypeId, NodeId, PropertyKeyId};
use model::{Column, Result};

use super::Section;
use crate::partition::patch::SectionPatches;

/// A section and its patches.
#[derive(Clone, Copy, Debug)]
pub struct LiveSection<'a> {
    /// The edges as they were written.
    pub section: &'a Section,
    /// Changes of the edges; `None` if there are none.
    pub patches: Option<&'a SectionPatches>,
}

impl<'a> LiveSection<'a> {
    /// The type of its edges.
    #[inline]
    pub fn edge_type(&self) -> EdgeTypeId {
        self.section.edge_type()
    }

    /// Number of edges that are there.
    pub fn edge_count(&self) -> u64 {
        self.section.edge_count() - self.patches.map_or(0, SectionPatches::deleted)
    }

    /// Number of edges of a run that are gone; `is_in` for a run of the in-direction.
    #[inline]
    pub fn count_lost(&self, run: &Range<u64>, is_in: bool) -> Result<u64> {
        self.patches.map_or(Ok(0), |patches| patches.count_lost(run, is_in))
    }

    /// Number of live edges of a run; `is_in` for a run of the in-direction.
    #[inline]
    fn count_left(&self, run: &Range<u64>, is_in: bool) -> Result<u64> {
        let left = (run.end - run.start).checked_sub(self.count_lost(run, is_in)?);
        left.ok_or_else(|| self.section.file().damage(0, "more edges of a node are deleted than it has"))
    }

    /// Number of edges that start at a node.
    #[inline]
    pub fn out_degree(&self, node: NodeId) -> Result<u64> {
        self.count_left(&self.section.out_run(node)?, false)
    }

    /// Number of edges that end at a node.
    #[inline]
    pub fn in_degree(&self, node: NodeId) -> Result<u64> {
        self.count_left(&self.section.in_run(node)?, true)
    }

    /// True if the position is that of an edge that is there.
    pub fn is_there(&self, position: u64) -> Result<bool> {
        Ok(position < self.section.edge_count() && self.count_lost(&(position..position + 1), false)? == 0)
    }

    /// Adds the positions of the edges from `source` to `target` to `out`, oldest first.
    pub fn between(&self, source: NodeId, target: NodeId, out: &mut Vec<u64>) -> Result<()> {
        let before = out.len();
        self.section.between(source, target, out)?;
        let (Some(&first), Some(&last)) = (out.get(before), out.last()) else { return Ok(()) };
        let run = first..last + 1;
        if let Some(patches) = self.patches.filter(|patches| patches.may_have_lost(&run, false)) {
            let mut lost = Vec::new();
            patches.lost(&run, false, &mut lost)?;
            let mut kept = before;
            for at in before..out.len() {
                if lost.binary_search(&out[at]).is_err() {
                    out[kept] = out[at];
                    kept += 1;
                }
            }
            out.truncate(kept);
        }
        Ok(())
    }

    /// The property keys that some edge may have, each once.
    pub fn keys(&self) -> Vec<PropertyKeyId> {
        let mut keys: Vec<PropertyKeyId> = self.section.keys().collect();
        if let Some(patches) = self.patches {
            keys.extend(patches.keys());
            keys.sort_unstable();
            keys.dedup();
        }
        keys
    }

    /// One property of the edges at these positions, in any order.
    pub fn property(&self, key: PropertyKeyId, positions: &[u64]) -> Result<Column> {
        let column = self.section.property(key, positions)?;
        match self.patches {
            None => Ok(column),
            Some(patches) => patches.overlaid(key, positions, column),
        }
    }

    /// Bytes of the properties of an edge around a position, on the average.
    pub fn row_bytes(&self, keys: &[PropertyKeyId], position: u64) -> u64 {
        let columns = keys.iter().filter_map(|&key| self.section.column(key));
        columns.map(|column| column.row_bytes(position)).sum()
    }

    /// One property of a run of positions.
    pub fn property_range(&self, key: PropertyKeyId, run: Range<u64>) -> Result<Column> {
        let column = self.section.property_range(key, run.clone())?;
        match self.patches {
            None => Ok(column),
            Some(patches) => patches.overlaid_range(key, &run, column),
        }
    }
}
