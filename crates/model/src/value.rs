//! One Cypher value: its kinds, its equality with null, and the order in which values are sorted.
//!
//! After: openCypher 9, section 3.5 (comparability, orderability, equality).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use crate::error::Result;
use crate::id::{EdgeId, EdgeTypeId, NodeId};
use crate::point::Point;
use crate::temporal::calendar::{YEAR_MAX, YEAR_MIN};
use crate::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, NANOS_OF_SECOND, Time};
use crate::{each_fixed, each_vector_pair};

pub mod fixed;
mod nested;
mod texts;

use fixed::{Fixed, Scalar, Uuid};
pub use nested::{Nested, map_node_bytes};
pub use texts::StringColumn;

/// A map value: keys in order, so that equal maps print alike.
pub type MapValue = BTreeMap<Arc<str>, Value>;

/// One Cypher value. Cloning is cheap: everything large is shared.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// The absence of a value.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A 64-bit signed integer.
    Int(i64),
    /// A 64-bit floating point number.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// Raw bytes.
    Bytes(Arc<[u8]>),
    /// A list of values of any kinds.
    List(Nested<Vec<Value>>),
    /// A map from text to values.
    Map(Nested<MapValue>),
    /// A calendar date.
    Date(Date),
    /// A date and time without a zone.
    LocalDateTime(LocalDateTime),
    /// A node of the graph, by id.
    Node(NodeId),
    /// An edge of the graph.
    Edge(EdgeValue),
    /// A path through the graph.
    Path(Arc<PathValue>),
    /// A time of day without a zone.
    LocalTime(LocalTime),
    /// A time of day with an offset from UTC.
    Time(Time),
    /// A moment with a zone.
    DateTime(DateTime),
    /// A duration.
    Duration(Duration),
    /// A universally unique identifier.
    Uuid(Uuid),
    /// A point.
    Point(Point),
}

/// An edge as a value: what `type(r)`, `startNode(r)` and equality need without asking the store again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EdgeValue {
    /// The store's name for the edge.
    pub id: EdgeId,
    /// Source node.
    pub source: NodeId,
    /// Target node.
    pub target: NodeId,
    /// Its type.
    pub edge_type: EdgeTypeId,
}

/// A path: `nodes.len() == edges.len() + 1`; edge `i` joins nodes `i` and `i + 1`, in either direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PathValue {
    /// The nodes in walking order, at least one.
    pub nodes: Vec<NodeId>,
    /// The edges in walking order.
    pub edges: Vec<EdgeValue>,
}

impl Value {
    /// A text value.
    pub fn string(text: &str) -> Value {
        Value::String(Arc::from(text))
    }

