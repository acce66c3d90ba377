//! A client before whose next operation of a kind something else happens.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cluster::tables::{Appended, Fault, LogPage, Page, PageAsk, Place, Row, RowWrite, Slice, Table, Tables};

use crate::ring::Client;

type Call = Box<dyn FnOnce() + Send>;

/// The client.
pub(super) struct Interposed {
    inner: Arc<Client>,
    append: Mutex<Option<Call>>,
    rows: Mutex<Option<Call>>,
}

impl fmt::Debug for Interposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interposed").finish_non_exhaustive()
    }
}

fn call(held: &Mutex<Option<Call>>) {
    let call = held.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(call) = call {
        call();
    }
}

impl Interposed {
    pub(super) fn new(inner: Arc<Client>) -> Arc<Interposed> {
        Arc::new(Interposed { inner, append: Mutex::default(), rows: Mutex::default() })
    }

    /// Calls before the next append.
    pub(super) fn before_append(&self, call: impl FnOnce() + Send + 'static) {
        *self.append.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(call));
    }

    /// Calls before the next write of rows of a graph.
    pub(super) fn before_rows(&self, call: impl FnOnce() + Send + 'static) {
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(call));
    }
}

impl Tables for Interposed {
    fn write(&self, rows: &[RowWrite]) -> Result<(), Fault> {
        if rows.iter().any(|row| row.table == Table::Node) {
            call(&self.rows);
        }
        self.inner.write(rows)
    }

    fn append(&self, place: Place, record: &[u8]) -> Result<Appended, Fault> {
        call(&self.append);
        self.inner.append(place, record)
    }

    fn read(&self, slices: &[Slice], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<Row>>, Fault> {
        self.inner.read(slices, is_cancelled)
    }

    fn scan(&self, asks: &[PageAsk], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Page>, Fault> {
        self.inner.scan(asks, is_cancelled)
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
