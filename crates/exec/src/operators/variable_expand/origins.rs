//! The distinct ends of paths of at least one edge, in any direction, from several starts.
//!
//! A breadth-first search takes along which start it came from. A node takes two different starts at most, the nearest ones: any third
//! is no nearer to what lies beyond. A start at which another one arrives is an end, and so is every other node that is reached. Only
//! starts that no other one is near to are asked for a way round.
//!
//! Cost: each edge four times at most, and the searches for ways round. Memory: some 40 bytes for each node reached.

use model::{EdgeBatch, Map, NodeId, Result};

use super::reach::Reach;
use crate::memory::Charge;
use crate::operators::path_search::Pattern;
use crate::runtime::Runtime;
use crate::spill::Records;
use crate::visited::fits;

/// Approximate bytes of a reached node, with its place among those of a level.
const NODE_BYTES: usize = 40;
/// Stands for no start.
const NONE: u32 = u32::MAX;

/// The nearest starts of each node that was reached.
struct Origins<'r> {
    of: Map<NodeId, [u32; 2]>,
    charge: Charge<'r>,
}

/// The ends of paths from these starts; `None` if they do not fit into memory.
pub(super) fn ends<'r>(
    runtime: &Runtime<'r>,
    reach: &mut Reach<'_, 'r>,
    round: &Pattern,
    starts: &mut Records<'r, NodeId>,
) -> Result<Option<Vec<NodeId>>> {
    let mut origins = Origins { of: Map::default(), charge: reach.charge.another() };
    if starts.len() >= u64::from(NONE) || !fits(&mut origins.charge, starts.len() as usize * NODE_BYTES) {
        return Ok(None);
    }
    let (mut all, mut buffer) = (Vec::with_capacity(starts.len() as usize), Vec::new());
    while (all.len() as u64) < starts.len() {
        all.extend_from_slice(starts.piece(all.len() as u64, &mut buffer)?);
    }
    if !origins.search(runtime, reach, &all)? {
        return Ok(None);
    }
    let is_alone = |start: &&NodeId| origins.of.get(start).is_some_and(|[_, second]| *second == NONE);
    let alone: Vec<NodeId> = all.iter().filter(is_alone).copied().collect();
    let mut missed = Vec::new();
    for start in alone {
        if !reach.has_way_round(round, 0, start)? {
            missed.push(start);
        }
    }
    for start in &missed {
        origins.of.remove(start);
    }
    Ok(Some(origins.of.into_keys().collect()))
}

impl Origins<'_> {
    /// Finds the nearest starts of all nodes that are near enough; false if they do not fit into memory.
    fn search(&mut self, runtime: &Runtime<'_>, reach: &Reach<'_, '_>, starts: &[NodeId]) -> Result<bool> {
        let mut frontier: (Vec<NodeId>, Vec<u32>) = starts.iter().copied().zip(0..).unzip();
        self.of.extend(starts.iter().zip(0..).map(|(&start, number)| (start, [number, NONE])));
        let Some(expansion) = &reach.expansion else { return Ok(true) };
        let guard = runtime.view();
        let mut batch = EdgeBatch::default();
        let mut length = 0;
        while !frontier.0.is_empty() && length < reach.most_edges() {
            let mut next = (Vec::new(), Vec::new());
            let mut cursor = guard.view().expand(&frontier.0, expansion)?;
            while cursor.next(&mut batch)? {
                runtime.environment.interrupt.check()?;
                for (&input, &node) in batch.inputs.iter().zip(&batch.neighbors) {
                    let origin = frontier.1[input as usize];
                    let nearest = self.of.entry(node).or_insert([NONE; 2]);
                    let Some(free) = nearest.iter().position(|&known| known == NONE || known == origin) else {
                        continue;
                    };
                    if nearest[free] == NONE {
                        nearest[free] = origin;
                        next.0.push(node);
                        next.1.push(origin);
                    }
                }
                if !fits(&mut self.charge, (self.of.len() + next.0.len()) * NODE_BYTES) {
                    return Ok(false);
                }
            }
            drop(cursor);
            (frontier, length) = (next, length + 1);
        }
        Ok(true)
    }
}
