//! The edges of a partition by node, in either direction, in the form that machines compute with: 32-bit ids, no edge ids.
//!
//! The default for a store is here too: it makes runs of what the partition streams.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Direction, EdgeBlockCursor, EdgePartitions, EdgeStream};
use crate::batch::{EdgeBlock, EdgeRuns};
use crate::column::{Bitmap, Column};
use crate::error::Result;
use crate::id::{EdgeTypeId, NodeId, PropertyKeyId};

/// Approximate number of edges in one block of runs.
pub const RUN_BLOCK_EDGES: usize = 1 << 16;

/// Request for runs of a partition.
#[derive(Clone, Debug, Default)]
pub struct RunScan<'a> {
    /// Out for the targets of each source, In for the sources of each target; `Both` is not possible.
    pub direction: Direction,
    /// Edges must be of one of these types; `None` for any type.
    pub types: Option<Vec<EdgeTypeId>>,
    /// Only runs of nodes in this range.
    pub nodes: Option<Range<u64>>,
    /// Only runs of nodes whose bit is set, by node id; nodes behind its end are left out. What holds none of them is not
    /// read, as far as the store can tell.
    pub among: Option<&'a Bitmap>,
    /// Properties of the edges to bring along.
    pub keys: Vec<PropertyKeyId>,
    /// Number of others that read the same edges now, at approximately the same place: advice to keep a while what is
    /// read.
    pub others: u8,
}

impl RunScan<'_> {
    /// True if the runs of a node are asked for.
    #[inline]
    pub fn is_wanted(&self, node: u64) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes.contains(&node))
            && self.among.is_none_or(|among| node < among.len() as u64 && among.get(node as usize))
    }

    /// Fails for what no store can answer.
    pub fn check(&self) -> Result<()> {
        match self.direction {
            Direction::Out | Direction::In => Ok(()),
            Direction::Both => {
                Err(crate::error!(Unsupported, "runs of edges have one direction; read Out and In after one another"))
            }
        }
    }
}

/// A cursor over runs of edges.
pub trait EdgeRunCursor: Send {
    /// Clears `out` and fills it with about [`RUN_BLOCK_EDGES`] further edges at most; false, with `out` empty, at the end.
    fn next(&mut self, out: &mut EdgeRuns) -> Result<bool>;
}

/// Default of [`EdgePartitions::runs`]: streams the partition. Out-runs are made block by block, in-runs of all that is
/// asked for, which is held in memory and sorted.
pub fn runs_by_stream<'a, P: EdgePartitions + ?Sized>(
    partitions: &'a P,
    partition: usize,
    scan: &'a RunScan<'a>,
) -> Result<Box<dyn EdgeRunCursor + 'a>> {
    scan.check()?;
    let sources = if scan.direction == Direction::Out { scan.nodes.clone() } else { None };
    let stream = EdgeStream { types: scan.types.clone(), sources, keys: scan.keys.clone(), ..EdgeStream::default() };
    let mut cursor = partitions.stream(partition, &stream)?;
    if scan.direction == Direction::Out {
        return Ok(Box::new(OutRuns { scan, cursor, block: EdgeBlock::default(), rows: Vec::new(), next: 0 }));
    }
    let mut groups: BTreeMap<EdgeTypeId, Group> = BTreeMap::new();
    let mut block = EdgeBlock::default();
    while cursor.next(&mut block)? {
        let group = groups.entry(block.edge_type).or_default();
        let first = group.edges;
        group.edges += block.targets.len();
        let ends = block.targets.iter().zip(&block.sources).enumerate();
        for (row, (&node, &neighbor)) in ends.filter(|(_, (node, _))| scan.is_wanted(node.0)) {
            group.rows.push((narrow(node)?, narrow(neighbor)?, (first + row) as u32));
        }
        if group.properties.is_empty() {
            group.properties = std::mem::take(&mut block.properties);
        } else {
            group.properties.iter_mut().zip(&block.properties).for_each(|(all, more)| all.append(more));
        }
    }
    let mut groups: Vec<(EdgeTypeId, Group)> = groups.into_iter().collect();
    groups.iter_mut().for_each(|(_, group)| group.rows.sort_unstable());
    groups.reverse();
    Ok(Box::new(InRuns { groups, next: 0 }))
}

/// A node, its neighbor, and the row of the edge.
type Row = (u32, u32, u32);

/// The edges of one type.
#[derive(Default)]
struct Group {
    edges: usize,
    rows: Vec<Row>,
    properties: Vec<Column>,
}

struct InRuns {
    /// The next one last.
    groups: Vec<(EdgeTypeId, Group)>,
    next: usize,
}

impl EdgeRunCursor for InRuns {
    fn next(&mut self, out: &mut EdgeRuns) -> Result<bool> {
        out.clear();
        while let Some((edge_type, group)) = self.groups.last() {
            let rest = &group.rows[self.next..];
            if rest.is_empty() {
                self.groups.pop();
                self.next = 0;
                continue;
            }
            let rows = &rest[..rest.len().min(RUN_BLOCK_EDGES)];
            self.next += rows.len();
            fill(out, *edge_type, rows, &group.properties);
            return Ok(true);
        }
        Ok(false)
    }
}

struct OutRuns<'a> {
    scan: &'a RunScan<'a>,
    cursor: Box<dyn EdgeBlockCursor + 'a>,
    block: EdgeBlock,
    rows: Vec<Row>,
    next: usize,
}

impl EdgeRunCursor for OutRuns<'_> {
    fn next(&mut self, out: &mut EdgeRuns) -> Result<bool> {
        out.clear();
        while self.next == self.rows.len() {
            self.rows.clear();
            self.next = 0;
            if !self.cursor.next(&mut self.block)? {
                return Ok(false);
            }
            let ends = self.block.sources.iter().zip(&self.block.targets).zip(0..);
            for ((&node, &neighbor), row) in ends.filter(|((node, _), _)| self.scan.is_wanted(node.0)) {
                self.rows.push((narrow(node)?, narrow(neighbor)?, row));
            }
            if !self.rows.is_sorted_by_key(|row| row.0) {
                self.rows.sort_unstable();
            }
        }
        let rest = &self.rows[self.next..];
        let rows = &rest[..rest.len().min(RUN_BLOCK_EDGES)];
        self.next += rows.len();
        fill(out, self.block.edge_type, rows, &self.block.properties);
        Ok(true)
    }
}

/// An id in 32 bits.
fn narrow(node: NodeId) -> Result<u32> {
    let too_large =
        || crate::error!(Unsupported, "node {} does not fit into 32 bits, which runs of edges need", node.0);
    u32::try_from(node.0).map_err(|_| too_large())
}

fn fill(out: &mut EdgeRuns, edge_type: EdgeTypeId, rows: &[Row], properties: &[Column]) {
    out.edge_type = edge_type;
    for run in rows.chunk_by(|a, b| a.0 == b.0) {
        out.nodes.push(run[0].0);
        out.neighbors.extend(run.iter().map(|row| row.1));
        out.ends.push(out.neighbors.len() as u32);
    }
    if !properties.is_empty() {
        let numbers: Vec<u32> = rows.iter().map(|row| row.2).collect();
        out.properties.extend(properties.iter().map(|column| column.gather(&numbers)));
    }
}
