//! The rows that a transaction writes, as bytes: fields that are the sequence number of its commit are left open, so that
//! whoever applies the record writes the same rows.

use std::path::Path;
use std::sync::Arc;

use model::codec::bytes::{Get, Put};
use model::{Error, Result, error};

use crate::tables::{Change, Field, RowWrite, Table};

const INT: u8 = 0;
const BYTES: u8 = 1;
const SEQUENCE: u8 = 2;

/// A field of a row to be written.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// A field that is known.
    Known(Field),
    /// The sequence number of the commit.
    Sequence,
}

/// Rows being gathered.
#[derive(Debug, Default)]
pub(crate) struct Body {
    bytes: Vec<u8>,
    rows: usize,
}

impl Body {
    /// Adds a row.
    pub(crate) fn put(&mut self, table: Table, partition: &[Field], clustering: &[Slot], cells: &[(usize, Slot)]) {
        self.rows += 1;
        self.bytes.put_u8(table.number());
        partition.iter().for_each(|field| put_field(field, &mut self.bytes));
        clustering.iter().for_each(|slot| put_slot(slot, &mut self.bytes));
        self.bytes.put_u8(cells.len() as u8);
        for (at, slot) in cells {
            self.bytes.put_u8(*at as u8);
            put_slot(slot, &mut self.bytes);
        }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// All rows.
    pub(crate) fn finish(self) -> Arc<[u8]> {
        Arc::from(self.bytes)
    }
}

fn put_slot(slot: &Slot, out: &mut Vec<u8>) {
    match slot {
        Slot::Known(field) => put_field(field, out),
        Slot::Sequence => out.put_u8(SEQUENCE),
    }
}

fn put_field(field: &Field, out: &mut Vec<u8>) {
    match field {
        Field::Int(number) => {
            out.put_u8(INT);
            out.put_u64(*number as u64);
        }
        Field::Bytes(bytes) => {
            out.put_u8(BYTES);
            out.put_u32(bytes.len() as u32);
            out.extend_from_slice(bytes);
        }
    }
}

fn field(get: &mut Get<'_>, sequence: i64) -> Result<Field> {
    Ok(match get.u8()? {
        INT => Field::Int(get.u64()? as i64),
        BYTES => Field::Bytes(Arc::from(get.bytes()?)),
        SEQUENCE => Field::Int(sequence),
        tag => return Err(get.damage(format!("no field has the tag {tag}"))),
    })
}

/// The rows of a body whose commit has that sequence number.
pub(crate) fn rows_of(bytes: &[u8], sequence: i64) -> Result<Vec<RowWrite>> {
    let mut get = Get::new(bytes, Path::new("body of a transaction"), 0);
    let mut rows = Vec::new();
    while get.left() > 0 {
        let number = get.u8()?;
        let Some(&table) = Table::ALL.get(usize::from(number)) else { return Err(no_table(number)) };
        let shape = table.shape();
        let partition = fields(&mut get, shape.partition.len(), sequence)?;
        let clustering = fields(&mut get, shape.clustering.len(), sequence)?;
        let cells = usize::from(get.u8()?);
        let cells: Result<_> = (0..cells)
            .map(|_| {
                let at = usize::from(get.u8()?);
                Ok((at, field(&mut get, sequence)?))
            })
            .collect();
        rows.push(RowWrite { table, partition, clustering, timestamp: sequence, change: Change::Put(cells?) });
    }
    Ok(rows)
}

fn fields(get: &mut Get<'_>, count: usize, sequence: i64) -> Result<Vec<Field>> {
    (0..count).map(|_| field(get, sequence)).collect()
}

fn no_table(number: u8) -> Error {
    error!(Corrupt, "body of a transaction: no table has the number {number}")
}

#[cfg(test)]
mod tests {
    use super::{Body, Slot, rows_of};
    use crate::tables::{Change, Field, RowWrite, Table};

    #[test]
    fn rows_read_back_with_the_number_of_their_commit() {
        let (one, text) = (Field::Int(-1), Field::Bytes([7, 0, 255].into()));
        let mut body = Body::default();
        let clustering = [Slot::Known(Field::Int(5)), Slot::Sequence];
        body.put(Table::Node, &[one.clone(), Field::Int(2)], &clustering, &[(2, Slot::Known(text.clone()))]);
        assert_eq!(body.rows(), 1);
        let bytes = body.finish();
        let expected = RowWrite {
            table: Table::Node,
            partition: vec![one, Field::Int(2)],
            clustering: vec![Field::Int(5), Field::Int(99)],
            timestamp: 99,
            change: Change::Put(vec![(2, text)]),
        };
        assert_eq!(rows_of(&bytes, 99).unwrap(), [expected]);
        assert!(rows_of(&bytes[..bytes.len() - 1], 99).is_err());
        assert!(rows_of(&[200], 99).is_err());
    }
}
