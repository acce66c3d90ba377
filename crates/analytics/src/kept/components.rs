//! Weakly connected components, mended.
//!
//! Claim: after every mending two nodes are in one class exactly if a path of edges, in whatever direction, joins them.
//! Cost: an edge that came joins two classes in about constant time. For one that went, searches begin at both its ends,
//! the smaller frontier first: they meet, and nothing changes, or one of them ends, and what it saw is a component of its
//! own; so the cost is that of the smaller part, or of a way around. Beyond a quarter of the nodes the computation had
//! better run anew.
//! After: Even, Shiloach, "An on-line edge-deletion problem", 1981 (searching from both ends at once).

use model::batch::EdgeBatch;
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::store::{Direction, EdgeIds, ReadView};
use model::{Map, Set};

use super::change::{Change, Nodes};
use crate::algorithms::wcc;
use crate::graph::Graph;
use crate::projection::Projection;

/// The part of the nodes, as a divisor, that a mending may look at.
const TOUCHED_SHARE: u64 = 4;
/// Nodes that a mending may look at in any case.
const TOUCHED_MIN: u64 = 10_000;

/// Bytes kept for each node, before any class was split.
pub(crate) const NODE_BYTES: usize = 2 * size_of::<u32>();
/// Bytes that a run takes for each node besides: parents, and the names made of them.
pub(crate) const RUN_NODE_BYTES: usize = 2 * size_of::<u32>();

/// For each node id, a class; nodes that take part have one below the length of `parents`.
#[derive(Debug)]
pub(crate) struct Components {
    classes: Vec<u32>,
    /// Of joined classes, another one that stands for this.
    parents: Vec<u32>,
}

/// The class of nodes that do not take part.
const NONE: u32 = u32::MAX;

impl Components {
    /// Computes all.
    pub(crate) fn run(graph: &Graph<'_>, nodes: &Nodes, threads: usize, interrupt: &Interrupt) -> Result<Components> {
        let names = wcc::components(graph, threads, interrupt)?;
        let mut classes = vec![NONE; nodes.bound];
        for (number, &name) in names.iter().enumerate() {
            classes[graph.node(number as u32).index()] = graph.node(name).index() as u32;
        }
        Ok(Components { classes, parents: (0..nodes.bound as u32).collect() })
    }

    /// Bytes held.
    pub(crate) fn byte_count(&self) -> usize {
        size_of_val(&self.classes[..]) + size_of_val(&self.parents[..])
    }

    fn class(&mut self, node: u32) -> u32 {
        let mut class = self.classes[node as usize];
        while self.parents[class as usize] != class {
            let above = self.parents[self.parents[class as usize] as usize];
            self.parents[class as usize] = above;
            class = above;
        }
        class
    }

    fn fresh(&mut self) -> u32 {
        let class = self.parents.len() as u32;
        self.parents.push(class);
        class
    }

    /// Mends the classes; gives how many nodes were looked at, `None` if it had better run anew.
    pub(crate) fn mend(
        &mut self,
        view: &dyn ReadView,
        projection: &Projection,
        nodes: &Nodes,
        change: &Change,
        interrupt: &Interrupt,
    ) -> Result<Option<u64>> {
        if self.parents.len() > 8 * nodes.bound + 1_000 {
            return Ok(None);
        }
        self.classes.resize(nodes.bound.max(self.classes.len()), NONE);
        for &node in &change.nodes_added {
            self.classes[node as usize] = self.fresh();
        }
        let touched_max = (nodes.count as u64 / TOUCHED_SHARE).max(TOUCHED_MIN);
        let mut search = Search { view, projection, nodes, interrupt, touched: 0, touched_max };
        // Of each class that lost edges, the ends that are to be still together.
        let mut ends: Map<u32, Vec<u32>> = Map::default();
        for &(a, b) in &change.deleted {
            let class = self.class(a);
            ends.entry(class).or_default().extend([a, b].into_iter().filter(|&node| nodes.contains(node as usize)));
        }
        let mut classes: Vec<(u32, Vec<u32>)> = ends.into_iter().collect();
        classes.sort_unstable();
        let mut is_split: Set<u32> = Set::default();
        for (_, mut witnesses) in classes {
            witnesses.sort_unstable();
            witnesses.dedup();
            let mut first = None;
            for node in witnesses {
                if is_split.contains(&node) {
                    continue;
                }
                let Some(known) = first else {
                    first = Some(node);
                    continue;
                };
                match search.join(known, node)? {
                    Joined::Yes => {}
                    Joined::TooMuch => return Ok(None),
                    Joined::No { part, has_first } => {
                        let class = self.fresh();
                        for node in part {
                            self.classes[node as usize] = class;
                            is_split.insert(node);
                        }
                        if has_first {
                            first = Some(node);
                        }
                    }
                }
            }
        }
        for &node in &change.nodes_deleted {
            self.classes[node as usize] = NONE;
        }
        for &(a, b) in &change.added {
            let (a, b) = (self.class(a), self.class(b));
            self.parents[a.max(b) as usize] = a.min(b);
        }
        Ok(Some(search.touched))
    }

