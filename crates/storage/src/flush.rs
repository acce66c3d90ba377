//! Flush: merges the memtable into new files, and begins a new log.
//!
//! The new log is made before the manifest that names it, and the old one is removed after: a crash at any moment leaves
//! a manifest whose log holds exactly what its files do not.

use std::sync::Arc;

use model::column::ColumnBuilder;
use model::{EdgeId, EdgeTypeId, Interrupt, Map, NodeId, PropertyKeyId, Result, Value};

use crate::build::BuildConfig;
use crate::build::context::heard;
use crate::bulk::{self, Built, Changes, EdgePropertyChange, NewEdgeRows, NodeChange};
use crate::memtable::{Memtable, Properties, edge_id};
use crate::version::Version;

/// Writes files of what the memtable says about the base; the log with `wal_number` holds what comes after.
pub(crate) fn build(
    base: &Arc<Version>,
    memtable: &Memtable,
    wal_number: u64,
    config: &BuildConfig,
    interrupt: &Interrupt,
) -> Result<Built> {
    bulk::build(base, changes(base, memtable, wal_number, interrupt)?.0, config, interrupt)
}

/// Writes files of what the memtable says about the base, and tells where the edges made in it have come to lie, and those
/// of the base that moved.
pub(crate) fn build_placing(
    base: &Arc<Version>,
    memtable: &Memtable,
    config: &BuildConfig,
    interrupt: &Interrupt,
) -> Result<Built> {
    let (changes, edge_ids) = changes(base, memtable, base.manifest().wal_number, interrupt)?;
    bulk::build(base, Changes { edge_ids, ..changes }, config, interrupt)
}

/// Changes of the base in the memtable, and the ids that the edges of each part of the new ones have so far.
fn changes(
    base: &Version,
    memtable: &Memtable,
    wal_number: u64,
    interrupt: &Interrupt,
) -> Result<(Changes, Vec<Vec<EdgeId>>)> {
    let changed = memtable.edge_changes.iter();
    let deleted = changed.clone().filter(|(_, change)| change.is_deleted).map(|(&edge, _)| EdgeId(edge));
    let mut deleted_edges: Vec<EdgeId> = interruptible(interrupt, deleted).collect::<Result<_>>()?;
    deleted_edges.sort_unstable();
    let properties = |(&edge, change): (&u64, &crate::memtable::EdgeChange)| {
        let entries = change.properties.entries().to_vec();
        entries.into_iter().map(move |(key, value)| EdgePropertyChange { edge: EdgeId(edge), key, value })
    };
    let changed = changed.filter(|(_, change)| !change.is_deleted).flat_map(properties);
    let mut edge_properties: Vec<EdgePropertyChange> = interruptible(interrupt, changed).collect::<Result<_>>()?;
    edge_properties.sort_unstable_by_key(|change| (change.edge, change.key));
    let mut new_edges = new_edges(memtable, interrupt)?;
    if !memtable.schema.sort_keys.is_empty() && !edge_properties.is_empty() {
        move_edges(base, memtable, &mut edge_properties, &mut deleted_edges, &mut new_edges)?;
    }
    let (new_edges, edge_ids) = new_edges.into_iter().unzip();
    let changes = Changes {
        schema: (*memtable.schema).clone(),
        node_id_bound: memtable.node_id_bound(),
        nodes: node_changes(memtable, interrupt)?,
        new_edges,
        edge_ids: Vec::new(),
        deleted_edges,
        edge_properties,
        ordered: memtable.schema.indexes.iter().cloned().zip(memtable.ordered.iter().cloned()).collect(),
        wal_number,
        statistics: Some((*memtable.statistics).clone()),
    };
    Ok((changes, edge_ids))
}

/// New edges of one type, and the ids that they have so far.
type EdgesWithIds = (NewEdgeRows, Vec<EdgeId>);

/// Edges that got another value of a property of their type's sort key leave their place: they are deleted there, and go
/// to the new edges with their number and all their properties.
fn move_edges(
    base: &Version,
    memtable: &Memtable,
    properties: &mut Vec<EdgePropertyChange>,
    deleted: &mut Vec<EdgeId>,
    new: &mut Vec<EdgesWithIds>,
) -> Result<()> {
    let all = std::mem::take(properties);
    let mut moved: Map<EdgeTypeId, Chunk> = Map::default();
    for changes in all.chunk_by(|a, b| a.edge == b.edge) {
        let edge = changes[0].edge;
        let ends =
            if memtable.changes_sort_keys(changes.iter().map(|change| change.key)) { base.edge(edge)? } else { None };
        let keys = |(_, _, edge_type)| memtable.schema.sort_key(edge_type);
        let Some(ends) = ends.filter(|&ends| changes.iter().any(|change| keys(ends).contains(&change.key))) else {
            properties.extend_from_slice(changes);
            continue;
        };
        let (source, target, edge_type) = ends;
        let number = base.edge_numbers_of(&[edge])?[0];
        let mut record = Properties::new(base.all_edge_properties(edge)?);
        for change in changes {
            match change.value.is_null() {
                true => record.remove(change.key),
                false => record.set(change.key, change.value.clone()),
            }
        }
        deleted.push(edge);
        let chunk = moved.entry(edge_type).or_default();
        chunk.push(edge, (source, target, number), &record);
    }
    deleted.sort_unstable();
    new.extend(moved.into_iter().map(|(edge_type, chunk)| chunk.finish(edge_type)));
    Ok(())
}

