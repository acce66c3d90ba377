//! The facts that a database states of the columns behind the kinds of a definition.

use std::sync::LazyLock;

use model::{Map, PropertyKind};

#[cfg(feature = "sql")]
use crate::connector::KindFacts;
#[cfg(feature = "sql")]
use crate::definition::NodeKind;

/// The facts known of all kinds, by their numbers. May lack all of it: then types are left to the database.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Of the kinds of nodes.
    pub nodes: Vec<RowsFacts>,
    /// Of the kinds of edges.
    pub edges: Vec<RowsFacts>,
}

/// The facts known of the rows of a kind.
#[derive(Clone, Debug, Default)]
pub struct RowsFacts {
    /// Their columns.
    pub columns: Map<String, ColumnFacts>,
    /// The columns of the query that goes against the direction of edges, where there is one.
    pub reverse_columns: Map<String, ColumnFacts>,
    /// The type of the parameter of a query by key, and of the one that goes against the direction.
    pub parameter: [String; 2],
    /// For nodes: whether an index finds them by their keys. For edges: by the node where they start; where they end.
    pub has_index: [bool; 2],
    /// An expression of two columns that a spatial index is on, as the database prints it, with the columns.
    pub points: Vec<PointIndex>,
    /// Why they cannot be changed, though they are in a table of that name.
    pub unwritable: Option<Unwritable>,
}

/// Why the rows of a table are not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritable {
    /// It is a view.
    View,
    /// Nothing keeps two nodes from having the same key.
    NoKey,
}

#[cfg(feature = "sql")]
impl Unwritable {
    /// The reason why a table cannot be written; `None` if it can.
    pub(crate) fn of(is_view: bool, has_key: bool) -> Option<Unwritable> {
        match (is_view, has_key) {
            (true, _) => Some(Unwritable::View),
            (false, false) => Some(Unwritable::NoKey),
            (false, true) => None,
        }
    }
}

/// A spatial index on points made of two columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointIndex {
    /// The expression, with `{0}` and `{1}` where the columns stand.
    pub expression: String,
    /// The columns that are its coordinates.
    pub columns: [String; 2],
}

/// The type of columns of numbers of MySQL, as far as statements differ by it.
pub(crate) const NUMBER: &str = "number";

/// The facts known of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnFacts {
    /// Its type as it stands in a cast, or that it is a number; empty if unknown.
    pub sql_type: String,
    /// The kind that its values have without conversion; `None` if unknown, or none of these.
    pub kind: Option<PropertyKind>,
    /// True if its type compares as Cypher compares values of its kind: not so of durations, documents, enumerations.
    pub compares: bool,
    /// True if strings in it are ordered by their bytes.
    pub is_binary: bool,
    /// True if the database may put strings in it in the order of their beginnings alone.
    pub is_cut: bool,
    /// Collation of strings that are not kept as Unicode, so that not every string can be compared with them; else empty.
    pub collation: String,
    /// True if it may be null, or nothing is known of that.
    pub is_nullable: bool,
    /// True if it is read as a string, since its type is none that is read.
    pub as_text: bool,
    /// True if its numbers are shown as floats that can stand for other numbers, too.
    pub is_rounded: bool,
    /// True if a key is kept as another value than the one that a property shows.
    pub is_shown_otherwise: bool,
    /// True if the database takes values for equal that differ once they are read: strings but for capitals or blanks.
    pub is_loose: bool,
    /// True if its integers may be larger than those of 64 bits with a sign.
    pub is_wide: bool,
    /// True if values of other types than its own may lie in it.
    pub holds_any: bool,
}

/// A column of which nothing is known: compared by the database, which knows.
static UNKNOWN: ColumnFacts = ColumnFacts {
    sql_type: String::new(),
    kind: None,
    compares: true,
    is_binary: false,
    is_cut: false,
    collation: String::new(),
    is_nullable: true,
    as_text: false,
    is_rounded: false,
    is_shown_otherwise: false,
    is_loose: false,
    is_wide: false,
    holds_any: false,
};

impl ColumnFacts {
    /// True if strings are equal to the database that differ in blanks at the end.
    pub(super) fn is_padded(&self) -> bool {
        self.sql_type == "bpchar"
    }

    /// True if a value that the database does not take for null may be shown as null: of a document.
    pub(super) fn hides_nulls(&self) -> bool {
        matches!(self.sql_type.as_str(), "json" | "jsonb")
    }

    /// The column as it is selected.
    pub(super) fn selected(&self, expression: String) -> String {
        if self.as_text { format!("{expression}::text") } else { expression }
    }
}

impl RowsFacts {
    /// The facts known of a column.
    pub fn column(&self, name: &str) -> &ColumnFacts {
        self.columns.get(name).or_else(|| self.reverse_columns.get(name)).unwrap_or(&UNKNOWN)
    }
}

#[cfg(feature = "sql")]
impl RowsFacts {
    /// Notes how keys and unique values of these rows are shown: numbers that differ in the source may not differ as floats.
    pub(crate) fn show(&self, kind: &NodeKind, facts: &mut KindFacts) {
        facts.unique.retain(|&number| !self.column(&kind.properties[number].column).is_rounded);
        facts.hides_key = kind.key.iter().any(|name| self.column(name).is_shown_otherwise);
    }
}

impl Catalog {
    /// The facts known of a kind of nodes.
    pub fn node(&self, kind: usize) -> &RowsFacts {
        self.nodes.get(kind).unwrap_or(&NOTHING)
    }

    /// The facts known of a kind of edges.
    pub fn edge(&self, kind: usize) -> &RowsFacts {
        self.edges.get(kind).unwrap_or(&NOTHING)
    }
}

/// The facts of rows of which nothing is known.
static NOTHING: LazyLock<RowsFacts> = LazyLock::new(|| RowsFacts { has_index: [true, true], ..RowsFacts::default() });
