//! Ctrl-C: cancels what runs; a second one, or one while nothing runs, ends the program with exit code 130.
//!
//! A run lowers its flag as it begins, and one that is about to end may not look at it any more. So the flag of what runs
//! is raised again and again until the program ends, or the shell asks for the next statement: no Ctrl-C is lost between
//! one piece of work and the next.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use database::{Error, ErrorCode, Interrupt};

use crate::failure::Outcome;

/// Time between two raisings of the flag.
const RAISED_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// The work that Ctrl-C cancels.
static WORK: Mutex<Work> = Mutex::new(Work { running: None, was_asked: false, is_raising: false });

struct Work {
    /// The flag of what runs now.
    running: Option<Interrupt>,
    /// True if Ctrl-C came, and was not forgotten.
    was_asked: bool,
    /// True if a thread raises the flag again and again.
    is_raising: bool,
}

impl Work {
    fn cancel(&self) {
        if let Some(interrupt) = &self.running {
            interrupt.cancel();
        }
    }
}

fn work() -> MutexGuard<'static, Work> {
    WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Catches Ctrl-C from now on.
pub(crate) fn install() -> Outcome<()> {
    ctrlc::set_handler(|| {
        let mut work = work();
        if work.running.is_none() || work.was_asked {
            std::process::exit(130);
        }
        work.was_asked = true;
        work.cancel();
        if !work.is_raising {
            let raising = std::thread::Builder::new().name("knot-cancel".into());
            // Without the thread the flag was raised once.
            work.is_raising = raising.spawn(raise_again).is_ok();
        }
    })
    .map_err(|cause| Error::new(ErrorCode::Internal, format!("cannot catch Ctrl-C: {cause}")).into())
}

/// Raises the flag of what runs until Ctrl-C is forgotten.
fn raise_again() {
    loop {
        std::thread::sleep(RAISED_AGAIN_AFTER);
        let mut work = work();
        if !work.was_asked {
            work.is_raising = false;
            return;
        }
        work.cancel();
    }
}

/// As long as it lives, Ctrl-C cancels something; afterwards what it cancelled before.
pub(crate) struct Cancelling(Option<Interrupt>);

/// Lets Ctrl-C cancel what watches that flag. One that came during work that ended all the same cancels it at once.
pub(crate) fn cancel_with(interrupt: Interrupt) -> Cancelling {
    let mut work = work();
    let before = work.running.replace(interrupt);
    if work.was_asked {
        work.cancel();
    }
    Cancelling(before)
}

/// Does what Ctrl-C cancels; waits in it that look at no flag of their own look at that one.
pub(crate) fn cancellable<T>(run: impl FnOnce(&Interrupt) -> T) -> T {
    let interrupt = Interrupt::new();
    let (_cancelling, _listening) = (cancel_with(interrupt.clone()), interrupt.listen());
    run(&interrupt)
}

/// True if Ctrl-C came, even if what it was to cancel ended before it heard of it.
pub(crate) fn was_asked() -> bool {
    work().was_asked
}

/// Forgets that Ctrl-C came: its user sees that the work has ended, and asks for something else.
pub(crate) fn forget() {
    work().was_asked = false;
}

impl Drop for Cancelling {
    fn drop(&mut self) {
        work().running = self.0.take();
    }
}
