//! The registry of error codes: what a caller can react to, with class, Bolt status, sentence and remedy.
//!
//! Each crate has precise errors of its own; they become one of these at its edge.

use std::fmt;
use std::io;
use std::path::Path;

mod kind;

pub use kind::{ErrorDetail, ErrorKind, ErrorPhase};

/// A range of bytes in the text of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// The party that can do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The caller: the query, the data or the call is wrong.
    Client,
    /// Time: the same call may succeed when repeated.
    Transient,
    /// The operator: the store, the disk or this program is at fault.
    Database,
}

macro_rules! registry {
    ($(($variant:ident, $name:literal, $class:ident, $status:literal, $sentence:literal, $remedy:literal)),* $(,)?) => {
        /// The kind of failure, as coarse as a caller can react to it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = $sentence] $variant,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the registry.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The code's name, as printed before the message.
            pub fn name(self) -> &'static str {
                match self { $(ErrorCode::$variant => $name,)* }
            }

            /// The party that can do something about it.
            pub fn class(self) -> ErrorClass {
                match self { $(ErrorCode::$variant => ErrorClass::$class,)* }
            }

            /// The code that Neo4j's drivers know. Whether they try again goes by it, not by our class.
            pub fn bolt_status(self) -> &'static str {
                match self { $(ErrorCode::$variant => $status,)* }
            }

            /// Description of the failure, in one sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(ErrorCode::$variant => $sentence,)* }
            }

            /// Remedy; empty where only the message can tell.
            pub fn remedy(self) -> &'static str {
                match self { $(ErrorCode::$variant => $remedy,)* }
            }
        }
    };
}

