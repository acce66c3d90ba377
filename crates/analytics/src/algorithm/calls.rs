//! The procedures of an algorithm: its rows, its figures, its rows written, and what it would need.

use std::sync::Arc;

use model::NodeId;
use model::column::{Bitmap, Column, ColumnData};
use model::error::Result;
use model::job::{JobEngine, JobRows};
use model::limits::BATCH_ROWS;
use model::procedure::{Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec};
use model::store::{Direction, NewEdges};
use model::value::Value;

use super::{About, Algorithm, Follows, Needs, Outcome, RowOrder, Run, Shape, jobs};
use crate::graph::choice::{self, Answer, Choice, Load};
use crate::graph::{Estimate, Execution, Graph, Selection};
use crate::held::Held;
use crate::numbering::Numbering;
use crate::procedure::{StopWatch, column, node_column, send_row, signature_of, transaction, write_property};
use crate::projection::{Projection, Weight};
use crate::settings::shared::{self, MUST_CONVERGE, WEIGHTS, WHOLE, WRITE_PROPERTY, WRITE_RELATIONSHIP_TYPE};
use crate::settings::{Row, Settings, names_of};
use crate::view_cache::ViewCache;

const TIMES: [YieldSpec; 2] = [column("preProcessingMillis", "INTEGER"), column("computeMillis", "INTEGER")];
const ESTIMATE: [YieldSpec; 8] = [
    column("execution", "STRING"),
    column("requiredMemory", "STRING"),
    column("bytesMin", "INTEGER"),
    column("bytesReadPerPass", "INTEGER"),
    column("nodeCount", "INTEGER"),
    column("relationshipCount", "INTEGER"),
    column("seconds", "FLOAT"),
    column("alternatives", "LIST<MAP>"),
];
/// Edges that one call to the store makes.
const WRITE_ROWS: usize = 10_000;

/// The ways in which an algorithm can be called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Stream,
    Stats,
    Write,
    /// Of the rows, streamed or written.
    Estimate,
    StatsEstimate,
}

impl Mode {
    fn suffix(self) -> &'static str {
        match self {
            Mode::Stream => "stream",
            Mode::Stats => "stats",
            Mode::Write => "write",
            Mode::Estimate => "estimate",
            Mode::StatsEstimate => "stats.estimate",
        }
    }

    /// True if only figures of the whole are asked for.
    fn gives_figures(self) -> bool {
        matches!(self, Mode::Stats | Mode::StatsEstimate)
    }
}

/// The surroundings of all calls of a database.
#[derive(Clone, Default)]
pub(crate) struct Around {
    /// The cache that keeps views from call to call; `None` to make one for every call.
    pub(crate) views: Option<Arc<ViewCache>>,
    /// The program that computes elsewhere, if there is one.
    pub(crate) engine: Option<Arc<dyn JobEngine>>,
}

/// The body of a procedure: context, the one argument, where rows go, and what is around.
type Body = fn(&mut ProcedureContext<'_>, &Value, &mut RowSink<'_>, &Around) -> Result<()>;

/// An algorithm that reads all of a selection, as `CALL` sees it.
#[derive(Clone)]
pub(crate) struct GraphProcedure {
    signature: ProcedureSignature,
    body: Body,
    around: Around,
}

impl GraphProcedure {
    /// The same in these surroundings.
    pub(crate) fn within(&self, around: Around) -> GraphProcedure {
        GraphProcedure { around, ..self.clone() }
    }
}

impl Procedure for GraphProcedure {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, context: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        (self.body)(context, arguments.first().unwrap_or(&Value::Null), sink, &self.around)
    }
}

/// Every procedure of an algorithm.
pub(crate) fn procedures_of<A: Algorithm>() -> Vec<GraphProcedure> {
    let mut all = vec![
        procedure::<A>(Mode::Stream, stream::<A>),
        procedure::<A>(Mode::Stats, stats::<A>),
        procedure::<A>(Mode::Estimate, |context, argument, sink, around| {
            estimate::<A>(context, argument, sink, around, Mode::Estimate)
        }),
        procedure::<A>(Mode::StatsEstimate, |context, argument, sink, around| {
            estimate::<A>(context, argument, sink, around, Mode::StatsEstimate)
        }),
    ];
    if A::ABOUT.shape != Shape::Rows {
        all.push(procedure::<A>(Mode::Write, write::<A>));
    }
    all
}

