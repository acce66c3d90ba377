//! `knot bench`: measurements that were written as JSON.

use std::io::Write;
use std::path::{Path, PathBuf};

use database::Error;
use introspect::compare::{CompareOptions, compare, to_text};
use introspect::report::{Stored, to_html};

use crate::arguments::{BenchCommand, BenchCompareArguments, BenchReportArguments};
use crate::failure::{Failure, Outcome};
use crate::{signals, whole_file};

pub(super) fn run(command: &BenchCommand) -> Outcome<()> {
    match command {
        BenchCommand::Report(arguments) => report(arguments),
        BenchCommand::Compare(arguments) => compare_two(arguments),
    }
}

fn report(arguments: &BenchReportArguments) -> Outcome<()> {
    let measured = read(&arguments.measurements)?;
    write_html(&arguments.html, &measured)?;
    tell!("wrote {}", arguments.html.display());
    Ok(())
}

fn compare_two(arguments: &BenchCompareArguments) -> Outcome<()> {
    let options = CompareOptions { ratio_max: 1.0 + share(&arguments.fail_over)?, seed: arguments.seed };
    // All may be of one store: the files tell them apart.
    let side = |first: &PathBuf, again: &[PathBuf]| -> Result<Vec<Stored>, Error> {
        let files = std::iter::once(first).chain(again);
        files.map(|file| Ok(Stored { name: file.display().to_string(), ..Stored::open(file)? })).collect()
    };
    let both = side(&arguments.base, &arguments.again)
        .and_then(|base| Ok((base, side(&arguments.new, &arguments.new_again)?)));
    let (base, new) = both.map_err(Failure::Trouble)?;
    let compared = signals::cancellable(|interrupt| compare(&base, &new, &options, interrupt));
    let comparison = compared.map_err(Failure::Trouble)?;
    std::io::stdout().lock().write_all(to_text(&comparison, arguments.all).as_bytes())?;
    if comparison.fails() { Err(Failure::Reported) } else { Ok(()) }
}

/// A share from a text in percent.
fn share(text: &str) -> Outcome<f64> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let share = number.filter(|percent| percent.is_finite() && *percent >= 0.0).map(|percent| percent / 100.0);
    share.ok_or_else(|| {
        Failure::UsageOf("bench compare", format!("--fail-over: expected a number of percent, as 10%, found '{text}'"))
    })
}

fn read(files: &[PathBuf]) -> Result<Vec<Stored>, Error> {
    files.iter().map(|file| Stored::open(file)).collect()
}

/// Writes a report.
pub(super) fn write_html(file: &Path, measured: &[Stored]) -> Result<(), Error> {
    whole_file::write(file, &to_html(measured)?)
}
