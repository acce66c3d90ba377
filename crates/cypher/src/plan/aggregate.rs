//! Aggregate functions as plans have them.

use std::sync::Arc;

use model::Span;

use super::{Expression, SlotId};

/// An aggregate function of the rows of a group.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Takes the result.
    pub slot: SlotId,
    /// The function, by the name in its signature; `count` without arguments is `count(*)`.
    pub function: Arc<str>,
    /// True if equal arguments count once.
    pub distinct: bool,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// True if the function takes, besides its argument, the number of times that a row came.
    pub is_weighable: bool,
    /// Place in the query.
    pub span: Span,
}

impl Aggregate {
    /// True if it gives the same whatever the number of times that equal rows come.
    pub fn ignores_repeats(&self) -> bool {
        !self.arguments.is_empty() && (self.distinct || matches!(&*self.function, "min" | "max"))
    }

    /// True if it can take a row with the number of times that it came.
    pub fn takes_weights(&self) -> bool {
        !self.distinct && self.is_weighable
    }
}
