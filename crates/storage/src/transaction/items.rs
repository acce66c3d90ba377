//! Items that a transaction wrote: of two transactions that write the same item only the first can commit.
//!
//! An item is a node (its labels, its properties, its deletion), or an edge (its properties, its deletion), or
//! something that was made because it was not there. What a transaction merely adds, nodes and edges, is no item.

use std::path::Path;

use model::{NodeId, Result, Schema, error};

use crate::codec::bytes::Get;
use crate::codec::hash::mix;
use crate::wal::record::{EdgeKey, EdgeName, Operation, operation};

/// Something that a transaction wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A node.
    Node(NodeId),
    /// An edge.
    Edge(EdgeKey),
    /// Something that was made because it was not there, as a hash.
    Claim(u64),
}

impl Item {
    /// A number for the item. Two items may share one; then transactions are refused in vain.
    pub(crate) fn hash(&self) -> u64 {
        match *self {
            Item::Node(node) => mix(node.0 ^ 0x6e6f_6465 << 32),
            Item::Edge(key) => mix(key.number ^ 0x6564_6765 << 32),
            Item::Claim(hash) => mix(hash ^ 0xc1a1),
        }
    }

    /// The error of the transaction that comes second.
    pub(crate) fn conflict(&self, schema: &Schema) -> model::Error {
        match *self {
            Item::Node(node) => error!(Conflict, "node {} was changed by a transaction that committed first", node.0),
            Item::Edge(EdgeKey { ends, .. }) => {
                let name = schema.edge_type_name(ends.edge_type);
                error!(
                    Conflict,
                    "an edge of type {name} from node {} to node {} was changed by a transaction that committed first",
                    ends.source.0,
                    ends.target.0
                )
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
                let old = |edge| if let EdgeName::Old(key) = edge { Some(Item::Edge(key)) } else { None };
                items.extend(edges.into_iter().filter_map(old));
            }
            Operation::Name(..)
            | Operation::CreateNodes { .. }
            | Operation::CreateEdges { .. }
            | Operation::CreateConstraint(_)
            | Operation::SetSortKey(_)
            | Operation::DropSortKey(_)
            | Operation::CreateIndex(_)
            | Operation::DropIndex(_)
            | Operation::DropConstraint(_) => {}
        }
    }
    Ok(items)
}
