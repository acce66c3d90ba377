//! `PushedAggregate` and `PushedJoin`: groups of the matches of a pattern, or the matches, by the store where it answers;
//! elsewhere the rows of the input.

use std::sync::Arc;

use cypher::plan::{AskedColumn, NodeChoice, OperatorKind, PushedNode, PushedPattern, PushedValue, SlotId};
use model::{Column, ColumnData, GraphPattern, PatternColumn, ReadView, Result, Value, error};

use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, misplaced};
use crate::operators::limit::row_count;
use crate::operators::node_scan::Choice;
use crate::pushing::push_in_batches;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct Pushed {
    input: Step,
    pattern: PushedPattern,
    /// For each node of the pattern its conditions.
    choices: Vec<Choice>,
    /// The columns that the store is asked for.
    columns: Vec<AskedColumn>,
    /// The columns of rows, made of those.
    output: Vec<Output>,
    limit: Option<CompiledExpression>,
}

/// A column of rows, by the places of columns of the store's answer.
#[derive(Clone, Copy)]
enum Output {
    Column(usize),
    Mean { sum: usize, count: usize },
}

/// Lowers `PushedPattern`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::PushedPattern { input, pattern } = kind else { return Err(misplaced(kind)) };
    let (input, layout) = lowering.lower(input, demand)?;
    // The input may give others than the pattern has, after columns were dropped that nobody reads.
    if layout.slots().iter().any(|slot| pattern.value(*slot).is_none()) {
        return Ok((input.operator, layout));
    }
    let choice = |lowering: &mut Lowering, node: &PushedNode| {
        let choice = NodeChoice { conditions: node.conditions.clone(), first: None };
        Choice::compile(lowering, node.slot, &choice)
    };
    let choices = pattern.nodes.iter().map(|node| choice(lowering, node)).collect::<Result<_>>()?;
    let limit = pattern.first.as_ref().map(|first| lowering.compile(&first.limit, &Layout::default())).transpose()?;
    let columns = pattern.asked(layout.slots().iter().copied());
    let output = layout.slots().iter().map(|slot| output(pattern, *slot, &columns)).collect::<Result<_>>()?;
    let pattern = PushedPattern::clone(pattern);
    Ok((Box::new(Pushed { input, pattern, choices, columns, output, limit }), layout))
}

/// The column of rows that a slot is.
fn output(pattern: &PushedPattern, slot: SlotId, columns: &[AskedColumn]) -> Result<Output> {
    let missing = || error!(Internal, "slot {} is none of a pushed pattern", slot.0);
    let place = |column: &AskedColumn| columns.iter().position(|held| held == column).ok_or_else(missing);
    Ok(match pattern.value(slot).ok_or_else(missing)? {
        PushedValue::Column(column) => Output::Column(place(column)?),
        PushedValue::Mean(node, key) => {
            let (node, key) = (*node, key.clone());
            let sum = place(&PatternColumn::Sum(node, key.clone()))?;
            Output::Mean { sum, count: place(&PatternColumn::Count(node, key))? }
        }
    })
}

impl Pushed {
    /// The question to the store; nothing if it need not be asked.
    fn asked(&self, scope: Scope<'_, '_>, view: &dyn ReadView) -> Result<Option<GraphPattern>> {
        let limit = self.limit.as_ref().map(|limit| row_count(limit, scope, "LIMIT")).transpose()?;
        self.pattern.query(view.schema(), &self.columns, &mut |at| self.choices[at].conditions(scope), limit)
    }
}

impl Physical for Pushed {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let view = scope.runtime.view();
        let view = view.view();
        if !view.capabilities().is_remote {
            return self.input.run(scope, sink);
        }
        let asked = self.asked(scope, view)?;
        let cursor = asked.map(|asked| view.query_pattern(&asked)).transpose()?.flatten();
        let Some(mut cursor) = cursor else { return self.input.run(scope, sink) };
        while let Some(columns) = cursor.next()? {
            scope.runtime.environment.interrupt.check()?;
            let rows = columns.first().map_or(0, Column::len);
            let columns: Vec<Arc<Column>> = columns.into_iter().map(Arc::new).collect();
            let columns = self.output.iter().map(|output| match *output {
                Output::Column(at) => columns[at].clone(),
                Output::Mean { sum, count } => Arc::new(means(&columns[sum], &columns[count])),
            });
            let chunk = Chunk { rows, columns: columns.collect() };
            if push_in_batches(scope, chunk, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

/// The means of integers, of which sums and counts are given; null where there is none.
fn means(sums: &Column, counts: &Column) -> Column {
    if let (ColumnData::Int(sums), ColumnData::Int(counts)) = (&sums.data, &counts.data)
        && counts.iter().all(|&count| count > 0)
    {
        let means = sums.iter().zip(counts).map(|(&sum, &count)| sum as f64 / count as f64);
        return Column::new(ColumnData::Float(means.collect()));
    }
    let means = sums.values().zip(counts.values()).map(|(sum, count)| match (sum, count) {
        (Value::Int(sum), Value::Int(count)) if count > 0 => Value::Float(sum as f64 / count as f64),
        _ => Value::Null,
    });
    Column::from_values(&means.collect::<Vec<_>>())
}
