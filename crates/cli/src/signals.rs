//! Ctrl-C: cancels what runs; a second one, or one while nothing runs, ends the program with exit code 130.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use database::{Error, ErrorCode, Interrupt};

use crate::failure::Outcome;

/// Interrupt of what runs now, and true if it was asked to stop.
static RUNNING: Mutex<Option<(Interrupt, bool)>> = Mutex::new(None);

/// True if Ctrl-C came since the last work began.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Catches Ctrl-C from now on.
pub(crate) fn install() -> Outcome<()> {
    ctrlc::set_handler(|| {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *running {
            Some((interrupt, asked)) if !*asked => {
                interrupt.cancel();
                *asked = true;
                ASKED.store(true, Ordering::Relaxed);
            }
            _ => std::process::exit(130),
        }
    })
    .map_err(|cause| Error::new(ErrorCode::Internal, format!("cannot catch Ctrl-C: {cause}")).into())
}

/// As long as it lives, Ctrl-C cancels something; afterwards what it cancelled before.
pub(crate) struct Cancelling(Option<(Interrupt, bool)>);

/// Lets Ctrl-C cancel what watches that flag.
pub(crate) fn cancel_with(interrupt: Interrupt) -> Cancelling {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    ASKED.store(false, Ordering::Relaxed);
    Cancelling(running.replace((interrupt, false)))
}

/// True if Ctrl-C came since the last work began, even if that ended before it heard of it.
pub(crate) fn was_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

impl Drop for Cancelling {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = self.0.take();
    }
}
