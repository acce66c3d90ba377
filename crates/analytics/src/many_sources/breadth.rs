//! Breadth-first searches from 256 nodes at a time: one look at an edge serves all of them that have come to it.
//!
//! Cost: 96 bytes a node; a search of all sources reads each edge as often as there are levels at which some source newly
//! comes to its node, which in graphs of small diameter is few times, and one cache line an edge. Where in-edges are at
//! hand, a large frontier is searched for instead of followed, and a node looks no further once all sources have come.
//! After: Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper, Neumann, Vo, "The more the merrier: efficient multi-source
//! graph traversal", 2014; Beamer, Asanović, Patterson, "Direction-optimizing breadth-first search", 2012.

use model::error::Result;
use model::interrupt::Interrupt;

use crate::graph_view::{Csr, GraphView};

const WORDS: usize = 4;
/// Sources of one search.
pub(crate) const SOURCES: usize = 64 * WORDS;
/// Inverse of the share of the edges above which a frontier is searched for, not followed.
const PULL_SHARE: u64 = 4;
/// Nodes between two checks for cancellation.
const CHECK_NODES: usize = 1 << 12;

/// A bit for each source.
type Bits = [u64; WORDS];
const NONE: Bits = [0; WORDS];

/// The sources that have come to a node, and those that come at the next level; together one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Place {
    seen: Bits,
    next: Bits,
}

#[inline]
fn without(bits: &Bits, others: &Bits) -> Bits {
    std::array::from_fn(|at| bits[at] & !others[at])
}

#[inline]
fn or(bits: &Bits, others: &Bits) -> Bits {
    std::array::from_fn(|at| bits[at] | others[at])
}

#[inline]
fn count(bits: &Bits) -> u32 {
    bits.iter().map(|word| word.count_ones()).sum()
}

/// The state of searches, kept for the next sources.
pub(crate) struct Searches<'a> {
    forward: &'a Csr,
    backward: Option<&'a Csr>,
    places: Vec<Place>,
    /// For each node of the frontier, the sources that have just come to it; nothing for others.
    arrived: Vec<Bits>,
    frontier: Vec<u32>,
    next: Vec<u32>,
    interrupt: &'a Interrupt,
}

/// Bytes of state for each node.
pub(crate) const NODE_BYTES: usize = size_of::<Place>() + size_of::<Bits>() + 2 * size_of::<u32>();

impl<'a> Searches<'a> {
    pub(crate) fn new(view: &'a GraphView, interrupt: &'a Interrupt) -> Searches<'a> {
        let count = view.node_count();
        Searches {
            forward: view.forward(),
            backward: view.find_backward(),
            places: vec![Place { seen: NONE, next: NONE }; count],
            arrived: vec![NONE; count],
            frontier: Vec::new(),
            next: Vec::new(),
            interrupt,
        }
    }

    /// Searches from up to [`SOURCES`] different nodes. For each level, of at least 1, and each node that some of them come
    /// to at that level, calls `visit` with the node, the level, and from how many.
    pub(crate) fn run(&mut self, sources: &[u32], mut visit: impl FnMut(u32, u32, u32)) -> Result<()> {
        assert!(sources.len() <= SOURCES, "one search has at most {SOURCES} sources");
        self.places.fill(Place { seen: NONE, next: NONE });
        let mut all = NONE;
        for (at, &source) in sources.iter().enumerate() {
            let bit = 1 << (at % 64);
            all[at / 64] |= bit;
            self.places[source as usize].seen[at / 64] |= bit;
            self.arrived[source as usize][at / 64] |= bit;
        }
        self.frontier.clear();
        self.frontier.extend_from_slice(sources);
        let mut level = 0;
        while !self.frontier.is_empty() {
            level += 1;
            let edges: u64 = self.frontier.iter().map(|&node| self.forward.degree(node)).sum();
            match self.backward {
                Some(rows) if edges > self.forward.edge_count() as u64 / PULL_SHARE => self.pull(rows, &all)?,
                _ => self.push()?,
            }
            self.arrive(level, &mut visit);
        }
        Ok(())
    }

    /// Follows the edges of the frontier.
    fn push(&mut self) -> Result<()> {
        for nodes in self.frontier.chunks(CHECK_NODES) {
            self.interrupt.check()?;
            for &node in nodes {
                let arrived = self.arrived[node as usize];
                for &neighbor in self.forward.neighbors(node) {
                    let place = &mut self.places[neighbor as usize];
                    let new = without(&arrived, &place.seen);
                    if new != NONE {
                        if place.next == NONE {
                            self.next.push(neighbor);
                        }
                        place.next = or(&place.next, &new);
                    }
                }
            }
        }
        Ok(())
    }

    /// Lets nodes that not all sources have come to look for the frontier.
    fn pull(&mut self, backward: &Csr, all: &Bits) -> Result<()> {
        for (node, place) in (0..).zip(&mut self.places) {
            if (node as usize).is_multiple_of(CHECK_NODES) {
                self.interrupt.check()?;
            }
            let missing = without(all, &place.seen);
            if missing == NONE {
                continue;
            }
            let mut found = NONE;
            for &neighbor in backward.neighbors(node) {
                found = or(&found, &self.arrived[neighbor as usize]);
                if without(&missing, &found) == NONE {
                    break;
                }
            }
            let new = without(&found, &place.seen);
            if new != NONE {
                place.next = new;
                self.next.push(node);
            }
        }
        Ok(())
    }

    /// Makes what comes next the frontier.
    fn arrive(&mut self, level: u32, visit: &mut impl FnMut(u32, u32, u32)) {
        self.frontier.iter().for_each(|&node| self.arrived[node as usize] = NONE);
        for &node in &self.next {
            let place = &mut self.places[node as usize];
            visit(node, level, count(&place.next));
            place.seen = or(&place.seen, &place.next);
            self.arrived[node as usize] = place.next;
            place.next = NONE;
        }
        std::mem::swap(&mut self.frontier, &mut self.next);
        self.next.clear();
    }
}
