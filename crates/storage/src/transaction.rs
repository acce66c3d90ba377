//! The one writing transaction: a snapshot with a memtable root of its own, and the log of what it did so far.
//!
//! Each call is first checked whole and only then applied, so that a call that fails changes nothing. Rolling back to a
//! savepoint goes back to an earlier root and repeats the log up to the savepoint; so a savepoint is nothing but a
//! length of the log, and costs nothing.
//!
//! Invariant: the memtable is always what the roots kept plus the log since say.

mod apply;
mod check;

use std::path::Path;

use model::store::{NewEdges, NewNodes, Savepoint};
use model::{
    Column, Constraint, EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId, ReadView, Result, WriteTransaction, error,
};

use crate::codec::bytes::Get;
use crate::engine::NativeStore;
use crate::engine::gate::Turn;
use crate::memtable::Memtable;
use crate::snapshot::Snapshot;
use crate::wal::record::{self, NameKind};

/// Bytes of log between two roots that a transaction keeps for rolling back.
const ROOT_INTERVAL_BYTES: usize = 64 << 10;

/// A transaction of the native store.
pub(crate) struct NativeTransaction<'a> {
    store: &'a NativeStore,
    turn: Turn<'a>,
    snapshot: Snapshot,
    log: Vec<u8>,
    /// Roots to roll back to, each with the length of the log at that moment.
    roots: Vec<(usize, Memtable)>,
}

impl<'a> NativeTransaction<'a> {
    /// Begins at the state that the last transaction left.
    pub(crate) fn new(store: &'a NativeStore, turn: Turn<'a>, snapshot: Snapshot) -> NativeTransaction<'a> {
        let roots = vec![(0, snapshot.memtable.clone())];
        NativeTransaction { store, turn, snapshot, log: Vec::new(), roots }
    }

    fn name(&mut self, kind: NameKind, name: &str) -> u32 {
        let schema = &self.snapshot.memtable.schema;
        let names = match kind {
            NameKind::Label => &schema.labels,
            NameKind::EdgeType => &schema.edge_types,
            NameKind::PropertyKey => &schema.property_keys,
        };
        if let Some(number) = names.find(name) {
            return number;
        }
        record::put_name(kind, name, &mut self.log);
        self.snapshot.intern(kind, name)
    }
}

impl WriteTransaction for NativeTransaction<'_> {
    fn view(&self) -> &dyn ReadView {
        &self.snapshot
    }

    fn label(&mut self, name: &str) -> Result<LabelId> {
        Ok(LabelId(self.name(NameKind::Label, name)))
    }

    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId> {
        Ok(EdgeTypeId(self.name(NameKind::EdgeType, name)))
    }

    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId> {
        Ok(PropertyKeyId(self.name(NameKind::PropertyKey, name)))
    }

    fn create_nodes(&mut self, new: &NewNodes<'_>) -> Result<Vec<NodeId>> {
        self.snapshot.check_new_nodes(new)?;
        record::put_create_nodes(new, &mut self.log);
        Ok(self.snapshot.create_nodes(new))
    }

    fn create_edges(&mut self, new: &NewEdges<'_>) -> Result<Vec<EdgeId>> {
        self.snapshot.check_new_edges(new)?;
        record::put_create_edges(new, &mut self.log);
        Ok(self.snapshot.create_edges(new))
    }

    fn set_node_properties(&mut self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        self.snapshot.check_set_node_properties(nodes, key, values)?;
        record::put_set_node_properties(nodes, key, values, &mut self.log);
        self.snapshot.set_node_properties(nodes, key, values)
    }

    fn set_edge_properties(&mut self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        self.snapshot.check_set_edge_properties(edges, key, values)?;
        record::put_set_edge_properties(edges, key, values, &mut self.log);
        self.snapshot.set_edge_properties(edges, key, values);
        Ok(())
    }

    fn add_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        self.snapshot.check_add_labels(nodes, labels)?;
        record::put_add_labels(nodes, labels, &mut self.log);
        self.snapshot.add_labels(nodes, labels)
    }

    fn remove_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        self.snapshot.check_nodes_exist(nodes)?;
        record::put_remove_labels(nodes, labels, &mut self.log);
        self.snapshot.remove_labels(nodes, labels)
    }

    fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<()> {
        record::put_delete_edges(edges, &mut self.log);
        self.snapshot.delete_edges(edges);
        Ok(())
    }

    fn delete_nodes(&mut self, nodes: &[NodeId]) -> Result<()> {
        self.snapshot.check_unconnected(nodes)?;
        record::put_delete_nodes(nodes, &mut self.log);
        self.snapshot.delete_nodes(nodes)
    }

    fn create_constraint(&mut self, constraint: Constraint) -> Result<()> {
        let index = self.snapshot.check_new_constraint(&constraint)?;
        record::put_create_constraint(&constraint, &mut self.log);
        self.snapshot.create_constraint(constraint, index);
        Ok(())
    }

    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        self.snapshot.drop_constraint(name)?;
        record::put_drop_constraint(name, &mut self.log);
        Ok(())
    }

    fn savepoint(&mut self) -> Savepoint {
        let length = self.log.len();
        let kept = self.roots.last().map_or(0, |root| root.0);
        if length - kept >= ROOT_INTERVAL_BYTES {
            self.roots.push((length, self.snapshot.memtable.clone()));
        }
        Savepoint(length as u64)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let length = savepoint.0 as usize;
        if length > self.log.len() {
            return Err(error!(TransactionState, "savepoint {length} was undone or never made"));
        }
        if length == self.log.len() {
            return Ok(());
        }
        self.roots.retain(|root| root.0 <= length);
        let (start, root) = self.roots.last().expect("the root at the start is never given up");
        self.snapshot.memtable = root.clone();
        self.snapshot.apply_record(&mut Get::new(&self.log[*start..length], Path::new("transaction"), 0))?;
        self.log.truncate(length);
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let NativeTransaction { store, turn, snapshot, log, roots } = *self;
        drop(roots);
        store.commit(turn, snapshot, &log)
    }
}
