//! Keys of rows that starts are drawn from.

use database::relational::{SqlAnswer, TableName};
use model::{ColumnData, Result};

use super::Reader;
use super::tables::Tables;
use crate::random::Draws;

/// Keys, and ends of edges, that are read where they cannot be counted up.
const READ_MAX: usize = 1 << 22;

/// Keys of the rows of a table.
#[derive(Debug)]
pub(super) enum Keys {
    /// All integers from the first on: nothing is held.
    Dense { first: i64, count: u64 },
    /// The first keys in order, and the number of all.
    Listed { keys: Vec<i64>, count: u64 },
}

impl Keys {
    /// Reads the keys of a table as far as they are needed to draw from.
    pub(super) fn read(reader: &mut Reader<'_>, table: &TableName, key: &str) -> Result<Keys> {
        let (table, key) = (table.in_sql(|name| reader.quoted(name)), reader.quoted(key));
        let answer = reader.ask(&format!("SELECT count({key}), min({key}), max({key}) FROM {table}"))?;
        let of = |column: usize| integers(&answer, column).next();
        let (count, first, last) = (of(0).unwrap_or(0).cast_unsigned(), of(1).unwrap_or(0), of(2).unwrap_or(0));
        let is_dense = last.checked_sub(first).and_then(|span| span.checked_add(1)) == Some(count.cast_signed());
        if count == 0 || is_dense {
            return Ok(Keys::Dense { first, count });
        }
        let listed = format!("SELECT {key} FROM {table} WHERE {key} IS NOT NULL ORDER BY {key} LIMIT {READ_MAX}");
        let answer = reader.ask(&listed)?;
        Ok(Keys::Listed { keys: integers(&answer, 0).collect(), count })
    }

    /// The number of rows.
    pub(super) fn count(&self) -> u64 {
        match self {
            Keys::Dense { count, .. } => *count,
            Keys::Listed { keys, .. } if keys.is_empty() => 0,
            Keys::Listed { count, .. } => *count,
        }
    }

    /// One of the first keys, up to a number of them, of which there is at least one.
    pub(super) fn draw(&self, draws: &mut Draws, most: u64) -> i64 {
        match self {
            Keys::Dense { first, count } => first.wrapping_add(draws.below((*count).min(most).max(1)).cast_signed()),
            Keys::Listed { keys, .. } => keys[draws.below((keys.len() as u64).min(most).max(1)) as usize],
        }
    }
}

/// Ends of edges that are rows of the table of nodes, each as often as it is one.
pub(super) fn ends(reader: &mut Reader<'_>, tables: &Tables) -> Result<Vec<i64>> {
    let taken = if tables.is_within { &tables.ends[..] } else { &tables.ends[..1] };
    let columns: Vec<String> = taken.iter().map(|end| reader.quoted(end)).collect();
    let table = tables.edges.in_sql(|name| reader.quoted(name));
    let answer = reader.ask(&format!("SELECT {} FROM {table} LIMIT {READ_MAX}", columns.join(", ")))?;
    Ok((0..taken.len()).flat_map(|column| integers(&answer, column)).collect())
}

/// The integers of a column that are there.
fn integers(answer: &SqlAnswer, column: usize) -> impl Iterator<Item = i64> + '_ {
    let column = answer.columns.get(column);
    column.into_iter().flat_map(|column| {
        let values: &[i64] = if let ColumnData::Int(values) = &column.data { values } else { &[] };
        values.iter().enumerate().filter(|(row, _)| !column.is_null(*row)).map(|(_, value)| *value)
    })
}

#[cfg(test)]
mod tests {
    use super::Keys;
    use crate::random::Stream;

    #[test]
    fn keys_are_drawn_from_the_first_ones() {
        let mut draws = Stream::new(1, "keys").draws(0);
        let dense = Keys::Dense { first: -3, count: 10 };
        let listed = Keys::Listed { keys: vec![2, 5, 900], count: 3 };
        for _ in 0..100 {
            assert!(
                (-3..7).contains(&dense.draw(&mut draws, u64::MAX)) && (-3..-1).contains(&dense.draw(&mut draws, 2))
            );
            assert!([2, 5, 900].contains(&listed.draw(&mut draws, u64::MAX)) && listed.draw(&mut draws, 1) == 2);
        }
        assert_eq!((dense.count(), listed.count()), (10, 3));
    }
}
