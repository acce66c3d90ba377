//! A subject: a system that is measured.
//!
//! - [`knotwork`]: a store of Knotwork.
//! - [`program`]: a program that speaks JSON lines.
//! - [`server`]: a server that speaks Cypher.
//! - [`sql`]: a relational database.
//! - [`workload`]: statements that are measured beside the operations.

pub mod knotwork;
pub mod program;
pub mod server;
pub mod sql;
#[cfg(test)]
pub(crate) mod synthetic;
pub mod workload;

use std::sync::Arc;
use std::time::Duration;

use model::{Result, Value, error};

use crate::operations::{Operation, Way};

/// A node to start from, and all that an operation on it needs to be told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// Id of the node.
    pub node: u64,
    /// Id of an edge, if the node has one.
    pub edge: Option<u64>,
    /// The text that names that edge for good.
    pub edge_name: Option<Arc<str>>,
    /// Id of another node.
    pub target: u64,
    /// Unique key of the node, if it has one.
    pub key: Option<Value>,
    /// Number of the call, by which recorded parameters are chosen.
    pub turn: usize,
}

/// Gives a start whose node has no edge that of another, one after the other: operations on an edge would have nothing to do
/// there.
pub(crate) fn lend_edges(starts: &mut [Start]) {
    let has_edge = |start: &&Start| start.edge.is_some() || start.edge_name.is_some();
    let edges: Vec<_> = starts.iter().filter(has_edge).map(|start| (start.edge, start.edge_name.clone())).collect();
    let without = starts.iter_mut().filter(|start| start.edge.is_none() && start.edge_name.is_none());
    for (start, edge) in without.zip(edges.iter().cycle()) {
        (start.edge, start.edge_name) = edge.clone();
    }
}

/// The way in which starts are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Each node is as likely as the others.
    Uniform,
    /// A node is as likely as it has edges.
    ByDegree,
    /// Each of the first nodes, up to a number.
    Within(u64),
}

impl Choice {
    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Choice::Uniform => "uniform",
            Choice::ByDegree => "by degree",
            Choice::Within(_) => "within",
        }
    }
}

/// Counts of what a call touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lists of neighbours asked for: one for each node and direction.
    pub neighborhoods: u64,
    /// Edges followed.
    pub edges: u64,
    /// Different nodes found, where they are told apart.
    pub unique_nodes: u64,
    /// Values of properties read.
    pub properties: u64,
    /// Edges of the path that was found.
    pub path_length: u64,
    /// Passes over the graph; for writes, transactions that were committed.
    pub passes: u64,
    /// Uses of blocks of files.
    pub block_uses: u64,
    /// Blocks that were not in the cache.
    pub block_misses: u64,
    /// Bytes asked of the disk.
    pub bytes_read: u64,
}

/// A call of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Nanoseconds that it took.
    pub ns: u64,
    /// Rows that it gave.
    pub rows: u64,
    /// A sum over its rows that does not depend on their order.
    pub checksum: u64,
    /// Counts of what it touched.
    pub counts: Counts,
}

/// Description of a subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// Name of the system.
    pub system: String,
    /// Its version.
    pub version: String,
    /// Place of its data.
    pub place: String,
    /// Number of nodes.
    pub nodes: u64,
    /// Number of edges.
    pub edges: u64,
    /// Bytes of its data.
    pub bytes: u64,
    /// Names that its operations use, and settings.
    pub settings: Vec<(String, String)>,
    /// The way in which its caches are emptied.
    pub cold_method: String,
}

impl Description {
    /// The same in texts that a terminal shows as they are.
    pub(crate) fn plain(self) -> Description {
        Description {
            system: plain(&self.system),
            version: plain(&self.version),
            place: plain(&self.place),
            settings: self.settings.iter().map(|(name, value)| (plain(name), plain(value))).collect(),
            cold_method: plain(&self.cold_method),
            ..self
        }
    }
}

/// A text without the signs by which a terminal is steered.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|sign| !sign.is_control()).collect()
}

/// The starts of an operation that is no statement.
fn starts_of(operation: Operation, chosen: &[Start]) -> Vec<Start> {
    let count = if operation.is_of_whole_graph() { 1 } else { chosen.len() };
    chosen.iter().take(count).cloned().collect()
}

/// A system that is measured.
pub trait Subject {
    /// Its description.
    fn describe(&self) -> Result<Description>;
    /// True if it has this operation, in that way.
    fn can(&self, operation: Operation, way: Way) -> bool;
    /// Statements that it has beside the operations that all may have.
    fn statements(&self) -> Vec<Operation> {
        Vec::new()
    }
    /// The starts of an operation, of those that were chosen; one if all its calls are the same.
    fn starts(&self, operation: Operation, chosen: &[Start]) -> Result<Vec<Start>> {
        Ok(starts_of(operation, chosen))
    }
    /// Counts of what a call of a statement touches, if the subject can tell; not timed.
    fn count(&mut self, _operation: Operation, _start: &Start) -> Result<Option<Counts>> {
        Ok(None)
    }
    /// Nodes to start from; the same seed gives the same nodes.
    fn choose(&mut self, choice: Choice, count: usize, seed: u64) -> Result<Vec<Start>>;
    /// Performs an operation once. Only the operation itself is timed, not what is made ready for it.
    fn perform(&mut self, operation: Operation, way: Way, start: &Start) -> Result<Call>;
    /// Nanoseconds of each call that timing itself takes.
    fn timer_ns(&self) -> f64 {
        0.0
    }
    /// From now on a call, and the pass over everything, fails with `TIMEOUT` after that time, or after its own limit if that is
    /// shorter; `None` for its own alone.
    fn limit(&mut self, _limit: Option<Duration>) {}
    /// True if its caches can be emptied at any time.
    fn can_cool(&self) -> bool {
        true
    }
    /// Empties its caches as far as that goes.
    fn cool(&mut self) -> Result<()>;
    /// Goes on with a copy of its data, for operations that write. The data itself stays as it is.
    fn copy(&mut self) -> Result<()> {
        let system = self.describe().map(|known| known.system)?;
        Err(error!(Unsupported, "{system}: its data cannot be copied, and writes are measured on a copy")
            .with_remedy("leave out --writes, or measure a store"))
    }
    /// Reads everything once, so that caches are full, though not of what is asked for next.
    fn warm(&mut self) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::{Description, Start, lend_edges};

    #[test]
    fn texts_of_a_description_do_not_steer_a_terminal() {
        let told = || "a\u{1b}[31m\u{9b}b\nc\u{7f} ä".to_owned();
        let settings = vec![(told(), told())];
        let described = Description { system: told(), version: told(), settings, ..Description::default() }.plain();
        for text in [&described.system, &described.version, &described.settings[0].0, &described.settings[0].1] {
            assert_eq!(text, "a[31mbc ä");
        }
    }

    #[test]
    fn starts_without_an_edge_get_that_of_another() {
        let start = |node, edge| Start { node, edge, ..Start::default() };
        let mut starts = vec![start(0, None), start(1, Some(7)), start(2, None), start(3, Some(9)), start(4, None)];
        lend_edges(&mut starts);
        let edges: Vec<_> = starts.iter().map(|start| start.edge).collect();
        assert_eq!(edges, [Some(7), Some(7), Some(9), Some(9), Some(7)]);
        let mut none = vec![start(0, None)];
        lend_edges(&mut none);
        assert_eq!(none[0].edge, None, "a graph without edges has none to lend");
    }
}
