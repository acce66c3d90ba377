//! `Limit`: the first rows. What is below it stops early, except for writes, which always run to their end.

use cypher::plan::{Expression, ExpressionKind, Operator};
use model::{ErrorKind, Result, Value};

use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Limit {
    input: Step,
    count: CompiledExpression,
}

/// Lowers `Limit`.
pub(crate) fn lower(lowering: &mut Lowering, input: &Operator, count: &Expression, demand: &Demand) -> Result<Lowered> {
    // Of equal rows, the first is as good as all.
    let is_one = matches!(count.kind, ExpressionKind::Literal(Value::Int(0..=1)));
    let below = if is_one { demand.clone() } else { demand.clone().of_every_row() };
    let (input, layout) = lowering.lower(input, &below.of_few())?;
    let count = lowering.compile(count, &Default::default())?;
    Ok((Box::new(Limit { input, count }), layout))
}

/// The number of rows that `SKIP` or `LIMIT` names.
pub(crate) fn row_count(count: &CompiledExpression, scope: Scope<'_, '_>, clause: &str) -> Result<u64> {
    let view = scope.runtime.view();
    let column = count.evaluate(&Chunk::unit(), &scope.runtime.evaluation(&view))?;
    match column.value(0) {
        Value::Int(count) if count >= 0 => Ok(count as u64),
        Value::Int(count) => {
            let found = model::error!(
                Argument::NegativeIntegerArgument,
                "{clause} needs a number of rows from 0 up, found {count}"
            );
            Err(found.of_kind(ErrorKind::SyntaxError))
        }
        other => {
            let found = model::error!(
                Argument::InvalidArgumentType,
                "{clause} needs an integer, found {other} ({})",
                other.type_name()
            );
            Err(found.of_kind(ErrorKind::SyntaxError))
        }
    }
}

impl Physical for Limit {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut left = row_count(&self.count, scope, "LIMIT")?;
        if left == 0 && !scope.runtime.writes() {
            return Ok(Flow::Continue);
        }
        let mut consumer = Flow::Continue;
        self.input.run(scope, &mut |chunk| {
            let rows = left.min(chunk.rows as u64);
            if rows == 0 {
                return Ok(Flow::Stop);
            }
            left -= rows;
            consumer = sink(chunk.slice(0, rows as usize))?;
            Ok(if left == 0 { Flow::Stop } else { consumer })
        })?;
        Ok(consumer)
    }
}
