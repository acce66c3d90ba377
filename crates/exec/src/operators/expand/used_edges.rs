//! Edges that a row holds already, told by where they lead.
//!
//! Edges between the same two nodes stand for each other where the edge that an expansion follows is not read. So an
//! edge that the row holds, and that the expansion meets, takes one row away that leads to its other end, and the ids
//! of all the other edges need not be known: against the direction of edges these cost a search each.

use model::{EdgeBatch, EdgeId, EdgeValue, Expand, NodeId, ReadView, Result, Value};

use crate::adjacency::is_met;
use crate::chunk::Chunk;
use crate::rows::edge_at;

/// The other ends of the edges that the rows of a chunk hold and an expansion will meet.
#[derive(Default)]
pub(super) struct UsedEdges {
    /// For each input the end of its places in `ends`; empty if there are none at all.
    until: Vec<u32>,
    /// The other ends; what was met already is put behind what was not.
    ends: Vec<NodeId>,
    /// For each input how many of its ends were met.
    met: Vec<u32>,
}

impl UsedEdges {
    /// Of the inputs `from`, which stand in these rows of the chunk; the expansion must not ask for first edges.
    pub(super) fn of(
        view: &dyn ReadView,
        chunk: &Chunk,
        columns: &[usize],
        (from, rows): (&[NodeId], Option<&[u32]>),
        expand: &Expand,
    ) -> Result<UsedEdges> {
        let (mut edges, mut inputs): (Vec<EdgeValue>, Vec<u32>) = (Vec::new(), Vec::new());
        for (input, &node) in from.iter().enumerate() {
            let row = rows.map_or(input, |rows| rows[input] as usize);
            let first = edges.len();
            let mut add = |edge: EdgeValue| {
                if is_met(&edge, node, expand) && edges[first..].iter().all(|other| other.id != edge.id) {
                    edges.push(edge);
                    inputs.push(input as u32);
                }
            };
            columns.iter().for_each(|&column| for_each_edge(chunk, column, row, &mut add));
        }
        let chosen = chosen(view, &edges, expand)?;
        if chosen.is_empty() {
            return Ok(UsedEdges::default());
        }
        let mut taken = UsedEdges { met: vec![0; from.len()], ..UsedEdges::default() };
        let mut chosen = chosen.into_iter().map(|at| (edges[at as usize], inputs[at as usize])).peekable();
        for (input, &node) in from.iter().enumerate() {
            while let Some((edge, _)) = chosen.next_if(|(_, of)| *of as usize == input) {
                taken.ends.push(if edge.source == node { edge.target } else { edge.source });
            }
            taken.until.push(taken.ends.len() as u32);
        }
        Ok(taken)
    }

    /// The rows of the next batch that are free; `None` if all are.
    pub(super) fn free(&mut self, batch: &EdgeBatch) -> Option<Vec<u32>> {
        if self.ends.is_empty() {
            return None;
        }
        let mut dropped: Vec<u32> = Vec::new();
        let mut start = 0;
        while let Some(&input) = batch.inputs.get(start) {
            let end = start + batch.inputs[start..].partition_point(|&other| other == input);
            self.meet(input as usize, &batch.neighbors[start..end], start as u32, &mut dropped);
            start = end;
        }
        if dropped.is_empty() {
            return None;
        }
        dropped.sort_unstable();
        let mut free = Vec::with_capacity(batch.len() - dropped.len());
        let mut next = 0;
        for row in dropped {
            free.extend(next..row);
            next = row + 1;
        }
        free.extend(next..batch.len() as u32);
        Some(free)
    }

    /// Adds the rows to `dropped` that the ends of an input take from among its neighbors, of which the first is in the
    /// row `start`.
    fn meet(&mut self, input: usize, neighbors: &[NodeId], start: u32, dropped: &mut Vec<u32>) {
        let first = input.checked_sub(1).map_or(0, |before| self.until[before] as usize);
        let before = dropped.len();
        let mut at = first;
        while at < (self.until[input] - self.met[input]) as usize {
            let end = self.ends[at];
            // Of edges to the same node each is taken once.
            let is_free = |row: &usize| neighbors[*row] == end && !dropped[before..].contains(&(start + *row as u32));
            match (0..neighbors.len()).find(is_free) {
                Some(row) => {
                    dropped.push(start + row as u32);
                    self.met[input] += 1;
                    self.ends.swap(at, (self.until[input] - self.met[input]) as usize);
                }
                None => at += 1,
            }
        }
    }
}

