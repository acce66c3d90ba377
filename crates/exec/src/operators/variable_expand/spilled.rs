//! All paths, where the levels of [`super::walk`] do not fit into memory: one stack of steps in a temporary file, each
//! with the place of the step before it. Of the present path the steps are in memory.
//!
//! It begins with the levels that were grown in memory. Few paths are expanded at a time, so that the stack is as high as
//! the paths are long times what leads on from a few nodes.

use model::store::EdgeIds;
use model::{EdgeBatch, EdgeValue, NodeId, Result, Value};

use super::walk::{Level, Walk};
use super::{Found, VariableExpand, edge_list};
use crate::adjacency::{edge_value, expansion, is_taken};
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::runtime::{Flow, Runtime, Sink};
use crate::size::heap_bytes;
use crate::spill::{Record, Records};
use crate::visited::{hold_path, is_batch_full, path_bytes};

/// Most paths that are expanded at a time.
const PART_PATHS: u64 = 256;
/// Approximate number of edges in a part.
const PART_EDGES: u64 = 2_048;

/// The end of a path.
#[derive(Clone, Copy)]
struct Step {
    row: u32,
    node: NodeId,
    /// The last edge; says nothing at the bottom.
    edge: EdgeValue,
    /// The place of the step before.
    parent: u64,
}

impl Record for Step {
    const BYTES: usize = 3 * u64::BYTES + EdgeValue::BYTES;

    fn write(&self, out: &mut &mut [u8]) {
        (u64::from(self.row), (self.node, (self.edge, self.parent))).write(out);
    }

    fn read(bytes: &mut &[u8]) -> Step {
        let (row, (node, (edge, parent))): (u64, _) = Record::read(bytes);
        Step { row: row as u32, node, edge, parent }
    }
}

/// The places of the paths of one length.
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    end: u64,
    /// Paths before this one have been expanded.
    expanded: u64,
}

/// A step of the present path.
struct Link {
    place: u64,
    edge: EdgeValue,
    /// The running value behind it, once it was worked out.
    value: Option<Value>,
}

/// See the module.
pub(super) struct SpilledWalk<'w, 'r> {
    expand: &'w VariableExpand,
    runtime: &'w Runtime<'r>,
    chunk: &'w Chunk,
    min: u32,
    end: Option<NodeId>,
    found: Found,
    steps: Records<'r, Step>,
    levels: Vec<Span>,
    /// The steps of the path looked at last, from the first edge on.
    path: Vec<Link>,
    /// The running value of a row before the first edge.
    initial: Option<(u32, Value)>,
    is_running: bool,
    charge: Charge<'r>,
}

impl<'w, 'r> SpilledWalk<'w, 'r> {
    /// Takes over the levels grown in memory, and the paths found that were not passed on.
    pub(super) fn new(walk: Walk<'w, 'r>) -> Result<SpilledWalk<'w, 'r>> {
        let Walk { expand, runtime, chunk, min, end, levels: known, found, mut charge, is_running, .. } = walk;
        let mut steps = Records::new(charge.another());
        let mut levels: Vec<Span> = Vec::with_capacity(known.len());
        for level in known {
            let before = levels.last().map_or(0, |below| below.start);
            let start = steps.len();
            let Level { rows, nodes, edges, parents, expanded, .. } = level;
            for (at, (row, node)) in rows.into_iter().zip(nodes).enumerate() {
                let edge = edges.get(at).copied().unwrap_or_default();
                let parent = before + parents.get(at).copied().map_or(0, u64::from);
                steps.push(Step { row, node, edge, parent })?;
            }
            levels.push(Span { start, end: steps.len(), expanded: start + expanded as u64 });
        }
        charge.count(0);
        let (path, initial, is_running) = (Vec::new(), None, is_running.get());
        Ok(SpilledWalk { expand, runtime, chunk, min, end, found, steps, levels, path, initial, is_running, charge })
    }

