//! Kinds of values of a fixed size: the table that columns, encodings and operators are made from.
//!
//! A kind is a type that implements [`Fixed`], and [`Scalar`] if properties can have it. Code that treats all kinds alike is
//! written once, over these traits, and meets the kinds by [`each_vector!`](crate::each_vector),
//! [`each_stored_vector!`](crate::each_stored_vector), [`each_vector_pair!`](crate::each_vector_pair), [`each_fixed!`](crate::each_fixed) and
//! [`with_stored!`](crate::with_stored).
//! Kinds whose values take room of their own (strings, bytes, lists, maps, paths) are not here.
//!
//! Adding a kind: its type, a variant of [`Value`], and a line in each list of this file; `CONTRIBUTING.md` has the rest.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Bound;

pub use uuid::Uuid;

use crate::id::NodeId;
use crate::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, OFFSET_MAX, Time, Zone};

use super::texts::StringColumn;
use super::{EdgeValue, Value, hash_float, order_floats};

/// A kind of values of a fixed size, which fill a vector of their own in columns.
pub trait Fixed: Copy + Default + PartialEq + fmt::Debug + Into<Value> + Send + Sync + 'static {
    /// The kind.
    const KIND: FixedKind;

    /// A column of these values.
    fn vector(rows: Vec<Self>) -> ColumnData;

    /// The value, if it is of the kind.
    fn of(value: &Value) -> Option<Self>;

    /// The values, if they are of the kind.
    fn rows(data: &ColumnData) -> Option<&[Self]>;

    /// The order of `ORDER BY`, `DISTINCT` and grouping.
    fn order(&self, other: &Self) -> Ordering;

    /// A word in which different values mostly differ, and those equal in the order never: for hashes within a statement.
    fn word(&self) -> u64;

    /// Hashes the value, equal ones of the order alike.
    fn hash_to<H: Hasher>(&self, state: &mut H);

    /// True if it is within the bounds of the kind.
    fn is_valid(self) -> bool;
}

/// Most integers of which a value consists.
pub const PARTS_MAX: usize = 4;

/// A kind of values of a fixed size that properties can have.
pub trait Scalar: Fixed {
    /// Its name in Cypher.
    const NAME: &'static str;
    /// Its name in the headers of text files, and behind `$` in JSON.
    const FIELD: &'static str;
    /// Number of integers of which a value consists; one is kept as integers are.
    const PARTS: usize = 1;
    /// The last part is the number of a time zone.
    const HAS_ZONE: bool = false;

    /// The integers of which it consists; that of a time zone is left 0.
    fn parts(self) -> [i64; PARTS_MAX];

    /// The value of parts, of which any number may come.
    fn of_parts(parts: [i64; PARTS_MAX], zone: Zone) -> Self;

    /// Its time zone.
    fn zone(self) -> Zone {
        Zone::UTC
    }

    /// Reads the text that it displays as, and other forms of it.
    fn parse(text: &str) -> Option<Self>;

