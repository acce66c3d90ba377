//! Search: the candidates and rewrites that save most, one after the other, each beside those before it.

use model::{Result, Schema};

use super::candidate::{Candidate, candidates, is_used};
use super::prediction::{self, Basis, predict};
use super::rewrite::{Known, Premise, Rewrite, rewrites};
use super::{
    Ground, PredictedTime, Recommendation, Remedy, SAVED_NS_MIN, SAVED_SHARE_MIN, SearchLimits, WorkloadStatement,
    saved_ns, without_prefix,
};

/// Score of a candidate with one property more than another. The one with fewer is the smaller, and serves more statements.
const LONGER: f64 = 0.9;
/// Score of a constraint beside an index, which forbids nothing, and of a rewrite with an index beside one of both.
const MORE_DEMANDING: f64 = 0.95;
/// Factor by which a later step must be better than an earlier one.
const BETTER: f64 = 1.02;

/// Tells if a premise holds: `None` if that was not looked at.
pub(crate) type Check<'c> = dyn FnMut(&Premise) -> Result<Option<bool>> + 'c;

/// One step: a candidate, a rewrite, or both.
struct Step {
    score: f64,
    rewrite: Option<Writing>,
    candidate: Option<Candidate>,
    /// Times with all of it.
    times: Vec<PredictedTime>,
}

/// A rewrite of one statement.
struct Writing {
    statement: usize,
    text: String,
    premise: Premise,
    /// Nanoseconds with nothing else.
    alone_ns: f64,
}

pub(super) struct Search<'s> {
    ground: &'s Ground<'s>,
    statements: &'s [(&'s WorkloadStatement, &'s Option<Basis>)],
    /// The statements as they would be written.
    texts: Vec<String>,
    /// Nanoseconds of each with what is chosen.
    present: Vec<f64>,
    /// The schema with what is chosen.
    schema: Schema,
    left: Vec<(Candidate, Vec<usize>)>,
    /// Premises that do not hold.
    refused: Vec<Premise>,
    chosen: Vec<Recommendation>,
}

