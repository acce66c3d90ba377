//! The choice of the way in which a computation reads the graph, by the memory that it may hold, and of the amount of
//! memory for it.
//!
//! The needs of each way are stated before it runs; `execution` forces one. A way is taken with large buffers where
//! there is memory, and with smaller ones, fewer threads, or state that is accessed only in order in temporary files,
//! before a slower way is taken.

use std::sync::Arc;

use model::error::Result;
use model::store::Direction;
use model::value::Value;

use crate::execution::{Execution, Pace};
use crate::projection::Selection;
use crate::rows::Sides;
use crate::settings::{Settings, shared};
use crate::streamed;

/// The rows and memory that a run needs.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// The rows that it asks for.
    pub sides: Sides,
    /// Bytes of state for each node.
    pub node_bytes: usize,
    /// Bytes of state for each edge, as a copy of the rows in another order.
    pub edge_bytes: usize,
    /// The ways in which it can run, the fastest first.
    pub executions: &'static [Execution],
}

/// Estimated needs of a run in one way.
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
    /// Bytes read by one pass over the edges, from the store or from temporary files; 0 in memory, after the view is made.
    pub bytes_per_pass: u64,
    /// With how much of the machine.
    pub pace: Pace,
}

/// The answer that a run holds at its end.
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

/// Remedy where Spark is asked for and does not compute.
const NO_SPARK: &str = "docs/spark.md lists the algorithms that Spark computes; a server lets it only if it was started with \
    --spark-master or another flag of Spark";

/// Bytes of the values of each node, as they are found and as they are given.
const VALUES_BYTES: u64 = 4 + 8;
/// Bytes of the rows of nodes for each node: its value, its id, its place in the order of rows.
const ROWS_BYTES: u64 = 8 + 8 + 4;
/// Bytes of the value that lies on an edge in windows, at the most.
const VALUE_BYTES: u64 = 8;
/// Bytes of a part of a table for another program, while it is written.
const PART_BYTES: u64 = 12 << 20;
/// Bytes of an edge as the store streams it, about: a packed target and a share of the pointer index.
const STREAMED_EDGE_BYTES: u64 = 4;

/// Bytes that a run has to hold besides the graph, and the data to estimate them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'n> {
    /// The needs of the algorithm.
    pub(crate) needs: &'n Needs,
    /// Bytes of state for each node that must be in memory while the rest lies in temporary files, if it can.
    pub(crate) spilled_bytes: Option<usize>,
    /// The answer that is held at the end.
    pub(crate) answer: Answer,
    /// True if another program can compute it, and is at hand.
    pub(crate) has_engine: bool,
    /// The number of nodes that take part, if they were counted: of nodes with one of several labels statistics tell only
    /// the most there may be.
    pub(crate) nodes: Option<u64>,
}

