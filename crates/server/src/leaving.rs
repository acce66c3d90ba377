//! Connections that have ended, until their clients have taken note of it.
//!
//! A socket that is closed with bytes unread is reset, and the system throws away what its client has not read by then. So the server
//! says that nothing more comes, and drops what the client still sends until it closes its end as well.

use std::sync::Arc;

use rustix::event::{PollFd, PollFlags};

use crate::limits::{LEAVING_MAX, LEAVING_STRANGERS_MAX, LEAVING_TIME, QUIET_TIME};
use crate::wire::Wire;

/// A connection that has ended.
struct Held {
    wire: Arc<Wire>,
    since_ns: u64,
    /// True if its client had not logged in.
    is_stranger: bool,
}

/// The connections; those that came first are first.
#[derive(Default)]
pub(crate) struct Leaving(Vec<Held>);

impl Leaving {
    /// True without connections.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a connection at that moment. Strangers do not take the places of those who had logged in.
    pub(crate) fn push(&mut self, wire: Arc<Wire>, is_stranger: bool, now_ns: u64) {
        let most = if is_stranger { LEAVING_STRANGERS_MAX } else { LEAVING_MAX };
        let is_alike = |held: &Held| held.is_stranger == is_stranger;
        if self.0.iter().filter(|held| is_alike(held)).count() >= most
            && let Some(oldest) = self.0.iter().position(is_alike)
        {
            self.0.remove(oldest);
        }
        self.0.push(Held { wire, since_ns: now_ns, is_stranger });
    }

    /// The next moment at which one is not waited for any longer.
    pub(crate) fn next_end_ns(&self) -> Option<u64> {
        self.0.first().map(|held| held.since_ns + LEAVING_TIME.as_nanos() as u64)
    }

    /// The sockets, to be polled.
    pub(crate) fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.0.iter().map(|held| {
            let flags = if held.wire.has_rest() { PollFlags::OUT } else { PollFlags::IN };
            PollFd::from_borrowed_fd(held.wire.fd(), flags)
        })
    }

    /// Closes those whose clients have taken note, or whose time is over. `found` are the places at which something has happened.
    pub(crate) fn look(&mut self, found: &[usize], now_ns: u64) {
        for &place in found.iter().rev() {
            if self.0.get(place).is_some_and(|held| held.wire.leave()) {
                self.0.remove(place);
            }
        }
        self.0.retain(|held| held.since_ns + LEAVING_TIME.as_nanos() as u64 > now_ns);
    }

    /// Closes those whose clients ask for nothing more: they do not know yet, and nothing that they were told is lost.
    /// They have a while since that moment, at which the server began to end.
    pub(crate) fn settle(&mut self, since_ns: u64, now_ns: u64) {
        let quiet_ns = QUIET_TIME.as_nanos() as u64;
        self.0.retain(|held| held.wire.is_talking() || now_ns < held.since_ns.max(since_ns) + quiet_ns);
    }
}
