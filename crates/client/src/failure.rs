//! Failures of servers as errors of ours.

use bolt::message::{Map, get, text};
use bolt::{Value, own};
use model::error::{Error, ErrorCode, ErrorDetail, ErrorKind, ErrorPhase, Span};

/// The error that a failure tells of. Our own servers say all of it; of others the code is looked up, and the place is that of one
/// character in the text of the statement.
pub(crate) fn error_of(failure: &Map, statement: &str) -> Error {
    let record = match get(failure, "diagnostic_record") {
        Some(Value::Map(record)) => record.as_slice(),
        _ => &[],
    };
    let named = text(record, own::CODE).and_then(|name| ErrorCode::ALL.iter().find(|code| code.name() == name));
    match named {
        Some(code) => own_error(*code, record, statement),
        None => foreign_error(failure, record, statement),
    }
}

/// True if a statement that has failed has certainly not run.
pub(crate) fn has_not_run(failure: &Map) -> bool {
    matches!(get(failure, "diagnostic_record"), Some(Value::Map(record)) if get(record, own::NOT_RUN).is_some())
}

fn own_error(code: ErrorCode, record: &[(String, Value)], statement: &str) -> Error {
    let mut error = Error::new(code, text(record, own::MESSAGE).unwrap_or(code.sentence()));
    if let Some(remedy) = text(record, own::REMEDY).filter(|remedy| *remedy != code.remedy()) {
        error = error.with_remedy(remedy);
    }
    let places = text(record, own::SPAN).and_then(|span| span.split_once(' '));
    if let Some((Ok(start), Ok(end))) = places.map(|(start, end)| (start.parse::<usize>(), end.parse::<usize>()))
        && start <= end
        && end <= statement.len()
    {
        error = error.at(Span::new(start, end));
    }
    let kind = text(record, own::KIND);
    if let Some(kind) = ErrorKind::ALL.iter().find(|held| Some(held.name()) == kind) {
        error = error.of_kind(*kind);
    }
    let detail = text(record, own::DETAIL);
    if let Some(detail) = ErrorDetail::ALL.iter().find(|held| Some(held.name()) == detail) {
        error = error.with_detail(*detail);
    }
    if text(record, own::PHASE) == Some(ErrorPhase::Compile.name()) { error.when_compiled() } else { error }
}

fn foreign_error(failure: &Map, record: &[(String, Value)], statement: &str) -> Error {
    let status = text(failure, "neo4j_code").or_else(|| text(failure, "code")).unwrap_or_default();
    let message = text(failure, "message").unwrap_or("the server gave no reason");
    let code = code_of(status);
    let error = Error::new(code, message);
    let error = match status.split('.').nth(2) {
        Some("Security") => {
            error.with_remedy("write the name and the password as bolt://user:password@host, or set KNOT_PASSWORD")
        }
        _ => error,
    };
    let Some(Value::Map(place)) = get(record, "_position") else { return error };
    match get(place, "offset") {
        Some(Value::Int(offset)) => {
            let at = usize::try_from(*offset).ok().and_then(|offset| statement.char_indices().nth(offset));
            at.map_or(error.clone(), |(at, c)| error.at(Span::new(at, at + c.len_utf8())))
        }
        _ => error,
    }
}

/// The code of a status of Neo4j's: the first that has it, or one of its class.
fn code_of(status: &str) -> ErrorCode {
    let mut parts = status.split('.').skip(1);
    match (parts.next(), parts.next()) {
        (Some("ClientError"), Some("Security")) => return ErrorCode::Connection,
        // Neo4j tells limits of the client from those of the server by the end of the name.
        (_, Some("Transaction")) if status.contains(".TransactionTimedOut") => return ErrorCode::Timeout,
        (_, Some("Request")) => return ErrorCode::Connection,
        (Some("TransientError"), Some("Transaction")) => return ErrorCode::Conflict,
        (Some("TransientError"), _) => return ErrorCode::Connection,
        // Several of our codes have this status.
        (Some("DatabaseError"), Some("General")) if status.ends_with(".UnknownError") => return ErrorCode::Internal,
        _ => {}
    }
    let known = ErrorCode::ALL.iter().find(|code| code.bolt_status() == status);
    known.copied().unwrap_or(if status.contains(".ClientError.") { ErrorCode::Argument } else { ErrorCode::Internal })
}

#[cfg(test)]
mod tests {
    use bolt::{Value, own};
    use model::error::{ErrorCode, Span};

    use super::error_of;

    fn map(entries: &[(&str, Value)]) -> Vec<(String, Value)> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }

    fn text(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    #[test]
    fn failures_of_others_are_errors_of_ours() {
        for (status, expected) in [
            ("Neo.ClientError.Statement.SyntaxError", ErrorCode::Syntax),
            ("Neo.ClientError.Schema.ConstraintValidationFailed", ErrorCode::Constraint),
            ("Neo.ClientError.Security.Unauthorized", ErrorCode::Connection),
            ("Neo.TransientError.Transaction.DeadlockDetected", ErrorCode::Conflict),
            ("Neo.TransientError.General.DatabaseUnavailable", ErrorCode::Connection),
            ("Neo.ClientError.Transaction.TransactionTimedOut", ErrorCode::Timeout),
            ("Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration", ErrorCode::Timeout),
            ("Neo.ClientError.Statement.Something", ErrorCode::Argument),
            ("Neo.DatabaseError.General.UnknownError", ErrorCode::Internal),
            ("", ErrorCode::Internal),
        ] {
            let place = Value::Map(map(&[("offset", Value::Int(1))]));
            let record = Value::Map(map(&[("_position", place)]));
            let failure = map(&[("neo4j_code", text(status)), ("message", text("no")), ("diagnostic_record", record)]);
            let error = error_of(&failure, "äöü");
            assert_eq!((error.code(), error.message()), (expected, "no"), "{status}");
            assert_eq!(error.span(), Some(Span::new(2, 4)));
        }
        assert_eq!(error_of(&Vec::new(), "").code(), ErrorCode::Internal);
    }

    #[test]
    fn places_outside_of_the_text_are_left_out() {
        for (span, expected) in
            [("0 3", true), ("1 1", true), ("2 1", false), ("0 4", false), ("x", false), ("-1 2", false)]
        {
            let record = map(&[(own::CODE, text("TYPE")), (own::SPAN, text(span)), (own::DETAIL, text("Nonsense"))]);
            let error = error_of(&map(&[("diagnostic_record", Value::Map(record))]), "abc");
            assert_eq!((error.code(), error.span().is_some()), (ErrorCode::Type, expected), "{span}");
        }
    }
}
