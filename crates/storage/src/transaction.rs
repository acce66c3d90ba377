//! A writing transaction: a snapshot with a memtable root of its own, and the log of what it did so far.
//!
//! It waits for nobody until it commits, and nobody for it. Each call is first checked whole and only then applied, so that
//! a call that fails changes nothing. Rolling back to a savepoint goes back to an earlier root and repeats the log up to the
//! savepoint; so a savepoint is nothing but a length of the log, and costs nothing.
//!
//! Invariant: the memtable is always what the roots kept plus the log since say.

mod apply;
pub(crate) mod check;
pub(crate) mod items;
pub(crate) mod left;
mod names;
mod ordered;
mod presence;
mod property_types;
mod ranks;
pub(crate) mod reads;
pub(crate) mod rebase;
mod replayed;
mod tracked;

use std::path::Path;

use model::store::{NewEdges, NewNodes, Savepoint};
use model::{
    Column, Constraint, EdgeId, EdgeTypeId, Index, Interrupt, LabelId, NodeId, PropertyKeyId, ReadView, Result,
    SortKey, WriteTransaction, error,
};

use crate::codec::bytes::Get;
use crate::engine::head::{Start, Written};
use crate::memtable::Memtable;
use crate::snapshot::Snapshot;
use crate::transaction::check::check_new_name;
use crate::transaction::presence::Touched;
use crate::transaction::tracked::Tracked;
use crate::wal::record::{self, NameKind};

/// Bytes of log between two roots that a transaction keeps for rolling back.
const ROOT_INTERVAL_BYTES: usize = 64 << 10;

/// A transaction of the native store.
pub(crate) struct NativeTransaction {
    start: Start,
    snapshot: Tracked,
    /// The ordinal of the first edge that it makes.
    first_own: u32,
    log: Vec<u8>,
    /// Where in the log operations begin that change what was there before.
    changes: Vec<usize>,
    claims: Vec<u64>,
    /// Ids of nodes it made: the length of the log before, the first and how many.
    reserved: Vec<(usize, NodeId, u64)>,
    /// Roots to roll back to, each with the length of the log at that moment.
    roots: Vec<(usize, Memtable)>,
    /// What may lack properties that constraints demand.
    touched: Touched,
    /// The memtable is not what the log says, since the files could not be read.
    is_broken: bool,
}

impl NativeTransaction {
    /// Begins at the state that the last transaction left.
    pub(crate) fn new(start: Start) -> NativeTransaction {
        let memory = start.engine().memory();
        let snapshot = Tracked::new(Snapshot::clone(start.snapshot()), start.isolation(), memory);
        NativeTransaction {
            first_own: snapshot.memtable.edges.len() as u32,
            roots: vec![(0, snapshot.memtable.clone())],
            snapshot,
            start,
            log: Vec::new(),
            changes: Vec::new(),
            claims: Vec::new(),
            reserved: Vec::new(),
            touched: Touched::default(),
            is_broken: false,
        }
    }

    fn name(&mut self, kind: NameKind, name: &str) -> Result<u32> {
        let schema = &self.snapshot.memtable.schema;
        let names = match kind {
            NameKind::Label => &schema.labels,
            NameKind::EdgeType => &schema.edge_types,
            NameKind::PropertyKey => &schema.property_keys,
        };
        if let Some(number) = names.find(name) {
            return Ok(number);
        }
        check_new_name(schema, kind)?;
        record::put_name(kind, name, &mut self.log);
        Ok(self.snapshot.intern(kind, name))
    }

    /// Notes an operation in the log and applies it. If the files cannot be read on the way, it did not happen.
    fn add<T>(&mut self, put: impl FnOnce(&mut Vec<u8>), apply: impl FnOnce(&mut Snapshot) -> Result<T>) -> Result<T> {
        let length = self.log.len();
        put(&mut self.log);
        let result = apply(&mut self.snapshot);
        if result.is_err() {
            self.go_back(length)?;
        }
        result
    }

