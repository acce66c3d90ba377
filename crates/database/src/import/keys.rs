//! The type of keys: ends of edges are read as the keys of the nodes that they name, in every file and format.
//!
//! If files of nodes or the store have keys of one type, that is the type of their group. If nodes are made of the
//! ends of edges, it is the narrowest type that reads the ends of all files.

use std::borrow::Cow;

use model::{Column, NodeBatch, NodeScan, ReadView, Result};
use sources::files::{FieldType, Table};

use super::mapping::{EdgeMapping, NodeMapping};

/// The types of the keys of groups, as far as they have one.
#[derive(Debug, Default)]
pub(super) struct KeyTypes(Vec<(String, Option<FieldType>)>);

/// Nodes of the store whose keys are looked at.
const SAMPLE_NODES: usize = 10_000;

impl KeyTypes {
    pub(super) fn of(&self, group: &str) -> Option<&FieldType> {
        self.0.iter().find(|(name, _)| name == group).and_then(|(_, kind)| kind.as_ref())
    }

    fn knows(&self, group: &str) -> bool {
        self.0.iter().any(|(name, _)| name == group)
    }

    /// Decides the types of groups that files of nodes have, and reads the key columns of all files of a group alike.
    pub(super) fn of_nodes(
        mappings: &[NodeMapping],
        tables: &mut [Box<dyn Table>],
        view: &dyn ReadView,
    ) -> Result<KeyTypes> {
        let mut types = KeyTypes::default();
        for mapping in mappings {
            if types.knows(&mapping.key_group) || mapping.key.is_none() {
                continue;
            }
            let group = &mapping.key_group;
            let of_group = |(_, mapping): &(usize, &NodeMapping)| mapping.key_group == *group;
            let members = mappings.iter().enumerate().filter(of_group);
            let members: Vec<(usize, usize)> = members.filter_map(|(at, mapping)| Some((at, mapping.key?))).collect();
            let stored = match mapping.group_to_bind(view.schema()) {
                Some((label, property)) => stored(view, label, property)?,
                None => None,
            };
            let kind = united_with(stored, &members, tables, &like(group));
            types.0.push((group.clone(), kind));
        }
        Ok(types)
    }

    /// Adds the groups that no file of nodes has, and reads the ends of all edges as the keys that they name. What is
    /// worth telling is told.
    pub(super) fn of_edges(
        &mut self,
        mappings: &[EdgeMapping],
        tables: &mut [Box<dyn Table>],
        bound: &[(String, String, String)],
        view: &dyn ReadView,
        tell: &mut dyn FnMut(String),
    ) -> Result<()> {
        for (group, label, property) in bound {
            if !self.knows(group) {
                self.0.push((group.clone(), stored(view, label, property)?));
            }
        }
        for mapping in mappings {
            for group in [&mapping.source_group, &mapping.target_group] {
                if !self.knows(group) {
                    let ends = ends_of(mappings, group);
                    // Values of several types in one column are read as texts.
                    let kind = |&(at, column): &(usize, usize)| tables[at].type_of(column).or(Some(FieldType::String));
                    let found: Vec<_> = ends.iter().map(kind).collect();
                    let wanted = united(&found);
                    if let Some(wanted) = wanted.as_ref().filter(|_| found.iter().any(|kind| *kind != found[0])) {
                        let (group, wanted) = (named(group), wanted.name());
                        tell(format!("the ends of edges among {group} are not of one type; all are read as {wanted}"));
                    }
                    self.0.push((group.clone(), wanted));
                }
            }
        }
        for (mapping, table) in mappings.iter().zip(tables) {
            self.read_ends(mapping, table.as_mut());
        }
        Ok(())
    }

    /// Reads the ends of a file of edges as the keys that they name.
    pub(super) fn read_ends(&self, mapping: &EdgeMapping, table: &mut dyn Table) {
        for (column, group) in [(mapping.source, &mapping.source_group), (mapping.target, &mapping.target_group)] {
            if let Some(wanted) = self.of(group).filter(|wanted| table.type_of(column).as_ref() != Some(*wanted)) {
                table.read_as(column, wanted, &like(group));
            }
        }
    }

    /// Ends of edges as the keys of a group, as far as a value is the same in the type of those.
    pub(super) fn converted<'c>(&self, group: &str, ends: &'c Column) -> Cow<'c, Column> {
        let converted = self.of(group).and_then(|wanted| wanted.convert(ends));
        converted.map_or(Cow::Borrowed(ends), Cow::Owned)
    }
}

/// The ends of edges that name a group: the files' numbers, and their columns.
fn ends_of(mappings: &[EdgeMapping], group: &str) -> Vec<(usize, usize)> {
    let ends = |(at, mapping): (usize, &EdgeMapping)| {
        let ends = [(mapping.source, &mapping.source_group), (mapping.target, &mapping.target_group)];
        ends.map(|(column, of)| (of == group).then_some((at, column)))
    };
    mappings.iter().enumerate().flat_map(ends).flatten().collect()
}

/// Has columns of tables read as one type: that of the values that the store has, if those have one, or else the narrowest
/// that reads all. Gives the type, if all the columns are of it then.
pub(super) fn united_with(
    stored: Option<FieldType>,
    members: &[(usize, usize)],
    tables: &mut [Box<dyn Table>],
    why: &str,
) -> Option<FieldType> {
    let mut found: Vec<_> = members.iter().map(|&(at, column)| tables[at].type_of(column)).collect();
    let wanted = stored.clone().or_else(|| united(&found));
    found.extend(stored.map(Some));
    // Integers and floats that are equal are one key, and each stays what it is.
    let numbers = [Some(FieldType::Int), Some(FieldType::Float)];
    let is_mixed = numbers.iter().all(|kind| found.contains(kind)) && found.iter().all(|kind| numbers.contains(kind));
    let wanted = wanted.filter(|_| !is_mixed)?;
    members.iter().for_each(|&(at, column)| tables[at].read_as(column, &wanted, why));
    let is_one = members.iter().all(|&(at, column)| tables[at].type_of(column).as_ref() == Some(&wanted));
    is_one.then_some(wanted)
}

/// The type that reads all of these, if each is known.
fn united(types: &[Option<FieldType>]) -> Option<FieldType> {
    let (first, others) = types.split_first()?;
    others.iter().try_fold(first.clone()?, |so_far, next| Some(so_far.united(next.as_ref()?)))
}

fn named(group: &str) -> String {
    if group.is_empty() { "the nodes".to_owned() } else { group.to_owned() }
}

fn like(group: &str) -> String {
    format!("as the keys of {} are", named(group))
}

/// The type of a property of the nodes of a label, if those that are looked at first have one.
pub(crate) fn stored(view: &dyn ReadView, label: &str, property: &str) -> Result<Option<FieldType>> {
    let schema = view.schema();
    let Some((label, key)) = schema.label(label).zip(schema.property_key(property)) else { return Ok(None) };
    let scan = NodeScan { labels: vec![label], ..NodeScan::default() };
    let mut cursor = view.scan(&scan)?;
    let (mut batch, mut seen, mut found) = (NodeBatch::default(), 0, None);
    while seen < SAMPLE_NODES && cursor.next(&mut batch)? {
        seen += batch.nodes.len();
        for value in view.node_properties(&batch.nodes, &[key])?.iter().flat_map(|column| column.values()) {
            let kind = FieldType::of_value(&value);
            if value.is_null() || found == kind {
                continue;
            }
            if found.is_some() || kind.is_none() {
                return Ok(None);
            }
            found = kind;
        }
    }
    Ok(found)
}
