//! The units of the cache that a record of the log touches: those of all rows that it writes.

use std::sync::Arc;

use model::{Result, Set};

use super::unit::{BLOCK_BITS, Unit};
use crate::packed::damage;
use crate::tables::{Change, Field, RowWrite, Table};

/// Rows beyond which a record is taken to touch everything.
const ROWS_MAX: usize = 50_000;

/// The units that a record touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// Anything, as far as is known.
    All,
    /// Units of these rows.
    Units(Arc<[Touch]>),
}

/// The units that a row touches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Touch {
    /// A unit, and no other.
    Unit(Unit),
    /// The edges of a node in a direction that have a type, in all units.
    Neighbors { is_reversed: bool, node: u64, edge_type: u32 },
    /// All units with an entry of a partition of an index.
    Entry { index: u32, shard: u64, entry: Arc<[u8]> },
}

impl Touch {
    /// The hash that the units which it touches share.
    pub(crate) fn home(&self) -> u64 {
        match self {
            Touch::Unit(unit) => unit.home(),
            Touch::Neighbors { is_reversed, node, .. } => {
                Unit::Neighbors { is_reversed: *is_reversed, node: *node, edge_type: None }.home()
            }
            Touch::Entry { index, shard, .. } => Unit::EntryRange { index: *index, shard: *shard, place: 0 }.home(),
        }
    }
}

fn int(fields: &[Field], at: usize) -> Result<u64> {
    match fields.get(at) {
        Some(Field::Int(number)) => Ok(*number as u64),
        _ => Err(damage("an integer was expected in a row of a record")),
    }
}

impl Touched {
    /// The units of rows that are written. Deletions touch everything: nothing deletes rows of a graph.
    pub(crate) fn by(rows: &[RowWrite]) -> Touched {
        if rows.len() > ROWS_MAX || rows.iter().any(|row| !matches!(row.change, Change::Put(_))) {
            return Touched::All;
        }
        let touches: Result<Set<Touch>> = rows.iter().map(touch).collect();
        touches.map_or(Touched::All, |touches| Touched::Units(touches.into_iter().collect()))
    }
}

fn touch(row: &RowWrite) -> Result<Touch> {
    let (partition, key) = (&row.partition[..], &row.clustering[..]);
    Ok(match row.table {
        Table::Node => Touch::Unit(Unit::Node(int(key, 0)?)),
        Table::Edge => Touch::Unit(Unit::Edge(int(key, 0)?)),
        Table::EdgeOut | Table::EdgeIn => Touch::Neighbors {
            is_reversed: row.table == Table::EdgeIn,
            node: int(key, 0)?,
            edge_type: int(key, 1)? as u32,
        },
        Table::ByLabel => {
            Touch::Unit(Unit::Labelled { label: int(partition, 1)? as u32, block: int(key, 0)? >> BLOCK_BITS })
        }
        Table::ByValue => {
            let Some(Field::Bytes(entry)) = key.first() else { return Err(damage("an entry is bytes")) };
            Touch::Entry { index: int(partition, 1)? as u32, shard: int(partition, 2)?, entry: entry.clone() }
        }
        Table::Log | Table::LogBody | Table::Applied | Table::Checkpoint | Table::Bodies => {
            return Err(damage("a transaction does not write the log"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Touch, Touched};
    use crate::cache::unit::Unit;
    use crate::tables::{Change, Field, RowWrite, Table};

    fn row(table: Table, partition: &[i64], clustering: Vec<Field>) -> RowWrite {
        let partition = partition.iter().map(|&number| Field::Int(number)).collect();
        RowWrite { table, partition, clustering, timestamp: 1, change: Change::Put(Vec::new()) }
    }

    #[test]
    fn rows_touch_their_units_once() {
        let ints = |numbers: &[i64]| numbers.iter().map(|&number| Field::Int(number)).collect::<Vec<_>>();
        let mut edge = ints(&[9, 2]);
        edge.push(Field::Bytes([].into()));
        let node = row(Table::Node, &[1, 0], ints(&[9, 5]));
        let rows = [
            node.clone(),
            node.clone(),
            row(Table::EdgeIn, &[1, 0], edge),
            row(Table::ByLabel, &[1, 3, 1], ints(&[70_000, 5])),
            row(Table::ByValue, &[1, 4, 6], vec![Field::Bytes([1].into())]),
        ];
        let Touched::Units(touches) = Touched::by(&rows) else { panic!("few rows touch few units") };
        assert_eq!(touches.len(), 4);
        for expected in [
            Touch::Unit(Unit::Node(9)),
            Touch::Neighbors { is_reversed: true, node: 9, edge_type: 2 },
            Touch::Unit(Unit::Labelled { label: 3, block: 8 }),
            Touch::Entry { index: 4, shard: 6, entry: [1].into() },
        ] {
            assert!(touches.contains(&expected), "{expected:?}");
        }
        let deleted = RowWrite { change: Change::Delete, ..node };
        assert_eq!(Touched::by(&[deleted]), Touched::All);
        assert_eq!(Touched::by(&[row(Table::Node, &[1, 0], Vec::new())]), Touched::All, "an unknown row");
    }
}
