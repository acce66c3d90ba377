//! Names and rules of a source as the graph has them, that of a graph which is empty being able to have some already.

use std::sync::Arc;

use model::schema::Names as NameList;
use model::{
    Constraint, EdgeTypeId, Index, LabelId, Map, PropertyKeyId, Result, Rule, Schema, SortKey, Statistics, Subject,
    Value,
};

use crate::rows::Properties;
use crate::state::{Counts, Delta, NameKind, NewName, NumberedIndex, State, indexes_of, rules_of};

/// The names of a source by the numbers that they have in the graph.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) labels: Vec<LabelId>,
    types: Vec<EdgeTypeId>,
    keys: Vec<PropertyKeyId>,
    /// The schema behind the load.
    pub(super) schema: Schema,
    numbers: Map<Arc<str>, u32>,
    /// The first number of an index that is not used.
    pub(super) next_index: u32,
    pub(super) indexes: Vec<NumberedIndex>,
}

fn interned(of: &NameList, into: &mut NameList) -> Vec<u32> {
    of.iter().map(|name| into.intern(name)).collect()
}

impl Names {
    /// The names and rules of a source besides those that the graph has.
    pub(super) fn new(source: &Schema, state: &State) -> Result<Names> {
        let mut schema = Schema::clone(&state.schema);
        let mut names = Names {
            labels: interned(&source.labels, &mut schema.labels).into_iter().map(LabelId).collect(),
            types: interned(&source.edge_types, &mut schema.edge_types).into_iter().map(EdgeTypeId).collect(),
            keys: interned(&source.property_keys, &mut schema.property_keys).into_iter().map(PropertyKeyId).collect(),
            schema: Schema::default(),
            numbers: Map::clone(&state.indexes),
            next_index: state.next_index,
            indexes: Vec::new(),
        };
        for constraint in &source.constraints {
            if schema.constraints.iter().all(|held| held.name != constraint.name) {
                let constraint = names.constraint(constraint);
                if constraint.is_unique() {
                    names.number(&constraint.name);
                }
                schema.constraints.push(constraint);
            }
        }
        for index in &source.indexes {
            if schema.indexes.iter().all(|held| held.name != index.name) {
                names.number(&index.name);
                let Index { name, subject, keys } = index;
                let (subject, keys) = (names.subject(*subject), names.all_keys(keys));
                schema.indexes.push(Index { name: name.clone(), subject, keys });
            }
        }
        for SortKey { edge_type, keys } in &source.sort_keys {
            let edge_type = names.edge_type(*edge_type);
            if schema.sort_keys.iter().all(|held| held.edge_type != edge_type) {
                schema.sort_keys.push(SortKey { edge_type, keys: names.all_keys(keys) });
            }
        }
        names.indexes = indexes_of(&schema, &names.numbers);
        names.schema = schema;
        Ok(names)
    }

    fn number(&mut self, name: &Arc<str>) {
        if !self.numbers.contains_key(name) {
            self.numbers.insert(name.clone(), self.next_index);
            self.next_index += 1;
        }
    }

    pub(super) fn label(&self, label: LabelId) -> LabelId {
        self.labels[label.index()]
    }

    pub(super) fn edge_type(&self, edge_type: EdgeTypeId) -> EdgeTypeId {
        self.types[edge_type.index()]
    }

    fn all_keys(&self, keys: &[PropertyKeyId]) -> Vec<PropertyKeyId> {
        keys.iter().map(|key| self.keys[key.index()]).collect()
    }

    fn subject(&self, subject: Subject) -> Subject {
        match subject {
            Subject::Label(label) => Subject::Label(self.label(label)),
            Subject::EdgeType(edge_type) => Subject::EdgeType(self.edge_type(edge_type)),
        }
    }

    fn constraint(&self, of: &Constraint) -> Constraint {
        let rule = match of.rule {
            Rule::Ends { from, to } => Rule::Ends { from: self.label(from), to: self.label(to) },
            other => other,
        };
        Constraint { name: of.name.clone(), subject: self.subject(of.subject), keys: self.all_keys(&of.keys), rule }
    }

    /// Properties of the source in the order that the graph has them.
    pub(super) fn properties(&self, of: impl Iterator<Item = (PropertyKeyId, Value)>) -> Properties {
        let mut properties: Properties = of.map(|(key, value)| (self.keys[key.index()], value)).collect();
        properties.sort_unstable_by_key(|(key, _)| *key);
        properties
    }

    /// The change of the state that shows a source with these counts.
    pub(super) fn delta(&self, counts: &Statistics, state: &State) -> Delta {
        let mut names = Vec::new();
        for kind in NameKind::ALL {
            let first = kind.of(&state.schema).len();
            let new = kind.of(&self.schema).iter().enumerate().skip(first);
            names.extend(new.map(|(number, name)| NewName { kind, number: number as u32, name: name.clone() }));
        }
        let mut labels: Vec<(LabelId, i64)> =
            counts.nodes_by_label.iter().map(|(label, count)| (self.label(*label), *count as i64)).collect();
        let mut types: Vec<(EdgeTypeId, i64)> =
            counts.edges_by_type.iter().map(|(of, count)| (self.edge_type(*of), *count as i64)).collect();
        labels.retain(|(_, count)| *count != 0);
        types.retain(|(_, count)| *count != 0);
        labels.sort_unstable();
        types.sort_unstable();
        Delta {
            names,
            rules: Some(rules_of(&self.schema, &self.numbers, self.next_index)),
            counts: Counts { nodes: counts.nodes as i64, edges: counts.edges as i64, labels, types },
            has_data: true,
            has_edges: counts.edges > 0,
            has_edge_properties: counts.edges > 0,
            ..Delta::default()
        }
    }
}