fn procedure<A: Algorithm>(mode: Mode, body: Body) -> GraphProcedure {
    let about = A::ABOUT;
    let of_mode = |name: &str| format!("{name}.{}", mode.suffix());
    let mut names = vec![of_mode(&format!("algo.{}", about.name))];
    names.extend(about.aliases.iter().map(|alias| of_mode(alias)));
    let mut yields: Vec<YieldSpec> = Vec::new();
    match mode {
        Mode::Stream => {
            names.insert(0, format!("algo.{}", about.name));
            names.extend(
                about.aliases.iter().filter(|alias| alias.starts_with("algo.")).map(|alias| (*alias).to_owned()),
            );
            if about.shape == Shape::Nodes {
                yields.push(column("node", "NODE"));
            }
            yields.extend(about.yields);
        }
        Mode::Stats => yields.extend(about.stats.iter().chain(&TIMES)),
        Mode::Write => {
            yields.push(match about.shape {
                Shape::Nodes => column("nodePropertiesWritten", "INTEGER"),
                Shape::Pairs | Shape::Rows => column("relationshipsWritten", "INTEGER"),
            });
            yields.extend(about.stats.iter().chain(&TIMES));
            yields.push(column("writeMillis", "INTEGER"));
        }
        Mode::Estimate => {
            names.extend(
                about.aliases.iter().flat_map(|alias| {
                    [Mode::Stream, Mode::Write].map(|of| format!("{alias}.{}.estimate", of.suffix()))
                }),
            );
            yields.extend(ESTIMATE);
        }
        Mode::StatsEstimate => yields.extend(ESTIMATE),
    }
    let (access, description) = match mode {
        Mode::Stream => (ProcedureMode::Read, about.description.to_owned()),
        Mode::Stats => (ProcedureMode::Read, format!("{} Gives figures of the whole only.", about.description)),
        Mode::Write => (ProcedureMode::Write, format!("{} Writes what it finds.", about.description)),
        Mode::Estimate => (ProcedureMode::Read, format!("What it would need: {}", about.description)),
        Mode::StatsEstimate => {
            (ProcedureMode::Read, format!("What its figures of the whole would need: {}", about.description))
        }
    };
    let description =
        format!("{description} Settings: {}.", names_of(&known(&about, mode)).collect::<Vec<_>>().join(", "));
    GraphProcedure { signature: signature_of(names, access, description, yields), body, around: Around::default() }
}

/// Position of the figure that tells if a run has converged; `None` if the algorithm has none.
fn tells_convergence(about: &About) -> Option<usize> {
    about.stats.iter().position(|figure| figure.name == "didConverge")
}

/// The settings that a procedure of an algorithm knows.
fn known(about: &About, mode: Mode) -> Vec<&'static dyn Row> {
    let mut known = WHOLE.to_vec();
    if let Follows::Chosen(default) = about.direction {
        known.push(shared::direction_by_default(default));
    }
    if about.takes_weights {
        known.extend(WEIGHTS);
    }
    known.extend(about.settings);
    if tells_convergence(about).is_some() {
        known.push(&MUST_CONVERGE);
    }
    if matches!(mode, Mode::Write | Mode::Estimate) && about.shape != Shape::Rows {
        known.push(&WRITE_PROPERTY);
        if about.shape == Shape::Pairs {
            known.push(&WRITE_RELATIONSHIP_TYPE);
        }
    }
    known
}

/// A call, read.
pub(super) struct Asked<'a, A: Algorithm> {
    settings: Settings<'a>,
    projection: Projection,
    weight: Option<Weight>,
    pub(super) config: A::Config,
    needs: Needs,
    /// Bytes of state for each node that must lie in memory where it is streamed, if that is less than all of it.
    spilled_bytes: Option<usize>,
    threads: usize,
    /// The answer that will be given or written.
    answer: Answer,
}

