//! Questions answered from one snapshot, and changes made in one transaction, over one connection.
//!
//! The connection is taken with the first question. Its `BEGIN`, all questions and their answers are one round trip. As long
//! as nothing was answered a connection that was found dead is replaced; after that the snapshot is gone, and so is the
//! reading.

use std::collections::VecDeque;
use std::sync::Arc;

use model::{Column, Map, Result, error};

use super::Shared;
use super::pool::Lease;
use super::session::{After, Session, Trouble};
use crate::connector::{Change, Question, Reading, RowsSink, StreamId, Writing};
use crate::sql::convert::{convert, lists};
use crate::sql::{Answer, Statement};

const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const BEGIN_WRITING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ";

/// A transaction of PostgreSQL, from its first question on.
pub(super) struct Transaction {
    shared: Arc<Shared>,
    lease: Option<Lease>,
    is_writing: bool,
    /// Numbers of the savepoints that are there.
    marks: Vec<u64>,
    /// Why nothing can be asked any more, unless a savepoint is come back to.
    failed: Option<String>,
    streams: Map<u64, Stream>,
    /// The stream whose next rows were asked for and not yet read.
    ahead: Option<u64>,
    /// The statements that were sent and are not yet answered: for each the question's number, and its subject.
    sent: Option<Vec<(usize, String, Statement<'static>)>>,
    next_stream: u64,
}

/// A question that is read piece by piece.
struct Stream {
    statement: Statement<'static>,
    what: String,
    fields: Vec<super::decode::Field>,
    state: StreamState,
    /// Pieces that came before they were wanted.
    pieces: VecDeque<Vec<Column>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamState {
    New,
    Open,
    Done,
}

impl Transaction {
    pub(super) fn new(shared: Arc<Shared>, is_writing: bool) -> Transaction {
        Transaction {
            shared,
            lease: None,
            is_writing,
            marks: Vec::new(),
            failed: None,
            streams: Map::default(),
            ahead: None,
            sent: None,
            next_stream: 0,
        }
    }

    /// The session; the first time it is taken, and its transaction begins with what is sent next.
    fn session(&mut self) -> Result<&mut Session> {
        if let Some(failed) = &self.failed {
            return Err(error!(Source, "{}: the snapshot is gone: {failed}", self.shared.settings.name));
        }
        if self.lease.is_none() {
            let mut lease = self.shared.pool.take()?;
            lease.session().queue(if self.is_writing { BEGIN_WRITING } else { BEGIN_READING });
            self.marks.iter().for_each(|&number| lease.session().queue(&savepoint(number)));
            self.lease = Some(lease);
        }
        Ok(self.lease.as_mut().expect("it was taken above").session())
    }

    /// Does something over the connection; once more over another one if this one was kept and found dead, or its
    /// prepared statements no longer fit, before it answered anything. `what` and `text` are for messages.
    fn attempt<T>(
        &mut self,
        mut run: impl FnMut(&mut Session) -> Result<T, (Trouble, usize)>,
        describe: impl Fn(usize) -> (String, String),
    ) -> Result<T> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let session = self.session()?;
            let queued = session.wire.output.len();
            let (trouble, at) = match run(session) {
                Ok(done) => return Ok(done),
                Err(trouble) => trouble,
            };
            let session = self.session()?;
            let is_dead = matches!(trouble, Trouble::Broken(_)) && session.is_used;
            let is_outdated = matches!(&trouble, Trouble::Refused(failure) if failure.is_outdated());
            let may_retry = (is_dead || is_outdated) && !session.has_answered && attempts < 3;
            let lease = self.lease.take();
            if may_retry {
                lease.into_iter().for_each(Lease::close);
                self.shared.pool.close_idle();
                continue;
            }
            let (what, text) = describe(at);
            if let Some(lease) = lease {
                self.give_up(lease, &trouble, queued);
            }
            let failed = self.shared.error(trouble, &what, &text);
            self.failed = Some(failed.message().to_owned());
            return Err(failed);
        }
    }

