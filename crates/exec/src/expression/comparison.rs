//! Comparisons: `=`, `<>` and the four orders, in three-valued logic.

use std::cmp::Ordering;

use cypher::plan::BinaryOperator;
use model::interrupt::work;
use model::{ColumnData, FixedKind, Map, Result, Scalar, Value, with_stored};

use super::evaluate::truths;
use crate::allocations::weight;
use crate::vector::{Operand, TextOperand, Vector, View, common_validity, map_texts, zip};

/// Strings of two dictionaries must come so often on the average to be compared once each.
const CODED_SHARE: usize = 4;

/// `left operator right` for each row.
pub(crate) fn evaluate(operator: BinaryOperator, left: &Vector, right: &Vector, rows: usize) -> Result<Vector> {
    if let (Some(left), Some(right)) = (left.constant(), right.constant()) {
        return Ok(Vector::Constant(truth(scalar(operator, left, right))));
    }
    let fast = match (left.view(), right.view()) {
        (View::Null, _) | (_, View::Null) => return Ok(Vector::NULL),
        (View::Int(a), View::Int(b)) => compare(operator, rows, a, b),
        (View::Float(a), View::Float(b)) => compare(operator, rows, a, b),
        (View::Int(a), View::Float(b)) => zip_ordered(operator, rows, a, b, compare_numbers),
        (View::Float(a), View::Int(b)) => {
            zip_ordered(operator, rows, a, b, |a, b| compare_numbers(b, a).map(Ordering::reverse))
        }
        (View::Bool(a), View::Bool(b)) => compare(operator, rows, a, b),
        (View::Other(kind), View::Other(other)) if kind == other => of_kind(kind, operator, left, right, rows),
        (View::String(a), View::String(b)) => compare_texts(operator, rows, a, b),
        (View::Node(a), View::Node(b)) => equal(operator, rows, a, b, |a, b| a == b),
        (View::Edge(a), View::Edge(b)) => equal(operator, rows, a, b, |a, b| a.id == b.id),
        _ => None,
    };
    match fast {
        Some(results) => Ok(Vector::of(ColumnData::Bool(results), common_validity(left, right))),
        None => row_by_row(operator, left, right, rows),
    }
}

/// Compares two vectors of a kind of a fixed size.
fn of_kind(kind: FixedKind, operator: BinaryOperator, left: &Vector, right: &Vector, rows: usize) -> Option<Vec<bool>> {
    with_stored!(kind, {
        FixedKind::Node | FixedKind::Edge => None,
    }, T => {
        let (a, b) = (left.operand::<T>()?, right.operand::<T>()?);
        if T::IS_COMPARED { compare(operator, rows, a, b) } else { equal(operator, rows, a, b, |a, b| a == b) }
    })
}

/// The comparison as true, false or null.
pub(crate) fn truth(known: Option<bool>) -> Value {
    known.map_or(Value::Null, Value::Bool)
}

fn compare<T: Copy + PartialOrd>(
    operator: BinaryOperator,
    rows: usize,
    a: Operand<'_, T>,
    b: Operand<'_, T>,
) -> Option<Vec<bool>> {
    Some(match operator {
        BinaryOperator::Equal => zip(rows, a, b, |a, b| a == b),
        BinaryOperator::NotEqual => zip(rows, a, b, |a, b| a != b),
        BinaryOperator::Less => zip(rows, a, b, |a, b| a < b),
        BinaryOperator::LessOrEqual => zip(rows, a, b, |a, b| a <= b),
        BinaryOperator::Greater => zip(rows, a, b, |a, b| a > b),
        BinaryOperator::GreaterOrEqual => zip(rows, a, b, |a, b| a >= b),
        _ => return None,
    })
}

/// As `compare`, by an order that NaN has no place in.
fn zip_ordered<A: Copy, B: Copy>(
    operator: BinaryOperator,
    rows: usize,
    a: Operand<'_, A>,
    b: Operand<'_, B>,
    order: impl Fn(A, B) -> Option<Ordering>,
) -> Option<Vec<bool>> {
    Some(match operator {
        BinaryOperator::Equal => zip(rows, a, b, |a, b| order(a, b) == Some(Ordering::Equal)),
        BinaryOperator::NotEqual => zip(rows, a, b, |a, b| order(a, b) != Some(Ordering::Equal)),
        BinaryOperator::Less => zip(rows, a, b, |a, b| order(a, b).is_some_and(Ordering::is_lt)),
        BinaryOperator::LessOrEqual => zip(rows, a, b, |a, b| order(a, b).is_some_and(Ordering::is_le)),
        BinaryOperator::Greater => zip(rows, a, b, |a, b| order(a, b).is_some_and(Ordering::is_gt)),
        BinaryOperator::GreaterOrEqual => zip(rows, a, b, |a, b| order(a, b).is_some_and(Ordering::is_ge)),
        _ => return None,
    })
}

/// An integer against a float: as floats where that is exact.
#[inline]
fn compare_numbers(a: i64, b: f64) -> Option<Ordering> {
    const EXACT_MAX: u64 = 1 << 53;
    if a.unsigned_abs() <= EXACT_MAX { (a as f64).partial_cmp(&b) } else { Value::Int(a).compare(&Value::Float(b)) }
}

fn equal<T: Copy>(
    operator: BinaryOperator,
    rows: usize,
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    same: impl Fn(T, T) -> bool,
) -> Option<Vec<bool>> {
    match operator {
        BinaryOperator::Equal => Some(zip(rows, a, b, same)),
        BinaryOperator::NotEqual => Some(zip(rows, a, b, |a, b| !same(a, b))),
        _ => None,
    }
}

