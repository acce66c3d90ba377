//! Strong components by passes over rows that are not held: the state is a few numbers for each node.
//!
//! Nodes without edges in or out are components of their own; then what the greatest hub reaches and what reaches it,
//! by passes over the rows of the frontier. When the edges among the nodes that are left are few, one pass takes them
//! into memory, where a depth-first search ends it. While they are many, the nodes are coloured: each takes the
//! smallest number that reaches it, in passes until nothing changes; the nodes of a colour that reach the one whose
//! number it is are a component.
//! After: Orzan, "On distributed verification and verified distribution", 2004 (colouring).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use model::column::Bitmap;
use model::error::Result;
use model::interrupt::Interrupt;

use super::{NONE, tarjan};
use crate::graph::{Graph, RowBlock, Rows, Side};
use crate::parallel::map_tasks;

/// Edges that are held at the end, for each node.
pub(super) const HELD_EDGES_PER_NODE: usize = 2;
/// Edges that are held in any case.
const HELD_EDGES_MIN: usize = 1 << 16;

/// Upper bound of the edges held at the end.
pub(super) fn edges_held_max(node_count: usize) -> usize {
    (HELD_EDGES_PER_NODE * node_count).max(HELD_EDGES_MIN)
}

/// For each node the smallest number in its component; a depth-first search is run when `held_max` edges suffice.
pub(super) fn run(graph: &Graph<'_>, held_max: usize, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let node_count = graph.node_count();
    let components = (0..node_count).map(|_| AtomicU32::new(NONE)).collect();
    let passes = Passes { rows: graph.rows(), components, threads, interrupt };
    let Some(hub) = passes.trim()? else {
        return Ok(passes.components.into_iter().map(AtomicU32::into_inner).collect());
    };
    let reached = passes.reach(Side::Forward, hub, &|node| passes.component(node) == NONE)?;
    let both = passes.reach(Side::Backward, hub, &|node| reached.get(node as usize))?;
    let members = || (0..node_count as u32).filter(|&node| both.get(node as usize));
    let name = members().next().expect("the hub reaches itself");
    members().for_each(|node| passes.assign(node, name));
    loop {
        if let Some(held) = passes.hold(held_max)? {
            let mut components: Vec<u32> = passes.components.into_iter().map(AtomicU32::into_inner).collect();
            tarjan::finish(|node| held.neighbors(node), &mut components, interrupt)?;
            return Ok(components);
        }
        passes.colour()?;
    }
}

/// Edges in memory, sorted by source.
struct Held {
    sources: Vec<u32>,
    offsets: Vec<u32>,
    targets: Vec<u32>,
}

impl Held {
    fn neighbors(&self, node: u32) -> &[u32] {
        match self.sources.binary_search(&node) {
            Ok(at) => &self.targets[self.offsets[at] as usize..self.offsets[at + 1] as usize],
            Err(_) => &[],
        }
    }
}

struct Passes<'a> {
    rows: &'a dyn Rows,
    components: Vec<AtomicU32>,
    threads: usize,
    interrupt: &'a Interrupt,
}

