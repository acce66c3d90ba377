//! The meaning of the driver's errors: whether something may have been done.

use std::fmt::Display;

use scylla::errors::{DbError, ExecutionError, RequestAttemptError};

use crate::tables::Fault;

/// The fault of a read, or of a write that may be repeated.
pub(super) fn of(error: &ExecutionError) -> Fault {
    match error {
        ExecutionError::BadQuery(_) | ExecutionError::PrepareError(_) => Fault::Refused(error.to_string()),
        ExecutionError::EmptyPlan | ExecutionError::ConnectionPoolError(_) => Fault::Unavailable(error.to_string()),
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(kind, _)) => match kind {
            DbError::Unavailable { .. } | DbError::Overloaded | DbError::IsBootstrapping => {
                Fault::Unavailable(error.to_string())
            }
            DbError::SyntaxError
            | DbError::Invalid
            | DbError::AlreadyExists { .. }
            | DbError::AuthenticationError
            | DbError::Unauthorized
            | DbError::ConfigError => Fault::Refused(error.to_string()),
            _ => Fault::TimedOut(error.to_string()),
        },
        _ => Fault::TimedOut(error.to_string()),
    }
}

/// The fault of a conditional write. It was done or not, unless it certainly reached nobody: also the commit of a decision
/// may find too few replicas.
pub(super) fn of_append(error: &ExecutionError) -> Fault {
    match (of(error), error) {
        (Fault::Unavailable(text), ExecutionError::LastAttemptError(_)) => Fault::TimedOut(text),
        (fault, _) => fault,
    }
}

/// An answer that nobody expected.
pub(super) fn unexpected(problem: impl Display) -> Fault {
    Fault::Refused(format!("an unexpected answer: {problem}"))
}
