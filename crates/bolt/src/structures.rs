//! Structures that stand for values of Cypher: dates, times, durations, points, nodes, relationships, paths.
//!
//! Moments have two forms. In the older one the seconds are those that the zone's clocks show; since 5.0, and in 4.4 where
//! both sides agree on the patch `utc`, they are those of UTC.

use crate::encoder::Encoder;
use crate::packstream::Value;
use crate::version::Version;

pub(crate) const NODE: u8 = 0x4E;
pub(crate) const RELATIONSHIP: u8 = 0x52;
pub(crate) const UNBOUND_RELATIONSHIP: u8 = 0x72;
pub(crate) const PATH: u8 = 0x50;
const DATE: u8 = 0x44;
const TIME: u8 = 0x54;
const LOCAL_TIME: u8 = 0x74;
const LOCAL_DATE_TIME: u8 = 0x64;
const DURATION: u8 = 0x45;
const DATE_TIME: u8 = 0x49;
const DATE_TIME_ZONE: u8 = 0x69;
const LEGACY_DATE_TIME: u8 = 0x46;
const LEGACY_DATE_TIME_ZONE: u8 = 0x66;
const POINT_2D: u8 = 0x58;
const POINT_3D: u8 = 0x59;
const VECTOR: u8 = 0x56;
/// Known to our own clients and servers only.
const OTHER: u8 = 0x6B;

/// The zone of a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Seconds ahead of UTC.
    Offset(i64),
    /// Name in the IANA database.
    Named(String),
}

/// Form in which a moment is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moments {
    /// Seconds in UTC.
    Utc,
    /// Seconds as the zone's clocks show them.
    Local,
}

/// A structure that a client may send as a parameter, taken apart. Numbers are as they came: nothing is known to be in range.
#[derive(Clone, Debug, PartialEq)]
pub enum Structure {
    /// Days since 1970-01-01.
    Date(i64),
    /// Nanoseconds of the local day, and seconds ahead of UTC.
    Time(i64, i64),
    /// Nanoseconds of the day.
    LocalTime(i64),
    /// Seconds since 1970-01-01T00:00, and nanoseconds.
    LocalDateTime(i64, i64),
    /// Seconds since 1970-01-01T00:00, of UTC or local as the form says, and nanoseconds.
    DateTime(i64, i64, Zone),
    /// Months, days, seconds and nanoseconds.
    Duration(i64, i64, i64, i64),
    /// The system of coordinates, and the coordinates.
    Point(i64, Vec<f64>),
    /// Numbers of one kind.
    Vector(Numbers),
    /// A value of a kind that Bolt lacks, by the kind's name and the value's text; among our own clients and servers.
    Other(String, String),
}

/// Reason for which a structure is no parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is something else than values that may be sent, by its name.
    Kind(&'static str),
    /// No structure has that tag.
    Tag(u8),
    /// The fields are not those of the structure.
    Fields(u8),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Kind(name) => write!(f, "a {name} cannot be passed as a parameter"),
            Refusal::Tag(tag) => write!(f, "no structure of this version has the tag {tag:#04X}"),
            Refusal::Fields(tag) => write!(f, "the fields of the structure {tag:#04X} are not those that it has"),
        }
    }
}

impl Structure {
    /// Takes a structure apart.
    ///
    /// # Errors
    /// Fails if it is none that a client may send, or not of its form.
    pub fn read(tag: u8, mut fields: Vec<Value>, version: Version, moments: Moments) -> Result<Structure, Refusal> {
        let form = |value: Option<Structure>| value.ok_or(Refusal::Fields(tag));
        match (tag, moments) {
            (DATE_TIME | LEGACY_DATE_TIME, _) if (tag == DATE_TIME) == (moments == Moments::Utc) => {
                form(match fields.as_slice() {
                    &[Value::Int(seconds), Value::Int(nanos), Value::Int(offset)] => {
                        Some(Structure::DateTime(seconds, nanos, Zone::Offset(offset)))
                    }
                    _ => None,
                })
            }
            (DATE_TIME_ZONE | LEGACY_DATE_TIME_ZONE, _) if (tag == DATE_TIME_ZONE) == (moments == Moments::Utc) => {
                form(match fields.as_slice() {
                    [Value::Int(seconds), Value::Int(nanos), Value::String(zone)] => {
                        Some(Structure::DateTime(*seconds, *nanos, Zone::Named(zone.clone())))
                    }
                    _ => None,
                })
            }
            (DATE | TIME | LOCAL_TIME | LOCAL_DATE_TIME | DURATION, _) => form(of_integers(tag, &fields)),
            (POINT_2D | POINT_3D, _) => form(point(tag, &fields)),
            (OTHER, _) => form(match fields.as_slice() {
                [Value::String(kind), Value::String(text)] => Some(Structure::Other(kind.clone(), text.clone())),
                _ => None,
            }),
            (VECTOR, _) if version.has_vectors() => form(Numbers::read(&mut fields).map(Structure::Vector)),
            (NODE, _) => Err(Refusal::Kind("node")),
            (RELATIONSHIP | UNBOUND_RELATIONSHIP, _) => Err(Refusal::Kind("relationship")),
            (PATH, _) => Err(Refusal::Kind("path")),
            _ => Err(Refusal::Tag(tag)),
        }
    }
}

