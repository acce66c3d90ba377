//! The sources of the edges of a view, in blocks: the partitions of a store, all its edges in parts or in one stream,
//! expansions of all its nodes, or a list.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use model::batch::{EdgeBatch, EdgeBlock};
use model::column::Column;
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::limits::BATCH_ROWS;
use model::store::{Direction, EdgeBlockCursor, EdgeIds, EdgeStream, ReadView};
use model::value::Value;

use crate::numbering::{ABSENT, Numbering};
use crate::parallel::even_ranges;
use crate::projection::{Projection, Weight, edge_text, is_cost};

/// Takes a block of edges: sources, targets and, if there are weights, as many weights.
pub(crate) type EdgeSink<'a> = dyn FnMut(&[u32], &[u32], &[f64]) -> Result<()> + 'a;

/// Edges between numbered nodes, cut into tasks that threads may take.
///
/// The tasks together give every edge once, each task the same edges in the same order in every run.
pub(crate) trait EdgeSource: Sync {
    /// Number of tasks.
    fn task_count(&self) -> usize;
    /// About how many edges there are.
    fn edge_count(&self) -> u64;
    /// True if blocks carry weights.
    fn has_weights(&self) -> bool;
    /// Gives the edges of one task.
    fn scan(&self, task: usize, sink: &mut EdgeSink<'_>) -> Result<()>;
}

/// The edges of a graph that take part in a projection.
pub(crate) fn of_view<'a>(
    view: &'a dyn ReadView,
    projection: &'a Projection,
    weight: Option<&'a Weight>,
    numbering: &'a Numbering,
    threads: usize,
    interrupt: &'a Interrupt,
) -> Result<Box<dyn EdgeSource + 'a>> {
    if let Some(all) = all_of_view(view, projection, weight, numbering, threads, interrupt)? {
        return Ok(all);
    }
    let reader = Reader { view, projection, weight, numbering, interrupt, edges_read: AtomicU64::new(0) };
    let batch_nodes = if view.capabilities().is_remote { 8 * BATCH_ROWS } else { BATCH_ROWS };
    let tasks = even_ranges(numbering.len(), 8 * threads, batch_nodes);
    Ok(Box::new(ExpandedEdges { reader, tasks, batch_nodes }))
}

/// The same from a store that gives its edges without being asked node by node; `None` from another.
pub(crate) fn all_of_view<'a>(
    view: &'a dyn ReadView,
    projection: &'a Projection,
    weight: Option<&'a Weight>,
    numbering: &'a Numbering,
    threads: usize,
    interrupt: &'a Interrupt,
) -> Result<Option<Box<dyn EdgeSource + 'a>>> {
    let reader = Reader { view, projection, weight, numbering, interrupt, edges_read: AtomicU64::new(0) };
    if let Some(partitions) = view.edge_partitions() {
        let counts = (0..partitions.count()).map(|p| partitions.edge_count(p, projection.types.as_deref()));
        let edge_count = counts.sum();
        let tasks = partition_tasks(partitions.count(), view.node_id_bound(), threads);
        return Ok(Some(Box::new(PartitionEdges { reader, tasks, edge_count })));
    }
    let parts = (view.statistics().edges / PART_EDGES).clamp(1, 4 * threads as u64) as usize;
    let first = if parts > 1 { view.all_edges_part(&reader.stream(None), 0, parts)? } else { None };
    if first.is_some() {
        drop(first);
        return Ok(Some(Box::new(PartedEdges { reader, parts })));
    }
    let Some(cursor) = view.all_edges(&reader.stream(None))? else { return Ok(None) };
    Ok(Some(Box::new(StreamedEdges { reader, cursor: Mutex::new(Some(cursor)) })))
}

/// Each partition cut by source, so that there is work for all threads even if one partition holds everything.
fn partition_tasks(partitions: usize, node_id_bound: u64, threads: usize) -> Vec<(usize, Option<Range<u64>>)> {
    let pieces = (4 * threads).div_ceil(partitions.max(1));
    let mut tasks = Vec::new();
    for partition in 0..partitions {
        if pieces == 1 || threads == 1 || node_id_bound == 0 {
            tasks.push((partition, None));
        } else {
            let ranges = even_ranges(node_id_bound as usize, pieces, 1);
            tasks.extend(ranges.into_iter().map(|range| (partition, Some(range.start as u64..range.end as u64))));
        }
    }
    tasks
}

/// The data that both ways of reading a store share.
struct Reader<'a> {
    view: &'a dyn ReadView,
    projection: &'a Projection,
    weight: Option<&'a Weight>,
    numbering: &'a Numbering,
    interrupt: &'a Interrupt,
    edges_read: AtomicU64,
}

