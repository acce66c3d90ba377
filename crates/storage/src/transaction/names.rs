//! From edges to the names that the log gives them, and back: type, ends and number, which stay what they are wherever
//! the edge lies.
//!
//! Cost: a search in the run of the source in the files, and a walk along the shorter of the two lists of the memtable, once
//! for all names of one operation that share type and ends.

use model::store::NO_EDGE_NUMBER;
use model::{EdgeId, Map, Result, error};

use crate::memtable::{edge_id, ordinal};
use crate::snapshot::Snapshot;
use crate::wal::record::Ends;
use crate::wal::record::{EdgeKey, EdgeName};

/// Names that share type and ends up to which the edges are compared with each.
const FEW_NAMES: usize = 4;

impl Snapshot {
    /// The names of edges; those that are not there are passed over. Edges with ordinals from `first_own` on are the
    /// transaction's own.
    pub(super) fn names_of(&self, edges: &[EdgeId], first_own: u32) -> Result<Vec<EdgeName>> {
        let mut names = Vec::with_capacity(edges.len());
        let numbers = self.edge_numbers_of(edges)?;
        for (&edge, number) in edges.iter().zip(numbers) {
            let Some(ends) = self.edge_ends(edge)? else { continue };
            names.push(match ordinal(edge).and_then(|ordinal| ordinal.checked_sub(first_own)) {
                Some(own) => EdgeName::Own(own),
                None => EdgeName::Old(EdgeKey { ends, number }),
            });
        }
        Ok(names)
    }

    /// The edges that names of the log mean now.
    pub(super) fn edges_named(&self, names: &[EdgeName], first_own: u32) -> Result<Vec<EdgeId>> {
        let keys: Vec<EdgeKey> =
            names.iter().filter_map(|name| if let EdgeName::Old(key) = name { Some(*key) } else { None }).collect();
        let mut found = self.edges_with_keys(&keys)?.into_iter().zip(&keys);
        let mut ranked = super::ranks::Ranked::new(self, first_own);
        let mut edges = Vec::with_capacity(names.len());
        for name in names {
            edges.push(match *name {
                EdgeName::Own(own) => edge_id(first_own + own),
                EdgeName::Ranked { ends, rank } => ranked.find(ends, rank)?,
                EdgeName::Old(_) => match found.next() {
                    Some((Some(edge), _)) => edge,
                    Some((None, key)) => return Err(no_such_edge(self, *key)),
                    None => return Err(error!(Internal, "a name of an edge was lost")),
                },
            });
        }
        Ok(edges)
    }

    /// The edges of these keys, in their order; `None` for those that are not there.
    pub(crate) fn edges_with_keys(&self, keys: &[EdgeKey]) -> Result<Vec<Option<EdgeId>>> {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        if !keys.is_sorted_by_key(|key| key.ends) {
            order.sort_by_key(|&at| keys[at].ends);
        }
        let mut found = vec![None; keys.len()];
        let mut parallel = Vec::new();
        for wanted in order.chunk_by(|&a, &b| keys[a].ends == keys[b].ends) {
            parallel.clear();
            self.edges_between(keys[wanted[0]].ends, &mut parallel)?;
            let numbers = self.edge_numbers_of(&parallel)?;
            if wanted.len() <= FEW_NAMES {
                for &at in wanted {
                    found[at] =
                        numbers.iter().position(|&number| number == keys[at].number).map(|place| parallel[place]);
                }
            } else {
                let by_number: Map<u64, EdgeId> = numbers.into_iter().zip(parallel.iter().copied()).collect();
                wanted.iter().for_each(|&at| found[at] = by_number.get(&keys[at].number).copied());
            }
        }
        Ok(found)
    }

    /// Adds the edges of one type from one node to another that are there to `out`, those of the files first.
    fn edges_between(&self, ends: Ends, out: &mut Vec<EdgeId>) -> Result<()> {
        let memtable = &self.memtable;
        self.version.edges_between(ends.edge_type, ends.source, ends.target, out)?;
        if !memtable.edge_changes.is_empty() {
            out.retain(|&edge| memtable.edge_change(edge).is_none_or(|change| !change.is_deleted));
        }
        memtable.edges.for_each_between(ends.source, ends.target, |ordinal, link| {
            if !link.is_deleted && link.edge_type == ends.edge_type {
                out.push(edge_id(ordinal));
            }
        });
        Ok(())
    }

    /// The numbers of edges, which are there or were deleted by this transaction; `NO_EDGE_NUMBER` for ids of no edge.
    pub(crate) fn edge_numbers_of(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        if edges.iter().all(|&edge| ordinal(edge).is_none()) {
            return self.version.edge_numbers_of(edges);
        }
        let mut numbers = self.version.edge_numbers_of(edges)?;
        for (number, &edge) in numbers.iter_mut().zip(edges) {
            if ordinal(edge).is_some() {
                *number = self.memtable.edge_number(edge).unwrap_or(NO_EDGE_NUMBER);
            }
        }
        Ok(numbers)
    }
}

fn no_such_edge(snapshot: &Snapshot, key: EdgeKey) -> model::Error {
    let name = snapshot.memtable.schema.edge_type_name(key.ends.edge_type);
    let (source, target, number) = (key.ends.source.0, key.ends.target.0, key.number);
    error!(NotFound, "edge {number} of type {name} from node {source} to node {target} is not there")
}
