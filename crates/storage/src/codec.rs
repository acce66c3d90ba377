//! How single things become bytes: packed integers, hashes that never change, tagged values, little directories.

pub mod bits;
pub mod bytes;
pub mod hash;
pub mod temporal;
pub mod value;
