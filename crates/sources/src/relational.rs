//! The part that the connectors of relational databases share beside their statements ([`crate::sql`]).
//!
//! - [`cells`]: columns that are filled cell by cell.
//! - [`answers`]: rows of a statement as the answer to a question.
//! - [`known`]: the facts that the catalog states of the kinds of a definition.
//! - [`held`]: rows that came before they were wanted.
//! - [`embedded`]: databases that run in this process.

pub(crate) mod answers;
pub(crate) mod cells;
#[cfg(feature = "embedded")]
pub(crate) mod embedded;
#[cfg(any(feature = "duckdb", feature = "mysql"))]
pub(crate) mod held;
pub(crate) mod known;
