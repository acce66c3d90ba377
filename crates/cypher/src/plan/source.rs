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
        /// Name of the source, if it is given.
        name: Option<Arc<str>>,
        /// Names in lower case, values, and where they stand.
        options: Vec<(Arc<str>, CopyValue, Span)>,
    },
    /// `DETACH`.
    Detach {
        /// Name of the source.
        name: Arc<str>,
        /// Place of the name in the statement.
        span: Span,
        /// Its absence is no error.
        if_exists: bool,
    },
    /// `PRELOAD`.
    Preload {
        /// Name of the source.
        name: Arc<str>,
        /// Place of the name in the statement.
        span: Span,
        /// For each pattern of nodes a query that gives their ids; all nodes if `None`.
        nodes: Option<Vec<Arc<str>>>,
        /// The types of the edges between them; all if `None`.
        types: Option<Vec<Arc<str>>>,
    },
}
