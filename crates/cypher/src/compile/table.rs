//! Tables of Kùzu and LadybugDB: the rules that `CREATE NODE TABLE`, `CREATE REL TABLE` and `ALTER TABLE` make and drop.

use std::sync::Arc;

use model::{Result, Rule, error};

use super::{change_plan, new_rule, root};
use crate::ast::{AlterTable, CreateTable, Name, RulePattern, TableChange};
use crate::catalog::CompileContext;
use crate::plan::{NewEnds, OperatorKind, Plan, RuleKind};

/// Plan that declares the labels that edges join, and a rule for each column: the key, and the types of all.
pub(super) fn create(table: &CreateTable) -> Plan {
    let if_not_exists = table.if_not_exists;
    let ends = table.on_edges.then(|| OperatorKind::DeclareEnds {
        edge_type: Arc::from(table.name.text.as_str()),
        ends: table.ends.iter().map(|ends| new_ends(&table.name, ends)).collect(),
        is_new: true,
        if_not_exists,
    });
    let key = table.key.iter().map(|key| (key, Rule::Key));
    let types = table.columns.iter().map(|column| (&column.name, Rule::Type(column.kind)));
    let rules =
        key.chain(types).map(|(property, rule)| rule_of(&table.name, table.on_edges, property, rule, if_not_exists));
    let branches = ends.into_iter().chain(rules).map(|kind| (root(kind), Vec::new())).collect();
    change_plan(OperatorKind::Union { branches, slots: Vec::new() })
}

/// The rule that is added to a table, or dropped from it.
pub(super) fn alter(table: &AlterTable, context: &CompileContext<'_>) -> Result<Plan> {
    let name = &table.name;
    Ok(change_plan(match &table.change {
        TableChange::AddColumn { if_not_exists, column } => {
            rule_of(name, is_of_edges(name, context)?, &column.name, Rule::Type(column.kind), *if_not_exists)
        }
        TableChange::AddEnds { if_not_exists, ends } => {
            check_type(name, context)?;
            let (edge_type, ends) = (Arc::from(name.text.as_str()), vec![new_ends(name, ends)]);
            OperatorKind::DeclareEnds { edge_type, ends, is_new: false, if_not_exists: *if_not_exists }
        }
        TableChange::DropEnds { if_exists, ends } => {
            check_type(name, context)?;
            let NewEnds { name, .. } = new_ends(name, ends);
            OperatorKind::DropRule { kind: RuleKind::Constraint, name, if_exists: *if_exists }
        }
    }))
}

fn rule_of(table: &Name, on_edges: bool, property: &Name, rule: Rule, if_not_exists: bool) -> OperatorKind {
    let variable = Name { text: "x".to_owned(), span: table.span };
    let pattern = RulePattern { variable, subject: table.clone(), on_edges };
    let rule = new_rule(None, &pattern, std::slice::from_ref(property), Some(rule));
    OperatorKind::CreateRule { rule, if_not_exists }
}

fn new_ends(table: &Name, (from, to): &(Name, Name)) -> NewEnds {
    let name = format!("ends_{}_{}_{}", table.text, from.text, to.text);
    NewEnds { name: Arc::from(name), from: Arc::from(from.text.as_str()), to: Arc::from(to.text.as_str()) }
}

/// True if the table of that name is one of edges.
fn is_of_edges(name: &Name, context: &CompileContext<'_>) -> Result<bool> {
    let (label, edge_type) = (context.schema.label(&name.text), context.schema.edge_type(&name.text));
    match (label.is_some(), edge_type.is_some()) {
        (true, false) => Ok(false),
        (false, true) => Ok(true),
        (true, true) => Err(error!(Semantic, "{} is a label and a relationship type too", name.text)
            .at(name.span)
            .with_remedy("write CREATE CONSTRAINT … FOR (n:…) or FOR ()-[r:…]-() REQUIRE … IS :: TYPE")),
        (false, false) => Err(error!(Semantic, "there is no table {}", name.text)
            .at(name.span)
            .with_remedy("write CREATE NODE TABLE or CREATE REL TABLE")),
    }
}

/// Fails if there is no relationship type of that name.
fn check_type(name: &Name, context: &CompileContext<'_>) -> Result<()> {
    match context.schema.edge_type(&name.text) {
        Some(_) => Ok(()),
        None => Err(error!(Semantic, "there is no relationship table {}", name.text)
            .at(name.span)
            .with_remedy("write CREATE REL TABLE")),
    }
}
