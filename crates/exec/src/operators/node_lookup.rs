//! `NodeLookup`: for each row, the nodes of a label whose property equals a value, by the index of a constraint.

use std::sync::Arc;

use cypher::plan::{LookupValue, Operator, OperatorKind, SlotId};
use model::{Column, ColumnBuilder, ColumnData, Result, Set, Value};

use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, keep, misplaced};
use crate::rows::pick_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct NodeLookup {
    input: LookupInput,
    label: Arc<str>,
    key: Arc<str>,
}

/// Input of an operator that binds a slot to the node or edge that a value of each row names.
pub(crate) struct LookupInput {
    pub(crate) rows: Step,
    pub(crate) value: Lookup,
    keep: Vec<usize>,
    gives_slot: bool,
}

/// A [`LookupValue`], compiled.
pub(crate) enum Lookup {
    One(CompiledExpression),
    Any(CompiledExpression),
}

impl Lookup {
    /// Compiles the value to look up.
    pub(crate) fn compile(lowering: &mut Lowering, value: &LookupValue, layout: &Layout) -> Result<Lookup> {
        Ok(match value {
            LookupValue::One(expression) => Lookup::One(lowering.compile(expression, layout)?),
            LookupValue::Any(expression) => Lookup::Any(lowering.compile(expression, layout)?),
        })
    }

    /// The values to look up, and for each the row it belongs to; `None` if there is one for each row, in order.
    pub(crate) fn values(&self, scope: Scope<'_, '_>, chunk: &Chunk) -> Result<(Arc<Column>, Option<Vec<u32>>)> {
        let view = scope.runtime.view();
        let context = scope.runtime.evaluation(&view);
        match self {
            Lookup::One(expression) => Ok((expression.evaluate(chunk, &context)?, None)),
            Lookup::Any(expression) => {
                let lists = expression.evaluate(chunk, &context)?;
                let mut rows = Vec::new();
                let mut values = ColumnBuilder::default();
                for (row, list) in lists.values().enumerate() {
                    let items = match &list {
                        Value::List(items) => items,
                        Value::Null => continue,
                        other => {
                            return Err(model::error!(Type, "IN needs a list, found {other} ({})", other.type_name()));
                        }
                    };
                    let mut seen = Set::default();
                    for item in items.iter().filter(|item| !item.is_null() && seen.insert(*item)) {
                        rows.push(row as u32);
                        values.push(item);
                    }
                }
                Ok((Arc::new(values.finish()), Some(rows)))
            }
        }
    }
}

/// The slots that the value to look up reads.
fn demand_of_lookup(demand: Demand, value: &LookupValue) -> Demand {
    match value {
        LookupValue::One(expression) | LookupValue::Any(expression) => demand.and_expression(expression),
    }
}

/// Lowers `NodeLookup`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::NodeLookup { input, slot, label, key, value } = kind else { return Err(misplaced(kind)) };
    let (input, layout) = LookupInput::lower(lowering, input, *slot, value, demand)?;
    Ok((Box::new(NodeLookup { input, label: label.clone(), key: key.clone() }), layout))
}

impl LookupInput {
    /// Lowers the input, and the value that names the node or edge of a slot; gives the layout of the rows too.
    pub(crate) fn lower(
        lowering: &mut Lowering,
        input: &Operator,
        slot: SlotId,
        value: &LookupValue,
        demand: &Demand,
    ) -> Result<(LookupInput, Layout)> {
        let (rows, layout) = lowering.lower(input, &demand_of_lookup(demand.clone().without([&slot]), value))?;
        let value = Lookup::compile(lowering, value, &layout)?;
        let (keep, mut layout) = keep(&layout, demand);
        let gives_slot = demand.slots.contains(&slot);
        if gives_slot {
            layout.push(slot);
        }
        Ok((LookupInput { rows, value, keep, gives_slot }, layout))
    }

    /// Joins the rows of a chunk with the nodes or edges found for them, leaving out those for which none was found.
    pub(crate) fn join(&self, chunk: &Chunk, found: Column, rows: Option<Vec<u32>>) -> Chunk {
        let hits: Option<Vec<u32>> = match (&found.data, &found.validity) {
            (ColumnData::Node(_) | ColumnData::Edge(_), None) => None,
            _ => Some((0..found.len() as u32).filter(|&index| !found.is_null(index as usize)).collect()),
        };
        let (found, rows) = match hits {
            None => (found, rows),
            Some(hits) => {
                let rows = match rows {
                    Some(rows) => hits.iter().map(|&hit| rows[hit as usize]).collect(),
                    None => hits.clone(),
                };
                (found.gather(&hits), Some(rows))
            }
        };
        let mut columns = pick_columns(chunk, &self.keep, rows.as_deref());
        let rows = found.len();
        if self.gives_slot {
            columns.push(Arc::new(Column::new(found.data)));
        }
        Chunk { rows, columns }
    }
}

impl Physical for NodeLookup {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        self.input.rows.run(scope, &mut |chunk| {
            runtime.environment.interrupt.check()?;
            let (values, rows) = self.input.value.values(scope, &chunk)?;
            let found = {
                let view = runtime.view();
                let schema = view.view().schema();
                match (schema.label(&self.label), schema.property_key(&self.key)) {
                    (Some(label), Some(key)) => view.view().lookup(label, key, &values)?,
                    _ => return Ok(Flow::Continue),
                }
            };
            let joined = self.input.join(&chunk, found, rows);
            if joined.rows == 0 { Ok(Flow::Continue) } else { sink(joined) }
        })
    }
}