/// The buffers of one task.
#[derive(Default)]
struct Block {
    sources: Vec<u32>,
    targets: Vec<u32>,
    weights: Vec<f64>,
}

impl Reader<'_> {
    /// The edges of the projection, or those of some sources.
    fn stream(&self, sources: Option<Range<u64>>) -> EdgeStream {
        EdgeStream {
            types: self.projection.types.clone(),
            sources,
            keys: self.weight.map_or_else(Vec::new, Weight::keys),
            edge_ids: EdgeIds::Omit,
        }
    }

    /// Reads a stream to its end.
    fn read(&self, cursor: &mut dyn EdgeBlockCursor, edge_count: u64, sink: &mut EdgeSink<'_>) -> Result<()> {
        let mut input = EdgeBlock::default();
        let mut block = Block::default();
        while cursor.next(&mut input)? {
            self.advance(input.sources.len(), edge_count)?;
            let sources_take_part = self.numbering.indices(&input.sources, &mut block.sources);
            let targets_take_part = self.numbering.indices(&input.targets, &mut block.targets);
            self.read_weights(&mut block, &input.properties, |row| {
                let edge_type = self.view.schema().edge_type_name(input.edge_type);
                edge_text(edge_type, input.sources[row], input.targets[row])
            })?;
            self.pass_on(&mut block, sources_take_part && targets_take_part, sink)?;
        }
        Ok(())
    }

    /// Fails if the run was cancelled; otherwise says how far the reading has come.
    fn advance(&self, edges: usize, edges_total: u64) -> Result<()> {
        self.interrupt.check()?;
        let edges_read = self.edges_read.fetch_add(edges as u64, Ordering::Relaxed) + edges as u64;
        self.interrupt.report(edges_read.min(edges_total), edges_total);
        Ok(())
    }

    /// Reads the weights of a block; `edge` names an edge by its row, for the error.
    fn read_weights(&self, block: &mut Block, columns: &[Column], edge: impl Fn(usize) -> String) -> Result<()> {
        let Some(weight) = self.weight else { return Ok(()) };
        block.weights.clear();
        weight.append(columns, block.sources.len(), &mut block.weights);
        for row in 0..block.weights.len() {
            if !is_cost(block.weights[row]) && block.sources[row] != ABSENT && block.targets[row] != ABSENT {
                let value = columns.first().map_or(Value::Null, |column| column.value(row));
                return Err(weight.fault(&value, &edge(row)));
            }
        }
        Ok(())
    }

    /// Hands a block on, without the edges that have an end that does not take part.
    fn pass_on(&self, block: &mut Block, all_take_part: bool, sink: &mut EdgeSink<'_>) -> Result<()> {
        if !all_take_part {
            let mut kept = 0;
            for row in 0..block.sources.len() {
                if block.sources[row] != ABSENT && block.targets[row] != ABSENT {
                    block.sources[kept] = block.sources[row];
                    block.targets[kept] = block.targets[row];
                    if self.weight.is_some() {
                        block.weights[kept] = block.weights[row];
                    }
                    kept += 1;
                }
            }
            block.sources.truncate(kept);
            block.targets.truncate(kept);
            block.weights.truncate(kept);
        }
        sink(&block.sources, &block.targets, &block.weights)
    }
}

/// The edges of a store that streams them.
struct PartitionEdges<'a> {
    reader: Reader<'a>,
    tasks: Vec<(usize, Option<Range<u64>>)>,
    edge_count: u64,
}

impl EdgeSource for PartitionEdges<'_> {
    fn task_count(&self) -> usize {
        self.tasks.len()
    }

    fn edge_count(&self) -> u64 {
        self.edge_count
    }

    fn has_weights(&self) -> bool {
        self.reader.weight.is_some()
    }

    fn scan(&self, task: usize, sink: &mut EdgeSink<'_>) -> Result<()> {
        let reader = &self.reader;
        let (partition, sources) = &self.tasks[task];
        let Some(partitions) = reader.view.edge_partitions() else {
            return Err(model::error!(Internal, "a view that had edge partitions has none any more"));
        };
        let mut cursor = partitions.stream(*partition, &reader.stream(sources.clone()))?;
        reader.read(&mut *cursor, self.edge_count, sink)
    }
}

/// Edges of a part of a store that gives all its edges in parts, at least about: a part is a round trip or more.
const PART_EDGES: u64 = 1 << 14;

/// The edges of a store that gives them all in parts.
struct PartedEdges<'a> {
    reader: Reader<'a>,
    parts: usize,
}

