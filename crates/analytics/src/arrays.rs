//! A graph that lies in arrays, as a view: nodes are 0, 1, 2, …, edges have one type and, if wanted, a weight.
//!
//! So every algorithm runs on edges that come from elsewhere, a library of another language say, without a store.
//!
//! Cost: built in two passes over the edges, 4 bytes an edge and 12 with weights, 8 bytes a node; as much again, and 4 bytes
//! an edge, once somebody goes against the direction.

mod shortest_path;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use model::batch::{EdgeBatch, EdgeBlock, EdgeRuns, NodeBatch};
use model::column::{Bitmap, Column, ColumnData};
use model::error::Result;
use model::id::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use model::limits::BATCH_ROWS;
use model::schema::Schema;
use model::statistics::Statistics;
use model::store::chosen::expand_chosen;
use model::store::{
    Capabilities, Direction, EdgeBlockCursor, EdgeCursor, EdgeIds, EdgePartitions, EdgeRunCursor, EdgeStream, Expand,
    NodeCursor, NodeScan, RUN_BLOCK_EDGES, ReadView, RunScan, Topology,
};
use model::value::Value;

/// The type of all edges.
pub const EDGE_TYPE: &str = "EDGE";
/// The property that holds the weight of an edge.
pub const WEIGHT: &str = "weight";

const TYPE: EdgeTypeId = EdgeTypeId(0);
const WEIGHT_KEY: PropertyKeyId = PropertyKeyId(0);

/// Stores that arrays stand for, numbered from the top so that they meet no other store's number.
static NEXT_STORE: AtomicU64 = AtomicU64::new(u64::MAX);

/// A graph in arrays. An edge's id is its place in the order of sources, then targets.
#[derive(Debug)]
pub struct ArrayGraph {
    schema: Schema,
    statistics: Statistics,
    topology: Topology,
    out: Adjacency,
    back: OnceLock<Adjacency>,
    /// Marks left by searches that are over, for the next ones.
    marks: Mutex<Vec<shortest_path::Marks>>,
}

/// Rows of neighbors, each in ascending order.
#[derive(Debug, Default)]
struct Adjacency {
    /// The offset of each node's row; one more at the end.
    starts: Vec<u64>,
    neighbors: Vec<u32>,
    /// The weight of each edge; empty without weights.
    weights: Vec<f64>,
    /// The id of each edge; empty where it is its place.
    ids: Vec<u32>,
}

impl Adjacency {
    fn row(&self, node: u64) -> Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }

    fn id(&self, place: usize) -> EdgeId {
        EdgeId(self.ids.get(place).map_or(place as u64, |&id| u64::from(id)))
    }

    /// Rows of `to` by `from`: the edges in order of their number within a row, then sorted by neighbor.
    fn build(nodes: usize, from: &[u32], to: &[u32], weights: &[f64], keeps_ids: bool) -> Adjacency {
        let mut starts = vec![0u64; nodes + 1];
        from.iter().for_each(|&node| starts[node as usize + 1] += 1);
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut neighbors = vec![0u32; from.len()];
        let mut ids = vec![0u32; if keeps_ids || !weights.is_empty() { from.len() } else { 0 }];
        for (edge, (&source, &target)) in from.iter().zip(to).enumerate() {
            let place = next[source as usize] as usize;
            next[source as usize] += 1;
            neighbors[place] = target;
            if let Some(id) = ids.get_mut(place) {
                *id = edge as u32;
            }
        }
        for rows in starts.windows(2) {
            let row = rows[0] as usize..rows[1] as usize;
            sort_row(&mut neighbors[row.clone()], if ids.is_empty() { &mut [] } else { &mut ids[row] });
        }
        let weights =
            if weights.is_empty() { Vec::new() } else { ids.iter().map(|&id| weights[id as usize]).collect() };
        Adjacency { starts, neighbors, weights, ids: if keeps_ids { ids } else { Vec::new() } }
    }
}

