//! Figures that only grow, of all that has happened since the start, for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

/// Upper bounds of the classes of times, in milliseconds.
pub(crate) const TIMES_MS: [u64; 8] = [1, 5, 20, 100, 500, 2_000, 10_000, 60_000];

/// The protocol of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Bolt,
    Http,
}

/// Statements of one protocol.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    succeeded: AtomicU64,
    failed: AtomicU64,
    /// Statements by the class of their time; the last class has no bound.
    times: [AtomicU64; TIMES_MS.len() + 1],
    total_us: AtomicU64,
}

/// The figures of one server.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    connections: AtomicU64,
    logins: AtomicU64,
    refused_logins: AtomicU64,
    bolt: Statements,
    http: Statements,
}

fn read(figure: &AtomicU64) -> u64 {
    figure.load(Ordering::Relaxed)
}

fn add(figure: &AtomicU64, more: u64) {
    figure.fetch_add(more, Ordering::Relaxed);
}

impl Statements {
    /// Those that succeeded, and those that failed.
    pub(crate) fn outcomes(&self) -> [u64; 2] {
        [read(&self.succeeded), read(&self.failed)]
    }

    /// Statements that took no longer than each bound, and all.
    pub(crate) fn up_to(&self) -> [u64; TIMES_MS.len() + 1] {
        let mut sum = 0;
        self.times.each_ref().map(|count| {
            sum += read(count);
            sum
        })
    }

    /// The time of all in seconds.
    pub(crate) fn total_s(&self) -> f64 {
        read(&self.total_us) as f64 / 1e6
    }
}

impl Counts {
    /// A client has come.
    pub(crate) fn connection(&self) {
        add(&self.connections, 1);
    }

    /// A client has tried to log in.
    pub(crate) fn login(&self, is_welcome: bool) {
        add(if is_welcome { &self.logins } else { &self.refused_logins }, 1);
    }

    /// A statement has ended after that many nanoseconds.
    pub(crate) fn statement(&self, protocol: Protocol, is_success: bool, time_ns: u64) {
        let statements = self.of(protocol);
        add(if is_success { &statements.succeeded } else { &statements.failed }, 1);
        let class = TIMES_MS.iter().position(|bound| time_ns <= bound * 1_000_000).unwrap_or(TIMES_MS.len());
        add(&statements.times[class], 1);
        add(&statements.total_us, time_ns / 1_000);
    }

    /// The statements of a protocol.
    pub(crate) fn of(&self, protocol: Protocol) -> &Statements {
        match protocol {
            Protocol::Bolt => &self.bolt,
            Protocol::Http => &self.http,
        }
    }

    /// Clients that have come.
    pub(crate) fn connections(&self) -> u64 {
        read(&self.connections)
    }

    /// Logins that succeeded, and those that were refused.
    pub(crate) fn logins(&self) -> [u64; 2] {
        [read(&self.logins), read(&self.refused_logins)]
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Protocol};

    #[test]
    fn statements_are_counted_by_their_time() {
        let counts = Counts::default();
        for time_ms in [0, 1, 3, 600, 100_000] {
            counts.statement(Protocol::Http, time_ms > 0, time_ms * 1_000_000);
        }
        let http = counts.of(Protocol::Http);
        assert_eq!(http.outcomes(), [4, 1]);
        assert_eq!(http.up_to(), [2, 3, 3, 3, 3, 4, 4, 4, 5]);
        assert_eq!(http.total_s(), 100.604);
        assert_eq!(counts.of(Protocol::Bolt).outcomes(), [0, 0]);
    }
}