    /// Like [`NativeTransaction::add`], for what changes nodes and edges that may have been there before.
    fn change<T>(
        &mut self,
        put: impl FnOnce(&mut Vec<u8>),
        apply: impl FnOnce(&mut Snapshot) -> Result<T>,
    ) -> Result<T> {
        self.changes.push(self.log.len());
        self.add(put, apply)
    }

    /// Goes back to the moment when the log was `length` bytes long.
    fn go_back(&mut self, length: usize) -> Result<()> {
        self.roots.retain(|root| root.0 <= length);
        self.changes.truncate(self.changes.partition_point(|&start| start < length));
        self.give_back(length);
        self.log.truncate(length);
        let (start, root) = self.roots.last().expect("the root at the start is never given up");
        self.snapshot.memtable = root.clone();
        self.is_broken = true;
        let mut rest = Get::new(&self.log[*start..], Path::new("transaction"), 0);
        self.snapshot.apply_operations(&mut rest, self.first_own)?;
        self.is_broken = false;
        Ok(())
    }

    /// Gives back the ids of nodes made since the log was `length` bytes long, as far as nobody reserved any later.
    fn give_back(&mut self, length: usize) {
        while let Some((_, first, count)) = self.reserved.pop_if(|reserved| reserved.0 >= length) {
            self.start.give_back_nodes(first, count);
        }
    }
}

impl WriteTransaction for NativeTransaction {
    fn view(&self) -> &dyn ReadView {
        self.snapshot.view()
    }

    fn label(&mut self, name: &str) -> Result<LabelId> {
        self.name(NameKind::Label, name).map(LabelId)
    }

    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId> {
        self.name(NameKind::EdgeType, name).map(EdgeTypeId)
    }

    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId> {
        self.name(NameKind::PropertyKey, name).map(PropertyKeyId)
    }

    fn create_nodes(&mut self, new: &NewNodes<'_>) -> Result<Vec<NodeId>> {
        self.snapshot.told(self.snapshot.check_new_nodes(new))?;
        let first = self.start.engine().reserve_nodes(new.count as u64)?;
        self.reserved.push((self.log.len(), first, new.count as u64));
        let put = |log: &mut Vec<u8>| record::put_create_nodes(first, new, log);
        let nodes = self.add(put, |snapshot| Ok(snapshot.create_nodes(first, new)))?;
        self.touched.labelled(&self.snapshot, &nodes, new.labels);
        Ok(nodes)
    }

    fn create_edges(&mut self, new: &NewEdges<'_>) -> Result<Vec<EdgeId>> {
        self.snapshot.told(self.snapshot.check_new_edges(new))?;
        let first = self.snapshot.version.edge_numbers().take(new.sources.len() as u64)?;
        let put = |log: &mut Vec<u8>| record::put_create_edges(first, new, log);
        let edges = self.add(put, |snapshot| Ok(snapshot.create_edges(first, new)))?;
        self.touched.created_edges(&self.snapshot, &edges, new.edge_type);
        Ok(edges)
    }

    fn set_node_properties(&mut self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        self.snapshot.told(self.snapshot.check_set_node_properties(nodes, key, values))?;
        let put = |log: &mut Vec<u8>| record::put_set_node_properties(nodes, key, values, log);
        self.change(put, |snapshot| snapshot.set_node_properties(nodes, key, values))?;
        self.touched.set_nodes(&self.snapshot, nodes, key, values);
        Ok(())
    }

    fn set_edge_properties(&mut self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        self.snapshot.told(self.snapshot.check_set_edge_properties(edges, key, values))?;
        let names = self.snapshot.names_of(edges, self.first_own)?;
        let put = |log: &mut Vec<u8>| record::put_set_edge_properties(&names, key, values, log);
        self.change(put, |snapshot| snapshot.set_edge_properties(edges, key, values))?;
        self.touched.set_edges(&self.snapshot, edges, key, values);
        Ok(())
    }

