//! Rows into a Parquet file; the types of its columns are those of the values of the first rows.

use std::io::Write;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::file::properties::WriterProperties;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use model::{Result, Value, error};

/// Number of rows that are written at once; the types of columns are told from the first rows of this number.
const GROUP_ROWS: usize = 65_536;

/// The kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    Date,
    LocalDateTime,
    Text,
}

/// Writes rows whose values are null, scalars or strings; `render` turns anything else into a string before.
pub struct ParquetWriter<W: Write + Send> {
    names: Vec<String>,
    out: Option<W>,
    writer: Option<(ArrowWriter<W>, Arc<Schema>, Vec<Kind>)>,
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
        let (writer, ..) = self.writer.ok_or_else(|| error!(Internal, "a Parquet file was not begun"))?;
        writer.into_inner().map_err(|cause| failed(&cause))
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(out) = self.out.take() {
            let kinds: Vec<Kind> = self.held.iter().map(|column| kind_of(column)).collect();
            let field = |(name, kind): (&String, &Kind)| Field::new(name, kind.data_type(), true);
            let schema = Arc::new(Schema::new(self.names.iter().zip(&kinds).map(field).collect::<Vec<_>>()));
            let compression = Compression::ZSTD(ZstdLevel::default());
            let properties = WriterProperties::builder().set_compression(compression).build();
            let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties));
            self.writer = Some((writer.map_err(|cause| failed(&cause))?, schema, kinds));
        }
        let Some((writer, schema, kinds)) = &mut self.writer else { return Ok(()) };
        let mut arrays = Vec::with_capacity(kinds.len());
        for ((values, kind), name) in self.held.iter().zip(&*kinds).zip(&self.names) {
            arrays.push(kind.array(values).map_err(|found| misfit(name, *kind, found, self.rows))?);
        }
        self.held.iter_mut().for_each(Vec::clear);
        let batch = RecordBatch::try_new(schema.clone(), arrays);
        let batch = batch.map_err(|cause| error!(Internal, "the columns do not fit their schema: {cause}"))?;
        writer.write(&batch).map_err(|cause| failed(&cause))?;
        writer.flush().map_err(|cause| failed(&cause))
    }
}

fn failed(cause: &::parquet::errors::ParquetError) -> model::Error {
    error!(File, "{cause}")
}

fn misfit(name: &str, kind: Kind, found: &Value, rows: u64) -> model::Error {
    let found = found.type_name();
    error!(
        Type,
        "the column {name} holds {kind:?} in the first rows and {found} before row {rows}, Parquet needs one type"
    )
    .with_remedy("convert the column, as with toString or toFloat, or write CSV or JSON lines")
}

/// The type that holds all these values: strings if there is no other.
fn kind_of(values: &[Value]) -> Kind {
    let mut kinds = values.iter().filter(|value| !value.is_null()).map(kind_of_value);
    let Some(first) = kinds.next() else { return Kind::Text };
    kinds.fold(first, |known, kind| match (known, kind) {
        (known, kind) if known == kind => known,
        (Kind::Int | Kind::Float, Kind::Int | Kind::Float) => Kind::Float,
        _ => Kind::Text,
    })
}

fn kind_of_value(value: &Value) -> Kind {
    match value {
        Value::Bool(_) => Kind::Bool,
        Value::Int(_) => Kind::Int,
        Value::Float(_) => Kind::Float,
        Value::Date(date) if i32::try_from(date.0).is_ok() => Kind::Date,
        Value::LocalDateTime(_) => Kind::LocalDateTime,
        _ => Kind::Text,
    }
}

impl Kind {
    fn data_type(self) -> DataType {
        match self {
            Kind::Bool => DataType::Boolean,
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Date => DataType::Date32,
            Kind::LocalDateTime => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::Text => DataType::Utf8,
        }
    }

    /// The values as an array, or the first that does not fit.
    fn array(self, values: &[Value]) -> std::result::Result<ArrayRef, &Value> {
        Ok(match self {
            Kind::Bool => Arc::new(collect::<bool, BooleanArray>(values, |value| match value {
                Value::Bool(x) => Some(*x),
                _ => None,
            })?),
            Kind::Int => Arc::new(collect::<i64, Int64Array>(values, |value| match value {
                Value::Int(x) => Some(*x),
                _ => None,
            })?),
            Kind::Float => Arc::new(collect::<f64, Float64Array>(values, |value| match value {
                Value::Float(x) => Some(*x),
                Value::Int(x) => Some(*x as f64),
                _ => None,
            })?),
            Kind::Date => Arc::new(collect::<i32, Date32Array>(values, |value| match value {
                Value::Date(date) => i32::try_from(date.0).ok(),
                _ => None,
            })?),
            Kind::LocalDateTime => Arc::new(collect::<i64, TimestampMicrosecondArray>(values, |value| match value {
                Value::LocalDateTime(moment) => i64::try_from(moment.nanos().div_euclid(1_000)).ok(),
                _ => None,
            })?),
            Kind::Text => Arc::new(collect::<String, StringArray>(values, |value| {
                Some(match value {
                    Value::String(text) => text.to_string(),
                    other => other.to_string(),
                })
            })?),
        })
    }
}

/// Values that are null or that `take` takes.
fn collect<T, A: FromIterator<Option<T>>>(
    values: &[Value],
    take: impl Fn(&Value) -> Option<T>,
) -> std::result::Result<A, &Value> {
    let one = |value| if matches!(value, &Value::Null) { Ok(None) } else { take(value).map(Some).ok_or(value) };
    values.iter().map(one).collect()
}
