//! Encodings of single things as bytes: packed integers, hashes that never change, tagged values, small directories.
//!
//! All but packed integers are in `model`, since other stores use them too.

pub mod bits;

pub use model::codec::{bytes, hash, stored, temporal, value};