impl<'a, A: Algorithm> Asked<'a, A> {
    fn read(context: &'a ProcedureContext<'_>, argument: &'a Value, mode: Mode) -> Result<Asked<'a, A>> {
        let about = A::ABOUT;
        let procedure = match mode {
            Mode::Stream => format!("algo.{}", about.name),
            _ => format!("algo.{}.{}", about.name, mode.suffix()),
        };
        let view = context.graph.view();
        let settings = Settings::new(procedure, argument, known(&about, mode), view)?;
        let direction = match about.direction {
            Follows::Chosen(default) => settings.get(shared::direction_by_default(default))?,
            Follows::Always(direction) => direction,
        };
        let projection = Projection::read(&settings, view.schema(), direction)?;
        let weight = if about.takes_weights { Weight::read(&settings, view.schema())? } else { None };
        let threads = settings.threads(context.threads)?;
        let config = A::read(&settings, view)?;
        debug_assert!(settings.unread(about.settings).is_empty(), "never read: {:?}", settings.unread(about.settings));
        let mut needs = A::needs(&config, weight.is_some());
        let mut answer = Answer::Values;
        if about.shape == Shape::Nodes && !mode.gives_figures() {
            answer = Answer::Rows;
        } else if let Some(bytes) = A::figures_bytes(&config, weight.is_some()) {
            (answer, needs.node_bytes) = (Answer::Figures, bytes);
        }
        let spilled_bytes = A::spilled_bytes(&config, weight.is_some());
        Ok(Asked { settings, projection, weight, config, needs, spilled_bytes, threads, answer })
    }

    pub(super) fn selection<'s>(&'s self, context: &'s ProcedureContext<'_>) -> Selection<'s> {
        Selection {
            view: context.graph.view(),
            projection: &self.projection,
            weight: self.weight.as_ref(),
            sides: self.needs.sides,
        }
    }

    /// The way to run; a view that is kept need not be made.
    fn choose(&self, context: &ProcedureContext<'_>, around: &Around) -> Result<Estimate> {
        self.choose_within(context, around, context.workspace.bytes_free() as u64, None)
    }

    /// The way to run within a number of bytes; `nodes` if those that take part were counted.
    fn choose_within(
        &self,
        context: &ProcedureContext<'_>,
        around: &Around,
        free: u64,
        nodes: Option<u64>,
    ) -> Result<Estimate> {
        self.choice(&self.selection(context), around, free, nodes).choose(&self.settings)
    }

    fn choice<'s>(
        &'s self,
        selection: &'s Selection<'s>,
        around: &Around,
        bytes_free: u64,
        nodes: Option<u64>,
    ) -> Choice<'s> {
        let has_engine = A::JOB.is_some() && around.engine.is_some();
        let (needs, spilled_bytes, answer) = (&self.needs, self.spilled_bytes, self.answer);
        let load = Load { needs, spilled_bytes, answer, has_engine, nodes };
        let is_view_kept = around.views.as_ref().is_some_and(|views| views.holds(selection));
        Choice { selection, load, threads: self.threads, bytes_free, is_view_kept }
    }

    /// The way to run, and its memory. What is free when the way is chosen may be gone when it is taken: another computation
    /// begins, or the store holds on to blocks. Then what needs less is tried.
    pub(super) fn choose_and_take<'c>(
        &self,
        context: &'c ProcedureContext<'_>,
        around: &Around,
        name: &'static str,
    ) -> Result<(Estimate, Held<'c>)> {
        let mut estimate = self.choose(context, around)?;
        loop {
            let refused = match Held::take(context.workspace, name, estimate.bytes_ahead() as usize) {
                Ok(held) => return Ok((estimate, held)),
                Err(error) => error,
            };
            let free = context.workspace.bytes_free() as u64;
            match self.choose_within(context, around, free.min(estimate.bytes.saturating_sub(1)), None) {
                Ok(next) if next.bytes < estimate.bytes => estimate = next,
                _ => return Err(refused),
            }
        }
    }
}