/// For each row, whether two dictionary-encoded strings are equal; `None` where the dictionaries are too large for their
/// strings to be compared once each.
fn equal_codes(rows: usize, a: TextOperand<'_>, b: TextOperand<'_>) -> Option<Vec<bool>> {
    let (TextOperand::Many(a), TextOperand::Many(b)) = (a, b) else { return None };
    let ((codes_of_a, texts_of_a), (codes_of_b, texts_of_b)) = (a.codes()?, b.codes()?);
    if (texts_of_a.len() + texts_of_b.len()) * CODED_SHARE > rows {
        return None;
    }
    let mut numbers: Map<&str, u32> = Map::default();
    let mut number = |text| {
        let next = numbers.len() as u32;
        *numbers.entry(text).or_insert(next)
    };
    let of_a: Vec<u32> = texts_of_a.iter().map(&mut number).collect();
    let of_b: Vec<u32> = texts_of_b.iter().map(&mut number).collect();
    Some(codes_of_a.iter().zip(codes_of_b).map(|(&a, &b)| of_a[a as usize] == of_b[b as usize]).collect())
}

fn compare_texts(operator: BinaryOperator, rows: usize, a: TextOperand<'_>, b: TextOperand<'_>) -> Option<Vec<bool>> {
    let each = |test: fn(&str, &str) -> bool| {
        Some(match b {
            TextOperand::One(other) => map_texts(rows, a, |text| test(text, other)),
            TextOperand::Many(_) => (0..rows).map(|row| test(a.get(row), b.get(row))).collect(),
        })
    };
    match operator {
        BinaryOperator::Equal => equal_codes(rows, a, b).or_else(|| each(|a, b| a == b)),
        BinaryOperator::NotEqual => match equal_codes(rows, a, b) {
            Some(equal) => Some(equal.into_iter().map(|equal| !equal).collect()),
            None => each(|a, b| a != b),
        },
        BinaryOperator::Less => each(|a, b| a < b),
        BinaryOperator::LessOrEqual => each(|a, b| a <= b),
        BinaryOperator::Greater => each(|a, b| a > b),
        BinaryOperator::GreaterOrEqual => each(|a, b| a >= b),
        _ => None,
    }
}

fn row_by_row(operator: BinaryOperator, left: &Vector, right: &Vector, rows: usize) -> Result<Vector> {
    truths(rows, |row| {
        let (left, right) = (left.value(row), right.value(row));
        work(weight(&left).min(weight(&right)))?;
        Ok(scalar(operator, &left, &right))
    })
}

/// `left operator right` of single values.
pub(crate) fn scalar(operator: BinaryOperator, left: &Value, right: &Value) -> Option<bool> {
    match operator {
        BinaryOperator::Equal => left.equals(right),
        BinaryOperator::NotEqual => left.equals(right).map(|equal| !equal),
        BinaryOperator::Less => ordered(left, right, Ordering::is_lt),
        BinaryOperator::LessOrEqual => ordered(left, right, Ordering::is_le),
        BinaryOperator::Greater => ordered(left, right, Ordering::is_gt),
        BinaryOperator::GreaterOrEqual => ordered(left, right, Ordering::is_ge),
        _ => None,
    }
}

/// Numbers always compare, NaN as false; values of different kinds do not.
fn ordered(left: &Value, right: &Value, test: fn(Ordering) -> bool) -> Option<bool> {
    match left.compare(right) {
        Some(order) => Some(test(order)),
        None => (is_number(left) && is_number(right)).then_some(false),
    }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cypher::plan::BinaryOperator;
    use model::{Column, ColumnData, StringColumn};
    use testing::random::{SeededRandom, seed_or};

    use super::evaluate;
    use crate::vector::Vector;

    /// The strings of codes, coded and plain.
    fn both(texts: &[String], codes: &[u32]) -> [Vector; 2] {
        let mut dictionary = StringColumn::default();
        texts.iter().for_each(|text| dictionary.push(text));
        let mut plain = StringColumn::default();
        codes.iter().for_each(|&code| plain.push(&texts[code as usize]));
        let coded = StringColumn::coded(Arc::new(dictionary), codes.to_vec());
        [coded, plain].map(|strings| Vector::new(Column::new(ColumnData::String(strings))))
    }

    /// Coded strings compare as plain ones do, also where a dictionary has a string twice.
    #[test]
    fn coded_strings_compare_as_plain_ones() {
        let seed = seed_or(20_261_128);
        let mut random = SeededRandom::new(seed);
        for _ in 0..200 {
            let rows = 1 + random.index(60);
            let mut side = || {
                let texts: Vec<String> = (0..1 + random.below(6)).map(|_| format!("t{}", random.below(5))).collect();
                let codes: Vec<u32> = (0..rows).map(|_| random.index(texts.len()) as u32).collect();
                both(&texts, &codes)
            };
            let (left, right) = (side(), side());
            use BinaryOperator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
            for operator in [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual] {
                let values = |left: &Vector, right: &Vector| {
                    let truths = evaluate(operator, left, right, rows).expect("strings can be compared");
                    (0..rows).map(|row| truths.value(row)).collect::<Vec<_>>()
                };
                let expected = values(&left[1], &right[1]);
                assert_eq!(values(&left[0], &right[0]), expected, "seed {seed}, {operator:?}");
                assert_eq!(values(&left[0], &right[1]), expected, "seed {seed}, {operator:?}");
            }
        }
    }
}
