//! The façade: databases, sessions, transactions, import, export; wires functions and procedures.
//!
//! Modules in reading order:
//! - [`import`]: files of rows into a store.

pub mod import;
