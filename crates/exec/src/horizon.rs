//! Horizons: points of a plan where the rest may be made anew, once it is known how many rows have come.
//!
//! A horizon stands over an operator of the outermost pipeline. Nothing above it has seen a row, so nothing there has written, called a
//! procedure or drawn a random number. Where the number of rows is far from the estimate, it keeps the rows and ends the run; the run of
//! the rest then begins with them. What is below runs once.
//!
//! Over an operator that has all its rows before it gives the first (`Sort`, `Top`, `Aggregate`), the number is known at once. Over others
//! the horizon holds a few rows back: enough to see that fewer came than expected, or more where few were expected.
//!
//! Cost: an estimate is compared with a number; at most [`HELD_ROWS_MAX`] rows are held back, and none where a limit may end the run early.

use std::sync::Arc;

use cypher::plan::{HorizonId, Operator, OperatorId, OperatorKind, Plan, PlanMode, SlotId};
use model::{Map, Result};

use crate::chunk::{Chunk, Layout};
use crate::lowering::{Horizons, inputs};
use crate::pushing::push_in_batches;
use crate::runtime::turn::{Arrival, HeldRows, Place, ReplanRule, Replanner, Rest, Turn};
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink};
use crate::spill::{RowStore, StoredRows};

/// The most rows that are held back before it is known how many come.
const HELD_ROWS_MAX: u64 = 4_096;

/// The consumer of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consumer {
    /// It takes all rows before it gives any.
    TakesAll,
    /// It passes rows on to whoever takes the result, who may have enough of them.
    PassesOn,
    /// It has enough at some number of rows.
    Limits,
}

/// The horizons of a plan that may be of use.
pub(crate) fn of(plan: &Plan) -> Horizons {
    let mut horizons = Horizons::default();
    if plan.horizons.is_empty() || !matches!(plan.mode, PlanMode::Read | PlanMode::Write) {
        return horizons;
    }
    let marked: Map<OperatorId, HorizonId> = plan.horizons.iter().map(|(horizon, id)| (*id, *horizon)).collect();
    let all = work(&plan.root);
    add(&plan.root, Consumer::PassesOn, &mut |operator, consumer| {
        let is_counted = is_counted(operator);
        if marked.contains_key(&operator.id) && (is_counted || consumer != Consumer::Limits) {
            let (estimate, work) = (operator.estimated_rows, all - work(operator));
            let takes_all = consumer == Consumer::TakesAll;
            horizons.insert(operator.id, Place { estimate, work, is_counted, takes_all });
        }
    });
    horizons
}

/// Shows the operators of the outermost pipeline, each with its consumer. The parts of a union are not among them: when the second
/// one runs, the rows of the first have gone on.
fn add(plan: &Operator, consumer: Consumer, look: &mut dyn FnMut(&Operator, Consumer)) {
    look(plan, consumer);
    match &plan.kind {
        OperatorKind::Union { .. } => {}
        OperatorKind::CrossProduct { left, right } | OperatorKind::HashJoin { left, right, .. } => {
            add(left, consumer, look);
            add(right, Consumer::TakesAll, look);
        }
        kind => {
            let consumer = match kind {
                OperatorKind::Limit { .. } => Consumer::Limits,
                _ if takes_all(kind) => Consumer::TakesAll,
                _ => consumer,
            };
            inputs(plan).into_iter().for_each(|input| add(input, consumer, look));
        }
    }
}

fn takes_all(kind: &OperatorKind) -> bool {
    use OperatorKind as Kind;
    matches!(kind, Kind::Sort { .. } | Kind::Top { .. } | Kind::Aggregate { .. } | Kind::Create { .. })
        || matches!(kind, Kind::Merge { .. } | Kind::Set { .. } | Kind::Delete { .. } | Kind::ForEach { .. })
}

/// True if the number of rows is known before the first one is given.
fn is_counted(plan: &Operator) -> bool {
    match &plan.kind {
        OperatorKind::Sort { .. } | OperatorKind::Top { .. } | OperatorKind::Aggregate { .. } => true,
        OperatorKind::Project { input, items } | OperatorKind::Extend { input, items } => {
            // The operators of a subquery would say how many rows they give.
            is_counted(input) && !items.iter().any(|(_, value)| value.has_subquery())
        }
        _ => false,
    }
}

/// Rows that the operators of a plan are expected to give, in all.
fn work(plan: &Operator) -> f64 {
    plan.estimated_rows + plan.inputs().into_iter().map(work).sum::<f64>()
}

