//! The tables: keys and cells of each, from which statements are made.

use self::FieldKind::{Bytes, Int};

/// Kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A 64-bit integer.
    Int,
    /// Raw bytes.
    Bytes,
}

/// A column of a table.
pub type ColumnShape = (&'static str, FieldKind);

/// Keys and cells of a table.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Name of the table.
    pub name: &'static str,
    /// Columns of the partition key.
    pub partition: &'static [ColumnShape],
    /// Columns of the clustering key, all ascending.
    pub clustering: &'static [ColumnShape],
    /// Other columns.
    pub cells: &'static [ColumnShape],
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// The log: written by conditional appends alone.
    Log,
    /// Items and rows of transactions that are too long for the log.
    LogBody,
    /// Marks of the records whose rows are all written.
    Applied,
    /// The state of a graph at a sequence number.
    Checkpoint,
    /// Versions of nodes.
    Node,
    /// Versions of edges, by number.
    Edge,
    /// Versions of edges, by source.
    EdgeOut,
    /// Versions of edges, by target.
    EdgeIn,
    /// Events of nodes that got or lost a label.
    ByLabel,
    /// Events of nodes and edges that got or lost a value of an index.
    ByValue,
    /// Numbers of the transactions of processes that may have written to [`Table::LogBody`].
    Bodies,
}

const LOG: Shape = Shape {
    name: "log",
    partition: &[("graph", Int), ("epoch", Int)],
    clustering: &[("sequence", Int)],
    cells: &[("record", Bytes)],
};

const LOG_BODY: Shape = Shape {
    name: "log_body",
    partition: &[("graph", Int), ("high", Int), ("low", Int)],
    clustering: &[("part", Int)],
    cells: &[("body", Bytes)],
};

const APPLIED: Shape = Shape {
    name: "applied",
    partition: &[("graph", Int), ("epoch", Int)],
    clustering: &[("sequence", Int)],
    cells: &[("done", Int)],
};

const CHECKPOINT: Shape = Shape {
    name: "checkpoint",
    partition: &[("graph", Int)],
    clustering: &[("sequence", Int), ("part", Int)],
    cells: &[("parts", Int), ("body", Bytes)],
};

const NODE: Shape = Shape {
    name: "node",
    partition: &[("graph", Int), ("bucket", Int)],
    clustering: &[("id", Int), ("born", Int)],
    cells: &[("died", Int), ("labels", Bytes), ("properties", Bytes)],
};

const EDGE: Shape = Shape {
    name: "edge",
    partition: &[("graph", Int), ("bucket", Int)],
    clustering: &[("number", Int), ("born", Int)],
    cells: &[("died", Int), ("properties", Bytes), ("type", Int), ("source", Int), ("target", Int), ("sort", Bytes)],
};

const EDGE_OUT: Shape = Shape {
    name: "edge_out",
    partition: &[("graph", Int), ("bucket", Int)],
    clustering: &[("source", Int), ("type", Int), ("sort", Bytes), ("target", Int), ("number", Int), ("born", Int)],
    cells: &[("died", Int), ("properties", Bytes)],
};

const EDGE_IN: Shape = Shape {
    name: "edge_in",
    partition: &[("graph", Int), ("bucket", Int)],
    clustering: &[("target", Int), ("type", Int), ("sort", Bytes), ("source", Int), ("number", Int), ("born", Int)],
    cells: &[("died", Int), ("properties", Bytes)],
};

const BY_LABEL: Shape = Shape {
    name: "by_label",
    partition: &[("graph", Int), ("label", Int), ("segment", Int)],
    clustering: &[("id", Int), ("since", Int)],
    cells: &[("present", Int)],
};

const BY_VALUE: Shape = Shape {
    name: "by_value",
    partition: &[("graph", Int), ("number", Int), ("shard", Int)],
    clustering: &[("entry", Bytes), ("id", Int), ("since", Int)],
    cells: &[("present", Int), ("source", Int), ("target", Int), ("type", Int)],
};

const BODIES: Shape = Shape {
    name: "log_bodies",
    partition: &[("graph", Int)],
    clustering: &[("writer", Int), ("first", Int)],
    cells: &[("end", Int), ("sequence", Int)],
};

impl Table {
    /// All tables; the place of each is its number in bodies of transactions.
    pub const ALL: [Table; 11] = [
        Table::Log,
        Table::LogBody,
        Table::Applied,
        Table::Checkpoint,
        Table::Node,
        Table::Edge,
        Table::EdgeOut,
        Table::EdgeIn,
        Table::ByLabel,
        Table::ByValue,
        Table::Bodies,
    ];

    /// Keys and cells of the table.
    pub fn shape(self) -> &'static Shape {
        match self {
            Table::Log => &LOG,
            Table::LogBody => &LOG_BODY,
            Table::Applied => &APPLIED,
            Table::Checkpoint => &CHECKPOINT,
            Table::Node => &NODE,
            Table::Edge => &EDGE,
            Table::EdgeOut => &EDGE_OUT,
            Table::EdgeIn => &EDGE_IN,
            Table::ByLabel => &BY_LABEL,
            Table::ByValue => &BY_VALUE,
            Table::Bodies => &BODIES,
        }
    }

    /// Number of the table in bodies of transactions.
    pub fn number(self) -> u8 {
        Table::ALL.iter().position(|table| *table == self).unwrap_or_default() as u8
    }
}
