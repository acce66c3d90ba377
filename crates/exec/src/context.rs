//! What surrounds an expression: when it is compiled, and when it is evaluated.

use std::sync::Arc;

use cypher::plan::{Operator, SubqueryKind};
use model::platform::Clock;
use model::{Column, Interrupt, Map, ReadView, Result, Value};

use crate::chunk::{Chunk, Layout};

/// A lowered subplan, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubplanId(pub usize);

/// What the compilation of an expression asks of the lowering of the plan around it.
pub trait CompileEnvironment {
    /// Lowers the subplan of a `Subquery` expression that will be run for chunks of that layout (the layout at that
    /// place of the expression, with the slots of enclosing comprehensions).
    fn subplan(&mut self, kind: SubqueryKind, plan: &Operator, layout: &Layout) -> Result<SubplanId>;
}

/// Runs the subplans of expressions.
pub trait SubplanRunner {
    /// Runs a subplan for all rows of a chunk: one value for each row, as the kind it was lowered with says.
    fn run(&self, subplan: SubplanId, chunk: &Chunk) -> Result<Arc<Column>>;
}

/// What surrounds the evaluation of an expression.
#[derive(Clone, Copy)]
pub struct EvaluationContext<'a> {
    /// The graph.
    pub view: &'a dyn ReadView,
    /// The parameters of the query, by name without `$`.
    pub parameters: &'a Map<Arc<str>, Value>,
    /// To be checked in long loops.
    pub interrupt: &'a Interrupt,
    /// Microseconds since the Unix epoch when the statement began: the one `now` of a statement.
    pub now_us: i64,
    /// The same for the transaction.
    pub transaction_us: i64,
    /// Time as it goes on.
    pub clock: &'a dyn Clock,
    /// Whether the statement has deleted something, so that a row may name what is no longer there.
    pub has_deleted: bool,
    /// Runs subplans.
    pub subplans: &'a dyn SubplanRunner,
}