impl<A: Algorithm> Asked<'_, A> {
    /// Fails if the run had to converge and did not.
    pub(super) fn require_convergence(&self, stats: &[Value]) -> Result<()> {
        if let Some(figure) = tells_convergence(&A::ABOUT)
            && self.settings.get(&MUST_CONVERGE)?
            && stats[figure] == Value::Bool(false)
        {
            let error =
                model::error!(Limit, "algo.{} had not converged when it came to 'maxIterations'", A::ABOUT.name);
            return Err(error.with_remedy("raise 'maxIterations' or 'tolerance', or leave out 'mustConverge'"));
        }
        Ok(())
    }

    /// True if another program is to compute, which `execution` must say.
    fn is_for_a_job(&self) -> Result<bool> {
        Ok(self.settings.get(&shared::EXECUTION)?.eq_ignore_ascii_case(Execution::Spark.name()))
    }
}

/// The result of a call, apart from the graph that it was found in.
struct Found {
    nodes: Vec<NodeId>,
    outcome: Outcome,
    times: [Value; 2],
}

/// Opens the graph and works on it; gives what came of it, and the times of both.
fn on_graph<A: Algorithm, T>(
    context: &ProcedureContext<'_>,
    asked: &Asked<'_, A>,
    around: &Around,
    work: impl FnOnce(&Graph<'_>, &Run<'_>) -> Result<T>,
) -> Result<(T, [Value; 2])> {
    let mut watch = StopWatch::start(context.clock);
    context.interrupt.become_long(asked.threads);
    let (estimate, mut held) = asked.choose_and_take(context, around, A::ABOUT.name)?;
    let selection = asked.selection(context);
    let graph = match &around.views {
        Some(views) if estimate.execution == Execution::Memory => {
            Graph::in_memory(views.view(&selection, asked.threads, context.interrupt)?.0)
        }
        _ => {
            let (workspace, interrupt) = (Some(context.workspace), context.interrupt);
            Graph::open_at(selection, estimate.execution, estimate.pace, workspace, interrupt)?
        }
    };
    // A view that is kept is charged to those who keep it.
    let mut _made_after_all = None;
    match graph.view() {
        Some(view) if view.held.is_some() => held.shrink(estimate.view_bytes as usize),
        Some(view) if estimate.view_bytes == 0 => {
            _made_after_all = Some(Held::take(context.workspace, A::ABOUT.name, view.byte_count())?);
        }
        _ => {}
    }
    let opened = watch.lap_millis();
    let run = Run {
        threads: estimate.pace.threads,
        interrupt: context.interrupt,
        workspace: context.workspace,
        execution: estimate.execution,
        spills: estimate.pace.spills,
        gives_values: asked.answer != Answer::Figures,
        selection,
    };
    let found = work(&graph, &run)?;
    let computed = watch.lap_millis();
    drop(held);
    Ok((found, [opened, computed]))
}

/// Runs; fails if it had to converge and did not.
fn run_to_the_end<A: Algorithm>(graph: &Graph<'_>, asked: &Asked<'_, A>, run: &Run<'_>) -> Result<Outcome> {
    let outcome = A::run(graph, &asked.config, run)?;
    asked.require_convergence(&outcome.stats)?;
    Ok(outcome)
}

/// Opens the graph, runs, and gives what the graph is still needed for.
fn compute<A: Algorithm>(context: &ProcedureContext<'_>, asked: &Asked<'_, A>, around: &Around) -> Result<Found> {
    let ((nodes, outcome), times) = on_graph(context, asked, around, |graph, run| {
        let outcome = run_to_the_end(graph, asked, run)?;
        let nodes = match A::ABOUT.shape {
            Shape::Nodes => (0..graph.node_count() as u32).map(|number| graph.node(number)).collect(),
            Shape::Pairs | Shape::Rows => Vec::new(),
        };
        Ok((nodes, outcome))
    })?;
    Ok(Found { nodes, outcome, times })
}

