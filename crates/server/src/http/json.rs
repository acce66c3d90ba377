//! Values as JSON: plain, or each with the name of its type beside it.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bolt::packstream;
use database::{Entities, ResultBatch};
use model::store::ElementId;
use model::{Column, ColumnData, EdgeValue, NodeId, PathValue, Value};

/// The form of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    /// Numbers, texts, lists and objects alone.
    Plain,
    /// Objects of a type and a value.
    Typed,
}

/// Names of the parts of nodes and relationships.
struct Words {
    id: &'static str,
    labels: &'static str,
    source: &'static str,
    target: &'static str,
    kind: &'static str,
    properties: &'static str,
}

const PLAIN: Words = Words {
    id: "elementId",
    labels: "labels",
    source: "startNodeElementId",
    target: "endNodeElementId",
    kind: "type",
    properties: "properties",
};

const TYPED: Words = Words {
    id: "_element_id",
    labels: "_labels",
    source: "_start_node_element_id",
    target: "_end_node_element_id",
    kind: "_type",
    properties: "_properties",
};

/// Appends text in quotes.
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a vector takes all bytes");
}

/// Appends what is written as it is.
fn raw(out: &mut Vec<u8>, what: impl std::fmt::Display) {
    write!(out, "{what}").expect("a vector takes all bytes");
}

/// Appends items between brackets.
pub(crate) fn list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, mut each: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        each(out, item);
    }
    out.push(b']');
}

/// Appends an object.
pub(crate) fn object<'k, T>(
    out: &mut Vec<u8>,
    entries: impl Iterator<Item = (&'k str, T)>,
    mut each: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'{');
    for (at, (key, item)) in entries.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        text(out, key);
        out.push(b':');
        each(out, item);
    }
    out.push(b'}');
}

/// Appends a document of values as they are in messages: without structures.
pub(crate) fn document(out: &mut Vec<u8>, value: &bolt::Value) {
    match value {
        packstream::Value::Null | packstream::Value::Structure(..) => raw(out, "null"),
        packstream::Value::Bool(value) => raw(out, value),
        packstream::Value::Int(value) => raw(out, value),
        packstream::Value::Float(value) => Json::Plain.float(out, *value),
        packstream::Value::Bytes(bytes) => text(out, &STANDARD.encode(bytes)),
        packstream::Value::String(value) => text(out, value),
        packstream::Value::List(items) => list(out, items.iter(), document),
        packstream::Value::Map(entries) => {
            object(out, entries.iter().map(|(key, value)| (key.as_str(), value)), document);
        }
    }
}

/// The type of a value of time.
fn kind_of_time(value: &Value) -> &'static str {
    match value {
        Value::DateTime(moment) if moment.zone.name().is_some() => "ZonedDateTime",
        Value::DateTime(_) => "OffsetDateTime",
        other => match other.type_name() {
            "DATE" => "Date",
            "ZONED TIME" => "Time",
            "LOCAL TIME" => "LocalTime",
            "LOCAL DATETIME" => "LocalDateTime",
            "DURATION" => "Duration",
            _ => "Unsupported",
        },
    }
}

