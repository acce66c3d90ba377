//! Import into a graph on a ring of machines: files into a store beside it first, then that store into the graph, at once.
//!
//! The first part is the import into files as it is, so that formats, options and bad rows are the same. The store stays in a
//! folder until the graph has all of it: an import that died goes on from there, with the same nodes under the same ids.
//!
//! Cost: the graph once more in files, at the speed of an import into files; then what the ring takes.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::UNIX_EPOCH;

use cluster::{ClusterStore, LoadPlan};
use model::codec::hash::hash_bytes;
use model::{Error, Interrupt, Result, error};

use crate::database::Database;
use crate::export::schema_statements;
use crate::import::{ImportPlan, ImportProgress, ImportSummary};
use crate::settings::{Access, Config};

/// The store in the folder, and the file that says whether it is whole.
const STORE: &str = "graph.knot";
const MARK: &str = "import.txt";
/// Phase of the progress while rows are written to the ring.
const RING_PHASE: u64 = 2;

/// The folder in which an import into a ring is prepared.
#[derive(Clone, Debug)]
pub struct Staging {
    /// The folder, which is made and, after success, removed.
    pub folder: PathBuf,
    /// Begins anew where an import into the graph was left.
    pub restarts: bool,
}

/// The contents of the file that says how far the folder is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Mark {
    /// Of the files, their options and the graph.
    fingerprint: u64,
    /// A number of the store, unlike that of any other; 0 until it is whole.
    source: u64,
    summary: ImportSummary,
}

impl Mark {
    fn read(folder: &Path) -> Option<Mark> {
        let text = std::fs::read_to_string(folder.join(MARK)).ok()?;
        let numbers: Vec<u64> = text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>().ok()?;
        let [fingerprint, source, nodes_created, nodes_merged, edges_created, edges_merged, rows_skipped] = numbers[..]
        else {
            return None;
        };
        let summary = ImportSummary { nodes_created, nodes_merged, edges_created, edges_merged, rows_skipped };
        Some(Mark { fingerprint, source, summary })
    }

    /// Writes the file in one step.
    fn write(&self, folder: &Path) -> Result<()> {
        let Mark { fingerprint, source, summary } = self;
        let ImportSummary { nodes_created, nodes_merged, edges_created, edges_merged, rows_skipped } = summary;
        let counts = format!("{nodes_created} {nodes_merged} {edges_created} {edges_merged} {rows_skipped}");
        let (path, partial) = (folder.join(MARK), folder.join("import.partial"));
        std::fs::write(&partial, format!("{fingerprint} {source} {counts}\n"))
            .and_then(|()| std::fs::rename(&partial, &path))
            .map_err(|cause| Error::of_file(&path, &cause))
    }
}

/// A number of the files of a plan as they are now, of its options, and of the graph.
fn fingerprint(plan: &ImportPlan, graph: &Path) -> u64 {
    let ImportPlan { nodes, edges, read, on_bad_row, on_duplicate, edge_keys, .. } = plan;
    let mut text = format!("{graph:?} {nodes:?} {edges:?} {read:?} {on_bad_row:?} {on_duplicate:?} {edge_keys:?}");
    let files = nodes.iter().map(|file| &file.path).chain(edges.iter().map(|file| &file.path));
    for about in files.filter_map(|path| std::fs::metadata(path).ok()) {
        let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        text += &format!(" {} {changed:?}", about.len());
    }
    hash_bytes(text.as_bytes(), 1)
}

/// Removes a folder that an import made; fails for one that it did not.
fn remove(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let is_empty = std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_none());
    if !is_empty && !folder.join(MARK).exists() {
        return Err(error!(Argument, "{}: was not made by an import", folder.display())
            .with_remedy("name a folder that is not there with --staging"));
    }
    std::fs::remove_dir_all(folder).map_err(|cause| Error::of_file(folder, &cause))
}

impl Database {
    /// Imports files into a graph on a ring of machines, which must be new. They are imported into a store in a folder first;
    /// `declare` may add rules to that. Rows are seen all together at the end. One that failed goes on with the same call.
    ///
    /// # Errors
    /// `UNSUPPORTED` if the store is in files; those of [`Database::import`]; `ARGUMENT` if the graph is not new, or something else
    /// is being imported into it; `CONFLICT` if others write to it; `CONNECTION`.
    pub fn import_into_ring(
        &self,
        plan: &ImportPlan,
        staging: &Staging,
        declare: &dyn Fn(&Database) -> Result<()>,
        progress: &ImportProgress,
        interrupt: &Interrupt,
    ) -> Result<ImportSummary> {
        let Some(graph) = self.ring() else {
            return Err(error!(Unsupported, "the store is in files, not on a ring of machines")
                .with_remedy("import into it as into other stores"));
        };
        StagedImport { database: self, graph, plan, staging, progress, interrupt }.run(declare)
    }
}

/// An import into a graph on a ring.
struct StagedImport<'a> {
    database: &'a Database,
    graph: &'a ClusterStore,
    plan: &'a ImportPlan,
    staging: &'a Staging,
    progress: &'a ImportProgress,
    interrupt: &'a Interrupt,
}