fn stream<A: Algorithm>(
    context: &mut ProcedureContext<'_>,
    argument: &Value,
    sink: &mut RowSink<'_>,
    around: &Around,
) -> Result<()> {
    let asked = Asked::<A>::read(context, argument, Mode::Stream)?;
    if asked.is_for_a_job()? {
        return jobs::stream(context, &asked, around, sink);
    }
    if A::ABOUT.shape != Shape::Nodes {
        return on_graph(context, &asked, around, |graph, run| A::send(graph, &asked.config, run, sink)).map(drop);
    }
    let Found { nodes, outcome, .. } = compute(context, &asked, around)?;
    let rows = outcome.columns.first().map_or(0, Column::len);
    let order: Box<dyn Iterator<Item = u32>> = match &outcome.order {
        RowOrder::Given(order) => Box::new(order.iter().copied()),
        RowOrder::ByValue => Box::new(by_value(&outcome.columns[0]).into_iter()),
        RowOrder::ByNumber => Box::new(0..rows as u32),
    };
    let mut order = order.filter(|&node| !outcome.columns[0].is_null(node as usize));
    loop {
        let batch: Vec<u32> = order.by_ref().take(BATCH_ROWS).collect();
        if batch.is_empty() {
            return Ok(());
        }
        let mut columns = vec![node_column(batch.iter().map(|&node| nodes[node as usize]))];
        columns.extend(outcome.columns.iter().map(|column| column.gather(&batch)));
        if !sink(columns)? {
            return Ok(());
        }
    }
}

/// Hands on columns as rows, a batch at a time, until no more are wanted.
pub(super) fn send_columns(columns: &[Column], sink: &mut RowSink<'_>) -> Result<()> {
    let rows = columns.first().map_or(0, Column::len);
    for start in (0..rows).step_by(BATCH_ROWS) {
        let end = (start + BATCH_ROWS).min(rows);
        if !sink(columns.iter().map(|column| column.slice(start, end)).collect())? {
            break;
        }
    }
    Ok(())
}

/// The nodes with a value, by value, then by number.
fn by_value(values: &Column) -> Vec<u32> {
    let mut order: Vec<u32> = (0..values.len() as u32).filter(|&node| !values.is_null(node as usize)).collect();
    match &values.data {
        ColumnData::Int(values) => order.sort_by_key(|&node| values[node as usize]),
        ColumnData::Float(values) => order.sort_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize])),
        _ => {}
    }
    order
}

fn stats<A: Algorithm>(
    context: &mut ProcedureContext<'_>,
    argument: &Value,
    sink: &mut RowSink<'_>,
    around: &Around,
) -> Result<()> {
    let asked = Asked::<A>::read(context, argument, Mode::Stats)?;
    let (stats, times) = if asked.is_for_a_job()? {
        jobs::stats(context, &asked, around)?
    } else {
        on_graph(context, &asked, around, |graph, run| Ok(run_to_the_end(graph, &asked, run)?.stats))?
    };
    send_row(sink, &[&stats[..], &times].concat())
}

fn estimate<A: Algorithm>(
    context: &mut ProcedureContext<'_>,
    argument: &Value,
    sink: &mut RowSink<'_>,
    around: &Around,
    mode: Mode,
) -> Result<()> {
    let asked = Asked::<A>::read(context, argument, mode)?;
    // A node that carries two of the labels counts once, which statistics cannot tell.
    let nodes = match &asked.projection.labels {
        Some(labels) if labels.len() > 1 => {
            Some(Numbering::build(context.graph.view(), Some(labels), context.interrupt)?.len() as u64)
        }
        _ => None,
    };
    let selection = asked.selection(context);
    let choice = asked.choice(&selection, around, context.workspace.bytes_free() as u64, nodes);
    let estimate = choice.choose(&asked.settings)?;
    let work = A::work(&asked.config, asked.weight.is_some());
    let seconds = |estimate: &Estimate| work.and_then(|work| estimate.seconds(work, &selection));
    send_row(sink, &choice::row(&estimate, seconds(&estimate), choice.alternatives(seconds)))
}

