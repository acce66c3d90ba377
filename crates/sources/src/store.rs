//! A database with its graph definition as a graph behind the waist, with a cache and prefetchers.
//!
//! Ids, labels and types are settled here, so that a connector knows of none; what was fetched is kept for the next
//! question; what will be needed next is fetched along.
//! Edges whose ends are missing: an edge is there only if both of its nodes are. Where the source does not see to that by
//! itself (see [`KindFacts::ends_exist`](crate::connector::KindFacts)), the ends are looked for before an edge is given out.

mod ahead;
mod all_edges;
mod crossing;
mod edge_ids;
mod element_ids;
mod expansion;
mod layout;
mod link;
mod load;
mod nodes;
mod on_course;
mod patterns;
mod scan;
mod statements;
mod transaction;
mod view;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::platform::Clock;
use model::store::Moment;
use model::{Capabilities, GraphStore, MemoryBudget, ReadView, Result, Schema, WriteTransaction};

pub use self::crossing::Crossing;
use self::layout::Layout;
use self::link::Link;
pub use self::transaction::SourceTransaction;
pub use self::view::SourceView;
use crate::cache::Cache;
use crate::check::relational;
use crate::connector::Connector;
use crate::definition::{GraphDefinition, Rows};
use crate::keys::Keys;
use crate::prefetch::Prefetcher;

/// The resources that a source shares with the database that it is attached to.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The budget to which kept data is charged.
    pub memory: Arc<MemoryBudget>,
    /// Tells how old it is.
    pub clock: Arc<dyn Clock>,
}

/// A database that is attached, as a graph.
#[derive(Clone)]
pub struct SourceStore {
    shared: Arc<Shared>,
}

/// The data that the views of a source share.
pub(crate) struct Shared {
    layout: Arc<Layout>,
    connector: Arc<dyn Connector>,
    environment: Environment,
    capabilities: Capabilities,
    keys: Keys,
    cache: Arc<Cache>,
    hot: Hot,
    prefetcher: Arc<Prefetcher>,
    round_trips: Arc<AtomicU64>,
    /// The store as moments name it.
    number: u64,
}

impl Shared {
    /// A cache that nobody shares, as large as the shared one.
    fn private_cache(&self) -> Arc<Cache> {
        let (tables, memory) = (self.layout.table_count(), &self.environment.memory);
        Cache::new(tables, self.cache.bytes_max(), memory, self.cache.counts.clone())
    }

    /// Forgets what may have changed with kinds of nodes and of edges: all that comes from the same tables, and edges that
    /// have an end there.
    fn forget_changed(&self, nodes: &[usize], edges: &[usize]) {
        let (layout, definition) = (&self.layout, &self.layout.definition);
        let changed = |rows: &Rows| {
            nodes.iter().any(|&kind| definition.nodes[kind].rows == *rows)
                || edges.iter().any(|&kind| definition.edges[kind].rows == *rows)
        };
        let is_changed = |kind: usize| {
            // Rows of a query may come from any table.
            !matches!(definition.nodes[kind].rows, Rows::Table { .. }) || changed(&definition.nodes[kind].rows)
        };
        let mut tables: Vec<usize> = (0..layout.nodes.len()).filter(|&kind| is_changed(kind)).collect();
        for (edge, kind) in definition.edges.iter().enumerate() {
            let ends = layout.edges[edge].ends;
            let has_changed_end = ends.iter().any(|&space| !layout.is_foreign(space) && is_changed(space));
            if has_changed_end || changed(&kind.rows) || !matches!(kind.rows, Rows::Table { .. }) {
                tables.extend([false, true].map(|is_reverse| layout.list_table(layout::ListKind { edge, is_reverse })));
            }
        }
        self.cache.forget(tables.into_iter());
        (0..layout.nodes.len()).for_each(|kind| self.prefetcher.forget(kind));
    }
}

/// For each table of the cache, the properties that were ever asked for, so that a row need not be fetched once for each.
struct Hot {
    tables: Vec<Mutex<Vec<usize>>>,
}

