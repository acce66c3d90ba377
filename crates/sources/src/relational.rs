//! The part that the connectors of relational databases share beside their statements ([`crate::sql`]).
//!
//! - [`cells`]: columns that are filled cell by cell.
//! - [`answers`]: rows of a statement as the answer to a question.
//! - [`known`]: the facts that the catalog states of the kinds of a definition.

pub(crate) mod answers;
pub(crate) mod cells;
pub(crate) mod known;
