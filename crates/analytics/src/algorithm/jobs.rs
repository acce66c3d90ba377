//! Calls that another program computes: the edges are written as a table, in parts, and the rows of the result are handed
//! on or written as they are read.
//!
//! Invariant: the program sees the graph as all other executions do: rows of numbered nodes, after labels, types, direction
//! and weights. So ties between nodes are decided in the same way.
//! Cost: one pass over the edges; memory for the numbers of the nodes and for one part of the table for each thread.

use std::ops::Range;

use model::NodeId;
use model::column::{Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::job::{Job, JobColumn, JobFigures, JobPart, JobRows, JobTask};
use model::procedure::{ProcedureContext, RowSink};
use model::value::Value;

use super::calls::{Around, Asked};
use super::{About, Algorithm};
use crate::graph::{Graph, Selection, Side};
use crate::graph_view::Sides;
use crate::parallel::map_tasks;
use crate::procedure::{StopWatch, node_column, send_row, transaction};

/// The table of edges.
const EDGES: &str = "edges";
const PLAIN: &[JobColumn] =
    &[JobColumn { name: "source", is_float: false }, JobColumn { name: "target", is_float: false }];
const WEIGHTED: &[JobColumn] = &[PLAIN[0], PLAIN[1], JobColumn { name: "weight", is_float: true }];
/// Approximate number of edges of a part of the table.
const PART_EDGES: u64 = 1 << 21;
/// Parts of the table that there are for each thread, at the least.
const PARTS_PER_THREAD: u64 = 4;
/// Edges that are handed to a part at once.
const BATCH_EDGES: usize = 1 << 16;

/// A job that has run, with its rows still to be read.
pub(super) struct Ran {
    job: Box<dyn Job>,
    nodes: Vec<NodeId>,
    names_nodes: bool,
    stats: Vec<Value>,
    times: [Value; 2],
}

/// Writes the graph for the program of the surroundings and lets it compute.
pub(super) fn run<A: Algorithm>(
    context: &ProcedureContext<'_>,
    asked: &Asked<'_, A>,
    around: &Around,
    rows: JobRows,
) -> Result<Ran> {
    let interrupt = context.interrupt;
    let mut watch = StopWatch::start(context.clock);
    let (estimate, held) = asked.choose_and_take(context, around, A::ABOUT.name)?;
    let (Some(engine), Some(plan_of)) = (&around.engine, A::JOB) else {
        return Err(model::error!(Internal, "an execution was chosen that nothing provides"));
    };
    let mut job = engine.start(interrupt)?;
    interrupt.become_long(estimate.pace.threads);
    let selection = Selection { sides: Sides::Forward, ..asked.selection(context) };
    let graph = Graph::open_at(selection, estimate.execution, estimate.pace, Some(context.workspace), interrupt)?;
    let plan = plan_of(&graph, &asked.config)?;
    write_edges(&graph, &*job, estimate.pace.threads, interrupt)?;
    let nodes: Vec<NodeId> = (0..graph.node_count() as u32).map(|number| graph.node(number)).collect();
    let mut settings = vec![
        ("nodes", Value::Int(nodes.len() as i64)),
        ("is_undirected", Value::Bool(graph.is_undirected())),
        ("is_weighted", Value::Bool(graph.has_weights())),
    ];
    settings.extend(plan.settings);
    drop(graph);
    let written = watch.lap_millis();
    let figures = job.run(&JobTask { name: A::ABOUT.name, rows, settings }, interrupt)?;
    let stats = stats_of(&A::ABOUT, figures)?;
    asked.require_convergence(&stats)?;
    let computed = watch.lap_millis();
    drop(held);
    Ok(Ran { job, nodes, names_nodes: plan.names_nodes, stats, times: [written, computed] })
}

/// The figures of the whole, in the order in which they are given.
fn stats_of(about: &About, figures: JobFigures) -> Result<Vec<Value>> {
    let figure = |name: &str, type_name: &str| {
        let found = figures.iter().find(|(told, _)| told == name).map(|(_, value)| value);
        match (found, type_name) {
            (Some(Value::Int(number)), "FLOAT") => Ok(Value::Float(*number as f64)),
            (Some(value), _) => Ok(value.clone()),
            (None, _) => Err(model::error!(Job, "the job of algo.{} has not told '{name}'", about.name)),
        }
    };
    about.stats.iter().map(|spec| figure(spec.name, spec.type_name)).collect()
}

/// Writes all edges, the rows of each piece of the nodes in a part of their own.
fn write_edges(graph: &Graph<'_>, job: &dyn Job, threads: usize, interrupt: &Interrupt) -> Result<()> {
    let (rows, columns) = (graph.rows(), if graph.has_weights() { WEIGHTED } else { PLAIN });
    let parts = (graph.edge_count() / PART_EDGES).max(threads as u64 * PARTS_PER_THREAD);
    let pieces = if graph.node_count() == 0 { Vec::new() } else { rows.pieces(Side::Forward, parts as usize) };
    let done = map_tasks(threads, pieces, |piece: Range<usize>| -> Result<()> {
        let mut part = EdgePart { columns, part: job.part(EDGES, columns)?, ends: Default::default(), weights: vec![] };
        rows.scan(Side::Forward, piece, None, &mut |block| {
            interrupt.check()?;
            for row in 0..block.len() {
                part.push(block.first + row as u32, block.neighbors(row), block.weights(row))?;
            }
            Ok(())
        })?;
        part.finish()
    });
    // A table without a part could not be read.
    if done.is_empty() {
        job.part(EDGES, columns)?.finish()?;
    }
    done.into_iter().collect()
}

/// A part of the table of edges, with edges still to be handed to it.
struct EdgePart {
    columns: &'static [JobColumn],
    part: Box<dyn JobPart>,
    ends: [Vec<i64>; 2],
    weights: Vec<f64>,
}

impl EdgePart {
    fn push(&mut self, node: u32, neighbors: &[u32], weights: &[f64]) -> Result<()> {
        let [sources, targets] = &mut self.ends;
        sources.resize(sources.len() + neighbors.len(), i64::from(node));
        targets.extend(neighbors.iter().map(|&neighbor| i64::from(neighbor)));
        self.weights.extend_from_slice(weights);
        if self.ends[0].len() >= BATCH_EDGES { self.hand_on() } else { Ok(()) }
    }

    fn hand_on(&mut self) -> Result<()> {
        let mut batch: Vec<Column> =
            self.ends.iter_mut().map(|ends| Column::new(ColumnData::Int(std::mem::take(ends)))).collect();
        if self.columns.len() > batch.len() {
            batch.push(Column::new(ColumnData::Float(std::mem::take(&mut self.weights))));
        }
        self.part.append(&batch)
    }

    fn finish(mut self) -> Result<()> {
        self.hand_on()?;
        self.part.finish()
    }
}

/// The id of a node that a value names by its number.
fn named(value: &Value, id: impl Fn(i64) -> Result<NodeId>) -> Result<Value> {
    match value {
        Value::Int(number) => Ok(Value::Int(id(*number)?.0.cast_signed())),
        other => Ok(other.clone()),
    }
}

impl Ran {
    /// Gives the nodes of the result with their values, in batches, until no more are wanted.
    fn rows(&mut self, interrupt: &Interrupt, sink: &mut dyn FnMut(Vec<NodeId>, Column) -> Result<bool>) -> Result<()> {
        let (nodes, names_nodes) = (&self.nodes, self.names_nodes);
        let id = |number: i64| {
            let node = usize::try_from(number).ok().and_then(|number| nodes.get(number));
            node.copied().ok_or_else(|| model::error!(Job, "the job has told of a node {number}, which there is not"))
        };
        self.job.rows(interrupt, &mut |mut columns| {
            let (Some(values), Some(Column { data: ColumnData::Int(numbers), .. })) = (columns.pop(), columns.pop())
            else {
                return Err(model::error!(Job, "the rows of the job are not a number of a node and a value each"));
            };
            let batch: Vec<NodeId> = numbers.iter().map(|&number| id(number)).collect::<Result<_>>()?;
            let values = if names_nodes {
                let ids: Vec<Value> = values.values().map(|value| named(&value, id)).collect::<Result<_>>()?;
                Column::from_values(&ids)
            } else {
                values
            };
            sink(batch, values)
        })
    }
}

/// Streams the rows of the result.
pub(super) fn stream<A: Algorithm>(
    context: &ProcedureContext<'_>,
    asked: &Asked<'_, A>,
    around: &Around,
    sink: &mut RowSink<'_>,
) -> Result<()> {
    let mut ran = run(context, asked, around, JobRows::Known)?;
    ran.rows(context.interrupt, &mut |nodes, values| sink(vec![node_column(nodes.into_iter()), values]))
}

/// The figures of the whole, and the times of writing the edges and of computing.
pub(super) fn stats<A: Algorithm>(
    context: &ProcedureContext<'_>,
    asked: &Asked<'_, A>,
    around: &Around,
) -> Result<(Vec<Value>, [Value; 2])> {
    let Ran { stats, times, .. } = run(context, asked, around, JobRows::None)?;
    Ok((stats, times))
}

/// Sets a property of each node to its value, batch by batch within the one transaction; sends the row of figures.
pub(super) fn write(
    context: &mut ProcedureContext<'_>,
    mut ran: Ran,
    property: &str,
    sink: &mut RowSink<'_>,
) -> Result<()> {
    let interrupt = context.interrupt;
    let mut watch = StopWatch::start(context.clock);
    let transaction = transaction(context)?;
    let key = transaction.property_key(property)?;
    let (mut done, mut written, all) = (0, 0, ran.nodes.len() as u64);
    ran.rows(interrupt, &mut |nodes, values| {
        interrupt.step(done, all)?;
        done += nodes.len() as u64;
        written += (0..values.len()).filter(|&row| !values.is_null(row)).count() as i64;
        transaction.set_node_properties(&nodes, key, &values)?;
        Ok(true)
    })?;
    interrupt.report(all, all);
    let mut row = vec![Value::Int(written)];
    row.extend(ran.stats);
    row.extend(ran.times);
    row.push(watch.lap_millis());
    send_row(sink, &row)
}
