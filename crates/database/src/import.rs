//! Import: files of rows into a store, by bulk load, with both cores and within a memory budget.
//!
//! Nodes first, file by file and in the order of their rows, then edges, in any order. A bad row stops the import and
//! leaves the store as it was, unless bad rows are to be skipped and written to a file.
//!
//! Cost: one pass over each file; two over a file of edges whose nodes come from no file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use model::limits::{IMPORT_MEMORY_BYTES, IMPORT_MEMORY_BYTES_MIN};
use model::{Consumer, Interrupt, MemoryBudget, ReadView, Result, Schema, error};
use sources::files::{self, Table};
use storage::build::BuildConfig;
use storage::bulk::BulkLoad;

pub use sources::files::{FieldType, Format as FileFormat, ReadOptions};
pub use storage::bulk::OnDuplicate;

mod bad_rows;
mod edge_keys;
mod edges;
pub(crate) mod keys;
mod mapping;
mod nodes;
mod rows;

use bad_rows::BadRows;
use edge_keys::EdgeKeys;
use keys::KeyTypes;
pub(crate) use mapping::escaped;
use mapping::{EdgeMapping, Group, NodeMapping};
use rows::in_file;

/// A file of nodes and how its columns are to be taken.
#[derive(Clone, Debug, Default)]
pub struct NodeFile {
    /// Path.
    pub path: PathBuf,
    /// Labels of all its nodes, besides those of a `:LABEL` column.
    pub labels: Vec<String>,
    /// The column with the key; by default `:ID`, else that of the label's unique key, else `id`, else the first.
    pub key: Option<String>,
    /// Reading of the file, if otherwise than the plan says.
    pub read: Option<ReadOptions>,
}

/// A file of edges and how its columns are to be taken.
#[derive(Clone, Debug, Default)]
pub struct EdgeFile {
    /// Path.
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
    /// Reading of the file, if otherwise than the plan says.
    pub read: Option<ReadOptions>,
}

/// Treatment of a bad row.
#[derive(Clone, Debug, Default)]
pub enum OnBadRow {
    /// Stop and leave the store as it was.
    #[default]
    Stop,
    /// Leave it out, and write it to this file as CSV: file, line, column, reason, text.
    Skip(PathBuf),
}

/// Files to import, and how they are imported.
#[derive(Clone, Debug, Default)]
pub struct ImportPlan {
    /// Files of nodes.
    pub nodes: Vec<NodeFile>,
    /// Files of edges.
    pub edges: Vec<EdgeFile>,
    /// Options for reading files.
    pub read: ReadOptions,
    /// Treatment of bad rows.
    pub on_bad_row: OnBadRow,
    /// Treatment of a node whose key is taken.
    pub on_duplicate: OnDuplicate,
    /// Types of edges that are known again by their ends and a property, or by their ends alone; then `on_duplicate` is
    /// about them too.
    pub edge_keys: Vec<(String, Option<String>)>,
    /// Memory it may use, in bytes; `None` for the default.
    pub memory_bytes: Option<usize>,
    /// Threads it may use.
    pub threads: usize,
}

/// Counts of what was imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Nodes made.
    pub nodes_created: u64,
    /// Rows of nodes whose key was taken and that updated the node there or were passed over.
    pub nodes_merged: u64,
    /// Edges made.
    pub edges_created: u64,
    /// Rows of edges that were there already and that updated the edge there or were passed over.
    pub edges_merged: u64,
    /// Rows left out.
    pub rows_skipped: u64,
}

/// Progress of an import; read by another thread.
#[derive(Debug, Default)]
pub struct ImportProgress {
    /// Rows of nodes and edges taken so far.
    pub rows: AtomicU64,
    /// Bytes read so far, of those to be read.
    pub bytes_done: AtomicU64,
    /// Bytes to be read in all.
    pub bytes_total: AtomicU64,
    /// 0 while rows are read, 1 while files are written, 2 while rows are written to a ring; then `bytes_done` and
    /// `bytes_total` are parts of that work.
    pub phase: AtomicU64,
    /// Hints about the import, in sentences.
    pub notes: Mutex<Vec<String>>,
}

