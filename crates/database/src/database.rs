//! A store that is open, with the functions, procedures and plans of all its sessions.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use analytics::{ViewCache, ViewCacheStats};
use exec::SpillSpace;
use model::memory::Usage;
use model::platform::{Clock, Platform};
use model::procedure::Procedure;
use model::{Consumer, ErrorCode, GraphStore, Interrupt, MemoryBudget, Result, Scheduler};
use storage::backup::CopySummary;
use storage::bulk::BulkLoad;
use storage::layout::Layout;
use storage::version::Version;
use storage::{CacheStatistics, NativeStore, StoreStats};

use crate::activity::{Activity, Site};
use crate::attachments::{Attachment, Attachments};
use crate::engine::Engine;
use crate::import::{self, ImportPlan, ImportProgress, ImportSummary};
use crate::plan_cache::PlanCache;
use crate::registry::Registry;
use crate::settings::{Access, Config};
use crate::statements::Statements;
use crate::statistics::Statistic;
use crate::tools::Surroundings;

use cypher::catalog::Catalog as _;

/// A database: open it once, make a session for each user. A clone is another handle of the same database, which is closed
/// with the last of its handles and sessions.
///
/// ```no_run
/// # fn main() -> database::Result<()> {
/// let database = database::Database::open("social.knot".as_ref(), database::Config::default())?;
/// let mut session = database.session();
/// session.query("CREATE (:Person {name: 'Ann'})", &Default::default())?;
/// let result = session.query("MATCH (p:Person) RETURN count(p)", &Default::default())?;
/// assert_eq!(result.single(), Some(1.into()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

/// State shared by the handles and sessions of a database.
pub(crate) struct Shared {
    store: Engine,
    pub(crate) attachments: Arc<Attachments>,
    config: Config,
    /// Replaced as a whole, so that a statement keeps the one that it was compiled with.
    registry: RwLock<Arc<Registry>>,
    views: Arc<ViewCache>,
    pub(crate) plans: PlanCache,
    /// Statistics of the statements that were run.
    pub(crate) statements: Arc<Statements>,
    /// Held by the statement that is retried while others keep committing before it.
    pub(crate) retries: Mutex<()>,
    platform: Platform,
    /// Scheduler that decides which statements may work when there are many.
    pub(crate) scheduler: Arc<Scheduler>,
    /// Storage that queries spill to.
    pub(crate) spill: Arc<SpillSpace>,
    /// Sessions and what runs in them.
    pub(crate) activity: Arc<Activity>,
}

/// Contents and location of a store.
#[derive(Clone, Debug, Default)]
pub struct StoreInfo {
    /// Its directory.
    pub path: PathBuf,
    /// Nodes in all.
    pub nodes: u64,
    /// Edges in all.
    pub edges: u64,
    /// Labels with their counts.
    pub labels: Vec<(Arc<str>, u64)>,
    /// Edge types with their counts.
    pub edge_types: Vec<(Arc<str>, u64)>,
    /// Property keys.
    pub property_keys: Vec<Arc<str>>,
    /// The statements that make the constraints.
    pub constraints: Vec<String>,
    /// The statements that make the ordered indexes, those of constraints included.
    pub indexes: Vec<String>,
    /// Statistics of the planner: exact counts and sketches.
    pub statistics: Vec<Statistic>,
    /// The databases that are attached.
    pub sources: Vec<Attachment>,
    /// Files with their lengths in bytes.
    pub files: Vec<(String, u64)>,
    /// Bytes of writes that are in the log but not yet merged into files.
    pub memtable_bytes: usize,
    /// Rows of a ring of machines that no new transaction sees and that are not purged; `None` for files.
    pub dead_rows: Option<u64>,
    /// Layout of the files, by what they are for.
    pub layout: Layout,
    /// Counts of what the store has done since it was opened.
    pub stats: StoreStats,
    /// The cache of file blocks.
    pub cache: CacheStatistics,
    /// The limit of memory in bytes, what is held of it, and the most that ever was.
    pub memory: (usize, usize, usize),
    /// Memory by consumer.
    pub memory_usage: Vec<Usage>,
}

impl Database {
    /// Opens the store in a directory, or the graph at an address `cql://HOST/KEYSPACE` (with the feature `cql`), which any number of
    /// processes can write. A directory is opened to write, which one process at a time can, until the last handle and session of the
    /// database are dropped; or to read, which any number can meanwhile, see [`Database::refresh`].
    pub fn open(path: &Path, config: Config) -> Result<Database> {
        Database::open_on(storage::os::platform(), path, config)
    }

    /// The same, unless the interrupt is raised or its time is over first: nothing of the store is changed then.
    ///
    /// # Errors
    /// `CANCELLED` or `TIMEOUT`, besides those of [`Database::open`].
    pub fn open_until(path: &Path, config: Config, interrupt: &Interrupt) -> Result<Database> {
        let _listening = interrupt.listen();
        // A flag that is raised behind the last look must not be lost: a statement lowers that of its session alone.
        let opened = Database::open(path, config).and_then(|database| interrupt.check().map(|()| database));
        opened.map_err(|error| match error.code() {
            ErrorCode::Cancelled => model::error!(Cancelled, "opening {} was cancelled", path.display()),
            _ => error,
        })
    }

