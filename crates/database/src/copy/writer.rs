//! Rows of a result into a file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Error, Result, Value, error};
use sources::files::Format;
use sources::files::parquet_writer::ParquetWriter;

use crate::rendering;
use crate::result::{Entities, ResultBatch};
use crate::session::ResultSink;

/// A file being written beside its place; it is taken away again unless it is finished.
pub(super) struct FileSink {
    place: PathBuf,
    beside: PathBuf,
    has_header: bool,
    delimiter: u8,
    form: Form,
    rows: u64,
    is_finished: bool,
}

enum Form {
    /// Not begun: what it will be.
    Closed(Format, Option<BufWriter<File>>),
    Csv(BufWriter<File>),
    Json(BufWriter<File>, Vec<Arc<str>>),
    Parquet(Box<ParquetWriter<BufWriter<File>>>),
    Done,
}

impl FileSink {
    pub(super) fn new(place: &Path, format: Format, delimiter: u8, has_header: bool) -> Result<FileSink> {
        let name = place.file_name().ok_or_else(|| error!(File, "{}: is no name of a file", place.display()))?;
        let beside = place.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
        let file = File::create(&beside).map_err(|cause| Error::of_file(place, &cause))?;
        let form = Form::Closed(format, Some(BufWriter::new(file)));
        let place = place.to_path_buf();
        Ok(FileSink { place, beside, has_header, delimiter, form, rows: 0, is_finished: false })
    }

    /// Puts the file in its place; the number of its rows.
    pub(super) fn finish(mut self) -> Result<u64> {
        if let Form::Closed(..) = self.form {
            self.columns(&[])?;
        }
        let out = match std::mem::replace(&mut self.form, Form::Done) {
            Form::Csv(out) | Form::Json(out, _) => out,
            Form::Parquet(writer) => {
                writer.finish().map_err(|failure| failure.within(&self.place.display().to_string()))?
            }
            Form::Closed(..) | Form::Done => return Err(error!(Internal, "a file was finished twice")),
        };
        let file = out.into_inner().map_err(|cause| Error::of_file(&self.place, cause.error()))?;
        file.sync_all().map_err(|cause| Error::of_file(&self.place, &cause))?;
        std::fs::rename(&self.beside, &self.place).map_err(|cause| Error::of_file(&self.place, &cause))?;
        self.is_finished = true;
        Ok(self.rows)
    }

    fn row(&mut self, row: &[Value], entities: &Entities) -> Result<()> {
        match &mut self.form {
            Form::Csv(out) => {
                let text = |value: &Value| (!value.is_null()).then(|| rendering::text(value, entities));
                let mut record = String::new();
                rendering::push_csv_record(&mut record, row.iter().map(text), self.delimiter, "");
                out.write_all(record.as_bytes()).map_err(|cause| Error::of_file(&self.place, &cause))
            }
            Form::Json(out, names) => {
                let fields = names.iter().zip(row);
                let object: serde_json::Map<_, _> =
                    fields.map(|(name, value)| (name.to_string(), rendering::to_json(value, entities))).collect();
                writeln!(out, "{}", serde_json::Value::Object(object))
                    .map_err(|cause| Error::of_file(&self.place, &cause))
            }
            Form::Parquet(writer) => writer.push(row.iter().map(|value| match value {
                Value::List(_) | Value::Map(_) | Value::Node(_) | Value::Edge(_) | Value::Path(_) => {
                    Value::string(&rendering::text(value, entities))
                }
                scalar => scalar.clone(),
            })),
            Form::Closed(..) | Form::Done => Err(error!(Internal, "rows came before their columns")),
        }
    }
}

impl ResultSink for FileSink {
    fn columns(&mut self, names: &[Arc<str>]) -> Result<()> {
        let Form::Closed(format, out) = &mut self.form else { return Ok(()) };
        let Some(mut out) = out.take() else { return Ok(()) };
        self.form = match format {
            Format::JsonLines => Form::Json(out, names.to_vec()),
            Format::Parquet => {
                let names = names.iter().map(ToString::to_string).collect();
                Form::Parquet(Box::new(ParquetWriter::new(out, names)))
            }
            _ => {
                if self.has_header && !names.is_empty() {
                    let mut record = String::new();
                    rendering::push_csv_record(&mut record, names.iter().map(Some), self.delimiter, "");
                    out.write_all(record.as_bytes()).map_err(|cause| Error::of_file(&self.place, &cause))?;
                }
                Form::Csv(out)
            }
        };
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> Result<bool> {
        for row in 0..batch.rows {
            let values: Vec<Value> = batch.columns.iter().map(|column| column.value(row)).collect();
            self.row(&values, &batch.entities)?;
        }
        self.rows += batch.rows as u64;
        Ok(true)
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        if !self.is_finished {
            // The cause of the failure was reported; the unfinished file is of no use.
            let _ = std::fs::remove_file(&self.beside);
        }
    }
}
