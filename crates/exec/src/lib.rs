//! Plan to batches: vectorised operators, expressions, functions, profiles.
//!
//! Modules in reading order:
//! - [`chunk`]: rows in flight, and which column holds which slot.
//! - [`context`]: what surrounds the evaluation of an expression; how expressions reach subplans.
//! - [`expression`]: compiled expressions, one column per batch.
//! - [`functions`]: the scalar functions, and the catalog of all functions.
//! - [`aggregates`]: the aggregate functions, over whole batches with a group number per row.
//! - `vector`, `property`, `temporal`: columns of an expression's values, properties of nodes and edges, values of time.
//! - `allocations`, `size`: limits on the lists and strings that expressions make; bytes of rows.
//! - `lowering`, `prepare`: from plan to operators that run.
//! - `replanning`: the rest of a plan, made anew and kept.
//! - `runtime`: one run of a plan, and what an operator is.
//! - `operators`: the operators, one file each.
//! - `horizon`: points where the rest of a plan may be made anew.
//! - `nested`, `known`, `parallel`: running subplans for many rows at once, their answers of earlier batches, and scans in several threads.
//! - `rows`, `repeats`, `group_table`, `sorting`, `adjacency`, `edge_ends`, `neighbor_lists`, `edge_filter`, `visited`, `writing`, `spill`, `pushing`,
//!   `prefetch`: parts that operators share.
//! - [`identity`]: edges as they leave a view and enter another.
//! - [`procedures`]: what `CALL` and `SHOW` can ask of the schema and the functions.
//! - [`memory`]: what a query holds in memory, its limit, and the temporary files behind it.
//! - [`quota`]: a limit of memory that the queries of one user share.
//! - [`profile`]: what a run did.
//! - [`run`](mod@run): the entry points.
//!
//! Invariants: data is reached through the waist only, in batches; the same plan, data and parameters give the same
//! answer, whatever the thread count.

pub mod aggregates;
pub mod chunk;
pub mod context;
pub mod expression;
pub mod functions;
pub mod identity;
pub mod memory;
pub mod procedures;
pub mod profile;
mod quota;
pub mod run;

mod adjacency;
mod allocations;
mod edge_ends;
mod edge_filter;
mod group_table;
mod horizon;
mod known;
mod lowering;
mod neighbor_lists;
mod nested;
mod operators;
mod parallel;
mod prefetch;
mod prepare;
mod property;
mod pushing;
mod repeats;
mod replanning;
mod rows;
mod runtime;
mod size;
mod sorting;
mod spill;
mod temporal;
mod vector;
mod visited;
mod writing;

pub use allocations::AllocationTracker;
pub use chunk::{Chunk, Layout};
pub use context::{CompileEnvironment, EvaluationContext, SubplanId, SubplanRunner};
pub use memory::{Charge, MemoryFigures, QueryMemory, SpillSpace};
pub use prepare::{prepare, prepare_rest};
pub use profile::{Counters, OperatorProfile, Replanned, Summary};
pub use quota::Quota;
pub use replanning::{CompileAgain, Replanning, Rests};
pub use run::{ResultSink, run};
pub use runtime::Prepared;
pub use runtime::turn::{Arrival, ReplanRule, Replanner, Rest};
pub use runtime::{Environment, RunSettings, Transactions};
pub use size::heap_bytes;