    /// Opens the store in a directory of another platform than the machine's, such as one that fails when it is told to.
    pub fn open_on(platform: Platform, path: &Path, config: Config) -> Result<Database> {
        let store = Engine::open(&platform, path, &config)?;
        let own = (config.access != Access::ReadOnly).then(|| store.directory()).flatten();
        let directories = own.into_iter().chain([storage::os::temporary_directory()]).collect();
        let spill = SpillSpace::new(store.disk(&platform), directories);
        let views = ViewCache::new(store.memory().clone());
        let scheduler = Scheduler::new(platform.clock.clone(), config.threads);
        let attachments = Arc::new(Attachments::new(store.graph()));
        let activity = Arc::new(Activity::default());
        let statements = Arc::new(Statements::new(store.memory().clone()));
        let surroundings = Surroundings {
            activity: activity.clone(),
            store: Arc::from(store.path().to_string_lossy()),
            is_read_only: config.access == Access::ReadOnly,
            statements: statements.clone(),
        };
        let made = Registry::with_sources(&config, views.clone(), Some(attachments.clone()), Some(&surroundings));
        let registry = RwLock::new(Arc::new(made));
        let (plans, retries) = (PlanCache::default(), Mutex::default());
        let shared = Shared {
            store,
            attachments,
            config,
            registry,
            views,
            plans,
            statements,
            retries,
            platform,
            scheduler,
            spill,
            activity,
        };
        Ok(Database { shared: Arc::new(shared) })
    }

    /// Adds a procedure that `CALL` can call, under a name that is new; statements that start from now on know it.
    pub fn register_procedure(&self, procedure: Arc<dyn Procedure>) -> Result<()> {
        let mut held = self.shared.registry.write().unwrap_or_else(PoisonError::into_inner);
        let signature = procedure.signature();
        for name in signature.aliases.iter().chain([&signature.name]) {
            if held.procedures.find(name).is_some() {
                let error = model::error!(Argument, "there is a procedure {name} already");
                return Err(error.with_remedy("choose another name"));
            }
        }
        Arc::make_mut(&mut held).add(procedure);
        Ok(())
    }

    /// Says where clients reach it, for `SHOW DATABASES`, `SHOW SERVERS` and `SHOW USERS`.
    pub fn set_site(&self, site: Site) {
        self.shared.activity.set_site(site);
    }

    /// The place at which clients reach it.
    pub fn site(&self) -> Site {
        self.shared.activity.site()
    }

    /// Asks for the end of all transactions and statements of its sessions.
    pub fn terminate_all(&self) {
        self.shared.activity.terminate_all();
    }

    /// True if nobody else has a handle of it, or a session.
    pub fn is_last_handle(&self) -> bool {
        Arc::strong_count(&self.shared) == 1
    }

    /// Data behind the sound parts of the store's logs when it was opened: left by a crash, or damaged since.
    pub fn torn_logs(&self) -> &[storage::TornLog] {
        self.shared.store.torn_logs()
    }

    /// The functions and procedures as they are now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.shared.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The graph as the waist shows it: the native store and the sources attached at present.
    pub fn store(&self) -> Arc<dyn GraphStore> {
        self.shared.attachments.now().store.clone()
    }

    /// The own store, whatever is attached.
    pub(crate) fn own_store(&self) -> Arc<dyn GraphStore> {
        self.shared.store.graph()
    }

    /// The native store, to do what the verb says; fails with `UNSUPPORTED` on a ring of machines.
    pub(crate) fn native_to(&self, verb: &str) -> Result<&NativeStore> {
        self.shared.store.native_to(verb)
    }

    /// Counts of what the store has done since it was opened: commits, syncs, merges.
    pub fn stats(&self) -> StoreStats {
        self.shared.store.stats()
    }

    /// The budget of all that the database holds in memory.
    pub fn memory(&self) -> &Arc<MemoryBudget> {
        self.shared.store.memory()
    }

    /// The graphs that algorithms have read into memory and the database keeps.
    pub fn graph_views(&self) -> ViewCacheStats {
        self.shared.views.stats()
    }

    /// Storage that queries spill to, and the number of temporary files they have open.
    pub fn spill_space(&self) -> &Arc<SpillSpace> {
        &self.shared.spill
    }

    /// The directory of the store; of a graph on a ring of machines, its address without a password.
    pub fn path(&self) -> &Path {
        self.shared.store.path()
    }

    /// Configuration it was opened with.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Time.
    pub fn clock(&self) -> &dyn Clock {
        &*self.shared.platform.clock
    }

    /// Time, to be kept.
    pub(crate) fn shared_clock(&self) -> Arc<dyn Clock> {
        self.shared.platform.clock.clone()
    }