    /// A list value.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(items.into())
    }

    /// A map value.
    pub fn map(entries: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
        Value::Map(entries.into_iter().collect::<MapValue>().into())
    }

    /// True for null only.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The name of the kind of value, as error messages and `valueType` print it.
    pub fn type_name(&self) -> &'static str {
        fn name<T: Scalar>(_: &T) -> &'static str {
            T::NAME
        }
        each_fixed!(self, {
            Value::String(_) => "STRING",
            Value::Bytes(_) => "BYTES",
            Value::List(_) => "LIST",
            Value::Map(_) => "MAP",
            Value::Node(_) => "NODE",
            Value::Edge(_) => "RELATIONSHIP",
            Value::Path(_) => "PATH",
        }, x => name(x), _ => "NULL")
    }

    /// True if a store can keep this value as a property: no nodes, edges, paths or maps, and lists of such.
    pub fn is_storable(&self) -> bool {
        match self {
            Value::Map(_) | Value::Node(_) | Value::Edge(_) | Value::Path(_) => false,
            Value::List(items) => items.iter().all(|item| !item.is_null() && item.is_storable()),
            _ => true,
        }
    }

    /// Cypher's `=`: `None` when the answer is unknown because a null takes part.
    pub fn equals(&self, other: &Value) -> Option<bool> {
        match (self, other) {
            (Value::Null, _) | (_, Value::Null) => None,
            (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => {
                Some(compare_int_float(*a, *b) == Some(Ordering::Equal))
            }
            (Value::Float(a), Value::Float(b)) => Some(a == b),
            (Value::List(a), Value::List(b)) => lists_equal(a, b),
            (Value::Map(a), Value::Map(b)) => maps_equal(a, b),
            _ => Some(self.order(other) == Ordering::Equal),
        }
    }

    /// Cypher's `<`, `<=`, `>`, `>=`: `None` when the two cannot be compared.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        each_vector_pair!((self, other), Value, Value, {
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
            (Value::Int(a), Value::Float(b)) => compare_int_float(*a, *b),
            (Value::Float(a), Value::Int(b)) => compare_int_float(*b, *a).map(Ordering::reverse),
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
            (Value::List(a), Value::List(b)) => compare_lists(a, b),
        }, (a, b) => compare_fixed(a, b), _ => None)
    }

    /// True if it lies between two bounds, as `>`, `>=`, `<`, `<=` say. Null never does, nor does a value that cannot be
    /// compared with a bound.
    pub fn is_between(&self, lower: &Bound<Value>, upper: &Bound<Value>) -> bool {
        let is_above = match lower {
            Bound::Unbounded => true,
            Bound::Included(bound) => self.compare(bound).is_some_and(Ordering::is_ge),
            Bound::Excluded(bound) => self.compare(bound).is_some_and(Ordering::is_gt),
        };
        let is_below = match upper {
            Bound::Unbounded => true,
            Bound::Included(bound) => self.compare(bound).is_some_and(Ordering::is_le),
            Bound::Excluded(bound) => self.compare(bound).is_some_and(Ordering::is_lt),
        };
        !self.is_null() && is_above && is_below
    }

    /// The total order of `ORDER BY`, `DISTINCT` and grouping: null last and equal to itself, NaN largest number.
    pub fn order(&self, other: &Value) -> Ordering {
        each_vector_pair!((self, other), Value, Value, {
            (Value::Int(a), Value::Float(b)) => compare_int_float(*a, *b).unwrap_or(Ordering::Less),
            (Value::Float(a), Value::Int(b)) => compare_int_float(*b, *a).map_or(Ordering::Greater, Ordering::reverse),
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::List(a), Value::List(b)) => order_sequences(a.iter(), b.iter()),
            (Value::Map(a), Value::Map(b)) => order_maps(a, b),
            (Value::Path(a), Value::Path(b)) => a.nodes.cmp(&b.nodes).then_with(|| a.edges.cmp(&b.edges)),
            (Value::Null, Value::Null) => Ordering::Equal,
        }, (a, b) => a.order(b), _ => self.order_rank().cmp(&other.order_rank()))
    }

    fn order_rank(&self) -> u8 {
        match self {
            Value::Map(_) => 0,
            Value::Node(_) => 1,
            Value::Edge(_) => 2,
            Value::List(_) => 3,
            Value::Path(_) => 4,
            Value::Point(_) => 5,
            Value::DateTime(_) => 6,
            Value::LocalDateTime(_) => 7,
            Value::Date(_) => 8,
            Value::Time(_) => 9,
            Value::LocalTime(_) => 10,
            Value::Duration(_) => 11,
            Value::String(_) => 12,
            Value::Bool(_) => 13,
            Value::Int(_) | Value::Float(_) => 14,
            Value::Bytes(_) => 15,
            Value::Uuid(_) => 16,
            Value::Null => 17,
        }
    }
}

#[inline]
fn compare_fixed<T: Fixed>(a: &T, b: &T) -> Option<Ordering> {
    if T::KIND.is_compared() { Some(a.order(b)) } else { None }
}

/// Compares an integer with a float exactly, without rounding the integer; `None` for NaN.
fn compare_int_float(a: i64, b: f64) -> Option<Ordering> {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if b.is_nan() {
        None
    } else if b >= TWO_TO_63 {
        Some(Ordering::Less)
    } else if b < -TWO_TO_63 {
        Some(Ordering::Greater)
    } else {
        let whole = b.trunc();
        let order = a.cmp(&(whole as i64));
        Some(order.then_with(|| 0.0_f64.partial_cmp(&(b - whole)).unwrap_or(Ordering::Equal)))
    }
}

pub(crate) fn order_floats(a: &f64, b: &f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
    }
}

fn lists_equal(a: &[Value], b: &[Value]) -> Option<bool> {
    if a.len() != b.len() {
        return Some(false);
    }
    let mut known = Some(true);
    for (x, y) in a.iter().zip(b) {
        match x.equals(y) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => known = None,
        }
    }
    known
}

fn maps_equal(a: &MapValue, b: &MapValue) -> Option<bool> {
    if a.len() != b.len() || a.keys().ne(b.keys()) {
        return Some(false);
    }
    let mut known = Some(true);
    for (x, y) in a.values().zip(b.values()) {
        match x.equals(y) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => known = None,
        }
    }
    known
}

fn compare_lists(a: &[Value], b: &[Value]) -> Option<Ordering> {
    for (x, y) in a.iter().zip(b) {
        match x.compare(y) {
            Some(Ordering::Equal) => {}
            other => return other,
        }
    }
    Some(a.len().cmp(&b.len()))
}

