//! Reasons for which a command ends, and their exit codes.

use std::io::IsTerminal;
use std::process::ExitCode;

use database::{Error, ErrorCode};

/// Why a command ended early.
pub(crate) enum Failure {
    /// An error, with the text of the query that it points into.
    Error(Error, Option<String>),
    /// An error of a command whose exit code 1 has another meaning.
    Trouble(Error),
    /// The command line makes no sense together.
    Usage(String),
    /// As above, and whose help says more.
    UsageOf(&'static str, String),
    /// The reader of our output closed it.
    OutputClosed,
    /// The message was printed already.
    Reported,
}

/// The outcome of a command.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error, None)
    }
}

impl From<std::io::Error> for Failure {
    fn from(cause: std::io::Error) -> Failure {
        if cause.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure::OutputClosed;
        }
        Failure::Error(Error::new(ErrorCode::File, format!("cannot read the input or write the output: {cause}")), None)
    }
}

/// Input that is no text.
pub(crate) fn not_utf8(bytes: &[u8]) -> Failure {
    let good = std::str::from_utf8(bytes).map_or_else(|cause| cause.valid_up_to(), str::len);
    let line = bytes[..good].iter().filter(|&&byte| byte == b'\n').count() + 1;
    let message = format!("the standard input is not UTF-8, from line {line} on");
    Failure::Error(
        Error::new(ErrorCode::Argument, message).with_remedy("convert it, as with iconv -f LATIN1 -t UTF-8"),
        None,
    )
}

/// Prints an error to standard error, with the query's line and a caret if it points there.
pub(crate) fn report(error: &Error, query: Option<&str>) {
    let text = error.render(query.unwrap_or(""));
    let text = if query.is_some() { text } else { without_caret(error) };
    let (start, end) = if use_color() { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    match text.split_once('\n') {
        Some((first, rest)) => tell!("{start}{first}{end}\n{rest}"),
        None => tell!("{start}{text}{end}"),
    }
}

fn without_caret(error: &Error) -> String {
    format!("{error}{}", error.remedy_line())
}

/// True if standard error may carry colours.
pub(crate) fn use_color() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Reports a failure and gives the exit code.
pub(crate) fn exit_code(outcome: Outcome<()>) -> ExitCode {
    match outcome {
        Ok(()) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(Failure::Reported) => ExitCode::from(1),
        Err(Failure::Usage(message)) => {
            tell!("USAGE: {message}\n  = run knot --help");
            ExitCode::from(2)
        }
        Err(Failure::UsageOf(command, message)) => {
            tell!("USAGE: {message}\n  = run knot {command} --help");
            ExitCode::from(2)
        }
        Err(Failure::Trouble(error)) if error.code() != ErrorCode::Cancelled => {
            report(&error, None);
            ExitCode::from(2)
        }
        Err(Failure::Trouble(error)) => exit_code(Err(error.into())),
        Err(Failure::Error(error, query)) => {
            report(&error, query.as_deref());
            ExitCode::from(if error.code() == ErrorCode::Cancelled { 130 } else { 1 })
        }
    }
}
