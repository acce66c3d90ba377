//! Rows of one question as bytes, one after the other, which caches keep and from which nodes, edges and entries are decoded.
//!
//! Cost: 8 bytes an integer, 4 and its length for bytes, a byte more for each cell.

use std::sync::Arc;

use model::{Error, Result, error};

use crate::tables::{Field, FieldKind, Row, Shape, Table};

/// Columns of a row at most.
const COLUMNS_MAX: usize = 12;

/// Rows of a table, in the order of their clustering keys.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    table: Table,
    bytes: Arc<[u8]>,
}

/// A field of a packed row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part<'a> {
    Absent,
    Int(u64),
    Bytes(&'a [u8]),
}

/// One of the rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedRow<'a> {
    /// Columns of the clustering key, then cells.
    parts: [Part<'a>; COLUMNS_MAX],
    keys: usize,
}

/// The error of a row that no graph has.
pub(crate) fn damage(problem: &str) -> Error {
    error!(Corrupt, "a row of the wide-column store: {problem}")
}

fn put(field: &Field, kind: FieldKind, out: &mut Vec<u8>) -> Result<()> {
    match (field, kind) {
        (Field::Int(number), FieldKind::Int) => out.extend_from_slice(&number.to_le_bytes()),
        (Field::Bytes(bytes), FieldKind::Bytes) => {
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        _ => return Err(damage("a column has another kind than its table says")),
    }
    Ok(())
}

impl Packed {
    /// Packs rows.
    pub(crate) fn new<'r>(table: Table, rows: impl IntoIterator<Item = &'r Row>) -> Result<Packed> {
        let Shape { clustering, cells, .. } = table.shape();
        let mut bytes = Vec::new();
        for row in rows {
            if row.clustering.len() != clustering.len() || row.cells.len() != cells.len() {
                return Err(damage("it has other columns than its table"));
            }
            for (field, (_, kind)) in row.clustering.iter().zip(*clustering) {
                put(field, *kind, &mut bytes)?;
            }
            for (cell, (_, kind)) in row.cells.iter().zip(*cells) {
                bytes.push(u8::from(cell.is_some()));
                if let Some(field) = cell {
                    put(field, *kind, &mut bytes)?;
                }
            }
        }
        Ok(Packed { table, bytes: Arc::from(bytes) })
    }

    /// Number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The rows.
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows { shape: self.table.shape(), left: &self.bytes }
    }
}

/// An iterator over packed rows.
pub(crate) struct Rows<'a> {
    shape: &'static Shape,
    left: &'a [u8],
}

impl<'a> Rows<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, left) = self.left.split_at(count);
        self.left = left;
        taken
    }

    fn part(&mut self, kind: FieldKind) -> Part<'a> {
        match kind {
            FieldKind::Int => {
                let bytes = self.take(8).try_into().expect("eight bytes were taken");
                Part::Int(u64::from_le_bytes(bytes))
            }
            FieldKind::Bytes => {
                let length = u32::from_le_bytes(self.take(4).try_into().expect("four bytes were taken"));
                Part::Bytes(self.take(length as usize))
            }
        }
    }
}

impl<'a> Iterator for Rows<'a> {
    type Item = PackedRow<'a>;

    fn next(&mut self) -> Option<PackedRow<'a>> {
        if self.left.is_empty() {
            return None;
        }
        let Shape { clustering, cells, .. } = self.shape;
        let mut row = PackedRow { parts: [Part::Absent; COLUMNS_MAX], keys: clustering.len() };
        for (at, (_, kind)) in clustering.iter().enumerate() {
            row.parts[at] = self.part(*kind);
        }
        for (at, (_, kind)) in cells.iter().enumerate() {
            if self.take(1) == [1] {
                row.parts[row.keys + at] = self.part(*kind);
            }
        }
        Some(row)
    }
}

impl<'a> PackedRow<'a> {
    /// An integer of the clustering key.
    pub(crate) fn key(&self, at: usize) -> Result<u64> {
        int(self.parts[at])
    }

    /// Bytes of the clustering key.
    pub(crate) fn key_bytes(&self, at: usize) -> Result<&'a [u8]> {
        blob(self.parts[at])
    }

    /// An integer of a cell; `None` where there is none.
    pub(crate) fn cell(&self, at: usize) -> Result<Option<u64>> {
        match self.parts[self.keys + at] {
            Part::Absent => Ok(None),
            part => int(part).map(Some),
        }
    }

    /// An integer of a cell that must be there.
    pub(crate) fn full_cell(&self, at: usize) -> Result<u64> {
        int(self.parts[self.keys + at])
    }

    /// Bytes of a cell that must be there.
    pub(crate) fn cell_bytes(&self, at: usize) -> Result<&'a [u8]> {
        blob(self.parts[self.keys + at])
    }

    /// True if the first `keys` clustering keys of both are equal.
    pub(crate) fn begins_as(&self, other: &PackedRow<'_>, keys: usize) -> bool {
        self.parts[..keys] == other.parts[..keys]
    }
}

fn int(part: Part<'_>) -> Result<u64> {
    match part {
        Part::Int(number) => Ok(number),
        _ => Err(damage("an integer was expected")),
    }
}

fn blob(part: Part<'_>) -> Result<&[u8]> {
    match part {
        Part::Bytes(bytes) => Ok(bytes),
        _ => Err(damage("bytes were expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS_MAX, Packed};
    use crate::tables::{Field, Row, Table};

    #[test]
    fn rows_read_back() {
        let row = |id: i64, died: Option<i64>, labels: &[u8]| Row {
            clustering: vec![Field::Int(id), Field::Int(7)],
            cells: vec![died.map(Field::Int), Some(Field::Bytes(labels.into())), Some(Field::Bytes([].into()))],
        };
        let rows = [row(5, None, &[1, 2]), row(-1, Some(9), &[])];
        let packed = Packed::new(Table::Node, &rows).unwrap();
        let read: Vec<_> = packed.rows().collect();
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].key(0).unwrap(), read[0].cell(0).unwrap()), (5, None));
        assert_eq!(read[0].cell_bytes(1).unwrap(), [1, 2]);
        assert_eq!((read[1].key(0).unwrap() as i64, read[1].cell(0).unwrap()), (-1, Some(9)));
        assert!(read[0].key_bytes(0).is_err() && read[0].full_cell(0).is_err() && read[0].cell_bytes(0).is_err());
        assert!(read[0].begins_as(&read[0], 2) && !read[0].begins_as(&read[1], 1));
        assert_eq!(Packed::new(Table::Node, &[]).unwrap().rows().count(), 0);
    }

    #[test]
    fn rows_of_other_kinds_are_damage() {
        let wrong = Row { clustering: vec![Field::Int(1), Field::Bytes([].into())], cells: vec![None; 3] };
        assert!(Packed::new(Table::Node, &[wrong]).is_err());
        let short = Row { clustering: vec![Field::Int(1)], cells: vec![None; 3] };
        assert!(Packed::new(Table::Node, &[short]).is_err());
        let columns = Table::ALL.map(|table| table.shape().clustering.len() + table.shape().cells.len());
        assert!(columns.into_iter().all(|columns| columns <= COLUMNS_MAX));
    }
}
