//! The distinct ends of the paths of all rows, where nobody asks which row an end belongs to: one breadth-first search from all
//! starts at once.
//!
//! A node is an end if the nearest start is near enough. Along edges in any direction the way back from a start along the edge just
//! walked is no path, so there it matters which starts came to a node ([`origins`]).
//!
//! Cost: each edge once, or twice in any direction, however many rows there are. Memory: the starts, and the nodes visited.
//! Where a few ends may be enough, the first rows are searched from at once, and then more and more at a time.

use model::{NodeId, Result};

use super::reach::Reach;
use super::{VariableExpand, origins};
use crate::chunk::Chunk;
use crate::rows::nodes_in;
use crate::runtime::{Flow, Runtime, Scope, Sink};
use crate::spill::{NodeSet, Records};

/// Factor by which the starts of a search become more from one to the next.
const GROWTH: u64 = 8;

/// Starts that are searched from together.
struct Starts<'r> {
    known: NodeSet<'r>,
    /// Those that no search has begun from.
    new: Records<'r, NodeId>,
}

impl VariableExpand {
    /// True if a search from all starts at once finds the ends that are wanted.
    pub(super) fn searches_together(&self) -> bool {
        let is_alike = self.filter.is_none() && self.distinct_from.is_empty();
        self.visits_once() && self.bound.is_none() && self.keep.is_empty() && is_alike
    }

    /// Gives the ends of the paths of all rows; some may come twice.
    pub(super) fn run_together(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let charge = runtime.charge("VariableExpand");
        let known = NodeSet::new(charge.another(), runtime.view().view());
        let mut starts = Starts { known, new: Records::new(charge.another()) };
        let mut wanted = if self.few { 1 } else { u64::MAX };
        let mut new = Vec::new();
        let flow = self.input.run(scope, &mut |chunk| {
            let (nodes, _) = nodes_in(&chunk.columns[self.from], "the start of a pattern")?;
            new.clear();
            starts.known.insert_all(&nodes, &mut new)?;
            starts.known.settle(runtime.view().view())?;
            starts.new.extend(&new)?;
            if starts.new.len() < wanted {
                return Ok(Flow::Continue);
            }
            wanted = starts.new.len().saturating_mul(GROWTH);
            let rest = starts.new.another();
            self.search_from(runtime, std::mem::replace(&mut starts.new, rest), sink)
        })?;
        if flow == Flow::Stop || starts.new.is_empty() {
            return Ok(flow);
        }
        drop(starts.known);
        self.search_from(runtime, starts.new, sink)
    }

    fn search_from<'r>(
        &self,
        runtime: &Runtime<'r>,
        mut starts: Records<'r, NodeId>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let mut reach = Reach::new(self, runtime, &Chunk::unit())?;
        let Some(round) = &self.round else { return reach.run_from(starts, sink) };
        if starts.len() > 1
            && let Some(ends) = origins::ends(runtime, &mut reach, round, &mut starts)?
        {
            return reach.give(&ends, sink);
        }
        let (mut buffer, mut place) = (Vec::new(), 0);
        while place < starts.len() {
            let nodes = starts.piece(place, &mut buffer)?;
            place += nodes.len() as u64;
            let reach = Reach::new(self, runtime, &Chunk::unit())?;
            if reach.run(nodes.iter().map(|&node| (0, node)), sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}
