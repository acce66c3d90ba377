//! Values in and out: those of Bolt, and those of JSON with their types, to those of the engine; and back to Bolt.

mod typed;

use std::sync::Arc;

use bolt::packstream::heap_bytes;
use bolt::structures::{Id, Moments, Structure, Zone};
use bolt::{Encoder, Version};
use database::{Entities, Parameters};
use model::point::{Crs, Point};
use model::store::ElementId;
use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, NANOS_OF_SECOND, Time, Zone as TimeZone};
use model::value::map_node_bytes;
use model::{Column, ColumnData, EdgeId, EdgeValue, FixedKind, Map, NodeId, PathValue, Result, Value, error};

/// Form of the values of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The version that is spoken.
    pub version: Version,
    /// Form of moments.
    pub moments: Moments,
    /// The other side is our own, and knows kinds of values that Bolt lacks.
    pub is_own: bool,
}

/// The parameters of a statement, and the memory that they take, which is at most `memory`.
pub(crate) fn parameters(map: Vec<(String, bolt::Value)>, form: Form, memory: usize) -> Result<(Parameters, usize)> {
    taken(map, Taking { form, is_typed: false, left: memory })
}

/// Parameters of which each value is an object of a type and a value, as [`parameters`] otherwise.
pub(crate) fn typed_parameters(
    map: Vec<(String, bolt::Value)>,
    form: Form,
    memory: usize,
) -> Result<(Parameters, usize)> {
    taken(map, Taking { form, is_typed: true, left: memory })
}

fn taken(map: Vec<(String, bolt::Value)>, mut taking: Taking) -> Result<(Parameters, usize)> {
    let memory = taking.left;
    let mut parameters = Parameters::default();
    for (name, value) in map {
        let value = taking.item(value).map_err(|failure| failure.within(&format!("parameter ${name}")))?;
        let name = taking.text(&name)?;
        parameters.insert(name, value);
    }
    Ok((parameters, memory - taking.left))
}

/// Bytes before the contents that are shared: two counts; and of lists and maps, what they say of themselves.
const COUNTS_BYTES: usize = 2 * size_of::<usize>();
const SHARED_BYTES: usize = COUNTS_BYTES + 4 * size_of::<usize>();

/// Makes values of the engine within a limit of memory.
struct Taking {
    form: Form,
    /// True if values are objects of a type and a value.
    is_typed: bool,
    left: usize,
}

