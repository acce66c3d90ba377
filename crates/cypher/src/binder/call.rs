//! `CALL procedure(…) YIELD …`.

use std::sync::Arc;

use model::procedure::{ProcedureMode, ProcedureSignature};
use model::suggestion;
use model::{Error, Result, Span, Value, error};

use super::scope::VariableKind;
use super::tree::{BoundCall, BoundClause, BoundQuery, BoundSubquery, BoundUnion};
use super::{Binder, kinds};
use crate::ast::{CallClause, Name, Yield, YieldItem};
use crate::plan::conditions::at;
use crate::plan::{Expression, ExpressionKind, SlotId, SlotKind};

/// The procedure that `LOAD CSV` is a call of.
const LOAD_CSV: &str = "db.loadCsv";
/// The procedure that `LOAD FROM` is a call of.
const LOAD_FROM: &str = "db.loadFrom";

impl Binder<'_> {
    pub(super) fn call(&mut self, call: &CallClause, span: Span, alone: bool, bound: &mut BoundQuery) -> Result<()> {
        let name = call.procedure.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(".");
        let name_span = call.procedure.iter().map(|part| part.span).reduce(Span::to).unwrap_or(span);
        let catalog = self.context.catalog;
        let signature = *catalog.procedure(&name).ok_or_else(|| self.unknown_procedure(&name, name_span))?;
        let arguments = match &call.arguments {
            Some(arguments) => {
                check_argument_count(&signature, arguments.len(), name_span)?;
                let bind = |argument| self.plain_expression(argument, "the arguments of a procedure");
                let bound = arguments.iter().map(bind).collect::<Result<Vec<_>>>()?;
                self.check_argument_types(&signature, &bound)?;
                bound
            }
            None if alone => {
                for argument in signature.arguments.iter().take_while(|argument| argument.default.is_none()) {
                    self.note_parameter(argument.name, name_span);
                }
                implicit_arguments(&signature, name_span)
            }
            None => {
                let error = error!(
                    Semantic::InvalidArgumentPassingMode,
                    "expected parentheses after the procedure {}", signature.name
                );
                return Err(error
                    .at(name_span)
                    .with_remedy("arguments are taken from parameters only if CALL is alone"));
            }
        };
        let arguments = fill_defaults(&signature, arguments, span);
        let mut yields = match signature.name {
            LOAD_FROM => self.table_columns(&arguments, name_span)?,
            _ => self.yields(call, &signature, alone, name_span, bound)?,
        };
        if signature.name == LOAD_CSV {
            let (line, file) = (self.slots.unnamed(SlotKind::Any), self.slots.unnamed(SlotKind::Any));
            for (column, slot) in [("line", line), ("file", file)] {
                yields.extend(signature.yields.iter().position(|of| of.name == column).map(|index| (index, slot)));
            }
            self.scope.csv = Some((line, file));
        }
        if signature.mode == ProcedureMode::Write {
            self.require_write();
        }
        let writes = signature.mode == ProcedureMode::Write;
        let procedure = Arc::from(signature.name);
        let is_named = |slot: &SlotId| self.scope.csv.is_none_or(|(line, file)| *slot != line && *slot != file);
        let named = yields.iter().map(|(_, slot)| *slot).filter(is_named);
        let columns = named.map(|slot| (Arc::from(self.slots.name(slot)), slot)).collect();
        let mut clauses = vec![BoundClause::Call(BoundCall { procedure, arguments, yields, span, writes })];
        if let Yield::Items { predicate: Some(predicate), .. } = &call.results {
            let predicate = self.plain_predicate(predicate, "WHERE")?;
            clauses.push(BoundClause::Filter(predicate));
        }
        if call.optional {
            let part = BoundQuery { clauses, columns };
            let columns = part.columns.clone();
            let query = BoundUnion { parts: vec![part], all: false, columns };
            let (imports, is_unit) = (Vec::new(), false);
            let subquery = BoundSubquery { query, imports, optional: true, writes, is_unit, batches: None };
            clauses = vec![BoundClause::Subquery(subquery)];
        }
        bound.clauses.append(&mut clauses);
        Ok(())
    }

    fn check_argument_types(&self, signature: &ProcedureSignature, arguments: &[Expression]) -> Result<()> {
        for (spec, argument) in signature.arguments.iter().zip(arguments) {
            let found = kinds::known_type(&self.scope, &self.slots, argument);
            if let Some(found) = found.filter(|found| !spec.accepts(found.name)) {
                return Err(spec.mismatch(signature.name, found.name).at(argument.span));
            }
        }
        Ok(())
    }

    fn unknown_procedure(&self, name: &str, span: Span) -> Error {
        let error = error!(UnknownProcedure, "unknown procedure `{name}`").at(span);
        match suggestion::did_you_mean(name, self.context.catalog.procedure_names()) {
            Some(remedy) => error.with_remedy(remedy),
            None => error,
        }
    }

    fn yields(
        &mut self,
        call: &CallClause,
        signature: &ProcedureSignature,
        alone: bool,
        span: Span,
        bound: &mut BoundQuery,
    ) -> Result<Vec<(usize, SlotId)>> {
        let mut yields = Vec::new();
        match &call.results {
            Yield::Items { items, .. } => {
                for item in items {
                    let index = find_column(signature, item)?;
                    let name = item.alias.as_ref().unwrap_or(&item.column);
                    yields.push((index, self.declare_yield(signature, index, name)?));
                }
            }
            Yield::Absent if !alone && !signature.yields.is_empty() => {
                let columns: Vec<&str> = signature.yields.iter().map(|column| column.name).collect();
                let error =
                    error!(Semantic::UndefinedVariable, "expected YIELD after the procedure {}", signature.name)
                        .at(span);
                return Err(error.with_remedy(format!("write YIELD {}", columns.join(", "))));
            }
            Yield::All if !alone => {
                let error =
                    error!(Semantic::UnexpectedSyntax, "YIELD * can be used only if CALL is the whole query").at(span);
                return Err(error.with_remedy("name the columns after YIELD"));
            }
            Yield::Absent | Yield::All => {
                for (index, column) in signature.yields.iter().enumerate() {
                    let name = Name { text: column.name.to_string(), span };
                    yields.push((index, self.declare_yield(signature, index, &name)?));
                }
            }
        }
        if alone {
            bound.columns = yields.iter().map(|(_, slot)| (Arc::from(self.slots.name(*slot)), *slot)).collect();
        }
        Ok(yields)
    }

    /// The columns of the table that the argument names, each a variable.
    fn table_columns(&mut self, arguments: &[Expression], span: Span) -> Result<Vec<(usize, SlotId)>> {
        let Some(ExpressionKind::Literal(Value::String(table))) = arguments.first().map(|argument| &argument.kind)
        else {
            return Err(error!(Semantic, "the name of a table must be written out").at(span));
        };
        let Some(columns) = self.context.catalog.table_columns(table) else {
            let error = error!(Semantic::UndefinedVariable, "there is no table with the name {table}").at(span);
            let known = self.context.catalog.table_names();
            return Err(match suggestion::did_you_mean(table, known) {
                Some(remedy) => error.with_remedy(remedy),
                None => {
                    error.with_remedy("LOAD FROM reads tables of the program that asks; a file is read by LOAD CSV")
                }
            });
        };
        let declare = |(index, column): (usize, &Arc<str>)| {
            let name = Name { text: column.to_string(), span };
            self.check_new(&name)?;
            let slot = self.slots.named(column, SlotKind::Any);
            self.scope.declare(column, slot, VariableKind::Any);
            Ok((index, slot))
        };
        columns.iter().enumerate().map(declare).collect()
    }

    fn declare_yield(&mut self, signature: &ProcedureSignature, index: usize, name: &Name) -> Result<SlotId> {
        self.check_new(name)?;
        let kind = match signature.yields[index].type_name {
            "NODE" => VariableKind::Node,
            "RELATIONSHIP" => VariableKind::Edge,
            "PATH" => VariableKind::Path,
            _ => VariableKind::Any,
        };
        let slot_kind = if kind == VariableKind::Any { SlotKind::Any } else { kind.slot_kind() };
        let slot = self.slots.named(&name.text, slot_kind);
        self.scope.declare(&name.text, slot, kind);
        Ok(slot)
    }
}

