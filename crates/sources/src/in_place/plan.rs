//! A definition as files need it: which columns of which file are keys, ends and properties.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use model::schema::PropertyKind;
use model::{Error, MemoryBudget, Result, error};

use super::table::{Stamp, Version, field_type};
use crate::definition::{EdgeKind, End, EndNode, GraphDefinition, NodeKind, Property, Rows};
use crate::files::{FieldType, Format};

/// A definition whose rows are all in files.
pub(super) struct Plan {
    pub(super) nodes: Vec<NodeFile>,
    pub(super) edges: Vec<EdgeFile>,
    tables: Vec<FileTable>,
    bytes_max: usize,
}

/// A file that kinds come from.
struct FileTable {
    path: PathBuf,
    format: Format,
    /// The columns that the definition names.
    columns: Vec<String>,
    /// The types that it states for them.
    types: Vec<(String, FieldType)>,
    /// Columns that name nodes of another file: they are read as the key there is.
    refers: Vec<(String, usize, String)>,
    version: Mutex<Option<Arc<Version>>>,
}

/// The file and columns of a kind of nodes.
pub(super) struct NodeFile {
    pub(super) name: Arc<str>,
    pub(super) table: usize,
    pub(super) key: Vec<ColumnOf>,
    pub(super) properties: Vec<ColumnOf>,
}

/// The file and columns of a kind of edges.
pub(super) struct EdgeFile {
    pub(super) name: Arc<str>,
    pub(super) table: usize,
    pub(super) source: EndColumns,
    pub(super) target: EndColumns,
    pub(super) key: Vec<ColumnOf>,
    pub(super) properties: Vec<ColumnOf>,
}

/// The columns of an end of edges.
pub(super) struct EndColumns {
    pub(super) columns: Vec<ColumnOf>,
    pub(super) is_array: bool,
    /// The kind of nodes, if they are of this definition.
    pub(super) kind: Option<usize>,
}

/// A column by name, and what its values are converted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnOf {
    pub(super) name: String,
    pub(super) kind: Option<PropertyKind>,
}

impl Plan {
    /// Compiles a definition; relative paths lie in `folder`.
    pub(super) fn of(definition: &GraphDefinition, folder: &Path) -> Result<Plan> {
        let bytes_max = definition.cache.bytes_max;
        let mut plan = Plan { nodes: Vec::new(), edges: Vec::new(), tables: Vec::new(), bytes_max };
        for node in &definition.nodes {
            let table = plan.table(&node.name, &node.rows, folder)?;
            let key = node.key.iter().map(|name| key_of(node, name)).collect();
            let properties = node.properties.iter().map(column_of).collect();
            plan.nodes.push(NodeFile { name: node.name.clone(), table, key, properties });
        }
        for edge in &definition.edges {
            let table = plan.table(&edge.name, &edge.rows, folder)?;
            let source = plan.end(edge, &edge.source);
            let target = plan.end(edge, &edge.target);
            let key = edge.key.iter().map(|name| ColumnOf { name: name.clone(), kind: None }).collect();
            let properties = edge.properties.iter().map(column_of).collect();
            plan.edges.push(EdgeFile { name: edge.name.clone(), table, source, target, key, properties });
        }
        plan.tell_columns();
        Ok(plan)
    }

    fn table(&mut self, name: &str, rows: &Rows, folder: &Path) -> Result<usize> {
        let Rows::File { path } = rows else {
            return Err(error!(Definition, "{name}: files are read in place, the definition names no file")
                .with_remedy("give the path of a CSV, JSON lines or Parquet file (file)"));
        };
        let path = folder.join(path);
        if let Some(known) = self.tables.iter().position(|table| table.path == path) {
            return Ok(known);
        }
        let format = Format::of_path(&path).ok_or_else(|| -> Error {
            error!(Definition, "{name}: {}: the name does not say the format", path.display()).with_remedy(
                "name it .csv, .tsv, .jsonl or .parquet, with .gz or .zst after it if it is compressed text",
            )
        })?;
        let (columns, types, refers) = Default::default();
        self.tables.push(FileTable { path, format, columns, types, refers, version: Mutex::default() });
        Ok(self.tables.len() - 1)
    }

