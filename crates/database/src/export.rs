//! Export: a snapshot into a folder of files that import reads again.
//!
//! One file for each combination of labels and for each edge type, with headers of neo4j-admin's form, and the
//! constraints as Cypher. Two passes over the properties: one to learn their types, one to write.
//!
//! CSV keeps the types of columns that have one; a column of several types becomes text. JSON lines keep booleans,
//! numbers, text and lists of them value by value; dates become text.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::batch::EdgeBlock;
use model::store::{EdgeIds, EdgeStream};
use model::{Column, EdgeBatch, EdgeTypeId, Expand, Interrupt, LabelId, NodeBatch, NodeId, NodeScan};
use model::{Direction, PropertyKeyId, ReadView, Result, Value, error};

/// The form of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportFormat {
    /// Comma separated values with typed headers.
    #[default]
    Csv,
    /// One JSON object a line.
    JsonLines,
}

/// What was written.
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
type Kinds = BTreeMap<PropertyKeyId, &'static str>;

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
    let failed = |cause: std::io::Error| error!(File, "{}: {cause}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    if std::fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(error!(File, "{}: the folder is not empty", folder.display()).with_remedy("name a new folder"));
    }
    let mut export = Export { view, folder, format, interrupt, summary: ExportSummary::default() };
    export.nodes()?;
    export.edges()?;
    export.constraints()?;
    Ok(export.summary)
}

struct Export<'a> {
    view: &'a dyn ReadView,
    folder: &'a Path,
    format: ExportFormat,
    interrupt: &'a Interrupt,
    summary: ExportSummary,
}

/// A file being written: fixed columns, then properties.
struct Table {
    path: PathBuf,
    format: ExportFormat,
    fixed: &'static [&'static str],
    keys: Vec<(PropertyKeyId, Arc<str>)>,
    writer: std::io::BufWriter<std::fs::File>,
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
            let table = self.table(&format!("nodes-{}", file_name(&names)), &[":ID", ":LABEL"], &kinds)?;
            tables.insert(labels, (table, names.join(";")));
        }
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

    fn constraints(&mut self) -> Result<()> {
        let schema = self.view.schema();
        if schema.constraints.is_empty() && schema.indexes.is_empty() && schema.sort_keys.is_empty() {
            return Ok(());
        }
        let path = self.folder.join("schema.cypher");
        let constraints = schema.constraints.iter().map(|constraint| schema.constraint_statement(constraint));
        let indexes = schema.indexes.iter().filter(|index| schema.owner(index).is_none());
        let indexes = indexes.map(|index| schema.index_statement(index));
        let mut statements: String = constraints.chain(indexes).map(|statement| statement + ";\n").collect();
        for sort_key in &schema.sort_keys {
            let keys: Vec<String> =
                sort_key.keys.iter().map(|&key| format!("r.`{}`", schema.property_key_name(key))).collect();
            let (edge_type, keys) = (schema.edge_type_name(sort_key.edge_type), keys.join(", "));
            statements.push_str(&format!("CREATE SORT KEY FOR ()-[r:`{edge_type}`]-() ON ({keys});\n"));
        }
        std::fs::write(&path, statements).map_err(|cause| error!(File, "{}: {cause}", path.display()))?;
        self.summary.files.push(path);
        Ok(())
    }

    fn table(&mut self, name: &str, fixed: &'static [&'static str], kinds: &Kinds) -> Result<Table> {
        let extension = if self.format == ExportFormat::Csv { "csv" } else { "jsonl" };
        let path = self.folder.join(format!("{name}.{extension}"));
        let file = std::fs::File::create_new(&path).map_err(|cause| error!(File, "{}: {cause}", path.display()))?;
        let name_of = |key: &PropertyKeyId| Arc::from(self.view.schema().property_key_name(*key));
        let keys: Vec<(PropertyKeyId, Arc<str>)> = kinds.keys().map(|key| (*key, name_of(key))).collect();
        self.summary.files.push(path.clone());
        let mut table = Table { path, format: self.format, fixed, keys, writer: std::io::BufWriter::new(file) };
        if self.format == ExportFormat::Csv {
            let typed = table.keys.iter().zip(kinds.values()).map(|((_, name), kind)| format!("{name}:{kind}"));
            let header: Vec<String> = fixed.iter().map(|name| name.to_string()).chain(typed).collect();
            table.write_record(&header)?;
        }
        Ok(table)
    }
}

