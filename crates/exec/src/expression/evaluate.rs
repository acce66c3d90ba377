//! From the compiled tree to a vector.

use std::sync::Arc;

use cypher::plan::BinaryOperator;
use model::interrupt::work;
use model::{ColumnData, Result, Value, error};

use super::frame::Frame;
use super::node::{Node, NodeKind};
use super::{access, arithmetic, branch, comparison, lists, logic, membership, path, projection, text};
use crate::chunk::Chunk;
use crate::context::SubplanId;
use crate::functions;
use crate::property;
use crate::vector::{TruthBuilder, Vector};

/// The value of a node for each row of a frame. Errors point at the innermost node that failed.
pub(crate) fn evaluate(node: &Node, frame: &Frame<'_>) -> Result<Vector> {
    if frame.rows() == 0 {
        return Ok(Vector::NULL);
    }
    let scratch = frame.context().scratch();
    let mut made = evaluate_kind(&node.kind, frame);
    if let (Ok(vector), false) = (&made, matches!(node.kind, NodeKind::Position(_)))
        && let Err(too_deep) = vector.check_extent()
    {
        made = Err(too_deep);
    }
    let vector = made.map_err(|error| error.at(node.span))?;
    // Values made on the way that are not in the result are dropped.
    if scratch.bytes() > 0 {
        scratch.leave(vector.own_bytes());
    }
    Ok(vector)
}

fn evaluate_kind(kind: &NodeKind, frame: &Frame<'_>) -> Result<Vector> {
    let rows = frame.rows();
    match kind {
        NodeKind::Constant(value) => Ok(Vector::Constant(value.clone())),
        NodeKind::Parameter(name) => parameter(name, frame),
        NodeKind::Position(position) => frame.read(*position),
        NodeKind::Property { object, key } => {
            let object = evaluate(object, frame)?;
            property::check_alive(&object, rows, frame.context())?;
            property::read_one(&object, key, rows, frame.context().view)
        }
        NodeKind::Subscript { object, index } => {
            let object = evaluate(object, frame)?;
            property::check_alive(&object, rows, frame.context())?;
            access::subscript(&object, &evaluate(index, frame)?, rows, frame.context().view)
        }
        NodeKind::Slice { list, from, to } => {
            let (from, to) = (maybe(from, frame)?, maybe(to, frame)?);
            access::slice(&evaluate(list, frame)?, from.as_ref(), to.as_ref(), rows, frame.context())
        }
        NodeKind::List(items) => projection::list(items, frame),
        NodeKind::Map(entries) => projection::map(entries, frame),
        NodeKind::MapProjection { object, all, entries } => {
            let object = evaluate(object, frame)?;
            if *all { projection::all_and(&object, entries, frame) } else { projection::only(&object, entries, frame) }
        }
        NodeKind::Not(operand) => logic::not(operand, frame),
        NodeKind::And(operands) => logic::and(operands, frame),
        NodeKind::Or(operands) => logic::or(operands, frame),
        NodeKind::Xor(left, right) => logic::xor(left, right, frame),
        NodeKind::Negate(operand) => arithmetic::negate(&evaluate(operand, frame)?, rows),
        NodeKind::Arithmetic(operator, left, right) => {
            let (left, right) = (evaluate(left, frame)?, evaluate(right, frame)?);
            arithmetic::evaluate(*operator, &left, &right, rows, frame.context())
        }
        NodeKind::Compare(operator, left, right) => {
            comparison::evaluate(*operator, &evaluate(left, frame)?, &evaluate(right, frame)?, rows)
        }
        NodeKind::In { element, list, cache } => {
            membership::evaluate(&evaluate(element, frame)?, &evaluate(list, frame)?, rows, cache)
        }
        NodeKind::Text(operator, left, right) => text_test(*operator, left, right, frame),
        NodeKind::Matches { text, pattern, cache } => {
            text::matches(&evaluate(text, frame)?, &evaluate(pattern, frame)?, rows, cache)
        }
        NodeKind::IsNull(operand) => Ok(is_null(&evaluate(operand, frame)?, rows, true)),
        NodeKind::IsNotNull(operand) => Ok(is_null(&evaluate(operand, frame)?, rows, false)),
        NodeKind::HasLabels { object, labels } => {
            let object = evaluate(object, frame)?;
            property::check_alive(&object, rows, frame.context())?;
            access::has_labels(&object, labels, rows, frame.context().view)
        }
        NodeKind::Call { function, arguments } => {
            let arguments = arguments.iter().map(|node| evaluate(node, frame)).collect::<Result<Vec<_>>>()?;
            functions::call(function, &arguments, rows, frame.context())
        }
        NodeKind::Coalesce(arguments) => branch::coalesce(arguments, frame),
        NodeKind::Case { operand, whens, otherwise } => {
            branch::case(operand.as_deref(), whens, otherwise.as_deref(), frame)
        }
        NodeKind::Comprehension { .. } | NodeKind::Quantifier { .. } | NodeKind::Reduce { .. } => {
            over_list(kind, frame)
        }
        NodeKind::Path { start, steps } => path::evaluate(*start, steps, frame),
        NodeKind::Subquery { subplan, positions } => subquery(*subplan, positions, frame),
    }
}

