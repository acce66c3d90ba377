//! The rest of a plan, made anew: the whole statement is planned once more, with the numbers of rows that have come in place of estimates.
//!
//! Invariant: the rest is taken only from a plan that gets the rows of the horizon in the very way in which they were got. Its rest is then
//! right for them, whatever rules of the optimizer have moved across the horizon in either plan.

use std::sync::{Arc, Mutex, PoisonError};

use cypher::plan::{HorizonId, Operator, OperatorId, Plan, operator_at};
use model::{Map, ReadView, Result};

use crate::prepare::prepare_rest;
use crate::runtime::turn::{Arrival, ReplanRule, Replanner, Rest};

/// The most times that one run plans anew.
const REPLANNED_MAX: usize = 8;
/// The most rests that are kept for one plan.
const KEPT_MAX: usize = 32;

/// The rests that runs of a plan have made, by the magnitudes of what they were made for; none where there was no better one.
#[derive(Default)]
pub struct Rests(Mutex<Map<Magnitudes, Option<Arc<Rest>>>>);

/// Horizons, each with the power of two that its number of rows has reached.
type Magnitudes = Vec<(HorizonId, u32)>;

/// Compiles a statement once more, with numbers of rows that were seen; `None` if that gives no plan.
pub type CompileAgain<'a> = dyn Fn(&dyn ReadView, &[(HorizonId, u64)]) -> Result<Option<Arc<Plan>>> + Sync + 'a;

/// See the module.
pub struct Replanning<'a> {
    /// The plan with which runs begin.
    pub plan: &'a Plan,
    /// Condition on which it is left.
    pub rule: ReplanRule,
    /// Compiles the statement once more.
    pub compile: &'a CompileAgain<'a>,
    /// Rests of earlier runs, where they may be used again.
    pub rests: Option<&'a Rests>,
}

impl Replanner for Replanning<'_> {
    fn rule(&self) -> ReplanRule {
        self.rule
    }

    fn rest(&self, arrival: &Arrival<'_>) -> Result<Option<Arc<Rest>>> {
        let plan = arrival.former.map_or(self.plan, |rest| &rest.plan);
        let mut seen = arrival.former.map_or_else(Vec::new, |rest| rest.seen.clone());
        let Some((horizon, _)) = plan.horizons.iter().find(|(_, at)| *at == arrival.at) else { return Ok(None) };
        if seen.len() >= REPLANNED_MAX {
            return Ok(None);
        }
        seen.push((*horizon, arrival.rows));
        let magnitudes: Vec<_> = seen.iter().map(|(at, rows)| (*at, u64::BITS - rows.leading_zeros())).collect();
        if let Some(kept) = self.rests.and_then(|rests| rests.get(&magnitudes)) {
            return Ok(kept);
        }
        let rest = self.plan_again(plan, arrival, seen)?.map(Arc::new);
        if let Some(rests) = self.rests {
            rests.put(magnitudes, rest.clone());
        }
        Ok(rest)
    }
}

impl Replanning<'_> {
    fn plan_again(&self, plan: &Plan, arrival: &Arrival<'_>, seen: Vec<(HorizonId, u64)>) -> Result<Option<Rest>> {
        let Some(new) = (self.compile)(arrival.view, &seen)? else { return Ok(None) };
        let is_better = self.rule.factor <= 1.0 || !plan.is_same_work(&new);
        let Some(at) = plan.same_horizon(arrival.at, &new).filter(|_| is_better) else { return Ok(None) };
        let Some(prepared) = prepare_rest(&new, at, arrival.slots, arrival.multiplicity) else { return Ok(None) };
        let (Some(before), Some(now)) = (operator_at(&plan.root, arrival.at), operator_at(&new.root, at)) else {
            return Ok(None);
        };
        let done = numbers(before).into_iter().zip(numbers(now)).collect();
        Ok(Some(Rest { at, prepared, done, expected: before.estimated_rows, seen, plan: new }))
    }
}

/// The numbers of an operator and of all below it, in an order that depends on nothing else.
fn numbers(plan: &Operator) -> Vec<OperatorId> {
    let mut numbers = Vec::new();
    plan.each(&mut |operator| numbers.push(operator.id));
    numbers
}

impl Rests {
    fn get(&self, key: &Magnitudes) -> Option<Option<Arc<Rest>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Keeps a rest. Those that are too many are made again.
    fn put(&self, key: Magnitudes, rest: Option<Arc<Rest>>) {
        let mut rests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rests.len() >= KEPT_MAX {
            rests.clear();
        }
        rests.insert(key, rest);
    }
}
