//! Questions and changes, asked of a connection in a transaction.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use model::{Column, Error, ErrorCode, Map, Result, error};

use super::worker::{Prepared, Worker};
use super::{Engine, Source};
use crate::connector::{Change, Question, Reading, RowsSink, StreamId, Writing};
use crate::relational::answers::{Shape, check_changed, gather};
use crate::relational::known::Known;

/// Batches that wait to be taken while the next is read.
const AHEAD: usize = 2;

/// A connection with its transaction, which begins with the first question.
pub(super) struct EmbeddedReading<E: Engine> {
    source: Arc<Source<E>>,
    state: Option<Begun>,
    streams: Map<u64, Stream>,
    last_stream: u64,
}

struct Begun {
    worker: Worker,
    known: Arc<Known>,
    /// True if it locks the file for other writers only with its first change.
    is_deferred: bool,
}

/// A question that is read piece by piece: the rows of one statement, or all of them at hand.
struct Stream {
    shape: Shape,
    /// The number by which the worker knows it; none at its end.
    open: Option<u64>,
    /// Statements that follow.
    next: Vec<(Prepared, Shape)>,
}

impl<E: Engine> EmbeddedReading<E> {
    pub(super) fn new(source: Arc<Source<E>>) -> EmbeddedReading<E> {
        EmbeddedReading { source, state: None, streams: Map::default(), last_stream: 0 }
    }

    pub(super) fn begin_writing(&mut self) -> Result<()> {
        self.begin(E::BEGIN_WRITING).map(|_| ())
    }

    fn begin(&mut self, command: &'static str) -> Result<&Begun> {
        if self.state.is_none() {
            let known = self.source.known()?;
            let worker = self.source.worker()?;
            worker.run(move |session| session.command(command))?;
            self.state = Some(Begun { worker, known, is_deferred: command == E::BEGIN });
        }
        Ok(self.state.as_ref().expect("it was set above"))
    }

    /// The statements of a question, ready to be sent.
    fn statements(&mut self, question: &Question<'_>) -> Result<Vec<(Prepared, Shape)>> {
        let source = self.source.clone();
        let known = self.begin(E::BEGIN)?.known.clone();
        let statements = source.writer(&known).question(question)?;
        Ok(statements.iter().map(|statement| (Prepared::of(statement), Shape::of(statement))).collect())
    }
}

