//! Graphs that others keep: today, files of rows to import.
//!
//! Modules in reading order:
//! - [`files`]: tables in files, read in chunks by several threads.
//!
//! Invariants: what a file holds is never an assertion here; a bad row is a value with its place and reason.

pub mod files;
