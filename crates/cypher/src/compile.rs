//! Text to statement: parse, bind, plan, optimise.

use std::sync::Arc;

use model::interrupt::check_this_thread;
use model::meter::worked_ns;
use model::{Result, Rule, Span, Value, error};

use crate::ast::{self, StatementKind, StatementMode};
use crate::binder::{Binder, Hint};
use crate::catalog::CompileContext;
use crate::optimizer::{self, OptimizerConfig};
use crate::parser;
use crate::plan::known_types::types_of;
use crate::plan::{
    CopyPlan, CopyValue, CopyWay, NewRule, Operator, OperatorId, OperatorKind, Plan, PlanMode, Prefix, RuleKind,
    SlotId, Statement,
};
use crate::planner::{Planner, Subqueries};

mod copied;
mod source;
mod table;

/// A statement with what is known about it besides.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The statement.
    pub statement: Statement,
    /// Hints at parts that are probably not meant, though they are no errors.
    pub hints: Vec<Hint>,
    /// The parameters that it needs, each with its first place.
    pub parameters: Vec<(Arc<str>, Span)>,
    /// The plan is right only for the snapshot whose statistics were given, so it must not be kept for another.
    pub bound_to_snapshot: bool,
    /// Time that it took.
    pub times: CompileTimes,
}

/// Nanoseconds of the phases of a compilation, by the clock of the statement that it belongs to; 0 without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileTimes {
    /// Text to syntax tree.
    pub parse_ns: u64,
    /// Names to what they mean; the subqueries of expressions are planned here, too.
    pub bind_ns: u64,
    /// Choice of operators and their order.
    pub plan_ns: u64,
}

impl CompileTimes {
    /// The times of two compilations together.
    #[must_use]
    pub fn and(self, other: CompileTimes) -> CompileTimes {
        CompileTimes {
            parse_ns: self.parse_ns + other.parse_ns,
            bind_ns: self.bind_ns + other.bind_ns,
            plan_ns: self.plan_ns + other.plan_ns,
        }
    }
}

/// Compiles one statement.
pub fn compile(text: &str, context: &CompileContext<'_>) -> Result<Statement> {
    compile_with(text, context, &OptimizerConfig::default()).map(|compiled| compiled.statement)
}