fn node_changes(memtable: &Memtable, interrupt: &Interrupt) -> Result<Vec<NodeChange>> {
    let changed = memtable.node_changes.iter().map(|(&node, change)| NodeChange {
        node: NodeId(node),
        is_deleted: change.is_deleted,
        labels: change.labels.as_ref().map(|labels| labels.to_vec()),
        properties: change.properties.entries().to_vec(),
    });
    // Nodes that were made and deleted since are ids that nobody uses.
    let new = memtable.new_nodes(NodeId(0)).filter(|(_, record)| !record.is_deleted);
    let new = new.map(|(node, record)| NodeChange {
        node,
        is_deleted: false,
        labels: Some(record.labels.to_vec()),
        properties: record.properties.entries().to_vec(),
    });
    interruptible(interrupt, changed.chain(new)).collect()
}

/// Edges of one type that get columns together.
const CHUNK_EDGES: usize = 16_384;
/// Rows of all columns of such edges; those with very many properties get columns with few others.
const CHUNK_CELLS: usize = 1 << 22;

/// The edges made since, those of one type in the order in which they were made. A chunk has columns for the keys that its
/// edges have.
fn new_edges(memtable: &Memtable, interrupt: &Interrupt) -> Result<Vec<EdgesWithIds>> {
    let mut open: Map<EdgeTypeId, Chunk> = Map::default();
    let mut done = Vec::new();
    for edge in interruptible(interrupt, (0..).zip(memtable.new_edges())) {
        let (ordinal, (link, number, properties)) = edge?;
        if link.is_deleted {
            continue;
        }
        let chunk = open.entry(link.edge_type).or_default();
        chunk.push(edge_id(ordinal), (link.source, link.target, number), properties);
        if chunk.sources.len() == CHUNK_EDGES || chunk.sources.len() * chunk.columns.len() > CHUNK_CELLS {
            done.push(std::mem::take(chunk).finish(link.edge_type));
        }
    }
    let rest = open.into_iter().filter(|(_, chunk)| !chunk.sources.is_empty());
    done.extend(rest.map(|(edge_type, chunk)| chunk.finish(edge_type)));
    Ok(done)
}

/// Items, between which the interrupt is checked: a store that is closed waits for its flush.
fn interruptible<T>(interrupt: &Interrupt, items: impl Iterator<Item = T>) -> impl Iterator<Item = Result<T>> {
    let mut check = heard(interrupt);
    items.map(move |item| check().map(|()| item))
}

#[derive(Default)]
struct Chunk {
    ids: Vec<EdgeId>,
    sources: Vec<NodeId>,
    targets: Vec<NodeId>,
    numbers: Vec<u64>,
    /// With the rows that each has so far.
    columns: Vec<(PropertyKeyId, ColumnBuilder, usize)>,
    places: Map<PropertyKeyId, usize>,
}

impl Chunk {
    fn push(&mut self, edge: EdgeId, (source, target, number): (NodeId, NodeId, u64), properties: &Properties) {
        let row = self.sources.len();
        self.ids.push(edge);
        self.sources.push(source);
        self.targets.push(target);
        self.numbers.push(number);
        for (key, value) in properties.entries() {
            let at = *self.places.entry(*key).or_insert_with(|| {
                self.columns.push((*key, ColumnBuilder::default(), 0));
                self.columns.len() - 1
            });
            let (_, builder, rows) = &mut self.columns[at];
            (*rows..row).for_each(|_| builder.push(&Value::Null));
            builder.push(value);
            *rows = row + 1;
        }
    }

    fn finish(self, edge_type: EdgeTypeId) -> EdgesWithIds {
        let Chunk { ids, sources, targets, numbers, columns, .. } = self;
        let keys = columns.iter().map(|(key, ..)| *key).collect();
        let pad = |(_, mut builder, rows): (PropertyKeyId, ColumnBuilder, usize)| {
            (rows..sources.len()).for_each(|_| builder.push(&Value::Null));
            builder.finish()
        };
        let columns = columns.into_iter().map(pad).collect();
        (NewEdgeRows { edge_type, sources, targets, numbers, keys, columns }, ids)
    }
}
