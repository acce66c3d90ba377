//! The part of a connection that answers, also while a statement runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use bolt::message::Portion;
use bolt::structures::Moments;
use bolt::{Failure, Machine, Request, Version, answer};
use database::DATABASE_NAME;
use parking_lot::{ArcMutexGuard, Mutex, RawMutex};

use crate::convert::Form;
use crate::failure;
use crate::http::{ACCEPTED, Refusal, Reply};
use crate::limits::UNSENT_BYTES_MAX;
use crate::own::Own;
use crate::rows::{Stream, Wanted};
use crate::serve::Server;
use crate::wire::Wire;

/// A link in the hands of its connection. The connection gives it up only while a statement computes, so that the front can answer.
pub(crate) type HeldLink = ArcMutexGuard<RawMutex, Link>;

/// The part of a connection that answers, also while a statement runs.
pub(crate) struct Link {
    pub(crate) server: Arc<Server>,
    pub(crate) wire: Arc<Wire>,
    pub(crate) machine: Machine,
    pub(crate) form: Form,
    /// Answers that were not sent yet.
    pub(crate) out: Vec<u8>,
    /// Since when the client has taken nothing of them.
    pub(super) stalled_ns: Option<u64>,
    pub(crate) streams: BTreeMap<i64, Stream>,
    /// The stream of which rows are wanted.
    pub(crate) answering: Option<i64>,
    /// True while a statement computes whose columns were told.
    pub(crate) is_streaming: bool,
    /// A failure that the client gets at its next request.
    pub(crate) deferred: Option<Failure>,
    /// Settings that our own client has sent; `None` for others.
    pub(crate) own: Option<Own>,
    /// The user who has logged in; empty where nobody has to.
    pub(crate) user: String,
    /// The database of the session.
    pub(crate) database: Arc<str>,
    /// The answer to the request of HTTP at hand; `None` between requests, and where Bolt is spoken.
    pub(crate) reply: Option<Box<Reply>>,
    /// True once nothing more is answered.
    pub(crate) is_last: bool,
}

/// The place where rows are written.
fn rows_out<'o>(reply: &'o mut Option<Box<Reply>>, out: &'o mut Vec<u8>) -> &'o mut Vec<u8> {
    match reply {
        Some(reply) => reply.body(),
        None => out,
    }
}

impl Link {
    /// The answering part of a connection that has just come.
    pub(super) fn new(server: Arc<Server>, wire: Arc<Wire>) -> Link {
        let version = Version::ALL[0];
        Link {
            server,
            wire,
            machine: Machine::new(version),
            form: Form { version, moments: Moments::Utc, is_own: false },
            out: Vec::new(),
            stalled_ns: None,
            streams: BTreeMap::new(),
            answering: None,
            is_streaming: false,
            deferred: None,
            own: None,
            user: String::new(),
            database: Arc::from(DATABASE_NAME),
            reply: None,
            is_last: false,
        }
    }

    /// The same in the hands of its connection.
    pub(super) fn held(self) -> HeldLink {
        Arc::new(Mutex::new(self)).lock_arc()
    }

    /// Sends what the client takes, without waiting.
    pub(crate) fn flush(&mut self) {
        if let Some(reply) = &mut self.reply {
            reply.advance(&mut self.out);
        }
        if !self.has_unsent() {
            return;
        }
        let now = self.server.now_ns();
        let sent = self.wire.send(&self.out, now);
        self.out.drain(..sent.taken);
        self.stalled_ns = match (self.has_unsent(), sent.has_moved) {
            (false, _) => None,
            // Within this machine a client that is gone is noticed; one that looks at rows for long may.
            _ if self.wire.peer().is_none() && !self.is_last => None,
            (true, false) => self.stalled_ns.or(Some(now)),
            (true, true) => Some(now),
        };
    }

    /// Sends what is there together with what comes next: a statement that is short answers in one piece. If it lasts, the front
    /// sends it at its next look.
    pub(crate) fn send_soon(&mut self) {
        if let Some(reply) = &mut self.reply {
            reply.advance(&mut self.out);
        }
        match self.wire.hold(&self.out) {
            true => self.out.clear(),
            false => self.flush(),
        }
    }

