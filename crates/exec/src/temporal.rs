//! Values of time in expressions: their components, and arithmetic.

pub(crate) mod components;
pub(crate) mod operators;
