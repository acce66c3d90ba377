//! Property columns of nodes and edges: blocks of `COLUMN_BLOCK_ROWS` values, each block encoded by itself.
//!
//! - [`block`]: what the bytes of a block are.
//! - [`access`]: getting at one value or many, verified.
//! - [`fixed`]: values of fixed width, at any place.
//! - [`encode`]: choosing and writing the encoding of a block.
//! - [`large`]: blocks whose values wait in a file.
//! - [`write`]: cutting a stream of rows into blocks, into a file or into memory.
//! - [`patch`]: other values in some rows of a column that was read.
//! - [`read`]: gathering rows from many blocks into typed columns.
//! - `texts`: strings of dictionaries, as codes. `dictionaries`: those of blocks, kept.
//!
//! Invariant: every block but the last of a column has exactly `COLUMN_BLOCK_ROWS` rows; a value that is absent
//! takes one bit in a block that has others, and nothing in a block that has none.

pub mod access;
pub mod block;
mod dictionaries;
pub mod encode;
mod fixed;
pub(crate) mod grouped;
mod large;
pub mod parts;
pub mod patch;
mod pending;
pub mod read;
mod texts;
pub mod write;

pub use access::{Block, Cursor, Found};
pub use block::{BlockHeader, Encoding, Kind};
pub use patch::patched;
pub use read::{BlockSource, ColumnReader};
pub use write::{ColumnWriter, MemoryColumn};

#[cfg(test)]
mod tests;
