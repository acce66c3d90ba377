//! Apache Parquet: columns with their own types, read row group by row group.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use model::fixed::Uuid;
use model::temporal::{Date, DateTime, LocalDateTime, LocalTime, SECONDS_OF_DAY, Zone};
use model::{Bitmap, Column, ColumnBuilder, ColumnData, FixedKind, Result, StringColumn, Value, error};

use super::{BadRow, Chunk, FieldType, RowBatch, Table, TableColumn, open_file};

/// Rows of one batch.
const BATCH_ROWS: usize = 65_536;

/// Digits of a whole decimal number that an integer is sure to hold, and of any that a float tells from all others.
const INT_DIGITS: u8 = 18;
const FLOAT_DIGITS: u8 = 15;

/// A Parquet file as a table.
pub struct ParquetTable {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    columns: Vec<TableColumn>,
    /// Types that columns are cast to before they are read, where an option says so.
    casts: Vec<Option<DataType>>,
    next_group: AtomicUsize,
    length: u64,
}

impl ParquetTable {
    /// Opens a file and reads its footer. A column of a type that cannot be a property is an error; decimals that a
    /// float would round are strings or floats if `types` says so, and an error otherwise.
    pub fn open(path: &Path, types: &[(String, FieldType)]) -> Result<ParquetTable> {
        let file = open_file(path)?;
        let length = file.metadata().map_err(|cause| super::file_error(path, &cause))?.len();
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|cause| {
            error!(Import, "not a Parquet file: {cause}").with_remedy("check that the file is whole and of that format")
        })?;
        let (mut columns, mut casts) = (Vec::new(), Vec::new());
        for field in metadata.schema().fields() {
            let (name, kind) = (field.name(), field.data_type());
            let stated = types.iter().find(|(column, _)| column == name).map(|(_, stated)| stated);
            let cast = match (kind, stated) {
                (DataType::Decimal128(..) | DataType::Decimal256(..), Some(FieldType::String)) => Some(DataType::Utf8),
                (DataType::Decimal128(..) | DataType::Decimal256(..), Some(FieldType::Float)) => {
                    Some(DataType::Float64)
                }
                _ => None,
            };
            let read = cast.as_ref().unwrap_or(kind);
            if !is_readable(read) {
                let error = error!(Import, "column '{name}' has the type {kind}, which cannot be a property");
                return Err(match kind {
                    DataType::Decimal128(..) | DataType::Decimal256(..) => error.with_remedy(format!(
                        "a float would round it: pass --type {name}:string to keep every digit, or --type {name}:float"
                    )),
                    _ => error.with_remedy("leave the column out of the file, or write it as text, numbers or lists"),
                });
            }
            columns.push(TableColumn { name: name.clone(), field_type: type_of(read) });
            casts.push(cast);
        }
        let next_group = AtomicUsize::new(0);
        Ok(ParquetTable { path: path.to_path_buf(), metadata, columns, casts, next_group, length })
    }

    fn rows_before(&self, group: usize) -> u64 {
        let groups = self.metadata.metadata().row_groups();
        groups[..group].iter().map(|group| group.num_rows() as u64).sum()
    }
}

pub(crate) fn type_of(kind: &DataType) -> Option<FieldType> {
    Some(match kind {
        DataType::Boolean => FieldType::Bool,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => FieldType::Float,
        // Other decimals would be rounded.
        DataType::Decimal128(precision, 0) if *precision <= INT_DIGITS => FieldType::Int,
        DataType::Decimal128(precision, _) if *precision <= FLOAT_DIGITS => FieldType::Float,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => FieldType::String,
        DataType::Date32 | DataType::Date64 => FieldType::Fixed(FixedKind::Date),
        DataType::Timestamp(_, None) => FieldType::Fixed(FixedKind::LocalDateTime),
        DataType::Timestamp(_, Some(_)) => FieldType::Fixed(FixedKind::DateTime),
        DataType::Time32(_) | DataType::Time64(_) => FieldType::Fixed(FixedKind::LocalTime),
        // Nothing else has bytes of a fixed number here.
        DataType::FixedSizeBinary(16) => FieldType::Fixed(FixedKind::Uuid),
        kind if kind.is_integer() => FieldType::Int,
        _ => return None,
    })
}

pub(crate) fn is_readable(kind: &DataType) -> bool {
    match kind {
        DataType::List(element) | DataType::LargeList(element) => is_readable(element.data_type()),
        DataType::Dictionary(_, value) => is_readable(value),
        DataType::Null | DataType::Binary | DataType::LargeBinary => true,
        other => type_of(other).is_some(),
    }
}

