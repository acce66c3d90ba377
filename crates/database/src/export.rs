//! Export: a snapshot into a folder of files that import reads again.
//!
//! One file for each combination of labels and for each edge type, with headers of neo4j-admin's form, and the schema as
//! Cypher. Two passes over the properties: one to learn their types, one to write.
//!
//! Invariant: what is imported again is the same graph, value by value. A column of CSV has a type if all its values have,
//! and is `json` otherwise; JSON lines carry each value with its type. Cancelled or failed, an export leaves nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::batch::EdgeBlock;
use model::store::{EdgeIds, EdgeStream};
use model::{Column, EdgeBatch, EdgeTypeId, Expand, Interrupt, LabelId, NodeBatch, NodeId, NodeScan};
use model::{Direction, Error, FixedKind, PropertyKeyId, ReadView, Result, Schema, Value, error};
use sources::files::csv_writer::{push_field, push_quoted};
use sources::files::json_value;

use crate::import::escaped;

/// The form of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportFormat {
    /// Comma separated values with typed headers.
    #[default]
    Csv,
    /// One JSON object a line.
    JsonLines,
}

/// Counts of what was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportSummary {
    /// Nodes written.
    pub nodes: u64,
    /// Edges written.
    pub edges: u64,
    /// The files.
    pub files: Vec<PathBuf>,
}

/// The kinds of values that a key was seen with, in one file.
type Kinds = BTreeMap<PropertyKeyId, Kind>;

/// The form of the values of a column of CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// As text of this type of a header.
    Plain(&'static str),
    /// As elements of this type between semicolons.
    List(&'static str),
    /// As JSON, each with its own type.
    Json,
}

/// Takes a node, its labels and its properties.
type VisitNode<'a> = dyn FnMut(NodeId, &[LabelId], &[(PropertyKeyId, Value)]) -> Result<()> + 'a;

/// Takes the source, the target and the properties of an edge.
type VisitEdge<'a> = dyn FnMut(NodeId, NodeId, &[(PropertyKeyId, Value)]) -> Result<()> + 'a;

/// Writes a snapshot into a folder, which must be empty or not exist yet.
pub fn export(
    view: &dyn ReadView,
    folder: &Path,
    format: ExportFormat,
    interrupt: &Interrupt,
) -> Result<ExportSummary> {
    let failed = |cause: std::io::Error| Error::of_file(folder, &cause);
    let is_new = !folder.exists();
    std::fs::create_dir_all(folder).map_err(failed)?;
    if std::fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(error!(File, "{}: the folder is not empty", folder.display()).with_remedy("name a new folder"));
    }
    let (summary, names) = (ExportSummary::default(), BTreeSet::new());
    let mut export = Export { view, folder, format, interrupt, summary, names };
    let outcome = export.nodes().and_then(|()| export.edges()).and_then(|()| export.schema());
    if let Err(failure) = outcome {
        // A part that is written must not be taken for the whole: it is removed.
        export.summary.files.iter().for_each(|path| drop(std::fs::remove_file(path)));
        if is_new {
            let _ = std::fs::remove_dir(folder);
        }
        return Err(failure);
    }
    Ok(export.summary)
}

/// The statements that make a schema: its constraints, indexes and sort keys, in an order in which they can be run.
pub fn schema_statements(schema: &Schema) -> Vec<String> {
    let constraints = schema.constraints.iter().map(|constraint| schema.constraint_statement(constraint));
    let indexes = schema.indexes.iter().filter(|index| schema.owner(index).is_none());
    let indexes = indexes.map(|index| schema.index_statement(index));
    let sort_keys = schema.sort_keys.iter().map(|sort_key| {
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let key = |key: &PropertyKeyId| format!("r.{}", quoted(schema.property_key_name(*key)));
        let keys: Vec<String> = sort_key.keys.iter().map(key).collect();
        let edge_type = quoted(schema.edge_type_name(sort_key.edge_type));
        format!("CREATE SORT KEY FOR ()-[r:{edge_type}]-() ON ({})", keys.join(", "))
    });
    constraints.chain(indexes).chain(sort_keys).collect()
}

struct Export<'a> {
    view: &'a dyn ReadView,
    folder: &'a Path,
    format: ExportFormat,
    interrupt: &'a Interrupt,
    summary: ExportSummary,
    /// The names of files, in lower case: some file systems take no others apart.
    names: BTreeSet<String>,
}

