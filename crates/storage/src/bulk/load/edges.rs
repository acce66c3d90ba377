//! The second phase of a bulk load: rows of edges, from several threads, into buffers and sorted runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use model::id::{EdgeId, EdgeTypeId, NodeId, PropertyKeyId};
use model::{Column, Constraint, Map, Result, Rule, Schema, Subject, Value, error};

use super::nodes::check_storable;
use super::{BulkLoad, EdgeRows, Group, Loaded, RowError, STORED_KEY_MEMORY_SHARE, Shared, TypedProperty, of_group};
use crate::build::chunk::edge_key;
use crate::bulk::buffer::EdgeBuffer;
use crate::bulk::resolve::MISSING;
use crate::bulk::rewrite::{EdgePropertyChange, HISTOGRAM_BITS};
use crate::bulk::run::Run;
use crate::bulk::stored_keys::StoredKeys;
use crate::memtable::value_bytes;
use crate::wal::record::NameKind;

/// Bytes of the budget that are left to what every build needs: degrees, columns being encoded, pieces being read.
const RESERVED_BYTES: usize = 96 << 20;
/// Edges below which a spill would make runs too small to be worth it.
const SPILL_EDGES_MIN: u64 = 1 << 12;

/// Takes edges from one thread.
pub struct EdgeLoader {
    shared: Arc<Shared>,
    buffers: Map<EdgeTypeId, EdgeBuffer>,
    runs: Vec<Run>,
    changes: Vec<EdgePropertyChange>,
    histogram: Vec<u64>,
    reported_bytes: usize,
    sources: Vec<u32>,
    targets: Vec<u32>,
    keys: Vec<u64>,
}

impl BulkLoad {
    /// A loader of edges for one thread; several may work at once. Ends the nodes.
    pub fn edge_loader(&mut self) -> Result<EdgeLoader> {
        let shared = match &self.shared {
            Some(shared) => shared.clone(),
            None => {
                self.end_nodes()?;
                self.freeze_keys()?;
                self.bind_stored_keys();
                let bytes_of = |group: &Group| {
                    let stored = group.stored.iter().map(StoredKeys::bytes_reserved);
                    group.keys.memory_bytes() + stored.sum::<usize>()
                };
                let key_bytes = self.groups.iter().map(bytes_of).sum();
                let shared = Arc::new(Shared {
                    context: self.context.clone(),
                    base: self.base.clone(),
                    groups: std::mem::take(&mut self.groups),
                    schema: std::sync::Mutex::new(self.schema.clone()),
                    node_id_bound: self.next_node,
                    buffer_bytes_max: buffer_limit(self.context.config.memory_bytes, key_bytes),
                    buffered_bytes: AtomicUsize::new(0),
                    open_loaders: AtomicUsize::new(0),
                    edges: AtomicU64::new(0),
                    typed: typed_properties(&self.base.manifest().schema),
                    done: std::sync::Mutex::new(Loaded::default()),
                });
                self.shared.insert(shared).clone()
            }
        };
        shared.open_loaders.fetch_add(1, Ordering::Relaxed);
        let histogram = vec![0; (shared.node_id_bound >> HISTOGRAM_BITS) as usize + 1];
        Ok(EdgeLoader {
            shared,
            buffers: Map::default(),
            runs: Vec::new(),
            changes: Vec::new(),
            histogram,
            reported_bytes: 0,
            sources: Vec::new(),
            targets: Vec::new(),
            keys: Vec::new(),
        })
    }
}

impl BulkLoad {
    fn bind_stored_keys(&mut self) {
        let bound: usize = self.groups.iter().map(|group| group.bound.len()).sum();
        let bytes_max = self.context.config.memory_bytes / STORED_KEY_MEMORY_SHARE / bound.max(1);
        for group in &mut self.groups {
            let stored = |&of: &(_, _)| StoredKeys::new(&self.base, &self.context, of, bytes_max);
            group.stored = group.bound.iter().map(stored).collect();
        }
    }
}

fn typed_properties(schema: &Schema) -> Vec<TypedProperty> {
    let typed = |constraint: &Constraint| {
        let (Rule::Type(demanded), Subject::EdgeType(edge_type)) = (constraint.rule, constraint.subject) else {
            return None;
        };
        Some(TypedProperty {
            constraint: constraint.clone(),
            edge_type: schema.edge_type_name(edge_type).to_owned(),
            name: schema.property_key_name(constraint.keys[0]).to_owned(),
            demanded,
            is_unsure: AtomicBool::new(false),
        })
    };
    schema.constraints.iter().filter_map(typed).collect()
}

/// Bytes that buffers of unsorted edges may take besides the keys of nodes: sorting them takes nearly as much again.
fn buffer_limit(memory_bytes: usize, key_bytes: usize) -> usize {
    (memory_bytes.saturating_sub(RESERVED_BYTES + key_bytes) * 7 / 20).max(memory_bytes / 8)
}

