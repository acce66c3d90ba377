//! Nodes, edges and entries of indexes as rows.
//!
//! A node or edge has a row for each of its versions: the commit that made it is `born`, the one that ended it `died`. A row
//! is seen at a moment if it was born by then and has not died by then. An index has a row for each event: something got or
//! lost a label or a value.

use std::path::Path;
use std::sync::Arc;

use model::codec::bytes::{Get, Put};
use model::codec::hash::{hash_bytes, mix};
use model::codec::{ordered, value};
use model::{EdgeTypeId, LabelId, NodeId, PropertyKeyId, Result, Value};

use crate::packed::{PackedRow, damage};
use crate::tables::Field;

/// Nodes whose ids differ only in these last bits share a partition.
pub(crate) const BUCKET_BITS: u32 = 5;
/// The same of the rows of a label.
pub(crate) const SEGMENT_BITS: u32 = 16;
/// Partitions of an index.
pub(crate) const SHARDS: u64 = 32;
/// Bytes of a sort key that order the rows of a node; what follows is compared after reading.
pub(crate) const SORT_BYTES_MAX: usize = 1 << 10;
/// Bytes of an entry of an index that order it; what follows is compared after reading.
pub(crate) const ENTRY_BYTES_MAX: usize = 2 << 10;
/// Byte of a property that is not there in a sort key: behind all values.
const ABSENT: u8 = 0xf0;

/// Properties in order of their keys.
pub(crate) type Properties = Vec<(PropertyKeyId, Value)>;

/// Content of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeData {
    /// Labels, in order.
    pub(crate) labels: Vec<LabelId>,
    pub(crate) properties: Properties,
}

/// A node as of one commit.
#[derive(Clone, Debug)]
pub(crate) struct NodeVersion {
    pub(crate) born: u64,
    pub(crate) data: Arc<NodeData>,
}

/// Content of an edge.
#[derive(Clone, Debug, Default)]
pub(crate) struct EdgeData {
    pub(crate) edge_type: EdgeTypeId,
    pub(crate) source: NodeId,
    pub(crate) target: NodeId,
    pub(crate) properties: Properties,
}

/// An edge as of one commit.
#[derive(Clone, Debug)]
pub(crate) struct EdgeVersion {
    pub(crate) number: u64,
    pub(crate) born: u64,
    /// Its place among the edges of a node.
    pub(crate) sort: Arc<[u8]>,
    pub(crate) data: Arc<EdgeData>,
}

/// An entry of an index: a node, or an edge with its type and ends.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Values, in order-preserving bytes; cut off behind [`ENTRY_BYTES_MAX`] as it is stored.
    pub(crate) bytes: Arc<[u8]>,
    /// The node, or the number of the edge.
    pub(crate) id: u64,
    /// Type and ends of the edge.
    pub(crate) edge: (EdgeTypeId, NodeId, NodeId),
}

/// The value of a property.
pub(crate) fn property(properties: &[(PropertyKeyId, Value)], key: PropertyKeyId) -> Option<&Value> {
    properties.binary_search_by_key(&key, |(key, _)| *key).ok().map(|at| &properties[at].1)
}

/// Sets or, by null, removes a property.
pub(crate) fn set_property(properties: &mut Properties, key: PropertyKeyId, value: Value) {
    match (properties.binary_search_by_key(&key, |(key, _)| *key), value.is_null()) {
        (Ok(at), true) => drop(properties.remove(at)),
        (Ok(at), false) => properties[at].1 = value,
        (Err(_), true) => {}
        (Err(at), false) => properties.insert(at, (key, value)),
    }
}

/// An id as a field.
pub(crate) fn int(number: u64) -> Field {
    Field::Int(number as i64)
}

/// Bytes as a field.
pub(crate) fn bytes(bytes: &[u8]) -> Field {
    Field::Bytes(Arc::from(bytes))
}

/// Partition of the rows of a node or edge.
pub(crate) fn bucket(id: u64) -> u64 {
    id >> BUCKET_BITS
}

/// Partition of an entry of an index, by its first value.
pub(crate) fn shard(first_value: &[u8]) -> u64 {
    let ordered = &first_value[..first_value.len().min(ENTRY_BYTES_MAX)];
    mix(hash_bytes(ordered, 0)) % SHARDS
}

pub(crate) fn labels_bytes(labels: &[LabelId]) -> Vec<u8> {
    let mut out = Vec::with_capacity(labels.len() * 4);
    labels.iter().for_each(|label| out.put_u32(label.0));
    out
}

pub(crate) fn properties_bytes(properties: &[(PropertyKeyId, Value)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, of) in properties {
        out.put_u32(key.0);
        value::encode(of, &mut out);
    }
    out
}

/// Bytes by which a type's edges of one node are ordered, null last.
pub(crate) fn sort_bytes(properties: &[(PropertyKeyId, Value)], keys: &[PropertyKeyId]) -> Arc<[u8]> {
    let mut out = Vec::new();
    for &key in keys {
        if !property(properties, key).is_some_and(|value| ordered::put_value(value, &mut out)) {
            out.push(ABSENT);
        }
    }
    out.truncate(SORT_BYTES_MAX);
    Arc::from(out)
}

