//! Ctrl-C: cancels what runs; a second one, or one while nothing runs, ends the program with exit code 130.

use std::sync::{Mutex, PoisonError};

use database::{Error, ErrorCode, Interrupt};

use crate::failure::Outcome;

/// Interrupt of what runs now, and true if it was asked to stop.
static RUNNING: Mutex<Option<(Interrupt, bool)>> = Mutex::new(None);

/// Catches Ctrl-C from now on.
pub(crate) fn install() -> Outcome<()> {
    ctrlc::set_handler(|| {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *running {
            Some((interrupt, asked)) if !*asked => {
                interrupt.cancel();
                *asked = true;
            }
            _ => std::process::exit(130),
        }
    })
    .map_err(|cause| Error::new(ErrorCode::Internal, format!("cannot catch Ctrl-C: {cause}")).into())
}

/// As long as it lives, Ctrl-C cancels this.
pub(crate) struct Cancelling;

/// Lets Ctrl-C cancel what watches that flag.
pub(crate) fn cancel_with(interrupt: Interrupt) -> Cancelling {
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some((interrupt, false));
    Cancelling
}

impl Drop for Cancelling {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
