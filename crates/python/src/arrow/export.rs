//! Batches of a result as record batches. Integers, floats and strings are lent, not copied: the array holds the
//! column.
//!
//! The unsafe code lends the memory of columns to arrays that hold them.
#![allow(unsafe_code, reason = "arrays are made of memory that they do not own but keep alive")]

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::types::{Time64MicrosecondType, TimestampMicrosecondType};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, LargeStringArray, NullArray, PrimitiveArray,
    RecordBatch, RecordBatchOptions,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{Field, Schema, SchemaRef};
use database::result::Entities;
use database::{Error, ResultBatch, Value};
use model::{Bitmap, Column, ColumnData, PropertyType};

use super::kind::{Kind, Precision};
use super::values::{array, broken, plain};

/// The kinds of the columns of a result.
pub(crate) struct Layout {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) schema: SchemaRef,
}

impl Layout {
    /// The layout that holds all rows of these batches; a column without values has the type that is known of it. `listen` is
    /// called for each batch, and may end it.
    pub(crate) fn of<'a, E>(
        names: &[Arc<str>],
        types: &[Option<PropertyType>],
        batches: impl Iterator<Item = &'a ResultBatch>,
        listen: impl Fn() -> Result<(), E>,
    ) -> Result<Layout, E> {
        let mut kinds = vec![Kind::Null; names.len()];
        for batch in batches {
            listen()?;
            for (kind, column) in kinds.iter_mut().zip(&batch.columns) {
                let found = kind_of(column, &batch.entities);
                *kind = std::mem::replace(kind, Kind::Null).merge(found);
            }
        }
        for (kind, known) in kinds.iter_mut().zip(types) {
            if let (Kind::Null, Some(known)) = (&*kind, known) {
                *kind = Kind::of_type(*known);
            }
        }
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        Ok(Layout::with(&names, kinds))
    }

    fn with(names: &[&str], kinds: Vec<Kind>) -> Layout {
        let fields = names.iter().zip(&kinds).map(|(name, kind)| Field::new(*name, kind.data_type(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Layout { kinds, schema }
    }

    /// The same with strings for durations that have months.
    pub(crate) fn with_texts_for_months(self) -> Layout {
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let kinds = self.kinds.into_iter().map(Kind::with_texts_for_months).collect();
        Layout::with(&names, kinds)
    }

    /// A batch in this layout; fails if it has values that the layout does not hold.
    pub(crate) fn record_batch(&self, batch: &ResultBatch) -> Result<RecordBatch, Error> {
        let columns = self.kinds.iter().zip(&batch.columns);
        let columns = columns.map(|(kind, column)| array_of(kind, column, &batch.entities));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(broken)
    }
}

fn kind_of(column: &Column, entities: &Entities) -> Kind {
    if let Some(kind) = Kind::of_column(column) {
        return kind;
    }
    let mut kind = Kind::Null;
    for value in column.values() {
        kind = kind.merge(Kind::of_value(&plain(value, entities)));
    }
    kind
}

fn array_of(kind: &Kind, column: &Arc<Column>, entities: &Entities) -> Result<ArrayRef, Error> {
    let nulls = column.validity.as_ref().map(null_buffer);
    Ok(match (kind, &column.data) {
        (Kind::Null, ColumnData::Null(rows)) => Arc::new(NullArray::new(*rows)),
        (Kind::Bool, ColumnData::Bool(rows)) => {
            Arc::new(BooleanArray::new(BooleanBuffer::from(rows.as_slice()), nulls))
        }
        (Kind::Int { .. }, ColumnData::Int(rows)) => {
            Arc::new(Int64Array::new(ScalarBuffer::from(lent(rows, column)), nulls))
        }
        (Kind::Float, ColumnData::Float(rows)) => {
            Arc::new(Float64Array::new(ScalarBuffer::from(lent(rows, column)), nulls))
        }
        (Kind::String, ColumnData::String(rows)) => {
            let offsets = ScalarBuffer::<i64>::from(lent(rows.offsets(), column));
            let text = lent(rows.text().as_bytes(), column);
            // SAFETY: a column of texts has one offset more than rows; they ascend from 0 to the length of the text, which
            // is less than 2^63, on boundaries of characters.
            unsafe {
                let offsets = OffsetBuffer::new_unchecked(offsets);
                Arc::new(LargeStringArray::new_unchecked(offsets, text, nulls))
            }
        }
        (Kind::Date, ColumnData::Date(rows)) if rows.iter().all(|date| i32::try_from(date.0).is_ok()) => {
            let days: Vec<i32> = rows.iter().map(|date| date.0 as i32).collect();
            Arc::new(Date32Array::new(days.into(), nulls))
        }
        (Kind::LocalTime(Precision::Micros), ColumnData::LocalTime(rows)) => {
            let micros: Vec<i64> = rows.iter().map(|time| time.0 / 1_000).collect();
            Arc::new(PrimitiveArray::<Time64MicrosecondType>::new(micros.into(), nulls))
        }
        (Kind::LocalDateTime(Precision::Micros), ColumnData::LocalDateTime(rows))
            if rows.iter().all(|moment| moment.seconds.unsigned_abs() < 1 << 43) =>
        {
            let micros = |moment: &model::temporal::LocalDateTime| {
                moment.seconds * 1_000_000 + i64::from(moment.nanosecond) / 1_000
            };
            let micros: Vec<i64> = rows.iter().map(micros).collect();
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(micros.into(), nulls))
        }
        _ => {
            let values: Vec<Value> = column.values().map(|value| plain(value, entities)).collect();
            array(kind, &values)?
        }
    })
}

/// Rows of a column as a buffer that keeps the column.
fn lent<T>(rows: &[T], column: &Arc<Column>) -> Buffer
where
    T: Copy + Lendable,
{
    let start = NonNull::from(rows).cast::<u8>();
    // SAFETY: the memory belongs to the column, which the buffer holds, and nobody changes a column that is shared; its type
    // is plain numbers without padding.
    unsafe { Buffer::from_custom_allocation(start, std::mem::size_of_val(rows), Arc::new(column.clone())) }
}

/// Numbers that Arrow lays out as Rust does.
trait Lendable {}
impl Lendable for i64 {}
impl Lendable for u64 {}
impl Lendable for f64 {}
impl Lendable for u8 {}

fn null_buffer(bits: &Bitmap) -> NullBuffer {
    let bytes: Vec<u8> = bits.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bytes), 0, bits.len()))
}
