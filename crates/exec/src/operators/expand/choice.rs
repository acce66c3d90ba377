//! What an expansion knows of the filters and limits above it: ranges and first edges, which a store may find by itself.

use std::ops::Bound;
use std::sync::Arc;

use cypher::plan::{BinaryOperator, EdgeChoice};
use model::{EdgeRange, EdgeTop, ReadView, Result, Value};

use crate::chunk::Chunk;
use crate::context::EvaluationContext;
use crate::expression::CompiledExpression;
use crate::lowering::Lowering;

/// Ranges and first edges, by names of properties and expressions without slots.
pub(super) struct Choice {
    conditions: Vec<(Arc<str>, BinaryOperator, CompiledExpression)>,
    first: Option<First>,
}

struct First {
    keys: Vec<Arc<str>>,
    descending: bool,
    limit: CompiledExpression,
}

impl Choice {
    /// Compiles what a plan says.
    pub(super) fn compile(lowering: &mut Lowering, choice: &EdgeChoice) -> Result<Choice> {
        let mut conditions = Vec::with_capacity(choice.conditions.len());
        for condition in &choice.conditions {
            let value = lowering.compile(&condition.value, &Default::default())?;
            conditions.push((condition.key.clone(), condition.operator, value));
        }
        let first = match &choice.first {
            None => None,
            Some(first) => {
                let limit = lowering.compile(&first.limit, &Default::default())?;
                Some(First { keys: first.keys.clone(), descending: first.descending, limit })
            }
        };
        Ok(Choice { conditions, first })
    }

    /// Tells an expansion what is wanted. What cannot be told is left to the operators above, errors included.
    pub(super) fn apply(&self, view: &dyn ReadView, context: &EvaluationContext<'_>, expand: &mut model::Expand) {
        let value = |expression: &CompiledExpression| {
            let column = expression.evaluate(&Chunk::unit(), context).ok()?;
            Some(column.value(0))
        };
        let mut is_whole = true;
        for (key, operator, expression) in &self.conditions {
            let range = match (view.schema().property_key(key), value(expression)) {
                (Some(key), Some(value)) => range(key, *operator, value),
                _ => None,
            };
            is_whole &= range.is_some();
            expand.ranges.extend(range);
        }
        let Some(first) = self.first.as_ref().filter(|_| is_whole) else { return };
        let keys: Option<Vec<_>> = first.keys.iter().map(|key| view.schema().property_key(key)).collect();
        if let (Some(keys), Some(Value::Int(limit))) = (keys, value(&first.limit))
            && let Ok(limit) = usize::try_from(limit)
        {
            expand.top = Some(EdgeTop { keys, descending: first.descending, limit });
        }
    }
}

fn range(key: model::PropertyKeyId, operator: BinaryOperator, value: Value) -> Option<EdgeRange> {
    let (lower, upper) = match operator {
        BinaryOperator::Equal => return Some(EdgeRange::equal(key, value)),
        BinaryOperator::Less => (Bound::Unbounded, Bound::Excluded(value)),
        BinaryOperator::LessOrEqual => (Bound::Unbounded, Bound::Included(value)),
        BinaryOperator::Greater => (Bound::Excluded(value), Bound::Unbounded),
        BinaryOperator::GreaterOrEqual => (Bound::Included(value), Bound::Unbounded),
        _ => return None,
    };
    Some(EdgeRange { key, lower, upper })
}
