//! Which way a computation reads the graph, by the memory that it may hold.
//!
//! What each way needs is stated before it runs; `execution` forces one.

use model::error::Result;
use model::store::Direction;
use model::value::Value;

use super::{Selection, streamed};
use crate::algorithm::Needs;
use crate::graph_view::Sides;
use crate::settings::Settings;

/// Where the graph and the state of its nodes lie while an algorithm runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Execution {
    /// Both in memory: edges as compressed sparse rows.
    Memory,
    /// The state of nodes in memory, edges streamed from the store.
    Streaming,
    /// The state of nodes and of edges on disk, one interval of nodes in memory at a time.
    Windows,
}

impl Execution {
    /// Its name as settings and results have it.
    pub fn name(self) -> &'static str {
        match self {
            Execution::Memory => "memory",
            Execution::Streaming => "streaming",
            Execution::Windows => "windows",
        }
    }

    /// Every one, the fastest first.
    pub const ALL: [Execution; 3] = [Execution::Memory, Execution::Streaming, Execution::Windows];
}

/// What a run needs in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The way.
    pub execution: Execution,
    /// Nodes that take part, at most.
    pub nodes: u64,
    /// Edges that take part, at most; an undirected projection counts them twice.
    pub edges: u64,
    /// Bytes held at the most.
    pub bytes: u64,
    /// Bytes of the view in memory among those: 0 in other ways, and where the view is kept from an earlier call.
    pub view_bytes: u64,
    /// Bytes read by one pass over the edges, from the store or, in windows, from temporary files; 0 in memory, after the
    /// view is made.
    pub bytes_per_pass: u64,
}

/// What a run holds at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A row for each node.
    Rows,
    /// A value for each node.
    Values,
    /// Figures of the whole alone: what nodes have is not gathered.
    Figures,
}

impl Answer {
    /// Bytes for each node.
    fn node_bytes(self) -> u64 {
        match self {
            Answer::Rows => ROWS_BYTES,
            Answer::Values => VALUES_BYTES,
            Answer::Figures => 0,
        }
    }
}

/// Bytes of one interval of nodes and its windows, with their buffers: what is free beyond them is used too.
const WINDOW_BYTES: u64 = 16 << 20;
/// Bytes of the values of each node, as they are found and as they are given.
const VALUES_BYTES: u64 = 4 + 8;
/// Bytes of the rows of nodes for each node: its value, its id, its place in the order of rows.
const ROWS_BYTES: u64 = 8 + 8 + 4;
/// Bytes of the value that lies on an edge in windows, at the most.
const VALUE_BYTES: u64 = 8;
/// Buffers of one thread that streams, for each side that it may ask for.
const STREAM_BYTES: u64 = 8 << 20;
/// Bytes of an edge as the store streams it, about: a packed target and a share of the pointer index.
const STREAMED_EDGE_BYTES: u64 = 4;

impl Estimate {
    /// What a run on a selection needs if it goes that way.
    pub(crate) fn of(
        selection: &Selection<'_>,
        needs: &Needs,
        execution: Execution,
        threads: usize,
        answer: Answer,
    ) -> Estimate {
        let (view, projection) = (selection.view, selection.projection);
        let statistics = view.statistics();
        let nodes = match &projection.labels {
            None => statistics.nodes,
            Some(labels) => labels.iter().map(|&label| statistics.label(label)).sum::<u64>().min(statistics.nodes),
        };
        let stored = match &projection.types {
            None => statistics.edges,
            Some(types) => types.iter().map(|&edge_type| statistics.edge_type(edge_type)).sum(),
        };
        let edges = if projection.direction == Direction::Both { 2 * stored } else { stored };
        let weight_bytes = if selection.weight.is_some() { 8 } else { 0 };
        let answer = nodes * answer.node_bytes();
        let state = (nodes * needs.node_bytes as u64).max(answer) + edges * needs.edge_bytes as u64;
        let is_whole = projection.labels.is_none() && statistics.nodes == view.node_id_bound();
        let numbering = if is_whole { 0 } else { 4 * view.node_id_bound() + 8 * nodes };
        let sides = if selection.sides == Sides::ForwardAndBackward { 2 } else { 1 };
        let buffers = STREAM_BYTES * threads as u64;
        let mut view_bytes = 0;
        let (bytes, bytes_per_pass) = match execution {
            Execution::Memory => {
                let both = selection.sides == Sides::ForwardAndBackward && projection.direction != Direction::Both;
                let sides = if both { 2 } else { 1 };
                view_bytes = numbering + sides * (edges * (4 + weight_bytes) + 8 * nodes);
                (state + view_bytes, 0)
            }
            Execution::Streaming => {
                let topology = streamed::pass_bytes(selection).unwrap_or(stored * STREAMED_EDGE_BYTES);
                (state + numbering + sides * buffers, topology + stored * weight_bytes)
            }
            Execution::Windows => {
                // A bit of each node, such as whether it names a community, is held in any case.
                let held = WINDOW_BYTES + buffers + numbering + answer.max(nodes / 8);
                (held, edges * (STREAMED_EDGE_BYTES + VALUE_BYTES + weight_bytes))
            }
        };
        Estimate { execution, nodes, edges, bytes, view_bytes, bytes_per_pass }
    }

