//! Values across the border: Python's objects as values of Cypher, and back.

pub(crate) mod from_python;
pub(crate) mod moments;
pub(crate) mod to_python;
