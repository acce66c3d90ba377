//! Quantifiers, groups and selectors as text.

use std::fmt::{self, Display, Formatter};

use super::optional;
use crate::ast::{PathGroup, PathSelector, Repetition, SelectorKind};

impl Display for Repetition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (0, None) => f.write_str("*"),
            (1, None) => f.write_str("+"),
            (min, Some(max)) if min == max => write!(f, "{{{min}}}"),
            (min, max) => {
                write!(f, "{{{min},")?;
                optional(f, "", max.as_ref())?;
                f.write_str("}")
            }
        }
    }
}

impl Display for PathGroup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({}", self.start)?;
        for step in &self.steps {
            write!(f, "{}{}", step.edge, step.node)?;
        }
        optional(f, " WHERE ", self.predicate.as_ref())?;
        f.write_str(")")
    }
}

impl Display for PathSelector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.kind {
            SelectorKind::All => f.write_str("ALL"),
            SelectorKind::Any(count) => write!(f, "ANY {count}"),
            SelectorKind::Shortest(count) => write!(f, "SHORTEST {count}"),
            SelectorKind::Groups(count) => write!(f, "SHORTEST {count} GROUPS"),
        }
    }
}
