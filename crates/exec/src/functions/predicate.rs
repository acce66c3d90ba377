//! Functions that give true or false of anything.

use model::Value;

use super::{Body, Function};

pub(super) const FUNCTIONS: &[&Function] = &[&EXISTS];

const EXISTS: Function = Function {
    name: "exists",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "exists(node.property)",
    description: "Whether a value is not null.",
    examples: &[("exists(n.name)", "true"), ("exists({a: 1}.b)", "false")],
    body: Body::Lenient(|values| Ok(Value::Bool(!values[0].is_null()))),
};
