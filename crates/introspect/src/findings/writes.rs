//! Findings about writes.

use super::{Finding, Rule, digits, duration_text};
use crate::measure::{Measurements, Regime};
use crate::operations::{Operation, Way};

/// Added nodes that a commit takes as long as, from which on writes are to be put together.
const COMMIT_NODES_MIN: f64 = 100.0;
/// Ratio of an edge that is added in transactions to one that is loaded from which on loading is told.
const INCREMENT_RATIO_MIN: f64 = 5.0;

/// Compares a commit with what it commits.
pub(super) fn slow_commit(found: &Measurements) -> Option<Finding> {
    let commit = found.cost(Operation::Commit, Way::Api, Regime::Hot)?;
    let node = found.cost(Operation::AddNode, Way::Api, Regime::Hot)?;
    let figure = commit / node.max(1.0);
    let sentence = format!(
        "a commit takes {}, as long as {} added nodes: put writes together in one transaction, or open with relaxed durability",
        duration_text(commit),
        digits(figure)
    );
    let (rule, operation) = (Rule::SlowCommit, Operation::Commit);
    let finding = Finding { rule, operation, sentence, figure, threshold: COMMIT_NODES_MIN };
    (figure >= COMMIT_NODES_MIN).then_some(finding)
}

/// Compares edges that are added in transactions with those that are loaded at once.
pub(super) fn slow_increment(found: &Measurements) -> Option<Finding> {
    let of_edge = |operation: Operation| {
        let run = found.run(operation, Way::Api, Regime::Hot)?;
        let edges: u64 = run.calls.iter().map(|call| call.rows).sum();
        let ns: u64 = run.calls.iter().map(|call| call.ns).sum();
        (edges > 0).then(|| ns as f64 / edges as f64)
    };
    let (bulk, increment) = (of_edge(Operation::IngestBulk)?, of_edge(Operation::IngestIncrement)?);
    let figure = increment / bulk.max(1.0);
    let sentence = format!(
        "an edge takes {} in transactions and {} loaded in bulk with its node, {} times as long: load what is there at once",
        duration_text(increment),
        duration_text(bulk),
        digits(figure)
    );
    let (rule, operation) = (Rule::SlowIncrement, Operation::IngestIncrement);
    let finding = Finding { rule, operation, sentence, figure, threshold: INCREMENT_RATIO_MIN };
    (figure >= INCREMENT_RATIO_MIN).then_some(finding)
}
