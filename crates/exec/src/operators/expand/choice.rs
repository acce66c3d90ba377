//! Filters and limits above an expansion, as ranges and first edges, which a store may find by itself.

use std::ops::Bound;
use std::sync::Arc;

use cypher::plan::{BinaryOperator, EdgeChoice};
use model::{EdgeBatch, EdgeRange, EdgeTop, NodeId, ReadView, Result, Value};

use crate::chunk::Chunk;
use crate::context::EvaluationContext;
use crate::expression::CompiledExpression;
use crate::lowering::Lowering;

/// The largest number of first edges of a node that are looked at before they are given on.
const LABELLED_FIRST_MAX: usize = 1_024;

/// Ranges and first edges, by names of properties and expressions without slots.
pub(crate) struct Choice {
    conditions: Vec<(Arc<str>, BinaryOperator, CompiledExpression)>,
    first: Option<First>,
}

struct First {
    keys: Vec<Arc<str>>,
    descending: bool,
    limit: CompiledExpression,
    labels: Vec<Arc<str>>,
}

impl Choice {
    /// Compiles what a plan says.
    pub(crate) fn compile(lowering: &mut Lowering, choice: &EdgeChoice) -> Result<Choice> {
        let mut conditions = Vec::with_capacity(choice.conditions.len() + choice.tests.len());
        for condition in choice.conditions.iter().chain(&choice.tests) {
            let value = lowering.compile(&condition.value, &Default::default())?;
            conditions.push((condition.key.clone(), condition.operator, value));
        }
        let first = match &choice.first {
            None => None,
            Some(first) => {
                let limit = lowering.compile(&first.limit, &Default::default())?;
                Some(First {
                    keys: first.keys.clone(),
                    descending: first.descending,
                    limit,
                    labels: first.labels.clone(),
                })
            }
        };
        Ok(Choice { conditions, first })
    }

    /// Tells an expansion what is wanted; false if no edge can be. What cannot be told is left to the operators above,
    /// errors included.
    pub(crate) fn apply(
        &self,
        view: &dyn ReadView,
        context: &EvaluationContext<'_>,
        expand: &mut model::Expand,
    ) -> bool {
        let value = |expression: &CompiledExpression| {
            let column = expression.evaluate(&Chunk::unit(), context).ok()?;
            Some(column.value(0))
        };
        let mut is_whole = true;
        for (key, operator, expression) in &self.conditions {
            // A property that the store has never seen is null everywhere, and no comparison with null holds.
            let Some(key) = view.schema().property_key(key) else { return false };
            let range = value(expression).and_then(|value| range(key, *operator, value));
            is_whole &= range.is_some();
            expand.ranges.extend(range);
        }
        let Some(first) = self.first.as_ref().filter(|_| is_whole) else { return true };
        let keys: Option<Vec<_>> = first.keys.iter().map(|key| view.schema().property_key(key)).collect();
        if let (Some(keys), Some(Value::Int(limit))) = (keys, value(&first.limit))
            && let Ok(limit) = usize::try_from(limit)
            && (first.labels.is_empty() || limit <= LABELLED_FIRST_MAX)
        {
            expand.top = Some(EdgeTop { keys, descending: first.descending, limit });
        }
        true
    }

    /// The first edges of all nodes, if the nodes they lead to carry the labels that the plan asks of them. If not, edges
    /// after the first may be wanted too: then the expansion forgets about first edges. `None` if there is nothing to
    /// look at beforehand.
    pub(super) fn labelled_first(
        &self,
        view: &dyn ReadView,
        from: &[NodeId],
        expand: &mut model::Expand,
    ) -> Result<Option<Vec<EdgeBatch>>> {
        let labels = self.first.as_ref().map_or(&[][..], |first| &first.labels);
        if expand.top.is_none() || labels.is_empty() {
            return Ok(None);
        }
        let labels: Option<Vec<_>> = labels.iter().map(|label| view.schema().label(label)).collect();
        let (mut batches, mut batch) = (Vec::new(), EdgeBatch::default());
        let mut carry_all = labels.is_some();
        {
            let mut cursor = view.expand(from, expand)?;
            while carry_all && cursor.next(&mut batch)? {
                for &label in labels.iter().flatten() {
                    carry_all &= view.has_label(&batch.neighbors, label)?.count_ones() == batch.len();
                }
                batches.push(std::mem::take(&mut batch));
            }
        }
        if !carry_all {
            expand.top = None;
        }
        Ok(carry_all.then_some(batches))
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
