//! A view brought up to date with edges that came and went since it was made, by a copy of its rows with the changed ones
//! rewritten.
//!
//! Cost: the rows are copied once, 4 bytes an edge and direction; the delta is sorted. No edge is read from the store.
//! Claim: every row has the neighbors that it has in a view made anew. Their order is the same where rows ascend; where
//! they do not, new neighbors come last.

use model::error::Result;
use model::store::{Direction, EdgeDelta};

use super::{Csr, GraphView};
use crate::huge;
use crate::numbering::{ABSENT, Numbering};
use crate::projection::Projection;

/// A neighbor that a row gets or loses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    row: u32,
    neighbor: u32,
    /// True for a neighbor that comes.
    is_added: bool,
}

/// The changes of one side, in order of rows.
fn changes(delta: &EdgeDelta, numbering: &Numbering, projection: &Projection, sides: &[Direction]) -> Vec<Change> {
    let mut changes = Vec::with_capacity(delta.added.len() + delta.deleted.len());
    for (edges, is_added) in [(&delta.added, true), (&delta.deleted, false)] {
        for &(edge_type, source, target) in edges {
            if projection.types.as_ref().is_some_and(|types| !types.contains(&edge_type)) {
                continue;
            }
            let (source, target) = (numbering.index(source), numbering.index(target));
            let (Some(source), Some(target)) = (source, target) else { continue };
            for (at, direction) in sides.iter().enumerate() {
                let (row, neighbor) = if *direction == Direction::Out { (source, target) } else { (target, source) };
                // Without direction, an edge from a node to itself is in its row once.
                if at == 0 || source != target {
                    changes.push(Change { row, neighbor, is_added });
                }
            }
        }
    }
    changes.sort_unstable();
    changes
}

impl GraphView {
    /// The view of a later moment whose nodes have those numbers; the ids of this one's must be among them with the numbers
    /// that they have here. Only for views without weights.
    pub(crate) fn mended(&self, delta: &EdgeDelta, numbering: Numbering, projection: &Projection) -> Result<GraphView> {
        let (forward_sides, backward_sides): (&[Direction], &[Direction]) = match self.direction {
            Direction::Out => (&[Direction::Out], &[Direction::In]),
            Direction::In => (&[Direction::In], &[Direction::Out]),
            Direction::Both => (&[Direction::Out, Direction::In], &[]),
        };
        let mend = |rows: &Option<Csr>, sides: &[Direction]| -> Result<Option<Csr>> {
            let Some(rows) = rows else { return Ok(None) };
            rows.mended(&changes(delta, &numbering, projection, sides), numbering.len()).map(Some)
        };
        let forward = mend(&self.forward, forward_sides)?;
        let backward = mend(&self.backward, backward_sides)?;
        let mut degrees = self.degrees.clone();
        if !degrees.is_empty() || forward.is_none() {
            degrees.resize(numbering.len(), 0);
            for change in changes(delta, &numbering, projection, forward_sides) {
                let degree = &mut degrees[change.row as usize];
                *degree = if change.is_added { *degree + 1 } else { degree.saturating_sub(1) };
            }
        }
        Ok(GraphView { numbering, direction: self.direction, forward, backward, degrees, held: None })
    }
}

impl Csr {
    /// A copy of `row_count` rows with changes, which are in order.
    fn mended(&self, changes: &[Change], row_count: usize) -> Result<Csr> {
        let added = changes.iter().filter(|change| change.is_added).count();
        let mut offsets = huge::with_capacity(row_count + 1);
        let mut neighbors = huge::with_capacity(self.neighbors.len() + added);
        offsets.push(0);
        let mut next = 0;
        for of_row in changes.chunk_by(|a, b| a.row == b.row) {
            let row = of_row[0].row as usize;
            self.copy_rows(next..row, &mut offsets, &mut neighbors);
            let old = if row < self.node_count() { self.neighbors(row as u32) } else { &[] };
            let before = neighbors.len();
            mend_row(old, of_row, &mut neighbors)?;
            offsets.push(neighbors.len() as u64);
            debug_assert!(neighbors.len() >= before);
            next = row + 1;
        }
        self.copy_rows(next..row_count, &mut offsets, &mut neighbors);
        Ok(Csr { offsets, neighbors, weights: Vec::new() })
    }

    /// Appends rows as they are; those behind the last are empty.
    fn copy_rows(&self, rows: std::ops::Range<usize>, offsets: &mut Vec<u64>, neighbors: &mut Vec<u32>) {
        let known = rows.start.min(self.node_count())..rows.end.min(self.node_count());
        let start = self.offsets[known.start];
        let moved = neighbors.len() as u64;
        offsets
            .extend(self.offsets[known.start + 1..=known.end.max(known.start)].iter().map(|end| end - start + moved));
        neighbors.extend_from_slice(&self.neighbors[start as usize..self.offsets[known.end] as usize]);
        offsets.resize(offsets.len() + rows.len() - known.len(), neighbors.len() as u64);
    }
}

