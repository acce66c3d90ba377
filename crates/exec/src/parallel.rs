//! Parallel reading: a pipeline that begins with the scan of many nodes is run in parts, each over a range of ids.
//!
//! A pipeline that begins with few rows and comes to many is run in parts of its rows on the way: [`spread`].
//!
//! The parts depend on the store and not on the number of threads, and their results are taken in order of the ranges,
//! so that the answer is the same whatever the thread count.

pub(crate) mod spread;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cypher::plan::{CountedBranch, CountedNode, Operator, OperatorId, OperatorKind};
use model::procedure::GraphAccess;
use model::{Direction, Map, NodeBatch, NodeScan, ReadView, Result};

use crate::adjacency::label_ids;
use crate::chunk::Chunk;
use crate::edge_ends::Led;
use crate::profile::{At, OperatorProfile, Profiler};
use crate::runtime::Prepared;
use crate::runtime::{Environment, Runtime, Scope, SharedStates};
use spread::Holding;

/// Into how many parts the ids are cut. Each part has groups of its own to be merged, so more of them cost more.
const PARTS: u64 = 8;

/// Fewest nodes of a scan that is cut because of what is counted from them.
const NODES_MIN: usize = 64;

/// Expected rows below which a scan is not cut for what is counted from them.
const FEW_ROWS: f64 = 2.0;

/// Nodes from which on a scan is cut whatever is counted from them.
const COUNTED_NODES_MIN: u64 = 8_192;

/// Nodes of a part of such a scan, about: what is looked up for several of them at once is looked up for each part.
const PART_NODES: usize = 1_536;

/// The scan at the bottom of a pipeline that can be run in parts.
#[derive(Clone, Debug)]
pub(crate) struct ScanPipeline {
    scan: OperatorId,
    labels: Vec<Arc<str>>,
    /// The edges that are followed from few nodes perhaps, but all of them.
    counts: Vec<CountedEdges>,
    /// The order of the rows depends on the parts, which are then made for one thread too.
    merges: bool,
}

/// Edges of a counted tree.
#[derive(Clone, Debug)]
struct CountedEdges {
    direction: Direction,
    /// None for any.
    types: Vec<Arc<str>>,
    /// Labels of the nodes that they lead to, if nothing else is asked of these: the edges need not be followed then if their types
    /// are known to lead to such nodes.
    labels: Option<Vec<Arc<str>>>,
}

impl ScanPipeline {
    /// The scan.
    pub(crate) fn scan(&self) -> OperatorId {
        self.scan
    }

    /// True if a plan is nothing but the scan.
    pub(crate) fn is_scan_alone(&self, plan: &Operator) -> bool {
        plan.id == self.scan
    }
}

/// The scan at the bottom of a plan, if the plan gives for a part of its nodes a part of its rows, in the same order.
pub(crate) fn scan_pipeline(plan: &Operator) -> Option<ScanPipeline> {
    match &plan.kind {
        OperatorKind::NodeScan { input, labels, .. } if matches!(input.kind, OperatorKind::Unit) => {
            Some(ScanPipeline { scan: plan.id, labels: labels.clone(), counts: Vec::new(), merges: false })
        }
        OperatorKind::Filter { input, .. }
        | OperatorKind::Project { input, .. }
        | OperatorKind::Extend { input, .. }
        | OperatorKind::Expand { input, .. }
        | OperatorKind::Intersect { input, .. }
        | OperatorKind::VariableExpand { input, .. }
        | OperatorKind::ShortestPath { input, .. }
        | OperatorKind::PathSearch { input, .. }
        | OperatorKind::Unwind { input, .. }
        | OperatorKind::Apply { input, .. }
        | OperatorKind::Optional { input, .. }
        | OperatorKind::SemiApply { input, .. } => scan_pipeline(input),
        OperatorKind::PartialAggregate { input, .. } => {
            scan_pipeline(input).map(|pipeline| ScanPipeline { merges: true, ..pipeline })
        }
        OperatorKind::CountMatches { input, trees, .. } => {
            let mut pipeline = scan_pipeline(input)?;
            // Counts from one node are not parted.
            let counted = if input.estimated_rows < FEW_ROWS { [].iter() } else { trees.iter() };
            counted.for_each(|tree| add_edges(tree, &mut pipeline.counts));
            Some(pipeline)
        }
        _ => None,
    }
}

