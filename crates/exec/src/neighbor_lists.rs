//! The neighbors of nodes as sorted lists of small numbers, decoded once and kept while a statement runs.
//!
//! Lists are read when they are first asked for. Once a good part of all edges of their kind has been read so, the whole
//! is read into one array for all parts and all runs of the statement.
//!
//! Invariant: a list is sorted by neighbor. If edges are wanted as well, a neighbor comes as often as edges lead to it; else it comes
//! once, and is among the repeats of the list where several edges do.
//! Cost: four bytes an entry, twelve for each of the repeats, twenty an entry if edges are wanted as well.

mod entries;
mod hubs;
mod reader;
mod whole;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use model::limits::NEIGHBOR_LIST_BYTES_MAX;
use model::store::EdgeIds;
use model::{Direction, EdgeBatch, Expand, Map, NodeId, ReadView, Result};

use crate::adjacency::expansion;
use crate::adjacency::label_ids;
use crate::memory::{Charge, QueryMemory};
use crate::runtime::Runtime;
pub(crate) use entries::Repeat;
use entries::{Entries, ListPlace};
use hubs::Hubs;
pub(crate) use reader::{List, ListReader};
use whole::Whole;

/// The share of all edges that is read list by list before the whole is read, as a divisor.
const WHOLE_SHARE: u64 = 8;

/// The neighbors that a list holds, by names, so that it is known before there is a store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ListKind {
    /// Direction in which edges are followed.
    pub(crate) direction: Direction,
    /// Edge types, sorted; none for any.
    pub(crate) types: Vec<Arc<str>>,
    /// Labels that neighbors must carry, sorted.
    pub(crate) labels: Vec<Arc<str>>,
    /// True if the edges are wanted besides the neighbors.
    pub(crate) with_edges: bool,
}

/// Lists of all nodes, and how much was read before they were there.
#[derive(Default)]
struct Shared {
    read: AtomicU64,
    reading: Mutex<()>,
    /// Nothing if they were read, and are too many.
    whole: OnceLock<Option<Whole>>,
}

/// Lists shared by the parts and runs of one statement.
#[derive(Default)]
pub(crate) struct SharedLists {
    /// Bytes of lists of all nodes, as they were charged.
    charged: AtomicUsize,
    kinds: Mutex<Map<ListKind, Arc<Shared>>>,
}

impl SharedLists {
    /// Gives back what was charged for lists that are no longer wanted.
    pub(crate) fn release(&self, memory: &QueryMemory) {
        memory.release(self.charged.swap(0, Ordering::Relaxed));
    }

    fn of(&self, kind: &ListKind) -> Arc<Shared> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = kinds.get(kind) {
            return shared.clone();
        }
        kinds.entry(kind.clone()).or_default().clone()
    }
}

/// Numbers for nodes: their ids where those are dense, else in order of appearance.
#[derive(Default)]
pub(crate) struct Numbers {
    is_dense: bool,
    bound: u64,
    numbers: Map<NodeId, u32>,
    nodes: Vec<NodeId>,
}

impl Numbers {
    /// Numbers for the nodes of a store.
    pub(crate) fn of(view: &dyn ReadView) -> Numbers {
        let bound = view.node_id_bound();
        let is_dense = view.capabilities().dense_node_ids && bound < u64::from(u32::MAX);
        Numbers { is_dense, bound, ..Numbers::default() }
    }

    /// The number of a node.
    #[inline]
    pub(crate) fn number(&mut self, node: NodeId) -> u32 {
        if self.is_dense && node.0 < self.bound {
            return node.0 as u32;
        }
        let next = if self.is_dense { self.bound as u32 } else { 0 } + self.nodes.len() as u32;
        *self.numbers.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            next
        })
    }

    /// The node of a number.
    #[inline]
    pub(crate) fn node(&self, number: u32) -> NodeId {
        if self.is_dense && u64::from(number) < self.bound {
            return NodeId(number.into());
        }
        self.nodes[number as usize - if self.is_dense { self.bound as usize } else { 0 }]
    }

    /// One more than the largest number.
    pub(crate) fn bound(&self) -> usize {
        self.nodes.len() + if self.is_dense { self.bound as usize } else { 0 }
    }
}

