//! The turn of a run: it ends at a horizon, and the rest of the plan, made anew, goes on with the rows that are there.

use std::sync::Arc;

use cypher::plan::{HorizonId, OperatorId, Plan, SlotId};
use model::{Map, ReadView, Result};

use super::{Flow, Prepared};
use crate::chunk::Chunk;

/// Condition on which the rest of a plan is made anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplanRule {
    /// The number of rows differs from the estimate by this factor. From 1 down, any number of rows will do.
    pub factor: f64,
    /// Rows that the operators of the rest are expected to give, in all, as far as is known now.
    pub work_min: f64,
}

impl Default for ReplanRule {
    fn default() -> ReplanRule {
        ReplanRule { factor: 100.0, work_min: 20_000.0 }
    }
}

/// The estimates around a horizon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Number of rows that are expected.
    pub(crate) estimate: f64,
    /// Rows that the operators of the rest are expected to give.
    pub(crate) work: f64,
    /// The number of rows is known before the first one comes.
    pub(crate) is_counted: bool,
    /// The consumer takes all rows, however many there are.
    pub(crate) takes_all: bool,
}

impl ReplanRule {
    /// True if it holds for every number of rows.
    pub(crate) fn is_forced(&self) -> bool {
        self.factor <= 1.0
    }

    /// True if the rest is made anew for that number of rows.
    pub(crate) fn applies(&self, place: &Place, rows: u64) -> bool {
        let (rows, estimate) = (rows as f64, place.estimate.max(1.0));
        let is_far = rows >= estimate * self.factor || rows.max(1.0) * self.factor <= estimate;
        let work = place.work * (rows / estimate).max(1.0);
        self.is_forced() || is_far && rows > 0.0 && work >= self.work_min
    }

    /// The number of rows from which on more have come than expected.
    pub(crate) fn many(&self, place: &Place) -> f64 {
        place.estimate.max(1.0) * self.factor
    }

    /// The number of rows up to which fewer have come than expected.
    pub(crate) fn few(&self, place: &Place) -> f64 {
        place.estimate / self.factor
    }
}

/// Rows that have come to a horizon.
pub struct Arrival<'r> {
    /// The graph, as it is now.
    pub view: &'r dyn ReadView,
    /// The operator that has given them.
    pub at: OperatorId,
    /// Their number.
    pub rows: u64,
    /// Their slots.
    pub slots: &'r [SlotId],
    /// False if equal rows may have come too seldom.
    pub multiplicity: bool,
    /// The rest that has run up to here; `None` while the first plan runs.
    pub former: Option<&'r Rest>,
}

/// Makes the rest of a plan anew.
pub trait Replanner: Sync {
    /// Condition on which it is asked.
    fn rule(&self) -> ReplanRule;
    /// The rest of the plan for rows that have come; `None` to go on as planned.
    fn rest(&self, arrival: &Arrival<'_>) -> Result<Option<Arc<Rest>>>;
}

/// The rest of a plan, made anew.
pub struct Rest {
    /// The plan of the whole statement to which it belongs.
    pub plan: Arc<Plan>,
    /// The operator of that plan whose rows are there.
    pub at: OperatorId,
    /// The rest, lowered.
    pub prepared: Prepared,
    /// The operators of the former plan that have run, and what they are in this one.
    pub done: Map<OperatorId, OperatorId>,
    /// Number of rows that were expected.
    pub expected: f64,
    /// The numbers of rows that it was made for.
    pub seen: Vec<(HorizonId, u64)>,
}

/// Rows that were kept, to be given again.
pub(crate) trait HeldRows {
    /// Gives all rows in order.
    fn for_each(&self, each: &mut dyn FnMut(Chunk) -> Result<Flow>) -> Result<Flow>;
}

/// The end of a run at a horizon.
pub(crate) struct Turn<'a> {
    /// The rest of the plan.
    pub(crate) rest: Arc<Rest>,
    /// The rows that have come.
    pub(crate) held: Box<dyn HeldRows + 'a>,
    /// Their number.
    pub(crate) rows: u64,
}