impl Hot {
    /// Adds properties, and gives all.
    fn add(&self, table: usize, properties: &[usize]) -> Vec<usize> {
        let mut hot = self.tables[table].lock().unwrap_or_else(PoisonError::into_inner);
        for property in properties {
            if let Err(at) = hot.binary_search(property) {
                hot.insert(at, *property);
            }
        }
        hot.clone()
    }

    /// True if a property was ever asked for.
    fn is_wanted(&self, table: usize) -> bool {
        !self.tables[table].lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Counters of the questions to a source, and of the answers that were kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceStats {
    /// Round trips since it was attached.
    pub round_trips: u64,
    /// Rows that it sent: nodes and edges, asked for or fetched ahead.
    pub rows_fetched: u64,
    /// Those of them that were used at least once.
    pub rows_used: u64,
    /// Nodes, and lists of edges, that were asked for.
    pub lookups: u64,
    /// Those of them that were in the cache.
    pub hits: u64,
    /// Bytes that the cache holds, and may hold.
    pub cache_bytes: usize,
    /// The most that it may hold.
    pub cache_bytes_max: usize,
    /// The present way of fetching ahead, in words.
    pub prefetch: String,
}

impl SourceStats {
    /// The share of what was asked for that was in the cache.
    pub fn hit_rate(&self) -> f64 {
        self.hits as f64 / self.lookups.max(1) as f64
    }
}

impl SourceStore {
    /// The graph that a definition makes of a database, as the part of that number of a larger graph. Asks the database for
    /// its sizes and indexes.
    pub fn new(
        definition: Arc<GraphDefinition>,
        connector: Arc<dyn Connector>,
        member: u8,
        environment: Environment,
    ) -> Result<SourceStore> {
        if definition.nodes.len() > 1 << 8 {
            let found = definition.nodes.len();
            return Err(model::error!(
                Definition,
                "{} has {found} kinds of nodes, expected at most 256",
                connector.name()
            ));
        }
        connector.charge_to(&environment.memory);
        // Its abilities may follow from its facts.
        let facts = connector.facts()?;
        let abilities = connector.abilities();
        let layout = Arc::new(Layout::new(definition, member, facts, abilities));
        let capabilities = Capabilities {
            writes: abilities.writes,
            dense_node_ids: false,
            expands_against_direction: layout.goes_against_direction(),
            looks_up_by_key: true,
            streams_edges: false,
            is_remote: true,
            flexible_schema: false,
        };
        let tables = layout.table_count();
        let cache = Cache::new(tables, layout.definition.cache.bytes_max, &environment.memory, Arc::default());
        let keys = Keys::new(layout.space_count(), &environment.memory, connector.name());
        let hot = Hot { tables: (0..tables).map(|_| Mutex::default()).collect() };
        let round_trips = Arc::new(AtomicU64::new(0));
        let facts = &layout.facts;
        let prefetcher = Arc::new(Prefetcher::new(&layout.definition, abilities, &facts.nodes, &facts.edges));
        let shared = Shared {
            layout,
            connector,
            environment,
            capabilities,
            keys,
            cache,
            hot,
            prefetcher,
            round_trips,
            number: Moment::next_store(),
        };
        Ok(SourceStore { shared: Arc::new(shared) })
    }

    /// The same with the name that it has where it is attached, which messages give. Only the first one counts.
    #[must_use]
    pub fn named(self, name: &str) -> SourceStore {
        let _ = self.shared.layout.called.set(name.into());
        self
    }

    /// A view, as what it is.
    pub fn view(&self) -> SourceView {
        let shared = &self.shared;
        if shared.layout.definition.cache.age_max.is_zero() {
            return self.private_view(self.link());
        }
        let number = shared.cache.forgotten();
        // Before its snapshot begins.
        let epochs = shared.cache.epochs();
        let mut view = SourceView::new(shared, shared.cache.clone(), shared.prefetcher.clone(), self.link());
        view.moment = Some(Moment { store: shared.number, number });
        view.epochs = Some(epochs);
        view
    }

    fn link(&self) -> Link {
        Link::new(&self.shared.connector, &self.shared.layout, &self.shared.round_trips)
    }

    /// A view that shares nothing of what it reads.
    fn private_view(&self, link: Link) -> SourceView {
        let shared = &self.shared;
        SourceView::new(shared, shared.private_cache(), Arc::new(shared.prefetcher.fork()), link)
    }

    /// Begins a transaction of the source. Fails with `READ_ONLY` where there is none.
    pub fn begin(&self) -> Result<SourceTransaction> {
        self.check_writable()?;
        let writing = self.shared.connector.write()?;
        Ok(SourceTransaction::new(&self.shared, self.private_view(self.link().writing(writing))))
    }

    /// A transaction that begins with its first question or change, and locks nothing before the first change.
    pub(crate) fn begin_later(&self) -> Result<SourceTransaction> {
        self.check_writable()?;
        Ok(SourceTransaction::new(&self.shared, self.private_view(self.link().writing_later())))
    }

    fn check_writable(&self) -> Result<()> {
        if self.shared.capabilities.writes {
            return Ok(());
        }
        let connector = &self.shared.connector;
        // A connector that cannot write says best why.
        if !connector.abilities().writes
            && let Err(refused) = connector.write()
        {
            return Err(refused);
        }
        let name = connector.name();
        Err(model::error!(ReadOnly, "{name} can only be read")
            .with_remedy("write to it by its own means, or copy it with PRELOAD"))
    }

    /// The names that the source has in the graph.
    pub fn schema(&self) -> &Schema {
        &self.shared.layout.schema
    }

    /// The definition that it was made with.
    pub fn definition(&self) -> &Arc<GraphDefinition> {
        &self.shared.layout.definition
    }

    /// The database.
    pub fn connector(&self) -> &Arc<dyn Connector> {
        &self.shared.connector
    }

    /// Forgets all that is cached, so that the next view reads it anew.
    pub fn forget(&self) {
        self.shared.cache.forget(0..self.shared.layout.table_count());
        (0..self.shared.layout.nodes.len()).for_each(|kind| self.shared.prefetcher.forget(kind));
    }

    /// Forgets what is cached of the kinds of nodes and edges that have a name; false if there is none.
    pub fn forget_kind(&self, name: &str) -> bool {
        let layout = &self.shared.layout;
        let nodes = layout.definition.nodes.iter().enumerate().filter(|(_, kind)| &*kind.name == name);
        let mut tables: Vec<usize> = nodes.map(|(number, _)| number).collect();
        let edges = layout.definition.edges.iter().enumerate().filter(|(_, kind)| &*kind.name == name);
        tables.extend(edges.flat_map(|(number, _)| {
            [false, true].map(|is_reverse| layout.list_table(layout::ListKind { edge: number, is_reverse }))
        }));
        self.shared.cache.forget(tables.iter().copied());
        (0..layout.nodes.len()).for_each(|kind| self.shared.prefetcher.forget(kind));
        !tables.is_empty()
    }

    /// Notes for the user who attaches it, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let reason = relational::cannot_prefetch(&self.shared.layout.definition);
        reason.map(|reason| format!("{reason}; {}", relational::NAME_TABLES)).into_iter().collect()
    }

    /// The counters so far.
    pub fn stats(&self) -> SourceStats {
        let (shared, counts) = (&self.shared, &self.shared.cache.counts);
        SourceStats {
            round_trips: shared.round_trips.load(Ordering::Relaxed),
            rows_fetched: counts.fetched.load(Ordering::Relaxed),
            rows_used: counts.used.load(Ordering::Relaxed),
            lookups: counts.lookups.load(Ordering::Relaxed),
            hits: counts.hits.load(Ordering::Relaxed),
            cache_bytes: shared.cache.bytes(),
            cache_bytes_max: shared.cache.bytes_max(),
            prefetch: shared.prefetcher.describe(),
        }
    }
}

impl GraphStore for SourceStore {
    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities
    }

    fn read(&self) -> Result<Arc<dyn ReadView>> {
        Ok(Arc::new(self.view()))
    }

    fn write(&self) -> Result<Box<dyn WriteTransaction>> {
        Ok(Box::new(self.begin()?))
    }
}

#[cfg(test)]
mod tests;
