//! Canonical Cypher of a syntax tree: keywords in capitals, one blank between words, no needless parentheses.
//!
//! Invariant: the text parses to the same tree except for spans, so printing it again gives the same text.

use std::fmt::{self, Display, Formatter};

use model::{PropertyType, Rule};

use super::{
    AlterTable, Arrow, Batches, CallClause, Clause, ClauseKind, Copy, CopyWay, CreateConstraint, CreateIndex,
    CreateSortKey, CreateTable, EdgePattern, Imports, LabelExpression, LabelExpressionKind, LetItem, MatchMode,
    MergeClause, Name, NodePattern, OnError, PathPattern, PlannerHint, PlannerHintKind, Projection, ProjectionItem,
    Query, RemoveItem, RemoveItemKind, RulePattern, SetItem, SetItemKind, Shortest, SingleQuery, SortItem, Statement,
    StatementKind, StatementMode, SubqueryClause, TableChange, TableColumn, VariableLength, Yield, YieldItem,
};
use crate::lexer::scan;
use crate::token::{self, KEYWORDS};

mod expression;
mod path;

pub(super) use expression::quoted;

/// Writes items with a separator between them.
fn join<T: Display>(f: &mut Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            f.write_str(separator)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

/// Writes a word and what follows it, if it is there.
fn optional<T: Display>(f: &mut Formatter<'_>, before: &str, item: Option<&T>) -> fmt::Result {
    match item {
        Some(item) => write!(f, "{before}{item}"),
        None => Ok(()),
    }
}

/// A name where any word may stand: in backticks unless it is a plain word.
pub(super) struct Plain<'a>(pub(super) &'a str);

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut letters = self.0.chars();
        if letters.next().is_some_and(scan::starts_word) && letters.all(scan::continues_word) {
            f.write_str(self.0)
        } else {
            write!(f, "`{}`", self.0.replace('`', "``"))
        }
    }
}

/// A variable: in backticks also where the word is a keyword.
struct Variable<'a>(&'a str);

impl Display for Variable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const CALL_LIKE: &[&str] = &["shortestPath", "allShortestPaths", "NFC", "NFD", "NFKC", "NFKD"];
        if token::is_one_of(self.0, KEYWORDS) || token::is_one_of(self.0, CALL_LIKE) {
            write!(f, "`{}`", self.0)
        } else {
            Plain(self.0).fmt(f)
        }
    }
}

impl Name {
    fn variable(&self) -> Variable<'_> {
        Variable(&self.text)
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Plain(&self.text).fmt(f)
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.mode {
            StatementMode::Run => "",
            StatementMode::Explain => "EXPLAIN ",
            StatementMode::Profile => "PROFILE ",
        })?;
        match &self.kind {
            StatementKind::Query(query) => query.fmt(f),
            StatementKind::CreateConstraint(constraint) => constraint.fmt(f),
            StatementKind::DropConstraint(constraint) => {
                let condition = if constraint.if_exists { " IF EXISTS" } else { "" };
                write!(f, "DROP CONSTRAINT {}{condition}", constraint.name)
            }
            StatementKind::CreateIndex(index) => index.fmt(f),
            StatementKind::DropIndex(index) => {
                let condition = if index.if_exists { " IF EXISTS" } else { "" };
                write!(f, "DROP INDEX {}{condition}", index.name)
            }
            StatementKind::CreateSortKey(sort_key) => sort_key.fmt(f),
            StatementKind::DropSortKey(sort_key) => {
                let condition = if sort_key.if_exists { " IF EXISTS" } else { "" };
                write!(f, "DROP SORT KEY{condition} FOR ()-[:{}]-()", sort_key.edge_type)
            }
            StatementKind::CreateTable(table) => table.fmt(f),
            StatementKind::AlterTable(AlterTable { name, change }) => write!(f, "ALTER TABLE {name} {change}"),
            StatementKind::Copy(copy) => copy.fmt(f),
            StatementKind::Attach(attach) => attach.fmt(f),
            StatementKind::Detach(detach) => detach.fmt(f),
            StatementKind::Preload(preload) => preload.fmt(f),
            StatementKind::Administration(command) => command.fmt(f),
            StatementKind::Begin => f.write_str("BEGIN"),
            StatementKind::Commit => f.write_str("COMMIT"),
            StatementKind::Rollback => f.write_str("ROLLBACK"),
            StatementKind::Maintenance(work) => work.fmt(f),
        }
    }
}