/// Calls `each` with the edges that a row of a column holds, singly or in a list.
fn for_each_edge(chunk: &Chunk, column: usize, row: usize, each: &mut dyn FnMut(EdgeValue)) {
    let column = &chunk.columns[column];
    if let Some(edge) = edge_at(column, row) {
        return each(edge);
    }
    if let Value::List(items) = column.value(row) {
        for item in items.iter() {
            if let Value::Edge(edge) = item {
                each(*edge);
            }
        }
    }
}

/// The edges that lie in the ranges of an expansion.
fn chosen(view: &dyn ReadView, edges: &[EdgeValue], expand: &Expand) -> Result<Vec<u32>> {
    let mut chosen: Vec<u32> = (0..edges.len() as u32).collect();
    if !chosen.is_empty() && !expand.ranges.is_empty() {
        let ids: Vec<EdgeId> = edges.iter().map(|edge| edge.id).collect();
        let keys: Vec<_> = expand.ranges.iter().map(|range| range.key).collect();
        let columns = view.edge_properties(&ids, &keys)?;
        expand.ranges.iter().zip(&columns).for_each(|(range, column)| range.retain(column, &mut chosen));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::UsedEdges;
    use model::{EdgeBatch, NodeId};

    /// Inputs with their neighbors, in batches cut before these rows; the ends that each input has taken; what is left.
    fn check(neighbors: &[&[u64]], cuts: &[usize], taken: &[&[u64]], expected: &[&[u64]]) {
        let mut held = UsedEdges { met: vec![0; taken.len()], ..UsedEdges::default() };
        for ends in taken {
            held.ends.extend(ends.iter().map(|&end| NodeId(end)));
            held.until.push(held.ends.len() as u32);
        }
        let edges = || neighbors.iter().enumerate().flat_map(|(input, ends)| ends.iter().map(move |&end| (input, end)));
        let rows: Vec<(usize, u64)> = edges().collect();
        let mut left: Vec<Vec<u64>> = vec![Vec::new(); neighbors.len()];
        let bounds: Vec<usize> = [0].iter().chain(cuts).copied().chain([rows.len()]).collect();
        for pair in bounds.windows(2) {
            let part = &rows[pair[0]..pair[1]];
            let batch = EdgeBatch {
                inputs: part.iter().map(|(input, _)| *input as u32).collect(),
                neighbors: part.iter().map(|(_, end)| NodeId(*end)).collect(),
                ..EdgeBatch::default()
            };
            let free = held.free(&batch).unwrap_or_else(|| (0..part.len() as u32).collect());
            free.iter().for_each(|&row| left[part[row as usize].0].push(part[row as usize].1));
        }
        assert_eq!(left, expected, "{neighbors:?} cut before {cuts:?}, taken {taken:?}");
    }

    #[test]
    fn each_taken_edge_takes_one_row() {
        for cuts in [&[][..], &[1], &[3], &[1, 2, 3, 4]] {
            check(&[&[5, 6, 7], &[5, 5, 8]], cuts, &[&[6], &[5]], &[&[5, 7], &[5, 8]]);
            check(&[&[5, 6, 7], &[5, 5, 8]], cuts, &[&[], &[5, 5]], &[&[5, 6, 7], &[8]]);
            check(&[&[5, 6, 7], &[5, 5, 8]], cuts, &[&[7, 5], &[8, 5]], &[&[6], &[5]]);
            check(&[&[5, 6, 7], &[5, 5, 8]], cuts, &[&[], &[]], &[&[5, 6, 7], &[5, 5, 8]]);
        }
        check(&[&[1, 2], &[], &[2, 2]], &[2], &[&[2], &[], &[2]], &[&[1], &[], &[2]]);
    }
}
