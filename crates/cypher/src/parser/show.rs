//! `SHOW …`: a query of the procedure that lists such things.

use model::{Result, Span};

use super::Parser;
use crate::ast::{
    CallClause, Clause, ClauseKind, Expression, ExpressionKind, Name, Projection, ProjectionItem, Query, SingleQuery,
    StatementKind, Yield, YieldItem,
};
use crate::token::TokenKind;

/// Kind of object that can be shown.
struct Shown {
    /// The words after `SHOW`; the last may lack its plural ending.
    words: &'static [&'static str],
    /// Parts of the procedure's name.
    procedure: &'static [&'static str],
    /// Its columns.
    columns: &'static [&'static str],
    /// Number of columns, from the first on, that are shown unless `YIELD` says which.
    shown: usize,
    /// Part of all such objects, as the procedure's argument says it.
    part: Part,
}

/// Part of all objects of a kind that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All of them: the procedure has no argument.
    All,
    /// Those that the words before them name; otherwise all.
    Of(&'static str),
    /// Those that names behind them name; otherwise all.
    Named,
}

/// Objects of which all columns are always shown.
const fn plain(
    words: &'static [&'static str],
    procedure: &'static [&'static str],
    columns: &'static [&'static str],
) -> Shown {
    Shown { words, procedure, columns, shown: columns.len(), part: Part::All }
}

const RULE: &[&str] = &[
    "id", "name", "type", "entityType", "labelsOrTypes", "properties", "ownedIndex", "propertyType", "options",
    "createStatement",
];
const INDEX: &[&str] = &[
    "id", "name", "state", "populationPercent", "type", "entityType", "labelsOrTypes", "properties", "indexProvider",
    "owningConstraint", "lastRead", "readCount", "options", "failureMessage", "createStatement",
];
const FUNCTION: &[&str] = &[
    "name", "category", "description", "signature", "isBuiltIn", "argumentDescription", "returnDescription",
    "aggregating", "rolesExecution", "rolesBoostedExecution", "isDeprecated", "deprecatedBy",
];
const PROCEDURE: &[&str] = &[
    "name", "description", "mode", "worksOnSystem", "signature", "argumentDescription", "returnDescription", "admin",
    "rolesExecution", "rolesBoostedExecution", "isDeprecated", "deprecatedBy", "option",
];
const DATABASE: &[&str] = &[
    "name", "type", "aliases", "access", "address", "role", "writer", "requestedStatus", "currentStatus",
    "statusMessage", "default", "home", "constituents", "databaseID", "serverID", "store",
];
const TRANSACTION: &[&str] = &[
    "database", "transactionId", "currentQueryId", "connectionId", "clientAddress", "username", "currentQuery",
    "startTime", "status", "elapsedTime", "outerTransactionId", "metaData", "parameters", "currentQueryStartTime",
    "currentQueryStatus", "currentQueryElapsedTime", "protocol", "requestUri", "statusDetails",
];
const STATEMENT: &[&str] = &[
    "statement", "calls", "errors", "rows", "totalMs", "meanMs", "p99Ms", "maxMs", "parseMs", "bindMs", "planMs",
    "prepareMs", "runMs", "recordsMs", "commitMs", "retryMs", "deliverMs", "diskWaitMs", "verifyMs", "sourceWaitMs",
    "logWaitMs", "lockWaitMs", "queueMs", "spillMs", "blockUses", "blockMisses", "bytesRead", "spilledBytes",
    "roundTrips", "planCacheHits", "plan",
];
const USER: &[&str] = &["user", "roles", "passwordChangeRequired", "suspended", "home"];
const ROLE: &[&str] = &["role", "member"];
const SERVER: &[&str] =
    &["name", "address", "state", "health", "hosting", "serverId", "httpAddress", "httpsAddress", "version"];
const SOURCE: &[&str] =
    &["name", "url", "labels", "relationshipTypes", "writable", "prefetch", "nodes", "relationships"];

const SHOWN: &[Shown] = &[
    Shown { shown: 8, ..plain(&["CONSTRAINTS"], &["db", "constraints"], RULE) },
    Shown { shown: 12, ..plain(&["INDEXES"], &["db", "indexes"], INDEX) },
    Shown { shown: 12, part: Part::Of("RANGE"), ..plain(&["RANGE", "INDEXES"], &["db", "indexes"], INDEX) },
    Shown { shown: 12, part: Part::Of("VECTOR"), ..plain(&["VECTOR", "INDEXES"], &["db", "indexes"], INDEX) },
    Shown { shown: 12, part: Part::Of("FULLTEXT"), ..plain(&["FULLTEXT", "INDEXES"], &["db", "indexes"], INDEX) },
    plain(&["SORT", "KEYS"], &["db", "sortKeys"], &["type", "properties"]),
    Shown { shown: 3, ..plain(&["FUNCTIONS"], &["dbms", "functions"], FUNCTION) },
    Shown { shown: 4, ..plain(&["PROCEDURES"], &["dbms", "procedures"], PROCEDURE) },
    plain(&["SOURCES"], &["source", "list"], SOURCE),
    plain(&["SETTINGS"], &["dbms", "settings"], &["name", "value", "description"]),
    Shown { shown: 13, part: Part::Named, ..plain(&["DATABASES"], &["dbms", "databases"], DATABASE) },
    Shown { shown: 13, part: Part::Of("neo4j"), ..plain(&["DEFAULT", "DATABASE"], &["dbms", "databases"], DATABASE) },
    Shown { shown: 13, part: Part::Of("neo4j"), ..plain(&["HOME", "DATABASE"], &["dbms", "databases"], DATABASE) },
    Shown { shown: 10, part: Part::Named, ..plain(&["TRANSACTIONS"], &["dbms", "transactions"], TRANSACTION) },
    Shown { shown: 8, ..plain(&["STATEMENTS"], &["dbms", "statements"], STATEMENT) },
    plain(&["CURRENT", "USER"], &["dbms", "currentUser"], USER),
    plain(&["ROLES"], &["dbms", "roles"], ROLE),
    plain(&["USERS"], &["dbms", "users"], USER),
    Shown { shown: 5, ..plain(&["SERVERS"], &["dbms", "servers"], SERVER) },
];
const TERMINATED: Shown = Shown {
    part: Part::Named,
    ..plain(&["TRANSACTIONS"], &["dbms", "terminateTransactions"], &["transactionId", "username", "message"])
};