impl Table for ParquetTable {
    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn next_chunk(&self) -> Result<Option<Chunk>> {
        let index = self.next_group.fetch_add(1, Ordering::Relaxed);
        if index >= self.metadata.metadata().num_row_groups() {
            return Ok(None);
        }
        Ok(Some(Chunk::RowGroup { index, first_row: self.rows_before(index) }))
    }

    fn parse(&self, chunk: Chunk, sink: &mut dyn FnMut(RowBatch) -> Result<()>) -> Result<()> {
        let Chunk::RowGroup { index, first_row } = chunk else {
            return Err(error!(Internal, "a Parquet file was given a chunk of another format"));
        };
        let damaged = |cause: &dyn std::fmt::Display| {
            let error = error!(Import, "row group {index}: {cause}");
            match error.message().contains("Disabled feature") {
                true => error.with_remedy("write the file with another compression: zstd, snappy, gzip, lz4 or none"),
                false => error.with_remedy("check that the file is whole"),
            }
        };
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(open_file(&self.path)?, self.metadata.clone())
            .with_row_groups(vec![index])
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(|cause| damaged(&cause))?;
        let mut line = first_row + 1;
        for records in reader {
            let records = records.map_err(|cause| damaged(&cause))?;
            let batch = to_rows(&records, line, &self.columns, &self.casts)?;
            line += records.num_rows() as u64;
            sink(batch)?;
        }
        Ok(())
    }

    fn progress(&self) -> (u64, u64) {
        let groups = self.metadata.metadata().num_row_groups().max(1) as u64;
        let done = (self.next_group.load(Ordering::Relaxed) as u64).saturating_sub(1).min(groups);
        (self.length * done / groups, self.length)
    }
}

fn to_rows(
    records: &RecordBatch,
    first_line: u64,
    columns: &[TableColumn],
    casts: &[Option<DataType>],
) -> Result<RowBatch> {
    let mut batch =
        RowBatch { lines: (first_line..first_line + records.num_rows() as u64).collect(), ..RowBatch::default() };
    for ((array, column), to) in records.columns().iter().zip(columns).zip(casts) {
        let mut misfits = Vec::new();
        batch.columns.push(match to {
            Some(to) => cast(array, to, &mut misfits)?,
            None => to_column(array, &mut misfits)?,
        });
        let reason = match array.data_type() {
            kind if kind.is_integer() => "the number is larger than a 64-bit integer",
            kind if kind.is_temporal() => {
                "the moment is outside the years -999999999 to 999999999, or the time of day outside 00:00 to 24:00"
            }
            _ => "a list with a null, or with a number beyond 64 bits, cannot be a property",
        };
        batch.bad.extend(misfits.into_iter().map(|row| BadRow {
            line: first_line + row as u64,
            column: Some(column.name.clone()),
            reason: reason.into(),
            ..BadRow::default()
        }));
    }
    if !batch.bad.is_empty() {
        let bad: model::Set<u64> = batch.bad.iter().map(|row| row.line).collect();
        let kept: Vec<u32> =
            (0..batch.lines.len() as u32).filter(|&row| !bad.contains(&batch.lines[row as usize])).collect();
        batch.columns = batch.columns.iter().map(|column| column.gather(&kept)).collect();
        batch.lines.retain(|line| !bad.contains(line));
    }
    Ok(batch)
}

