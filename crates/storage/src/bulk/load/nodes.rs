//! The first phase of a bulk load: rows of nodes become segments, keys and index entries.

use std::sync::Arc;

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::{Column, ColumnData, Constraint, Result, Schema};

use super::{BulkLoad, ConstraintBuild, Group, KEY_MEMORY_SHARE, KeyRows, NodeRows, NodesAdded, RowError, of_group};
use crate::build::OnDuplicate;
use crate::bulk::resolve::{KeyTable, MISSING};
use crate::bulk::rewrite::{NodeChange, write_node_run};
use crate::error::StorageError;
use crate::format::{NODE_ID_LIMIT, SEGMENT_BITS};
use crate::index::indexed_hash;
use crate::memtable::value_bytes;
use crate::segment::write::SegmentWriter;

/// Share of the budget that pending updates may take, as a divisor.
const UPDATE_MEMORY_SHARE: usize = 8;
/// Approximate bytes of a pending update without its properties.
const UPDATE_BYTES: usize = 128;

/// Action for one row.
#[derive(Clone, Copy)]
enum Fate {
    Create,
    Merge(NodeId),
    Refuse,
}

impl BulkLoad {
    /// Adds nodes. Not possible once an edge loader was made.
    pub fn push_nodes(&mut self, rows: &NodeRows<'_>) -> Result<NodesAdded> {
        if self.shared.is_some() {
            return Err(model::error!(Internal, "nodes were pushed after the first edge loader was made"));
        }
        self.context.interrupt.check()?;
        if self.next_node + rows.count as u64 >= NODE_ID_LIMIT {
            return Err(StorageError::limit(format!("a store holds at most {NODE_ID_LIMIT} nodes")));
        }
        let key = rows.key.map(|key| (key.property.unwrap_or("the key"), key.values));
        check_storable(&rows.labels.join(":"), rows.names.iter().copied().zip(rows.columns).chain(key))?;
        let labels: Vec<LabelId> = rows.labels.iter().map(|name| LabelId(self.schema.labels.intern(name))).collect();
        let mut columns: Vec<(PropertyKeyId, &Column)> = Vec::with_capacity(rows.columns.len() + 1);
        for (name, column) in rows.names.iter().zip(rows.columns) {
            columns.push((PropertyKeyId(self.schema.property_keys.intern(name)), column));
        }
        let mut added = NodesAdded::default();
        let mut fates = vec![Fate::Create; rows.count];
        let group = rows.key.map(|key| self.group(key.group));
        let key_property = match (rows.key, group) {
            (Some(key), Some(group)) => self.key_property(&key, group, &labels, &mut columns)?,
            _ => None,
        };
        if let (Some(key), Some(group)) = (rows.key, group) {
            self.take_keys(rows, &key, group, &mut fates, &mut added)?;
        }
        self.check_constraints(rows, &labels, &columns, key_property, &mut fates, &mut added)?;
        let first = self.number(rows, &mut fates, &mut added, rows.key.zip(group))?;
        self.update(rows, &columns, key_property, &fates)?;
        let created: Vec<u32> =
            (0..rows.count as u32).filter(|&row| matches!(fates[row as usize], Fate::Create)).collect();
        self.write_rows(&labels, &columns, &created, rows.count, first)?;
        added.created = created.len() as u64;
        Ok(added)
    }

    /// The property that keeps the keys, with its constraint.
    fn key_property<'a>(
        &mut self,
        key: &KeyRows<'a>,
        group: usize,
        labels: &[LabelId],
        columns: &mut Vec<(PropertyKeyId, &'a Column)>,
    ) -> Result<Option<PropertyKeyId>> {
        let Some(property) = key.property else { return Ok(None) };
        let id = PropertyKeyId(self.schema.property_keys.intern(property));
        if columns.iter().any(|(at, _)| *at == id) {
            return Err(model::error!(Import, "the property {property} is there twice: as key and as property"));
        }
        columns.push((id, key.values));
        let Some(&label) = labels.first() else { return Ok(Some(id)) };
        if self.base.manifest().schema.unique(label, id).is_some() && !self.groups[group].bound.contains(&(label, id)) {
            self.groups[group].bound.push((label, id));
        }
        match self.constraints.iter_mut().find(|build| (build.label, build.key) == (label, id)) {
            Some(build) if build.group.is_none() && build.pairs.count() == 0 => build.group = Some(group),
            Some(_) => {}
            None => {
                let name = format!("{}_{property}", self.schema.label_name(label));
                let name = unused_name(&self.schema, &name);
                self.schema.constraints.push(Constraint::unique(name, label, id));
                self.refuse_old_nodes(label, property)?;
                let memory = self.context.config.memory_bytes;
                self.constraints.push(ConstraintBuild::new(label, id, Some(group), memory));
            }
        }
        Ok(Some(id))
    }

