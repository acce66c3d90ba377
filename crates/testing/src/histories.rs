//! Histories of concurrent transactions, and the check that they can have happened under snapshot isolation.
//!
//! Keys hold lists of numbers; a number is added once in a whole history. So a read tells which transactions it saw, and
//! in which order they came. From that follow the dependencies between transactions, and every anomaly is a cycle of them.
//! After: Kingsbury, Alvaro, "Elle: inferring isolation anomalies from experimental observations", VLDB 2021; Adya, "Weak
//! consistency: a generalized theory", 1999.
//!
//! - [`check`]: what a history shows.
//! - [`cycles`]: the graph of dependencies.
//! - [`planted`]: faults that the check must find.
//!
//! Times count too: a transaction that begins after a commit was acknowledged must see it, so that transactions on one
//! key are linearizable.

pub mod check;
pub mod cycles;
pub mod planted;

pub use check::{Anomaly, AnomalyKind, Findings, find_anomalies};
pub use planted::Planted;

/// Operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read a list whole.
    Read {
        /// The list that was read.
        key: Key,
        /// Content of the list.
        values: Vec<u64>,
    },
    /// Put a number at the end of a list.
    Append {
        /// The list that the number was added to.
        key: Key,
        /// The number, added nowhere else.
        value: u64,
    },
}

/// A list. The test decides which feature of the store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A list that is read in order, as a property that is written anew as a whole: two transactions that append to it
    /// conflict.
    Ordered(u32),
    /// A list that is read in any order, as parallel edges, one for each number: two transactions that append do not
    /// conflict.
    Set(u32),
}

impl Key {
    /// The number of the list.
    pub fn number(self) -> u32 {
        match self {
            Key::Ordered(number) | Key::Set(number) => number,
        }
    }

    /// The list beside it: of each two, one is the other's.
    #[must_use]
    pub fn neighbor(self) -> Key {
        match self {
            Key::Ordered(number) => Key::Ordered(number ^ 1),
            Key::Set(number) => Key::Set(number ^ 1),
        }
    }
}

/// Outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its commit was acknowledged.
    Committed,
    /// It was rolled back, or its commit was refused.
    Aborted,
    /// Its commit failed in a way that leaves open whether it happened.
    Unknown,
}

/// One transaction as its client saw it.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Operations of the transaction, in order.
    pub operations: Vec<Operation>,
    /// Outcome of the transaction.
    pub outcome: Outcome,
    /// When it was about to begin.
    pub begin_ns: u64,
    /// When its end was known.
    pub end_ns: u64,
}
