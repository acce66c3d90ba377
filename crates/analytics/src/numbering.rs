//! Numbers for the nodes of a view: from 0, without gaps, in the order of their ids.

use model::Map;
use model::batch::NodeBatch;
use model::error::Result;
use model::id::{LabelId, NodeId};
use model::interrupt::Interrupt;
use model::store::{NodeScan, ReadView};

/// The number of each node of a view, and the node of each number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Numbering {
    /// Every id below a bound is a node of the view: ids are the numbers.
    Identity(u32),
    /// Ids are dense, but not all take part.
    Dense {
        /// For each id, its number, or [`ABSENT`].
        numbers: Vec<u32>,
        /// For each number, its node.
        nodes: Vec<NodeId>,
    },
    /// Ids may be anything.
    Sparse {
        /// The number of each node.
        numbers: Map<NodeId, u32>,
        /// For each number, its node.
        nodes: Vec<NodeId>,
    },
}

/// The number given for a node that does not take part.
pub(crate) const ABSENT: u32 = u32::MAX;

impl Numbering {
    /// Nodes whose ids are `0..count`.
    pub(crate) fn identity(count: u32) -> Numbering {
        Numbering::Identity(count)
    }

    /// Numbers the nodes that carry one of the labels, or all.
    pub(crate) fn build(view: &dyn ReadView, labels: Option<&[LabelId]>, interrupt: &Interrupt) -> Result<Numbering> {
        let bound = view.node_id_bound();
        let is_dense = view.capabilities().dense_node_ids;
        if labels.is_none() && is_dense && !view.capabilities().is_remote && view.statistics().nodes == bound {
            return Ok(Numbering::Identity(node_number(bound)?));
        }
        let scans = match labels {
            None => vec![NodeScan::default()],
            Some(labels) => {
                labels.iter().map(|&label| NodeScan { labels: vec![label], ..NodeScan::default() }).collect()
            }
        };
        let mut nodes = Vec::new();
        let mut batch = NodeBatch::default();
        for scan in &scans {
            let mut cursor = view.scan(scan)?;
            while cursor.next(&mut batch)? {
                interrupt.check()?;
                nodes.extend_from_slice(&batch.nodes);
            }
        }
        if !nodes.is_sorted() {
            nodes.sort_unstable();
        }
        nodes.dedup();
        node_number(nodes.len() as u64)?;
        if is_dense {
            let mut numbers = vec![ABSENT; bound as usize];
            (0..).zip(&nodes).for_each(|(number, node)| numbers[node.index()] = number);
            Ok(Numbering::Dense { numbers, nodes })
        } else {
            let numbers = nodes.iter().copied().zip(0..).collect();
            Ok(Numbering::Sparse { numbers, nodes })
        }
    }

    /// Approximate bytes that it holds.
    pub(crate) fn byte_count(&self) -> usize {
        match self {
            Numbering::Identity(_) => 0,
            Numbering::Dense { numbers, nodes } => 4 * numbers.len() + 8 * nodes.len(),
            Numbering::Sparse { numbers, nodes } => 16 * numbers.capacity() + 8 * nodes.len(),
        }
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Numbering::Identity(count) => *count as usize,
            Numbering::Dense { nodes, .. } | Numbering::Sparse { nodes, .. } => nodes.len(),
        }
    }

    /// The node of that number.
    #[inline]
    pub(crate) fn node(&self, number: u32) -> NodeId {
        match self {
            Numbering::Identity(_) => NodeId(u64::from(number)),
            Numbering::Dense { nodes, .. } | Numbering::Sparse { nodes, .. } => nodes[number as usize],
        }
    }

    /// The number of that node.
    pub(crate) fn index(&self, node: NodeId) -> Option<u32> {
        match self {
            Numbering::Identity(count) => u32::try_from(node.0).ok().filter(|number| number < count),
            Numbering::Dense { numbers, .. } => numbers.get(node.index()).copied().filter(|&number| number != ABSENT),
            Numbering::Sparse { numbers, .. } => numbers.get(&node).copied(),
        }
    }

    /// The number of the node with that id, or [`ABSENT`].
    #[inline]
    pub(crate) fn number(&self, id: u32) -> u32 {
        match self {
            Numbering::Identity(count) => {
                if id < *count {
                    id
                } else {
                    ABSENT
                }
            }
            Numbering::Dense { numbers, .. } => numbers.get(id as usize).copied().unwrap_or(ABSENT),
            Numbering::Sparse { numbers, .. } => numbers.get(&NodeId(u64::from(id))).copied().unwrap_or(ABSENT),
        }
    }

    /// Number of nodes with an id below that one: the number of the node with that id, or of the next.
    pub(crate) fn lower(&self, id: u64) -> usize {
        match self {
            Numbering::Identity(count) => id.min(u64::from(*count)) as usize,
            Numbering::Dense { nodes, .. } | Numbering::Sparse { nodes, .. } => {
                nodes.partition_point(|node| node.0 < id)
            }
        }
    }

    /// Fills `out` with the numbers of `nodes`, [`ABSENT`] for those that do not take part; true if all do.
    pub(crate) fn indices(&self, nodes: &[NodeId], out: &mut Vec<u32>) -> bool {
        out.clear();
        match self {
            Numbering::Identity(count) => {
                let count = u64::from(*count);
                out.extend(nodes.iter().map(|node| if node.0 < count { node.0 as u32 } else { ABSENT }));
            }
            Numbering::Dense { numbers, .. } => {
                out.extend(nodes.iter().map(|node| numbers.get(node.index()).copied().unwrap_or(ABSENT)));
            }
            Numbering::Sparse { numbers, .. } => {
                out.extend(nodes.iter().map(|node| numbers.get(node).copied().unwrap_or(ABSENT)));
            }
        }
        out.iter().fold(0, |most, &number| number.max(most)) != ABSENT
    }
}

/// A count of nodes that fits the numbers of a view.
fn node_number(count: u64) -> Result<u32> {
    match u32::try_from(count) {
        Ok(number) if number < ABSENT => Ok(number),
        _ => Err(model::error!(Limit, "{count} nodes take part, a view in memory numbers at most {}", ABSENT - 1)
            .with_remedy("name fewer labels")),
    }
}
