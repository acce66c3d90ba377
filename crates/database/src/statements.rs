//! Statistics of the statements that were run since the database was opened, for `SHOW STATEMENTS`.
//!
//! Statements that differ in literals are one: the texts are kept without them, so that nobody sees what another searched for.
//! The table is bounded; what was used longest ago is forgotten first.
//!
//! Invariant: a call is counted once, in one entry, whatever runs at the same time.
//! Cost: a call adds some forty numbers under a lock that only its statement takes. Where another thread has it, the next of a
//! few further locks is taken, so that threads wait for each other only if there are more of them.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use model::limits::{STATEMENT_TEXT_BYTES_MAX, STATEMENTS_BYTES_MAX, STATEMENTS_MAX};
use model::meter::{Meter, Wait};
use model::{Consumer, Map, MemoryBudget, Value};

use crate::estimate::{Calibration, Expectation};
use crate::phases::{Phase, Phases};
use histogram::Histogram;

mod histogram;
mod text;

pub(crate) use text::{without_literals, without_literals_and_texts};

/// Places in which calls of one statement are counted at the same time.
const SHARDS: usize = 4;
/// The part of a full table that is emptied at a time, as a divisor.
const EMPTIED_SHARE: usize = 16;
/// The text of statements that are no Cypher.
const UNREADABLE: &str = "(a text that is no Cypher)";

/// A statement that was run, with what it cost.
pub(crate) struct Call<'c> {
    pub(crate) phases: &'c Phases,
    /// Counts of all its threads.
    pub(crate) counts: Meter,
    pub(crate) rows: u64,
    pub(crate) spilled_bytes: u64,
    pub(crate) has_failed: bool,
    /// When it ended.
    pub(crate) now_ns: u64,
    /// The shape of its plan; `None` if it has none.
    pub(crate) plan: Option<u64>,
    /// The time that it should take, if that can be compared.
    pub(crate) expectation: Option<Expectation>,
}

/// Sums over the calls of a statement.
#[derive(Clone, Default)]
struct Figures {
    calls: u64,
    errors: u64,
    rows: u64,
    total_ns: u64,
    max_ns: u64,
    phases_ns: [u64; Phase::ALL.len()],
    counts: Meter,
    spilled_bytes: u64,
    plan_cache_hits: u64,
    /// When the last plan was used, and its shape.
    plan: (u64, Option<u64>),
    times: Histogram,
    /// Nanoseconds of the calls that can be compared with what was expected of them: as measured, and by unit costs.
    compared_ns: (f64, f64),
}

impl Figures {
    fn add_call(&mut self, call: &Call<'_>) {
        let whole_ns = call.phases.whole_ns();
        self.calls += 1;
        self.errors += u64::from(call.has_failed);
        self.rows += call.rows;
        self.total_ns += whole_ns;
        self.max_ns = self.max_ns.max(whole_ns);
        let phases = self.phases_ns.iter_mut().zip(Phase::ALL);
        phases.for_each(|(sum, phase)| *sum += call.phases.ns(phase));
        self.counts.add(&call.counts);
        self.spilled_bytes += call.spilled_bytes;
        self.plan_cache_hits += u64::from(call.phases.is_plan_cached);
        if call.plan.is_some() {
            self.plan = (call.now_ns, call.plan);
        }
        self.times.count(whole_ns);
        if let Some(expectation) =
            call.expectation.filter(|expectation| !call.has_failed && expectation.is_met(call.rows))
        {
            self.compared_ns.0 += call.phases.worked_ns(Phase::Run) as f64;
            self.compared_ns.1 += expectation.run_ns;
        }
    }

    fn add(&mut self, other: &Figures) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.rows += other.rows;
        self.total_ns += other.total_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.phases_ns.iter_mut().zip(other.phases_ns).for_each(|(sum, more)| *sum += more);
        self.counts.add(&other.counts);
        self.spilled_bytes += other.spilled_bytes;
        self.plan_cache_hits += other.plan_cache_hits;
        if other.plan.1.is_some() && (self.plan.1.is_none() || other.plan.0 > self.plan.0) {
            self.plan = other.plan;
        }
        self.times.add(&other.times);
        self.compared_ns.0 += other.compared_ns.0;
        self.compared_ns.1 += other.compared_ns.1;
    }
}

