//! Settings with which a database is opened and its queries run.

use std::path::PathBuf;
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
    /// Spark, for algorithms with `execution: 'spark'`; `None` to refuse them. Its memory is not part of any limit here.
    pub spark: Option<SparkSettings>,
}

/// Settings of the program that algorithms with `execution: 'spark'` are computed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparkSettings {
    /// The Python in which PySpark is installed: a path, or a name that is looked for in `PATH`.
    pub python: PathBuf,
    /// Spark's master: `local[*]` for this machine, or `spark://HOST:PORT`, `yarn`, `k8s://…`.
    pub master: String,
    /// The folder for the tables of jobs, which Spark's machines see by the same path; `None` for the system's folder of
    /// temporary files, which suits a local master alone. Each job makes a folder of its own in it, and removes that.
    pub folder: Option<PathBuf>,
    /// Settings of Spark itself, as `spark.executor.memory` and `8g`.
    pub options: Vec<(String, String)>,
}

impl Default for SparkSettings {
    fn default() -> SparkSettings {
        let (python, master) = (PathBuf::from("python3"), "local[*]".to_owned());
        SparkSettings { python, master, folder: None, options: Vec::new() }
    }
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
            spark: Some(SparkSettings::default()),
        }
    }
}
