//! Words that only our own clients and servers know, within messages that others understand without them.

/// Entry of `HELLO`: the client is our own, and names the settings of its session in a map.
pub const HELLO: &str = "knotwork";

/// Setting: isolation of transactions, by its name.
pub const ISOLATION: &str = "isolation";
/// Setting: priority of statements, by its name.
pub const PRIORITY: &str = "priority";
/// Setting: the most bytes of memory of one statement.
pub const QUERY_MEMORY: &str = "query_memory";
/// Setting of a client on the same machine: the folder in which relative paths begin.
pub const FOLDER: &str = "folder";

/// Entry of the diagnostic record of a failure: the code of the error.
pub const CODE: &str = "_knotwork_code";
/// Its message.
pub const MESSAGE: &str = "_knotwork_message";
/// Its remedy.
pub const REMEDY: &str = "_knotwork_remedy";
/// The bytes of the text that it points at: the first, and the one behind the last.
pub const SPAN: &str = "_knotwork_span";
/// Its detail, see `ErrorDetail`.
pub const DETAIL: &str = "_knotwork_detail";
/// Its kind, see `ErrorKind`, which need not be that of its code.
pub const KIND: &str = "_knotwork_kind";
/// Its phase, unless it was found at run time.
pub const PHASE: &str = "_knotwork_phase";

/// Entry of the diagnostic record of a statement that has certainly not run, and may be sent elsewhere.
pub const NOT_RUN: &str = "_knotwork_not_run";

/// Entry of the answer to `RESET`: true if the transaction is open still.
pub const IN_TRANSACTION: &str = "knotwork_in_transaction";
/// Entry of the answer to `RUN` outside of transactions: true if what the statement writes is committed by now.
pub const IS_COMMITTED: &str = "knotwork_is_committed";
/// Entry of the answer to `RUN`: of each column the type of every value besides null, by its name in Cypher, or null.
pub const TYPES: &str = "knotwork_types";
/// Entry of the summary of a statement: what Neo4j's summary has no place for, as a map.
pub const SUMMARY: &str = "knotwork";

/// Number in the summary: nanoseconds from the text to the last row.
pub const TIME: &str = "time_ns";
/// Number in the summary: the most bytes of memory.
pub const MEMORY_PEAK: &str = "memory_peak";
/// Number in the summary: bytes written to temporary files.
pub const SPILLED: &str = "spilled_bytes";
/// Number in the summary: sort keys declared.
pub const SORT_KEYS_ADDED: &str = "sort-keys-added";
/// Number in the summary: sort keys taken back.
pub const SORT_KEYS_REMOVED: &str = "sort-keys-removed";
/// Text in the summary: the plan as a table.
pub const PLAN: &str = "plan";
/// Text in the summary: the plan as JSON.
pub const PLAN_JSON: &str = "plan_json";
/// List in the summary: of each hint its message, and the bytes of the text that it points at.
pub const HINTS: &str = "hints";
