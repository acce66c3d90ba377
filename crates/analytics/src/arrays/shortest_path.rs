//! A path of fewest edges between two nodes of a graph in arrays, found from both ends at once.
//!
//! Claim: the path has as few edges as any; among such paths, which one is not defined but the same in every run.
//! Cost: as `algorithms/shortest_path.rs` says, without anything made for a step: a node costs one comparison for each of
//! its edges. Eight bytes a node, kept for the next search, so that no search clears them.
//! After: Pohl, "Bi-directional search", 1971.

use super::Adjacency;

/// The marks that searches put on nodes. A mark of an earlier search counts for none.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The mark of the latest search from its first end; from its second end it is one more.
    latest: u32,
    marks: Vec<u32>,
    /// The node that each marked one was met from.
    parents: Vec<u32>,
}

impl Marks {
    /// Makes room for a search among `nodes` nodes; returns the mark of its first end.
    fn begin(&mut self, nodes: usize) -> u32 {
        if self.marks.len() != nodes || self.latest >= u32::MAX - 3 {
            *self = Marks { latest: 0, marks: vec![0; nodes], parents: vec![0; nodes] };
        }
        self.latest += 2;
        self.latest
    }

    fn set(&mut self, node: u32, mark: u32, parent: u32) {
        self.marks[node as usize] = mark;
        self.parents[node as usize] = parent;
    }

    /// The nodes from one back to where its end began.
    fn trace(&self, mut node: u32, start: u32) -> Vec<u32> {
        let mut nodes = vec![node];
        while node != start {
            node = self.parents[node as usize];
            nodes.push(node);
        }
        nodes
    }
}

/// One end of a search.
struct End<'a> {
    /// The rows that it follows.
    rows: &'a [&'a Adjacency],
    start: u32,
    mark: u32,
    frontier: Vec<u32>,
}

impl End<'_> {
    /// Number of edges of the next level.
    fn edges(&self) -> usize {
        let edges = |rows: &Adjacency| -> usize { self.frontier.iter().map(|&node| rows.row(node.into()).len()).sum() };
        self.rows.iter().map(|rows| edges(rows)).sum()
    }

    /// Goes one level further, or until it meets what the other end has marked: then the edge to it.
    fn advance(&mut self, other: u32, marks: &mut Marks) -> Option<(u32, u32)> {
        let mut next = Vec::new();
        for &node in &self.frontier {
            for rows in self.rows {
                for &neighbor in &rows.neighbors[rows.row(node.into())] {
                    let mark = marks.marks[neighbor as usize];
                    if mark == other {
                        return Some((node, neighbor));
                    }
                    if mark != self.mark {
                        marks.set(neighbor, self.mark, node);
                        next.push(neighbor);
                    }
                }
            }
        }
        self.frontier = next;
        None
    }
}

/// The nodes of a path along the rows `near` from the source, along `far` from the target; `None` if there is none.
pub(super) fn find(
    marks: &mut Marks,
    nodes: usize,
    [near, far]: [&[&Adjacency]; 2],
    source: u32,
    target: u32,
) -> Option<Vec<u32>> {
    if source == target {
        return Some(vec![source]);
    }
    let mark = marks.begin(nodes);
    let end = |rows, start, mark| End { rows, start, mark, frontier: vec![start] };
    let (mut near, mut far) = (end(near, source, mark), end(far, target, mark + 1));
    marks.set(source, mark, source);
    marks.set(target, mark + 1, target);
    let (mut near_edges, mut far_edges) = (near.edges(), far.edges());
    // An end that has nowhere to go has met all that it can. While the ends have not met, no path is as short as both have
    // come together, so that the first meeting is on a shortest one.
    while near_edges > 0 && far_edges > 0 {
        let is_near = near_edges <= far_edges;
        let (end, other) = if is_near { (&mut near, &far) } else { (&mut far, &near) };
        if let Some((from, to)) = end.advance(other.mark, marks) {
            let (here, there) = (marks.trace(from, end.start), marks.trace(to, other.start));
            let (mut path, rest) = if is_near { (here, there) } else { (there, here) };
            path.reverse();
            path.extend(rest);
            return Some(path);
        }
        if is_near {
            near_edges = near.edges();
        } else {
            far_edges = far.edges();
        }
    }
    None
}
