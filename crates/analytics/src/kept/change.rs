//! Nodes and edges of a projection that were added or deleted between two snapshots.

use model::batch::NodeBatch;
use model::column::Bitmap;
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::store::{Direction, NodeScan, ReadView, Topology};

use crate::projection::Projection;

/// The nodes of a projection, by id.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    /// One more than the largest id there may be.
    pub(crate) bound: usize,
    /// Number of nodes.
    pub(crate) count: usize,
    /// The nodes, as bits; `None` if all below the bound are members.
    members: Option<Bitmap>,
}

impl Nodes {
    /// Reads which nodes take part.
    pub(crate) fn read(view: &dyn ReadView, projection: &Projection, interrupt: &Interrupt) -> Result<Nodes> {
        let bound = view.node_id_bound() as usize;
        if projection.labels.is_none() && view.statistics().nodes as usize == bound {
            return Ok(Nodes { bound, count: bound, members: None });
        }
        let mut members = Bitmap::filled(bound, false);
        let scans: Vec<NodeScan> = match &projection.labels {
            None => vec![NodeScan::default()],
            Some(labels) => {
                labels.iter().map(|&label| NodeScan { labels: vec![label], ..NodeScan::default() }).collect()
            }
        };
        let mut batch = NodeBatch::default();
        for scan in &scans {
            let mut cursor = view.scan(scan)?;
            while cursor.next(&mut batch)? {
                interrupt.check()?;
                batch.nodes.iter().for_each(|node| members.set(node.index(), true));
            }
        }
        Ok(Nodes { bound, count: members.count_ones(), members: Some(members) })
    }

    /// Bytes held.
    pub(crate) fn byte_count(&self) -> usize {
        self.members.as_ref().map_or(0, |members| size_of_val(members.words()))
    }

    /// True if a node takes part.
    #[inline]
    pub(crate) fn contains(&self, node: usize) -> bool {
        node < self.bound && self.members.as_ref().is_none_or(|members| members.get(node))
    }

    /// The nodes, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.bound as u32).filter(|&node| self.contains(node as usize))
    }
}

/// Nodes and edges that were added or deleted. Edges run in the direction in which the projection follows them; with
/// both directions each is listed twice, but a self-loop once.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) added: Vec<(u32, u32)>,
    pub(crate) deleted: Vec<(u32, u32)>,
    pub(crate) nodes_added: Vec<u32>,
    pub(crate) nodes_deleted: Vec<u32>,
}

impl Change {
    /// The changes since `before`; `None` if they are not known. They are not known either if a node that was there
    /// before began or ceased to take part by its labels: its edges are none that came or went.
    pub(crate) fn between(
        view: &dyn ReadView,
        before: &Topology,
        projection: &Projection,
        old: &Nodes,
        new: &Nodes,
    ) -> Result<Option<Change>> {
        let Some(delta) = view.edges_since(before)? else { return Ok(None) };
        let mut change = Change::default();
        for node in 0..old.bound.max(new.bound) {
            match (old.contains(node), new.contains(node)) {
                (false, true) => change.nodes_added.push(node as u32),
                (true, false) => change.nodes_deleted.push(node as u32),
                _ => {}
            }
        }
        if projection.labels.is_some() && !is_by_birth_and_death(view, &change, old)? {
            return Ok(None);
        }
        let is_wanted = |edge_type| projection.types.as_ref().is_none_or(|types| types.contains(&edge_type));
        for (edges, out, nodes) in [(&delta.added, &mut change.added, new), (&delta.deleted, &mut change.deleted, old)]
        {
            for (_, source, target) in edges.iter().filter(|edge| is_wanted(edge.0)) {
                if !nodes.contains(source.index()) || !nodes.contains(target.index()) {
                    continue;
                }
                let (source, target) = (source.index() as u32, target.index() as u32);
                match projection.direction {
                    Direction::Out => out.push((source, target)),
                    Direction::In => out.push((target, source)),
                    Direction::Both => {
                        out.push((source, target));
                        if source != target {
                            out.push((target, source));
                        }
                    }
                }
            }
        }
        Ok(Some(change))
    }
}

/// True if all nodes that began to take part are new, and all that ceased to are gone.
fn is_by_birth_and_death(view: &dyn ReadView, change: &Change, old: &Nodes) -> Result<bool> {
    let gone: Vec<NodeId> = change.nodes_deleted.iter().map(|&node| NodeId(u64::from(node))).collect();
    let exist = view.nodes_exist(&gone)?;
    Ok(change.nodes_added.iter().all(|&node| node as usize >= old.bound) && exist.count_ones() == 0)
}
