//! Files read where they lie, without import: Parquet, CSV, JSON lines and the other formats of [`crate::files`].
//!
//! - [`plan`]: which columns of which file are what; [`table`]: a file at one moment, with its indexes and blocks.
//! - [`text`], [`parquet`]: rows in order, and blocks of rows; [`index`]: from keys to rows.
//! - [`reading`]: questions answered; [`check`]: whether the definition fits the files.
//!
//! Nodes and edges are found by indexes that are built in memory at the first need and kept as long as the file is
//! unchanged. A file that changes while a query reads it fails the query. Rows with a null key are no nodes, rows with a
//! null end no edges; a row that can not be read is an error. Files are not written to.

mod check;
mod index;
#[cfg(feature = "parquet")]
mod parquet;
mod plan;
mod reading;
mod table;
mod text;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use model::{Direction, MemoryBudget, Result, error};

use self::plan::{ColumnOf, Plan};
use self::reading::{InPlaceReading, end_names};
use crate::check::Finding;
use crate::connector::{Abilities, Code, Connector, Facts, KindFacts, Question, Reading, Which, Writing};
use crate::definition::GraphDefinition;

/// The code of the driver.
pub(crate) const CODE: Code = Code {
    open: |url, definition| Ok(Arc::new(InPlaceConnector::open(url, definition)?)),
    inspect: None,
    client: None,
};

/// Files that a graph is read from.
pub struct InPlaceConnector {
    plan: Arc<Plan>,
    name: String,
    memory: OnceLock<Arc<MemoryBudget>>,
}

impl InPlaceConnector {
    /// The files that a definition names; relative paths lie in the folder that the URL (`file:` or a path) names, or
    /// beside the file that it names. Nothing is opened yet.
    pub fn open(url: &str, definition: &GraphDefinition) -> Result<InPlaceConnector> {
        let path = path_of(url);
        let folder = if path.is_file() { path.parent().unwrap_or(Path::new("")) } else { &path };
        let plan = Plan::of(definition, folder).map_err(|failure| failure.within(url))?;
        Ok(InPlaceConnector { plan: Arc::new(plan), name: path.display().to_string(), memory: OnceLock::new() })
    }

    fn memory(&self) -> Arc<MemoryBudget> {
        self.memory.get_or_init(MemoryBudget::unlimited).clone()
    }

    fn column_names(columns: &[ColumnOf], properties: &[usize]) -> String {
        let names: Vec<&str> = properties.iter().filter_map(|&p| columns.get(p)).map(|p| p.name.as_str()).collect();
        if names.is_empty() { String::new() } else { format!(", {}", names.join(", ")) }
    }

    fn file(&self, table: usize) -> String {
        self.plan.paths().nth(table).map_or_else(String::new, |path| path.display().to_string())
    }
}

/// The path of a `file:` URL, or the string itself.
fn path_of(url: &str) -> PathBuf {
    let path = url.strip_prefix("file:").unwrap_or(url);
    PathBuf::from(match path.strip_prefix("//") {
        Some(path) => path.strip_prefix("localhost").unwrap_or(path),
        None => path,
    })
}

impl Connector for InPlaceConnector {
    fn abilities(&self) -> Abilities {
        Abilities { snapshots: true, conditions: true, ..Abilities::default() }
    }

    fn facts(&self) -> Result<Facts> {
        let mut facts = Facts::default();
        for node in &self.plan.nodes {
            let rows = self.plan.version(node.table, &self.memory())?.rows_about()?;
            let mut unique = Vec::new();
            if let [key] = node.key.as_slice() {
                unique.extend((0..node.properties.len()).filter(|&p| node.properties[p] == *key));
            }
            let indexed = unique.iter().map(|&property| vec![property]).collect();
            facts.nodes.push(KindFacts { rows, indexed, unique, ..KindFacts::default() });
        }
        for edge in &self.plan.edges {
            let rows = self.plan.version(edge.table, &self.memory())?.rows_about()?;
            facts.edges.push(KindFacts { rows, by_end: (true, true), ..KindFacts::default() });
        }
        Ok(facts)
    }

    fn read(&self) -> Result<Box<dyn Reading>> {
        Ok(Box::new(InPlaceReading::new(self.plan.clone(), self.memory())))
    }

    fn write(&self) -> Result<Box<dyn Writing>> {
        Err(error!(ReadOnly, "{}: files that are read in place are not written to", self.name)
            .with_remedy("PRELOAD the source and write to the copy, or import the files"))
    }

    fn statement(&self, question: &Question<'_>) -> Option<String> {
        let how = |which: &Which<'_>, what: &str| match which {
            Which::Keys(_) => format!("rows by the index of {what}"),
            Which::Where(conditions) => format!("scan with {} conditions", conditions.len()),
            _ => "scan".to_owned(),
        };
        let names = |columns: &[ColumnOf]| columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ");
        Some(match question {
            Question::Nodes { kind, which, properties, .. } => {
                let node = self.plan.nodes.get(*kind)?;
                let key = names(&node.key);
                let columns = InPlaceConnector::column_names(&node.properties, properties);
                format!("{}: {} ({key}{columns})", self.file(node.table), how(which, &key))
            }
            Question::Edges { kind, direction, of, properties } => {
                let edge = self.plan.edges.get(*kind)?;
                let near = if *direction == Direction::In { &edge.target } else { &edge.source };
                let ends = format!("{}, {}", end_names(&edge.source), end_names(&edge.target));
                let columns = InPlaceConnector::column_names(&edge.properties, properties);
                format!("{}: {} ({ends}{columns})", self.file(edge.table), how(of, &end_names(near)))
            }
            Question::CountNodes { kind, which } => {
                let node = self.plan.nodes.get(*kind)?;
                format!("{}: count, {}", self.file(node.table), how(which, &names(&node.key)))
            }
            Question::CountEdges { kind } => format!("{}: count", self.file(self.plan.edges.get(*kind)?.table)),
            Question::Pattern(_) => return None,
        })
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn check(&self) -> Result<Vec<Finding>> {
        Ok(check::check(&self.plan, &self.memory()))
    }

    fn charge_to(&self, memory: &Arc<MemoryBudget>) {
        let _ = self.memory.set(memory.clone());
    }
}
