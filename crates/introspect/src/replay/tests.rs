//! Replays on a subject that answers as it is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use database::trace::{RowHash, TraceEvent, TraceKind};
use database::{Entities, Error, ErrorCode, Parameters, ResultBatch, ResultSink};
use model::{Column, Interrupt, Result, Value};
use testing::simulation::SetClock;

use super::{ReplayOptions, ReplaySession, ReplaySubject, replay, to_text};

/// Answers each statement with the number in its text, `fail` with an error.
#[derive(Default)]
struct Echo {
    begun: AtomicU64,
    ended: AtomicU64,
}

fn batch(number: i64) -> ResultBatch {
    let column = Column::from_values(&[Value::Int(number)]);
    ResultBatch { columns: vec![Arc::new(column)], rows: 1, entities: Entities::default() }
}

impl ReplaySubject for Echo {
    fn session(&self, _: &Interrupt) -> Result<Box<dyn ReplaySession + '_>> {
        Ok(Box::new(EchoSession(self)))
    }
}

struct EchoSession<'e>(&'e Echo);

impl ReplaySession for EchoSession<'_> {
    fn run(&mut self, text: &str, _: &Parameters, sink: &mut dyn ResultSink) -> Result<()> {
        if text == "fail" {
            return Err(Error::new(ErrorCode::Arithmetic, "it fails"));
        }
        sink.rows(batch(text.trim_start_matches("RETURN ").parse().unwrap())).map(drop)
    }

    fn begin(&mut self) -> Result<()> {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        self.commit()
    }
}

fn event(at_us: i64, session: u64, kind: TraceKind, text: &str, number: i64) -> TraceEvent {
    let mut hash = RowHash::default();
    hash.add(&batch(number));
    let (text, parameters) = (text.to_owned(), Parameters::default());
    TraceEvent { at_us, session, kind, text, parameters, ns: 2_000, rows: 1, hash: hash.value(), error: None }
}

fn events() -> Vec<TraceEvent> {
    vec![
        event(10, 1, TraceKind::Read, "RETURN 1", 1),
        event(11, 2, TraceKind::Read, "RETURN 2", 1),
        event(20, 1, TraceKind::Begin, "", 0),
        event(21, 1, TraceKind::Write, "RETURN 3", 3),
        event(22, 1, TraceKind::Commit, "", 0),
        event(30, 3, TraceKind::Read, "RETURN 4", 5),
        TraceEvent { error: Some("ARITHMETIC".to_owned()), ..event(31, 3, TraceKind::Read, "fail", 0) },
        TraceEvent { error: Some("ARITHMETIC".to_owned()), ..event(32, 3, TraceKind::Read, "RETURN 7", 7) },
        event(33, 3, TraceKind::Other, "CHECKPOINT", 0),
    ]
}

#[test]
fn rows_are_compared_up_to_the_first_write_and_errors_always() {
    let (subject, clock, interrupt) = (Echo::default(), SetClock::default(), Interrupt::new());
    let options = ReplayOptions { speed: None, writes: false };
    let found = replay(events(), &subject, options, &clock, &interrupt).unwrap();
    // Sessions 1 and 2 overlapped; 3 came later.
    assert_eq!((found.sessions, found.threads, found.left_out), (3, 2, 4));
    let shape = &found.shapes["RETURN ?"];
    // RETURN 2 gave another row, and RETURN 7 no error.
    assert_eq!((shape.replayed_ns.len(), shape.compared, shape.differing), (4, 2, 2), "{found:?}");
    assert_eq!(found.shapes["fail"].differing, 0);
    assert_eq!(subject.begun.load(Ordering::Relaxed), 0);
    let text = to_text(&found);
    assert!(text.contains("5 statements of 3 sessions on 2 threads") && text.contains("2 differ"), "{text}");
}

#[test]
fn writes_are_run_in_their_transactions_if_asked() {
    let (subject, clock, interrupt) = (Echo::default(), SetClock::default(), Interrupt::new());
    let options = ReplayOptions { speed: None, writes: true };
    let found = replay(events(), &subject, options, &clock, &interrupt).unwrap();
    let shape = &found.shapes["RETURN ?"];
    assert_eq!((shape.replayed_ns.len(), shape.compared, shape.differing, found.left_out), (5, 4, 3, 1), "{found:?}");
    assert_eq!((subject.begun.load(Ordering::Relaxed), subject.ended.load(Ordering::Relaxed)), (1, 1));
}

#[test]
fn a_replay_that_is_cancelled_ends() {
    let (subject, clock, interrupt) = (Echo::default(), SetClock::default(), Interrupt::new());
    interrupt.cancel();
    // A second of the trace would take a thousand.
    let options = ReplayOptions { speed: Some(0.001), writes: false };
    let failure = replay(events(), &subject, options, &clock, &interrupt).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Cancelled);
}