/// Sorts neighbors, with their ids if there are any; equal neighbors by id.
fn sort_row(neighbors: &mut [u32], ids: &mut [u32]) {
    if neighbors.is_sorted() {
        return;
    }
    if ids.is_empty() {
        neighbors.sort_unstable();
        return;
    }
    let mut pairs: Vec<(u32, u32)> = neighbors.iter().copied().zip(ids.iter().copied()).collect();
    pairs.sort_unstable();
    for ((neighbor, id), pair) in neighbors.iter_mut().zip(ids).zip(pairs) {
        (*neighbor, *id) = pair;
    }
}

impl ArrayGraph {
    /// A graph of `nodes` nodes and as many edges as `sources` and `targets` have, and `weights` if there are. Fails with
    /// `ARGUMENT` if the lengths differ or an end is not below `nodes`, with `LIMIT` if ids would not fit into 32 bits.
    pub fn new(nodes: usize, sources: &[u32], targets: &[u32], weights: Option<&[f64]>) -> Result<ArrayGraph> {
        let weight_count = weights.map_or(sources.len(), <[f64]>::len);
        if sources.len() != targets.len() || weight_count != sources.len() {
            let (sources, targets, weights) = (sources.len(), targets.len(), weight_count);
            return Err(model::error!(
                Argument,
                "{sources} sources, {targets} targets and {weights} weights are not as many"
            ));
        }
        if nodes >= u32::MAX as usize || sources.len() >= u32::MAX as usize {
            let edges = sources.len();
            return Err(model::error!(
                Limit,
                "{nodes} nodes and {edges} edges; arrays hold less than {} of each",
                u32::MAX
            ));
        }
        if let Some(end) = sources.iter().chain(targets).find(|&&end| end as usize >= nodes) {
            return Err(model::error!(Argument, "an edge ends at node {end}, of {nodes} nodes numbered from 0"));
        }
        let mut schema = Schema::default();
        schema.edge_types.intern(EDGE_TYPE);
        if weights.is_some() {
            schema.property_keys.intern(WEIGHT);
        }
        let edges = sources.len() as u64;
        let statistics = Statistics {
            nodes: nodes as u64,
            edges,
            edges_by_type: [(TYPE, edges)].into_iter().collect(),
            ..Statistics::default()
        };
        let store = NEXT_STORE.fetch_sub(1, Ordering::Relaxed);
        Ok(ArrayGraph {
            schema,
            statistics,
            topology: Topology { store, edges: 0, properties: 0 },
            out: Adjacency::build(nodes, sources, targets, weights.unwrap_or(&[]), false),
            back: OnceLock::new(),
            marks: Mutex::default(),
        })
    }

