//! A client of which one read is held between its answer and whoever asked.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use cluster::tables::{Appended, Fault, LogPage, Page, PageAsk, Place, Row, RowWrite, Slice, Tables};

use crate::ring::Client;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Free,
    HoldsNext,
    Holds,
    Released,
}

/// A client, and the read that it holds.
#[derive(Debug)]
pub(super) struct Held {
    inner: Arc<Client>,
    stage: Mutex<Stage>,
    turned: Condvar,
}

impl Held {
    pub(super) fn new(inner: Arc<Client>) -> Arc<Held> {
        Arc::new(Held { inner, stage: Mutex::new(Stage::Free), turned: Condvar::new() })
    }

    fn turn(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        self.turned.notify_all();
    }

    fn wait(&self, until: Stage) {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.turned.wait_while(stage, |stage| *stage != until).unwrap_or_else(PoisonError::into_inner));
    }

    /// Holds the next read.
    pub(super) fn hold_next_read(&self) {
        self.turn(Stage::HoldsNext);
    }

    /// Waits until it is held.
    pub(super) fn wait_until_held(&self) {
        self.wait(Stage::Holds);
    }

    /// Lets it go on.
    pub(super) fn release(&self) {
        self.turn(Stage::Released);
    }
}

impl Tables for Held {
    fn read(&self, slices: &[Slice], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<Row>>, Fault> {
        let answer = self.inner.read(slices, is_cancelled);
        let is_held = *self.stage.lock().unwrap_or_else(PoisonError::into_inner) == Stage::HoldsNext;
        if is_held {
            self.turn(Stage::Holds);
            self.wait(Stage::Released);
        }
        answer
    }

    fn write(&self, rows: &[RowWrite]) -> Result<(), Fault> {
        self.inner.write(rows)
    }

    fn append(&self, place: Place, record: &[u8]) -> Result<Appended, Fault> {
        self.inner.append(place, record)
    }

    fn scan(&self, pages: &[PageAsk], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Page>, Fault> {
        self.inner.scan(pages, is_cancelled)
    }

    fn read_place(&self, place: Place) -> Result<Option<Arc<[u8]>>, Fault> {
        self.inner.read_place(place)
    }

    fn follow(&self, graph: i64, epoch: i64, after: i64) -> Result<LogPage, Fault> {
        self.inner.follow(graph, epoch, after)
    }

    fn seal(&self, graph: i64, epoch: i64) -> Result<(), Fault> {
        self.inner.seal(graph, epoch)
    }

    fn pause(&self, attempts: u32) {
        self.inner.pause(attempts);
    }

    fn wait(&self, ns: u64) {
        self.inner.wait(ns);
    }
}
