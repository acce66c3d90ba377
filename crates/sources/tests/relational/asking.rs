//! Asking a connector without a store above it.

use model::{Column, Value};
use sources::connector::{Question, Reading, Which};

/// The rows of an answer, in order of their first column.
pub(crate) fn rows(reading: &mut dyn Reading, question: Question<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let mut sink = |_: usize, columns: Vec<Column>| {
        rows.extend(
            (0..columns[0].len()).map(|row| columns.iter().map(|column| column.value(row)).collect::<Vec<_>>()),
        );
        Ok(true)
    };
    reading.ask(&[question], &mut sink).unwrap();
    rows.sort_by(|a: &Vec<Value>, b| a[0].order(&b[0]));
    rows
}

/// All nodes of the first kind, with these properties.
pub(crate) fn all_nodes(properties: &[usize]) -> Question<'_> {
    Question::Nodes { kind: 0, which: Which::All, properties, order: &[], limit: None }
}

/// The second property of all nodes of the first kind.
pub(crate) fn names(reading: &mut dyn Reading) -> Vec<String> {
    rows(reading, all_nodes(&[1])).into_iter().map(|row| row[1].to_string().trim_matches('\'').to_owned()).collect()
}
