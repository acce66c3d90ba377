//! Pipelines that begin with few rows and come to many: the rows before the last expansion are held, and what follows
//! is run in parts of them.
//!
//! A `Spread` stands below the last expansion of a pipeline. When the consumer wants it to hold ([`Holding`]) it keeps
//! the rows instead of passing them on, if enough edges lead on from them for parts to pay; otherwise it passes them on
//! as if it were not there. In a part it gives the part's rows.
//!
//! Cost: the degrees of the nodes that are expanded. Memory: the rows, as long as these are few; more are passed on.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use cypher::plan::{Operator, OperatorId, OperatorKind};
use model::store::EdgeIds;
use model::{Direction, Result};

use super::{Parts, run_parts, scan_pipeline};
use crate::adjacency::expansion;
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::rows::{RowBuffer, nodes_in};
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink, Step};
use crate::size::chunk_bytes;

/// The most rows that are held.
const ROWS_MAX: usize = 1 << 16;

/// Into how many parts rows are cut. Each part has groups of its own to be merged, so more of them cost more.
const PARTS: u64 = 4;

/// The expansion of a pipeline that is run in parts of its input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpreadPipeline {
    /// The expansion.
    pub(crate) expand: OperatorId,
}

/// The last expansion of a plan that gives for a part of the rows below it a part of its rows, in the same order; `None`
/// where the plan begins with a scan, which is cut itself.
pub(crate) fn spread_pipeline(plan: &Operator) -> Option<SpreadPipeline> {
    let mut operator = plan;
    loop {
        operator = match &operator.kind {
            OperatorKind::Filter { input, .. }
            | OperatorKind::Project { input, .. }
            | OperatorKind::Extend { input, .. }
            | OperatorKind::Apply { input, .. }
            | OperatorKind::Optional { input, .. }
            | OperatorKind::SemiApply { input, .. } => input,
            OperatorKind::Expand { into: false, .. } => break,
            _ => return None,
        };
    }
    if scan_pipeline(plan).is_some() { None } else { Some(SpreadPipeline { expand: operator.id }) }
}

/// The rows held before an expansion, as the runs of one pipeline see them.
#[derive(Default)]
pub(crate) struct Holding<'a> {
    /// The expansion before which rows are to be held.
    wanted: Cell<Option<OperatorId>>,
    held: RefCell<Option<Held<'a>>>,
    /// The rows of which a part runs.
    given: Option<Arc<Chunk>>,
}

/// Rows that are held, and the ranges of them that are parts.
struct Held<'a> {
    rows: Chunk,
    ranges: Vec<Range<u64>>,
    _charge: Charge<'a>,
}

/// See the module.
pub(crate) struct Spread {
    expand: OperatorId,
    input: Step,
    from: usize,
    direction: Direction,
    types: Vec<Arc<str>>,
}

impl Spread {
    /// A spread below an expansion along such edges from the nodes of a column.
    pub(crate) fn over(
        input: Step,
        expand: OperatorId,
        from: usize,
        direction: Direction,
        types: Vec<Arc<str>>,
    ) -> Step {
        Step { id: input.id, operator: Box::new(Spread { expand, input, from, direction, types }), in_parts: false }
    }

    /// The ranges of rows that have about as many edges each; `None` if there are few edges.
    fn ranges(&self, runtime: &Runtime<'_>, rows: &Chunk) -> Result<Option<Vec<Range<u64>>>> {
        let (from, places) = nodes_in(&rows.columns[self.from], "the start of a pattern")?;
        let view = runtime.view();
        // A distant store would read all edges to count them.
        if view.view().capabilities().is_remote {
            return Ok(None);
        }
        let Some(expand) = expansion(view.view(), self.direction, &self.types, EdgeIds::Omit) else { return Ok(None) };
        let degrees = view.view().degrees(&from, self.direction, expand.types.as_deref())?;
        let edges: u64 = degrees.iter().sum();
        if edges < runtime.environment.settings.parallel_nodes_min || rows.rows < 2 {
            return Ok(None);
        }
        let (mut ranges, mut start, mut before) = (Vec::new(), 0, 0);
        for (at, degree) in degrees.iter().enumerate() {
            before += degree;
            let end = places.as_ref().map_or(at, |places| places[at] as usize) as u64 + 1;
            if before * PARTS >= edges * (ranges.len() as u64 + 1) && end > start {
                ranges.push(start..end);
                start = end;
            }
        }
        if start < rows.rows as u64 {
            ranges.push(start..rows.rows as u64);
        }
        Ok((ranges.len() > 1).then_some(ranges))
    }