impl EdgeSource for PartedEdges<'_> {
    fn task_count(&self) -> usize {
        self.parts
    }

    fn edge_count(&self) -> u64 {
        self.reader.view.statistics().edges
    }

    fn has_weights(&self) -> bool {
        self.reader.weight.is_some()
    }

    fn scan(&self, task: usize, sink: &mut EdgeSink<'_>) -> Result<()> {
        match self.reader.view.all_edges_part(&self.reader.stream(None), task, self.parts)? {
            Some(mut cursor) => self.reader.read(&mut *cursor, self.edge_count(), sink),
            None => Err(model::error!(Internal, "a view that gave its edges in parts does not any more")),
        }
    }
}

/// The edges of a store that gives them all in one stream.
struct StreamedEdges<'a> {
    reader: Reader<'a>,
    /// None once it was read.
    cursor: Mutex<Option<Box<dyn EdgeBlockCursor + 'a>>>,
}

impl EdgeSource for StreamedEdges<'_> {
    fn task_count(&self) -> usize {
        1
    }

    fn edge_count(&self) -> u64 {
        self.reader.view.statistics().edges
    }

    fn has_weights(&self) -> bool {
        self.reader.weight.is_some()
    }

    fn scan(&self, _task: usize, sink: &mut EdgeSink<'_>) -> Result<()> {
        let cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut cursor = match cursor {
            Some(cursor) => cursor,
            None => match self.reader.view.all_edges(&self.reader.stream(None))? {
                Some(cursor) => cursor,
                None => return Err(model::error!(Internal, "a view that gave all its edges does not any more")),
            },
        };
        self.reader.read(&mut *cursor, self.edge_count(), sink)
    }
}

/// The edges of a store that does not stream them: found by following the edges out of all its nodes.
struct ExpandedEdges<'a> {
    reader: Reader<'a>,
    tasks: Vec<Range<usize>>,
    batch_nodes: usize,
}

impl EdgeSource for ExpandedEdges<'_> {
    fn task_count(&self) -> usize {
        self.tasks.len()
    }

    fn edge_count(&self) -> u64 {
        self.reader.view.statistics().edges
    }

    fn has_weights(&self) -> bool {
        self.reader.weight.is_some()
    }

    fn scan(&self, task: usize, sink: &mut EdgeSink<'_>) -> Result<()> {
        let reader = &self.reader;
        let keys = reader.weight.map_or_else(Vec::new, Weight::keys);
        let expand = reader.projection.expand(Direction::Out, keys, EdgeIds::Omit);
        let range = self.tasks[task].clone();
        let mut input = EdgeBatch::default();
        let mut block = Block::default();
        for start in range.clone().step_by(self.batch_nodes) {
            let end = (start + self.batch_nodes).min(range.end);
            let nodes: Vec<NodeId> = (start..end).map(|number| reader.numbering.node(number as u32)).collect();
            let mut cursor = reader.view.expand(&nodes, &expand)?;
            while cursor.next(&mut input)? {
                reader.advance(input.len(), self.edge_count())?;
                block.sources.clear();
                block.sources.extend(input.inputs.iter().map(|&row| start as u32 + row));
                let all_take_part = reader.numbering.indices(&input.neighbors, &mut block.targets);
                reader.read_weights(&mut block, &input.properties, |row| {
                    let edge_type = reader.view.schema().edge_type_name(input.types[row]);
                    edge_text(edge_type, nodes[input.inputs[row] as usize], input.neighbors[row])
                })?;
                reader.pass_on(&mut block, all_take_part, sink)?;
            }
        }
        Ok(())
    }
}

/// Edges in memory.
#[derive(Clone, Copy, Debug)]
pub struct EdgeList<'a> {
    /// The node at which each edge starts.
    pub sources: &'a [u32],
    /// The node at which each edge ends.
    pub targets: &'a [u32],
    /// The cost of each edge; empty for edges without weights.
    pub weights: &'a [f64],
}

/// Edges of a list in one task.
const LIST_TASK_EDGES: usize = 1 << 20;

impl EdgeSource for EdgeList<'_> {
    fn task_count(&self) -> usize {
        self.sources.len().div_ceil(LIST_TASK_EDGES)
    }

    fn edge_count(&self) -> u64 {
        self.sources.len() as u64
    }

    fn has_weights(&self) -> bool {
        !self.weights.is_empty()
    }

    fn scan(&self, task: usize, sink: &mut EdgeSink<'_>) -> Result<()> {
        let start = task * LIST_TASK_EDGES;
        let end = (start + LIST_TASK_EDGES).min(self.sources.len());
        let weights = if self.weights.is_empty() { &[][..] } else { &self.weights[start..end] };
        sink(&self.sources[start..end], &self.targets[start..end], weights)
    }
}
