//! Fields as values of CQL, and rows of answers as rows of the tables.

use std::ops::Bound;
use std::sync::Arc;

use scylla::response::query_result::QueryResult;
use scylla::value::{CqlValue, Row as CqlRow};

use super::faults;
use crate::tables::{Appended, Change, Fault, Field, FieldKind, Row, RowWrite, Scan, Slice, Table};

fn value_of(field: &Field) -> CqlValue {
    match field {
        Field::Int(number) => CqlValue::BigInt(*number),
        Field::Bytes(bytes) => CqlValue::Blob(bytes.to_vec()),
    }
}

fn field_of(value: CqlValue, kind: FieldKind) -> Result<Field, Fault> {
    match (value, kind) {
        (CqlValue::BigInt(number), FieldKind::Int) => Ok(Field::Int(number)),
        (CqlValue::Blob(bytes), FieldKind::Bytes) => Ok(Field::Bytes(Arc::from(bytes))),
        (other, _) => Err(faults::unexpected(format!("a column of another type: {other:?}"))),
    }
}

/// The values of a write, in the order of its statement.
pub(super) fn of_write(row: &RowWrite) -> Vec<CqlValue> {
    let mut values = vec![CqlValue::BigInt(row.timestamp)];
    if let Change::Put(cells) = &row.change {
        values.extend(cells.iter().map(|(_, field)| value_of(field)));
    }
    values.extend(row.partition.iter().chain(&row.clustering).map(value_of));
    if row.clustering.is_empty() && row.table == Table::Log {
        // All rows: those whose first field is no less than the least.
        values.push(CqlValue::BigInt(i64::MIN));
    }
    values
}

/// The values of a slice, in the order of its statement.
pub(super) fn of_slice(slice: &Slice) -> Vec<CqlValue> {
    let mut values: Vec<CqlValue> = slice.partition.iter().chain(&slice.prefix).map(value_of).collect();
    for bound in [&slice.from, &slice.to] {
        if let Bound::Included(field) | Bound::Excluded(field) = bound {
            values.push(value_of(field));
        }
    }
    values
}

/// A row of a table.
pub(super) fn row_of(table: Table, row: CqlRow) -> Result<Row, Fault> {
    let shape = table.shape();
    let mut columns = row.columns.into_iter();
    let mut next = |kind| columns.next().flatten().map(|value| field_of(value, kind)).transpose();
    let mut clustering = Vec::with_capacity(shape.clustering.len());
    for (name, kind) in shape.clustering {
        clustering.push(next(*kind)?.ok_or_else(|| faults::unexpected(format!("no {name} in a key")))?);
    }
    let cells = shape.cells.iter().map(|(_, kind)| next(*kind)).collect::<Result<_, _>>()?;
    Ok(Row { clustering, cells })
}

/// A row of a scan; `None` if it belongs to another graph.
pub(super) fn scanned_row_of(scan: &Scan, row: CqlRow) -> Result<Option<Row>, Fault> {
    let shape = scan.table.shape();
    let mut columns = row.columns.into_iter();
    let graph = number(columns.next().flatten()).ok_or_else(|| faults::unexpected("no graph in a key"))?;
    if graph != scan.graph {
        return Ok(None);
    }
    let mut next = |kind| columns.next().flatten().map(|value| field_of(value, kind)).transpose();
    let mut clustering = Vec::with_capacity(shape.clustering.len());
    for (name, kind) in shape.clustering {
        clustering.push(next(*kind)?.ok_or_else(|| faults::unexpected(format!("no {name} in a key")))?);
    }
    let mut cells = vec![None; shape.cells.len()];
    for &at in &scan.cells {
        cells[at] = next(shape.cells[at].1)?;
    }
    Ok(Some(Row { clustering, cells }))
}

fn number(value: Option<CqlValue>) -> Option<i64> {
    if let Some(CqlValue::BigInt(number)) = value { Some(number) } else { None }
}

fn blob(value: Option<CqlValue>) -> Option<Arc<[u8]>> {
    if let Some(CqlValue::Blob(bytes)) = value { Some(Arc::from(bytes)) } else { None }
}

/// A row of the log; of an epoch without records, the seal alone.
pub(super) struct LogRow {
    pub(super) sequence: Option<i64>,
    pub(super) record: Option<Arc<[u8]>>,
    pub(super) is_sealed: bool,
}

/// A row of the log.
pub(super) fn log_row_of(row: CqlRow) -> Result<LogRow, Fault> {
    match <[Option<CqlValue>; 3]>::try_from(row.columns) {
        Ok([sequence, record, sealed]) => {
            Ok(LogRow { sequence: number(sequence), record: blob(record), is_sealed: sealed.is_some() })
        }
        Err(columns) => Err(faults::unexpected(format!("{} columns of a record", columns.len()))),
    }
}

/// The record of a row that has nothing else.
pub(super) fn record_at(row: CqlRow) -> Result<Option<Arc<[u8]>>, Fault> {
    Ok(row.columns.into_iter().next().and_then(blob))
}

/// The answer to an append.
pub(super) fn appended(answer: QueryResult) -> Result<Appended, Fault> {
    let rows = answer.into_rows_result().map_err(faults::unexpected)?;
    let place = |name: &str| rows.column_specs().get_by_name(name).map(|(at, _)| at);
    let places = ["[applied]", "record", "sealed"].map(place);
    let row = rows.single_row::<CqlRow>().map_err(faults::unexpected)?;
    let mut columns = row.columns;
    let [is_applied, record, sealed] = places.map(|at| at.and_then(|at| columns.get_mut(at)?.take()));
    match is_applied {
        Some(CqlValue::Boolean(true)) => Ok(Appended::Added),
        Some(CqlValue::Boolean(false)) => match (blob(record), sealed) {
            (Some(record), _) => Ok(Appended::Taken(record)),
            (None, Some(_)) => Ok(Appended::Sealed),
            (None, None) => Err(faults::unexpected("an append was refused, and nothing is there")),
        },
        other => Err(faults::unexpected(format!("an append was answered with {other:?}"))),
    }
}
