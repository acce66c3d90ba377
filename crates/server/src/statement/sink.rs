//! The rows of the statement that runs, on their way to the client.

use std::sync::Arc;
use std::time::Duration;

use bolt::message::{Mode, Portion, Scope};
use bolt::{Failure, Limits, Request, State, answer, own};
use database::rendering::ArrowStream;
use database::{
    Action, Entities, Error, ErrorCode, Interrupt, Outlook, ResultBatch, ResultSink, Session, StatementSummary, Value,
};
use model::PropertyType;
use parking_lot::Mutex;

use super::is_system;
use crate::connection::Link;
use crate::http::{Json, result};
use crate::limits::{ATTENDED_BYTES_MAX, SEND_BYTES, UNSENT_BYTES_MAX, WAIT_TIME};
use crate::rows::{Buffer, Stream, Wanted};
use crate::summary::{self, Ending};
use crate::{administration, convert, failure};

impl Link {
    /// Answers for a statement that computes: sends the rows that are there and wanted, as far as the client takes them, and no more
    /// than a share, since the front serves others too.
    pub(crate) fn attend(&mut self) {
        for _ in 0..ATTENDED_BYTES_MAX / UNSENT_BYTES_MAX {
            // Before its columns are told, a request for rows may be about a stream that is not open yet. Over HTTP all rows are
            // wanted from the start.
            let may_answer = self.is_streaming && self.reply.is_none();
            if may_answer && (self.answering.is_some() || self.wire.has_message()) {
                self.answer_about_streams();
            }
            if !self.has_unsent() {
                return;
            }
            self.flush();
            if self.has_unsent() {
                return;
            }
        }
    }

    /// Answers the requests about streams that have arrived while a statement runs. False if the next one is something else, or
    /// none that can be answered: it waits for the end of the statement.
    fn answer_about_streams(&mut self) -> bool {
        // The front hears of everything else meanwhile.
        if self.answering.is_none() && !self.wire.has_message() {
            self.receive();
        }
        loop {
            self.pump();
            if self.answering.is_some() || self.wire.is_interrupted() || self.out.len() >= UNSENT_BYTES_MAX {
                return true;
            }
            let Some((request, portion)) = self.next_about_streams() else { return !self.wire.has_message() };
            drop(self.wire.next());
            self.machine.take(&request);
            self.ask(portion, matches!(request, Request::Discard(_)));
        }
    }

    /// The next request, if it is for rows and stands where it may.
    fn next_about_streams(&self) -> Option<(Request, Portion)> {
        if !matches!(self.machine.state(), State::Streaming | State::Transaction) {
            return None;
        }
        let mut request = None;
        self.wire.next_is(|message| {
            request = is_about_streams(message).then(|| Request::read(message, self.form.version, PORTION_LIMITS));
            true
        });
        match request?.ok()? {
            request @ (Request::Pull(portion) | Request::Discard(portion)) => Some((request, portion)),
            _ => None,
        }
    }
}

/// Bounds of a request about a stream: a map of two integers, and what a driver may add.
const PORTION_LIMITS: Limits = Limits { depth: 8, memory: 64 << 10 };

fn is_about_streams(message: &[u8]) -> bool {
    matches!(message, [_, 0x2F | 0x3F, ..])
}

/// Takes the rows of the statement that runs. The link is locked while rows are written to it, and not while the statement computes.
pub(super) struct Sink<'c> {
    desk: &'c Mutex<Link>,
    scope: &'c Scope,
    interrupt: Interrupt,
    patience: Duration,
    is_in_transaction: bool,
    /// The stream, once the columns are known.
    stream: Option<i64>,
    outlook: Option<Outlook>,
    /// Reason for which the statement was not run.
    pub(super) refusal: Option<Failure>,
    has_rows: bool,
    /// Rows that are put together as Arrow.
    arrow: Option<ArrowStream>,
    /// True once rows go to the buffer without end.
    is_draining: bool,
    scratch: Vec<u8>,
    columns: usize,
    /// The types of the columns, as far as they are known.
    types: Arc<[Option<PropertyType>]>,
    started_ns: u64,
}