    /// Decides on the connection after a failure: it is kept if a rollback to a savepoint is possible, else given back
    /// or closed. `queued` is the length of the output that was there to be sent before the statement that failed.
    fn give_up(&mut self, mut lease: Lease, trouble: &Trouble, queued: usize) {
        let (session, has_marks) = (lease.session(), self.is_writing && !self.marks.is_empty());
        let can_go_on = match trouble {
            Trouble::Broken(_) => false,
            Trouble::Refused(_) => session.finish().is_ok(),
            // Nothing of it was sent.
            Trouble::Misfit(_) => {
                session.wire.output.truncate(queued);
                has_marks
            }
            // Its rows are still on their way.
            Trouble::Unreadable(..) | Trouble::Stopped(_) => has_marks && session.finish().is_ok(),
        };
        if !can_go_on {
            return lease.close();
        }
        if has_marks {
            self.lease = Some(lease);
            return;
        }
        session.queue("ROLLBACK");
        session.forget_prepared();
        if session.wire.send().is_err() {
            lease.close();
        }
    }

    /// Reads the rows that were asked for ahead, so that something else can be asked.
    fn settle(&mut self) -> Result<()> {
        self.receive(&mut |_, _| Ok(true))?;
        let Some(id) = self.ahead.take() else { return Ok(()) };
        let Some(mut stream) = self.streams.remove(&id) else { return Ok(()) };
        let (what, text) = (stream.what.clone(), stream.statement.text.clone());
        let read = self
            .attempt(|session| stream.read(session).map_err(|trouble| (trouble, 0)), |_| (what.clone(), text.clone()));
        self.streams.insert(id, stream);
        read
    }

    /// Statements of questions with what those are about, to be kept until they are answered.
    fn owned(&self, questions: &[Question<'_>]) -> Result<Vec<(usize, String, Statement<'static>)>> {
        let mut owned = Vec::with_capacity(questions.len());
        for (number, question) in questions.iter().enumerate() {
            for statement in self.statements(question)? {
                owned.push((number, self.shared.what(question), statement.into_owned()));
            }
        }
        Ok(owned)
    }

    fn statements<'q>(&self, question: &Question<'q>) -> Result<Vec<Statement<'q>>> {
        let known = self.shared.known()?;
        let statements = self.shared.writer(&known).question(question);
        statements.map_err(|error| error.within(&self.shared.settings.name))
    }
}