    /// The numbers of the nodes of a path of fewest edges, followed that way; `None` if there is no path. Fails with
    /// `ARGUMENT` if there is no node of such a number.
    pub fn shortest_path(&self, source: u32, target: u32, direction: Direction) -> Result<Option<Vec<u32>>> {
        if let Some(absent) = [source, target].into_iter().find(|&node| !self.has(NodeId(node.into()))) {
            return Err(model::error!(Argument, "there is no node {absent}, of {} numbered from 0", self.nodes()));
        }
        let (near, far): (&[Direction], &[Direction]) = match direction {
            Direction::Out => (&[Direction::Out], &[Direction::In]),
            Direction::In => (&[Direction::In], &[Direction::Out]),
            Direction::Both => (&[Direction::Out, Direction::In], &[Direction::Out, Direction::In]),
        };
        let rows = |ways: &[Direction]| -> Vec<&Adjacency> { ways.iter().map(|&way| self.side(way)).collect() };
        let (near, far) = (rows(near), rows(far));
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let found = shortest_path::find(&mut marks, self.nodes() as usize, [&near, &far], source, target);
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).push(marks);
        Ok(found)
    }

    fn nodes(&self) -> u64 {
        self.statistics.nodes
    }

    fn has(&self, node: NodeId) -> bool {
        node.0 < self.nodes()
    }

    fn back(&self) -> &Adjacency {
        self.back.get_or_init(|| {
            let sources: Vec<u32> = self
                .out
                .starts
                .windows(2)
                .zip(0..)
                .flat_map(|(row, node)| std::iter::repeat_n(node, (row[1] - row[0]) as usize))
                .collect();
            Adjacency::build(self.nodes() as usize, &self.out.neighbors, &sources, &self.out.weights, true)
        })
    }

    fn side(&self, direction: Direction) -> &Adjacency {
        if direction == Direction::In { self.back() } else { &self.out }
    }

    /// A column for each key: the weights, or nulls.
    fn columns(&self, keys: &[PropertyKeyId], rows: usize, weights: impl Fn() -> Vec<f64>) -> Vec<Column> {
        let has_weights = !self.schema.property_keys.is_empty();
        let column = |key: &PropertyKeyId| match key {
            &WEIGHT_KEY if has_weights => Column::new(ColumnData::Float(weights())),
            _ => Column::constant(&Value::Null, rows),
        };
        keys.iter().map(column).collect()
    }

    fn takes(types: Option<&[EdgeTypeId]>) -> bool {
        types.is_none_or(|types| types.contains(&TYPE))
    }
}

impl ReadView for ArrayGraph {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            dense_node_ids: true,
            expands_against_direction: true,
            streams_edges: true,
            ..Capabilities::default()
        }
    }

    fn node_id_bound(&self) -> u64 {
        self.nodes()
    }

    fn scan(&self, scan: &NodeScan) -> Result<Box<dyn NodeCursor + '_>> {
        let range = scan.range.clone().unwrap_or(0..u64::MAX);
        let end = if scan.labels.is_empty() { self.nodes().min(range.end) } else { 0 };
        Ok(Box::new(Scan { rest: range.start.min(end)..end, keys: scan.keys.len() }))
    }

    fn expand<'a>(&'a self, from: &'a [NodeId], expand: &'a Expand) -> Result<Box<dyn EdgeCursor + 'a>> {
        if expand.is_chosen() {
            return expand_chosen(self, from, expand);
        }
        let from = if Self::takes(expand.types.as_deref()) { from } else { &[] };
        Ok(Box::new(Expansion { graph: self, from, expand, input: 0, side: 0, at: 0 }))
    }

    fn degrees(&self, from: &[NodeId], direction: Direction, types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        let takes = Self::takes(types);
        let degree = |node: &NodeId| match direction {
            _ if !takes || !self.has(*node) => 0,
            Direction::Out | Direction::In => self.side(direction).row(node.0).len() as u64,
            Direction::Both => {
                // A self-loop is seen on the way out.
                let back = &self.back().neighbors[self.back().row(node.0)];
                let loops = back.partition_point(|&other| u64::from(other) <= node.0)
                    - back.partition_point(|&other| u64::from(other) < node.0);
                (self.out.row(node.0).len() + back.len() - loops) as u64
            }
        };
        Ok(from.iter().map(degree).collect())
    }

    fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        Ok(vec![Column::constant(&Value::Null, nodes.len()); keys.len()])
    }

    fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        if edges.iter().all(|edge| edge.0 < self.statistics.edges) {
            let weights = || edges.iter().map(|edge| self.out.weights[edge.index()]).collect();
            return Ok(self.columns(keys, edges.len(), weights));
        }
        let weight =
            |edge: &EdgeId| self.out.weights.get(edge.index()).map_or(Value::Null, |&weight| Value::Float(weight));
        let column = |key: &PropertyKeyId| {
            let mut builder = model::column::ColumnBuilder::default();
            edges.iter().for_each(|edge| builder.push(&if *key == WEIGHT_KEY { weight(edge) } else { Value::Null }));
            builder.finish()
        };
        Ok(keys.iter().map(column).collect())
    }

    fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        Ok(vec![Vec::new(); nodes.len()])
    }

    fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        Ok(nodes.iter().map(|&node| self.has(node)).collect())
    }

    fn edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap> {
        Ok(edges.iter().map(|edge| edge.0 < self.statistics.edges).collect())
    }

    /// The edges of a graph in arrays stay where they are.
    fn edge_numbers(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        Ok(edges.iter().map(|edge| edge.0).collect())
    }

    fn edge_partitions(&self) -> Option<&dyn EdgePartitions> {
        Some(self)
    }

    fn topology(&self) -> Option<Topology> {
        Some(self.topology)
    }
}

