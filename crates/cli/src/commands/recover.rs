//! `knot recover`: what can be read of a damaged store, into a new one.

use std::io::Write;

use database::Interrupt;
use indicatif::HumanCount;

use crate::arguments::RecoverArguments;
use crate::failure::Outcome;
use crate::signals;

pub(super) fn run(arguments: &RecoverArguments) -> Outcome<()> {
    let interrupt = Interrupt::new();
    let _cancelling = signals::cancel_with(interrupt.clone());
    let recovery = database::recover(&arguments.store, &arguments.new, &interrupt)?;
    let mut out = std::io::stdout().lock();
    for loss in &recovery.losses {
        writeln!(out, "lost: {}\n  {} at byte {}: {}", loss.lost, loss.file.display(), loss.offset, loss.problem)?;
    }
    let (nodes, edges) = (HumanCount(recovery.nodes), HumanCount(recovery.edges));
    let (listed, listed_edges) = (HumanCount(recovery.nodes_listed), HumanCount(recovery.edges_listed));
    tell!("{nodes} nodes and {edges} edges copied to {}", arguments.new.display());
    if !recovery.losses.is_empty() {
        tell!("not all could be read; the files listed {listed} nodes and {listed_edges} edges, without the log");
    }
    Ok(())
}
