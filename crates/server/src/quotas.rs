//! Memory limits of users: one account for each user who has a session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use database::Quota;

/// The memory limits of users.
pub(crate) struct Quotas {
    bytes_max: Option<usize>,
    held: Mutex<BTreeMap<Box<str>, Weak<Quota>>>,
}

impl Quotas {
    /// Limits of `bytes_max` bytes for each user; `None` for no limit.
    pub(crate) fn new(bytes_max: Option<usize>) -> Quotas {
        Quotas { bytes_max, held: Mutex::default() }
    }

    /// The account of a user, which all sessions of that user share; `None` where there is no limit. Where nobody logs in, all are one
    /// user.
    pub(crate) fn of(&self, user: &str) -> Option<Arc<Quota>> {
        let bytes_max = self.bytes_max?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(quota) = held.get(user).and_then(Weak::upgrade) {
            return Some(quota);
        }
        // Those whose users have left.
        held.retain(|_, quota| quota.strong_count() > 0);
        let quota = Quota::new(user, bytes_max);
        held.insert(user.into(), Arc::downgrade(&quota));
        Some(quota)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Quotas;

    #[test]
    fn sessions_of_a_user_share_an_account_until_the_last_ends() {
        assert!(Quotas::new(None).of("ann").is_none());
        let quotas = Quotas::new(Some(1 << 20));
        let (first, second) = (quotas.of("ann").expect("a limit"), quotas.of("ann").expect("a limit"));
        assert!(Arc::ptr_eq(&first, &second));
        assert!(!Arc::ptr_eq(&first, &quotas.of("bo").expect("a limit")));
        drop((first, second));
        drop(quotas.of("cy"));
        assert!(quotas.held.lock().expect("a lock").keys().all(|user| **user == *"cy"));
    }
}