struct Scan {
    rest: Range<u64>,
    keys: usize,
}

impl NodeCursor for Scan {
    fn next(&mut self, out: &mut NodeBatch) -> Result<bool> {
        out.clear();
        let end = self.rest.end.min(self.rest.start + BATCH_ROWS as u64);
        out.nodes.extend((self.rest.start..end).map(NodeId));
        self.rest.start = end;
        out.properties = vec![Column::constant(&Value::Null, out.nodes.len()); self.keys];
        Ok(!out.nodes.is_empty())
    }
}

struct Expansion<'a> {
    graph: &'a ArrayGraph,
    from: &'a [NodeId],
    expand: &'a Expand,
    /// The input that is being expanded, the first or second way, from the `at`-th edge of its row.
    input: usize,
    side: usize,
    at: usize,
}

impl EdgeCursor for Expansion<'_> {
    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        out.clear();
        let ways: &[Direction] = match self.expand.direction {
            Direction::Out => &[Direction::Out],
            Direction::In => &[Direction::In],
            Direction::Both => &[Direction::Out, Direction::In],
        };
        let mut weights = Vec::new();
        while self.input < self.from.len() && out.len() < BATCH_ROWS {
            let node = self.from[self.input];
            if !self.graph.has(node) || self.side == ways.len() {
                (self.input, self.side, self.at) = (self.input + 1, 0, 0);
                continue;
            }
            let side = self.graph.side(ways[self.side]);
            let row = side.row(node.0);
            let end = row.end.min(row.start + self.at + BATCH_ROWS - out.len());
            for place in row.start + self.at..end {
                let neighbor = side.neighbors[place];
                // A self-loop was seen on the way out.
                if self.side == 1 && u64::from(neighbor) == node.0 {
                    continue;
                }
                out.inputs.push(self.input as u32);
                out.neighbors.push(NodeId(u64::from(neighbor)));
                if self.expand.edge_ids == EdgeIds::Include {
                    out.edges.push(side.id(place));
                }
                if ways.len() == 2 {
                    out.reversed.push(self.side == 1);
                }
                weights.extend(side.weights.get(place));
            }
            self.at = end - row.start;
            if end == row.end {
                (self.side, self.at) = (self.side + 1, 0);
            }
        }
        out.types = vec![TYPE; out.len()];
        out.properties = self.graph.columns(&self.expand.keys, out.len(), || weights.clone());
        Ok(!out.is_empty())
    }
}

impl EdgePartitions for ArrayGraph {
    fn count(&self) -> usize {
        1
    }

    fn interval(&self, _partition: usize) -> Range<u64> {
        0..self.nodes()
    }

    fn edge_count(&self, _partition: usize, types: Option<&[EdgeTypeId]>) -> u64 {
        if Self::takes(types) { self.statistics.edges } else { 0 }
    }