impl<'s> Search<'s> {
    pub(super) fn new(
        statements: &'s [(&'s WorkloadStatement, &'s Option<Basis>)],
        limits: SearchLimits,
        ground: &'s Ground<'s>,
    ) -> Search<'s> {
        let mut search = Search {
            ground,
            statements,
            texts: statements.iter().map(|(statement, _)| without_prefix(&statement.text).trim().to_owned()).collect(),
            present: statements.iter().map(|(_, basis)| basis.as_ref().map_or(0.0, |basis| basis.total_ns)).collect(),
            schema: ground.view.schema().clone(),
            left: Vec::new(),
            refused: Vec::new(),
            chosen: Vec::new(),
        };
        (0..statements.len()).for_each(|at| search.add_candidates(at));
        search.left.truncate(limits.tried);
        search
    }

    /// Adds the candidates of one statement, those of one property first.
    fn add_candidates(&mut self, at: usize) {
        if self.statements[at].1.is_none() {
            return;
        }
        for candidate in candidates(&self.texts[at], &self.schema, self.ground.statistics()) {
            match self.left.iter_mut().find(|(known, _)| *known == candidate) {
                Some((_, places)) if places.contains(&at) => {}
                Some((_, places)) => places.push(at),
                None => self.left.push((candidate, vec![at])),
            }
        }
        self.left.sort_by_key(|(candidate, _)| candidate.keys().len());
    }

    pub(super) fn run(mut self, limits: SearchLimits, check: &mut Check<'_>) -> Result<Vec<Recommendation>> {
        let mut steps = 0;
        while steps < limits.advised {
            let Some(step) = self.best()? else { break };
            if self.holds(&step, check)? {
                self.take(step);
                steps += 1;
            }
        }
        Ok(self.chosen)
    }

    /// The step that saves most.
    fn best(&self) -> Result<Option<Step>> {
        let mut best: Option<Step> = None;
        for (candidate, places) in &self.left {
            self.ground.interrupt.check()?;
            if candidate.premise().is_some_and(|premise| self.refused.contains(&premise)) {
                continue;
            }
            keep(&mut best, self.candidate(candidate, places)?);
        }
        for at in 0..self.statements.len() {
            if self.statements[at].1.is_some() {
                self.rewrites(at, &mut best)?;
            }
        }
        Ok(best)
    }

    /// A candidate alone.
    fn candidate(&self, candidate: &Candidate, places: &[usize]) -> Result<Option<Step>> {
        let Some(with) = candidate.added_to(&self.schema) else { return Ok(None) };
        let mut times = Vec::new();
        for &at in places {
            let after_ns = self.time_with(candidate, (at, &self.texts[at]), &with)?;
            times.extend(after_ns.and_then(|after_ns| self.helped(at, after_ns)));
        }
        if candidate.is_constraint() || self.extends_chosen(candidate) {
            // It forbids something, or is in the place of another: it is not for what an index before it has left.
            let today = |at: usize| self.statements[at].1.as_ref().map_or(0.0, |basis| basis.total_ns);
            times.retain(|time| time.before_ns - time.after_ns >= SAVED_SHARE_MIN * today(time.statement));
        }
        let saved = self.saved_ns(&times) - self.writing_ns(candidate);
        let score = saved * weight(candidate);
        let is_worth = !times.is_empty() && saved > 0.0;
        Ok(is_worth.then(|| Step { score, rewrite: None, candidate: Some(candidate.clone()), times }))
    }

    /// True if an index that is chosen begins with the same property.
    fn extends_chosen(&self, candidate: &Candidate) -> bool {
        let chosen = self.chosen.iter().filter_map(|chosen| chosen.remedy.candidate());
        chosen.filter(|other| !other.is_sort_key()).any(|other| {
            let (one, other_one) = (candidate.keys().first(), other.keys().first());
            !candidate.is_sort_key() && other.subject() == candidate.subject() && one == other_one
        })
    }

    /// The rewrites of a statement, each alone and with each index of one property that it allows.
    fn rewrites(&self, at: usize, best: &mut Option<Step>) -> Result<()> {
        let known = Known { schema: &self.schema, statistics: self.ground.statistics() };
        for rewrite in rewrites(&self.texts[at], known) {
            self.ground.interrupt.check()?;
            if self.refused.contains(&rewrite.premise) {
                continue;
            }
            let text = rewrite.applied(&self.texts[at]);
            let Some(alone_ns) = self.time(at, &text, &self.schema, None)? else { continue };
            let writing = || Writing { statement: at, text: text.clone(), premise: rewrite.premise.clone(), alone_ns };
            let times: Vec<PredictedTime> = self.helped(at, alone_ns).into_iter().collect();
            let score = self.saved_ns(&times);
            let alone = Step { score, rewrite: Some(writing()), candidate: None, times };
            keep(best, (!alone.times.is_empty()).then_some(alone));
            for candidate in candidates(&text, &self.schema, self.ground.statistics()) {
                if is_of(&candidate, &rewrite) {
                    keep(best, self.pair(at, writing(), candidate)?);
                }
            }
        }
        Ok(())
    }

    /// A rewrite with the index that its text allows.
    fn pair(&self, at: usize, writing: Writing, candidate: Candidate) -> Result<Option<Step>> {
        let Some(with) = candidate.added_to(&self.schema) else { return Ok(None) };
        let Some(after_ns) = self.time_with(&candidate, (at, &writing.text), &with)? else { return Ok(None) };
        let is_needed = helps(writing.alone_ns, after_ns);
        let Some(time) = self.helped(at, after_ns).filter(|_| is_needed) else { return Ok(None) };
        let saved = self.saved_ns(&[time]) - self.writing_ns(&candidate);
        let score = saved * weight(&candidate) * MORE_DEMANDING;
        Ok((saved > 0.0).then(|| Step { score, rewrite: Some(writing), candidate: Some(candidate), times: vec![time] }))
    }

    /// True if all premises of a step hold, or were not looked at. One that does not hold is remembered.
    fn holds(&mut self, step: &Step, check: &mut Check<'_>) -> Result<bool> {
        let of_candidate = step.candidate.as_ref().and_then(Candidate::premise);
        let premises = step.rewrite.iter().map(|writing| writing.premise.clone()).chain(of_candidate);
        for premise in premises {
            if check(&premise)? == Some(false) {
                self.refused.push(premise);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes a step. The time of a rewrite with an index is that of both together, told with the index.
    fn take(&mut self, step: Step) {
        let times = step.times;
        times.iter().for_each(|time| self.present[time.statement] = time.after_ns);
        if let Some(writing) = step.rewrite {
            let at = writing.statement;
            if step.candidate.is_none() && self.goes_on(&writing, &times) {
                self.texts[at] = writing.text;
                self.add_candidates(at);
                return;
            }
            self.chosen.push(Recommendation {
                remedy: Remedy::Rewrite { statement: at, text: writing.text.clone() },
                premise: Some(writing.premise.told),
                times: if step.candidate.is_none() { times.clone() } else { Vec::new() },
                entries: 0,
                bytes: 0,
                build_ns: 0.0,
                write_ns: 0.0,
            });
            self.texts[at] = writing.text;
            self.add_candidates(at);
        }
        let Some(candidate) = step.candidate else { return };
        self.left.retain(|(other, _)| *other != candidate);
        let recommendation = prediction::costs(candidate.clone(), times, &self.schema, self.ground.statistics());
        if let Some(with) = candidate.added_to(&self.schema) {
            self.schema = with;
        }
        self.chosen.push(recommendation);
    }

    /// Puts a rewrite into the place of the one before it, if that is of the same statement and was told alone.
    fn goes_on(&mut self, writing: &Writing, times: &[PredictedTime]) -> bool {
        let Some(last) = self.chosen.last_mut() else { return false };
        let Remedy::Rewrite { statement, text } = &mut last.remedy else { return false };
        let ([before], [now]) = (&mut last.times[..], times) else { return false };
        if *statement != writing.statement {
            return false;
        }
        text.clone_from(&writing.text);
        before.after_ns = now.after_ns;
        let told = last.premise.iter().map(String::as_str).chain([&*writing.premise.told]);
        last.premise = Some(told.collect::<Vec<_>>().join(" and "));
        true
    }

    /// The time of a statement after a change, if that helps.
    fn helped(&self, at: usize, after_ns: f64) -> Option<PredictedTime> {
        let before_ns = self.present[at];
        helps(before_ns, after_ns).then_some(PredictedTime { statement: at, before_ns, after_ns })
    }

    /// The time of a text with a candidate; `None` if its plan would not use it.
    fn time_with(&self, candidate: &Candidate, (at, text): (usize, &str), schema: &Schema) -> Result<Option<f64>> {
        self.time(at, text, schema, Some(candidate))
    }

    /// The time of a text under a schema, with a candidate that it must use, if one is given.
    fn time(&self, at: usize, text: &str, schema: &Schema, candidate: Option<&Candidate>) -> Result<Option<f64>> {
        let Some(basis) = self.statements[at].1 else { return Ok(None) };
        let Some(plan) = self.ground.plan(text, schema)? else { return Ok(None) };
        let is_used = candidate.is_none_or(|candidate| is_used(candidate, &plan));
        Ok(is_used.then(|| predict(basis, &plan, candidate, self.ground.view)))
    }

    fn saved_ns(&self, times: &[PredictedTime]) -> f64 {
        saved_ns(times, &|at| self.statements[at].0.calls)
    }

    /// Nanoseconds that the writes of the workload take longer for a candidate.
    fn writing_ns(&self, candidate: &Candidate) -> f64 {
        let of_one = |(statement, basis): &(&WorkloadStatement, &Option<Basis>)| {
            let rows = basis.as_ref().map_or(0.0, |basis| basis.rows_written(candidate));
            statement.calls as f64 * rows * prediction::write_ns(candidate)
        };
        self.statements.iter().map(of_one).sum()
    }
}

/// Keeps the better of two steps.
fn keep(best: &mut Option<Step>, step: Option<Step>) {
    let Some(step) = step else { return };
    if best.as_ref().is_none_or(|held| step.score > held.score * BETTER) {
        *best = Some(step);
    }
}

/// Weight of what a candidate saves.
fn weight(candidate: &Candidate) -> f64 {
    let demanding = if candidate.is_constraint() { MORE_DEMANDING } else { 1.0 };
    demanding * LONGER.powi(candidate.keys().len() as i32 - 1)
}

/// True for an index of one property that a rewrite was made for.
fn is_of(candidate: &Candidate, rewrite: &Rewrite) -> bool {
    let names_it = *candidate.subject() == rewrite.name || candidate.keys().contains(&rewrite.name);
    candidate.keys().len() == 1 && names_it
}

fn helps(before_ns: f64, after_ns: f64) -> bool {
    let saved = before_ns - after_ns;
    saved >= SAVED_NS_MIN && saved >= SAVED_SHARE_MIN * before_ns
}
