//! Rows as record batches of Arrow; the types of the columns are those of the values of the first rows.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, FixedSizeBinaryArray, Float64Array, Int64Array, RecordBatch,
    RecordBatchOptions, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use model::fixed::Uuid;
use model::{Fixed, Result, Value, error};

/// Bytes of a UUID.
const UUID_BYTES: i32 = 16;

/// The kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    Date,
    LocalDateTime,
    Uuid,
    Text,
}

/// The columns of record batches.
pub(super) struct RowTypes {
    /// Names and types.
    pub(super) schema: Arc<Schema>,
    kinds: Vec<Kind>,
    /// The form that the rows are to have, for messages.
    form: &'static str,
}

impl RowTypes {
    /// The types that hold these values, of one column each.
    pub(super) fn of(names: &[String], columns: &[Vec<Value>], form: &'static str) -> RowTypes {
        let kinds: Vec<Kind> = columns.iter().map(|column| kind_of(column)).collect();
        let field = |(name, kind): (&String, &Kind)| kind.field(name);
        let schema = Arc::new(Schema::new(names.iter().zip(&kinds).map(field).collect::<Vec<_>>()));
        RowTypes { schema, kinds, form }
    }

    /// The values of that many rows as a record batch; `rows` is the number of all rows so far.
    pub(super) fn batch(&self, columns: &[Vec<Value>], count: usize, rows: u64) -> Result<RecordBatch> {
        let mut arrays = Vec::with_capacity(self.kinds.len());
        for ((values, kind), field) in columns.iter().zip(&self.kinds).zip(self.schema.fields()) {
            let array = kind.array(values);
            arrays.push(array.map_err(|found| misfit(self.form, field.name(), *kind, found, rows))?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options);
        batch.map_err(|cause| error!(Internal, "the columns do not fit their schema: {cause}"))
    }
}

fn misfit(form: &str, name: &str, kind: Kind, found: &Value, rows: u64) -> model::Error {
    let found = found.type_name();
    error!(
        Type,
        "the column {name} holds {kind:?} in the first rows and {found} before row {rows}, {form} needs one type"
    )
    .with_remedy("convert the column, as with toString or toFloat, or take the rows as CSV or JSON")
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
        Value::Uuid(_) => Kind::Uuid,
        _ => Kind::Text,
    }
}

impl Kind {
    fn field(self, name: &str) -> Field {
        let field = Field::new(name, self.data_type(), true);
        if self == Kind::Uuid { field.with_extension_type(arrow_schema::extension::Uuid) } else { field }
    }

    fn data_type(self) -> DataType {
        match self {
            Kind::Bool => DataType::Boolean,
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Date => DataType::Date32,
            Kind::LocalDateTime => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::Uuid => DataType::FixedSizeBinary(UUID_BYTES),
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
            Kind::Uuid => {
                let uuids = collect::<Uuid, Vec<Option<Uuid>>>(values, Uuid::of)?;
                let bytes = uuids.into_iter().map(|uuid| uuid.map(Uuid::into_bytes));
                let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, UUID_BYTES);
                Arc::new(array.expect("every UUID has as many bytes"))
            }
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