/// Compiles one statement with a choice of optimiser rules, and tells what is known about it besides.
pub fn compile_with(text: &str, context: &CompileContext<'_>, config: &OptimizerConfig) -> Result<Compiled> {
    let began = worked_ns();
    let statement = parser::parse(text)?;
    let parse_ns = worked_ns().saturating_sub(began);
    let compiled = compile_parsed(text, &statement, context, config)?;
    Ok(Compiled { times: CompileTimes { parse_ns, ..compiled.times }, ..compiled })
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
    let plain = |statement| Compiled {
        statement,
        hints: Vec::new(),
        parameters: Vec::new(),
        bound_to_snapshot: false,
        times: CompileTimes::default(),
    };
    let schema_plan = |plan: Plan| plain(Statement::Query(prefix, Arc::new(plan)));
    match &statement.kind {
        StatementKind::Query(query) => compile_query(text, query, prefix, context, config),
        StatementKind::CreateConstraint(constraint) => {
            let ast::CreateConstraint { name, if_not_exists, pattern, properties, rule } = constraint;
            let rule = new_rule(name.as_ref(), pattern, properties, Some(*rule));
            Ok(schema_plan(change_plan(OperatorKind::CreateRule { rule, if_not_exists: *if_not_exists })))
        }
        StatementKind::CreateIndex(ast::CreateIndex { name, if_not_exists, pattern, properties }) => {
            let rule = new_rule(name.as_ref(), pattern, properties, None);
            Ok(schema_plan(change_plan(OperatorKind::CreateRule { rule, if_not_exists: *if_not_exists })))
        }
        StatementKind::DropConstraint(rule) => Ok(schema_plan(drop_rule(RuleKind::Constraint, rule))),
        StatementKind::DropIndex(rule) => Ok(schema_plan(drop_rule(RuleKind::Index, rule))),
        StatementKind::CreateSortKey(sort_key) => Ok(schema_plan(create_sort_key(sort_key))),
        StatementKind::DropSortKey(sort_key) => {
            let edge_type = Arc::from(sort_key.edge_type.text.as_str());
            let kind = OperatorKind::DropSortKey { edge_type, if_exists: sort_key.if_exists };
            Ok(schema_plan(change_plan(kind)))
        }
        StatementKind::CreateTable(table) => Ok(schema_plan(table::create(table))),
        StatementKind::AlterTable(table) => Ok(schema_plan(table::alter(table, context)?)),
        StatementKind::Copy(ast::Copy { way: ast::CopyWay::FromQuery { name, query }, options }) => {
            let query = copied::into_graph(text, name, query, options, context)?;
            compile_query(text, &query, prefix, context, config)
        }
        StatementKind::Copy(copy) if prefix == Prefix::None => {
            Ok(plain(Statement::Copy(Arc::new(copy_plan(text, copy)))))
        }
        StatementKind::Copy(_) => {
            Err(no_plan("COPY has", statement.span).with_remedy("explain the query that is copied"))
        }
        StatementKind::Attach(_) | StatementKind::Detach(_) | StatementKind::Preload(_) if prefix != Prefix::None => {
            Err(no_plan("ATTACH, DETACH and PRELOAD have", statement.span)
                .with_remedy("explain the queries that read the source"))
        }
        StatementKind::Attach(attach) => Ok(plain(Statement::Source(Arc::new(source::attach(attach))))),
        StatementKind::Detach(detach) => Ok(plain(Statement::Source(Arc::new(source::detach(detach))))),
        StatementKind::Preload(preload) => Ok(plain(Statement::Source(Arc::new(source::preload(text, preload))))),
        StatementKind::Administration(command) if prefix != Prefix::None => {
            Err(no_plan(&format!("{} has", command.verb()), statement.span))
        }
        StatementKind::Administration(command) => Ok(plain(Statement::Administration(Arc::new(command.clone())))),
        StatementKind::Begin => Ok(plain(Statement::Begin)),
        StatementKind::Commit => Ok(plain(Statement::Commit)),
        StatementKind::Rollback => Ok(plain(Statement::Rollback)),
        StatementKind::Maintenance(work) if prefix != Prefix::None => {
            Err(no_plan(&format!("{} has", work.verb()), statement.span))
        }
        StatementKind::Maintenance(work) => Ok(plain(Statement::Maintenance(Arc::new(work.map(copy_value))))),
    }
}

/// The error of a statement before which `EXPLAIN` or `PROFILE` stands.
fn no_plan(subject: &str, span: Span) -> model::Error {
    error!(Unsupported, "{subject} no plan to show").at(span)
}

fn compile_query(
    text: &str,
    query: &ast::Query,
    prefix: Prefix,
    context: &CompileContext<'_>,
    config: &OptimizerConfig,
) -> Result<Compiled> {
    let subqueries = Subqueries { context, config };
    let began = worked_ns();
    let mut binder = Binder::new(text, context, &subqueries);
    let bound = binder.query(query)?;
    let mut hints = binder.finish_hints();
    let (mode, parameters) = (binder.mode, std::mem::take(&mut binder.parameters));
    let mut slots = binder.slots;
    let columns = bound.columns.clone();
    let bound_at = worked_ns();
    let mut planner = Planner::new(context, config, &mut slots);
    let mut root = planner.union(bound)?;
    hints.append(&mut planner.unmet);
    let outputs: Vec<SlotId> = columns.iter().map(|(_, slot)| *slot).collect();
    let column_types = types_of(&root, &outputs, context, mode).into();
    let rules = (config, &subqueries as _);
    let (bound_to_snapshot, horizons) = optimizer::optimize(&mut root, &outputs, &mut slots, context, rules, mode);
    // The rules give up early if the statement is to stop.
    check_this_thread()?;
    let plan = Plan { root, columns, column_types, slots: slots.into_infos(), mode, horizons };
    let (bind_ns, plan_ns) = (bound_at.saturating_sub(began), worked_ns().saturating_sub(bound_at));
    let times = CompileTimes { parse_ns: 0, bind_ns, plan_ns };
    Ok(Compiled { statement: Statement::Query(prefix, Arc::new(plan)), hints, parameters, bound_to_snapshot, times })
}