fn rule_name(f: &mut Formatter<'_>, name: Option<&Name>, if_not_exists: bool) -> fmt::Result {
    if let Some(name) = name {
        write!(f, "{} ", name.variable())?;
    }
    f.write_str(if if_not_exists { "IF NOT EXISTS " } else { "" })
}

impl Display for RulePattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let variable = self.variable.variable();
        if self.on_edges {
            write!(f, "()-[{variable}:{}]-()", self.subject)
        } else {
            write!(f, "({variable}:{})", self.subject)
        }
    }
}

impl RulePattern {
    fn properties(&self, f: &mut Formatter<'_>, properties: &[Name]) -> fmt::Result {
        for (position, property) in properties.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}{}.{property}", self.variable.variable())?;
        }
        Ok(())
    }
}

impl Display for CreateConstraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("CREATE CONSTRAINT ")?;
        rule_name(f, self.name.as_ref(), self.if_not_exists)?;
        let is_list = self.properties.len() > 1;
        write!(f, "FOR {} REQUIRE {}", self.pattern, if is_list { "(" } else { "" })?;
        self.pattern.properties(f, &self.properties)?;
        f.write_str(if is_list { ") IS " } else { " IS " })?;
        match self.rule {
            Rule::Unique => f.write_str("UNIQUE"),
            Rule::Key if self.pattern.on_edges => f.write_str("RELATIONSHIP KEY"),
            Rule::Key => f.write_str("NODE KEY"),
            Rule::Exists => f.write_str("NOT NULL"),
            Rule::Type(of) => write!(f, ":: {of}"),
            // No constraint is written so: what edges join is declared by tables.
            Rule::Ends { .. } => f.write_str("ENDS"),
        }
    }
}

impl Display for CreateIndex {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("CREATE INDEX ")?;
        rule_name(f, self.name.as_ref(), self.if_not_exists)?;
        write!(f, "FOR {} ON (", self.pattern)?;
        self.pattern.properties(f, &self.properties)?;
        f.write_str(")")
    }
}

impl Display for CreateSortKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let condition = if self.if_not_exists { " IF NOT EXISTS" } else { "" };
        let variable = self.variable.variable();
        write!(f, "CREATE SORT KEY{condition} FOR ()-[{variable}:{}]-() ON (", self.edge_type)?;
        for (position, property) in self.properties.iter().enumerate() {
            write!(f, "{}{variable}.{property}", if position == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)?;
        for union in &self.unions {
            write!(f, " {} {}", if union.all { "UNION ALL" } else { "UNION" }, union.query)?;
        }
        Ok(())
    }
}

impl Display for SingleQuery {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        join(f, &self.clauses, " ")
    }
}

impl Display for Clause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ClauseKind::Match(clause) => {
                f.write_str(if clause.optional { "OPTIONAL MATCH " } else { "MATCH " })?;
                f.write_str(match clause.mode {
                    None => "",
                    Some(MatchMode::Different) => "DIFFERENT RELATIONSHIPS ",
                    Some(MatchMode::Repeatable) => "REPEATABLE ELEMENTS ",
                })?;
                join(f, &clause.patterns, ", ")?;
                clause.hints.iter().try_for_each(|hint| write!(f, " {hint}"))?;
                optional(f, " WHERE ", clause.predicate.as_ref())
            }
            ClauseKind::Unwind(clause) => write!(f, "UNWIND {} AS {}", clause.list, clause.variable.variable()),
            ClauseKind::With(projection) => write!(f, "WITH {projection}"),
            ClauseKind::Return(projection) => write!(f, "RETURN {projection}"),
            ClauseKind::Create(patterns) => {
                f.write_str("CREATE ")?;
                join(f, patterns, ", ")
            }
            ClauseKind::Merge(clause) => clause.fmt(f),
            ClauseKind::Set(items) => {
                f.write_str("SET ")?;
                join(f, items, ", ")
            }
            ClauseKind::Remove(items) => {
                f.write_str("REMOVE ")?;
                join(f, items, ", ")
            }
            ClauseKind::Delete(clause) => {
                f.write_str(if clause.detach { "DETACH DELETE " } else { "DELETE " })?;
                join(f, &clause.expressions, ", ")
            }
            ClauseKind::Foreach(clause) => {
                write!(f, "FOREACH ({} IN {} | ", clause.variable.variable(), clause.list)?;
                join(f, &clause.body, " ")?;
                f.write_str(")")
            }
            ClauseKind::Call(clause) => clause.fmt(f),
            ClauseKind::Subquery(clause) => clause.fmt(f),
            ClauseKind::Let(items) => {
                f.write_str("LET ")?;
                join(f, items, ", ")
            }
            ClauseKind::Filter(predicate) => write!(f, "FILTER {predicate}"),
            ClauseKind::Finish => f.write_str("FINISH"),
        }
    }
}

