//! `knot check`: every checksum and cross-reference, and what to do when one is wrong.

use std::io::Write;

use database::Interrupt;

use crate::arguments::CheckArguments;
use crate::failure::{Failure, Outcome};
use crate::signals;

pub(super) fn run(arguments: &CheckArguments) -> Outcome<()> {
    let interrupt = Interrupt::new();
    let _cancelling = signals::cancel_with(interrupt.clone());
    let problems = database::check(&arguments.store, &interrupt)?;
    let mut out = std::io::stdout().lock();
    let mut last = None;
    for problem in &problems {
        writeln!(out, "{} at byte {}: {}", problem.file.display(), problem.offset, problem.message)?;
        if !problem.part.is_empty() && last != Some(&problem.file) {
            writeln!(out, "  the file holds {}", problem.part)?;
        }
        last = Some(&problem.file);
    }
    let store = arguments.store.display();
    if problems.is_empty() {
        let (torn, kept) = database::torn_logs(&arguments.store)?;
        for torn in &torn {
            writeln!(out, "{torn}")?;
        }
        for (path, bytes) in kept {
            writeln!(out, "{}: {bytes} bytes that were cut off a log when the store was opened", path.display())?;
        }
        let what = if torn.is_empty() { "" } else { " before the end of the log" };
        writeln!(out, "{store}: every checksum and cross-reference{what} is right")?;
        return Ok(());
    }
    let plural = if problems.len() == 1 { "problem" } else { "problems" };
    tell!(
        "CORRUPT: {} {plural} in {store}\n  = restore a backup: knot restore BACKUP NEW\n  \
         = or copy all that can be read: knot recover {store} NEW; see docs/backup-and-recovery.md",
        problems.len()
    );
    Err(Failure::Reported)
}
