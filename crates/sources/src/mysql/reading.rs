//! Questions and changes, asked of a connection in a transaction.
//!
//! A connection of MySQL answers one statement at a time, and no other connection sees the same moment. So the rows of a
//! question that is read piece by piece come as they are wanted until something else is asked: then those that are left are
//! held here, up to a limit.

use std::collections::VecDeque;
use std::sync::Arc;

use ::mysql::Value as SqlValue;
use model::{Column, ColumnData, Map, Result, Value, error};

use super::Source;
use super::cells::to_sql;
use super::session::{Session, Streaming};
use crate::connector::{Change, Question, Reading, RowsSink, StreamId, Writing};
use crate::relational::answers::{Shape, check_changed, gather};
use crate::relational::held::{HELD_ROWS, Held};
use crate::relational::known::Known;
use crate::sql::catalog::NUMBER;
use crate::sql::{ParameterValue, Statement, digits};

/// Rows that are read at the end of a question that is given up, to see whether there are more.
const LAST_ROWS: usize = 4096;

/// A connection with its transaction, which begins with the first question.
pub(super) struct MysqlReading {
    source: Arc<Source>,
    is_writing: bool,
    state: Option<(Line, Arc<Known>)>,
    streams: Map<u64, Stream>,
    last_stream: u64,
}

/// A connection, and what it does.
enum Line {
    /// It can be asked.
    Free(Session),
    /// It sends the rows of the stream of that number.
    Streaming(u64, Streaming),
    /// It was lost.
    Gone,
}

/// A question that is read piece by piece.
#[derive(Default)]
struct Stream {
    /// Statements that were not begun.
    next: VecDeque<Ready>,
    held: Held,
    /// The operations on the rows of the statement that is being read.
    shape: Option<Shape>,
}

impl Stream {
    /// Rows of the statement that is being read as rows of the answer.
    fn answer(&self, columns: Vec<Column>) -> Result<Vec<Column>> {
        match &self.shape {
            Some(shape) => shape.answer(columns),
            None => Ok(columns),
        }
    }
}

/// A statement with what is done with its rows.
struct Ready {
    text: String,
    parameters: Vec<SqlValue>,
    shape: Shape,
}

impl MysqlReading {
    pub(super) fn new(source: Arc<Source>, is_writing: bool) -> MysqlReading {
        MysqlReading { source, is_writing, state: None, streams: Map::default(), last_stream: 0 }
    }

    /// The connection, free to be asked, and what is known of the source.
    fn begin(&mut self) -> Result<(&mut Session, Arc<Known>)> {
        if self.state.is_none() {
            let access = if self.is_writing { "READ WRITE" } else { "READ ONLY" };
            let begin = format!("START TRANSACTION WITH CONSISTENT SNAPSHOT, {access}");
            let known = self.source.known()?;
            let mut session = self.source.session()?;
            // A connection that was kept may have died meanwhile; a new one may do.
            if let Err(failure) = self.source.command(&mut session, &begin) {
                if !session.is_used {
                    return Err(failure);
                }
                self.source.close_idle();
                session = self.source.session()?;
                self.source.command(&mut session, &begin)?;
            }
            self.state = Some((Line::Free(session), known));
        }
        self.settle()?;
        if let Some((Line::Free(session), _)) = &mut self.state
            && self.source.watch.was_told(session.handle().connection)
        {
            // It may have been told after its statement had ended: then this one is interrupted and not the next.
            let _ = self.source.command(session, "DO 0");
        }
        match self.state.as_mut() {
            Some((Line::Free(session), known)) => Ok((session, known.clone())),
            _ => Err(error!(Source, "{}: the connection was lost", self.source.settings.name)),
        }
    }

    /// Executes a command over the connection of the transaction.
    fn command(&mut self, text: &str) -> Result<()> {
        let source = self.source.clone();
        source.command(self.begin()?.0, text)
    }

    /// Reads and holds what is left of a stream, so that something else can be asked.
    fn settle(&mut self) -> Result<()> {
        let Some((line, _)) = &mut self.state else { return Ok(()) };
        let Line::Streaming(number, open) = line else { return Ok(()) };
        let mut read = Ok(());
        // Of one that was stopped nothing is kept.
        if let Some(stream) = self.streams.get_mut(number) {
            read = hold(open, stream, &self.source.settings.name);
        }
        self.free();
        read
    }

    /// Ends the stream that is being read.
    fn free(&mut self) {
        let Some((line, _)) = &mut self.state else { return };
        *line = match std::mem::replace(line, Line::Gone) {
            Line::Streaming(_, open) => Line::Free(open.end()),
            other => other,
        };
    }

