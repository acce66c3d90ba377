//! Replay: a trace run again, each session in its own order, at the speed of the trace or as fast as it goes, and the answers compared.
//!
//! Sessions that did not overlap share a thread. Without writes the transactions of the trace are left out, and rows are compared only of
//! reads that began before the first write of the trace: those behind it saw what is not there.

mod json;
mod lanes;
mod text;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use database::trace::{RowHash, TraceEvent, TraceKind};
use database::{Parameters, ResultBatch, ResultSink};
use model::platform::Clock;
use model::{Interrupt, Result};

pub use json::to_json;
use lanes::lanes;
pub use text::{on_one_line, to_text};

/// Longest sleep between two looks at the interrupt.
const NAP: Duration = Duration::from_millis(10);

/// A session that statements are run in.
pub trait ReplaySession {
    /// Runs a statement; gives its rows to a sink.
    fn run(&mut self, text: &str, parameters: &Parameters, sink: &mut dyn ResultSink) -> Result<()>;
    /// Begins a transaction.
    fn begin(&mut self) -> Result<()>;
    /// Commits it.
    fn commit(&mut self) -> Result<()>;
    /// Undoes it.
    fn rollback(&mut self) -> Result<()>;
}

/// A system on which a trace is run again.
pub trait ReplaySubject: Sync {
    /// A new session. It stops once that flag is raised.
    fn session(&self, interrupt: &Interrupt) -> Result<Box<dyn ReplaySession + '_>>;
}

/// Choices of a replay.
#[derive(Clone, Copy, Debug)]
pub struct ReplayOptions {
    /// Factor to the speed of the trace; `None` for each statement as soon as the one before has ended.
    pub speed: Option<f64>,
    /// True to run statements that write.
    pub writes: bool,
}

/// Runs of statements that differ in literals only.
#[derive(Clone, Debug, Default)]
pub struct ReplayedShape {
    /// Nanoseconds in the trace.
    pub recorded_ns: Vec<f64>,
    /// Nanoseconds as run again.
    pub replayed_ns: Vec<f64>,
    /// Rows of all calls.
    pub rows: u64,
    /// Runs whose rows were compared.
    pub compared: u64,
    /// Runs that gave other rows, or an error where the trace has none.
    pub differing: u64,
    /// The first difference.
    pub difference: Option<String>,
}

/// A trace that was run again.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Shapes by their text.
    pub shapes: BTreeMap<String, ReplayedShape>,
    /// Events that were left out: writes that were not asked for, commands, transactions of those.
    pub left_out: u64,
    /// Sessions in the trace.
    pub sessions: usize,
    /// Threads that ran them.
    pub threads: usize,
    /// Nanoseconds of the trace, from its first event to its last.
    pub recorded_ns: u64,
    /// Nanoseconds of the replay.
    pub replayed_ns: u64,
    /// The longest time by which a statement began later than the speed wanted.
    pub late_ns: u64,
}

impl Replay {
    /// Runs that gave other rows than those of the trace.
    pub fn differing(&self) -> u64 {
        self.shapes.values().map(|shape| shape.differing).sum()
    }

    fn add(&mut self, other: Replay) {
        for (text, shape) in other.shapes {
            let held = self.shapes.entry(text).or_default();
            held.recorded_ns.extend(shape.recorded_ns);
            held.replayed_ns.extend(shape.replayed_ns);
            held.rows += shape.rows;
            held.compared += shape.compared;
            held.differing += shape.differing;
            held.difference = held.difference.take().or(shape.difference);
        }
        self.left_out += other.left_out;
        self.late_ns = self.late_ns.max(other.late_ns);
    }
}

/// Runs the events of a trace on a system.
///
/// # Errors
/// `CANCELLED`, and those of opening sessions. A statement that fails is a difference, unless it failed in the trace too.
pub fn replay(
    events: Vec<TraceEvent>,
    subject: &dyn ReplaySubject,
    options: ReplayOptions,
    clock: &dyn Clock,
    interrupt: &Interrupt,
) -> Result<Replay> {
    let first_us = events.iter().map(|event| event.at_us).min().unwrap_or_default();
    let last_us = events.iter().map(end_us).max().unwrap_or_default();
    let first_write_us = events.iter().filter(|event| event.kind == TraceKind::Write).map(|event| event.at_us).min();
    let compared_until_us = if options.writes { i64::MAX } else { first_write_us.unwrap_or(i64::MAX) };
    let (sessions, lanes) = lanes(events);
    let course = Course { first_us, compared_until_us, start_ns: clock.now_ns(), options, clock, interrupt };
    let whole = Mutex::new(Replay::default());
    let failure = Mutex::new(None);
    let threads = lanes.len();
    std::thread::scope(|scope| {
        for lane in lanes {
            let (course, whole, failure) = (&course, &whole, &failure);
            scope.spawn(move || match course.run(lane, subject) {
                Ok(part) => locked(whole).add(part),
                Err(cause) => {
                    locked(failure).get_or_insert(cause);
                    // The others would go on for nothing.
                    interrupt.cancel();
                }
            });
        }
    });
    if let Some(cause) = locked(&failure).take() {
        return Err(cause);
    }
    interrupt.check()?;
    let mut whole = std::mem::take(&mut *locked(&whole));
    (whole.sessions, whole.threads) = (sessions, threads);
    whole.recorded_ns = (last_us - first_us).max(0) as u64 * 1_000;
    whole.replayed_ns = clock.now_ns().saturating_sub(course.start_ns);
    Ok(whole)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The moment at which an event of a trace ended.
fn end_us(event: &TraceEvent) -> i64 {
    event.at_us.saturating_add((event.ns / 1_000) as i64)
}

/// The course of a replay, the same for all threads.
struct Course<'c> {
    first_us: i64,
    compared_until_us: i64,
    start_ns: u64,
    options: ReplayOptions,
    clock: &'c dyn Clock,
    interrupt: &'c Interrupt,
}