/// A statement of the table, or one that has fallen out of it.
pub(crate) struct Entry {
    text: Arc<str>,
    shards: [Mutex<Option<Box<Figures>>>; SHARDS],
    /// When it was last run.
    used_ns: AtomicU64,
    is_listed: AtomicBool,
}

impl Entry {
    fn new(text: &str) -> Arc<Entry> {
        Arc::new(Entry {
            text: Arc::from(text),
            shards: Default::default(),
            used_ns: AtomicU64::new(0),
            is_listed: AtomicBool::new(false),
        })
    }

    /// Text without literals.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Bytes that it takes, if calls come one after the other.
    fn bytes(&self) -> usize {
        size_of::<Entry>() + size_of::<Figures>() + 2 * self.text.len() + 64
    }

    fn add(&self, call: &Call<'_>) {
        self.used_ns.store(call.now_ns, Ordering::Relaxed);
        self.free_shard().get_or_insert_default().add_call(call);
    }

    /// A shard that nobody holds, or the first one.
    fn free_shard(&self) -> MutexGuard<'_, Option<Box<Figures>>> {
        for shard in &self.shards {
            match shard.try_lock() {
                Ok(held) => return held,
                Err(TryLockError::Poisoned(held)) => return held.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        lock(&self.shards[0])
    }

    fn sum(&self) -> Figures {
        let mut sum = Figures::default();
        self.shards.iter().filter_map(|shard| lock(shard).clone()).for_each(|figures| sum.add(&figures));
        sum
    }

    /// Nanoseconds of the calls that can be compared over those by unit costs.
    fn factor(&self) -> Option<f64> {
        let (measured, expected) = self.sum().compared_ns;
        (measured > 0.0 && expected > 0.0).then(|| measured / expected)
    }

    /// Takes it out of the table, with its figures.
    fn forget(&self) {
        self.is_listed.store(false, Ordering::Release);
        self.shards.iter().for_each(|shard| drop(lock(shard).take()));
    }
}

/// The statements of a database.
pub(crate) struct Statements {
    entries: Mutex<Table>,
    budget: Arc<MemoryBudget>,
}

#[derive(Default)]
struct Table {
    by_text: Map<Arc<str>, Arc<Entry>>,
    bytes: usize,
}

impl Drop for Statements {
    fn drop(&mut self) {
        let bytes = self.table().bytes;
        self.budget.release(Consumer::Statements, bytes);
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Statements {
    /// An empty table within a budget.
    pub(crate) fn new(budget: Arc<MemoryBudget>) -> Statements {
        Statements { entries: Mutex::default(), budget }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.entries)
    }

    /// The entry of a statement, in the table or not yet.
    pub(crate) fn entry(&self, text: &str) -> Arc<Entry> {
        let text = without_literals(text).unwrap_or_else(|| UNREADABLE.to_owned());
        let text = shortened(&text);
        match self.table().by_text.get(&*text) {
            Some(entry) => entry.clone(),
            None => Entry::new(&text),
        }
    }

    /// Counts a call of a statement.
    pub(crate) fn count(&self, entry: &Arc<Entry>, call: &Call<'_>) {
        if entry.is_listed.load(Ordering::Acquire) {
            entry.add(call);
        } else {
            self.admit(entry, call);
        }
    }

    /// Counts a call of a statement that is not in the table, unless another entry of it is.
    fn admit(&self, entry: &Arc<Entry>, call: &Call<'_>) {
        let mut table = self.table();
        if let Some(listed) = table.by_text.get(&entry.text) {
            let listed = listed.clone();
            drop(table);
            listed.add(call);
            return;
        }
        let bytes = entry.bytes();
        self.make_room(&mut table, bytes);
        entry.add(call);
        entry.is_listed.store(true, Ordering::Release);
        table.by_text.insert(entry.text.clone(), entry.clone());
        table.bytes += bytes;
        self.budget.hold(Consumer::Statements, bytes);
    }

    /// Forgets what was used longest ago if the table is full.
    fn make_room(&self, table: &mut Table, bytes: usize) {
        let bytes_max = self.budget.share(Consumer::Statements).min(STATEMENTS_BYTES_MAX);
        let is_full = |table: &Table| {
            table.by_text.len() >= STATEMENTS_MAX || table.bytes + bytes > bytes_max && !table.by_text.is_empty()
        };
        if !is_full(table) {
            return;
        }
        let mut oldest: BTreeMap<(u64, Arc<str>), Arc<Entry>> = BTreeMap::new();
        for entry in table.by_text.values() {
            oldest.insert((entry.used_ns.load(Ordering::Relaxed), entry.text.clone()), entry.clone());
        }
        let least = table.by_text.len().div_ceil(EMPTIED_SHARE);
        for (count, entry) in oldest.into_values().enumerate() {
            if count >= least && !is_full(table) {
                break;
            }
            self.remove(table, &entry);
        }
    }

    fn remove(&self, table: &mut Table, entry: &Arc<Entry>) {
        table.by_text.remove(&entry.text);
        table.bytes -= entry.bytes();
        self.budget.release(Consumer::Statements, entry.bytes());
        entry.forget();
    }

    /// Forgets all; returns the number of statements.
    pub(crate) fn reset(&self) -> usize {
        let mut table = self.table();
        let mut entries: Vec<Arc<Entry>> = table.by_text.values().cloned().collect();
        entries.sort_by(|one, other| one.text.cmp(&other.text));
        entries.iter().for_each(|entry| self.remove(&mut table, entry));
        entries.len()
    }

    /// The factor between unit costs and this process.
    pub(crate) fn calibration(&self) -> Calibration {
        let entries: Vec<Arc<Entry>> = self.table().by_text.values().cloned().collect();
        Calibration::of(entries.iter().filter_map(|entry| entry.factor()).collect())
    }

    /// The rows of `SHOW STATEMENTS`: those that took most time in all come first.
    pub(crate) fn rows(&self) -> Vec<Vec<Value>> {
        let entries: Vec<Arc<Entry>> = self.table().by_text.values().cloned().collect();
        let mut all: Vec<(Arc<str>, Figures)> =
            entries.iter().map(|entry| (entry.text.clone(), entry.sum())).filter(|(_, sum)| sum.calls > 0).collect();
        all.sort_by(|(one, left), (other, right)| right.total_ns.cmp(&left.total_ns).then_with(|| one.cmp(other)));
        all.iter().map(|(text, figures)| row(text, figures)).collect()
    }
}

/// The text, and if it is long its start and a number for the whole.
fn shortened(text: &str) -> String {
    if text.len() <= STATEMENT_TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let mut end = STATEMENT_TEXT_BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let number = Map::<(), ()>::default().hasher().hash_one(text);
    format!("{} … [{number:016x}]", &text[..end])
}

fn row(text: &str, figures: &Figures) -> Vec<Value> {
    let count = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let ms = |ns: u64| Value::Float(ns as f64 / 1e6);
    let phase = |phase: Phase| ms(figures.phases_ns[phase as usize]);
    let wait = |wait: Wait| ms(figures.counts.waits.of(wait));
    let counts = &figures.counts;
    let p99 = figures.times.quantile(0.99).min(figures.max_ns);
    vec![
        Value::string(text),
        count(figures.calls),
        count(figures.errors),
        count(figures.rows),
        ms(figures.total_ns),
        Value::Float(figures.total_ns as f64 / 1e6 / figures.calls.max(1) as f64),
        ms(p99),
        ms(figures.max_ns),
        phase(Phase::Parse),
        phase(Phase::Bind),
        phase(Phase::Plan),
        phase(Phase::Prepare),
        phase(Phase::Run),
        phase(Phase::Records),
        phase(Phase::Commit),
        phase(Phase::Retry),
        phase(Phase::Deliver),
        wait(Wait::Disk),
        wait(Wait::Verify),
        wait(Wait::Source),
        wait(Wait::Log),
        wait(Wait::Lock),
        wait(Wait::Queue),
        wait(Wait::Spill),
        count(counts.block_uses),
        count(counts.block_misses),
        count(counts.bytes_read),
        count(figures.spilled_bytes),
        count(counts.round_trips),
        count(figures.plan_cache_hits),
        figures.plan.1.map_or(Value::Null, |plan| Value::string(&format!("{plan:016x}"))),
    ]
}

#[cfg(test)]
mod tests;
