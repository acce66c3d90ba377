//! Columns of numbers into a Parquet file, batch by batch, without a value of each row in between.

use std::io::Write;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use model::job::JobColumn;
use model::{Column, ColumnData, Result, error};

/// Rows of a row group: the memory that a writer holds is that of so many.
const GROUP_ROWS: usize = 1 << 19;

/// A Parquet file of columns of integers and floats without nulls.
pub struct ParquetColumns<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: Arc<Schema>,
}

impl<W: Write + Send> ParquetColumns<W> {
    /// A file of these columns.
    pub fn new(out: W, columns: &[JobColumn]) -> Result<ParquetColumns<W>> {
        let field = |column: &JobColumn| {
            let data_type = if column.is_float { DataType::Float64 } else { DataType::Int64 };
            Field::new(column.name, data_type, false)
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(|cause| failed(&cause))?;
        Ok(ParquetColumns { writer, schema })
    }

    /// Adds rows.
    pub fn append(&mut self, columns: &[Column]) -> Result<()> {
        let arrays: Vec<ArrayRef> = columns.iter().map(array).collect::<Result<_>>()?;
        let batch = RecordBatch::try_new(self.schema.clone(), arrays)
            .map_err(|cause| error!(Internal, "the columns do not fit their schema: {cause}"))?;
        self.writer.write(&batch).map_err(|cause| failed(&cause))
    }

    /// Writes the footer; gives back what was written to.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner().map_err(|cause| failed(&cause))
    }
}

fn array(column: &Column) -> Result<ArrayRef> {
    match &column.data {
        ColumnData::Int(numbers) => Ok(Arc::new(Int64Array::from(numbers.clone()))),
        ColumnData::Float(numbers) => Ok(Arc::new(Float64Array::from(numbers.clone()))),
        _ => Err(error!(Internal, "a column of a table for a job holds neither integers nor floats")),
    }
}

/// The error of a writer: `DISK_FULL` where there is no room.
fn failed(cause: &::parquet::errors::ParquetError) -> model::Error {
    let text = cause.to_string();
    if text.contains("No space left") || text.contains("os error 28") || text.contains("quota") {
        return error!(DiskFull, "{text}");
    }
    error!(File, "{text}")
}

#[cfg(test)]
mod tests {
    use model::job::JobColumn;
    use model::{Column, ColumnData, Value};

    use super::ParquetColumns;
    use crate::files::Table;
    use crate::files::parquet::ParquetTable;

    const COLUMNS: &[JobColumn] =
        &[JobColumn { name: "node", is_float: false }, JobColumn { name: "value", is_float: true }];

    #[test]
    fn what_is_written_is_read() {
        let directory = testing::folder::Folder::new();
        let path = directory.path().join("part.parquet");
        let mut writer = ParquetColumns::new(std::fs::File::create(&path).unwrap(), COLUMNS).unwrap();
        for start in [0, 3] {
            let numbers = Column::new(ColumnData::Int(vec![start, start + 1, start + 2]));
            let values = Column::new(ColumnData::Float(vec![start as f64 / 2.0, -1.0, f64::MAX]));
            writer.append(&[numbers, values]).unwrap();
        }
        writer.finish().unwrap();
        let table = ParquetTable::open(&path, &[]).unwrap();
        let mut rows = Vec::new();
        while let Some(chunk) = table.next_chunk().unwrap() {
            table
                .parse(chunk, &mut |batch| {
                    let [nodes, values] = &batch.columns[..] else { panic!("two columns") };
                    rows.extend(nodes.values().zip(values.values()));
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!((rows.len(), &rows[3]), (6, &(Value::Int(3), Value::Float(1.5))));
    }

    #[test]
    fn other_columns_are_refused() {
        let mut writer = ParquetColumns::new(Vec::new(), &COLUMNS[..1]).unwrap();
        assert!(writer.append(&[Column::nulls(2)]).is_err());
    }
}