    /// Sixty-four random bits.
    pub(crate) fn random(&self) -> u64 {
        self.shared.platform.random.next_u64()
    }

    /// The names of all functions and procedures.
    pub fn callable_names(&self) -> Vec<String> {
        let registry = self.registry();
        let functions = registry.function_names();
        functions.into_iter().chain(registry.procedure_names()).map(str::to_string).collect()
    }

    /// Moves a database that was opened to read on to what another process has committed by now; transactions and results that
    /// are open stay where they are. True if there was anything new.
    pub fn refresh(&self, interrupt: &Interrupt) -> Result<bool> {
        self.shared.store.refresh(interrupt)
    }

    /// Merges all writes into files. On a ring of machines, writes a checkpoint of the state of the log.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared.store.checkpoint()
    }

    /// Merges all writes, and the files as far as that goes. On a ring of machines, purges rows that were
    /// dead when the call began, and drops the part of the log that nobody needs; transactions that began before end with `CONFLICT`.
    pub fn compact(&self, interrupt: &Interrupt) -> Result<()> {
        self.shared.store.compact(interrupt)
    }

    /// Copies the store as it is now into a new directory, while it is read and written. Files that the backup `base` of
    /// the same store has are shared with it, where both lie on one file system.
    pub fn backup(&self, destination: &Path, base: Option<&Path>, interrupt: &Interrupt) -> Result<CopySummary> {
        self.native_to("a backup")?.backup(destination, base, interrupt)
    }

    /// Imports files into a store in files. If it fails, the store is as it was.
    pub fn import(&self, plan: &ImportPlan, progress: &ImportProgress, interrupt: &Interrupt) -> Result<ImportSummary> {
        let config = import::bulk_config(plan, self.memory())?;
        // The import's own limit holds even where it is above that of the database; the block cache gives way.
        let _held = self.memory().charge(Consumer::Import, config.memory_bytes);
        self.rebuild(interrupt, |base| {
            let mut load = BulkLoad::new(base, config, interrupt)?;
            let view = load.before();
            let summary = import::run(plan, &mut load, &*view, progress, interrupt)?;
            Ok((load.finish()?, summary))
        })
    }

    /// The graph, if it is on a ring of machines.
    #[cfg(feature = "cql")]
    pub(crate) fn ring(&self) -> Option<&cluster::ClusterStore> {
        self.shared.store.ring()
    }

    /// Builds a new version of the store; see [`NativeStore::rebuild`].
    pub(crate) fn rebuild<T>(
        &self,
        interrupt: &Interrupt,
        build: impl FnOnce(&Arc<Version>) -> Result<(Arc<Version>, T)>,
    ) -> Result<T> {
        self.native_to("a bulk load into a graph that is open")?.rebuild(interrupt, build)
    }

    /// Contents and location of the store.
    pub fn info(&self) -> Result<StoreInfo> {
        let view = self.own_store().read()?;
        let (memtable_bytes, layout, cache) = self.shared.store.files_info()?;
        let (schema, statistics) = (view.schema(), view.statistics());
        let labels = schema.labels.iter().enumerate();
        let edge_types = schema.edge_types.iter().enumerate();
        Ok(StoreInfo {
            path: self.shared.store.path().to_path_buf(),
            nodes: statistics.nodes,
            edges: statistics.edges,
            labels: labels.map(|(id, name)| (name.clone(), statistics.label(model::LabelId(id as u32)))).collect(),
            edge_types: edge_types
                .map(|(id, name)| (name.clone(), statistics.edge_type(model::EdgeTypeId(id as u32))))
                .collect(),
            property_keys: schema.property_keys.iter().cloned().collect(),
            constraints: schema.constraints.iter().map(|held| schema.constraint_statement(held)).collect(),
            indexes: schema.indexes.iter().map(|held| schema.index_statement(held)).collect(),
            statistics: crate::statistics::list(schema, statistics),
            sources: self.attachments()?,
            files: self.files()?,
            memtable_bytes,
            dead_rows: self.shared.store.dead_rows(),
            layout,
            stats: self.shared.store.stats(),
            cache,
            memory: (self.memory().limit(), self.memory().used(), self.memory().peak()),
            memory_usage: self.memory().usage(),
        })
    }

    fn files(&self) -> Result<Vec<(String, u64)>> {
        let (disk, path) = (&self.shared.platform.disk, self.shared.store.path());
        if self.shared.store.directory().is_none() {
            return Ok(Vec::new());
        }
        let failed = |cause: std::io::Error| model::error!(Io, "{}: {cause}", path.display());
        let mut files = Vec::new();
        for name in disk.list(path).map_err(failed)? {
            // A file may be removed between the listing and here, after a merge. The socket is no file.
            if name != storage::format::SOCKET_NAME
                && let Ok(length) = disk.length(&path.join(&name))
            {
                files.push((name, length));
            }
        }
        files.sort();
        Ok(files)
    }
}
