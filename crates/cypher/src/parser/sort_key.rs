//! Statements about sort keys.

use model::{Result, Span, error};

use super::Parser;
use crate::ast::{CreateSortKey, DropSortKey, Name};
use crate::token::TokenKind;

impl Parser<'_> {
    /// True if `SORT KEY` or `SORT KEYS` follows `ahead` tokens on.
    pub(super) fn is_sort_key(&self, ahead: usize) -> bool {
        self.is_word(ahead, "SORT") && (self.is_word(ahead + 1, "KEY") || self.is_word(ahead + 1, "KEYS"))
    }

    /// `SORT KEY [IF NOT EXISTS] FOR ()-[r:TYPE]-() ON (r.a, r.b)` after `CREATE`.
    pub(super) fn create_sort_key(&mut self) -> Result<CreateSortKey> {
        self.sort_key_words()?;
        let if_not_exists = self.if_not_exists()?;
        self.expect_keyword("FOR")?;
        let (variable, edge_type) = self.edges_of_type()?;
        let Some(variable) = variable else {
            return Err(error!(Syntax, "expected a variable for the relationship, found only its type")
                .at(edge_type.span)
                .with_remedy(format!("write ()-[r:{edge_type}]-() ON (r.property)")));
        };
        self.expect_keyword("ON")?;
        let is_list = self.take(TokenKind::LeftParen);
        let properties = if is_list {
            let properties = self.comma_separated(|parser| parser.sorted_property(&variable))?;
            self.expect(TokenKind::RightParen)?;
            properties
        } else {
            vec![self.sorted_property(&variable)?]
        };
        if let Some(twice) =
            (1..properties.len()).find(|&at| properties[..at].iter().any(|before| before.text == properties[at].text))
        {
            let Name { text, span } = &properties[twice];
            return Err(error!(Semantic, "the sort key names the property {text} twice").at(*span));
        }
        Ok(CreateSortKey { if_not_exists, variable, edge_type, properties })
    }

    /// `SORT KEY [IF EXISTS] FOR ()-[r:TYPE]-()` after `DROP`.
    pub(super) fn drop_sort_key(&mut self) -> Result<DropSortKey> {
        self.sort_key_words()?;
        let if_exists = self.if_exists()?;
        self.expect_keyword("FOR")?;
        let (_, edge_type) = self.edges_of_type()?;
        Ok(DropSortKey { edge_type, if_exists })
    }

    fn sort_key_words(&mut self) -> Result<()> {
        self.expect_keyword("SORT")?;
        if self.take_keyword("KEY") || self.take_keyword("KEYS") { Ok(()) } else { Err(self.expected("KEY")) }
    }

    /// `()-[variable:TYPE]-()`.
    fn edges_of_type(&mut self) -> Result<(Option<Name>, Name)> {
        let start = self.expect(TokenKind::LeftParen)?;
        if !self.is(TokenKind::RightParen) {
            return Err(self.for_all_ends(start));
        }
        self.advance();
        self.expect(TokenKind::Minus)?;
        self.expect(TokenKind::LeftBracket)?;
        let variable = if self.is(TokenKind::Colon) { None } else { Some(self.variable()?) };
        self.expect(TokenKind::Colon)?;
        let edge_type = self.name("a relationship type")?;
        self.expect(TokenKind::RightBracket)?;
        self.expect(TokenKind::Minus)?;
        if self.is(TokenKind::Greater) {
            return Err(error!(Syntax, "a sort key holds for both directions, found an arrow")
                .at(self.here())
                .with_remedy(format!("write ()-[r:{edge_type}]-()")));
        }
        let end = self.expect(TokenKind::LeftParen)?;
        if !self.is(TokenKind::RightParen) {
            return Err(self.for_all_ends(end));
        }
        self.advance();
        Ok((variable, edge_type))
    }

    fn for_all_ends(&self, from: Span) -> model::Error {
        error!(Syntax, "a sort key holds for all relationships of a type, expected (), found {}", self.found())
            .at(from.to(self.here()))
            .with_remedy("leave the labels of the ends out: ()-[r:TYPE]-()")
    }

    fn sorted_property(&mut self, variable: &Name) -> Result<Name> {
        let found = self.variable()?;
        if found.text != variable.text {
            let (expected, found_text) = (&variable.text, &found.text);
            let message = format!("expected {expected}, the variable of the sort key, found {found_text}");
            return Err(error!(Syntax, "{message}").at(found.span));
        }
        self.expect(TokenKind::Dot)?;
        let property = self.name("a property")?;
        if self.is_word(0, "DESC") || self.is_word(0, "DESCENDING") {
            return Err(error!(Syntax, "a sort key has no direction, found {}", self.found())
                .at(self.here())
                .with_remedy("leave it out: ORDER BY … DESC is as fast as ASC"));
        }
        Ok(property)
    }
}
