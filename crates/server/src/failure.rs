//! Errors as drivers know them: Neo4j's code, the statuses of GQL and HTTP, the place in the text.

use bolt::Failure;
use bolt::answer::Position;
use bolt::own;
use model::error::{Error, ErrorCode, ErrorDetail, ErrorPhase};

use crate::administration::Denial;

/// A failure of the protocol, not of a statement.
pub(crate) fn of_protocol(message: impl Into<String>) -> Failure {
    plain("Neo.ClientError.Request.Invalid", "08N06", "connection exception - protocol error", message)
}

/// A failure that no error of the database stands behind.
pub(crate) fn plain(code: &str, status: &'static str, description: &str, message: impl Into<String>) -> Failure {
    let description = format!("error: {description}");
    Failure { code: code.to_owned(), message: message.into(), status, description, position: None, details: Vec::new() }
}

/// The messages of all clients leave no room for more.
pub(crate) fn no_room() -> Failure {
    let message = "the server has no room for the message beside those of other clients: send it again later, or in parts; \
                   --memory-limit gives it more";
    let code = "Neo.TransientError.General.MemoryPoolOutOfMemoryError";
    plain(code, "51N37", "system configuration or operation exception - memory limit exceeded", message)
}

/// There are as many connections as there may be.
pub(crate) fn too_many_connections(max: usize) -> Failure {
    let message = format!("the server has the {max} connections that it may have: close some, or raise --connections");
    let description = "connection exception - database unavailable";
    plain("Neo.TransientError.Request.NoThreadsAvailable", "08N09", description, message)
}

/// The server takes nothing new on.
pub(crate) fn ending() -> Failure {
    let description = "connection exception - database unavailable";
    let message = "the server is about to end";
    let mut failure = plain("Neo.TransientError.General.DatabaseUnavailable", "08N09", description, message);
    failure.details = details(&Error::new(ErrorCode::Connection, message));
    failure.details.push((own::NOT_RUN, String::new()));
    failure
}

/// A statement was stopped because the server ends.
pub(crate) fn cut() -> Failure {
    let mut failure = ending();
    let message = "the server has ended, and the statement was stopped and undone";
    failure.details = details(&Error::new(ErrorCode::Connection, message));
    failure
}

/// The database that was asked for is none of ours.
pub(crate) fn no_database(name: &str) -> Failure {
    let error = Error::new(ErrorCode::NotFound, format!("there is no database '{name}' here"));
    let remedy = "SHOW DATABASES tells those that there are";
    let mut failure = of_error(&error.with_detail(ErrorDetail::DatabaseNotFound).with_remedy(remedy), "");
    (failure.status, failure.description) =
        ("42N00", "error: syntax error or access rule violation - no such database".to_owned());
    failure
}

/// The database that was asked for cannot be used now.
pub(crate) fn offline(message: String) -> Failure {
    let description = "connection exception - database unavailable";
    let error = Error::new(ErrorCode::Connection, message.clone());
    let mut failure = plain("Neo.TransientError.General.DatabaseUnavailable", "08N09", description, message);
    failure.details = details(&error);
    failure
}

/// A user may not do something.
pub(crate) fn denied(denial: Denial, user: &str, database: &str) -> Failure {
    let (code, message, remedy) = match denial {
        Denial::Gone => {
            ("Forbidden", format!("the user '{user}' was dropped or suspended"), "ask an administrator".to_owned())
        }
        Denial::MustChange => (
            "CredentialsExpired",
            "the password must be changed first".to_owned(),
            "run ALTER CURRENT USER SET PASSWORD FROM 'old' TO 'new'".to_owned(),
        ),
        Denial::Role { needed, has } => {
            let has = has.map_or_else(|| "no role".to_owned(), |role| format!("the role {}", role.name()));
            let needed = needed.name();
            let message =
                format!("the statement needs the role {needed} in '{database}', and '{user}' has {has} there");
            let remedy = format!("an administrator gives it by GRANT ROLE {needed} ON DATABASE `{database}` TO {user}");
            ("Forbidden", message, remedy)
        }
    };
    let error = Error::new(ErrorCode::ReadOnly, message).with_detail(ErrorDetail::Forbidden).with_remedy(remedy);
    let mut failure = of_error(&error, "");
    failure.code = format!("Neo.ClientError.Security.{code}");
    failure
}

