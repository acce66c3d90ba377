//! `USING …` after the pattern of a `MATCH`: how the planner is to find something of it.

use model::Result;

use super::super::Parser;
use crate::ast::{Name, PlannerHint, PlannerHintKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// Any number of `USING INDEX n:L(p)`, `USING SCAN n:L` and `USING JOIN ON n`.
    pub(super) fn planner_hints(&mut self) -> Result<Vec<PlannerHint>> {
        let mut hints = Vec::new();
        while self.is_word(0, "USING") {
            let start = self.advance().span;
            let kind = self.planner_hint()?;
            hints.push(PlannerHint { span: self.since(start), kind });
        }
        Ok(hints)
    }

    fn planner_hint(&mut self) -> Result<PlannerHintKind> {
        if self.take_keyword("JOIN") {
            self.expect_keyword("ON")?;
            return Ok(PlannerHintKind::Join(self.comma_separated(Self::variable)?));
        }
        if self.take_keyword("SCAN") {
            let (variable, subject) = self.hinted()?;
            return Ok(PlannerHintKind::Scan { variable, subject });
        }
        for kind in ["RANGE", "TEXT", "POINT", "BTREE"] {
            self.take_keyword(kind);
        }
        if !self.take_keyword("INDEX") {
            return Err(self.expected("INDEX, SCAN or JOIN"));
        }
        // A name before a colon is the variable, even if it is this word.
        if self.is_name(1) {
            self.take_keyword("SEEK");
        }
        let (variable, subject) = self.hinted()?;
        self.expect(TokenKind::LeftParen)?;
        let properties = self.comma_separated(|parser| parser.name("a property"))?;
        self.expect(TokenKind::RightParen)?;
        Ok(PlannerHintKind::Index { variable, subject, properties })
    }

    /// `variable:subject`.
    fn hinted(&mut self) -> Result<(Name, Name)> {
        let variable = self.variable()?;
        self.expect(TokenKind::Colon)?;
        Ok((variable, self.name("a label or type")?))
    }
}