/// Bytes of a file that wait to be written, for all files together.
const BUFFERS_BYTES_MAX: usize = 32 << 20;
/// Bytes of the name of a file, without its number and ending.
const NAME_BYTES_MAX: usize = 100;

/// A file being written: fixed columns, then properties. It is open only while a buffer is written, since there may be
/// more files than can be open.
struct Table {
    path: PathBuf,
    format: ExportFormat,
    fixed: &'static [&'static str],
    keys: Vec<(PropertyKeyId, Arc<str>, Kind)>,
    waiting: String,
    waiting_max: usize,
    /// True if the next row of JSON names all keys, so that a reader of the first rows knows them.
    is_first: bool,
}

impl Export<'_> {
    fn nodes(&mut self) -> Result<()> {
        let mut kinds: BTreeMap<Vec<LabelId>, Kinds> = BTreeMap::new();
        self.for_each_node(&mut |_, labels, properties| {
            let kinds = kinds.entry(labels.to_vec()).or_default();
            properties.iter().for_each(|(key, value)| note(kinds, *key, value));
            Ok(())
        })?;
        let mut tables = BTreeMap::new();
        for (labels, kinds) in kinds {
            let names: Vec<&str> = labels.iter().map(|label| self.view.schema().label_name(*label)).collect();
            let labels_field = labels_field(&names);
            let table = self.table(&format!("nodes-{}", file_name(&names)), &[":ID", ":LABEL"], &kinds)?;
            tables.insert(labels, (table, labels_field));
        }
        let waiting_max = BUFFERS_BYTES_MAX / tables.len().max(1);
        tables.values_mut().for_each(|(table, _)| table.waiting_max = waiting_max);
        let mut count = 0;
        self.for_each_node(&mut |node, labels, properties| {
            count += 1;
            let Some((table, names)) = tables.get_mut(labels) else {
                return Err(error!(Internal, "a snapshot changed while it was read"));
            };
            table.write(&[Value::Int(node.0 as i64), Value::string(names)], properties)
        })?;
        self.summary.nodes = count;
        tables.into_values().try_for_each(|(table, _)| table.finish())
    }

    fn for_each_node(&self, visit: &mut VisitNode<'_>) -> Result<()> {
        let mut cursor = self.view.scan(&NodeScan::default())?;
        let mut batch = NodeBatch::default();
        while cursor.next(&mut batch)? {
            self.interrupt.check()?;
            let labels = self.view.node_labels(&batch.nodes)?;
            let properties = self.view.all_node_properties(&batch.nodes)?;
            for (row, node) in batch.nodes.iter().enumerate() {
                visit(*node, &labels[row], &properties[row])?;
            }
        }
        Ok(())
    }

    fn edges(&mut self) -> Result<()> {
        for number in 0..self.view.schema().edge_types.len() as u32 {
            let edge_type = EdgeTypeId(number);
            let mut kinds = Kinds::new();
            let mut count = 0;
            self.for_each_edge(edge_type, &mut |_, _, properties| {
                count += 1;
                properties.iter().for_each(|(key, value)| note(&mut kinds, *key, value));
                Ok(())
            })?;
            if count == 0 {
                continue;
            }
            let name = self.view.schema().edge_type_name(edge_type).to_string();
            let fixed = &[":START_ID", ":END_ID", ":TYPE"];
            let mut table = self.table(&format!("edges-{}", file_name(&[&name])), fixed, &kinds)?;
            self.for_each_edge(edge_type, &mut |source, target, properties| {
                let ends = [Value::Int(source.0 as i64), Value::Int(target.0 as i64), Value::string(&name)];
                table.write(&ends, properties)
            })?;
            table.finish()?;
            self.summary.edges += count;
        }
        Ok(())
    }

    fn for_each_edge(&self, edge_type: EdgeTypeId, visit: &mut VisitEdge<'_>) -> Result<()> {
        let keys: Vec<PropertyKeyId> = (0..self.view.schema().property_keys.len() as u32).map(PropertyKeyId).collect();
        let mut visit_all = |sources: &[NodeId], targets: &[NodeId], columns: &[Column]| -> Result<()> {
            self.interrupt.check()?;
            let mut properties = Vec::new();
            for row in 0..sources.len() {
                properties.clear();
                let present = keys.iter().zip(columns).filter(|(_, column)| !column.is_null(row));
                properties.extend(present.map(|(key, column)| (*key, column.value(row))));
                visit(sources[row], targets[row], &properties)?;
            }
            Ok(())
        };
        if let Some(partitions) = self.view.edge_partitions() {
            let types = Some(vec![edge_type]);
            let stream = EdgeStream { types, sources: None, keys: keys.clone(), edge_ids: EdgeIds::Omit };
            for partition in 0..partitions.count() {
                let mut cursor = partitions.stream(partition, &stream)?;
                let mut block = EdgeBlock::default();
                while cursor.next(&mut block)? {
                    visit_all(&block.sources, &block.targets, &block.properties)?;
                }
            }
            return Ok(());
        }
        let types = Some(vec![edge_type]);
        let expand = Expand { direction: Direction::Out, types, keys: keys.clone(), ..Expand::default() };
        let mut scan = self.view.scan(&NodeScan::default())?;
        let mut nodes = NodeBatch::default();
        while scan.next(&mut nodes)? {
            let mut cursor = self.view.expand(&nodes.nodes, &expand)?;
            let mut batch = EdgeBatch::default();
            while cursor.next(&mut batch)? {
                let sources: Vec<NodeId> = batch.inputs.iter().map(|&input| nodes.nodes[input as usize]).collect();
                visit_all(&sources, &batch.neighbors, &batch.properties)?;
            }
        }
        Ok(())
    }

    fn schema(&mut self) -> Result<()> {
        let statements = schema_statements(self.view.schema());
        if statements.is_empty() {
            return Ok(());
        }
        let path = self.folder.join("schema.cypher");
        let statements: String = statements.into_iter().map(|statement| statement + ";\n").collect();
        self.summary.files.push(path.clone());
        std::fs::write(&path, statements).map_err(|cause| Error::of_file(&path, &cause))
    }

    fn table(&mut self, name: &str, fixed: &'static [&'static str], kinds: &Kinds) -> Result<Table> {
        let extension = if self.format == ExportFormat::Csv { "csv" } else { "jsonl" };
        let numbered = |number: usize| if number < 2 { name.to_owned() } else { format!("{name}-{number}") };
        let mut names = (1..).map(numbered);
        let name = names.find(|name| self.names.insert(name.to_lowercase()));
        let path = self.folder.join(format!("{}.{extension}", name.unwrap_or_default()));
        std::fs::File::create_new(&path).map_err(|cause| Error::of_file(&path, &cause))?;
        self.summary.files.push(path.clone());
        let named = |(key, kind): (&PropertyKeyId, &Kind)| {
            (*key, Arc::from(&*escaped(self.view.schema().property_key_name(*key))), *kind)
        };
        let mut table = Table {
            path,
            format: self.format,
            fixed,
            keys: kinds.iter().map(named).collect(),
            waiting: String::new(),
            waiting_max: BUFFERS_BYTES_MAX,
            is_first: true,
        };
        table.header();
        Ok(table)
    }
}