/// The transaction was undone because somebody has ended it.
pub(crate) fn terminated() -> Failure {
    plain(
        "Neo.TransientError.Transaction.Terminated",
        "25N16",
        "invalid transaction state - transaction termination transient error",
        "the transaction was terminated by TERMINATE TRANSACTIONS, and was rolled back",
    )
}

/// There are as many transactions over HTTP as there may be.
pub(crate) fn too_many_transactions(max: usize) -> Failure {
    let message =
        format!("{max} transactions are open over HTTP, as many as there may be: end some, or raise --connections");
    let description = "connection exception - database unavailable";
    plain("Neo.TransientError.Request.NoThreadsAvailable", "08N09", description, message)
}

/// A transaction over HTTP that is not there, or another client's.
pub(crate) fn no_transaction(id: &str) -> Failure {
    let message = format!(
        "this client has no open transaction '{id}': it has ended, or was rolled back since a statement failed or nothing was asked          for too long"
    );
    let description = "invalid transaction state";
    plain("Neo.ClientError.Transaction.TransactionNotFound", "25000", description, message)
}

/// A transaction over HTTP of which another request is at work.
pub(crate) fn busy_transaction(id: &str) -> Failure {
    let message = format!("another request of the transaction '{id}' is at work: send one after the other");
    let description = "invalid transaction state";
    plain("Neo.ClientError.Transaction.TransactionAccessedConcurrently", "25000", description, message)
}

/// A statement that the database of no graph does not take.
pub(crate) fn system_has_no_graph() -> Failure {
    plain(
        "Neo.ClientError.Statement.UnsupportedOperationError",
        "42001",
        "syntax error or access rule violation - invalid syntax",
        "the database system holds no graph: it takes SHOW DATABASES and the like; ask the database neo4j",
    )
}

/// The transaction was undone because its time was over.
pub(crate) fn timed_out() -> Failure {
    plain(
        "Neo.ClientError.Transaction.TransactionTimedOut",
        "25N14",
        "invalid transaction state - transaction termination client error",
        "the transaction was open longer than it may be, and was rolled back",
    )
}

/// An error of a statement.
pub(crate) fn of_error(error: &Error, text: &str) -> Failure {
    let (status, description) = status(error);
    Failure {
        code: code(error).to_owned(),
        message: model::secrets::masked(&format!("{error}{}", error.remedy_line())),
        status,
        description: format!("error: {description}"),
        position: error.span().map(|span| Box::new(position(text, span.start as usize))),
        details: details(error),
    }
}

/// The error as our own client gets it: drivers take what their version knows, and pass over the rest.
fn details(error: &Error) -> Vec<(&'static str, String)> {
    let mut details = vec![
        (own::CODE, error.code().name().to_owned()),
        (own::MESSAGE, model::secrets::masked(error.message())),
        (own::REMEDY, error.remedy().to_owned()),
        (own::KIND, error.kind().name().to_owned()),
    ];
    details.extend(error.span().map(|span| (own::SPAN, format!("{} {}", span.start, span.end))));
    details.extend(error.detail().map(|detail| (own::DETAIL, detail.name().to_owned())));
    if error.phase() == ErrorPhase::Compile {
        details.push((own::PHASE, error.phase().name().to_owned()));
    }
    details
}

/// The code of an error: that of the registry, but for a type that is wrong in the text itself.
fn code(error: &Error) -> &'static str {
    match (error.code(), error.phase()) {
        (ErrorCode::Type, ErrorPhase::Compile) => "Neo.ClientError.Statement.SyntaxError",
        (code, _) => match error.detail() {
            Some(ErrorDetail::DatabaseExists) => "Neo.ClientError.Database.ExistingDatabaseFound",
            Some(ErrorDetail::DatabaseNotFound) => "Neo.ClientError.Database.DatabaseNotFound",
            Some(ErrorDetail::Forbidden) => "Neo.ClientError.Security.Forbidden",
            _ => code.bolt_status(),
        },
    }
}

/// The status of what a client may not do.
const DENIED: (&str, &str) = ("42NFF", "syntax error or access rule violation - permission denied");

