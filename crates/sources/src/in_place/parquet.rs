//! A Parquet file as rows: row groups that can not hold what is sought are passed over, only columns that are asked for
//! are read, and single rows are read with the block they lie in.

use std::ops::Bound;
use std::path::{Path, PathBuf};

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowFilter, RowSelection, RowSelector,
};
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::statistics::Statistics;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use model::{Column, Result, Value, error};

use crate::condition::rows_that_meet;
use crate::connector::{Condition, Test};
use crate::files::parquet::{is_readable, to_column, type_of};
use crate::files::{TableColumn, file_error, open_file};

/// Rows of a block, at most: what is read for one row of it.
const BLOCK_ROWS: usize = 65_536;
/// Rows that a scan gives at a time.
const SCAN_ROWS: usize = 16_384;

/// A Parquet file.
pub(super) struct ParquetFile {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    columns: Vec<TableColumn>,
    blocks: Vec<Block>,
    rows: u32,
}

/// A part of a row group.
struct Block {
    group: usize,
    /// Rows of the group before it.
    skip: usize,
    first_row: u32,
}

/// Rows that are read in order.
pub(super) struct ParquetScan {
    reader: Option<ParquetRecordBatchReader>,
    rows: u64,
    path: PathBuf,
    /// For each column asked for, its place in the batches.
    places: Vec<usize>,
}

impl ParquetFile {
    /// Reads the footer of a file.
    pub(super) fn open(path: &Path) -> Result<ParquetFile> {
        let place = path.display();
        let file = open_file(path)?;
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(|cause| error!(Source, "{place}: not a Parquet file: {cause}"))?;
        let columns = metadata.schema().fields().iter();
        let columns = columns
            .map(|field| TableColumn { name: field.name().clone(), field_type: type_of(field.data_type()) })
            .collect();
        let (mut blocks, mut first_row) = (Vec::new(), 0_u64);
        for (number, group) in metadata.metadata().row_groups().iter().enumerate() {
            let rows = group.num_rows().max(0) as u64;
            for skip in (0..rows).step_by(BLOCK_ROWS) {
                blocks.push(Block { group: number, skip: skip as usize, first_row: (first_row + skip) as u32 });
            }
            first_row += rows;
        }
        let rows = u32::try_from(first_row)
            .map_err(|_| error!(Limit, "{place}: a file that is read in place has more than {} rows", u32::MAX))?;
        Ok(ParquetFile { path: path.to_owned(), metadata, columns, blocks, rows })
    }

    pub(super) fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    /// Number of null values of a column, if the footer states it.
    pub(super) fn nulls(&self, column: usize) -> Option<u64> {
        let groups = self.metadata.metadata().row_groups().iter();
        let leaf = self.leaf(column)?;
        groups.map(|group| group.column(leaf).statistics().and_then(Statistics::null_count_opt)).sum()
    }

    /// The column of the file that a column of the table is, if it is a plain one.
    fn leaf(&self, column: usize) -> Option<usize> {
        let name = &self.columns[column].name;
        let leaves = self.metadata.metadata().file_metadata().schema_descr().columns();
        leaves.iter().position(|leaf| matches!(leaf.path().parts(), [only] if only == name))
    }

