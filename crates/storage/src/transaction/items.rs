//! What a transaction wrote, item by item: of two transactions that write the same item only the first can commit.
//!
//! An item is a node (its labels, its properties, its deletion), or all edges of one type from one node to another (their
//! properties, their deletion), or something that was made because it was not there. What a transaction merely adds, nodes
//! and edges, is no item.

use std::path::Path;

use model::{EdgeTypeId, NodeId, Result, Schema, SortKey, error};

use crate::codec::bytes::Get;
use crate::codec::hash::mix;
use crate::wal::record::{EdgeName, Operation, operation};

/// Something that a transaction wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A node.
    Node(NodeId),
    /// The edges of one type from one node to another.
    Edges { edge_type: EdgeTypeId, source: NodeId, target: NodeId },
    /// The order of parallel edges of a type: by it they are named. Changed by a new sort key, relied on by whoever names an
    /// edge.
    Order { edge_type: EdgeTypeId, is_changed: bool },
    /// What was made because it was not there, as a hash.
    Claim(u64),
}

impl Item {
    /// A number for the item. Two items may share one; then transactions are refused in vain.
    pub(crate) fn hash(&self) -> u64 {
        match *self {
            Item::Node(node) => mix(node.0 ^ 0x6e6f_6465 << 32),
            Item::Edges { edge_type, source, target } => {
                mix(mix(mix(u64::from(edge_type.0)) ^ source.0).wrapping_add(target.0))
            }
            Item::Order { edge_type, .. } => mix(u64::from(edge_type.0) ^ 0x6f72_6465 << 32),
            Item::Claim(hash) => mix(hash ^ 0xc1a1),
        }
    }

    /// Whether others that write the item, too, must not have begun before.
    pub(crate) fn is_written(&self) -> bool {
        !matches!(self, Item::Order { is_changed: false, .. })
    }

    /// The error of the transaction that comes second.
    pub(crate) fn conflict(&self, schema: &Schema) -> model::Error {
        match *self {
            Item::Node(node) => error!(Conflict, "node {} was changed by a transaction that committed first", node.0),
            Item::Edges { edge_type, source, target } => {
                let name = schema.edge_type_name(edge_type);
                error!(
                    Conflict,
                    "an edge of type {name} from node {} to node {} was changed by a transaction that committed first",
                    source.0,
                    target.0
                )
            }
            Item::Order { edge_type, .. } => {
                let name = schema.edge_type_name(edge_type);
                error!(Conflict, "the sort key of type {name} was changed by a transaction that committed first")
            }
            Item::Claim(_) => error!(
                Conflict,
                "what MERGE did not find, and was to create, was created by a transaction that committed first"
            ),
        }
    }
}

/// The items of the operations that begin at these places of a log.
pub(crate) fn items_of(log: &[u8], starts: &[usize], claims: &[u64]) -> Result<Vec<Item>> {
    let mut items: Vec<Item> = claims.iter().map(|&hash| Item::Claim(hash)).collect();
    for &start in starts {
        match operation(&mut Get::new(&log[start..], Path::new("transaction"), start as u64))? {
            Operation::SetNodeProperties(nodes, ..)
            | Operation::AddLabels(nodes, _)
            | Operation::RemoveLabels(nodes, _)
            | Operation::DeleteNodes(nodes) => items.extend(nodes.into_iter().map(Item::Node)),
            Operation::SetEdgeProperties(edges, ..) | Operation::DeleteEdges(edges) => {
                for edge in edges {
                    if let EdgeName::Old { edge_type, source, target, .. } = edge {
                        let order = Item::Order { edge_type, is_changed: false };
                        items.push(Item::Edges { edge_type, source, target });
                        if !items[..items.len() - 1].ends_with(&[order]) {
                            items.push(order);
                        }
                    }
                }
            }
            Operation::SetSortKey(SortKey { edge_type, .. }) | Operation::DropSortKey(edge_type) => {
                items.push(Item::Order { edge_type, is_changed: true });
            }
            Operation::Name(..)
            | Operation::CreateNodes { .. }
            | Operation::CreateEdges { .. }
            | Operation::CreateConstraint(_)
            | Operation::CreateIndex(_)
            | Operation::DropIndex(_)
            | Operation::DropConstraint(_) => {}
        }
    }
    Ok(items)
}
