//! Roles of a file's columns: by the header's roles as neo4j-admin has them, by option, or by custom.

use model::{Result, Schema, error};
use sources::files::TableColumn;
use sources::files::header::{SOURCE_NAMES, TARGET_NAMES};

use super::{EdgeFile, NodeFile};

/// The label of nodes that come from a file that says none.
const DEFAULT_LABEL: &str = "Node";
/// The type of edges that come from a file that says none.
const DEFAULT_TYPE: &str = "EDGE";
/// The property that keeps the key of nodes that come from files of edges.
const DEFAULT_KEY: &str = "id";

/// A set of nodes within which a key names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) label: Option<String>,
    pub(crate) property: Option<String>,
}

/// A column's role in a header of neo4j-admin's form: `name:ROLE(group)`.
struct Role<'a> {
    name: &'a str,
    word: String,
    group: Option<&'a str>,
    label: Option<&'a str>,
}

fn role(column: &TableColumn) -> Option<Role<'_>> {
    if column.name.starts_with(ESCAPE) {
        return None;
    }
    // Behind a role may stand options: `:ID(Person){label:Person}`.
    let with_options = column.name.strip_suffix('}').and_then(|name| name.rsplit_once('{'));
    let (plain, options) = with_options.unwrap_or((&column.name, ""));
    let label = options.split(',').find_map(|option| option.trim().strip_prefix("label:"));
    let (name, suffix) = plain.rsplit_once(':')?;
    let (word, group) = match suffix.split_once('(') {
        Some((word, rest)) => (word, Some(rest.trim_end_matches(')'))),
        None => (suffix, None),
    };
    let word = word.to_ascii_uppercase();
    let known = ["ID", "LABEL", "START_ID", "END_ID", "TYPE", "IGNORE"].contains(&word.as_str());
    known.then_some(Role { name, word, group: group.or(label), label })
}

fn with_role<'a>(columns: &'a [TableColumn], word: &str) -> Option<(usize, Role<'a>)> {
    columns.iter().enumerate().find_map(|(index, c)| role(c).filter(|role| role.word == word).map(|role| (index, role)))
}

/// Prefix of the name of a property that would be taken for something else, in a file with roles.
pub(crate) const ESCAPE: char = '\\';

/// The name of a property as a header of a file with roles has it.
pub(crate) fn escaped(name: &str) -> std::borrow::Cow<'_, str> {
    let column = TableColumn { name: name.to_owned(), field_type: None };
    let is_plain = !name.starts_with(|c: char| c == ESCAPE || c.is_whitespace()) && !name.is_empty();
    if is_plain && role(&column).is_none() { name.into() } else { format!("{ESCAPE}{name}").into() }
}

/// The columns that are properties: all that have no role and are not taken otherwise.
fn properties(columns: &[TableColumn], taken: &[usize]) -> Vec<(usize, String)> {
    let has_roles = columns.iter().any(|column| role(column).is_some());
    let free = columns.iter().enumerate().filter(|(index, column)| !taken.contains(index) && role(column).is_none());
    let name = |name: &str| name.strip_prefix(ESCAPE).filter(|_| has_roles).unwrap_or(name).to_owned();
    free.map(|(index, column)| (index, name(&column.name))).collect()
}

fn named(columns: &[TableColumn], name: &str) -> Result<usize> {
    columns.iter().position(|column| column.name == name).ok_or_else(|| {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        error!(Import, "there is no column '{name}', only {}", names.join(", "))
    })
}

fn customary(columns: &[TableColumn], names: &[&str]) -> Option<usize> {
    columns.iter().position(|column| names.iter().any(|name| column.name.eq_ignore_ascii_case(name)))
}

/// True if a file's header says that it holds edges, false if nodes; `None` if it says neither.
pub(crate) fn holds_edges(columns: &[TableColumn]) -> Option<bool> {
    if with_role(columns, "START_ID").is_some() {
        return Some(true);
    }
    with_role(columns, "ID").or(with_role(columns, "LABEL")).map(|_| false)
}

/// Roles of the columns of a file of nodes.
#[derive(Clone, Debug)]
pub(crate) struct NodeMapping {
    pub(crate) key: Option<usize>,
    pub(crate) key_group: String,
    pub(crate) key_property: Option<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) label_column: Option<usize>,
    pub(crate) properties: Vec<(usize, String)>,
}

