//! The Arrow type that fits the values of a column: the narrowest that holds them all.
//!
//! Integers with floats are floats, if none of them is rounded; other mixtures are strings of JSON. Nodes, edges and
//! paths are structures, maps too.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};
use database::Value;
use model::{Column, ColumnData, PropertyKind, PropertyType};

/// The largest whole number up to which floats have all.
pub(crate) const EXACT_MAX: i64 = 1 << 53;

/// Precision that a moment needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Precision {
    Micros,
    Nanos,
}

impl Precision {
    fn of(nanos: i64) -> Precision {
        if nanos % 1_000 == 0 { Precision::Micros } else { Precision::Nanos }
    }

    fn unit(self) -> TimeUnit {
        match self {
            Precision::Micros => TimeUnit::Microsecond,
            Precision::Nanos => TimeUnit::Nanosecond,
        }
    }
}

/// Kind of the values of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool,
    /// Integers, and whether floats have them all.
    Int {
        is_exact: bool,
    },
    Float,
    String,
    Bytes,
    Date,
    LocalTime(Precision),
    LocalDateTime(Precision),
    /// Moments, with the zone that they all have, or UTC.
    DateTime(Precision, Arc<str>),
    /// Durations without months.
    Duration(Precision),
    /// Durations with months, days and nanoseconds apart.
    Interval,
    List(Box<Kind>),
    Struct(Vec<(Arc<str>, Kind)>),
    /// Strings of JSON.
    Mixed,
}

impl Kind {
    /// The kind of a column of which only the type is known.
    pub(crate) fn of_type(known: PropertyType) -> Kind {
        let one = |kind| match kind {
            PropertyKind::Boolean => Kind::Bool,
            PropertyKind::Integer => Kind::Int { is_exact: true },
            PropertyKind::Float => Kind::Float,
            PropertyKind::Date => Kind::Date,
            PropertyKind::LocalTime => Kind::LocalTime(Precision::Micros),
            PropertyKind::LocalDateTime => Kind::LocalDateTime(Precision::Micros),
            PropertyKind::DateTime => Kind::DateTime(Precision::Micros, Arc::from("UTC")),
            PropertyKind::Duration => Kind::Duration(Precision::Micros),
            // Of the others Arrow has no type that all libraries take.
            _ => Kind::String,
        };
        match known {
            PropertyType::One(kind) => one(kind),
            PropertyType::List(kind) => Kind::List(Box::new(one(kind))),
        }
    }

    /// The kind of one value, in which nodes, edges and paths are written out as maps.
    pub(crate) fn of_value(value: &Value) -> Kind {
        match value {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Int(x) => Kind::Int { is_exact: (-EXACT_MAX..=EXACT_MAX).contains(x) },
            Value::Float(_) => Kind::Float,
            Value::String(_) => Kind::String,
            Value::Bytes(_) => Kind::Bytes,
            Value::Date(_) => Kind::Date,
            Value::LocalTime(x) => Kind::LocalTime(Precision::of(x.0)),
            Value::LocalDateTime(x) => Kind::LocalDateTime(Precision::of(i64::from(x.nanosecond))),
            Value::DateTime(x) => {
                let zone = x.zone.name().map_or_else(|| offset_name(x.offset()), Arc::from);
                Kind::DateTime(Precision::of(i64::from(x.nanosecond)), zone)
            }
            Value::Duration(x) if x.months == 0 => Kind::Duration(Precision::of(i64::from(x.nanosecond))),
            Value::Duration(_) => Kind::Interval,
            Value::List(items) => {
                let kind = items.iter().fold(Kind::Null, |kind, item| kind.merge(Kind::of_value(item)));
                Kind::List(Box::new(kind))
            }
            Value::Map(map) => {
                Kind::Struct(map.iter().map(|(key, value)| (key.clone(), Kind::of_value(value))).collect())
            }
            Value::Node(_) | Value::Edge(_) | Value::Path(_) => Kind::Mixed,
            _ => Kind::String,
        }
    }

    /// The kind of a column that has a layout of its own; `None` if its values must be looked at one by one.
    pub(crate) fn of_column(column: &Column) -> Option<Kind> {
        let present = |row: &usize| !column.is_null(*row);
        Some(match &column.data {
            ColumnData::Null(_) => Kind::Null,
            ColumnData::Bool(_) => Kind::Bool,
            ColumnData::Int(rows) => {
                let is_exact = rows.iter().all(|x| (-EXACT_MAX..=EXACT_MAX).contains(x));
                Kind::Int { is_exact }
            }
            ColumnData::Float(_) => Kind::Float,
            ColumnData::String(_) => Kind::String,
            ColumnData::Date(_) => Kind::Date,
            ColumnData::LocalTime(rows) => {
                let nanos = (0..rows.len()).filter(present).map(|row| Precision::of(rows[row].0));
                Kind::LocalTime(nanos.max().unwrap_or(Precision::Micros))
            }
            ColumnData::LocalDateTime(rows) => {
                let nanos = (0..rows.len()).filter(present).map(|row| Precision::of(i64::from(rows[row].nanosecond)));
                Kind::LocalDateTime(nanos.max().unwrap_or(Precision::Micros))
            }
            _ => return None,
        })
    }

