//! `SHOW …`: a query of the procedure that lists such things.

use model::{Result, Span};

use super::Parser;
use crate::ast::{CallClause, Clause, ClauseKind, Name, Query, SingleQuery, StatementKind, Yield, YieldItem};

/// What can be shown.
struct Shown {
    /// The words after `SHOW`; the last may lack its plural ending.
    words: &'static [&'static str],
    /// Parts of the procedure's name.
    procedure: &'static [&'static str],
    /// Its columns.
    columns: &'static [&'static str],
}

const RULE: &[&str] = &["name", "type", "entityType", "labelsOrTypes", "properties", "propertyType"];
const INDEX: &[&str] = &["name", "type", "entityType", "labelsOrTypes", "properties", "owningConstraint"];
const SHOWN: &[Shown] = &[
    Shown { words: &["CONSTRAINTS"], procedure: &["db", "constraints"], columns: RULE },
    Shown { words: &["INDEXES"], procedure: &["db", "indexes"], columns: INDEX },
    Shown { words: &["SORT", "KEYS"], procedure: &["db", "sortKeys"], columns: &["type", "properties"] },
    Shown {
        words: &["FUNCTIONS"],
        procedure: &["dbms", "functions"],
        columns: &["name", "signature", "description", "aggregating"],
    },
    Shown {
        words: &["PROCEDURES"],
        procedure: &["dbms", "procedures"],
        columns: &["name", "signature", "description", "mode"],
    },
    Shown { words: &["SETTINGS"], procedure: &["dbms", "settings"], columns: &["name", "value", "description"] },
];

impl Parser<'_> {
    /// `SHOW things [YIELD … | WHERE …]`, and after `YIELD` a `RETURN`.
    pub(super) fn show(&mut self) -> Result<StatementKind> {
        let start = self.expect_keyword("SHOW")?;
        // Neo4j's words for all kinds of a thing.
        for word in ["ALL", "EXECUTABLE"] {
            self.take_keyword(word);
        }
        let Some(shown) = SHOWN.iter().find(|shown| self.is_shown(shown.words)) else {
            SHOWN.iter().for_each(|shown| self.try_keywords(&shown.words[..1]));
            return Err(self.expected("CONSTRAINTS, INDEXES, SORT KEYS, FUNCTIONS, PROCEDURES or SETTINGS"));
        };
        shown.words.iter().for_each(|_| {
            self.advance();
        });
        let span = self.since(start);
        let (results, tail) = self.shown_columns(shown, span)?;
        let procedure = shown.procedure.iter().map(|part| Name { text: (*part).to_owned(), span }).collect();
        let call = CallClause { optional: false, procedure, arguments: Some(Vec::new()), results };
        let span = self.since(start);
        let first = Clause { span, kind: ClauseKind::Call(call) };
        let clauses = std::iter::once(first).chain(tail).collect();
        Ok(StatementKind::Query(Query { span, first: SingleQuery { span, clauses }, unions: Vec::new() }))
    }

    fn is_shown(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(ahead, word)| {
            let singular = word.strip_suffix("ES").filter(|stem| *stem == "INDEX").or(word.strip_suffix('S'));
            self.is_word(ahead, word) || singular.is_some_and(|singular| self.is_word(ahead, singular))
        })
    }

    /// The columns that are wanted, and the `RETURN` after them.
    fn shown_columns(&mut self, shown: &Shown, span: Span) -> Result<(Yield, Option<Clause>)> {
        let all = || shown.columns.iter().map(|column| item(column, span)).collect();
        if self.is_word(0, "WHERE") {
            return Ok((Yield::Items { items: all(), predicate: self.predicate()? }, None));
        }
        if !self.take_keyword("YIELD") {
            return Ok((Yield::All, None));
        }
        let results = match self.results()? {
            Yield::All => Yield::Items { items: all(), predicate: None },
            chosen => chosen,
        };
        let tail = if self.is_word(0, "RETURN") { Some(self.clause()?) } else { None };
        Ok((results, tail))
    }
}

fn item(column: &str, span: Span) -> YieldItem {
    YieldItem { span, column: Name { text: column.to_owned(), span }, alias: None }
}
