//! knot: the shell and command of Knotwork.
//!
//! Modules in reading order:
//! - `arguments`: the command line.
//! - `config_file`: settings of a command from a file.
//! - `commands`: one file for each verb.
//! - `shell`: the interactive shell.
//! - `format`: rows as table, CSV, JSON or JSON lines.
//! - `values`: single values as text and as JSON.
//! - `whole_file`: files that are there as a whole, or not at all.
//! - `signals`: Ctrl-C.
//! - `progress`: progress bars.
//! - `failure`: what ends a command, and with which exit code.
//!
//! Rows go to standard output and nothing else does; errors, progress and counts go to standard error.
//! Exit codes: 0 fine, 1 error, 2 wrong usage, 130 interrupted.

#![deny(clippy::print_stderr, reason = "it panics where nobody reads, as when a pipe was closed: tell! does not")]

/// Writes a line to standard error. Where that cannot be written to there is nobody to tell.
macro_rules! tell {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

mod arguments;
mod commands;
mod config_file;
mod failure;
mod format;
mod progress;
mod shell;
mod signals;
mod values;
mod whole_file;

fn main() -> std::process::ExitCode {
    let arguments = arguments::Arguments::of_process();
    let outcome = signals::install().and_then(|()| match arguments.command {
        Some(command) => commands::run(command),
        None => shell::start(&arguments.shell),
    });
    failure::exit_code(outcome)
}
