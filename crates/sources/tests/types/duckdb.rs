//! The types of DuckDB.

use crate::types::{Key, Type, Write};

const fn exact(
    declared: &'static str,
    read: &'static str,
    values: &'static [(&'static str, Option<&'static str>)],
) -> Type {
    Type { declared, read, key: Key::Exact, write: Write::Exact, values }
}

pub(crate) const TYPES: &[Type] = &[
    exact("BOOLEAN", "BOOLEAN, exact", &[("true", Some("true")), ("false", Some("false"))]),
    exact("TINYINT", "INTEGER, exact", &[("-128", Some("-128")), ("127", Some("127"))]),
    exact("INTEGER", "INTEGER, exact", &[("-2147483648", Some("-2147483648")), ("2147483647", Some("2147483647"))]),
    exact(
        "BIGINT",
        "INTEGER, exact",
        &[("-9223372036854775808", Some("-9223372036854775808")), ("9007199254740993", Some("9007199254740993"))],
    ),
    exact("UINTEGER", "INTEGER, exact", &[("0", Some("0")), ("4294967295", Some("4294967295"))]),
    Type {
        declared: "UBIGINT",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[("9223372036854775807", Some("9223372036854775807")), ("18446744073709551615", None)],
    },
    Type {
        declared: "HUGEINT",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[("-5", Some("-5")), ("9223372036854775808", None), ("9223372036854775809", None)],
    },
    exact(
        "DECIMAL(18,0)",
        "INTEGER, exact",
        &[("9007199254740992", Some("9007199254740992")), ("9007199254740993", Some("9007199254740993"))],
    ),
    exact(
        "DECIMAL(15,2)",
        "FLOAT, of which each stands for one number",
        &[("12.34", Some("12.34")), ("12.35", Some("12.35")), ("5", Some("5.0"))],
    ),
    Type {
        declared: "DECIMAL(38,2)",
        read: "FLOAT, rounded",
        key: Key::Exact,
        write: Write::AsRead,
        values: &[
            ("9007199254740992", Some("9007199254740992.0")),
            ("9007199254740993", Some("9007199254740992.0")),
            ("0.5", Some("0.5")),
        ],
    },
    exact("FLOAT", "FLOAT, exact", &[("0.5", Some("0.5")), ("0.1", Some("0.10000000149011612"))]),
    exact(
        "DOUBLE",
        "FLOAT, exact",
        &[("0.1", Some("0.1")), ("0.30000000000000004", Some("0.30000000000000004")), ("0.3", Some("0.3"))],
    ),
    exact(
        "VARCHAR",
        "STRING, exact",
        &[
            ("'a'", Some("'a'")),
            ("'A'", Some("'A'")),
            ("''", Some("''")),
            ("'ünï'", Some("'ünï'")),
            ("'a '", Some("'a '")),
        ],
    ),
    exact("mood", "STRING, exact", &[("'happy'", Some("'happy'")), ("'sad'", Some("'sad'"))]),
    exact(
        "UUID",
        "STRING, exact",
        &[
            ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", Some("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'")),
            ("'00000000-0000-0000-0000-000000000001'", Some("'00000000-0000-0000-0000-000000000001'")),
        ],
    ),
    exact("BLOB", "BYTES, exact", &[("'\\x00\\xff'::BLOB", Some("00ff")), ("'\\x00\\xfe'::BLOB", Some("00fe"))]),
    Type {
        declared: "DATE",
        read: "DATE, exact; an error if it is infinite",
        key: Key::Exact,
        write: Write::Exact,
        values: &[("'2024-02-29'", Some("2024-02-29")), ("'0001-01-01'", Some("0001-01-01"))],
    },
    exact(
        "TIME",
        "LOCAL TIME, exact",
        &[("'10:30:00'", Some("10:30")), ("'23:59:59.123456'", Some("23:59:59.123456"))],
    ),
    Type {
        declared: "TIMESTAMP",
        read: "LOCAL DATETIME, exact; an error if it is infinite",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'2013-02-09 05:00:00'", Some("2013-02-09T05:00")),
            ("'1600-01-01 00:00:00.000001'", Some("1600-01-01T00:00:00.000001")),
        ],
    },
    exact(
        "TIMESTAMP_NS",
        "LOCAL DATETIME, exact",
        &[
            ("'2013-02-09 05:00:00'", Some("2013-02-09T05:00")),
            ("'2013-02-09 05:00:00.000000001'", Some("2013-02-09T05:00:00.000000001")),
        ],
    ),
    exact(
        "TIMESTAMP WITH TIME ZONE",
        "DATETIME in UTC, exact",
        &[
            ("'2024-03-31 02:30:00+02'", Some("2024-03-31T00:30Z")),
            ("'1970-01-01 00:00:00+00'", Some("1970-01-01T00:00Z")),
        ],
    ),
    Type {
        declared: "INTERVAL",
        read: "DURATION, exact",
        key: Key::None,
        write: Write::Exact,
        values: &[("INTERVAL '1 year 2 days 3 seconds'", Some("P1Y2DT3S")), ("INTERVAL '-1 month'", Some("P-1M"))],
    },
];
