//! Columns put together from rows of several pieces.

use model::{Bitmap, Column, ColumnBuilder, ColumnData, Fixed, StringColumn, Value, each_vector};

use super::Place;

/// A column of the rows at `places`, each of which names one of `columns` and a row of it. Where there is no such column,
/// the row is null.
pub(crate) fn gather(columns: &[Option<&Column>], places: &[Place]) -> Column {
    if let [Some(column)] = columns
        && let Some(column) = gather_one(column, places)
    {
        return column;
    }
    let first = columns.iter().flatten().find(|column| !matches!(column.data, ColumnData::Null(_)));
    let Some(first) = first else { return Column::nulls(places.len()) };
    let gathered = each_vector!(&first.data, {
        ColumnData::String(_) => texts(columns, places),
        ColumnData::Null(_) | ColumnData::Value(_) => None,
    }, rows => typed(rows, columns, places));
    gathered.unwrap_or_else(|| {
        let mut builder = ColumnBuilder::default();
        for &(piece, row) in places {
            let column = columns.get(piece as usize).copied().flatten();
            builder.push(&column.map_or(Value::Null, |column| column.value(row as usize)));
        }
        builder.finish()
    })
}

fn finish(data: ColumnData, validity: Option<Bitmap>) -> Column {
    match validity {
        Some(bits) => Column::with_validity(data, bits),
        None => Column::new(data),
    }
}

/// All rows of one column.
fn gather_one(column: &Column, places: &[Place]) -> Option<Column> {
    if places.iter().any(|place| place.0 != 0) {
        return None;
    }
    fn pick<T: Fixed>(rows: &[T], places: &[Place]) -> ColumnData {
        T::vector(places.iter().map(|place| rows[place.1 as usize]).collect())
    }
    let data = each_vector!(&column.data, {
        ColumnData::Null(_) | ColumnData::String(_) | ColumnData::Value(_) => return None,
    }, rows => pick(rows, places));
    let validity = column.validity.as_ref().map(|bits| places.iter().map(|place| bits.get(place.1 as usize)).collect());
    Some(finish(data, validity))
}

/// The rows of columns that are all of the kind of these.
fn typed<T: Fixed>(_: &[T], columns: &[Option<&Column>], places: &[Place]) -> Option<Column> {
    let (rows, validity) = typed_rows(columns, places, |column| T::rows(&column.data))?;
    Some(finish(T::vector(rows), validity))
}

/// The rows of columns that are all of one kind, and which of them are not null if some are; `None` if the kinds differ.
fn typed_rows<'a, T: Copy + Default + 'a>(
    columns: &[Option<&'a Column>],
    places: &[Place],
    slice: impl Fn(&'a Column) -> Option<&'a [T]>,
) -> Option<(Vec<T>, Option<Bitmap>)> {
    let mut slices: Vec<(&[T], Option<&Bitmap>)> = Vec::with_capacity(columns.len());
    let mut has_nulls = places.iter().any(|place| place.0 as usize >= columns.len());
    for column in columns {
        match column {
            Some(column) if slice(column).is_some() => {
                has_nulls |= column.validity.is_some();
                slices.push((slice(column).unwrap_or_default(), column.validity.as_ref()));
            }
            None | Some(Column { data: ColumnData::Null(_), .. }) => {
                has_nulls = true;
                slices.push((&[], None));
            }
            Some(_) => return None,
        }
    }
    if !has_nulls {
        let rows = places.iter().map(|&(piece, row)| slices[piece as usize].0[row as usize]).collect();
        return Some((rows, None));
    }
    let mut validity = Bitmap::default();
    let rows = places.iter().map(|&(piece, row)| {
        let (rows, bits) = slices.get(piece as usize).copied().unwrap_or((&[], None));
        let is_there = (row as usize) < rows.len() && bits.is_none_or(|bits| bits.get(row as usize));
        validity.push(is_there);
        if is_there { rows[row as usize] } else { T::default() }
    });
    let rows = rows.collect();
    Some((rows, Some(validity)))
}

fn texts(columns: &[Option<&Column>], places: &[Place]) -> Option<Column> {
    let is_text = |column: &&Column| matches!(column.data, ColumnData::String(_) | ColumnData::Null(_));
    if !columns.iter().flatten().all(is_text) {
        return None;
    }
    let mut rows = StringColumn::default();
    let mut validity = Bitmap::default();
    for &(piece, row) in places {
        match columns.get(piece as usize).copied().flatten() {
            Some(column) if !column.is_null(row as usize) => {
                if let ColumnData::String(texts) = &column.data {
                    rows.push(texts.get(row as usize));
                    validity.push(true);
                }
            }
            _ => {
                rows.push("");
                validity.push(false);
            }
        }
    }
    Some(Column::with_validity(ColumnData::String(rows), validity))
}

#[cfg(test)]
mod tests {
    use model::{Column, Value};

    use super::super::NOWHERE;
    use super::gather;

    #[test]
    fn rows_of_several_pieces_are_what_they_were() {
        let lists: [Vec<Value>; 6] = [
            vec![Value::Int(1), Value::Null, Value::Int(3)],
            vec![Value::Int(4), Value::Int(5)],
            vec![Value::Null, Value::Null],
            vec![Value::string("a"), Value::Null],
            vec![Value::Float(0.5), Value::Float(f64::INFINITY)],
            vec![Value::string("b"), Value::string("")],
        ];
        let columns: Vec<Column> = lists.iter().map(Column::from_values).collect();
        for (case, set) in
            [vec![0], vec![0, 1], vec![1, 2], vec![3, 5, 2], vec![4], vec![0, 4, 3], vec![2], vec![]].iter().enumerate()
        {
            let mut chosen: Vec<Option<&Column>> = set.iter().map(|&at: &usize| Some(&columns[at])).collect();
            chosen.push(None);
            let mut places = vec![NOWHERE, (chosen.len() as u32 - 1, 7)];
            let mut expected = vec![Value::Null; 2];
            for _ in 0..2 {
                for (piece, &at) in set.iter().enumerate() {
                    for (row, value) in lists[at].iter().enumerate() {
                        places.push((piece as u32, row as u32));
                        expected.push(value.clone());
                    }
                }
            }
            let column = gather(&chosen, &places);
            assert_eq!(column.values().collect::<Vec<_>>(), expected, "case {case}");
            if set.len() == 1 {
                let column = gather(&chosen[..1], &places[2..]);
                assert_eq!(column.values().collect::<Vec<_>>(), expected[2..], "case {case} alone");
            }
        }
    }
}
