//! The waist of Knotwork: what a property graph is, and the ports through which it is read and written.
//!
//! Modules in reading order:
//! - [`id`]: the ids of nodes, edges, labels, edge types and property keys.
//! - [`temporal`]: dates, times, date-times with zones, and durations.
//! - [`point`]: points in coordinate reference systems.
//! - [`value`]: one Cypher value, the table of kinds of a fixed size, its equality and its order.
//! - [`column`]: many values of one kind, the unit that all reads and writes move.
//! - [`codec`]: values, rules and hashes as bytes, which stores share.
//! - [`batch`]: rows of nodes and of edges, made of columns.
//! - [`schema`]: names of labels, edge types and property keys; constraints and indexes.
//! - [`statistics`]: what a planner may ask of a store.
//! - [`store`]: `GraphStore`, `ReadView`, `WriteTransaction`, `Capabilities`: the waist itself.
//! - [`condition`]: conditions on properties, which stores may test.
//! - [`edge_range`]: ranges of edge properties, and the first few edges of each node.
//! - [`course`]: where a search over places goes.
//! - [`index_scan`]: requests of ordered indexes.
//! - [`pattern_query`]: patterns that a store may match whole, and groups of their matches.
//! - [`procedure`]: what `CALL` can call.
//! - [`job`]: computations that another program makes of tables.
//! - [`interrupt`]: cancellation and progress.
//! - [`secrets`]: texts without passwords.
//! - [`schedule`]: which of the statements that run at once may work.
//! - [`platform`]: the operating system as traits.
//! - [`memory`]: one budget for all that a database holds in memory.
//! - [`meter`]: counters of accesses to the store, by thread, for profiles.
//! - [`suggestion`]: the known name nearest to a misspelt one.
//! - [`limits`]: every default limit of the system, in one table.
//! - [`error`]: the registry of error codes.
//! - [`mix`]: mixed bits and seeded random numbers.
//!
//! Invariants: no I/O happens here; no sibling crate is known here.

pub mod batch;
pub mod codec;
pub mod column;
pub mod condition;
pub mod course;
pub mod edge_range;
pub mod error;
pub mod id;
pub mod index_scan;
pub mod interrupt;
pub mod job;
pub mod limits;
pub mod memory;
pub mod meter;
pub mod mix;
pub mod pattern_query;
pub mod platform;
pub mod point;
pub mod procedure;
pub mod schedule;
pub mod schema;
pub mod secrets;
pub mod statistics;
pub mod store;
pub mod suggestion;
pub mod temporal;
pub mod value;

pub use batch::{EdgeBatch, NodeBatch};
pub use codec::stored::Stored;
pub use column::{Bitmap, Column, ColumnBuilder, StringColumn};
pub use condition::Condition;
pub use course::Course;
pub use edge_range::{EdgeRange, EdgeTop};
pub use error::{Error, ErrorCode, ErrorDetail, ErrorKind, ErrorPhase, Result, Span};
pub use id::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId};
pub use index_scan::{IndexBatch, IndexCursor, IndexScan, KeyOrder, KeyRange};
pub use interrupt::Interrupt;
pub use memory::{Consumer, MemoryBudget, Reservation};
pub use pattern_query::{GraphPattern, PatternColumn, PatternQuery};
pub use schedule::{Priority, Scheduler};
pub use schema::{Constraint, Index, PropertyKind, PropertyType, Rule, Schema, SortKey, Subject};
pub use statistics::{Sketches, Statistics};
pub use store::{
    Access, Capabilities, Count, Direction, Expand, FirstNodes, GraphStore, IsolationLevel, NodeScan, ReadView, Taken,
    WriteTransaction,
};
pub use value::fixed;
pub use value::fixed::{ColumnData, Fixed, FixedKind, Scalar};
pub use value::{EdgeValue, PathValue, Value};

/// The hash map of the project: fast, and with the same iteration order in every run.
#[allow(clippy::disallowed_types, reason = "this is the map that the lint points to")]
pub type Map<K, V> = std::collections::HashMap<K, V, rustc_hash::FxBuildHasher>;

/// The hash set of the project: fast, and with the same iteration order in every run.
#[allow(clippy::disallowed_types, reason = "this is the set that the lint points to")]
pub type Set<K> = std::collections::HashSet<K, rustc_hash::FxBuildHasher>;
