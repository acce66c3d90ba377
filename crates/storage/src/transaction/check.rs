//! Checks before an operation: what must exist does, what must be unique stays so, values can be kept.

use std::borrow::Cow;

use model::limits::QUERY_DEPTH_MAX;
use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{
    Column, ColumnData, Constraint, Direction, EdgeBatch, EdgeId, Error, Expand, Interrupt, LabelId, Map, NodeId,
    PropertyKeyId, ReadView, Result, Schema, Set, Value, error,
};

use crate::error::StorageError;
use crate::format::{NODE_ID_LIMIT, VALUE_BYTES_MAX};
use crate::index_build::keys as build;
use crate::memtable::{EDGES_MAX, UniqueIndex, equals_itself};
use crate::snapshot::Snapshot;
use crate::wal::record::NODES_OF_OPERATION_MAX;

impl Snapshot {
    pub(super) fn check_new_nodes(&self, new: &NewNodes<'_>) -> Result<()> {
        check_columns(new.count, new.keys, new.properties)?;
        if NODE_ID_LIMIT - self.memtable.node_id_bound() < new.count as u64 {
            return Err(no_ids_left());
        }
        if new.count > NODES_OF_OPERATION_MAX {
            return Err(StorageError::limit(format!("one call can make at most {NODES_OF_OPERATION_MAX} nodes")));
        }
        self.check_new_node_types(new)?;
        self.check_new_node_values(new)?;
        for constraint in &self.memtable.schema.constraints {
            if let Some((label, key)) = constraint.lookup_key()
                && new.labels.contains(&label)
                && let Some(values) = column_of(key, new)
            {
                self.check_new_values(constraint, label, key, &values)?;
            }
        }
        Ok(())
    }

    /// Fails if a value of new nodes is taken, or comes twice.
    fn check_new_values(
        &self,
        constraint: &Constraint,
        label: LabelId,
        key: PropertyKeyId,
        values: &Column,
    ) -> Result<()> {
        let owners = self.lookup(label, key, values)?;
        let mut seen = Set::default();
        for row in (0..values.len()).filter(|&row| !values.is_null(row)) {
            let value = values.value(row);
            if let Value::Node(owner) = owners.value(row) {
                return Err(taken(&self.memtable.schema, constraint, &value, Some(owner)));
            }
            if values.len() > 1 && equals_itself(&value) && !seen.insert(value.clone()) {
                return Err(taken(&self.memtable.schema, constraint, &value, None));
            }
        }
        Ok(())
    }

    pub(super) fn check_new_edges(&self, new: &NewEdges<'_>) -> Result<()> {
        if new.sources.len() != new.targets.len() {
            let (sources, targets) = (new.sources.len(), new.targets.len());
            return Err(error!(Argument, "{sources} sources and {targets} targets: each edge has one of each"));
        }
        check_columns(new.sources.len(), new.keys, new.properties)?;
        if EDGES_MAX - self.memtable.edges.len() < new.sources.len() {
            return Err(StorageError::limit(format!("one transaction can make at most {EDGES_MAX} edges")));
        }
        self.check_nodes_exist(new.sources)?;
        self.check_nodes_exist(new.targets)?;
        self.check_new_edge_types(new)?;
        self.check_new_edge_values(new)
    }

    pub(super) fn check_nodes_exist(&self, nodes: &[NodeId]) -> Result<()> {
        let exist = self.nodes_exist(nodes)?;
        match (0..nodes.len()).find(|&row| !exist.get(row)) {
            None => Ok(()),
            Some(row) => Err(error!(NotFound, "node {} is not there", nodes[row].0)),
        }
    }

    /// Fails unless properties may be set; gives the nodes that may have the same values as another then.
    pub(super) fn check_set_node_properties(
        &self,
        nodes: &[NodeId],
        key: PropertyKeyId,
        values: &Column,
    ) -> Result<Vec<NodeId>> {
        self.check_nodes_exist(nodes)?;
        self.check_node_types(nodes, key, values)?;
        let mut doubtful = self.check_set_node_values(nodes, key, values)?;
        for constraint in &self.memtable.schema.constraints {
            let Some((label, _)) = constraint.lookup_key().filter(|&(_, of)| of == key) else { continue };
            let mut after: Map<NodeId, Value> = Map::default();
            for (row, &node) in nodes.iter().enumerate() {
                if self.labels_of(node)?.contains(&label) {
                    after.insert(node, values.value(row));
                }
            }
            self.find_equal(label, key, &after, &mut doubtful)?;
        }
        Ok(doubtful)
    }

