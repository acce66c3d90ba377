//! Lists end to end, each sorted by neighbor.

use std::ops::Range;

use model::{EdgeId, EdgeTypeId};

/// A neighbor to which several edges lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
pub(crate) struct Repeat {
    pub(crate) neighbor: u32,
    /// Edges besides the first.
    pub(crate) more: u64,
}

impl Repeat {
    /// Number of edges to a neighbor in a list with these repeats.
    #[inline]
    pub(crate) fn edges_to(repeats: &[Repeat], neighbor: u32) -> u64 {
        1 + repeats.binary_search_by_key(&neighbor, |repeat| repeat.neighbor).map_or(0, |at| repeats[at].more)
    }
}

/// Lists end to end.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Each once in a list, or as often as edges lead to it if those are wanted.
    pub(super) neighbors: Vec<u32>,
    /// Without edges: the repeats of each list, sorted by neighbor.
    pub(super) repeats: Vec<Repeat>,
    pub(super) with_edges: bool,
    /// With edges: the id and type of each, and whether it runs from the neighbor.
    pub(super) edges: Vec<(EdgeId, EdgeTypeId, bool)>,
    /// Edges of which lists were made.
    pub(super) edges_read: u64,
}

/// The place of a list: its neighbors and its repeats.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ListPlace {
    neighbors: (u32, u32),
    repeats: (u32, u32),
}

impl ListPlace {
    #[inline]
    pub(super) fn neighbors(self) -> Range<usize> {
        self.neighbors.0 as usize..self.neighbors.1 as usize
    }

    #[inline]
    pub(super) fn repeats(self) -> Range<usize> {
        self.repeats.0 as usize..self.repeats.1 as usize
    }
}

impl Entries {
    /// No lists yet, of neighbors with their edges or without.
    pub(super) fn new(with_edges: bool) -> Entries {
        Entries { with_edges, ..Entries::default() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.neighbors.capacity() * size_of::<u32>()
            + self.repeats.capacity() * size_of::<Repeat>()
            + self.edges.capacity() * size_of::<(EdgeId, EdgeTypeId, bool)>()
    }

    /// Finishes the list that starts there and goes to the end.
    pub(super) fn finish(&mut self, start: usize) -> ListPlace {
        let (end, place) = self.finish_at(start..self.neighbors.len(), start);
        self.neighbors.truncate(end);
        place
    }

    /// Sorts the list at a place and moves it to another, not behind the first; returns the end of it there.
    pub(super) fn finish_at(&mut self, list: Range<usize>, to: usize) -> (usize, ListPlace) {
        self.edges_read += list.len() as u64;
        let repeats = self.repeats.len();
        let is_rising = self.neighbors[list.clone()].windows(2).all(|pair| pair[0] < pair[1]);
        if !is_rising {
            self.sort(list.clone());
        }
        let end = match self.with_edges {
            true => list.end,
            false if is_rising => {
                let end = to + list.len();
                if to != list.start {
                    self.neighbors.copy_within(list, to);
                }
                end
            }
            false => self.join_repeats(list, to),
        };
        let place =
            ListPlace { neighbors: (to as u32, end as u32), repeats: (repeats as u32, self.repeats.len() as u32) };
        (end, place)
    }

    /// Moves a sorted list, each of its neighbors once; returns the end.
    fn join_repeats(&mut self, list: Range<usize>, to: usize) -> usize {
        let Entries { neighbors, repeats, .. } = self;
        let first_repeat = repeats.len();
        let mut end = to;
        for at in list {
            let neighbor = neighbors[at];
            if end == to || neighbors[end - 1] != neighbor {
                neighbors[end] = neighbor;
                end += 1;
                continue;
            }
            match repeats[first_repeat..].last_mut() {
                Some(repeat) if repeat.neighbor == neighbor => repeat.more += 1,
                _ => repeats.push(Repeat { neighbor, more: 1 }),
            }
        }
        end
    }

    fn sort(&mut self, place: Range<usize>) {
        let list = &mut self.neighbors[place.clone()];
        if !self.with_edges {
            list.sort_unstable();
            return;
        }
        let edges = &mut self.edges[place];
        let mut both: Vec<_> = list.iter().copied().zip(edges.iter().copied()).collect();
        both.sort_by_key(|(neighbor, _)| *neighbor);
        for (at, (neighbor, edge)) in both.into_iter().enumerate() {
            list[at] = neighbor;
            edges[at] = edge;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Entries, Repeat};

    #[test]
    fn neighbors_of_several_edges_come_once() {
        let mut entries = Entries::new(false);
        entries.neighbors = vec![7, 7, 3, 9, 3, 3];
        let first = entries.finish(0);
        let start = entries.neighbors.len();
        entries.neighbors.extend([9, 1, 9]);
        let second = entries.finish(start);
        assert_eq!(entries.neighbors[first.neighbors()], [3, 7, 9]);
        assert_eq!(
            entries.repeats[first.repeats()],
            [Repeat { neighbor: 3, more: 2 }, Repeat { neighbor: 7, more: 1 }]
        );
        assert_eq!(entries.neighbors[second.neighbors()], [1, 9]);
        assert_eq!(entries.repeats[second.repeats()], [Repeat { neighbor: 9, more: 1 }]);
        assert_eq!(entries.edges_read, 9);
    }
}
