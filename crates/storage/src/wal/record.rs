//! Records of the log: each has the operations of one transaction, in the order they were done.
//!
//! Operations are logical and do not depend on where things lie in files. Nodes have ids that never change, edges
//! numbers, by which they are named together with their type and ends, see [`EdgeName`]. So a record can be repeated on
//! every state that holds what the transaction relied on: after a crash, after a flush, or on what other transactions
//! have left meanwhile.

use crate::error::StorageError;
use crate::format::EDGE_TYPES_MAX;
use model::Schema;
use model::store::{ElementId, NewEdges, NewNodes};
use model::{Column, Constraint, EdgeTypeId, Index, LabelId, NodeId, PropertyKeyId, Result, SortKey};

use super::column::{column, put_column, put_words, words};
use crate::codec::bytes::{Get, Put};
use crate::format::{EDGE_NUMBER_LIMIT, NODE_ID_LIMIT};
use model::codec::rules;

const LABEL: u8 = 1;
const EDGE_TYPE: u8 = 2;
const PROPERTY_KEY: u8 = 3;
const CREATE_NODES: u8 = 4;
/// Of version 2: the edges have no numbers.
const CREATE_UNNUMBERED_EDGES: u8 = 5;
const SET_NODE_PROPERTIES: u8 = 6;
const SET_EDGE_PROPERTIES: u8 = 7;
const ADD_LABELS: u8 = 8;
const REMOVE_LABELS: u8 = 9;
const DELETE_EDGES: u8 = 10;
const DELETE_NODES: u8 = 11;
const DROP_CONSTRAINT: u8 = 13;
const CREATE_EDGES: u8 = 14;
const SET_SORT_KEY: u8 = 30;
const DROP_SORT_KEY: u8 = 31;
const CREATE_CONSTRAINT: u8 = 20;
const CREATE_INDEX: u8 = 21;
const DROP_INDEX: u8 = 22;

/// Nodes that one operation makes, at most.
pub(crate) const NODES_OF_OPERATION_MAX: usize = 1 << 26;

/// Ways to name an edge.
const OWN: u8 = 0;
/// Of version 2.
const RANKED: u8 = 1;
const OLD: u8 = 2;

/// The kinds of names a schema numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Label,
    EdgeType,
    PropertyKey,
}

impl NameKind {
    /// Fails if there is no number left for another name of this kind.
    pub(crate) fn check_room(self, schema: &Schema) -> Result<()> {
        if self != NameKind::EdgeType || schema.edge_types.len() < EDGE_TYPES_MAX {
            return Ok(());
        }
        let limit = StorageError::limit(format!("a store has at most {EDGE_TYPES_MAX} relationship types"));
        Err(limit.with_remedy("keep what tells them apart in a property"))
    }
}

/// Source and target of an edge, and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ends {
    pub(crate) source: NodeId,
    pub(crate) target: NodeId,
    pub(crate) edge_type: EdgeTypeId,
}

impl Ends {
    /// Source and target.
    pub(crate) fn pair(self) -> (NodeId, NodeId) {
        (self.source, self.target)
    }
}

/// Identity of an edge, with the place to look for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeKey {
    /// Its ends and type.
    pub(crate) ends: Ends,
    pub(crate) number: u64,
}

impl EdgeKey {
    /// The key that an element id says; `None` if it is that of no edge.
    pub(crate) fn parse(element_id: &str) -> Option<EdgeKey> {
        let ElementId { edge_type, source, target, number } = ElementId::parse(element_id)?;
        let can_be = source.0 < NODE_ID_LIMIT && target.0 < NODE_ID_LIMIT && number < EDGE_NUMBER_LIMIT;
        can_be.then_some(EdgeKey { ends: Ends { source, target, edge_type }, number })
    }
}

/// Name of an edge in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeName {
    /// Made by the transaction itself: its place among the edges that it made.
    Own(u32),
    /// There before.
    Old(EdgeKey),
    /// There before, in logs of version 2: its place among the live edges of its type between its ends, those that the
    /// transaction made left out. An operation names all its edges as they stand before it.
    Ranked { ends: Ends, rank: u32 },
}

