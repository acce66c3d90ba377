//! Every default limit of the system, in one table.

/// Rows in one batch of the executor and of a cursor.
pub const BATCH_ROWS: usize = 2_048;
/// Deepest nesting of a query's expressions and patterns.
pub const QUERY_DEPTH_MAX: usize = 256;
/// Longest text of one query, in bytes.
pub const QUERY_BYTES_MAX: usize = 16 << 20;
/// Plans kept by the plan cache of one database.
pub const PLAN_CACHE_ENTRIES: usize = 512;
/// Bytes of unmerged writes that a store holds in memory before it writes files.
pub const MEMTABLE_BYTES_MAX: usize = 64 << 20;
/// Memory a bulk import may use unless told otherwise, in bytes.
pub const IMPORT_MEMORY_BYTES: usize = 1 << 30;
/// Least memory a bulk import can work in, in bytes.
pub const IMPORT_MEMORY_BYTES_MIN: usize = 64 << 20;
/// Edges between two checks for cancellation in a tight loop.
pub const CANCEL_CHECK_EDGES: usize = 1 << 16;
/// Elements of a list, and bytes of a text, that an expression may build.
pub const LIST_ELEMENTS_MAX: usize = 100_000_000;
/// The part of the memory of the machine, or of the control group if that is less, that a database may use.
pub const MEMORY_SHARE: (usize, usize) = (1, 2);
/// Memory a database may use where the machine does not say how much it has, in bytes.
pub const MEMORY_BYTES_FALLBACK: usize = 1 << 30;
/// Lists of neighbors that a statement keeps to intersect them, of one kind of edges, in bytes.
pub const NEIGHBOR_LIST_BYTES_MAX: usize = 1 << 30;
/// Least memory limit of a database, in bytes: of its cache, a block or two are left.
pub const MEMORY_BYTES_MIN: usize = 64 << 10;
