//! `knot compact`: all writes and files merged as far as that goes.

use database::Access;
use indicatif::HumanBytes;

use super::backup::watched;
use crate::arguments::CompactArguments;
use crate::failure::Outcome;

pub(super) fn run(arguments: &CompactArguments) -> Outcome<()> {
    let database = super::open(&arguments.store, Access::ReadWriteExisting)?;
    let bytes = |info: database::StoreInfo| info.files.iter().map(|(_, length)| length).sum::<u64>();
    let before = bytes(database.info()?);
    watched(|interrupt| database.compact(interrupt))?;
    let after = bytes(database.info()?);
    eprintln!("{}: {} before, {} now", arguments.store.display(), HumanBytes(before), HumanBytes(after));
    Ok(())
}
