//! A source as a view: one connection, opened by the first question, with the cache that it shares with other views.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use model::index_scan::{IndexCursor, IndexScan};
use model::store::chosen::{Chooser, Choosing};
use model::store::{
    Access, AccessHint, Count, EdgeBlockCursor, EdgeCursor, EdgeStream, Freshness, Moment, NodeCursor, RowCursor,
    lookup_by_scan,
};
use model::{
    Bitmap, Capabilities, Column, EdgeId, EdgeTypeId, EdgeValue, Expand, GraphPattern, LabelId, NodeId, NodeScan,
    PropertyKeyId, ReadView, Result, Schema, Statistics, Taken,
};

use super::Shared;
use super::ahead::Foresight;
use super::crossing::Crossing;
use super::edge_ids::EdgeNames;
use super::expansion::ExpandCursor;
use super::link::Link;
use super::scan::{KindScan, ScanCursor, index_scan, kind_scans, taken};
use super::statements;
use crate::cache::{Cache, NodeAnswer, Origin, Piece};
use crate::connector::{Question, Which};
use crate::prefetch::Prefetcher;

/// A source at one moment, as far as it has such: what is cached may be older, up to the age that its definition allows.
///
/// Invariant: whatever was cached or fetched ahead, answers are those of the source.
pub struct SourceView {
    pub(super) shared: Arc<Shared>,
    pub(super) cache: Arc<Cache>,
    pub(super) prefetcher: Arc<Prefetcher>,
    pub(super) link: Link,
    /// Time before which fetched rows are too old.
    pub(super) since_ns: u64,
    pub(super) edge_names: EdgeNames,
    pub(super) foresight: Foresight,
    /// Rows used, rows fetched ahead, and those of them used, when the view began.
    pub(super) counts_before: [u64; 3],
    /// The name of what is kept, as long as nothing of it is forgotten; none if that is this view's alone.
    pub(super) moment: Option<Moment>,
    /// The epochs of the tables of a shared cache when the view began; none if the cache is this view's alone.
    pub(super) epochs: Option<Vec<u64>>,
    /// The rows of tables that were forgotten since then: its snapshot may be older than what others read of them.
    outdated: OnceLock<Arc<Cache>>,
    /// When the oldest of what it used was fetched.
    pub(super) oldest_ns: AtomicU64,
}

impl SourceView {
    pub(super) fn new(shared: &Arc<Shared>, cache: Arc<Cache>, prefetcher: Arc<Prefetcher>, link: Link) -> SourceView {
        let age_ns = u64::try_from(shared.layout.definition.cache.age_max.as_nanos()).unwrap_or(u64::MAX);
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &cache.counts;
        SourceView {
            counts_before: [count(&counts.used), count(&counts.ahead_fetched), count(&counts.ahead_used)],
            foresight: Foresight::default(),
            moment: None,
            epochs: None,
            outdated: OnceLock::new(),
            oldest_ns: AtomicU64::new(u64::MAX),
            cache,
            prefetcher,
            link,
            since_ns: shared.environment.clock.now_ns().saturating_sub(age_ns),
            edge_names: EdgeNames::new(shared.layout.member, &shared.environment.memory),
            shared: shared.clone(),
        }
    }

