//! The names of types in Kùzu's `CREATE NODE TABLE` and `CREATE REL TABLE`.

use model::PropertyKind;

/// Kùzu's names of types, and what they hold here.
pub(crate) const TYPES: &[(&[&str], PropertyKind)] = &[
    (&["BOOL", "BOOLEAN"], PropertyKind::Boolean),
    (&["INT64", "INT32", "INT16", "INT8", "INT", "INTEGER", "UINT32", "UINT16", "UINT8"], PropertyKind::Integer),
    (&["DOUBLE", "FLOAT", "FLOAT64", "FLOAT32", "REAL"], PropertyKind::Float),
    (&["STRING", "VARCHAR"], PropertyKind::String),
    (&["DATE"], PropertyKind::Date),
    (&["TIMESTAMP"], PropertyKind::LocalDateTime),
    (&["TIMESTAMP_TZ"], PropertyKind::DateTime),
    (&["INTERVAL"], PropertyKind::Duration),
];

/// Kùzu's name of a type.
pub(crate) fn table_type_name(kind: PropertyKind) -> &'static str {
    TYPES.iter().find(|(_, held)| *held == kind).map_or(kind.name(), |(names, _)| names[0])
}