    pub(super) fn run(mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        while let Some(&level) = self.levels.last() {
            if level.expanded == level.end || self.levels.len() as u64 > u64::from(self.expand.max) {
                self.steps.truncate(level.start)?;
                self.levels.pop();
                // Other steps will stand at these places.
                self.path.truncate(self.levels.len().saturating_sub(1));
                continue;
            }
            if self.grow(sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        self.expand.flush(self.chunk, &mut self.found, sink)
    }

    /// Expands the next part of the topmost level to a new level.
    fn grow(&mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        let (runtime, expand) = (self.runtime, self.expand);
        let guard = runtime.view();
        let view = guard.view();
        let top = self.levels.len() - 1;
        let Some(expansion) = expansion(view, expand.direction, &expand.types, EdgeIds::Include) else {
            self.levels[top].expanded = self.levels[top].end;
            return Ok(Flow::Continue);
        };
        let first = self.levels[top].expanded;
        let mut nodes = Vec::new();
        for place in first..self.levels[top].end.min(first + PART_PATHS) {
            nodes.push(self.steps.get(place)?.node);
        }
        if !view.capabilities().is_remote {
            let degrees = view.degrees(&nodes, expand.direction, expansion.types.as_deref())?;
            let mut edges = 0;
            let fits = degrees.iter().take_while(|&&degree| {
                edges += degree;
                edges <= PART_EDGES
            });
            nodes.truncate(fits.count().max(1));
        }
        self.levels[top].expanded = first + nodes.len() as u64;
        let start = self.steps.len();
        let mut cursor = view.expand(&nodes, &expansion)?;
        let mut batch = EdgeBatch::default();
        while cursor.next(&mut batch)? {
            runtime.environment.interrupt.check()?;
            self.take(&batch, &nodes, first)?;
        }
        drop(cursor);
        let end = self.steps.len();
        self.levels.push(Span { start, end, expanded: start });
        self.find(sink)
    }

    /// Takes those paths of the topmost level that are long enough and end in the right place.
    fn find(&mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        let length = self.levels.len() - 1;
        if (length as u64) < u64::from(self.min) {
            return Ok(Flow::Continue);
        }
        let batch_rows = self.runtime.environment.settings.batch_rows.max(1);
        let Span { start, end, .. } = self.levels[length];
        for place in start..end {
            let step = self.steps.get(place)?;
            if !self.end.map_or_else(|| self.expand.is_end(self.chunk, step.row, step.node), |end| end == step.node) {
                continue;
            }
            self.found.rows.push(step.row);
            self.found.ends.push(step.node);
            if self.expand.gives_edges {
                self.load(place, length)?;
                self.found.edges.push(edge_list(self.path.iter().map(|link| link.edge)));
                self.found.length += length;
            }
            if is_batch_full(self.found.rows.len(), batch_rows, self.found.length)
                && self.expand.flush(self.chunk, &mut self.found, sink)? == Flow::Stop
            {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Makes the path of `length` edges that ends at a place the present one.
    fn load(&mut self, place: u64, length: usize) -> Result<()> {
        let mut new = Vec::new();
        let (mut place, mut left) = (place, length);
        self.path.truncate(length);
        // Below a step that both paths share they are one.
        while left > 0 && self.path.get(left - 1).is_none_or(|link| link.place != place) {
            let step = self.steps.get(place)?;
            new.push(Link { place, edge: step.edge, value: None });
            place = step.parent;
            left -= 1;
        }
        self.path.truncate(left);
        self.path.extend(new.into_iter().rev());
        let links = size_of::<Link>() * self.path.capacity() + size_of::<Span>() * self.levels.capacity();
        let values: usize = match self.is_running {
            true => self.path.iter().filter_map(|link| link.value.as_ref()).map(heap_bytes).sum(),
            false => 0,
        };
        hold_path(&mut self.charge, length, links + values + path_bytes(length))
    }

    /// The running value of the present path; `None` if there is none.
    fn value(&mut self, row: u32) -> Option<Value> {
        let running = self.expand.running.as_ref().filter(|_| self.is_running)?;
        let known = self.path.iter().rposition(|link| link.value.is_some());
        let mut value = match known.and_then(|at| self.path[at].value.clone()) {
            Some(value) => value,
            None => match &self.initial {
                Some((known, value)) if *known == row => value.clone(),
                _ => {
                    let value = running.start(self.runtime, self.chunk, &[row])?.pop()?;
                    self.initial.insert((row, value)).1.clone()
                }
            },
        };
        for link in &mut self.path[known.map_or(0, |at| at + 1)..] {
            value = running.grow(self.runtime, self.chunk, &[row], &[value], vec![link.edge])?.values.value(0);
            link.value = Some(value.clone());
        }
        Some(value)
    }

    /// Adds the paths that a batch of edges makes.
    fn take(&mut self, batch: &EdgeBatch, nodes: &[NodeId], first: u64) -> Result<()> {
        let expand = self.expand;
        let length = self.levels.len() - 1;
        let (mut indices, mut rows, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut present: Option<(u32, u32, Option<Value>)> = None;
        for index in 0..batch.len() {
            let input = batch.inputs[index];
            if present.as_ref().is_none_or(|(known, ..)| *known != input) {
                let place = first + u64::from(input);
                let row = self.steps.get(place)?.row;
                self.load(place, length)?;
                let value = self.value(row);
                self.is_running &= value.is_some();
                present = Some((input, row, value));
            }
            let Some((_, row, value)) = &present else { continue };
            let edge = batch.edges[index];
            let is_new = expand.repeats || !self.path.iter().any(|link| link.edge.id == edge);
            if is_new && !is_taken(self.chunk, &expand.distinct_from, *row as usize, edge) {
                indices.push(index);
                rows.push(*row);
                values.extend(value.clone());
            }
        }
        let from = |index: usize| nodes[batch.inputs[index] as usize];
        let edges: Vec<EdgeValue> =
            indices.iter().map(|&index| edge_value(batch, index, from(index), expand.direction)).collect();
        let mut kept: Vec<u32> = (0..indices.len() as u32).collect();
        if let Some(filter) = expand.filter.as_ref().filter(|_| !indices.is_empty()) {
            let start = |place: usize| from(indices[place]);
            kept = filter.passing(self.runtime, self.chunk, &rows, start, edges.clone())?;
        }
        if let Some(running) = expand.running.as_ref().filter(|_| self.is_running && !kept.is_empty()) {
            let rows: Vec<u32> = kept.iter().map(|&at| rows[at as usize]).collect();
            let values: Vec<Value> = kept.iter().map(|&at| values[at as usize].clone()).collect();
            let edges = kept.iter().map(|&at| edges[at as usize]).collect();
            match running.grow(self.runtime, self.chunk, &rows, &values, edges) {
                Some(grown) => kept = grown.going.into_iter().map(|at| kept[at as usize]).collect(),
                None => self.is_running = false,
            }
        }
        for at in kept {
            let index = indices[at as usize];
            let (row, edge, node) = (rows[at as usize], edges[at as usize], batch.neighbors[index]);
            self.steps.push(Step { row, node, edge, parent: first + u64::from(batch.inputs[index]) })?;
        }
        Ok(())
    }
}