    /// Follows edges, to and from other parts of the graph too. [`ReadView::expand`] leaves out edges with such an end.
    pub fn expand_with<'a>(
        &'a self,
        from: &'a [NodeId],
        expand: &Expand,
        crossing: Option<&'a dyn Crossing>,
    ) -> Result<Box<dyn EdgeCursor + 'a>> {
        if expand.is_chosen() {
            let (plain, chooser) = Chooser::new(expand);
            let inner = ExpandCursor::new(self, from, plain, crossing);
            return Ok(Box::new(Choosing::new(inner, chooser)));
        }
        Ok(Box::new(ExpandCursor::new(self, from, expand.clone(), crossing)))
    }

    /// The types of edges that may have an end in another part of the graph.
    pub(crate) fn crossing_types(&self) -> Vec<EdgeTypeId> {
        let layout = &self.shared.layout;
        let crosses = layout.edges.iter().filter(|kind| kind.ends.iter().any(|&space| layout.is_foreign(space)));
        let mut types: Vec<EdgeTypeId> = crosses.map(|kind| kind.edge_type).collect();
        types.sort_unstable();
        types.dedup();
        types
    }

    /// Forgets all that a view of its own has read.
    pub(super) fn forget_all(&self) {
        self.cache.forget(0..self.shared.layout.table_count());
        (0..self.shared.layout.nodes.len()).for_each(|kind| self.prefetcher.forget(kind));
    }

    /// The cache of a table: the shared one, as long as nothing of the table was forgotten since the view began.
    pub(super) fn cache_of(&self, table: usize) -> &Cache {
        match &self.epochs {
            Some(epochs) if epochs[table] != self.cache.epoch(table) => {
                self.outdated.get_or_init(|| self.shared.private_cache())
            }
            _ => &self.cache,
        }
    }

    /// Keeps a piece that this view fetched. Others see it only if nothing of its table was forgotten since the view began.
    pub(super) fn keep(&self, piece: Piece) -> Result<Arc<Piece>> {
        let cache = self.cache_of(piece.table);
        let is_shared = std::ptr::eq(cache, &*self.cache);
        let epoch = self.epochs.as_ref().filter(|_| is_shared).map(|epochs| epochs[piece.table]);
        cache.keep(piece, epoch)
    }

    /// Keeps nodes that a scan found, as long as the scan so far is but a part of what can be kept.
    pub(super) fn keep_scanned(
        &self,
        kind: usize,
        properties: &[usize],
        keys: &[u64],
        columns: &[Column],
        scanned: usize,
    ) -> Result<()> {
        model::meter::count(|meter| meter.rows_used += keys.len() as u64);
        let mut answer =
            NodeAnswer::new(kind, kind, self.shared.layout.nodes[kind].property_count, properties.to_vec());
        answer.push_numbers(keys, columns);
        let mut piece = answer.finish(&[], self.shared.environment.clock.now_ns(), Origin::Asked);
        piece.is_scanned = scanned * SCANNED_ROW_BYTES > self.cache.bytes_max() / 2;
        let piece = self.keep(piece)?;
        self.cache.note_uses(&piece, 0..piece.keys.len());
        Ok(())
    }
}

/// Approximate bytes in the cache of a node that a scan found.
const SCANNED_ROW_BYTES: usize = 64;

impl ReadView for SourceView {
    fn schema(&self) -> &Schema {
        &self.shared.layout.schema
    }

    fn statistics(&self) -> &Statistics {
        &self.shared.layout.statistics
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities
    }

    fn node_id_bound(&self) -> u64 {
        0
    }

