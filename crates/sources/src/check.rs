//! Comparison of a definition with its source, with remedies that make it fit or make it fast.
//!
//! - [`relational`]: for relational databases.

use std::fmt;

pub mod relational;

/// Something that was found when a definition was compared with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Severity of the finding.
    pub severity: Severity,
    /// The place in the definition: `edges.KNOWS.source`.
    pub place: String,
    /// Description of the finding.
    pub message: String,
    /// The remedy; empty if there is nothing to do.
    pub remedy: String,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Queries that touch it fail.
    Error,
    /// Answers leave something out that may be missed: rows with null keys, edges without an end.
    Warning,
    /// It works, but could be faster.
    Slow,
}

impl Finding {
    /// A finding of that severity.
    pub fn new(severity: Severity, place: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { severity, place: place.into(), message: message.into(), remedy: String::new() }
    }

    /// The same finding with what mends it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = remedy.into();
        self
    }
}

impl Severity {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Slow => "slow",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity.name(), self.place, self.message)?;
        match &*self.remedy {
            "" => Ok(()),
            remedy => write!(f, "\n  = {remedy}"),
        }
    }
}
