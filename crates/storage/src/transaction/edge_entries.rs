//! Entries of edges in ordered indexes, as transactions change them.
//!
//! Cost: changes of edges are looked at by the batch. One read of the keys before and one after, and one search for the edges
//! between the ends of the entries that go, however many edges a batch has.

use model::id::PropertyKeyId;
use model::{EdgeId, EdgeTypeId, Map, NodeId, ReadView, Result, Set, Subject};

use super::ordered::{Entry, values_of};
use crate::memtable::Properties;
use crate::ordered_index::encoding::{put_node, split_edge};
use crate::snapshot::Snapshot;
use crate::snapshot::ordered::values_at;
use crate::wal::record::Ends;

/// Edges that are changed together: their entries are held at once.
pub(super) const EDGES_AT_ONCE: usize = 4_096;

impl Snapshot {
    /// True if an ordered index has edges that have the key.
    pub(super) fn orders_edges(&self, key: Option<PropertyKeyId>) -> bool {
        let mut indexes = self.memtable.schema.indexes.iter();
        indexes.any(|index| {
            matches!(index.subject, Subject::EdgeType(_)) && key.is_none_or(|key| index.keys.contains(&key))
        })
    }

    /// The entries that edges have now; those that are gone have none.
    pub(super) fn edge_entries(&self, edges: &[EdgeId]) -> Result<Set<Entry>> {
        let mut by_type: Map<EdgeTypeId, (Vec<EdgeId>, Vec<Ends>)> = Map::default();
        for &edge in edges {
            if let Some(ends) = self.edge_ends(edge)? {
                let (ids, all_ends) = by_type.entry(ends.edge_type).or_default();
                ids.push(edge);
                all_ends.push(ends);
            }
        }
        let mut entries = Set::default();
        for (at, index) in self.memtable.schema.indexes.iter().enumerate() {
            let Subject::EdgeType(edge_type) = index.subject else { continue };
            let Some((ids, all_ends)) = by_type.get(&edge_type) else { continue };
            let columns = self.edge_properties(ids, &index.keys)?;
            for (row, &ends) in all_ends.iter().enumerate() {
                entries.extend(values_at(&columns, row).map(|values| (at, edge_entry(values, ends))));
            }
        }
        Ok(entries)
    }

    /// Notes the entries of a new edge.
    pub(super) fn add_edge_entries(&mut self, ends: Ends, properties: &Properties) {
        for at in 0..self.memtable.schema.indexes.len() {
            let index = &self.memtable.schema.indexes[at];
            if index.subject != Subject::EdgeType(ends.edge_type) {
                continue;
            }
            if let Some(values) = values_of(index, properties) {
                self.set_entry((at, edge_entry(values, ends)), false);
            }
        }
    }

    /// Notes what changed of edges since they had the entries `before`.
    pub(super) fn replace_edge_entries(&mut self, edges: &[EdgeId], before: Set<Entry>) -> Result<()> {
        let after = self.edge_entries(edges)?;
        let mut gone: Map<usize, Vec<Vec<u8>>> = Map::default();
        for entry in before.iter().filter(|entry| !after.contains(*entry)) {
            gone.entry(entry.0).or_default().push(entry.1.clone());
        }
        for (at, entries) in gone {
            for entry in self.without_edges(at, entries)? {
                self.set_entry((at, entry), true);
            }
        }
        after.into_iter().filter(|entry| !before.contains(entry)).for_each(|entry| self.set_entry(entry, false));
        Ok(())
    }

    /// Those of the entries that no edge has: an entry stands for all parallel edges with the same values.
    fn without_edges(&self, at: usize, entries: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let index = &self.memtable.schema.indexes[at];
        let Subject::EdgeType(edge_type) = index.subject else { return Ok(Vec::new()) };
        let places: Vec<(NodeId, NodeId, &[u8])> = entries
            .iter()
            .filter_map(|entry| split_edge(entry).map(|(values, (source, target))| (source, target, values)))
            .collect();
        let (found, _) = self.edges_of_entries(edge_type, index, &places)?;
        Ok(entries.into_iter().zip(found).filter(|(_, edges)| edges.is_empty()).map(|(entry, _)| entry).collect())
    }
}

/// The bytes of an edge's entry: the values of the keys, and the ends.
fn edge_entry(mut values: Vec<u8>, ends: Ends) -> Vec<u8> {
    put_node(ends.source, &mut values);
    put_node(ends.target, &mut values);
    values
}
