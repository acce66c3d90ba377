//! Rows of one moment: nodes, edges, neighbours, labels and entries of indexes, each for many at once: those that are kept,
//! and the others in one round trip.

mod events;
mod joined;

use std::ops::{Bound, Range};
use std::sync::Arc;

use model::codec::ordered::ByteRange;
use model::{EdgeTypeId, Map, NodeId, Result, interrupt, meter};

use crate::cache::{Bounds, Cache, Unit, place_of};
use crate::log::Log;
use crate::packed::Packed;
use crate::ring::Ring;
use crate::rows::{
    BUCKET_BITS, EdgeVersion, Neighbor, NodeVersion, bucket, edge_of, int, neighbor_of, node_of, number,
};
use crate::tables::{Field, Row, Slice, Table};

/// Reads rows as of one record of the log.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) ring: Ring,
    pub(crate) cache: Arc<Cache>,
    /// Tells whether rows that are seen may be gone.
    pub(crate) log: Arc<Log>,
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
    pub(crate) sort: Option<Bounds>,
}

/// A question for entries of an index.
#[derive(Clone, Debug)]
pub(crate) struct EntryAsk {
    pub(crate) index: u32,
    /// The partition, if all entries lie in one.
    pub(crate) shard: Option<u64>,
    pub(crate) range: ByteRange,
}

/// Rows with edges of a node, and others of the node among them.
#[derive(Debug)]
pub(crate) struct Neighbors {
    rows: Option<Packed>,
    edge_type: Option<EdgeTypeId>,
    sort: Option<Bounds>,
    at: u64,
}

impl Neighbors {
    /// The edges that were asked for, in order of type and sort key.
    pub(crate) fn edges(&self) -> impl Iterator<Item = Result<Neighbor<'_>>> {
        let seen = self.rows.iter().flat_map(Packed::rows).filter_map(|row| neighbor_of(&row, self.at).transpose());
        seen.filter(|edge| edge.as_ref().map_or(true, |edge| self.is_asked(edge)))
    }

    fn is_asked(&self, edge: &Neighbor<'_>) -> bool {
        let is_within = |(from, to): &Bounds| is_from(from, edge.sort) && is_to(to, edge.sort);
        self.edge_type.is_none_or(|edge_type| edge_type == edge.edge_type) && self.sort.as_ref().is_none_or(is_within)
    }
}

fn is_from(bound: &Bound<Field>, bytes: &[u8]) -> bool {
    match bound {
        Bound::Included(Field::Bytes(from)) => bytes >= &**from,
        Bound::Excluded(Field::Bytes(from)) => bytes > &**from,
        _ => true,
    }
}

fn is_to(bound: &Bound<Field>, bytes: &[u8]) -> bool {
    match bound {
        Bound::Included(Field::Bytes(to)) => bytes <= &**to,
        Bound::Excluded(Field::Bytes(to)) => bytes < &**to,
        _ => true,
    }
}

/// Rows to be read unless they are kept.
#[derive(Debug)]
struct Wanted {
    unit: Unit,
    bounds: Option<Bounds>,
    slice: Slice,
}

/// Ordered ids in buckets.
fn bucketed(ids: &[u64]) -> impl Iterator<Item = &[u64]> {
    ids.chunk_by(|a, b| bucket(*a) == bucket(*b))
}

fn count_hits(hits: usize, misses: usize) {
    meter::count(|meter| {
        meter.source_hits += hits as u64;
        meter.source_misses += misses as u64;
    });
}

impl Reader {
    fn graph(&self) -> Field {
        Field::Int(self.ring.graph)
    }

    /// The moment at which rows are seen.
    fn moment(&self) -> u64 {
        self.cache.moment(self.at)
    }

    fn range_of_ids(&self, table: Table, bucket: u64, first: u64, last: u64) -> Slice {
        Slice::new(table, vec![self.graph(), int(bucket)], Vec::new())
            .between(Bound::Included(int(first)), Bound::Included(int(last)))
    }

    /// Rows of units; those that are not kept are read in one round trip, and kept.
    fn units(&self, wanted: Vec<Wanted>) -> Result<Vec<Packed>> {
        let kept = |wanted: &Wanted| self.cache.get(&wanted.unit, wanted.bounds.as_ref());
        let found: Vec<Option<Packed>> = wanted.iter().map(kept).collect();
        self.complete(wanted, found)
    }

