//! Text to plan: lexer, parser, binder, planner. Never sees a row.
//!
//! Modules in reading order:
//! - [`ast`]: the syntax tree, and its canonical text.
//! - [`token`], [`lexer`], [`parser`]: text to tokens to syntax tree.
//! - [`script`]: a text of several statements, cut at its semicolons.
//! - [`suggestion`]: the known name nearest to a misspelt one.
//! - [`catalog`]: the questions the binder and planner may ask.
//! - [`plan`]: the logical plan that the executor runs.
//!
//! Invariants: parsing and binding never panic and never touch data.

pub mod ast;
pub mod catalog;
pub mod lexer;
pub mod parser;
pub mod plan;
pub mod script;
pub mod suggestion;
pub mod token;
