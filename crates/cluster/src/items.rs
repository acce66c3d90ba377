//! Items that a transaction wrote or relies on: of two transactions that do not see each other and have conflicting items
//! only the first can commit.

use std::path::Path;

use model::codec::bytes::{Get, Put};
use model::codec::hash::{hash_bytes, mix};
use model::{EdgeTypeId, Error, NodeId, Result, Schema, error};

/// Something that a transaction wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A node: its labels, its properties, its deletion.
    Node(NodeId),
    /// An edge: its properties, its deletion; with type and ends.
    Edge(u64, EdgeTypeId, NodeId, NodeId),
    /// A value of a constraint that demands unique values, as bytes.
    Value(String, u32, Vec<u8>),
    /// Something that was made because it was not there, as a hash.
    Claim(u64),
}

impl Item {
    /// A number for the item. Two items may share one; then a transaction is refused in vain.
    pub(crate) fn hash(&self) -> u64 {
        match self {
            Item::Node(node) => hash_of_node(*node),
            Item::Edge(number, ..) => mix(number ^ 0x6564_6765 << 32),
            Item::Value(_, index, bytes) => mix(hash_bytes(bytes, 3) ^ u64::from(*index) << 32),
            Item::Claim(hash) => mix(hash ^ 0xc1a1),
        }
    }

    /// The error of the transaction that comes second.
    pub(crate) fn conflict(&self, schema: &Schema) -> Error {
        match self {
            Item::Node(node) => changed_node(*node),
            Item::Edge(_, edge_type, source, target) => error!(
                Conflict,
                "an edge of type {} from node {} to node {} was changed by a transaction that committed first",
                schema.edge_type_name(*edge_type),
                source.0,
                target.0
            ),
            Item::Value(name, ..) => error!(
                Conflict,
                "a value of the constraint {name} was given to another by a transaction that committed first"
            ),
            Item::Claim(_) => error!(
                Conflict,
                "what MERGE did not find, and was to create, was created by a transaction that committed first"
            ),
        }
    }
}

fn changed_node(node: NodeId) -> Error {
    error!(Conflict, "node {} was changed by a transaction that committed first", node.0)
}

/// A number for a node.
fn hash_of_node(node: NodeId) -> u64 {
    mix(node.0 ^ 0x6e6f_6465 << 32)
}

/// Items of a transaction, as numbers in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Items {
    /// Things that it wrote.
    pub(crate) writes: Vec<u64>,
    /// Nodes that it deleted; they are among what it wrote too.
    pub(crate) deletes: Vec<u64>,
    /// Nodes at which it made edges.
    pub(crate) touches: Vec<u64>,
}

impl Items {
    /// Adds items to what was written.
    pub(crate) fn write(&mut self, items: &[Item]) {
        self.writes.extend(items.iter().map(Item::hash));
    }

    /// Adds a node that was deleted.
    pub(crate) fn delete(&mut self, node: NodeId) {
        self.deletes.push(hash_of_node(node));
    }

    /// Adds a node at which an edge was made.
    pub(crate) fn touch(&mut self, node: NodeId) {
        self.touches.push(hash_of_node(node));
    }

    /// Puts the numbers in order.
    pub(crate) fn finish(&mut self) {
        for list in [&mut self.writes, &mut self.deletes, &mut self.touches] {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// The number of an item of `self` that conflicts with an earlier transaction's; `None` if both can commit.
    pub(crate) fn conflict(&self, earlier: &Items) -> Option<u64> {
        first_common(&self.writes, &earlier.writes)
            .or_else(|| first_common(&self.touches, &earlier.deletes))
            .or_else(|| first_common(&self.deletes, &earlier.touches))
    }

    /// The items as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for list in [&self.writes, &self.deletes, &self.touches] {
            out.put_u32(list.len() as u32);
            list.iter().for_each(|number| out.put_u64(*number));
        }
        out
    }

    /// Reads the items.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Items> {
        let mut get = Get::new(bytes, Path::new("items of a transaction"), 0);
        let mut list = || (0..get.count(8)?).map(|_| get.u64()).collect::<Result<Vec<u64>>>();
        Ok(Items { writes: list()?, deletes: list()?, touches: list()? })
    }
}

/// The error of a conflict at a node that was deleted, or at which an edge was made.
pub(crate) fn edge_conflict(nodes: impl Iterator<Item = NodeId>, number: u64, is_deleted: bool) -> Error {
    let mut nodes = nodes.filter(|node| hash_of_node(*node) == number);
    let name = nodes.next().map_or_else(|| "a node".to_owned(), |node| format!("node {}", node.0));
    let how = if is_deleted { "got an edge from" } else { "was deleted by" };
    error!(Conflict, "{name} {how} a transaction that committed first")
}

/// The first number that two ordered lists share.
fn first_common(a: &[u64], b: &[u64]) -> Option<u64> {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if short.len() * 16 < long.len() {
        return short.iter().copied().find(|number| long.binary_search(number).is_ok());
    }
    let (mut short, mut long) = (short.iter().peekable(), long.iter().peekable());
    while let (Some(&&x), Some(&&y)) = (short.peek(), long.peek()) {
        match x.cmp(&y) {
            std::cmp::Ordering::Equal => return Some(x),
            std::cmp::Ordering::Less => drop(short.next()),
            std::cmp::Ordering::Greater => drop(long.next()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Item, Items};
    use model::NodeId;

    fn items(written: &[u64], deleted: &[u64], touched: &[u64]) -> Items {
        let mut items = Items::default();
        written.iter().chain(deleted).for_each(|&id| items.write(&[Item::Node(NodeId(id))]));
        deleted.iter().for_each(|&id| items.delete(NodeId(id)));
        touched.iter().for_each(|&id| items.touch(NodeId(id)));
        items.finish();
        items
    }

    #[test]
    fn conflicts_are_those_of_the_table() {
        let many: Vec<u64> = (100..200).collect();
        for (mine, earlier, conflicts) in [
            (items(&[1], &[], &[]), items(&[1], &[], &[]), true),
            (items(&[1], &[], &[]), items(&[], &[1], &[]), true),
            (items(&[1], &[], &[]), items(&[], &[], &[1]), false),
            (items(&[], &[], &[1]), items(&[], &[1], &[]), true),
            (items(&[], &[1], &[]), items(&[], &[], &[1]), true),
            (items(&[], &[], &[1]), items(&[1], &[], &[1]), false),
            (items(&many, &[], &[]), items(&[150], &[], &[]), true),
            (items(&many, &[], &[]), items(&[250], &[], &[]), false),
        ] {
            assert_eq!(mine.conflict(&earlier).is_some(), conflicts, "{mine:?} after {earlier:?}");
            assert_eq!(Items::decode(&mine.encode()).unwrap(), mine);
        }
    }
}
