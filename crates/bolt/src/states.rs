//! States of a connection, and the requests that each takes.
//!
//! | State | Takes |
//! |---|---|
//! | negotiation | `HELLO` |
//! | authentication (since 5.1) | `LOGON` |
//! | ready | `RUN`, `BEGIN`, `ROUTE`, `TELEMETRY`, `LOGOFF` |
//! | streaming | `PULL`, `DISCARD` |
//! | transaction | `RUN`, `COMMIT`, `ROLLBACK`, and `PULL`, `DISCARD` as long as a stream is open |
//! | failed | nothing: all is ignored |
//! | interrupted | nothing: all is ignored that came before `RESET` |
//!
//! `RESET` is taken everywhere after the authentication, `GOODBYE` everywhere. What a state does not take ends the connection.
//!
//! Invariant: each request gets one summary, `SUCCESS`, `FAILURE` or `IGNORED`, but `GOODBYE`, which gets none.

use std::collections::BTreeSet;

use crate::message::{Portion, Request};
use crate::version::Version;

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing was asked yet.
    Negotiation,
    /// The client is nobody yet.
    Authentication,
    /// A statement or a transaction may begin.
    Ready,
    /// A statement outside of transactions has rows left.
    Streaming,
    /// A transaction is open.
    Transaction,
    /// Something has failed, and the client may not know yet.
    Failed,
    /// `RESET` has come, and requests before it are passed over.
    Interrupted,
    /// The connection is to be closed.
    Defunct,
}

/// Action on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is to be done; [`Machine::succeed`] or [`Machine::fail`] tells how that went.
    Act,
    /// It is to be answered with `IGNORED`.
    Ignore,
    /// It is to be answered with a failure, and the connection closed.
    Refuse,
    /// The connection is to be closed.
    Close,
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Machine {
    version: Version,
    state: State,
    /// Streams that are open.
    streams: BTreeSet<i64>,
    /// Number of the next stream of the transaction.
    next: i64,
    /// `RESET`s that have come and were not taken.
    resets: u32,
}

impl Machine {
    /// A connection on which that version was agreed.
    pub fn new(version: Version) -> Machine {
        Machine { version, state: State::Negotiation, streams: BTreeSet::new(), next: 0, resets: 0 }
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Takes a request.
    pub fn take(&mut self, request: &Request) -> Step {
        let is_known = !matches!(self.state, State::Negotiation | State::Authentication);
        let step = match (self.state, request) {
            (State::Defunct, _) | (_, Request::Goodbye) => Step::Close,
            (_, Request::Reset) if is_known => Step::Act,
            (State::Failed | State::Interrupted, Request::Hello(_) | Request::Logon(_)) => Step::Refuse,
            (State::Failed | State::Interrupted, _) => Step::Ignore,
            (State::Negotiation, Request::Hello(_)) => Step::Act,
            (State::Authentication, Request::Logon(_)) => Step::Act,
            (
                State::Ready,
                Request::Run(..) | Request::Begin(_) | Request::Route(..) | Request::Telemetry(_) | Request::Logoff,
            ) => Step::Act,
            (State::Transaction, Request::Run(..) | Request::Commit | Request::Rollback) => Step::Act,
            (State::Streaming | State::Transaction, Request::Pull(_) | Request::Discard(_))
                if !self.streams.is_empty() =>
            {
                Step::Act
            }
            _ => Step::Refuse,
        };
        if matches!(step, Step::Refuse | Step::Close) {
            self.state = State::Defunct;
        }
        step
    }

    /// `RESET` has come, and stands behind other requests: until it is taken, they are ignored.
    pub fn interrupt(&mut self) {
        self.resets += 1;
        if !matches!(self.state, State::Negotiation | State::Authentication | State::Defunct) {
            self.state = State::Interrupted;
        }
    }

    /// A request that was to be done was done.
    pub fn succeed(&mut self, request: &Request) {
        self.state = match request {
            Request::Hello(_) if self.version.has_logon() => State::Authentication,
            Request::Hello(_) | Request::Logon(_) | Request::Commit | Request::Rollback => {
                self.close_streams();
                State::Ready
            }
            Request::Logoff => State::Authentication,
            Request::Begin(_) => State::Transaction,
            Request::Reset => {
                self.close_streams();
                self.resets = self.resets.saturating_sub(1);
                if self.resets == 0 { State::Ready } else { State::Interrupted }
            }
            _ => self.state,
        };
    }

    /// The transaction that was open before `RESET` goes on.
    pub fn resume(&mut self) {
        if self.state == State::Ready {
            self.state = State::Transaction;
        }
    }

    /// A statement has columns: its stream is open, by that number.
    pub fn open(&mut self) -> i64 {
        let number = self.next;
        self.next += 1;
        self.streams.insert(number);
        if self.state == State::Ready {
            self.state = State::Streaming;
        }
        number
    }

    /// The stream that is meant; `None` if there is none.
    pub fn stream(&self, portion: Portion) -> Option<i64> {
        match portion.stream {
            None => self.streams.last().copied(),
            Some(number) => self.streams.get(&number).copied(),
        }
    }

    /// A stream has come to its end.
    pub fn end(&mut self, stream: i64) {
        self.streams.remove(&stream);
        if self.state == State::Streaming && self.streams.is_empty() {
            self.next = 0;
            self.state = State::Ready;
        }
    }

    /// Something has failed: until `RESET`, all is ignored. Before the client is known, the connection ends.
    pub fn fail(&mut self) {
        self.close_streams();
        self.state = match self.state {
            State::Negotiation | State::Authentication | State::Defunct => State::Defunct,
            State::Interrupted => State::Interrupted,
            _ => State::Failed,
        };
    }

    fn close_streams(&mut self) {
        self.streams.clear();
        self.next = 0;
    }
}

#[cfg(test)]
mod tests;