impl Display for PlannerHint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            PlannerHintKind::Index { variable, subject, properties } => {
                write!(f, "USING INDEX {}:{subject}(", variable.variable())?;
                join(f, properties, ", ")?;
                f.write_str(")")
            }
            PlannerHintKind::Scan { variable, subject } => write!(f, "USING SCAN {}:{subject}", variable.variable()),
            PlannerHintKind::Join(names) => {
                f.write_str("USING JOIN ON ")?;
                join(f, &names.iter().map(Name::variable).collect::<Vec<_>>(), ", ")
            }
        }
    }
}

impl Display for LetItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.variable.variable(), self.value)
    }
}

impl Display for SubqueryClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.optional { "OPTIONAL CALL " } else { "CALL " })?;
        match &self.imports {
            Imports::Leading => {}
            Imports::All(_) => f.write_str("(*) ")?,
            Imports::Listed(names) => {
                f.write_str("(")?;
                join(f, &names.iter().map(Name::variable).collect::<Vec<_>>(), ", ")?;
                f.write_str(") ")?;
            }
        }
        write!(f, "{{ {} }}", self.query)?;
        optional(f, " ", self.batches.as_ref())
    }
}

impl Display for Batches {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("IN ")?;
        match &self.concurrent {
            None => {}
            Some(None) => f.write_str("CONCURRENT ")?,
            Some(Some(count)) => write!(f, "{count} CONCURRENT ")?,
        }
        f.write_str("TRANSACTIONS")?;
        if let Some(rows) = &self.rows {
            write!(f, " OF {rows} ROWS")?;
        }
        if let Some(retry) = &self.retry {
            f.write_str(" ON ERROR RETRY")?;
            if let Some(seconds) = &retry.seconds {
                write!(f, " FOR {seconds} SECONDS")?;
            }
        }
        if let Some(on_error) = self.on_error {
            f.write_str(if self.retry.is_some() { " THEN " } else { " ON ERROR " })?;
            f.write_str(match on_error {
                OnError::Continue => "CONTINUE",
                OnError::Break => "BREAK",
                OnError::Fail => "FAIL",
            })?;
        }
        optional(f, " REPORT STATUS AS ", self.status.as_ref().map(Name::variable).as_ref())
    }
}

impl Display for Projection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.distinct {
            f.write_str("DISTINCT ")?;
        }
        if self.star.is_some() {
            f.write_str(if self.items.is_empty() { "*" } else { "*, " })?;
        }
        join(f, &self.items, ", ")?;
        if !self.order.is_empty() {
            f.write_str(" ORDER BY ")?;
            join(f, &self.order, ", ")?;
        }
        optional(f, " SKIP ", self.skip.as_ref())?;
        optional(f, " LIMIT ", self.limit.as_ref())?;
        optional(f, " WHERE ", self.predicate.as_ref())
    }
}

impl Display for ProjectionItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)?;
        optional(f, " AS ", self.alias.as_ref().map(Name::variable).as_ref())
    }
}

impl Display for SortItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.expression, if self.descending { " DESC" } else { "" })
    }
}

impl Display for MergeClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "MERGE {}", self.pattern)?;
        for (words, items) in [(" ON CREATE SET ", &self.on_create), (" ON MATCH SET ", &self.on_match)] {
            if !items.is_empty() {
                f.write_str(words)?;
                join(f, items, ", ")?;
            }
        }
        Ok(())
    }
}

/// `:A:B`.
fn labels(f: &mut Formatter<'_>, variable: &Name, labels: &[Name]) -> fmt::Result {
    variable.variable().fmt(f)?;
    labels.iter().try_for_each(|label| write!(f, ":{label}"))
}