impl Json {
    fn words(self) -> &'static Words {
        match self {
            Json::Plain => &PLAIN,
            Json::Typed => &TYPED,
        }
    }

    /// Appends a row.
    pub(crate) fn row(self, out: &mut Vec<u8>, batch: &ResultBatch, row: usize) {
        list(out, batch.columns.iter(), |out, column| self.cell(out, column, row, &batch.entities));
    }

    fn cell(self, out: &mut Vec<u8>, column: &Column, row: usize, entities: &Entities) {
        match &column.data {
            _ if column.is_null(row) => self.value(out, &Value::Null, entities),
            ColumnData::Bool(rows) => self.of("Boolean", out, |out| raw(out, rows[row])),
            ColumnData::Int(rows) => self.int(out, rows[row]),
            ColumnData::Float(rows) => self.float(out, rows[row]),
            ColumnData::String(rows) => self.of("String", out, |out| text(out, rows.get(row))),
            _ => self.value(out, &column.value(row), entities),
        }
    }

    /// Appends a value of that type.
    fn of(self, kind: &str, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        if self == Json::Plain {
            return write(out);
        }
        raw(out, format_args!("{{\"$type\":\"{kind}\",\"_value\":"));
        write(out);
        out.push(b'}');
    }

    /// Appends a value whose text needs no escapes.
    fn quoted(self, kind: &str, out: &mut Vec<u8>, value: impl std::fmt::Display) {
        self.of(kind, out, |out| raw(out, format_args!("\"{value}\"")));
    }

    fn int(self, out: &mut Vec<u8>, value: i64) {
        match self {
            Json::Plain => raw(out, value),
            Json::Typed => self.quoted("Integer", out, value),
        }
    }

    /// Numbers that JSON has no place for are texts.
    fn float(self, out: &mut Vec<u8>, value: f64) {
        let name = match value {
            _ if value.is_nan() => Some("NaN"),
            f64::INFINITY => Some("Infinity"),
            f64::NEG_INFINITY => Some("-Infinity"),
            _ => None,
        };
        self.of("Float", out, |out| match (name, self) {
            (Some(name), _) => text(out, name),
            (None, Json::Plain) => serde_json::to_writer(out, &value).expect("a vector takes all bytes"),
            (None, Json::Typed) => raw(out, format_args!("\"{value:?}\"")),
        });
    }

    /// Appends a value.
    pub(crate) fn value(self, out: &mut Vec<u8>, value: &Value, entities: &Entities) {
        match value {
            Value::Null => self.of("Null", out, |out| raw(out, "null")),
            Value::Bool(value) => self.of("Boolean", out, |out| raw(out, value)),
            Value::Int(value) => self.int(out, *value),
            Value::Float(value) => self.float(out, *value),
            Value::String(value) => self.of("String", out, |out| text(out, value)),
            Value::Bytes(bytes) => self.quoted("Base64", out, STANDARD.encode(bytes)),
            Value::List(items) => {
                self.of("List", out, |out| list(out, items.iter(), |out, item| self.value(out, item, entities)));
            }
            Value::Map(map) => self.of("Map", out, |out| {
                object(out, map.iter().map(|(key, item)| (&**key, item)), |out, item| self.value(out, item, entities));
            }),
            Value::Node(node) => self.node(out, *node, entities),
            Value::Edge(edge) => self.edge(out, edge, entities),
            Value::Path(path) => self.path(out, path, entities),
            Value::Point(point) => self.quoted("Point", out, point.well_known_text()),
            time => self.quoted(kind_of_time(time), out, time),
        }
    }

    fn entry(out: &mut Vec<u8>, key: &str, value: impl std::fmt::Display) {
        raw(out, format_args!("\"{key}\":\"{value}\","));
    }

    fn properties(self, out: &mut Vec<u8>, held: &[(std::sync::Arc<str>, Value)], entities: &Entities) {
        raw(out, format_args!("\"{}\":", self.words().properties));
        object(out, held.iter().map(|(key, value)| (&**key, value)), |out, value| self.value(out, value, entities));
        out.push(b'}');
    }

    fn node(self, out: &mut Vec<u8>, node: NodeId, entities: &Entities) {
        let words = self.words();
        let record = entities.nodes.get(&node);
        self.of("Node", out, |out| {
            out.push(b'{');
            Json::entry(out, words.id, node.0);
            raw(out, format_args!("\"{}\":", words.labels));
            list(out, record.into_iter().flat_map(|record| &record.labels), |out, label| text(out, label));
            out.push(b',');
            self.properties(out, record.map_or(&[], |record| &record.properties), entities);
        });
    }

    fn edge(self, out: &mut Vec<u8>, edge: &EdgeValue, entities: &Entities) {
        let words = self.words();
        let record = entities.edges.get(&edge.id);
        self.of("Relationship", out, |out| {
            out.push(b'{');
            // Edges of results have their numbers as ids.
            Json::entry(out, words.id, ElementId::of(edge, edge.id.0));
            Json::entry(out, words.source, edge.source.0);
            Json::entry(out, words.target, edge.target.0);
            raw(out, format_args!("\"{}\":", words.kind));
            text(out, record.map_or("", |record| &record.edge_type));
            out.push(b',');
            self.properties(out, record.map_or(&[], |record| &record.properties), entities);
        });
    }

    /// Nodes and relationships in turn, as they are walked.
    fn path(self, out: &mut Vec<u8>, path: &PathValue, entities: &Entities) {
        self.of("Path", out, |out| {
            out.push(b'[');
            for (at, node) in path.nodes.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                    self.edge(out, &path.edges[at - 1], entities);
                    out.push(b',');
                }
                self.node(out, *node, entities);
            }
            out.push(b']');
        });
    }
}

#[cfg(test)]
mod tests {
    use database::Entities;
    use model::Value;
    use model::point::Point;

    use super::Json;

    fn of(json: Json, value: &Value) -> String {
        let mut out = Vec::new();
        json.value(&mut out, value, &Entities::default());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_and_texts_are_what_readers_take() {
        let cases = [
            (Value::Int(i64::MIN), "-9223372036854775808", r#"{"$type":"Integer","_value":"-9223372036854775808"}"#),
            (Value::Float(1.5), "1.5", r#"{"$type":"Float","_value":"1.5"}"#),
            (Value::Float(1.0), "1.0", r#"{"$type":"Float","_value":"1.0"}"#),
            (Value::Float(f64::NAN), r#""NaN""#, r#"{"$type":"Float","_value":"NaN"}"#),
            (Value::Float(f64::NEG_INFINITY), r#""-Infinity""#, r#"{"$type":"Float","_value":"-Infinity"}"#),
            (Value::string("a\"\n\u{1}ä"), r#""a\"\n\u0001ä""#, r#"{"$type":"String","_value":"a\"\n\u0001ä"}"#),
            (Value::Null, "null", r#"{"$type":"Null","_value":null}"#),
            (Value::Bytes([3, 111, 191].into()), r#""A2+/""#, r#"{"$type":"Base64","_value":"A2+/"}"#),
            (
                Point::parse("{longitude: 12.5, latitude: -55}").unwrap().into(),
                r#""SRID=4326;POINT (12.5 -55.0)""#,
                r#"{"$type":"Point","_value":"SRID=4326;POINT (12.5 -55.0)"}"#,
            ),
            (
                Value::list(vec![Value::Bool(true)]),
                "[true]",
                r#"{"$type":"List","_value":[{"$type":"Boolean","_value":true}]}"#,
            ),
        ];
        for (value, plain, typed) in cases {
            assert_eq!((of(Json::Plain, &value).as_str(), of(Json::Typed, &value).as_str()), (plain, typed));
        }
    }
}
