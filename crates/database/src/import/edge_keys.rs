//! Keys of edges: the ends, and a property or none, by which an edge is known again when an import is repeated.
//!
//! Cost: one pass over the edges that the store has of a type, and about a hundred bytes of memory for each edge, old and new.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use model::batch::EdgeBatch;
use model::store::EdgeIds;
use model::{Column, EdgeId, Expand, Interrupt, Map, NodeBatch, NodeScan, ReadView, Result, Value, error};
use sources::files::{BadRow, FieldType, RowBatch, Table};
use storage::bulk::OnDuplicate;

use super::ImportPlan;
use super::keys::united_with;
use super::mapping::{EdgeMapping, Group};
use super::rows::pick;

/// Estimated bytes that an edge takes here besides its texts.
const EDGE_BYTES: usize = 128;

/// An edge by the keys of its ends and the value of its property.
type Known = [Value; 3];

/// The edge that is there under a key.
#[derive(Clone, Copy, Debug)]
enum Held {
    /// One edge of the store.
    Stored(EdgeId),
    /// Several edges of the store.
    Several,
    /// An edge that a row has made or updated.
    Taken,
}

/// The edges of one type among the nodes of two groups.
struct KnownEdges {
    edge_type: String,
    groups: [String; 2],
    property: Option<String>,
    /// The type of the property in the store and in all files, if there is one.
    kind: Option<FieldType>,
    held: Mutex<Map<Known, Held>>,
}

/// The edges that are known, of all types that have a key.
pub(super) struct EdgeKeys {
    known: Vec<KnownEdges>,
    /// Bytes that keys may take, and those that they take.
    keys_max: usize,
    key_bytes: AtomicUsize,
    /// Bytes that changes of edges may take until they are written.
    changes_max: usize,
    changes: AtomicUsize,
    on_duplicate: OnDuplicate,
}

/// Rows of edges, by what is to be done about them.
pub(super) struct Sorted {
    /// Those that are new.
    pub(super) fresh: RowBatch,
    /// Those that are there, with the edge that each updates.
    pub(super) updates: (Vec<EdgeId>, RowBatch),
    /// Rows that were passed over.
    pub(super) passed_over: u64,
    pub(super) bad: Vec<BadRow>,
}

/// The edges of a type that the store has, by their keys, and the type that their property has.
type Stored = (Map<Known, Held>, Option<FieldType>);

impl EdgeKeys {
    /// Reads the edges that the store has, of the types whose keys the plan names, and has the tables read the columns
    /// of keys as the store keeps them.
    pub(super) fn read(
        plan: &ImportPlan,
        (mappings, tables): (&[EdgeMapping], &mut [Box<dyn Table>]),
        groups: &[Group],
        view: &dyn ReadView,
        interrupt: &Interrupt,
        memory_bytes: usize,
    ) -> Result<EdgeKeys> {
        let mut keys = EdgeKeys {
            known: Vec::new(),
            keys_max: memory_bytes / 2,
            key_bytes: AtomicUsize::new(0),
            changes_max: memory_bytes / 4,
            changes: AtomicUsize::new(0),
            on_duplicate: plan.on_duplicate,
        };
        for (edge_type, property) in &plan.edge_keys {
            let is_of_type = |mapping: &EdgeMapping| mapping.edge_type == *edge_type || mapping.type_column.is_some();
            if !mappings.iter().any(is_of_type) {
                return Err(error!(Argument, "--edge-key names the type '{edge_type}', which no file is given for")
                    .with_remedy("name a type of one of the files"));
            }
            let first = keys.known.len();
            for mapping in mappings.iter().filter(|mapping| is_of_type(mapping)) {
                if keys.find(edge_type, mapping).is_some() {
                    continue;
                }
                let names = [mapping.source_group.clone(), mapping.target_group.clone()];
                let ends = [group(groups, &names[0])?, group(groups, &names[1])?];
                let (held, kind) = keys.stored(view, interrupt, edge_type, property.as_deref(), ends)?;
                let (edge_type, property, held) = (edge_type.clone(), property.clone(), Mutex::new(held));
                keys.known.push(KnownEdges { edge_type, groups: names, property, kind, held });
            }
            let Some(name) = property else { continue };
            let column = |mapping: &EdgeMapping| -> Option<usize> {
                mapping.properties.iter().find(|(_, held)| held == name).map(|(index, _)| *index)
            };
            let of_type = mappings.iter().enumerate().filter(|(_, mapping)| is_of_type(mapping));
            let members: Vec<(usize, usize)> =
                of_type.filter_map(|(at, mapping)| Some((at, column(mapping)?))).collect();
            let stored = keys.known[first..].iter().find_map(|known| known.kind.clone());
            let united =
                united_with(stored.clone(), &members, tables, &format!("as the keys of edges of type {edge_type} are"));
            let kind = stored.or(united);
            keys.known[first..].iter_mut().for_each(|known| known.kind.clone_from(&kind));
        }
        Ok(keys)
    }