impl Display for SetItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            SetItemKind::Property { target, key, value } => write!(f, "{}.{key} = {value}", target.as_base()),
            SetItemKind::Replace { variable, value } => write!(f, "{} = {value}", variable.variable()),
            SetItemKind::Merge { variable, value } => write!(f, "{} += {value}", variable.variable()),
            SetItemKind::Labels { variable, labels: names } => labels(f, variable, names),
            SetItemKind::ComputedLabels { variable, labels } => write!(f, "{}:$({labels})", variable.variable()),
            SetItemKind::ComputedProperty { target, key, value } => {
                write!(f, "{}[{key}] = {value}", target.as_base())
            }
        }
    }
}

impl Display for RemoveItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            RemoveItemKind::Property { target, key } => write!(f, "{}.{key}", target.as_base()),
            RemoveItemKind::Labels { variable, labels: names } => labels(f, variable, names),
            RemoveItemKind::ComputedLabels { variable, labels } => write!(f, "{}:$({labels})", variable.variable()),
            RemoveItemKind::ComputedProperty { target, key } => write!(f, "{}[{key}]", target.as_base()),
        }
    }
}

impl Display for CreateTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let condition = if self.if_not_exists { "IF NOT EXISTS " } else { "" };
        write!(f, "CREATE {} TABLE {condition}{} (", if self.on_edges { "REL" } else { "NODE" }, self.name)?;
        let ends = self.ends.iter().map(|(from, to)| format!("FROM {from} TO {to}"));
        let columns = self.columns.iter().map(TableColumn::to_string);
        let key = self.key.iter().map(|key| format!("PRIMARY KEY ({key})"));
        f.write_str(&ends.chain(columns).chain(key).collect::<Vec<_>>().join(", "))?;
        f.write_str(")")
    }
}

impl Display for TableChange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let condition = |is_there: &bool, words| if *is_there { words } else { "" };
        match self {
            TableChange::AddColumn { if_not_exists, column } => {
                write!(f, "ADD {}{column}", condition(if_not_exists, "IF NOT EXISTS "))
            }
            TableChange::AddEnds { if_not_exists, ends: (from, to) } => {
                write!(f, "ADD {}FROM {from} TO {to}", condition(if_not_exists, "IF NOT EXISTS "))
            }
            TableChange::DropEnds { if_exists, ends: (from, to) } => {
                write!(f, "DROP {}FROM {from} TO {to}", condition(if_exists, "IF EXISTS "))
            }
        }
    }
}

impl Display for TableColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (kind, brackets) = match self.kind {
            PropertyType::One(kind) => (kind, ""),
            PropertyType::List(kind) => (kind, "[]"),
        };
        write!(f, "{} {}{brackets}", self.name, super::table_types::table_type_name(kind))
    }
}

impl Display for Copy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.way {
            CopyWay::From { name, files } => {
                write!(f, "COPY {name} FROM [")?;
                join(f, files, ", ")?;
                f.write_str("]")?;
            }
            CopyWay::FromQuery { name, query } => write!(f, "COPY {name} FROM ({query})")?,
            CopyWay::To { query, file } => write!(f, "COPY ({query}) TO {file}")?,
        }
        for (at, option) in self.options.iter().enumerate() {
            write!(f, "{}{} = {}", if at == 0 { " (" } else { ", " }, option.name, option.value)?;
        }
        f.write_str(if self.options.is_empty() { "" } else { ")" })
    }
}

impl Display for CallClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.optional { "OPTIONAL CALL " } else { "CALL " })?;
        join(f, &self.procedure, ".")?;
        if let Some(arguments) = &self.arguments {
            f.write_str("(")?;
            join(f, arguments, ", ")?;
            f.write_str(")")?;
        }
        match &self.results {
            Yield::Absent => Ok(()),
            Yield::All => f.write_str(" YIELD *"),
            Yield::Items { items, predicate } => {
                f.write_str(" YIELD ")?;
                join(f, items, ", ")?;
                optional(f, " WHERE ", predicate.as_ref())
            }
        }
    }
}

impl Display for YieldItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.column.variable().fmt(f)?;
        optional(f, " AS ", self.alias.as_ref().map(Name::variable).as_ref())
    }
}