fn find_column(signature: &ProcedureSignature, item: &YieldItem) -> Result<usize> {
    let wanted = item.column.text.as_str();
    signature.yields.iter().position(|column| column.name == wanted).ok_or_else(|| {
        let columns: Vec<&str> = signature.yields.iter().map(|column| column.name).collect();
        let error = error!(Semantic::UndefinedVariable, "procedure {} yields no column `{wanted}`", signature.name)
            .at(item.column.span);
        match suggestion::did_you_mean(wanted, columns.iter().copied()) {
            Some(remedy) => error.with_remedy(remedy),
            None if columns.is_empty() => error.with_remedy("it yields nothing"),
            None => error.with_remedy(format!("it yields {}", columns.join(", "))),
        }
    })
}

fn check_argument_count(signature: &ProcedureSignature, found: usize, span: Span) -> Result<()> {
    let max = signature.arguments.len();
    let min = signature.arguments.iter().rposition(|argument| argument.default.is_none()).map_or(0, |last| last + 1);
    if (min..=max).contains(&found) {
        return Ok(());
    }
    let names: Vec<&str> = signature.arguments.iter().map(|argument| argument.name).collect();
    let count = if min == max { format!("{min}") } else { format!("{min} to {max}") };
    let plural = if min == 1 && max == 1 { "argument" } else { "arguments" };
    let error = error!(
        Semantic::InvalidNumberOfArguments,
        "procedure {} takes {count} {plural}, found {found}", signature.name
    )
    .at(span);
    Err(if names.is_empty() { error } else { error.with_remedy(format!("it takes {}", names.join(", "))) })
}

/// Parameters of the same names as the arguments.
fn implicit_arguments(signature: &ProcedureSignature, span: Span) -> Vec<Expression> {
    let required = signature.arguments.iter().take_while(|argument| argument.default.is_none());
    required.map(|argument| at(span, ExpressionKind::Parameter(Arc::from(argument.name)))).collect()
}

fn fill_defaults(signature: &ProcedureSignature, mut arguments: Vec<Expression>, span: Span) -> Vec<Expression> {
    for argument in signature.arguments.iter().skip(arguments.len()) {
        let value = argument.default.map_or(model::Value::Null, |default| default());
        arguments.push(at(span, ExpressionKind::Literal(value)));
    }
    arguments
}