impl<'n> Load<'n> {
    /// With all of its state in memory.
    pub(crate) fn new(needs: &'n Needs, answer: Answer) -> Load<'n> {
        Load { needs, spilled_bytes: None, answer, has_engine: false, nodes: None }
    }

    /// Bytes of state for `nodes` nodes.
    fn state_bytes(&self, nodes: u64, spills: bool) -> u64 {
        let whole = self.needs.node_bytes;
        let of_node = self.spilled_bytes.filter(|_| spills).unwrap_or(whole);
        (nodes * of_node as u64).max(nodes * self.answer.node_bytes())
    }

    /// True if there is less to hold where some of the state lies in temporary files.
    fn gains_by_spilling(&self) -> bool {
        self.spilled_bytes.is_some() && self.state_bytes(1, true) < self.state_bytes(1, false)
    }
}

impl Estimate {
    /// The estimate of a run on a selection in that way.
    pub(crate) fn of(selection: &Selection<'_>, load: &Load<'_>, execution: Execution, pace: Pace) -> Estimate {
        let needs = load.needs;
        let (view, projection) = (selection.view, selection.projection);
        let statistics = view.statistics();
        let nodes = load.nodes.unwrap_or_else(|| match &projection.labels {
            None => statistics.nodes,
            Some(labels) => labels.iter().map(|&label| statistics.label(label)).sum::<u64>().min(statistics.nodes),
        });
        let stored = match &projection.types {
            None => statistics.edges,
            Some(types) => types.iter().map(|&edge_type| statistics.edge_type(edge_type)).sum(),
        };
        let edges = if projection.direction == Direction::Both { 2 * stored } else { stored };
        let weight_bytes = if selection.weight.is_some() { 8 } else { 0 };
        let answer = nodes * load.answer.node_bytes();
        let state = load.state_bytes(nodes, pace.spills) + edges * needs.edge_bytes as u64;
        let is_whole = projection.labels.is_none() && statistics.nodes == view.node_id_bound();
        let numbering = if is_whole { 0 } else { 4 * view.node_id_bound() + 8 * nodes };
        let sides = if selection.sides == Sides::ForwardAndBackward { 2 } else { 1 };
        let buffers = pace.buffer_bytes * pace.threads as u64;
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
                let spilled = load.spilled_bytes.filter(|_| pace.spills).map_or(0, |bytes| needs.node_bytes - bytes);
                let read = topology + stored * weight_bytes + nodes * spilled as u64;
                (state + numbering + sides * buffers, read)
            }
            Execution::Windows => {
                // A bit of each node, such as whether it names a community, is held in any case.
                let held = pace.window_bytes + buffers + numbering + answer.max(nodes / 8);
                (held, edges * (STREAMED_EDGE_BYTES + VALUE_BYTES + weight_bytes))
            }
            Execution::Spark => {
                // The edges are read once; the state of nodes is in the other program.
                let read = streamed::pass_bytes(selection).unwrap_or(stored * STREAMED_EDGE_BYTES);
                let held = numbering + answer + buffers + pace.threads as u64 * PART_BYTES;
                (held, read + stored * weight_bytes)
            }
        };
        Estimate { execution, nodes, edges, bytes, view_bytes, bytes_per_pass, pace }
    }

    /// Bytes taken before the run. In windows, the run takes the memory of its intervals itself, as much as is free.
    pub(crate) fn bytes_ahead(&self) -> u64 {
        match self.execution {
            Execution::Memory | Execution::Streaming | Execution::Spark => self.bytes,
            Execution::Windows => self.bytes.saturating_sub(self.pace.window_bytes),
        }
    }

    /// Edges that take part, at most, each counted once.
    pub(super) fn edges_once(&self, direction: Direction) -> u64 {
        if direction == Direction::Both { self.edges / 2 } else { self.edges }
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

/// A choice to be made: what is to be read, what it needs, and what there is.
#[derive(Clone, Copy)]
pub(crate) struct Choice<'a> {
    pub(crate) selection: &'a Selection<'a>,
    pub(crate) load: Load<'a>,
    pub(crate) threads: usize,
    pub(crate) bytes_free: u64,
    /// True if the view in memory is kept from an earlier call.
    pub(crate) is_view_kept: bool,
}