    /// Adds the nodes of a constraint's label to `out` whose values will not be unique, those that have a value before those
    /// that get it.
    fn find_equal(
        &self,
        label: LabelId,
        key: PropertyKeyId,
        after: &Map<NodeId, Value>,
        out: &mut Vec<NodeId>,
    ) -> Result<()> {
        let mut seen: Map<&Value, NodeId> = Map::default();
        let owners = self.lookup(label, key, &Column::from_values(after.values()))?;
        for (row, (&node, value)) in after.iter().enumerate().filter(|(_, (_, value))| equals_itself(value)) {
            if let Some(other) = seen.insert(value, node) {
                out.extend([other, node]);
            }
            // An owner that gets another value in the same call makes room.
            if let Value::Node(owner) = owners.value(row)
                && owner != node
                && after.get(&owner).is_none_or(|other| other == value)
            {
                out.extend([owner, node]);
            }
        }
        Ok(())
    }

    /// Fails unless properties may be set; gives the edges that may have the same values as another then.
    pub(super) fn check_set_edge_properties(
        &self,
        edges: &[EdgeId],
        key: PropertyKeyId,
        values: &Column,
    ) -> Result<Vec<EdgeId>> {
        for &edge in edges {
            if self.edge_ends(edge)?.is_none() {
                return Err(error!(NotFound, "edge {} is not there", edge.0));
            }
        }
        self.check_edge_types(edges, key, values)?;
        self.check_set_edge_values(edges, key, values)
    }

    /// Fails unless the nodes may carry the labels; gives those that may have the same values as another then.
    pub(super) fn check_add_labels(&self, nodes: &[NodeId], labels: &[LabelId]) -> Result<Vec<NodeId>> {
        self.check_nodes_exist(nodes)?;
        self.check_types_of_labelled(nodes, labels)?;
        let mut doubtful = self.check_values_of_labelled(nodes, labels)?;
        for constraint in &self.memtable.schema.constraints {
            let Some((label, key)) = constraint.lookup_key().filter(|(label, _)| labels.contains(label)) else {
                continue;
            };
            let mut after: Map<NodeId, Value> = Map::default();
            for &node in nodes {
                if !self.labels_of(node)?.contains(&label) {
                    after.insert(node, self.node_property(node, key)?);
                }
            }
            self.find_equal(label, key, &after, &mut doubtful)?;
        }
        Ok(doubtful)
    }

    pub(super) fn check_unconnected(&self, nodes: &[NodeId]) -> Result<()> {
        let mut present = nodes.to_vec();
        let exists = self.nodes_exist(nodes)?;
        let mut at = 0;
        present.retain(|_| {
            at += 1;
            exists.get(at - 1)
        });
        // All of them at once: files with thousands of types have as many sections to be looked through.
        let expand = Expand { direction: Direction::Both, edge_ids: EdgeIds::Omit, ..Expand::default() };
        let mut batch = EdgeBatch::default();
        if self.expand(&present, &expand)?.next(&mut batch)?
            && let Some(&input) = batch.inputs.first()
        {
            return Err(error!(StillConnected, "node {} still has edges", present[input as usize].0));
        }
        Ok(())
    }

    /// The values by which nodes are looked up under the constraint; fails with `CONSTRAINT` if two are equal.
    pub(super) fn values_of_all(&self, constraint: &Constraint, interrupt: &Interrupt) -> Result<UniqueIndex> {
        let Some((label, key)) = constraint.lookup_key() else { return Ok(UniqueIndex::default()) };
        build::build(self, label, key, interrupt)?.map_err(|(owner, node, value)| {
            taken(&self.memtable.schema, constraint, &value, None).within(&format!("nodes {} and {}", owner.0, node.0))
        })
    }
}

/// The error of a value that another node has, the owner if that is known.
pub(super) fn taken(schema: &Schema, constraint: &Constraint, value: &Value, owner: Option<NodeId>) -> Error {
    let (label, key) = (schema.subject_name(constraint.subject), schema.property_key_name(constraint.keys[0]));
    let name = &constraint.name;
    match owner {
        Some(owner) => {
            error!(Constraint, "constraint {name}: node {} of label {label} already has {key} {value}", owner.0)
        }
        None => error!(Constraint, "constraint {name}: two nodes of label {label} have the same {key} {value}"),
    }
}

/// The values that new nodes will have for a key. Of two columns with the same key the later counts, where it has a value.
pub(super) fn column_of<'a>(key: PropertyKeyId, new: &NewNodes<'a>) -> Option<Cow<'a, Column>> {
    let columns = new.keys.iter().zip(new.properties).filter(|(of, _)| **of == key);
    let columns: Vec<&Column> = columns.map(|(_, column)| column).collect();
    if let [] | [_] = columns[..] {
        return columns.first().copied().map(Cow::Borrowed);
    }
    let value = |row: usize| columns.iter().rev().map(|column| column.value(row)).find(|value| !value.is_null());
    let values: Vec<Value> = (0..new.count).map(|row| value(row).unwrap_or_default()).collect();
    Some(Cow::Owned(Column::from_values(&values)))
}