/// Adds the edges of a tree.
fn add_edges(node: &CountedNode, edges: &mut Vec<CountedEdges>) {
    for CountedBranch { direction, types, node, .. } in &node.branches {
        let is_leaf = node.predicate.is_none() && node.branches.is_empty() && node.nested.is_empty();
        let labels = is_leaf.then(|| node.labels.clone());
        edges.push(CountedEdges { direction: *direction, types: types.clone(), labels });
        add_edges(node, edges);
    }
    node.nested.iter().for_each(|nested| add_edges(&nested.node, edges));
}

impl CountedEdges {
    /// Number of edges that are followed, about, if they are of all nodes; none where degrees suffice.
    fn followed(&self, view: &dyn ReadView) -> u64 {
        let led = |labels| Led { direction: self.direction, types: &self.types, labels };
        if self.labels.as_deref().is_some_and(|labels| led(labels).looks(view) == 0) {
            return 0;
        }
        let estimates = view.estimates();
        let of = |name: &Arc<str>| view.schema().edge_type(name).map_or(0, |id| estimates.edge_type(id));
        if self.types.is_empty() { estimates.edges } else { self.types.iter().map(of).sum() }
    }
}

impl ScanPipeline {
    /// True if the count from the nodes of the scan covers enough edges (`edges_min`) for parts to pay, also for few
    /// nodes.
    fn counts_much(&self, view: &dyn ReadView, edges_min: u64) -> bool {
        self.counts.iter().map(|edges| edges.followed(view)).sum::<u64>() >= edges_min
    }
}

/// Ranges of ids with as many nodes of the labels each.
fn even_ranges(view: &dyn ReadView, labels: &[Arc<str>], parts: u64) -> Result<Option<Vec<Range<u64>>>> {
    let Some(labels) = label_ids(view, labels) else { return Ok(None) };
    let scan = NodeScan { labels, ..NodeScan::default() };
    let (mut batch, mut nodes) = (NodeBatch::default(), Vec::new());
    let mut cursor = view.scan(&scan)?;
    while cursor.next(&mut batch)? {
        nodes.extend_from_slice(&batch.nodes);
    }
    if nodes.len() < NODES_MIN {
        return Ok(None);
    }
    let parts = (nodes.len() / PART_NODES).next_power_of_two().clamp(2, parts as usize) as u64;
    let end_of = |part: u64| match nodes.get(nodes.len() * part as usize / parts as usize) {
        Some(node) if part > 0 => node.0,
        Some(_) => 0,
        None => view.node_id_bound(),
    };
    Ok(Some((0..parts).map(|part| end_of(part)..end_of(part + 1)).collect()))
}

/// The ranges of ids into which a scan is cut; `None` if it does not pay to run in parts.
pub(crate) fn ranges(runtime: &Runtime<'_>, pipeline: &ScanPipeline, parts: u64) -> Option<Vec<Range<u64>>> {
    let settings = runtime.environment.settings;
    if (settings.threads <= 1 && !pipeline.merges) || runtime.morsel.is_some() || runtime.writes() {
        return None;
    }
    let guard = runtime.view();
    let view = guard.view();
    let bound = view.node_id_bound();
    let estimates = view.estimates();
    let labelled = pipeline.labels.iter().map(|label| view.schema().label(label).map_or(0, |id| estimates.label(id)));
    let nodes = labelled.min().unwrap_or(bound);
    if !view.capabilities().dense_node_ids {
        return None;
    }
    if nodes < settings.parallel_nodes_min {
        let counts_all = !pipeline.counts.is_empty() && nodes >= COUNTED_NODES_MIN;
        let pays = nodes >= NODES_MIN as u64 && (counts_all || pipeline.counts_much(view, settings.parallel_nodes_min));
        // The scan itself meets the failure again and reports it.
        return if pays { even_ranges(view, &pipeline.labels, parts).ok().flatten() } else { None };
    }
    Some((0..parts).map(|part| bound * part / parts..bound * (part + 1) / parts).collect())
}

