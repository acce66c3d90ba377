//! The surroundings of an expression: when it is compiled, and when it is evaluated.

use std::sync::Arc;

use cypher::plan::{Operator, SubqueryKind};
use model::platform::Clock;
use model::{Column, Interrupt, Map, ReadView, Result, Value};

use crate::allocations::AllocationTracker;
use crate::chunk::{Chunk, Layout};
use crate::memory::QueryMemory;

/// A lowered subplan, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubplanId(pub usize);

/// Requests of an expression's compilation to the lowering of the plan around it.
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

/// The surroundings of an expression's evaluation.
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
    /// True if the statement has deleted something, so that a row may name what is no longer there.
    pub has_deleted: bool,
    /// Runs subplans.
    pub subplans: &'a dyn SubplanRunner,
    /// Memory held by the query.
    pub memory: &'a QueryMemory,
    /// Lists and strings that expressions make meanwhile.
    pub made: &'a AllocationTracker,
}

impl EvaluationContext<'_> {
    /// Counts `bytes` more of lists and strings, made by `maker`; fails with `LIMIT` if that is too much.
    #[inline]
    pub(crate) fn made(&self, maker: &'static str, bytes: usize) -> Result<()> {
        self.made.add(self.memory, maker, bytes)
    }

    /// Returns a guard: bytes made until it is dropped are released then.
    pub(crate) fn scratch(&self) -> Scratch<'_> {
        Scratch { context: self, before: self.made.bytes(), left: 0 }
    }
}

/// See [`EvaluationContext::scratch`].
pub(crate) struct Scratch<'a> {
    context: &'a EvaluationContext<'a>,
    before: usize,
    /// Bytes that are left in the end.
    left: usize,
}

impl Scratch<'_> {
    /// Number of bytes made by now.
    pub(crate) fn bytes(&self) -> usize {
        self.context.made.bytes() - self.before
    }

    /// Lowers the count of all that was made up to now to `bytes` if it is higher.
    pub(crate) fn keep(&self, bytes: usize) {
        self.context.made.keep(self.context.memory, self.before + bytes);
    }

    /// Lowers the count of all that was made to `bytes`, if it is higher, when the guard is dropped.
    pub(crate) fn leave(mut self, bytes: usize) {
        self.left = bytes;
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        self.keep(self.left);
    }
}
