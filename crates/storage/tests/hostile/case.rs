//! Stores whose checksums are right and whose contents are not. Shared with the fuzz targets in `fuzz/`.
//!
//! - [`choices`]: the bytes that say what to change.
//! - [`fields`]: changes of a region of bytes.
//! - [`blocks`]: files of blocks, taken apart and put together with right checksums.
//! - [`logs`]: logs, likewise.
//! - [`stores`]: the stores, and the kinds of files in them.
//! - [`reads`]: everything that reads or writes a store.

pub mod blocks;
pub mod choices;
pub mod fields;
pub mod logs;
pub mod reads;
pub mod stores;
