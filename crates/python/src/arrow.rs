//! Columns across the border in Arrow's layout: no copy where the two agree.
//!
//! - [`kind`]: the Arrow type that fits the values of a column.
//! - [`export`]: batches of a result as record batches.
//! - [`values`]: columns of values that have no layout of their own, built row by row.
//! - [`stream`]: the rows of a result as a stream for the C interface.
//! - [`import`]: tables of Python as columns.

pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod kind;
pub(crate) mod stream;
pub(crate) mod values;
