//! `Unwind`: for each row, one for each element of a list; null is an empty list, another value a list of itself.
//! The integers of a `range()` are made on the way, so that they need no memory and an end can come at any of them.

use std::sync::Arc;

use cypher::plan::{Expression, ExpressionKind, Operator, SlotId};
use model::{Column, ColumnBuilder, ColumnData, Result, Span, Value};

use crate::chunk::Chunk;
use crate::expression::{CompiledExpression, CompiledExpressions};
use crate::functions::Integers;
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::rows::gather_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Unwind {
    input: Step,
    source: Source,
    keep: Vec<usize>,
    /// True if the elements are read.
    gives_elements: bool,
}

/// The source of the elements.
enum Source {
    List(CompiledExpression),
    /// The arguments of a `range()` that stands there, and its place in the text.
    Range(CompiledExpressions, Span),
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
    let source = match &list.kind {
        ExpressionKind::Function { name, arguments } if &**name == "range" => {
            Source::Range(lowering.compile_all(arguments, &layout)?, list.span)
        }
        _ => Source::List(lowering.compile(list, &layout)?),
    };
    let (keep, mut layout) = keep(&layout, demand);
    let gives_elements = demand.slots.contains(&slot);
    if gives_elements {
        layout.push(slot);
    }
    Ok((Box::new(Unwind { input, source, keep, gives_elements }), layout))
}

/// Elements on their way into a column.
trait Elements: Default {
    fn into_column(self) -> Column;
}

impl Elements for ColumnBuilder {
    fn into_column(self) -> Column {
        self.finish()
    }
}

impl Elements for Vec<i64> {
    fn into_column(self) -> Column {
        Column::new(ColumnData::Int(self))
    }
}

/// The elements on their way into a chunk, and the rows they came from.
#[derive(Default)]
struct Pending<E> {
    rows: Vec<u32>,
    elements: E,
}

impl Unwind {
    fn flush<E: Elements>(&self, chunk: &Chunk, pending: &mut Pending<E>, sink: &mut Sink<'_>) -> Result<Flow> {
        let Pending { rows, elements } = std::mem::take(pending);
        if rows.is_empty() {
            return Ok(Flow::Continue);
        }
        let mut columns = gather_columns(chunk, &self.keep, &rows);
        if self.gives_elements {
            columns.push(Arc::new(elements.into_column()));
        }
        sink(Chunk { rows: rows.len(), columns })
    }

    fn push(&self, chunk: &Chunk, lists: &Column, batch_rows: usize, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut pending = Pending::<ColumnBuilder>::default();
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

    /// [`Unwind::push`] for the integers of a range, which need no list.
    fn push_ranges(
        &self,
        chunk: &Chunk,
        (arguments, span): (&[Arc<Column>], Span),
        batch_rows: usize,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let mut pending = Pending::<Vec<i64>>::default();
        for row in 0..chunk.rows {
            let values: Vec<Value> = arguments.iter().map(|argument| argument.value(row)).collect();
            if values.contains(&Value::Null) {
                continue;
            }
            let mut integers = Integers::of(&values).map_err(|error| error.at(span))?;
            loop {
                let wanted = batch_rows - pending.rows.len();
                let taken = integers.take(wanted);
                let is_last = taken.len() < wanted;
                pending.rows.extend(std::iter::repeat_n(row as u32, taken.len()));
                pending.elements.extend(taken);
                if is_last {
                    break;
                }
                if self.flush(chunk, &mut pending, sink)? == Flow::Stop {
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
        let (interrupt, batch_rows) = (&runtime.environment.interrupt, runtime.environment.settings.batch_rows);
        self.input.run(scope, &mut |chunk| {
            let mut sink = |chunk| {
                interrupt.check()?;
                sink(chunk)
            };
            match &self.source {
                Source::List(list) => {
                    let lists = list.evaluate(&chunk, &runtime.evaluation(&runtime.view()))?;
                    self.push(&chunk, &lists, batch_rows, &mut sink)
                }
                Source::Range(arguments, span) => {
                    let arguments = arguments.evaluate(&chunk, &runtime.evaluation(&runtime.view()))?;
                    self.push_ranges(&chunk, (&arguments, *span), batch_rows, &mut sink)
                }
            }
        })
    }
}