    /// Bounds of all values that can be compared with each other, in the order of `ORDER BY`; `None` if none can.
    fn ends() -> Option<(Bound<Value>, Bound<Value>)>;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($type:ty, $order:path, $hash:path, $word:path, $is_valid:path)),* $(,)?) => {
        /// The values of a column, by kind. What stands in a row that is null is not to be read.
        #[derive(Clone, Debug)]
        pub enum ColumnData {
            /// Nothing but nulls, of the given number of rows.
            Null(usize),
            $($(#[$doc])* $kind(Vec<$type>),)*
            /// Strings.
            String(StringColumn),
            /// Anything else, and mixtures; nulls may also stand here as [`Value::Null`].
            Value(Vec<Value>),
        }

        /// The kinds of values of a fixed size.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum FixedKind {
            $($(#[$doc])* $kind,)*
        }

        impl FixedKind {
            /// Every kind.
            pub const ALL: &'static [FixedKind] = &[$(FixedKind::$kind),*];
        }

        $(impl Fixed for $type {
            const KIND: FixedKind = FixedKind::$kind;

            fn vector(rows: Vec<$type>) -> ColumnData {
                ColumnData::$kind(rows)
            }

            #[inline]
            fn of(value: &Value) -> Option<$type> {
                if let Value::$kind(x) = value { Some(*x) } else { None }
            }

            #[inline]
            fn rows(data: &ColumnData) -> Option<&[$type]> {
                if let ColumnData::$kind(rows) = data { Some(rows) } else { None }
            }

            #[inline]
            fn order(&self, other: &$type) -> Ordering {
                $order(self, other)
            }

            #[inline]
            fn word(&self) -> u64 {
                $word(self)
            }

            fn hash_to<H: Hasher>(&self, state: &mut H) {
                $hash(self, state);
            }

            #[inline]
            fn is_valid(self) -> bool {
                $is_valid(self)
            }
        })*
    };
}

fn any<T>(_: T) -> bool {
    true
}

fn order_edges(a: &EdgeValue, b: &EdgeValue) -> Ordering {
    a.id.cmp(&b.id)
}

fn hash_edge<H: Hasher>(x: &EdgeValue, state: &mut H) {
    x.id.hash(state);
}

fn word_of_bool(x: &bool) -> u64 {
    u64::from(*x)
}

/// That of the float: an integer and the float equal to it are one group.
fn word_of_int(x: &i64) -> u64 {
    word_of_float(&(*x as f64))
}

fn word_of_float(x: &f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { (x + 0.0).to_bits() }
}

fn word_of_node(x: &NodeId) -> u64 {
    x.0
}

fn word_of_edge(x: &EdgeValue) -> u64 {
    x.id.0
}

#[inline]
fn word_of_parts<T: Scalar>(x: &T) -> u64 {
    let parts = x.parts();
    parts[..T::PARTS].iter().fold(0, |word: u64, &part| word.rotate_left(30) ^ part as u64)
}

kinds! {
    /// Booleans.
    Bool(bool, Ord::cmp, Hash::hash, word_of_bool, any),
    /// Integers.
    Int(i64, Ord::cmp, Hash::hash, word_of_int, any),
    /// Floats.
    Float(f64, order_floats, hash_float, word_of_float, any),
    /// Dates.
    Date(Date, Ord::cmp, Hash::hash, word_of_parts, Date::is_valid),
    /// Local date-times.
    LocalDateTime(LocalDateTime, Ord::cmp, Hash::hash, word_of_parts, LocalDateTime::is_valid),
    /// Nodes.
    Node(NodeId, Ord::cmp, Hash::hash, word_of_node, any),
    /// Edges.
    Edge(EdgeValue, order_edges, hash_edge, word_of_edge, any),
    /// Times of day without a zone.
    LocalTime(LocalTime, Ord::cmp, Hash::hash, word_of_parts, LocalTime::is_valid),
    /// Times of day with an offset.
    Time(Time, Ord::cmp, Hash::hash, word_of_parts, Time::is_valid),
    /// Moments with a zone.
    DateTime(DateTime, Ord::cmp, Hash::hash, word_of_parts, DateTime::is_valid),
    /// Durations.
    Duration(Duration, Ord::cmp, Hash::hash, word_of_parts, Duration::is_valid),
    /// Universally unique identifiers.
    Uuid(Uuid, Ord::cmp, Hash::hash, word_of_parts, any),
}

/// Values from one to another, with both.
fn closed(first: impl Into<Value>, last: impl Into<Value>) -> Option<(Bound<Value>, Bound<Value>)> {
    Some((Bound::Included(first.into()), Bound::Included(last.into())))
}

impl Scalar for bool {
    const NAME: &'static str = "BOOLEAN";
    const FIELD: &'static str = "boolean";

    fn parts(self) -> [i64; PARTS_MAX] {
        [i64::from(self), 0, 0, 0]
    }

    fn of_parts(parts: [i64; PARTS_MAX], _: Zone) -> bool {
        parts[0] != 0
    }

    fn parse(text: &str) -> Option<bool> {
        match text {
            _ if text.eq_ignore_ascii_case("true") => Some(true),
            _ if text.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        }
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        closed(false, true)
    }
}

impl Scalar for i64 {
    const NAME: &'static str = "INTEGER";
    const FIELD: &'static str = "int";

    #[inline]
    fn parts(self) -> [i64; PARTS_MAX] {
        [self, 0, 0, 0]
    }

    #[inline]
    fn of_parts(parts: [i64; PARTS_MAX], _: Zone) -> i64 {
        parts[0]
    }

    fn parse(text: &str) -> Option<i64> {
        text.parse().ok()
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        closed(f64::NEG_INFINITY, f64::INFINITY)
    }
}

impl Scalar for f64 {
    const NAME: &'static str = "FLOAT";
    const FIELD: &'static str = "float";

    fn parts(self) -> [i64; PARTS_MAX] {
        [self.to_bits() as i64, 0, 0, 0]
    }

    fn of_parts(parts: [i64; PARTS_MAX], _: Zone) -> f64 {
        f64::from_bits(parts[0] as u64)
    }

    fn parse(text: &str) -> Option<f64> {
        text.parse().ok()
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        closed(f64::NEG_INFINITY, f64::INFINITY)
    }
}

impl Scalar for Date {
    const NAME: &'static str = "DATE";
    const FIELD: &'static str = "date";

    #[inline]
    fn parts(self) -> [i64; PARTS_MAX] {
        [self.0, 0, 0, 0]
    }

    #[inline]
    fn of_parts(parts: [i64; PARTS_MAX], _: Zone) -> Date {
        Date(parts[0])
    }

    fn parse(text: &str) -> Option<Date> {
        Date::parse(text)
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        closed(Date::MIN, Date::MAX)
    }
}

impl Scalar for LocalDateTime {
    const NAME: &'static str = "LOCAL DATETIME";
    const FIELD: &'static str = "localdatetime";
    const PARTS: usize = 2;

    #[inline]
    fn parts(self) -> [i64; PARTS_MAX] {
        [self.seconds, i64::from(self.nanosecond), 0, 0]
    }

    #[inline]
    fn of_parts(parts: [i64; PARTS_MAX], _: Zone) -> LocalDateTime {
        LocalDateTime { seconds: parts[0], nanosecond: parts[1] as u32 }
    }

    fn parse(text: &str) -> Option<LocalDateTime> {
        LocalDateTime::parse(text)
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        closed(LocalDateTime::MIN, LocalDateTime::MAX)
    }
}

impl Scalar for LocalTime {
    const NAME: &'static str = "LOCAL TIME";
    const FIELD: &'static str = "localtime";

    #[inline]
    fn parts(self) -> [i64; PARTS_MAX] {
        [self.0, 0, 0, 0]
    }

    #[inline]
    fn of_parts(parts: [i64; PARTS_MAX], _: Zone) -> LocalTime {
        LocalTime(parts[0])
    }

    fn parse(text: &str) -> Option<LocalTime> {
        LocalTime::parse(text)
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        closed(LocalTime(0), LocalTime::MAX)
    }
}

impl Scalar for Time {
    const NAME: &'static str = "ZONED TIME";
    const FIELD: &'static str = "time";
    const PARTS: usize = 2;

    #[inline]
    fn parts(self) -> [i64; PARTS_MAX] {
        [self.local.0, i64::from(self.offset), 0, 0]
    }

    #[inline]
    fn of_parts(parts: [i64; PARTS_MAX], _: Zone) -> Time {
        Time { local: LocalTime(parts[0]), offset: parts[1] as i32 }
    }

    fn parse(text: &str) -> Option<Time> {
        Time::parse(text)
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        let at = |local, offset| Time { local, offset };
        closed(at(LocalTime(0), OFFSET_MAX), at(LocalTime::MAX, -OFFSET_MAX))
    }
}

impl Scalar for DateTime {
    const NAME: &'static str = "ZONED DATETIME";
    const FIELD: &'static str = "datetime";
    const PARTS: usize = 3;
    const HAS_ZONE: bool = true;

    #[inline]
    fn parts(self) -> [i64; PARTS_MAX] {
        [self.seconds, i64::from(self.nanosecond), 0, 0]
    }

    #[inline]
    fn of_parts(parts: [i64; PARTS_MAX], zone: Zone) -> DateTime {
        DateTime { seconds: parts[0], nanosecond: parts[1] as u32, zone }
    }

    #[inline]
    fn zone(self) -> Zone {
        self.zone
    }

    fn parse(text: &str) -> Option<DateTime> {
        DateTime::parse(text)
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        // Below a moment come the kinds of the greatest local date-time, above it only the kind that follows.
        let first = DateTime { seconds: i64::MIN, nanosecond: 0, zone: Zone::UTC };
        Some((Bound::Included(first.into()), Bound::Excluded(LocalDateTime::MIN.into())))
    }
}

impl Scalar for Duration {
    const NAME: &'static str = "DURATION";
    const FIELD: &'static str = "duration";
    const PARTS: usize = 4;

    #[inline]
    fn parts(self) -> [i64; PARTS_MAX] {
        [self.months, self.days, self.seconds, i64::from(self.nanosecond)]
    }

    #[inline]
    fn of_parts([months, days, seconds, nanosecond]: [i64; PARTS_MAX], _: Zone) -> Duration {
        Duration { months, days, seconds, nanosecond: nanosecond as u32 }
    }

    fn parse(text: &str) -> Option<Duration> {
        Duration::parse(text)
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        None
    }
}

/// After: RFC 9562. Compared and sorted by its bytes.
impl Scalar for Uuid {
    const NAME: &'static str = "UUID";
    const FIELD: &'static str = "uuid";
    const PARTS: usize = 2;

    #[inline]
    fn parts(self) -> [i64; PARTS_MAX] {
        let (high, low) = self.as_u64_pair();
        [high as i64, low as i64, 0, 0]
    }

    #[inline]
    fn of_parts(parts: [i64; PARTS_MAX], _: Zone) -> Uuid {
        Uuid::from_u64_pair(parts[0] as u64, parts[1] as u64)
    }

    fn parse(text: &str) -> Option<Uuid> {
        Uuid::parse_str(text).ok()
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        closed(Uuid::nil(), Uuid::max())
    }
}

/// Matches a vector of a column: first the arms given, then every kind of a fixed size, whose rows the body sees.
/// What is neither, of `Null`, `String` and `Value`, the arms have to name.
#[macro_export]
macro_rules! each_vector {
    ($data:expr, { $($arms:tt)* }, $rows:ident => $body:expr) => {
        {
            #[allow(unreachable_patterns, clippy::let_and_return, reason = "arms that are given come first, and the match needs a statement")]
            let found = match $data {
                $($arms)*
                $crate::ColumnData::Bool($rows) => $body,
                $crate::ColumnData::Int($rows) => $body,
                $crate::ColumnData::Float($rows) => $body,
                $crate::ColumnData::Date($rows) => $body,
                $crate::ColumnData::LocalDateTime($rows) => $body,
                $crate::ColumnData::Node($rows) => $body,
                $crate::ColumnData::Edge($rows) => $body,
                $crate::ColumnData::LocalTime($rows) => $body,
                $crate::ColumnData::Time($rows) => $body,
                $crate::ColumnData::DateTime($rows) => $body,
                $crate::ColumnData::Duration($rows) => $body,
                $crate::ColumnData::Uuid($rows) => $body,
            };
            found
        }
    };
}

/// Matches a vector of a column as [`each_vector!`] does, but for nodes and edges, which no property holds: the arms name
/// these too.
#[macro_export]
macro_rules! each_stored_vector {
    ($data:expr, { $($arms:tt)* }, $rows:ident => $body:expr) => {
        {
            #[allow(unreachable_patterns, clippy::let_and_return, reason = "arms that are given come first, and the match needs a statement")]
            let found = match $data {
                $($arms)*
                $crate::ColumnData::Bool($rows) => $body,
                $crate::ColumnData::Int($rows) => $body,
                $crate::ColumnData::Float($rows) => $body,
                $crate::ColumnData::Date($rows) => $body,
                $crate::ColumnData::LocalDateTime($rows) => $body,
                $crate::ColumnData::LocalTime($rows) => $body,
                $crate::ColumnData::Time($rows) => $body,
                $crate::ColumnData::DateTime($rows) => $body,
                $crate::ColumnData::Duration($rows) => $body,
                $crate::ColumnData::Uuid($rows) => $body,
            };
            found
        }
    };
}

/// Matches two things that have variants of the same names, such as two vectors, or a vector and a value: first the arms
/// given, then each kind of a fixed size in both; the last arm is for all other pairs.
#[macro_export]
macro_rules! each_vector_pair {
    (($a:expr, $b:expr), $A:ident, $B:ident, { $($arms:tt)* }, ($x:ident, $y:ident) => $body:expr, _ => $other:expr) => {
        {
            #[allow(unreachable_patterns, clippy::let_and_return, reason = "arms that are given come first, and the match needs a statement")]
            let found = match ($a, $b) {
                $($arms)*
                ($crate::$A::Bool($x), $crate::$B::Bool($y)) => $body,
                ($crate::$A::Int($x), $crate::$B::Int($y)) => $body,
                ($crate::$A::Float($x), $crate::$B::Float($y)) => $body,
                ($crate::$A::Date($x), $crate::$B::Date($y)) => $body,
                ($crate::$A::LocalDateTime($x), $crate::$B::LocalDateTime($y)) => $body,
                ($crate::$A::Node($x), $crate::$B::Node($y)) => $body,
                ($crate::$A::Edge($x), $crate::$B::Edge($y)) => $body,
                ($crate::$A::LocalTime($x), $crate::$B::LocalTime($y)) => $body,
                ($crate::$A::Time($x), $crate::$B::Time($y)) => $body,
                ($crate::$A::DateTime($x), $crate::$B::DateTime($y)) => $body,
                ($crate::$A::Duration($x), $crate::$B::Duration($y)) => $body,
                ($crate::$A::Uuid($x), $crate::$B::Uuid($y)) => $body,
                _ => $other,
            };
            found
        }
    };
}

/// Matches a value: first the arms given, then every kind of a fixed size that properties can have, whose value the body
/// sees; the last arm is for all other values.
#[macro_export]
macro_rules! each_fixed {
    ($value:expr, { $($arms:tt)* }, $x:ident => $body:expr, _ => $other:expr) => {
        {
            #[allow(unreachable_patterns, clippy::let_and_return, reason = "arms that are given come first, and the match needs a statement")]
            let found = match $value {
                $($arms)*
                $crate::Value::Date($x) => $body,
                $crate::Value::LocalDateTime($x) => $body,
                $crate::Value::LocalTime($x) => $body,
                $crate::Value::Time($x) => $body,
                $crate::Value::DateTime($x) => $body,
                $crate::Value::Duration($x) => $body,
                $crate::Value::Uuid($x) => $body,
                $crate::Value::Bool($x) => $body,
                $crate::Value::Int($x) => $body,
                $crate::Value::Float($x) => $body,
                _ => $other,
            };
            found
        }
    };
}

/// Runs the body with the type of a kind: first the arms given, then every kind that properties can have.
#[macro_export]
macro_rules! with_stored {
    ($kind:expr, { $($arms:tt)* }, $type:ident => $body:expr) => {
        {
            #[allow(unreachable_patterns, clippy::let_and_return, reason = "arms that are given come first, and the match needs a statement")]
            let found = match $kind {
                $($arms)*
                $crate::FixedKind::Bool => { type $type = bool; $body }
                $crate::FixedKind::Int => { type $type = i64; $body }
                $crate::FixedKind::Float => { type $type = f64; $body }
                $crate::FixedKind::Date => { type $type = $crate::temporal::Date; $body }
                $crate::FixedKind::LocalDateTime => { type $type = $crate::temporal::LocalDateTime; $body }
                $crate::FixedKind::LocalTime => { type $type = $crate::temporal::LocalTime; $body }
                $crate::FixedKind::Time => { type $type = $crate::temporal::Time; $body }
                $crate::FixedKind::DateTime => { type $type = $crate::temporal::DateTime; $body }
                $crate::FixedKind::Duration => { type $type = $crate::temporal::Duration; $body }
                $crate::FixedKind::Uuid => { type $type = $crate::value::fixed::Uuid; $body }
            };
            found
        }
    };
}

impl FixedKind {
    /// The name of its values in Cypher; `None` if no property holds them.
    pub fn name(self) -> Option<&'static str> {
        with_stored!(self, { FixedKind::Node | FixedKind::Edge => None, }, T => Some(T::NAME))
    }

    /// The name of its values in the headers of text files, and behind `$` in JSON; `None` if no property holds them.
    pub fn field(self) -> Option<&'static str> {
        with_stored!(self, { FixedKind::Node | FixedKind::Edge => None, }, T => Some(T::FIELD))
    }

    /// The kind with a name in the headers of text files.
    pub fn of_field(name: &str) -> Option<FixedKind> {
        FixedKind::ALL.iter().copied().find(|kind| kind.field() == Some(name))
    }

    /// Reads a text as one of its values.
    pub fn parse(self, text: &str) -> Option<Value> {
        with_stored!(self, { FixedKind::Node | FixedKind::Edge => None, }, T => T::parse(text).map(Value::from))
    }

    /// The kind of a value, if properties can have it.
    pub fn of_value(value: &Value) -> Option<FixedKind> {
        fn kind<T: Scalar>(_: &T) -> FixedKind {
            T::KIND
        }
        each_fixed!(value, {}, x => Some(kind(x)), _ => None)
    }
}