    fn statements(&mut self, question: &Question<'_>) -> Result<Vec<Ready>> {
        let source = self.source.clone();
        let (session, known) = self.begin()?;
        let statements = source.writer(&known, session.is_mariadb).question(question)?;
        statements.iter().map(ready).collect()
    }

    fn run(&mut self, statement: Ready, sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>) -> Result<()> {
        let Ready { text, parameters, shape } = statement;
        let source = self.source.clone();
        let (session, _) = self.begin()?;
        let _waiting = source.wait_for(&session.handle());
        if shape.is_piecewise() {
            return session.query(&text, parameters, &shape.forms(), &mut |rows| sink(shape.answer(rows)?));
        }
        let mut all = Vec::new();
        session.query(&text, parameters, &shape.forms(), &mut |rows| {
            all.push(rows);
            Ok(true)
        })?;
        sink(shape.answer(gather(all))?).map(|_| ())
    }
}

fn ready(statement: &Statement<'_>) -> Result<Ready> {
    let parameters = statement.parameters.iter().map(|parameter| match &parameter.value {
        ParameterValue::One(value) => Ok(to_sql(value)),
        ParameterValue::Array(_) => Err(error!(Internal, "MySQL has no arrays as parameters")),
    });
    let parameters = parameters.collect::<Result<_>>()?;
    Ok(Ready { text: statement.text.clone(), parameters, shape: Shape::of(statement) })
}

/// Reads all that is left.
fn hold(open: &mut Streaming, stream: &mut Stream, name: &str) -> Result<()> {
    loop {
        let (columns, count) = open.more(HELD_ROWS)?;
        let columns = stream.answer(columns)?;
        stream.held.push(columns);
        stream.held.check(name)?;
        if count < HELD_ROWS {
            return Ok(());
        }
    }
}

