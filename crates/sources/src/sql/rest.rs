//! The operations that a database does not do as Cypher does, done with its rows: tests, order, limits and counts.

use std::cmp::Ordering;

use model::{Column, ColumnData, KeyOrder, Result, Value, error};

use crate::connector::Condition;

/// The operations that are left to be done with the rows of a statement. Nearly always none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rest {
    /// Conditions on columns of the answer.
    pub tests: Vec<Condition>,
    /// The columns of the answer to sort by, each in its direction.
    pub order: Vec<(usize, KeyOrder)>,
    /// Rows at most.
    pub limit: Option<u64>,
    /// Columns at the end of the answer that only serve this.
    pub hidden: usize,
    /// True if the number of rows is the answer.
    pub is_count: bool,
    /// Columns of the answer, among the hidden ones, that count values of which the database does not compute as Cypher does:
    /// there may be none.
    pub none_of: Vec<usize>,
}

/// Rows that are held at most until it is known that [`Rest::none_of`] is none.
pub const COUNTED_ROWS_MAX: usize = 1 << 16;

impl Rest {
    /// True if nothing is left to be done.
    pub fn is_done(&self) -> bool {
        *self == Rest::default()
    }

    /// Does it with all rows of a statement.
    pub fn finish(&self, mut columns: Vec<Column>) -> Result<Vec<Column>> {
        let rows = columns.first().map_or(0, Column::len);
        if !self.none_of.is_empty() && rows > COUNTED_ROWS_MAX {
            return Err(error!(
                Unsupported,
                "more than {COUNTED_ROWS_MAX} rows would be held to see that values are of one type"
            ));
        }
        if self.none_of.iter().any(|&at| columns[at].values().any(|count| count != Value::Int(0))) {
            return Err(error!(Unsupported, "a column has values of several types, which the database does not order"));
        }
        let holds = |row: &u32| {
            let value = |&at: &usize| columns[at].value(*row as usize);
            self.tests.iter().all(|test| test.holds(&value))
        };
        let mut kept: Vec<u32> = (0..rows as u32).filter(holds).collect();
        if !self.order.is_empty() {
            let keys = self.order.iter().map(|&(at, way)| (columns[at].values().collect::<Vec<Value>>(), way));
            let keys: Vec<(Vec<Value>, KeyOrder)> = keys.collect();
            kept.sort_by(|&a, &b| {
                let compared = keys.iter().map(|(key, way)| way.of(key[a as usize].order(&key[b as usize])));
                compared.fold(Ordering::Equal, Ordering::then)
            });
        }
        if let Some(limit) = self.limit {
            kept.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        if self.is_count {
            return Ok(vec![Column::new(ColumnData::Int(vec![kept.len() as i64]))]);
        }
        columns.truncate(columns.len() - self.hidden);
        if kept.len() == rows && self.order.is_empty() {
            return Ok(columns);
        }
        Ok(columns.iter().map(|column| column.gather(&kept)).collect())
    }
}
