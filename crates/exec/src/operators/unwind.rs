//! `Unwind`: for each row, one for each element of a list; null is an empty list, another value a list of itself.

use std::sync::Arc;

use cypher::plan::{Expression, Operator, SlotId};
use model::{Column, ColumnBuilder, Result, Value};

use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::rows::gather_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Unwind {
    input: Step,
    list: CompiledExpression,
    keep: Vec<usize>,
    /// Whether anybody reads the elements.
    gives_elements: bool,
}

/// Lowers `Unwind`.
pub(crate) fn lower(
    lowering: &mut Lowering,
    input: &Operator,
    list: &Expression,
    slot: SlotId,
    demand: &Demand,
) -> Result<Lowered> {
    let (input, layout) = lowering.lower(input, &demand.clone().without([&slot]).and_expression(list))?;
    let list = lowering.compile(list, &layout)?;
    let (keep, mut layout) = keep(&layout, demand);
    let gives_elements = demand.slots.contains(&slot);
    if gives_elements {
        layout.push(slot);
    }
    Ok((Box::new(Unwind { input, list, keep, gives_elements }), layout))
}

/// The elements on their way into a chunk, and the rows they came from.
#[derive(Default)]
struct Pending {
    rows: Vec<u32>,
    elements: ColumnBuilder,
}

impl Unwind {
    fn flush(&self, chunk: &Chunk, pending: &mut Pending, sink: &mut Sink<'_>) -> Result<Flow> {
        let Pending { rows, elements } = std::mem::take(pending);
        if rows.is_empty() {
            return Ok(Flow::Continue);
        }
        let mut columns = gather_columns(chunk, &self.keep, &rows);
        if self.gives_elements {
            columns.push(Arc::new(elements.finish()));
        }
        sink(Chunk { rows: rows.len(), columns })
    }

    fn push(&self, chunk: &Chunk, lists: &Column, batch_rows: usize, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut pending = Pending::default();
        for row in 0..chunk.rows {
            let value = lists.value(row);
            let elements: &[Value] = match &value {
                Value::Null => &[],
                Value::List(items) => items,
                other => std::slice::from_ref(other),
            };
            for part in elements.chunks(batch_rows) {
                pending.rows.extend(std::iter::repeat_n(row as u32, part.len()));
                if self.gives_elements {
                    part.iter().for_each(|element| pending.elements.push(element));
                }
                if pending.rows.len() >= batch_rows && self.flush(chunk, &mut pending, sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
        }
        self.flush(chunk, &mut pending, sink)
    }
}

impl Physical for Unwind {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let environment = &runtime.environment;
        self.input.run(scope, &mut |chunk| {
            let lists = {
                let view = runtime.view();
                self.list.evaluate(&chunk, &runtime.evaluation(&view))?
            };
            self.push(&chunk, &lists, environment.settings.batch_rows, &mut |chunk| {
                environment.interrupt.check()?;
                sink(chunk)
            })
        })
    }
}
