//! `knot backup` and `knot restore`: verified copies of a store, while it is used.

use std::path::Path;

use database::{CopySummary, Interrupt};
use indicatif::HumanBytes;

use crate::arguments::{BackupArguments, RestoreArguments};
use crate::failure::Outcome;
use crate::{progress, signals};

pub(super) fn run(arguments: &BackupArguments) -> Outcome<()> {
    let (store, base) = (&arguments.store, arguments.base.as_deref());
    let summary = watched(|interrupt| database::backup(store, &arguments.destination, base, interrupt))?;
    report("backed up to", &arguments.destination, &summary);
    Ok(())
}

pub(super) fn restore(arguments: &RestoreArguments) -> Outcome<()> {
    let summary = watched(|interrupt| database::restore(&arguments.backup, &arguments.store, interrupt))?;
    report("restored to", &arguments.store, &summary);
    Ok(())
}

/// Runs a copy while Ctrl-C can cancel it and a bar shows how far it is.
pub(crate) fn watched<T>(work: impl FnOnce(&Interrupt) -> database::Result<T>) -> database::Result<T> {
    let interrupt = Interrupt::new();
    let _cancelling = signals::cancel_with(interrupt.clone());
    progress::watch_bytes(&interrupt, || work(&interrupt))
}

/// Says what a copy did.
pub(crate) fn report(done: &str, path: &Path, summary: &CopySummary) {
    let shared = match summary.files_linked {
        0 => String::new(),
        files => format!(", {} in {files} files shared with the base", HumanBytes(summary.bytes_linked)),
    };
    let (path, bytes, files) = (path.display(), HumanBytes(summary.bytes_copied), summary.files_copied);
    tell!("{done} {path}: {bytes} in {files} files, every checksum verified{shared}");
}
