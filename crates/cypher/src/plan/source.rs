//! Statements about attached sources, with their values as they stand.

use std::sync::Arc;

use model::Span;

use super::CopyValue;

/// `ATTACH`, `DETACH` or `PRELOAD`.
#[derive(Clone, Debug)]
pub enum SourceStatement {
    /// `ATTACH`.
    Attach {
        /// The URL, or a graph definition.
        from: CopyValue,
        /// What it is called, if that is said.
        name: Option<Arc<str>>,
        /// Names in lower case, values, and where they stand.
        options: Vec<(Arc<str>, CopyValue, Span)>,
    },
    /// `DETACH`.
    Detach {
        /// Which source.
        name: Arc<str>,
        /// Where that stands.
        span: Span,
        /// Its absence is no error.
        if_exists: bool,
    },
    /// `PRELOAD`.
    Preload {
        /// Which source.
        name: Arc<str>,
        /// Where that stands.
        span: Span,
        /// For each pattern of nodes a query that gives their ids; all nodes if `None`.
        nodes: Option<Vec<Arc<str>>>,
        /// The types of the edges between them; all if `None`.
        types: Option<Vec<Arc<str>>>,
    },
}
