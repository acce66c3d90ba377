//! Tables in the sense of Kùzu and LadybugDB, and what is changed of them.

use model::PropertyType;

use super::Name;

/// A table in the sense of Kùzu: a label or an edge type with typed properties.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// The label or the edge type.
    pub name: Name,
    /// True if it is a table of edges.
    pub on_edges: bool,
    /// Rules that are already there are no error.
    pub if_not_exists: bool,
    /// The labels that edges lead from and to; told, not enforced.
    pub ends: Vec<(Name, Name)>,
    /// The properties.
    pub columns: Vec<TableColumn>,
    /// The property that is the key of nodes.
    pub key: Option<Name>,
}

/// `ALTER TABLE name …`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// The label or the edge type.
    pub name: Name,
    /// Change to make.
    pub change: TableChange,
}

/// Changes that `ALTER TABLE` can make.
#[derive(Clone, Debug, PartialEq)]
pub enum TableChange {
    /// `ADD [IF NOT EXISTS] column TYPE`.
    AddColumn {
        /// An equal rule that is already there is no error.
        if_not_exists: bool,
        /// The property.
        column: TableColumn,
    },
    /// `ADD [IF NOT EXISTS] FROM A TO B`.
    AddEnds {
        /// A pair that is already there is no error.
        if_not_exists: bool,
        /// The labels that edges lead from and to.
        ends: (Name, Name),
    },
    /// `DROP [IF EXISTS] FROM A TO B`.
    DropEnds {
        /// A missing pair is no error.
        if_exists: bool,
        /// The labels that edges lead from and to.
        ends: (Name, Name),
    },
}

/// A typed property.
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    /// The property.
    pub name: Name,
    /// Its type.
    pub kind: PropertyType,
}
