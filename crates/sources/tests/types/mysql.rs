//! The types of MySQL and MariaDB.

use crate::types::{Key, Type, Write};

pub(crate) const TYPES: &[Type] = &[
    Type {
        declared: "TINYINT(1)",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("0", Some("0")),
            ("1", Some("1")),
            ("-7", Some("-7")),
        ],
    },
    Type {
        declared: "INT",
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
        declared: "BIGINT",
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
        declared: "BIGINT UNSIGNED",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("9007199254740993", Some("9007199254740993")),
            ("5", Some("5")),
            ("18446744073709551614", None),
            ("18446744073709551615", None),
        ],
    },
    Type {
        declared: "DECIMAL(18,0)",
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
        declared: "DECIMAL(15,2)",
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
        declared: "DECIMAL(20,0)",
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
        declared: "DECIMAL(20,2)",
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
        declared: "FLOAT",
        read: "FLOAT, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("0.5", Some("0.5")),
            ("0.25", Some("0.25")),
        ],
    },
    Type {
        declared: "DOUBLE",
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
        declared: "BIT(10)",
        read: "BYTES, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("b'1010'", Some("000a")),
            ("b'1011'", Some("000b")),
        ],
    },
    Type {
        declared: "YEAR",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("2024", Some("2024")),
            ("1999", Some("1999")),
        ],
    },
    Type {
        declared: "CHAR(5)",
        read: "STRING without the blanks at its end",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'ab'", Some("'ab'")),
            ("'cd'", Some("'cd'")),
        ],
    },
    Type {
        declared: "VARCHAR(20)",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'Abc'", Some("'Abc'")),
            ("'abd'", Some("'abd'")),
            ("'é'", Some("'é'")),
        ],
    },
    Type {
        declared: "VARCHAR(20) COLLATE utf8mb4_bin",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'a'", Some("'a'")),
            ("'A'", Some("'A'")),
        ],
    },
    Type {
        declared: "VARBINARY(10)",
        read: "BYTES, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("x'00ff'", Some("00ff")),
            ("x'00fe'", Some("00fe")),
        ],
    },
    Type {
        declared: "TEXT",
        read: "STRING, exact",
        key: Key::None,
        write: Write::Exact,
        values: &[
            ("'a'", Some("'a'")),
            ("'A'", Some("'A'")),
            ("''", Some("''")),
        ],
    },
    Type {
        declared: "BLOB",
        read: "BYTES, exact",
        key: Key::None,
        write: Write::Exact,
        values: &[
            ("x'00ff'", Some("00ff")),
            ("x''", Some("")),
        ],
    },
    Type {
        declared: "ENUM('sad','ok')",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'sad'", Some("'sad'")),
            ("'ok'", Some("'ok'")),
        ],
    },
    Type {
        declared: "SET('a','b','c')",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'a,c'", Some("'a,c'")),
            ("'b'", Some("'b'")),
        ],
    },
    Type {
        declared: "UUID",
        read: "STRING, exact (MariaDB)",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", Some("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'")),
            ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'", Some("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'")),
        ],
    },
    Type {
        declared: "JSON",
        read: "STRING, exact",
        key: Key::None,
        write: Write::Exact,
        values: &[
            ("'{\"a\": 1}'", Some("'{\"a\": 1}'")),
            ("'[]'", Some("'[]'")),
        ],
    },
    Type {
        declared: "DATE",
        read: "DATE, exact; the day that is none is a text",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'2024-02-29'", Some("2024-02-29")),
            ("'1000-01-01'", Some("1000-01-01")),
        ],
    },
    Type {
        declared: "DATETIME(6)",
        read: "LOCAL DATETIME, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'2024-02-29 01:02:03.000001'", Some("2024-02-29T01:02:03.000001")),
            ("'2024-02-29 01:02:03.000002'", Some("2024-02-29T01:02:03.000002")),
        ],
    },
    Type {
        declared: "TIMESTAMP(6)",
        read: "ZONED DATETIME in UTC, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'2024-02-29 01:02:03.000001'", Some("2024-02-29T01:02:03.000001Z")),
            ("'2024-02-29 01:02:03.000002'", Some("2024-02-29T01:02:03.000002Z")),
        ],
    },
    Type {
        declared: "TIME(6)",
        read: "LOCAL TIME, exact; DURATION where it is no time of day",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'23:59:59.000001'", Some("23:59:59.000001")),
            ("'-838:59:59'", Some("PT-838H-59M-59S")),
            ("'00:00:01'", Some("00:00:01")),
        ],
    },
];
