//! The operations that a store is measured by, in layers, and those that write.
//!
//! After: Macko, Margo, Seltzer, "Performance introspection of graph databases", 2013.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use model::Direction;

/// Longest neighbourhood in hops.
const HOPS_MAX: u32 = 3;

/// A layer of operations: each is made of those below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Single nodes, edges and properties.
    Micro,
    /// Neighbourhoods.
    Graph,
    /// Algorithms.
    Algorithm,
    /// Statements of a workload.
    Statement,
    /// Single writes, and a graph that is made of them.
    Write,
}

impl Layer {
    /// All layers, the lowest first.
    pub const ALL: [Layer; 5] = [Layer::Micro, Layer::Graph, Layer::Algorithm, Layer::Statement, Layer::Write];

    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Micro => "micro",
            Layer::Graph => "graph",
            Layer::Algorithm => "algorithm",
            Layer::Statement => "statement",
            Layer::Write => "write",
        }
    }
}

/// Condition of edges that are followed, or data that is brought along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Edges of any type.
    Plain,
    /// Edges of the most frequent type.
    Type,
    /// Edges of any type, each with a property.
    Property,
}

/// The name of a statement. Names that are alike are kept once, for as long as the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementName(&'static str);

impl StatementName {
    /// The name of that text.
    pub fn of(text: &str) -> StatementName {
        static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = names.get(text) {
            return StatementName(name);
        }
        let name: &'static str = Box::leak(text.into());
        names.insert(name);
        StatementName(name)
    }

    /// The text.
    pub fn text(self) -> &'static str {
        self.0
    }
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A statement that reads nothing.
    EmptyStatement,
    /// A node by its id: that it is there, and its labels.
    NodeById,
    /// A node by a unique property.
    NodeByKey,
    /// A property of a node that is an integer.
    NodeInteger,
    /// A property of a node that is a string.
    NodeString,
    /// The labels of a node.
    NodeLabels,
    /// An edge by the text that names it: its ends and its type.
    EdgeByText,
    /// A property of an edge.
    EdgeProperty,
    /// The number of edges of a node.
    Degree(Direction),
    /// One neighbour of a node.
    FirstNeighbor(Direction, Filter),
    /// All neighbours of a node.
    Neighbors(Direction, Filter),
    /// The different nodes within a number of hops of a node.
    Hops(Direction, u32),
    /// Edges among the neighbours of a node, as its clustering coefficient needs them.
    Clustering,
    /// A path of fewest edges between two nodes, in either direction.
    ShortestPath,
    /// Breadth-first search from a node.
    Bfs,
    /// Weakly connected components of the graph.
    Components,
    /// PageRank of the graph.
    PageRank,
    /// Triangles of the graph.
    Triangles,
    /// A statement of a workload.
    Statement(StatementName),
    /// A new node, in a transaction that is not committed.
    AddNode,
    /// A new edge between two nodes, likewise.
    AddEdge,
    /// Another value of a property of a node that is an integer, likewise.
    SetProperty,
    /// The durable end of a transaction that has added a node.
    Commit,
    /// Nine tenths of the graph, loaded at once into a new store.
    IngestBulk,
    /// The tenth that is left, added to it in transactions.
    IngestIncrement,
}

/// The three directions.
pub const DIRECTIONS: [Direction; 3] = [Direction::Out, Direction::In, Direction::Both];

/// Name of a direction.
fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Out => "out",
        Direction::In => "in",
        Direction::Both => "both",
    }
}

impl Operation {
    /// The operations that every subject may have, the lowest layer first: all but statements of workloads.
    pub fn all() -> Vec<Operation> {
        let mut all = vec![
            Operation::EmptyStatement,
            Operation::NodeById,
            Operation::NodeByKey,
            Operation::NodeInteger,
            Operation::NodeString,
            Operation::NodeLabels,
            Operation::EdgeByText,
            Operation::EdgeProperty,
        ];
        all.extend(DIRECTIONS.map(Operation::Degree));
        for filter in [Filter::Plain, Filter::Type] {
            all.extend(DIRECTIONS.map(|direction| Operation::FirstNeighbor(direction, filter)));
        }
        for filter in [Filter::Plain, Filter::Type, Filter::Property] {
            all.extend(DIRECTIONS.map(|direction| Operation::Neighbors(direction, filter)));
        }
        for direction in [Direction::Out, Direction::Both] {
            all.extend((1..=HOPS_MAX).map(|hops| Operation::Hops(direction, hops)));
        }
        all.extend([
            Operation::Clustering,
            Operation::ShortestPath,
            Operation::Bfs,
            Operation::Components,
            Operation::PageRank,
            Operation::Triangles,
            Operation::AddNode,
            Operation::AddEdge,
            Operation::SetProperty,
            Operation::Commit,
            Operation::IngestBulk,
            Operation::IngestIncrement,
        ]);
        all
    }