impl<E: Engine> Reading for EmbeddedReading<E> {
    fn ask(&mut self, questions: &[Question<'_>], sink: &mut RowsSink<'_>) -> Result<()> {
        let mut shapes = Vec::new();
        let mut statements = Vec::new();
        for (number, question) in questions.iter().enumerate() {
            for (statement, shape) in self.statements(question)? {
                statements.push(statement);
                shapes.push((number, shape));
            }
        }
        let worker = &self.begin(E::BEGIN)?.worker;
        let (batches, inbox) = sync_channel::<Result<(usize, Option<Vec<Column>>)>>(AHEAD);
        worker.send(move |session| {
            for (at, statement) in statements.iter().enumerate() {
                let all = session.query(statement, &mut |columns| Ok(batches.send(Ok((at, Some(columns)))).is_ok()));
                let end = all.map(|()| (at, None));
                let is_over = end.is_err();
                if batches.send(end).is_err() || is_over {
                    return;
                }
            }
        })?;
        let mut held: Vec<Vec<Vec<Column>>> = vec![Vec::new(); shapes.len()];
        let mut unwanted = vec![false; questions.len()];
        for _ in 0..shapes.len() {
            loop {
                let (at, columns) = worker.wait(&inbox)??;
                let (number, shape) = &shapes[at];
                let rows = match columns {
                    Some(columns) if !shape.is_piecewise() => {
                        held[at].push(columns);
                        continue;
                    }
                    Some(columns) => columns,
                    None if shape.is_piecewise() => break,
                    None => gather(std::mem::take(&mut held[at])),
                };
                let is_last = !shape.is_piecewise();
                if !unwanted[*number] {
                    unwanted[*number] = !sink(*number, shape.answer(rows)?)?;
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, question: &Question<'_>) -> Result<StreamId> {
        let mut next = self.statements(question)?;
        next.reverse();
        let shape = next.last().map(|(_, shape)| shape.clone());
        let shape = shape.ok_or_else(|| error!(Internal, "a question became no statement"))?;
        self.last_stream += 1;
        self.streams.insert(self.last_stream, Stream { shape, open: None, next });
        Ok(StreamId(self.last_stream))
    }

    fn more(&mut self, stream: StreamId, rows: usize) -> Result<Option<Vec<Column>>> {
        let Some(open) = self.streams.get_mut(&stream.0) else { return Ok(None) };
        let Some(Begun { worker, .. }) = &self.state else { return Ok(None) };
        loop {
            let number = match (open.open, open.next.pop()) {
                (Some(number), next) => {
                    open.next.extend(next);
                    number
                }
                (None, Some((statement, shape))) => {
                    open.shape = shape;
                    worker.run(move |session| session.start(&statement))?
                }
                (None, None) => return Ok(None),
            };
            // Rows that must be sorted or counted here are read to their end first.
            let most = open.shape.rows_at_once(rows);
            let (columns, count) = worker.run(move |session| session.more(number, most))?;
            open.open = Some(number);
            if count < most {
                worker.send(move |session| session.stop(number))?;
                open.open = None;
            }
            if count > 0 || !open.shape.is_piecewise() {
                return open.shape.answer(columns).map(Some);
            }
        }
    }

    fn stop(&mut self, stream: StreamId) {
        let open = self.streams.remove(&stream.0).and_then(|stream| stream.open);
        if let (Some(number), Some(Begun { worker, .. })) = (open, &self.state) {
            // A stream that cannot be closed here is closed with the connection.
            let _ = worker.send(move |session| session.stop(number));
        }
    }
}

impl<E: Engine> Writing for EmbeddedReading<E> {
    fn change(&mut self, change: &Change<'_>) -> Result<Column> {
        let source = self.source.clone();
        let known = self.begin(E::BEGIN_WRITING)?.known.clone();
        let statements = source.writer(&known).change(change)?;
        let mut keys = Column::nulls(0);
        for statement in &statements {
            let (shape, expects, ready) = (Shape::of(statement), statement.expects, Prepared::of(statement));
            let Begun { worker, is_deferred, .. } = self.begin(E::BEGIN_WRITING)?;
            let has_rows = !statement.answer.is_empty();
            let made = worker.run(move |session| {
                if !has_rows {
                    return Ok((session.execute(&ready)?, Vec::new()));
                }
                let mut all = Vec::new();
                session.query(&ready, &mut |columns| {
                    all.push(columns);
                    Ok(true)
                })?;
                let rows = gather(all);
                Ok((rows.first().map_or(0, Column::len), rows))
            });
            // Rows read before may have been changed meanwhile, so waiting would not help.
            let (count, rows) = made.map_err(|failure| match *is_deferred && E::is_conflict(&failure) {
                true => Error::new(ErrorCode::Conflict, failure.message()).with_remedy("roll back and do it again"),
                false => failure,
            })?;
            check_changed(source.engine.name(), &statement.text, expects, count)?;
            if let Some(answer) = shape.answer(rows)?.first().filter(|_| has_rows) {
                keys.append(answer);
            }
        }
        Ok(keys)
    }

    fn mark(&mut self, number: u64) -> Result<bool> {
        if !E::HAS_SAVEPOINTS {
            return Ok(false);
        }
        let worker = &self.begin(E::BEGIN)?.worker;
        worker.run(move |session| session.command(&format!("SAVEPOINT mark_{number}")))?;
        Ok(true)
    }

    fn undo_to(&mut self, number: u64) -> Result<()> {
        let worker = &self.begin(E::BEGIN_WRITING)?.worker;
        worker.run(move |session| session.command(&format!("ROLLBACK TO mark_{number}")))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let Some(Begun { worker, .. }) = self.state.take() else { return Ok(()) };
        self.streams.clear();
        worker.run(|session| {
            session.close_streams();
            session.command("COMMIT")
        })?;
        self.source.keep(worker);
        Ok(())
    }
}

impl<E: Engine> Drop for EmbeddedReading<E> {
    fn drop(&mut self) {
        if let Some(Begun { worker, .. }) = self.state.take()
            && worker.run(|session| session.reset()).is_ok()
        {
            self.source.keep(worker);
        }
    }
}
