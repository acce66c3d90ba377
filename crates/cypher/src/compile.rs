//! Text to statement: parse, bind, plan, optimise.

use std::sync::Arc;

use model::{Result, error};

use crate::ast::{self, StatementKind, StatementMode};
use crate::binder::{Binder, Hint};
use crate::catalog::CompileContext;
use crate::optimizer::{self, OptimizerConfig};
use crate::parser;
use crate::plan::{Operator, OperatorId, OperatorKind, Plan, PlanMode, Prefix, SlotId, SlotInfo, SlotKind, Statement};
use crate::planner::Planner;

/// A statement with what is known about it besides.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The statement.
    pub statement: Statement,
    /// What is probably not meant, though it is no error.
    pub hints: Vec<Hint>,
    /// The plan is right only for the snapshot whose statistics were given, so it must not be kept for another.
    pub bound_to_snapshot: bool,
}

/// Compiles one statement.
pub fn compile(text: &str, context: &CompileContext<'_>) -> Result<Statement> {
    compile_with(text, context, &OptimizerConfig::default()).map(|compiled| compiled.statement)
}

/// Compiles one statement with a choice of optimiser rules, and tells what is known about it besides.
pub fn compile_with(text: &str, context: &CompileContext<'_>, config: &OptimizerConfig) -> Result<Compiled> {
    compile_parsed(text, &parser::parse(text)?, context, config)
}

/// Compiles one statement of a script; `text` is the whole script, from which it was parsed.
pub fn compile_parsed(
    text: &str,
    statement: &ast::Statement,
    context: &CompileContext<'_>,
    config: &OptimizerConfig,
) -> Result<Compiled> {
    let prefix = match statement.mode {
        StatementMode::Run => Prefix::None,
        StatementMode::Explain => Prefix::Explain,
        StatementMode::Profile => Prefix::Profile,
    };
    let plain = |statement| Compiled { statement, hints: Vec::new(), bound_to_snapshot: false };
    let schema_plan = |plan: Plan| plain(Statement::Query(prefix, Arc::new(plan)));
    match &statement.kind {
        StatementKind::Query(query) => compile_query(text, query, prefix, context, config),
        StatementKind::CreateConstraint(constraint) => Ok(schema_plan(create_constraint(constraint)?)),
        StatementKind::DropConstraint(constraint) => {
            let name = Arc::from(constraint.name.text.as_str());
            let kind = OperatorKind::DropConstraint { name, if_exists: constraint.if_exists };
            Ok(schema_plan(Plan { root: root(kind), columns: Vec::new(), slots: Vec::new(), mode: PlanMode::Schema }))
        }
        StatementKind::ShowConstraints => Ok(schema_plan(show_constraints())),
        StatementKind::Begin => Ok(plain(Statement::Begin)),
        StatementKind::Commit => Ok(plain(Statement::Commit)),
        StatementKind::Rollback => Ok(plain(Statement::Rollback)),
    }
}

fn compile_query(
    text: &str,
    query: &ast::Query,
    prefix: Prefix,
    context: &CompileContext<'_>,
    config: &OptimizerConfig,
) -> Result<Compiled> {
    let mut binder = Binder::new(text, context, config);
    let bound = binder.query(query)?;
    let hints = binder.finish_hints();
    let mode = binder.mode;
    let mut slots = binder.slots;
    let columns = bound.columns.clone();
    let mut root = Planner::new(context, config, &mut slots).union(bound)?;
    let outputs: Vec<SlotId> = columns.iter().map(|(_, slot)| *slot).collect();
    let bound_to_snapshot = optimizer::optimize(&mut root, &outputs, context, config, mode);
    let plan = Plan { root, columns, slots: slots.into_infos(), mode };
    Ok(Compiled { statement: Statement::Query(prefix, Arc::new(plan)), hints, bound_to_snapshot })
}

fn root(kind: OperatorKind) -> Operator {
    Operator { id: OperatorId(0), estimated_rows: 0.0, kind }
}

fn create_constraint(constraint: &ast::CreateConstraint) -> Result<Plan> {
    let [property] = constraint.properties.as_slice() else {
        let span = constraint.properties.get(1).map_or(constraint.label.span, |property| property.span);
        let found = constraint.properties.len();
        let error = error!(Unsupported, "a uniqueness constraint on {found} properties is not supported").at(span);
        return Err(error.with_remedy("make one property of the values, and a constraint on it"));
    };
    let (label, key) = (constraint.label.text.as_str(), property.text.as_str());
    let name = match &constraint.name {
        Some(name) => Arc::from(name.text.as_str()),
        None => Arc::from(format!("unique_{label}_{key}")),
    };
    let if_not_exists = constraint.if_not_exists;
    let kind = OperatorKind::CreateConstraint { name, label: Arc::from(label), key: Arc::from(key), if_not_exists };
    Ok(Plan { root: root(kind), columns: Vec::new(), slots: Vec::new(), mode: PlanMode::Schema })
}

fn show_constraints() -> Plan {
    let names = ["name", "label", "property"];
    let slots = names.map(|name| SlotInfo { name: Arc::from(name), kind: SlotKind::Any }).to_vec();
    let columns = names.iter().zip(0..).map(|(name, number)| (Arc::from(*name), SlotId(number))).collect();
    let kind = OperatorKind::ShowConstraints { name: SlotId(0), label: SlotId(1), key: SlotId(2) };
    Plan { root: root(kind), columns, slots, mode: PlanMode::Read }
}