fn order_sequences<'a>(mut a: impl Iterator<Item = &'a Value>, mut b: impl Iterator<Item = &'a Value>) -> Ordering {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) => match x.order(y) {
                Ordering::Equal => {}
                other => return other,
            },
        }
    }
}

fn order_maps(a: &MapValue, b: &MapValue) -> Ordering {
    a.keys().cmp(b.keys()).then_with(|| order_sequences(a.values(), b.values()))
}

/// Equality of grouping and `DISTINCT`: null equals null, NaN equals NaN, `1` equals `1.0`.
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.order(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        self.order(other)
    }
}

/// Consistent with `==`: an integer and the float equal to it hash alike.
impl std::hash::Hash for Value {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.order_rank().hash(state);
        each_fixed!(self, {
            Value::String(x) => x.hash(state),
            Value::Bytes(x) => x.hash(state),
            Value::List(items) => items.iter().for_each(|item| item.hash(state)),
            Value::Map(map) => map.iter().for_each(|entry| entry.hash(state)),
            Value::Node(x) => x.hash(state),
            Value::Edge(x) => x.id.hash(state),
            Value::Path(x) => x.hash(state),
        }, x => x.hash_to(state), _ => {});
    }
}

/// A float that is a 64-bit integer hashes as that integer: the low bits of such floats are all zero, and a hash of
/// their bits would crowd small numbers together.
pub(crate) fn hash_float<H: std::hash::Hasher>(x: &f64, state: &mut H) {
    let x = *x;
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if x.trunc() == x && (-TWO_TO_63..TWO_TO_63).contains(&x) {
        std::hash::Hash::hash(&(x as i64), state);
    } else {
        let canonical = if x.is_nan() { f64::NAN } else { x };
        std::hash::Hash::hash(&canonical.to_bits(), state);
    }
}

/// Cypher's literal form; nodes and edges as `(#id)` and `[#id]`, since names are the store's to know.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each_fixed!(self, {
            Value::Float(x) => write_float(f, *x),
            Value::String(x) => write_quoted(f, x),
            Value::Bytes(x) => x.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Value::List(items) => write_sequence(f, "[", "]", items.iter(), |f, item| write!(f, "{item}")),
            Value::Map(map) => write_sequence(f, "{", "}", map.iter(), |f, (key, value)| write!(f, "{key}: {value}")),
            Value::Node(x) => write!(f, "(#{})", x.0),
            Value::Edge(x) => write!(f, "[#{}]", x.id.0),
            Value::Path(path) => write_path(f, path),
        }, x => write!(f, "{x}"), _ => f.write_str("null"))
    }
}

/// Writes a float so that it reads back as a float: `1.0`, not `1`.
fn write_float(f: &mut fmt::Formatter<'_>, x: f64) -> fmt::Result {
    if x.is_nan() {
        f.write_str("NaN")
    } else if x.is_infinite() {
        f.write_str(if x > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        write!(f, "{x:?}")
    }
}

fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("'")?;
    for c in text.chars() {
        match c {
            '\'' => f.write_str("\\'")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            other => write!(f, "{other}")?,
        }
    }
    f.write_str("'")
}

fn write_sequence<T>(
    f: &mut fmt::Formatter<'_>,
    open: &str,
    close: &str,
    items: impl Iterator<Item = T>,
    mut write_item: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    f.write_str(open)?;
    for (index, item) in items.enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write_item(f, item)?;
    }
    f.write_str(close)
}

fn write_path(f: &mut fmt::Formatter<'_>, path: &PathValue) -> fmt::Result {
    write!(f, "<")?;
    for (index, node) in path.nodes.iter().enumerate() {
        if index > 0 {
            let edge = &path.edges[index - 1];
            let forward = edge.source == path.nodes[index - 1];
            let (left, right) = if forward { ("-", "->") } else { ("<-", "-") };
            write!(f, "{left}[#{}]{right}", edge.id.0)?;
        }
        write!(f, "(#{})", node.0)?;
    }
    write!(f, ">")
}

macro_rules! from {
    ($($kind:ty => |$x:ident| $value:expr),* $(,)?) => {
        $(impl From<$kind> for Value { fn from($x: $kind) -> Value { $value } })*
    };
}

from! {
    bool => |x| Value::Bool(x),
    i64 => |x| Value::Int(x),
    i32 => |x| Value::Int(i64::from(x)),
    u32 => |x| Value::Int(i64::from(x)),
    f64 => |x| Value::Float(x),
    &str => |x| Value::string(x),
    String => |x| Value::String(Arc::from(x)),
    Arc<str> => |x| Value::String(x),
    Vec<Value> => |x| Value::list(x),
    NodeId => |x| Value::Node(x),
    EdgeValue => |x| Value::Edge(x),
    Date => |x| Value::Date(x),
    LocalTime => |x| Value::LocalTime(x),
    Time => |x| Value::Time(x),
    LocalDateTime => |x| Value::LocalDateTime(x),
    DateTime => |x| Value::DateTime(x),
    Duration => |x| Value::Duration(x),
    Uuid => |x| Value::Uuid(x),
    Point => |x| Value::Point(x),
}