impl ImportProgress {
    fn tell(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }
}

/// State shared by all parts of a running import.
struct Run<'a> {
    plan: &'a ImportPlan,
    progress: &'a ImportProgress,
    interrupt: &'a Interrupt,
    bad_rows: BadRows,
    nodes_created: AtomicU64,
    nodes_merged: AtomicU64,
    edges_created: AtomicU64,
    edges_merged: AtomicU64,
    /// By type, the edges that rows were made into.
    edges_made: Mutex<BTreeMap<String, u64>>,
}

/// Imports the files of a plan into the store whose bulk load that is; the caller finishes the load.
pub(crate) fn run(
    plan: &ImportPlan,
    load: &mut BulkLoad,
    view: &dyn ReadView,
    progress: &ImportProgress,
    interrupt: &Interrupt,
) -> Result<ImportSummary> {
    check_bad_rows_apart(plan)?;
    let run = Run {
        plan,
        progress,
        interrupt,
        bad_rows: BadRows::new(&plan.on_bad_row)?,
        nodes_created: AtomicU64::new(0),
        nodes_merged: AtomicU64::new(0),
        edges_created: AtomicU64::new(0),
        edges_merged: AtomicU64::new(0),
        edges_made: Mutex::default(),
    };
    run.all(load, view)?;
    run.bad_rows.finish()?;
    run.refuse_nothing()?;
    Ok(ImportSummary {
        nodes_created: run.nodes_created.into_inner(),
        nodes_merged: run.nodes_merged.into_inner(),
        edges_created: run.edges_created.into_inner(),
        edges_merged: run.edges_merged.into_inner(),
        rows_skipped: run.bad_rows.count(),
    })
}

/// Fails if bad rows would be written over a file that is to be imported.
fn check_bad_rows_apart(plan: &ImportPlan) -> Result<()> {
    let OnBadRow::Skip(bad) = &plan.on_bad_row else { return Ok(()) };
    let Ok(place) = bad.canonicalize() else { return Ok(()) };
    let mut files = plan.nodes.iter().map(|file| &file.path).chain(plan.edges.iter().map(|file| &file.path));
    match files.find(|path| path.canonicalize().is_ok_and(|path| path == place)) {
        Some(path) => {
            Err(error!(Argument, "bad rows would be written over the file {}, which is to be read", path.display())
                .with_remedy("name a new file for bad rows"))
        }
        None => Ok(()),
    }
}

/// True if a file holds edges, by its format or its header; an error if neither says it.
pub fn holds_edges(path: &Path, read: &ReadOptions) -> Result<bool> {
    match read.format.or_else(|| FileFormat::of_path(path)) {
        Some(FileFormat::EdgeList | FileFormat::DimacsGraph) => return Ok(true),
        Some(FileFormat::DimacsCoordinates) => return Ok(false),
        _ => {}
    }
    check_twice(path, "pass it as --nodes LABEL=FILE or --edges TYPE=FILE")?;
    let table = files::open(path, read)?;
    mapping::holds_edges(table.columns()).ok_or_else(|| {
        error!(Import, "{}: the header does not say whether the file holds nodes or edges", path.display())
            .with_remedy("pass --nodes LABEL=FILE or --edges TYPE=FILE")
    })
}

/// Fails for a pipe: it cannot be read twice, and what was read would be lost.
fn check_twice(path: &Path, remedy: &str) -> Result<()> {
    if path.exists() && !path.is_file() && !path.is_dir() {
        let path = path.display();
        return Err(error!(Import, "{path}: has to be read twice, which a pipe cannot be").with_remedy(remedy));
    }
    Ok(())
}

