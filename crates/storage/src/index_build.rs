//! Indexes of what is there: of a new constraint or index, over a snapshot.
//!
//! - [`keys`]: key indexes of unique properties.
//! - [`ordered`]: ordered indexes.

pub(crate) mod keys;
pub(crate) mod ordered;
