//! Operations of the log that are not taken for granted: a sound checksum does not say that they fit this store.
//!
//! Opening asks that every id is within its bounds, which costs no read of a file. The check and the salvage of a damaged
//! store also ask that what an operation changes is there.

use model::{
    Constraint, EdgeTypeId, Error, ErrorCode, Index, LabelId, NodeId, PropertyKeyId, Result, Rule, Subject, error,
};

use super::made::Made;
use super::repeat::Own;
use crate::codec::bytes::Get;
use crate::engine::Overflow;
use crate::error::StorageError;
use crate::format::{EDGE_NUMBER_LIMIT, NODE_ID_LIMIT};
use crate::snapshot::Snapshot;
use crate::wal::record::{EdgeKey, EdgeName, NODES_OF_OPERATION_MAX, Operation, operation};

/// Memory that the nodes of a log may take where the limit is less: it was written within another limit.
const REPLAY_BYTES_MIN: usize = 1 << 30;

impl Snapshot {
    /// Applies the operations of a record of the log, each of which must find what it changes.
    pub(crate) fn apply_checked_record(
        &mut self,
        payload: &mut Get<'_>,
        made: &Made,
        overflow: &mut Overflow<'_>,
    ) -> Result<()> {
        let mut own = Own::new(self);
        while payload.left() > 0 {
            let operation = own.renamed(operation(payload)?);
            let checked = self.check_bounds(&operation, own.first()).and_then(|()| self.check_there(&operation));
            checked.map_err(|error| in_log(payload, error))?;
            self.repeat(operation, &mut own, made, Some(overflow))?;
        }
        self.end_record(Some(overflow))
    }

    /// Applies what can be applied of a record; tells `lost` of each operation that cannot be, with what it was to do. Fails if
    /// nobody wants the rest, or what memory has no room for cannot be put into files.
    pub(crate) fn salvage_record(
        &mut self,
        payload: &mut Get<'_>,
        made: &Made,
        overflow: &mut Overflow<'_>,
        lost: &mut dyn FnMut(&Error, String),
    ) -> Result<()> {
        let mut own = Own::new(self);
        let mut has_all_own = true;
        while payload.left() > 0 {
            let operation = match operation(payload) {
                Ok(operation) => operation,
                Err(error) => {
                    lost(&error, "the rest of a transaction of the log".to_owned());
                    break;
                }
            };
            let (what, makes_edges) = (self.tell(&operation), matches!(operation, Operation::CreateEdges { .. }));
            // Places among the edges of the record mean others once some are lost, in memory and in files.
            let is_known = has_all_own || !names_own(&operation);
            let (operation, before) = (own.renamed(operation), self.clone());
            let checked = if is_known {
                self.check_bounds(&operation, own.first()).and_then(|()| self.check_there(&operation))
            } else {
                Err(error!(NotFound, "it changes edges of an operation that is lost"))
            };
            if let Err(error) = checked.and_then(|()| self.repeat(operation, &mut own, made, Some(overflow))) {
                made.check_interrupt()?;
                overflow.check()?;
                *self = before;
                has_all_own &= !makes_edges;
                lost(&in_log(payload, error), what);
            }
        }
        self.end_record(Some(overflow))
    }

