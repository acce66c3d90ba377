//! Statements about attached sources.

use std::fmt::{self, Display, Formatter};

use super::{CopyOption, Expression, Name, NodePattern};

/// `ATTACH 'url' [AS name] [(option = value, …)]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attach {
    /// The URL, or a graph definition: a text or a parameter.
    pub from: Expression,
    /// Name of the source.
    pub name: Option<Name>,
    /// Options for attaching it.
    pub options: Vec<CopyOption>,
}

/// `DETACH [IF EXISTS] name`.
#[derive(Clone, Debug, PartialEq)]
pub struct Detach {
    /// Name of the source.
    pub name: Name,
    /// Its absence is no error.
    pub if_exists: bool,
}

/// `PRELOAD name [NODES (pattern), …] [RELATIONSHIPS type, …]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Preload {
    /// Name of the source.
    pub name: Name,
    /// Patterns of the nodes to preload; all nodes if `None`.
    pub nodes: Option<Vec<NodePattern>>,
    /// The types of the edges between them; all if `None`.
    pub types: Option<Vec<Name>>,
}

fn join<T: Display>(f: &mut Formatter<'_>, before: &str, items: &[T]) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if at == 0 { before } else { ", " })?;
    }
    Ok(())
}

impl Display for Attach {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ATTACH {}", self.from)?;
        if let Some(name) = &self.name {
            write!(f, " AS {name}")?;
        }
        let options: Vec<String> =
            self.options.iter().map(|option| format!("{} = {}", option.name, option.value)).collect();
        join(f, " (", &options)?;
        f.write_str(if options.is_empty() { "" } else { ")" })
    }
}

impl Display for Detach {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DETACH {}{}", if self.if_exists { "IF EXISTS " } else { "" }, self.name)
    }
}

impl Display for Preload {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "PRELOAD {}", self.name)?;
        join(f, " NODES ", self.nodes.as_deref().unwrap_or_default())?;
        join(f, " RELATIONSHIPS ", self.types.as_deref().unwrap_or_default())
    }
}