/// The lists of one kind, in one run of an operator.
pub(crate) struct Lists<'m> {
    charge: Charge<'m>,
    expand: Option<Expand>,
    kind: ListKind,
    shared: Option<Arc<Shared>>,
    entries: Entries,
    places: Map<u32, ListPlace>,
    /// The lists of all nodes are there. Another part may have read them already, but that only counts from the next
    /// preparation on.
    is_whole: bool,
    /// Nodes whose lists are to be read.
    missing: Vec<u32>,
}

impl<'m> Lists<'m> {
    /// No lists yet.
    pub(crate) fn new(runtime: &Runtime<'m>, kind: &ListKind) -> Lists<'m> {
        let view = runtime.view();
        let ids = if kind.with_edges { EdgeIds::Include } else { EdgeIds::Omit };
        // A query that writes must see its own writes, so it keeps no lists for another run.
        let shared = (!runtime.writes()).then(|| runtime.states.lists.of(kind));
        Lists {
            charge: runtime.charge("lists of neighbors"),
            expand: expansion(view.view(), kind.direction, &kind.types, ids),
            kind: kind.clone(),
            shared,
            entries: Entries::new(kind.with_edges),
            places: Map::default(),
            is_whole: false,
            missing: Vec::new(),
        }
    }

    fn whole(&self) -> Option<&Whole> {
        if self.is_whole { self.shared.as_ref()?.whole.get()?.as_ref() } else { None }
    }

    /// Forgets the lists of earlier batches if they are too many.
    pub(crate) fn make_room(&mut self) {
        if self.charge.bytes() > (NEIGHBOR_LIST_BYTES_MAX / 8).min(self.charge.memory().limit() / 8) {
            self.forget();
        }
    }

    /// Makes sure that the lists of these nodes are there, until room is made.
    pub(crate) fn prepare(&mut self, runtime: &Runtime<'_>, numbers: &mut Numbers, nodes: &[u32]) -> Result<()> {
        if self.expand.is_none() || self.is_whole {
            return Ok(());
        }
        self.missing.clear();
        let mut last = None;
        for &node in nodes {
            if last.replace(node) != Some(node) && !self.places.contains_key(&node) {
                self.missing.push(node);
            }
        }
        if self.missing.is_empty() {
            return Ok(());
        }
        self.missing.sort_unstable();
        self.missing.dedup();
        let guard = runtime.view();
        let view = guard.view();
        if let Some(shared) = &self.shared
            && self.read_whole(view, runtime, shared, numbers)?
        {
            self.is_whole = true;
            self.forget();
            return Ok(());
        }
        let before = self.entries.edges_read;
        let missing = std::mem::take(&mut self.missing);
        self.read(view, runtime, numbers, &missing)?;
        self.missing = missing;
        // Lists for the rows of one batch are always held.
        self.charge.count(self.entries.bytes() + self.places.len() * 2 * size_of::<(u32, ListPlace)>());
        if let Some(shared) = &self.shared {
            shared.read.fetch_add(self.entries.edges_read - before, Ordering::Relaxed);
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.entries = Entries::new(self.kind.with_edges);
        self.places = Map::default();
        self.charge.count(0);
    }

    /// Makes sure that the lists of all nodes are there, if that pays by now: `walked` edges more were followed without
    /// lists. False if they are not.
    pub(crate) fn prepare_whole(&mut self, runtime: &Runtime<'_>, numbers: &mut Numbers, walked: u64) -> Result<bool> {
        if self.is_whole {
            return Ok(true);
        }
        let Some(shared) = &self.shared else { return Ok(false) };
        shared.read.fetch_add(walked, Ordering::Relaxed);
        let view = runtime.view();
        self.is_whole = self.read_whole(view.view(), runtime, shared, numbers)?;
        Ok(self.is_whole)
    }

    fn read(&mut self, view: &dyn ReadView, runtime: &Runtime<'_>, numbers: &mut Numbers, of: &[u32]) -> Result<()> {
        let Some(expand) = &self.expand else { return Ok(()) };
        let nodes: Vec<NodeId> = of.iter().map(|&number| numbers.node(number)).collect();
        let places = &mut self.places;
        let mut place = |index: usize, place: ListPlace| {
            places.insert(of[index], place);
        };
        let filter = LabelFilter::new(view, &self.kind.labels);
        read_lists(view, runtime, expand, &filter, numbers, &nodes, &mut self.entries, &mut place)
    }

    /// Reads the lists of all nodes if that pays by now; true if they are there.
    fn read_whole(
        &self,
        view: &dyn ReadView,
        runtime: &Runtime<'_>,
        shared: &Shared,
        numbers: &mut Numbers,
    ) -> Result<bool> {
        let Some(expand) = self.expand.as_ref().filter(|_| numbers.is_dense) else { return Ok(false) };
        let statistics = view.estimates();
        let sides = if expand.direction == Direction::Both { 2 } else { 1 };
        let edges = sides
            * match &expand.types {
                Some(types) => types.iter().map(|&edge_type| statistics.edge_type(edge_type)).sum(),
                None => statistics.edges,
            };
        let entry_bytes = if self.kind.with_edges { 20 } else { 4 };
        let bytes = (edges * entry_bytes).saturating_add(numbers.bound * 8);
        let read = shared.read.load(Ordering::Relaxed);
        if read < edges / WHOLE_SHARE || bytes > NEIGHBOR_LIST_BYTES_MAX as u64 {
            return Ok(false);
        }
        if let Some(whole) = shared.whole.get() {
            return Ok(whole.is_some());
        }
        // While another part reads them, this one goes on by itself.
        let Ok(_reading) = shared.reading.try_lock() else { return Ok(false) };
        if let Some(whole) = shared.whole.get() {
            return Ok(whole.is_some());
        }
        let memory = runtime.environment.memory;
        if memory.charge("lists of neighbors", bytes as usize).is_err() {
            return Ok(false);
        }
        let charged = &runtime.states.lists.charged;
        charged.fetch_add(bytes as usize, Ordering::Relaxed);
        let filter = LabelFilter::whole(view, &self.kind.labels, numbers.bound)?;
        let whole = match view.edge_partitions() {
            Some(partitions) => Whole::stream(partitions, runtime, expand, &filter, numbers.bound as usize)?,
            None => Whole::expand(view, runtime, expand, &filter, numbers)?,
        };
        // Repeats come on top of what was expected.
        let more = |whole: &Whole| whole.bytes().saturating_sub(bytes as usize);
        let mut whole = whole.filter(|whole| memory.charge("lists of neighbors", more(whole)).is_ok());
        if let Some(whole) = &mut whole {
            let (hubs, hubs_bytes) = Hubs::of(whole, memory);
            charged.fetch_add(more(whole) + hubs_bytes, Ordering::Relaxed);
            whole.hubs = hubs;
        } else {
            charged.fetch_sub(bytes as usize, Ordering::Relaxed);
            memory.release(bytes as usize);
        }
        // The lock is held, so that nobody else has set it.
        let is_there = whole.is_some();
        Ok(shared.whole.set(whole).is_ok() && is_there)
    }

    /// A borrowed form of the lists, for loops.
    pub(crate) fn reader(&self) -> ListReader<'_> {
        match self.whole() {
            Some(whole) => ListReader::of_whole(whole),
            None => ListReader::of_some(&self.places, &self.entries),
        }
    }
}

/// The nodes that carry all of some labels.
enum LabelFilter<'l> {
    /// Any node will do.
    None,
    /// A label is unknown to the store.
    Nothing,
    Each(&'l dyn ReadView, Vec<model::LabelId>),
    Bits(Vec<u64>),
}

impl<'l> LabelFilter<'l> {
    fn new(view: &'l dyn ReadView, labels: &[Arc<str>]) -> LabelFilter<'l> {
        match label_ids(view, labels) {
            None => LabelFilter::Nothing,
            Some(ids) if ids.is_empty() => LabelFilter::None,
            Some(ids) => LabelFilter::Each(view, ids),
        }
    }

    /// The same, looked up beforehand for all nodes of dense ids.
    fn whole(view: &'l dyn ReadView, labels: &[Arc<str>], bound: u64) -> Result<LabelFilter<'l>> {
        let LabelFilter::Each(view, ids) = LabelFilter::new(view, labels) else {
            return Ok(LabelFilter::new(view, labels));
        };
        let mut bits = vec![0; bound as usize / 64 + 1];
        let mut cursor = view.scan(&model::NodeScan { labels: ids, ..model::NodeScan::default() })?;
        let mut batch = model::NodeBatch::default();
        while cursor.next(&mut batch)? {
            batch.nodes.iter().for_each(|node| bits[node.index() / 64] |= 1 << (node.0 % 64));
        }
        Ok(LabelFilter::Bits(bits))
    }

    /// True if a node carries the labels, where all nodes were looked up beforehand.
    #[inline]
    fn has(&self, node: NodeId) -> bool {
        match self {
            LabelFilter::None => true,
            LabelFilter::Nothing | LabelFilter::Each(..) => false,
            LabelFilter::Bits(bits) => is_set(bits, node),
        }
    }

    /// The rows of a batch whose neighbors carry the labels; nothing if all do.
    fn select(&self, batch: &EdgeBatch) -> Result<Option<Vec<u32>>> {
        let rows = 0..batch.len() as u32;
        let selected: Vec<u32> = match self {
            LabelFilter::None => return Ok(None),
            LabelFilter::Nothing => Vec::new(),
            LabelFilter::Bits(bits) => {
                let is_set = |node: NodeId| is_set(bits, node);
                if batch.neighbors.iter().all(|&node| is_set(node)) {
                    return Ok(None);
                }
                rows.filter(|&row| is_set(batch.neighbors[row as usize])).collect()
            }
            LabelFilter::Each(view, labels) => {
                let mut rows: Vec<u32> = rows.collect();
                for &label in labels {
                    let carry = view.has_label(&batch.neighbors, label)?;
                    rows.retain(|&row| carry.get(row as usize));
                }
                rows
            }
        };
        Ok((selected.len() < batch.len()).then_some(selected))
    }
}

#[inline]
fn is_set(bits: &[u64], node: NodeId) -> bool {
    bits.get(node.index() / 64).is_some_and(|word| word >> (node.0 % 64) & 1 == 1)
}

/// Reads the lists of nodes to the end of `entries`, and says for each where it is, in order.
#[allow(clippy::too_many_arguments, reason = "what is read, from where, and where it goes")]
fn read_lists(
    view: &dyn ReadView,
    runtime: &Runtime<'_>,
    expand: &Expand,
    filter: &LabelFilter<'_>,
    numbers: &mut Numbers,
    nodes: &[NodeId],
    entries: &mut Entries,
    place: &mut dyn FnMut(usize, ListPlace),
) -> Result<()> {
    let with_edges = expand.edge_ids == EdgeIds::Include;
    let mut cursor = view.expand(nodes, expand)?;
    let mut batch = EdgeBatch::default();
    let (mut open, mut start) = (0, entries.neighbors.len());
    while cursor.next(&mut batch)? {
        runtime.environment.interrupt.check()?;
        if let Some(rows) = filter.select(&batch)? {
            batch = batch.gather(&rows);
        }
        let mut row = 0;
        while row < batch.len() {
            let input = batch.inputs[row];
            while open < input as usize {
                place(open, entries.finish(start));
                (open, start) = (open + 1, entries.neighbors.len());
            }
            let end = row + batch.inputs[row..].partition_point(|&other| other == input);
            entries.neighbors.extend(batch.neighbors[row..end].iter().map(|&node| numbers.number(node)));
            if with_edges {
                let is_against = |row: usize| match expand.direction {
                    Direction::Out => false,
                    Direction::In => true,
                    Direction::Both => batch.reversed[row],
                };
                entries.edges.extend((row..end).map(|row| (batch.edges[row], batch.types[row], is_against(row))));
            }
            row = end;
        }
    }
    while open < nodes.len() {
        place(open, entries.finish(start));
        (open, start) = (open + 1, entries.neighbors.len());
    }
    Ok(())
}
