//! The simulated ring for the tests of crates above this one, which take this file by its path.

pub(crate) mod ring;
