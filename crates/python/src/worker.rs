//! Threads that run statements whose rows are asked for one after the other, kept for the next one.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use database::{Error, Interrupt};
use pyo3::prelude::*;

use crate::error::raised;

/// Time that work goes on before signals are listened to.
const SIGNAL_STEP: Duration = Duration::from_millis(50);
/// Threads that are kept though they have nothing to do.
const IDLE_MAX: usize = 8;
/// The stack of a thread in bytes: as much as the main thread has. It is taken as far as it is used.
const STACK_BYTES: usize = 8 << 20;

/// Work of a thread.
type Job = Box<dyn FnOnce() + Send>;

/// The threads that wait, and the process they belong to: after a fork they are not there any more.
struct Idle {
    process: u32,
    threads: Vec<Sender<Job>>,
}

static IDLE: Mutex<Idle> = Mutex::new(Idle { process: 0, threads: Vec::new() });

/// Has something done by another thread.
pub(crate) fn run(job: Job) -> Result<(), Error> {
    let mut job = job;
    while let Some(thread) = take() {
        // A thread that is gone gives the job back.
        match thread.send(job) {
            Ok(()) => return Ok(()),
            Err(back) => job = back.0,
        }
    }
    let (sender, receiver) = channel::<Job>();
    let own = sender.clone();
    let body = move || {
        while let Ok(job) = receiver.recv() {
            job();
            if !give_back(&own) {
                break;
            }
        }
    };
    let builder = std::thread::Builder::new().name("knotwork".to_owned()).stack_size(STACK_BYTES);
    builder.spawn(body).map_err(|cause| model::error!(Limit, "no thread can be made for a query: {cause}"))?;
    sender.send(job).map_err(|_| model::error!(Internal, "a new thread has ended"))
}

/// Has something done by another thread, without Python's lock, and listens to signals meanwhile: one that raises an
/// exception ends the work first.
pub(crate) fn while_it_runs<T: Send + 'static>(
    py: Python<'_>,
    flag: &Interrupt,
    work: impl FnOnce() -> database::Result<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    run(Box::new(move || drop(sender.send(work())))).map_err(raised)?;
    let mut heard = Ok(());
    loop {
        // Only one thread waits at a time.
        let waiting = &mut receiver;
        match py.detach(move || waiting.recv_timeout(SIGNAL_STEP)) {
            Ok(done) => {
                if let Err(exception) = heard {
                    // It may have been done all the same, and takes time to end, as a store does.
                    py.detach(move || drop(done));
                    return Err(exception);
                }
                return done.map_err(raised);
            }
            Err(RecvTimeoutError::Timeout) if heard.is_ok() => {
                heard = py.check_signals();
                if heard.is_err() {
                    flag.cancel();
                }
            }
            Err(RecvTimeoutError::Timeout) => flag.cancel(),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(raised(model::error!(Internal, "the thread that did it has ended")));
            }
        }
    }
}

fn take() -> Option<Sender<Job>> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if idle.process != process {
        idle.process = process;
        idle.threads.clear();
    }
    idle.threads.pop()
}

fn give_back(thread: &Sender<Job>) -> bool {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_kept = idle.threads.len() < IDLE_MAX;
    if is_kept {
        idle.threads.push(thread.clone());
    }
    is_kept
}
