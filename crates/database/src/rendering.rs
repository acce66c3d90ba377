//! Single values as text and as JSON, with the nodes and edges that they name written out.

use model::Value;
use model::value::{EdgeValue, PathValue};
use serde_json::{Map, Value as Json, json};

use crate::result::{EdgeRecord, Entities, NodeRecord};

pub use sources::files::arrow_stream::ArrowStream;
pub use sources::files::csv_writer::push_record as push_csv_record;

/// A value as people read it: text without quotes, everything else as Cypher writes it.
pub fn text(value: &Value, entities: &Entities) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => literal(other, entities),
    }
}

/// A value as Cypher writes it.
fn literal(value: &Value, entities: &Entities) -> String {
    match value {
        Value::Node(node) => node_text(entities.nodes.get(node)),
        Value::Edge(edge) => format!("[{}]", edge_text(entities.edges.get(&edge.id))),
        Value::Path(path) => path_text(path, entities),
        Value::List(items) => {
            format!("[{}]", items.iter().map(|item| literal(item, entities)).collect::<Vec<_>>().join(", "))
        }
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| format!("{key}: {}", literal(value, entities)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn node_text(record: Option<&NodeRecord>) -> String {
    let Some(record) = record else {
        return "()".to_string();
    };
    let labels: String = record.labels.iter().map(|label| format!(":{label}")).collect();
    let properties = properties_text(&record.properties);
    let gap = if labels.is_empty() || properties.is_empty() { "" } else { " " };
    format!("({labels}{gap}{properties})")
}

fn edge_text(record: Option<&EdgeRecord>) -> String {
    let Some(record) = record else {
        return String::new();
    };
    let properties = properties_text(&record.properties);
    let gap = if properties.is_empty() { "" } else { " " };
    format!(":{}{gap}{properties}", record.edge_type)
}

fn properties_text(properties: &[(std::sync::Arc<str>, Value)]) -> String {
    if properties.is_empty() {
        return String::new();
    }
    let entries: Vec<String> = properties.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    format!("{{{}}}", entries.join(", "))
}

fn path_text(path: &PathValue, entities: &Entities) -> String {
    let mut text = String::new();
    for (index, node) in path.nodes.iter().enumerate() {
        if index > 0 {
            let edge = &path.edges[index - 1];
            let forward = edge.source == path.nodes[index - 1];
            let inner = edge_text(entities.edges.get(&edge.id));
            text += &if forward { format!("-[{inner}]->") } else { format!("<-[{inner}]-") };
        }
        text += &node_text(entities.nodes.get(node));
    }
    text
}

/// A value as JSON. NaN and infinities, which JSON lacks, become text.
pub fn to_json(value: &Value, entities: &Entities) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(x) => json!(x),
        Value::Int(x) => json!(x),
        Value::Float(x) if x.is_finite() => json!(x),
        Value::String(x) => json!(&**x),
        Value::List(items) => items.iter().map(|item| to_json(item, entities)).collect(),
        Value::Map(map) => {
            Json::Object(map.iter().map(|(key, value)| (key.to_string(), to_json(value, entities))).collect())
        }
        Value::Node(node) => node_json(*node, entities),
        Value::Edge(edge) => edge_json(edge, entities),
        Value::Path(path) => json!({
            "nodes": path.nodes.iter().map(|node| node_json(*node, entities)).collect::<Vec<_>>(),
            "edges": path.edges.iter().map(|edge| edge_json(edge, entities)).collect::<Vec<_>>(),
        }),
        other => json!(other.to_string()),
    }
}

fn node_json(node: model::NodeId, entities: &Entities) -> Json {
    let record = entities.nodes.get(&node).cloned().unwrap_or_default();
    let labels: Vec<&str> = record.labels.iter().map(|label| &**label).collect();
    json!({ "id": node.0, "labels": labels, "properties": properties_json(&record.properties, entities) })
}

fn edge_json(edge: &EdgeValue, entities: &Entities) -> Json {
    let record = entities.edges.get(&edge.id).cloned().unwrap_or_default();
    json!({
        "id": edge.id.0, "type": &*record.edge_type, "source": edge.source.0, "target": edge.target.0,
        "properties": properties_json(&record.properties, entities),
    })
}

fn properties_json(properties: &[(std::sync::Arc<str>, Value)], entities: &Entities) -> Json {
    let entries = properties.iter().map(|(key, value)| (key.to_string(), to_json(value, entities)));
    Json::Object(entries.collect::<Map<String, Json>>())
}
