//! Checks of constraints: unique values and types after each call, presence at the commit.

use std::sync::Arc;

use model::codec::ordered::hold_nan;
use model::{Constraint, Error, PropertyKeyId, Result, Rule, Subject, Value, error};

use super::{Changed, Transaction};
use crate::overlay::{edge_entry, node_entry};
use crate::rows::{EdgeData, NodeData, first_value, property};
use crate::state::NumberedIndex;
use crate::view::index::{Question, find};

/// A node or edge by number, with its properties.
type Holder<'a> = (u64, &'a [(PropertyKeyId, Value)]);

impl Transaction {
    /// Fails if what a call changed breaks a constraint.
    pub(super) fn check(&self, changed: &Changed) -> Result<()> {
        if self.view.own.schema.constraints.is_empty() || changed.nodes.is_empty() && changed.edges.is_empty() {
            return Ok(());
        }
        let own = &self.view.own;
        let mut nodes: Vec<(u64, Arc<NodeData>)> =
            changed.nodes.iter().filter_map(|id| Some((id.0, own.nodes.get(id)?.new.clone()?))).collect();
        let mut edges: Vec<(u64, Arc<EdgeData>)> =
            changed.edges.iter().filter_map(|number| Some((*number, own.edges.get(number)?.new.clone()?))).collect();
        nodes.sort_unstable_by_key(|(id, _)| *id);
        nodes.dedup_by_key(|(id, _)| *id);
        edges.sort_unstable_by_key(|(number, _)| *number);
        edges.dedup_by_key(|(number, _)| *number);
        for constraint in &own.schema.constraints {
            let Rule::Type(of) = constraint.rule else { continue };
            for (id, properties) in holders(constraint.subject, &nodes, &edges) {
                if let Some(value) = property(properties, constraint.keys[0])
                    && !of.holds(value)
                {
                    return Err(self.broken(constraint, &format!("{id} must be {of}, found {value}")));
                }
            }
        }
        own.indexes
            .iter()
            .filter(|index| index.is_unique)
            .try_for_each(|index| self.check_unique(index, &nodes, &edges))
    }

    /// Fails if one of some nodes or edges has the values of another.
    fn check_unique(
        &self,
        index: &NumberedIndex,
        nodes: &[(u64, Arc<NodeData>)],
        edges: &[(u64, Arc<EdgeData>)],
    ) -> Result<()> {
        let (mut ids, mut questions) = (Vec::new(), Vec::new());
        let mut ask = |id: u64, entry: Option<Vec<u8>>, properties: &[(PropertyKeyId, Value)]| {
            if let Some(entry) = entry.filter(|entry| !hold_nan(entry)) {
                ids.push(id);
                questions.push(Question::equal(entry, first_value(properties, &index.keys)));
            }
        };
        match index.subject {
            Subject::Label(_) => {
                nodes.iter().for_each(|(id, node)| ask(*id, node_entry(index, node), &node.properties));
            }
            Subject::EdgeType(_) => {
                edges.iter().for_each(|(id, edge)| ask(*id, edge_entry(index, edge), &edge.properties));
            }
        }
        if questions.is_empty() {
            return Ok(());
        }
        for (id, others) in ids.into_iter().zip(find(&self.view, index, &questions)?) {
            if let Some(other) = others.iter().map(|entry| entry.id).find(|other| *other != id) {
                let held = self.view.own.schema.constraints.iter().find(|held| held.name == index.name);
                let how = format!("{other} and {id} have the same");
                return Err(held.map_or_else(
                    || error!(Constraint, "{}: {how}", index.name),
                    |constraint| self.broken(constraint, &how),
                ));
            }
        }
        Ok(())
    }

    /// Fails if what the transaction wrote lacks a property that must be there.
    pub(super) fn check_presence(&self) -> Result<()> {
        let own = &self.view.own;
        for constraint in own.schema.constraints.iter().filter(|constraint| constraint.is_mandatory()) {
            let lacks = |properties: &[(PropertyKeyId, Value)]| {
                constraint.keys.iter().any(|&key| property(properties, key).is_none())
            };
            let lacking = match constraint.subject {
                Subject::Label(label) => own.nodes.iter().find_map(|(id, touched)| {
                    let node = touched.new.as_ref()?;
                    let is_subject = node.labels.binary_search(&label).is_ok();
                    (is_subject && lacks(&node.properties)).then_some(id.0)
                }),
                Subject::EdgeType(edge_type) => own.edges.iter().find_map(|(number, touched)| {
                    let edge = touched.new.as_ref()?;
                    (edge.edge_type == edge_type && lacks(&edge.properties)).then_some(*number)
                }),
            };
            if let Some(id) = lacking {
                return Err(self.broken(constraint, &format!("{id} lacks a property")));
            }
        }
        Ok(())
    }

    pub(super) fn broken(&self, constraint: &Constraint, how: &str) -> Error {
        let schema = &self.view.own.schema;
        let keys: Vec<&str> = constraint.keys.iter().map(|&key| schema.property_key_name(key)).collect();
        let (name, subject) = (&constraint.name, schema.subject_name(constraint.subject));
        error!(Constraint, "constraint {name} on {subject}({}): {how}", keys.join(", "))
    }
}

/// Those of some nodes and edges that a constraint is about.
fn holders<'a>(
    subject: Subject,
    nodes: &'a [(u64, Arc<NodeData>)],
    edges: &'a [(u64, Arc<EdgeData>)],
) -> Vec<Holder<'a>> {
    match subject {
        Subject::Label(label) => {
            let carrying = nodes.iter().filter(|(_, node)| node.labels.binary_search(&label).is_ok());
            carrying.map(|(id, node)| (*id, &node.properties[..])).collect()
        }
        Subject::EdgeType(edge_type) => {
            let of_type = edges.iter().filter(|(_, edge)| edge.edge_type == edge_type);
            of_type.map(|(number, edge)| (*number, &edge.properties[..])).collect()
        }
    }
}
