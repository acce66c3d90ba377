//! From edges to the names that the log gives them, and back.
//!
//! Edges of one type with the same ends are told apart by their rank: their place among the live ones, those of the files
//! first, in the order in which they were committed. Flushes and merges of files keep that order, so a name means the same
//! edge wherever it lies. Edges of a type with a sort key move when a property of the key changes; they are told apart by
//! what they hold, as those that hold the same are interchangeable.
//!
//! Cost: a search in the run of the source in the files, and a walk along the shorter of the two lists of the memtable.

use std::cmp::Ordering;

use model::{EdgeId, PropertyKeyId, ReadView, Result, Value, error};

use crate::memtable::{edge_id, ordinal};
use crate::snapshot::{Ends, Snapshot};
use crate::wal::record::EdgeName;

impl Snapshot {
    /// The names of edges, as they stand now; those that are not there are passed over. Edges with ordinals from
    /// `first_own` on are the transaction's own.
    pub(super) fn names_of(&self, edges: &[EdgeId], first_own: u32) -> Result<Vec<EdgeName>> {
        let mut names = Vec::with_capacity(edges.len());
        let mut parallel = Vec::new();
        for &edge in edges {
            let Some(ends) = self.edge_ends(edge)? else { continue };
            if let Some(own) = ordinal(edge).and_then(|ordinal| ordinal.checked_sub(first_own)) {
                names.push(EdgeName::Own(own));
                continue;
            }
            self.parallel_edges(ends, first_own, &mut parallel)?;
            let rank = parallel.iter().position(|&other| other == edge);
            let rank = rank.ok_or_else(|| error!(Internal, "edge {} is not among those of its ends", edge.0))? as u32;
            let Ends { source, target, edge_type } = ends;
            names.push(EdgeName::Old { edge_type, source, target, rank });
        }
        Ok(names)
    }

    /// The edges that names of the log mean now.
    pub(super) fn edges_named(&self, names: &[EdgeName], first_own: u32) -> Result<Vec<EdgeId>> {
        let mut parallel = Vec::new();
        let mut last = None;
        let mut edges = Vec::with_capacity(names.len());
        for name in names {
            let edge = match *name {
                EdgeName::Own(own) => edge_id(first_own + own),
                EdgeName::Old { edge_type, source, target, rank } => {
                    let ends = Ends { source, target, edge_type };
                    if last != Some(ends) {
                        self.parallel_edges(ends, first_own, &mut parallel)?;
                        last = Some(ends);
                    }
                    *parallel.get(rank as usize).ok_or_else(|| no_such_edge(self, ends, rank, parallel.len()))?
                }
            };
            edges.push(edge);
        }
        Ok(edges)
    }

    /// The live edges of one type between two nodes in logical order, without those from ordinal `first_own` on.
    fn parallel_edges(&self, ends: Ends, first_own: u32, out: &mut Vec<EdgeId>) -> Result<()> {
        let memtable = &self.memtable;
        out.clear();
        self.version.edges_between(ends.edge_type, ends.source, ends.target, out)?;
        if !memtable.edge_changes.is_empty() {
            out.retain(|&edge| memtable.edge_change(edge).is_none_or(|change| !change.is_deleted));
        }
        let start = out.len();
        memtable.edges.for_each_between(ends.source, ends.target, |ordinal, link| {
            if ordinal < first_own && !link.is_deleted && link.edge_type == ends.edge_type {
                out.push(edge_id(ordinal));
            }
        });
        // The lists begin with the newest.
        out[start..].reverse();
        let keys = memtable.schema.sort_key(ends.edge_type);
        if keys.is_empty() || out.len() < 2 { Ok(()) } else { self.sort_by_content(out) }
    }

    /// Puts edges in the order of all their properties.
    fn sort_by_content(&self, edges: &mut Vec<EdgeId>) -> Result<()> {
        let contents = self.all_edge_properties(edges)?;
        let mut rows: Vec<(Vec<(PropertyKeyId, Value)>, EdgeId)> = contents.into_iter().zip(edges.drain(..)).collect();
        rows.sort_by(|(a, _), (b, _)| {
            let orders = a.iter().zip(b).map(|((key, value), (other_key, other))| {
                key.cmp(other_key).then_with(|| value.order(other)).then_with(|| exact(value).cmp(&exact(other)))
            });
            orders.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        });
        edges.extend(rows.into_iter().map(|(_, edge)| edge));
        Ok(())
    }
}

/// Tells values apart that are equal: an integer and a float, the two zeros.
fn exact(value: &Value) -> String {
    match value {
        Value::Int(_) | Value::Float(_) | Value::List(_) => format!("{value:?}"),
        _ => String::new(),
    }
}

fn no_such_edge(snapshot: &Snapshot, ends: Ends, rank: u32, found: usize) -> model::Error {
    let name = snapshot.memtable.schema.edge_type_name(ends.edge_type);
    let (source, target) = (ends.source.0, ends.target.0);
    error!(NotFound, "edge {rank} of type {name} from node {source} to node {target} is not there, only {found} are")
}
