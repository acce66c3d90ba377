//! The items of `SET` and `REMOVE`.

use model::{Result, error};

use super::super::Parser;
use crate::ast::{Expression, ExpressionKind, Name, RemoveItem, RemoveItemKind, SetItem, SetItemKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `SET item, …`.
    pub(super) fn set(&mut self) -> Result<Vec<SetItem>> {
        self.expect_keyword("SET")?;
        self.comma_separated(Self::set_item)
    }

    fn set_item(&mut self) -> Result<SetItem> {
        let start = self.here();
        let kind = match (self.is_name(0), self.kind(1)) {
            (true, TokenKind::Equal) => {
                let variable = self.variable()?;
                self.advance();
                SetItemKind::Replace { variable, value: self.expression()? }
            }
            (true, TokenKind::PlusEqual) => {
                let variable = self.variable()?;
                self.advance();
                SetItemKind::Merge { variable, value: self.expression()? }
            }
            (true, TokenKind::Colon) => {
                let variable = self.variable()?;
                SetItemKind::Labels { variable, labels: self.label_list()? }
            }
            _ => {
                let (target, key) = self.changed_property()?;
                if !self.is(TokenKind::Equal) {
                    return Err(self.expected("= and the property's new value"));
                }
                self.advance();
                SetItemKind::Property { target, key, value: self.expression()? }
            }
        };
        Ok(SetItem { span: self.since(start), kind })
    }

    /// `REMOVE item, …`.
    pub(super) fn remove(&mut self) -> Result<Vec<RemoveItem>> {
        self.expect_keyword("REMOVE")?;
        self.comma_separated(Self::remove_item)
    }

    fn remove_item(&mut self) -> Result<RemoveItem> {
        let start = self.here();
        let kind = if self.is_name(0) && self.kind(1) == TokenKind::Colon {
            let variable = self.variable()?;
            RemoveItemKind::Labels { variable, labels: self.label_list()? }
        } else {
            let (target, key) = self.changed_property()?;
            RemoveItemKind::Property { target, key }
        };
        Ok(RemoveItem { span: self.since(start), kind })
    }

    /// `:A:B`.
    fn label_list(&mut self) -> Result<Vec<Name>> {
        let mut labels = Vec::new();
        while self.take(TokenKind::Colon) {
            if matches!(self.kind(0), TokenKind::Dollar | TokenKind::Parameter) {
                return Err(self.unsupported("a label that is computed", self.here(), "write its name into the query"));
            }
            labels.push(self.name("a label")?);
        }
        Ok(labels)
    }

    /// `target.key`, taken apart.
    fn changed_property(&mut self) -> Result<(Expression, Name)> {
        let target = self.nested(|parser| parser.postfix())?;
        let (span, remedy) = (target.span, "write variable.property");
        match target.kind {
            ExpressionKind::Property { base, key } => Ok((*base, key)),
            ExpressionKind::Index { .. } => {
                Err(self.unsupported("a property whose name is computed", span, "use SET n += {…} with a map"))
            }
            ExpressionKind::Variable(_) => {
                Err(self.expected("a property or label of the variable").with_remedy(remedy))
            }
            _ => Err(error!(Syntax, "expected a property, found {}", self.slice(span)).at(span).with_remedy(remedy)),
        }
    }
}