    /// Bytes of answers that were not sent.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.out.len() + self.reply.as_ref().map_or(0, |reply| reply.waiting())
    }

    /// The place where rows are written that are sent next.
    pub(crate) fn rows_out(&mut self) -> &mut Vec<u8> {
        rows_out(&mut self.reply, &mut self.out)
    }

    /// True if answers wait for the client to read.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.out.is_empty() || self.wire.has_rest()
    }

    /// Takes what has arrived.
    pub(crate) fn receive(&self) {
        self.wire.receive(self.server.now_ns());
    }

    /// Moves the rows that are wanted to the answers, as far as there is room; at their end, the summary.
    pub(crate) fn pump(&mut self) {
        let Some(number) = self.answering else { return };
        let Some(stream) = self.streams.get_mut(&number) else { return };
        while let Some(wanted) = &mut stream.wanted {
            if stream.buffer.is_empty() {
                if let Some(end) = stream.end.take() {
                    rows_out(&mut self.reply, &mut self.out).extend(end);
                    self.streams.remove(&number);
                    self.machine.end(number);
                    self.answering = None;
                    self.finish(ACCEPTED);
                }
                return;
            }
            if wanted.rows == Some(0) {
                stream.wanted = None;
                self.answering = None;
                answer::success(&mut self.out, |out| {
                    out.map(1);
                    out.string("has_more");
                    out.bool(true);
                });
                return;
            }
            let body = self.reply.as_ref().map_or(0, |reply| reply.waiting());
            if self.out.len() + body >= UNSENT_BYTES_MAX {
                return;
            }
            let out = rows_out(&mut self.reply, &mut self.out);
            let before = out.len();
            let popped = stream.buffer.pop(out);
            if wanted.is_discarded {
                out.truncate(before);
            }
            if let Err(error) = popped {
                return self.fail(failure::of_error(&error, ""));
            }
            wanted.rows = wanted.rows.map(|rows| rows - 1);
        }
    }

    /// Rows of a stream are wanted, or not wanted.
    pub(crate) fn ask(&mut self, portion: Portion, is_discarded: bool) {
        let stream = self.machine.stream(portion);
        let held = stream.and_then(|number| self.streams.get_mut(&number).map(|stream| (number, stream)));
        match held {
            Some((number, stream)) => {
                let wanted = Wanted { rows: portion.rows, is_discarded };
                if is_discarded && portion.rows.is_none() {
                    stream.buffer.clear();
                }
                stream.wanted = Some(wanted);
                self.answering = Some(number);
                self.pump();
            }
            None => self.fail(failure::of_protocol("there is no stream of that number in the transaction")),
        }
    }

    /// The answer to a request of HTTP is at its end.
    pub(crate) fn finish(&mut self, status: u16) {
        if let Some(reply) = self.reply.take() {
            self.is_last |= reply.finish(status, &mut self.out);
        }
    }

    /// Answers with a failure. A client that speaks Bolt is ignored until it has taken note of it.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.refuse(failure.into());
    }

    /// Answers with a failure, and over HTTP with that status.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        match self.reply.take() {
            Some(reply) => self.is_last |= reply.fail(&refusal, &mut self.out),
            None => {
                let mut failure = *refusal.failure;
                if self.own.is_none() {
                    failure.details.clear();
                }
                answer::failure(&mut self.out, self.form.version, &failure);
            }
        }
        self.streams.clear();
        self.answering = None;
        self.deferred = None;
        self.machine.fail();
    }

    /// Answers that a request was done.
    pub(crate) fn succeed(&mut self, request: &Request) {
        answer::success(&mut self.out, |out| out.map(0));
        self.machine.succeed(request);
    }

    /// Notes the `RESET`s that have arrived: what came before them is passed over.
    pub(crate) fn note_resets(&mut self) {
        for _ in 0..self.wire.take_resets() {
            self.machine.interrupt();
        }
    }
}