impl<'c> Sink<'c> {
    /// A sink of the next statement of a session, which begins at that moment.
    pub(super) fn new(
        desk: &'c Mutex<Link>,
        patience: Duration,
        session: &Session,
        scope: &'c Scope,
        is_in_transaction: bool,
        started_ns: u64,
    ) -> Sink<'c> {
        Sink {
            interrupt: session.interrupt(),
            patience,
            desk,
            scope,
            is_in_transaction,
            stream: None,
            outlook: None,
            refusal: None,
            has_rows: false,
            arrow: None,
            is_draining: false,
            scratch: Vec::new(),
            columns: 0,
            types: Arc::default(),
            started_ns,
        }
    }

    fn open(&mut self, link: &mut Link, names: &[Arc<str>]) -> i64 {
        let number = link.machine.open();
        let buffer = Buffer::new(&link.server.database);
        // Over HTTP all rows are wanted from the start.
        let wanted = link.reply.is_some().then_some(Wanted { rows: None, is_discarded: false });
        link.streams.insert(number, Stream { buffer, wanted, end: None });
        self.stream = Some(number);
        self.columns = names.len();
        link.is_streaming = true;
        match &mut link.reply {
            Some(reply) => {
                link.answering = Some(number);
                if reply.media.is_arrow {
                    self.arrow = Some(ArrowStream::new(names.iter().map(|name| name.to_string()).collect()));
                } else {
                    result::begin(reply.body(), names);
                }
            }
            None => self.tell_columns(link, number, names),
        }
        number
    }

    /// Answers `RUN`.
    fn tell_columns(&self, link: &mut Link, number: i64, names: &[Arc<str>]) {
        let names_database =
            link.form.version.tells_database() && !self.is_in_transaction && self.scope.database.is_none();
        let first_ms = link.server.now_ns().saturating_sub(self.started_ns) / 1_000_000;
        let is_in_transaction = self.is_in_transaction;
        let is_committed = self.is_committed(link);
        let (types, database) = (self.types.clone(), link.database.clone());
        answer::success(&mut link.out, |out| {
            let entries = 2 + usize::from(is_in_transaction) + usize::from(names_database);
            out.map(entries + 2 * usize::from(is_committed.is_some()));
            if let Some(is_committed) = is_committed {
                out.string(own::IS_COMMITTED);
                out.bool(is_committed);
                out.string(own::TYPES);
                out.list(types.len());
                types.iter().for_each(|held| match held {
                    Some(held) => out.string(&held.to_string()),
                    None => out.null(),
                });
            }
            out.string("fields");
            out.list(names.len());
            names.iter().for_each(|name| out.string(name));
            out.string("t_first");
            out.int(first_ms as i64);
            if is_in_transaction {
                out.string("qid");
                out.int(number);
            }
            if names_database {
                out.entry("db", &database);
            }
        });
    }

    /// For our own client, whether the statement has committed what it writes: the rows of one that writes come after that.
    fn is_committed(&self, link: &Link) -> Option<bool> {
        let writes = self.outlook.is_some_and(|outlook| outlook.plan_writes && outlook.action != Action::Control);
        link.own.as_ref().map(|_| writes && !self.is_in_transaction)
    }

    /// The statement has come to its end.
    pub(super) fn finish(mut self, link: &mut Link, summary: &StatementSummary, text: &str) {
        let number = match self.stream {
            Some(number) => number,
            None => self.open(link, &[]),
        };
        let database = link.database.clone();
        let ending = Ending {
            version: link.form.version,
            is_own: link.own.is_some(),
            database: &database,
            text,
            summary,
            outlook: self.outlook,
            columns: self.columns,
            has_rows: self.has_rows,
            bookmark: (!self.is_in_transaction).then(|| link.bookmark()),
            wants_hints: self.scope.severity.as_deref() != Some("OFF"),
            last_ms: link.server.now_ns().saturating_sub(self.started_ns) / 1_000_000,
        };
        let end = match (link.reply.is_some(), self.arrow.take()) {
            (true, Some(arrow)) => match arrow.finish() {
                Ok(end) => Some(end),
                Err(error) => return link.fail(failure::of_error(&error, text)),
            },
            (true, None) => Self::document_end(link, &ending),
            (false, _) => Some(summary::message(&ending)),
        };
        if let Some(stream) = link.streams.get_mut(&number) {
            stream.end = end;
        }
        link.pump();
    }

    /// The end of the document that a statement is answered with over HTTP; `None` if something else is to be done before.
    fn document_end(link: &mut Link, ending: &Ending<'_>) -> Option<Vec<u8>> {
        let now_us = link.server.database.clock().unix_us();
        let reply = link.reply.as_mut()?;
        let mut end = Vec::new();
        result::tell(&mut end, ending, &reply.shape);
        if reply.shape.is_held {
            reply.held = Some(end);
            return None;
        }
        end.push(b',');
        match (&reply.shape.transaction, &ending.bookmark) {
            (Some(told), _) => result::transaction(&mut end, told, now_us),
            (None, bookmark) => result::bookmark(&mut end, bookmark.as_deref().unwrap_or_default()),
        }
        end.push(b'}');
        Some(end)
    }

    /// Writes a row to the scratch; nothing if it is kept to be written with others.
    fn write(&mut self, link: &mut Link, batch: &ResultBatch, row: usize) -> model::Result<()> {
        self.scratch.clear();
        match (&link.reply, &mut self.arrow) {
            (Some(_), Some(arrow)) => {
                let row = batch.columns.iter().map(|column| scalar(column.value(row), &batch.entities));
                self.scratch.extend(arrow.push(row)?.unwrap_or_default());
            }
            (Some(reply), None) => {
                if self.has_rows {
                    self.scratch.push(b',');
                }
                reply.media.json.row(&mut self.scratch, batch, row);
            }
            (None, _) => {
                let form = link.form;
                answer::record(&mut self.scratch, batch.columns.len(), |out| {
                    batch.columns.iter().for_each(|column| convert::cell(out, column, row, &batch.entities, form));
                });
            }
        }
        self.has_rows = true;
        Ok(())
    }

    /// Lets the client take rows until there is room in the buffer. False if no more are wanted.
    fn wait_for_client(&mut self, link: &mut Link, number: i64) -> bool {
        let until = link.server.now_ns().saturating_add(self.patience.as_nanos() as u64);
        let (interrupt, wire) = (self.interrupt.clone(), link.wire.clone());
        interrupt.while_aside(|| {
            wire.while_waiting(|| {
                loop {
                    // All that has come is taken, so that the wait ends when more does.
                    link.receive();
                    self.is_draining |= !link.answer_about_streams();
                    link.flush();
                    let Some(stream) = link.streams.get(&number) else { return false };
                    if stream.is_unwanted() || link.wire.is_interrupted() {
                        return false;
                    }
                    let now = link.server.now_ns();
                    // An order to stop the statement is heard where it goes on.
                    self.is_draining |= now >= until || self.interrupt.check_unpaused().is_err();
                    if self.is_draining || !stream.buffer.is_full() {
                        return true;
                    }
                    // The front may have taken the bytes a moment before it knew of the wait.
                    let left = Duration::from_nanos(until - now).min(WAIT_TIME);
                    let wants_to_write = link.has_unsent();
                    link.wire.wait(wants_to_write, left);
                }
            })
        })
    }
}

