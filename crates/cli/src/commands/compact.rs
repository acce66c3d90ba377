//! `knot compact`: all writes and files merged as far as that goes.

use client::Graph;
use database::{Access, Config, Interrupt, Parameters};
use indicatif::{HumanBytes, HumanCount};

use super::backup::watched;
use crate::arguments::CompactArguments;
use crate::failure::Outcome;
use crate::signals;

pub(super) fn run(arguments: &CompactArguments) -> Outcome<()> {
    let graph = graph(arguments)?;
    let Some(database) = graph.database() else {
        let mut session = graph.session();
        let _cancelling = signals::cancel_with(session.interrupt());
        session.query("COMPACT", &Parameters::default())?;
        tell!("{}: compacted by {}", arguments.store.display(), graph.place());
        return Ok(());
    };
    let bytes = |info: database::StoreInfo| info.files.iter().map(|(_, length)| length).sum::<u64>();
    let before = database.info()?;
    let dead = before.dead_rows;
    watched(|interrupt| database.compact(interrupt))?;
    if let Some(dead) = dead {
        let left = database.info()?.dead_rows.unwrap_or_default();
        tell!("{}: {} dead rows before, {} now", arguments.store.display(), HumanCount(dead), HumanCount(left));
        return Ok(());
    }
    let (before, after) = (bytes(before), bytes(database.info()?));
    tell!("{}: {} before, {} now", arguments.store.display(), HumanBytes(before), HumanBytes(after));
    Ok(())
}

/// The store, in this process, or in the one that has it open.
fn graph(arguments: &CompactArguments) -> Outcome<Graph> {
    let config = Config { access: Access::ReadWriteExisting, ..Config::default() };
    let interrupt = Interrupt::new();
    let _cancelling = signals::cancel_with(interrupt.clone());
    let graph = Graph::open(&arguments.store, config, &interrupt)?;
    graph.database().iter().for_each(super::tell_torn);
    Ok(graph)
}
