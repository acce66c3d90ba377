//! `source.list`, `source.stats` and `source.forget`.

use std::sync::Arc;

use model::procedure::{
    ArgumentSpec, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec,
};
use model::{Result, Value, error};

use super::statement::{columns, list};
use crate::attachments::{Attachment, Attachments};

const fn column(name: &'static str, type_name: &'static str) -> YieldSpec {
    YieldSpec { name, type_name }
}

const LIST: &[YieldSpec] = &[
    column("name", "STRING"),
    column("url", "STRING"),
    column("labels", "LIST<STRING>"),
    column("relationshipTypes", "LIST<STRING>"),
    column("writable", "BOOLEAN"),
    column("prefetch", "STRING"),
    column("nodes", "INTEGER"),
    column("relationships", "INTEGER"),
];

const STATS: &[YieldSpec] = &[
    column("name", "STRING"),
    column("roundTrips", "INTEGER"),
    column("rowsFetched", "INTEGER"),
    column("rowsUsed", "INTEGER"),
    column("lookups", "INTEGER"),
    column("hits", "INTEGER"),
    column("hitRate", "FLOAT"),
    column("cacheBytes", "INTEGER"),
    column("cacheBytesMax", "INTEGER"),
    column("prefetch", "STRING"),
];

const FORGOTTEN: &[YieldSpec] = &[column("name", "STRING")];

const SOURCE: ArgumentSpec =
    ArgumentSpec { name: "source", type_name: "STRING", description: "The name of the source.", default: None };

const KIND: ArgumentSpec = ArgumentSpec {
    name: "kind",
    type_name: "STRING?",
    description: "The kind of nodes or relationships of its graph definition; all if left out.",
    default: Some(|| Value::Null),
};

#[derive(Clone, Copy)]
enum What {
    List,
    Stats,
    Forget,
}

/// A procedure about sources; of a database without any there are none to tell of.
struct OfSources {
    what: What,
    signature: ProcedureSignature,
    attachments: Option<Arc<Attachments>>,
}

/// The procedures about what is attached.
pub(crate) fn procedures(attachments: Option<Arc<Attachments>>) -> Vec<Arc<dyn Procedure>> {
    let make = |what, name, description, arguments, yields| -> Arc<dyn Procedure> {
        let mode = ProcedureMode::Read;
        let signature = ProcedureSignature { name, aliases: &[], description, mode, arguments, yields };
        Arc::new(OfSources { what, signature, attachments: attachments.clone() })
    };
    vec![
        make(What::List, "source.list", "The sources that are attached.", &[], LIST),
        make(What::Stats, "source.stats", "What sources were asked, and what of it was cached.", &[], STATS),
        make(
            What::Forget,
            "source.forget",
            "Forgets what is cached of a source, so that it is read anew.",
            &[SOURCE, KIND],
            FORGOTTEN,
        ),
    ]
}

/// Forgets what is cached of a source, or of one of its kinds.
pub(super) fn forget(attachments: &Attachments, name: &str, kind: Option<&str>) -> Result<()> {
    let now = attachments.now();
    let Some(database) = &now.source(name)?.database else { return Ok(()) };
    match kind {
        None => database.forget(),
        Some(kind) if database.forget_kind(kind) => {}
        Some(kind) => {
            let definition = database.definition();
            let nodes = definition.nodes.iter().map(|kind| &*kind.name);
            let known: Vec<&str> = nodes.chain(definition.edges.iter().map(|kind| &*kind.name)).collect();
            return Err(error!(NotFound, "the source {name} has no kind {kind}")
                .with_remedy(format!("it has {}", known.join(", "))));
        }
    }
    Ok(())
}

fn listed(held: &Attachment) -> Vec<Value> {
    let prefetch = held.stats.as_ref().map_or(Value::Null, |stats| Value::string(&stats.prefetch));
    vec![
        Value::string(&held.name),
        Value::string(&held.url),
        list(&held.labels),
        list(&held.edge_types),
        Value::Bool(held.writes),
        prefetch,
        Value::Int(held.nodes as i64),
        Value::Int(held.edges as i64),
    ]
}

fn counted(held: &Attachment) -> Option<Vec<Value>> {
    let stats = held.stats.as_ref()?;
    let count = |count: u64| Value::Int(count as i64);
    Some(vec![
        Value::string(&held.name),
        count(stats.round_trips),
        count(stats.rows_fetched),
        count(stats.rows_used),
        count(stats.lookups),
        count(stats.hits),
        Value::Float(stats.hit_rate()),
        Value::Int(stats.cache_bytes as i64),
        Value::Int(stats.cache_bytes_max as i64),
        Value::string(&stats.prefetch),
    ])
}

impl Procedure for OfSources {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, _: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let Some(attachments) = &self.attachments else { return Ok(()) };
        let all = || attachments.now().sources().iter().map(|source| source.shown()).collect::<Result<Vec<_>>>();
        let rows: Vec<Vec<Value>> = match self.what {
            What::List => all()?.iter().map(listed).collect(),
            What::Stats => all()?.iter().filter_map(counted).collect(),
            What::Forget => {
                let Some(Value::String(name)) = arguments.first() else {
                    return Err(error!(Type, "source.forget takes the name of a source"));
                };
                let kind = if let Some(Value::String(kind)) = arguments.get(1) { Some(&**kind) } else { None };
                forget(attachments, name, kind)?;
                vec![vec![Value::string(name)]]
            }
        };
        if !rows.is_empty() {
            sink(columns(&rows, self.signature.yields.len()))?;
        }
        Ok(())
    }
}