    fn find(&self, edge_type: &str, mapping: &EdgeMapping) -> Option<&KnownEdges> {
        let groups = [&mapping.source_group, &mapping.target_group];
        self.known.iter().find(|known| known.edge_type == edge_type && known.groups.each_ref() == groups)
    }

    /// The property in the key of edges of a type, if it has one.
    pub(super) fn property_of(&self, edge_type: &str, mapping: &EdgeMapping) -> Option<&str> {
        self.find(edge_type, mapping)?.property.as_deref()
    }

    fn stored(
        &self,
        view: &dyn ReadView,
        interrupt: &Interrupt,
        edge_type: &str,
        property: Option<&str>,
        [source, target]: [(&str, &str); 2],
    ) -> Result<Stored> {
        let (schema, mut held, mut kinds, mut bytes) = (view.schema(), Map::default(), OneKind::default(), 0);
        let end = |(label, key): (&str, &str)| schema.label(label).zip(schema.property_key(key));
        let (Some(edge_type), Some(source), Some(target)) = (schema.edge_type(edge_type), end(source), end(target))
        else {
            return Ok((held, None));
        };
        let keys: Vec<_> = property.and_then(|name| schema.property_key(name)).into_iter().collect();
        let (types, edge_ids) = (Some(vec![edge_type]), EdgeIds::Include);
        let expand = Expand { types, keys, edge_ids, ..Expand::default() };
        let mut cursor = view.scan(&NodeScan { labels: vec![source.0], ..NodeScan::default() })?;
        let (mut nodes, mut edges) = (NodeBatch::default(), EdgeBatch::default());
        while cursor.next(&mut nodes)? {
            let sources = view.node_properties(&nodes.nodes, &[source.1])?;
            let mut following = view.expand(&nodes.nodes, &expand)?;
            while following.next(&mut edges)? {
                interrupt.check()?;
                let targets = view.node_properties(&edges.neighbors, &[target.1])?;
                let is_target = view.has_label(&edges.neighbors, target.0)?;
                for row in (0..edges.inputs.len()).filter(|&row| is_target.get(row)) {
                    let value = edges.properties.first().map_or(Value::Null, |values| values.value(row));
                    kinds.add(&value);
                    let key = [sources[0].value(edges.inputs[row] as usize), targets[0].value(row), value];
                    bytes += key_bytes(&key);
                    let edge = Held::Stored(edges.edges[row]);
                    held.entry(key).and_modify(|held| *held = Held::Several).or_insert(edge);
                }
                self.take_keys(std::mem::take(&mut bytes))?;
            }
        }
        Ok((held, kinds.only()))
    }

    /// Counts what keys take.
    fn take_keys(&self, bytes: usize) -> Result<()> {
        if self.key_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.keys_max {
            return Ok(());
        }
        Err(error!(Limit, "the keys of edges take more than {} bytes of the import's memory", self.keys_max)
            .with_remedy("raise --memory-limit, or leave --edge-key out"))
    }

    /// Counts what changes of edges take.
    pub(super) fn take_changes(&self, bytes: usize) -> Result<()> {
        if self.changes.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.changes_max {
            return Ok(());
        }
        Err(error!(Limit, "the updates of edges take more than {} bytes of the import's memory", self.changes_max)
            .with_remedy("raise --memory-limit, or import the files one after the other"))
    }

