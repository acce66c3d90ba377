//! Applying operations to two stores in step.

use std::collections::BTreeMap;

use model::store::{EdgeIds, NewEdges, NewNodes, Savepoint};
use model::{
    Column, Constraint, Direction, EdgeBatch, EdgeId, ErrorCode, Expand, GraphStore, Index, Interrupt, LabelId,
    NodeBatch, NodeId, NodeScan, PropertyKeyId, ReadView, Result, SortKey, Subject, Value, WriteTransaction,
};

use super::content::assert_same;
use super::operation::{EdgePick, Ending, LABELS, Operation, RandomTransaction, RuleSpec};

/// The property that names nodes across stores.
const UID: &str = "uid";

/// Applies a transaction to a store under test and to a reference, comparing how each operation ends.
///
/// # Panics
/// If an operation succeeds in one and fails in the other, or fails differently.
pub fn apply_to_both(tested: &dyn GraphStore, reference: &dyn GraphStore, transaction: &RandomTransaction) {
    let mut a = Writer::begin(tested);
    let mut b = Writer::begin(reference);
    for (step, operation) in transaction.operations.iter().enumerate() {
        if matches!(operation, Operation::Compare) {
            assert_same(a.transaction.view(), b.transaction.view());
            continue;
        }
        let ends = (code(a.apply(operation)), code(b.apply(operation)));
        assert_eq!(ends.0, ends.1, "operation {step} of the transaction ended differently: {operation:?}");
    }
    assert_same(a.transaction.view(), b.transaction.view());
    if transaction.ending == Ending::Commit {
        let ends = (code(a.transaction.commit()), code(b.transaction.commit()));
        assert_eq!(ends, (None, None), "commits succeed");
    }
}

/// Applies a transaction to one store: the code of each operation that failed. Comparisons are left out.
///
/// # Errors
/// If the transaction cannot begin or commit, or the disk fails on the way.
pub fn apply(store: &dyn GraphStore, transaction: &RandomTransaction) -> Result<Vec<Option<ErrorCode>>> {
    let mut writer = Writer::over(store.write()?);
    let operations = transaction.operations.iter().filter(|operation| !matches!(operation, Operation::Compare));
    let mut codes = Vec::new();
    for operation in operations {
        match writer.apply(operation) {
            Err(error) if error.code() == ErrorCode::Io => return Err(error),
            end => codes.push(code(end)),
        }
    }
    if transaction.ending == Ending::Commit {
        writer.transaction.commit()?;
    }
    Ok(codes)
}

fn code(result: Result<()>) -> Option<ErrorCode> {
    result.err().map(|error| error.code())
}

/// A transaction, and where in it each node is.
struct Writer {
    transaction: Box<dyn WriteTransaction>,
    ids: BTreeMap<i64, NodeId>,
    savepoints: Vec<Savepoint>,
}

impl Writer {
    fn begin(store: &dyn GraphStore) -> Writer {
        Writer::over(store.write().expect("beginning a transaction"))
    }

    fn over(transaction: Box<dyn WriteTransaction>) -> Writer {
        let ids = ids_by_uid(transaction.view());
        Writer { transaction, ids, savepoints: Vec::new() }
    }