    fn add_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        self.snapshot.told(self.snapshot.check_add_labels(nodes, labels))?;
        let put = |log: &mut Vec<u8>| record::put_add_labels(nodes, labels, log);
        self.change(put, |snapshot| snapshot.add_labels(nodes, labels))?;
        self.touched.labelled(&self.snapshot, nodes, labels);
        Ok(())
    }

    fn remove_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        self.snapshot.told(self.snapshot.check_nodes_exist(nodes))?;
        let put = |log: &mut Vec<u8>| record::put_remove_labels(nodes, labels, log);
        self.change(put, |snapshot| snapshot.remove_labels(nodes, labels))
    }

    fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<()> {
        let names = self.snapshot.names_of(edges, self.first_own)?;
        self.change(|log| record::put_delete_edges(&names, log), |snapshot| snapshot.delete_edges(edges))
    }

    fn delete_nodes(&mut self, nodes: &[NodeId]) -> Result<()> {
        self.snapshot.told(self.snapshot.check_unconnected(nodes))?;
        self.change(|log| record::put_delete_nodes(nodes, log), |snapshot| snapshot.delete_nodes(nodes))
    }

    fn create_constraint(&mut self, constraint: Constraint, interrupt: &Interrupt) -> Result<()> {
        self.snapshot.told(self.snapshot.check_new_constraint(&constraint, interrupt))?;
        let index = self.snapshot.told(self.snapshot.index_of_all(&constraint, interrupt))?;
        let ordered = self.snapshot.told(self.snapshot.ordered_of_all(&constraint, interrupt))?;
        record::put_create_constraint(&constraint, &mut self.log);
        self.snapshot.create_constraint(constraint, index, ordered);
        Ok(())
    }

    fn create_index(&mut self, index: Index, interrupt: &Interrupt) -> Result<()> {
        self.snapshot.memtable.schema.check_index(&index)?;
        let entries = self.snapshot.entries_of_all(&index, None, interrupt)?;
        record::put_create_index(&index, &mut self.log);
        self.snapshot.create_index(index, entries);
        Ok(())
    }

    fn drop_index(&mut self, name: &str) -> Result<()> {
        self.snapshot.drop_index(name)?;
        record::put_drop_index(name, &mut self.log);
        Ok(())
    }

    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        self.snapshot.drop_constraint(name)?;
        record::put_drop_constraint(name, &mut self.log);
        Ok(())
    }

    fn set_sort_key(&mut self, sort_key: SortKey) -> Result<()> {
        self.snapshot.set_sort_key(sort_key.clone())?;
        record::put_set_sort_key(&sort_key, &mut self.log);
        Ok(())
    }

    fn drop_sort_key(&mut self, edge_type: EdgeTypeId) -> Result<()> {
        self.snapshot.drop_sort_key(edge_type)?;
        record::put_drop_sort_key(edge_type, &mut self.log);
        Ok(())
    }

    fn claim(&mut self, hashes: &[u64]) {
        self.claims.extend_from_slice(hashes);
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
        if length < self.log.len() { self.go_back(length) } else { Ok(()) }
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        if self.is_broken {
            return Err(error!(
                TransactionState,
                "a change of the transaction failed half way and cannot be committed"
            ));
        }
        self.snapshot.check_presence(&self.touched)?;
        self.snapshot.sound(())?;
        let written = Written {
            snapshot: Snapshot::clone(&self.snapshot),
            reads: self.snapshot.take_reads(),
            log: std::mem::take(&mut self.log),
            changes: std::mem::take(&mut self.changes),
            claims: std::mem::take(&mut self.claims),
        };
        // The roots share with the snapshot what would otherwise be copied when the next transaction writes.
        self.roots.clear();
        let result = self.start.commit(written);
        if result.is_ok() {
            self.reserved.clear();
        }
        result
    }
}

impl Drop for NativeTransaction {
    fn drop(&mut self) {
        self.give_back(0);
    }
}
