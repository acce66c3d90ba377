//! `knot export`: a store into a folder of files.

use database::export::{ExportFormat, export};
use database::{Access, Interrupt};

use crate::arguments::{ExportArguments, ExportForm};
use crate::failure::Outcome;
use crate::format::counted;
use crate::signals;

pub(super) fn run(arguments: &ExportArguments) -> Outcome<()> {
    let database = super::open(&arguments.store, Access::ReadOnly)?;
    let interrupt = Interrupt::new();
    let _cancelling = signals::cancel_with(interrupt.clone());
    let format = match arguments.format {
        ExportForm::Csv => ExportFormat::Csv,
        ExportForm::Jsonl => ExportFormat::JsonLines,
    };
    let view = database.store().read()?;
    let summary = export(&*view, &arguments.folder, format, &interrupt)?;
    let folder = arguments.folder.display();
    tell!(
        "{} and {} in {} in {folder}",
        counted(summary.nodes, "node"),
        counted(summary.edges, "edge"),
        counted(summary.files.len() as u64, "file")
    );
    Ok(())
}