impl NodeMapping {
    pub(crate) fn of(file: &NodeFile, columns: &[TableColumn], existing: &Schema) -> Result<NodeMapping> {
        let label_column = with_role(columns, "LABEL").map(|(index, _)| index);
        let mut labels = file.labels.clone();
        let stated = with_role(columns, "ID").and_then(|(_, role)| role.label.map(str::to_owned));
        labels.extend(stated.filter(|label| !file.labels.contains(label)));
        if labels.is_empty() && label_column.is_none() {
            labels.push(DEFAULT_LABEL.to_string());
        }
        if let Some((index, id)) = with_role(columns, "ID") {
            let key_group = id.group.map_or_else(|| labels.first().cloned().unwrap_or_default(), str::to_string);
            return Ok(NodeMapping {
                key: Some(index),
                key_group: if id.group.is_some() { key_group } else { String::new() },
                key_property: (!id.name.is_empty()).then(|| id.name.to_string()),
                labels,
                label_column,
                properties: properties(columns, &[index]),
            });
        }
        let key = match &file.key {
            Some(name) => named(columns, name)?,
            None => {
                let unique = labels.first().and_then(|label| constrained(existing, label));
                let unique = unique.and_then(|key| columns.iter().position(|column| column.name == key));
                unique.or_else(|| customary(columns, &["id"])).unwrap_or(0)
            }
        };
        Ok(NodeMapping {
            key: Some(key),
            key_group: labels.first().cloned().unwrap_or_default(),
            key_property: Some(columns[key].name.clone()),
            labels,
            label_column,
            properties: properties(columns, &[key]),
        })
    }

    /// The label and property of the store's constraint on the keys of this file, if there is one.
    pub(crate) fn group_to_bind(&self, existing: &Schema) -> Option<(&str, &str)> {
        let (label, property) = (self.labels.first()?, self.key_property.as_ref()?);
        let constraint = existing.unique(existing.label(label)?, existing.property_key(property)?);
        constraint.map(|_| (label.as_str(), property.as_str()))
    }

    pub(crate) fn group(&self) -> Option<Group> {
        self.key?;
        let label = self.labels.first().cloned();
        Some(Group { name: self.key_group.clone(), label, property: self.key_property.clone() })
    }
}

/// Roles of the columns of a file of edges.
#[derive(Clone, Debug)]
pub(crate) struct EdgeMapping {
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) source_group: String,
    pub(crate) target_group: String,
    pub(crate) edge_type: String,
    pub(crate) type_column: Option<usize>,
    pub(crate) properties: Vec<(usize, String)>,
}

