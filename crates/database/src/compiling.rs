//! Texts to statements: a plan from the cache, or one made now; and plans under a schema that does not exist.

use std::sync::Arc;

use cypher::ast::Maintenance;
use cypher::catalog::{Catalog, CompileContext};
use cypher::optimizer::OptimizerConfig;
use cypher::plan::{CopyPlan, CopyValue, HorizonId, Plan, PlanMode, Prefix, SourceStatement, Statement, explain};
use exec::Rests;
use model::limits::{PARALLEL_QUERY_BYTES_MAX, PLAN_CACHE_TEXT_BYTES_MAX};
use model::{Interrupt, ReadView, Result, Schema};

use crate::administration::Administration;
use crate::estimate::Expectation;
use crate::outlook::{Action, Outlook};
use crate::phases::{Phase, Stopwatch};
use crate::plan_cache::{Compiled, Facts, PlanCache, fingerprint};
use crate::statements::Statements;
use crate::trace::TraceKind;

/// The kind of statement that a string turned out to be.
pub(crate) enum Text {
    Query(Arc<Compiled>),
    Copy(Arc<CopyPlan>),
    Source(Arc<SourceStatement>),
    Administration(Arc<Administration>),
    Begin,
    Commit,
    Rollback,
    Maintenance(Arc<Maintenance<CopyValue>>),
}

impl Text {
    /// Kind of the event in a trace.
    pub(crate) fn trace_kind(&self) -> TraceKind {
        match self {
            Text::Begin => TraceKind::Begin,
            Text::Commit => TraceKind::Commit,
            Text::Rollback => TraceKind::Rollback,
            Text::Query(compiled) => TraceKind::of_action(compiled.outlook.action),
            Text::Copy(_) | Text::Source(_) | Text::Administration(_) | Text::Maintenance(_) => TraceKind::Other,
        }
    }

    pub(crate) fn outlook(&self) -> Outlook {
        match self {
            Text::Query(compiled) => compiled.outlook,
            Text::Copy(_) => Outlook::without_plan(Action::Copy),
            Text::Source(_) => Outlook::without_plan(Action::Attach),
            Text::Administration(_) => Outlook::without_plan(Action::Administration),
            Text::Begin | Text::Commit | Text::Rollback => Outlook::without_plan(Action::Transaction),
            Text::Maintenance(_) => Outlook::without_plan(Action::Maintenance),
        }
    }
}

/// The plan of a text on that view, from the cache or made now.
pub(crate) fn compile(
    (plans, statements): (&PlanCache, &Statements),
    catalog: &dyn Catalog,
    text: &str,
    view: &dyn ReadView,
    (facts, interrupt): (Facts, &Interrupt),
    watch: &Stopwatch,
) -> Result<Text> {
    let (schema, statistics) = (view.schema(), view.estimates());
    let basis = fingerprint(schema, statistics)
        .wrapping_add(u64::from(!facts.is_exact) + 2 * facts.generation)
        .wrapping_add(facts.tables);
    if let Some(compiled) = plans.get(text, basis) {
        watch.found_plan();
        return Ok(Text::Query(compiled));
    }
    let capabilities = view.capabilities();
    let context = CompileContext { catalog, schema, statistics, capabilities, interrupt, seen: &[] };
    let cypher::Compiled { statement, hints, parameters, times, .. } = plan_for_facts(text, &context, facts)?;
    watch.compiled(times);
    let (prefix, plan) = match statement {
        Statement::Copy(copy) => return Ok(Text::Copy(copy)),
        Statement::Source(statement) => return Ok(Text::Source(statement)),
        Statement::Administration(command) => return Ok(Text::Administration(command)),
        Statement::Begin => return Ok(Text::Begin),
        Statement::Commit => return Ok(Text::Commit),
        Statement::Rollback => return Ok(Text::Rollback),
        Statement::Maintenance(work) => return Ok(Text::Maintenance(work)),
        Statement::Query(prefix, plan) => (prefix, plan),
    };
    let prepared = watch.during(Phase::Prepare, || exec::prepare(&plan))?;
    let outlook = Outlook::of_plan(prefix, &plan);
    let is_parallel = text.len() <= PARALLEL_QUERY_BYTES_MAX;
    let (entry, shape) = (statements.entry(text), explain::shape(&plan));
    let expectation = if prefix == Prefix::None { Expectation::of(&plan, view) } else { None };
    let compiled = Compiled {
        prefix,
        outlook,
        names: plan.columns.iter().map(|(name, _)| name.clone()).collect(),
        plan,
        prepared,
        hints,
        parameters,
        is_parallel,
        entry,
        shape,
        facts,
        rests: Rests::default(),
        expectation,
    };
    let compiled = Arc::new(compiled);
    if text.len() <= PLAN_CACHE_TEXT_BYTES_MAX {
        plans.put(text, basis, compiled.clone());
    }
    Ok(Text::Query(compiled))
}

/// The plan of a text on a view as if it had another schema; `None` if it is no query. It is not to be run.
pub(crate) fn plan_under(
    text: &str,
    catalog: &dyn Catalog,
    view: &dyn ReadView,
    schema: &Schema,
    interrupt: &Interrupt,
) -> Result<Option<Arc<Plan>>> {
    let (statistics, capabilities) = (view.estimates(), view.capabilities());
    let context = CompileContext { catalog, schema, statistics, capabilities, interrupt, seen: &[] };
    match plan_for_facts(text, &context, Facts { is_exact: true, generation: 0, tables: 0 })?.statement {
        Statement::Query(_, plan) => Ok(Some(plan)),
        _ => Ok(None),
    }
}

/// The plan of a query once more, on a view and with numbers of rows that a run of it has come to.
pub(crate) fn plan_again(
    text: &str,
    catalog: &dyn Catalog,
    (view, facts, interrupt): (&dyn ReadView, Facts, &Interrupt),
    seen: &[(HorizonId, u64)],
) -> Result<Option<Arc<Plan>>> {
    let (schema, statistics, capabilities) = (view.schema(), view.estimates(), view.capabilities());
    let context = CompileContext { catalog, schema, statistics, capabilities, interrupt, seen };
    match plan_for_facts(text, &context, facts)?.statement {
        Statement::Query(_, plan) => Ok(Some(plan)),
        _ => Ok(None),
    }
}

/// A statement planned under the facts of a view.
///
/// A plan that only reads may rest on which labels all nodes carry, since the fingerprint covers that; a plan that
/// writes may end it on its way.
fn plan_for_facts(text: &str, context: &CompileContext<'_>, facts: Facts) -> Result<cypher::Compiled> {
    let default = OptimizerConfig::default();
    let eager = OptimizerConfig { covering_labels: facts.is_exact && context.capabilities.dense_node_ids, ..default };
    let compiled = cypher::compile_with(text, context, &eager)?;
    match &compiled.statement {
        Statement::Query(_, plan) if plan.mode != PlanMode::Read && compiled.bound_to_snapshot => {
            let again = cypher::compile_with(text, context, &default)?;
            Ok(cypher::Compiled { times: again.times.and(compiled.times), ..again })
        }
        _ => Ok(compiled),
    }
}
