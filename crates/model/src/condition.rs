//! Conditions on properties, which a store may be asked to test where its data lies.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::value::Value;

/// A test of one value, as Cypher's operators have it: true, or not true.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It equals one of these values; none is null.
    OneOf(Vec<Value>),
    /// It is there, and surely differs from all of these values; none is null.
    NoneOf(Vec<Value>),
    /// It lies between bounds of its own kind.
    Between(Bound<Value>, Bound<Value>),
    /// A comparison with one of the bounds, as [`Test::Between`] has it, is false, not null. A number that is not one (NaN)
    /// is neither below nor above others.
    NotBetween(Bound<Value>, Bound<Value>),
    /// It is a string with this prefix.
    StartsWith(String),
    /// It is a string with this suffix.
    EndsWith(String),
    /// It is a string in which this one stands.
    Contains(String),
    /// It is a string, and does not pass this test of strings.
    NoMatch(Box<Test>),
    /// It is there.
    Present,
    /// It is null.
    Absent,
}

impl Test {
    /// True if a value passes.
    pub fn holds(&self, value: &Value) -> bool {
        match self {
            Test::Absent => value.is_null(),
            _ if value.is_null() => false,
            Test::Present => true,
            Test::OneOf(values) => values.iter().any(|other| value.equals(other) == Some(true)),
            Test::NoneOf(values) => values.iter().all(|other| value.equals(other) == Some(false)),
            Test::Between(low, high) => {
                let within = |bound: &Bound<Value>, beyond: Ordering| match bound {
                    Bound::Unbounded => true,
                    Bound::Included(limit) => value.compare(limit).is_some_and(|order| order != beyond),
                    Bound::Excluded(limit) => value.compare(limit).is_some_and(|order| order == beyond.reverse()),
                };
                // Values that do not even compare with themselves lie nowhere; a list may compare by what stands before them.
                let compares =
                    matches!((low, high), (Bound::Unbounded, Bound::Unbounded)).then(|| value.compare(value));
                compares != Some(None) && within(low, Ordering::Less) && within(high, Ordering::Greater)
            }
            Test::NotBetween(low, high) => {
                let is_number = |value: &Value| matches!(value, Value::Int(_) | Value::Float(_));
                let is_false = |limit: &Value, holds: &dyn Fn(Ordering) -> bool| match value.compare(limit) {
                    Some(order) => !holds(order),
                    None => is_number(value) && is_number(limit),
                };
                let fails = |bound: &Bound<Value>, beyond: Ordering| match bound {
                    Bound::Unbounded => false,
                    Bound::Included(limit) => is_false(limit, &|order| order != beyond),
                    Bound::Excluded(limit) => is_false(limit, &|order| order == beyond.reverse()),
                };
                fails(low, Ordering::Less) || fails(high, Ordering::Greater)
            }
            Test::StartsWith(start) => matches!(value, Value::String(text) if text.starts_with(start.as_str())),
            Test::EndsWith(end) => matches!(value, Value::String(text) if text.ends_with(end.as_str())),
            Test::Contains(part) => matches!(value, Value::String(text) if text.contains(part.as_str())),
            Test::NoMatch(test) => matches!(value, Value::String(_)) && !test.holds(value),
        }
    }
}

/// A condition on properties, which are named by a `P`. It holds, or it does not: what is null in Cypher does not hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition<P> {
    /// A property passes a test.
    Is {
        /// The property.
        property: P,
        /// Test of its value, null where it has none.
        test: Test,
    },
    /// One of these holds at least; never, if there is none.
    Any(Vec<Condition<P>>),
    /// All of these hold; always, if there is none.
    All(Vec<Condition<P>>),
}

impl<P> Condition<P> {
    /// The condition that a property passes a test.
    pub fn is(property: P, test: Test) -> Condition<P> {
        Condition::Is { property, test }
    }

    /// The condition that never holds.
    pub fn never() -> Condition<P> {
        Condition::Any(Vec::new())
    }

    /// True if it holds, where `value` tells the values of properties.
    pub fn holds(&self, value: &impl Fn(&P) -> Value) -> bool {
        match self {
            Condition::Is { property, test } => test.holds(&value(property)),
            Condition::Any(parts) => parts.iter().any(|part| part.holds(value)),
            Condition::All(parts) => parts.iter().all(|part| part.holds(value)),
        }
    }

    /// The same condition on properties with other names.
    pub fn renamed<Q>(&self, name: &mut impl FnMut(&P) -> Q) -> Condition<Q> {
        match self {
            Condition::Is { property, test } => Condition::Is { property: name(property), test: test.clone() },
            Condition::Any(parts) => Condition::Any(parts.iter().map(|part| part.renamed(name)).collect()),
            Condition::All(parts) => Condition::All(parts.iter().map(|part| part.renamed(name)).collect()),
        }
    }