    /// A constraint cannot come about on a label whose nodes may break it already.
    fn refuse_old_nodes(&self, label: LabelId, property: &str) -> Result<()> {
        let count = self.base.manifest().statistics.label(label);
        if count == 0 {
            return Ok(());
        }
        let name = self.schema.label_name(label);
        Err(model::error!(
            SchemaRule,
            "'{property}' is taken for the key, but the store has {count} nodes :{name} and no uniqueness constraint on it"
        )
        .with_remedy("name another column as the key, or create the constraint before the import"))
    }

    /// Looks the keys up; what is taken is merged or refused.
    fn take_keys(
        &mut self,
        rows: &NodeRows<'_>,
        key: &KeyRows<'_>,
        group: usize,
        fates: &mut [Fate],
        added: &mut NodesAdded,
    ) -> Result<()> {
        let mut taken: Vec<Option<NodeId>> = vec![None; rows.count];
        for &(label, property) in &self.groups[group].bound {
            for (row, node) in self.base.lookup(label, property, key.values)?.into_iter().flatten().enumerate() {
                taken[row] = taken[row].or(node);
            }
        }
        self.share_key_memory(group)?;
        let keys = &mut self.groups[group].keys;
        keys.prepare(&self.context, key.values)?;
        let mut known = Vec::with_capacity(rows.count);
        keys.find_all(key.values, &mut known)?;
        let policy = self.context.config.on_duplicate;
        for (row, fate) in fates.iter_mut().enumerate() {
            let found = match known[row] {
                MISSING => taken[row],
                id => Some(NodeId(u64::from(id))),
            };
            let reason = match found {
                _ if key.values.is_null(row) => format!("the key{} is null", of_group(key.group)),
                None => continue,
                Some(node) if policy != OnDuplicate::Error => {
                    *fate = Fate::Merge(node);
                    continue;
                }
                Some(_) => format!("the key {}{} is there already", key.values.value(row), of_group(key.group)),
            };
            *fate = Fate::Refuse;
            added.errors.push(RowError { row: rows.origin + row as u64, reason, constraint: None });
        }
        Ok(())
    }

    /// Gives the group that takes keys at least half of the memory for keys; the others keep what they need of the rest.
    fn share_key_memory(&mut self, group: usize) -> Result<()> {
        let all = self.context.config.memory_bytes / KEY_MEMORY_SHARE;
        let others: usize = self.others(group).map(|other| other.keys.memory_bytes()).sum();
        if others <= all / 2 {
            self.groups[group].keys.set_memory_bytes_max(all - others);
            return Ok(());
        }
        let context = self.context.clone();
        self.others(group).try_for_each(|other| other.keys.spill_all(&context))?;
        self.groups[group].keys.set_memory_bytes_max(all / 2);
        Ok(())
    }

    fn others(&mut self, group: usize) -> impl Iterator<Item = &mut Group> {
        self.groups.iter_mut().enumerate().filter(move |(index, _)| *index != group).map(|(_, other)| other)
    }

    /// Refuses rows whose values are taken under a constraint that is not that of their key.
    fn check_constraints(
        &mut self,
        rows: &NodeRows<'_>,
        labels: &[LabelId],
        columns: &[(PropertyKeyId, &Column)],
        key_property: Option<PropertyKeyId>,
        fates: &mut [Fate],
        added: &mut NodesAdded,
    ) -> Result<()> {
        for build in &mut self.constraints {
            let Some((_, values)) = columns.iter().find(|(key, _)| *key == build.key) else { continue };
            if !labels.contains(&build.label) || (Some(build.key) == key_property && build.group.is_some()) {
                continue;
            }
            let old = self.base.lookup(build.label, build.key, values)?.unwrap_or_else(|| vec![None; rows.count]);
            let mut known = Vec::with_capacity(rows.count);
            build.values.prepare(&self.context, values)?;
            build.values.find_all(values, &mut known)?;
            for (row, fate) in fates.iter_mut().enumerate() {
                if !matches!(fate, Fate::Create) || values.is_null(row) {
                    continue;
                }
                let is_taken = old[row].is_some() || known[row] != MISSING;
                if is_taken || build.values.insert(values, row, 0).is_some() {
                    *fate = Fate::Refuse;
                    let (label, key) = (self.schema.label_name(build.label), self.schema.property_key_name(build.key));
                    let reason = format!("the value {} of :{label}({key}) is there already", values.value(row));
                    let constraint = Some((Arc::from(label), Arc::from(key)));
                    added.errors.push(RowError { row: rows.origin + row as u64, reason, constraint });
                }
            }
        }
        Ok(())
    }

