//! `WITH` and `RETURN`: columns, grouping, order, and what can be seen after them.

use std::sync::Arc;

use model::{Error, ErrorDetail, Result, Set, Span, error};

use super::expression::Wanted;
use super::grouping::{self, Visible};
use super::scope::{Scope, Variable, VariableKind};
use super::tree::{BoundClause, BoundProjection, BoundQuery, Grouping};
use super::{Aggregation, Binder, kinds};
use crate::ast::{self, ExpressionKind as Ast, Projection, ProjectionItem};
use crate::plan::conditions::at;
use crate::plan::{Aggregate, Expression, ExpressionKind, SlotId, SortKey};

/// Place of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    With,
    Return,
    /// The `RETURN` of a subquery whose columns become variables.
    Inner,
}

/// A column before it is known whether rows are grouped.
struct Column {
    name: Arc<str>,
    value: Expression,
    kind: VariableKind,
    aggregates: bool,
}

/// A column with its slot.
struct Output {
    name: Arc<str>,
    slot: SlotId,
    kind: VariableKind,
    /// Its value before grouping, by which `ORDER BY` may name it.
    value: Expression,
}

impl Binder<'_> {
    pub(super) fn projection(
        &mut self,
        projection: &Projection,
        position: Position,
        bound: &mut BoundQuery,
    ) -> Result<()> {
        let outer = std::mem::replace(&mut self.aggregation, Aggregation::Collecting(Vec::new()));
        let (columns, unnamed) = self.columns(projection, position)?;
        let is_grouped = columns.iter().any(|column| column.aggregates);
        let (outputs, keys, items) = self.outputs(columns, is_grouped)?;
        let before = self.scope.clone();
        self.scope = overlay(&before, &outputs);
        let visibility = if is_grouped {
            Visible::Groups
        } else if projection.distinct {
            Visible::Outputs
        } else {
            Visible::All
        };
        let order = self.order(&projection.order, &outputs, &keys, visibility)?;
        // That columns cannot be named comes after what is wrong with their values.
        unnamed.map_or(Ok(()), Err)?;
        if projection.distinct {
            // Aggregates that are no columns are gone after DISTINCT.
            order.iter().try_for_each(|key| self.check_outputs(&key.expression, &outputs))?;
        }
        let predicate = match &projection.predicate {
            Some(predicate) => {
                let value = self.plain_predicate(predicate, "WHERE")?;
                Some(self.after_projection(value, &outputs, &keys, visibility)?)
            }
            None => None,
        };
        let found = std::mem::replace(&mut self.aggregation, outer);
        let aggregates = if let Aggregation::Collecting(aggregates) = found { aggregates } else { Vec::new() };
        let skip = projection.skip.as_ref().map(|count| self.row_count(count, "SKIP")).transpose()?;
        let limit = projection.limit.as_ref().map(|count| self.row_count(count, "LIMIT")).transpose()?;
        bound.columns = match position {
            Position::With => Vec::new(),
            _ => outputs.iter().map(|output| (output.name.clone(), output.slot)).collect(),
        };
        let variable = |output: Output| (output.name, Variable { slot: output.slot, kind: output.kind });
        self.scope = before.after_projection(outputs.into_iter().map(variable).collect());
        bound.clauses.push(BoundClause::Project(BoundProjection {
            grouping: is_grouped.then_some(Grouping { keys, aggregates }),
            items,
            distinct: projection.distinct,
            order,
            skip,
            limit,
            predicate,
        }));
        Ok(())
    }

    /// The columns as written, those of `*` first, and the error about the first that has no name but needs one.
    fn columns(&mut self, projection: &Projection, position: Position) -> Result<(Vec<Column>, Option<Error>)> {
        let mut columns = Vec::new();
        let mut unnamed = None;
        if let Some(span) = projection.star {
            let visible = self.scope.visible();
            if visible.is_empty() && position != Position::With {
                let error =
                    error!(Semantic::NoVariablesInScope, "RETURN * has nothing to return: no variable is in scope")
                        .at(span);
                return Err(error.with_remedy("name what to return"));
            }
            for (name, variable) in visible {
                let value = at(span, ExpressionKind::Slot(variable.slot));
                columns.push(Column { name, value, kind: variable.kind, aggregates: false });
            }
        }
        let mut names: Set<Arc<str>> = columns.iter().map(|column: &Column| column.name.clone()).collect();
        for item in &projection.items {
            let name = self.column_name(item, position).unwrap_or_else(|error| {
                unnamed.get_or_insert(error);
                Arc::from(self.source(item.span))
            });
            self.check_not_imported(&name, item, position)?;
            if !names.insert(name.clone()) {
                let error = error!(Semantic::ColumnNameConflict, "column `{name}` is there twice").at(item.span);
                return Err(error.with_remedy("give one of them another name with AS"));
            }
            let count = self.aggregate_count();
            let value = self.bind(&item.expression, Wanted::Value)?;
            let aggregates = self.aggregate_count() > count || uses_aggregate(&value, self.aggregates());
            let kind = self.scope.kind_of(&value);
            columns.push(Column { name, value, kind, aggregates });
        }
        Ok((columns, unnamed))
    }

    fn column_name(&self, item: &ProjectionItem, position: Position) -> Result<Arc<str>> {
        if let Some(alias) = &item.alias {
            return Ok(Arc::from(alias.text.as_str()));
        }
        match &item.expression.kind {
            Ast::Variable(name) => Ok(Arc::from(name.as_str())),
            _ if position != Position::Return => {
                let place = if position == Position::With { "WITH" } else { "RETURN of a subquery" };
                let error = error!(Semantic::NoExpressionAlias, "an expression in {place} needs a name")
                    .at(item.expression.span);
                Err(error.with_remedy("add AS and a name"))
            }
            _ => Ok(Arc::from(self.source(item.span))),
        }
    }

    /// A variable of the query around a subquery keeps its meaning throughout it.
    fn check_not_imported(&self, name: &str, item: &ProjectionItem, position: Position) -> Result<()> {
        let is_itself = matches!(&item.expression.kind, Ast::Variable(variable) if variable == name);
        if position != Position::With || is_itself || self.scope.imports(name).is_none() {
            return Ok(());
        }
        let error = error!(Semantic, "variable `{name}` is already declared outside of the subquery").at(item.span);
        Err(error.with_remedy("give it another name with AS"))
    }

    fn aggregates(&self) -> &[Aggregate] {
        if let Aggregation::Collecting(aggregates) = &self.aggregation { aggregates } else { &[] }
    }

    fn aggregate_count(&self) -> usize {
        self.aggregates().len()
    }

    /// Gives each column a slot; if rows are grouped, those without aggregates become keys.
    #[allow(clippy::type_complexity, reason = "three lists that belong together for one caller")]
    fn outputs(
        &mut self,
        columns: Vec<Column>,
        is_grouped: bool,
    ) -> Result<(Vec<Output>, Vec<(SlotId, Expression)>, Vec<(SlotId, Expression)>)> {
        let mut taken: Set<SlotId> = Set::default();
        let mut outputs = Vec::with_capacity(columns.len());
        let mut aggregated = Vec::with_capacity(columns.len());
        for column in columns {
            let slot = self.output_slot(&column, is_grouped, &mut taken);
            self.slots.know(slot, kinds::known_type(&self.scope, &self.slots, &column.value));
            aggregated.push(column.aggregates);
            outputs.push(Output { name: column.name, slot, kind: column.kind, value: column.value });
        }
        let pairs = outputs.iter().zip(&aggregated);
        let keys: Vec<(SlotId, Expression)> = pairs
            .filter(|(_, aggregated)| is_grouped && !**aggregated)
            .map(|(output, _)| (output.slot, output.value.clone()))
            .collect();
        let aggregate_slots: Set<SlotId> = self.aggregates().iter().map(|aggregate| aggregate.slot).collect();
        let constants = self.with_imports(&keys);
        let mut items = Vec::with_capacity(outputs.len());
        for (output, aggregated) in outputs.iter().zip(&aggregated) {
            let mut value = output.value.clone();
            if *aggregated {
                grouping::use_keys(&mut value, &constants, &aggregate_slots, &self.slots)?;
            } else if is_grouped {
                value = at(value.span, ExpressionKind::Slot(output.slot));
            }
            items.push((output.slot, value));
        }
        Ok((outputs, keys, items))
    }

    /// Keys of groups, and what is the same for all rows of a subquery.
    fn with_imports(&self, keys: &[(SlotId, Expression)]) -> Vec<(SlotId, Expression)> {
        let mut all = keys.to_vec();
        let is_new = |slot: &SlotId| !keys.iter().any(|(key, _)| key == slot);
        let imports = self.scope.used_imports().into_iter().filter(is_new);
        all.extend(imports.map(|slot| (slot, at(Span::default(), ExpressionKind::Slot(slot)))));
        all
    }

    /// A variable that keeps its name keeps its slot, and so does an aggregate that stands alone.
    fn output_slot(&mut self, column: &Column, is_grouped: bool, taken: &mut Set<SlotId>) -> SlotId {
        if let ExpressionKind::Slot(slot) = column.value.kind {
            let is_aggregate = is_grouped && self.aggregates().iter().any(|aggregate| aggregate.slot == slot);
            let keeps_name = is_aggregate || self.slots.name(slot) == &*column.name;
            if keeps_name && taken.insert(slot) {
                if is_aggregate {
                    self.slots.rename(slot, &column.name);
                }
                return slot;
            }
        }
        self.slots.named(&column.name, column.kind.slot_kind())
    }

    fn order(
        &mut self,
        items: &[ast::SortItem],
        outputs: &[Output],
        keys: &[(SlotId, Expression)],
        visibility: Visible,
    ) -> Result<Vec<SortKey>> {
        let mut order = Vec::with_capacity(items.len());
        let projected = self.aggregate_count();
        for item in items {
            let value = if visibility == Visible::Groups {
                self.expression(&item.expression)?
            } else {
                self.plain_expression(&item.expression, "ORDER BY unless the columns aggregate too")?
            };
            let expression = self.after_projection(value, outputs, keys, visibility)?;
            order.push(SortKey { expression, descending: item.descending });
        }
        self.check_sorting_aggregates(projected, outputs, keys)?;
        Ok(order)
    }

    /// After grouping, an aggregate that is no column sees only columns and keys.
    fn check_sorting_aggregates(
        &self,
        projected: usize,
        outputs: &[Output],
        keys: &[(SlotId, Expression)],
    ) -> Result<()> {
        let named: Vec<(SlotId, &Expression)> = outputs.iter().map(|output| (output.slot, &output.value)).collect();
        for argument in self.aggregates()[projected..].iter().flat_map(|aggregate| &aggregate.arguments) {
            let seen = grouping::use_outputs_or_keys(&mut argument.clone(), &named, keys, &Set::default(), &self.slots);
            seen.map_err(|error| error.with_detail(ErrorDetail::UndefinedVariable))?;
        }
        Ok(())
    }

    /// Makes an expression after the columns use them, and checks that it sees nothing else where it must not.
    fn after_projection(
        &self,
        mut value: Expression,
        outputs: &[Output],
        keys: &[(SlotId, Expression)],
        visibility: Visible,
    ) -> Result<Expression> {
        let named: Vec<(SlotId, &Expression)> = outputs.iter().map(|output| (output.slot, &output.value)).collect();
        let aggregates: Set<SlotId> = self.aggregates().iter().map(|aggregate| aggregate.slot).collect();
        if visibility == Visible::Groups && uses_aggregate(&value, self.aggregates()) {
            let constants = self.with_imports(keys);
            grouping::use_outputs_or_keys(&mut value, &named, &constants, &aggregates, &self.slots)?;
        } else {
            grouping::use_outputs(&mut value, &named);
            if visibility != Visible::All {
                let aggregates = aggregates.iter().copied().chain(self.scope.used_imports()).collect();
                grouping::check_visible(&value, &named, &aggregates, visibility, &self.slots)?;
            }
        }
        Ok(value)
    }

    fn check_outputs(&self, value: &Expression, outputs: &[Output]) -> Result<()> {
        let named: Vec<(SlotId, &Expression)> = outputs.iter().map(|output| (output.slot, &output.value)).collect();
        let constants: Set<SlotId> = self.scope.used_imports().into_iter().collect();
        grouping::check_visible(value, &named, &constants, Visible::Outputs, &self.slots)
    }

    /// The number after `SKIP` or `LIMIT`.
    pub(super) fn row_count(&mut self, count: &ast::Expression, clause: &'static str) -> Result<Expression> {
        let scope = std::mem::take(&mut self.scope);
        if let Some(span) = variable_in(count, &scope) {
            self.scope = scope;
            let message = format!("{clause} cannot use a variable: its value must be the same for all rows");
            return Err(error!(Semantic::NonConstantExpression, "{message}")
                .at(span)
                .with_remedy("use a number or a parameter"));
        }
        let bound = self.plain_expression(count, clause);
        self.scope = scope;
        let bound = bound?;
        let mut detail = ErrorDetail::InvalidArgumentType;
        let found = match &bound.kind {
            ExpressionKind::Literal(model::Value::Int(count)) if *count >= 0 => return Ok(bound),
            ExpressionKind::Literal(value @ model::Value::Int(_)) => {
                detail = ErrorDetail::NegativeIntegerArgument;
                value.to_string()
            }
            ExpressionKind::Literal(value) => value.to_string(),
            ExpressionKind::Negate(value) if matches!(value.kind, ExpressionKind::Literal(_)) => {
                self.source(bound.span).to_string()
            }
            ExpressionKind::List(_) | ExpressionKind::Map(_) => self.source(bound.span).to_string(),
            _ => return Ok(bound),
        };
        let error = error!(Semantic, "expected a non-negative integer after {clause}, found {found}");
        Err(error.at(bound.span).with_detail(detail))
    }
}

/// Span of the first use of a variable of the scope, if there is one.
fn variable_in(expression: &ast::Expression, scope: &Scope) -> Option<Span> {
    if let Ast::Variable(name) = &expression.kind {
        return scope.find(name).map(|_| expression.span);
    }
    let mut found = None;
    expression.for_each_child(&mut |child| found = found.or_else(|| variable_in(child, scope)));
    found
}

fn uses_aggregate(value: &Expression, aggregates: &[Aggregate]) -> bool {
    let mut slots = Set::default();
    value.free_slots(&mut slots);
    aggregates.iter().any(|aggregate| slots.contains(&aggregate.slot))
}

/// After the columns, their names come before the variables they were made of.
fn overlay(before: &Scope, outputs: &[Output]) -> Scope {
    let mut scope = before.clone();
    for output in outputs {
        scope.declare(&output.name, output.slot, output.kind);
    }
    scope
}
