//! Repeating records of the log within a memory limit: what memory has no room for goes to files, in the middle of a record
//! too.
//!
//! A record says which of its edges an operation changes by their place among those that it made. Those that went to files
//! are named by their keys from then on.
//! Invariant: a record of version 2, whose edges have no numbers, stays in memory until its end.
//! Cost: 8 bytes for each edge of the record that is in files.

use model::{EdgeTypeId, NodeId, Result};

use super::made::Made;
use super::stages::{PIECE_ROWS, pieces_of};
use crate::engine::Overflow;
use crate::snapshot::Snapshot;
use crate::wal::record::{EdgeKey, EdgeName, Ends, Operation};

/// The edges that the record made so far.
pub(super) struct Own {
    /// The ordinal of the first of them that is in memory.
    first: u32,
    moved: Moved,
    /// True if edges of it are known by their ranks only.
    is_ranked: bool,
}

/// Edges of the record that are in files.
#[derive(Default)]
struct Moved {
    /// Source and target of each; node ids have 32 bits.
    ends: Vec<[u32; 2]>,
    /// The place of the first edge of each run of one type and of numbers that follow each other, its type and its number.
    runs: Vec<(u32, EdgeTypeId, u64)>,
}

impl Moved {
    fn push(&mut self, EdgeKey { ends, number }: EdgeKey) {
        let place = self.ends.len() as u32;
        let follows = |&(start, edge_type, first): &(u32, EdgeTypeId, u64)| {
            edge_type == ends.edge_type && first + u64::from(place - start) == number
        };
        if !self.runs.last().is_some_and(follows) {
            self.runs.push((place, ends.edge_type, number));
        }
        self.ends.push([ends.source.0 as u32, ends.target.0 as u32]);
    }

    fn truncate(&mut self, edges: usize) {
        self.ends.truncate(edges);
        self.runs.retain(|run| (run.0 as usize) < edges);
    }

    fn key(&self, place: u32) -> Option<EdgeKey> {
        let [source, target] = self.ends.get(place as usize)?.map(|node| NodeId(node.into()));
        let run = self.runs.partition_point(|run| run.0 <= place).checked_sub(1)?;
        let (start, edge_type, first) = self.runs[run];
        Some(EdgeKey { ends: Ends { source, target, edge_type }, number: first + u64::from(place - start) })
    }
}

impl Own {
    /// Those from an ordinal on.
    pub(super) fn from(first: u32) -> Own {
        Own { first, moved: Moved::default(), is_ranked: false }
    }

    /// None yet.
    pub(super) fn new(snapshot: &Snapshot) -> Own {
        Own::from(snapshot.memtable.edges.len() as u32)
    }

    /// The ordinal of the first edge of the record that is in memory.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// The operation with edges that are in files under the names that they have there.
    pub(super) fn renamed<'o>(&mut self, mut operation: Operation<'o>) -> Operation<'o> {
        if let Operation::CreateEdges { first: None, .. } = operation {
            self.is_ranked = true;
        }
        if let Operation::SetEdgeProperties(edges, ..) | Operation::DeleteEdges(edges) = &mut operation
            && !self.moved.ends.is_empty()
        {
            let moved = self.moved.ends.len() as u32;
            for edge in edges {
                if let EdgeName::Own(place) = *edge {
                    *edge = match self.moved.key(place) {
                        Some(key) => EdgeName::Old(key),
                        None => EdgeName::Own(place - moved),
                    };
                }
            }
        }
        operation
    }

    /// Puts what is in memory into files if there is no room for more.
    fn make_room(&mut self, snapshot: &mut Snapshot, overflow: &mut Overflow<'_>) -> Result<()> {
        if self.is_ranked || !overflow.is_due(snapshot) {
            return Ok(());
        }
        let (edges, moved) = (&snapshot.memtable.edges, self.moved.ends.len());
        for ordinal in self.first..edges.len() as u32 {
            if let (Some(link), Some(number)) = (edges.get(ordinal), edges.number(ordinal)) {
                let ends = Ends { source: link.source, target: link.target, edge_type: link.edge_type };
                self.moved.push(EdgeKey { ends, number });
            }
        }
        if overflow.make_room(snapshot)? {
            self.first = snapshot.memtable.edges.len() as u32;
        } else {
            self.moved.truncate(moved);
        }
        Ok(())
    }
}

impl Snapshot {
    /// Applies an operation of a record whose edges so far are `own`; what it makes is not built if that was done before.
    /// The interrupt is heard between pieces of it.
    pub(super) fn repeat(
        &mut self,
        operation: Operation<'_>,
        own: &mut Own,
        made: &Made,
        mut overflow: Option<&mut Overflow<'_>>,
    ) -> Result<()> {
        in_pieces(operation, |piece| {
            made.check_interrupt()?;
            self.apply_made(piece, own.first, made)?;
            overflow.as_deref_mut().map_or(Ok(()), |overflow| own.make_room(self, overflow))
        })
    }

    /// Ends a record: its edges are as those of all others.
    pub(super) fn end_record(&mut self, overflow: Option<&mut Overflow<'_>>) -> Result<()> {
        self.memtable.settle();
        overflow.map_or(Ok(()), |overflow| overflow.make_room(self).map(drop))
    }
}

/// Calls `apply` with an operation, in pieces if it makes more nodes or edges than a writer does before it looks for room.
/// Those that change what is there are never longer.
fn in_pieces<'o>(operation: Operation<'o>, mut apply: impl FnMut(Operation<'o>) -> Result<()>) -> Result<()> {
    let pieces = |all: usize| (0..all).step_by(PIECE_ROWS).map(move |start| start..all.min(start + PIECE_ROWS));
    match &operation {
        Operation::CreateNodes { first, count, labels, keys, properties } if *count > PIECE_ROWS => pieces(*count)
            .try_for_each(|rows| {
                let first = NodeId(first.0 + rows.start as u64);
                let properties = pieces_of(properties, &rows, *count).into_owned();
                let (labels, keys) = (labels.clone(), keys.clone());
                apply(Operation::CreateNodes { first, count: rows.len(), labels, keys, properties })
            }),
        Operation::CreateEdges { first, edge_type, sources, targets, keys, properties }
            if sources.len() > PIECE_ROWS =>
        {
            pieces(sources.len()).try_for_each(|rows| {
                let first = first.map(|first| first + rows.start as u64);
                let properties = pieces_of(properties, &rows, sources.len()).into_owned();
                let (sources, targets) = (sources[rows.clone()].to_vec(), targets[rows].to_vec());
                let (edge_type, keys) = (*edge_type, keys.clone());
                apply(Operation::CreateEdges { first, edge_type, sources, targets, keys, properties })
            })
        }
        _ => apply(operation),
    }
}