/// An Arrow array as a column; rows whose value does not fit are listed.
pub(crate) fn to_column(array: &ArrayRef, misfits: &mut Vec<usize>) -> Result<Column> {
    use arrow_array::types as t;
    let rows = array.len();
    let data = match array.data_type() {
        DataType::Null => return Ok(Column::nulls(rows)),
        DataType::Boolean => ColumnData::Bool((0..rows).map(|row| array.as_boolean().value(row)).collect()),
        DataType::Int64 => ColumnData::Int(array.as_primitive::<t::Int64Type>().values().to_vec()),
        DataType::Float64 => ColumnData::Float(array.as_primitive::<t::Float64Type>().values().to_vec()),
        DataType::UInt64 => {
            let numbers = array.as_primitive::<t::UInt64Type>();
            misfits
                .extend((0..rows).filter(|&row| numbers.is_valid(row) && i64::try_from(numbers.value(row)).is_err()));
            ColumnData::Int(numbers.values().iter().map(|&number| number as i64).collect())
        }
        kind if kind.is_integer() => return cast(array, &DataType::Int64, misfits),
        DataType::Float16 | DataType::Float32 => return cast(array, &DataType::Float64, misfits),
        kind @ DataType::Decimal128(..) => match type_of(kind) {
            Some(FieldType::Int) => return cast(array, &DataType::Int64, misfits),
            Some(FieldType::Float) => return cast(array, &DataType::Float64, misfits),
            _ => return Err(error!(Import, "the type {kind} cannot be a property: a float would round it")),
        },
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            ColumnData::String((0..rows).map(|row| texts.value(row)).collect::<StringColumn>())
        }
        DataType::LargeUtf8 | DataType::Utf8View => return cast(array, &DataType::Utf8, misfits),
        DataType::Dictionary(_, value) => return cast(array, value, misfits),
        DataType::Date32 => ColumnData::Date(
            array.as_primitive::<t::Date32Type>().values().iter().map(|&day| Date(i64::from(day))).collect(),
        ),
        DataType::Date64 => {
            let moments = array.as_primitive::<t::Date64Type>().values().iter();
            ColumnData::Date(moments.map(|&millis| Date(millis.div_euclid(1_000 * SECONDS_OF_DAY))).collect())
        }
        DataType::Timestamp(unit, zone) => timestamps(array, *unit, zone.as_deref())?,
        DataType::Time64(TimeUnit::Nanosecond) => {
            let times = array.as_primitive::<t::Time64NanosecondType>();
            ColumnData::LocalTime(times.values().iter().map(|&nanos| LocalTime(nanos)).collect())
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            return cast(array, &DataType::Time64(TimeUnit::Nanosecond), misfits);
        }
        DataType::FixedSizeBinary(16) => {
            let uuids = array.as_fixed_size_binary();
            ColumnData::Uuid((0..rows).map(|row| Uuid::from_slice(uuids.value(row)).unwrap_or_default()).collect())
        }
        _ => return nested(array, misfits),
    };
    let column = match array.nulls() {
        Some(nulls) => Column::with_validity(data, (0..rows).map(|row| nulls.is_valid(row)).collect::<Bitmap>()),
        None => Column::new(data),
    };
    if column.check_time().is_err() {
        misfits.extend((0..rows).filter(|&row| column.value(row).check_time().is_err()));
    }
    Ok(column)
}

/// A moment that no calendar has, for one whose seconds do not fit 64 bits either.
const BEYOND: LocalDateTime = LocalDateTime { seconds: i64::MAX, nanosecond: 0 };

/// Timestamps: of a zone, or local ones if they have none.
fn timestamps(array: &ArrayRef, unit: TimeUnit, zone: Option<&str>) -> Result<ColumnData> {
    let numbers = arrow_cast::cast(array, &DataType::Int64).map_err(|cause| error!(Import, "{cause}"))?;
    let numbers = numbers.as_primitive::<arrow_array::types::Int64Type>();
    let scale = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    let moment = |(row, &x): (usize, &i64)| match LocalDateTime::of_nanos(i128::from(x) * scale) {
        Some(moment) => moment,
        // Values below nulls need not be dates.
        None if array.is_null(row) => LocalDateTime::default(),
        None => BEYOND,
    };
    let moments = numbers.values().iter().enumerate().map(moment);
    let Some(name) = zone else { return Ok(ColumnData::LocalDateTime(moments.collect())) };
    let zone = Zone::parse(name).ok_or_else(|| error!(Import, "there is no time zone '{name}'"))?;
    let in_zone = |LocalDateTime { seconds, nanosecond }| DateTime { seconds, nanosecond, zone };
    Ok(ColumnData::DateTime(moments.map(in_zone).collect()))
}

fn cast(array: &ArrayRef, to: &DataType, misfits: &mut Vec<usize>) -> Result<Column> {
    let cast = arrow_cast::cast(array, to).map_err(|cause| error!(Import, "{cause}"))?;
    to_column(&cast, misfits)
}

/// Lists and bytes: a value for each row. Lists with nulls are misfits, since a property cannot hold them.
fn nested(array: &ArrayRef, misfits: &mut Vec<usize>) -> Result<Column> {
    let mut builder = ColumnBuilder::default();
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.push(&Value::Null);
            continue;
        }
        let value = match array.data_type() {
            DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).into()),
            DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(row).into()),
            DataType::List(_) => list(&array.as_list::<i32>().value(row), row, misfits)?,
            DataType::LargeList(_) => list(&array.as_list::<i64>().value(row), row, misfits)?,
            other => return Err(error!(Import, "the type {other} cannot be a property")),
        };
        if !value.is_storable() && misfits.last() != Some(&row) {
            misfits.push(row);
        }
        builder.push(&value);
    }
    Ok(builder.finish())
}

fn list(elements: &ArrayRef, row: usize, misfits: &mut Vec<usize>) -> Result<Value> {
    let mut within = Vec::new();
    let values = to_column(elements, &mut within)?.values().collect();
    misfits.extend((!within.is_empty()).then_some(row));
    Ok(Value::list(values))
}