    fn end(&self, edge: &EdgeKind, end: &End) -> EndColumns {
        let kind = match end.node {
            EndNode::Kind(kind) => Some(kind),
            EndNode::Foreign { .. } => None,
        };
        let column = |(at, name): (usize, &String)| {
            let shown = edge.properties.iter().find(|property| property.column == *name);
            let of_node = kind.and_then(|kind| self.nodes[kind].key.get(at)).and_then(|key| key.kind);
            ColumnOf { name: name.clone(), kind: of_node.or(shown.and_then(|property| property.kind)) }
        };
        EndColumns { columns: end.columns.iter().enumerate().map(column).collect(), is_array: end.is_array, kind }
    }

    /// Says to each file which columns are read of it, and as what.
    fn tell_columns(&mut self) {
        let mut told: Vec<(usize, ColumnOf, bool)> = Vec::new();
        let mut refers = Vec::new();
        for node in &self.nodes {
            let columns = node.key.iter().chain(&node.properties);
            told.extend(columns.map(|column| (node.table, column.clone(), false)));
        }
        for edge in &self.edges {
            for end in [&edge.source, &edge.target] {
                told.extend(end.columns.iter().map(|column| (edge.table, column.clone(), end.is_array)));
                let Some(kind) = end.kind else { continue };
                for (column, key) in end.columns.iter().zip(&self.nodes[kind].key) {
                    if column.kind.is_none() && !end.is_array {
                        refers.push((edge.table, column.name.clone(), self.nodes[kind].table, key.name.clone()));
                    }
                }
            }
            told.extend(edge.key.iter().chain(&edge.properties).map(|column| (edge.table, column.clone(), false)));
        }
        for (table, column, is_array) in told {
            let table = &mut self.tables[table];
            if !table.columns.contains(&column.name) {
                table.columns.push(column.name.clone());
            }
            if let Some(kind) = column.kind
                && !table.types.iter().any(|(name, _)| *name == column.name)
            {
                let one = field_type(kind);
                table.types.push((column.name, if is_array { FieldType::List(Box::new(one)) } else { one }));
            }
        }
        for (table, column, node_table, key) in refers {
            if !self.tables[table].types.iter().any(|(name, _)| *name == column) {
                self.tables[table].refers.push((column, node_table, key));
            }
        }
    }

    /// A file as it is now: what is known of it as long as it is unchanged.
    pub(super) fn version(&self, table: usize, memory: &Arc<MemoryBudget>) -> Result<Arc<Version>> {
        let table = &self.tables[table];
        {
            let known = table.version.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(version) = &*known
                && Stamp::of(&table.path)? == version.stamp
            {
                return Ok(version.clone());
            }
        }
        let open = |types: &[(String, FieldType)]| {
            Version::open(&table.path, table.format, &table.columns, types, self.bytes_max, memory)
        };
        // A missing column is an error of the one that asks for it.
        let mut version = open(&[])?;
        if table.format == Format::Csv {
            let is_there = |(name, _): &&(String, FieldType)| version.find(name).is_some();
            let mut types: Vec<(String, FieldType)> = table.types.iter().filter(is_there).cloned().collect();
            for (column, node_table, key) in &table.refers {
                let node_table = &self.tables[*node_table];
                let key_type = if node_table.path == table.path {
                    version.find(key).and_then(|key| version.columns()[key].field_type.clone())
                } else {
                    let other = self.tables.iter().position(|other| other.path == node_table.path).unwrap_or(0);
                    let nodes = self.version(other, memory)?;
                    nodes.find(key).and_then(|key| nodes.columns()[key].field_type.clone())
                };
                if let (Some(key_type), Some(_)) = (key_type, version.find(column)) {
                    types.push((column.clone(), key_type));
                }
            }
            if !types.is_empty() {
                version = open(&types)?;
            }
        }
        let version = Arc::new(version);
        *table.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.clone());
        Ok(version)
    }

    /// The paths of all files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.tables.iter().map(|table| table.path.as_path())
    }
}

fn key_of(node: &NodeKind, name: &str) -> ColumnOf {
    let shown = node.properties.iter().find(|property| property.column == *name);
    ColumnOf { name: name.to_owned(), kind: shown.and_then(|property| property.kind) }
}

fn column_of(property: &Property) -> ColumnOf {
    ColumnOf { name: property.column.clone(), kind: property.kind }
}
