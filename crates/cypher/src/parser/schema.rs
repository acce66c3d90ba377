//! Statements about constraints and indexes.

use model::{PropertyKind, PropertyType, Result, Rule, error};

use super::Parser;
use crate::ast::{CreateConstraint, CreateIndex, DropRule, Name, RulePattern, StatementKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `CREATE CONSTRAINT [name] [IF NOT EXISTS] FOR (n:L) REQUIRE n.p IS UNIQUE`, or with `ON` and `ASSERT`.
    pub(super) fn create_constraint(&mut self) -> Result<CreateConstraint> {
        self.expect_keyword("CREATE")?;
        self.expect_keyword("CONSTRAINT")?;
        let (name, if_not_exists) = self.rule_name(&["FOR", "ON"])?;
        let is_old_form = self.take_keyword("ON");
        if !is_old_form && !self.take_keyword("FOR") {
            return Err(self.expected("FOR"));
        }
        let pattern = self.rule_pattern()?;
        self.expect_keyword(if is_old_form { "ASSERT" } else { "REQUIRE" })?;
        let start = self.here();
        let properties = self.rule_properties(&pattern.variable)?;
        let rule = self.rule(pattern.on_edges)?;
        if properties.len() > 1 && matches!(rule, Rule::Exists | Rule::Type(_)) {
            let remedy = "make one constraint for each property";
            return Err(self.unsupported("a constraint of this kind on several properties", self.since(start), remedy));
        }
        self.no_options("a constraint")?;
        Ok(CreateConstraint { name, if_not_exists, pattern, properties, rule })
    }

    /// `CREATE [RANGE] INDEX [name] [IF NOT EXISTS] FOR (n:L) ON (n.p, n.q)`.
    pub(super) fn create_index(&mut self) -> Result<CreateIndex> {
        self.expect_keyword("CREATE")?;
        self.take_keyword("RANGE");
        self.expect_keyword("INDEX")?;
        let (name, if_not_exists) = self.rule_name(&["FOR"])?;
        self.expect_keyword("FOR")?;
        let pattern = self.rule_pattern()?;
        self.expect_keyword("ON")?;
        self.expect(TokenKind::LeftParen)?;
        let properties = self.comma_separated(|parser| parser.rule_property(&pattern.variable))?;
        self.expect(TokenKind::RightParen)?;
        self.no_options("an index")?;
        Ok(CreateIndex { name, if_not_exists, pattern, properties })
    }

    fn no_options(&self, what: &str) -> Result<()> {
        if self.is_word(0, "OPTIONS") {
            return Err(self.unsupported(&format!("OPTIONS of {what}"), self.here(), "leave it out"));
        }
        Ok(())
    }

    /// `[IF NOT EXISTS]`: whether it stands there.
    pub(super) fn if_not_exists(&mut self) -> Result<bool> {
        let is_there = self.take_keyword("IF");
        if is_there {
            self.expect_keyword("NOT")?;
            self.expect_keyword("EXISTS")?;
        }
        Ok(is_there)
    }

    /// `[IF EXISTS]`: whether it stands there.
    pub(super) fn if_exists(&mut self) -> Result<bool> {
        let is_there = self.take_keyword("IF");
        if is_there {
            self.expect_keyword("EXISTS")?;
        }
        Ok(is_there)
    }

    /// `[name] [IF NOT EXISTS]` before one of these words and a parenthesis.
    fn rule_name(&mut self, before: &[&'static str]) -> Result<(Option<Name>, bool)> {
        let is_pattern_next = before.iter().any(|word| self.is_word(0, word)) && self.kind(1) == TokenKind::LeftParen;
        let is_unnamed = is_pattern_next || self.is_word(0, "IF") && self.is_word(1, "NOT");
        self.try_keywords(before);
        self.try_keywords(&["IF"]);
        let name = if is_unnamed || !self.is_name(0) { None } else { Some(self.name("a name")?) };
        let if_not_exists = self.if_not_exists()?;
        Ok((name, if_not_exists))
    }

    /// `(n:L)`, `()-[r:T]-()`, `()-[r:T]->()`.
    fn rule_pattern(&mut self) -> Result<RulePattern> {
        self.expect(TokenKind::LeftParen)?;
        if !self.take(TokenKind::RightParen) {
            let variable = self.variable()?;
            self.expect(TokenKind::Colon)?;
            let subject = self.name("a label")?;
            self.expect(TokenKind::RightParen)?;
            return Ok(RulePattern { variable, subject, on_edges: false });
        }
        let from_right = self.take(TokenKind::Less);
        self.expect(TokenKind::Minus)?;
        self.expect(TokenKind::LeftBracket)?;
        let variable = self.variable()?;
        self.expect(TokenKind::Colon)?;
        let subject = self.name("a relationship type")?;
        self.expect(TokenKind::RightBracket)?;
        self.expect(TokenKind::Minus)?;
        if !from_right {
            self.take(TokenKind::Greater);
        }
        self.expect(TokenKind::LeftParen)?;
        self.expect(TokenKind::RightParen)?;
        Ok(RulePattern { variable, subject, on_edges: true })
    }

    fn rule_properties(&mut self, variable: &Name) -> Result<Vec<Name>> {
        if self.is_word(0, "exists") && self.kind(1) == TokenKind::LeftParen {
            return Err(self.unsupported("exists() in a constraint", self.here(), "write n.p IS NOT NULL"));
        }
        if !self.take(TokenKind::LeftParen) {
            return Ok(vec![self.rule_property(variable)?]);
        }
        let properties = self.comma_separated(|parser| parser.rule_property(variable))?;
        self.expect(TokenKind::RightParen)?;
        Ok(properties)
    }

    fn rule_property(&mut self, variable: &Name) -> Result<Name> {
        let found = self.variable()?;
        if found.text != variable.text {
            return Err(error!(
                Syntax,
                "expected {}, the variable of the pattern, found {}", variable.text, found.text
            )
            .at(found.span));
        }
        self.expect(TokenKind::Dot)?;
        self.name("a property")
    }

    /// `IS [NODE] UNIQUE`, `IS [NODE] KEY`, `IS NOT NULL`, `IS :: type`.
    fn rule(&mut self, on_edges: bool) -> Result<Rule> {
        self.expect_keyword("IS")?;
        let is_kind = |word: &str| word.eq_ignore_ascii_case("UNIQUE") || word.eq_ignore_ascii_case("KEY");
        let own = if on_edges { ["RELATIONSHIP", "REL"] } else { ["NODE", "NODE"] };
        if own.iter().any(|word| self.is_word(0, word)) && is_kind(self.word(1)) {
            self.advance();
        }
        if self.take_keyword("UNIQUE") {
            return Ok(Rule::Unique);
        }
        if self.take_keyword("KEY") {
            return Ok(Rule::Key);
        }
        if self.take_keyword("NOT") {
            self.expect_keyword("NULL")?;
            return Ok(Rule::Exists);
        }
        if self.take_keyword("TYPED") || self.take(TokenKind::DoubleColon) {
            return self.property_type().map(Rule::Type);
        }
        Err(self.expected("UNIQUE, KEY, NOT NULL or :: and a type"))
    }

    /// `INTEGER`, `LIST<INTEGER NOT NULL>`.
    fn property_type(&mut self) -> Result<PropertyType> {
        if !self.take_keyword("LIST") {
            return self.property_kind().map(PropertyType::One);
        }
        self.expect(TokenKind::Less)?;
        let kind = self.property_kind()?;
        self.expect_keyword("NOT")?;
        self.expect_keyword("NULL")?;
        self.expect(TokenKind::Greater)?;
        Ok(PropertyType::List(kind))
    }

    fn property_kind(&mut self) -> Result<PropertyKind> {
        let here = self.type_here();
        let kind_of = |(name, words)| Some((PropertyKind::ALL.into_iter().find(|kind| kind.name() == name)?, words));
        if let Some((kind, words)) = here.and_then(kind_of) {
            self.skip(words);
            return Ok(kind);
        }
        let known = PropertyKind::ALL.map(PropertyKind::name).join(", ");
        Err(self.expected(&format!("{known} or LIST<… NOT NULL>")))
    }

    /// `CONSTRAINT name [IF EXISTS]` or `INDEX name [IF EXISTS]` after `DROP`.
    pub(super) fn drop_rule(&mut self) -> Result<StatementKind> {
        let is_index = self.take_keyword("INDEX");
        if !is_index {
            self.expect_keyword("CONSTRAINT")?;
        }
        let what = if is_index { "an index" } else { "a constraint" };
        if self.is_word(0, "ON") && matches!(self.kind(1), TokenKind::LeftParen | TokenKind::Colon) {
            let remedy = if is_index { "name it, as SHOW INDEXES does" } else { "name it, as SHOW CONSTRAINTS does" };
            return Err(self.unsupported(&format!("dropping {what} without its name"), self.here(), remedy));
        }
        let name = self.name(&format!("the name of {what}"))?;
        let if_exists = self.if_exists()?;
        let rule = DropRule { name, if_exists };
        Ok(if is_index { StatementKind::DropIndex(rule) } else { StatementKind::DropConstraint(rule) })
    }
}