impl StagedImport<'_> {
    /// Imports the files; `declare` adds rules to the store before the graph gets them.
    fn run(&self, declare: &dyn Fn(&Database) -> Result<()>) -> Result<ImportSummary> {
        let folder = &self.staging.folder;
        let is_left = self.graph.is_loading()? && !self.staging.restarts;
        if !is_left {
            self.graph.check_new()?;
        }
        let fingerprint = fingerprint(self.plan, self.database.info()?.path.as_path());
        let held = Mark::read(folder).filter(|mark| mark.fingerprint == fingerprint && mark.source != 0);
        let (store, mark) = match held {
            Some(mark) => (self.open()?, mark),
            None if is_left => {
                return Err(error!(
                    Argument,
                    "an import into the graph was left, and not of these files by {}",
                    folder.display()
                )
                .with_remedy("run the same command in the same place to go on, or pass --restart to begin anew"));
            }
            None => self.prepare(fingerprint, declare)?,
        };
        let plan = LoadPlan { restarts: self.staging.restarts, ..LoadPlan::new(mark.source) };
        let report = |done: u64, total: u64| {
            self.progress.phase.store(RING_PHASE, Ordering::Relaxed);
            self.progress.bytes_total.store(total, Ordering::Relaxed);
            self.progress.bytes_done.store(done, Ordering::Relaxed);
        };
        self.graph.load(&*store.store().read()?, &plan, self.interrupt, &report)?;
        drop(store);
        remove(folder)?;
        Ok(mark.summary)
    }

    fn open(&self) -> Result<Database> {
        let limit = self.database.memory().limit();
        let config = Config {
            access: Access::ReadWrite,
            threads: self.plan.threads.max(1),
            // Half for the store; the ring's rows and cache take little of the rest.
            memory_bytes_max: Some((limit / 2).max(model::limits::MEMORY_BYTES_MIN)),
            ..Config::default()
        };
        Database::open(&self.staging.folder.join(STORE), config)
    }

    /// Imports the files into a store of its own, which has the rules of the graph.
    fn prepare(&self, fingerprint: u64, declare: &dyn Fn(&Database) -> Result<()>) -> Result<(Database, Mark)> {
        let folder = &self.staging.folder;
        remove(folder)?;
        std::fs::create_dir_all(folder).map_err(|cause| Error::of_file(folder, &cause))?;
        let mut mark = Mark { fingerprint, ..Mark::default() };
        mark.write(folder)?;
        let store = self.open()?;
        let outcome = self.fill(&store, declare).and_then(|summary| {
            mark.source = storage::os::platform().random.next_u64().max(1);
            mark.summary = summary;
            mark.write(folder)
        });
        match outcome {
            Ok(()) => Ok((store, mark)),
            Err(failure) => {
                // It is begun anew in any case.
                drop(store);
                drop(remove(folder));
                Err(failure)
            }
        }
    }

    fn fill(&self, store: &Database, declare: &dyn Fn(&Database) -> Result<()>) -> Result<ImportSummary> {
        let mut session = store.session();
        for statement in schema_statements(self.database.store().read()?.schema()) {
            session.query(&statement, &Default::default())?;
        }
        drop(session);
        let summary = store.import(self.plan, self.progress, self.interrupt)?;
        declare(store)?;
        Ok(summary)
    }
}

#[cfg(test)]
mod tests {
    use testing::Folder;

    use super::{Mark, fingerprint, remove};
    use crate::import::{ImportPlan, ImportSummary, NodeFile};

    #[test]
    fn marks_read_back_and_only_folders_with_one_are_removed() {
        let folder = Folder::new();
        let place = folder.join("staging");
        std::fs::create_dir_all(&place).unwrap();
        assert_eq!(Mark::read(&place), None);
        let summary = ImportSummary { nodes_created: 1, edges_created: 2, rows_skipped: 3, ..ImportSummary::default() };
        let mark = Mark { fingerprint: u64::MAX, source: 7, summary };
        mark.write(&place).unwrap();
        assert_eq!(Mark::read(&place), Some(mark));
        remove(&place).unwrap();
        assert!(!place.exists());
        let other = folder.join("other");
        std::fs::create_dir_all(other.join("precious")).unwrap();
        assert!(remove(&other).unwrap_err().to_string().contains("was not made by an import"));
        assert!(other.join("precious").exists());
    }

    #[test]
    fn another_file_or_graph_has_another_fingerprint() {
        let folder = Folder::new();
        let path = folder.join("a.csv");
        std::fs::write(&path, "id\n1\n").unwrap();
        let plan =
            ImportPlan { nodes: vec![NodeFile { path: path.clone(), ..NodeFile::default() }], ..ImportPlan::default() };
        let first = fingerprint(&plan, "cql://a/b".as_ref());
        assert_eq!(first, fingerprint(&ImportPlan { threads: 9, ..plan.clone() }, "cql://a/b".as_ref()));
        assert_ne!(first, fingerprint(&plan, "cql://a/c".as_ref()));
        std::fs::write(&path, "id\n1\n2\n").unwrap();
        assert_ne!(first, fingerprint(&plan, "cql://a/b".as_ref()));
    }
}