fn over_list(kind: &NodeKind, frame: &Frame<'_>) -> Result<Vector> {
    match kind {
        NodeKind::Comprehension { local, list, filter, body } => {
            lists::comprehension(*local, list, filter.as_deref(), body.as_deref(), frame)
        }
        NodeKind::Quantifier { kind, local, list, predicate } => {
            lists::quantifier(*kind, *local, list, predicate, frame)
        }
        NodeKind::Reduce { accumulator, initial, local, list, body, predicate } => {
            lists::reduce((*accumulator, initial), (*local, list), (body, predicate.as_deref()), frame)
        }
        other => Err(error!(Internal, "{other:?} does not run over a list")),
    }
}

fn subquery(subplan: SubplanId, positions: &[usize], frame: &Frame<'_>) -> Result<Vector> {
    let rows = frame.rows();
    let columns = positions.iter().map(|&position| Ok(frame.read(position)?.into_column(rows)));
    let chunk = Chunk { rows, columns: columns.collect::<Result<_>>()? };
    Ok(Vector::Column(frame.context().subplans.run(subplan, &chunk)?))
}

fn maybe(node: &Option<Box<Node>>, frame: &Frame<'_>) -> Result<Option<Vector>> {
    node.as_ref().map(|node| evaluate(node, frame)).transpose()
}

fn parameter(name: &Arc<str>, frame: &Frame<'_>) -> Result<Vector> {
    match frame.context().parameters.get(name) {
        Some(value) => Ok(Vector::Constant(value.clone())),
        None => Err(error!(Parameter, "parameter ${name} has no value")),
    }
}

fn text_test(operator: BinaryOperator, left: &Node, right: &Node, frame: &Frame<'_>) -> Result<Vector> {
    text::evaluate(operator, &evaluate(left, frame)?, &evaluate(right, frame)?, frame.rows())
}

/// For each row, whether being null is `expected`.
fn is_null(vector: &Vector, rows: usize, expected: bool) -> Vector {
    if let Some(value) = vector.constant() {
        return Vector::Constant(Value::Bool(value.is_null() == expected));
    }
    if vector.never_null() {
        return Vector::Constant(Value::Bool(!expected));
    }
    Vector::of(ColumnData::Bool((0..rows).map(|row| vector.is_null(row) == expected).collect()), None)
}

/// The truth of a value; an error if it is neither boolean nor null.
pub(crate) fn truth(value: &Value) -> Result<Option<bool>> {
    match value {
        Value::Null => Ok(None),
        Value::Bool(truth) => Ok(Some(*truth)),
        other => Err(error!(Type, "expected a boolean, found {}", other.type_name())),
    }
}

/// The truths of a vector, row by row, from a computation that may fail.
pub(crate) fn truths(rows: usize, mut each: impl FnMut(usize) -> Result<Option<bool>>) -> Result<Vector> {
    let mut results = TruthBuilder::new(rows);
    for row in 0..rows {
        work(1)?;
        results.push(each(row)?);
    }
    Ok(results.finish())
}
