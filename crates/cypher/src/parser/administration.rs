//! Statements about databases, users and roles.

use std::sync::Arc;

use model::{Result, error};

use super::Parser;
use crate::ast::administration::{Existing, UserState, Word};
use crate::ast::{Administration, Expression, ExpressionKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// True if one of these statements stands here.
    pub(super) fn is_administration(&self) -> bool {
        let replaces = self.is_word(0, "CREATE") && self.is_word(1, "OR") && self.is_word(2, "REPLACE");
        let object = if replaces { 3 } else { 1 };
        let is_object = |word| self.is_word(object, word) && self.is_text(object + 1);
        match self.word(0).to_ascii_uppercase().as_str() {
            "CREATE" | "DROP" => is_object("DATABASE") || is_object("USER"),
            "ALTER" => is_object("USER") || self.is_word(1, "CURRENT") && self.is_word(2, "USER"),
            "GRANT" | "REVOKE" => self.is_word(1, "ROLE") || self.is_word(1, "ROLES"),
            _ => false,
        }
    }

    /// True if a name or a parameter stands there.
    fn is_text(&self, ahead: usize) -> bool {
        self.is_name(ahead) || self.kind(ahead) == TokenKind::Parameter
    }

    /// One of them.
    pub(super) fn administration(&mut self) -> Result<Administration> {
        if self.take_keyword("CREATE") {
            return self.create_administered();
        }
        if self.take_keyword("DROP") {
            let is_database = self.take_keyword("DATABASE");
            if !is_database {
                self.expect_keyword("USER")?;
            }
            let (name, if_exists) = (self.dotted_name()?, self.if_exists()?);
            return Ok(if is_database {
                Administration::DropDatabase { name, if_exists }
            } else {
                Administration::DropUser { name, if_exists }
            });
        }
        if self.take_keyword("ALTER") {
            return self.alter_user();
        }
        self.roles()
    }

    /// After `CREATE`.
    fn create_administered(&mut self) -> Result<Administration> {
        let replaces = self.take_keyword("OR");
        if replaces {
            self.expect_keyword("REPLACE")?;
        }
        let is_database = self.take_keyword("DATABASE");
        if !is_database {
            self.expect_keyword("USER")?;
        }
        let name = self.dotted_name()?;
        let start = self.here();
        let existing = match (replaces, self.if_not_exists()?) {
            (true, true) => {
                return Err(error!(Syntax, "OR REPLACE and IF NOT EXISTS exclude each other")
                    .at(self.since(start))
                    .with_remedy("use one of the two"));
            }
            (true, false) => Existing::Replace,
            (false, true) => Existing::Keep,
            (false, false) => Existing::Refuse,
        };
        if is_database {
            return Ok(Administration::CreateDatabase { name, existing });
        }
        let state = self.user_state()?;
        if state.password.is_none() {
            return Err(self.expected("SET PASSWORD with a string or a parameter"));
        }
        Ok(Administration::CreateUser { name, existing, state })
    }

    /// After `ALTER`.
    fn alter_user(&mut self) -> Result<Administration> {
        if self.take_keyword("CURRENT") {
            self.expect_keyword("USER")?;
            self.expect_keyword("SET")?;
            self.expect_keyword("PASSWORD")?;
            self.expect_keyword("FROM")?;
            let old = self.secret()?;
            self.expect_keyword("TO")?;
            return Ok(Administration::SetOwnPassword { old, new: self.secret()? });
        }
        self.expect_keyword("USER")?;
        let (name, if_exists) = (self.dotted_name()?, self.if_exists()?);
        let state = self.user_state()?;
        if state == (UserState { password: None, must_change: None, is_suspended: None }) {
            return Err(self.expected("SET PASSWORD or SET STATUS"));
        }
        Ok(Administration::AlterUser { name, if_exists, state })
    }

    /// `SET PASSWORD … [CHANGE [NOT] REQUIRED]`, `SET STATUS ACTIVE | SUSPENDED`, in any order.
    fn user_state(&mut self) -> Result<UserState<Word>> {
        let mut state = UserState { password: None, must_change: None, is_suspended: None };
        while self.take_keyword("SET") {
            if self.take_keyword("STATUS") {
                state.is_suspended = Some(self.take_keyword("SUSPENDED"));
                if state.is_suspended == Some(false) {
                    self.expect_keyword("ACTIVE")?;
                }
                continue;
            }
            self.take_keyword("PLAINTEXT");
            self.expect_keyword("PASSWORD")?;
            if !self.at_keyword("CHANGE") {
                state.password = Some(self.secret()?);
            }
            if self.take_keyword("CHANGE") {
                state.must_change = Some(!self.take_keyword("NOT"));
                self.expect_keyword("REQUIRED")?;
            }
        }
        Ok(state)
    }

    /// After nothing: `GRANT ROLE … TO …` or `REVOKE ROLE … FROM …`.
    fn roles(&mut self) -> Result<Administration> {
        let is_grant = self.take_keyword("GRANT");
        if !is_grant {
            self.expect_keyword("REVOKE")?;
        }
        if !self.take_keyword("ROLES") {
            self.expect_keyword("ROLE")?;
        }
        let roles = self.comma_separated(|parser| parser.text("the name of a role"))?;
        let mut databases = Vec::new();
        if self.take_keyword("ON") {
            if !self.take_keyword("DATABASES") {
                self.expect_keyword("DATABASE")?;
            }
            databases = self.comma_separated(Self::dotted_name)?;
        }
        self.expect_keyword(if is_grant { "TO" } else { "FROM" })?;
        let users = self.comma_separated(|parser| parser.text("the name of a user"))?;
        Ok(Administration::Roles { is_grant, roles, databases, users })
    }

    /// A name, whose parts may be joined by dots, or a parameter.
    fn dotted_name(&mut self) -> Result<Word> {
        let first = self.text("a name or a parameter")?;
        let Word::Known(first) = first else { return Ok(first) };
        let mut text = first.to_string();
        while self.take(TokenKind::Dot) {
            text.push('.');
            text.push_str(&self.name("the rest of the name")?.text);
        }
        Ok(Word::Known(text.into()))
    }

    fn text(&mut self, what: &str) -> Result<Word> {
        if self.is(TokenKind::Parameter) {
            return self.string_or_parameter(what);
        }
        self.name(what).map(|name| Word::Known(name.text.into()))
    }

    fn secret(&mut self) -> Result<Word> {
        self.string_or_parameter("a password as a string or a parameter")
    }

    fn string_or_parameter(&mut self, what: &str) -> Result<Word> {
        if !self.is(TokenKind::String) && !self.is(TokenKind::Parameter) {
            return Err(self.expected(what));
        }
        let start = self.here();
        let Expression { kind, .. } = self.expression()?;
        match kind {
            ExpressionKind::String(text) => Ok(Word::Known(Arc::from(text))),
            ExpressionKind::Parameter(name) => Ok(Word::Parameter(Arc::from(name))),
            _ => Err(error!(Syntax, "expected {what}").at(self.since(start))),
        }
    }
}
