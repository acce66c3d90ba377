//! The mapping of a foreign database to the parts of a graph: nodes and edges from tables, queries, key patterns or
//! files.
//!
//! A definition says nothing of credentials. After: Yoneki, Roy, "A unified graph query layer for multiple databases",
//! 2012, section 4.3, whose two examples (figures 2 and 3) are definitions too.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::Result;
use model::schema::PropertyKind;

mod check;
mod fields;
mod json;
mod read;
mod rows;
mod sql_text;
mod url;
mod write;

#[cfg(test)]
mod tests;

pub use sql_text::around_parameters;

/// A graph that lies in one database, or in files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphDefinition {
    /// The URL of the source without a password, if the definition states it.
    pub url: Option<String>,
    /// The kinds of nodes. Their numbers are their places here.
    pub nodes: Vec<NodeKind>,
    /// The kinds of edges. Their numbers are their places here.
    pub edges: Vec<EdgeKind>,
    /// The data to fetch ahead of being asked.
    pub prefetch: Prefetch,
    /// The data to keep, and the time to keep it for.
    pub cache: CacheSettings,
}

impl GraphDefinition {
    /// Reads a definition from JSON, as docs/sources.md describes it; fails with `DEFINITION`, naming the place.
    pub fn from_json(text: &str) -> Result<GraphDefinition> {
        read::definition(text)
    }

    /// The definition as JSON, which reads back as the same definition.
    pub fn to_json(&self) -> String {
        write::definition(self)
    }

    /// Fails with `DEFINITION` if its parts do not fit each other.
    pub fn check(&self) -> Result<()> {
        check::definition(self)
    }

    /// Takes paths that are not absolute to lie in a folder, that of the definition's own file.
    pub fn resolve_paths(&mut self, folder: &Path) {
        let nodes = self.nodes.iter_mut().map(|kind| &mut kind.rows);
        for rows in nodes.chain(self.edges.iter_mut().map(|kind| &mut kind.rows)) {
            if let Rows::File { path } = rows {
                *path = folder.join(&*path);
            }
        }
    }
}

/// Nodes that come from the same place.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeKind {
    /// Its name in the definition, for messages.
    pub name: Arc<str>,
    /// The labels that all of its nodes carry.
    pub labels: Vec<Arc<str>>,
    /// The origin of its rows, a row for each node.
    pub rows: Rows,
    /// The columns whose values together name a node; at least one.
    pub key: Vec<String>,
    /// The properties of its nodes, those that show the key included.
    pub properties: Vec<Property>,
}

/// Edges that come from the same place.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeKind {
    /// Its name in the definition, for messages.
    pub name: Arc<str>,
    /// The type that all of its edges have.
    pub edge_type: Arc<str>,
    /// The origin of its rows, a row for each edge (several, where an end is an array). A foreign key is the table that
    /// has it, seen as edges.
    pub rows: Rows,
    /// The end at which its edges start.
    pub source: End,
    /// The end at which its edges end.
    pub target: End,
    /// The columns whose values together name an edge, if there are such; without, edges of the same ends are told apart
    /// by the order of their properties.
    pub key: Vec<String>,
    /// The properties of its edges.
    pub properties: Vec<Property>,
}

/// One end of the edges of a kind. A row whose columns are null here has no edge.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The nodes at this end.
    pub node: EndNode,
    /// The columns that hold what names the node, as many as its key has.
    pub columns: Vec<String>,
    /// True if the (one) column is an array, each element of which names a node.
    pub is_array: bool,
}

/// The nodes at an end.
#[derive(Clone, Debug, PartialEq)]
pub enum EndNode {
    /// Nodes of a kind of this definition, by its number.
    Kind(usize),
    /// Nodes of another part of the graph, found by a property.
    Foreign {
        /// Their label.
        label: Arc<str>,
        /// The property whose value the column holds.
        property: Arc<str>,
    },
}

/// The origin of rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// A table or view of a relational database.
    Table {
        /// Its schema; the default one if `None`.
        schema: Option<String>,
        /// Its name.
        name: String,
    },
    /// A query without parameters, which is read like a table.
    Query(String),
    /// A query with one parameter, written `?`: a node's key; it gives that node, or the edges of that node.
    ByKey {
        /// For the node itself, or for its out-edges.
        sql: String,
        /// For edges: the same for in-edges. Without, they can not be followed against their direction.
        reverse: Option<String>,
        /// A query without parameters that gives all rows. Without, there is no scan.
        scan: Option<String>,
    },
    /// Keys of a key-value store.
    Keys(KeyPattern),
    /// A file, read where it lies.
    File {
        /// Its path.
        path: PathBuf,
    },
}

/// The keys of a key-value store that hold the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPattern {
    /// The key, with `{id}` where the key of the node stands: `person:{id}`, `person:{id}:knows`. In flat keys `{property}`
    /// stands for the name of a property: `person:{id}:{property}`.
    pub pattern: String,
    /// The structure under the key.
    pub structure: Structure,
    /// The property that a sorted set's score, or the value of a hash, becomes on edges.
    pub score: Option<String>,
    /// The key of the same adjacency seen from the other end, if it is kept.
    pub reverse: Option<String>,
    /// A hash with properties of one edge, with `{source}` and `{target}`: `knows:{source}:{target}`.
    pub edge_hash: Option<String>,
}

/// The structure that a key of a key-value store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// A node's properties as fields of a hash; or for edges, targets as fields.
    Hash,
    /// Properties under a key each.
    Flat,
    /// Targets as a set.
    Set,
    /// Targets as a list; one that stands twice is two edges.
    List,
    /// Targets as a sorted set.
    SortedSet,
    /// Targets as one of these, found out at the first look.
    Any,
}

/// A property and the column it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name in the graph.
    pub name: Arc<str>,
    /// The column, or field.
    pub column: String,
    /// The kind that its values are converted to; the one that the source states if `None`.
    pub kind: Option<PropertyKind>,
}

/// The data to fetch ahead of being asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Prefetch {
    /// Learns from hits and waste which of the others to use and how far.
    #[default]
    Adaptive,
    /// Nothing.
    None,
    /// All nodes within this number of edges of one that is asked for, in one round trip.
    Lookahead(u32),
    /// All nodes whose properties are near those of one that is asked for.
    Block {
        /// The properties, numbers each; chosen by the source's indexes if empty.
        properties: Vec<Arc<str>>,
        /// The side of the block, in units of the properties.
        size: f64,
    },
}

/// The data to keep, and the time to keep it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Bytes at most.
    pub bytes_max: usize,
    /// Largest age of kept data when it is used; with zero nothing is used by another query than the one that fetched
    /// it.
    pub age_max: Duration,
}

impl Default for CacheSettings {
    fn default() -> CacheSettings {
        CacheSettings { bytes_max: 256 << 20, age_max: Duration::from_secs(60) }
    }
}