    fn apply(&mut self, operation: &Operation) -> Result<()> {
        match operation {
            Operation::CreateNodes { labels, keys, rows } => self.create_nodes(labels, keys, rows),
            Operation::CreateEdges { edge_type, keys, rows } => self.create_edges(edge_type, keys, rows),
            Operation::SetNodeProperties { key, rows } => {
                let key = self.transaction.property_key(key)?;
                let present = rows.iter().filter_map(|(uid, value)| Some((*self.ids.get(uid)?, value.clone())));
                let (nodes, values): (Vec<NodeId>, Vec<Value>) = present.unzip();
                self.transaction.set_node_properties(&nodes, key, &Column::from_values(&values))
            }
            Operation::SetEdgeProperties { key, rows } => {
                let key = self.transaction.property_key(key)?;
                let present = rows.iter().filter_map(|(pick, value)| Some((self.edge(pick)?, value.clone())));
                let (edges, values): (Vec<EdgeId>, Vec<Value>) = present.unzip();
                self.transaction.set_edge_properties(&edges, key, &Column::from_values(&values))
            }
            Operation::AddLabels { nodes, labels } => {
                let labels = self.labels(labels)?;
                self.transaction.add_labels(&self.present(nodes), &labels)
            }
            Operation::RemoveLabels { nodes, labels } => {
                let labels = self.labels(labels)?;
                self.transaction.remove_labels(&self.present(nodes), &labels)
            }
            Operation::DeleteEdges { edges } => {
                let edges: Vec<EdgeId> = edges.iter().filter_map(|pick| self.edge(pick)).collect();
                self.transaction.delete_edges(&edges)
            }
            Operation::DeleteNodes { nodes } => self.delete_nodes(nodes),
            Operation::DetachDeleteNodes { nodes } => {
                let mut edges = edges_of(self.transaction.view(), &self.present(nodes), Direction::Both);
                edges.sort_unstable();
                edges.dedup();
                self.transaction.delete_edges(&edges)?;
                self.delete_nodes(nodes)
            }
            Operation::CreateRule(spec) => self.create_rule(spec),
            Operation::DropRule(spec) if spec.rule.is_some() => self.transaction.drop_constraint(spec.name),
            Operation::DropRule(spec) => self.transaction.drop_index(spec.name),
            Operation::SetSortKey { edge_type, keys } => {
                let edge_type = self.transaction.edge_type(edge_type)?;
                let keys = self.keys(keys)?;
                self.transaction.set_sort_key(SortKey { edge_type, keys })
            }
            Operation::DropSortKey { edge_type } => {
                let edge_type = self.transaction.edge_type(edge_type)?;
                self.transaction.drop_sort_key(edge_type)
            }
            Operation::Savepoint => {
                self.savepoints.push(self.transaction.savepoint());
                Ok(())
            }
            Operation::RollbackTo { back } => self.rollback_to(*back),
            Operation::Compare => Ok(()),
        }
    }

    fn create_rule(&mut self, spec: &RuleSpec) -> Result<()> {
        let keys = self.keys(spec.keys)?;
        let subject = if spec.on_edges {
            Subject::EdgeType(self.transaction.edge_type(spec.subject)?)
        } else {
            Subject::Label(self.transaction.label(spec.subject)?)
        };
        let name = spec.name.into();
        let Some(mut rule) = spec.rule else {
            return self.transaction.create_index(Index { name, subject, keys }, &Interrupt::new());
        };
        for label in rule.labels_mut() {
            *label = self.transaction.label(LABELS[label.index()])?;
        }
        self.transaction.create_constraint(Constraint { name, subject, keys, rule }, &Interrupt::new())
    }

    fn create_nodes(&mut self, labels: &[&str], keys: &[&str], rows: &[(i64, Vec<Value>)]) -> Result<()> {
        let labels = self.labels(labels)?;
        let uids: Vec<Value> = rows.iter().map(|(uid, _)| Value::Int(*uid)).collect();
        let mut columns = columns_of(keys.len(), rows.iter().map(|(_, values)| values));
        columns.push(Column::from_values(&uids));
        let keys: Vec<&str> = keys.iter().copied().chain([UID]).collect();
        let keys = self.keys(&keys)?;
        let new = NewNodes { count: rows.len(), labels: &labels, keys: &keys, properties: &columns };
        let created = self.transaction.create_nodes(&new)?;
        assert_eq!(created.len(), rows.len(), "an id for each node created");
        self.ids.extend(rows.iter().map(|(uid, _)| *uid).zip(created));
        Ok(())
    }

    fn create_edges(&mut self, edge_type: &str, keys: &[&str], rows: &[(i64, i64, Vec<Value>)]) -> Result<()> {
        let edge_type = self.transaction.edge_type(edge_type)?;
        let (mut sources, mut targets, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (source, target, row) in rows {
            if let (Some(&source), Some(&target)) = (self.ids.get(source), self.ids.get(target)) {
                sources.push(source);
                targets.push(target);
                values.push(row);
            }
        }
        let columns = columns_of(keys.len(), values.into_iter());
        let keys = self.keys(keys)?;
        let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &keys, properties: &columns };
        let created = self.transaction.create_edges(&new)?;
        assert_eq!(created.len(), sources.len(), "an id for each edge created");
        Ok(())
    }

    fn delete_nodes(&mut self, uids: &[i64]) -> Result<()> {
        self.transaction.delete_nodes(&self.present(uids))?;
        uids.iter().for_each(|uid| {
            self.ids.remove(uid);
        });
        Ok(())
    }

