//! An edge that is bound before its pattern is matched: its ends are read from it, nothing is searched.

use std::sync::Arc;

use model::{Direction, Result, Span, error};

use super::{Planner, Stream};
use crate::binder::tree::GraphEdge;
use crate::plan::conditions::{at, has_labels};
use crate::plan::{BinaryOperator, Expression, ExpressionKind, OperatorKind, SlotId};

impl Planner<'_> {
    pub(super) fn bound_edge(&mut self, stream: &mut Stream, edge: &GraphEdge) -> Result<()> {
        let span = edge.span;
        let mut checks = vec![at(span, ExpressionKind::IsNotNull(Box::new(slot(edge.slot, span))))];
        if !edge.types.is_empty() {
            let is_type = |name: &Arc<str>| has_labels(edge.slot, vec![name.clone()], span);
            let mut types: Vec<Expression> = edge.types.iter().map(is_type).collect();
            checks.push(if types.len() == 1 { types.swap_remove(0) } else { at(span, ExpressionKind::Or(types)) });
        }
        self.filter(stream, checks);
        let start = self.end_of(edge, "startNode")?;
        let end = self.end_of(edge, "endNode")?;
        match edge.direction {
            Direction::Out => {
                self.bind_end(stream, edge.left, start);
                self.bind_end(stream, edge.right, end);
            }
            Direction::In => {
                self.bind_end(stream, edge.left, end);
                self.bind_end(stream, edge.right, start);
            }
            Direction::Both => {
                self.bind_either_end(stream, edge, &start, &end);
                let is_start = equal(slot(edge.left, span), start.clone());
                let other = case(is_start, end, start);
                self.bind_end(stream, edge.right, other);
            }
        }
        Ok(())
    }

    fn end_of(&self, edge: &GraphEdge, function: &str) -> Result<Expression> {
        let signature = self.context.catalog.function(function).ok_or_else(|| {
            error!(Unsupported, "a bound relationship in a pattern needs the function {function}").at(edge.span)
        })?;
        let arguments = vec![slot(edge.slot, edge.span)];
        Ok(at(edge.span, ExpressionKind::Function { name: Arc::from(signature.name), arguments }))
    }

    /// Gives the node its slot; or, if it is bound, keeps the rows in which it is that node.
    fn bind_end(&mut self, stream: &mut Stream, node: SlotId, value: Expression) {
        if stream.bound.contains(&node) {
            let is_same = equal(slot(node, value.span), value);
            self.filter(stream, vec![is_same]);
        } else {
            stream.bound.insert(node);
            stream.push(stream.rows(), |input| OperatorKind::Extend { input, items: vec![(node, value)] });
        }
    }

    /// Without a direction, either end may be on the left; a loop is matched once.
    fn bind_either_end(&mut self, stream: &mut Stream, edge: &GraphEdge, start: &Expression, end: &Expression) {
        let span = edge.span;
        if stream.bound.contains(&edge.left) {
            let sides = [start, end].map(|side| equal(slot(edge.left, span), side.clone()));
            self.filter(stream, vec![at(span, ExpressionKind::Or(sides.to_vec()))]);
            return;
        }
        let is_loop = equal(start.clone(), end.clone());
        let one = at(span, ExpressionKind::List(vec![start.clone()]));
        let both = at(span, ExpressionKind::List(vec![start.clone(), end.clone()]));
        let list = case(is_loop, one, both);
        stream.bound.insert(edge.left);
        let slot = edge.left;
        stream.push(stream.rows() * 2.0, |input| OperatorKind::Unwind { input, list, slot });
    }
}

fn slot(slot: SlotId, span: Span) -> Expression {
    at(span, ExpressionKind::Slot(slot))
}

fn equal(left: Expression, right: Expression) -> Expression {
    let (left, right) = (Box::new(left), Box::new(right));
    at(left.span, ExpressionKind::Binary { operator: BinaryOperator::Equal, left, right })
}

fn case(condition: Expression, then: Expression, otherwise: Expression) -> Expression {
    let span = condition.span;
    let whens = vec![(condition, then)];
    at(span, ExpressionKind::Case { operand: None, whens, otherwise: Some(Box::new(otherwise)) })
}
