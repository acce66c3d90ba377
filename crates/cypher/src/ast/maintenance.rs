//! Statements that look after a store: none of them changes the graph, and each is outside of transactions.

use std::fmt::{self, Display, Formatter};

/// A statement that looks after a store. Files are of the kind `F`: expressions as they are parsed, values in a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Maintenance<F> {
    /// `CHECKPOINT`: writes all commits from memory into files.
    Checkpoint,
    /// `COMPACT`: merges the files too, as far as that goes.
    Compact,
    /// `BACKUP DATABASE TO directory [BASE directory]`: a verified copy as of now.
    Backup {
        /// The directory to be made.
        to: F,
        /// An earlier backup, with which files are shared.
        base: Option<F>,
    },
}

impl<F> Maintenance<F> {
    /// The words that it begins with.
    pub fn verb(&self) -> &'static str {
        match self {
            Maintenance::Checkpoint => "CHECKPOINT",
            Maintenance::Compact => "COMPACT",
            Maintenance::Backup { .. } => "BACKUP DATABASE",
        }
    }

    /// The same, with files of another kind.
    pub fn map<T>(&self, file: impl Fn(&F) -> T) -> Maintenance<T> {
        match self {
            Maintenance::Checkpoint => Maintenance::Checkpoint,
            Maintenance::Compact => Maintenance::Compact,
            Maintenance::Backup { to, base } => Maintenance::Backup { to: file(to), base: base.as_ref().map(file) },
        }
    }
}

impl<F: Display> Display for Maintenance<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb())?;
        match self {
            Maintenance::Checkpoint | Maintenance::Compact => Ok(()),
            Maintenance::Backup { to, base: None } => write!(f, " TO {to}"),
            Maintenance::Backup { to, base: Some(base) } => write!(f, " TO {to} BASE {base}"),
        }
    }
}