impl Table {
    fn write(&mut self, fixed: &[Value], properties: &[(PropertyKeyId, Value)]) -> Result<()> {
        match self.format {
            ExportFormat::Csv => {
                let find = |key: PropertyKeyId| properties.iter().find(|(other, _)| *other == key);
                let more = self.keys.iter().map(|(key, _)| find(*key).map_or(String::new(), |(_, value)| field(value)));
                let record: Vec<String> = fixed.iter().map(field).chain(more).collect();
                self.write_record(&record)
            }
            ExportFormat::JsonLines => {
                let named =
                    |key: &PropertyKeyId| self.keys.iter().find(|(other, _)| other == key).map(|(_, name)| name);
                let fixed = self.fixed.iter().map(|name| name.to_string()).zip(fixed.iter().map(json));
                let more = properties.iter().filter_map(|(key, value)| Some((named(key)?.to_string(), json(value))));
                let object: serde_json::Map<String, serde_json::Value> = fixed.chain(more).collect();
                let line = serde_json::Value::Object(object).to_string() + "\n";
                self.writer.write_all(line.as_bytes()).map_err(|cause| self.failed(&cause))
            }
        }
    }

    fn write_record(&mut self, record: &[String]) -> Result<()> {
        let mut writer = csv::WriterBuilder::new().from_writer(&mut self.writer);
        let written = writer.write_record(record).map_err(|cause| cause.to_string());
        let flushed = written.and_then(|()| writer.flush().map_err(|cause| cause.to_string()));
        drop(writer);
        flushed.map_err(|cause| error!(File, "{}: {cause}", self.path.display()))
    }

    fn finish(mut self) -> Result<()> {
        self.writer.flush().map_err(|cause| self.failed(&cause))
    }

    fn failed(&self, cause: &std::io::Error) -> model::Error {
        error!(File, "{}: {cause}", self.path.display())
    }
}

/// Notes the kind of a value; a second kind makes text of the column, except that integers among floats are floats.
fn note(kinds: &mut Kinds, key: PropertyKeyId, value: &Value) {
    let kind = kind_of(value);
    let noted = kinds.entry(key).or_insert(kind);
    if *noted != kind {
        *noted = if matches!((*noted, kind), ("float", "long") | ("long", "float")) { "float" } else { "string" };
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        Value::Int(_) => "long",
        Value::Float(_) => "float",
        Value::Date(_) => "date",
        Value::LocalDateTime(_) => "localdatetime",
        Value::LocalTime(_) => "localtime",
        Value::Time(_) => "time",
        Value::DateTime(_) => "datetime",
        Value::Duration(_) => "duration",
        Value::List(items) => match items.first().map_or("string", kind_of) {
            "boolean" => "boolean[]",
            "long" => "long[]",
            "float" => "float[]",
            "date" => "date[]",
            "localdatetime" => "localdatetime[]",
            "localtime" => "localtime[]",
            "time" => "time[]",
            "datetime" => "datetime[]",
            "duration" => "duration[]",
            _ => "string[]",
        },
        _ => "string",
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

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(x) => (*x).into(),
        Value::Int(x) => (*x).into(),
        Value::Float(x) => (*x).into(),
        Value::String(x) => (&**x).into(),
        Value::List(items) => items.iter().map(json).collect(),
        other => other.to_string().into(),
    }
}

fn file_name(names: &[&str]) -> String {
    let safe = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '-' };
    if names.is_empty() {
        "without-label".into()
    } else {
        names.join("+").chars().map(|c| if c == '+' { c } else { safe(c) }).collect()
    }
}
