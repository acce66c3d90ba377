//! A limit of memory that several queries share, such as all those of one user.
//!
//! Cost: one atomic addition for each change of a charge, and only where there is such a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::{Error, error};

/// A limit of memory that the queries of one user share.
#[derive(Debug)]
pub struct Quota {
    user: Box<str>,
    limit: usize,
    used: AtomicUsize,
}

impl Quota {
    /// Of a user, in bytes.
    pub fn new(user: &str, limit: usize) -> Arc<Quota> {
        Arc::new(Quota { user: user.into(), limit, used: AtomicUsize::new(0) })
    }

    /// Bytes that the queries hold now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that they may still take.
    pub(crate) fn left(&self) -> usize {
        self.limit.saturating_sub(self.used())
    }

    /// Takes bytes if they are left.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let is_within = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.limit;
        if !is_within {
            self.give_back(bytes);
        }
        is_within
    }

    /// Counts bytes that are held in any case.
    pub(crate) fn count(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "a quota gets back what it gave");
    }

    pub(crate) fn refusal(&self, operator: &'static str, bytes: usize) -> Error {
        let (user, used, limit) = (&self.user, self.used(), self.limit);
        error!(
            Limit,
            "{operator} needs {bytes} more bytes of memory; the queries of the user '{user}' hold {used} of the {limit} bytes \
             that they may hold together"
        )
        .with_remedy("wait until others of them have ended, ask for less at a time, or have the limit of users raised (--user-memory)")
    }
}
