//! Effect that a text of Cypher says, before it is compiled: for those who run only what reads.

use cypher::ast::{Clause, ClauseKind, Query, StatementKind, StatementMode};

/// Effect of a statement, as far as its text says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It reads, unless a procedure that it calls writes.
    Reads {
        /// True if it calls a procedure.
        calls_procedure: bool,
    },
    /// It writes, or is no query; the word that says so.
    Other(String),
    /// It cannot be parsed: it is for another system, or has a mistake.
    Unknown,
}

impl Effect {
    /// The effect of one statement.
    pub fn of(text: &str) -> Effect {
        let Ok(statement) = cypher::parser::parse(text) else { return Effect::Unknown };
        match (statement.mode, &statement.kind) {
            (StatementMode::Run, StatementKind::Query(query)) => of_query(query),
            _ => {
                let words = text.get(statement.span.start as usize..).unwrap_or_default();
                Effect::Other(
                    words.split(|sign: char| !sign.is_alphanumeric()).next().unwrap_or_default().to_uppercase(),
                )
            }
        }
    }

    /// Both effects together: the first that is more than reading.
    fn and(self, other: Effect) -> Effect {
        match (self, other) {
            (Effect::Reads { calls_procedure: one }, Effect::Reads { calls_procedure: two }) => {
                Effect::Reads { calls_procedure: one || two }
            }
            (Effect::Reads { .. }, other) => other,
            (one, _) => one,
        }
    }
}

fn of_query(query: &Query) -> Effect {
    let parts = std::iter::once(&query.first).chain(query.unions.iter().map(|union| &union.query));
    let clauses = parts.flat_map(|part| &part.clauses).map(of_clause);
    clauses.fold(Effect::Reads { calls_procedure: false }, Effect::and)
}

fn of_clause(clause: &Clause) -> Effect {
    let other = |word: &str| Effect::Other(word.to_owned());
    match &clause.kind {
        ClauseKind::Create(_) => other("CREATE"),
        ClauseKind::Merge(_) => other("MERGE"),
        ClauseKind::Set(_) => other("SET"),
        ClauseKind::Remove(_) => other("REMOVE"),
        ClauseKind::Delete(_) => other("DELETE"),
        ClauseKind::Foreach(_) => other("FOREACH"),
        ClauseKind::Subquery(subquery) => of_query(&subquery.query),
        ClauseKind::Call(_) => Effect::Reads { calls_procedure: true },
        ClauseKind::Match(_)
        | ClauseKind::Unwind(_)
        | ClauseKind::With(_)
        | ClauseKind::Return(_)
        | ClauseKind::Let(_)
        | ClauseKind::Filter(_)
        | ClauseKind::Finish => Effect::Reads { calls_procedure: false },
    }
}

#[cfg(test)]
mod tests {
    use super::Effect;

    #[test]
    fn clauses_say_whether_a_text_writes() {
        let other = |word: &str| Effect::Other(word.to_owned());
        let reads = |calls_procedure: bool| Effect::Reads { calls_procedure };
        for (text, expected) in [
            ("MATCH (n:Create {merge: 1}) RETURN {set: n.delete} AS `SET` // MERGE", reads(false)),
            ("MATCH (n) SET n.a = 1", other("SET")),
            ("RETURN 1 AS a UNION CREATE (n) RETURN 1 AS a", other("CREATE")),
            ("UNWIND [1] AS i CALL (i) { CALL { MERGE (n) RETURN n } RETURN n } RETURN n", other("MERGE")),
            ("CALL a.b() YIELD c RETURN c", reads(true)),
            ("CALL { CALL a.b() YIELD c RETURN c } RETURN c", reads(true)),
            ("CALL { RETURN 1 AS c } RETURN c", reads(false)),
            ("MATCH (n) FOREACH (i IN [1] | SET n.a = i)", other("FOREACH")),
            ("PROFILE RETURN 1", other("PROFILE")),
            ("DROP INDEX a", other("DROP")),
            ("BEGIN", other("BEGIN")),
            ("// it merges\n checkpoint", other("CHECKPOINT")),
            ("explain RETURN 1", other("EXPLAIN")),
            ("RETURN", Effect::Unknown),
        ] {
            assert_eq!(Effect::of(text), expected, "{text}");
        }
    }
}