    /// For each node that takes part, its component, named by the smallest id in it.
    pub(crate) fn names(&mut self, nodes: &Nodes) -> Vec<(u32, u32)> {
        let mut smallest: Vec<u32> = vec![NONE; self.parents.len()];
        let members: Vec<u32> = nodes.iter().collect();
        let mut found = Vec::with_capacity(members.len());
        for node in members {
            let class = self.class(node);
            let name = &mut smallest[class as usize];
            *name = (*name).min(node);
            found.push((node, class));
        }
        found.iter_mut().for_each(|(_, class)| *class = smallest[*class as usize]);
        found
    }
}

/// The answer to whether two nodes are in one component.
enum Joined {
    Yes,
    /// No: `part` is the whole component of one of them, the first or the second.
    No {
        part: Vec<u32>,
        has_first: bool,
    },
    TooMuch,
}

/// Searches of one mending, in the graph as it is now.
struct Search<'a> {
    view: &'a dyn ReadView,
    projection: &'a Projection,
    nodes: &'a Nodes,
    interrupt: &'a Interrupt,
    touched: u64,
    touched_max: u64,
}

/// One of two searches.
struct Side {
    seen: Set<u32>,
    frontier: Vec<u32>,
}

impl Side {
    fn from(node: u32) -> Side {
        Side { seen: Set::from_iter([node]), frontier: vec![node] }
    }
}

impl Search<'_> {
    fn join(&mut self, a: u32, b: u32) -> Result<Joined> {
        let mut sides = [Side::from(a), Side::from(b)];
        loop {
            let at = usize::from(sides[1].frontier.len() < sides[0].frontier.len());
            if sides[at].frontier.is_empty() {
                let part = sides[at].seen.iter().copied().collect();
                return Ok(Joined::No { part, has_first: at == 0 });
            }
            self.touched += sides[at].frontier.len() as u64;
            if self.touched > self.touched_max {
                return Ok(Joined::TooMuch);
            }
            let next = self.neighbors(&sides[at].frontier)?;
            let mut frontier = Vec::new();
            for node in next {
                if sides[1 - at].seen.contains(&node) {
                    return Ok(Joined::Yes);
                }
                if sides[at].seen.insert(node) {
                    frontier.push(node);
                }
            }
            sides[at].frontier = frontier;
        }
    }

    /// The other ends of all edges of some nodes.
    fn neighbors(&self, of: &[u32]) -> Result<Vec<u32>> {
        let nodes: Vec<NodeId> = of.iter().map(|&node| NodeId(u64::from(node))).collect();
        let expand = self.projection.expand(Direction::Both, Vec::new(), EdgeIds::Omit);
        let mut cursor = self.view.expand(&nodes, &expand)?;
        let (mut batch, mut found) = (EdgeBatch::default(), Vec::new());
        while cursor.next(&mut batch)? {
            self.interrupt.check()?;
            let neighbors = batch.neighbors.iter().map(|node| node.index());
            found.extend(neighbors.filter(|&node| self.nodes.contains(node)).map(|node| node as u32));
        }
        Ok(found)
    }
}
