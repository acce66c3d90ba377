//! Keys of edges: the ends, and a property or none, by which an edge is known again when an import is repeated.
//!
//! Cost: one pass over the edges that the store has of a type, and about a hundred bytes of memory for each edge, old and new.

use std::sync::{Mutex, PoisonError};

use model::batch::EdgeBatch;
use model::{Column, Expand, Interrupt, NodeBatch, NodeScan, ReadView, Result, Set, Value, error};
use sources::files::{BadRow, RowBatch};
use storage::bulk::OnDuplicate;

use super::ImportPlan;
use super::mapping::{EdgeMapping, Group};
use super::rows::pick;

/// Bytes that an edge takes here, about.
const EDGE_BYTES: usize = 120;

/// An edge by the keys of its ends and the value of its property.
type Known = [Value; 3];

/// The edges of one type among the nodes of two groups.
struct KnownEdges {
    edge_type: String,
    groups: [String; 2],
    property: Option<String>,
    seen: Mutex<Set<Known>>,
}

/// The edges that are known, of all types that have a key.
pub(super) struct EdgeKeys {
    known: Vec<KnownEdges>,
    edges_max: usize,
    on_duplicate: OnDuplicate,
}

/// Rows of edges without those that are known.
pub(super) struct Fresh {
    pub(super) batch: RowBatch,
    /// Rows that were passed over.
    pub(super) passed_over: u64,
    pub(super) bad: Vec<BadRow>,
}

impl EdgeKeys {
    /// Reads the edges that the store has, of the types whose keys the plan names.
    pub(super) fn read(
        plan: &ImportPlan,
        mappings: &[EdgeMapping],
        groups: &[Group],
        view: &dyn ReadView,
        interrupt: &Interrupt,
        memory_bytes: usize,
    ) -> Result<EdgeKeys> {
        if plan.on_duplicate == OnDuplicate::Update && !plan.edge_keys.is_empty() {
            return Err(error!(Unsupported, "an import does not update relationships that are there").with_remedy(
                "import the nodes with --on-duplicate update, then the relationships with --on-duplicate skip",
            ));
        }
        let edges_max = memory_bytes / 2 / EDGE_BYTES;
        let mut keys = EdgeKeys { known: Vec::new(), edges_max, on_duplicate: plan.on_duplicate };
        for (edge_type, property) in &plan.edge_keys {
            let of_type = |mapping: &&EdgeMapping| mapping.edge_type == *edge_type || mapping.type_column.is_some();
            let mut members = mappings.iter().filter(of_type).peekable();
            if members.peek().is_none() {
                return Err(error!(Argument, "--edge-key names the type '{edge_type}', which no file is given for")
                    .with_remedy("name a type of one of the files"));
            }
            for mapping in members {
                let names = [mapping.source_group.clone(), mapping.target_group.clone()];
                if keys.find(edge_type, mapping).is_some() {
                    continue;
                }
                let ends = [group(groups, &names[0])?, group(groups, &names[1])?];
                let seen = keys.stored(view, interrupt, edge_type, property.as_deref(), ends)?;
                let (edge_type, property, seen) = (edge_type.clone(), property.clone(), Mutex::new(seen));
                keys.known.push(KnownEdges { edge_type, groups: names, property, seen });
            }
        }
        Ok(keys)
    }

    fn find(&self, edge_type: &str, mapping: &EdgeMapping) -> Option<&KnownEdges> {
        let groups = [&mapping.source_group, &mapping.target_group];
        self.known.iter().find(|known| known.edge_type == edge_type && known.groups.each_ref() == groups)
    }

