//! Every default limit of the system, in one table.

/// Rows in one batch of the executor and of a cursor.
pub const BATCH_ROWS: usize = 2_048;
/// Deepest nesting of a query's expressions and patterns.
pub const QUERY_DEPTH_MAX: usize = 256;
/// Most levels of lists and maps within each other that a value has: what walks over values may recurse.
pub const VALUE_DEPTH_MAX: u32 = 256;
/// Most clauses that follow each other in a query, the nodes and edges of patterns that are matched among them: plans are
/// as deep.
pub const QUERY_STEPS_MAX: usize = 4_000;
/// Stack that each step of a long query is given, in bytes; it is taken as far as it is used.
pub const QUERY_STEP_STACK_BYTES: usize = 64 << 10;
/// Bytes of text that a step has at least.
pub const QUERY_STEP_BYTES_MIN: usize = 5;
/// Texts that are no longer than this need no stack of their own.
pub const SHORT_QUERY_BYTES: usize = 1 << 10;
/// Longer texts are run by one thread, since others have only the stack that they are born with.
pub const PARALLEL_QUERY_BYTES_MAX: usize = 4 << 10;
/// Plans of longer texts are not kept by the plan cache.
pub const PLAN_CACHE_TEXT_BYTES_MAX: usize = 16 << 10;
/// Most nodes and edges of one pattern for which the best order is sought; larger ones are matched as they are written.
pub const ORDERED_PATTERN_MAX: usize = 96;
/// Longest text of one query, in bytes.
pub const QUERY_BYTES_MAX: usize = 16 << 20;
/// Plans kept by the plan cache of one database.
pub const PLAN_CACHE_ENTRIES: usize = 512;
/// Statements of which a database keeps statistics.
pub const STATEMENTS_MAX: usize = 1_000;
/// Bytes that statistics of statements take in a database.
pub const STATEMENTS_BYTES_MAX: usize = 4 << 20;
/// Bytes of the text of a statement that its statistics show.
pub const STATEMENT_TEXT_BYTES_MAX: usize = 2 << 10;
/// Bytes of unmerged writes that a store holds in memory before it writes files.
pub const MEMTABLE_BYTES_MAX: usize = 64 << 20;
/// Memory a bulk import may use unless told otherwise, in bytes.
pub const IMPORT_MEMORY_BYTES: usize = 1 << 30;
/// Least memory a bulk import can work in, in bytes.
pub const IMPORT_MEMORY_BYTES_MIN: usize = 64 << 20;
/// Largest weight of an edge that algorithms take: the weights of any number of edges can then be added up, and such sums
/// multiplied with each other, without ever coming to infinity.
pub const WEIGHT_MAX: f64 = 1e100;
/// Edges between two checks for cancellation in a tight loop.
pub const CANCEL_CHECK_EDGES: usize = 1 << 16;
/// Rows, elements of lists or nodes of trees, or 16 bytes of texts each, that are worked on between two checks for
/// cancellation where a loop has no larger steps.
pub const WORK_BETWEEN_CHECKS: usize = 1 << 16;
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
