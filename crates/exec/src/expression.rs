//! Compiled expressions: each is evaluated for a whole chunk at once and gives one column.
//!
//! Parts: `vector` (a column or a constant), `frame` (the rows under evaluation), `node` (the compiled tree),
//! `compile` (plan expression to tree), `evaluate` (tree to vector), and a file for each family of operators.
//!
//! Invariant: an operand that a row does not need (the right side of a decided `AND`, a `CASE` branch not taken) is
//! not evaluated for that row, so it cannot fail for it.
//! Invariant: lists and texts that grow are noted with [`EvaluationContext::made`] before or as they are made, so that no
//! expression takes more memory than its query may.
//! Cost: properties of one variable that every row needs are read in one call for each chunk.

use std::sync::Arc;

use cypher::plan::Expression;
use model::{Column, Result};

use crate::chunk::{Chunk, Layout};
use crate::context::{CompileEnvironment, EvaluationContext};

mod access;
pub(crate) mod arithmetic;
mod branch;
pub(crate) mod comparison;
mod compile;
mod evaluate;
mod frame;
mod lists;
mod logic;
mod membership;
mod node;
mod path;
mod projection;
mod text;

#[cfg(test)]
pub(crate) mod tests;

use frame::{Frame, Program};
use node::Node;

/// An expression, ready to be evaluated.
#[derive(Debug)]
pub struct CompiledExpression {
    program: Program,
    root: Node,
}

/// Several expressions over the same rows, ready to be evaluated together: they share what they read of the graph.
#[derive(Debug)]
pub struct CompiledExpressions {
    program: Program,
    roots: Vec<Node>,
}

/// Compiles an expression for chunks of that layout.
pub fn compile(
    expression: &Expression,
    layout: &Layout,
    environment: &mut dyn CompileEnvironment,
) -> Result<CompiledExpression> {
    let mut compiled = compile_all([expression], layout, environment)?;
    let root = compiled.roots.pop().expect("as many roots as expressions");
    Ok(CompiledExpression { program: compiled.program, root })
}

/// Compiles expressions that are evaluated for the same chunks of that layout.
pub fn compile_all<'e>(
    expressions: impl IntoIterator<Item = &'e Expression>,
    layout: &Layout,
    environment: &mut dyn CompileEnvironment,
) -> Result<CompiledExpressions> {
    let mut compiler = compile::Compiler::new(layout, environment);
    let roots = expressions.into_iter().map(|expression| compiler.compile(expression)).collect::<Result<_>>()?;
    Ok(CompiledExpressions { program: compiler.finish(), roots })
}

impl CompiledExpression {
    /// One value for each row.
    pub fn evaluate(&self, chunk: &Chunk, context: &EvaluationContext<'_>) -> Result<Arc<Column>> {
        let _scratch = context.scratch();
        let frame = Frame::of_chunk(chunk, &self.program, context);
        Ok(evaluate::evaluate(&self.root, &frame)?.into_column(chunk.rows))
    }

    /// The rows for which the expression is true, in order. A value that is neither boolean nor null is an error.
    pub fn evaluate_predicate(&self, chunk: &Chunk, context: &EvaluationContext<'_>) -> Result<Vec<u32>> {
        let _scratch = context.scratch();
        let frame = Frame::of_chunk(chunk, &self.program, context);
        logic::true_rows(&self.root, &frame)
    }
}

impl CompiledExpressions {
    /// One column for each expression, in order, with one value for each row.
    pub fn evaluate(&self, chunk: &Chunk, context: &EvaluationContext<'_>) -> Result<Vec<Arc<Column>>> {
        let _scratch = context.scratch();
        let frame = Frame::of_chunk(chunk, &self.program, context);
        let columns = self.roots.iter().map(|root| Ok(evaluate::evaluate(root, &frame)?.into_column(chunk.rows)));
        columns.collect()
    }

    /// Number of expressions.
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// True without expressions.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }
}
