//! Items that a serializable transaction has read: if another that committed meanwhile changed one of them, it may not
//! commit.
//!
//! Items are coarser than what was read, never finer: a change may be taken for one of what was read that it is not,
//! but none that is goes unseen. Items that were looked for and not found count as read too.

use std::sync::{Arc, Mutex, PoisonError};

use model::{
    Consumer, EdgeTypeId, LabelId, MemoryBudget, NodeId, PropertyKeyId, Reservation, Schema, Set, Value, error,
};

use crate::codec::hash::{hash_value, mix};

/// Items that are kept at most; a transaction that reads more has read everything.
const READS_MAX: usize = 1 << 19;

/// Something that can be read, and changed by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Read {
    /// The names, constraints and indexes.
    Schema,
    /// The properties of a node.
    Node(NodeId),
    /// Existence of a node, and its labels.
    Labels(NodeId),
    /// The edges at a node, with their properties: those of a type, or all.
    Edges { node: NodeId, edge_type: Option<EdgeTypeId> },
    /// All edges of a type, or all at all.
    EdgesOf(Option<EdgeTypeId>),
    /// The set of nodes that carry a label, or of all nodes.
    Members(Option<LabelId>),
    /// A property of the nodes that carry a label, or of all.
    Values { label: Option<LabelId>, key: PropertyKeyId },
    /// The set of nodes of a label that have a value, by its hash.
    Entry { label: LabelId, key: PropertyKeyId, hash: u64 },
}

impl Read {
    /// The nodes of a label that have that value.
    pub(crate) fn entry(label: LabelId, key: PropertyKeyId, value: &Value) -> Read {
        Read::Entry { label, key, hash: hash_value(value) }
    }

    /// A number for the item. Two items may share one; then transactions are refused in vain.
    pub(crate) fn hash(&self) -> u64 {
        let of = |kind: u64, a: u64, b: u64| mix(mix(mix(kind) ^ a).wrapping_add(b));
        let or_all = |number: Option<u32>| number.map_or(u64::MAX, u64::from);
        match *self {
            Read::Schema => of(1, 0, 0),
            Read::Node(node) => of(2, node.0, 0),
            Read::Labels(node) => of(3, node.0, 0),
            Read::Edges { node, edge_type } => of(4, node.0, or_all(edge_type.map(|of| of.0))),
            Read::EdgesOf(edge_type) => of(5, or_all(edge_type.map(|of| of.0)), 0),
            Read::Members(label) => of(6, or_all(label.map(|of| of.0)), 0),
            Read::Values { label, key } => of(7, or_all(label.map(|of| of.0)), u64::from(key.0)),
            Read::Entry { label, key, hash } => of(8, u64::from(label.0) << 32 | u64::from(key.0), hash),
        }
    }

    /// The error of the transaction that read what another changed.
    pub(crate) fn conflict(&self, schema: &Schema) -> model::Error {
        let what = match *self {
            Read::Schema => "the names, constraints or indexes".to_owned(),
            Read::Node(node) => format!("node {}", node.0),
            Read::Labels(node) => format!("the labels of node {}", node.0),
            Read::Edges { node, edge_type: None } => format!("the edges of node {}", node.0),
            Read::Edges { node, edge_type: Some(edge_type) } => {
                format!("the edges of type {} of node {}", schema.edge_type_name(edge_type), node.0)
            }
            Read::EdgesOf(None) => "the edges".to_owned(),
            Read::EdgesOf(Some(edge_type)) => format!("the edges of type {}", schema.edge_type_name(edge_type)),
            Read::Members(None) => "which nodes there are".to_owned(),
            Read::Members(Some(label)) => format!("which nodes have label {}", schema.label_name(label)),
            Read::Values { label: None, key } => format!("property {} of the nodes", schema.property_key_name(key)),
            Read::Values { label: Some(label), key } => {
                format!(
                    "property {} of the nodes with label {}",
                    schema.property_key_name(key),
                    schema.label_name(label)
                )
            }
            Read::Entry { label, key, .. } => format!(
                "which node with label {} has a value of property {}",
                schema.label_name(label),
                schema.property_key_name(key)
            ),
        };
        error!(Conflict, "the transaction read {what}, and a transaction that committed first changed that")
    }
}

/// All that a transaction has read so far. Threads of one statement add to it together.
#[derive(Debug)]
pub(crate) struct Reads(Mutex<(ReadItems, Reservation)>);

/// Approximate bytes of an item in its set.
const READ_BYTES: usize = 2 * size_of::<Read>();

/// Items that were read.
#[derive(Debug)]
pub(crate) enum ReadItems {
    /// These.
    Some(Set<Read>),
    /// More than is kept.
    Everything,
}

impl Default for ReadItems {
    fn default() -> ReadItems {
        ReadItems::Some(Set::default())
    }
}

impl Reads {
    /// Nothing was read yet.
    pub(crate) fn new(memory: &Arc<MemoryBudget>) -> Reads {
        Reads(Mutex::new((ReadItems::default(), memory.empty(Consumer::Query))))
    }

    /// Adds items. What is too much to keep, or more than the memory limit leaves room for, is everything.
    pub(crate) fn add(&self, items: impl IntoIterator<Item = Read>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, memory) = &mut *kept;
        if let ReadItems::Some(all) = kept {
            all.extend(items);
            if all.len() > READS_MAX || memory.cover(all.capacity() * READ_BYTES).is_err() {
                *kept = ReadItems::Everything;
                memory.resize(0);
            }
        }
    }

    /// Adds all that there is.
    pub(crate) fn add_everything(&self) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0 = ReadItems::Everything;
        kept.1.resize(0);
    }

    /// Takes the items out.
    pub(crate) fn take(&self) -> ReadItems {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.1.resize(0);
        std::mem::take(&mut kept.0)
    }
}
