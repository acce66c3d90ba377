//! The names that logs of version 2 give to edges: a place among those that share type and ends, in the order in which
//! they were committed; of a type with a sort key, in the order of all that they hold. Such logs are read, never written.

use std::cmp::Ordering;

use model::{EdgeId, PropertyKeyId, ReadView, Result, Value, error};

use crate::memtable::ordinal;
use crate::snapshot::Snapshot;
use crate::wal::record::Ends;

/// Finds edges by their ranks.
pub(super) struct Ranked<'a> {
    snapshot: &'a Snapshot,
    /// Edges with ordinals from here on are the transaction's own and have no rank.
    first_own: u32,
    ends: Option<Ends>,
    /// The edges between those ends.
    parallel: Vec<EdgeId>,
}

impl<'a> Ranked<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, first_own: u32) -> Ranked<'a> {
        Ranked { snapshot, first_own, ends: None, parallel: Vec::new() }
    }

    /// The edge of a rank.
    pub(super) fn find(&mut self, ends: Ends, rank: u32) -> Result<EdgeId> {
        if self.ends != Some(ends) {
            self.parallel = self.parallel_edges(ends)?;
            self.ends = Some(ends);
        }
        let found = self.parallel.get(rank as usize).copied();
        found.ok_or_else(|| {
            let name = self.snapshot.memtable.schema.edge_type_name(ends.edge_type);
            let (source, target, count) = (ends.source.0, ends.target.0, self.parallel.len());
            error!(
                NotFound,
                "edge {rank} of type {name} from node {source} to node {target} is not there, only {count} are"
            )
        })
    }

    /// The live edges of one type between two nodes in the order of their ranks.
    fn parallel_edges(&self, ends: Ends) -> Result<Vec<EdgeId>> {
        let mut out = self.snapshot.edges_between(ends.edge_type, &[ends.pair()])?.edges;
        out.retain(|&edge| ordinal(edge).is_none_or(|ordinal| ordinal < self.first_own));
        let of_files = out.iter().take_while(|&&edge| ordinal(edge).is_none()).count();
        // Those of the memtable come newest first.
        out[of_files..].reverse();
        let keys = self.snapshot.memtable.schema.sort_key(ends.edge_type);
        if keys.is_empty() || out.len() < 2 { Ok(out) } else { self.sorted_by_content(out) }
    }

    /// Edges in the order of all their properties.
    fn sorted_by_content(&self, edges: Vec<EdgeId>) -> Result<Vec<EdgeId>> {
        let contents = self.snapshot.all_edge_properties(&edges)?;
        let mut rows: Vec<(Vec<(PropertyKeyId, Value)>, EdgeId)> = contents.into_iter().zip(edges).collect();
        rows.sort_by(|(a, _), (b, _)| {
            let orders = a.iter().zip(b).map(|((key, value), (other_key, other))| {
                key.cmp(other_key).then_with(|| value.order(other)).then_with(|| exact(value).cmp(&exact(other)))
            });
            orders.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        });
        Ok(rows.into_iter().map(|(_, edge)| edge).collect())
    }
}

/// Tells values apart that are equal: an integer and a float, the two zeros.
fn exact(value: &Value) -> String {
    match value {
        Value::Int(_) | Value::Float(_) | Value::List(_) => format!("{value:?}"),
        _ => String::new(),
    }
}
