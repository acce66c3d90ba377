//! The order of bytes is that of values, at their limits too.

use std::ops::Bound;

use model::{KeyRange, Value};

use model::codec::ordered::{after_prefix, byte_range, has_nan, hold_nan, put_value};

fn bytes(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert!(put_value(value, &mut bytes), "{value} can be in an index");
    bytes
}

/// Values of every type at their limits.
pub(crate) fn values() -> Vec<Value> {
    let two_53 = 1i64 << 53;
    let mut values: Vec<Value> = [
        i64::MIN,
        i64::MIN + 1,
        -two_53 - 1,
        -two_53,
        -two_53 + 1,
        -256,
        -255,
        -1,
        0,
        1,
        2,
        255,
        256,
        two_53 - 1,
        two_53,
        two_53 + 1,
        two_53 + 2,
        i64::MAX - 1024,
        i64::MAX - 1023,
        i64::MAX - 512,
        i64::MAX - 511,
        i64::MAX - 1,
        i64::MAX,
    ]
    .map(Value::Int)
    .to_vec();
    let two_63 = 9_223_372_036_854_775_808.0;
    values.extend(
        [
            f64::NEG_INFINITY,
            f64::MIN,
            -two_63,
            -(two_53 as f64),
            -1.5,
            -1.0,
            -f64::MIN_POSITIVE,
            -5e-324,
            -0.0,
            0.0,
            5e-324,
            0.1,
            0.5,
            1.0,
            1.5,
            two_53 as f64,
            (two_53 + 2) as f64,
            two_63 - 1024.0,
            two_63,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
            -f64::NAN,
        ]
        .map(Value::Float),
    );
    let long = "x".repeat(100_000);
    values.extend(
        ["", "\0", "\0\0", "\0\u{1}", "a", "a\0", "a\0b", "a\u{1}", "ab", "b", "ü", "\u{10ffff}", &long]
            .map(Value::string),
    );
    values.extend(testing::scalars::scalar_values());
    values.extend([Value::Bool(false), Value::Bool(true)]);
    values.extend([&[][..], &[0], &[0, 0], &[1], &[255], &[255, 255]].map(|bytes| Value::Bytes(bytes.into())));
    values.extend(lists());
    values
}

fn lists() -> Vec<Value> {
    let list = |items: &[Value]| Value::list(items.to_vec());
    let (one, two, a) = (Value::Int(1), Value::Int(2), Value::string("a"));
    vec![
        list(&[]),
        list(std::slice::from_ref(&one)),
        list(&[Value::Float(1.0)]),
        list(&[one.clone(), two.clone()]),
        list(std::slice::from_ref(&two)),
        list(std::slice::from_ref(&a)),
        list(&[a, one]),
        list(&[list(&[]), two]),
        list(&[list(&[])]),
        list(&[Value::Float(f64::NAN)]),
    ]
}

#[test]
fn bytes_are_ordered_as_values() {
    let values = values();
    for a in &values {
        for b in &values {
            assert_eq!(bytes(a).cmp(&bytes(b)), a.cmp(b), "{a:.50} and {b:.50}");
        }
    }
}

#[test]
fn no_value_is_the_start_of_another() {
    let values = values();
    for a in &values {
        for b in values.iter().filter(|b| *b != a) {
            assert!(!bytes(b).starts_with(&bytes(a)), "{a:.50} and {b:.50}");
        }
    }
}

#[test]
fn ranges_hold_what_compares() {
    let values = values();
    let in_range = |value: &Value, range: &KeyRange| {
        byte_range(b"p", range).is_some_and(|found| {
            let key = [b"p".as_slice(), &bytes(value)].concat();
            found.start <= key && key < found.end && (!found.must_compare || range.holds(value))
        })
    };
    for bound in &values {
        for range in [
            KeyRange::All,
            KeyRange::Between(Bound::Included(bound.clone()), Bound::Unbounded),
            KeyRange::Between(Bound::Excluded(bound.clone()), Bound::Unbounded),
            KeyRange::Between(Bound::Unbounded, Bound::Included(bound.clone())),
            KeyRange::Between(Bound::Unbounded, Bound::Excluded(bound.clone())),
            KeyRange::Between(Bound::Excluded(Value::Int(0)), Bound::Included(bound.clone())),
            KeyRange::StartsWith("a".into()),
            KeyRange::StartsWith("".into()),
        ] {
            for value in &values {
                assert_eq!(in_range(value, &range), range.holds(value), "{value:.50} in {bound:.50}: {range:.100?}");
            }
        }
        assert!(!in_range(&Value::Int(1), &KeyRange::Between(Bound::Included(Value::Null), Bound::Unbounded)));
    }
}

#[test]
fn nan_is_found_among_values() {
    let values = values();
    for a in &values {
        for b in &values {
            let both = [bytes(a), bytes(b)].concat();
            assert_eq!(hold_nan(&both), has_nan(a) || has_nan(b), "{a:.50} and {b:.50}");
        }
    }
}

#[test]
fn what_cannot_be_kept_has_no_bytes() {
    for value in [Value::Null, Value::list(vec![Value::Null]), Value::map([])] {
        let mut bytes = vec![7];
        assert!(!put_value(&value, &mut bytes));
        assert_eq!(bytes, [7]);
    }
    assert!(has_nan(&Value::list(vec![Value::Float(f64::NAN)])) && !has_nan(&Value::Float(1.0)));
    assert_eq!(after_prefix(vec![1, 255, 255]), [2]);
}
