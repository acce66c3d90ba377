//! A writing transaction: a snapshot with a memtable root of its own, and the log of what it did so far.
//!
//! It waits for nobody until it commits, and nobody for it. Each call is first checked whole and only then applied, so that
//! a call that fails changes nothing. Rolling back to a savepoint goes back to an earlier root and repeats the log up to the
//! savepoint; so a savepoint is nothing but a length of the log, and costs nothing.
//!
//! One that outgrows memory goes on in stages, see [`stages`].
//!
//! Invariant: the memtable is always what the roots kept plus the log since say.

mod aliases;
mod apply;
pub(crate) mod catch_up;
pub(crate) mod check;
pub(crate) mod doubts;
mod edge_entries;
pub(crate) mod items;
pub(crate) mod left;
pub(crate) mod made;
mod names;
mod ordered;
mod presence;
mod property_types;
mod ranks;
pub(crate) mod reads;
pub(crate) mod rebase;
mod repeat;
mod replayed;
mod spool;
mod stages;
mod tracked;

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use model::store::{NewEdges, NewNodes, Savepoint};
use model::{
    Column, Constraint, Consumer, EdgeId, EdgeTypeId, Index, Interrupt, LabelId, NodeId, PropertyKeyId, ReadView,
    Reservation, Result, SortKey, WriteTransaction, error,
};

use crate::codec::bytes::Get;
use crate::engine::head::{Start, Written};
use crate::engine::turn::UnderWay;
use crate::memtable::Memtable;
use crate::snapshot::Snapshot;
use crate::transaction::doubts::Doubts;
use crate::transaction::made::Made;
use crate::transaction::presence::Touched;
use crate::transaction::repeat::Own;
use crate::transaction::stages::{Stage, piece_of, pieces_of};
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
    /// Positions in the log of operations that change what was there before.
    changes: Vec<usize>,
    claims: Vec<u64>,
    /// Ids of nodes it made: the length of the log before, the first and how many.
    reserved: Vec<(u64, NodeId, u64)>,
    /// States to roll back to, each with the length of the log at that moment. Before the first of them that is the state it
    /// began with.
    roots: Vec<(usize, Memtable)>,
    /// Nodes and edges that may lack properties that constraints demand.
    touched: Touched,
    /// Nodes and edges whose values must be unique and may not be.
    doubts: Doubts,
    /// These are looked at when the caller says so, not after each call.
    is_deferring: bool,
    /// The names of indexes and constraints that it made.
    built: Vec<Arc<str>>,
    /// The memtable is not what the log says, since the files could not be read.
    is_broken: bool,
    /// The stages before, if it has outgrown memory.
    stages: Vec<Stage>,
    /// Bytes of log of the stages before.
    log_start: u64,
    /// The last savepoint.
    savepoint: u64,
    /// Bytes that its writes take in memory.
    held: Reservation,
    /// The statement that runs in it.
    statement: Option<UnderWay>,
}

impl NativeTransaction {
    /// Begins at the state that the last transaction left.
    pub(crate) fn new(start: Start) -> NativeTransaction {
        let memory = start.engine().memory();
        let snapshot = Tracked::new(Snapshot::clone(start.snapshot()), start.isolation(), memory);
        let held = memory.empty(Consumer::Memtable);
        NativeTransaction {
            first_own: snapshot.memtable.edges.len() as u32,
            roots: Vec::new(),
            snapshot,
            start,
            log: Vec::new(),
            changes: Vec::new(),
            claims: Vec::new(),
            reserved: Vec::new(),
            touched: Touched::default(),
            doubts: Doubts::default(),
            is_deferring: false,
            built: Vec::new(),
            is_broken: false,
            stages: Vec::new(),
            log_start: 0,
            savepoint: 0,
            held,
            statement: None,
        }
    }

    /// Bytes of log that it has written so far.
    fn position(&self) -> u64 {
        self.log_start + self.log.len() as u64
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
        kind.check_room(schema)?;
        record::put_name(kind, name, &mut self.log);
        Ok(self.snapshot.intern(kind, name))
    }