/// A value as a column of Arrow can have it: JSON of those that are made of others.
fn scalar(value: Value, entities: &Entities) -> Value {
    let is_made_of_others = matches!(
        value,
        Value::List(_) | Value::Map(_) | Value::Bytes(_) | Value::Node(_) | Value::Edge(_) | Value::Path(_)
    );
    if !is_made_of_others {
        return value;
    }
    let mut text = Vec::new();
    Json::Plain.value(&mut text, &value, entities);
    Value::string(&String::from_utf8_lossy(&text))
}

impl ResultSink for Sink<'_> {
    fn admits(&mut self, outlook: &Outlook) -> bool {
        let link = &mut *self.desk.lock();
        self.outlook = Some(*outlook);
        // The session has just lowered its interrupt.
        if link.wire.is_interrupted() {
            return false;
        }
        let is_reading = self.scope.mode == Mode::Read;
        self.refusal = match outlook.action {
            // The socket of a store lets in only whom its rights do.
            Action::Attach if link.wire.peer().is_some() => Some(failure::plain(
                "Neo.ClientError.Security.Forbidden",
                "42NFF",
                "syntax error or access rule violation - permission denied",
                "ATTACH, DETACH and PRELOAD reach other databases, which this server does not let clients do: start it with --attach",
            )),
            Action::Transaction => Some(failure::plain(
                "Neo.ClientError.Statement.UnsupportedOperationError",
                "42001",
                "syntax error or access rule violation - invalid syntax",
                "BEGIN, COMMIT and ROLLBACK are no statements here: begin and end transactions by the driver",
            )),
            Action::Write
            | Action::Batches
            | Action::Copy
            | Action::Attach
            | Action::Maintenance
            | Action::Administration
                if is_reading =>
            {
                let error =
                    Error::new(ErrorCode::ReadOnly, "the transaction was begun for reading, and the statement writes");
                Some(failure::of_error(&error.with_remedy("begin it for writing"), ""))
            }
            Action::Administration => None,
            _ if is_system(self.scope.database.as_deref()) && !outlook.is_apart => Some(failure::system_has_no_graph()),
            _ => None,
        };
        let (user, database) = (&link.user, &link.database);
        let credentials = link.server.credentials.as_ref().filter(|_| link.wire.peer().is_some());
        if let (None, Some(credentials)) = (&self.refusal, credentials) {
            let denial = administration::refusal(credentials, user, database, outlook);
            self.refusal = denial.map(|denial| failure::denied(denial, user, database));
        }
        self.refusal.is_none()
    }

    fn column_types(&mut self, types: &Arc<[Option<PropertyType>]>) {
        self.types = types.clone();
    }

    fn columns(&mut self, names: &[Arc<str>]) -> model::Result<()> {
        let link = &mut *self.desk.lock();
        self.open(link, names);
        // A client that asks for rows only then is told now; most have asked already, and get both at once.
        // Our own client learns from it what is committed, should this process end.
        match self.is_committed(link) == Some(true) || !link.wire.has_message() {
            true => link.flush(),
            false => link.send_soon(),
        }
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> model::Result<bool> {
        let Some(number) = self.stream else { return Ok(true) };
        let link = &mut *self.desk.lock();
        self.is_draining |= !link.answer_about_streams();
        for row in 0..batch.rows {
            self.write(link, &batch, row)?;
            // Rows of Arrow are put together.
            if self.scratch.is_empty() {
                continue;
            }
            let unsent = link.unsent_bytes();
            let Some(stream) = link.streams.get_mut(&number) else { return Ok(false) };
            if stream.is_unwanted() {
                return Ok(false);
            }
            match &mut stream.wanted {
                // The common way: what is wanted is sent, and never stands in the buffer.
                Some(wanted) if stream.buffer.is_empty() && wanted.rows != Some(0) && unsent < UNSENT_BYTES_MAX => {
                    wanted.rows = wanted.rows.map(|rows| rows - 1);
                    if !wanted.is_discarded {
                        link.rows_out().extend_from_slice(&self.scratch);
                    }
                }
                _ => {
                    stream.buffer.push(&self.scratch)?;
                    let is_full = stream.buffer.is_full();
                    link.pump();
                    if is_full && !self.is_draining && !self.wait_for_client(link, number) {
                        return Ok(false);
                    }
                }
            }
            if link.unsent_bytes() >= SEND_BYTES {
                link.flush();
            }
        }
        // Rows that are slow to come are sent as they come.
        link.send_soon();
        Ok(!link.wire.is_gone())
    }
}

#[cfg(test)]
mod tests {
    use bolt::message;

    #[test]
    fn requests_about_streams_are_known_by_their_bytes() {
        assert!(super::is_about_streams(&[0xB1, 0x3F, 0xA0]) && super::is_about_streams(&[0xB1, 0x2F, 0xA0]));
        assert!(!super::is_about_streams(&[0xB0, 0x0F]) && message::is_reset(&[0xB0, 0x0F]));
    }
}