    /// Fails unless all ids that an operation names are within their bounds.
    pub(super) fn check_bounds(&self, operation: &Operation<'_>, first_own: u32) -> Result<()> {
        match operation {
            Operation::Name(..) | Operation::DropConstraint(_) | Operation::DropIndex(_) => Ok(()),
            Operation::CreateNodes { first, count, labels, keys, .. } => {
                self.check_new_ids(first.0, *count)?;
                self.check_labels(labels)?;
                self.check_keys(keys)
            }
            Operation::CreateEdges { first, edge_type, sources, targets, keys, .. } => {
                self.check_numbers(*first, sources.len())?;
                self.check_type(*edge_type)?;
                self.check_nodes(sources)?;
                self.check_nodes(targets)?;
                self.check_keys(keys)
            }
            Operation::SetNodeProperties(nodes, key, _) => {
                self.check_nodes(nodes)?;
                self.check_keys(&[*key])
            }
            Operation::SetEdgeProperties(edges, key, _) => {
                self.check_names(edges, first_own)?;
                self.check_keys(&[*key])
            }
            Operation::AddLabels(nodes, labels) | Operation::RemoveLabels(nodes, labels) => {
                self.check_nodes(nodes)?;
                self.check_labels(labels)
            }
            Operation::DeleteEdges(edges) => self.check_names(edges, first_own),
            Operation::DeleteNodes(nodes) => self.check_nodes(nodes),
            Operation::CreateConstraint(constraint) => self.check_constraint(constraint),
            Operation::CreateIndex(Index { subject, keys, .. }) => {
                self.check_subject(*subject)?;
                self.check_keys(keys)
            }
            Operation::SetSortKey(sort_key) => {
                self.check_type(sort_key.edge_type)?;
                self.check_keys(&sort_key.keys)
            }
            Operation::DropSortKey(edge_type) => self.check_type(*edge_type),
        }
    }

    /// Fails unless the nodes that an operation changes, or edges end at, exist.
    fn check_there(&self, operation: &Operation<'_>) -> Result<()> {
        match operation {
            Operation::CreateEdges { sources, targets, .. } => {
                self.check_nodes_exist(sources)?;
                self.check_nodes_exist(targets)
            }
            Operation::SetNodeProperties(nodes, ..)
            | Operation::AddLabels(nodes, _)
            | Operation::RemoveLabels(nodes, _) => self.check_nodes_exist(nodes),
            _ => Ok(()),
        }
    }

    fn check_new_ids(&self, first: u64, count: usize) -> Result<()> {
        let bound = self.memtable.node_id_bound();
        let is_sound =
            count <= NODES_OF_OPERATION_MAX && first < NODE_ID_LIMIT && first + count as u64 <= NODE_ID_LIMIT;
        let taken = || self.memtable.node(NodeId(first)).is_some_and(|record| !record.is_deleted);
        if !is_sound || taken() {
            return Err(error!(Corrupt, "{count} new nodes from {first} on, in a store of {bound}"));
        }
        self.check_room(count)
    }

    /// Fails unless there is memory for that number of `nodes`: a few bytes of a log can make many.
    fn check_room(&self, nodes: usize) -> Result<()> {
        let (held, limit) = (self.memtable.bytes_with(nodes), self.version.memory_limit().max(REPLAY_BYTES_MIN));
        if held <= limit {
            return Ok(());
        }
        let problem = format!("{nodes} nodes made by one operation take {held} bytes of memory, the limit is {limit}");
        Err(StorageError::limit(problem).with_remedy("open the store with a larger memory limit"))
    }

    fn check_numbers(&self, first: Option<u64>, count: usize) -> Result<()> {
        let end = first.unwrap_or(self.memtable.edge_number_bound).checked_add(count as u64);
        match end.filter(|&end| end <= EDGE_NUMBER_LIMIT) {
            Some(_) => Ok(()),
            None => Err(error!(Corrupt, "{count} edges with the numbers from {first:?} on")),
        }
    }

    fn check_nodes(&self, nodes: &[NodeId]) -> Result<()> {
        let bound = self.memtable.node_id_bound();
        match nodes.iter().find(|node| node.0 >= bound) {
            Some(node) => Err(error!(Corrupt, "node {} in a store of {bound}", node.0)),
            None => Ok(()),
        }
    }

    fn check_names(&self, edges: &[EdgeName], first_own: u32) -> Result<()> {
        let own = self.memtable.edges.len() as u64 - u64::from(first_own);
        edges.iter().try_for_each(|edge| match *edge {
            EdgeName::Own(number) if u64::from(number) < own => Ok(()),
            EdgeName::Own(number) => Err(error!(Corrupt, "edge {number} of a transaction that made {own}")),
            EdgeName::Old(EdgeKey { ends, .. }) | EdgeName::Ranked { ends, .. } => {
                self.check_type(ends.edge_type)?;
                self.check_nodes(&[ends.source, ends.target])
            }
        })
    }