    fn scan(&self, scan: &NodeScan) -> Result<Box<dyn NodeCursor + '_>> {
        Ok(Box::new(ScanCursor::new(self, scan)))
    }

    fn takes(&self, scan: &NodeScan) -> Taken {
        taken(&self.shared, scan)
    }

    fn expand<'a>(&'a self, from: &'a [NodeId], expand: &'a Expand) -> Result<Box<dyn EdgeCursor + 'a>> {
        self.expand_with(from, expand, None)
    }

    fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.columns_of_nodes(nodes, keys)
    }

    fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        self.columns_of_edges(edges, keys)
    }

    fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        self.labels_of_nodes(nodes)
    }

    fn has_label(&self, nodes: &[NodeId], label: LabelId) -> Result<Bitmap> {
        let layout = &self.shared.layout;
        let carries = |kind: Option<usize>| kind.is_some_and(|kind| layout.nodes[kind].labels.contains(&label));
        Ok(self.kinds_of_nodes(nodes)?.into_iter().map(carries).collect())
    }

    fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        Ok(self.kinds_of_nodes(nodes)?.iter().map(Option::is_some).collect())
    }

    fn edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap> {
        self.which_edges_exist(edges)
    }

    fn edge_numbers(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        Ok(self.numbers_of_edges(edges))
    }

    fn find_edges(&self, element_ids: &[&str]) -> Result<Vec<Option<EdgeValue>>> {
        self.edges_of_element_ids(element_ids)
    }

    fn lookup(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Column> {
        let layout = &self.shared.layout;
        let kinds = layout.kinds_of(&[label]);
        if layout.schema.unique(label, key).is_some()
            && let [kind] = kinds[..]
            && let Some(&property) = layout.nodes[kind].properties.get(&key)
        {
            return self.find_nodes(kind, property, values);
        }
        lookup_by_scan(self, label, key, values)
    }

    fn index_scan<'a>(&'a self, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
        index_scan(self, scan)
    }

    fn count(&self, count: &Count) -> Result<Option<u64>> {
        let layout = &self.shared.layout;
        let kinds: Vec<KindScan>;
        let questions: Vec<Question<'_>> = match count {
            Count::Matching(labels, filter) => {
                let scan = NodeScan { labels: labels.clone(), filter: filter.clone(), ..NodeScan::default() };
                if !taken(&self.shared, &scan).filter.iter().all(|&taken| taken) {
                    return Ok(None);
                }
                kinds = kind_scans(&self.shared, &scan);
                kinds.iter().map(KindScan::count).collect()
            }
            Count::Nodes(labels) => {
                let kinds = layout.kinds_of(labels).into_iter();
                kinds.map(|kind| Question::CountNodes { kind, which: Which::All }).collect()
            }
            Count::Edges(types) => {
                let lists = layout.lists(model::Direction::Out, types.as_deref());
                // Rows whose ends are not there, or are of another part of the graph, are no edges of this one.
                let is_sure = |edge: usize| {
                    let kind = &layout.edges[edge];
                    kind.ends_exist == [true, true] && !kind.ends.iter().any(|&space| layout.is_foreign(space))
                };
                if !lists.iter().all(|list| is_sure(list.edge)) {
                    return Ok(None);
                }
                lists.iter().map(|list| Question::CountEdges { kind: list.edge }).collect()
            }
        };
        self.link.ask_count(&questions).map(Some)
    }

    fn query_pattern<'a>(&'a self, asked: &GraphPattern) -> Result<Option<Box<dyn RowCursor + 'a>>> {
        Ok(self.match_pattern(asked)?.map(|rows| Box::new(rows) as Box<dyn RowCursor + 'a>))
    }

    fn all_edges<'a>(&'a self, stream: &EdgeStream) -> Result<Option<Box<dyn EdgeBlockCursor + 'a>>> {
        Ok(self.stream_edges(stream).map(|cursor| Box::new(cursor) as Box<dyn EdgeBlockCursor + 'a>))
    }

    fn moment(&self) -> Option<Moment> {
        self.moment
    }

    fn freshness(&self) -> Freshness {
        Freshness { oldest_ns: self.oldest_ns.load(Ordering::Relaxed), since_ns: self.since_ns }
    }

    fn statements(&self, access: &Access<'_>) -> Vec<Arc<str>> {
        statements::of(&self.shared, access)
    }

    fn follows_courses(&self) -> bool {
        let has_places = |kind: usize| self.prefetcher.dimensions(kind).is_some();
        self.prefetcher.follows_courses()
            || self.prefetcher.is_adaptive() && (0..self.shared.layout.nodes.len()).any(has_places)
    }

    fn release(&self) {
        self.link.release();
    }

    fn prefetch(&self, hint: &AccessHint<'_>) {
        match hint {
            _ if !self.prefetcher.is_on() => {}
            AccessHint::Expand(nodes, _) => self.note_due(nodes),
            AccessHint::Course(course, _) => self.note_course(course),
            AccessHint::NodeProperties(..) => {}
        }
    }
}
