//! Property columns.