registry! {
    (Syntax, "SYNTAX", Client, "Neo.ClientError.Statement.SyntaxError", "the query does not parse", ""),
    (Semantic, "SEMANTIC", Client, "Neo.ClientError.Statement.SemanticError", "the query parses but has no meaning", ""),
    (Unsupported, "UNSUPPORTED", Client, "Neo.ClientError.Statement.UnsupportedOperationError", "the query uses a construct that is not there yet", "rewrite that part of the query"),
    (UnknownFunction, "UNKNOWN_FUNCTION", Client, "Neo.ClientError.Statement.SyntaxError", "no function has that name", "check the spelling"),
    (UnknownProcedure, "UNKNOWN_PROCEDURE", Client, "Neo.ClientError.Procedure.ProcedureNotFound", "no procedure has that name", "check the spelling"),
    (ProcedureFailed, "PROCEDURE_FAILED", Client, "Neo.ClientError.Procedure.ProcedureCallFailed", "a procedure refused its input", ""),
    (Parameter, "PARAMETER", Client, "Neo.ClientError.Statement.ParameterMissing", "a parameter of the query has no value", "pass it with --param, or :param in the shell"),
    (Type, "TYPE", Client, "Neo.ClientError.Statement.TypeError", "a value has the wrong type", "convert it, or test it first"),
    (Arithmetic, "ARITHMETIC", Client, "Neo.ClientError.Statement.ArithmeticError", "a calculation has no result", "guard the operands"),
    (Argument, "ARGUMENT", Client, "Neo.ClientError.Statement.ArgumentError", "an argument is outside its range", ""),
    (NotFound, "NOT_FOUND", Client, "Neo.ClientError.Statement.EntityNotFound", "a node or edge is no longer there", "match it again"),
    (Constraint, "CONSTRAINT", Client, "Neo.ClientError.Schema.ConstraintValidationFailed", "a write breaks a constraint", "change the data or drop the constraint"),
    (SchemaRule, "SCHEMA", Client, "Neo.ClientError.Schema.ConstraintAlreadyExists", "a constraint cannot be made or dropped", ""),
    (StillConnected, "STILL_CONNECTED", Client, "Neo.ClientError.Schema.ConstraintValidationFailed", "a node that still has edges cannot be deleted", "use DETACH DELETE"),
    (ReadOnly, "READ_ONLY", Client, "Neo.ClientError.Statement.AccessMode", "a write reached a store or transaction that only reads", "open it for writing"),
    (TransactionState, "TRANSACTION_STATE", Client, "Neo.ClientError.Transaction.ForbiddenDueToTransactionType", "the session is not in the state that the command needs", "begin, commit or roll back first"),
    (Conflict, "CONFLICT", Transient, "Neo.TransientError.Transaction.Outdated", "another write came first", "retry the transaction"),
    (Cancelled, "CANCELLED", Client, "Neo.ClientError.Transaction.Terminated", "the query was cancelled", "run it again"),
    (Timeout, "TIMEOUT", Client, "Neo.ClientError.Transaction.TransactionTimedOut", "the query ran longer than it may", "raise the timeout or ask for less"),
    (Limit, "LIMIT", Client, "Neo.ClientError.General.TransactionOutOfMemoryError", "the query needs more than its limit", "raise the limit or ask for less"),
    (Busy, "BUSY", Client, "Neo.TransientError.General.DatabaseUnavailable", "another process has the store open, or has it and does not answer, as one that is stopped", "close it there, or let it go on"),
    (Connection, "CONNECTION", Transient, "Neo.TransientError.General.DatabaseUnavailable", "the process that has the store, or the server, does not answer, or has ended", "try again: the next statement connects anew, or opens the store"),
    (OutcomeUnknown, "OUTCOME_UNKNOWN", Database, "Neo.DatabaseError.General.UnknownError", "the connection was lost before it was told whether a commit was made", "look whether the data is there before you repeat it"),
    (NotAStore, "NOT_A_STORE", Client, "Neo.ClientError.Database.DatabaseNotFound", "the path holds no Knotwork store", "check the path; `knot NAME.knot` creates a store, and so does an import"),
    (Version, "VERSION", Client, "Neo.TransientError.General.DatabaseUnavailable", "the store was written by a newer format", "open it with a newer Knotwork"),
    (Import, "IMPORT", Client, "Neo.ClientError.Statement.ExternalResourceFailed", "a file to import cannot be read as asked", "mend the row, or use --skip-bad"),
    (File, "FILE", Client, "Neo.ClientError.Statement.ExternalResourceFailed", "a file cannot be read or written", "check the path and the rights"),
    (Io, "IO", Database, "Neo.DatabaseError.General.UnknownError", "the disk refused a read or a write", "check the disk; reopen the store"),
    (DiskFull, "DISK_FULL", Database, "Neo.DatabaseError.General.UnknownError", "the disk is full", "free space, then try again"),
    (Corrupt, "CORRUPT", Database, "Neo.DatabaseError.General.StorageDamageDetected", "the store's bytes are not what was written", "run knot check; restore a copy"),
    (Closed, "CLOSED", Database, "Neo.DatabaseError.General.UnknownError", "the store refuses work after a failed write", "reopen the store"),
    (Source, "SOURCE", Transient, "Neo.TransientError.General.DatabaseUnavailable", "a database that is attached does not answer as asked", "see that it runs and lets you in, then try again"),
    (Job, "JOB", Client, "Neo.ClientError.Procedure.ProcedureCallFailed", "the program that computes elsewhere is not there, or has failed", "see docs/spark.md, or compute here: leave out execution: 'spark'"),
    (Definition, "DEFINITION", Client, "Neo.ClientError.Statement.ExternalResourceFailed", "a graph definition does not fit its source", "mend the definition; knot source check says where"),
    (Internal, "INTERNAL", Database, "Neo.DatabaseError.General.UnknownError", "a belief of this program was broken", "report it with the query"),
}