/// One operation, read back.
#[derive(Debug)]
pub(crate) enum Operation<'a> {
    Name(NameKind, &'a str),
    CreateNodes {
        /// The id of the first; the others follow.
        first: NodeId,
        count: usize,
        labels: Vec<LabelId>,
        keys: Vec<PropertyKeyId>,
        properties: Vec<Column>,
    },
    CreateEdges {
        /// The number of the first; the others follow. None in version 2: they follow the largest that was given.
        first: Option<u64>,
        edge_type: EdgeTypeId,
        sources: Vec<NodeId>,
        targets: Vec<NodeId>,
        keys: Vec<PropertyKeyId>,
        properties: Vec<Column>,
    },
    SetNodeProperties(Vec<NodeId>, PropertyKeyId, Column),
    SetEdgeProperties(Vec<EdgeName>, PropertyKeyId, Column),
    AddLabels(Vec<NodeId>, Vec<LabelId>),
    RemoveLabels(Vec<NodeId>, Vec<LabelId>),
    DeleteEdges(Vec<EdgeName>),
    DeleteNodes(Vec<NodeId>),
    CreateConstraint(Constraint),
    DropConstraint(&'a str),
    SetSortKey(SortKey),
    DropSortKey(EdgeTypeId),
    CreateIndex(Index),
    DropIndex(&'a str),
}

/// Adds a new name.
pub(crate) fn put_name(kind: NameKind, name: &str, out: &mut Vec<u8>) {
    out.push(match kind {
        NameKind::Label => LABEL,
        NameKind::EdgeType => EDGE_TYPE,
        NameKind::PropertyKey => PROPERTY_KEY,
    });
    out.put_text(name);
}

/// Adds the making of nodes, the first of which has that id.
pub(crate) fn put_create_nodes(first: NodeId, new: &NewNodes<'_>, out: &mut Vec<u8>) {
    out.push(CREATE_NODES);
    out.put_u64(first.0);
    out.put_u32(new.count as u32);
    put_labels(new.labels, out);
    put_properties(new.keys, new.properties, out);
}

/// Adds the making of edges, the first of which has that number.
pub(crate) fn put_create_edges(first: u64, new: &NewEdges<'_>, out: &mut Vec<u8>) {
    out.push(CREATE_EDGES);
    out.put_u64(first);
    put_new_edges(new, out);
}

fn put_new_edges(new: &NewEdges<'_>, out: &mut Vec<u8>) {
    out.put_u32(new.edge_type.0);
    put_nodes(new.sources, out);
    put_nodes(new.targets, out);
    put_properties(new.keys, new.properties, out);
}

/// Adds the setting of a property of nodes.
pub(crate) fn put_set_node_properties(nodes: &[NodeId], key: PropertyKeyId, values: &Column, out: &mut Vec<u8>) {
    out.push(SET_NODE_PROPERTIES);
    put_nodes(nodes, out);
    out.put_u32(key.0);
    put_column(values, out);
}

/// Adds the setting of a property of edges.
pub(crate) fn put_set_edge_properties(edges: &[EdgeName], key: PropertyKeyId, values: &Column, out: &mut Vec<u8>) {
    out.push(SET_EDGE_PROPERTIES);
    put_edges(edges, out);
    out.put_u32(key.0);
    put_column(values, out);
}

/// Adds the labelling of nodes.
pub(crate) fn put_add_labels(nodes: &[NodeId], labels: &[LabelId], out: &mut Vec<u8>) {
    out.push(ADD_LABELS);
    put_nodes(nodes, out);
    put_labels(labels, out);
}

/// Adds the taking of labels from nodes.
pub(crate) fn put_remove_labels(nodes: &[NodeId], labels: &[LabelId], out: &mut Vec<u8>) {
    out.push(REMOVE_LABELS);
    put_nodes(nodes, out);
    put_labels(labels, out);
}

/// Adds the deleting of edges.
pub(crate) fn put_delete_edges(edges: &[EdgeName], out: &mut Vec<u8>) {
    out.push(DELETE_EDGES);
    put_edges(edges, out);
}

/// Adds the deleting of nodes.
pub(crate) fn put_delete_nodes(nodes: &[NodeId], out: &mut Vec<u8>) {
    out.push(DELETE_NODES);
    put_nodes(nodes, out);
}

/// Adds a new constraint.
pub(crate) fn put_create_constraint(constraint: &Constraint, out: &mut Vec<u8>) {
    out.push(CREATE_CONSTRAINT);
    rules::put_constraint(constraint, out);
}

/// Adds a new index.
pub(crate) fn put_create_index(index: &Index, out: &mut Vec<u8>) {
    out.push(CREATE_INDEX);
    rules::put_index(index, out);
}

/// Adds the dropping of an index.
pub(crate) fn put_drop_index(name: &str, out: &mut Vec<u8>) {
    out.push(DROP_INDEX);
    out.put_text(name);
}

/// Adds the dropping of a constraint.
pub(crate) fn put_drop_constraint(name: &str, out: &mut Vec<u8>) {
    out.push(DROP_CONSTRAINT);
    out.put_text(name);
}

/// Adds the declaration of a sort key.
pub(crate) fn put_set_sort_key(sort_key: &SortKey, out: &mut Vec<u8>) {
    out.push(SET_SORT_KEY);
    out.put_u32(sort_key.edge_type.0);
    out.put_u32(sort_key.keys.len() as u32);
    sort_key.keys.iter().for_each(|key| out.put_u32(key.0));
}

/// Adds the dropping of a sort key.
pub(crate) fn put_drop_sort_key(edge_type: EdgeTypeId, out: &mut Vec<u8>) {
    out.push(DROP_SORT_KEY);
    out.put_u32(edge_type.0);
}

/// Adds an operation that was read back.
pub(crate) fn put_operation(operation: &Operation<'_>, out: &mut Vec<u8>) {
    match operation {
        Operation::Name(kind, name) => put_name(*kind, name, out),
        Operation::CreateNodes { first, count, labels, keys, properties } => {
            put_create_nodes(*first, &NewNodes { count: *count, labels, keys, properties }, out);
        }
        Operation::CreateEdges { first, edge_type, sources, targets, keys, properties } => {
            let new = NewEdges { edge_type: *edge_type, sources, targets, keys, properties };
            match first {
                Some(first) => put_create_edges(*first, &new, out),
                None => {
                    out.push(CREATE_UNNUMBERED_EDGES);
                    put_new_edges(&new, out);
                }
            }
        }
        Operation::SetNodeProperties(nodes, key, values) => put_set_node_properties(nodes, *key, values, out),
        Operation::SetEdgeProperties(edges, key, values) => put_set_edge_properties(edges, *key, values, out),
        Operation::AddLabels(nodes, labels) => put_add_labels(nodes, labels, out),
        Operation::RemoveLabels(nodes, labels) => put_remove_labels(nodes, labels, out),
        Operation::DeleteEdges(edges) => put_delete_edges(edges, out),
        Operation::DeleteNodes(nodes) => put_delete_nodes(nodes, out),
        Operation::CreateConstraint(constraint) => put_create_constraint(constraint, out),
        Operation::CreateIndex(index) => put_create_index(index, out),
        Operation::DropIndex(name) => put_drop_index(name, out),
        Operation::DropConstraint(name) => put_drop_constraint(name, out),
        Operation::SetSortKey(sort_key) => put_set_sort_key(sort_key, out),
        Operation::DropSortKey(edge_type) => put_drop_sort_key(*edge_type, out),
    }
}

fn put_nodes(nodes: &[NodeId], out: &mut Vec<u8>) {
    out.put_u32(nodes.len() as u32);
    put_words(nodes.iter().map(|node| node.0), out);
}

fn put_edges(edges: &[EdgeName], out: &mut Vec<u8>) {
    out.put_u32(edges.len() as u32);
    for edge in edges {
        match *edge {
            EdgeName::Own(number) => {
                out.push(OWN);
                out.put_u32(number);
            }
            EdgeName::Old(EdgeKey { ends, number }) => {
                out.push(OLD);
                put_ends(ends, out);
                out.put_u64(number);
            }
            EdgeName::Ranked { ends, rank } => {
                out.push(RANKED);
                put_ends(ends, out);
                out.put_u32(rank);
            }
        }
    }
}

fn put_ends(ends: Ends, out: &mut Vec<u8>) {
    out.put_u32(ends.edge_type.0);
    out.put_u64(ends.source.0);
    out.put_u64(ends.target.0);
}

fn put_labels(labels: &[LabelId], out: &mut Vec<u8>) {
    out.put_u32(labels.len() as u32);
    labels.iter().for_each(|label| out.put_u32(label.0));
}

fn put_properties(keys: &[PropertyKeyId], properties: &[Column], out: &mut Vec<u8>) {
    out.put_u32(keys.len() as u32);
    for (key, column) in keys.iter().zip(properties) {
        out.put_u32(key.0);
        put_column(column, out);
    }
}

/// The next operation.
pub(crate) fn operation<'a>(get: &mut Get<'a>) -> Result<Operation<'a>> {
    Ok(match get.u8()? {
        LABEL => Operation::Name(NameKind::Label, get.text()?),
        EDGE_TYPE => Operation::Name(NameKind::EdgeType, get.text()?),
        PROPERTY_KEY => Operation::Name(NameKind::PropertyKey, get.text()?),
        CREATE_NODES => {
            let (first, count) = (NodeId(get.u64()?), get.u32()? as usize);
            let labels = labels(get)?;
            let (keys, properties) = properties(get, count)?;
            Operation::CreateNodes { first, count, labels, keys, properties }
        }
        CREATE_EDGES => {
            let first = get.u64()?;
            create_edges(Some(first), get)?
        }
        CREATE_UNNUMBERED_EDGES => create_edges(None, get)?,
        SET_NODE_PROPERTIES => {
            let (nodes, key, values) = (nodes(get)?, PropertyKeyId(get.u32()?), column(get)?);
            expect_rows(get, values.len(), nodes.len())?;
            Operation::SetNodeProperties(nodes, key, values)
        }
        SET_EDGE_PROPERTIES => {
            let (edges, key, values) = (edges(get)?, PropertyKeyId(get.u32()?), column(get)?);
            expect_rows(get, values.len(), edges.len())?;
            Operation::SetEdgeProperties(edges, key, values)
        }
        ADD_LABELS => Operation::AddLabels(nodes(get)?, labels(get)?),
        REMOVE_LABELS => Operation::RemoveLabels(nodes(get)?, labels(get)?),
        DELETE_EDGES => Operation::DeleteEdges(edges(get)?),
        DELETE_NODES => Operation::DeleteNodes(nodes(get)?),
        CREATE_CONSTRAINT => Operation::CreateConstraint(rules::constraint(get)?),
        DROP_CONSTRAINT => Operation::DropConstraint(get.text()?),
        SET_SORT_KEY => {
            let edge_type = EdgeTypeId(get.u32()?);
            let keys = (0..get.count(4)?).map(|_| Ok(PropertyKeyId(get.u32()?))).collect::<Result<_>>()?;
            Operation::SetSortKey(SortKey { edge_type, keys })
        }
        DROP_SORT_KEY => Operation::DropSortKey(EdgeTypeId(get.u32()?)),
        CREATE_INDEX => Operation::CreateIndex(rules::index(get)?),
        DROP_INDEX => Operation::DropIndex(get.text()?),
        tag => return Err(get.damage(format!("no operation has the number {tag}"))),
    })
}