    /// Gives ids to the rows that are to be created and enters their keys; gives the first id.
    fn number(
        &mut self,
        batch: &NodeRows<'_>,
        fates: &mut [Fate],
        added: &mut NodesAdded,
        key: Option<(KeyRows<'_>, usize)>,
    ) -> Result<NodeId> {
        let first = NodeId(self.next_node);
        let policy = self.context.config.on_duplicate;
        let mut next = self.next_node;
        for (row, fate) in fates.iter_mut().enumerate() {
            if let (Fate::Create, Some((rows, group))) = (*fate, &key)
                && let Some(taken) = self.groups[*group].keys.insert(rows.values, row, next as u32)
            {
                // Two rows of one batch have the same key.
                *fate = if policy == OnDuplicate::Error { Fate::Refuse } else { Fate::Merge(NodeId(u64::from(taken))) };
                if policy == OnDuplicate::Error {
                    let (value, group) = (rows.values.value(row), of_group(rows.group));
                    let reason = format!("the key {value}{group} is there already");
                    added.errors.push(RowError { row: batch.origin + row as u64, reason, constraint: None });
                }
            }
            added.nodes.push(match *fate {
                Fate::Create => {
                    next += 1;
                    Some(NodeId(next - 1))
                }
                Fate::Merge(node) => {
                    added.merged += 1;
                    Some(node)
                }
                Fate::Refuse => None,
            });
        }
        self.next_node = next;
        Ok(first)
    }

    /// Notes the properties of rows that update a node.
    fn update(
        &mut self,
        rows: &NodeRows<'_>,
        columns: &[(PropertyKeyId, &Column)],
        key_property: Option<PropertyKeyId>,
        fates: &[Fate],
    ) -> Result<()> {
        if self.context.config.on_duplicate != OnDuplicate::Update {
            return Ok(());
        }
        for (row, fate) in fates.iter().enumerate().take(rows.count) {
            let Fate::Merge(node) = *fate else { continue };
            let change = self.updates.entry(node).or_insert_with(|| {
                self.update_bytes += UPDATE_BYTES;
                NodeChange { node, ..NodeChange::default() }
            });
            for &(key, column) in columns {
                if Some(key) == key_property || column.is_null(row) {
                    continue;
                }
                if self.constraints.iter().any(|build| build.key == key) {
                    let name = self.schema.property_key_name(key);
                    return Err(model::error!(Constraint, "an update would change the unique property {name}"));
                }
                let value = column.value(row);
                self.update_bytes += value_bytes(&value) + size_of::<PropertyKeyId>();
                change.properties.push((key, value));
            }
        }
        if self.update_bytes > self.context.config.memory_bytes / UPDATE_MEMORY_SHARE {
            self.spill_updates()?;
        }
        Ok(())
    }

    /// Writes pending updates as a node run.
    pub(super) fn spill_updates(&mut self) -> Result<()> {
        let mut changes: Vec<NodeChange> = std::mem::take(&mut self.updates).into_values().collect();
        changes.sort_by_key(|change| change.node);
        self.update_bytes = 0;
        let age = self.update_runs.last().map_or(self.base.layers().age(), |run| run.age) + 1;
        self.update_runs.extend(write_node_run(&self.context, &self.base, &mut changes, age)?);
        Ok(())
    }

    /// Writes the rows named by `created`, whose nodes start at `first`.
    fn write_rows(
        &mut self,
        labels: &[LabelId],
        columns: &[(PropertyKeyId, &Column)],
        created: &[u32],
        count: usize,
        first: NodeId,
    ) -> Result<()> {
        let key = columns.iter().copied();
        let picked: Vec<(PropertyKeyId, Column)> = if created.len() == count {
            Vec::new()
        } else {
            key.map(|(key, column)| (key, column.gather(created))).collect()
        };
        let columns: Vec<(PropertyKeyId, &Column)> = if created.len() == count {
            columns.to_vec()
        } else {
            picked.iter().map(|(key, column)| (*key, column)).collect()
        };
        self.enter_index(labels, &columns, created.len(), first)?;
        let mut start = 0;
        while start < created.len() {
            let writer = match self.writer.take() {
                Some(writer) if writer.room() > 0 => writer,
                full => {
                    self.end_segment(full)?;
                    self.begin_segment(NodeId(first.0 + start as u64))?
                }
            };
            let writer = self.writer.insert(writer);
            debug_assert_eq!(writer.next_node().0, first.0 + start as u64, "rows are numbered as they are written");
            let here = writer.room().min(created.len() - start);
            writer.push_rows(here, labels, &columns, start)?;
            start += here;
        }
        Ok(())
    }

    /// Begins the segment of a node: with the rows of the store's last segment, if the node lies in it.
    fn begin_segment(&self, node: NodeId) -> Result<SegmentWriter> {
        let mut writer = SegmentWriter::folded(&self.context, node.0 >> SEGMENT_BITS, self.base.layers())?;
        writer.pad_to(node);
        Ok(writer)
    }

    fn end_segment(&mut self, writer: Option<SegmentWriter>) -> Result<()> {
        let age = self.base.layers().age();
        if let Some(entry) = writer.map(|writer| writer.finish(&self.context, age)).transpose()?.flatten() {
            self.segments.insert(entry.segment, entry);
        }
        Ok(())
    }

    /// Ends the last segment.
    pub(super) fn end_nodes(&mut self) -> Result<()> {
        let writer = self.writer.take();
        self.end_segment(writer)
    }

    /// Readies the keys of all groups for being looked up by edges, and drops those that only new nodes needed.
    pub(super) fn freeze_keys(&mut self) -> Result<()> {
        self.constraints.iter_mut().for_each(|build| build.values = KeyTable::new(0));
        let share = self.context.config.memory_bytes / KEY_MEMORY_SHARE / self.groups.len().max(1);
        self.groups.iter_mut().try_for_each(|group| group.keys.freeze(&self.context, share))
    }

    fn enter_index(
        &mut self,
        labels: &[LabelId],
        columns: &[(PropertyKeyId, &Column)],
        count: usize,
        first: NodeId,
    ) -> Result<()> {
        for build in self.constraints.iter_mut().filter(|build| labels.contains(&build.label)) {
            let Some((_, values)) = columns.iter().find(|(key, _)| *key == build.key) else { continue };
            for row in 0..count {
                if let Some(hash) = indexed_hash(values, row) {
                    build.pairs.push(&self.context, hash, NodeId(first.0 + row as u64), false)?;
                }
            }
        }
        Ok(())
    }
}

/// Fails if a column holds values that a store cannot keep, and names the label or type and the property.
pub(super) fn check_storable<'a>(of: &str, columns: impl Iterator<Item = (&'a str, &'a Column)>) -> Result<()> {
    for (property, column) in columns {
        let refused = match &column.data {
            ColumnData::Node(_) => Some("NODE"),
            ColumnData::Edge(_) => Some("RELATIONSHIP"),
            ColumnData::Value(values) => {
                values.iter().find(|value| !value.is_null() && !value.is_storable()).map(|value| value.type_name())
            }
            _ => None,
        };
        let checked = match refused {
            Some(name) => Err(model::error!(Type, "a value of type {name} cannot be stored as a property")),
            None => column.check_time(),
        };
        let place = || if of.is_empty() { property.to_owned() } else { format!("{property} of :{of}") };
        checked.map_err(|error| error.within(&place()))?;
    }
    Ok(())
}

/// A constraint name that is not in use: the wish itself, or with a number.
fn unused_name(schema: &Schema, wish: &str) -> String {
    if !schema.is_rule_name(wish) {
        return wish.to_owned();
    }
    let mut names = (2..).map(|number| format!("{wish}_{number}"));
    names.find(|name| !schema.is_rule_name(name)).expect("some number is free")
}
