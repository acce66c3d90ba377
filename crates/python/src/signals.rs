//! Ctrl-C in long conversions: signals are listened to every few thousand objects.

use std::cell::Cell;

use pyo3::prelude::*;

/// Objects that are converted before signals are listened to: a few milliseconds of work.
pub(crate) const STEP: usize = 1 << 14;

thread_local! {
    /// Objects converted since this thread last listened.
    static UNHEARD: Cell<usize> = const { Cell::new(0) };
}

/// An object was converted. Fails with the exception that the handler of a signal raised.
#[inline]
pub(crate) fn converted(py: Python<'_>) -> PyResult<()> {
    let unheard = UNHEARD.get() + 1;
    if unheard < STEP {
        UNHEARD.set(unheard);
        return Ok(());
    }
    UNHEARD.set(0);
    py.check_signals()
}

/// Listens to signals from code that has let go of Python's lock.
pub(crate) fn listen_detached() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}