fn of_integers(tag: u8, fields: &[Value]) -> Option<Structure> {
    let integer = |field: &Value| if let Value::Int(integer) = field { Some(*integer) } else { None };
    let integers: Vec<i64> = fields.iter().map(integer).collect::<Option<_>>()?;
    Some(match (tag, integers.as_slice()) {
        (DATE, &[days]) => Structure::Date(days),
        (TIME, &[nanos, offset]) => Structure::Time(nanos, offset),
        (LOCAL_TIME, &[nanos]) => Structure::LocalTime(nanos),
        (LOCAL_DATE_TIME, &[seconds, nanos]) => Structure::LocalDateTime(seconds, nanos),
        (DURATION, &[months, days, seconds, nanos]) => Structure::Duration(months, days, seconds, nanos),
        _ => return None,
    })
}

fn point(tag: u8, fields: &[Value]) -> Option<Structure> {
    let (first, rest) = fields.split_first()?;
    let Value::Int(system) = first else { return None };
    let number = |field: &Value| if let Value::Float(number) = field { Some(*number) } else { None };
    let coordinates: Vec<f64> = rest.iter().map(number).collect::<Option<_>>()?;
    let expected = if tag == POINT_2D { 2 } else { 3 };
    (coordinates.len() == expected).then_some(Structure::Point(*system, coordinates))
}

/// The numbers of a vector, in their bytes: what they are as values takes many times as much memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// First byte of an integer or a float of that width; 0xC6 for floats of 32 bits.
    kind: u8,
    /// Bytes of one.
    width: usize,
    /// All of them, the highest byte of each first.
    data: Vec<u8>,
}

impl Numbers {
    fn read(fields: &mut [Value]) -> Option<Numbers> {
        let [Value::Bytes(kind), Value::Bytes(data)] = fields else { return None };
        let &[kind] = kind.as_slice() else { return None };
        let width = match kind {
            0xC8 => 1,
            0xC9 => 2,
            0xCA | 0xC6 => 4,
            0xCB | 0xC1 => 8,
            _ => return None,
        };
        data.len().is_multiple_of(width).then(|| Numbers { kind, width, data: std::mem::take(data) })
    }

    /// Number of them.
    pub fn len(&self) -> usize {
        self.data.len() / self.width
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Each of them as a value.
    pub fn iter(&self) -> impl Iterator<Item = Value> {
        self.data.chunks_exact(self.width).map(|bytes| {
            let bits = bytes.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
            match self.kind {
                0xC8 => Value::Int(i64::from(bits as i8)),
                0xC9 => Value::Int(i64::from(bits as i16)),
                0xCA => Value::Int(i64::from(bits as i32)),
                0xC6 => Value::Float(f64::from(f32::from_bits(bits as u32))),
                0xC1 => Value::Float(f64::from_bits(bits)),
                _ => Value::Int(bits as i64),
            }
        })
    }
}

/// Both names of a node or a relationship.
#[derive(Clone, Copy, Debug)]
pub struct Id<'a> {
    /// The number.
    pub number: i64,
    /// The text, which clients of today use.
    pub element: &'a str,
}