fn copy_plan(text: &str, copy: &ast::Copy) -> CopyPlan {
    let way = match &copy.way {
        ast::CopyWay::From { name, files } => {
            CopyWay::From { name: Arc::from(name.text.as_str()), files: files.iter().map(copy_value).collect() }
        }
        // A query is compiled as one, so only files come here.
        ast::CopyWay::FromQuery { name, .. } => {
            CopyWay::From { name: Arc::from(name.text.as_str()), files: Vec::new() }
        }
        ast::CopyWay::To { query, file } => {
            let Span { start, end } = query.span;
            CopyWay::To { query: Arc::from(&text[start as usize..end as usize]), start, file: copy_value(file) }
        }
    };
    let option = |option: &ast::CopyOption| {
        (Arc::from(option.name.text.to_lowercase()), copy_value(&option.value), option.name.span)
    };
    CopyPlan { way, options: copy.options.iter().map(option).collect() }
}

fn copy_value(value: &ast::Expression) -> CopyValue {
    match &value.kind {
        ast::ExpressionKind::Parameter(name) => CopyValue::Parameter(Arc::from(name.as_str())),
        ast::ExpressionKind::String(text) => CopyValue::Literal(Value::string(text)),
        ast::ExpressionKind::Integer(number) => CopyValue::Literal(Value::Int(*number)),
        ast::ExpressionKind::Float(number) => CopyValue::Literal(Value::Float(*number)),
        ast::ExpressionKind::Boolean(is_so) => CopyValue::Literal(Value::Bool(*is_so)),
        _ => CopyValue::Literal(Value::Null),
    }
}

fn root(kind: OperatorKind) -> Operator {
    Operator { id: OperatorId(0), estimated_rows: 0.0, kind }
}

fn change_plan(kind: OperatorKind) -> Plan {
    let (columns, column_types) = (Vec::new(), Arc::default());
    Plan { root: root(kind), columns, column_types, slots: Vec::new(), mode: PlanMode::Schema, horizons: Vec::new() }
}

fn new_rule(
    name: Option<&ast::Name>,
    pattern: &ast::RulePattern,
    properties: &[ast::Name],
    rule: Option<Rule>,
) -> NewRule {
    let subject = Arc::from(pattern.subject.text.as_str());
    let keys: Vec<Arc<str>> = properties.iter().map(|property| Arc::from(property.text.as_str())).collect();
    let kind = match rule {
        None => "index",
        Some(Rule::Unique) => "unique",
        Some(Rule::Key) => "key",
        Some(Rule::Exists) => "exists",
        Some(Rule::Type(_)) => "type",
        Some(Rule::Ends { .. }) => "ends",
    };
    let name = match name {
        Some(name) => Arc::from(name.text.as_str()),
        None => Arc::from(format!("{kind}_{subject}_{}", keys.join("_"))),
    };
    NewRule { name, subject, on_edges: pattern.on_edges, keys, rule }
}

fn drop_rule(kind: RuleKind, rule: &ast::DropRule) -> Plan {
    let name = Arc::from(rule.name.text.as_str());
    change_plan(OperatorKind::DropRule { kind, name, if_exists: rule.if_exists })
}

fn create_sort_key(sort_key: &ast::CreateSortKey) -> Plan {
    let edge_type = Arc::from(sort_key.edge_type.text.as_str());
    let keys = sort_key.properties.iter().map(|property| Arc::from(property.text.as_str())).collect();
    change_plan(OperatorKind::CreateSortKey { edge_type, keys, if_not_exists: sort_key.if_not_exists })
}
