//! Jobs: computations that another program makes of tables which are written for it.
//!
//! Contract: an engine is started first, so that a program that is not there is told before anything is written; then
//! come the parts of the tables, from several threads at once; then the job runs; then its rows are read, in order. What a
//! job has written is gone, and its program has ended, when the job is dropped, however that comes about.

use crate::column::Column;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::value::Value;

/// A program that computes on tables, as Spark.
pub trait JobEngine: Send + Sync {
    /// Starts the program.
    ///
    /// # Errors
    /// `JOB` if it is not there, or does not answer as asked.
    fn start(&self, interrupt: &Interrupt) -> Result<Box<dyn Job>>;
}

/// A column of numbers of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobColumn {
    /// Its name.
    pub name: &'static str,
    /// True for floats, false for integers.
    pub is_float: bool,
}

/// The rows of its result that a job is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobRows {
    /// None: only figures of the whole are wanted.
    None,
    /// Those that have a value.
    Known,
    /// One for each node, with or without a value.
    All,
}

impl JobRows {
    /// Its name in what is sent to the program.
    pub fn name(self) -> &'static str {
        match self {
            JobRows::None => "none",
            JobRows::Known => "known",
            JobRows::All => "all",
        }
    }
}

/// The computation that a program is asked for.
#[derive(Clone, Debug)]
pub struct JobTask {
    /// Its name, as `pagerank`.
    pub name: &'static str,
    /// The rows that are wanted.
    pub rows: JobRows,
    /// Its settings: numbers, booleans, strings, lists of them, or null.
    pub settings: Vec<(&'static str, Value)>,
}

/// The figures of a computation as a whole, by name.
pub type JobFigures = Vec<(String, Value)>;

/// A program at work for one computation.
pub trait Job: Send + Sync {
    /// A new part of a table. Parts of one table have the same columns.
    fn part(&self, table: &'static str, columns: &'static [JobColumn]) -> Result<Box<dyn JobPart>>;
    /// Runs the computation on the parts that are finished. Progress is reported to the interrupt.
    fn run(&mut self, task: &JobTask, interrupt: &Interrupt) -> Result<JobFigures>;
    /// Gives the rows of the result in order, in batches, until no more are wanted.
    fn rows(&mut self, interrupt: &Interrupt, sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>) -> Result<()>;
}

/// A part of a table.
pub trait JobPart: Send {
    /// Adds rows: integers and floats without nulls, one column for each of the part's.
    fn append(&mut self, columns: &[Column]) -> Result<()>;
    /// Ends it: its rows are part of the table from now on.
    fn finish(self: Box<Self>) -> Result<()>;
}
