//! The procedures of kept computations.

use std::sync::{Arc, Mutex};

use model::NodeId;
use model::column::{Column, ColumnData};
use model::error::Result;
use model::limits::BATCH_ROWS;
use model::procedure::{
    ArgumentSpec, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec,
};
use model::value::Value;

use super::{Definition, Keeper, Kept, Kind, Means, Refreshed, State, lock};
use crate::held::Held;
use crate::procedure::{StopWatch, column, node_column, send_row, signature};
use crate::settings::kind::{Number, Text};
use crate::settings::shared::{CONCURRENCY, DIRECTION, LABELS, TYPES};
use crate::settings::table::{Fixed, Required, Setting};
use crate::settings::{Settings, Table};

/// The operations on kept computations.
#[derive(Clone, Copy)]
enum Verb {
    Keep,
    Rows,
    Refresh,
    List,
    Drop,
}

struct KeptProcedure {
    verb: Verb,
    table: Table,
    signature: ProcedureSignature,
    keeper: Arc<Keeper>,
}

static NAME: Setting<Text> = Setting::new("name", Text, Required, "Name of the kept computation.");
static ALGORITHM: Setting<Text> =
    Setting::new("algorithm", Text, Required, "Algorithm to keep: `'pagerank'` or `'wcc'`.");
/// With a damping factor near 1 a residual says little of the error.
static DAMPING_FACTOR: Setting<Number, Fixed<f64>> = Setting::new(
    "dampingFactor",
    Number { least: 0.0, most: 0.99 },
    Fixed(0.85),
    "Probability that the walk follows a relationship.",
);
/// Less than the least tolerance is not told from the rounding of sums.
static TOLERANCE: Setting<Number, Fixed<f64>> =
    Setting::new("tolerance", Number { least: 1e-12, most: 1.0 }, Fixed(1e-6), "Largest error of the scores in total.");
const KEEP: Table = &[&NAME, &ALGORITHM, &LABELS, &TYPES, &DIRECTION, &CONCURRENCY, &DAMPING_FACTOR, &TOLERANCE];
const NAMED: Table = &[&NAME];
const REFRESH: Table = &[&NAME, &CONCURRENCY];
const REFRESHED: &[YieldSpec] = &[
    column("name", "STRING"),
    column("edgesAdded", "INTEGER"),
    column("edgesDeleted", "INTEGER"),
    column("nodesTouched", "INTEGER"),
    column("didRunAnew", "BOOLEAN"),
    column("errorBound", "FLOAT"),
    column("computeMillis", "INTEGER"),
];
const ROWS: &[YieldSpec] = &[column("node", "NODE"), column("value", "NUMBER")];
const LISTED: &[YieldSpec] = &[
    column("name", "STRING"),
    column("algorithm", "STRING"),
    column("nodeCount", "INTEGER"),
    column("isCurrent", "BOOLEAN"),
];
const DROPPED: &[YieldSpec] = &[column("name", "STRING")];
const NONE: &[ArgumentSpec] = &[];

/// Every procedure of kept computations: its signature and its settings.
pub(crate) fn described() -> impl Iterator<Item = (ProcedureSignature, Table)> {
    verbs().into_iter().map(|(_, table, signature)| (signature, table))
}

/// Every procedure of kept computations.
pub(super) fn all(keeper: &Arc<Keeper>) -> Vec<Arc<dyn Procedure>> {
    let make = |(verb, table, signature)| -> Arc<dyn Procedure> {
        Arc::new(KeptProcedure { verb, table, signature, keeper: keeper.clone() })
    };
    verbs().into_iter().map(make).collect()
}

fn verbs() -> [(Verb, Table, ProcedureSignature); 5] {
    let read = ProcedureMode::Read;
    let list = signature("algo.kept.list", &[], read, "Lists the computations that are kept.", LISTED);
    [
        (
            Verb::Keep,
            KEEP,
            signature(
                "algo.keep",
                &[],
                read,
                "Runs a computation (algorithm: 'pagerank' or 'wcc') and keeps it under a name, to be mended as the graph changes.",
                REFRESHED,
            ),
        ),
        (
            Verb::Rows,
            REFRESH,
            signature(
                "algo.kept",
                &["algo.kept.stream"],
                read,
                "Brings a kept computation up to date and gives its rows: scores, or the smallest node id of the component.",
                ROWS,
            ),
        ),
        (
            Verb::Refresh,
            REFRESH,
            signature(
                "algo.kept.refresh",
                &[],
                read,
                "Brings a kept computation up to date and tells what that took and how exact it is.",
                REFRESHED,
            ),
        ),
        (Verb::List, &[], ProcedureSignature { arguments: NONE, ..list }),
        (Verb::Drop, NAMED, signature("algo.kept.drop", &[], read, "Keeps a computation no longer.", DROPPED)),
    ]
}

impl Procedure for KeptProcedure {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, context: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let argument = arguments.first().unwrap_or(&Value::Null);
        let settings = Settings::new(self.signature.name, argument, self.table.to_vec(), context.graph.view())?;
        match self.verb {
            Verb::Keep => self.keep(context, &settings, sink),
            Verb::Rows => self.rows(context, &settings, sink),
            Verb::Refresh => {
                let (name, kept) = self.named(&settings)?;
                let mut watch = StopWatch::start(context.clock);
                let refreshed = lock(&kept).refresh(&self.means(context, &settings)?)?;
                send_refreshed(name, &refreshed, watch.lap_millis(), sink)
            }
            Verb::List => self.list(context, sink),
            Verb::Drop => {
                let (name, _) = self.named(&settings)?;
                lock(&self.keeper.kept).remove(&*name);
                send_row(sink, &[Value::String(name)])
            }
        }
    }
}

