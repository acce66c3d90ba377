//! Order of clauses: which may follow which.

use model::{Result, Span, error};

use crate::ast::{ClauseKind, Query, SingleQuery, Yield};

/// Checks the order of the clauses. A query that needs a result must end in `RETURN`, a change or a call.
pub(in crate::parser) fn check(query: &SingleQuery, needs_result: bool) -> Result<()> {
    let clauses = &query.clauses;
    let is_alone = clauses.len() == 1;
    let mut updated_by: Option<&'static str> = None;
    for (position, clause) in clauses.iter().enumerate() {
        let word = clause.kind.keyword();
        match &clause.kind {
            ClauseKind::Return(_) | ClauseKind::Finish => {
                if let Some(next) = clauses.get(position + 1) {
                    let next_word = next.kind.keyword();
                    return Err(error!(Syntax, "expected the end of the query after {word}, found {next_word}")
                        .at(next.span)
                        .with_remedy("use WITH to go on with the rows, or a semicolon to start another query"));
                }
            }
            ClauseKind::With(_) | ClauseKind::Let(_) | ClauseKind::Filter(_) => updated_by = None,
            kind if kind.is_updating() => updated_by = Some(word),
            ClauseKind::Match(_) | ClauseKind::Unwind(_) | ClauseKind::Call(_) | ClauseKind::Subquery(_) => {
                if let Some(update) = updated_by {
                    return Err(error!(Syntax, "expected WITH between {update} and {word}")
                        .at(clause.span)
                        .with_remedy(format!("write WITH * before {word}")));
                }
            }
            _ => {}
        }
        if let ClauseKind::Call(call) = &clause.kind
            && !is_alone
        {
            if call.arguments.is_none() {
                return Err(error!(
                    Syntax::InvalidArgumentPassingMode,
                    "expected parentheses after the procedure, because the query has other clauses"
                )
                .at(clause.span));
            }
            if call.results == Yield::All {
                return Err(error!(
                    Syntax,
                    "expected the columns after YIELD, because the query has other clauses, found *"
                )
                .at(clause.span));
            }
        }
    }
    let Some(last) = clauses.last().filter(|_| needs_result) else { return Ok(()) };
    let is_open = match &last.kind {
        ClauseKind::Match(_) | ClauseKind::Unwind(_) | ClauseKind::With(_) => true,
        ClauseKind::Let(_) | ClauseKind::Filter(_) => true,
        ClauseKind::Subquery(clause) => returns_rows(&clause.query),
        ClauseKind::Call(call) => !is_alone && call.results != Yield::Absent,
        _ => false,
    };
    if is_open {
        let word = last.kind.keyword();
        return Err(error!(Syntax, "expected RETURN or an updating clause after {word}, found the end of the query")
            .at(Span { start: last.span.end, end: last.span.end }));
    }
    Ok(())
}

/// True if a query ends in `RETURN`.
pub(in crate::parser) fn returns_rows(query: &Query) -> bool {
    matches!(query.first.clauses.last().map(|clause| &clause.kind), Some(ClauseKind::Return(_)))
}
