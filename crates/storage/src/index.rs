//! Unique key indexes.
