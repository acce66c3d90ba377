//! Kinds of values of a fixed size: the table that columns, encodings and operators are made from.
//!
//! A kind is a type that implements [`Fixed`], and [`Scalar`] if properties can have it. Code that treats all kinds alike is
//! written once, over these traits, and meets the kinds by [`each_vector!`](crate::each_vector),
//! [`each_stored_vector!`](crate::each_stored_vector), [`each_vector_pair!`](crate::each_vector_pair), [`each_fixed!`](crate::each_fixed) and
//! [`with_stored!`](crate::with_stored).
//! Kinds whose values take room of their own (strings, bytes, lists, maps, paths) are not here.
//!
//! Adding a kind: its type, a variant of [`Value`], an entry of `kinds!` and of `stored_kinds!`, and its [`Scalar`]; `CONTRIBUTING.md` has the rest.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Bound;

pub use uuid::Uuid;

use crate::id::NodeId;
use crate::point::Point;
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

    /// A word for hashes within a statement. Values equal in the order have equal words.
    fn word(&self) -> u64;

    /// Hashes the value, equal ones of the order alike.
    fn hash_to<H: Hasher>(&self, state: &mut H);

    /// True if it is within the bounds of the kind, as the default is: rows that are null may be written with it.
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
    /// False if `<` and its kin are null of its values, which have an order all the same.
    const IS_COMPARED: bool = true;

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
    /// Points.
    Point(Point, Ord::cmp, Hash::hash, word_of_parts, Point::is_valid),
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
    const IS_COMPARED: bool = false;

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

/// After: the spatial types of Neo4j.
impl Scalar for Point {
    const NAME: &'static str = "POINT";
    const FIELD: &'static str = "point";
    const PARTS: usize = 4;
    const IS_COMPARED: bool = false;

    #[inline]
    fn parts(self) -> [i64; PARTS_MAX] {
        let [x, y, z] = self.all().map(|number| number.to_bits() as i64);
        [x, y, z, i64::from(self.srid())]
    }

    #[inline]
    fn of_parts([x, y, z, srid]: [i64; PARTS_MAX], _: Zone) -> Point {
        Point::of_parts(srid as u32, [x, y, z].map(|bits| f64::from_bits(bits as u64)))
    }

    fn parse(text: &str) -> Option<Point> {
        Point::parse(text)
    }

    fn ends() -> Option<(Bound<Value>, Bound<Value>)> {
        None
    }
}

/// Calls a macro of this file with the kinds that properties can have, and the arguments behind them.
#[doc(hidden)]
#[macro_export]
macro_rules! stored_kinds {
    ($then:ident, $($arguments:tt)*) => {
        $crate::$then! {
            [
                Bool(bool) Int(i64) Float(f64) Date($crate::temporal::Date) LocalTime($crate::temporal::LocalTime)
                Time($crate::temporal::Time) LocalDateTime($crate::temporal::LocalDateTime)
                DateTime($crate::temporal::DateTime) Duration($crate::temporal::Duration) Uuid($crate::value::fixed::Uuid)
                Point($crate::point::Point)
            ]
            $($arguments)*
        }
    };
}

/// Matches a vector of a column: first the given arms, then every kind of a fixed size that properties can have, whose rows the
/// body sees. The arms name `Null`, `String`, `Value`, `Node` and `Edge`.
#[macro_export]
macro_rules! each_stored_vector {
    ([$($kind:ident($type:ty))*] $data:expr, { $($arms:tt)* }, $rows:ident => $body:expr) => {
        {
            #[allow(unreachable_patterns, clippy::let_and_return, reason = "given arms come first; the attribute needs a statement")]
            let found = match $data {
                $($arms)*
                $($crate::ColumnData::$kind($rows) => $body,)*
            };
            found
        }
    };
    ($($arguments:tt)*) => { $crate::stored_kinds!(each_stored_vector, $($arguments)*) };
}

/// Matches a vector of a column as [`each_stored_vector!`] does; nodes and edges are kinds like the others.
#[macro_export]
macro_rules! each_vector {
    ($data:expr, { $($arms:tt)* }, $rows:ident => $body:expr) => {
        $crate::each_stored_vector!($data, {
            $($arms)*
            $crate::ColumnData::Node($rows) => $body,
            $crate::ColumnData::Edge($rows) => $body,
        }, $rows => $body)
    };
}

/// Matches two things that have variants of the same names, such as two vectors, or a vector and a value: first the given
/// arms, then each kind of a fixed size in both; the last arm is for all other pairs.
#[macro_export]
macro_rules! each_vector_pair {
    (
        [$($kind:ident($type:ty))*]
        ($a:expr, $b:expr), $A:ident, $B:ident, { $($arms:tt)* }, ($x:ident, $y:ident) => $body:expr, _ => $other:expr
    ) => {
        {
            #[allow(unreachable_patterns, clippy::let_and_return, reason = "given arms come first; the attribute needs a statement")]
            let found = match ($a, $b) {
                $($arms)*
                $(($crate::$A::$kind($x), $crate::$B::$kind($y)) => $body,)*
                ($crate::$A::Node($x), $crate::$B::Node($y)) => $body,
                ($crate::$A::Edge($x), $crate::$B::Edge($y)) => $body,
                _ => $other,
            };
            found
        }
    };
    ($($arguments:tt)*) => { $crate::stored_kinds!(each_vector_pair, $($arguments)*) };
}

/// Matches a value: first the given arms, then every kind of a fixed size that properties can have, whose value the body
/// sees; the last arm is for all other values.
#[macro_export]
macro_rules! each_fixed {
    ([$($kind:ident($type:ty))*] $value:expr, { $($arms:tt)* }, $x:ident => $body:expr, _ => $other:expr) => {
        {
            #[allow(unreachable_patterns, clippy::let_and_return, reason = "given arms come first; the attribute needs a statement")]
            let found = match $value {
                $($arms)*
                $($crate::Value::$kind($x) => $body,)*
                _ => $other,
            };
            found
        }
    };
    ($($arguments:tt)*) => { $crate::stored_kinds!(each_fixed, $($arguments)*) };
}

/// Runs the body with the type of a kind: first the given arms, then every kind that properties can have.
#[macro_export]
macro_rules! with_stored {
    ([$($known:ident($of:ty))*] $kind:expr, { $($arms:tt)* }, $type:ident => $body:expr) => {
        {
            #[allow(unreachable_patterns, clippy::let_and_return, reason = "given arms come first; the attribute needs a statement")]
            let found = match $kind {
                $($arms)*
                $($crate::FixedKind::$known => {
                    type $type = $of;
                    $body
                })*
            };
            found
        }
    };
    ($($arguments:tt)*) => { $crate::stored_kinds!(with_stored, $($arguments)*) };
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

    /// True if `<` and its kin compare its values.
    #[inline]
    pub fn is_compared(self) -> bool {
        with_stored!(self, { FixedKind::Node | FixedKind::Edge => false, }, T => T::IS_COMPARED)
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

#[cfg(test)]
mod tests {
    use super::{Fixed, FixedKind};

    #[test]
    fn what_stands_in_rows_that_are_null_is_valid() {
        for &kind in FixedKind::ALL {
            let is_valid =
                with_stored!(kind, { FixedKind::Node | FixedKind::Edge => true, }, T => T::default().is_valid());
            assert!(is_valid, "{kind:?}");
        }
    }
}
