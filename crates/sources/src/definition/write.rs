//! Writes a definition as JSON, in the short forms where there are such.

use std::time::Duration;

use super::json::Json;
use super::{CacheSettings, EdgeKind, End, EndNode, GraphDefinition, NodeKind, Prefetch, Property, Rows, Structure};

pub(super) fn definition(of: &GraphDefinition) -> String {
    let mut top = Vec::new();
    top.extend(of.url.as_ref().map(|url| entry("url", text(url))));
    let nodes = of.nodes.iter().map(|kind| (kind.name.to_string(), node(kind))).collect();
    top.push(entry("nodes", Json::Object(nodes)));
    let edges = of.edges.iter().map(|kind| (kind.name.to_string(), edge(of, kind))).collect();
    top.push(entry("edges", Json::Object(edges)));
    top.extend(prefetch(&of.prefetch).map(|json| entry("prefetch", json)));
    top.extend(cache(of.cache).map(|json| entry("cache", json)));
    Json::Object(top).print()
}

fn node(kind: &NodeKind) -> Json {
    let mut entries = Vec::new();
    match &kind.labels[..] {
        [label] if *label == kind.name => {}
        [label] => entries.push(entry("label", text(label))),
        labels => entries.push(entry("labels", Json::List(labels.iter().map(|label| text(label)).collect()))),
    }
    rows(&kind.rows, &mut entries);
    entries.push(entry("key", texts(&kind.key)));
    let is_shown = |column: &String| {
        kind.properties.iter().any(|property| property.column == *column || *property.name == **column)
    };
    if !kind.key.iter().all(is_shown) {
        entries.push(entry("show-key", Json::Bool(false)));
    }
    properties(&kind.properties, &mut entries);
    Json::Object(entries)
}

fn edge(of: &GraphDefinition, kind: &EdgeKind) -> Json {
    let mut entries = Vec::new();
    if kind.edge_type != kind.name {
        entries.push(entry("type", text(&kind.edge_type)));
    }
    rows(&kind.rows, &mut entries);
    entries.push(entry("source", end(of, kind, &kind.source)));
    entries.push(entry("target", end(of, kind, &kind.target)));
    if !kind.key.is_empty() {
        entries.push(entry("key", texts(&kind.key)));
    }
    properties(&kind.properties, &mut entries);
    Json::Object(entries)
}

fn rows(rows: &Rows, entries: &mut Vec<(String, Json)>) {
    let mut optional = |key: &str, value: &Option<String>| {
        entries.extend(value.as_ref().map(|value| entry(key, text(value))));
    };
    match rows {
        Rows::Table { schema, name } => {
            optional("schema", schema);
            entries.push(entry("table", text(name)));
        }
        Rows::Query(sql) => entries.push(entry("sql", text(sql))),
        Rows::ByKey { sql, reverse, scan } => {
            optional("sql", &Some(sql.clone()));
            optional("reverse", reverse);
            optional("scan", scan);
        }
        Rows::Keys(pattern) => {
            optional("keys", &Some(pattern.pattern.clone()));
            optional("structure", &Some(structure(pattern.structure).to_owned()));
            optional("score", &pattern.score);
            optional("reverse-keys", &pattern.reverse);
            optional("edge-hash", &pattern.edge_hash);
        }
        Rows::File { path } => entries.push(entry("file", text(&path.to_string_lossy()))),
    }
}

fn structure(of: Structure) -> &'static str {
    match of {
        Structure::Hash => "hash",
        Structure::Flat => "flat",
        Structure::Set => "set",
        Structure::List => "list",
        Structure::SortedSet => "sorted-set",
        Structure::Any => "any",
    }
}

/// An end: the kind alone where its columns are its own key in its own rows, `Kind(column)` where that can be read back.
fn end(of: &GraphDefinition, edge: &EdgeKind, end: &End) -> Json {
    let node = match &end.node {
        EndNode::Kind(number) => {
            let kind = &of.nodes[*number];
            let is_own = kind.rows == edge.rows || matches!(edge.rows, Rows::Keys(_));
            if is_own && end.columns == kind.key && !end.is_array && is_plain(&kind.name) {
                return text(&kind.name);
            }
            if is_plain(&kind.name) && end.columns.iter().all(|column| is_plain(column)) {
                let array = if end.is_array { "[]" } else { "" };
                return Json::Text(format!("{}({}{array})", kind.name, end.columns.join(", ")));
            }
            vec![entry("node", text(&kind.name))]
        }
        EndNode::Foreign { label, property } => {
            vec![entry("label", text(label)), entry("property", text(property))]
        }
    };
    let mut entries = node;
    entries.push(entry("columns", texts(&end.columns)));
    if end.is_array {
        entries.push(entry("array", Json::Bool(true)));
    }
    Json::Object(entries)
}

/// True if a name can stand in the short form of an end.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['(', ')', '[', ']', ',']) && name.trim() == name
}

fn properties(of: &[Property], entries: &mut Vec<(String, Json)>) {
    let property = |property: &Property| {
        let is_same = *property.name == *property.column;
        if is_same && property.kind.is_none() {
            return text(&property.name);
        }
        let mut entries = vec![entry("name", text(&property.name))];
        if !is_same {
            entries.push(entry("column", text(&property.column)));
        }
        entries.extend(property.kind.map(|kind| entry("type", text(kind.name()))));
        Json::Object(entries)
    };
    if !of.is_empty() {
        entries.push(entry("properties", Json::List(of.iter().map(property).collect())));
    }
}

fn prefetch(of: &Prefetch) -> Option<Json> {
    let one = |key: &str, value: Json| Some(Json::Object(vec![entry(key, value)]));
    match of {
        Prefetch::Adaptive => None,
        Prefetch::None => Some(text("none")),
        Prefetch::Lookahead(depth) => one("lookahead", Json::Integer(i64::from(*depth))),
        Prefetch::Block { properties, size } if properties.is_empty() => one("block", Json::Number(*size)),
        Prefetch::Block { properties, size } => {
            let properties = Json::List(properties.iter().map(|name| text(name)).collect());
            one("block", Json::Object(vec![entry("properties", properties), entry("size", Json::Number(*size))]))
        }
    }
}

fn cache(of: CacheSettings) -> Option<Json> {
    let usual = CacheSettings::default();
    let mut entries = Vec::new();
    if of.bytes_max != usual.bytes_max {
        entries.push(entry("bytes", Json::Integer(i64::try_from(of.bytes_max).unwrap_or(i64::MAX))));
    }
    if of.age_max != usual.age_max {
        entries.push(entry("max-age", seconds(of.age_max)));
    }
    (!entries.is_empty()).then_some(Json::Object(entries))
}

fn seconds(time: Duration) -> Json {
    if time.subsec_nanos() == 0 { Json::Integer(time.as_secs() as i64) } else { Json::Number(time.as_secs_f64()) }
}

fn entry(key: &str, value: Json) -> (String, Json) {
    (key.to_owned(), value)
}

fn text(of: &str) -> Json {
    Json::Text(of.to_owned())
}

/// One string, or a list of several.
fn texts(of: &[String]) -> Json {
    match of {
        [one] => text(one),
        several => Json::List(several.iter().map(|one| text(one)).collect()),
    }
}
