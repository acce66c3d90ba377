//! Encodings that stores share, in files, logs and foreign tables: bytes of values, of rules, and stable hashes.
//!
//! - [`bytes`]: fixed-width integers and strings, written and read back.
//! - [`hash`]: hashes that never change.
//! - [`temporal`], [`value`]: tagged values.
//! - [`ordered`]: values as bytes that sort as `ORDER BY` does.
//! - [`rules`]: constraints and indexes.
//! - [`stored`]: the numbers and bytes of each kind of a fixed size.
//!
//! Invariant: these bytes lie in files, so that no encoding ever changes.

pub mod bytes;
pub mod hash;
pub mod ordered;
pub mod rules;
pub mod stored;
pub mod temporal;
pub mod value;