/// See the module.
pub(crate) struct Horizon {
    at: OperatorId,
    place: Place,
    operator: Box<dyn Physical>,
    /// The slots of its rows.
    slots: Vec<SlotId>,
    /// True if equal rows come as often as they should.
    multiplicity: bool,
}

impl Horizon {
    /// A horizon over an operator whose rows have that layout.
    pub(crate) fn over(
        operator: Box<dyn Physical>,
        (at, place): (OperatorId, Place),
        layout: &Layout,
        multiplicity: bool,
    ) -> Box<dyn Physical> {
        Box::new(Horizon { at, place, operator, slots: layout.slots().to_vec(), multiplicity })
    }

    /// The rest of the plan, if it is to be made anew for that number of rows.
    fn rest(&self, runtime: &Runtime<'_>, rule: ReplanRule, rows: u64) -> Result<Option<Arc<Rest>>> {
        let Some(replanner) = runtime.environment.replanner.filter(|_| rule.applies(&self.place, rows)) else {
            return Ok(None);
        };
        let guard = runtime.view();
        let (view, slots) = (guard.view(), self.slots.as_slice());
        let (at, multiplicity, former) = (self.at, self.multiplicity, runtime.rest.as_deref());
        let arrival = Arrival { view, at, rows, slots, multiplicity, former };
        runtime.outside_of_operators(|| replanner.rest(&arrival))
    }

    /// Number of rows up to which they are held back.
    fn held_max(&self, rule: ReplanRule) -> u64 {
        if rule.is_forced() {
            return u64::MAX;
        }
        let many = rule.many(&self.place);
        let many = if self.place.takes_all && many <= HELD_ROWS_MAX as f64 { many } else { 0.0 };
        (rule.few(&self.place).max(many) as u64).min(HELD_ROWS_MAX)
    }

    /// Passes on what was held back.
    fn pass(&self, scope: Scope<'_, '_>, rows: &StoredRows<'_>, sink: &mut Sink<'_>) -> Result<Flow> {
        rows.for_each(&mut |chunk| push_in_batches(scope, chunk, sink))
    }
}

/// Progress of the rows at a horizon.
enum Progress<'m> {
    /// They are held back until it is clear how many there are.
    Held(RowStore<'m>),
    /// They are kept for the rest, which is planned for them already or will be when all are there.
    Kept(RowStore<'m>, Option<Arc<Rest>>),
    /// They go on.
    Passed,
}

impl Physical for Horizon {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let replanner = runtime.environment.replanner.filter(|_| runtime.morsel.is_none());
        let Some(rule) = replanner.map(Replanner::rule) else { return self.operator.run(scope, sink) };
        let held_max = self.held_max(rule);
        if held_max == 0 && !self.place.is_counted {
            return self.operator.run(scope, sink);
        }
        runtime.announce(None);
        let mut rows = 0;
        let mut progress = Progress::Held(RowStore::new(runtime.charge("Horizon")));
        let flow = self.operator.run(scope, &mut |chunk| {
            let announced = if rows == 0 && self.place.is_counted { runtime.announced() } else { None };
            rows += chunk.rows as u64;
            if let (Progress::Held(_), Some(all)) = (&progress, announced) {
                progress = match self.rest(runtime, rule, all)? {
                    Some(rest) => Progress::Kept(RowStore::new(runtime.charge("Horizon")), Some(rest)),
                    None => Progress::Passed,
                };
            }
            match &mut progress {
                Progress::Passed => return sink(chunk),
                Progress::Kept(store, _) | Progress::Held(store) => store.push(chunk)?,
            }
            if matches!(progress, Progress::Held(_)) && rows > held_max {
                let Progress::Held(store) = std::mem::replace(&mut progress, Progress::Passed) else { unreachable!() };
                if self.place.takes_all && rule.applies(&self.place, rows) {
                    progress = Progress::Kept(store, None);
                } else {
                    return self.pass(scope, &store.finish(self.slots.len()), sink);
                }
            }
            Ok(Flow::Continue)
        })?;
        let (store, rest) = match progress {
            Progress::Passed => return Ok(flow),
            Progress::Held(store) | Progress::Kept(store, None) => (store, self.rest(runtime, rule, rows)?),
            Progress::Kept(store, rest) => (store, rest),
        };
        let held = store.finish(self.slots.len());
        let Some(rest) = rest else { return self.pass(scope, &held, sink) };
        runtime.turn(Turn { rest, held: Box::new(Kept(held)), rows })
    }
}

/// Rows in a store.
struct Kept<'m>(StoredRows<'m>);

impl HeldRows for Kept<'_> {
    fn for_each(&self, each: &mut dyn FnMut(Chunk) -> Result<Flow>) -> Result<Flow> {
        self.0.for_each(each)
    }
}