    fn builder(&self, columns: &[usize]) -> Result<(ParquetRecordBatchReaderBuilder<std::fs::File>, Vec<usize>)> {
        let schema = self.metadata.schema();
        for &column in columns {
            let kind = schema.field(column).data_type();
            if !is_readable(kind) {
                let name = &self.columns[column].name;
                let place = self.path.display();
                return Err(error!(
                    Definition,
                    "{place}: column '{name}' has the type {kind}, which cannot be a property"
                ));
            }
        }
        let mut sorted = columns.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let places = columns.iter().map(|column| sorted.binary_search(column).unwrap_or(0)).collect();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(open_file(&self.path)?, self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), sorted);
        Ok((builder.with_projection(mask), places))
    }

    fn failed(&self, cause: &dyn std::fmt::Display) -> model::Error {
        error!(Source, "{}: {cause}", self.path.display())
    }

    /// Begins to read these columns of all rows, or of those at least that meet conditions on columns, given by number. The
    /// numbers of rows are right only without conditions.
    pub(super) fn scan(&self, columns: &[usize], conditions: &[Condition]) -> Result<ParquetScan> {
        let (mut builder, places) = self.builder(columns)?;
        if !conditions.is_empty() {
            let groups = self.metadata.metadata().row_groups();
            let may_hold = |&group: &usize| conditions.iter().all(|condition| self.may_hold(&groups[group], condition));
            builder = builder.with_row_groups((0..groups.len()).filter(may_hold).collect());
            builder = builder.with_row_filter(self.row_filter(conditions));
        }
        let reader = builder.with_batch_size(SCAN_ROWS).build().map_err(|cause| self.failed(&cause))?;
        Ok(ParquetScan { reader: Some(reader), rows: 0, path: self.path.clone(), places })
    }

    /// Conditions that are looked at before the other columns are read.
    fn row_filter(&self, conditions: &[Condition]) -> RowFilter {
        let mut roots: Vec<usize> = Vec::new();
        conditions.iter().for_each(|condition| condition.for_each_property(&mut |&column| roots.push(column)));
        roots.sort_unstable();
        roots.dedup();
        let place = |column: usize| roots.binary_search(&column).unwrap_or(0);
        let placed = |condition: &Condition| condition.renamed(&mut |&column| place(column));
        let conditions: Vec<Condition> = conditions.iter().map(placed).collect();
        let mask = ProjectionMask::roots(self.metadata.metadata().file_metadata().schema_descr(), roots);
        let predicate = move |batch: RecordBatch| {
            let columns = columns_of(&batch).map_err(|cause| ArrowError::ComputeError(cause.message().to_owned()))?;
            let kept = rows_that_meet(&conditions, batch.num_rows(), |column| &columns[column]);
            let mut bits = vec![false; batch.num_rows()];
            kept.iter().for_each(|&row| bits[row as usize] = true);
            Ok(BooleanArray::from(bits))
        };
        RowFilter::new(vec![Box::new(ArrowPredicateFn::new(mask, predicate))])
    }

    /// True if a row group may hold rows that meet a condition, by its least and largest values.
    fn may_hold(&self, group: &RowGroupMetaData, condition: &Condition) -> bool {
        let (property, test) = match condition {
            Condition::Is { property, test } => (*property, test),
            Condition::Any(parts) => return parts.iter().any(|part| self.may_hold(group, part)),
            Condition::All(parts) => return parts.iter().all(|part| self.may_hold(group, part)),
        };
        let kind = self.metadata.schema().field(property).data_type();
        let Some(statistics) = self.leaf(property).and_then(|leaf| group.column(leaf).statistics()) else {
            return true;
        };
        if *test == Test::Absent {
            return statistics.null_count_opt() != Some(0);
        }
        if statistics.null_count_opt() == Some(group.num_rows().max(0) as u64) {
            return false;
        }
        let Some((least, largest)) = bounds(statistics, kind) else { return true };
        let below = |value: &Value| value.compare(&least).is_some_and(std::cmp::Ordering::is_lt);
        let above = |value: &Value| value.compare(&largest).is_some_and(std::cmp::Ordering::is_gt);
        match test {
            Test::Present
            | Test::Absent
            | Test::NoneOf(_)
            | Test::NotBetween(..)
            | Test::EndsWith(_)
            | Test::Contains(_)
            | Test::NoMatch(_) => true,
            Test::OneOf(values) => values.iter().any(|value| !below(value) && !above(value)),
            Test::Between(low, high) => {
                let too_high = matches!(low, Bound::Included(low) | Bound::Excluded(low) if above(low));
                let too_low = matches!(high, Bound::Included(high) | Bound::Excluded(high) if below(high));
                !too_high && !too_low
            }
            Test::StartsWith(start) => match (&least, &largest) {
                (Value::String(least), Value::String(largest)) => {
                    **largest >= **start && (**least <= **start || least.starts_with(start.as_str()))
                }
                _ => true,
            },
        }
    }

    /// The number of the block that has a row, with its first row and the row after its last.
    pub(super) fn block_of(&self, row: u32) -> (usize, u32, u32) {
        let number = self.blocks.partition_point(|block| block.first_row <= row) - 1;
        let end = self.blocks.get(number + 1).map_or(self.rows, |next| next.first_row);
        (number, self.blocks[number].first_row, end)
    }

    /// Columns of a block.
    pub(super) fn read_block(&self, number: usize, columns: &[usize]) -> Result<Vec<Column>> {
        let block = &self.blocks[number];
        let (_, first, end) = self.block_of(block.first_row);
        let rows = (end - first) as usize;
        let (builder, places) = self.builder(columns)?;
        let selection = RowSelection::from(vec![RowSelector::skip(block.skip), RowSelector::select(rows)]);
        let reader = builder.with_row_groups(vec![block.group]).with_row_selection(selection);
        let reader = reader.with_batch_size(rows.max(1)).build().map_err(|cause| self.failed(&cause))?;
        let mut scan = ParquetScan { reader: Some(reader), rows: 0, path: self.path.clone(), places };
        let mut all = None;
        while let Some((_, columns)) = scan.next()? {
            super::text::append(&mut all, columns);
        }
        match all {
            Some(columns) if columns.first().is_none_or(|column| column.len() == rows) => Ok(columns),
            _ => Err(self.failed(&format_args!("row group {} has fewer rows than its footer says", block.group))),
        }
    }

    /// Row groups, for callers that need their sizes.
    pub(super) fn group_count(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }
}

