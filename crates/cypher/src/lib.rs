//! Text to plan: lexer, parser, binder, planner. Never sees a row.
//!
//! Modules in reading order:
//! - [`ast`]: the syntax tree, and its canonical text.
//! - [`suggestion`]: the known name nearest to a misspelt one.
//! - [`catalog`]: the questions the binder and planner may ask.
//! - [`plan`]: the logical plan that the executor runs.
//!
//! Invariants: parsing and binding never panic and never touch data.

pub mod ast;
pub mod catalog;
pub mod plan;
pub mod suggestion;
