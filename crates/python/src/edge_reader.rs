//! The edges of a graph in arrays, pass after pass: read by another thread, a few batches ahead of Python.
//!
//! That thread holds the moment (or the transaction) of the reader. It waits for orders: a pass, or the end, which is that
//! the reader is gone. Python's thread acknowledges each batch that it takes, so that only a few lie between the two.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use database::result::Entities;
use database::{EdgeArrays, EdgePasses, Error, Interrupt, Value};
use model::{Bitmap, Column, ColumnData, error};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::connection::Options;
use crate::convert::{from_python, to_python};
use crate::error::raised;
use crate::numbers::{Numbers, Vector};
use crate::shared::{Seat, Shared, closed};
use crate::statement::{SIGNAL_STEP, Settings};
use crate::worker;

/// Batches that have been read and not been taken, at most.
const BATCHES_MAX: usize = 3;

/// Orders to the thread.
enum Order {
    /// Read the edges, those from the nodes of these bits if there are any; the pass has this number.
    Pass(u64, Option<Bitmap>),
    /// A batch was taken.
    Taken,
    /// Count the edges from each node.
    Degrees,
    /// Tell the ids of the nodes.
    Ids,
}

/// News from the thread.
enum News {
    /// The graph is open: numbers of nodes and of edges.
    Open(usize, u64),
    /// A batch of the pass with this number.
    Batch(u64, EdgeArrays),
    /// That pass is over.
    Over(u64),
    Degrees(Vec<u32>),
    Ids(Vec<i64>),
    /// There will be nothing more, for this reason.
    Failed(Error),
}

/// Reads edges in passes.
#[pyclass(frozen, module = "knotwork._knotwork")]
pub(crate) struct EdgeReader {
    orders: Mutex<Option<Sender<Order>>>,
    news: Mutex<Receiver<News>>,
    /// The pass that was asked for last.
    pass: Mutex<u64>,
    /// News of it that came while something else was waited for.
    waiting: Mutex<VecDeque<News>>,
    /// True if the thread still works for this reader; `interrupt` stops it.
    at_work: Arc<Mutex<bool>>,
    interrupt: Interrupt,
    process: u32,
    nodes: usize,
    edges: u64,
}

/// The other thread's end.
struct Server<'s> {
    orders: &'s Receiver<Order>,
    news: &'s Sender<News>,
    /// Batches that were sent and not taken.
    ahead: usize,
    /// An order that came while a pass was under way.
    next: Option<Order>,
}