/// The least and the largest value, of kinds whose order is ours.
fn bounds(statistics: &Statistics, kind: &DataType) -> Option<(Value, Value)> {
    if statistics.is_min_max_deprecated() {
        return None;
    }
    match (statistics, kind) {
        (Statistics::Int32(numbers), DataType::Int8 | DataType::Int16 | DataType::Int32) => {
            Some((Value::Int(i64::from(*numbers.min_opt()?)), Value::Int(i64::from(*numbers.max_opt()?))))
        }
        (Statistics::Int64(numbers), DataType::Int64) => {
            Some((Value::Int(*numbers.min_opt()?), Value::Int(*numbers.max_opt()?)))
        }
        (Statistics::Double(numbers), DataType::Float64) => {
            Some((Value::Float(*numbers.min_opt()?), Value::Float(*numbers.max_opt()?)))
        }
        (Statistics::ByteArray(texts), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(Value::string);
            Some((text(texts.min_opt()?.data())?, text(texts.max_opt()?.data())?))
        }
        _ => None,
    }
}

/// The columns of a batch; a value that fits no property is an error.
fn columns_of(batch: &RecordBatch) -> Result<Vec<Column>> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (array, field) in batch.columns().iter().zip(batch.schema().fields()) {
        let mut misfits = Vec::new();
        columns.push(to_column(array, &mut misfits)?);
        if let Some(row) = misfits.first() {
            let name = field.name();
            return Err(error!(
                Definition,
                "column '{name}', row {} of a batch: the value cannot be a property",
                row + 1
            ));
        }
    }
    Ok(columns)
}

impl ParquetScan {
    /// Further rows, with the number of the first; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Vec<Column>)>> {
        let Some(batch) = self.reader.as_mut().and_then(Iterator::next) else { return Ok(None) };
        let place = self.path.display();
        let batch = batch.map_err(|cause| match cause {
            ArrowError::IoError(_, cause) => file_error(&self.path, &cause),
            cause => error!(Source, "{place}: {cause}"),
        })?;
        let first = self.rows as u32;
        self.rows += batch.num_rows() as u64;
        let columns = columns_of(&batch).map_err(|failure| failure.within(&place.to_string()))?;
        if self.places.is_empty() {
            return Ok(Some((first, vec![Column::nulls(batch.num_rows())])));
        }
        Ok(Some((first, self.places.iter().map(|&place| columns[place].clone()).collect())))
    }
}
