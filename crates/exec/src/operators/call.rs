//! `Call`: for each row, the rows of a procedure.

use std::sync::Arc;

use cypher::plan::{OperatorKind, SlotId};
use model::procedure::{ArgumentSpec, Procedure, ProcedureMode, ProcedureSignature};
use model::{Column, Error, Result, Span, Value};

use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, keep, misplaced};
use crate::pushing::push_in_batches;
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::spill::RowStore;

struct Call {
    input: Step,
    procedure: Arc<str>,
    arguments: Vec<CompiledExpression>,
    yields: Vec<usize>,
    span: Span,
    keep: Vec<usize>,
}

/// Lowers `Call`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::Call { input, procedure, arguments, yields, span } = kind else { return Err(misplaced(kind)) };
    let slots: Vec<SlotId> = yields.iter().map(|(_, slot)| *slot).collect();
    let below = demand.clone().of_every_row().without(&slots);
    let below = arguments.iter().fold(below, |below, argument| below.and_expression(argument));
    let (input, layout) = lowering.lower(input, &below)?;
    let arguments = arguments.iter().map(|argument| lowering.compile(argument, &layout)).collect::<Result<_>>()?;
    let (keep, mut layout) = keep(&layout, demand);
    let mut wanted = Vec::new();
    for (column, slot) in yields.iter().filter(|(_, slot)| demand.slots.contains(slot)) {
        wanted.push(*column);
        layout.push(*slot);
    }
    let call = Call { input, procedure: procedure.clone(), arguments, yields: wanted, span: *span, keep };
    Ok((Box::new(call), layout))
}

impl Call {
    fn arguments(&self, scope: Scope<'_, '_>, chunk: &Chunk) -> Result<Vec<Arc<Column>>> {
        let view = scope.runtime.view();
        let context = scope.runtime.evaluation(&view);
        self.arguments.iter().map(|argument| argument.evaluate(chunk, &context)).collect()
    }

    /// Joins a row of the input with a batch of the procedure's rows.
    fn join(&self, kept: &[Arc<Column>], row: usize, batch: Vec<Column>) -> Result<Chunk> {
        let rows = batch.first().map_or(1, Column::len);
        let same = vec![row as u32; rows];
        let mut columns: Vec<Arc<Column>> = kept.iter().map(|column| Arc::new(column.gather(&same))).collect();
        let mut batch: Vec<Arc<Column>> = batch.into_iter().map(Arc::new).collect();
        for &column in &self.yields {
            let given = batch.get_mut(column).ok_or_else(|| {
                model::error!(Internal, "procedure {} gave no column {column}", self.procedure).at(self.span)
            })?;
            columns.push(Arc::clone(given));
        }
        Ok(Chunk { rows, columns })
    }

    /// Calls the procedure for each of `rows` rows of kept columns and of arguments.
    fn call(
        &self,
        scope: Scope<'_, '_>,
        procedure: &dyn Procedure,
        (rows, kept, arguments): (usize, &[Arc<Column>], &[Arc<Column>]),
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let mut flow = Flow::Continue;
        for row in 0..rows {
            scope.runtime.environment.interrupt.check()?;
            let arguments = passed(procedure.signature(), arguments, row).map_err(|error| error.at(self.span))?;
            let called = scope.runtime.call(procedure, &arguments, &mut |batch| {
                flow = sink(self.join(kept, row, batch)?)?;
                Ok(flow == Flow::Continue)
            });
            called.map_err(|error: Error| error.at(self.span))?;
            if flow == Flow::Stop {
                break;
            }
        }
        Ok(flow)
    }

    /// Calls a procedure that writes: all rows are read before the first call, and passed on after the last.
    fn call_writing(&self, scope: Scope<'_, '_>, procedure: &dyn Procedure, sink: &mut Sink<'_>) -> Result<Flow> {
        let interrupt = scope.runtime.environment.interrupt;
        let kept = self.keep.len();
        let mut input = RowStore::new(scope.runtime.charge("Call"));
        self.input.run(scope, &mut |chunk| {
            interrupt.check()?;
            // Arguments are worked out here, so that none sees what a call wrote.
            let mut columns = share_columns(&chunk, &self.keep);
            columns.extend(self.arguments(scope, &chunk)?);
            input.push(Chunk { rows: chunk.rows, columns })?;
            Ok(Flow::Continue)
        })?;
        let mut output = RowStore::new(scope.runtime.charge("Call"));
        input.finish(kept + self.arguments.len()).for_each(&mut |chunk| {
            let (kept, arguments) = chunk.columns.split_at(kept);
            self.call(scope, procedure, (chunk.rows, kept, arguments), &mut |chunk| {
                output.push(chunk)?;
                Ok(Flow::Continue)
            })
        })?;
        output.finish(0).for_each(&mut |chunk| push_in_batches(scope, chunk, sink))
    }
}

/// The arguments of a row, as the procedure takes them.
fn passed(signature: &ProcedureSignature, columns: &[Arc<Column>], row: usize) -> Result<Vec<Value>> {
    let pass = |(column, spec): (&Arc<Column>, &ArgumentSpec)| match column.value(row) {
        Value::Null => Ok(Value::Null),
        value if spec.accepts(value.type_name()) => Ok(spec.convert(value)),
        value => Err(spec.mismatch(signature.name, value.type_name())),
    };
    columns.iter().zip(signature.arguments).map(pass).collect()
}

impl Physical for Call {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let procedures = scope.runtime.environment.procedures;
        let procedure = procedures
            .find(&self.procedure)
            .ok_or_else(|| model::error!(UnknownProcedure, "no procedure is named {}", self.procedure).at(self.span))?;
        if procedure.signature().mode == ProcedureMode::Write {
            return self.call_writing(scope, &**procedure, sink);
        }
        self.input.run(scope, &mut |chunk| {
            let arguments = self.arguments(scope, &chunk)?;
            let kept = share_columns(&chunk, &self.keep);
            self.call(scope, &**procedure, (chunk.rows, &kept, &arguments), sink)
        })
    }
}