impl Table {
    fn header(&mut self) {
        if self.format == ExportFormat::JsonLines {
            return;
        }
        self.waiting += &self.fixed.join(",");
        for (_, name, kind) in &self.keys {
            let field = match kind {
                Kind::Plain(of) => format!("{name}:{of}"),
                Kind::List(of) => format!("{name}:{of}[]"),
                Kind::Json => format!("{name}:json"),
            };
            self.waiting.push(',');
            // A field with any character that could be a delimiter is quoted.
            let is_plain = field.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '[' | ']'));
            if is_plain { self.waiting += &field } else { push_quoted(&mut self.waiting, &field) }
        }
        self.waiting.push('\n');
    }

    fn write(&mut self, fixed: &[Value], properties: &[(PropertyKeyId, Value)]) -> Result<()> {
        match self.format {
            ExportFormat::Csv => self.write_record(fixed, properties)?,
            ExportFormat::JsonLines => self.write_object(fixed, properties)?,
        }
        if self.waiting.len() >= self.waiting_max { self.flush() } else { Ok(()) }
    }

    fn write_record(&mut self, fixed: &[Value], properties: &[(PropertyKeyId, Value)]) -> Result<()> {
        for (index, value) in fixed.iter().enumerate() {
            if index > 0 {
                self.waiting.push(',');
            }
            push_field(&mut self.waiting, Some(&field(value)), b',');
        }
        for (key, name, kind) in &self.keys {
            self.waiting.push(',');
            let Some((_, value)) = properties.iter().find(|(other, _)| other == key) else { continue };
            let text = match kind {
                Kind::Plain(_) | Kind::List(_) => field(value),
                Kind::Json => json_of(name, value)?.to_string(),
            };
            push_field(&mut self.waiting, Some(&text), b',');
        }
        self.waiting.push('\n');
        Ok(())
    }

    fn write_object(&mut self, fixed: &[Value], properties: &[(PropertyKeyId, Value)]) -> Result<()> {
        let mut object = serde_json::Map::new();
        for (name, value) in self.fixed.iter().zip(fixed) {
            object.insert((*name).to_owned(), json_of(name, value)?);
        }
        for (key, name, _) in &self.keys {
            match properties.iter().find(|(other, _)| other == key) {
                Some((_, value)) => drop(object.insert(name.to_string(), json_of(name, value)?)),
                None if self.is_first => drop(object.insert(name.to_string(), serde_json::Value::Null)),
                None => {}
            }
        }
        self.is_first = false;
        self.waiting += &serde_json::Value::Object(object).to_string();
        self.waiting.push('\n');
        Ok(())
    }

    /// Writes what waits.
    fn flush(&mut self) -> Result<()> {
        let written = std::fs::OpenOptions::new()
            .append(true)
            .open(&self.path)
            .and_then(|mut file| file.write_all(self.waiting.as_bytes()));
        self.waiting.clear();
        written.map_err(|cause| Error::of_file(&self.path, &cause))
    }

    fn finish(mut self) -> Result<()> {
        self.flush()
    }
}

