//! Text to plan: lexer, parser, binder, planner. Never sees a row.
//!
//! Modules in reading order:
//! - [`ast`]: the syntax tree, and its canonical text.
//! - [`token`], [`lexer`], [`parser`]: text to tokens to syntax tree.
//! - [`script`]: a text of several statements, cut at its semicolons.
//! - `slots`: the slots of a statement.
//! - [`catalog`]: the questions the binder and planner may ask.
//! - [`plan`]: the logical plan that the executor runs.
//! - `binder`: names to slots, with every rule about where things may stand.
//! - `planner`: the order in which patterns are matched.
//! - [`optimizer`]: rules that make a plan cheaper.
//! - [`compile`]: all of these, one after the other.
//!
//! Invariants: parsing and binding never panic and never touch data.

pub mod ast;
mod binder;
pub mod catalog;
mod compile;
pub mod lexer;
pub mod optimizer;
pub mod parser;
pub mod plan;
mod planner;
pub mod script;
mod slots;
pub mod token;

pub use binder::{Hint, HintKind};
pub use compile::{CompileTimes, Compiled, compile, compile_parsed, compile_with};
