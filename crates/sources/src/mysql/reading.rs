//! Questions and changes, asked of a connection in a transaction.
//!
//! A connection of MySQL answers one statement at a time, and no other connection sees the same moment. So the rows of a
//! question that is read piece by piece are held here, up to a limit.

use std::collections::VecDeque;
use std::sync::Arc;

use ::mysql::Value as SqlValue;
use model::{Column, ColumnData, Map, Result, Value, error};

use super::Source;
use super::cells::to_sql;
use super::session::Session;
use crate::connector::{Change, Question, Reading, RowsSink, StreamId, Writing};
use crate::relational::answers::{Shape, check_changed, gather};
use crate::relational::known::Known;
use crate::sql::{ParameterValue, Statement};

/// Bytes of rows, about, that a question that is read piece by piece may hold.
const HELD_BYTES_MAX: usize = 256 << 20;

/// A connection with its transaction, which begins with the first question.
pub(super) struct MysqlReading {
    source: Arc<Source>,
    is_writing: bool,
    state: Option<(Session, Arc<Known>)>,
    streams: Map<u64, Stream>,
    last_stream: u64,
}

enum Stream {
    Asked(Vec<Ready>),
    Held(VecDeque<Vec<Column>>),
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

    fn begin(&mut self) -> Result<(&mut Session, Arc<Known>)> {
        if self.state.is_none() {
            let access = if self.is_writing { "READ WRITE" } else { "READ ONLY" };
            let begin = format!("START TRANSACTION WITH CONSISTENT SNAPSHOT, {access}");
            let known = self.source.known()?;
            let mut session = self.source.session()?;
            // A connection that was kept may have died meanwhile; a new one may do.
            if let Err(failure) = session.command(&begin) {
                if !session.is_used {
                    return Err(failure);
                }
                self.source.close_idle();
                session = self.source.session()?;
                session.command(&begin)?;
            }
            self.state = Some((session, known));
        }
        let (session, known) = self.state.as_mut().expect("it was set above");
        Ok((session, known.clone()))
    }

    fn statements(&mut self, question: &Question<'_>) -> Result<Vec<Ready>> {
        let source = self.source.clone();
        let (session, known) = self.begin()?;
        let statements = source.writer(&known, session.is_mariadb).question(question)?;
        statements.iter().map(ready).collect()
    }

    fn run(&mut self, statement: Ready, sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>) -> Result<()> {
        let Ready { text, parameters, shape } = statement;
        let (session, _) = self.begin()?;
        if shape.is_piecewise() {
            return session.query(&text, parameters, &mut |rows| sink(shape.answer(rows)?));
        }
        let mut all = Vec::new();
        session.query(&text, parameters, &mut |rows| {
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

/// Bytes of a column, about.
fn bytes_of(column: &Column) -> usize {
    match &column.data {
        ColumnData::Null(_) => 0,
        ColumnData::String(texts) => texts.iter().map(|text| text.len() + 8).sum(),
        ColumnData::Value(values) => values.len() * 48,
        _ => column.len() * 16,
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
        self.streams.insert(self.last_stream, Stream::Asked(statements));
        Ok(StreamId(self.last_stream))
    }

    fn more(&mut self, stream: StreamId, rows: usize) -> Result<Option<Vec<Column>>> {
        let Some(open) = self.streams.remove(&stream.0) else { return Ok(None) };
        let mut held = match open {
            Stream::Held(held) => held,
            Stream::Asked(statements) => {
                let (mut held, mut bytes, name) = (VecDeque::new(), 0, self.source.settings.name.clone());
                for statement in statements {
                    self.run(statement, &mut |rows| {
                        bytes += rows.iter().map(bytes_of).sum::<usize>();
                        if bytes > HELD_BYTES_MAX {
                            return Err(error!(
                                Limit,
                                "{name}: a scan gave more than {} MiB of rows, which are held here while it is read",
                                HELD_BYTES_MAX >> 20
                            )
                            .with_remedy("ask for fewer rows or properties, or PRELOAD a part of the source"));
                        }
                        held.push_back(rows);
                        Ok(true)
                    })?;
                }
                held
            }
        };
        let Some(mut batch) = held.pop_front() else { return Ok(None) };
        let (count, most) = (batch.first().map_or(0, Column::len), rows.max(1));
        if count > most {
            held.push_front(batch.iter().map(|column| column.slice(most, count)).collect());
            batch = batch.iter().map(|column| column.slice(0, most)).collect();
        }
        if count == 0 && held.is_empty() {
            return Ok(None);
        }
        self.streams.insert(stream.0, Stream::Held(held));
        Ok(Some(batch))
    }

    fn stop(&mut self, stream: StreamId) {
        self.streams.remove(&stream.0);
    }
}

impl Writing for MysqlReading {
    fn change(&mut self, change: &Change<'_>) -> Result<Column> {
        let source = self.source.clone();
        let (session, known) = self.begin()?;
        let statements = source.writer(&known, session.is_mariadb).change(change)?;
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
            session.query(&text, parameters, &mut |rows| {
                all.push(rows);
                Ok(true)
            })?;
            let rows = gather(all);
            check_changed(&source.settings.name, &text, statement.expects, rows.first().map_or(0, Column::len))?;
            if let Some(answer) = shape.answer(rows)?.first() {
                keys.append(answer);
            }
        }
        Ok(given_keys(&source, change).unwrap_or(keys))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let Some((mut session, _)) = self.state.take() else { return Ok(()) };
        session.command("COMMIT")?;
        self.source.keep(session);
        Ok(())
    }
}

/// The keys of new nodes where the change itself says them: one column, which is among the properties.
fn given_keys(source: &Source, change: &Change<'_>) -> Option<Column> {
    let Change::InsertNodes { kind, properties, .. } = change else { return None };
    let node = source.definition.nodes.get(*kind)?;
    let [key] = &node.key[..] else { return None };
    let given = properties.iter().find(|(number, _)| node.properties[*number].column == *key);
    given.map(|(_, values)| (*values).clone()).filter(|values| !matches!(values.data, ColumnData::Null(_)))
}

impl Drop for MysqlReading {
    fn drop(&mut self) {
        if let Some((mut session, _)) = self.state.take()
            && session.command("ROLLBACK").is_ok()
        {
            self.source.keep(session);
        }
    }
}
