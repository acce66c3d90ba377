//! Compiled expressions: each is evaluated for a whole chunk at once and gives one column.
//!
//! Entry points: `compile(&Expression, &Layout, &mut dyn CompileEnvironment) -> Result<CompiledExpression>`,
//! `CompiledExpression::evaluate(&Chunk, &EvaluationContext) -> Result<Arc<Column>>`,
//! `CompiledExpression::evaluate_predicate(&Chunk, &EvaluationContext) -> Result<Vec<u32>>` (the rows that are true).