/// Configuration of the bulk load for the budget and duplicates of a plan.
pub(crate) fn bulk_config(plan: &ImportPlan, memory: &MemoryBudget) -> Result<BuildConfig> {
    let usual = (memory.share(Consumer::Import)).clamp(IMPORT_MEMORY_BYTES_MIN, IMPORT_MEMORY_BYTES);
    let memory_bytes = plan.memory_bytes.unwrap_or(usual);
    if memory_bytes < IMPORT_MEMORY_BYTES_MIN {
        let least = IMPORT_MEMORY_BYTES_MIN >> 20;
        return Err(error!(
            Argument,
            "a memory limit of {memory_bytes} bytes is too small for an import, expected {least} MiB or more"
        )
        .with_remedy("raise the limit, or leave it out"));
    }
    // Nodes that come from files of edges come once for each edge.
    let on_duplicate = if plan.nodes.is_empty() { OnDuplicate::Skip } else { plan.on_duplicate };
    Ok(BuildConfig { memory_bytes, threads: plan.threads.max(1), on_duplicate, ..BuildConfig::default() })
}

/// The files of edges, mapped.
#[derive(Default)]
struct MappedEdges {
    mappings: Vec<EdgeMapping>,
    /// Groups whose nodes are made from the ends of edges.
    made: Vec<Group>,
    /// Groups that the store has, with the label and the property of their keys.
    bound: Vec<(String, String, String)>,
}

