//! Changes single rows of a column that was read from the files.

use model::column::ColumnBuilder;
use model::{Bitmap, Column, ColumnData, Value, each_vector_pair};

/// The column with other values in some rows; `patches` are in order of their rows.
pub fn patched(mut column: Column, patches: &[(usize, &Value)]) -> Column {
    if patches.iter().all(|&(row, value)| patch_in_place(&mut column, row, value)) {
        return column;
    }
    let mut builder = ColumnBuilder::default();
    let mut rest = patches.iter().peekable();
    for row in 0..column.len() {
        match rest.next_if(|patch| patch.0 == row) {
            Some((_, value)) => builder.push(value),
            None => builder.push(&column.value(row)),
        }
    }
    builder.finish()
}

fn patch_in_place(column: &mut Column, row: usize, value: &Value) -> bool {
    let rows = column.len();
    each_vector_pair!((&mut column.data, value), ColumnData, Value, {
        (ColumnData::Value(values), value) => values[row] = value.clone(),
        (ColumnData::Null(_), value) => return value.is_null(),
        (_, Value::Null) => {
            column.validity.get_or_insert_with(|| Bitmap::filled(rows, true)).set(row, false);
            return true;
        }
    }, (values, x) => values[row] = *x, _ => return false);
    if let Some(validity) = &mut column.validity {
        validity.set(row, !value.is_null());
    }
    true
}

#[cfg(test)]
mod tests {
    use model::{Column, Value};

    use super::patched;

    fn check(values: &[Value], patches: &[(usize, Value)]) {
        let mut expected = values.to_vec();
        patches.iter().for_each(|(row, value)| expected[*row] = value.clone());
        let patches: Vec<(usize, &Value)> = patches.iter().map(|(row, value)| (*row, value)).collect();
        let found = patched(Column::from_values(values), &patches);
        assert_eq!(found.values().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn patched_rows_change_and_others_stay() {
        let ints = [Value::Int(1), Value::Null, Value::Int(3)];
        check(&ints, &[(0, Value::Int(7)), (1, Value::Int(8)), (2, Value::Null)]);
        check(&ints, &[(0, Value::Int(7)), (1, Value::string("x"))]);
        check(&[Value::Null, Value::Null], &[(1, Value::Float(0.5))]);
        check(&[Value::string("a"), Value::string("b")], &[(0, Value::string("c"))]);
        check(&[Value::string("a"), Value::Int(1)], &[(0, Value::Null), (1, Value::Bool(true))]);
    }
}