    /// Notes an operation in the log and applies it. If the files cannot be read on the way, it did not happen.
    fn add<T>(&mut self, put: impl FnOnce(&mut Vec<u8>), apply: impl FnOnce(&mut Snapshot) -> Result<T>) -> Result<T> {
        let length = self.position();
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

    /// Does something for all rows of a call that may give two the same value, as [`NativeTransaction::in_short_pieces`] does;
    /// fails if they have it after the last row.
    fn settled_in_pieces(
        &mut self,
        rows: usize,
        work: impl FnMut(&mut NativeTransaction, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let start = self.position();
        let done = self.in_short_pieces(rows, work);
        if self.is_deferring {
            return done;
        }
        if done.is_err() {
            self.doubts = Doubts::default();
            return done;
        }
        let settled = self.settle();
        if let Err(failure) = &settled {
            self.undo_call(start, failure)?;
        }
        settled
    }

    /// Fails if some that were noted have the same values. They are not looked at again.
    fn settle(&mut self) -> Result<()> {
        let doubts = std::mem::take(&mut self.doubts);
        let inner = |edges: &[EdgeId]| self.snapshot.aliases.to_inner(edges).map(Cow::into_owned);
        self.snapshot.told(doubts.settle(&self.snapshot, inner))
    }

    /// Goes back to the moment when `length` bytes of log were written.
    fn go_back(&mut self, length: u64) -> Result<()> {
        self.is_broken = true;
        self.give_back(length);
        if length < self.log_start {
            self.return_to_stage_of(length)?;
        }
        let length = (length - self.log_start) as usize;
        self.roots.retain(|root| root.0 <= length);
        self.changes.truncate(self.changes.partition_point(|&start| start < length));
        self.log.truncate(length);
        let (start, root) =
            self.roots.last().map_or((0, &self.start.snapshot().memtable), |(start, root)| (*start, root));
        self.snapshot.memtable = root.clone();
        let mut rest = Get::new(&self.log[start..], Path::new("transaction"), 0);
        self.snapshot.apply_operations(&mut rest, Own::from(self.first_own), &Made::default(), None)?;
        self.is_broken = false;
        if self.stages.is_empty() {
            self.start.release_turn_of_large();
        }
        Ok(())
    }

    /// Notes ids of nodes to be made. Ranges that follow each other, and that no savepoint parts, become one.
    fn note_reserved(&mut self, first: NodeId, count: u64) {
        if let [.., before, last] = &mut self.reserved[..]
            && before.0 >= self.savepoint
            && before.1.0 + before.2 == last.1.0
        {
            before.2 += last.2;
            self.reserved.pop();
        }
        self.reserved.push((self.position(), first, count));
    }

    /// Gives back the ids of nodes made since the log was `length` bytes long, as far as nobody reserved any later.
    fn give_back(&mut self, length: u64) {
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
        self.make_room()?;
        self.snapshot.told(self.snapshot.check_new_nodes(new))?;
        let first = self.start.engine().reserve_nodes(new.count as u64)?;
        self.note_reserved(first, new.count as u64);
        self.in_pieces(new.count, |this, rows| {
            let first = NodeId(first.0 + rows.start as u64);
            let properties = pieces_of(new.properties, &rows, new.count);
            let new = NewNodes { count: rows.len(), properties: &properties, ..*new };
            let put = |log: &mut Vec<u8>| record::put_create_nodes(first, &new, log);
            let nodes = this.add(put, |snapshot| Ok(snapshot.create_nodes(first, &new)))?;
            this.touched.labelled(&this.snapshot, &nodes, new.labels);
            Ok(())
        })?;
        Ok((first.0..).take(new.count).map(NodeId).collect())
    }

    fn create_edges(&mut self, new: &NewEdges<'_>) -> Result<Vec<EdgeId>> {
        self.make_room()?;
        self.snapshot.told(self.snapshot.check_new_edges(new))?;
        let count = new.sources.len();
        let number = self.snapshot.version.edge_numbers().take(count as u64)?;
        let mut all = Vec::with_capacity(count);
        self.in_pieces(count, |this, rows| {
            let first = number + rows.start as u64;
            let properties = pieces_of(new.properties, &rows, count);
            let (sources, targets) = (&new.sources[rows.clone()], &new.targets[rows]);
            let new = NewEdges { sources, targets, properties: &properties, ..*new };
            let put = |log: &mut Vec<u8>| record::put_create_edges(first, &new, log);
            let mut edges = this.add(put, |snapshot| Ok(snapshot.create_edges(first, &new)))?;
            this.snapshot.aliases.to_visible(&mut edges)?;
            this.touched.created_edges(&this.snapshot, &edges, new.edge_type);
            all.extend(edges);
            Ok(())
        })?;
        Ok(all)
    }

    fn set_node_properties(&mut self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        self.make_room()?;
        check::check_column(nodes.len(), values)?;
        self.settled_in_pieces(nodes.len(), |this, rows| {
            let values = &*piece_of(values, &rows, nodes.len());
            let nodes = &nodes[rows];
            let doubtful = this.snapshot.told(this.snapshot.check_set_node_properties(nodes, key, values))?;
            this.doubts.add_nodes(&this.snapshot.version, &doubtful)?;
            let put = |log: &mut Vec<u8>| record::put_set_node_properties(nodes, key, values, log);
            this.change(put, |snapshot| snapshot.set_node_properties(nodes, key, values))?;
            this.touched.set_nodes(&this.snapshot, nodes, key, values);
            Ok(())
        })
    }

    fn set_edge_properties(&mut self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        self.make_room()?;
        check::check_column(edges.len(), values)?;
        self.settled_in_pieces(edges.len(), |this, rows| {
            let values = &*piece_of(values, &rows, edges.len());
            let edges = &edges[rows];
            let inner = this.snapshot.aliases.to_inner(edges)?.into_owned();
            let mut doubtful = this.snapshot.told(this.snapshot.check_set_edge_properties(&inner, key, values))?;
            this.snapshot.aliases.to_visible(&mut doubtful)?;
            this.doubts.add_edges(&this.snapshot.version, &doubtful)?;
            let names = this.snapshot.names_of(&inner, this.first_own)?;
            let put = |log: &mut Vec<u8>| record::put_set_edge_properties(&names, key, values, log);
            this.change(put, |snapshot| snapshot.set_edge_properties(&inner, key, values))?;
            this.touched.set_edges(&this.snapshot, edges, key, values);
            Ok(())
        })
    }

    fn add_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        self.make_room()?;
        self.settled_in_pieces(nodes.len(), |this, rows| {
            let nodes = &nodes[rows];
            let doubtful = this.snapshot.told(this.snapshot.check_add_labels(nodes, labels))?;
            this.doubts.add_nodes(&this.snapshot.version, &doubtful)?;
            let put = |log: &mut Vec<u8>| record::put_add_labels(nodes, labels, log);
            this.change(put, |snapshot| snapshot.add_labels(nodes, labels))?;
            this.touched.labelled(&this.snapshot, nodes, labels);
            Ok(())
        })
    }

    fn remove_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        self.make_room()?;
        self.in_short_pieces(nodes.len(), |this, rows| {
            let nodes = &nodes[rows];
            this.snapshot.told(this.snapshot.check_nodes_exist(nodes))?;
            let put = |log: &mut Vec<u8>| record::put_remove_labels(nodes, labels, log);
            this.change(put, |snapshot| snapshot.remove_labels(nodes, labels))
        })
    }

    fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<()> {
        self.make_room()?;
        self.in_short_pieces(edges.len(), |this, rows| {
            let inner = this.snapshot.aliases.to_inner(&edges[rows])?.into_owned();
            let names = this.snapshot.names_of(&inner, this.first_own)?;
            this.change(|log| record::put_delete_edges(&names, log), |snapshot| snapshot.delete_edges(&inner))
        })
    }

    fn delete_nodes(&mut self, nodes: &[NodeId]) -> Result<()> {
        self.make_room()?;
        self.in_short_pieces(nodes.len(), |this, rows| {
            let nodes = &nodes[rows];
            this.snapshot.told(this.snapshot.check_unconnected(nodes))?;
            this.change(|log| record::put_delete_nodes(nodes, log), |snapshot| snapshot.delete_nodes(nodes))
        })
    }

    fn create_constraint(&mut self, constraint: Constraint, interrupt: &Interrupt) -> Result<()> {
        let _under_way = self.start.under_way_if_waited_for();
        self.start.follow();
        let contents = self.snapshot.told(self.snapshot.build_constraint(&constraint, interrupt))?;
        record::put_create_constraint(&constraint, &mut self.log);
        self.built.push(constraint.name.clone());
        self.snapshot.create_constraint(constraint, contents);
        Ok(())
    }