impl Course<'_> {
    /// Runs the sessions of one thread.
    fn run(&self, lane: Vec<Vec<TraceEvent>>, subject: &dyn ReplaySubject) -> Result<Replay> {
        let mut part = Replay::default();
        for events in lane {
            let mut session = subject.session(self.interrupt)?;
            let mut is_open = false;
            for event in events {
                self.wait_for(&event, &mut part)?;
                let outcome = match event.kind {
                    TraceKind::Read => self.statement(&mut *session, event, &mut part),
                    TraceKind::Write if self.options.writes => self.statement(&mut *session, event, &mut part),
                    TraceKind::Begin if self.options.writes && event.error.is_none() => {
                        is_open = true;
                        session.begin()
                    }
                    TraceKind::Commit if is_open => {
                        is_open = false;
                        session.commit()
                    }
                    TraceKind::Rollback if is_open => {
                        is_open = false;
                        session.rollback()
                    }
                    _ => {
                        part.left_out += 1;
                        Ok(())
                    }
                };
                if let Err(cause) = outcome {
                    self.interrupt.check()?;
                    note(&mut part, "(transactions)", &cause.to_string());
                }
            }
        }
        Ok(part)
    }

    /// Waits for the moment of an event.
    fn wait_for(&self, event: &TraceEvent, part: &mut Replay) -> Result<()> {
        self.interrupt.check()?;
        let Some(speed) = self.options.speed else { return Ok(()) };
        let due_ns = self.start_ns + (((event.at_us - self.first_us).max(0) as f64) * 1e3 / speed) as u64;
        loop {
            let now_ns = self.clock.now_ns();
            let Some(left) = due_ns.checked_sub(now_ns).filter(|left| *left > 0) else {
                part.late_ns = part.late_ns.max(now_ns.saturating_sub(due_ns));
                return Ok(());
            };
            std::thread::sleep(Duration::from_nanos(left).min(NAP));
            self.interrupt.check()?;
        }
    }

    fn statement(&self, session: &mut dyn ReplaySession, event: TraceEvent, part: &mut Replay) -> Result<()> {
        let mut seen = Seen::default();
        let start_ns = self.clock.now_ns();
        let outcome = session.run(&event.text, &event.parameters, &mut seen);
        let ns = self.clock.now_ns().saturating_sub(start_ns);
        self.interrupt.check()?;
        let shape = part.shapes.entry(database::trace::shape_of(&event.text)).or_default();
        shape.recorded_ns.push(event.ns as f64);
        shape.replayed_ns.push(ns as f64);
        shape.rows += seen.rows;
        let code = outcome.as_ref().err().map(|cause| cause.code().name().to_owned());
        let difference = match (&event.error, &outcome) {
            (None, Err(cause)) => Some(cause.to_string()),
            (Some(expected), _) if code.as_ref() != Some(expected) => {
                Some(format!("the trace has the error {expected}, now {}", code.as_deref().unwrap_or("there is none")))
            }
            (None, Ok(())) if event.at_us < self.compared_until_us => {
                shape.compared += 1;
                let is_same = (seen.rows, seen.hash.value()) == (event.rows, event.hash);
                (!is_same).then(|| format!("{} rows in the trace, {} now, not the same", event.rows, seen.rows))
            }
            _ => None,
        };
        if let Some(difference) = difference {
            shape.differing += 1;
            shape.difference.get_or_insert(difference);
        }
        Ok(())
    }
}

fn note(part: &mut Replay, name: &str, difference: &str) {
    let shape = part.shapes.entry(name.to_owned()).or_default();
    shape.differing += 1;
    shape.difference.get_or_insert_with(|| difference.to_owned());
}

/// Rows that are counted and hashed.
#[derive(Default)]
struct Seen {
    rows: u64,
    hash: RowHash,
}

impl ResultSink for Seen {
    fn columns(&mut self, _: &[std::sync::Arc<str>]) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> Result<bool> {
        self.rows += batch.rows as u64;
        self.hash.add(&batch);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
