//! Import: files of rows into a store, by bulk load, with both cores and within a memory budget.
//!
//! Nodes first, file by file and in the order of their rows, then edges, in any order. A bad row stops the import and
//! leaves the store as it was, unless bad rows are to be skipped and written to a file.
//!
//! Cost: one pass over each file; two over a file of edges whose nodes come from no file.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::limits::{IMPORT_MEMORY_BYTES, IMPORT_MEMORY_BYTES_MIN};
use model::{Consumer, Interrupt, MemoryBudget, Result, error};
use sources::files::{self, Table};
use storage::bulk::{BulkConfig, BulkLoad};

pub use sources::files::{FieldType, Format as FileFormat, ReadOptions};
pub use storage::bulk::OnDuplicate;

mod bad_rows;
mod edges;
mod mapping;
mod nodes;
mod rows;

use bad_rows::BadRows;
use mapping::{EdgeMapping, Group, NodeMapping};

/// A file of nodes and how its columns are to be taken.
#[derive(Clone, Debug, Default)]
pub struct NodeFile {
    /// Where it is.
    pub path: PathBuf,
    /// Labels of all its nodes, besides those of a `:LABEL` column.
    pub labels: Vec<String>,
    /// The column with the key; by default `:ID`, else `id`, else the first.
    pub key: Option<String>,
}

/// A file of edges and how its columns are to be taken.
#[derive(Clone, Debug, Default)]
pub struct EdgeFile {
    /// Where it is.
    pub path: PathBuf,
    /// The type of all its edges, unless it has a `:TYPE` column.
    pub edge_type: Option<String>,
    /// The label (or `:ID` group) of the nodes that edges start at; may be left out when there is only one.
    pub source_label: Option<String>,
    /// The label (or `:ID` group) of the nodes that edges end at; may be left out when there is only one.
    pub target_label: Option<String>,
    /// The column with the key of the source; by default `:START_ID`, `source`, `src`, `from`, or the first.
    pub source: Option<String>,
    /// The column with the key of the target; by default `:END_ID`, `target`, `dst`, `to`, or the second.
    pub target: Option<String>,
}

/// What to do about a row that is bad.
#[derive(Clone, Debug, Default)]
pub enum OnBadRow {
    /// Stop and leave the store as it was.
    #[default]
    Stop,
    /// Leave it out, and write it to this file as CSV: file, line, column, reason, text.
    Skip(PathBuf),
}

/// What to import.
#[derive(Clone, Debug, Default)]
pub struct ImportPlan {
    /// Files of nodes.
    pub nodes: Vec<NodeFile>,
    /// Files of edges.
    pub edges: Vec<EdgeFile>,
    /// How files are read.
    pub read: ReadOptions,
    /// What to do about bad rows.
    pub on_bad_row: OnBadRow,
    /// What to do about a node whose key is taken.
    pub on_duplicate: OnDuplicate,
    /// Memory it may use, in bytes; `None` for the default.
    pub memory_bytes: Option<usize>,
    /// Threads it may use.
    pub threads: usize,
}

/// What was imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Nodes made.
    pub nodes_created: u64,
    /// Rows of nodes whose key was taken and that updated the node there or were passed over.
    pub nodes_merged: u64,
    /// Edges made.
    pub edges_created: u64,
    /// Rows left out.
    pub rows_skipped: u64,
}

/// How far an import has come; read by another thread.
#[derive(Debug, Default)]
pub struct ImportProgress {
    /// Rows of nodes and edges taken so far.
    pub rows: AtomicU64,
    /// Bytes read so far, of those to be read.
    pub bytes_done: AtomicU64,
    /// Bytes to be read in all.
    pub bytes_total: AtomicU64,
    /// 0 while rows are read, 1 while files are written.
    pub phase: AtomicU64,
}

/// What all parts of a running import share.
struct Run<'a> {
    plan: &'a ImportPlan,
    progress: &'a ImportProgress,
    interrupt: &'a Interrupt,
    bad_rows: BadRows,
    nodes_created: AtomicU64,
    nodes_merged: AtomicU64,
    edges_created: AtomicU64,
}

/// Imports the files of a plan into the store whose bulk load that is; the caller finishes the load.
pub(crate) fn run(
    plan: &ImportPlan,
    load: &mut BulkLoad,
    existing: &model::Schema,
    progress: &ImportProgress,
    interrupt: &Interrupt,
) -> Result<ImportSummary> {
    let run = Run {
        plan,
        progress,
        interrupt,
        bad_rows: BadRows::new(&plan.on_bad_row)?,
        nodes_created: AtomicU64::new(0),
        nodes_merged: AtomicU64::new(0),
        edges_created: AtomicU64::new(0),
    };
    run.all(load, existing)?;
    run.bad_rows.finish()?;
    Ok(ImportSummary {
        nodes_created: run.nodes_created.into_inner(),
        nodes_merged: run.nodes_merged.into_inner(),
        edges_created: run.edges_created.into_inner(),
        rows_skipped: run.bad_rows.count(),
    })
}

