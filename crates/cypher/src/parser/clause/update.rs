//! The items of `SET` and `REMOVE`.

use model::{Result, error};

use super::super::Parser;
use crate::ast::{Expression, ExpressionKind, Name, RemoveItem, RemoveItemKind, SetItem, SetItemKind};
use crate::token::TokenKind;

/// Part of a node or edge that is changed.
enum Changed {
    Property(Expression, Name),
    Computed(Expression, Expression),
}

/// Labels after a variable: those that are written out, or some that are computed.
enum Labels {
    Names(Vec<Name>),
    Computed(Expression),
}

impl Parser<'_> {
    /// `SET item, …`.
    pub(super) fn set(&mut self) -> Result<Vec<SetItem>> {
        self.expect_keyword("SET")?;
        Ok(self.comma_separated(Self::set_items)?.into_iter().flatten().collect())
    }

    /// One item; with labels of both kinds, as `n:A:$(b)`, one for each kind.
    fn set_items(&mut self) -> Result<Vec<SetItem>> {
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
                let labels = self.label_lists()?;
                let span = self.since(start);
                let item = |labels| match labels {
                    Labels::Names(labels) => SetItemKind::Labels { variable: variable.clone(), labels },
                    Labels::Computed(labels) => SetItemKind::ComputedLabels { variable: variable.clone(), labels },
                };
                return Ok(labels.into_iter().map(|labels| SetItem { span, kind: item(labels) }).collect());
            }
            _ => {
                let changed = self.changed_property()?;
                if !self.is(TokenKind::Equal) {
                    return Err(self.expected("= and the property's new value"));
                }
                self.advance();
                let value = self.expression()?;
                match changed {
                    Changed::Property(target, key) => SetItemKind::Property { target, key, value },
                    Changed::Computed(target, key) => SetItemKind::ComputedProperty { target, key, value },
                }
            }
        };
        Ok(vec![SetItem { span: self.since(start), kind }])
    }

    /// `REMOVE item, …`.
    pub(super) fn remove(&mut self) -> Result<Vec<RemoveItem>> {
        self.expect_keyword("REMOVE")?;
        Ok(self.comma_separated(Self::remove_items)?.into_iter().flatten().collect())
    }

    fn remove_items(&mut self) -> Result<Vec<RemoveItem>> {
        let start = self.here();
        if self.is_name(0) && self.kind(1) == TokenKind::Colon {
            let variable = self.variable()?;
            let labels = self.label_lists()?;
            let span = self.since(start);
            let item = |labels| match labels {
                Labels::Names(labels) => RemoveItemKind::Labels { variable: variable.clone(), labels },
                Labels::Computed(labels) => RemoveItemKind::ComputedLabels { variable: variable.clone(), labels },
            };
            return Ok(labels.into_iter().map(|labels| RemoveItem { span, kind: item(labels) }).collect());
        }
        let kind = match self.changed_property()? {
            Changed::Property(target, key) => RemoveItemKind::Property { target, key },
            Changed::Computed(target, key) => RemoveItemKind::ComputedProperty { target, key },
        };
        Ok(vec![RemoveItem { span: self.since(start), kind }])
    }

    /// `:A:B`, `:$(labels)`.
    fn label_lists(&mut self) -> Result<Vec<Labels>> {
        let mut lists: Vec<Labels> = Vec::new();
        while self.take(TokenKind::Colon) {
            if matches!(self.kind(0), TokenKind::Dollar | TokenKind::Parameter) {
                let start = self.here();
                let (names, any) = self.nested(|parser| parser.computed_names())?;
                if any {
                    let error = error!(Syntax, "expected $(…): a node cannot be given any one of several labels");
                    return Err(error.at(self.since(start)));
                }
                lists.push(Labels::Computed(names));
                continue;
            }
            let name = self.name("a label")?;
            match lists.last_mut() {
                Some(Labels::Names(names)) => names.push(name),
                _ => lists.push(Labels::Names(vec![name])),
            }
        }
        Ok(lists)
    }

    /// `target.key` or `target[key]`, taken apart.
    fn changed_property(&mut self) -> Result<Changed> {
        let target = self.nested(|parser| parser.postfix())?;
        let (span, remedy) = (target.span, "write variable.property");
        match target.kind {
            ExpressionKind::Property { base, key } => Ok(Changed::Property(*base, key)),
            ExpressionKind::Index { base, index } => Ok(Changed::Computed(*base, *index)),
            ExpressionKind::Variable(_) => {
                Err(self.expected("a property or label of the variable").with_remedy(remedy))
            }
            _ => Err(error!(Syntax, "expected a property, found {}", self.slice(span)).at(span).with_remedy(remedy)),
        }
    }
}
