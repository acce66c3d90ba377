//! Rows of one moment: nodes, edges, neighbours, labels and entries of indexes, each for many at once in one round trip.

use std::ops::{Bound, Range};
use std::sync::Arc;

use model::codec::ordered::ByteRange;
use model::{EdgeTypeId, LabelId, Map, NodeId, Result};

use crate::ring::Ring;
use crate::rows::{
    BUCKET_BITS, ENTRY_BYTES_MAX, EdgeVersion, Entry, NodeVersion, SEGMENT_BITS, SHARDS, blob, bucket, edge_of, int,
    neighbor_of, node_of, number,
};
use crate::tables::{Field, Row, Slice, Table};

/// Reads rows as of one record of the log.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) ring: Ring,
    /// The last record that is seen.
    pub(crate) at: u64,
}

/// A question for edges of a node.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) node: NodeId,
    /// True for the edges that end at the node.
    pub(crate) is_reversed: bool,
    /// The type of the edges; `None` for any.
    pub(crate) edge_type: Option<EdgeTypeId>,
    /// Bounds of the bytes that order edges of the type.
    pub(crate) sort: Option<(Bound<Field>, Bound<Field>)>,
}

/// A question for entries of an index.
#[derive(Clone, Debug)]
pub(crate) struct EntryAsk {
    pub(crate) index: u32,
    /// The partition, if all entries lie in one.
    pub(crate) shard: Option<u64>,
    pub(crate) range: ByteRange,
}

/// Ids in buckets, each with the least and the largest.
fn bucketed(ids: impl Iterator<Item = u64>) -> Vec<(u64, u64, u64)> {
    let mut ids: Vec<u64> = ids.filter(|id| i64::try_from(*id).is_ok()).collect();
    ids.sort_unstable();
    let buckets = ids.chunk_by(|a, b| bucket(*a) == bucket(*b));
    buckets.map(|ids| (bucket(ids[0]), ids[0], ids[ids.len() - 1])).collect()
}

impl Reader {
    fn graph(&self) -> Field {
        Field::Int(self.ring.graph)
    }

    fn range_of_ids(&self, table: Table, (bucket, first, last): (u64, u64, u64)) -> Slice {
        Slice::new(table, vec![self.graph(), int(bucket)], Vec::new())
            .between(Bound::Included(int(first)), Bound::Included(int(last)))
    }

    /// Nodes by id.
    pub(crate) fn nodes(&self, ids: impl Iterator<Item = NodeId>) -> Result<Map<NodeId, NodeVersion>> {
        let buckets = bucketed(ids.map(|id| id.0));
        let slices: Vec<Slice> = buckets.into_iter().map(|bucket| self.range_of_ids(Table::Node, bucket)).collect();
        let mut nodes = Map::default();
        for row in self.ring.read(&slices)?.iter().flatten() {
            nodes.extend(node_of(row, self.at)?);
        }
        Ok(nodes)
    }

    /// All nodes whose ids lie in a range, in order.
    pub(crate) fn nodes_within(&self, ids: Range<u64>) -> Result<Vec<(NodeId, NodeVersion)>> {
        let last = ids.end.saturating_sub(1);
        let part = |bucket: u64| {
            let end = ((bucket + 1) << BUCKET_BITS) - 1;
            self.range_of_ids(Table::Node, (bucket, ids.start.max(bucket << BUCKET_BITS), last.min(end)))
        };
        let slices: Vec<Slice> = (bucket(ids.start)..=bucket(last)).map(part).collect();
        let mut nodes = Vec::new();
        for row in self.ring.read(&slices)?.iter().flatten() {
            nodes.extend(node_of(row, self.at)?);
        }
        Ok(nodes)
    }

    /// Edges by number.
    pub(crate) fn edges(&self, numbers: impl Iterator<Item = u64>) -> Result<Map<u64, EdgeVersion>> {
        let buckets = bucketed(numbers);
        let slices: Vec<Slice> = buckets.into_iter().map(|bucket| self.range_of_ids(Table::Edge, bucket)).collect();
        let mut edges = Map::default();
        for row in self.ring.read(&slices)?.iter().flatten() {
            edges.extend(edge_of(row, self.at)?.map(|edge| (edge.number, edge)));
        }
        Ok(edges)
    }