impl Value {
    /// Fails with `ARGUMENT` if it is a value of time or a point out of its bounds, or a list that holds one.
    pub fn check_time(&self) -> Result<()> {
        let is_valid = each_fixed!(self, {
            Value::List(items) => return items.iter().try_for_each(Value::check_time),
        }, x => Fixed::is_valid(*x), _ => true);
        if is_valid { Ok(()) } else { Err(crate::error!(Argument::NumberOutOfRange, "{}", out_of_bounds(self))) }
    }
}

/// Names a value that is out of its bounds.
fn out_of_bounds(value: &Value) -> String {
    let years = format!("outside the years {YEAR_MIN} to {YEAR_MAX}");
    let of_second = |nanosecond: u32| format!("{nanosecond} nanoseconds, outside a second");
    let moment = |kind: &str, seconds: i64, nanosecond: u32| match i64::from(nanosecond) < NANOS_OF_SECOND {
        true => format!("a {kind} {seconds} seconds after 1970-01-01T00:00:00 is {years}"),
        false => format!("a {kind} has {}", of_second(nanosecond)),
    };
    match value {
        Value::Date(x) => format!("a date {} days after 1970-01-01 is {years}", x.0),
        Value::LocalDateTime(x) => moment("date-time", x.seconds, x.nanosecond),
        Value::DateTime(x) => moment("date-time with a zone", x.seconds, x.nanosecond),
        Value::Time(x) if x.local.is_valid() => {
            format!("a time of day has the offset of {} seconds, outside -18:00 to +18:00", x.offset)
        }
        Value::LocalTime(local) | Value::Time(Time { local, .. }) => {
            format!("a time of day {} nanoseconds after midnight is outside 00:00 to 24:00", local.0)
        }
        Value::Duration(x) => format!("a duration has {}", of_second(x.nanosecond)),
        other => format!("a value of type {} is out of its bounds", other.type_name()),
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn equality_knows_null_and_mixed_numbers() {
        assert_eq!(Value::Null.equals(&Value::Null), None);
        assert_eq!(Value::Int(1).equals(&Value::Float(1.0)), Some(true));
        assert_eq!(Value::Int(1).equals(&Value::string("1")), Some(false));
        assert_eq!(Value::Float(f64::NAN).equals(&Value::Float(f64::NAN)), Some(false));
        let with_null = Value::list(vec![Value::Int(1), Value::Null]);
        assert_eq!(with_null.equals(&with_null), None);
        assert_eq!(with_null.equals(&Value::list(vec![Value::Int(2), Value::Null])), Some(false));
    }

    #[test]
    fn large_integers_are_not_rounded() {
        let large = 9_007_199_254_740_993_i64;
        assert_eq!(Value::Int(large).equals(&Value::Float(9_007_199_254_740_992.0)), Some(false));
        assert_eq!(Value::Int(i64::MAX).equals(&Value::Float(9_223_372_036_854_775_808.0)), Some(false));
    }

    #[test]
    fn order_is_total() {
        let values = [
            Value::Null,
            Value::Int(1),
            Value::Float(f64::NAN),
            Value::Float(1.5),
            Value::string("a"),
            Value::Bool(true),
            Value::list(vec![Value::Int(1)]),
        ];
        for a in &values {
            for b in &values {
                assert_eq!(a.order(b), b.order(a).reverse(), "{a} and {b}");
            }
        }
        assert!(Value::Int(7) < Value::Null);
    }

    /// Values stand in many buffers; the largest kind is an edge.
    #[test]
    fn values_stay_small() {
        assert_eq!(size_of::<Value>(), 40);
    }

    #[test]
    fn equal_numbers_hash_alike() {
        use std::hash::BuildHasher;
        let hash = |value: &Value| rustc_hash::FxBuildHasher.hash_one(value);
        let numbers = [0, 1, -1, 1_000, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN].map(Value::Int);
        let floats =
            [0.0, -0.0, 1.0, -1.0, 0.5, 1e3, 9_007_199_254_740_992.0, 1e19, -9_223_372_036_854_775_808.0, f64::NAN];
        let all: Vec<Value> = numbers.into_iter().chain(floats.map(Value::Float)).collect();
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            assert!(a != b || hash(a) == hash(b), "{a} and {b}");
        }
    }
}