fn status(error: &Error) -> (&'static str, &'static str) {
    if error.detail() == Some(ErrorDetail::Forbidden) {
        return DENIED;
    }
    match error.code() {
        ErrorCode::Syntax | ErrorCode::Semantic | ErrorCode::Unsupported | ErrorCode::UnknownFunction => {
            ("42001", "syntax error or access rule violation - invalid syntax")
        }
        ErrorCode::UnknownProcedure => {
            ("42N08", "syntax error or access rule violation - no such procedure or function")
        }
        ErrorCode::ProcedureFailed | ErrorCode::Job => ("52N37", "procedure exception - procedure execution error"),
        ErrorCode::Parameter => ("42N51", "syntax error or access rule violation - invalid parameter"),
        ErrorCode::Type => ("22N01", "data exception - invalid type"),
        ErrorCode::Arithmetic => ("22003", "data exception - numeric value out of range"),
        ErrorCode::Argument => ("22N02", "data exception - specified negative or out-of-range value"),
        ErrorCode::NotFound => ("22N34", "data exception - node or relationship not found"),
        ErrorCode::Constraint => ("22N79", "data exception - property uniqueness constraint violated"),
        ErrorCode::SchemaRule => ("22N65", "data exception - constraint already exists"),
        ErrorCode::StillConnected => ("G1001", "dependent object error - edges still exist"),
        ErrorCode::ReadOnly => ("42N02", "syntax error or access rule violation - writing in read access mode"),
        ErrorCode::TransactionState => {
            ("25G02", "invalid transaction state - catalog and data statement mixing not supported")
        }
        ErrorCode::Conflict => ("25N11", "invalid transaction state - conflicting transactions"),
        ErrorCode::Cancelled | ErrorCode::Timeout => {
            ("25N14", "invalid transaction state - transaction termination client error")
        }
        ErrorCode::Limit => ("51N37", "system configuration or operation exception - memory limit exceeded"),
        ErrorCode::Busy | ErrorCode::Connection | ErrorCode::Source | ErrorCode::NotAStore | ErrorCode::Version => {
            ("08N09", "connection exception - database unavailable")
        }
        ErrorCode::Import | ErrorCode::File | ErrorCode::Definition => {
            ("22N43", "data exception - could not load external resource")
        }
        ErrorCode::Io
        | ErrorCode::DiskFull
        | ErrorCode::Corrupt
        | ErrorCode::Closed
        | ErrorCode::OutcomeUnknown
        | ErrorCode::Internal => ("50N42", "general processing exception - unexpected error"),
    }
}

/// The status with which HTTP tells a failure.
pub(crate) fn http_status(failure: &Failure) -> u16 {
    match failure.code.as_str() {
        "Neo.ClientError.Security.Unauthorized" => 401,
        "Neo.ClientError.Security.Forbidden" | "Neo.ClientError.Security.CredentialsExpired" => 403,
        "Neo.ClientError.Security.AuthenticationRateLimit" => 429,
        "Neo.ClientError.Database.DatabaseNotFound" | "Neo.ClientError.Transaction.TransactionNotFound" => 404,
        "Neo.ClientError.Transaction.TransactionAccessedConcurrently" => 409,
        code if code.starts_with("Neo.ClientError.") => 400,
        // A failure because of others at work: the same can be sent again at once.
        code if code.starts_with("Neo.TransientError.Transaction.") => 409,
        code if code.starts_with("Neo.TransientError.") => 503,
        _ => 500,
    }
}

/// The place of a byte in a text.
pub(crate) fn position(text: &str, byte: usize) -> Position {
    let before = text.get(..byte.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Position {
        offset: before.chars().count() as i64,
        line: before.matches('\n').count() as i64 + 1,
        column: before[line_start..].chars().count() as i64 + 1,
    }
}

#[cfg(test)]
mod tests {
    use model::error::{Error, ErrorCode, Span};

    use super::of_error;

    #[test]
    fn every_error_has_a_code_and_a_status_that_drivers_know() {
        for code in ErrorCode::ALL {
            let failure = of_error(&Error::new(*code, "x"), "");
            let parts: Vec<&str> = failure.code.split('.').collect();
            assert_eq!((parts.len(), parts[0]), (4, "Neo"), "{}", failure.code);
            assert!(["ClientError", "TransientError", "DatabaseError"].contains(&parts[1]), "{}", failure.code);
            assert_eq!(failure.status.len(), 5, "{}", failure.code);
        }
    }

    #[test]
    fn a_place_is_told_in_characters() {
        let text = "RETURN 'ä',\n  x";
        let at = text.find('x').unwrap();
        let error = Error::new(ErrorCode::Semantic, "x").at(Span::new(at, at + 1));
        let position = of_error(&error, text).position.unwrap();
        assert_eq!((position.offset, position.line, position.column), (14, 2, 3));
    }
}
