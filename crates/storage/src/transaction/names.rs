//! From edges to the names that the log gives them, and back: type, ends and number, which stay what they are wherever
//! the edge lies.
//!
//! Cost: [`Snapshot::edges_between`], once for all names of one operation that share type and ends.

use model::store::NO_EDGE_NUMBER;
use model::{EdgeId, Map, NodeId, Result, error};

use crate::memtable::{edge_id, ordinal};
use crate::snapshot::Snapshot;
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
        let by_type = |key: &EdgeKey| (key.ends.edge_type, key.ends);
        if !keys.is_sorted_by_key(by_type) {
            order.sort_by_key(|&at| by_type(&keys[at]));
        }
        let mut found = vec![None; keys.len()];
        for wanted in order.chunk_by(|&a, &b| keys[a].ends.edge_type == keys[b].ends.edge_type) {
            self.find_keys(keys, wanted, &mut found)?;
        }
        Ok(found)
    }

    /// Finds the edges of one type: those of the keys at these places, which are in the order of their ends.
    fn find_keys(&self, keys: &[EdgeKey], wanted: &[usize], found: &mut [Option<EdgeId>]) -> Result<()> {
        let Some(&first) = wanted.first() else { return Ok(()) };
        let by_pair = || wanted.chunk_by(|&a, &b| keys[a].ends == keys[b].ends);
        let pairs: Vec<(NodeId, NodeId)> = by_pair().map(|group| keys[group[0]].ends.pair()).collect();
        let parallel = self.edges_between(keys[first].ends.edge_type, &pairs)?;
        let numbers = self.edge_numbers_of(&parallel.edges)?;
        for (pair, group) in by_pair().enumerate() {
            let rows = parallel.rows(pair);
            let (edges, numbers) = (&parallel.edges[rows.clone()], &numbers[rows]);
            if group.len() <= FEW_NAMES {
                let find = |number| numbers.iter().position(|&of| of == number).map(|place| edges[place]);
                group.iter().for_each(|&at| found[at] = find(keys[at].number));
            } else {
                let by_number: Map<u64, EdgeId> = numbers.iter().copied().zip(edges.iter().copied()).collect();
                group.iter().for_each(|&at| found[at] = by_number.get(&keys[at].number).copied());
            }
        }
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
