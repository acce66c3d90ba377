//! The part that all algorithms share in being called and in giving rows or writing a property.

use std::ops::Range;
use std::sync::Arc;

use model::column::{Column, ColumnData};
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::platform::Clock;
use model::procedure::{
    ArgumentSpec, GraphAccess, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec,
};
use model::store::WriteTransaction;
use model::value::Value;

use crate::settings::{Settings, Table};
use crate::view_cache::ViewCache;

/// Rows that one call to the store writes; the transaction holds them all.
const WRITE_ROWS: usize = 10_000;

/// The body of a procedure: context, settings, and where rows go.
pub(crate) type Body = fn(&ProcedureContext<'_>, &Settings<'_>, &mut RowSink<'_>) -> Result<()>;

/// An algorithm as `CALL` sees it: a signature, its settings and a function.
#[derive(Clone, Copy, Debug)]
pub struct AlgorithmProcedure {
    pub(crate) signature: ProcedureSignature,
    pub(crate) settings: &'static [Table],
    pub(crate) body: Body,
}

/// The settings of a call.
fn settings_of<'a>(
    name: &'static str,
    tables: &'static [Table],
    context: &'a ProcedureContext<'_>,
    arguments: &'a [Value],
) -> Result<Settings<'a>> {
    Settings::new(name, arguments.first().unwrap_or(&Value::Null), tables.concat(), context.graph.view())
}

/// Fails a test whose call succeeded without asking for all settings of its tables: one of them could be given in vain.
fn assert_all_read(settings: &Settings<'_>, tables: &[Table]) {
    for table in tables {
        debug_assert!(settings.unread(table).is_empty(), "settings that are never read: {:?}", settings.unread(table));
    }
}

impl Procedure for AlgorithmProcedure {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, context: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let settings = settings_of(self.signature.name, self.settings, context, arguments)?;
        (self.body)(context, &settings, sink)?;
        assert_all_read(&settings, self.settings);
        Ok(())
    }
}

/// The body of a search: as [`Body`], and where it keeps what it reads.
pub(crate) type SearchBody =
    fn(&ProcedureContext<'_>, &Settings<'_>, Option<&ViewCache>, &mut RowSink<'_>) -> Result<()>;

/// A search as `CALL` sees it: it reads a small part of the graph, and keeps that for the next one.
#[derive(Clone)]
pub struct SearchProcedure {
    pub(crate) signature: ProcedureSignature,
    pub(crate) settings: &'static [Table],
    pub(crate) body: SearchBody,
    pub(crate) kept: Option<Arc<ViewCache>>,
}

impl SearchProcedure {
    /// The same, keeping what it reads there.
    pub(crate) fn keeping(&self, kept: Option<Arc<ViewCache>>) -> SearchProcedure {
        SearchProcedure { kept, ..self.clone() }
    }
}

impl Procedure for SearchProcedure {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, context: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let settings = settings_of(self.signature.name, self.settings, context, arguments)?;
        (self.body)(context, &settings, self.kept.as_deref(), sink)?;
        assert_all_read(&settings, self.settings);
        Ok(())
    }
}

/// The signature that all algorithms have, except for names and columns.
pub(crate) const fn signature(
    name: &'static str,
    aliases: &'static [&'static str],
    mode: ProcedureMode,
    description: &'static str,
    yields: &'static [YieldSpec],
) -> ProcedureSignature {
    ProcedureSignature { name, aliases, description, mode, arguments: ARGUMENTS, yields }
}

/// The same for names that are put together when the algorithms are registered: they live as long as the process, as the
/// list of procedures is made once.
pub(crate) fn signature_of(
    mut names: Vec<String>,
    mode: ProcedureMode,
    description: String,
    yields: Vec<YieldSpec>,
) -> ProcedureSignature {
    let keep = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let name = keep(names.remove(0));
    let mut aliases: Vec<&'static str> = Vec::with_capacity(names.len());
    for alias in names {
        if !aliases.contains(&&*alias) {
            aliases.push(keep(alias));
        }
    }
    let (aliases, yields): (&'static [_], &'static [_]) = (aliases.leak(), yields.leak());
    signature(name, aliases, mode, keep(description), yields)
}

const ARGUMENTS: &[ArgumentSpec] = &[ArgumentSpec {
    name: "configuration",
    type_name: "MAP",
    description: "The settings, as docs/algorithms.md lists them; empty if left out.",
    default: Some(|| Value::map(std::iter::empty())),
}];

/// A column of a signature.
pub(crate) const fn column(name: &'static str, type_name: &'static str) -> YieldSpec {
    YieldSpec { name, type_name }
}

/// Sends one row.
pub(crate) fn send_row(sink: &mut RowSink<'_>, values: &[Value]) -> Result<()> {
    sink(values.iter().map(|value| Column::constant(value, 1)).collect()).map(drop)
}

/// The least, the greatest and the mean of scores, as a map; null without scores.
pub(crate) fn distribution(scores: &[f64]) -> Value {
    if scores.is_empty() {
        return Value::Null;
    }
    let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    Value::map([("min", least), ("mean", mean), ("max", most)].map(|(name, x)| (Arc::from(name), Value::Float(x))))
}

/// A column of nodes.
pub(crate) fn node_column(nodes: impl Iterator<Item = NodeId>) -> Column {
    Column::new(ColumnData::Node(nodes.collect()))
}

/// The transaction of a procedure that writes.
pub(crate) fn transaction<'c>(context: &'c mut ProcedureContext<'_>) -> Result<&'c mut dyn WriteTransaction> {
    match &mut context.graph {
        GraphAccess::Write(transaction) => Ok(&mut **transaction),
        GraphAccess::Read(_) => Err(model::error!(ReadOnly, "a procedure that writes was called on a snapshot")
            .with_remedy("call it within a writing transaction")),
    }
}

/// Sets a property of `rows` nodes, a batch at a time within the one transaction.
pub(crate) fn write_property(
    transaction: &mut dyn WriteTransaction,
    interrupt: &Interrupt,
    name: &str,
    rows: usize,
    make: impl Fn(Range<usize>) -> (Vec<NodeId>, Column),
) -> Result<()> {
    let key = transaction.property_key(name)?;
    for start in (0..rows).step_by(WRITE_ROWS) {
        interrupt.check()?;
        interrupt.report(start as u64, rows as u64);
        let (nodes, values) = make(start..(start + WRITE_ROWS).min(rows));
        transaction.set_node_properties(&nodes, key, &values)?;
    }
    interrupt.report(rows as u64, rows as u64);
    Ok(())
}

/// Measures the parts of a call.
pub(crate) struct StopWatch<'a> {
    clock: &'a dyn Clock,
    last_ns: u64,
}

impl<'a> StopWatch<'a> {
    /// Starts now.
    pub(crate) fn start(clock: &'a dyn Clock) -> StopWatch<'a> {
        StopWatch { clock, last_ns: clock.now_ns() }
    }

    /// Milliseconds since the start or the last lap, as a column value.
    pub(crate) fn lap_millis(&mut self) -> Value {
        let now = self.clock.now_ns();
        let nanoseconds = now.saturating_sub(self.last_ns);
        self.last_ns = now;
        Value::Int((nanoseconds / 1_000_000).cast_signed())
    }
}