fn write<A: Algorithm>(
    context: &mut ProcedureContext<'_>,
    argument: &Value,
    sink: &mut RowSink<'_>,
    around: &Around,
) -> Result<()> {
    let asked = Asked::<A>::read(context, argument, Mode::Write)?;
    let property = asked.settings.get(&WRITE_PROPERTY)?;
    let edge_type = match A::ABOUT.shape {
        Shape::Pairs => Some(asked.settings.get(&WRITE_RELATIONSHIP_TYPE)?),
        Shape::Nodes | Shape::Rows => None,
    };
    if asked.is_for_a_job()? {
        let ran = jobs::run(context, &asked, around, JobRows::All)?;
        return jobs::write(context, ran, &property, sink);
    }
    let Found { nodes, outcome, times } = compute(context, &asked, around)?;
    let mut watch = StopWatch::start(context.clock);
    let written = match edge_type {
        Some(edge_type) => write_pairs(context, &edge_type, &property, &outcome)?,
        None => write_values(context, &A::ABOUT, &property, &nodes, &outcome)?,
    };
    let mut row = vec![Value::Int(written as i64)];
    row.extend(outcome.stats);
    row.extend(times);
    row.push(watch.lap_millis());
    send_row(sink, &row)
}

/// Sets one property for each column, except those that were not asked for, which hold nothing; tells how many values
/// there are.
fn write_values(
    context: &mut ProcedureContext<'_>,
    about: &About,
    property: &str,
    nodes: &[NodeId],
    outcome: &Outcome,
) -> Result<usize> {
    let interrupt = context.interrupt;
    let mut written = 0;
    let columns = outcome.columns.iter().zip(about.yields).enumerate();
    let columns: Vec<_> =
        columns.filter(|(at, (values, _))| *at == 0 || !matches!(values.data, ColumnData::Null(_))).collect();
    for (_, (values, spec)) in &columns {
        let name = if columns.len() == 1 { property.to_owned() } else { format!("{property}_{}", spec.name) };
        write_property(transaction(context)?, interrupt, &name, nodes.len(), |rows| {
            (nodes[rows.clone()].to_vec(), values.slice(rows.start, rows.end))
        })?;
        let present: Bitmap = (0..values.len()).map(|row| !values.is_null(row)).collect();
        written += present.count_ones();
    }
    Ok(written)
}

/// Makes an edge of each pair; tells how many.
fn write_pairs(
    context: &mut ProcedureContext<'_>,
    edge_type: &str,
    property: &str,
    outcome: &Outcome,
) -> Result<usize> {
    let interrupt = context.interrupt;
    let transaction = transaction(context)?;
    let (edge_type, key) = (transaction.edge_type(edge_type)?, transaction.property_key(property)?);
    let [sources, targets, numbers, ..] = &outcome.columns[..] else {
        return Err(model::error!(Internal, "pairs have three columns, found {}", outcome.columns.len()));
    };
    let (ColumnData::Node(sources), ColumnData::Node(targets)) = (&sources.data, &targets.data) else {
        return Err(model::error!(Internal, "pairs begin with two columns of nodes"));
    };
    for start in (0..sources.len()).step_by(WRITE_ROWS) {
        interrupt.check()?;
        let end = (start + WRITE_ROWS).min(sources.len());
        transaction.create_edges(&NewEdges {
            edge_type,
            sources: &sources[start..end],
            targets: &targets[start..end],
            keys: &[key],
            properties: &[numbers.slice(start, end)],
        })?;
    }
    Ok(sources.len())
}

/// The direction that an algorithm follows if nothing else is said.
impl Follows {
    /// The direction of edges if no setting changes it.
    pub fn default_direction(self) -> Direction {
        match self {
            Follows::Chosen(direction) | Follows::Always(direction) => direction,
        }
    }
}
