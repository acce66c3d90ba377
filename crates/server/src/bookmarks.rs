//! Bookmarks: names of moments that transactions come after.
//!
//! On one server every transaction comes after all that were committed before it began, so nothing is waited for. A bookmark
//! that this store never gave out is refused: its client has mixed up servers. As in Neo4j, it is that of the last commit: one who has
//! only read gets it again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// First part of every bookmark.
const PREFIX: &str = "knotwork";

/// The bookmarks of one store.
#[derive(Debug)]
pub(crate) struct Bookmarks {
    store: String,
    /// Of each database the number of commits that were seen last, and a moment when there were as many.
    last: Mutex<BTreeMap<Arc<str>, (u64, i64)>>,
}

impl Bookmarks {
    /// Those of the store in a directory.
    pub(crate) fn new(path: &std::path::Path) -> Bookmarks {
        let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let digest = Sha256::digest(place.as_os_str().as_encoded_bytes());
        let store = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        Bookmarks { store, last: Mutex::default() }
    }

    /// The bookmark of a database that has had `commits` commits by the moment `unix_us`, in microseconds since the Unix epoch. A database
    /// that was replaced may have had fewer than the one before it.
    pub(crate) fn of(&self, database: &Arc<str>, commits: u64, unix_us: i64) -> String {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (seen, moment) = last.entry(database.clone()).or_insert((commits, unix_us));
        if commits != *seen {
            (*seen, *moment) = (commits, unix_us);
        }
        format!("{PREFIX}:{}:{moment}", self.store)
    }

    /// True if this store may have given it out before that moment.
    pub(crate) fn is_ours(&self, bookmark: &str, now_us: i64) -> bool {
        let mut parts = bookmark.split(':');
        let (prefix, store, moment) = (parts.next(), parts.next(), parts.next());
        let moment = moment.and_then(|moment| moment.parse::<i64>().ok());
        prefix == Some(PREFIX)
            && store == Some(&self.store)
            && moment.is_some_and(|moment| (0..=now_us).contains(&moment))
            && parts.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Bookmarks;

    #[test]
    fn what_was_given_out_is_known_again() {
        let bookmarks = Bookmarks::new("a.knot".as_ref());
        let database = Arc::from("neo4j");
        let given = bookmarks.of(&database, 7, 5_000);
        assert_eq!(bookmarks.of(&database, 7, 5_500), given, "nothing was committed");
        assert_ne!(bookmarks.of(&database, 8, 5_500), given);
        assert_ne!(
            bookmarks.of(&database, 2, 5_800),
            bookmarks.of(&database, 8, 5_900),
            "another database of that name"
        );
        assert!(bookmarks.is_ours(&given, 5_000));
        assert!(!bookmarks.is_ours(&given, 4_999));
        assert!(!Bookmarks::new("b.knot".as_ref()).is_ours(&given, 6_000));
        for strange in ["", "knotwork", "FB:kcwQ", "knotwork:0:0:0", &format!("{given}:1"), &format!("{given}x")] {
            assert!(!bookmarks.is_ours(strange, 6_000), "{strange}");
        }
    }
}
