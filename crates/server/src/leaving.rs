//! Connections that have ended, until their clients have taken note of it.
//!
//! A socket that is closed with bytes unread is reset, and the system throws away what its client has not read by then. So the server
//! says that nothing more comes, and drops what the client still sends until it closes its end as well.

use std::sync::Arc;

use rustix::event::{PollFd, PollFlags};

use crate::limits::{LEAVING_MAX, LEAVING_TIME};
use crate::wire::Wire;

/// The connections, and until when they are waited for; those that came first are first.
#[derive(Default)]
pub(crate) struct Leaving(Vec<(Arc<Wire>, u64)>);

impl Leaving {
    /// True without connections.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a connection at that moment.
    pub(crate) fn push(&mut self, wire: Arc<Wire>, now_ns: u64) {
        if self.0.len() >= LEAVING_MAX {
            self.0.remove(0);
        }
        self.0.push((wire, now_ns + LEAVING_TIME.as_nanos() as u64));
    }

    /// The next moment at which one is not waited for any longer.
    pub(crate) fn next_end_ns(&self) -> Option<u64> {
        self.0.first().map(|(_, until_ns)| *until_ns)
    }

    /// The sockets, to be polled.
    pub(crate) fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.0.iter().map(|(wire, _)| {
            let flags = if wire.has_rest() { PollFlags::OUT } else { PollFlags::IN };
            PollFd::from_borrowed_fd(wire.fd(), flags)
        })
    }

    /// Closes those whose clients have taken note, or whose time is over. `found` are the places at which something has happened.
    pub(crate) fn look(&mut self, found: &[usize], now_ns: u64) {
        for &place in found.iter().rev() {
            if self.0.get(place).is_some_and(|(wire, _)| wire.leave()) {
                self.0.remove(place);
            }
        }
        self.0.retain(|(_, until_ns)| *until_ns > now_ns);
    }
}