    /// The kind that holds the values of both.
    pub(crate) fn merge(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Null, kind) | (kind, Kind::Null) => kind,
            (Kind::Int { is_exact: a }, Kind::Int { is_exact: b }) => Kind::Int { is_exact: a && b },
            (Kind::Int { is_exact: true }, Kind::Float) | (Kind::Float, Kind::Int { is_exact: true }) => Kind::Float,
            (Kind::LocalTime(a), Kind::LocalTime(b)) => Kind::LocalTime(a.max(b)),
            (Kind::LocalDateTime(a), Kind::LocalDateTime(b)) => Kind::LocalDateTime(a.max(b)),
            (Kind::DateTime(a, zone), Kind::DateTime(b, other)) => {
                Kind::DateTime(a.max(b), if zone == other { zone } else { Arc::from("UTC") })
            }
            (Kind::Duration(a), Kind::Duration(b)) => Kind::Duration(a.max(b)),
            (Kind::Interval, Kind::Duration(_)) | (Kind::Duration(_), Kind::Interval) => Kind::Interval,
            (Kind::List(a), Kind::List(b)) => Kind::List(Box::new(a.merge(*b))),
            (Kind::Struct(a), Kind::Struct(b)) => Kind::Struct(merge_fields(a, b)),
            (a, b) if a == b => a,
            _ => Kind::Mixed,
        }
    }

    /// The type as Kuzu names it.
    pub(crate) fn kuzu_name(&self) -> String {
        match self {
            Kind::Null | Kind::Mixed => "ANY".to_owned(),
            Kind::Bool => "BOOL".to_owned(),
            Kind::Int { .. } => "INT64".to_owned(),
            Kind::Float => "DOUBLE".to_owned(),
            Kind::String => "STRING".to_owned(),
            Kind::Bytes => "BLOB".to_owned(),
            Kind::Date => "DATE".to_owned(),
            Kind::LocalTime(_) => "TIME".to_owned(),
            Kind::LocalDateTime(_) => "TIMESTAMP".to_owned(),
            Kind::DateTime(..) => "TIMESTAMP_TZ".to_owned(),
            Kind::Duration(_) | Kind::Interval => "INTERVAL".to_owned(),
            Kind::List(items) => format!("{}[]", items.kuzu_name()),
            Kind::Struct(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, kind)| format!("{name} {}", kind.kuzu_name())).collect();
                format!("STRUCT({})", fields.join(", "))
            }
        }
    }

    /// The same with strings for durations that have months, for libraries that have no type for them.
    pub(crate) fn with_texts_for_months(self) -> Kind {
        match self {
            Kind::Interval => Kind::String,
            Kind::List(items) => Kind::List(Box::new(items.with_texts_for_months())),
            Kind::Struct(fields) => {
                Kind::Struct(fields.into_iter().map(|(name, kind)| (name, kind.with_texts_for_months())).collect())
            }
            other => other,
        }
    }

    /// The type.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Kind::Null => DataType::Null,
            Kind::Bool => DataType::Boolean,
            Kind::Int { .. } => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::String | Kind::Mixed => DataType::LargeUtf8,
            Kind::Bytes => DataType::LargeBinary,
            Kind::Date => DataType::Date32,
            Kind::LocalTime(precision) => DataType::Time64(precision.unit()),
            Kind::LocalDateTime(precision) => DataType::Timestamp(precision.unit(), None),
            Kind::DateTime(precision, zone) => DataType::Timestamp(precision.unit(), Some(zone.clone())),
            Kind::Duration(precision) => DataType::Duration(precision.unit()),
            Kind::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            Kind::List(items) => DataType::LargeList(Arc::new(Field::new("item", items.data_type(), true))),
            Kind::Struct(fields) => DataType::Struct(struct_fields(fields)),
        }
    }
}

/// Offsets as Arrow names them.
fn offset_name(seconds: i32) -> Arc<str> {
    if seconds == 0 || seconds % 60 != 0 {
        return Arc::from("UTC");
    }
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
    Arc::from(format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60))
}

pub(crate) fn struct_fields(fields: &[(Arc<str>, Kind)]) -> Fields {
    fields.iter().map(|(name, kind)| Field::new(&**name, kind.data_type(), true)).collect()
}

fn merge_fields(mut left: Vec<(Arc<str>, Kind)>, right: Vec<(Arc<str>, Kind)>) -> Vec<(Arc<str>, Kind)> {
    for (name, kind) in right {
        match left.iter_mut().find(|(other, _)| *other == name) {
            Some((_, held)) => *held = std::mem::replace(held, Kind::Null).merge(kind),
            None => left.push((name, kind)),
        }
    }
    left
}
