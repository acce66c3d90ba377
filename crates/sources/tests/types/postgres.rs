//! The types of PostgreSQL.

use crate::types::{Key, Type, Write};

pub(crate) const TYPES: &[Type] = &[
    Type {
        declared: "smallint",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("-32768", Some("-32768")),
            ("7", Some("7")),
            ("32767", Some("32767")),
        ],
    },
    Type {
        declared: "integer",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("-2147483648", Some("-2147483648")),
            ("7", Some("7")),
            ("2147483647", Some("2147483647")),
        ],
    },
    Type {
        declared: "bigint",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("9007199254740992", Some("9007199254740992")),
            ("9007199254740993", Some("9007199254740993")),
            ("9223372036854775807", Some("9223372036854775807")),
        ],
    },
    Type {
        declared: "oid",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("0", Some("0")),
            ("7", Some("7")),
            ("4000000000", Some("4000000000")),
        ],
    },
    Type {
        declared: "numeric(18,0)",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("9007199254740992", Some("9007199254740992")),
            ("9007199254740993", Some("9007199254740993")),
            ("999999999999999999", Some("999999999999999999")),
        ],
    },
    Type {
        declared: "numeric(15,2)",
        read: "FLOAT, of which each stands for one number",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("12.34", Some("12.34")),
            ("12.35", Some("12.35")),
            ("1234567890123.45", Some("1234567890123.45")),
        ],
    },
    Type {
        declared: "numeric(19,0)",
        read: "FLOAT, rounded",
        key: Key::Exact,
        write: Write::AsRead,
        values: &[
            ("9007199254740992", Some("9007199254740992.0")),
            ("9007199254740993", Some("9007199254740992.0")),
            ("5", Some("5.0")),
        ],
    },
    Type {
        declared: "numeric(20,2)",
        read: "FLOAT, rounded",
        key: Key::Exact,
        write: Write::AsRead,
        values: &[
            ("123456789012345678.91", Some("1.2345678901234568e17")),
            ("123456789012345678.92", Some("1.2345678901234568e17")),
            ("0.5", Some("0.5")),
        ],
    },
    Type {
        declared: "numeric",
        read: "FLOAT, rounded",
        key: Key::Exact,
        write: Write::AsRead,
        values: &[
            ("12345678901234567890.123456789", Some("1.2345678901234567e19")),
            ("12345678901234567890.123456788", Some("1.2345678901234567e19")),
            ("0.1", Some("0.1")),
        ],
    },
    Type {
        declared: "real",
        read: "FLOAT, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("0.5", Some("0.5")),
            ("0.25", Some("0.25")),
            ("-3", Some("-3.0")),
        ],
    },
    Type {
        declared: "double precision",
        read: "FLOAT, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("0.1", Some("0.1")),
            ("0.30000000000000004", Some("0.30000000000000004")),
            ("0.3", Some("0.3")),
        ],
    },
    Type {
        declared: "boolean",
        read: "BOOLEAN, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("false", Some("false")),
            ("true", Some("true")),
        ],
    },
    Type {
        declared: "text",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'a'", Some("'a'")),
            ("'A'", Some("'A'")),
            ("''", Some("''")),
            ("'ünï'", Some("'ünï'")),
        ],
    },
    Type {
        declared: "varchar(9)",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'a'", Some("'a'")),
            ("'A'", Some("'A'")),
            ("'a '", Some("'a '")),
        ],
    },
    Type {
        declared: "char(5)",
        read: "STRING without the blanks at its end",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'ab'", Some("'ab'")),
            ("'AB'", Some("'AB'")),
        ],
    },
    Type {
        declared: "name",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'a'", Some("'a'")),
            ("'A'", Some("'A'")),
        ],
    },
    Type {
        declared: "uuid",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", Some("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'")),
            ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'", Some("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'")),
        ],
    },
    Type {
        declared: "mood",
        read: "STRING, exact (an enumeration)",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'so so'", Some("'so so'")),
            ("'fine'", Some("'fine'")),
        ],
    },
    Type {
        declared: "citext",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'Abc'", Some("'Abc'")),
            ("'abd'", Some("'abd'")),
        ],
    },
    Type {
        declared: "inet",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'10.0.0.1/8'", Some("'10.0.0.1/8'")),
            ("'10.0.0.2/16'", Some("'10.0.0.2/16'")),
        ],
    },
    Type {
        declared: "bytea",
        read: "BYTES, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'\\x00ff'", Some("00ff")),
            ("'\\x00fe'", Some("00fe")),
        ],
    },
    Type {
        declared: "date",
        read: "DATE, exact; infinite ones are an error",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'2024-02-29'", Some("2024-02-29")),
            ("'0001-01-01'", Some("0001-01-01")),
        ],
    },
    Type {
        declared: "time",
        read: "LOCAL TIME, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'23:59:59.999999'", Some("23:59:59.999999")),
            ("'23:59:59.999998'", Some("23:59:59.999998")),
        ],
    },
    Type {
        declared: "timetz",
        read: "ZONED TIME, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'12:00:00+02'", Some("12:00+02:00")),
            ("'11:00:00+01'", Some("11:00+01:00")),
        ],
    },
    Type {
        declared: "timestamp",
        read: "LOCAL DATETIME, exact; infinite ones are an error",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'2024-02-29 01:02:03.000001'", Some("2024-02-29T01:02:03.000001")),
            ("'2024-02-29 01:02:03.000002'", Some("2024-02-29T01:02:03.000002")),
        ],
    },
    Type {
        declared: "timestamptz",
        read: "ZONED DATETIME in UTC, exact; infinite ones are an error",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'2024-01-01 00:00:00.000001+02'", Some("2023-12-31T22:00:00.000001Z")),
            ("'2024-01-01 00:00:00.000002+02'", Some("2023-12-31T22:00:00.000002Z")),
        ],
    },
    Type {
        declared: "interval",
        read: "DURATION, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'1 year 2 days -3.5 seconds'", Some("P1Y2DT-3.5S")),
            ("'1 mon'", Some("P1M")),
        ],
    },
    Type {
        declared: "jsonb",
        read: "maps, lists and values; numbers as floats where they are no integers",
        key: Key::None,
        write: Write::Refused,
        values: &[
            ("'{\"a\": [1, 2.5, null]}'", Some("{a: [1, 2.5, null]}")),
            ("'[true]'", Some("[true]")),
        ],
    },
    Type {
        declared: "integer[]",
        read: "LIST, exact",
        key: Key::None,
        write: Write::Exact,
        values: &[
            ("'{1,NULL,3}'", Some("[1, null, 3]")),
            ("'{}'", Some("[]")),
        ],
    },
    Type {
        declared: "text[]",
        read: "LIST, exact",
        key: Key::None,
        write: Write::Exact,
        values: &[
            ("'{a,\"\",NULL}'", Some("['a', '', null]")),
            ("'{A}'", Some("['A']")),
        ],
    },
];