    /// Takes rows apart into those that are new, those that update an edge, and others; `None` if edges of the type have
    /// no key.
    pub(super) fn sort(
        &self,
        edge_type: &str,
        mapping: &EdgeMapping,
        batch: &RowBatch,
        ends: [&Column; 2],
    ) -> Result<Option<Sorted>> {
        let Some(known) = self.find(edge_type, mapping) else { return Ok(None) };
        let place = known.place(mapping)?;
        let values = place.map(|place| known.converted(&batch.columns[place]));
        let (mut fresh, mut edges, mut updates) = (Vec::new(), Vec::new(), Vec::new());
        let (mut passed_over, mut bad, mut bytes) = (0, Vec::new(), 0);
        let mut held = known.held.lock().unwrap_or_else(PoisonError::into_inner);
        for row in 0..batch.len() {
            let value = values.as_ref().map_or(Value::Null, |values| values.value(row));
            let (source, target) = (ends[0].value(row), ends[1].value(row));
            if place.is_some() && value.is_null() {
                bad.push(BadRow { remedy: None, ..known.refused(batch, row, "the key of the edge is null".into()) });
                continue;
            }
            let key = [source.clone(), target.clone(), value];
            let taken = key_bytes(&key);
            let found = held.insert(key, Held::Taken);
            bytes += if found.is_none() { taken } else { 0 };
            let an_edge = || format!("an edge of type {edge_type} with this key, from {source} to {target}");
            match (found, self.on_duplicate) {
                (None, _) => fresh.push(row as u32),
                (Some(_), OnDuplicate::Skip) => passed_over += 1,
                (Some(_), OnDuplicate::Error) => {
                    bad.push(known.refused(batch, row, an_edge() + ", is there already"));
                }
                (Some(Held::Stored(edge)), OnDuplicate::Update) => {
                    edges.push(edge);
                    updates.push(row as u32);
                }
                (Some(Held::Several), OnDuplicate::Update) => {
                    bad.push(known.refused(
                        batch,
                        row,
                        an_edge() + ", is there several times: it is open which to update",
                    ));
                }
                (Some(Held::Taken), OnDuplicate::Update) => {
                    bad.push(known.refused(batch, row, an_edge() + ", was in an earlier row"));
                }
            }
        }
        drop(held);
        self.take_keys(bytes)?;
        let picked = |rows: &[u32]| {
            let mut picked = pick(batch, rows);
            if let (Some(place), Some(Cow::Owned(values))) = (place, &values) {
                picked.columns[place] = values.gather(rows);
            }
            picked
        };
        Ok(Some(Sorted { fresh: picked(&fresh), updates: (edges, picked(&updates)), passed_over, bad }))
    }
}

impl KnownEdges {
    /// The column of a file with the values of the key, if it has any.
    fn place(&self, mapping: &EdgeMapping) -> Result<Option<usize>> {
        let Some(name) = &self.property else { return Ok(None) };
        let found = mapping.properties.iter().find(|(_, held)| held == name);
        found.map(|(index, _)| Some(*index)).ok_or_else(|| {
            error!(Import, "the key '{name}' of edges of type {} is no column of the file", self.edge_type)
                .with_remedy("name a column with --edge-key, or leave it out")
        })
    }

    fn converted<'c>(&self, values: &'c Column) -> Cow<'c, Column> {
        let converted = self.kind.as_ref().and_then(|kind| kind.convert(values));
        converted.map_or(Cow::Borrowed(values), Cow::Owned)
    }

    fn refused(&self, batch: &RowBatch, row: usize, reason: String) -> BadRow {
        let remedy = "pass --on-duplicate skip for relationships that are there, or --skip-bad FILE";
        BadRow {
            line: batch.lines[row],
            column: self.property.clone(),
            reason,
            text: batch.texts.get(row).unwrap_or_default(),
            remedy: Some(remedy.into()),
        }
    }
}

/// Estimated bytes that an edge and the texts of its key take.
fn key_bytes(key: &Known) -> usize {
    let text = |value: &Value| match value {
        Value::String(text) => text.len(),
        _ => 0,
    };
    EDGE_BYTES + key.iter().map(text).sum::<usize>()
}

/// The label and the property that keep the keys of a group.
fn group<'g>(groups: &'g [Group], name: &str) -> Result<(&'g str, &'g str)> {
    let found = groups.iter().find(|group| group.name == name);
    found.and_then(|group| group.label.as_deref().zip(group.property.as_deref())).ok_or_else(|| {
        error!(Import, "--edge-key needs nodes that keep their keys, and those of group '{name}' do not")
            .with_remedy("give the column of the keys a name, as id:ID")
    })
}

/// The type of all values seen, if they have one.
#[derive(Default)]
struct OneKind {
    found: Option<FieldType>,
    is_mixed: bool,
}

impl OneKind {
    fn add(&mut self, value: &Value) {
        if value.is_null() || self.is_mixed {
            return;
        }
        let kind = FieldType::of_value(value);
        self.is_mixed = kind.is_none() || self.found.as_ref().is_some_and(|found| Some(found) != kind.as_ref());
        self.found = kind;
    }

    fn only(self) -> Option<FieldType> {
        self.found.filter(|_| !self.is_mixed)
    }
}