fn check_columns(rows: usize, keys: &[PropertyKeyId], columns: &[Column]) -> Result<()> {
    if keys.len() != columns.len() {
        return Err(error!(Argument, "{} property keys and {} columns: each key has one", keys.len(), columns.len()));
    }
    columns.iter().try_for_each(|column| check_column(rows, column))
}

/// Fails if a column has the wrong length or holds what cannot be a property.
pub(super) fn check_column(rows: usize, column: &Column) -> Result<()> {
    if column.len() != rows {
        return Err(error!(Argument, "a column of {} rows where {rows} were expected", column.len()));
    }
    check_sizes(column, VALUE_BYTES_MAX)?;
    column.check_time()?;
    if !matches!(column.data, ColumnData::Node(_) | ColumnData::Edge(_) | ColumnData::Value(_)) {
        return Ok(());
    }
    column.values().try_for_each(|value| check_depth(&value, 0))
}

/// Fails if a value takes more bytes than a property may.
fn check_sizes(column: &Column, most: usize) -> Result<()> {
    let bytes_of = |row: usize| match &column.data {
        ColumnData::String(texts) => texts.get(row).len(),
        ColumnData::Value(values) => encoded_bytes(&values[row]),
        _ => 0,
    };
    match (0..column.len()).find(|&row| !column.is_null(row) && bytes_of(row) > most) {
        None => Ok(()),
        Some(row) => {
            let bytes = bytes_of(row);
            Err(StorageError::limit(format!("a property of {bytes} bytes is too large, {most} are possible")))
        }
    }
}

/// Bytes that a value takes in the log and in files, at most.
fn encoded_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 8,
        Value::Bytes(bytes) => bytes.len() + 8,
        Value::List(items) => 8 + items.iter().map(encoded_bytes).sum::<usize>(),
        _ => 32,
    }
}

/// The error of asking for more nodes than there are ids.
pub(crate) fn no_ids_left() -> Error {
    StorageError::limit(format!("a store makes at most {NODE_ID_LIMIT} nodes, deleted ones included"))
        .with_remedy("export what is there and import it into a new store (knot export, knot import)")
}

/// Fails on lists nested deeper than files and the log can hold, and on what cannot be a property.
fn check_depth(value: &Value, depth: usize) -> Result<()> {
    match value {
        Value::List(_) if depth == QUERY_DEPTH_MAX => {
            Err(StorageError::limit(format!("a property cannot hold lists nested deeper than {QUERY_DEPTH_MAX}")))
        }
        Value::List(items) => items.iter().try_for_each(|item| match item {
            Value::Null => Err(error!(Type, "a property cannot hold a list with nulls in it")),
            item => check_depth(item, depth + 1),
        }),
        value if value.is_storable() => Ok(()),
        value => Err(error!(Type, "a property cannot hold {value} of type {}", value.type_name())),
    }
}

#[cfg(test)]
mod tests {
    use model::{Column, ColumnData, ErrorCode, Schema, Value};

    use super::check_sizes;
    use crate::format::EDGE_TYPES_MAX;
    use crate::wal::record::NameKind;

    #[test]
    fn values_up_to_the_limit_are_taken() {
        let check = |value: Value, most: usize| {
            let column = Column::from_values(&[Value::Null, value]);
            check_sizes(&column, most).map_err(|error| error.code())
        };
        assert_eq!(check(Value::string("abcd"), 4), Ok(()));
        assert_eq!(check(Value::string("abcde"), 4), Err(ErrorCode::Limit));
        let list = Value::list(vec![Value::string("ab"), Value::string("c")]);
        assert_eq!((check(list.clone(), 27), check(list, 26)), (Ok(()), Err(ErrorCode::Limit)));
        assert!(check_sizes(&Column::new(ColumnData::Int(vec![1; 3])), 0).is_ok());
    }

    #[test]
    fn types_up_to_the_limit_are_taken() {
        let mut schema = Schema::default();
        for number in 1..EDGE_TYPES_MAX {
            schema.edge_types.intern(&number.to_string());
        }
        assert!(NameKind::EdgeType.check_room(&schema).is_ok());
        schema.edge_types.intern("the last");
        assert_eq!(NameKind::EdgeType.check_room(&schema).unwrap_err().code(), ErrorCode::Limit);
        assert!(NameKind::Label.check_room(&schema).is_ok());
    }
}