/// Values of an entry of an index, whole; `None` for what lacks one of them.
pub(crate) fn entry_bytes(properties: &[(PropertyKeyId, Value)], keys: &[PropertyKeyId]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let has_all =
        keys.iter().all(|&key| property(properties, key).is_some_and(|value| ordered::put_value(value, &mut out)));
    has_all.then_some(out)
}

/// Bytes of the first value of an entry.
pub(crate) fn first_value(properties: &[(PropertyKeyId, Value)], keys: &[PropertyKeyId]) -> Vec<u8> {
    keys.first().and_then(|&key| entry_bytes(properties, &[key])).unwrap_or_default()
}

/// An integer of a row.
pub(crate) fn number(field: Option<&Field>) -> Result<u64> {
    match field {
        Some(Field::Int(number)) => Ok(*number as u64),
        _ => Err(damage("an integer was expected")),
    }
}

/// Bytes of a row.
pub(crate) fn blob(field: Option<&Field>) -> Result<&Arc<[u8]>> {
    match field {
        Some(Field::Bytes(bytes)) => Ok(bytes),
        _ => Err(damage("bytes were expected")),
    }
}

/// True if a version is seen at a moment. A row of which only `died` is there yet is not.
pub(crate) fn is_seen(row: &PackedRow<'_>, born: u64, at: u64) -> Result<bool> {
    Ok(born <= at && row.cell(0)?.is_none_or(|died| died > at))
}

fn read_labels(bytes: &[u8]) -> Result<Vec<LabelId>> {
    let mut get = Get::new(bytes, Path::new("labels of a node"), 0);
    let mut labels = Vec::with_capacity(bytes.len() / 4);
    while get.left() > 0 {
        labels.push(LabelId(get.u32()?));
    }
    Ok(labels)
}

/// Properties as they are stored.
pub(crate) fn read_properties(bytes: &[u8]) -> Result<Properties> {
    let mut get = Get::new(bytes, Path::new("properties of a row"), 0);
    let mut properties = Vec::new();
    while get.left() > 0 {
        properties.push((PropertyKeyId(get.u32()?), value::decode(&mut get)?));
    }
    Ok(properties)
}

/// A row of nodes, if it is seen at a moment.
pub(crate) fn node_of(row: &PackedRow<'_>, at: u64) -> Result<Option<(NodeId, NodeVersion)>> {
    let (id, born) = (row.key(0)?, row.key(1)?);
    if !is_seen(row, born, at)? {
        return Ok(None);
    }
    let labels = read_labels(row.cell_bytes(1)?)?;
    let properties = read_properties(row.cell_bytes(2)?)?;
    Ok(Some((NodeId(id), NodeVersion { born, data: Arc::new(NodeData { labels, properties }) })))
}

/// A row of edges by number, if it is seen at a moment.
pub(crate) fn edge_of(row: &PackedRow<'_>, at: u64) -> Result<Option<EdgeVersion>> {
    let (number, born) = (row.key(0)?, row.key(1)?);
    if !is_seen(row, born, at)? {
        return Ok(None);
    }
    let data = EdgeData {
        edge_type: EdgeTypeId(row.full_cell(2)? as u32),
        source: NodeId(row.full_cell(3)?),
        target: NodeId(row.full_cell(4)?),
        properties: read_properties(row.cell_bytes(1)?)?,
    };
    Ok(Some(EdgeVersion { number, born, sort: Arc::from(row.cell_bytes(5)?), data: Arc::new(data) }))
}

/// An edge as its node has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbor<'a> {
    pub(crate) number: u64,
    pub(crate) edge_type: EdgeTypeId,
    /// The other end.
    pub(crate) node: NodeId,
    /// Its place among the edges of the type.
    pub(crate) sort: &'a [u8],
    properties: &'a [u8],
}

impl Neighbor<'_> {
    /// The properties of the edge.
    pub(crate) fn properties(&self) -> Result<Properties> {
        read_properties(self.properties)
    }
}

/// A row of edges by one of their ends, if it is seen at a moment.
pub(crate) fn neighbor_of<'a>(row: &PackedRow<'a>, at: u64) -> Result<Option<Neighbor<'a>>> {
    if !is_seen(row, row.key(5)?, at)? {
        return Ok(None);
    }
    let (edge_type, node) = (EdgeTypeId(row.key(1)? as u32), NodeId(row.key(3)?));
    let (sort, properties) = (row.key_bytes(2)?, row.cell_bytes(1)?);
    Ok(Some(Neighbor { number: row.key(4)?, edge_type, node, sort, properties }))
}

/// The entry of an event of an index.
pub(crate) fn entry_of(row: &PackedRow<'_>) -> Result<Entry> {
    let cell = |at: usize| Ok::<u64, model::Error>(row.cell(at)?.unwrap_or_default());
    let edge = (EdgeTypeId(cell(3)? as u32), NodeId(cell(1)?), NodeId(cell(2)?));
    Ok(Entry { bytes: Arc::from(row.key_bytes(0)?), id: row.key(1)?, edge })
}