impl ErrorCode {
    /// openCypher's kind of errors of this code, unless they say otherwise.
    pub fn kind(self) -> ErrorKind {
        match self {
            ErrorCode::Syntax | ErrorCode::Semantic | ErrorCode::Unsupported | ErrorCode::UnknownFunction => {
                ErrorKind::SyntaxError
            }
            ErrorCode::UnknownProcedure | ErrorCode::ProcedureFailed => ErrorKind::ProcedureError,
            ErrorCode::Parameter => ErrorKind::ParameterMissing,
            ErrorCode::Type => ErrorKind::TypeError,
            ErrorCode::Arithmetic => ErrorKind::ArithmeticError,
            ErrorCode::Argument => ErrorKind::ArgumentError,
            ErrorCode::NotFound => ErrorKind::EntityNotFound,
            ErrorCode::StillConnected => ErrorKind::ConstraintVerificationFailed,
            ErrorCode::Constraint | ErrorCode::SchemaRule => ErrorKind::ConstraintValidationFailed,
            ErrorCode::ReadOnly | ErrorCode::TransactionState | ErrorCode::Conflict | ErrorCode::Cancelled => {
                ErrorKind::TransactionError
            }
            _ => ErrorKind::StoreError,
        }
    }

    /// The detail of errors of this code that do not say another.
    pub fn detail(self) -> Option<ErrorDetail> {
        Some(match self {
            ErrorCode::Syntax => ErrorDetail::UnexpectedSyntax,
            ErrorCode::UnknownFunction => ErrorDetail::UnknownFunction,
            ErrorCode::UnknownProcedure => ErrorDetail::ProcedureNotFound,
            ErrorCode::Parameter => ErrorDetail::MissingParameter,
            ErrorCode::Type => ErrorDetail::InvalidArgumentType,
            ErrorCode::Argument => ErrorDetail::InvalidArgumentValue,
            ErrorCode::NotFound => ErrorDetail::DeletedEntityAccess,
            ErrorCode::StillConnected => ErrorDetail::DeleteConnectedNode,
            _ => return None,
        })
    }
}

/// An error as callers see it. One pointer wide, so that `Result` stays small.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: ErrorCode,
    message: String,
    span: Option<Span>,
    remedy: Option<String>,
    kind: Option<ErrorKind>,
    detail: Option<ErrorDetail>,
    phase: ErrorPhase,
}

/// The result of every fallible call across the waist.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of that code; the message names the thing, what was found and what was expected, in lower case.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        let (message, phase) = (message.into(), ErrorPhase::Run);
        Error(Box::new(Inner { code, message, span: None, remedy: None, kind: None, detail: None, phase }))
    }

    /// An error of a file that users named: `DISK_FULL` where there is no room for it, otherwise `FILE`.
    pub fn of_file(path: &Path, cause: &io::Error) -> Error {
        let code = match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::DiskFull,
            _ => ErrorCode::File,
        };
        Error::new(code, format!("{}: {cause}", path.display()))
    }

    /// The same error, pointing at a place in the query. The first place given stays.
    #[must_use]
    pub fn at(mut self, span: Span) -> Error {
        self.0.span.get_or_insert(span);
        self
    }

    /// The same error at another place.
    #[must_use]
    pub fn moved_to(mut self, span: Span) -> Error {
        self.0.span = Some(span);
        self
    }

    /// The same error with a remedy that is more precise than its code's.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Error {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// The same error with words put before its message, as `file:line: message`.
    #[must_use]
    pub fn within(mut self, place: &str) -> Error {
        self.0.message = format!("{place}: {}", self.0.message);
        self
    }

    /// The same error with a kind other than its code's.
    #[must_use]
    pub fn of_kind(mut self, kind: ErrorKind) -> Error {
        self.0.kind = Some(kind);
        self
    }

    /// The same error with a detail other than its code's.
    #[must_use]
    pub fn with_detail(mut self, detail: ErrorDetail) -> Error {
        self.0.detail = Some(detail);
        self
    }

    /// The same error, found before the statement ran.
    #[must_use]
    pub fn when_compiled(mut self) -> Error {
        self.0.phase = ErrorPhase::Compile;
        self
    }

    /// The kind, as openCypher has it. A type that is wrong in the text itself counts as syntax, as it does in Neo4j.
    pub fn kind(&self) -> ErrorKind {
        match (self.0.kind, self.0.code, self.0.phase) {
            (Some(kind), ..) => kind,
            (None, ErrorCode::Type, ErrorPhase::Compile) => ErrorKind::SyntaxError,
            (None, code, _) => code.kind(),
        }
    }

    /// Name of what exactly is wrong, which stays the same from version to version.
    pub fn detail(&self) -> Option<ErrorDetail> {
        self.0.detail.or_else(|| self.0.code.detail())
    }

    /// True if the same may succeed when it is tried again at once: another came first, and is done.
    pub fn is_outrun(&self) -> bool {
        self.code() == ErrorCode::Conflict && self.detail() != Some(ErrorDetail::TurnOfWritersHeld)
    }

    /// When it was found.
    pub fn phase(&self) -> ErrorPhase {
        self.0.phase
    }

    /// The code to react to.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// Description of what happened.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Position in the query, if it is the query's fault.
    pub fn span(&self) -> Option<Span> {
        self.0.span
    }

    /// Remedy; empty if there is no more to say than the message does.
    pub fn remedy(&self) -> &str {
        self.0.remedy.as_deref().unwrap_or(self.0.code.remedy())
    }

    /// The error as people read it: message, the line of the query with a caret, and the remedy. Passwords in URLs are
    /// hidden.
    pub fn render(&self, query: &str) -> String {
        let mut text = format!("{}: {}", self.0.code.name(), self.0.message);
        if let Some(span) = self.0.span {
            text.push_str(&caret(query, span));
        }
        crate::secrets::masked(&(text + &self.remedy_line()))
    }

    /// The remedy as a line behind a message; empty if there is none.
    pub fn remedy_line(&self) -> String {
        if self.remedy().is_empty() { String::new() } else { format!("\n  = {}", self.remedy()) }
    }
}