    /// Passes on what was gathered so far.
    fn pass(&self, rows: Chunk, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let batch = scope.runtime.environment.settings.batch_rows.max(1);
        for start in (0..rows.rows).step_by(batch) {
            scope.runtime.environment.interrupt.check()?;
            if sink(rows.slice(start, rows.rows.min(start + batch)))? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

impl Physical for Spread {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let is_own = |(part, _): &&(OperatorId, Range<u64>)| *part == self.expand;
        if let (Some((_, range)), Some(rows)) = (runtime.morsel.as_ref().filter(is_own), &runtime.holding.given) {
            return self.pass(rows.slice(range.start as usize, range.end as usize), scope, sink);
        }
        if runtime.holding.wanted.get() != Some(self.expand) {
            return self.input.operator.run(scope, sink);
        }
        runtime.holding.wanted.set(None);
        let (mut buffer, mut charge) = (Some(RowBuffer::default()), runtime.charge("Expand"));
        let flow = self.input.operator.run(scope, &mut |chunk| {
            let Some(rows) = &mut buffer else { return sink(chunk) };
            let has_room = rows.len() + chunk.rows <= ROWS_MAX && charge.try_grow(chunk_bytes(&chunk)).is_ok();
            if has_room {
                rows.push(chunk);
                return Ok(Flow::Continue);
            }
            let width = chunk.columns.len();
            let rows = buffer.take().unwrap_or_default().finish(width);
            charge.count(0);
            if self.pass(rows, scope, sink)? == Flow::Stop { Ok(Flow::Stop) } else { sink(chunk) }
        })?;
        let Some(rows) = buffer.filter(|rows| rows.len() > 0) else { return Ok(flow) };
        let rows = rows.finish(0);
        match self.ranges(runtime, &rows)? {
            Some(ranges) => {
                *runtime.holding.held.borrow_mut() = Some(Held { rows, ranges, _charge: charge });
                Ok(Flow::Continue)
            }
            None => self.pass(rows, scope, sink),
        }
    }
}

/// Runs `work` once or, where it then turns out that rows were held, for each part of these; gives the results in order.
pub(crate) fn run<T: Send>(
    scope: Scope<'_, '_>,
    pipeline: SpreadPipeline,
    work: &(dyn Fn(Scope<'_, '_>) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let runtime = scope.runtime;
    let is_dense = runtime.view().view().capabilities().dense_node_ids;
    let is_parallel = runtime.environment.settings.threads > 1 && runtime.morsel.is_none();
    if !is_parallel || !is_dense || runtime.writes() {
        return Ok(vec![work(scope)?]);
    }
    runtime.holding.wanted.set(Some(pipeline.expand));
    let whole = work(scope);
    runtime.holding.wanted.set(None);
    let held = runtime.holding.held.take();
    let (whole, held) = match (whole?, held) {
        (whole, None) => return Ok(vec![whole]),
        (whole, Some(held)) => (whole, held),
    };
    drop(whole);
    let guard = runtime.view();
    let given = Arc::new(held.rows);
    let parts = Parts::new(runtime, guard.view(), pipeline.expand, Some(given));
    run_parts(runtime, parts, &held.ranges, work)
}

impl Holding<'_> {
    /// For a part of these rows.
    pub(super) fn of_part(given: Option<Arc<Chunk>>) -> Self {
        Holding { given, ..Holding::default() }
    }
}