/// Runs parts of a pipeline, by any thread, and keeps account of what they cost.
pub(crate) struct Parts<'p> {
    view: &'p dyn ReadView,
    prepared: &'p Prepared,
    environment: Environment<'p>,
    states: Arc<SharedStates>,
    /// The operator that gives a part of its rows: the scan, or the expansion whose input is held.
    cut: OperatorId,
    /// The rows that are held.
    given: Option<Arc<Chunk>>,
    profiles: Mutex<Vec<Map<OperatorId, OperatorProfile>>>,
}

impl<'p> Parts<'p> {
    /// The parts of a pipeline that belongs to a run, cut at an operator.
    pub(crate) fn new(
        runtime: &'p Runtime<'_>,
        view: &'p dyn ReadView,
        cut: OperatorId,
        given: Option<Arc<Chunk>>,
    ) -> Parts<'p> {
        Parts {
            view,
            prepared: runtime.prepared,
            environment: runtime.environment,
            states: runtime.states.clone(),
            cut,
            given,
            profiles: Mutex::default(),
        }
    }

    /// Runs a part: `work` in a run of its own, whose pipeline keeps to the range. Time is charged to `consumer` until another
    /// operator is at work.
    pub(crate) fn run<T>(
        &self,
        range: Range<u64>,
        consumer: Option<OperatorId>,
        work: &dyn Fn(Scope<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let mut own = Runtime::new(GraphAccess::Read(self.view), self.prepared, self.environment);
        own.states = self.states.clone();
        own.morsel = Some((self.cut, range));
        own.holding = Holding::of_part(self.given.clone());
        if let Some(profiler) = &own.profiler {
            profiler.switch(consumer.into());
        }
        let argument = Chunk::default();
        let result = work(Scope { runtime: &own, argument: &argument });
        if let Some(profiler) = own.profiler {
            self.profiles.lock().unwrap_or_else(PoisonError::into_inner).push(profiler.finish());
        }
        result
    }

    /// Adds what the parts cost to the profile of the run they belong to.
    pub(crate) fn finish(self, runtime: &Runtime<'_>) {
        if let Some(profiler) = &runtime.profiler {
            let profiles = self.profiles.into_inner().unwrap_or_else(PoisonError::into_inner);
            profiler.add(&profiles);
        }
    }
}

/// Runs `work` for each part of the scan and gives the results in order; `None` if it does not pay to run in parts.
pub(crate) fn run<T: Send>(
    scope: Scope<'_, '_>,
    pipeline: &ScanPipeline,
    work: &(dyn Fn(Scope<'_, '_>) -> Result<T> + Sync),
) -> Result<Option<Vec<T>>> {
    let runtime = scope.runtime;
    let Some(ranges) = ranges(runtime, pipeline, PARTS) else { return Ok(None) };
    let guard = runtime.view();
    let parts = Parts::new(runtime, guard.view(), pipeline.scan(), None);
    run_parts(runtime, parts, &ranges, work).map(Some)
}

/// Runs `work` for each range and gives the results in order.
fn run_parts<T: Send>(
    runtime: &Runtime<'_>,
    parts: Parts<'_>,
    ranges: &[Range<u64>],
    work: &(dyn Fn(Scope<'_, '_>) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let outcome: Vec<Mutex<Option<Result<T>>>> = ranges.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let consumer = runtime.profiler.as_ref().and_then(Profiler::current);
    let work_through = || {
        while let Some(part) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&part| part < ranges.len()) {
            let result = parts.run(ranges[part].clone(), consumer, work);
            let failed = result.is_err();
            *outcome[part].lock().expect("nothing panics while it holds the lock") = Some(result);
            if failed {
                next.store(ranges.len(), Ordering::Relaxed);
            }
        }
    };
    let workers = runtime.environment.settings.threads.min(ranges.len());
    runtime.environment.interrupt.use_threads(workers);
    let before = runtime.profiler.as_ref().map(|profiler| profiler.switch(At::Parts));
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(|| {
                let _listening = runtime.environment.interrupt.listen();
                let _helping = runtime.environment.interrupt.help();
                work_through();
            });
        }
        work_through();
    });
    parts.finish(runtime);
    if let (Some(profiler), Some(before)) = (&runtime.profiler, before) {
        profiler.switch(before);
    }
    // Parts after a failed one may be missing; those before it are there, so that the first failure is found.
    let outcome = outcome.into_iter().map(|part| part.into_inner().expect("nothing panics while it holds the lock"));
    outcome.flatten().collect()
}