    fn stored(
        &self,
        view: &dyn ReadView,
        interrupt: &Interrupt,
        edge_type: &str,
        property: Option<&str>,
        [source, target]: [(&str, &str); 2],
    ) -> Result<Set<Known>> {
        let (schema, mut seen) = (view.schema(), Set::default());
        let end = |(label, key): (&str, &str)| schema.label(label).zip(schema.property_key(key));
        let (Some(edge_type), Some(source), Some(target)) = (schema.edge_type(edge_type), end(source), end(target))
        else {
            return Ok(seen);
        };
        let keys: Vec<_> = property.and_then(|name| schema.property_key(name)).into_iter().collect();
        let expand = Expand { types: Some(vec![edge_type]), keys: keys.clone(), ..Expand::default() };
        let mut cursor = view.scan(&NodeScan { labels: vec![source.0], ..NodeScan::default() })?;
        let (mut nodes, mut edges) = (NodeBatch::default(), EdgeBatch::default());
        while cursor.next(&mut nodes)? {
            let sources = view.node_properties(&nodes.nodes, &[source.1])?;
            let mut following = view.expand(&nodes.nodes, &expand)?;
            while following.next(&mut edges)? {
                interrupt.check()?;
                let targets = view.node_properties(&edges.neighbors, &[target.1])?;
                let is_target = view.has_label(&edges.neighbors, target.0)?;
                for row in (0..edges.inputs.len()).filter(|&row| is_target.get(row)) {
                    let value = edges.properties.first().map_or(Value::Null, |values| values.value(row));
                    seen.insert([sources[0].value(edges.inputs[row] as usize), targets[0].value(row), value]);
                }
                self.check_room(seen.len())?;
            }
        }
        Ok(seen)
    }

    fn check_room(&self, edges: usize) -> Result<()> {
        if edges <= self.edges_max {
            return Ok(());
        }
        Err(error!(Limit, "the keys of more than {} edges do not fit into the memory of the import", self.edges_max)
            .with_remedy("raise --memory-limit, or leave --edge-key out"))
    }

    /// Takes away what is known, and remembers the rest; `None` if edges of the type have no key.
    pub(super) fn fresh(
        &self,
        edge_type: &str,
        mapping: &EdgeMapping,
        batch: &RowBatch,
        ends: [&Column; 2],
    ) -> Result<Option<Fresh>> {
        let Some(known) = self.find(edge_type, mapping) else { return Ok(None) };
        let column = match &known.property {
            None => None,
            Some(name) => Some(mapping.properties.iter().find(|(_, held)| held == name).ok_or_else(|| {
                error!(Import, "the key '{name}' of edges of type {edge_type} is no column of the file")
                    .with_remedy("name a column with --edge-key, or leave it out")
            })?),
        };
        let (mut kept, mut passed_over, mut bad) = (Vec::new(), 0, Vec::new());
        let mut seen = known.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for row in 0..batch.len() {
            let value = column.map_or(Value::Null, |(index, _)| batch.columns[*index].value(row));
            let (source, target) = (ends[0].value(row), ends[1].value(row));
            let refused = |reason: String| BadRow {
                line: batch.lines[row],
                column: known.property.clone(),
                reason,
                text: batch.texts.get(row).unwrap_or_default(),
                remedy: Some("pass --on-duplicate skip for relationships that are there, or --skip-bad FILE".into()),
            };
            if column.is_some() && value.is_null() {
                bad.push(refused("the key of the edge is null".into()));
            } else if seen.insert([source.clone(), target.clone(), value]) {
                kept.push(row as u32);
            } else if self.on_duplicate == OnDuplicate::Error {
                bad.push(refused(format!(
                    "an edge of type {edge_type} with this key, from {source} to {target}, is there already"
                )));
            } else {
                passed_over += 1;
            }
        }
        self.check_room(seen.len())?;
        Ok(Some(Fresh { batch: pick(batch, &kept), passed_over, bad }))
    }
}

/// The label and the property that keep the keys of a group.
fn group<'g>(groups: &'g [Group], name: &str) -> Result<(&'g str, &'g str)> {
    let found = groups.iter().find(|group| group.name == name);
    found.and_then(|group| group.label.as_deref().zip(group.property.as_deref())).ok_or_else(|| {
        error!(Import, "--edge-key needs nodes that keep their keys, and those of group '{name}' do not")
            .with_remedy("give the column of the keys a name, as id:ID")
    })
}
