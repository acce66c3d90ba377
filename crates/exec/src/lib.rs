//! Plan to batches: vectorised operators, expressions, functions, profiles.
//!
//! Modules in reading order:
//! - [`chunk`]: rows in flight, and which column holds which slot.
//! - [`context`]: what surrounds the evaluation of an expression; how expressions reach subplans.
//! - [`expression`]: compiled expressions, one column per batch.
//! - [`functions`]: the scalar functions, and the catalog of all functions.
//! - [`aggregates`]: the aggregate functions, over whole batches with a group number per row.
//!
//! Invariants: data is reached through the waist only, in batches; the same plan, data and parameters give the same
//! answer, whatever the thread count.

pub mod aggregates;
pub mod chunk;
pub mod context;
pub mod expression;
pub mod functions;

pub use chunk::{Chunk, Layout};
pub use context::{CompileEnvironment, EvaluationContext, SubplanId, SubplanRunner};
