//! Compiled statements by their text, kept until the store has changed so much that planning anew could differ.
//!
//! Invariant: a plan may rest on facts of the store (a label that all nodes carry, a constraint). The fingerprint
//! covers those facts, so that a plan is never used after one of them has ceased to hold.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use cypher::Hint;
use cypher::plan::{Plan, Prefix};
use exec::{Prepared, Rests};
use model::limits::PLAN_CACHE_ENTRIES;
use model::{LabelId, Map, Schema, Span, Statistics};

use crate::estimate::Expectation;
use crate::outlook::Outlook;
use crate::statements::Entry;

#[cfg(test)]
mod tests;

/// Facts that a plan may rest on besides the schema of a view.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    /// Its counts are those of the one moment that the plan is for. Otherwise a transaction goes on, and may be serializable:
    /// what it rests on it must read.
    pub(crate) is_exact: bool,
    /// The state of what is attached: other sources may have other names by the same numbers.
    pub(crate) generation: u64,
    /// Fingerprint of the tables that `LOAD FROM` knows.
    pub(crate) tables: u64,
}

/// A statement, compiled and lowered.
pub(crate) struct Compiled {
    pub(crate) prefix: Prefix,
    pub(crate) plan: Arc<Plan>,
    /// The names of the columns of its result.
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) prepared: Prepared,
    /// Hints at what is probably not meant.
    pub(crate) hints: Vec<Hint>,
    /// The parameters that must have values, each with its first place.
    pub(crate) parameters: Vec<(Arc<str>, Span)>,
    /// Several threads may run it.
    pub(crate) is_parallel: bool,
    /// Description and estimates that are known before it runs.
    pub(crate) outlook: Outlook,
    /// The statistics that its runs are counted in.
    pub(crate) entry: Arc<Entry>,
    /// The shape of its plan.
    pub(crate) shape: u64,
    /// The facts of the view under which it was compiled.
    pub(crate) facts: Facts,
    /// The rests of its plan that its runs have made anew.
    pub(crate) rests: Rests,
    /// The time that its runs should take, if they tell anything of unit costs.
    pub(crate) expectation: Option<Expectation>,
}

/// A plan and the fingerprint of the facts it rests on.
type Cached = (u64, Arc<Compiled>);

/// The plans of one database.
#[derive(Default)]
pub(crate) struct PlanCache {
    plans: Mutex<Map<Box<str>, Cached>>,
}

impl PlanCache {
    /// The plan of a text, if it was made under the same facts.
    pub(crate) fn get(&self, text: &str, fingerprint: u64) -> Option<Arc<Compiled>> {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.get(text).filter(|(facts, _)| *facts == fingerprint).map(|(_, plan)| plan.clone())
    }

    /// Keeps a plan. A full cache is emptied: plans are cheap to make again.
    pub(crate) fn put(&self, text: &str, fingerprint: u64, plan: Arc<Compiled>) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.len() >= PLAN_CACHE_ENTRIES {
            plans.clear();
        }
        plans.insert(text.into(), (fingerprint, plan));
    }
}

/// The facts of a store that plans may rest on, as one number.
pub(crate) fn fingerprint(schema: &Schema, statistics: &Statistics) -> u64 {
    let mut hasher = std::hash::BuildHasher::build_hasher(&model::Map::<(), ()>::default().hasher().clone());
    schema.constraints.len().hash(&mut hasher);
    for sort_key in &schema.sort_keys {
        (sort_key.edge_type, &sort_key.keys).hash(&mut hasher);
    }
    for constraint in &schema.constraints {
        (constraint.subject, &constraint.keys, constraint.rule).hash(&mut hasher);
    }
    for index in schema.indexes.iter().chain(&schema.searchable) {
        (index.subject, &index.keys).hash(&mut hasher);
    }
    schema.matched.hash(&mut hasher);
    (schema.labels.len(), schema.edge_types.len()).hash(&mut hasher);
    for label in (0..schema.labels.len() as u32).map(LabelId) {
        let count = statistics.label(label);
        (count == statistics.nodes, magnitude(count)).hash(&mut hasher);
    }
    (magnitude(statistics.nodes), magnitude(statistics.edges)).hash(&mut hasher);
    statistics.sketches.as_ref().map(|sketches| (sketches.nodes, sketches.edges)).hash(&mut hasher);
    hasher.finish()
}

/// Power of two that a count has reached: smaller differences do not change the planner's choices.
fn magnitude(count: u64) -> u32 {
    u64::BITS - count.leading_zeros()
}