impl Run<'_> {
    fn all(&self, load: &mut BulkLoad, view: &dyn ReadView) -> Result<()> {
        let existing = view.schema();
        self.check_formats()?;
        let mut node_tables = self.open_all(self.plan.nodes.iter().map(|file| (&file.path, &file.read)))?;
        let mut edge_tables = self.open_all(self.plan.edges.iter().map(|file| (&file.path, &file.read)))?;
        self.check_types(node_tables.iter().chain(&edge_tables))?;
        let nodes = self.plan.nodes.iter().map(|file| (&file.path, &file.read));
        let edges = self.plan.edges.iter().map(|file| (&file.path, &file.read));
        for ((path, read), table) in nodes.chain(edges).zip(node_tables.iter().chain(&edge_tables)) {
            let own = read.iter().flat_map(|read| &read.types).filter(|held| !self.plan.read.types.contains(held));
            own.map(|(column, _)| column).try_for_each(|column| has_column(std::iter::once(table), column))?;
            let types = &read.as_ref().unwrap_or(&self.plan.read).types;
            types.iter().try_for_each(|stated| in_file(path, is_read_as(&**table, stated)))?;
        }
        let lengths = node_tables.iter().chain(&edge_tables).map(|table| table.progress().1);
        self.progress.bytes_total.store(lengths.sum(), Ordering::Relaxed);

        let mut groups: Vec<Group> = Vec::new();
        let mut node_mappings = Vec::new();
        for (file, table) in self.plan.nodes.iter().zip(&node_tables) {
            let mapping = in_file(&file.path, NodeMapping::of(file, table.columns(), existing))?;
            groups.extend(mapping.group());
            node_mappings.push(mapping);
        }
        let mut types = KeyTypes::of_nodes(&node_mappings, &mut node_tables, view)?;
        let edges = self.map_edges(&edge_tables, &mut groups, existing)?;
        types.of_edges(&edges.mappings, &mut edge_tables, &edges.bound, view, &mut |note| self.progress.tell(note))?;
        let memory = self.plan.memory_bytes.unwrap_or(IMPORT_MEMORY_BYTES);
        let tables = (&edges.mappings[..], &mut edge_tables[..]);
        let keys = EdgeKeys::read(self.plan, tables, &groups, view, self.interrupt, memory)?;

        for ((file, table), mapping) in self.plan.nodes.iter().zip(&node_tables).zip(&node_mappings) {
            if let Some((label, property)) = mapping.group_to_bind(existing) {
                load.bind_group(&mapping.key_group, label, property)?;
            }
            nodes::import(self, file, table.as_ref(), mapping, load)?;
        }
        for (file, mapping) in self.plan.edges.iter().zip(&edges.mappings) {
            let named = |group: &&Group| group.name == mapping.source_group || group.name == mapping.target_group;
            let made: Vec<&Group> = edges.made.iter().filter(named).collect();
            if !made.is_empty() {
                check_twice(&file.path, "write it to a file first, or import the nodes too")?;
                // The rows of the table itself are those of the edges.
                let mut table = self.open_all([(&file.path, &file.read)])?.remove(0);
                types.read_ends(mapping, table.as_mut());
                nodes::import_ends(self, file, table.as_ref(), mapping, &made, &types, load)?;
            }
        }
        for (group, label, property) in &edges.bound {
            load.bind_group(group, label, property)?;
        }
        for ((file, table), mapping) in self.plan.edges.iter().zip(&edge_tables).zip(&edges.mappings) {
            edges::import(self, file, table.as_ref(), mapping, (&types, &keys), load)?;
        }
        self.tell_of_parallels(view);
        self.progress.phase.store(1, Ordering::Relaxed);
        Ok(())
    }

    /// The columns of all files of edges, the nodes that are made from their ends, and those that the store has.
    fn map_edges(&self, tables: &[Box<dyn Table>], groups: &mut Vec<Group>, existing: &Schema) -> Result<MappedEdges> {
        let mut mapped = MappedEdges::default();
        for (file, table) in self.plan.edges.iter().zip(tables) {
            let mapping = in_file(&file.path, EdgeMapping::of(file, table.columns(), groups, existing))?;
            if self.plan.nodes.is_empty() {
                let made = mapping.groups_to_make(groups, existing);
                groups.extend(made.iter().cloned());
                mapped.made.extend(made);
            }
            for (group, label, property) in mapping.groups_to_bind(groups, existing)? {
                groups.push(Group {
                    name: group.clone(),
                    label: Some(label.clone()),
                    property: Some(property.clone()),
                });
                mapped.bound.push((group, label, property));
            }
            mapped.mappings.push(mapping);
        }
        Ok(mapped)
    }

    /// Files of nodes are of a format that can hold nodes.
    fn check_formats(&self) -> Result<()> {
        for file in &self.plan.nodes {
            let read = file.read.as_ref().unwrap_or(&self.plan.read);
            let format = read.format.or_else(|| FileFormat::of_path(&file.path));
            if matches!(format, Some(FileFormat::EdgeList | FileFormat::DimacsGraph)) {
                return Err(error!(Import, "{}: an edge list holds no nodes", file.path.display())
                    .with_remedy("pass it as --edges TYPE=FILE, or pass --format csv if it is a table"));
            }
        }
        Ok(())
    }

    /// Each type that is given for a column is for a column of some file.
    fn check_types<'t>(&self, tables: impl Iterator<Item = &'t Box<dyn Table>> + Clone) -> Result<()> {
        self.plan.read.types.iter().try_for_each(|(column, _)| has_column(tables.clone(), column))
    }

    /// Notes that edges of a type are made.
    fn note_made(&self, edge_type: &str, count: u64) {
        self.edges_created.fetch_add(count, Ordering::Relaxed);
        if count > 0 {
            let mut made = self.edges_made.lock().unwrap_or_else(PoisonError::into_inner);
            *made.entry(edge_type.to_owned()).or_default() += count;
        }
    }

    /// Relationships without a key are not known again: says so where there were some of the type.
    fn tell_of_parallels(&self, view: &dyn ReadView) {
        let made = self.edges_made.lock().unwrap_or_else(PoisonError::into_inner);
        let is_keyed = |edge_type: &str| self.plan.edge_keys.iter().any(|(keyed, _)| keyed == edge_type);
        for (edge_type, count) in made.iter().filter(|(edge_type, _)| !is_keyed(edge_type)) {
            let there = view.schema().edge_type(edge_type).map_or(0, |of| view.statistics().edge_type(of));
            if there > 0 {
                self.progress.tell(format!(
                    "relationships of type {edge_type} have no key: {count} of the files are made besides the {there} that \
                     are there; pass --edge-key {edge_type}=PROPERTY, or --edge-key {edge_type} for their ends alone"
                ));
            }
        }
    }

    /// Fails if every row of nodes, or of edges, was bad: then it is the plan that is wrong, and not the rows.
    fn refuse_nothing(&self) -> Result<()> {
        let kinds: [(&str, Vec<&PathBuf>, [&AtomicU64; 2]); 2] = [
            (
                "nodes",
                self.plan.nodes.iter().map(|file| &file.path).collect(),
                [&self.nodes_created, &self.nodes_merged],
            ),
            (
                "edges",
                self.plan.edges.iter().map(|file| &file.path).collect(),
                [&self.edges_created, &self.edges_merged],
            ),
        ];
        for (kind, files, taken) in kinds {
            let bad: u64 = files.iter().map(|path| self.bad_rows.count_of(path)).sum();
            if bad > 0 && taken.iter().all(|count| count.load(Ordering::Relaxed) == 0) {
                let rows = if bad == 1 { "the only row".to_owned() } else { format!("all {bad} rows") };
                let are = if bad == 1 { "is" } else { "are" };
                return Err(error!(Import, "{rows} of {kind} {are} bad, and nothing was imported")
                    .with_remedy("read the reasons in the file of bad rows; the store is as it was"));
            }
        }
        Ok(())
    }

    fn open_all<'p>(
        &self,
        files: impl IntoIterator<Item = (&'p PathBuf, &'p Option<ReadOptions>)>,
    ) -> Result<Vec<Box<dyn Table>>> {
        let open = |(path, read): (&PathBuf, &Option<ReadOptions>)| {
            let read = read.as_ref().unwrap_or(&self.plan.read).clone();
            files::open(path, &ReadOptions { interrupt: self.interrupt.clone(), ..read })
        };
        files.into_iter().map(open).collect()
    }

    /// Counts rows and bytes for progress reports.
    fn advance(&self, rows: usize, before: &AtomicU64, table: &dyn Table) {
        self.progress.rows.fetch_add(rows as u64, Ordering::Relaxed);
        let now = table.progress().0;
        let last = before.fetch_max(now, Ordering::Relaxed);
        self.progress.bytes_done.fetch_add(now.saturating_sub(last), Ordering::Relaxed);
    }
}

/// Fails if a column is read as another type than the one stated, since its values say their own.
fn is_read_as(table: &dyn Table, (column, stated): &(String, FieldType)) -> Result<()> {
    let Some(place) = table.columns().iter().position(|held| held.name == *column) else { return Ok(()) };
    let Some(held) = table.type_of(place).filter(|held| held != stated && !table.takes_types()) else { return Ok(()) };
    let (held, stated) = (held.name(), stated.name());
    let error =
        error!(Import, "the values of the column '{column}' say that they are {held}, so it is not read as {stated}");
    Err(error.with_remedy("leave its type out, or write it as CSV, where a stated type decides"))
}

/// Fails unless one of the tables has a column of that name, to be given a type.
fn has_column<'t>(mut tables: impl Iterator<Item = &'t Box<dyn Table>> + Clone, column: &str) -> Result<()> {
    let names = tables.clone().flat_map(|table| table.columns().iter().map(|held| held.name.as_str()));
    let names: Vec<&str> = names.collect();
    if tables.any(|table| table.columns().iter().any(|held| held.name == column)) {
        return Ok(());
    }
    Err(error!(Import, "there is no column '{column}' to give a type, only {}", names.join(", "))
        .with_remedy("name a column of one of the files"))
}
