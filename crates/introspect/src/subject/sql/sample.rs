//! Keys of rows that starts are drawn from: numbers between the least and the greatest key that are checked to be keys, where an index
//! tells that; keys that are read elsewhere.
//!
//! Invariant: the numbers of a seed are taken in order, so that each row is as likely as any other.
//! Cost: at most [`SPARSE`] numbers for each start, and a statement for each [`BATCH`] of them.

use database::relational::{SqlAnswer, TableName};
use model::{ColumnData, Map, Result, Set, Value, error};

use super::Reader;
use super::tables::{FORM, Tables};
use crate::random::Draws;

/// Keys, and ends of edges, that are read where they cannot be drawn.
const READ_MAX: usize = 1 << 22;
/// Numbers between the least and the greatest key for each key, from which on keys are read.
const SPARSE: u64 = 16;
/// Numbers that are looked up by one statement, of many and of few.
const BATCH: usize = 1_024;
const BATCH_MIN: usize = 64;
/// Numbers that are looked up for each start, after which they are given up.
const DRAWS_MAX: usize = 64 * SPARSE as usize;

/// Keys of the rows of a table.
#[derive(Debug)]
pub(super) enum Keys {
    /// All integers from the first on: nothing is held.
    Dense { first: i64, count: u64 },
    /// Those of the integers from the first on that are keys, of a column with an index; so many of so many numbers.
    Between { first: i64, numbers: u64, count: u64, table: String, key: String },
    /// The first keys in order, and the number of all.
    Listed { keys: Vec<i64>, count: u64 },
}

impl Keys {
    /// Reads the bounds of the keys of a table, and keys themselves where they cannot be drawn: if they are sparse, or not unique.
    pub(super) fn read(reader: &mut Reader<'_>, table: &TableName, key: &str, is_unique: bool) -> Result<Keys> {
        let (table, key) = (table.in_sql(|name| reader.quoted(name)), reader.quoted(key));
        let answer = reader.ask(&format!("SELECT count({key}), min({key}), max({key}) FROM {table}"))?;
        let of = |column: usize| integer_at(&answer, column, 0);
        let count = of(0).unwrap_or(0).cast_unsigned();
        // The least or the greatest may be no integer if values have types of their own.
        if let (Some(first), Some(last)) = (of(1), of(2)) {
            let numbers = last.abs_diff(first).saturating_add(1);
            if numbers == count {
                return Ok(Keys::Dense { first, count });
            }
            if is_unique && numbers <= count.saturating_mul(SPARSE) {
                return Ok(Keys::Between { first, numbers, count, table, key });
            }
        } else if count == 0 {
            return Ok(Keys::Dense { first: 0, count });
        }
        let listed = format!("SELECT {key} FROM {table} WHERE {key} IS NOT NULL ORDER BY {key} LIMIT {READ_MAX}");
        let answer = reader.ask(&listed)?;
        let keys: Vec<i64> = integers(&answer, 0).collect();
        if keys.is_empty() {
            let found = answer.columns.first().map_or(Value::Null, |column| column.value(0));
            return Err(error!(Argument, "keys of {table} are no integers: the first {key} is {found}")
                .with_remedy(format!("name another column with --tables {FORM}")));
        }
        Ok(Keys::Listed { keys, count })
    }

    /// The number of rows.
    pub(super) fn count(&self) -> u64 {
        match self {
            Keys::Dense { count, .. } | Keys::Between { count, .. } => *count,
            Keys::Listed { keys, .. } if keys.is_empty() => 0,
            Keys::Listed { count, .. } => *count,
        }
    }

    /// The way in which keys are chosen, for people.
    pub(super) fn described(&self) -> String {
        let last = |first: i64, numbers: u64| first.wrapping_add_unsigned(numbers - 1);
        match self {
            Keys::Dense { first, count } => format!("drawn between {first} and {}", last(*first, (*count).max(1))),
            Keys::Between { first, numbers, count, .. } => {
                let percent = 100.0 * *count as f64 / *numbers as f64;
                format!("drawn between {first} and {}, of which {percent:.0} % are keys", last(*first, *numbers))
            }
            Keys::Listed { keys, count } if keys.len() as u64 == *count => {
                format!("drawn from {count}, which were read")
            }
            Keys::Listed { keys, count } => format!("drawn from the first {} of {count}, which were read", keys.len()),
        }
    }