impl Parser<'_> {
    /// `SHOW things [YIELD … | WHERE …]`, and after `YIELD` an order, a `WHERE` and a `RETURN`.
    pub(super) fn show(&mut self) -> Result<StatementKind> {
        let start = self.expect_keyword("SHOW")?;
        // Neo4j's words for all kinds of a thing.
        for word in ["ALL", "EXECUTABLE"] {
            self.take_keyword(word);
        }
        let Some(shown) = SHOWN.iter().find(|shown| self.is_shown(shown.words)) else {
            if let Some(error) = self.unsupported_shown() {
                return Err(error);
            }
            SHOWN.iter().for_each(|shown| self.try_keywords(&shown.words[..1]));
            return Err(self.expected(
                "CONSTRAINTS, DATABASES, FUNCTIONS, INDEXES, PROCEDURES, ROLES, SERVERS, SETTINGS, SORT KEYS, SOURCES, \
                 STATEMENTS, TRANSACTIONS or USERS",
            ));
        };
        self.shown(shown, start)
    }

    /// `TERMINATE TRANSACTIONS 'id', … [YIELD …]`.
    pub(super) fn terminate(&mut self) -> Result<StatementKind> {
        let start = self.expect_keyword("TERMINATE")?;
        if !self.is_shown(TERMINATED.words) {
            self.try_keywords(TERMINATED.words);
            return Err(self.expected("TRANSACTIONS"));
        }
        if self.is_end_of_names(1) {
            self.advance();
            return Err(self.expected("the id of a transaction, as SHOW TRANSACTIONS tells it"));
        }
        self.shown(&TERMINATED, start)
    }

    /// The things after the first word, as a call of their procedure.
    fn shown(&mut self, shown: &Shown, start: Span) -> Result<StatementKind> {
        shown.words.iter().for_each(|_| {
            self.advance();
        });
        if self.take_keyword("EXECUTABLE") && self.take_keyword("BY") {
            // All may call all there is.
            self.take_keyword("CURRENT");
            self.name("a user")?;
        }
        let arguments = self.part(shown.part)?;
        let span = self.since(start);
        let (results, tail) = self.shown_columns(shown, span)?;
        let procedure = shown.procedure.iter().map(|part| Name { text: (*part).to_owned(), span }).collect();
        let call = CallClause { optional: false, procedure, arguments: Some(arguments), results };
        let span = self.since(start);
        let first = Clause { span, kind: ClauseKind::Call(call) };
        let clauses = std::iter::once(first).chain(tail).collect();
        Ok(StatementKind::Query(Query { span, first: SingleQuery { span, clauses }, unions: Vec::new() }))
    }

    /// The arguments that say which part is meant.
    fn part(&mut self, part: Part) -> Result<Vec<Expression>> {
        let span = self.here();
        let mut items = match part {
            Part::Of(kind) => vec![Expression { span, kind: ExpressionKind::String(kind.to_owned()) }],
            Part::Named if !self.is_end_of_names(0) => self.comma_separated(|parser| {
                // A word is a name: there are no variables here.
                if parser.is_name(0) {
                    let Name { text, span } = parser.name("a name")?;
                    return Ok(Expression { span, kind: ExpressionKind::String(text) });
                }
                parser.expression()
            })?,
            Part::All | Part::Named => Vec::new(),
        };
        if items.len() > 1 {
            let list = ExpressionKind::List(std::mem::take(&mut items));
            items.push(Expression { span: self.since(span), kind: list });
        }
        Ok(items)
    }

    fn is_end_of_names(&self, ahead: usize) -> bool {
        matches!(self.kind(ahead), TokenKind::End | TokenKind::Semicolon)
            || ["YIELD", "WHERE"].iter().any(|word| self.is_word(ahead, word))
    }

    fn is_shown(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(ahead, word)| {
            let singular = word.strip_suffix("ES").filter(|stem| *stem == "INDEX").or(word.strip_suffix('S'));
            self.is_word(ahead, word) || singular.is_some_and(|singular| self.is_word(ahead, singular))
        })
    }

    /// The columns that are wanted, and what is made of them.
    fn shown_columns(&mut self, shown: &Shown, span: Span) -> Result<(Yield, Vec<Clause>)> {
        let first = |count: usize| shown.columns[..count].iter().map(|column| item(column, span)).collect();
        let all = || first(shown.columns.len());
        if self.is_word(0, "WHERE") {
            return Ok((Yield::Items { items: first(shown.shown), predicate: self.predicate()? }, Vec::new()));
        }
        if !self.take_keyword("YIELD") {
            let is_all = shown.shown == shown.columns.len();
            let items = || Yield::Items { items: first(shown.shown), predicate: None };
            return Ok((if is_all { Yield::All } else { items() }, Vec::new()));
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