impl Choice<'_> {
    /// The ways there are, the fastest first.
    fn ways(&self) -> impl Iterator<Item = Execution> {
        self.load.needs.executions.iter().copied().chain(self.load.has_engine.then_some(Execution::Spark))
    }

    fn estimates_of(&self, way: Execution) -> impl Iterator<Item = Estimate> {
        Pace::all(way, self.threads, self.load.gains_by_spilling()).into_iter().map(move |pace| {
            let mut estimate = Estimate::of(self.selection, &self.load, way, pace);
            if self.is_view_kept {
                estimate.bytes -= std::mem::take(&mut estimate.view_bytes);
            }
            estimate
        })
    }

    fn fits(&self, estimate: &Estimate) -> bool {
        estimate.bytes <= self.bytes_free
    }

    /// That way at the fastest pace that the free bytes suffice for, or else at the one that needs least.
    fn of_way(&self, way: Execution) -> Option<Estimate> {
        let least = || self.estimates_of(way).min_by_key(|estimate| estimate.bytes);
        self.estimates_of(way).find(|estimate| self.fits(estimate)).or_else(least)
    }

    /// The way that `execution` names, or else the fastest of this process that the free bytes suffice for.
    pub(crate) fn choose(&self, settings: &Settings<'_>) -> Result<Estimate> {
        let name = settings.get(&shared::EXECUTION)?;
        if !name.eq_ignore_ascii_case(shared::EXECUTION.default.0) {
            let Some(asked) = self.ways().find(|way| way.name().eq_ignore_ascii_case(&name)) else {
                let names: Vec<&str> = self.ways().map(Execution::name).collect();
                let names = names.join(", ");
                let refused =
                    settings.refuse(&format!("setting 'execution' is '{name}', expected 'auto' or one of: {names}"));
                return Err(match name.eq_ignore_ascii_case(Execution::Spark.name()) {
                    true => refused.with_remedy(NO_SPARK),
                    false => refused,
                });
            };
            return self.of_way(asked).ok_or_else(|| model::error!(Internal, "no pace is known for '{name}'"));
        }
        let own = self.load.needs.executions.iter();
        let estimates: Vec<Estimate> = own.flat_map(|&way| self.estimates_of(way)).collect();
        match estimates.iter().find(|estimate| self.fits(estimate)) {
            Some(estimate) => Ok(*estimate),
            None => Err(too_little(&estimates, self.bytes_free, self.load.has_engine)),
        }
    }

    /// Every way with what it needs, as a list of maps; `seconds` tells the time of one, if it is known.
    pub(crate) fn alternatives(&self, seconds: impl Fn(&Estimate) -> Option<f64>) -> Value {
        let row = |estimate: Estimate| {
            let seconds = seconds(&estimate);
            let remark = match (estimate.execution, seconds) {
                (Execution::Spark, _) => "the time depends on Spark's machines, which are not known here",
                (_, None) => "the work depends on more of the graph than is known, or its time was not measured",
                (_, Some(_)) => "",
            };
            let entries = [
                ("execution", Value::string(estimate.execution.name())),
                ("requiredMemory", Value::string(&estimate.required_memory())),
                ("bytesMin", Value::Int(estimate.bytes.cast_signed())),
                ("fits", Value::Bool(self.fits(&estimate))),
                ("seconds", seconds.map_or(Value::Null, Value::Float)),
                ("remark", Value::string(remark)),
            ];
            Value::map(entries.map(|(key, value)| (Arc::from(key), value)))
        };
        Value::list(self.ways().filter_map(|way| self.of_way(way)).map(row).collect())
    }
}

fn too_little(estimates: &[Estimate], bytes_free: u64, has_engine: bool) -> model::Error {
    let least = estimates.iter().min_by_key(|estimate| estimate.bytes);
    let (way, needed) = least.map_or(("no way", String::new()), |e| (e.execution.name(), e.required_memory()));
    let remedy = "raise the memory limit (--memory-limit, --query-memory), or name fewer labels and types";
    let other = if has_engine { "; execution: 'spark' computes it elsewhere" } else { "" };
    model::error!(Limit, "the computation needs about {needed} of memory ({way}), {bytes_free} bytes may be held")
        .with_remedy(format!("{remedy}{other}"))
}

/// An estimate as the row of `estimate` procedures, with its seconds if they are known, and with the other ways.
pub(crate) fn row(estimate: &Estimate, seconds: Option<f64>, alternatives: Value) -> Vec<Value> {
    let count = |number: u64| Value::Int(number.cast_signed());
    vec![
        Value::string(estimate.execution.name()),
        Value::string(&estimate.required_memory()),
        count(estimate.bytes),
        count(estimate.bytes_per_pass),
        count(estimate.nodes),
        count(estimate.edges),
        seconds.map_or(Value::Null, Value::Float),
        alternatives,
    ]
}