impl Shared {
    fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The nodes of keys; those of the store for keys that this load did not bring.
    fn resolve(&self, group: &str, keys: &Column, out: &mut Vec<u32>) -> Result<()> {
        let Some(group) = self.group(group) else {
            out.clear();
            out.resize(keys.len(), MISSING);
            return Ok(());
        };
        group.keys.find_all(keys, out)?;
        if group.stored.is_empty() || !out.contains(&MISSING) {
            return Ok(());
        }
        let rows: Vec<u32> = (0..out.len() as u32).filter(|&row| out[row as usize] == MISSING).collect();
        let missing = keys.gather(&rows);
        for stored in &group.stored {
            for (at, node) in stored.find(&missing)?.into_iter().enumerate() {
                if let Some(node) = node {
                    out[rows[at] as usize] = node.0 as u32;
                }
            }
        }
        Ok(())
    }

    fn names(&self, edge_type: &str, names: &[&str]) -> Result<(EdgeTypeId, Vec<PropertyKeyId>)> {
        let mut schema = self.schema.lock().expect("no holder of this lock panics");
        if schema.edge_types.find(edge_type).is_none() {
            NameKind::EdgeType.check_room(&schema)?;
        }
        let edge_type = EdgeTypeId(schema.edge_types.intern(edge_type));
        let keys = names.iter().map(|name| PropertyKeyId(schema.property_keys.intern(name))).collect();
        Ok((edge_type, keys))
    }
}

impl EdgeLoader {
    /// Adds edges by the keys of their ends; gives the rows that were not taken.
    pub fn push(&mut self, rows: &EdgeRows<'_>) -> Result<Vec<RowError>> {
        self.shared.context.interrupt.check()?;
        self.check(rows.edge_type, rows.names, rows.columns)?;
        let (mut sources, mut targets) = (std::mem::take(&mut self.sources), std::mem::take(&mut self.targets));
        self.shared.resolve(rows.source_group, rows.sources, &mut sources)?;
        self.shared.resolve(rows.target_group, rows.targets, &mut targets)?;
        let mut errors = Vec::new();
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        keys.extend(sources.iter().zip(&targets).map(|(&s, &t)| u64::from(s) << 32 | u64::from(t)));
        let is_dangling = |row: usize| sources[row] == MISSING || targets[row] == MISSING;
        if sources.contains(&MISSING) || targets.contains(&MISSING) {
            for row in (0..keys.len()).filter(|&row| is_dangling(row)) {
                let reason = dangling(rows, row, sources[row]);
                errors.push(RowError { row: rows.origin + row as u64, reason, constraint: None });
            }
            let kept: Vec<u32> = (0..keys.len() as u32).filter(|&row| !is_dangling(row as usize)).collect();
            let columns: Vec<Column> = rows.columns.iter().map(|column| column.gather(&kept)).collect();
            keys = kept.iter().map(|&row| keys[row as usize]).collect();
            self.take(rows.edge_type, &keys, rows.names, &columns)?;
        } else {
            self.take(rows.edge_type, &keys, rows.names, rows.columns)?;
        }
        (self.sources, self.targets, self.keys) = (sources, targets, keys);
        Ok(errors)
    }

    /// Adds edges by the ids of their ends, which must exist.
    pub fn push_ids(
        &mut self,
        edge_type: &str,
        sources: &[NodeId],
        targets: &[NodeId],
        names: &[&str],
        columns: &[Column],
    ) -> Result<()> {
        self.shared.context.interrupt.check()?;
        self.check(edge_type, names, columns)?;
        let bound = self.shared.node_id_bound;
        if let Some(node) = sources.iter().chain(targets).find(|node| node.0 >= bound) {
            return Err(model::error!(NotFound, "the node {} of an edge is not there; ids end at {bound}", node.0));
        }
        let keys: Vec<u64> = sources.iter().zip(targets).map(|(&s, &t)| edge_key(s, t)).collect();
        self.take(edge_type, &keys, names, columns)
    }

    /// Sets properties of edges that the store had before the load, each of which is named once; null leaves a value as
    /// it is. Gives an estimate of the bytes that the changes take until the load is finished.
    pub fn update(&mut self, edge_type: &str, edges: &[EdgeId], names: &[&str], columns: &[Column]) -> Result<usize> {
        self.shared.context.interrupt.check()?;
        self.check(edge_type, names, columns)?;
        let (of_type, keys) = self.shared.names(edge_type, names)?;
        let current = self.shared.base.edge_properties(edges, &keys)?;
        let sorted_by = self.shared.base.manifest().schema.sort_key(of_type).to_vec();
        let mut bytes = 0;
        for ((&key, name), (before, column)) in keys.iter().zip(names).zip(current.iter().zip(columns)) {
            for (row, &edge) in edges.iter().enumerate().filter(|&(row, _)| !column.is_null(row)) {
                let (value, held) = (column.value(row), before.value(row));
                if is_same(&value, &held) {
                    continue;
                }
                if sorted_by.contains(&key) {
                    return Err(error!(SchemaRule, "an update would change {name}, by which {edge_type} is sorted")
                        .with_remedy(format!("drop the sort key of {edge_type}, import, and create it again")));
                }
                bytes += size_of::<EdgePropertyChange>() + value_bytes(&value);
                self.changes.push(EdgePropertyChange { edge, key, value });
            }
        }
        Ok(bytes)
    }

