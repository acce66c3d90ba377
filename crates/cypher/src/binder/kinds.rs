//! What an expression is known to give before it runs, and the errors that follow from it.
//!
//! A wrong operand is an error even where no row would reach it, as `false AND 1`: whether a query is wrong must not
//! depend on the data. The messages are those that the same mistake gives at run time. Nothing here is needed for
//! right answers; what is not known passes.

use model::{Error, Result, Value, error};

use super::scope::{Scope, VariableKind};
use crate::plan::{BinaryOperator, Expression, ExpressionKind as Kind};

/// The type of every value that the expression can give besides null, as errors name it; `None` if not known.
fn type_of(scope: &Scope, expression: &Expression) -> Option<&'static str> {
    match &expression.kind {
        Kind::Literal(Value::Null) => None,
        Kind::Literal(value) => Some(value.type_name()),
        Kind::Not(_) | Kind::And(_) | Kind::Or(_) | Kind::Xor(..) => Some("BOOLEAN"),
        Kind::IsNull(_) | Kind::IsNotNull(_) | Kind::HasLabels { .. } | Kind::Quantifier { .. } => Some("BOOLEAN"),
        Kind::Binary { operator, .. } if is_comparison(*operator) => Some("BOOLEAN"),
        Kind::List(_) | Kind::Slice { .. } | Kind::ListComprehension { .. } => Some("LIST"),
        Kind::Map(_) | Kind::MapProjection { .. } => Some("MAP"),
        Kind::Slot(_) | Kind::Path { .. } => match scope.kind_of(expression) {
            VariableKind::Node => Some("NODE"),
            VariableKind::Edge => Some("RELATIONSHIP"),
            VariableKind::EdgeList => Some("LIST"),
            VariableKind::Path => Some("PATH"),
            VariableKind::Value | VariableKind::Any => None,
        },
        _ => None,
    }
}

fn is_comparison(operator: BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(
        operator,
        Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual
            | Op::StartsWith
            | Op::EndsWith
            | Op::Contains
            | Op::Matches
            | Op::In
    )
}

/// Fails if an operand of the expression itself (not of its parts, which were checked before) has a wrong type.
pub(super) fn check(scope: &Scope, expression: &Expression) -> Result<()> {
    match &expression.kind {
        Kind::And(operands) | Kind::Or(operands) => operands.iter().try_for_each(|operand| condition(scope, operand)),
        Kind::Xor(left, right) => condition(scope, left).and_then(|()| condition(scope, right)),
        Kind::Not(operand) => condition(scope, operand),
        Kind::Property { object, key } => match type_of(scope, object) {
            Some(found @ ("LIST" | "PATH" | "BOOLEAN" | "INTEGER" | "FLOAT" | "STRING")) => Err(error!(
                Type,
                "{found} has no properties: expected NODE, RELATIONSHIP, MAP, DATE or LOCAL DATETIME to read '{key}' \
                 from"
            )
            .at(expression.span)),
            _ => Ok(()),
        },
        Kind::Function { name, arguments } => match arguments.first() {
            Some(argument) => first_argument(scope, name, argument).map_err(|error| error.at(expression.span)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Fails if the expression is known to be neither true nor false nor null.
pub(super) fn condition(scope: &Scope, expression: &Expression) -> Result<()> {
    match type_of(scope, expression) {
        None | Some("BOOLEAN") => Ok(()),
        Some(found) => Err(error!(Type, "expected a boolean, found {found}").at(expression.span)),
    }
}

fn first_argument(scope: &Scope, function: &str, argument: &Expression) -> Result<(), Error> {
    let (takes, expected): (&[&str], &str) = match function {
        "type" | "startNode" | "endNode" => (&["RELATIONSHIP"], "a relationship"),
        "labels" => (&["NODE"], "a node"),
        "nodes" | "relationships" | "length" => (&["PATH"], "a path"),
        "size" => (&["LIST", "STRING"], "a list or a string"),
        "id" | "elementId" => (&["NODE", "RELATIONSHIP"], "a node or relationship"),
        _ => return Ok(()),
    };
    match type_of(scope, argument) {
        Some(found) if !takes.contains(&found) => {
            let error = error!(Type, "{function}() takes {expected}, found {found}");
            Err(if function == "length" { error.with_remedy("use size() for strings and lists") } else { error })
        }
        _ => Ok(()),
    }
}
