//! Encodings of single things as bytes: packed integers, hashes that never change, tagged values, small directories.

pub mod bits;
pub mod bytes;
pub mod hash;
pub mod temporal;
pub mod value;