    /// So many of the first keys, up to a number of them, of which there is at least one.
    pub(super) fn draw(
        &self,
        reader: &mut Reader<'_>,
        draws: &mut Draws,
        (wanted, most): (usize, u64),
    ) -> Result<Vec<i64>> {
        let held: Box<dyn Fn(u64) -> i64> = match self {
            Keys::Dense { first, .. } => Box::new(|place| first.wrapping_add_unsigned(place)),
            Keys::Listed { keys, .. } => Box::new(|place| keys[place as usize]),
            Keys::Between { first, numbers, count, table, key } => {
                let numbers = if most < *count { span(reader, (table, key), *first, most)? } else { *numbers };
                let number = |draws: &mut Draws| first.wrapping_add_unsigned(draws.below(numbers));
                return drawn(draws, wanted, number, |tried| existing(reader, (table, key), tried));
            }
        };
        let among = if let Keys::Listed { keys, .. } = self { keys.len() as u64 } else { self.count() };
        let among = among.min(most).max(1);
        Ok((0..wanted).map(|_| held(draws.below(among))).collect())
    }
}

/// Numbers from the first key to the key at a place.
fn span(reader: &mut Reader<'_>, (table, key): (&str, &str), first: i64, place: u64) -> Result<u64> {
    let statement =
        format!("SELECT {key} FROM {table} WHERE {key} IS NOT NULL ORDER BY {key} LIMIT 1 OFFSET {}", place.max(1) - 1);
    let last = integers(&reader.ask(&statement)?, 0).next().unwrap_or(first);
    Ok(last.abs_diff(first).saturating_add(1))
}

/// So many of the numbers that are drawn which are there, in the order in which they are drawn.
fn drawn<T: Copy, U>(
    draws: &mut Draws,
    wanted: usize,
    number: impl Fn(&mut Draws) -> T,
    mut there: impl FnMut(&[T]) -> Result<Vec<U>>,
) -> Result<Vec<U>> {
    let (mut found, mut tried) = (Vec::with_capacity(wanted), 0);
    while found.len() < wanted {
        if tried >= DRAWS_MAX.saturating_mul(wanted) {
            return Err(error!(Unsupported, "of {tried} keys that were drawn {} are there", found.len())
                .with_remedy("measure tables that nobody deletes from meanwhile"));
        }
        let size = batch(wanted - found.len());
        let numbers: Vec<T> = (0..size).map(|_| number(draws)).collect();
        tried += size;
        found.extend(there(&numbers)?);
    }
    found.truncate(wanted);
    Ok(found)
}

/// Numbers of a statement where so many are wanted.
fn batch(wanted: usize) -> usize {
    if wanted > BATCH_MIN { BATCH } else { BATCH_MIN }
}

/// Those of some numbers that are keys, in their order.
fn existing(reader: &mut Reader<'_>, (table, key): (&str, &str), numbers: &[i64]) -> Result<Vec<i64>> {
    let answer = reader.rows_of(key, (table, key), numbers)?;
    let there: Set<i64> = integers(&answer, 0).collect();
    Ok(numbers.iter().copied().filter(|number| there.contains(number)).collect())
}

/// Nodes at the ends of edges, each as often as it is one.
#[derive(Debug)]
pub(super) enum Ends {
    /// Edges are drawn by their keys.
    Drawn,
    /// Ends of the first edges, which are read.
    Listed(Vec<i64>),
}

impl Ends {
    /// Reads ends of edges, if edges have no keys by which they can be drawn.
    pub(super) fn read(reader: &mut Reader<'_>, tables: &Tables, edges: Option<&Keys>) -> Result<Ends> {
        if matches!(edges, Some(Keys::Dense { .. } | Keys::Between { .. })) {
            return Ok(Ends::Drawn);
        }
        let columns: Vec<String> = tables.node_ends().iter().map(|end| reader.quoted(end)).collect();
        let table = tables.edges.in_sql(|name| reader.quoted(name));
        let answer = reader.ask(&format!("SELECT {} FROM {table} LIMIT {READ_MAX}", columns.join(", ")))?;
        Ok(Ends::Listed((0..columns.len()).flat_map(|column| integers(&answer, column)).collect()))
    }
}