    /// Fails for values that cannot be stored, and notes those whose type a constraint does not allow.
    fn check(&self, edge_type: &str, names: &[&str], columns: &[Column]) -> Result<()> {
        check_storable(edge_type, names.iter().copied().zip(columns))?;
        for typed in self.shared.typed.iter().filter(|typed| typed.edge_type == edge_type) {
            let column = names.iter().position(|name| *name == typed.name).map(|place| &columns[place]);
            if column.is_some_and(|column| !typed.demanded.holds_all(column)) {
                typed.is_unsure.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn take(&mut self, edge_type: &str, keys: &[u64], names: &[&str], columns: &[Column]) -> Result<()> {
        let (edge_type, property_keys) = self.shared.names(edge_type, names)?;
        for &key in keys {
            self.histogram[(key & 0xffff_ffff) as usize >> HISTOGRAM_BITS] += 1;
        }
        let columns: Vec<(PropertyKeyId, &Column)> = property_keys.into_iter().zip(columns).collect();
        self.buffers.entry(edge_type).or_default().push(keys, &columns)?;
        self.shared.edges.fetch_add(keys.len() as u64, Ordering::Relaxed);
        let bytes: usize = self.buffers.values().map(EdgeBuffer::memory_bytes).sum();
        let all = self.report(bytes);
        let limit = self.shared.buffer_bytes_max;
        let loaders = self.shared.open_loaders.load(Ordering::Relaxed).max(1);
        let rows: u64 = self.buffers.values().map(EdgeBuffer::rows).sum();
        // The thread that sees the limit reached spills, unless others hold nearly all of the memory.
        if all > limit && bytes >= limit / (2 * loaders) && rows >= SPILL_EDGES_MIN {
            self.spill()?;
        }
        Ok(())
    }

    /// Tells the others how much this loader holds; gives how much all hold.
    fn report(&mut self, bytes: usize) -> usize {
        let shared = &self.shared.buffered_bytes;
        if bytes >= self.reported_bytes {
            let more = bytes - self.reported_bytes;
            self.reported_bytes = bytes;
            shared.fetch_add(more, Ordering::Relaxed) + more
        } else {
            let less = self.reported_bytes - bytes;
            self.reported_bytes = bytes;
            shared.fetch_sub(less, Ordering::Relaxed) - less
        }
    }

    /// Sorts what it holds and writes it as a run.
    fn spill(&mut self) -> Result<()> {
        let mut buffers = Vec::new();
        for (edge_type, buffer) in self.buffers.drain() {
            buffers.push((edge_type, buffer.seal()?));
        }
        buffers.sort_by_key(|(edge_type, _)| *edge_type);
        let schema = self.shared.schema.lock().expect("no holder of this lock panics").clone();
        self.runs.push(Run::write(&self.shared.context, buffers, self.shared.node_id_bound, &schema)?);
        self.report(0);
        Ok(())
    }

    /// Hands over what it holds. Must be called before the build is finished.
    pub fn finish(mut self) -> Result<()> {
        let mut buffers = Vec::new();
        for (edge_type, buffer) in self.buffers.drain() {
            buffers.push((edge_type, buffer.seal()?));
        }
        let mut done = self.shared.done.lock().expect("no holder of this lock panics");
        done.buffers.append(&mut buffers);
        done.runs.append(&mut self.runs);
        done.changes.append(&mut self.changes);
        done.histogram.resize(self.histogram.len(), 0);
        done.histogram.iter_mut().zip(&self.histogram).for_each(|(all, here)| *all += here);
        drop(done);
        self.shared.open_loaders.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }
}

impl std::fmt::Debug for EdgeLoader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EdgeLoader({} types, {} runs)", self.buffers.len(), self.runs.len())
    }
}

/// True if two values are one in their types and signs too, where `==` takes 1 for 1.0 and 0.0 for -0.0.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => one.to_bits() == other.to_bits(),
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other.iter()).all(|(one, other)| is_same(one, other))
        }
        _ => one == other && one.type_name() == other.type_name(),
    }
}

/// Why an edge has no two ends.
fn dangling(rows: &EdgeRows<'_>, row: usize, source: u32) -> String {
    let (side, keys, group) = if source == MISSING {
        ("source", rows.sources, rows.source_group)
    } else {
        ("target", rows.targets, rows.target_group)
    };
    if keys.is_null(row) {
        return format!("the {side} of the edge is null");
    }
    format!("the {side} {} of the edge is no node{}", keys.value(row), of_group(group))
}