/// Appends a row with its changes, which are in order of neighbors, those that go before those that come.
fn mend_row(old: &[u32], changes: &[Change], neighbors: &mut Vec<u32>) -> Result<()> {
    let start = neighbors.len();
    let is_sorted = old.is_sorted();
    let mut gone: Vec<u32> = changes.iter().filter(|change| !change.is_added).map(|change| change.neighbor).collect();
    if gone.is_empty() {
        neighbors.extend_from_slice(old);
    } else {
        for &neighbor in old {
            match gone.binary_search(&neighbor) {
                Ok(at) => drop(gone.remove(at)),
                Err(_) => neighbors.push(neighbor),
            }
        }
        if let Some(neighbor) = gone.first() {
            let row = changes[0].row;
            return Err(model::error!(Internal, "an edge between nodes {row} and {neighbor} went that was not there"));
        }
    }
    neighbors.extend(changes.iter().filter(|change| change.is_added).map(|change| change.neighbor));
    if is_sorted {
        neighbors[start..].sort();
    }
    Ok(())
}

/// True if the nodes of one numbering keep their numbers in a later one.
pub(crate) fn keeps_numbers(before: &Numbering, after: &Numbering) -> bool {
    match (before, after) {
        (Numbering::Identity(before), Numbering::Identity(after)) => before <= after,
        (Numbering::Identity(_), _) | (_, Numbering::Identity(_)) => false,
        _ => {
            before.len() == after.len()
                && (0..before.len() as u32).all(|number| number != ABSENT && before.node(number) == after.node(number))
        }
    }
}

#[cfg(test)]
mod tests {
    use model::id::{EdgeTypeId, NodeId};
    use model::store::{Direction, EdgeDelta};

    use crate::graph_view::{EdgeList, GraphView, Sides};
    use crate::numbering::Numbering;
    use crate::projection::Projection;
    use crate::random::Random;

    fn view_of(nodes: u32, edges: &[(u32, u32)], direction: Direction, sides: Sides) -> GraphView {
        let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
        let list = EdgeList { sources: &sources, targets: &targets, weights: &[] };
        GraphView::from_edges(nodes, &list, direction, sides, 1)
    }

    /// The rows that a view has, each sorted, and the degrees that it tells.
    fn content(view: &GraphView) -> Vec<(Vec<u32>, Vec<u32>, u64)> {
        let sorted = |row: &[u32]| {
            let mut row = row.to_vec();
            row.sort_unstable();
            row
        };
        let row = |node: u32| {
            let forward = view.forward.as_ref().map_or(&[][..], |rows| rows.neighbors(node));
            let backward = view.backward.as_ref().map_or(&[][..], |rows| rows.neighbors(node));
            (sorted(forward), sorted(backward), view.forward_degree(node))
        };
        (0..view.node_count() as u32).map(row).collect()
    }

    #[test]
    fn a_mended_view_is_one_made_anew() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let nodes = 1 + random.below(30) as u32;
            let grown = nodes + random.below(4) as u32;
            let mut edge = |bound: u32| (random.below(bound as usize) as u32, random.below(bound as usize) as u32);
            let before: Vec<(u32, u32)> = (0..u64::from(nodes) * 3).map(|_| edge(nodes)).collect();
            let added: Vec<(u32, u32)> = (0..1 + seed % 9).map(|_| edge(grown)).collect();
            let gone = (seed as usize % 7).min(before.len());
            let after = [&before[gone..], &added[..]].concat();
            let named = |edges: &[(u32, u32)]| {
                let name = |&(source, target): &(u32, u32)| {
                    (EdgeTypeId(0), NodeId(u64::from(source)), NodeId(u64::from(target)))
                };
                edges.iter().map(name).collect::<Vec<_>>()
            };
            let delta = EdgeDelta::of(named(&added), named(&before[..gone]));
            for direction in [Direction::Out, Direction::In, Direction::Both] {
                for sides in [Sides::Forward, Sides::Backward, Sides::ForwardAndBackward] {
                    let old = view_of(nodes, &before, direction, sides);
                    let mended = old.mended(&delta, Numbering::identity(grown), &Projection::all(direction)).unwrap();
                    let fresh = view_of(grown, &after, direction, sides);
                    assert_eq!(content(&mended), content(&fresh), "seed {seed}, {direction:?}, {sides:?}");
                    assert_eq!(mended.byte_count(), fresh.byte_count());
                }
            }
            let mut other = Projection::all(Direction::Out);
            other.types = Some(vec![EdgeTypeId(1)]);
            let old = view_of(nodes, &before, Direction::Out, Sides::Forward);
            let mended = old.mended(&delta, Numbering::identity(nodes), &other).unwrap();
            assert_eq!(content(&mended), content(&old), "edges of other types do not matter");
            let never = EdgeDelta { deleted: named(&[(0, nodes)]), ..EdgeDelta::default() };
            let all = Projection::all(Direction::Out);
            assert!(old.mended(&never, Numbering::identity(nodes + 1), &all).is_err());
        }
    }
}