    /// The same condition on properties with other names, where a property without one is null. Nothing, if it always holds;
    /// [`Condition::never`], if it never does.
    pub fn known<Q>(&self, name: &impl Fn(&P) -> Option<Q>) -> Option<Condition<Q>> {
        match self {
            Condition::Is { property, test } => match name(property) {
                Some(property) => Some(Condition::Is { property, test: test.clone() }),
                None if test.holds(&Value::Null) => None,
                None => Some(Condition::never()),
            },
            Condition::Any(parts) => {
                let parts: Vec<Condition<Q>> = parts.iter().map(|part| part.known(name)).collect::<Option<_>>()?;
                let mut parts: Vec<Condition<Q>> = parts.into_iter().filter(|part| !part.is_never()).collect();
                if parts.len() == 1 { parts.pop() } else { Some(Condition::Any(parts)) }
            }
            Condition::All(parts) => {
                let mut parts: Vec<Condition<Q>> = parts.iter().filter_map(|part| part.known(name)).collect();
                if parts.iter().any(Condition::is_never) {
                    return Some(Condition::never());
                }
                if parts.len() < 2 { parts.pop() } else { Some(Condition::All(parts)) }
            }
        }
    }

    /// True if it never holds, whatever the values are.
    pub fn is_never(&self) -> bool {
        matches!(self, Condition::Any(parts) if parts.is_empty())
    }

    /// Visits the properties that it is about, some perhaps several times.
    pub fn for_each_property(&self, visit: &mut impl FnMut(&P)) {
        match self {
            Condition::Is { property, .. } => visit(property),
            Condition::Any(parts) | Condition::All(parts) => {
                parts.iter().for_each(|part| part.for_each_property(visit));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::{Condition, Test};
    use crate::value::Value;

    #[test]
    fn tests_are_not_true_of_null_but_one() {
        let texts = [Test::StartsWith("a".into()), Test::EndsWith("a".into()), Test::Contains("a".into())];
        let others = [Test::NoneOf(vec![Value::Int(1)]), Test::OneOf(vec![Value::Int(1)]), Test::Present];
        texts.iter().chain(&others).for_each(|test| assert!(!test.holds(&Value::Null), "{test:?}"));
        assert!(Test::Absent.holds(&Value::Null) && !Test::Absent.holds(&Value::Int(1)));
        assert!(Test::NoneOf(vec![Value::Int(1)]).holds(&Value::string("1")));
        assert!(Test::NoneOf(vec![Value::Float(f64::NAN)]).holds(&Value::Float(f64::NAN)));
        assert!(!Test::NoneOf(vec![Value::Int(2)]).holds(&Value::Float(2.0)));
        let below = Test::NotBetween(Bound::Unbounded, Bound::Excluded(Value::Int(5)));
        assert!(below.holds(&Value::Int(5)) && below.holds(&Value::Float(f64::NAN)));
        assert!(!below.holds(&Value::Float(4.5)) && !below.holds(&Value::string("a")) && !below.holds(&Value::Null));
        assert!(Test::EndsWith("ab".into()).holds(&Value::string("b%ab")));
        assert!(Test::Contains("%".into()).holds(&Value::string("b%ab")));
        let others = Test::NoMatch(Box::new(Test::Contains("%".into())));
        assert!(others.holds(&Value::string("ab")) && !others.holds(&Value::string("a%")));
        assert!(!others.holds(&Value::Null) && !others.holds(&Value::Int(1)));
    }

    #[test]
    fn a_property_without_a_name_is_null() {
        let known = |condition: &Condition<u8>| condition.known(&|&property| (property < 2).then_some(property));
        let (here, gone) = (Condition::is(1, Test::Present), Condition::is(7, Test::Present));
        assert_eq!(known(&here), Some(here.clone()));
        assert_eq!(known(&gone), Some(Condition::never()));
        assert_eq!(known(&Condition::is(7, Test::Absent)), None);
        assert_eq!(known(&Condition::Any(vec![gone.clone(), here.clone()])), Some(here.clone()));
        assert_eq!(known(&Condition::All(vec![gone.clone(), here.clone()])), Some(Condition::never()));
        assert_eq!(known(&Condition::Any(vec![Condition::is(7, Test::Absent), here.clone()])), None);
        assert_eq!(known(&Condition::All(vec![Condition::is(7, Test::Absent), here.clone()])), Some(here));
    }
}
