//! Views in memory that are kept from call to call, while the edges of the graph have not changed, and mended when few
//! have.
//!
//! The state of the edges is told by [`model::store::Topology`]; nodes are compared by their numbering, which is made
//! anew for every call. Kept views are charged to the memory budget, and given back when others need it: those that are
//! not in use, the least recently used first.
//! The data that searches have read is kept too, see [`grounds`].
//! Cost: a hit takes a numbering (nothing, where all ids are taken); a mended view a copy of its rows.

mod grounds;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::error::Result;
use model::id::{EdgeTypeId, LabelId, PropertyKeyId};
use model::interrupt::Interrupt;
use model::memory::{Consumer, MemoryBudget, Relief};
use model::store::{Direction, Topology};

use crate::graph_view::mend::keeps_numbers;
use crate::graph_view::{GraphView, Sides};
use crate::numbering::Numbering;
use crate::projection::Selection;
use grounds::KeptGround;

/// A delta of more than this part of a view's edges is not worth mending with.
const MENDED_PART: usize = 8;

/// The selection that a view is of.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    labels: Option<Vec<LabelId>>,
    types: Option<Vec<EdgeTypeId>>,
    direction: Direction,
    /// The property of the weights, and the value for a missing one; `None` without weights.
    weight: Option<(Option<PropertyKeyId>, Option<u64>)>,
}

impl Key {
    fn of(selection: &Selection<'_>) -> Key {
        let sorted = |types: &Vec<EdgeTypeId>| {
            let mut types = types.clone();
            types.sort_unstable();
            types
        };
        let mut labels = selection.projection.labels.clone();
        if let Some(labels) = &mut labels {
            labels.sort_unstable();
        }
        Key {
            labels,
            types: selection.projection.types.as_ref().map(sorted),
            direction: selection.projection.direction,
            weight: selection.weight.map(|weight| (weight.key, weight.default.map(f64::to_bits))),
        }
    }
}

/// A view that is kept.
struct Kept {
    key: Key,
    topology: Topology,
    sides: Sides,
    view: Arc<GraphView>,
    last_used: u64,
}

impl Kept {
    fn serves(&self, key: &Key, sides: Sides) -> bool {
        let has_sides = self.sides == sides || self.sides == Sides::ForwardAndBackward || self.view.is_undirected();
        has_sides && self.key == *key
    }

    /// True if its edges are those of a state, with their weights.
    fn is_of(&self, topology: &Topology) -> bool {
        let reads_properties = matches!(self.key.weight, Some((Some(_), _)));
        self.topology.has_same_edges(topology) && (!reads_properties || self.topology.properties == topology.properties)
    }
}

/// Counters of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewCacheStats {
    /// Views that were there.
    pub hits: u64,
    /// Views that were brought up to date.
    pub mended: u64,
    /// Views that were made.
    pub misses: u64,
    /// Views kept now.
    pub views: usize,
    /// Bytes of those.
    pub bytes: usize,
}

/// The origin of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was there.
    Kept,
    /// It was there for an earlier state.
    Mended,
    /// It was read from the store.
    Made,
}

/// The views that a database keeps.
pub struct ViewCache {
    budget: Arc<MemoryBudget>,
    kept: Mutex<Vec<Kept>>,
    grounds: Mutex<Vec<KeptGround>>,
    uses: AtomicU64,
    origins: [AtomicU64; 3],
}

impl ViewCache {
    /// An empty cache that holds memory of a budget.
    pub fn new(budget: Arc<MemoryBudget>) -> Arc<ViewCache> {
        let cache = Arc::new(ViewCache {
            budget,
            kept: Mutex::default(),
            grounds: Mutex::default(),
            uses: AtomicU64::new(0),
            origins: Default::default(),
        });
        let relief: Arc<dyn Relief> = cache.clone();
        cache.budget.on_pressure(Arc::downgrade(&relief));
        cache
    }

    /// The budget that it holds memory of.
    pub(crate) fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// The counters so far.
    pub fn stats(&self) -> ViewCacheStats {
        let [hits, mended, misses] = [0, 1, 2].map(|at| self.origins[at].load(Ordering::Relaxed));
        let kept = self.lock();
        let bytes = kept.iter().map(|kept| kept.view.byte_count()).sum();
        ViewCacheStats { hits, mended, misses, views: kept.len(), bytes }
    }

    /// True if a call for a selection would find a view as it is, or, as far as can be told, one to mend.
    pub(crate) fn holds(&self, selection: &Selection<'_>) -> bool {
        let Some(topology) = selection.view.topology() else { return false };
        let key = Key::of(selection);
        self.lock().iter().any(|kept| kept.serves(&key, selection.sides) && kept.is_of(&topology))
    }