impl Reading for MysqlReading {
    fn ask(&mut self, questions: &[Question<'_>], sink: &mut RowsSink<'_>) -> Result<()> {
        for (number, question) in questions.iter().enumerate() {
            let mut is_wanted = true;
            for statement in self.statements(question)? {
                if is_wanted {
                    self.run(statement, &mut |rows| {
                        is_wanted = sink(number, rows)?;
                        Ok(is_wanted)
                    })?;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, question: &Question<'_>) -> Result<StreamId> {
        let statements = self.statements(question)?;
        self.last_stream += 1;
        self.streams.insert(self.last_stream, Stream { next: statements.into(), ..Stream::default() });
        Ok(StreamId(self.last_stream))
    }

    fn more(&mut self, stream: StreamId, rows: usize) -> Result<Option<Vec<Column>>> {
        let (number, most) = (stream.0, rows.max(1));
        loop {
            let Some(open) = self.streams.get_mut(&number) else { return Ok(None) };
            if let Some(batch) = open.held.take(most) {
                return Ok(Some(batch));
            }
            if let Some((Line::Streaming(current, rows), _)) = &mut self.state
                && *current == number
            {
                let waiting = self.source.wait_for(&rows.handle());
                let read = rows.more(most);
                drop(waiting);
                if !matches!(&read, Ok((_, count)) if *count == most) {
                    self.free();
                }
                let (columns, count) = read?;
                if count > 0 {
                    return self.streams.get(&number).map(|open| open.answer(columns)).transpose();
                }
                continue;
            }
            let Some(next) = open.next.pop_front() else { return Ok(None) };
            self.begin_stream(number, next)?;
        }
    }

    fn stop(&mut self, stream: StreamId) {
        self.streams.remove(&stream.0);
    }
}

impl MysqlReading {
    /// Begins with a statement of a stream. What must be sorted or counted here is read to its end at once.
    fn begin_stream(&mut self, number: u64, statement: Ready) -> Result<()> {
        if !statement.shape.is_piecewise() {
            let mut answers = Vec::new();
            self.run(statement, &mut |rows| {
                answers.push(rows);
                Ok(true)
            })?;
            if let Some(stream) = self.streams.get_mut(&number) {
                answers.into_iter().for_each(|rows| stream.held.push(rows));
            }
            return Ok(());
        }
        self.begin()?;
        let Some((line, _)) = &mut self.state else { return Ok(()) };
        if let Line::Free(session) = std::mem::replace(line, Line::Gone) {
            let _waiting = self.source.wait_for(&session.handle());
            match session.stream(&statement.text, statement.parameters, &statement.shape.forms()) {
                Ok(open) => {
                    *line = Line::Streaming(number, open);
                    if let Some(stream) = self.streams.get_mut(&number) {
                        stream.shape = Some(statement.shape);
                    }
                }
                Err(failed) => {
                    *line = Line::Free(failed.0);
                    return Err(failed.1);
                }
            }
        }
        Ok(())
    }
}

impl Writing for MysqlReading {
    fn change(&mut self, change: &Change<'_>) -> Result<Column> {
        let source = self.source.clone();
        let (session, known) = self.begin()?;
        let statements = source.writer(&known, session.is_mariadb).change(change)?;
        let _waiting = source.wait_for(&session.handle());
        let mut keys = Column::nulls(0);
        for statement in &statements {
            let Ready { text, parameters, shape } = ready(statement)?;
            if statement.answer.is_empty() {
                let (count, first) = session.execute(&text, parameters)?;
                check_changed(&source.settings.name, &text, statement.expects, count)?;
                // Rows that get their numbers from the table get them one after the other.
                if let (Change::InsertNodes { .. } | Change::InsertEdges { .. }, Some(first)) = (change, first) {
                    let numbers: Vec<Value> = (0..count as i64).map(|row| Value::Int(first as i64 + row)).collect();
                    keys.append(&Column::from_values(&numbers));
                }
                continue;
            }
            let mut all = Vec::new();
            session.query(&text, parameters, &shape.forms(), &mut |rows| {
                all.push(rows);
                Ok(true)
            })?;
            let rows = gather(all);
            check_changed(&source.settings.name, &text, statement.expects, rows.first().map_or(0, Column::len))?;
            if let Some(answer) = shape.answer(rows)?.first() {
                keys.append(answer);
            }
        }
        // A server that gives back what it stored says best what the keys are: it may have rounded or cut them.
        let given = if statements.iter().all(|statement| statement.answer.is_empty()) {
            given_keys(&source, &known, change)
        } else {
            None
        };
        Ok(given.unwrap_or(keys))
    }

    fn mark(&mut self, number: u64) -> Result<bool> {
        self.command(&format!("SAVEPOINT mark_{number}"))?;
        Ok(true)
    }

    fn undo_to(&mut self, number: u64) -> Result<()> {
        let undone = self.command(&format!("ROLLBACK TO SAVEPOINT mark_{number}"));
        undone.map_err(|failure| match failure.message().contains("does not exist") {
            true => error!(Conflict, "{}: the server has undone the whole transaction", self.source.settings.name)
                .with_remedy("roll back and do it again"),
            false => failure,
        })
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        if self.state.is_none() {
            return Ok(());
        }
        self.streams.clear();
        self.command("COMMIT")?;
        if let Some((Line::Free(session), _)) = self.state.take() {
            self.source.keep(session);
        }
        Ok(())
    }
}

impl Source {
    /// Executes a command without rows; the thread that waits for it can be stopped.
    fn command(self: &Arc<Source>, session: &mut Session, text: &str) -> Result<()> {
        let waiting = self.wait_for(&session.handle());
        let done = session.command(text);
        drop(waiting);
        done
    }
}

/// The keys of new nodes where the change itself says them: one column, which is among the properties.
fn given_keys(source: &Source, known: &Known, change: &Change<'_>) -> Option<Column> {
    let Change::InsertNodes { kind, properties, .. } = change else { return None };
    let node = source.definition.nodes.get(*kind)?;
    let [key] = &node.key[..] else { return None };
    let (_, given) = properties.iter().find(|(number, _)| node.properties[*number].column == *key)?;
    if matches!(given.data, ColumnData::Null(_)) {
        return None;
    }
    let is_number = known.catalog.node(*kind).column(key).sql_type == NUMBER;
    let stored = |value: Value| match &value {
        Value::Float(_) | Value::String(_) if is_number => digits::number(plain(&value).as_str()).unwrap_or(value),
        _ => value,
    };
    Some(Column::from_values(&given.values().map(stored).collect::<Vec<Value>>()))
}

/// A number as it is written without an exponent.
fn plain(value: &Value) -> String {
    match value {
        Value::Float(x) => format!("{x}"),
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    }
}

impl Drop for MysqlReading {
    fn drop(&mut self) {
        let mut session = match self.state.take() {
            Some((Line::Free(session), _)) => session,
            Some((Line::Streaming(_, mut open), _)) => {
                open.be_short();
                if !matches!(open.more(LAST_ROWS), Ok((_, count)) if count < LAST_ROWS) {
                    // Else all the rows that are left would be read before the connection can be closed.
                    self.source.kill(open.handle().connection);
                    return;
                }
                open.end()
            }
            _ => return,
        };
        if session.roll_back() {
            self.source.keep(session);
        }
    }
}
