//! Types that constraints demand of properties: asked of every value that is written.

use model::id::{LabelId, PropertyKeyId};
use model::store::{NewEdges, NewNodes};
use model::{Column, Constraint, EdgeId, NodeId, ReadView, Result, Rule, Schema, Subject, Value, error};

use super::check::column_of;
use crate::snapshot::Snapshot;

/// Fails with `CONSTRAINT` if a value is there and is not of the type that the constraint demands.
pub(super) fn check_value(
    schema: &Schema,
    constraint: &Constraint,
    value: impl FnOnce() -> Value,
    whose: impl FnOnce() -> String,
) -> Result<()> {
    let Rule::Type(of) = constraint.rule else { return Ok(()) };
    let value = value();
    if value.is_null() || of.holds(&value) {
        return Ok(());
    }
    let (name, subject) = (&constraint.name, schema.subject_name(constraint.subject));
    let (key, whose) = (schema.property_key_name(constraint.keys[0]), whose());
    let found = value.type_name();
    Err(error!(Constraint, "constraint {name}: {key} of {whose} of {subject} must be {of}, found {found} {value}"))
}

/// The same for all values of a column.
pub(super) fn check_values(
    schema: &Schema,
    constraint: &Constraint,
    values: &Column,
    whose: impl Fn(usize) -> String,
) -> Result<()> {
    match constraint.rule {
        Rule::Type(of) if !of.holds_all(values) => {
            (0..values.len()).try_for_each(|row| check_value(schema, constraint, || values.value(row), || whose(row)))
        }
        _ => Ok(()),
    }
}

fn typed(snapshot: &Snapshot) -> impl Iterator<Item = (&Constraint, PropertyKeyId)> {
    let constraints = snapshot.memtable.schema.constraints.iter();
    constraints.filter(|constraint| matches!(constraint.rule, Rule::Type(_))).map(|held| (held, held.keys[0]))
}

impl Snapshot {
    fn check_column_type(&self, constraint: &Constraint, values: &Column, whose: &str) -> Result<()> {
        check_values(&self.memtable.schema, constraint, values, |_| whose.to_owned())
    }

    pub(super) fn check_new_node_types(&self, new: &NewNodes<'_>) -> Result<()> {
        for (constraint, key) in typed(self) {
            let Subject::Label(label) = constraint.subject else { continue };
            if new.labels.contains(&label)
                && let Some(values) = column_of(key, new)
            {
                self.check_column_type(constraint, &values, "a new node")?;
            }
        }
        Ok(())
    }

    pub(super) fn check_new_edge_types(&self, new: &NewEdges<'_>) -> Result<()> {
        for (constraint, key) in typed(self) {
            if constraint.subject != Subject::EdgeType(new.edge_type) {
                continue;
            }
            for (_, values) in new.keys.iter().zip(new.properties).filter(|(of, _)| **of == key) {
                self.check_column_type(constraint, values, "a new relationship")?;
            }
        }
        Ok(())
    }

    pub(super) fn check_node_types(&self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        for (constraint, _) in typed(self).filter(|&(_, of)| of == key) {
            let Subject::Label(label) = constraint.subject else { continue };
            let has_label = self.has_label(nodes, label)?;
            for row in (0..nodes.len()).filter(|&row| has_label.get(row)) {
                let whose = || format!("node {}", nodes[row].0);
                check_value(&self.memtable.schema, constraint, || values.value(row), whose)?;
            }
        }
        Ok(())
    }

    pub(super) fn check_types_of_labelled(&self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        for (constraint, key) in typed(self) {
            let Subject::Label(label) = constraint.subject else { continue };
            if !labels.contains(&label) {
                continue;
            }
            let values = self.node_properties(nodes, &[key])?.swap_remove(0);
            for (row, node) in nodes.iter().enumerate() {
                let whose = || format!("node {}", node.0);
                check_value(&self.memtable.schema, constraint, || values.value(row), whose)?;
            }
        }
        Ok(())
    }

    pub(super) fn check_edge_types(&self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        for (constraint, _) in typed(self).filter(|&(_, of)| of == key) {
            for (row, &edge) in edges.iter().enumerate() {
                let edge_type = self.edge_ends(edge)?.map(|ends| Subject::EdgeType(ends.edge_type));
                if edge_type == Some(constraint.subject) {
                    let whose = || format!("relationship {}", edge.0);
                    check_value(&self.memtable.schema, constraint, || values.value(row), whose)?;
                }
            }
        }
        Ok(())
    }
}