    /// The view of a selection, as it is there, mended, or made and kept.
    pub fn view(
        &self,
        selection: &Selection<'_>,
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<(Arc<GraphView>, Origin)> {
        let Selection { view, projection, weight, sides } = *selection;
        let key = Key::of(selection);
        let topology = view.topology();
        if let Some(topology) = &topology {
            let numbering = Numbering::build(view, projection.labels.as_deref(), interrupt)?;
            if let Some(found) = self.find(&key, sides, topology, &numbering) {
                return Ok((found, self.count(Origin::Kept)));
            }
            if let Some(mended) = self.mend(&key, selection, topology, numbering)? {
                let had = if mended.has_both_sides() { Sides::ForwardAndBackward } else { sides };
                return Ok((self.keep(key, *topology, had, mended), self.count(Origin::Mended)));
            }
        }
        let made = GraphView::build(view, projection, weight, sides, threads, interrupt)?;
        let origin = self.count(Origin::Made);
        match topology {
            Some(topology) => Ok((self.keep(key, topology, sides, made), origin)),
            None => Ok((Arc::new(made), origin)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_grounds(&self) -> MutexGuard<'_, Vec<KeptGround>> {
        self.grounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, origin: Origin) -> Origin {
        self.origins[origin as usize].fetch_add(1, Ordering::Relaxed);
        origin
    }

    fn now(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn find(&self, key: &Key, sides: Sides, topology: &Topology, numbering: &Numbering) -> Option<Arc<GraphView>> {
        let now = self.now();
        let mut kept = self.lock();
        let found = kept
            .iter_mut()
            .find(|kept| kept.serves(key, sides) && kept.is_of(topology) && kept.view.numbering() == numbering)?;
        found.last_used = now;
        Some(found.view.clone())
    }

    /// Brings the newest view of earlier edges up to date, if that is known to be worth it.
    fn mend(
        &self,
        key: &Key,
        selection: &Selection<'_>,
        topology: &Topology,
        numbering: Numbering,
    ) -> Result<Option<GraphView>> {
        if key.weight.is_some() {
            return Ok(None);
        }
        let earlier = {
            let kept = self.lock();
            let fits = kept.iter().filter(|kept| {
                kept.serves(key, selection.sides)
                    && kept.topology.store == topology.store
                    && kept.topology.edges <= topology.edges
                    && keeps_numbers(kept.view.numbering(), &numbering)
            });
            fits.max_by_key(|kept| kept.topology.edges).map(|kept| (kept.topology, kept.view.clone()))
        };
        let Some((before, earlier)) = earlier else { return Ok(None) };
        let Some(delta) = selection.view.edges_since(&before)? else { return Ok(None) };
        if delta.added.len() + delta.deleted.len() > earlier.edge_count() / MENDED_PART {
            return Ok(None);
        }
        earlier.mended(&delta, numbering, selection.projection).map(Some)
    }

    /// Keeps a view in place of others that it makes needless, as far as there is memory for it.
    fn keep(&self, key: Key, topology: Topology, sides: Sides, mut view: GraphView) -> Arc<GraphView> {
        let bytes = view.byte_count();
        let share = self.budget.share(Consumer::GraphViews);
        if bytes > share {
            return Arc::new(view);
        }
        // Dropped views give their memory back before anything is reserved, and no lock is held meanwhile.
        let needless = {
            let mut kept = self.lock();
            let is_needless = |kept: &mut Kept| {
                kept.key == key
                    && (kept.sides == sides || sides == Sides::ForwardAndBackward)
                    && kept.topology.store == topology.store
                    && kept.topology.edges <= topology.edges
            };
            let needless: Vec<Kept> = kept.extract_if(.., is_needless).collect();
            needless
        };
        drop(needless);
        let held = self.bytes_kept();
        if held + bytes > share {
            self.give_back(held + bytes - share);
        }
        let Ok(reservation) = self.budget.reserve(Consumer::GraphViews, bytes) else { return Arc::new(view) };
        view.held = Some(Arc::new(reservation));
        let view = Arc::new(view);
        let last_used = self.now();
        self.lock().push(Kept { key, topology, sides, view: view.clone(), last_used });
        view
    }

    fn bytes_kept(&self) -> usize {
        self.lock().iter().map(|kept| kept.view.byte_count()).sum()
    }
}

impl Relief for ViewCache {
    fn give_back(&self, bytes: usize) -> usize {
        let mut given = self.give_back_grounds(bytes);
        let mut dropped = Vec::new();
        {
            let mut kept = self.lock();
            while given < bytes {
                let idle = kept.iter().enumerate().filter(|(_, kept)| Arc::strong_count(&kept.view) == 1);
                let Some((at, _)) = idle.min_by_key(|(_, kept)| kept.last_used) else { break };
                let oldest = kept.swap_remove(at);
                given += oldest.view.byte_count();
                dropped.push(oldest);
            }
        }
        drop(dropped);
        given
    }
}