impl Passes<'_> {
    #[inline]
    fn component(&self, node: u32) -> u32 {
        self.components[node as usize].load(Ordering::Relaxed)
    }

    #[inline]
    fn assign(&self, node: u32, name: u32) {
        self.components[node as usize].store(name, Ordering::Relaxed);
    }

    /// One pass over rows, those `among` or all, in the order that reads fastest.
    fn pass(&self, side: Side, among: Option<&Bitmap>, work: &(dyn Fn(RowBlock<'_>) + Sync)) -> Result<()> {
        let parts = (0..self.rows.part_count(side)).collect();
        let done = map_tasks(self.threads, parts, |part| {
            self.rows.scan_part(side, part, among, &mut |block| {
                self.interrupt.check()?;
                work(block);
                Ok(())
            })
        });
        done.into_iter().collect()
    }

    /// Makes nodes without edges in or out components of their own; gives the greatest hub of the others.
    fn trim(&self) -> Result<Option<u32>> {
        let count = || -> Vec<AtomicU32> { self.components.iter().map(|_| AtomicU32::new(0)).collect() };
        let (degrees_out, degrees_in) = (count(), count());
        self.pass(Side::Forward, None, &|block| {
            for (node, neighbors) in block.rows() {
                degrees_out[node as usize].fetch_add(neighbors.len() as u32, Ordering::Relaxed);
                neighbors.iter().for_each(|&neighbor| {
                    degrees_in[neighbor as usize].fetch_add(1, Ordering::Relaxed);
                });
            }
        })?;
        let mut hub = (0, None);
        for (node, degrees) in (0..).zip(degrees_out.into_iter().zip(degrees_in)) {
            let product = u64::from(degrees.0.into_inner()) * u64::from(degrees.1.into_inner());
            if product == 0 {
                self.assign(node, node);
            } else if product > hub.0 {
                hub = (product, Some(node));
            }
        }
        Ok(hub.1)
    }

    /// The nodes among those that `may` be entered which `start` reaches, in passes over the frontier's rows.
    fn reach(&self, side: Side, start: u32, may: &(dyn Fn(u32) -> bool + Sync)) -> Result<Bitmap> {
        let node_count = self.components.len();
        let reached: Vec<AtomicBool> = (0..node_count).map(|node| AtomicBool::new(node == start as usize)).collect();
        let mut frontier: Bitmap = (0..node_count).map(|node| node == start as usize).collect();
        loop {
            let next: Vec<AtomicBool> = (0..node_count).map(|_| AtomicBool::new(false)).collect();
            let did_find = AtomicBool::new(false);
            self.pass(side, Some(&frontier), &|block| {
                for (_, neighbors) in block.rows().filter(|(node, _)| frontier.get(*node as usize)) {
                    for &neighbor in neighbors {
                        let at = neighbor as usize;
                        if !reached[at].load(Ordering::Relaxed) && may(neighbor) {
                            reached[at].store(true, Ordering::Relaxed);
                            next[at].store(true, Ordering::Relaxed);
                            did_find.store(true, Ordering::Relaxed);
                        }
                    }
                }
            })?;
            frontier = next.into_iter().map(AtomicBool::into_inner).collect();
            if !did_find.into_inner() {
                return Ok(reached.into_iter().map(AtomicBool::into_inner).collect());
            }
        }
    }

    fn unassigned(&self) -> Bitmap {
        self.components.iter().map(|component| component.load(Ordering::Relaxed) == NONE).collect()
    }

    /// The edges among nodes without a component, unless there are more than `held_max`.
    fn hold(&self, held_max: usize) -> Result<Option<Held>> {
        let unassigned = self.unassigned();
        let count = AtomicU64::new(0);
        let parts = (0..self.rows.part_count(Side::Forward)).collect();
        let collected = map_tasks(self.threads, parts, |part| -> Result<Vec<u64>> {
            let mut edges = Vec::new();
            self.rows.scan_part(Side::Forward, part, Some(&unassigned), &mut |block| {
                self.interrupt.check()?;
                let before = edges.len();
                for (node, neighbors) in block.rows().filter(|(node, _)| unassigned.get(*node as usize)) {
                    let left = neighbors.iter().filter(|&&neighbor| unassigned.get(neighbor as usize));
                    edges.extend(left.map(|&neighbor| u64::from(node) << 32 | u64::from(neighbor)));
                }
                let found = (edges.len() - before) as u64;
                if count.fetch_add(found, Ordering::Relaxed) + found > held_max as u64 {
                    edges = Vec::new();
                }
                Ok(())
            })?;
            Ok(edges)
        });
        let mut edges = collected.into_iter().collect::<Result<Vec<_>>>()?.concat();
        if count.into_inner() > held_max as u64 {
            return Ok(None);
        }
        edges.sort_unstable();
        let mut held = Held { sources: Vec::new(), offsets: Vec::new(), targets: Vec::with_capacity(edges.len()) };
        for edge in edges {
            let source = (edge >> 32) as u32;
            if held.sources.last() != Some(&source) {
                held.sources.push(source);
                held.offsets.push(held.targets.len() as u32);
            }
            held.targets.push(edge as u32);
        }
        held.offsets.push(held.targets.len() as u32);
        Ok(Some(held))
    }

    /// Gives each node left the smallest number that reaches it for a colour, and a component to those that reach the
    /// node of that number.
    fn colour(&self) -> Result<()> {
        let unassigned = self.unassigned();
        let colours: Vec<AtomicU32> = (0..self.components.len() as u32).map(AtomicU32::new).collect();
        let colour = |node: u32| colours[node as usize].load(Ordering::Relaxed);
        let is_left = |node: u32| unassigned.get(node as usize);
        self.until_nothing_changes(&unassigned, &|node, neighbors| {
            let own = colour(node);
            let mut did_change = false;
            for &neighbor in neighbors.iter().filter(|&&neighbor| is_left(neighbor)) {
                if colour(neighbor) > own {
                    did_change |= colours[neighbor as usize].fetch_min(own, Ordering::Relaxed) > own;
                }
            }
            did_change
        })?;
        let roots = (0..self.components.len() as u32).filter(|&node| is_left(node) && colour(node) == node);
        roots.for_each(|node| self.assign(node, node));
        self.until_nothing_changes(&unassigned, &|node, neighbors| {
            let own = colour(node);
            let joins = self.component(node) == NONE
                && neighbors.iter().any(|&neighbor| is_left(neighbor) && self.component(neighbor) == own);
            if joins {
                self.assign(node, own);
            }
            joins
        })
    }

    /// Passes over the rows of some nodes until the work on none of them says that something has changed.
    fn until_nothing_changes(&self, among: &Bitmap, work: &(dyn Fn(u32, &[u32]) -> bool + Sync)) -> Result<()> {
        loop {
            let did_change = AtomicBool::new(false);
            self.pass(Side::Forward, Some(among), &|block| {
                for (node, neighbors) in block.rows().filter(|(node, _)| among.get(*node as usize)) {
                    if work(node, neighbors) {
                        did_change.store(true, Ordering::Relaxed);
                    }
                }
            })?;
            if !did_change.into_inner() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::Interrupt;
    use model::store::Direction;
    use testing::graphs::{GraphData, Kronecker, erdos_renyi, kronecker, path};
    use testing::random::seed_or;

    use crate::{EdgeList, Graph, GraphView, Sides};

    /// Colouring alone, a depth-first search of the rest, and the way in memory find the same.
    #[test]
    fn every_way_to_end_finds_the_same() {
        let seed = seed_or(21);
        let mut graphs: Vec<GraphData> =
            vec![path(50), kronecker(&Kronecker { scale: 8, seed, ..Kronecker::default() })];
        graphs.extend([(1, 0), (2, 3), (30, 40), (200, 300), (200, 700)].map(|(n, m)| erdos_renyi(n, m, seed)));
        for graph in graphs {
            let (sources, targets): (Vec<u32>, Vec<u32>) =
                graph.edge_pairs().map(|(source, target)| (source as u32, target as u32)).unzip();
            let list = EdgeList { sources: &sources, targets: &targets, weights: &[] };
            let count = graph.node_count() as u32;
            let view = GraphView::from_edges(count, &list, Direction::Out, Sides::ForwardAndBackward, 1);
            let graph = Graph::in_memory(Arc::new(view.clone()));
            let expected = super::super::run(&graph, 1, &Interrupt::new()).unwrap();
            super::super::verify(&view, &expected).unwrap_or_else(|error| panic!("FUZZ_SEED={seed}: {error}"));
            for (held_max, threads) in [(0, 1), (0, 2), (20, 1), (1 << 20, 2)] {
                let found = super::run(&graph, held_max, threads, &Interrupt::new()).unwrap();
                assert_eq!(found, expected, "{held_max} edges held, {threads} threads, FUZZ_SEED={seed}");
            }
        }
    }
}