    fn check_labels(&self, labels: &[LabelId]) -> Result<()> {
        let count = self.memtable.schema.labels.len();
        labels.iter().try_for_each(|label| is_below("label", label.0, count))
    }

    fn check_type(&self, edge_type: EdgeTypeId) -> Result<()> {
        is_below("edge type", edge_type.0, self.memtable.schema.edge_types.len())
    }

    fn check_keys(&self, keys: &[PropertyKeyId]) -> Result<()> {
        let count = self.memtable.schema.property_keys.len();
        keys.iter().try_for_each(|key| is_below("property key", key.0, count))
    }

    fn check_subject(&self, subject: Subject) -> Result<()> {
        match subject {
            Subject::Label(label) => self.check_labels(&[label]),
            Subject::EdgeType(edge_type) => self.check_type(edge_type),
        }
    }

    fn check_constraint(&self, constraint: &Constraint) -> Result<()> {
        self.check_subject(constraint.subject)?;
        self.check_keys(&constraint.keys)?;
        if let Rule::Ends { from, to } = constraint.rule {
            self.check_labels(&[from, to])?;
        }
        Ok(())
    }

    /// Describes in words what an operation was to do.
    fn tell(&self, operation: &Operation<'_>) -> String {
        let schema = &self.memtable.schema;
        let key = |key: &PropertyKeyId| schema.property_key_name(*key).to_owned();
        match operation {
            Operation::Name(_, name) => format!("the name {name}"),
            Operation::CreateNodes { count, .. } => format!("{count} new nodes of the log"),
            Operation::CreateEdges { edge_type, sources, .. } => {
                format!("{} new edges :{} of the log", sources.len(), schema.edge_type_name(*edge_type))
            }
            Operation::SetNodeProperties(nodes, of, _) => {
                format!("values of {} that the log sets at {} nodes", key(of), nodes.len())
            }
            Operation::SetEdgeProperties(edges, of, _) => {
                format!("values of {} that the log sets at {} edges", key(of), edges.len())
            }
            Operation::AddLabels(nodes, _) | Operation::RemoveLabels(nodes, _) => {
                format!("changes of the labels of {} nodes in the log", nodes.len())
            }
            Operation::DeleteEdges(edges) => {
                format!("{} deletions of edges in the log: those of them that are there are back", edges.len())
            }
            Operation::DeleteNodes(nodes) => {
                format!("{} deletions of nodes in the log: those of them that are there are back", nodes.len())
            }
            Operation::CreateConstraint(Constraint { name, .. }) | Operation::CreateIndex(Index { name, .. }) => {
                format!("the rule or index {name}")
            }
            Operation::DropConstraint(name) | Operation::DropIndex(name) => format!("the end of {name}, which is back"),
            Operation::SetSortKey(_) | Operation::DropSortKey(_) => "a change of a sort key".to_owned(),
        }
    }
}

fn is_below(what: &str, number: u32, count: usize) -> Result<()> {
    if (number as usize) < count { Ok(()) } else { Err(error!(Corrupt, "{what} {number} in a store of {count}")) }
}

/// True if an operation names edges that its own transaction made.
fn names_own(operation: &Operation<'_>) -> bool {
    let is_own = |edge: &EdgeName| matches!(edge, EdgeName::Own(_));
    match operation {
        Operation::SetEdgeProperties(edges, ..) | Operation::DeleteEdges(edges) => edges.iter().any(is_own),
        _ => false,
    }
}

/// An error of an operation, with its place in the log where it names none.
pub(super) fn in_log(payload: &Get<'_>, error: Error) -> Error {
    let is_of_run = matches!(
        error.code(),
        ErrorCode::Limit | ErrorCode::Cancelled | ErrorCode::Timeout | ErrorCode::Io | ErrorCode::DiskFull
    );
    if is_of_run || crate::problem::Problem::is_of_bytes(&error) && error.message().contains(" at byte ") {
        return error;
    }
    payload.damage(format!("an operation does not fit the store: {}", error.message()))
}
