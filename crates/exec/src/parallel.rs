//! Parallel reading: a pipeline that begins with the scan of many nodes is run in parts, each over a range of ids.
//!
//! The parts depend on the store and not on the number of threads, and their results are taken in order of the ranges,
//! so that the answer is the same whatever the thread count.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cypher::plan::{Operator, OperatorId, OperatorKind};
use model::procedure::GraphAccess;
use model::{Map, Result};

use crate::chunk::Chunk;
use crate::profile::{OperatorProfile, Profiler};
use crate::runtime::{Runtime, Scope};

/// Into how many parts the ids are cut. Each part has groups of its own to be merged, so more of them cost more.
const PARTS: u64 = 8;

/// The scan at the bottom of a pipeline that can be run in parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanPipeline {
    scan: OperatorId,
}

/// The scan at the bottom of a plan, if the plan gives for a part of its nodes a part of its rows, in the same order.
pub(crate) fn scan_pipeline(plan: &Operator) -> Option<ScanPipeline> {
    match &plan.kind {
        OperatorKind::NodeScan { input, .. } if matches!(input.kind, OperatorKind::Unit) => {
            Some(ScanPipeline { scan: plan.id })
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

/// Runs `work` for each part of the scan and gives the results in order; `None` if it does not pay to run in parts.
pub(crate) fn run<T: Send>(
    scope: Scope<'_, '_>,
    pipeline: &ScanPipeline,
    work: &(dyn Fn(Scope<'_, '_>) -> Result<T> + Sync),
) -> Result<Option<Vec<T>>> {
    let runtime = scope.runtime;
    let (environment, prepared) = (runtime.environment, runtime.prepared);
    let states = &runtime.states;
    let threads = environment.settings.threads;
    if threads <= 1 || runtime.morsel.is_some() || runtime.writes() {
        return Ok(None);
    }
    let guard = runtime.view();
    let view = guard.view();
    let bound = view.node_id_bound();
    if !view.capabilities().dense_node_ids || bound < environment.settings.parallel_nodes_min {
        return Ok(None);
    }
    let ranges: Vec<Range<u64>> = (0..PARTS).map(|part| bound * part / PARTS..bound * (part + 1) / PARTS).collect();
    let outcome: Vec<Mutex<Option<Outcome<T>>>> = ranges.iter().map(|_| Mutex::new(None)).collect();
    let lists = runtime.lists.clone();
    let next = AtomicUsize::new(0);
    let work_through = || {
        while let Some(part) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&part| part < ranges.len()) {
            let mut own = Runtime::new(GraphAccess::Read(view), prepared, environment);
            own.lists = lists.clone();
            own.states = states.clone();
            own.morsel = Some((pipeline.scan, ranges[part].clone()));
            let argument = Chunk::default();
            let result = work(Scope { runtime: &own, argument: &argument });
            let failed = result.is_err();
            let profile = own.profiler.map(Profiler::finish).unwrap_or_default();
            *outcome[part].lock().expect("nothing panics while it holds the lock") = Some((result, profile));
            if failed {
                next.store(ranges.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(ranges.len()) {
            scope.spawn(work_through);
        }
        work_through();
    });
    let mut results = Vec::with_capacity(ranges.len());
    for part in outcome {
        // Parts after a failed one may be missing; those before it are there, so that the first failure is found.
        let Some((result, profile)) = part.into_inner().expect("nothing panics while it holds the lock") else {
            continue;
        };
        if let Some(profiler) = &runtime.profiler {
            profiler.add(&profile);
        }
        results.push(result?);
    }
    Ok(Some(results))
}

/// What a part gave, and what it cost.
type Outcome<T> = (Result<T>, Map<OperatorId, OperatorProfile>);
