//! Patterns whose matches, or groups of them, a store may be asked for as a whole.

use std::sync::Arc;

use model::pattern_query::{FirstRows, PatternColumn, PatternEdge, PatternNode, PatternTest};
use model::{Condition, GraphPattern, LabelId, PropertyKeyId, Result, Schema};

use super::{Expression, SlotId};

/// A pattern with what is made of its matches, by names. See [`model::PatternQuery`].
#[derive(Clone, Debug, Default)]
pub struct PushedPattern {
    /// The nodes of the pattern.
    pub nodes: Vec<PushedNode>,
    /// The edges of the pattern.
    pub edges: Vec<PatternEdge<Arc<str>>>,
    /// Pairs of edges, by their places, that must not be the same edge.
    pub distinct: Vec<(usize, usize)>,
    /// Edges that must, or must not, be there.
    pub tests: Vec<PatternTest<Arc<str>>>,
    /// True if matches that agree in all keys are one row.
    pub is_grouped: bool,
    /// The slots of the rows, and the value of each.
    pub columns: Vec<(SlotId, PushedValue)>,
    /// Rows that are enough.
    pub first: Option<PushedFirst>,
}

/// A node of a pattern.
#[derive(Clone, Debug)]
pub struct PushedNode {
    /// The slot that the conditions name it by.
    pub slot: SlotId,
    /// Labels that it must carry.
    pub labels: Vec<Arc<str>>,
    /// Conditions that all must be true, each of the form that [`super::node_test`] takes apart.
    pub conditions: Vec<Expression>,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushedValue {
    /// A column of the answer.
    Column(PatternColumn<Arc<str>>),
    /// Mean of the integers of a property of a node.
    Mean(usize, Arc<str>),
}

/// The first rows in an order.
#[derive(Clone, Debug)]
pub struct PushedFirst {
    /// The places among the columns that rows are ordered by, and whether descending; none for any rows.
    pub order: Vec<(usize, bool)>,
    /// Number of rows: without slots.
    pub limit: Expression,
}

/// A column that a store is asked for, by names.
pub type AskedColumn = PatternColumn<Arc<str>>;

impl PushedPattern {
    /// The value of a slot of the rows.
    pub fn value(&self, slot: SlotId) -> Option<&PushedValue> {
        self.columns.iter().find(|(held, _)| *held == slot).map(|(_, value)| value)
    }

    /// The columns that the first rows are ordered by, and whether descending; nothing if all rows are wanted, or a store cannot
    /// be asked for them.
    pub fn order(&self) -> Option<Vec<(&AskedColumn, bool)>> {
        let term = |&(at, descending): &(usize, bool)| match &self.columns[at].1 {
            PushedValue::Column(column) => Some((column, descending)),
            PushedValue::Mean(..) => None,
        };
        self.first.as_ref()?.order.iter().map(term).collect()
    }

    /// The columns that a store is asked for, so that rows can be made of these slots: all keys, which say what a group is,
    /// those that the slots are made of, and those of the order.
    pub fn asked(&self, slots: impl Iterator<Item = SlotId>) -> Vec<AskedColumn> {
        let mut asked: Vec<AskedColumn> = Vec::new();
        let mut add = |column: AskedColumn| {
            if !asked.contains(&column) {
                asked.push(column);
            }
        };
        let keys = self.columns.iter().filter_map(|(_, value)| match value {
            PushedValue::Column(column) if column.is_key() => Some(column.clone()),
            _ => None,
        });
        keys.for_each(&mut add);
        slots.filter_map(|slot| self.value(slot)).for_each(|value| match value {
            PushedValue::Column(column) => add(column.clone()),
            PushedValue::Mean(node, key) => {
                add(PatternColumn::Sum(*node, key.clone()));
                add(PatternColumn::Count(*node, key.clone()));
            }
        });
        self.order().unwrap_or_default().into_iter().for_each(|(column, _)| add(column.clone()));
        asked
    }

    /// The question to a store of that schema for these columns; nothing if it has not all names. `conditions` tells those of the
    /// node at a place, nothing if no node meets them; `limit` is the number of rows that are enough, if one is told.
    pub fn query(
        &self,
        schema: &Schema,
        asked: &[AskedColumn],
        conditions: &mut dyn FnMut(usize) -> Result<Option<Vec<Condition<PropertyKeyId>>>>,
        limit: Option<u64>,
    ) -> Result<Option<GraphPattern>> {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let labels: Option<Vec<LabelId>> = node.labels.iter().map(|label| schema.label(label)).collect();
            let Some(labels) = labels else { return Ok(None) };
            let Some(conditions) = conditions(at)? else { return Ok(None) };
            nodes.push(PatternNode { of: labels, conditions });
        }
        let edge = |held: &PatternEdge<Arc<str>>| {
            Some(PatternEdge { of: schema.edge_type(&held.of)?, source: held.source, target: held.target })
        };
        let test = |held: &PatternTest<Arc<str>>| {
            Some(PatternTest { edge: edge(&held.edge)?, inner: held.inner, is_absent: held.is_absent })
        };
        let edges: Option<Vec<_>> = self.edges.iter().map(edge).collect();
        let tests: Option<Vec<_>> = self.tests.iter().map(test).collect();
        let column = |column: &AskedColumn| column.renamed(&|_, key| schema.property_key(key));
        let columns: Option<Vec<_>> = asked.iter().map(column).collect();
        let (Some(edges), Some(tests), Some(columns)) = (edges, tests, columns) else { return Ok(None) };
        let place = |column: &AskedColumn| asked.iter().position(|held| held == column);
        let first = self.order().zip(limit).and_then(|(order, limit)| {
            let order = order.into_iter().map(|(column, descending)| Some((place(column)?, descending)));
            Some(FirstRows { order: order.collect::<Option<_>>()?, limit })
        });
        let (distinct, is_grouped) = (self.distinct.clone(), self.is_grouped);
        Ok(Some(GraphPattern { nodes, edges, distinct, tests, columns, is_grouped, first }))
    }
}
