//! Types that expressions are known to give before they run, and the errors that follow from them.
//!
//! A wrong operand is an error even where no row would reach it, as `false AND 1`: the data must not decide if a query
//! is wrong. The messages are those that the same mistake gives at run time. Nothing here is needed for right answers;
//! what is not known passes.

use model::{Error, ErrorKind, Result, Value, error};

use super::scope::{Scope, VariableKind};
use crate::plan::{BinaryOperator, Expression, ExpressionKind as Kind};
use crate::slots::{KnownType, Slots};

/// Returns the known type of the values of an expression, so that its name can be used as the expression would be.
pub(super) fn known_type(scope: &Scope, slots: &Slots, expression: &Expression) -> Option<KnownType> {
    if let Kind::Slot(slot) = &expression.kind
        && let Some(known) = slots.known_type(*slot)
    {
        return Some(known);
    }
    let name = type_of(scope, slots, expression)?;
    let element = match &expression.kind {
        Kind::List(items) => common_type(scope, slots, items),
        Kind::Slice { list, .. } => known_type(scope, slots, list).and_then(|known| known.element),
        _ => None,
    };
    Some(KnownType { name, element })
}

fn common_type(scope: &Scope, slots: &Slots, items: &[Expression]) -> Option<&'static str> {
    let mut common = None;
    for item in items.iter().filter(|item| !matches!(item.kind, Kind::Literal(Value::Null))) {
        let found = type_of(scope, slots, item)?;
        if *common.get_or_insert(found) != found {
            return None;
        }
    }
    common
}

/// The type of every value that the expression can give besides null, as errors name it; `None` if not known.
fn type_of(scope: &Scope, slots: &Slots, expression: &Expression) -> Option<&'static str> {
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
            VariableKind::Value | VariableKind::Any => match &expression.kind {
                Kind::Slot(slot) => slots.known_type(*slot).map(|known| known.name),
                _ => None,
            },
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
pub(super) fn check(scope: &Scope, slots: &Slots, expression: &Expression) -> Result<()> {
    match &expression.kind {
        Kind::And(operands) | Kind::Or(operands) => {
            operands.iter().try_for_each(|operand| condition(scope, slots, operand))
        }
        Kind::Xor(left, right) => condition(scope, slots, left).and_then(|()| condition(scope, slots, right)),
        Kind::Not(operand) => condition(scope, slots, operand),
        Kind::Binary { operator, left, right } => {
            let types = (type_of(scope, slots, left), type_of(scope, slots, right));
            operands(*operator, types).map_err(|error| error.at(expression.span))
        }
        Kind::Property { object, key } => match type_of(scope, slots, object) {
            Some(found @ ("LIST" | "PATH" | "BOOLEAN" | "INTEGER" | "FLOAT" | "STRING")) => {
                let error = error!(
                    Type,
                    "{found} has no properties: expected NODE, RELATIONSHIP, MAP or a value of time to read '{key}' from"
                );
                // A path can only come from the pattern in the text; other values count as data.
                let kind = if found == "PATH" { ErrorKind::SyntaxError } else { ErrorKind::TypeError };
                Err(error.of_kind(kind).at(expression.span))
            }
            _ => Ok(()),
        },
        Kind::Function { name, arguments } => match arguments.first() {
            Some(argument) => first_argument(scope, slots, name, argument).map_err(|error| error.at(expression.span)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Fails if the expression is known to be neither true nor false nor null.
pub(super) fn condition(scope: &Scope, slots: &Slots, expression: &Expression) -> Result<()> {
    match type_of(scope, slots, expression) {
        None | Some("BOOLEAN") => Ok(()),
        Some(found) => Err(error!(Type, "expected a boolean, found {found}").at(expression.span)),
    }
}

/// Fails if an operator cannot take operands of these types.
fn operands(operator: BinaryOperator, types: (Option<&str>, Option<&str>)) -> Result<(), Error> {
    use BinaryOperator as Op;
    let never_counts =
        |found: &str| matches!(found, "BOOLEAN" | "STRING" | "LIST" | "MAP" | "NODE" | "RELATIONSHIP" | "PATH");
    match (operator, types) {
        (Op::In, (_, Some(found))) if found != "LIST" => {
            Err(error!(Type, "the right side of IN is {found}: expected a list"))
        }
        (Op::Subtract | Op::Multiply | Op::Divide | Op::Modulo | Op::Power, (Some(left), Some(right)))
            if never_counts(left) || never_counts(right) =>
        {
            Err(error!(Type, "cannot compute {left} {} {right}: expected numbers", operator.symbol()))
        }
        _ => Ok(()),
    }
}

fn first_argument(scope: &Scope, slots: &Slots, function: &str, argument: &Expression) -> Result<(), Error> {
    if function == "properties"
        && let Some(found) = type_of(scope, slots, argument)
        && !["NODE", "RELATIONSHIP", "MAP"].contains(&found)
    {
        return Err(error!(Type, "{found} has no properties: expected NODE, RELATIONSHIP or MAP"));
    }
    let (takes, expected): (&[&str], &str) = match function {
        "type" | "startNode" | "endNode" => (&["RELATIONSHIP"], "a relationship"),
        "labels" => (&["NODE"], "a node"),
        "nodes" | "relationships" | "length" => (&["PATH"], "a path"),
        "size" => (&["LIST", "STRING"], "a list or a string"),
        "id" | "elementId" => (&["NODE", "RELATIONSHIP"], "a node or relationship"),
        _ => return Ok(()),
    };
    match type_of(scope, slots, argument) {
        Some(found) if !takes.contains(&found) => {
            let error = error!(Type, "{function}() takes {expected}, found {found}");
            Err(if function == "length" { error.with_remedy("use size() for strings and lists") } else { error })
        }
        _ => Ok(()),
    }
}