    /// Rows of units; those that were not found are read in one round trip, and kept.
    fn complete(&self, wanted: Vec<Wanted>, mut found: Vec<Option<Packed>>) -> Result<Vec<Packed>> {
        interrupt::check_this_thread()?;
        let asked = wanted.len();
        let mut missing: Vec<(usize, Wanted)> = wanted.into_iter().enumerate().collect();
        missing.retain(|(at, _)| found[*at].is_none());
        count_hits(asked - missing.len(), missing.len());
        if !missing.is_empty() {
            let began = self.cache.begin();
            for (at, wanted, rows) in self.read_joined(missing)? {
                self.cache.put(wanted.unit, wanted.bounds, rows.clone(), began);
                found[at] = Some(rows);
            }
        }
        self.log.confirm(self.at)?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Rows of slices in one round trip, those of neighbouring nodes by one request.
    fn read_joined(&self, missing: Vec<(usize, Wanted)>) -> Result<Vec<(usize, Wanted, Packed)>> {
        let state = self.log.state();
        let (edges, of_type) = (state.statistics.edges, &state.statistics.edges_by_type);
        let is_only_type = |field: &Field| match field {
            Field::Int(number) => of_type.iter().any(|(id, count)| i64::from(id.0) == *number && *count == edges),
            Field::Bytes(_) => false,
        };
        let slices: Vec<&Slice> = missing.iter().map(|(_, wanted)| &wanted.slice).collect();
        let requests = joined::joined(&slices, &is_only_type);
        let asked: Vec<Slice> = requests.iter().map(|request| request.slice.clone()).collect();
        let mut answers: Vec<Option<Packed>> = vec![None; missing.len()];
        for (request, rows) in requests.iter().zip(self.ring.read(&asked)?) {
            for &at in &request.members {
                let slice = slices[at];
                answers[at] = Some(match request.members.len() {
                    1 => Packed::new(slice.table, &rows)?,
                    _ => Packed::new(slice.table, joined::rows_of(&rows, slice))?,
                });
            }
        }
        let answered = missing.into_iter().zip(answers);
        Ok(answered.filter_map(|((at, wanted), rows)| Some((at, wanted, rows?))).collect())
    }

    /// Rows of nodes or edges by id; those that are not kept are read in one round trip, by buckets, and kept.
    fn by_id(&self, table: Table, ids: impl Iterator<Item = u64>, unit: fn(u64) -> Unit) -> Result<Vec<Packed>> {
        interrupt::check_this_thread()?;
        let mut ids: Vec<u64> = ids.filter(|id| i64::try_from(*id).is_ok()).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut found = Vec::with_capacity(ids.len());
        let mut missing = Vec::new();
        for id in ids {
            match self.cache.get(&unit(id), None) {
                Some(rows) => found.push(rows),
                None => missing.push(id),
            }
        }
        count_hits(found.len(), missing.len());
        if missing.is_empty() {
            self.log.confirm(self.at)?;
            return Ok(found);
        }
        let began = self.cache.begin();
        let slice = |ids: &[u64]| self.range_of_ids(table, bucket(ids[0]), ids[0], ids[ids.len() - 1]);
        let slices: Vec<Slice> = bucketed(&missing).map(slice).collect();
        for (ids, rows) in bucketed(&missing).zip(self.ring.read(&slices)?) {
            if !self.cache.is_on() {
                found.push(Packed::new(table, &rows)?);
                continue;
            }
            let mut versions: Map<u64, &[Row]> = ids.iter().map(|id| (*id, &[][..])).collect();
            for rows in rows.chunk_by(|a, b| a.clustering.first() == b.clustering.first()) {
                versions.insert(number(rows[0].clustering.first())?, rows);
            }
            for (id, rows) in versions {
                let rows = Packed::new(table, rows)?;
                self.cache.put(unit(id), None, rows.clone(), began);
                found.push(rows);
            }
        }
        self.log.confirm(self.at)?;
        Ok(found)
    }

    /// Nodes by id.
    pub(crate) fn nodes(&self, ids: impl Iterator<Item = NodeId>) -> Result<Map<NodeId, NodeVersion>> {
        let mut nodes = Map::default();
        for rows in self.by_id(Table::Node, ids.map(|id| id.0), Unit::Node)? {
            for row in rows.rows() {
                nodes.extend(node_of(&row, self.moment())?);
            }
        }
        count_used(nodes.len());
        Ok(nodes)
    }

    /// All nodes whose ids lie in a range, in order. They are not kept: who scans all nodes has no use for a cache.
    pub(crate) fn nodes_within(&self, ids: Range<u64>) -> Result<Vec<(NodeId, NodeVersion)>> {
        let last = ids.end.saturating_sub(1);
        let part = |bucket: u64| {
            let end = ((bucket + 1) << BUCKET_BITS) - 1;
            self.range_of_ids(Table::Node, bucket, ids.start.max(bucket << BUCKET_BITS), last.min(end))
        };
        let slices: Vec<Slice> = (bucket(ids.start)..=bucket(last)).map(part).collect();
        let mut nodes = Vec::new();
        let found = self.ring.read(&slices)?;
        self.log.confirm(self.at)?;
        for rows in found {
            for row in Packed::new(Table::Node, &rows)?.rows() {
                nodes.extend(node_of(&row, self.moment())?);
            }
        }
        count_used(nodes.len());
        Ok(nodes)
    }

    /// Edges by number.
    pub(crate) fn edges(&self, numbers: impl Iterator<Item = u64>) -> Result<Map<u64, EdgeVersion>> {
        let mut edges = Map::default();
        for rows in self.by_id(Table::Edge, numbers, Unit::Edge)? {
            for row in rows.rows() {
                edges.extend(edge_of(&row, self.moment())?.map(|edge| (edge.number, edge)));
            }
        }
        count_used(edges.len());
        Ok(edges)
    }

    /// Edges of nodes, for each question. Rows that are kept of more edges of the node serve as well.
    pub(crate) fn neighbors(&self, asks: &[Ask]) -> Result<Vec<Neighbors>> {
        let is_known = |ask: &&Ask| i64::try_from(ask.node.0).is_ok();
        let wanted: Vec<Wanted> = asks.iter().filter(is_known).map(|ask| self.wanted(ask)).collect();
        let kept = |(ask, wanted): (&Ask, &Wanted)| {
            self.cache.get(&wanted.unit, wanted.bounds.as_ref()).or_else(|| self.wider(ask))
        };
        let found = asks.iter().filter(is_known).zip(&wanted).map(kept).collect();
        let mut rows = self.complete(wanted, found)?.into_iter();
        let neighbors = |ask: &Ask| Neighbors {
            rows: if is_known(&ask) { rows.next() } else { None },
            edge_type: ask.edge_type,
            sort: ask.sort.clone(),
            at: self.moment(),
        };
        Ok(asks.iter().map(neighbors).collect())
    }

    /// Rows that are kept of all edges of a node of a type, or of all types.
    fn wider(&self, ask: &Ask) -> Option<Packed> {
        let (is_reversed, node) = (ask.is_reversed, ask.node.0);
        let of = |edge_type| self.cache.get(&Unit::Neighbors { is_reversed, node, edge_type }, None);
        let edge_type = ask.edge_type?.0;
        ask.sort.as_ref().and_then(|_| of(Some(edge_type))).or_else(|| of(None))
    }

    fn wanted(&self, ask: &Ask) -> Wanted {
        let table = if ask.is_reversed { Table::EdgeIn } else { Table::EdgeOut };
        let (is_reversed, node) = (ask.is_reversed, ask.node.0);
        let edge_type = ask.edge_type.map(|edge_type| edge_type.0);
        let mut prefix = vec![int(node)];
        prefix.extend(edge_type.map(|edge_type| int(u64::from(edge_type))));
        let slice = Slice::new(table, vec![self.graph(), int(bucket(node))], prefix);
        match (&ask.sort, edge_type) {
            (Some(bounds), Some(edge_type)) => Wanted {
                unit: Unit::NeighborRange { is_reversed, node, edge_type, place: place_of(bounds) },
                slice: slice.between(bounds.0.clone(), bounds.1.clone()),
                bounds: Some(bounds.clone()),
            },
            _ => Wanted { unit: Unit::Neighbors { is_reversed, node, edge_type }, bounds: None, slice },
        }
    }
}

fn count_used(rows: usize) {
    meter::count(|meter| meter.rows_used += rows as u64);
}
