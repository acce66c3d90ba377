//! The last edge of the longest paths, where nobody asks for the edges of a path.
//!
//! Most paths are as long as they may be. Their last edge is followed as that of an `Expand` whose edge must differ from
//! those before it, and becomes a row at once: no path of that length is kept, and ids of its edges are not read.

use std::ops::Range;
use std::sync::Arc;

use model::{Column, ColumnData, EdgeValue, NodeId, Result};

use super::VariableExpand;
use super::walk::Walk;
use crate::chunk::Chunk;
use crate::operators::expand::hop::Hop;
use crate::rows::gather_columns;
use crate::runtime::{Flow, Sink};

/// Longer paths are kept: each of their edges would be a column.
const EDGES_MAX: u32 = 16;

/// See the module. Its chunks have the columns that are kept, those that edges must differ from, the node, and a column for
/// each edge before the last.
pub(super) struct LastHop {
    hop: Hop,
    prefix: usize,
}

impl LastHop {
    /// The hop of an expansion all of whose paths are wanted, without their edges and tested by nothing.
    pub(super) fn of(expand: &VariableExpand) -> Option<LastHop> {
        let is_plain = expand.filter.is_none() && expand.running.is_none() && !expand.repeats && expand.bound.is_none();
        let is_short = (expand.min.max(1)..=EDGES_MAX).contains(&expand.max);
        if !is_plain || !is_short || expand.gives_edges || expand.only_ends {
            return None;
        }
        let (kept, prefix) = (expand.keep.len(), expand.max as usize - 1);
        let from = kept + expand.distinct_from.len();
        let hop = Hop {
            from,
            direction: expand.direction,
            types: expand.types.clone(),
            gives_edge: false,
            gives_node: expand.gives_node,
            distinct_from: (kept..from).chain(from + 1..from + 1 + prefix).collect(),
            choice: None,
            few: expand.few,
            keep: (0..kept).collect(),
        };
        Some(LastHop { hop, prefix })
    }

    /// Number of edges before the last.
    pub(super) fn prefix(&self) -> usize {
        self.prefix
    }

    /// Gives the paths of one edge more than these of the topmost level.
    pub(super) fn run(&self, walk: &Walk<'_, '_>, paths: Range<usize>, sink: &mut Sink<'_>) -> Result<Flow> {
        let Some(top) = walk.levels.last() else { return Ok(Flow::Continue) };
        let rows = &top.rows[paths.clone()];
        let mut columns = gather_columns(walk.chunk, &walk.expand.keep, rows);
        columns.extend(gather_columns(walk.chunk, &walk.expand.distinct_from, rows));
        let nodes: Vec<NodeId> = top.nodes[paths.clone()].to_vec();
        columns.push(Arc::new(Column::new(ColumnData::Node(nodes))));
        let mut places: Vec<usize> = paths.collect();
        for level in walk.levels[1..].iter().rev() {
            let edges: Vec<EdgeValue> = places.iter().map(|&place| level.edges[place]).collect();
            columns.push(Arc::new(Column::new(ColumnData::Edge(edges))));
            places.iter_mut().for_each(|place| *place = level.parents[*place] as usize);
        }
        let chunk = Chunk { rows: places.len(), columns };
        self.hop.run(walk.runtime, &chunk, sink)
    }
}