impl Display for PathPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(variable) = &self.variable {
            write!(f, "{} = ", variable.variable())?;
        }
        if let Some(selector) = &self.selector {
            write!(f, "{selector} ")?;
        }
        if let Some(mode) = self.mode {
            write!(f, "{} ", mode.keyword())?;
        }
        f.write_str(match (self.shortest, &self.predicate) {
            (None, None) => "",
            (None, Some(_)) => "(",
            (Some(Shortest::One), _) => "shortestPath(",
            (Some(Shortest::All), _) => "allShortestPaths(",
        })?;
        self.start.fmt(f)?;
        for step in &self.steps {
            write!(f, "{}{}", step.edge, step.node)?;
        }
        optional(f, " WHERE ", self.predicate.as_ref())?;
        f.write_str(if self.shortest.is_some() || self.predicate.is_some() { ")" } else { "" })
    }
}

impl Display for NodePattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut content = String::new();
        content.extend(self.variable.as_ref().map(|name| name.variable().to_string()));
        content.extend(self.labels.as_ref().map(|labels| format!(":{}", labels.colons())));
        content.extend(self.properties.as_ref().map(|properties| format!(" {properties}")));
        content.extend(self.predicate.as_ref().map(|predicate| format!(" WHERE {predicate}")));
        write!(f, "({})", content.trim_start())
    }
}

impl Display for EdgePattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(group) = &self.group {
            group.fmt(f)?;
            return optional(f, "", self.repetition.as_ref());
        }
        let mut content = String::new();
        content.extend(self.variable.as_ref().map(|name| name.variable().to_string()));
        content.extend(self.types.as_ref().map(|types| format!(":{types}")));
        content.extend(self.length.as_ref().map(VariableLength::to_string));
        content.extend(self.properties.as_ref().map(|properties| format!(" {properties}")));
        content.extend(self.predicate.as_ref().map(|predicate| format!(" WHERE {predicate}")));
        // Without its heads what repeats would be read as a sum where an expression may stand.
        let has_heads = self.arrow == Arrow::Both && self.repetition.is_some();
        f.write_str(if self.arrow == Arrow::Left || has_heads { "<-" } else { "-" })?;
        if !content.is_empty() {
            write!(f, "[{}]", content.trim_start())?;
        }
        f.write_str(if self.arrow == Arrow::Right || has_heads { "->" } else { "-" })?;
        optional(f, "", self.repetition.as_ref())
    }
}

impl Display for VariableLength {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (None, None) => f.write_str("*"),
            (Some(min), Some(max)) if min == max => write!(f, "*{min}"),
            (min, max) => {
                f.write_str("*")?;
                optional(f, "", min.as_ref())?;
                f.write_str("..")?;
                optional(f, "", max.as_ref())
            }
        }
    }
}

impl Display for LabelExpression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            LabelExpressionKind::And(parts) => {
                for (position, part) in parts.iter().enumerate() {
                    f.write_str(if position == 0 { "" } else { "&" })?;
                    part.as_factor(f)?;
                }
                Ok(())
            }
            LabelExpressionKind::Or(parts) => {
                for (position, part) in parts.iter().enumerate() {
                    f.write_str(if position == 0 { "" } else { "|" })?;
                    match part.kind {
                        LabelExpressionKind::Or(_) => write!(f, "({part})")?,
                        _ => part.fmt(f)?,
                    }
                }
                Ok(())
            }
            LabelExpressionKind::Name(name) => name.fmt(f),
            LabelExpressionKind::Any => f.write_str("%"),
            LabelExpressionKind::Computed { names, any: false } => write!(f, "$({names})"),
            LabelExpressionKind::Computed { names, any: true } => write!(f, "$any({names})"),
            LabelExpressionKind::Not(part) => {
                f.write_str("!")?;
                part.as_factor(f)
            }
        }
    }
}

impl LabelExpression {
    /// Its text where labels may be joined by colons.
    fn colons(&self) -> String {
        match (&self.kind, self.conjunction()) {
            (LabelExpressionKind::And(_), Some(names)) => {
                names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(":")
            }
            _ => self.to_string(),
        }
    }

    /// Writes it in parentheses if it is joined of others.
    fn as_factor(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.kind {
            LabelExpressionKind::And(_) | LabelExpressionKind::Or(_) => write!(f, "({self})"),
            _ => self.fmt(f),
        }
    }
}
