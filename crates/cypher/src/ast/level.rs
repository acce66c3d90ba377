//! Precedence of operators; a greater number binds tighter.

use crate::ast::BinaryOperator;

pub(crate) const OR: u8 = 1;
pub(crate) const XOR: u8 = 2;
pub(crate) const AND: u8 = 3;
pub(crate) const NOT: u8 = 4;
pub(crate) const COMPARISON: u8 = 5;
pub(crate) const PREDICATE: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const POWER: u8 = 9;
pub(crate) const SIGN: u8 = 10;
pub(crate) const POSTFIX: u8 = 11;

/// Precedence of an operator of two operands.
pub(crate) fn binary(operator: BinaryOperator) -> u8 {
    match operator {
        BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Concatenate => SUM,
        BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => PRODUCT,
        BinaryOperator::Power => POWER,
        BinaryOperator::StartsWith
        | BinaryOperator::EndsWith
        | BinaryOperator::Contains
        | BinaryOperator::Matches
        | BinaryOperator::In => PREDICATE,
    }
}