    /// Edges of nodes, for each question in order of type and sort key.
    pub(crate) fn neighbors(&self, asks: &[Ask]) -> Result<Vec<Vec<EdgeVersion>>> {
        let is_known = |ask: &&Ask| i64::try_from(ask.node.0).is_ok();
        let slice = |ask: &Ask| {
            let table = if ask.is_reversed { Table::EdgeIn } else { Table::EdgeOut };
            let mut prefix = vec![int(ask.node.0)];
            prefix.extend(ask.edge_type.map(|edge_type| int(u64::from(edge_type.0))));
            let slice = Slice::new(table, vec![self.graph(), int(bucket(ask.node.0))], prefix);
            match &ask.sort {
                Some((from, to)) => slice.between(from.clone(), to.clone()),
                None => slice,
            }
        };
        let slices: Vec<Slice> = asks.iter().filter(is_known).map(slice).collect();
        let mut answers = self.ring.read(&slices)?.into_iter();
        let mut edges = Vec::with_capacity(asks.len());
        for ask in asks {
            let rows = if is_known(&ask) { answers.next().unwrap_or_default() } else { Vec::new() };
            let seen = rows.iter().filter_map(|row| neighbor_of(row, ask.is_reversed, self.at).transpose());
            edges.push(seen.collect::<Result<_>>()?);
        }
        Ok(edges)
    }

    /// The nodes of a label whose ids lie in ranges, each within one segment.
    pub(crate) fn labelled(&self, label: LabelId, ranges: &[Range<u64>]) -> Result<Vec<NodeId>> {
        let slice = |ids: &Range<u64>| {
            let partition = vec![self.graph(), int(u64::from(label.0)), int(ids.start >> SEGMENT_BITS)];
            Slice::new(Table::ByLabel, partition, Vec::new())
                .between(Bound::Included(int(ids.start)), Bound::Excluded(int(ids.end)))
        };
        let slices: Vec<Slice> = ranges.iter().map(slice).collect();
        let mut nodes = Vec::new();
        for rows in self.ring.read(&slices)? {
            for events in rows.chunk_by(|a, b| a.clustering[0] == b.clustering[0]) {
                if self.is_present(events, 1)? {
                    nodes.push(NodeId(number(events[0].clustering.first())?));
                }
            }
        }
        Ok(nodes)
    }

    /// True if the last of ordered events that are seen says that something is there.
    fn is_present(&self, events: &[Row], since: usize) -> Result<bool> {
        let mut is_present = false;
        for event in events {
            if number(event.clustering.get(since))? <= self.at {
                is_present = number(event.cells[0].as_ref())? == 1;
            }
        }
        Ok(is_present)
    }

    /// Entries of indexes; those of each question in any order. Entries beyond [`ENTRY_BYTES_MAX`] are cut off, and bounds
    /// are compared as far as that.
    pub(crate) fn entries(&self, asks: &[EntryAsk]) -> Result<Vec<Vec<Entry>>> {
        let mut slices = Vec::new();
        let mut counts = Vec::with_capacity(asks.len());
        for ask in asks {
            let shards = ask.shard.map_or(0..SHARDS, |shard| shard..shard + 1);
            counts.push((shards.end - shards.start) as usize);
            let cut = |bytes: &[u8]| Field::Bytes(Arc::from(&bytes[..bytes.len().min(ENTRY_BYTES_MAX)]));
            let from = Bound::Included(cut(&ask.range.start));
            let is_whole = ask.range.end.len() <= ENTRY_BYTES_MAX;
            let to = if is_whole { Bound::Excluded(cut(&ask.range.end)) } else { Bound::Included(cut(&ask.range.end)) };
            for shard in shards {
                let partition = vec![self.graph(), int(u64::from(ask.index)), int(shard)];
                slices.push(Slice::new(Table::ByValue, partition, Vec::new()).between(from.clone(), to.clone()));
            }
        }
        let mut answers = self.ring.read(&slices)?.into_iter();
        let mut found = Vec::with_capacity(asks.len());
        for count in counts {
            let mut entries = Vec::new();
            for rows in answers.by_ref().take(count) {
                for events in rows.chunk_by(|a, b| a.clustering[..2] == b.clustering[..2]) {
                    if self.is_present(events, 2)? {
                        entries.push(entry_of(&events[0])?);
                    }
                }
            }
            found.push(entries);
        }
        Ok(found)
    }
}

fn entry_of(row: &Row) -> Result<Entry> {
    let bytes = blob(row.clustering.first())?.clone();
    let id = number(row.clustering.get(1))?;
    let cell = |at: usize| row.cells[at].as_ref().map_or(Ok(0), |field| number(Some(field)));
    let edge = (EdgeTypeId(cell(3)? as u32), NodeId(cell(1)?), NodeId(cell(2)?));
    Ok(Entry { bytes, id, edge })
}