    fn stream(&self, _partition: usize, stream: &EdgeStream) -> Result<Box<dyn EdgeBlockCursor + '_>> {
        let sources = stream.sources.clone().unwrap_or(0..u64::MAX);
        let end = if Self::takes(stream.types.as_deref()) { self.nodes().min(sources.end) } else { 0 };
        let runs = Runs { graph: self, side: &self.out, nodes: sources.start.min(end)..end, at: 0, among: None };
        Ok(Box::new(Blocks { runs, keys: stream.keys.clone(), ids: stream.edge_ids, buffer: EdgeRuns::default() }))
    }

    fn runs<'a>(&'a self, _partition: usize, scan: &'a RunScan<'a>) -> Result<Box<dyn EdgeRunCursor + 'a>> {
        scan.check()?;
        let nodes = scan.nodes.clone().unwrap_or(0..u64::MAX);
        let end = if Self::takes(scan.types.as_deref()) { self.nodes().min(nodes.end) } else { 0 };
        let nodes = nodes.start.min(end)..end;
        let runs = Runs { graph: self, side: self.side(scan.direction), nodes, at: 0, among: scan.among };
        Ok(Box::new(KeyedRuns { runs, keys: &scan.keys }))
    }
}

/// The rows of some nodes, from the `at`-th edge of the first.
struct Runs<'a> {
    graph: &'a ArrayGraph,
    side: &'a Adjacency,
    nodes: Range<u64>,
    at: usize,
    among: Option<&'a Bitmap>,
}

impl Runs<'_> {
    /// Further rows, and the places of their edges.
    fn next(&mut self, out: &mut EdgeRuns, mut each: impl FnMut(Range<usize>)) -> bool {
        out.clear();
        out.edge_type = TYPE;
        while self.nodes.start < self.nodes.end && out.neighbors.len() < RUN_BLOCK_EDGES {
            let node = self.nodes.start;
            let row = self.side.row(node);
            let is_among = self.among.is_none_or(|among| node < among.len() as u64 && among.get(node as usize));
            let start = row.start + self.at;
            if start == row.end || !is_among {
                (self.nodes.start, self.at) = (node + 1, 0);
                continue;
            }
            let end = row.end.min(start + RUN_BLOCK_EDGES - out.neighbors.len());
            out.nodes.push(node as u32);
            out.neighbors.extend_from_slice(&self.side.neighbors[start..end]);
            out.ends.push(out.neighbors.len() as u32);
            each(start..end);
            self.at = end - row.start;
        }
        !out.is_empty()
    }

    /// Further rows with the weights of their edges, if a key asks for them, and their places.
    fn next_with(&mut self, keys: &[PropertyKeyId], out: &mut EdgeRuns, places: &mut Vec<Range<usize>>) -> bool {
        places.clear();
        let is_more = self.next(out, |range| places.push(range));
        let side = self.side;
        let weights = || places.iter().flat_map(|range| side.weights[range.clone()].iter().copied()).collect();
        out.properties = self.graph.columns(keys, out.neighbors.len(), weights);
        is_more
    }
}

struct KeyedRuns<'a> {
    runs: Runs<'a>,
    keys: &'a [PropertyKeyId],
}

impl EdgeRunCursor for KeyedRuns<'_> {
    fn next(&mut self, out: &mut EdgeRuns) -> Result<bool> {
        Ok(self.runs.next_with(self.keys, out, &mut Vec::new()))
    }
}

struct Blocks<'a> {
    runs: Runs<'a>,
    keys: Vec<PropertyKeyId>,
    ids: EdgeIds,
    buffer: EdgeRuns,
}

impl EdgeBlockCursor for Blocks<'_> {
    fn next(&mut self, out: &mut EdgeBlock) -> Result<bool> {
        out.clear();
        let mut places = Vec::new();
        let is_more = self.runs.next_with(&self.keys, &mut self.buffer, &mut places);
        for (node, neighbors) in self.buffer.runs() {
            out.sources.extend(std::iter::repeat_n(NodeId(u64::from(node)), neighbors.len()));
            out.targets.extend(neighbors.iter().map(|&neighbor| NodeId(u64::from(neighbor))));
        }
        out.edge_type = TYPE;
        out.properties = std::mem::take(&mut self.buffer.properties);
        if self.ids == EdgeIds::Include {
            let side = self.runs.side;
            out.edges.extend(places.into_iter().flatten().map(|place| side.id(place)));
        }
        Ok(is_more)
    }
}