impl Server<'_> {
    /// The next order; `None` if the reader is gone.
    fn order(&mut self, interrupt: &Interrupt) -> Result<Option<Order>, Error> {
        if let Some(order) = self.next.take() {
            return Ok(Some(order));
        }
        loop {
            match self.orders.recv_timeout(SIGNAL_STEP) {
                Ok(order) => return Ok(Some(order)),
                Err(RecvTimeoutError::Timeout) => interrupt.check()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    fn serve(&mut self, passes: &EdgePasses<'_>) -> Result<(), Error> {
        if self.news.send(News::Open(passes.node_count(), passes.edge_count())).is_err() {
            return Ok(());
        }
        while let Some(order) = self.order(passes.interrupt())? {
            if let Some(Order::Pass(number, among)) = self.answer(order, passes)? {
                passes.pass(among.as_ref(), &mut |edges| self.hand_on(number, edges, passes))?;
                if self.news.send(News::Over(number)).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Does what can be done at any time, also during a pass; gives another pass back. `Ok(None)` if nothing is left to do.
    fn answer(&mut self, order: Order, passes: &EdgePasses<'_>) -> Result<Option<Order>, Error> {
        // A reader that is gone need not be told.
        match order {
            Order::Taken => self.ahead = self.ahead.saturating_sub(1),
            Order::Degrees => drop(self.news.send(News::Degrees(passes.degrees()?))),
            Order::Ids => drop(self.news.send(News::Ids(passes.nodes().map(|node| node.0 as i64).collect()))),
            Order::Pass(..) => return Ok(Some(order)),
        }
        Ok(None)
    }

    /// Sends a batch once there is room for it; false if this pass is not wanted any more.
    fn hand_on(&mut self, pass: u64, edges: EdgeArrays, passes: &EdgePasses<'_>) -> Result<bool, Error> {
        while self.next.is_none() {
            let order = match self.orders.try_recv() {
                Ok(order) => Some(order),
                Err(_) if self.ahead < BATCHES_MAX => break,
                Err(_) => self.order(passes.interrupt())?,
            };
            let Some(order) = order else { return Ok(false) };
            self.next = self.answer(order, passes)?;
        }
        if self.next.is_some() {
            return Ok(false);
        }
        self.ahead += 1;
        Ok(self.news.send(News::Batch(pass, edges)).is_ok())
    }
}

impl EdgeReader {
    /// Opens the edges that settings name.
    pub(crate) fn open(
        py: Python<'_>,
        shared: &Arc<Shared>,
        settings: &Bound<'_, PyDict>,
        options: &Options,
    ) -> PyResult<EdgeReader> {
        let wanted = from_python::value(settings, 0).map_err(|fault| fault.of(|| "the settings".to_owned()))?;
        let run = Settings::of(shared).with(options)?;
        let seat = shared.borrow_seat().map_err(raised)?;
        let (orders, ordered) = channel();
        let (sender, news) = channel();
        let at_work = Arc::new(Mutex::new(true));
        let (interrupt, working, home) = (seat.interrupt.clone(), at_work.clone(), shared.clone());
        worker::run(Box::new(move || {
            let outcome = work(&seat, &run, &wanted, &ordered, &sender);
            *working.lock().unwrap_or_else(PoisonError::into_inner) = false;
            home.return_seat(seat);
            if let Err(error) = outcome {
                // A reader that has gone need not be told.
                let _ = sender.send(News::Failed(error));
            }
        }))
        .map_err(raised)?;
        let process = std::process::id();
        let (orders, news, pass) = (Mutex::new(Some(orders)), Mutex::new(news), Mutex::new(0));
        let waiting = Mutex::default();
        let mut reader = EdgeReader { orders, news, pass, waiting, at_work, interrupt, process, nodes: 0, edges: 0 };
        match reader.hear(py)? {
            News::Open(nodes, edges) => (reader.nodes, reader.edges) = (nodes, edges),
            _ => return Err(raised(error!(Internal, "edges were read before they were asked for"))),
        }
        Ok(reader)
    }

    fn tell(&self, order: Order) -> PyResult<()> {
        if self.process != std::process::id() {
            return Err(raised(crate::error::forked()));
        }
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let told = orders.as_ref().is_some_and(|orders| orders.send(order).is_ok());
        // A thread that has ended has sent its reason, which the next reader receives.
        if told || orders.is_some() { Ok(()) } else { Err(raised(error!(Closed, "the edges are closed"))) }
    }

    /// The next news. Listens to signals meanwhile: one that raises an exception ends the reader.
    fn hear(&self, py: Python<'_>) -> PyResult<News> {
        if self.process != std::process::id() {
            return Err(raised(crate::error::forked()));
        }
        loop {
            let heard = py.detach(|| {
                let news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
                news.recv_timeout(SIGNAL_STEP)
            });
            match heard {
                Ok(News::Failed(error)) => return Err(raised(error)),
                Ok(news) => return Ok(news),
                Err(RecvTimeoutError::Disconnected) => return Err(raised(error!(Closed, "the edges are closed"))),
                Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| self.end())?,
            }
        }
    }

    /// Ends the thread's work for this reader.
    fn end(&self) {
        if self.process != std::process::id() {
            return;
        }
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).take();
        let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        if *at_work {
            self.interrupt.cancel();
        }
    }
}

/// The thread's part.
fn work(
    seat: &Seat,
    settings: &Settings,
    wanted: &Value,
    orders: &Receiver<Order>,
    news: &Sender<News>,
) -> Result<(), Error> {
    let mut guard = seat.lock()?;
    let session = guard.as_mut().ok_or_else(closed)?;
    session.set_timeout(settings.timeout);
    session.set_query_memory(settings.query_memory);
    session.set_priority(settings.priority);
    let mut server = Server { orders, news, ahead: 0, next: None };
    let run = std::panic::AssertUnwindSafe(|| {
        session.here_to("a stream of edges")?.with_edges(wanted, |passes| server.serve(passes))
    });
    std::panic::catch_unwind(run).unwrap_or_else(|_| {
        guard.take();
        Err(error!(Internal, "the engine panicked; the session is lost, the database is not"))
    })
}

#[pymethods]
impl EdgeReader {
    #[new]
    #[pyo3(signature = (database, settings, timeout=None, memory_limit=None))]
    fn new(
        py: Python<'_>,
        database: &Bound<'_, crate::database::Database>,
        settings: &Bound<'_, PyDict>,
        timeout: Option<f64>,
        memory_limit: Option<usize>,
    ) -> PyResult<EdgeReader> {
        EdgeReader::open(py, &database.get().shared, settings, &Options { timeout, memory_limit, progress: None })
    }

    /// Number of nodes that take part.
    #[getter]
    fn node_count(&self) -> usize {
        self.nodes
    }

    /// Number of edges of the types asked for, whatever the labels of their ends.
    #[getter]
    fn edge_count(&self) -> u64 {
        self.edges
    }

    /// The ids of the nodes, by their numbers.
    fn ids(&self, py: Python<'_>) -> PyResult<Numbers> {
        self.tell(Order::Ids)?;
        loop {
            match self.hear(py)? {
                News::Ids(ids) => return Ok(Vector::I64(ids).into()),
                other => self.keep(other),
            }
        }
    }

    /// For each node, over how many edges it is left.
    fn degrees(&self, py: Python<'_>) -> PyResult<Numbers> {
        self.tell(Order::Degrees)?;
        loop {
            match self.hear(py)? {
                News::Degrees(degrees) => return Ok(Vector::U32(degrees).into()),
                other => self.keep(other),
            }
        }
    }

    /// Begins a pass, over the edges of the nodes whose bits are set, if bits are given: eight a byte, the lowest first. Gives
    /// its number. The pass before ends here.
    #[pyo3(signature = (among=None))]
    fn begin(&self, among: Option<&Bound<'_, PyBytes>>) -> PyResult<u64> {
        let among = among.map(|bytes| {
            let bytes = bytes.as_bytes();
            let word = |eight: &[u8]| {
                let mut whole = [0; 8];
                whole[..eight.len()].copy_from_slice(eight);
                u64::from_le_bytes(whole)
            };
            let words: Vec<u64> = bytes.chunks(8).map(word).collect();
            if words.len() == self.nodes.div_ceil(64) { Some(Bitmap::from_words(words, self.nodes)) } else { None }
        });
        if among.as_ref().is_some_and(Option::is_none) {
            return Err(raised(error!(Argument, "expected a bit for each of {} nodes", self.nodes)));
        }
        let pass = {
            let mut pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner);
            *pass += 1;
            *pass
        };
        self.tell(Order::Pass(pass, among.flatten()))?;
        Ok(pass)
    }

    /// The next batch of the pass with that number: sources, targets, weights or ``None``, and properties; ``None`` at its end.
    /// Fails if another pass has begun.
    fn next<'py>(&self, py: Python<'py>, wanted: u64) -> PyResult<Option<Bound<'py, PyTuple>>> {
        loop {
            if *self.pass.lock().unwrap_or_else(PoisonError::into_inner) != wanted {
                return Err(raised(
                    error!(Closed, "this pass over the edges has ended, since another one began")
                        .with_remedy("finish one pass before the next, or open a stream for each with db.edges()"),
                ));
            }
            let kept = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let news = kept.map_or_else(|| self.hear(py), Ok)?;
            match news {
                News::Batch(pass, edges) => {
                    self.tell(Order::Taken)?;
                    if pass == wanted {
                        return given(py, edges).map(Some);
                    }
                }
                News::Over(pass) if pass == wanted => return Ok(None),
                _ => {}
            }
        }
    }

    /// Ends the reading. Again, it does nothing.
    fn close(&self) {
        self.end();
    }
}

