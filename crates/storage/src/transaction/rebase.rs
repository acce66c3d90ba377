//! Moves what a transaction wrote onto a state that others have changed since it began.
//!
//! The operations of its log are checked and applied again. Nobody else wrote what it wrote (see [`super::items`]), so that
//! what it names is still what it meant; what it relied on besides is looked at anew: that ends of edges exist, that nodes
//! to be deleted have no edges, that unique values are free. Names that it gave numbers to may have other numbers by now.

use std::path::Path;

use model::interrupt::of_this_thread;
use model::store::{NewEdges, NewNodes};
use model::{
    Constraint, EdgeId, EdgeTypeId, Error, ErrorCode, Index, LabelId, NodeId, PropertyKeyId, Result, Schema, SortKey,
    Subject, error,
};

use super::check::check_column;
use super::doubts::Doubts;
use super::made::Made;
use super::presence::Touched;
use crate::codec::bytes::Get;
use crate::memtable::edge_id;
use crate::snapshot::Snapshot;
use crate::wal::record::{NameKind, Operation, operation, put_operation};

/// Writes of a transaction, on another state than the one it began with.
#[derive(Debug)]
pub(crate) struct Moved {
    pub(crate) snapshot: Snapshot,
    /// Its log, if that had to be written anew.
    pub(crate) log: Option<Vec<u8>>,
}

/// Repeats a log, which was written on a state with that schema, on another state. Fails with `CONFLICT` if that cannot
/// be done any more.
pub(crate) fn rebase(log: &[u8], base: &Schema, head: &Snapshot) -> Result<Moved> {
    let mut snapshot = head.clone();
    // Constraints may have come that the transaction has not heard of.
    let (mut pending, made) = (Pending::default(), Made::default());
    let log = repeat(&mut snapshot, log, &mut Numbers::new(base), |snapshot, operation, first_own| {
        snapshot.apply_checked(operation, first_own, &made, &mut pending).map_err(as_conflict)
    })?;
    pending.check(&snapshot).map_err(as_conflict)?;
    Ok(Moved { snapshot, log })
}

/// Checks that wait for the last operation of a transaction.
#[derive(Debug, Default)]
pub(super) struct Pending {
    touched: Touched,
    doubts: Doubts,
}

impl Pending {
    /// Fails if a property is missing that must be there, or a value is not unique.
    pub(super) fn check(&self, snapshot: &Snapshot) -> Result<()> {
        snapshot.check_presence(&self.touched)?;
        self.doubts.settle(snapshot, |edges| Ok(edges.to_vec()))
    }
}

/// Like [`rebase`], where it is known that the log can be repeated, and what the indexes hold that it makes.
pub(crate) fn rebase_made(log: &[u8], base: &Schema, head: &Snapshot, made: &Made) -> Result<Moved> {
    let mut snapshot = head.clone();
    let log = repeat(&mut snapshot, log, &mut Numbers::new(base), |snapshot, operation, first_own| {
        snapshot.apply_made(operation, first_own, made).map_err(as_conflict)
    })?;
    Ok(Moved { snapshot, log })
}

