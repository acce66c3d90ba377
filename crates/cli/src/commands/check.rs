//! `knot check`: every checksum and cross-reference.

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
    for problem in &problems {
        writeln!(out, "{} at byte {}: {}", problem.file.display(), problem.offset, problem.message)?;
    }
    if problems.is_empty() {
        writeln!(out, "{}: every checksum and cross-reference is right", arguments.store.display())?;
        return Ok(());
    }
    let plural = if problems.len() == 1 { "problem" } else { "problems" };
    eprintln!("CORRUPT: {} {plural} in {}\n  = restore a copy of the store", problems.len(), arguments.store.display());
    Err(Failure::Reported)
}
