//! A transaction that waits for its commit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Error, NodeId, Result, Schema, error};

use crate::items::{Item, edge_conflict};
use crate::record::Member;
use crate::ring::Ring;
use crate::state::{Delta, NewName};

/// The writes of a transaction and what they rely on, by which a conflict is told.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    pub(crate) items: Vec<Item>,
    /// Nodes that it deleted.
    pub(crate) deleted: Vec<NodeId>,
    /// Nodes at which it made edges.
    pub(crate) touched: Vec<NodeId>,
    pub(crate) schema: Arc<Schema>,
}

/// A transaction that waits for its commit.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The number of the last record that it sees.
    pub(crate) base: u64,
    /// The last record of the state when the name of its body was written down; the largest number if it has no body.
    pub(crate) named_at: u64,
    pub(crate) member: Arc<Member>,
    /// The rows that it writes.
    pub(crate) rows: Arc<[u8]>,
    /// Approximate bytes that it takes in a record.
    pub(crate) bytes: usize,
    pub(crate) doubts: Doubts,
    pub(crate) answer: Mutex<Answer>,
}

/// Outcome of a commit.
#[derive(Debug, Default)]
pub(crate) enum Answer {
    /// Not known yet.
    #[default]
    Waiting,
    /// The number of the record, or an error.
    Given(Result<u64>),
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The outcome, once it is known.
    pub(crate) fn take_answer(&self) -> Option<Result<u64>> {
        match std::mem::take(&mut *self.lock()) {
            Answer::Waiting => None,
            Answer::Given(answer) => Some(answer),
        }
    }

    /// True if the outcome is known.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(*self.lock(), Answer::Given(_))
    }

    /// Gives the outcome.
    pub(crate) fn answer_with(&self, outcome: Result<u64>) {
        *self.lock() = Answer::Given(outcome);
    }

    /// Gives an error as the outcome, if none is known.
    pub(crate) fn answer_if_none(&self, error: impl FnOnce() -> Error) {
        let mut answer = self.lock();
        if matches!(*answer, Answer::Waiting) {
            *answer = Answer::Given(Err(error()));
        }
    }

    /// The conflict with a transaction that comes first and that this one does not see; `None` if both can commit.
    pub(crate) fn conflict(&self, earlier: &Member, ring: &Ring) -> Result<Option<Error>> {
        let (mine, theirs) = (&self.member.delta, &earlier.delta);
        let is_beside = |load: &Delta, other: &Delta| load.load.is_some() && (other.load.is_some() || other.writes());
        if is_beside(mine, theirs) || is_beside(theirs, mine) {
            return Ok(Some(error!(Conflict, "a bulk load began or ended beside other writes to the graph")));
        }
        if let Some(step) = &theirs.purge
            && (self.named_at < step.purge.horizon || mine.purge.is_some())
        {
            return Ok(Some(error!(Conflict, "a purge has gone on to record {} of the log", step.purge.horizon)));
        }
        let writes = |delta: &Delta| delta.has_data || delta.rules.is_some();
        if mine.rules.is_some() && writes(theirs) || theirs.rules.is_some() && writes(mine) {
            let conflict = error!(
                Conflict,
                "constraints, indexes or sort keys were changed beside other writes, by one of two transactions"
            );
            return Ok(Some(conflict));
        }
        if let Some(name) = mine.names.iter().find(|name| theirs.names.iter().any(|other| differs(name, other))) {
            let conflict = error!(Conflict, "{} and another new name were given one number at once", name.name);
            return Ok(Some(conflict));
        }
        if !mine.has_data && self.doubts.items.is_empty() {
            return Ok(None);
        }
        let (mine, theirs) = (self.member.items(ring)?, earlier.items(ring)?);
        Ok(mine.conflict(&theirs).map(|number| self.explain(number, &theirs)))
    }

    /// The error of a conflict at the item of that number.
    fn explain(&self, number: u64, theirs: &crate::items::Items) -> Error {
        let Doubts { items, deleted, touched, schema } = &self.doubts;
        let is_written = theirs.writes.binary_search(&number).is_ok();
        if is_written && let Some(item) = items.iter().find(|item| item.hash() == number) {
            return item.conflict(schema);
        }
        let is_touched = theirs.touches.binary_search(&number).is_ok();
        edge_conflict(deleted.iter().chain(touched).copied(), number, is_touched)
    }
}

/// True if two new names cannot both be: one name under two numbers, or two names under one.
fn differs(mine: &NewName, other: &NewName) -> bool {
    mine.kind == other.kind && (mine.number == other.number) != (mine.name == other.name)
}