/// Structures as an encoder of a version writes them.
impl Encoder<'_> {
    /// A date: days since 1970-01-01.
    pub fn date(&mut self, days: i64) {
        self.structure(DATE, 1);
        self.int(days);
    }

    /// A time of day with an offset: nanoseconds of the local day, seconds ahead of UTC.
    pub fn time(&mut self, nanos: i64, offset: i64) {
        self.structure(TIME, 2);
        self.int(nanos);
        self.int(offset);
    }

    /// A time of day: nanoseconds.
    pub fn local_time(&mut self, nanos: i64) {
        self.structure(LOCAL_TIME, 1);
        self.int(nanos);
    }

    /// A date and time of day: seconds since 1970-01-01T00:00 and nanoseconds.
    pub fn local_date_time(&mut self, seconds: i64, nanos: i64) {
        self.structure(LOCAL_DATE_TIME, 2);
        self.int(seconds);
        self.int(nanos);
    }

    /// A moment with an offset, in seconds of that form, and nanoseconds.
    pub fn date_time(&mut self, moments: Moments, seconds: i64, nanos: i64, offset: i64) {
        self.structure(if moments == Moments::Utc { DATE_TIME } else { LEGACY_DATE_TIME }, 3);
        self.int(seconds);
        self.int(nanos);
        self.int(offset);
    }

    /// A moment in a zone with a name, in seconds of that form, and nanoseconds.
    pub fn date_time_zone(&mut self, moments: Moments, seconds: i64, nanos: i64, zone: &str) {
        self.structure(if moments == Moments::Utc { DATE_TIME_ZONE } else { LEGACY_DATE_TIME_ZONE }, 3);
        self.int(seconds);
        self.int(nanos);
        self.string(zone);
    }

    /// A point: the number of its system, and its two or three coordinates.
    pub fn point(&mut self, system: i64, coordinates: &[f64]) {
        self.structure(if coordinates.len() == 2 { POINT_2D } else { POINT_3D }, 1 + coordinates.len() as u8);
        self.int(system);
        coordinates.iter().for_each(|number| self.float(*number));
    }

    /// Adds a value of a kind that Bolt lacks, for one of our own clients or servers.
    pub fn other(&mut self, kind: &str, text: &str) {
        self.structure(OTHER, 2);
        self.string(kind);
        self.string(text);
    }

    /// A duration.
    pub fn duration(&mut self, months: i64, days: i64, seconds: i64, nanos: i64) {
        self.structure(DURATION, 4);
        [months, days, seconds, nanos].into_iter().for_each(|part| self.int(part));
    }

    /// The beginning of a node: its labels follow as a list, its properties as a map, and then, where the version has such,
    /// its element id, see [`Encoder::element`].
    pub fn node(&mut self, version: Version, id: Id<'_>) {
        self.structure(NODE, if version.has_element_ids() { 4 } else { 3 });
        self.int(id.number);
    }

    /// The end of a node or of a relationship of a path: its element id, where the version has such.
    pub fn element(&mut self, version: Version, id: Id<'_>) {
        if version.has_element_ids() {
            self.string(id.element);
        }
    }

    /// The beginning of a relationship from one node to another: its properties follow as a map, and then the element ids, see
    /// [`Encoder::elements`].
    pub fn relationship(&mut self, version: Version, id: Id<'_>, source: Id<'_>, target: Id<'_>, kind: &str) {
        self.structure(RELATIONSHIP, if version.has_element_ids() { 8 } else { 5 });
        [id, source, target].into_iter().for_each(|id| self.int(id.number));
        self.string(kind);
    }

    /// The end of a relationship.
    pub fn elements(&mut self, version: Version, id: Id<'_>, source: Id<'_>, target: Id<'_>) {
        [id, source, target].into_iter().for_each(|id| self.element(version, id));
    }

    /// The beginning of a relationship of a path: its properties follow as a map, and then its element id.
    pub fn unbound_relationship(&mut self, version: Version, id: Id<'_>, kind: &str) {
        self.structure(UNBOUND_RELATIONSHIP, if version.has_element_ids() { 4 } else { 3 });
        self.int(id.number);
        self.string(kind);
    }

    /// The beginning of a path: lists follow of its nodes, of its relationships, and of the steps from its first node on, each
    /// the number of a relationship, counted from 1 and negative against its direction, and the number of a node, from 0.
    pub fn path(&mut self) {
        self.structure(PATH, 3);
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, Moments, Refusal, Structure, Zone};
    use crate::encoder::Encoder;
    use crate::packstream::{Limits, Value, decode};
    use crate::version::Version;

    fn read(moments: Moments, write: impl FnOnce(&mut Encoder<'_>)) -> Result<Structure, Refusal> {
        let mut out = Vec::new();
        write(&mut Encoder::new(&mut out));
        let Ok(Value::Structure(tag, fields)) = decode(&out, Limits::default()) else { panic!("{out:X?}") };
        Structure::read(tag, fields, Version::ALL[0], moments)
    }

    #[test]
    fn values_of_time_come_back() {
        let (utc, local) = (Moments::Utc, Moments::Local);
        assert_eq!(read(utc, |out| out.date(-1)), Ok(Structure::Date(-1)));
        assert_eq!(read(utc, |out| out.time(5, -3_600)), Ok(Structure::Time(5, -3_600)));
        assert_eq!(read(utc, |out| out.local_time(7)), Ok(Structure::LocalTime(7)));
        assert_eq!(read(utc, |out| out.local_date_time(-7, 8)), Ok(Structure::LocalDateTime(-7, 8)));
        assert_eq!(read(utc, |out| out.duration(1, -2, 3, 4)), Ok(Structure::Duration(1, -2, 3, 4)));
        for form in [utc, local] {
            let zone = Zone::Offset(3_600);
            assert_eq!(read(form, |out| out.date_time(form, 1, 2, 3_600)), Ok(Structure::DateTime(1, 2, zone)));
            let zone = Zone::Named("Europe/Stockholm".into());
            let found = read(form, |out| out.date_time_zone(form, 1, 2, "Europe/Stockholm"));
            assert_eq!(found, Ok(Structure::DateTime(1, 2, zone)));
        }
        assert_eq!(read(utc, |out| out.date_time(local, 1, 2, 0)), Err(Refusal::Tag(0x46)));
        assert_eq!(read(local, |out| out.date_time_zone(utc, 1, 2, "UTC")), Err(Refusal::Tag(0x69)));
    }

    #[test]
    fn what_is_no_parameter_is_refused() {
        let id = Id { number: 3, element: "3" };
        let node = |out: &mut Encoder<'_>| {
            out.node(Version::ALL[0], id);
            out.list(0);
            out.map(0);
            out.element(Version::ALL[0], id);
        };
        assert_eq!(read(Moments::Utc, node), Err(Refusal::Kind("node")));
        let structure = |tag, fields| Structure::read(tag, fields, Version::ALL[0], Moments::Utc);
        assert_eq!(structure(0x44, vec![Value::Null]), Err(Refusal::Fields(0x44)));
        assert_eq!(structure(0x44, vec![]), Err(Refusal::Fields(0x44)));
        assert_eq!(structure(0x01, vec![]), Err(Refusal::Tag(1)));
        let point = vec![Value::Int(4326), Value::Float(1.5), Value::Float(2.5)];
        assert_eq!(structure(0x58, point.clone()), Ok(Structure::Point(4326, vec![1.5, 2.5])));
        assert_eq!(structure(0x59, point), Err(Refusal::Fields(0x59)));
        let vector =
            |kind, data: &[u8]| match structure(0x56, vec![Value::Bytes(vec![kind]), Value::Bytes(data.to_vec())])? {
                Structure::Vector(numbers) => {
                    let found: Vec<Value> = numbers.iter().collect();
                    assert_eq!((found.len(), found.is_empty()), (numbers.len(), numbers.is_empty()));
                    Ok(found)
                }
                other => panic!("{other:?}"),
            };
        let minus_two = i64::to_be_bytes(-2);
        for (kind, width) in [(0xC8, 1), (0xC9, 2), (0xCA, 4), (0xCB, 8)] {
            let data = [&1_i64.to_be_bytes()[8 - width..], &minus_two[8 - width..]].concat();
            assert_eq!(vector(kind, &data), Ok(vec![Value::Int(1), Value::Int(-2)]));
        }
        assert_eq!(vector(0xC6, &[0x3F, 0xC0, 0, 0]), Ok(vec![Value::Float(1.5)]));
        assert_eq!(vector(0xC1, &(-0.25_f64).to_be_bytes()), Ok(vec![Value::Float(-0.25)]));
        assert_eq!(vector(0xC8, &[]), Ok(vec![]));
        assert_eq!(vector(0xC9, &[0, 1, 2]), Err(Refusal::Fields(0x56)));
        assert_eq!(vector(0xC0, &[]), Err(Refusal::Fields(0x56)));
    }

    #[test]
    fn vectors_came_with_the_sixth_version() {
        let fields = || vec![Value::Bytes(vec![0xC8]), Value::Bytes(vec![7])];
        for version in Version::ALL {
            let found = Structure::read(0x56, fields(), *version, Moments::Utc);
            match found {
                Ok(Structure::Vector(numbers)) => assert_eq!((numbers.len(), version.major), (1, 6)),
                found => assert_eq!((found, version.major < 6), (Err(Refusal::Tag(0x56)), true), "{version}"),
            }
        }
    }

    #[test]
    fn entities_have_the_fields_of_their_version() {
        let ids = ["1", "2", "3"].map(|element| Id { number: element.parse().unwrap(), element });
        for (version, node_fields, edge_fields) in [("4.4", 3, 5), ("5.0", 4, 8), ("5.8", 4, 8)] {
            let version = Version::parse(version).unwrap();
            let mut out = Vec::new();
            let mut encoder = Encoder::new(&mut out);
            encoder.list(2);
            encoder.node(version, ids[0]);
            encoder.list(0);
            encoder.map(0);
            encoder.element(version, ids[0]);
            encoder.relationship(version, ids[0], ids[1], ids[2], "R");
            encoder.map(0);
            encoder.elements(version, ids[0], ids[1], ids[2]);
            let Ok(Value::List(items)) = decode(&out, Limits::default()) else { panic!("{out:X?}") };
            let lengths: Vec<usize> = items
                .iter()
                .map(|item| if let Value::Structure(_, fields) = item { fields.len() } else { 0 })
                .collect();
            assert_eq!(lengths, [node_fields, edge_fields], "{version}");
        }
    }
}
