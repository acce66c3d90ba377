//! `CREATE NODE TABLE` and `CREATE REL TABLE`, the schema statements of Kùzu and LadybugDB, as the constraints they mean.

use model::{Error, PropertyKind, PropertyType, Result};

use super::Parser;
use crate::ast::table_types::TYPES;
use crate::ast::{AlterTable, CreateTable, Name, StatementKind, TableChange, TableColumn};
use crate::token::TokenKind;

/// Kùzu's types whose promise is not kept here, and what to declare instead.
const REFUSED: &[(&[&str], &str)] = &[
    (&["SERIAL"], "declare INT64, and give each node its number: nothing counts here"),
    (
        &["INT128", "UINT64"],
        "declare INT64 if that holds the values, else STRING: all integers have 64 bits and a sign",
    ),
];

impl Parser<'_> {
    /// True if `CREATE NODE TABLE` or `CREATE REL TABLE` stands here.
    pub(super) fn is_create_table(&self) -> bool {
        self.is_word(0, "CREATE") && (self.is_word(1, "NODE") || self.is_word(1, "REL")) && self.is_word(2, "TABLE")
    }

    /// `CREATE NODE TABLE [IF NOT EXISTS] Name (column TYPE [PRIMARY KEY], …, [PRIMARY KEY (column)])`, and
    /// `CREATE REL TABLE [IF NOT EXISTS] Name (FROM A TO B, …, column TYPE, …)`.
    pub(super) fn create_table(&mut self) -> Result<StatementKind> {
        self.expect_keyword("CREATE")?;
        let on_edges = self.take_keyword("REL");
        if !on_edges {
            self.expect_keyword("NODE")?;
        }
        self.expect_keyword("TABLE")?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.name(if on_edges { "a relationship type" } else { "a label" })?;
        let mut table = CreateTable { name, on_edges, if_not_exists, ends: Vec::new(), columns: Vec::new(), key: None };
        self.expect(TokenKind::LeftParen)?;
        self.comma_separated(|parser| parser.table_item(&mut table))?;
        if !self.is(TokenKind::RightParen) {
            return Err(self.expected("a comma or )"));
        }
        self.advance();
        if on_edges && table.ends.is_empty() {
            let error = model::error!(Syntax, "expected FROM and TO among the columns of the table {}", table.name);
            return Err(error.at(table.name.span).with_remedy("write FROM Label TO Label"));
        }
        if let Some(key) = table.key.as_ref().filter(|key| table.columns.iter().all(|held| held.name.text != key.text))
        {
            return Err(model::error!(Semantic, "the primary key {key} is no column of the table").at(key.span));
        }
        Ok(StatementKind::CreateTable(table))
    }

    /// `ALTER TABLE name ADD [IF NOT EXISTS] column TYPE`, or `FROM A TO B`, and `DROP [IF EXISTS] FROM A TO B`; the other
    /// changes are made of other statements.
    pub(super) fn alter_table(&mut self) -> Result<StatementKind> {
        let start = self.expect_keyword("ALTER")?;
        self.expect_keyword("TABLE")?;
        let name = self.name("a label or relationship type")?;
        if self.is_word(0, "DROP") && (self.is_ends(1) || self.is_word(1, "IF") && self.is_ends(3)) {
            self.advance();
            let if_exists = self.if_exists()?;
            let change = TableChange::DropEnds { if_exists, ends: self.ends()? };
            return Ok(StatementKind::AlterTable(AlterTable { name, change }));
        }
        let remedy = match self.word(0).to_ascii_uppercase().as_str() {
            "DROP" => {
                let column = match self.word(1).to_ascii_uppercase().as_str() {
                    "COLUMN" => self.word(2),
                    "IF" => self.word(3),
                    _ => self.word(1),
                };
                let column = if column.is_empty() { "column" } else { column };
                format!(
                    "MATCH (n:{name}) REMOVE n.{column} (or MATCH ()-[r:{name}]->() REMOVE r.{column}), and DROP CONSTRAINT \
                     type_{}_{column}",
                    name.text
                )
            }
            "RENAME" if self.is_word(1, "TO") => format!("MATCH (n:{name}) SET n:Other REMOVE n:{name}"),
            "RENAME" => format!("MATCH (n:{name}) SET n.other = n.column REMOVE n.column"),
            _ => String::new(),
        };
        if !remedy.is_empty() {
            let what = format!("ALTER TABLE … {}", self.word(0).to_ascii_uppercase());
            return Err(self.unsupported(&what, start.to(self.here()), &remedy));
        }
        self.expect_keyword("ADD")?;
        let if_not_exists = self.if_not_exists()?;
        if self.is_ends(0) {
            let change = TableChange::AddEnds { if_not_exists, ends: self.ends()? };
            return Ok(StatementKind::AlterTable(AlterTable { name, change }));
        }
        let column = TableColumn { name: self.name("the name of a column")?, kind: self.table_type()? };
        if self.is_word(0, "DEFAULT") {
            return Err(self.unsupported("DEFAULT of a column", self.here(), "leave it out, and set the property"));
        }
        let change = TableChange::AddColumn { if_not_exists, column };
        Ok(StatementKind::AlterTable(AlterTable { name, change }))
    }

    /// True if `FROM A TO` stands there, and not a column with the name `FROM`.
    fn is_ends(&self, ahead: usize) -> bool {
        self.is_word(ahead, "FROM") && self.is_word(ahead + 2, "TO")
    }

    /// `FROM A TO B`.
    fn ends(&mut self) -> Result<(Name, Name)> {
        self.expect_keyword("FROM")?;
        let from = self.name("the label of the start")?;
        self.expect_keyword("TO")?;
        Ok((from, self.name("the label of the end")?))
    }

    /// `DROP TABLE name`: deletes data, which other statements do.
    pub(super) fn drop_table(&mut self) -> Error {
        let start = self.here();
        self.advance();
        let name = if self.is_word(0, "IF") { "Name" } else { self.slice(self.here()) };
        let remedy = format!(
            "delete what it holds, MATCH (n:{name}) DETACH DELETE n, or MATCH ()-[r:{name}]->() DELETE r of relationships; then \
             DROP CONSTRAINT what SHOW CONSTRAINTS lists of it"
        );
        self.unsupported("DROP TABLE", start, &remedy)
    }

    fn table_item(&mut self, table: &mut CreateTable) -> Result<()> {
        if table.on_edges && self.is_word(0, "FROM") {
            let ends = self.ends()?;
            if table.ends.iter().any(|(from, to)| (&from.text, &to.text) == (&ends.0.text, &ends.1.text)) {
                return Err(model::error!(Semantic, "FROM {} TO {} is there twice", ends.0, ends.1).at(ends.0.span));
            }
            table.ends.push(ends);
            return Ok(());
        }
        for multiplicity in ["MANY_MANY", "MANY_ONE", "ONE_MANY", "ONE_ONE"] {
            if table.on_edges && self.is_word(0, multiplicity) && multiplicity != "MANY_MANY" {
                let what = format!("the multiplicity {multiplicity}");
                return Err(self.unsupported(&what, self.here(), "leave it out"));
            }
            if table.on_edges && self.take_keyword(multiplicity) {
                return Ok(());
            }
        }
        if !table.on_edges && self.is_word(0, "PRIMARY") {
            self.advance();
            self.expect_keyword("KEY")?;
            self.expect(TokenKind::LeftParen)?;
            table.key = Some(self.name("the column of the primary key")?);
            self.expect(TokenKind::RightParen)?;
            return Ok(());
        }
        let name = self.name("the name of a column")?;
        let kind = self.table_type()?;
        if self.is_word(0, "DEFAULT") {
            return Err(self.unsupported("DEFAULT of a column", self.here(), "leave it out, and set the property"));
        }
        if !table.on_edges && self.is_word(0, "PRIMARY") {
            self.advance();
            self.expect_keyword("KEY")?;
            table.key = Some(name.clone());
        }
        table.columns.push(TableColumn { name, kind });
        Ok(())
    }

    fn table_type(&mut self) -> Result<PropertyType> {
        let of_kuzu =
            TYPES.iter().find(|(names, _)| names.iter().any(|name| self.is_word(0, name))).map(|(_, kind)| *kind);
        // Kùzu names the others as they are called here.
        let called = || PropertyKind::ALL.into_iter().find(|kind| self.is_word(0, kind.name()));
        let Some(kind) = of_kuzu.or_else(called) else {
            let is_here = |(names, _): &&(&[&str], &str)| names.iter().any(|name| self.is_word(0, name));
            if let Some((_, remedy)) = REFUSED.iter().find(is_here) {
                let what = format!("the type {}", self.word(0).to_ascii_uppercase());
                return Err(self.unsupported(&what, self.here(), remedy));
            }
            return Err(self.expected("a type: BOOL, INT64, DOUBLE, STRING, DATE, TIMESTAMP, INTERVAL, or one with []"));
        };
        self.advance();
        if !self.take(TokenKind::LeftBracket) {
            return Ok(PropertyType::One(kind));
        }
        self.expect(TokenKind::RightBracket)?;
        Ok(PropertyType::List(kind))
    }
}
