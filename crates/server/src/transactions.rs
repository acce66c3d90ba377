//! Transactions that clients have begun; and those that clients of HTTP keep open between requests, by their names.
//!
//! Invariant: a transaction is with its connection or in the list, never in both; one that nobody asks for any more is rolled
//! back after a time.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bolt::message::Scope;
use database::Session;

/// A transaction that a client has begun.
pub(crate) struct Transaction {
    pub(crate) scope: Scope,
    /// When it is over.
    pub(crate) deadline_ns: Option<u64>,
    /// When the last request of it was answered.
    pub(crate) touched_ns: u64,
}

/// The client that may go on with a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) user: String,
    pub(crate) address: Option<IpAddr>,
}

/// A transaction between two requests.
pub(crate) struct Open {
    pub(crate) session: Session,
    /// The database of the session.
    pub(crate) database: Arc<str>,
    pub(crate) transaction: Transaction,
}

struct Entry {
    owner: Owner,
    /// `None` while a request of it is at work.
    open: Option<Open>,
}

/// Outcome of asking for a transaction.
pub(crate) enum Found {
    Open(Box<Open>),
    /// Another request of it is at work.
    Busy,
    /// There is none of that name for this client.
    Nothing,
}

/// The transactions of clients of HTTP.
#[derive(Default)]
pub(crate) struct Transactions {
    entries: Mutex<BTreeMap<String, Entry>>,
}

impl Transactions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a place for a transaction that is about to begin. False if there are `max` already.
    pub(crate) fn reserve(&self, id: &str, owner: Owner, max: usize) -> bool {
        let mut entries = self.lock();
        let has_room = entries.len() < max;
        if has_room {
            entries.insert(id.to_owned(), Entry { owner, open: None });
        }
        has_room
    }

    /// Takes a transaction out for a request of its owner.
    pub(crate) fn take(&self, id: &str, owner: &Owner) -> Found {
        let mut entries = self.lock();
        let entry = entries.get_mut(id).filter(|entry| entry.owner == *owner);
        match entry.map(|entry| entry.open.take()) {
            Some(Some(open)) => Found::Open(Box::new(open)),
            Some(None) => Found::Busy,
            None => Found::Nothing,
        }
    }

    /// Gives one back behind a request.
    pub(crate) fn give_back(&self, id: &str, open: Open) {
        if let Some(entry) = self.lock().get_mut(id) {
            entry.open = Some(open);
        }
    }

    /// Forgets one that has ended.
    pub(crate) fn forget(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Their number.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// The moment at which the next one is over, if nothing is asked of it; `idle_ns` is the time for which one is kept.
    pub(crate) fn next_end_ns(&self, idle_ns: u64) -> Option<u64> {
        self.lock().values().filter_map(|entry| entry.open.as_ref()).map(|open| end_ns(open, idle_ns)).min()
    }

    /// Takes those out whose time is over. They are rolled back as they are dropped.
    pub(crate) fn overdue(&self, now_ns: u64, idle_ns: u64) -> Vec<Open> {
        let mut entries = self.lock();
        let is_over = |entry: &Entry| entry.open.as_ref().is_some_and(|open| end_ns(open, idle_ns) <= now_ns);
        let ids: Vec<String> = entries.iter().filter(|(_, entry)| is_over(entry)).map(|(id, _)| id.clone()).collect();
        ids.iter().filter_map(|id| entries.remove(id)?.open).collect()
    }

    /// Takes all out.
    pub(crate) fn clear(&self) -> Vec<Open> {
        std::mem::take(&mut *self.lock()).into_values().filter_map(|entry| entry.open).collect()
    }
}

fn end_ns(open: &Open, idle_ns: u64) -> u64 {
    if open.session.is_terminated() {
        return 0;
    }
    let idle = open.transaction.touched_ns.saturating_add(idle_ns);
    open.transaction.deadline_ns.map_or(idle, |deadline| deadline.min(idle))
}
