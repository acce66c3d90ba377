//! The types of SQLite.

use crate::types::{Key, Type, Write};

pub(crate) const TYPES: &[Type] = &[
    Type {
        declared: "INTEGER",
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
        declared: "BIGINT",
        read: "INTEGER, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("-9223372036854775808", Some("-9223372036854775808")),
            ("9007199254740993", Some("9007199254740993")),
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
        values: &[("12.34", Some("12.34")), ("12.35", Some("12.35")), ("5", Some("5.0"))],
    },
    Type {
        declared: "NUMERIC",
        read: "FLOAT, rounded",
        key: Key::Exact,
        write: Write::AsRead,
        values: &[
            ("9007199254740992", Some("9007199254740992.0")),
            ("9007199254740993", Some("9007199254740992.0")),
            ("0.5", Some("0.5")),
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
        declared: "REAL",
        read: "FLOAT, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[("0.1", Some("0.1")), ("0.30000000000000004", Some("0.30000000000000004")), ("0.3", Some("0.3"))],
    },
    Type {
        declared: "BOOLEAN",
        read: "BOOLEAN where it is 0 or 1, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[("0", Some("false")), ("1", Some("true"))],
    },
    Type {
        declared: "TEXT",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[("'a'", Some("'a'")), ("'A'", Some("'A'")), ("''", Some("''")), ("'ünï'", Some("'ünï'"))],
    },
    Type {
        declared: "TEXT COLLATE NOCASE",
        read: "STRING, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[("'Abc'", Some("'Abc'")), ("'abd'", Some("'abd'"))],
    },
    Type {
        declared: "BLOB",
        read: "BYTES, exact",
        key: Key::Exact,
        write: Write::Exact,
        values: &[("x'00ff'", Some("00ff")), ("x'00fe'", Some("00fe"))],
    },
    Type {
        declared: "DATE",
        read: "DATE where it reads as one, else STRING",
        key: Key::Exact,
        write: Write::Exact,
        values: &[("'2024-02-29'", Some("2024-02-29")), ("'0001-01-01'", Some("0001-01-01"))],
    },
    Type {
        declared: "DATETIME",
        read: "LOCAL DATETIME where it reads as one, else STRING",
        key: Key::Exact,
        write: Write::AsRead,
        values: &[
            ("'2013-02-09 05:00:00'", Some("2013-02-09T05:00")),
            ("'2013-02-09T06:00:00'", Some("2013-02-09T06:00")),
            ("'soon'", Some("'soon'")),
        ],
    },
    Type {
        declared: "TIMESTAMP",
        read: "LOCAL DATETIME where it reads as one, else STRING",
        key: Key::Exact,
        write: Write::Exact,
        values: &[
            ("'2013-02-09 05:00:00'", Some("2013-02-09T05:00")),
            ("'2013-02-09 06:00:00.5'", Some("2013-02-09T06:00:00.500")),
        ],
    },
    Type {
        declared: "TIME",
        read: "LOCAL TIME where it reads as one, else STRING",
        key: Key::Exact,
        write: Write::Exact,
        values: &[("'10:30:00'", Some("10:30")), ("'10:30:01'", Some("10:30:01"))],
    },
];
