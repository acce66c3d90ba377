//! The contract of stores for databases with tables: all that it writes has a column.

use std::time::Duration;

use model::PropertyKind;
use serde_json::{Value as Json, json};
use sources::connect::connect;
use sources::definition::{GraphDefinition, Prefetch};
use testing::store_contract::{TABLES, check_store, check_store_without_savepoints};

use crate::world::store;

/// Words of a dialect: a key that the database numbers by itself, and the types of properties.
pub(crate) struct Words {
    pub(crate) key: &'static str,
    pub(crate) float: &'static str,
    pub(crate) text: &'static str,
    pub(crate) bytes: &'static str,
    pub(crate) prefetch: Prefetch,
    /// True if a transaction has points that it can be undone to.
    pub(crate) has_savepoints: bool,
}

/// Runs all checks of the contract on an empty database; `run` runs statements in it.
pub(crate) fn check(words: &Words, url: &str, run: &dyn Fn(&str)) {
    run(&statements(words));
    let tables = TABLES.edges.iter().map(edge_table).chain(TABLES.nodes.iter().map(|(labels, _)| node_table(labels)));
    let empty: String = tables.map(|table| format!("DELETE FROM {table};\n")).collect();
    let empty = format!("BEGIN;\n{empty}COMMIT;\n");
    let mut definition = definition();
    // Each view reads its own snapshot and nothing else.
    definition.cache.age_max = Duration::ZERO;
    definition.prefetch = words.prefetch.clone();
    let check = if words.has_savepoints { check_store } else { check_store_without_savepoints };
    check(&|| {
        run(&empty);
        Box::new(store(&definition, connect(url, &definition).unwrap()))
    });
}

fn node_table(labels: &[&str]) -> String {
    format!("n_{}", labels.join("_").to_lowercase())
}

fn edge_table((edge_type, source, target): &(&str, &str, &str)) -> String {
    format!("e_{edge_type}_{source}_{target}").to_lowercase()
}

fn statements(words: &Words) -> String {
    let columns = |properties: &[&str]| -> String {
        properties.iter().map(|name| format!(", {name} {}", word(words, TABLES.type_of(name)))).collect()
    };
    let mut text = String::new();
    for (labels, properties) in TABLES.nodes {
        text += &format!("CREATE TABLE {} (id {}{});\n", node_table(labels), words.key, columns(properties));
    }
    for edge in TABLES.edges {
        let [source, target] = [edge.1, edge.2].map(|label| node_table(&[label]));
        text += &format!(
            "CREATE TABLE {} (id {}, source BIGINT NOT NULL, target BIGINT NOT NULL{},
                FOREIGN KEY (source) REFERENCES {source} (id), FOREIGN KEY (target) REFERENCES {target} (id));\n",
            edge_table(edge),
            words.key,
            columns(TABLES.edge_properties)
        );
    }
    text
}

fn word(words: &Words, kind: Option<PropertyKind>) -> &'static str {
    match kind {
        Some(PropertyKind::Integer) => "BIGINT",
        Some(PropertyKind::Float) => words.float,
        Some(PropertyKind::Boolean) => "BOOLEAN",
        Some(PropertyKind::String) => words.text,
        None => words.bytes,
        other => panic!("no table has a column of {other:?}"),
    }
}

fn definition() -> GraphDefinition {
    let properties = |names: &[&str]| -> Vec<Json> {
        let property = |name: &&str| match TABLES.type_of(name) {
            Some(PropertyKind::Boolean) => json!({ "name": name, "type": "BOOLEAN" }),
            _ => json!(name),
        };
        names.iter().map(property).collect()
    };
    let node = |(labels, names): &(&[&str], &[&str])| {
        let name = node_table(labels);
        let kind = json!({ "labels": labels, "table": name, "show-key": false, "properties": properties(names) });
        (name, kind)
    };
    let edge = |edge: &(&str, &str, &str)| {
        let [source, target] = [edge.1, edge.2].map(|label| node_table(&[label]));
        let kind = json!({
            "type": edge.0, "table": edge_table(edge), "key": "id", "properties": properties(TABLES.edge_properties),
            "source": format!("{source}(source)"), "target": format!("{target}(target)"),
        });
        (edge_table(edge), kind)
    };
    let nodes: serde_json::Map<String, Json> = TABLES.nodes.iter().map(node).collect();
    let edges: serde_json::Map<String, Json> = TABLES.edges.iter().map(edge).collect();
    GraphDefinition::from_json(&json!({ "nodes": nodes, "edges": edges }).to_string()).unwrap()
}
