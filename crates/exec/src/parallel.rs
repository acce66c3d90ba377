//! Parallel reading: a pipeline that begins with the scan of many nodes is run in parts, each over a range of ids.
//!
//! The parts depend on the store and not on the number of threads, and their results are taken in order of the ranges,
//! so that the answer is the same whatever the thread count.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cypher::plan::{Operator, OperatorId, OperatorKind};
use model::procedure::GraphAccess;
use model::{Map, ReadView, Result};

use crate::chunk::Chunk;
use crate::lowering::Prepared;
use crate::neighbor_lists::SharedLists;
use crate::profile::{OperatorProfile, Profiler};
use crate::runtime::{Environment, Runtime, Scope, SharedStates};

/// Into how many parts the ids are cut. Each part has groups of its own to be merged, so more of them cost more.
const PARTS: u64 = 8;

/// The scan at the bottom of a pipeline that can be run in parts.
#[derive(Clone, Debug)]
pub(crate) struct ScanPipeline {
    scan: OperatorId,
    labels: Vec<Arc<str>>,
}

impl ScanPipeline {
    /// True if a plan is nothing but the scan.
    pub(crate) fn is_scan_alone(&self, plan: &Operator) -> bool {
        plan.id == self.scan
    }
}

/// The scan at the bottom of a plan, if the plan gives for a part of its nodes a part of its rows, in the same order.
pub(crate) fn scan_pipeline(plan: &Operator) -> Option<ScanPipeline> {
    match &plan.kind {
        OperatorKind::NodeScan { input, labels, .. } if matches!(input.kind, OperatorKind::Unit) => {
            Some(ScanPipeline { scan: plan.id, labels: labels.clone() })
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
        | OperatorKind::CountMatches { input, .. }
        | OperatorKind::Apply { input, .. }
        | OperatorKind::Optional { input, .. }
        | OperatorKind::SemiApply { input, .. } => scan_pipeline(input),
        _ => None,
    }
}

/// The ranges of ids into which a scan is cut; `None` if it does not pay to run in parts.
pub(crate) fn ranges(runtime: &Runtime<'_>, pipeline: &ScanPipeline, parts: u64) -> Option<Vec<Range<u64>>> {
    let settings = runtime.environment.settings;
    if settings.threads <= 1 || runtime.morsel.is_some() || runtime.writes() {
        return None;
    }
    let guard = runtime.view();
    let view = guard.view();
    let bound = view.node_id_bound();
    let estimates = view.estimates();
    let labelled = pipeline.labels.iter().map(|label| view.schema().label(label).map_or(0, |id| estimates.label(id)));
    let nodes = labelled.min().unwrap_or(bound);
    if !view.capabilities().dense_node_ids || nodes < settings.parallel_nodes_min {
        return None;
    }
    Some((0..parts).map(|part| bound * part / parts..bound * (part + 1) / parts).collect())
}

/// Runs parts of a pipeline, by any thread, and keeps account of what they cost.
pub(crate) struct Parts<'p> {
    view: &'p dyn ReadView,
    prepared: &'p Prepared,
    environment: Environment<'p>,
    lists: Arc<SharedLists>,
    states: Arc<SharedStates>,
    scan: OperatorId,
    profiles: Mutex<Vec<Map<OperatorId, OperatorProfile>>>,
}

impl<'p> Parts<'p> {
    /// The parts of a pipeline that belongs to a run.
    pub(crate) fn new(runtime: &'p Runtime<'_>, view: &'p dyn ReadView, pipeline: &ScanPipeline) -> Parts<'p> {
        Parts {
            view,
            prepared: runtime.prepared,
            environment: runtime.environment,
            lists: runtime.lists.clone(),
            states: runtime.states.clone(),
            scan: pipeline.scan,
            profiles: Mutex::default(),
        }
    }

    /// Runs a part: `work` in a run of its own, whose scan keeps to the range. Time is charged to `consumer` until another
    /// operator is at work.
    pub(crate) fn run<T>(
        &self,
        range: Range<u64>,
        consumer: Option<OperatorId>,
        work: &dyn Fn(Scope<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let mut own = Runtime::new(GraphAccess::Read(self.view), self.prepared, self.environment);
        own.lists = self.lists.clone();
        own.states = self.states.clone();
        own.morsel = Some((self.scan, range));
        if let Some(profiler) = &own.profiler {
            profiler.switch(consumer);
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
            profiles.iter().for_each(|profile| profiler.add(profile));
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
    let parts = Parts::new(runtime, guard.view(), pipeline);
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
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(work_through);
        }
        work_through();
    });
    parts.finish(runtime);
    // Parts after a failed one may be missing; those before it are there, so that the first failure is found.
    let outcome = outcome.into_iter().map(|part| part.into_inner().expect("nothing panics while it holds the lock"));
    outcome.flatten().collect::<Result<Vec<T>>>().map(Some)
}