/// Whether a file holds edges, by its format or its header; an error if neither says it.
pub fn holds_edges(path: &std::path::Path, read: &ReadOptions) -> Result<bool> {
    match read.format.or_else(|| FileFormat::of_path(path)) {
        Some(FileFormat::EdgeList | FileFormat::DimacsGraph) => return Ok(true),
        Some(FileFormat::DimacsCoordinates) => return Ok(false),
        _ => {}
    }
    let table = files::open(path, read)?;
    mapping::holds_edges(table.columns()).ok_or_else(|| {
        error!(Import, "{}: the header does not say whether the file holds nodes or edges", path.display())
            .with_remedy("pass --nodes LABEL=FILE or --edges TYPE=FILE")
    })
}

/// How the budget and duplicates of a plan are told to the bulk load.
pub(crate) fn bulk_config(plan: &ImportPlan, memory: &MemoryBudget) -> Result<BulkConfig> {
    let usual = (memory.share(Consumer::Import)).clamp(IMPORT_MEMORY_BYTES_MIN, IMPORT_MEMORY_BYTES);
    let memory_bytes = plan.memory_bytes.unwrap_or(usual);
    if memory_bytes < IMPORT_MEMORY_BYTES_MIN {
        let least = IMPORT_MEMORY_BYTES_MIN >> 20;
        return Err(error!(
            Argument,
            "a memory limit of {memory_bytes} bytes is too small, expected {least} MiB or more"
        ));
    }
    // Nodes that come from files of edges come once for each edge.
    let on_duplicate = if plan.nodes.is_empty() { OnDuplicate::Skip } else { plan.on_duplicate };
    Ok(BulkConfig { memory_bytes, threads: plan.threads.max(1), on_duplicate, ..BulkConfig::default() })
}

impl Run<'_> {
    fn all(&self, load: &mut BulkLoad, existing: &model::Schema) -> Result<()> {
        let node_tables = self.open_all(self.plan.nodes.iter().map(|file| &file.path))?;
        let edge_tables = self.open_all(self.plan.edges.iter().map(|file| &file.path))?;
        let lengths = node_tables.iter().chain(&edge_tables).map(|table| table.progress().1);
        self.progress.bytes_total.store(lengths.sum(), Ordering::Relaxed);

        let mut groups: Vec<Group> = Vec::new();
        for (file, table) in self.plan.nodes.iter().zip(&node_tables) {
            let mapping =
                NodeMapping::of(file, table.columns()).map_err(|e| e.within(&file.path.display().to_string()))?;
            groups.extend(mapping.group());
            if let Some((label, property)) = mapping.group_to_bind(existing) {
                load.bind_group(&mapping.key_group, label, property)?;
            }
            nodes::import(self, file, table.as_ref(), &mapping, load)?;
        }
        let mut mappings = Vec::new();
        for (file, table) in self.plan.edges.iter().zip(&edge_tables) {
            let mapping = EdgeMapping::of(file, table.columns(), &groups, existing)
                .map_err(|e| e.within(&file.path.display().to_string()))?;
            let made = if self.plan.nodes.is_empty() { mapping.groups_to_make(&groups, existing) } else { Vec::new() };
            for group in made {
                let table = self.open_all([&file.path])?.remove(0);
                nodes::import_ends(self, file, table.as_ref(), &mapping, &group, load)?;
                groups.push(group);
            }
            for (group, label, property) in mapping.groups_to_bind(&groups, existing)? {
                load.bind_group(&group, &label, &property)?;
                groups.push(Group { name: group, label: Some(label), property: Some(property) });
            }
            mappings.push(mapping);
        }
        for ((file, table), mapping) in self.plan.edges.iter().zip(&edge_tables).zip(&mappings) {
            edges::import(self, file, table.as_ref(), mapping, load)?;
        }
        self.progress.phase.store(1, Ordering::Relaxed);
        Ok(())
    }

    fn open_all<'p>(&self, paths: impl IntoIterator<Item = &'p PathBuf>) -> Result<Vec<Arc<dyn Table>>> {
        paths.into_iter().map(|path| files::open(path, &self.plan.read).map(Arc::from)).collect()
    }

    /// Counts rows and bytes for whoever watches.
    fn advance(&self, rows: usize, before: &AtomicU64, table: &dyn Table) {
        self.progress.rows.fetch_add(rows as u64, Ordering::Relaxed);
        let now = table.progress().0;
        let last = before.fetch_max(now, Ordering::Relaxed);
        self.progress.bytes_done.fetch_add(now.saturating_sub(last), Ordering::Relaxed);
    }
}
