//! Values that must be unique, and may not be so before the last of them is set.
//!
//! Nodes may exchange unique values, which are unique again only when all have theirs. So a call that sets properties or adds
//! labels does not fail where it meets a value that is taken: it notes who has that value, and these are looked at when the
//! last call is done.
//!
//! Invariant: of two nodes, or edges, that have equal values since a call, both nodes or one of the edges are noted.
//! Cost: nothing where no value is taken, else eight bytes for each that is noted, in a file where they are many.

use model::{EdgeId, LabelId, NodeId, ReadView, Result, Subject};

use super::check::taken;
use super::spool::Spool;
use crate::memtable::equals_itself;
use crate::snapshot::Snapshot;
use crate::snapshot::ordered::values_at;
use crate::version::Version;

/// Ids that are kept in memory, and looked at together.
const IDS: usize = 4_096;

/// Nodes and edges that may have the same values as another.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    nodes: Ids,
    edges: Ids,
}

impl Doubts {
    /// Notes nodes.
    pub(super) fn add_nodes(&mut self, version: &Version, nodes: &[NodeId]) -> Result<()> {
        nodes.iter().try_for_each(|node| self.nodes.push(version, node.0))
    }

    /// Notes edges, by the ids that [`Doubts::settle`] will know them by.
    pub(super) fn add_edges(&mut self, version: &Version, edges: &[EdgeId]) -> Result<()> {
        edges.iter().try_for_each(|edge| self.edges.push(version, edge.0))
    }

    /// Fails with `CONSTRAINT` if one of those noted has the same values as another; `inner` gives edges the ids that the
    /// snapshot knows them by.
    pub(super) fn settle(&self, snapshot: &Snapshot, inner: impl Fn(&[EdgeId]) -> Result<Vec<EdgeId>>) -> Result<()> {
        self.nodes.for_each(|ids| {
            let nodes: Vec<NodeId> = ids.iter().copied().map(NodeId).collect();
            snapshot.check_nodes_differ(&nodes)
        })?;
        self.edges.for_each(|ids| {
            let edges: Vec<EdgeId> = ids.iter().copied().map(EdgeId).collect();
            snapshot.check_edges_differ(&inner(&edges)?)
        })
    }
}

/// Ids in the order in which they came: the last few in memory, the rest in a file.
#[derive(Debug, Default)]
struct Ids {
    last: Vec<u64>,
    /// Each piece of the spool has [`IDS`] ids.
    spool: Option<(Spool, u64)>,
}

impl Ids {
    fn push(&mut self, version: &Version, id: u64) -> Result<()> {
        if self.last.len() == IDS {
            if self.spool.is_none() {
                self.spool = Some((Spool::new(&version.platform().disk, version.directory().to_owned())?, 0));
            }
            if let Some((spool, pieces)) = &mut self.spool {
                let bytes: Vec<u8> = self.last.iter().flat_map(|id| id.to_le_bytes()).collect();
                spool.append(&bytes)?;
                *pieces += 1;
            }
            self.last.clear();
        }
        self.last.push(id);
        Ok(())
    }

    fn for_each(&self, mut work: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
        if let Some((spool, pieces)) = &self.spool {
            for piece in 0..*pieces {
                model::interrupt::check_this_thread()?;
                let bytes = spool.read(piece * (IDS * size_of::<u64>()) as u64, IDS * size_of::<u64>())?;
                let ids =
                    bytes.chunks_exact(8).map(|id| u64::from_le_bytes(id.try_into().expect("eight bytes are eight")));
                work(&ids.collect::<Vec<u64>>())?;
            }
        }
        if self.last.is_empty() { Ok(()) } else { work(&self.last) }
    }
}

impl Snapshot {
    /// Fails if one of the nodes has a value that must be unique, and so has another. Nodes that are gone have none.
    fn check_nodes_differ(&self, nodes: &[NodeId]) -> Result<()> {
        for rule in &self.memtable.schema.constraints {
            let Some((label, key)) = rule.lookup_key() else { continue };
            let nodes = self.with_label(nodes, label)?;
            let values = self.node_properties(&nodes, &[key])?.remove(0);
            let owners = self.lookup(label, key, &values)?;
            for (row, &node) in nodes.iter().enumerate() {
                let value = values.value(row);
                if equals_itself(&value) && owners.value(row) != model::Value::Node(node) {
                    return Err(taken(&self.memtable.schema, rule, &value, Some(node)));
                }
            }
        }
        for (at, rule) in self.ordered_rules() {
            let Subject::Label(label) = rule.subject else { continue };
            let nodes = self.with_label(nodes, label)?;
            let columns = self.node_properties(&nodes, &rule.keys)?;
            let rows = nodes.iter().enumerate();
            self.check_alone(at, rule, rows.filter_map(|(row, node)| Some((node.0, values_at(&columns, row)?))))?;
        }
        Ok(())
    }

    /// The same for edges.
    fn check_edges_differ(&self, edges: &[EdgeId]) -> Result<()> {
        for (at, rule) in self.ordered_rules() {
            let Subject::EdgeType(edge_type) = rule.subject else { continue };
            let mut there = Vec::new();
            for &edge in edges {
                if self.edge_ends(edge)?.is_some_and(|ends| ends.edge_type == edge_type) {
                    there.push(edge);
                }
            }
            let columns = self.edge_properties(&there, &rule.keys)?;
            let rows = there.iter().enumerate();
            self.check_alone(at, rule, rows.filter_map(|(row, edge)| Some((edge.0, values_at(&columns, row)?))))?;
        }
        Ok(())
    }

    /// Those of the nodes that carry a label.
    fn with_label(&self, nodes: &[NodeId], label: LabelId) -> Result<Vec<NodeId>> {
        let has_label = self.has_label(nodes, label)?;
        Ok((0..nodes.len()).filter(|&row| has_label.get(row)).map(|row| nodes[row]).collect())
    }
}
