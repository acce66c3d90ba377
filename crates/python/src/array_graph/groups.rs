//! Nodes by the numbers of their groups, and the order of groups.

use model::column::{Column, ColumnData};
use model::{Map, NodeId, error};
use pyo3::PyResult;

use crate::error::raised;

/// Groups of nodes that have a number in common, and edges between them.
pub(super) struct Groups {
    /// The group of each node; nodes without one have that of the first.
    of: Vec<u32>,
    /// Start of the nodes of each group; one more at the end.
    starts: Vec<usize>,
    /// The nodes, group by group.
    nodes: Vec<u32>,
    /// In which order they are told.
    order: Vec<u32>,
}

/// Groups of nodes by the value beside each, in the order of the first node of each.
pub(super) fn of(places: &[NodeId], values: &Column, count: usize) -> PyResult<Groups> {
    let values = match &values.data {
        ColumnData::Int(values) => &values[..],
        _ if places.is_empty() => &[],
        _ => return Err(raised(error!(Internal, "groups of nodes have no numbers"))),
    };
    let (mut numbers, mut sizes): (Map<i64, u32>, Vec<usize>) = (Map::default(), Vec::new());
    let mut of = vec![0; count];
    for (place, value) in places.iter().zip(values) {
        let group = *numbers.entry(*value).or_insert(sizes.len() as u32);
        if group as usize == sizes.len() {
            sizes.push(0);
        }
        sizes[group as usize] += 1;
        of[place.index()] = group;
    }
    let (starts, mut next) = starts_of(&sizes);
    let mut nodes = vec![0; places.len()];
    for place in places {
        let next = &mut next[of[place.index()] as usize];
        nodes[*next] = place.0 as u32;
        *next += 1;
    }
    Ok(Groups { of, order: (0..sizes.len() as u32).collect(), starts, nodes })
}

/// Starts of lists of those lengths, one behind the other, with the end of the last one; and without that.
fn starts_of(lengths: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut starts = Vec::with_capacity(lengths.len() + 1);
    let mut end = 0;
    starts.push(0);
    starts.extend(lengths.iter().map(|length| {
        end += length;
        end
    }));
    let next = starts[..lengths.len()].to_vec();
    (starts, next)
}

impl Groups {
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The nodes of each group.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.order.iter().map(|&group| &self.nodes[self.starts[group as usize]..self.starts[group as usize + 1]])
    }

    /// Orders groups as a search along edges ends them, so that each comes after those that it leads to; where that leaves a
    /// choice, groups and edges are taken in their order.
    pub(super) fn order_last_first(&mut self, sources: &[u32], targets: &[u32]) {
        let between = || {
            let groups = |(source, target): (&u32, &u32)| (self.of[*source as usize], self.of[*target as usize]);
            sources.iter().zip(targets).map(groups).filter(|(here, there)| here != there)
        };
        let mut counts = vec![0; self.len()];
        between().for_each(|(here, _)| counts[here as usize] += 1);
        let (starts, mut next) = starts_of(&counts);
        let mut ahead = vec![0; starts[counts.len()]];
        for (here, there) in between() {
            ahead[next[here as usize]] = there;
            next[here as usize] += 1;
        }
        // From here on, the next edge that the search takes.
        next.copy_from_slice(&starts[..counts.len()]);
        let (mut is_seen, mut way, mut ended) =
            (vec![false; counts.len()], Vec::new(), Vec::with_capacity(counts.len()));
        for first in 0..counts.len() {
            if !is_seen[first] {
                is_seen[first] = true;
                way.push(first);
            }
            while let Some(&here) = way.last() {
                let edges = &ahead[next[here]..starts[here + 1]];
                match edges.iter().position(|&there| !is_seen[there as usize]) {
                    Some(step) => {
                        let there = edges[step] as usize;
                        next[here] += step + 1;
                        is_seen[there] = true;
                        way.push(there);
                    }
                    None => {
                        ended.push(here as u32);
                        way.pop();
                    }
                }
            }
        }
        self.order = ended;
    }
}