/// Calls `apply` with the operations of a log in the numbers of a state; the log in these numbers if it has names.
pub(super) fn repeat(
    snapshot: &mut Snapshot,
    log: &[u8],
    numbers: &mut Numbers,
    mut apply: impl FnMut(&mut Snapshot, Operation<'_>, u32) -> Result<()>,
) -> Result<Option<Vec<u8>>> {
    let path = Path::new("transaction");
    let first_own = snapshot.memtable.edges.len() as u32;
    let mut new_log: Option<Vec<u8>> = None;
    let mut get = Get::new(log, path, 0);
    while get.left() > 0 {
        let start = log.len() - get.left();
        let mut operation = operation(&mut get)?;
        if let Operation::Name(kind, name) = operation {
            let new_log = new_log.get_or_insert_with(|| log[..start].to_vec());
            let number = match snapshot.find_name(kind, name) {
                Some(number) => number,
                None => {
                    kind.check_room(&snapshot.memtable.schema)?;
                    put_operation(&operation, new_log);
                    snapshot.intern(kind, name)
                }
            };
            numbers.of(kind).given.push(number);
            continue;
        }
        numbers.translate(&mut operation);
        if let Some(new_log) = &mut new_log {
            put_operation(&operation, new_log);
        }
        apply(snapshot, operation, first_own)?;
    }
    Ok(new_log)
}

/// Turns the error of an operation that can no longer be done into a conflict; errors of reading stay as they are.
pub(super) fn as_conflict(cause: Error) -> Error {
    match cause.code() {
        ErrorCode::NotFound | ErrorCode::StillConnected | ErrorCode::Constraint | ErrorCode::SchemaRule => {
            error!(Conflict, "another transaction committed first: {}", cause.message())
        }
        _ => cause,
    }
}

/// The numbers that names have on the new state.
pub(super) struct Numbers {
    labels: Renumbered,
    edge_types: Renumbered,
    property_keys: Renumbered,
}

/// Numbers below `first` are the same in both states; the transaction gave the others itself.
struct Renumbered {
    first: u32,
    given: Vec<u32>,
}

impl Renumbered {
    fn now(&self, number: &mut u32) {
        if let Some(own) = number.checked_sub(self.first) {
            *number = self.given[own as usize];
        }
    }
}

impl Numbers {
    pub(super) fn new(base: &Schema) -> Numbers {
        let from = |first: usize| Renumbered { first: first as u32, given: Vec::new() };
        Numbers {
            labels: from(base.labels.len()),
            edge_types: from(base.edge_types.len()),
            property_keys: from(base.property_keys.len()),
        }
    }

    fn of(&mut self, kind: NameKind) -> &mut Renumbered {
        match kind {
            NameKind::Label => &mut self.labels,
            NameKind::EdgeType => &mut self.edge_types,
            NameKind::PropertyKey => &mut self.property_keys,
        }
    }

    fn labels(&self, labels: &mut [LabelId]) {
        labels.iter_mut().for_each(|label| self.labels.now(&mut label.0));
    }

    fn keys(&self, keys: &mut [PropertyKeyId]) {
        keys.iter_mut().for_each(|key| self.property_keys.now(&mut key.0));
    }

    /// Gives an operation the numbers of the new state. Edges that were there before have types that were there before.
    fn translate(&self, operation: &mut Operation<'_>) {
        match operation {
            Operation::Name(..)
            | Operation::DeleteEdges(_)
            | Operation::DeleteNodes(_)
            | Operation::DropConstraint(_)
            | Operation::DropIndex(_) => {}
            Operation::CreateNodes { labels, keys, .. } => {
                self.labels(labels);
                self.keys(keys);
            }
            Operation::CreateEdges { edge_type: EdgeTypeId(edge_type), keys, .. } => {
                self.edge_types.now(edge_type);
                self.keys(keys);
            }
            Operation::SetNodeProperties(_, key, _) | Operation::SetEdgeProperties(_, key, _) => {
                self.property_keys.now(&mut key.0);
            }
            Operation::AddLabels(_, labels) | Operation::RemoveLabels(_, labels) => self.labels(labels),
            Operation::SetSortKey(SortKey { edge_type, keys }) => {
                self.edge_types.now(&mut edge_type.0);
                self.keys(keys);
            }
            Operation::DropSortKey(edge_type) => self.edge_types.now(&mut edge_type.0),
            Operation::CreateConstraint(Constraint { subject, keys, rule, .. }) => {
                self.subject(subject);
                self.keys(keys);
                rule.labels_mut().for_each(|label| self.labels.now(&mut label.0));
            }
            Operation::CreateIndex(Index { subject, keys, .. }) => {
                self.subject(subject);
                self.keys(keys);
            }
        }
    }

    fn subject(&self, subject: &mut Subject) {
        match subject {
            Subject::Label(label) => self.labels.now(&mut label.0),
            Subject::EdgeType(edge_type) => self.edge_types.now(&mut edge_type.0),
        }
    }
}

impl Snapshot {
    fn find_name(&self, kind: NameKind, name: &str) -> Option<u32> {
        let schema = &self.memtable.schema;
        match kind {
            NameKind::Label => schema.labels.find(name),
            NameKind::EdgeType => schema.edge_types.find(name),
            NameKind::PropertyKey => schema.property_keys.find(name),
        }
    }

    /// Applies one operation of a transaction whose first own edge has that ordinal, if it may be done. What it makes and
    /// was not made before is built, which the run on this thread may stop.
    pub(super) fn apply_checked(
        &mut self,
        operation: Operation<'_>,
        first_own: u32,
        made: &Made,
        Pending { touched, doubts }: &mut Pending,
    ) -> Result<()> {
        match &operation {
            Operation::CreateNodes { first, count, labels, keys, properties } => {
                self.check_new_nodes(&NewNodes { count: *count, labels, keys, properties })?;
                let nodes: Vec<NodeId> = (first.0..first.0 + *count as u64).map(NodeId).collect();
                touched.labelled(self, &nodes, labels);
            }
            Operation::CreateEdges { edge_type, sources, targets, keys, properties, .. } => {
                self.check_new_edges(&NewEdges { edge_type: *edge_type, sources, targets, keys, properties })?;
                let next = self.memtable.edges.len() as u32;
                let edges: Vec<EdgeId> = (next..next + sources.len() as u32).map(edge_id).collect();
                touched.created_edges(self, &edges, *edge_type);
            }
            Operation::SetNodeProperties(nodes, key, values) => {
                check_column(nodes.len(), values)?;
                doubts.add_nodes(&self.version, &self.check_set_node_properties(nodes, *key, values)?)?;
                touched.set_nodes(self, nodes, *key, values);
            }
            Operation::SetEdgeProperties(edges, key, values) => {
                let edges = self.edges_named(edges, first_own)?;
                check_column(edges.len(), values)?;
                doubts.add_edges(&self.version, &self.check_set_edge_properties(&edges, *key, values)?)?;
                touched.set_edges(self, &edges, *key, values);
            }
            Operation::AddLabels(nodes, labels) => {
                doubts.add_nodes(&self.version, &self.check_add_labels(nodes, labels)?)?;
                touched.labelled(self, nodes, labels);
            }
            Operation::RemoveLabels(nodes, _) => self.check_nodes_exist(nodes)?,
            Operation::DeleteNodes(nodes) => self.check_unconnected(nodes)?,
            Operation::CreateConstraint(constraint) => match made.find(&operation) {
                Some(_) => self.memtable.schema.check_constraint(constraint)?,
                None => {
                    let contents = self.build_constraint(constraint, &of_this_thread().unwrap_or_default())?;
                    self.create_constraint(constraint.clone(), contents);
                    return Ok(());
                }
            },
            Operation::CreateIndex(index) => match made.find(&operation) {
                Some(_) => self.memtable.schema.check_index(index)?,
                None => {
                    let contents = self.build_index(index, &of_this_thread().unwrap_or_default())?;
                    self.create_index(index.clone(), contents);
                    return Ok(());
                }
            },
            // Application of the others shows whether they can be done.
            Operation::DeleteEdges(_)
            | Operation::DropConstraint(_)
            | Operation::DropIndex(_)
            | Operation::SetSortKey(_)
            | Operation::DropSortKey(_)
            | Operation::Name(..) => {}
        }
        self.apply_made(operation, first_own, made)
    }
}
