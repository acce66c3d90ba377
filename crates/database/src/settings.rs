//! Settings with which a database is opened and its queries run.

use std::sync::Arc;
use std::time::Duration;

use exec::ReplanRule;
use model::{IsolationLevel, Priority};
use storage::Durability;

use crate::slow_log::SlowLog;
use crate::trace::Recording;

/// Access for which a database is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Reading and writing; a missing store is made.
    #[default]
    ReadWrite,
    /// Reading and writing; a missing store is an error.
    ReadWriteExisting,
    /// Reading only; a missing store is an error.
    ReadOnly,
}

/// Settings with which a database is opened and its queries run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Access for which it is opened.
    pub access: Access,
    /// Durability that a commit waits for.
    pub durability: Durability,
    /// Isolation level of a new session's transactions.
    pub isolation: IsolationLevel,
    /// The memory limit of the database in bytes, for blocks of files, unmerged writes, merges and queries together;
    /// `None` for half of the machine's memory, or of the control group's if that is less.
    pub memory_bytes_max: Option<usize>,
    /// Bytes a second that merges in the background may write, 0 for no limit. Writers that bring more than that can merge
    /// wait in the end.
    pub merge_bytes_per_second: u64,
    /// The memory limit of one query in bytes, above which it spills to temporary files or, where it cannot, fails;
    /// `None` for half of the database's limit.
    pub query_memory_max: Option<usize>,
    /// Time limit of a statement, unless its session says otherwise; `None` for no limit.
    pub timeout: Option<Duration>,
    /// Priority of a new session's statements, relative to those of others.
    pub priority: Priority,
    /// Threads that one statement may use, and that all together use before some make room for others.
    pub threads: usize,
    /// Condition on which the rest of a plan is made anew while it runs.
    pub replan: ReplanRule,
    /// The log of slow statements.
    pub slow_log: Option<Arc<SlowLog>>,
    /// The trace to which statements are written.
    pub recording: Option<Arc<Recording>>,
}

impl Default for Config {
    fn default() -> Config {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Config {
            access: Access::default(),
            durability: Durability::Full,
            isolation: IsolationLevel::Snapshot,
            memory_bytes_max: None,
            merge_bytes_per_second: 0,
            query_memory_max: None,
            timeout: None,
            priority: Priority::Normal,
            threads,
            replan: ReplanRule::default(),
            slow_log: None,
            recording: None,
        }
    }
}