impl EdgeReader {
    /// Keeps news of a pass for the reader that goes on with it.
    fn keep(&self, news: News) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(news);
    }
}

impl Drop for EdgeReader {
    fn drop(&mut self) {
        self.end();
    }
}

fn given<'py>(py: Python<'py>, edges: EdgeArrays) -> PyResult<Bound<'py, PyTuple>> {
    let EdgeArrays { sources, targets, weights, properties } = edges;
    let numbers = |vector: Vector| Bound::new(py, Numbers::from(vector));
    let weights = if weights.is_empty() { None } else { Some(numbers(Vector::F64(weights))?) };
    let columns = PyList::empty(py);
    for column in properties {
        columns.append(column_given(py, column)?)?;
    }
    (numbers(Vector::U32(sources))?, numbers(Vector::U32(targets))?, weights, columns).into_pyobject(py)
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_) | Value::Null)
}

fn number_of(value: &Value) -> f64 {
    match value {
        Value::Int(x) => *x as f64,
        Value::Float(x) => *x,
        _ => f64::NAN,
    }
}

/// A column as numbers, where it has a form that NumPy knows, or as a list. Integers with gaps, and
/// mixtures of integers and floats, become floats.
fn column_given<'py>(py: Python<'py>, column: Column) -> PyResult<Bound<'py, PyAny>> {
    let Column { data, validity } = column;
    let vector = match (data, &validity) {
        (ColumnData::Int(values), None) => Vector::I64(values),
        (ColumnData::Float(values), None) => Vector::F64(values),
        (ColumnData::Bool(values), None) => Vector::Bool(values),
        (ColumnData::Int(values), Some(present)) => {
            let number = |(row, value)| if present.get(row) { value as f64 } else { f64::NAN };
            Vector::F64(values.into_iter().enumerate().map(number).collect())
        }
        (ColumnData::Float(values), Some(present)) => {
            let number = |(row, value)| if present.get(row) { value } else { f64::NAN };
            Vector::F64(values.into_iter().enumerate().map(number).collect())
        }
        (ColumnData::Value(values), _) if values.iter().all(is_number) => {
            Vector::F64(values.iter().map(number_of).collect())
        }
        (data, _) => {
            let column = Column { data, validity };
            let (list, entities) = (PyList::empty(py), Entities::default());
            for row in 0..column.len() {
                list.append(to_python::cell(py, &column, row, &entities)?)?;
            }
            return Ok(list.into_any());
        }
    };
    Ok(Bound::new(py, Numbers::from(vector))?.into_any())
}