impl Taking {
    /// An allocation of this size is about to be made.
    fn charge(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(heap_bytes(bytes)).ok_or_else(|| {
            error!(Limit, "the values of the parameters take more memory than one message may").with_remedy(
                "send them in several statements, or raise --message-limit; they may take sixteen times as much",
            )
        })?;
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<Arc<str>> {
        self.charge(COUNTS_BYTES + text.len())?;
        Ok(Arc::from(text))
    }

    fn list(&mut self, items: Vec<bolt::Value>) -> Result<Value> {
        self.charge(SHARED_BYTES)?;
        self.charge(items.len() * size_of::<Value>())?;
        let mut taken = Vec::with_capacity(items.len());
        for item in items {
            taken.push(self.item(item)?);
        }
        Ok(Value::list(taken))
    }

    fn map(&mut self, entries: Vec<(String, bolt::Value)>) -> Result<Value> {
        self.charge(SHARED_BYTES)?;
        self.charge(map_node_bytes(entries.len()))?;
        // The entries are put in order before the map is made of them.
        let ordering = entries.len() * size_of::<(Arc<str>, Value)>();
        self.charge(ordering)?;
        let mut taken = Vec::with_capacity(entries.len());
        for (key, item) in entries {
            taken.push((self.text(&key)?, self.item(item)?));
        }
        let map = Value::map(taken);
        self.left += heap_bytes(ordering);
        Ok(map)
    }

    fn item(&mut self, value: bolt::Value) -> Result<Value> {
        if self.is_typed { self.typed(value) } else { self.value(value) }
    }

    fn bytes(&mut self, bytes: Vec<u8>) -> Result<Value> {
        self.charge(COUNTS_BYTES + bytes.len())?;
        Ok(Value::Bytes(Arc::from(bytes)))
    }

    fn value(&mut self, value: bolt::Value) -> Result<Value> {
        Ok(match value {
            bolt::Value::Null => Value::Null,
            bolt::Value::Bool(value) => Value::Bool(value),
            bolt::Value::Int(value) => Value::Int(value),
            bolt::Value::Float(value) => Value::Float(value),
            bolt::Value::Bytes(bytes) => self.bytes(bytes)?,
            bolt::Value::String(text) => Value::String(self.text(&text)?),
            bolt::Value::List(items) => self.list(items)?,
            bolt::Value::Map(entries) => self.map(entries)?,
            bolt::Value::Structure(tag, fields) => {
                let form = self.form;
                let structure = Structure::read(tag, fields, form.version, form.moments);
                self.structure(structure.map_err(|refusal| error!(Type, "{refusal}"))?)?
            }
        })
    }

    fn structure(&mut self, structure: Structure) -> Result<Value> {
        match structure {
            Structure::Vector(numbers) => {
                self.charge(SHARED_BYTES)?;
                self.charge(numbers.len() * size_of::<Value>())?;
                let mut taken = Vec::with_capacity(numbers.len());
                for number in numbers.iter() {
                    taken.push(self.value(number)?);
                }
                Ok(Value::list(taken))
            }
            other => of_structure(&other, self.form.moments),
        }
    }
}

/// The value of time, or point, that a structure stands for.
///
/// # Errors
/// Fails if it lies outside the range of its type, or stands for something else.
pub fn of_structure(structure: &Structure, moments: Moments) -> Result<Value> {
    let value = match *structure {
        Structure::Date(days) => Some(Date(days)).filter(|date| date.is_valid()).map(Value::Date),
        Structure::LocalTime(nanos) => Some(LocalTime(nanos)).filter(|time| time.is_valid()).map(Value::LocalTime),
        Structure::Time(nanos, offset) => {
            let time = i32::try_from(offset).ok().map(|offset| Time { local: LocalTime(nanos), offset });
            time.filter(|time| time.is_valid()).map(Value::Time)
        }
        Structure::LocalDateTime(seconds, nanos) => local(seconds, nanos).map(Value::LocalDateTime),
        Structure::DateTime(seconds, nanos, ref zone) => return moment(seconds, nanos, zone, moments),
        Structure::Duration(months, days, seconds, nanos) => {
            let carry = nanos.div_euclid(NANOS_OF_SECOND);
            let nanosecond = nanos.rem_euclid(NANOS_OF_SECOND) as u32;
            let seconds = seconds.checked_add(carry);
            seconds.map(|seconds| Value::Duration(Duration { months, days, seconds, nanosecond }))
        }
        Structure::Other(ref kind, ref text) => FixedKind::of_field(kind).and_then(|kind| kind.parse(text)),
        Structure::Point(system, ref coordinates) => {
            return Point::new(Crs::of_srid(system)?, coordinates).map(Value::Point);
        }
        Structure::Vector(_) => None,
    };
    value.ok_or_else(out_of_range)
}

/// The value of time, or point, of that type that a text stands for; `None` if it is none, or the type is another.
fn of_text(kind: &str, text: &str) -> Option<Value> {
    match kind {
        "Date" => Date::parse(text).map(Value::Date),
        "Time" => Time::parse(text).map(Value::Time),
        "LocalTime" => LocalTime::parse(text).map(Value::LocalTime),
        "LocalDateTime" => LocalDateTime::parse(text).map(Value::LocalDateTime),
        "OffsetDateTime" | "ZonedDateTime" => DateTime::parse(text).map(Value::DateTime),
        "Duration" => Duration::parse(text).map(Value::Duration),
        "Point" => Point::parse(text).map(Value::Point),
        _ => None,
    }
}

fn out_of_range() -> model::Error {
    error!(Argument, "a value of time lies outside the range of its type")
        .with_remedy("pass one that functions such as date() can make")
}

fn local(seconds: i64, nanos: i64) -> Option<LocalDateTime> {
    let nanosecond = u32::try_from(nanos).ok()?;
    Some(LocalDateTime { seconds, nanosecond }).filter(|local| local.is_valid())
}

fn moment(seconds: i64, nanos: i64, zone: &Zone, form: Moments) -> Result<Value> {
    let zone = match zone {
        Zone::Offset(seconds) => {
            let offset = i32::try_from(*seconds).ok().and_then(TimeZone::of_offset);
            offset.ok_or_else(|| {
                error!(Argument, "there is no time zone {seconds} seconds from UTC")
                    .with_remedy("pass an offset of at most 18 hours")
            })?
        }
        Zone::Named(name) => TimeZone::of_name(name).ok_or_else(|| {
            error!(Argument, "there is no time zone of the name {name:?}")
                .with_remedy("pass a name of the IANA database, or an offset")
        })?,
    };
    let moment = match form {
        Moments::Utc => {
            let nanosecond = u32::try_from(nanos).map_err(|_| out_of_range())?;
            Some(DateTime { seconds, nanosecond, zone }).filter(|moment| moment.is_valid())
        }
        Moments::Local => local(seconds, nanos).and_then(|local| DateTime::of_local(local, zone, None)),
    };
    moment.map(Value::DateTime).ok_or_else(out_of_range)
}

/// Writes the value of a row of a column.
pub(crate) fn cell(out: &mut Encoder<'_>, column: &Column, row: usize, entities: &Entities, form: Form) {
    if column.is_null(row) {
        return out.null();
    }
    match &column.data {
        ColumnData::Bool(rows) => out.bool(rows[row]),
        ColumnData::Int(rows) => out.int(rows[row]),
        ColumnData::Float(rows) => out.float(rows[row]),
        ColumnData::String(rows) => out.string(rows.get(row)),
        _ => value_out(out, &column.value(row), entities, form),
    }
}

/// Writes a value.
pub fn value_out(out: &mut Encoder<'_>, value: &Value, entities: &Entities, form: Form) {
    match value {
        Value::Null => out.null(),
        Value::Bool(value) => out.bool(*value),
        Value::Int(value) => out.int(*value),
        Value::Float(value) => out.float(*value),
        Value::String(text) => out.string(text),
        Value::Bytes(bytes) => out.bytes(bytes),
        Value::List(items) => {
            out.list(items.len());
            items.iter().for_each(|item| value_out(out, item, entities, form));
        }
        Value::Map(map) => {
            out.map(map.len());
            for (key, item) in map.iter() {
                out.string(key);
                value_out(out, item, entities, form);
            }
        }
        Value::Date(date) => out.date(date.0),
        Value::LocalTime(time) => out.local_time(time.0),
        Value::Time(time) => out.time(time.local.0, i64::from(time.offset)),
        Value::LocalDateTime(moment) => out.local_date_time(moment.seconds, i64::from(moment.nanosecond)),
        Value::DateTime(moment) => moment_out(out, *moment, form.moments),
        Value::Duration(held) => {
            out.duration(held.months, held.days, held.seconds, i64::from(held.nanosecond));
        }
        Value::Point(point) => out.point(i64::from(point.srid()), point.coordinates()),
        Value::Node(node) => node_out(out, *node, entities, form),
        Value::Edge(edge) => edge_out(out, edge, entities, form),
        Value::Path(path) => path_out(out, path, entities, form),
        // A kind that Bolt lacks travels as its text, with its name where that is understood.
        other => match FixedKind::of_value(other).and_then(FixedKind::field) {
            Some(kind) if form.is_own => out.other(kind, &other.to_string()),
            _ => out.string(&other.to_string()),
        },
    }
}

fn moment_out(out: &mut Encoder<'_>, moment: DateTime, moments: Moments) {
    let seconds = match moments {
        Moments::Utc => moment.seconds,
        Moments::Local => moment.local().seconds,
    };
    let nanos = i64::from(moment.nanosecond);
    match moment.zone.name() {
        Some(name) => out.date_time_zone(moments, seconds, nanos, name),
        None => out.date_time(moments, seconds, nanos, i64::from(moment.offset())),
    }
}

/// The number of an id. Drivers take none that is negative; those of attached sources may have the highest bit set, which is
/// left out. The element id has it.
fn number(id: u64) -> i64 {
    (id & i64::MAX as u64) as i64
}

fn node_out(out: &mut Encoder<'_>, node: NodeId, entities: &Entities, form: Form) {
    let element = node.0.to_string();
    let id = Id { number: number(node.0), element: &element };
    out.node(form.version, id);
    match entities.nodes.get(&node) {
        Some(record) => {
            out.list(record.labels.len());
            record.labels.iter().for_each(|label| out.string(label));
            properties(out, &record.properties, entities, form);
        }
        None => {
            out.list(0);
            out.map(0);
        }
    }
    out.element(form.version, id);
}

fn properties(out: &mut Encoder<'_>, held: &[(Arc<str>, Value)], entities: &Entities, form: Form) {
    out.map(held.len());
    for (key, value) in held {
        out.string(key);
        value_out(out, value, entities, form);
    }
}

fn edge_out(out: &mut Encoder<'_>, edge: &EdgeValue, entities: &Entities, form: Form) {
    // Edges of results have their numbers as ids.
    let texts = [ElementId::of(edge, edge.id.0).to_string(), edge.source.0.to_string(), edge.target.0.to_string()];
    let numbers = [edge.id.0, edge.source.0, edge.target.0];
    let [id, source, target] = std::array::from_fn(|at| Id { number: number(numbers[at]), element: &texts[at] });
    let record = entities.edges.get(&edge.id);
    out.relationship(form.version, id, source, target, record.map_or("", |record| &record.edge_type));
    properties(out, record.map_or(&[], |record| &record.properties), entities, form);
    out.elements(form.version, id, source, target);
}

fn path_out(out: &mut Encoder<'_>, path: &PathValue, entities: &Entities, form: Form) {
    let (mut nodes, mut node_places): (Vec<NodeId>, Map<NodeId, i64>) = Default::default();
    for node in &path.nodes {
        node_places.entry(*node).or_insert_with(|| {
            nodes.push(*node);
            nodes.len() as i64 - 1
        });
    }
    let (mut edges, mut edge_places): (Vec<&EdgeValue>, Map<EdgeId, i64>) = Default::default();
    for edge in &path.edges {
        edge_places.entry(edge.id).or_insert_with(|| {
            edges.push(edge);
            edges.len() as i64
        });
    }
    out.path();
    out.list(nodes.len());
    nodes.iter().for_each(|node| node_out(out, *node, entities, form));
    out.list(edges.len());
    for edge in edges {
        let text = ElementId::of(edge, edge.id.0).to_string();
        let id = Id { number: number(edge.id.0), element: &text };
        let record = entities.edges.get(&edge.id);
        out.unbound_relationship(form.version, id, record.map_or("", |record| &record.edge_type));
        properties(out, record.map_or(&[], |record| &record.properties), entities, form);
        out.element(form.version, id);
    }
    out.list(path.edges.len() * 2);
    for (edge, step) in path.edges.iter().zip(path.nodes.windows(2)) {
        let place = edge_places[&edge.id];
        out.int(if edge.source == step[0] { place } else { -place });
        out.int(node_places[&step[1]]);
    }
}