    /// Its layer.
    pub fn layer(self) -> Layer {
        match self {
            Operation::Neighbors(..) | Operation::Hops(..) => Layer::Graph,
            Operation::Clustering
            | Operation::ShortestPath
            | Operation::Bfs
            | Operation::Components
            | Operation::PageRank
            | Operation::Triangles => Layer::Algorithm,
            Operation::Statement(_) => Layer::Statement,
            Operation::AddNode
            | Operation::AddEdge
            | Operation::SetProperty
            | Operation::Commit
            | Operation::IngestBulk
            | Operation::IngestIncrement => Layer::Write,
            _ => Layer::Micro,
        }
    }

    /// True if a call reads the whole graph, or may.
    pub fn is_of_whole_graph(self) -> bool {
        matches!(
            self,
            Operation::Bfs
                | Operation::Components
                | Operation::PageRank
                | Operation::Triangles
                | Operation::IngestBulk
                | Operation::IngestIncrement
        )
    }

    /// True if it writes.
    pub fn is_write(self) -> bool {
        self.layer() == Layer::Write
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |filter: &Filter| match filter {
            Filter::Plain => "",
            Filter::Type => " by type",
            Filter::Property => " with property",
        };
        match self {
            Operation::EmptyStatement => out.write_str("empty statement"),
            Operation::NodeById => out.write_str("node by id"),
            Operation::NodeByKey => out.write_str("node by key"),
            Operation::NodeInteger => out.write_str("node property, integer"),
            Operation::NodeString => out.write_str("node property, string"),
            Operation::NodeLabels => out.write_str("labels of node"),
            Operation::EdgeByText => out.write_str("edge by id"),
            Operation::EdgeProperty => out.write_str("edge property"),
            Operation::Degree(direction) => write!(out, "degree {}", direction_name(*direction)),
            Operation::FirstNeighbor(direction, filter) => {
                write!(out, "first neighbour {}{}", direction_name(*direction), with(filter))
            }
            Operation::Neighbors(direction, filter) => {
                write!(out, "neighbours {}{}", direction_name(*direction), with(filter))
            }
            Operation::Hops(direction, hops) => write!(out, "{hops}-hop {}", direction_name(*direction)),
            Operation::Clustering => out.write_str("clustering of node"),
            Operation::ShortestPath => out.write_str("shortest path"),
            Operation::Bfs => out.write_str("breadth-first search"),
            Operation::Components => out.write_str("components"),
            Operation::PageRank => out.write_str("pagerank"),
            Operation::Triangles => out.write_str("triangles"),
            Operation::Statement(name) => out.write_str(name.text()),
            Operation::AddNode => out.write_str("add node"),
            Operation::AddEdge => out.write_str("add edge"),
            Operation::SetProperty => out.write_str("set node property"),
            Operation::Commit => out.write_str("commit"),
            Operation::IngestBulk => out.write_str("ingest, bulk"),
            Operation::IngestIncrement => out.write_str("ingest, increment"),
        }
    }
}

/// The way in which an operation is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Calls of the store's interface.
    Api,
    /// Statements.
    Cypher,
}

impl Way {
    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Way::Api => "api",
            Way::Cypher => "cypher",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Layer, Operation, StatementName};

    #[test]
    fn operations_have_names_of_their_own_and_come_by_layer() {
        let all = Operation::all();
        assert_eq!(all.len(), 44);
        assert_eq!(all.iter().map(ToString::to_string).collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.is_sorted_by_key(|operation| operation.layer()));
        let of = |layer: Layer| all.iter().filter(|operation| operation.layer() == layer).count();
        assert_eq!(Layer::ALL.map(of), [17, 15, 6, 0, 6]);
    }

    #[test]
    fn statements_have_their_names() {
        let [one, same, other] = ["one", "one", "other"].map(|name| Operation::Statement(StatementName::of(name)));
        assert!(one == same && one != other && one.layer() == Layer::Statement && !one.is_write());
        assert_eq!(one.to_string(), "one");
    }
}