/// Notes the kind of a value; values of several kinds make a column of JSON.
fn note(kinds: &mut Kinds, key: PropertyKeyId, value: &Value) {
    let kind = kind_of(value);
    let noted = kinds.entry(key).or_insert(kind);
    if *noted != kind {
        *noted = Kind::Json;
    }
}

fn kind_of(value: &Value) -> Kind {
    if let Some(of) = plain_kind(value) {
        return Kind::Plain(of);
    }
    let Value::List(items) = value else { return Kind::Json };
    let Some(of) = items.first().and_then(plain_kind) else { return Kind::Json };
    // A reader cuts at semicolons, and takes blanks at the ends of elements away.
    let is_separable = |item: &Value| match item {
        Value::String(text) => !text.is_empty() && text.trim() == &**text && !text.contains(';'),
        _ => true,
    };
    let is_plain = items.iter().all(|item| plain_kind(item) == Some(of) && is_separable(item));
    if is_plain { Kind::List(of) } else { Kind::Json }
}

/// The name of a type in a header, for values that it reads again as they are.
fn plain_kind(value: &Value) -> Option<&'static str> {
    match value {
        Value::Int(_) => Some("long"),
        Value::String(_) => Some("string"),
        other => FixedKind::of_value(other)?.field(),
    }
}

/// A value as a field of CSV.
fn field(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::List(items) => items.iter().map(field).collect::<Vec<_>>().join(";"),
        other => other.to_string(),
    }
}

/// A value as JSON; an error names the property.
fn json_of(name: &str, value: &Value) -> Result<serde_json::Value> {
    json_value::of_value(value).map_err(|failure| failure.within(&format!("the property {name}")))
}

/// The labels of a node in one field: between semicolons, or as JSON where their names hold such.
fn labels_field(names: &[&str]) -> String {
    let is_plain =
        |name: &&str| !name.is_empty() && name.trim() == *name && !name.contains(';') && !name.starts_with('[');
    if names.iter().all(is_plain) { names.join(";") } else { serde_json::Value::from(names.to_vec()).to_string() }
}

fn file_name(names: &[&str]) -> String {
    if names.is_empty() {
        return "without-label".into();
    }
    let safe = |c: char| if c.is_alphanumeric() || c == '_' || c == '+' { c } else { '-' };
    let mut name: String = names.join("+").chars().map(safe).collect();
    while name.len() > NAME_BYTES_MAX {
        name.pop();
    }
    name
}