/// The line of `query` that holds the start of `span`, with line number and a caret under the span.
fn caret(query: &str, span: Span) -> String {
    let mut start = (span.start as usize).min(query.len());
    while !query.is_char_boundary(start) {
        start -= 1;
    }
    let line_start = query[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = query[start..].find('\n').map_or(query.len(), |at| start + at);
    let line = &query[line_start..line_end];
    let number = query[..start].matches('\n').count() + 1;
    let column = query[line_start..start].chars().count();
    let mut end = (span.end as usize).clamp(start, line_end);
    while !query.is_char_boundary(end) {
        end -= 1;
    }
    let width = query[start..end].chars().count().max(1);
    let gutter = format!("{number}");
    let margin = " ".repeat(gutter.len());
    format!("\n {margin} |\n {gutter} | {line}\n {margin} | {}{}", " ".repeat(column), "^".repeat(width))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code.name(), self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} (span {:?}; {})", self.0.span, self.remedy())
    }
}

impl std::error::Error for Error {}

/// Shorthand for an error of a code with a formatted message: `error!(Type, "expected {x}")`, or with a detail that is
/// not its code's, `error!(Semantic::UndefinedVariable, "variable `{x}` is not defined")`.
#[macro_export]
macro_rules! error {
    ($code:ident :: $detail:ident, $($message:tt)+) => {
        $crate::error::Error::new($crate::error::ErrorCode::$code, format!($($message)+))
            .with_detail($crate::error::ErrorDetail::$detail)
    };
    ($code:ident, $($message:tt)+) => {
        $crate::error::Error::new($crate::error::ErrorCode::$code, format!($($message)+))
    };
}

#[cfg(test)]
mod tests {
    use super::{ErrorCode, Span};

    #[test]
    fn a_caret_points_into_the_right_line() {
        let query = "MATCH (n)\nRETRUN n";
        let error = crate::error!(Syntax, "expected RETURN").at(Span::new(10, 16));
        assert_eq!(error.render(query), "SYNTAX: expected RETURN\n   |\n 2 | RETRUN n\n   | ^^^^^^");
        let error = error.with_remedy("did you mean RETURN?");
        assert!(error.render(query).ends_with("^^^^^^\n  = did you mean RETURN?"));
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }
}