fn create_edges<'a>(first: Option<u64>, get: &mut Get<'a>) -> Result<Operation<'a>> {
    let edge_type = EdgeTypeId(get.u32()?);
    let (sources, targets) = (nodes(get)?, nodes(get)?);
    expect_rows(get, targets.len(), sources.len())?;
    let (keys, properties) = properties(get, sources.len())?;
    let is_number = |first: u64| first.checked_add(sources.len() as u64).is_some_and(|end| end <= EDGE_NUMBER_LIMIT);
    if !first.is_none_or(is_number) {
        return Err(get.damage(format!("edges have numbers from {} on", first.unwrap_or(0))));
    }
    Ok(Operation::CreateEdges { first, edge_type, sources, targets, keys, properties })
}

fn expect_rows(get: &Get<'_>, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(get.damage(format!("an operation has {found} rows where {expected} were expected")))
}

fn nodes(get: &mut Get<'_>) -> Result<Vec<NodeId>> {
    let count = get.count(8)?;
    Ok(words(get, count)?.map(NodeId).collect())
}

fn edges(get: &mut Get<'_>) -> Result<Vec<EdgeName>> {
    let count = get.count(5)?;
    (0..count).map(|_| edge(get)).collect()
}

fn edge(get: &mut Get<'_>) -> Result<EdgeName> {
    match get.u8()? {
        OWN => Ok(EdgeName::Own(get.u32()?)),
        OLD => Ok(EdgeName::Old(EdgeKey { ends: ends(get)?, number: get.u64()? })),
        RANKED => Ok(EdgeName::Ranked { ends: ends(get)?, rank: get.u32()? }),
        tag => Err(get.damage(format!("no way to name an edge has the number {tag}"))),
    }
}

fn ends(get: &mut Get<'_>) -> Result<Ends> {
    let edge_type = EdgeTypeId(get.u32()?);
    Ok(Ends { edge_type, source: NodeId(get.u64()?), target: NodeId(get.u64()?) })
}

fn labels(get: &mut Get<'_>) -> Result<Vec<LabelId>> {
    let count = get.count(4)?;
    (0..count).map(|_| Ok(LabelId(get.u32()?))).collect()
}

fn properties(get: &mut Get<'_>, rows: usize) -> Result<(Vec<PropertyKeyId>, Vec<Column>)> {
    let count = get.count(5)?;
    let (mut keys, mut columns) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for _ in 0..count {
        keys.push(PropertyKeyId(get.u32()?));
        let column = column(get)?;
        expect_rows(get, column.len(), rows)?;
        columns.push(column);
    }
    Ok((keys, columns))
}