impl EdgeMapping {
    pub(crate) fn of(
        file: &EdgeFile,
        columns: &[TableColumn],
        groups: &[Group],
        existing: &Schema,
    ) -> Result<EdgeMapping> {
        if columns.len() < 2 {
            return Err(error!(Import, "edges need two columns with keys, found {}", columns.len()));
        }
        let start = with_role(columns, "START_ID");
        let end = with_role(columns, "END_ID");
        let type_column = with_role(columns, "TYPE").map(|(index, _)| index);
        let source = match (&file.source, &start) {
            (Some(name), _) => named(columns, name)?,
            (None, Some((index, _))) => *index,
            _ => customary(columns, &SOURCE_NAMES).unwrap_or(0),
        };
        let target = match (&file.target, &end) {
            (Some(name), _) => named(columns, name)?,
            (None, Some((index, _))) => *index,
            _ => customary(columns, &TARGET_NAMES).unwrap_or(if source == 1 { 0 } else { 1 }),
        };
        let has_roles = start.is_some();
        let stated = |role: Option<(usize, Role<'_>)>| role.and_then(|(_, role)| role.group.map(str::to_string));
        let stated = [stated(start), stated(end)];
        // Ids in the header refer to ids within the files, also if the store declares key properties.
        let is_in_files = has_roles && groups.iter().any(|group| group.name.is_empty());
        let declared = match (&stated, is_in_files || type_column.is_some()) {
            ([None, None], false) => declared_ends(file, groups, existing)?,
            _ => None,
        };
        let [source_declared, target_declared] = declared.map_or([None, None], |labels| labels.map(Some));
        let [source_stated, target_stated] = stated;
        let choose = |label: &Option<String>, otherwise: Option<String>, side: &str| match label.clone().or(otherwise) {
            Some(group) => Ok(group),
            None => only_group(groups, existing, side, has_roles),
        };
        Ok(EdgeMapping {
            source,
            target,
            source_group: choose(&file.source_label, source_stated.or(source_declared), "source")?,
            target_group: choose(&file.target_label, target_stated.or(target_declared), "target")?,
            edge_type: file.edge_type.clone().unwrap_or_else(|| DEFAULT_TYPE.to_string()),
            type_column,
            properties: properties(columns, &[source, target]),
        })
    }

    /// The groups of ends that the store lacks too, for a plan without files of nodes: their nodes are made from keys.
    pub(crate) fn groups_to_make(&self, known: &[Group], existing: &Schema) -> Vec<Group> {
        let mut made: Vec<Group> = Vec::new();
        for name in [&self.source_group, &self.target_group] {
            if known.iter().chain(&made).any(|group| group.name == *name) || constrained(existing, name).is_some() {
                continue;
            }
            let label = if name.is_empty() { DEFAULT_LABEL } else { name };
            made.push(Group { name: name.clone(), label: Some(label.into()), property: Some(DEFAULT_KEY.into()) });
        }
        made
    }

    /// The groups of ends that the store had before, as group, label and property of the constraint.
    pub(crate) fn groups_to_bind(&self, groups: &[Group], existing: &Schema) -> Result<Vec<(String, String, String)>> {
        let mut bound: Vec<(String, String, String)> = Vec::new();
        for name in [&self.source_group, &self.target_group] {
            let known = groups.iter().any(|group| group.name == *name) || bound.iter().any(|(group, ..)| group == name);
            if known {
                continue;
            }
            let Some(property) = constrained(existing, name) else {
                return Err(error!(
                    Import,
                    "edges refer to nodes of '{name}', but no file of nodes and no unique key of the store has them"
                )
                .with_remedy(format!(
                    "import nodes with --nodes {name}=FILE, or name another label with --edges TYPE:SOURCE->TARGET=FILE"
                )));
            };
            bound.push((name.clone(), name.clone(), property));
        }
        Ok(bound)
    }
}

/// The groups of the labels that edges of the file's type are declared to join, if the file names one of them or none.
fn declared_ends(file: &EdgeFile, groups: &[Group], existing: &Schema) -> Result<Option<[String; 2]>> {
    let (Some(edge_type), false) = (&file.edge_type, file.source_label.is_some() && file.target_label.is_some()) else {
        return Ok(None);
    };
    let labels =
        existing.declared_ends(edge_type, file.source_label.as_deref(), file.target_label.as_deref()).map_err(
            |cause| cause.with_remedy("write (from = …, to = …) behind COPY, or --edges TYPE:SOURCE->TARGET=FILE"),
        )?;
    let group = |label: &str| {
        let made_here = groups.iter().find(|group| group.label.as_deref() == Some(label));
        made_here.map_or(label, |group| &group.name).to_owned()
    };
    Ok(labels.map(|labels| labels.map(group)))
}

/// The property of a uniqueness constraint on that label, if there is one.
fn constrained(existing: &Schema, label: &str) -> Option<String> {
    let label = existing.label(label)?;
    let keys = existing.constraints.iter().filter_map(model::Constraint::lookup_key);
    let (_, key) = keys.into_iter().find(|(of, _)| *of == label)?;
    Some(existing.property_key_name(key).to_string())
}

/// The group of an end that says none: the only one there is.
fn only_group(groups: &[Group], existing: &Schema, side: &str, has_roles: bool) -> Result<String> {
    if has_roles && (groups.is_empty() || groups.iter().any(|group| group.name.is_empty())) {
        return Ok(String::new());
    }
    let mut names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    if names.is_empty() {
        names = existing
            .constraints
            .iter()
            .filter_map(model::Constraint::lookup_key)
            .map(|(label, _)| existing.label_name(label))
            .collect();
    }
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => Ok(DEFAULT_LABEL.to_string()),
        [only] => Ok((*only).to_string()),
        several => Err(error!(Import, "the {side} of an edge may be any of {}", several.join(", "))
            .with_remedy("say which, as in --edges TYPE:SOURCE->TARGET=FILE")),
    }
}
