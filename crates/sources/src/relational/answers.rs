//! Rows of a statement as the answer to a question.

use model::{Column, ErrorCode, Result, error};

use crate::sql::convert::{convert, lists};
use crate::sql::rest::COUNTED_ROWS_MAX;
use crate::sql::{Answer, Form, Statement};

/// The operations on the rows of a statement before they are the answer.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    answer: Vec<Answer>,
    rest: crate::sql::Rest,
}

impl Shape {
    pub(crate) fn of(statement: &Statement<'_>) -> Shape {
        Shape { answer: statement.answer.clone(), rest: statement.rest.clone() }
    }

    /// For each column of the rows, how its values are read.
    pub(crate) fn forms(&self) -> Vec<Form> {
        self.answer.iter().flat_map(|answer| std::iter::repeat_n(answer.form, answer.columns)).collect()
    }

    /// True if some of the rows can be answered before all are there.
    pub(crate) fn is_piecewise(&self) -> bool {
        self.rest.is_done()
    }

    /// Rows to read at once, where some are enough for the caller: all that must be known before the first can be answered, or
    /// as many as show that they are too many.
    pub(crate) fn rows_at_once(&self, wanted: usize) -> usize {
        match self.rest.none_of.is_empty() {
            _ if self.is_piecewise() => wanted.max(1),
            true => usize::MAX,
            false => COUNTED_ROWS_MAX + 1,
        }
    }

    /// All rows, or some where that can be done.
    pub(crate) fn answer(&self, columns: Vec<Column>) -> Result<Vec<Column>> {
        let rows = columns.first().map_or(0, Column::len);
        let mut columns = columns.into_iter();
        let mut answer: Vec<Column> = Vec::with_capacity(self.answer.len());
        for part in &self.answer {
            let column = match part.columns {
                0 => Column::nulls(rows),
                1 => columns.next().unwrap_or_else(|| Column::nulls(rows)),
                several => lists(&columns.by_ref().take(several).collect::<Vec<_>>()),
            };
            answer.push(match part.kind {
                Some(kind) => convert(column, kind, &part.name, answer.first())?,
                None => column,
            });
        }
        if self.rest.is_done() { Ok(answer) } else { self.rest.finish(answer) }
    }
}

/// Rows of several batches as one.
pub(crate) fn gather(batches: Vec<Vec<Column>>) -> Vec<Column> {
    let mut batches = batches.into_iter();
    let mut all = batches.next().unwrap_or_default();
    for batch in batches {
        all.iter_mut().zip(&batch).for_each(|(all, more)| all.append(more));
    }
    all
}

/// Fails if a change did not change as many rows as it must.
pub(crate) fn check_changed(source: &str, statement: &str, expected: Option<usize>, found: usize) -> Result<()> {
    match expected {
        Some(expected) if expected != found => Err(error!(
            NotFound,
            "{source}: {found} rows were changed where {expected} were to be, in: {}",
            shortened(statement)
        )
        .with_remedy("another program may have changed or deleted them; read them again")),
        _ => Ok(()),
    }
}

/// The remedy for a column that is set though the database computes it.
pub(crate) const CHANGE_ITS_SOURCES: &str = "change the columns that it is computed from";

/// An error of the database, with source and statement.
pub(crate) fn failed(code: ErrorCode, source: &str, message: &str, statement: &str) -> model::Error {
    let message = message.trim().trim_end_matches('.');
    match statement {
        "" => model::Error::new(code, format!("{source}: {message}")),
        statement => model::Error::new(code, format!("{source}: {message}, in: {}", shortened(statement))),
    }
}

/// A statement in one line that is not too long for a message.
pub(crate) fn shortened(statement: &str) -> String {
    const LETTERS: usize = 300;
    let words = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}...", &words[..end]),
        None => words,
    }
}
