//! Statements about constraints.

use model::{Error, Result, error};

use super::Parser;
use crate::ast::{CreateConstraint, DropConstraint, Name, StatementKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `CREATE CONSTRAINT [name] [IF NOT EXISTS] FOR (n:L) REQUIRE n.p IS UNIQUE`, or with `ON` and `ASSERT`.
    pub(super) fn create_constraint(&mut self) -> Result<CreateConstraint> {
        self.expect_keyword("CREATE")?;
        self.expect_keyword("CONSTRAINT")?;
        let is_unnamed = (self.is_word(0, "FOR") || self.is_word(0, "ON")) && self.kind(1) == TokenKind::LeftParen
            || self.is_word(0, "IF") && self.is_word(1, "NOT");
        self.try_keywords(&["FOR", "ON", "IF"]);
        let name = if is_unnamed || !self.is_name(0) { None } else { Some(self.name("a name")?) };
        let if_not_exists = self.take_keyword("IF");
        if if_not_exists {
            self.expect_keyword("NOT")?;
            self.expect_keyword("EXISTS")?;
        }
        let is_old_form = self.take_keyword("ON");
        if !is_old_form && !self.take_keyword("FOR") {
            return Err(self.expected("FOR"));
        }
        let start = self.expect(TokenKind::LeftParen)?;
        if self.is(TokenKind::RightParen) {
            return Err(self.unsupported("a constraint on relationships", start.to(self.here()), "leave it out"));
        }
        let variable = self.variable()?;
        self.expect(TokenKind::Colon)?;
        let label = self.name("a label")?;
        self.expect(TokenKind::RightParen)?;
        self.expect_keyword(if is_old_form { "ASSERT" } else { "REQUIRE" })?;
        let properties = self.constrained_properties(&variable)?;
        self.uniqueness()?;
        if self.is_word(0, "OPTIONS") {
            return Err(self.unsupported("OPTIONS of a constraint", self.here(), "leave it out"));
        }
        Ok(CreateConstraint { name, if_not_exists, variable, label, properties })
    }

    fn constrained_properties(&mut self, variable: &Name) -> Result<Vec<Name>> {
        if self.is_word(0, "exists") && self.kind(1) == TokenKind::LeftParen {
            return Err(self.unsupported_constraint("an existence"));
        }
        if !self.take(TokenKind::LeftParen) {
            return Ok(vec![self.constrained_property(variable)?]);
        }
        let properties = self.comma_separated(|parser| parser.constrained_property(variable))?;
        self.expect(TokenKind::RightParen)?;
        Ok(properties)
    }

    fn constrained_property(&mut self, variable: &Name) -> Result<Name> {
        let found = self.variable()?;
        if found.text != variable.text {
            return Err(error!(
                Syntax,
                "expected {}, the variable of the constraint, found {}", variable.text, found.text
            )
            .at(found.span));
        }
        self.expect(TokenKind::Dot)?;
        self.name("a property")
    }

    /// `IS [NODE] UNIQUE`.
    fn uniqueness(&mut self) -> Result<()> {
        self.expect_keyword("IS")?;
        if self.is_word(0, "NODE") && self.is_word(1, "UNIQUE") {
            self.advance();
        }
        if self.take_keyword("UNIQUE") {
            return Ok(());
        }
        Err(match self.kind(0) {
            _ if self.is_word(0, "NOT") => self.unsupported_constraint("an existence"),
            _ if self.is_word(0, "KEY") || self.is_word(0, "NODE") => self.unsupported_constraint("a key"),
            _ if self.is_word(0, "TYPED") => self.unsupported_constraint("a type"),
            TokenKind::DoubleColon => self.unsupported_constraint("a type"),
            _ => self.expected("UNIQUE"),
        })
    }

    fn unsupported_constraint(&self, what: &str) -> Error {
        self.unsupported(&format!("{what} constraint"), self.here(), "only IS UNIQUE is there")
    }

    /// `CONSTRAINT name [IF EXISTS]` after `DROP`.
    pub(super) fn drop_constraint(&mut self) -> Result<DropConstraint> {
        self.expect_keyword("CONSTRAINT")?;
        if self.is_word(0, "ON") && self.kind(1) == TokenKind::LeftParen {
            let remedy = "name it, as SHOW CONSTRAINTS does";
            return Err(self.unsupported("dropping a constraint without its name", self.here(), remedy));
        }
        let name = self.name("the name of a constraint")?;
        let if_exists = self.take_keyword("IF");
        if if_exists {
            self.expect_keyword("EXISTS")?;
        }
        Ok(DropConstraint { name, if_exists })
    }

    /// `CONSTRAINTS` after `SHOW`.
    pub(super) fn show_constraints(&mut self) -> Result<StatementKind> {
        if !self.take_keyword("CONSTRAINTS") && !self.take_keyword("CONSTRAINT") {
            return Err(self.expected("CONSTRAINTS"));
        }
        if self.is_word(0, "YIELD") || self.is_word(0, "WHERE") {
            return Err(self.unsupported("a choice of columns or rows of SHOW", self.here(), "leave it out"));
        }
        Ok(StatementKind::ShowConstraints)
    }
}