    fn create_index(&mut self, index: Index, interrupt: &Interrupt) -> Result<()> {
        let _under_way = self.start.under_way_if_waited_for();
        self.start.follow();
        let contents = self.snapshot.build_index(&index, interrupt)?;
        record::put_create_index(&index, &mut self.log);
        self.built.push(index.name.clone());
        self.snapshot.create_index(index, contents);
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

    fn defer_unique(&mut self) {
        self.is_deferring = true;
    }

    fn check_deferred(&mut self) -> Result<()> {
        self.is_deferring = false;
        self.settle()
    }

    fn claim(&mut self, hashes: &[u64]) {
        self.claims.extend_from_slice(hashes);
    }

    fn set_at_work(&mut self, is_at_work: bool) {
        self.statement = is_at_work.then(|| self.start.under_way());
    }

    fn savepoint(&mut self) -> Savepoint {
        let length = self.log.len();
        let kept = self.roots.last().map_or(0, |root| root.0);
        if length - kept >= ROOT_INTERVAL_BYTES {
            self.roots.push((length, self.snapshot.memtable.clone()));
        }
        self.savepoint = self.position();
        Savepoint(self.savepoint)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let length = savepoint.0;
        if length > self.position() {
            return Err(error!(TransactionState, "savepoint {length} was undone or never made"));
        }
        self.is_deferring = false;
        self.doubts = Doubts::default();
        if length < self.position() || self.is_broken { self.go_back(length) } else { Ok(()) }
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        if self.is_broken {
            return Err(error!(
                TransactionState,
                "a change of the transaction failed half way and cannot be committed"
            ));
        }
        self.check_deferred()?;
        self.snapshot.check_presence(&*self.touched.inner(&self.snapshot.aliases)?)?;
        self.snapshot.sound(())?;
        // A log that the same limit has no room for when the store is opened is none to leave behind.
        if !self.stages.is_empty() || !self.start.engine().record_room().has(self.log.len() as u64) {
            return self.commit_stages();
        }
        let written = Written {
            reads: self.snapshot.take_reads(),
            snapshot: self.snapshot.take(),
            log: std::mem::take(&mut self.log),
            changes: std::mem::take(&mut self.changes),
            claims: std::mem::take(&mut self.claims),
            built: std::mem::take(&mut self.built),
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

/// Bytes of log of a transaction that is rolled back from which on another thread frees what it wrote.
const FREED_ASIDE_BYTES: usize = 8 << 20;

impl Drop for NativeTransaction {
    /// A large transaction is given up at once: to free millions of small pieces of memory takes a while.
    fn drop(&mut self) {
        self.give_back(0);
        if self.log.len() < FREED_ASIDE_BYTES {
            return;
        }
        let before = self.start.snapshot().memtable.clone();
        let written = std::mem::replace(&mut self.snapshot.memtable, before);
        let roots = std::mem::take(&mut self.roots);
        let nothing = self.start.engine().memory().empty(Consumer::Memtable);
        let held = std::mem::replace(&mut self.held, nothing);
        // If there is no thread for it, it is freed here: a closure that was not run is dropped.
        let thread = std::thread::Builder::new().name("knotwork-free".into());
        drop(thread.spawn(move || drop((written, roots, held))));
    }
}