impl Reading for Transaction {
    fn ask(&mut self, questions: &[Question<'_>], sink: &mut RowsSink<'_>) -> Result<()> {
        self.ask_and_send(questions, sink, &[]).map(drop)
    }

    fn send(&mut self, questions: &[Question<'_>]) -> Result<bool> {
        // A connection that was kept must first be seen to be alive.
        let is_alive = self.lease.as_mut().is_some_and(|lease| lease.session().has_answered);
        if !is_alive || self.sent.is_some() || self.ahead.is_some() {
            return Ok(false);
        }
        let asked = self.owned(questions)?;
        if asked.is_empty() {
            return Ok(false);
        }
        self.attempt(
            |session| {
                queue(session, asked.iter().map(|(.., statement)| statement))?;
                session.send().map_err(|trouble| (trouble, 0))
            },
            |at| (asked[at].1.clone(), asked[at].2.text.clone()),
        )?;
        self.sent = Some(asked);
        Ok(true)
    }

    fn ask_and_send(
        &mut self,
        questions: &[Question<'_>],
        sink: &mut RowsSink<'_>,
        others: &[Question<'_>],
    ) -> Result<bool> {
        let mut asked = Vec::with_capacity(questions.len());
        for (number, question) in questions.iter().enumerate() {
            asked.extend(self.statements(question)?.into_iter().map(|statement| (number, statement)));
        }
        if asked.is_empty() {
            return Ok(false);
        }
        self.settle()?;
        let later = self.owned(others)?;
        let shared = self.shared.clone();
        let describe = |at: usize| match asked.get(at) {
            Some((number, statement)) => (shared.what(&questions[*number]), statement.text.clone()),
            None => ("a question".to_owned(), String::new()),
        };
        self.attempt(
            |session| {
                queue(session, asked.iter().map(|(_, statement)| statement))?;
                if !later.is_empty() {
                    queue(session, later.iter().map(|(.., statement)| statement))
                        .map_err(|(trouble, _)| (trouble, 0))?;
                }
                session.send().map_err(|trouble| (trouble, 0))?;
                // If this fails nobody looks at the answers to the others.
                session.skip(usize::from(!later.is_empty()));
                for (at, (number, statement)) in asked.iter().enumerate() {
                    answer(session, statement, |columns| sink(*number, columns)).map_err(|trouble| (trouble, at))?;
                }
                session.finish().map_err(|trouble| (trouble, asked.len()))?;
                session.unskip(usize::from(!later.is_empty()));
                Ok(())
            },
            describe,
        )?;
        let is_sent = !later.is_empty();
        self.sent = is_sent.then_some(later);
        Ok(is_sent)
    }

    fn receive(&mut self, sink: &mut RowsSink<'_>) -> Result<()> {
        let Some(asked) = self.sent.take() else { return Ok(()) };
        self.attempt(
            |session| {
                for (at, (number, _, statement)) in asked.iter().enumerate() {
                    answer(session, statement, |columns| sink(*number, columns)).map_err(|trouble| (trouble, at))?;
                }
                session.finish().map_err(|trouble| (trouble, 0))
            },
            |at| (asked[at].1.clone(), asked[at].2.text.clone()),
        )
    }

    fn start(&mut self, question: &Question<'_>) -> Result<StreamId> {
        let statement = self.statements(question)?.into_iter().next();
        let statement = statement.ok_or_else(|| error!(Internal, "a question became no statement"))?.into_owned();
        let id = self.next_stream;
        self.next_stream += 1;
        let (what, state) = (self.shared.what(question), StreamState::New);
        self.streams.insert(id, Stream { statement, what, fields: Vec::new(), state, pieces: VecDeque::new() });
        Ok(StreamId(id))
    }

    fn more(&mut self, stream: StreamId, rows: usize) -> Result<Option<Vec<Column>>> {
        let StreamId(id) = stream;
        if self.ahead != Some(id) && self.streams.get(&id).is_some_and(|held| held.pieces.is_empty()) {
            self.settle()?;
        }
        let Some(mut held) = self.streams.remove(&id) else { return Ok(None) };
        let (what, text) = (held.what.clone(), held.statement.text.clone());
        let rows = u32::try_from(rows.max(1)).unwrap_or(0);
        let is_ahead = self.ahead == Some(id);
        let found = self.attempt(
            |session| {
                while held.pieces.is_empty() && (is_ahead || held.state != StreamState::Done) {
                    if !is_ahead {
                        held.request(session, id, rows)?;
                        session.send().map_err(|trouble| (trouble, 0))?;
                    }
                    held.read(session).map_err(|trouble| (trouble, 0))?;
                    if is_ahead {
                        break;
                    }
                }
                Ok(())
            },
            |_| (what.clone(), text.clone()),
        );
        if is_ahead {
            self.ahead = None;
        }
        let piece = found.map(|()| held.pieces.pop_front());
        let wants_more = matches!(piece, Ok(Some(_))) && held.pieces.is_empty() && held.state == StreamState::Open;
        if wants_more && self.ahead.is_none() && held.statement.rest.is_done() {
            // The server works on the next piece while this one is used.
            let session = self.session()?;
            if held.request(session, id, rows).is_ok() && session.wire.send().is_ok() {
                self.ahead = Some(id);
            }
        }
        let is_over = matches!(piece, Ok(None)) && held.state == StreamState::Open;
        self.streams.insert(id, held);
        if is_over { self.more(stream, rows as usize) } else { piece }
    }

    fn stop(&mut self, stream: StreamId) {
        if self.ahead == Some(stream.0) && self.settle().is_err() {
            self.streams.remove(&stream.0);
            return;
        }
        let Some(held) = self.streams.remove(&stream.0) else { return };
        if held.state == StreamState::Open
            && let Ok(session) = self.session()
        {
            session.wire.output.close(b'P', &portal(stream.0));
            session.queue_sync();
        }
    }
}

/// Adds statements to what is sent, which the server answers together.
fn queue<'s, 'q: 's>(
    session: &mut Session,
    statements: impl Iterator<Item = &'s Statement<'q>>,
) -> Result<(), (Trouble, usize)> {
    for (at, statement) in statements.enumerate() {
        session.queue_bind("", statement).map_err(|trouble| (trouble, at))?;
        session.wire.output.execute("", 0);
    }
    session.wire.output.sync();
    Ok(())
}

fn savepoint(number: u64) -> String {
    format!("SAVEPOINT mark_{number}")
}

fn portal(id: u64) -> String {
    format!("r{id}")
}

impl Stream {
    /// Adds to what is sent that some rows are wanted.
    fn request(&self, session: &mut Session, id: u64, rows: u32) -> Result<(), (Trouble, usize)> {
        let portal = portal(id);
        if self.state == StreamState::New {
            session.queue_bind(&portal, &self.statement).map_err(|trouble| (trouble, 0))?;
        }
        // Work left to be done here needs all rows.
        let rows = if self.statement.rest.is_done() { rows } else { 0 };
        session.wire.output.execute(&portal, rows);
        session.wire.output.sync();
        Ok(())
    }

    /// Reads the answer to a request.
    fn read(&mut self, session: &mut Session) -> Result<(), Trouble> {
        if self.state == StreamState::New {
            self.fields = session.read_fields(&self.statement.forms())?;
            self.state = StreamState::Open;
        }
        let (mut whole, mut parts) = (None, Vec::new());
        let rest = &self.statement.rest;
        let answers = &self.statement.answer;
        let after = session.read_rows(&self.fields, |columns| {
            let columns = assembled(answers, columns)?;
            if rest.is_done() {
                parts.push(columns);
            } else {
                append(&mut whole, columns);
            }
            Ok(true)
        })?;
        session.finish()?;
        if let Some(columns) = whole {
            parts.push(rest.finish(columns).map_err(Trouble::Stopped)?);
        }
        self.pieces
            .extend(parts.into_iter().filter(|columns| columns.first().is_some_and(|column| !column.is_empty())));
        if matches!(after, After::Complete(_)) {
            self.state = StreamState::Done;
        }
        Ok(())
    }
}

/// Reads the answer of a statement, in the columns that the question asked for.
fn answer(
    session: &mut Session,
    statement: &Statement<'_>,
    mut sink: impl FnMut(Vec<Column>) -> Result<bool>,
) -> Result<After, Trouble> {
    let fields = session.read_fields(&statement.forms())?;
    let mut whole = None;
    let after = session.read_rows(&fields, |columns| {
        let columns = assembled(&statement.answer, columns)?;
        if statement.rest.is_done() {
            return sink(columns);
        }
        append(&mut whole, columns);
        Ok(true)
    })?;
    if let Some(columns) = whole {
        sink(statement.rest.finish(columns).map_err(Trouble::Stopped)?).map_err(Trouble::Stopped)?;
    }
    Ok(after)
}

fn append(whole: &mut Option<Vec<Column>>, columns: Vec<Column>) {
    match whole {
        None => *whole = Some(columns),
        Some(whole) => whole.iter_mut().zip(&columns).for_each(|(held, column)| held.append(column)),
    }
}

/// Columns of a statement as columns of an answer: keys of several as lists, conversions done.
fn assembled(answers: &[Answer], columns: Vec<Column>) -> Result<Vec<Column>> {
    let rows = columns.first().map_or(0, Column::len);
    let (mut columns, mut done): (_, Vec<Column>) = (columns.into_iter(), Vec::with_capacity(answers.len()));
    for answer in answers {
        let column = match answer.columns {
            0 => Column::nulls(rows),
            1 => columns.next().unwrap_or_else(|| Column::nulls(rows)),
            count => lists(&columns.by_ref().take(count).collect::<Vec<_>>()),
        };
        done.push(match answer.kind {
            Some(kind) => convert(column, kind, &answer.name, done.first())?,
            None => column,
        });
    }
    Ok(done)
}

impl Writing for Transaction {
    fn change(&mut self, change: &Change<'_>) -> Result<Column> {
        let known = self.shared.known()?;
        let made = self.shared.writer(&known).change(change);
        let statements = made.map_err(|error| error.within(&self.shared.settings.name))?;
        self.settle()?;
        let (what, mut counts) = (self.shared.what_change(change), Vec::new());
        let mut keys: Option<Vec<Column>> = None;
        self.attempt(
            |session| {
                for (at, statement) in statements.iter().enumerate() {
                    session.queue_bind("", statement).map_err(|trouble| (trouble, at))?;
                    session.wire.output.execute("", 0);
                }
                session.wire.output.sync();
                session.send().map_err(|trouble| (trouble, 0))?;
                (counts, keys) = (Vec::new(), None);
                for (at, statement) in statements.iter().enumerate() {
                    let after = answer(session, statement, |columns| {
                        append(&mut keys, columns);
                        Ok(true)
                    });
                    match after.map_err(|trouble| (trouble, at))? {
                        After::Complete(count) => counts.push(count),
                        After::Suspended => counts.push(0),
                    }
                }
                session.finish().map_err(|trouble| (trouble, statements.len()))
            },
            |at| (what.clone(), statements.get(at).map_or(String::new(), |statement| statement.text.clone())),
        )?;
        for (statement, &count) in statements.iter().zip(&counts) {
            if let Some(expected) = statement.expects
                && count != expected as u64
            {
                let name = &self.shared.settings.name;
                let failed = error!(Conflict, "{name}: {what}: {count} rows were changed instead of {expected}: rows are gone, or stand several times, or already have a value")
                    .with_remedy("read them again; edges without a key can be deleted only where they stand once");
                self.failed = Some(failed.message().to_owned());
                return Err(failed);
            }
        }
        let rows = match change {
            Change::InsertNodes { count, .. } => *count,
            Change::InsertEdges { sources, .. } => sources.len(),
            _ => 0,
        };
        Ok(keys.and_then(|keys| keys.into_iter().next()).unwrap_or_else(|| Column::nulls(rows)))
    }

    fn mark(&mut self, number: u64) -> Result<bool> {
        self.settle()?;
        // It goes to the server with the change that follows.
        if self.lease.is_some() {
            self.session()?.queue(&savepoint(number));
        }
        self.marks.push(number);
        Ok(true)
    }

    fn undo_to(&mut self, number: u64) -> Result<()> {
        self.marks.retain(|&mark| mark <= number);
        if self.failed.is_none() && self.settle().is_err() && self.lease.is_none() {
            return Err(error!(Source, "{}: the transaction is gone", self.shared.settings.name));
        }
        match (&self.lease, &self.failed) {
            (None, None) => return Ok(()),
            (None, Some(failed)) => {
                return Err(error!(Source, "{}: the transaction is gone: {failed}", self.shared.settings.name));
            }
            (Some(_), _) => self.failed = None,
        }
        self.streams.clear();
        let text = format!("ROLLBACK TO {}", savepoint(number));
        let session = self.session()?;
        session.has_answered = true;
        self.attempt(
            |session| session.command(&text).map_err(|trouble| (trouble, 0)),
            |_| ("a part of the transaction that is undone".to_owned(), text.clone()),
        )?;
        self.session()?.forget_prepared();
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        if self.lease.is_none() && self.failed.is_none() {
            return Ok(());
        }
        self.settle()?;
        let session = self.session()?;
        session.has_answered = true;
        let statement = "COMMIT".to_owned();
        let done = self.attempt(
            |session| session.command("COMMIT").map_err(|trouble| (trouble, 0)),
            |_| ("the end of the transaction".to_owned(), statement.clone()),
        )?;
        // Statements after `COMMIT` are no longer of this transaction.
        drop(self.lease.take());
        if done == "COMMIT" {
            return Ok(());
        }
        Err(error!(Conflict, "{}: the transaction was undone by the server", self.shared.settings.name))
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(mut lease) = self.lease.take() else { return };
        // A reader of rows may have panicked in their midst: then more of them are on their way.
        if std::thread::panicking() {
            return lease.close();
        }
        let session = lease.session();
        if self.ahead.is_some() || self.sent.is_some() {
            session.skip(1);
        }
        session.queue(if self.is_writing { "ROLLBACK" } else { "COMMIT" });
        if self.failed.is_some() {
            session.forget_prepared();
        }
        // The next user of the session reads the answers.
        if session.wire.send().is_err() {
            lease.close();
        }
    }
}
