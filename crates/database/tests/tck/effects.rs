//! Changes made by a query: the graph before it compared with the graph after it.

use std::collections::{BTreeMap, BTreeSet};

use database::{Parameters, Value};

use crate::notation::{ListOrder, Notation};
use crate::run::Query;

/// Everything that is in a graph, as sets that can be compared.
#[derive(Default)]
pub(crate) struct Snapshot {
    nodes: BTreeSet<u64>,
    edges: BTreeSet<u64>,
    labels: BTreeSet<String>,
    properties: BTreeSet<String>,
}

impl Snapshot {
    /// Reads the whole graph.
    pub(crate) fn read(run: &mut Query) -> Result<Snapshot, String> {
        let mut snapshot = Snapshot::default();
        for query in ["MATCH (n) RETURN n", "MATCH ()-[r]->() RETURN r"] {
            let found = run(query, &Parameters::default());
            let found = found.map_err(|error| format!("{query} failed: {error:?}"))?;
            let entities = found.entities();
            for row in found.rows() {
                let (owner, properties) = match &row[0] {
                    Value::Node(id) => {
                        let record = &entities.nodes[id];
                        snapshot.nodes.insert(id.0);
                        snapshot.labels.extend(record.labels.iter().map(|label| label.to_string()));
                        (format!("node {}", id.0), &record.properties)
                    }
                    Value::Edge(edge) => {
                        snapshot.edges.insert(edge.id.0);
                        (format!("edge {}", edge.id.0), &entities.edges[&edge.id].properties)
                    }
                    other => return Err(format!("{query} gave {other}")),
                };
                for (key, value) in properties {
                    let value = Notation::of(value, &entities).canonical(ListOrder::Kept);
                    snapshot.properties.insert(format!("{owner} {key} {value}"));
                }
            }
        }
        Ok(snapshot)
    }

    /// Counts of what is in the graph after that was not in this one, and the reverse, in the kit's words; none that is
    /// zero.
    pub(crate) fn changes_to(&self, after: &Snapshot) -> BTreeMap<String, i64> {
        let mut changes = BTreeMap::new();
        let mut count = |name: &str, added: usize, removed: usize| {
            changes.insert(format!("+{name}"), added as i64);
            changes.insert(format!("-{name}"), removed as i64);
        };
        count("nodes", new(&self.nodes, &after.nodes), new(&after.nodes, &self.nodes));
        count("relationships", new(&self.edges, &after.edges), new(&after.edges, &self.edges));
        count("labels", new(&self.labels, &after.labels), new(&after.labels, &self.labels));
        count("properties", new(&self.properties, &after.properties), new(&after.properties, &self.properties));
        changes.retain(|_, count| *count > 0);
        changes
    }
}

fn new<T: Ord>(before: &BTreeSet<T>, after: &BTreeSet<T>) -> usize {
    after.difference(before).count()
}

/// The changes that a scenario's table asks for.
pub(crate) fn expected(table: &[Vec<String>]) -> Result<BTreeMap<String, i64>, String> {
    let mut changes = BTreeMap::new();
    for row in table {
        let [name, count] = row.as_slice() else { return Err(format!("no side effect: {row:?}")) };
        let known = ["nodes", "relationships", "labels", "properties"];
        if !known.iter().any(|known| name.strip_prefix(['+', '-']) == Some(known)) {
            return Err(format!("unknown side effect {name}"));
        }
        changes.insert(name.clone(), count.parse().map_err(|_| format!("no number: {count}"))?);
    }
    changes.retain(|_, count| *count != 0);
    Ok(changes)
}