    fn rollback_to(&mut self, back: usize) -> Result<()> {
        if back >= self.savepoints.len() {
            return Ok(());
        }
        self.savepoints.truncate(self.savepoints.len() - back);
        let savepoint = *self.savepoints.last().expect("one is left, since fewer than all were cut");
        self.transaction.rollback_to(savepoint)?;
        self.ids = ids_by_uid(self.transaction.view());
        Ok(())
    }

    fn labels(&mut self, names: &[&str]) -> Result<Vec<LabelId>> {
        names.iter().map(|name| self.transaction.label(name)).collect()
    }

    fn keys(&mut self, names: &[&str]) -> Result<Vec<PropertyKeyId>> {
        names.iter().map(|name| self.transaction.property_key(name)).collect()
    }

    fn present(&self, uids: &[i64]) -> Vec<NodeId> {
        uids.iter().filter_map(|uid| self.ids.get(uid).copied()).collect()
    }

    fn edge(&self, pick: &EdgePick) -> Option<EdgeId> {
        edge_of(self.transaction.view(), &self.ids, pick)
    }
}

/// The edge of a pick; equal edges are interchangeable, so that any order among them will do.
fn edge_of(view: &dyn ReadView, ids: &BTreeMap<i64, NodeId>, (uid, pick): &EdgePick) -> Option<EdgeId> {
    let edges = sorted_edges(view, *ids.get(uid)?);
    if edges.is_empty() { None } else { Some(edges[pick % edges.len()]) }
}

/// The edges of picks, as a transaction would find them that begins with that view.
pub fn picked_edges<'a>(view: &dyn ReadView, picks: impl Iterator<Item = &'a EdgePick>) -> Vec<Option<EdgeId>> {
    let ids = ids_by_uid(view);
    picks.map(|pick| edge_of(view, &ids, pick)).collect()
}

fn columns_of<'a>(keys: usize, rows: impl Iterator<Item = &'a Vec<Value>>) -> Vec<Column> {
    let mut columns = vec![Vec::new(); keys];
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value.clone()));
    }
    columns.iter().map(Column::from_values).collect()
}

fn ids_by_uid(view: &dyn ReadView) -> BTreeMap<i64, NodeId> {
    let Some(uid) = view.schema().property_key(UID) else { return BTreeMap::new() };
    let mut ids = BTreeMap::new();
    let scan = NodeScan { keys: vec![uid], ..NodeScan::default() };
    let mut cursor = view.scan(&scan).expect("scanning for uids");
    let mut batch = NodeBatch::default();
    while cursor.next(&mut batch).expect("scanning on for uids") {
        for (row, &node) in batch.nodes.iter().enumerate() {
            if let Value::Int(uid) = batch.properties[0].value(row) {
                ids.insert(uid, node);
            }
        }
    }
    ids
}

fn edges_of(view: &dyn ReadView, nodes: &[NodeId], direction: Direction) -> Vec<EdgeId> {
    let expand = Expand { direction, edge_ids: EdgeIds::Include, ..Expand::default() };
    let mut edges = Vec::new();
    let mut cursor = view.expand(nodes, &expand).expect("expanding");
    let mut batch = EdgeBatch::default();
    while cursor.next(&mut batch).expect("expanding on") {
        edges.extend_from_slice(&batch.edges);
    }
    edges
}

/// The edges that start at a node, in order of type, properties and target's `uid`.
fn sorted_edges(view: &dyn ReadView, node: NodeId) -> Vec<EdgeId> {
    let uid = view.schema().property_key(UID).expect("a node that was found by uid has one");
    let expand = Expand { direction: Direction::Out, edge_ids: EdgeIds::Include, ..Expand::default() };
    let from = [node];
    let mut rows = Vec::new();
    let mut cursor = view.expand(&from, &expand).expect("expanding");
    let mut batch = EdgeBatch::default();
    while cursor.next(&mut batch).expect("expanding on") {
        let uids = view.node_properties(&batch.neighbors, &[uid]).expect("reading uids").swap_remove(0);
        let properties = view.all_edge_properties(&batch.edges).expect("listing edge properties");
        for (row, properties) in properties.iter().enumerate() {
            let name = |key: &PropertyKeyId| view.schema().property_key_name(*key).to_owned();
            let mut properties: Vec<_> =
                properties.iter().map(|(key, value)| (name(key), format!("{value:?}"))).collect();
            properties.sort_unstable();
            let edge_type = view.schema().edge_type_name(batch.types[row]).to_owned();
            rows.push(((edge_type, uids.value(row), properties), batch.edges[row]));
        }
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows.into_iter().map(|(_, edge)| edge).collect()
}
