//! `SHOW …`: a query of the procedure that lists such things.

use model::{Result, Span};

use super::Parser;
use crate::ast::{
    CallClause, Clause, ClauseKind, Expression, ExpressionKind, Name, Projection, ProjectionItem, Query, SingleQuery,
    StatementKind, Yield, YieldItem,
};

/// Kind of object that can be shown.
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
    Shown {
        words: &["SOURCES"],
        procedure: &["source", "list"],
        columns: &["name", "url", "labels", "relationshipTypes", "writable", "prefetch", "nodes", "relationships"],
    },
    Shown { words: &["SETTINGS"], procedure: &["dbms", "settings"], columns: &["name", "value", "description"] },
];

impl Parser<'_> {
    /// `SHOW things [YIELD … | WHERE …]`, and after `YIELD` an order, a `WHERE` and a `RETURN`.
    pub(super) fn show(&mut self) -> Result<StatementKind> {
        let start = self.expect_keyword("SHOW")?;
        // Neo4j's words for all kinds of a thing.
        for word in ["ALL", "EXECUTABLE"] {
            self.take_keyword(word);
        }
        let Some(shown) = SHOWN.iter().find(|shown| self.is_shown(shown.words)) else {
            SHOWN.iter().for_each(|shown| self.try_keywords(&shown.words[..1]));
            return Err(self.expected("CONSTRAINTS, INDEXES, SORT KEYS, FUNCTIONS, PROCEDURES, SETTINGS or SOURCES"));
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

    /// The columns that are wanted, and what is made of them.
    fn shown_columns(&mut self, shown: &Shown, span: Span) -> Result<(Yield, Vec<Clause>)> {
        let all = || shown.columns.iter().map(|column| item(column, span)).collect();
        if self.is_word(0, "WHERE") {
            return Ok((Yield::Items { items: all(), predicate: self.predicate()? }, Vec::new()));
        }
        if !self.take_keyword("YIELD") {
            return Ok((Yield::All, Vec::new()));
        }
        let (items, predicate) = match self.results()? {
            Yield::Items { items, predicate } => (items, predicate),
            _ => (all(), None),
        };
        let mut tail = Vec::new();
        if predicate.is_none() && ["ORDER", "SKIP", "OFFSET", "LIMIT", "WHERE"].iter().any(|word| self.is_word(0, word))
        {
            tail = self.shown_order(&items)?;
        }
        if self.is_word(0, "RETURN") {
            tail.truncate(1);
            tail.push(self.clause()?);
        }
        Ok((Yield::Items { items, predicate }, tail))
    }

    /// `[ORDER BY …] [SKIP …] [LIMIT …] [WHERE …]` after the columns: a `WITH` of them, and the `RETURN` where none is written.
    fn shown_order(&mut self, items: &[YieldItem]) -> Result<Vec<Clause>> {
        let start = self.here();
        let columns = || {
            let names = items.iter().map(|item| item.alias.as_ref().unwrap_or(&item.column));
            let column = |name: &Name| {
                let expression = Expression { span: name.span, kind: ExpressionKind::Variable(name.text.clone()) };
                ProjectionItem { span: name.span, expression, alias: None }
            };
            Projection { items: names.map(column).collect(), ..Projection::default() }
        };
        let mut ordered = columns();
        self.ordering(&mut ordered)?;
        ordered.predicate = self.predicate()?;
        let span = self.since(start);
        let clause = |kind| Clause { span, kind };
        Ok(vec![clause(ClauseKind::With(ordered)), clause(ClauseKind::Return(columns()))])
    }
}

fn item(column: &str, span: Span) -> YieldItem {
    YieldItem { span, column: Name { text: column.to_owned(), span }, alias: None }
}
