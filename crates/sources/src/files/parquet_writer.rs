//! Rows into a Parquet file; the types of its columns are those of the values of the first rows.

use std::io::Write;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::file::properties::WriterProperties;
use model::{Result, Value, error};

use super::arrow_rows::RowTypes;

/// Number of rows that are written at once; the types of columns are told from the first rows of this number.
const GROUP_ROWS: usize = 65_536;

/// Writes rows whose values are null, scalars or strings; `render` turns anything else into a string before.
pub struct ParquetWriter<W: Write + Send> {
    names: Vec<String>,
    out: Option<W>,
    writer: Option<(ArrowWriter<W>, RowTypes)>,
    held: Vec<Vec<Value>>,
    rows: u64,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// A file of columns with these names.
    pub fn new(out: W, names: Vec<String>) -> ParquetWriter<W> {
        let held = vec![Vec::new(); names.len()];
        ParquetWriter { names, out: Some(out), writer: None, held, rows: 0 }
    }

    /// Adds a row.
    pub fn push(&mut self, row: impl Iterator<Item = Value>) -> Result<()> {
        self.held.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        self.rows += 1;
        if self.rows.is_multiple_of(GROUP_ROWS as u64) { self.flush() } else { Ok(()) }
    }

    /// Writes what is held and the footer; gives back what was written to.
    pub fn finish(mut self) -> Result<W> {
        if self.writer.is_none() || self.held.iter().any(|column| !column.is_empty()) {
            self.flush()?;
        }
        let (writer, _) = self.writer.ok_or_else(|| error!(Internal, "a Parquet file was not begun"))?;
        writer.into_inner().map_err(|cause| failed(&cause))
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(out) = self.out.take() {
            let types = RowTypes::of(&self.names, &self.held, "Parquet");
            let compression = Compression::ZSTD(ZstdLevel::default());
            let properties = WriterProperties::builder().set_compression(compression).build();
            let writer = ArrowWriter::try_new(out, types.schema.clone(), Some(properties));
            self.writer = Some((writer.map_err(|cause| failed(&cause))?, types));
        }
        let Some((writer, types)) = &mut self.writer else { return Ok(()) };
        let count = self.held.first().map_or(0, Vec::len);
        let batch = types.batch(&self.held, count, self.rows)?;
        self.held.iter_mut().for_each(Vec::clear);
        writer.write(&batch).map_err(|cause| failed(&cause))?;
        writer.flush().map_err(|cause| failed(&cause))
    }
}

fn failed(cause: &::parquet::errors::ParquetError) -> model::Error {
    error!(File, "{cause}")
}