/// Ends of edges that are drawn by their keys: each end of each edge that is a node is as likely as any other.
pub(super) fn drawn_ends(
    reader: &mut Reader<'_>,
    tables: &Tables,
    (edges, key): (&Keys, &str),
    draws: &mut Draws,
    wanted: usize,
) -> Result<Vec<i64>> {
    let (table, key) = (tables.edges.in_sql(|name| reader.quoted(name)), reader.quoted(key));
    let columns: Vec<String> = tables.node_ends().iter().map(|end| reader.quoted(end)).collect();
    let columns = format!("{key}, {}", columns.join(", "));
    let mut found = Vec::with_capacity(wanted);
    let mut tried = 0;
    while found.len() < wanted && tried < DRAWS_MAX.saturating_mul(wanted) {
        let size = batch(wanted - found.len());
        let numbers = edges.draw(reader, draws, (size, u64::MAX))?;
        tried += size;
        let answer = reader.rows_of(&columns, (&table, &key), &numbers)?;
        let ends: Map<i64, Vec<Option<i64>>> = (0..answer.rows())
            .filter_map(|row| {
                let end = |column: usize| integer_at(&answer, column, row);
                Some((end(0)?, (1..=tables.node_ends().len()).map(end).collect()))
            })
            .collect();
        for number in numbers {
            let side = draws.below(tables.node_ends().len() as u64) as usize;
            // An end that is null is drawn again.
            found.extend(ends.get(&number).and_then(|ends| ends[side]));
        }
    }
    found.truncate(wanted);
    Ok(found)
}

/// The integer of a row, if there is one.
fn integer_at(answer: &SqlAnswer, column: usize, row: usize) -> Option<i64> {
    let column = answer.columns.get(column).filter(|column| !column.is_null(row))?;
    if let ColumnData::Int(values) = &column.data { values.get(row).copied() } else { None }
}

/// The integers of a column that are there.
fn integers(answer: &SqlAnswer, column: usize) -> impl Iterator<Item = i64> + '_ {
    (0..answer.rows()).filter_map(move |row| integer_at(answer, column, row))
}

#[cfg(test)]
mod tests {
    use super::{Keys, drawn};
    use crate::random::Stream;

    #[test]
    fn numbers_are_drawn_until_enough_are_there() {
        let seed = testing::random::seed_or(7);
        let even = |numbers: &[u64]| Ok(numbers.iter().copied().filter(|number| number % 2 == 0).collect::<Vec<u64>>());
        let draw = |wanted: usize| {
            let mut draws = Stream::new(seed, "keys").draws(0);
            drawn(&mut draws, wanted, |draws| draws.below(100), even).expect("half of them are there")
        };
        let found = draw(20_000);
        // The first ones do not depend on how many are wanted.
        assert_eq!(draw(500), found[..500], "seed {seed}");
        let counts: Vec<usize> = (0..50).map(|key| found.iter().filter(|number| **number == 2 * key).count()).collect();
        let chi_square: f64 = counts.iter().map(|count| (*count as f64 - 400.0).powi(2) / 400.0).sum();
        // Of 49 degrees of freedom: 1 of 10,000 seeds is above.
        assert!(chi_square < 94.0, "{chi_square}, seed {seed}");
        let mut draws = Stream::new(seed, "keys").draws(0);
        let none = |_: &[u64]| Ok(Vec::<u64>::new());
        assert!(drawn(&mut draws, 2, |draws| draws.below(9), none).is_err(), "none of them is there");
    }

    #[test]
    fn the_way_of_drawing_is_told() {
        let (table, key) = (String::new(), String::new());
        for (keys, expected) in [
            (Keys::Dense { first: -3, count: 10 }, "drawn between -3 and 6"),
            (
                Keys::Between { first: 1, numbers: 40, count: 10, table, key },
                "drawn between 1 and 40, of which 25 % are keys",
            ),
            (Keys::Listed { keys: vec![1, 900], count: 2 }, "drawn from 2, which were read"),
            (Keys::Listed { keys: vec![1, 900], count: 3 }, "drawn from the first 2 of 3, which were read"),
        ] {
            assert_eq!(keys.described(), expected);
        }
    }
}