    /// What is taken before the run: in windows, it takes the memory of its intervals itself, as much as is free.
    pub(crate) fn bytes_ahead(&self) -> u64 {
        match self.execution {
            Execution::Memory | Execution::Streaming => self.bytes,
            Execution::Windows => self.bytes.saturating_sub(WINDOW_BYTES),
        }
    }

    /// The memory as people read it.
    pub(crate) fn required_memory(&self) -> String {
        match self.bytes {
            0..0x10_0000 => format!("{} KiB", self.bytes.div_ceil(1 << 10)),
            0x10_0000..0x4000_0000 => format!("{} MiB", self.bytes.div_ceil(1 << 20)),
            _ => format!("{:.1} GiB", self.bytes as f64 / 1073741824.0),
        }
    }
}

/// The way that `execution` names, or else the fastest that the algorithm knows and `bytes_free` bytes suffice for.
pub(crate) fn choose(
    selection: &Selection<'_>,
    needs: &Needs,
    settings: &Settings<'_>,
    (threads, answer): (usize, Answer),
    bytes_free: u64,
    is_view_kept: bool,
) -> Result<Estimate> {
    let estimate_of = |way: Execution| {
        let mut estimate = Estimate::of(selection, needs, way, threads, answer);
        if is_view_kept {
            estimate.bytes -= std::mem::take(&mut estimate.view_bytes);
        }
        estimate
    };
    if let Some(name) = settings.text("execution")?.filter(|name| !name.eq_ignore_ascii_case("auto")) {
        let known = Execution::ALL.into_iter().find(|way| way.name().eq_ignore_ascii_case(name));
        let names: Vec<&str> = needs.executions.iter().map(|way| way.name()).collect();
        let Some(asked) = known.filter(|way| needs.executions.contains(way)) else {
            return Err(settings
                .refuse(&format!("setting 'execution' is '{name}', expected 'auto' or one of: {}", names.join(", "))));
        };
        return Ok(estimate_of(asked));
    }
    let estimates = needs.executions.iter().map(|&way| estimate_of(way));
    let estimates: Vec<Estimate> = estimates.collect();
    match estimates.iter().find(|estimate| estimate.bytes <= bytes_free) {
        Some(estimate) => Ok(*estimate),
        None => Err(too_little(&estimates, bytes_free)),
    }
}

fn too_little(estimates: &[Estimate], bytes_free: u64) -> model::Error {
    let least = estimates.iter().min_by_key(|estimate| estimate.bytes);
    let (way, needed) = least.map_or(("no way", String::new()), |e| (e.execution.name(), e.required_memory()));
    model::error!(Limit, "the computation needs about {needed} of memory ({way}), {bytes_free} bytes may be held")
        .with_remedy("raise the memory limit (--memory-limit, --query-memory), or name fewer labels and types")
}

/// An estimate as the row of `estimate` procedures.
pub(crate) fn row(estimate: &Estimate) -> Vec<Value> {
    let count = |number: u64| Value::Int(number.cast_signed());
    vec![
        Value::string(estimate.execution.name()),
        Value::string(&estimate.required_memory()),
        count(estimate.bytes),
        count(estimate.bytes_per_pass),
        count(estimate.nodes),
        count(estimate.edges),
    ]
}