fn send_refreshed(name: Arc<str>, refreshed: &Refreshed, millis: Value, sink: &mut RowSink<'_>) -> Result<()> {
    let count = |count: usize| Value::Int(count as i64);
    send_row(
        sink,
        &[
            Value::String(name),
            count(refreshed.edges_added),
            count(refreshed.edges_deleted),
            Value::Int(refreshed.nodes_touched.cast_signed()),
            Value::Bool(refreshed.did_run_anew),
            Value::Float(refreshed.error_bound),
            millis,
        ],
    )
}

/// Bytes of the rows of each node: what they are made of, its id and the value.
const ROW_BYTES: usize = 16 + 8 + 8;

impl KeptProcedure {
    /// The resources of a call, which may take long.
    fn means<'m>(&'m self, context: &'m ProcedureContext<'_>, settings: &Settings<'_>) -> Result<Means<'m>> {
        let threads = settings.threads(context.threads)?;
        context.interrupt.become_long(threads);
        let (view, interrupt, workspace) = (context.graph.view(), context.interrupt, context.workspace);
        Ok(Means { view, threads, interrupt, workspace, budget: self.keeper.budget.as_ref() })
    }

    fn named(&self, settings: &Settings<'_>) -> Result<(Arc<str>, Arc<Mutex<Kept>>)> {
        let name = settings.get(&NAME)?;
        let kept = self.keeper.find(&name)?;
        Ok((name, kept))
    }

    fn keep(&self, context: &ProcedureContext<'_>, settings: &Settings<'_>, sink: &mut RowSink<'_>) -> Result<()> {
        let name = settings.get(&NAME)?;
        let kind = match &*settings.get(&ALGORITHM)? {
            "wcc" => Kind::Components,
            "pagerank" | "pageRank" => {
                Kind::Ranks { damping_factor: settings.get(&DAMPING_FACTOR)?, tolerance: settings.get(&TOLERANCE)? }
            }
            other => {
                let error = settings.refuse(&format!("setting 'algorithm' is '{other}', expected 'pagerank' or 'wcc'"));
                return Err(error.with_remedy("others are computed anew each time: call them by themselves"));
            }
        };
        let definition = Definition {
            kind,
            labels: settings.get(&LABELS)?.flatten(),
            types: settings.get(&TYPES)?.flatten(),
            direction: settings.get(&DIRECTION)?,
        };
        if lock(&self.keeper.kept).contains_key(&*name) {
            let error = settings.refuse(&format!("a computation is kept under the name '{name}' already"));
            return Err(error.with_remedy("choose another name, or drop it with algo.kept.drop"));
        }
        let mut watch = StopWatch::start(context.clock);
        let (kept, refreshed) = Kept::new(definition, &self.means(context, settings)?)?;
        lock(&self.keeper.kept).insert(name.to_string(), Arc::new(Mutex::new(kept)));
        send_refreshed(name, &refreshed, watch.lap_millis(), sink)
    }

    fn rows(&self, context: &ProcedureContext<'_>, settings: &Settings<'_>, sink: &mut RowSink<'_>) -> Result<()> {
        let (_, kept) = self.named(settings)?;
        lock(&kept).refresh(&self.means(context, settings)?)?;
        let count = lock(&kept).nodes.count;
        let _rows = Held::take(context.workspace, "algo.kept", count * ROW_BYTES)?;
        let (nodes, values): (Vec<NodeId>, ColumnData) = {
            let mut kept = lock(&kept);
            let Kept { nodes, state, .. } = &mut *kept;
            let id = |node: u32| NodeId(u64::from(node));
            match state {
                State::Components(components) => {
                    let names = components.names(nodes);
                    let values = names.iter().map(|&(_, name)| i64::from(name)).collect();
                    (names.iter().map(|&(node, _)| id(node)).collect(), ColumnData::Int(values))
                }
                State::Ranks(ranks) => {
                    let scores = ranks.scores(nodes);
                    let values = scores.iter().map(|&(_, score)| score).collect();
                    (scores.iter().map(|&(node, _)| id(node)).collect(), ColumnData::Float(values))
                }
            }
        };
        let values = Column::new(values);
        for start in (0..nodes.len()).step_by(BATCH_ROWS) {
            let end = (start + BATCH_ROWS).min(nodes.len());
            if !sink(vec![node_column(nodes[start..end].iter().copied()), values.slice(start, end)])? {
                break;
            }
        }
        Ok(())
    }

    fn list(&self, context: &ProcedureContext<'_>, sink: &mut RowSink<'_>) -> Result<()> {
        let all: Vec<(String, Arc<Mutex<Kept>>)> =
            lock(&self.keeper.kept).iter().map(|(name, kept)| (name.clone(), kept.clone())).collect();
        let now = context.graph.view().topology();
        for (name, kept) in all {
            let kept = lock(&kept);
            let is_current = now.is_some_and(|now| kept.topology.is_some_and(|then| then.has_same_edges(&now)));
            let row = [
                Value::string(&name),
                Value::string(kept.definition.kind.name()),
                Value::Int(kept.nodes.count as i64),
                Value::Bool(is_current),
            ];
            send_row(sink, &row)?;
        }
        Ok(())
    }
}
