//! Answers as text that depends on nothing but the graph: no ids, labels and properties in order of their names.

use database::{Counters, Entities, Value};
use model::value::PathValue;

/// The answer of a statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) counters: Counters,
    pub(crate) plan: Option<String>,
}

impl Answer {
    /// The form of golden files: a table, then what was changed; or a plan.
    pub(crate) fn render(&self) -> String {
        if let Some(plan) = &self.plan {
            return without_time(plan);
        }
        let mut text = String::new();
        if !self.columns.is_empty() {
            let width = |column: usize| {
                let cells = self.rows.iter().map(|row| &row[column]).chain([&self.columns[column]]);
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            };
            let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
            for row in std::iter::once(&self.columns).chain(&self.rows) {
                let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
                text += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
            }
        }
        let changes = counters_text(&self.counters);
        if changes.is_empty() && text.is_empty() { "nothing".into() } else { text + &changes }
    }

    /// The rows as a set that can be compared.
    pub(crate) fn sorted_rows(&self) -> Vec<Vec<String>> {
        let mut rows = self.rows.clone();
        rows.sort();
        rows
    }
}

/// A plan without its estimated time, which depends on the statements that ran before. That no time can be told stays.
pub(crate) fn without_time(plan: &str) -> String {
    let is_told = |line: &&str| !line.starts_with("estimated time: ") || line.starts_with("estimated time: unknown");
    plan.lines().filter(is_told).collect::<Vec<_>>().join("\n")
}

fn counters_text(counters: &Counters) -> String {
    let counted = [
        (counters.nodes_created, "node", "created"),
        (counters.nodes_deleted, "node", "deleted"),
        (counters.edges_created, "edge", "created"),
        (counters.edges_deleted, "edge", "deleted"),
        (counters.properties_set, "property", "set"),
        (counters.labels_added, "label", "added"),
        (counters.labels_removed, "label", "removed"),
        (counters.sort_keys_added, "sort key", "added"),
        (counters.sort_keys_removed, "sort key", "dropped"),
        (counters.constraints_added, "constraint", "added"),
        (counters.constraints_removed, "constraint", "dropped"),
        (counters.indexes_added, "index", "added"),
        (counters.indexes_removed, "index", "dropped"),
    ];
    let plural = |count: u64, noun: &str| match (count, noun) {
        (1, _) => noun.to_string(),
        (_, "property") => "properties".to_string(),
        _ => format!("{noun}s"),
    };
    let parts = counted.iter().filter(|(count, ..)| *count > 0);
    parts.map(|(count, noun, verb)| format!("{count} {} {verb}", plural(*count, noun))).collect::<Vec<_>>().join(", ")
}

/// A value as Cypher writes it, with the nodes and edges that it names written out.
pub(crate) fn render(value: &Value, entities: &Entities) -> String {
    let join = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Node(node) => match entities.nodes.get(node) {
            Some(record) => {
                let mut labels: Vec<String> = record.labels.iter().map(|label| format!(":{label}")).collect();
                labels.sort();
                format!("({})", with_properties(&labels.concat(), &record.properties))
            }
            None => "(unknown)".into(),
        },
        Value::Edge(edge) => match entities.edges.get(&edge.id) {
            Some(record) => format!("[{}]", with_properties(&format!(":{}", record.edge_type), &record.properties)),
            None => "[unknown]".into(),
        },
        Value::Path(path) => render_path(path, entities),
        Value::List(items) => format!("[{}]", join(items.iter().map(|item| render(item, entities)).collect())),
        Value::Map(map) => {
            format!(
                "{{{}}}",
                join(map.iter().map(|(key, item)| format!("{key}: {}", render(item, entities))).collect())
            )
        }
        other => other.to_string(),
    }
}

fn render_path(path: &PathValue, entities: &Entities) -> String {
    let mut text = render(&Value::Node(path.nodes[0]), entities);
    for (index, edge) in path.edges.iter().enumerate() {
        let (left, right) = if edge.source == path.nodes[index] { ("-", "->") } else { ("<-", "-") };
        let end = render(&Value::Node(path.nodes[index + 1]), entities);
        text += &format!("{left}{}{right}{end}", render(&Value::Edge(*edge), entities));
    }
    format!("<{text}>")
}

fn with_properties(name: &str, properties: &[(std::sync::Arc<str>, Value)]) -> String {
    let mut entries: Vec<String> = properties.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    entries.sort();
    match (name.is_empty(), entries.is_empty()) {
        (_, true) => name.to_string(),
        (true, false) => format!("{{{}}}", entries.join(", ")),
        (false, false) => format!("{name} {{{}}}", entries.join(", ")),
    }
}
