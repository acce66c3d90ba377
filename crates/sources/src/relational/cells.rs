//! A column that is filled cell by cell, without a value for each where all are of one kind.

use model::{Bitmap, Column, ColumnBuilder, ColumnData, Value};

/// A column being filled.
#[derive(Debug)]
pub(crate) struct Cells {
    column: Column,
}

impl Default for Cells {
    fn default() -> Cells {
        Cells { column: Column::nulls(0) }
    }
}

impl Cells {
    #[inline]
    pub(crate) fn push_int(&mut self, x: i64) {
        match &mut self.column.data {
            ColumnData::Int(rows) => {
                rows.push(x);
                present(&mut self.column.validity);
            }
            _ => self.push(&Value::Int(x)),
        }
    }

    #[inline]
    pub(crate) fn push_float(&mut self, x: f64) {
        match &mut self.column.data {
            ColumnData::Float(rows) => {
                rows.push(x);
                present(&mut self.column.validity);
            }
            _ => self.push(&Value::Float(x)),
        }
    }

    #[inline]
    pub(crate) fn push_text(&mut self, text: &str) {
        match &mut self.column.data {
            ColumnData::String(rows) => {
                rows.push(text);
                present(&mut self.column.validity);
            }
            _ => self.push(&Value::string(text)),
        }
    }

    /// Any value; for those that are rare, and the first of a kind.
    pub(crate) fn push(&mut self, value: &Value) {
        let mut builder = ColumnBuilder::from(std::mem::replace(&mut self.column, Column::nulls(0)));
        builder.push(value);
        self.column = builder.finish();
    }

    pub(crate) fn finish(self) -> Column {
        self.column
    }
}

#[inline]
fn present(validity: &mut Option<Bitmap>) {
    if let Some(bits) = validity {
        bits.push(true);
    }
}

#[cfg(test)]
mod tests {
    use model::Value;

    use super::Cells;

    #[test]
    fn cells_of_any_kinds_stay_what_they_are() {
        let mut cells = Cells::default();
        cells.push(&Value::Null);
        cells.push_int(1);
        cells.push_int(2);
        cells.push(&Value::Null);
        cells.push_int(3);
        let ints = [Value::Null, Value::Int(1), Value::Int(2), Value::Null, Value::Int(3)];
        cells.push_text("a");
        cells.push_float(1.5);
        let all: Vec<Value> = cells.finish().values().collect();
        assert_eq!(all[..5], ints);
        assert_eq!(all[5..], [Value::string("a"), Value::Float(1.5)]);
    }
}
