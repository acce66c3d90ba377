//! Properties that must be there: asked when the transaction commits, since a node is made before its properties are set.
//!
//! Invariant: what is noted is everything that may have come to lack a property; it may be more, as after a rollback to
//! a savepoint, since each is looked at again.

use std::borrow::Cow;

use model::id::{EdgeTypeId, LabelId, PropertyKeyId};
use model::store::NodeScan;
use model::{Column, Constraint, EdgeId, Interrupt, NodeBatch, NodeId, ReadView, Result, Rule, Subject, error};

use super::aliases::Aliases;
use crate::snapshot::Snapshot;

/// The nodes and edges of a transaction that may lack a property which a constraint demands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    nodes: Vec<NodeId>,
    edges: Vec<EdgeId>,
}

impl Touched {
    /// The same, with the edges as the present stage of their transaction knows them.
    pub(super) fn inner(&self, aliases: &Aliases) -> Result<Cow<'_, Touched>> {
        if aliases.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        let edges = aliases.to_inner(&self.edges)?.into_owned();
        Ok(Cow::Owned(Touched { nodes: self.nodes.clone(), edges }))
    }

    /// Nodes were made with these labels, or were given them.
    pub(crate) fn labelled(&mut self, snapshot: &Snapshot, nodes: &[NodeId], labels: &[LabelId]) {
        if mandatory(snapshot).any(|rule| labels.iter().any(|&label| rule.subject == Subject::Label(label))) {
            self.nodes.extend_from_slice(nodes);
        }
    }

    /// Edges of a type were made.
    pub(crate) fn created_edges(&mut self, snapshot: &Snapshot, edges: &[EdgeId], edge_type: EdgeTypeId) {
        if mandatory(snapshot).any(|rule| rule.subject == Subject::EdgeType(edge_type)) {
            self.edges.extend_from_slice(edges);
        }
    }

    /// A property of nodes was set or removed.
    pub(crate) fn set_nodes(&mut self, snapshot: &Snapshot, nodes: &[NodeId], key: PropertyKeyId, values: &Column) {
        let is_demanded = |rule: &Constraint| matches!(rule.subject, Subject::Label(_)) && rule.keys.contains(&key);
        if mandatory(snapshot).any(is_demanded) {
            self.nodes.extend((0..nodes.len()).filter(|&row| values.is_null(row)).map(|row| nodes[row]));
        }
    }

    /// A property of edges was set or removed.
    pub(crate) fn set_edges(&mut self, snapshot: &Snapshot, edges: &[EdgeId], key: PropertyKeyId, values: &Column) {
        let is_demanded = |rule: &Constraint| matches!(rule.subject, Subject::EdgeType(_)) && rule.keys.contains(&key);
        if mandatory(snapshot).any(is_demanded) {
            self.edges.extend((0..edges.len()).filter(|&row| values.is_null(row)).map(|row| edges[row]));
        }
    }
}

fn mandatory(snapshot: &Snapshot) -> impl Iterator<Item = &Constraint> {
    snapshot.memtable.schema.constraints.iter().filter(|constraint| constraint.is_mandatory())
}

impl Snapshot {
    /// Fails with `CONSTRAINT` if one of those touched lacks a property that it must have.
    pub(crate) fn check_presence(&self, touched: &Touched) -> Result<()> {
        for constraint in mandatory(self) {
            match constraint.subject {
                Subject::Label(label) => self.check_nodes_complete(constraint, label, &touched.nodes)?,
                Subject::EdgeType(edge_type) => self.check_edges_complete(constraint, edge_type, &touched.edges)?,
            }
        }
        Ok(())
    }

    fn check_nodes_complete(&self, constraint: &Constraint, label: LabelId, nodes: &[NodeId]) -> Result<()> {
        let has_label = self.has_label(nodes, label)?;
        let nodes: Vec<NodeId> = (0..nodes.len()).filter(|&row| has_label.get(row)).map(|row| nodes[row]).collect();
        let columns = self.node_properties(&nodes, &constraint.keys)?;
        self.check_complete(constraint, &columns, "node", |row| nodes[row].0)
    }

    fn check_edges_complete(&self, constraint: &Constraint, edge_type: EdgeTypeId, edges: &[EdgeId]) -> Result<()> {
        let mut present = Vec::new();
        for &edge in edges {
            if self.edge_ends(edge)?.is_some_and(|ends| ends.edge_type == edge_type) {
                present.push(edge);
            }
        }
        let columns = self.edge_properties(&present, &constraint.keys)?;
        self.check_complete(constraint, &columns, "relationship", |row| present[row].0)
    }

    /// Fails if one of the columns of a constraint's keys has a null.
    fn check_complete(
        &self,
        constraint: &Constraint,
        columns: &[Column],
        what: &str,
        id: impl Fn(usize) -> u64,
    ) -> Result<()> {
        let schema = &self.memtable.schema;
        for (&key, column) in constraint.keys.iter().zip(columns) {
            if let Some(row) = (0..column.len()).find(|&row| column.is_null(row)) {
                let (name, subject) = (&constraint.name, schema.subject_name(constraint.subject));
                let (key, id) = (schema.property_key_name(key), id(row));
                return Err(error!(Constraint, "constraint {name}: {what} {id} of {subject} lacks the property {key}"));
            }
        }
        Ok(())
    }

    /// Fails with `CONSTRAINT` if a node or edge breaks a new constraint by what it lacks, or by the type of its value.
    pub(crate) fn check_rule_of_all(&self, constraint: &Constraint, interrupt: &Interrupt) -> Result<()> {
        if matches!(constraint.rule, Rule::Unique | Rule::Ends { .. }) {
            return Ok(());
        }
        match constraint.subject {
            Subject::Label(label) => {
                let scan = NodeScan { labels: vec![label], keys: constraint.keys.clone(), ..NodeScan::default() };
                let (mut cursor, mut batch) = (self.scan(&scan)?, NodeBatch::default());
                let (mut done, total) = (0, self.memtable.statistics.label(label));
                while cursor.next(&mut batch)? {
                    done += batch.nodes.len() as u64;
                    interrupt.report(done, total);
                    interrupt.check()?;
                    self.check_rows(constraint, &batch.properties, "node", |row| batch.nodes[row].0)?;
                }
                Ok(())
            }
            Subject::EdgeType(edge_type) => {
                let (mut done, total) = (0, self.memtable.statistics.edge_type(edge_type));
                model::store::by_scan::each_edge(self, edge_type, &constraint.keys, |batch| {
                    done += batch.edges.len() as u64;
                    interrupt.report(done, total);
                    interrupt.check()?;
                    self.check_rows(constraint, &batch.properties, "relationship", |row| batch.edges[row].0)
                })
            }
        }
    }

    fn check_rows(
        &self,
        constraint: &Constraint,
        columns: &[Column],
        what: &str,
        id: impl Fn(usize) -> u64,
    ) -> Result<()> {
        if constraint.is_mandatory() {
            self.check_complete(constraint, columns, what, &id)?;
        }
        let Some(values) = columns.first() else { return Ok(()) };
        let whose = |row: usize| format!("{what} {}", id(row));
        super::property_types::check_values(&self.memtable.schema, constraint, values, whose)
    }
}
