//! Facts that follow from the types of columns and from the expressions of indexes.

use crate::postgres::decode::{digits_of, is_read, kind_of, oid};
use crate::sql::catalog::PointIndex;
use crate::sql::{ColumnFacts, dialect, digits, quote};

/// The facts that follow from the type of a column.
pub(super) fn column_facts(oid: u32, modifier: i32, name: Option<(&str, &str)>, element: &str) -> ColumnFacts {
    let sql_type = match (sql_type(oid), name) {
        (Some(known), _) => known.to_owned(),
        (None, Some(("pg_catalog", _))) if !element.is_empty() => format!("{element}[]"),
        (None, Some((schema, name))) => {
            format!("{}.{}", quote::name(dialect::POSTGRES, schema), quote::name(dialect::POSTGRES, name))
        }
        (None, None) => String::new(),
    };
    let kind = if is_read(oid) { kind_of(oid, modifier) } else { Some(model::PropertyKind::String) };
    let is_decimal = oid == oid::NUMERIC && kind == Some(model::PropertyKind::Float);
    let is_rounded = is_decimal && digits::are_rounded(digits_of(modifier));
    // To the server blanks at the end of a string of fixed length count for nothing.
    let compares = !is_rounded
        && oid != oid::BPCHAR
        && !matches!(oid, oid::JSON | oid::JSONB | oid::INTERVAL | oid::TIMETZ | oid::BYTEA | oid::CHAR | oid::OID)
        && is_read(oid);
    ColumnFacts {
        sql_type,
        kind,
        compares,
        is_binary: false,
        is_cut: false,
        collation: String::new(),
        is_nullable: true,
        as_text: !is_read(oid),
        is_rounded,
        is_shown_otherwise: is_decimal,
        is_wide: false,
        holds_any: false,
        // To the server a month equals thirty days.
        is_loose: oid == oid::INTERVAL || name.is_some_and(|(_, name)| name == "citext"),
    }
}

/// The type that parameters compared with a column have. Numbers of four bytes are compared with those of eight: to the
/// server 0.1 as one is not 0.1 as the other, as it is not once read.
pub(super) fn sql_type(oid: u32) -> Option<&'static str> {
    Some(match oid {
        oid::BOOL => "bool",
        oid::BYTEA => "bytea",
        oid::NAME => "name",
        oid::INT8 => "int8",
        oid::INT2 => "int2",
        oid::INT4 => "int4",
        oid::TEXT => "text",
        oid::OID => "oid",
        oid::JSON => "json",
        oid::JSONB => "jsonb",
        oid::FLOAT4 | oid::FLOAT8 => "float8",
        oid::BPCHAR => "bpchar",
        oid::VARCHAR => "varchar",
        oid::DATE => "date",
        oid::TIME => "time",
        oid::TIMESTAMP => "timestamp",
        oid::TIMESTAMPTZ => "timestamptz",
        oid::INTERVAL => "interval",
        oid::TIMETZ => "timetz",
        oid::NUMERIC => "numeric",
        oid::UUID => "uuid",
        1005 => "int2[]",
        1007 => "int4[]",
        1009 => "text[]",
        1015 => "varchar[]",
        1016 => "int8[]",
        2951 => "uuid[]",
        _ => return None,
    })
}

/// The columns of a spatial index on `point(x, y)`.
pub(super) fn point_index(method: &str, expression: &str) -> Option<PointIndex> {
    let inner = expression.strip_prefix("point(")?.strip_suffix(')')?;
    if !matches!(method, "gist" | "spgist") {
        return None;
    }
    let (x, y) = inner.split_once(", ")?;
    let mut parts = [x, y].map(|part| {
        let (column, cast) = part.strip_suffix("::double precision").map_or((part, ""), |column| (column, "::float8"));
        let column = column.trim_start_matches('(').trim_end_matches(')');
        let name =
            column.strip_prefix('"').and_then(|name| name.strip_suffix('"')).map(|name| name.replace("\"\"", "\""));
        let is_plain = column.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (name.or(is_plain.then(|| column.to_owned())), cast)
    });
    let columns = [parts[0].0.take()?, parts[1].0.take()?];
    Some(PointIndex { expression: format!("point({{0}}{}, {{1}}{})", parts[0].1, parts[1].1), columns })
}
