//! Merging all rows at once, where that equals row by row.

use std::sync::Arc;

use cypher::plan::{Expression, ExpressionKind, NewEdge, NewNode, Operator, OperatorKind, SetItem};
use model::{Column, ColumnData, Direction, Result, Value};

use super::Merge;
use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpression;
use crate::group_table::GroupTable;
use crate::lowering::liveness::add_expression;
use crate::lowering::{Lowering, Slots, column_of};
use crate::rows::node_at;
use crate::runtime::Scope;
use crate::writing::changes::Changes;
use crate::writing::hazards::{holds_entities, reads_graph};

/// The key by which two rows are the same to the pattern: the properties of the node or edge, and the ends of the edge.
pub(super) struct BatchKey {
    values: Vec<CompiledExpression>,
    /// Columns whose nodes and edges the values may look into.
    reads: Vec<usize>,
    ends: Option<Ends>,
}

/// The columns of the ends of the edge.
struct Ends {
    source: usize,
    target: usize,
    /// True if the pattern matches an edge in either direction.
    is_undirected: bool,
}

impl BatchKey {
    /// The key of a pattern that can be merged for many rows at once.
    pub(super) fn compile(
        lowering: &mut Lowering,
        subplan: &Operator,
        (nodes, edges): (&[NewNode], &[NewEdge]),
        items: &[&SetItem],
        layout: &Layout,
    ) -> Result<Option<BatchKey>> {
        let Some(direction) = simple_pattern(subplan) else { return Ok(None) };
        let (properties, ends) = match (nodes, edges, direction) {
            ([node], [], None) => (&node.properties, None),
            ([], [edge], Some(direction)) if edge.computed_type.is_none() => {
                (&edge.properties, Some((edge.source, edge.target, direction)))
            }
            _ => return Ok(None),
        };
        let Some(entries) = entries_of(properties.as_ref()) else { return Ok(None) };
        let labels = nodes.iter().flat_map(|node| &node.labels).collect::<Vec<_>>();
        if items.iter().any(|item| changes_pattern(item, entries, &labels)) {
            return Ok(None);
        }
        let entries: Vec<&Expression> = entries.iter().map(|(_, value)| value).collect();
        if entries.iter().any(|value| reads_graph(value) && !is_property_of_row(value)) {
            return Ok(None);
        }
        let mut slots = Slots::new();
        entries.iter().filter(|value| reads_graph(value)).for_each(|value| add_expression(value, &mut slots));
        let reads = slots.iter().filter_map(|&slot| layout.column(slot)).collect();
        let values = entries.into_iter().map(|value| lowering.compile(value, layout)).collect::<Result<_>>()?;
        let ends = match ends {
            Some((source, target, direction)) => Some(Ends {
                source: column_of(layout, source)?,
                target: column_of(layout, target)?,
                is_undirected: direction == Direction::Both,
            }),
            None => None,
        };
        Ok(Some(BatchKey { values, reads, ends }))
    }

    /// The key columns of rows; `None` if a key equals not even itself, so that each row would create anew.
    fn columns(&self, scope: Scope<'_, '_>, chunk: &Chunk) -> Result<Option<Vec<Arc<Column>>>> {
        let mut columns: Vec<Arc<Column>> = {
            let view = scope.runtime.view();
            let context = scope.runtime.evaluation(&view);
            self.values.iter().map(|value| value.evaluate(chunk, &context)).collect::<Result<_>>()?
        };
        let is_odd = |column: &Arc<Column>| match &column.data {
            ColumnData::Float(values) => values.iter().any(|value| value.is_nan()),
            ColumnData::Value(values) => values.iter().any(|value| value.equals(value) != Some(true)),
            _ => false,
        };
        let is_null = |column: &Arc<Column>| (0..column.len()).any(|row| column.is_null(row));
        if columns.iter().any(|column| is_odd(column) || is_null(column)) {
            return Ok(None);
        }
        if let Some(ends) = &self.ends {
            let (mut from, mut to) = (Vec::with_capacity(chunk.rows), Vec::with_capacity(chunk.rows));
            for row in 0..chunk.rows {
                let ends_of_row =
                    (node_at(&chunk.columns[ends.source], row), node_at(&chunk.columns[ends.target], row));
                let (Some(source), Some(target)) = ends_of_row else { return Ok(None) };
                let is_swapped = ends.is_undirected && target < source;
                from.push(if is_swapped { target } else { source });
                to.push(if is_swapped { source } else { target });
            }
            columns.push(Arc::new(Column::new(ColumnData::Node(from))));
            columns.push(Arc::new(Column::new(ColumnData::Node(to))));
        }
        Ok(Some(columns))
    }
}

/// For a plan that finds one node, or one edge between bound nodes (then its direction), and filters.
fn simple_pattern(plan: &Operator) -> Option<Option<Direction>> {
    let is_argument = |input: &Operator| matches!(input.kind, OperatorKind::Argument { .. });
    let is_start = |input: &Operator| is_argument(input) || matches!(input.kind, OperatorKind::Unit);
    match &plan.kind {
        OperatorKind::Filter { input, .. } => simple_pattern(input),
        OperatorKind::HashJoin { left, right, .. } if is_argument(left) => simple_pattern(right),
        OperatorKind::NodeScan { input, .. }
        | OperatorKind::NodeLookup { input, .. }
        | OperatorKind::IndexSeek { input, on_edges: false, .. } => is_start(input).then_some(None),
        OperatorKind::Expand { input, direction, into: true, .. } => is_argument(input).then_some(Some(*direction)),
        _ => None,
    }
}

fn entries_of(properties: Option<&Expression>) -> Option<&[(Arc<str>, Expression)]> {
    match properties.map(|properties| &properties.kind) {
        None | Some(ExpressionKind::Literal(Value::Null)) => Some(&[]),
        Some(ExpressionKind::Map(entries)) => Some(entries),
        Some(_) => None,
    }
}

/// True if a change may alter what the pattern looks at, so that later rows may find more or less.
fn changes_pattern(item: &SetItem, entries: &[(Arc<str>, Expression)], labels: &[&Arc<str>]) -> bool {
    match item {
        SetItem::Property { key, .. } => entries.iter().any(|(matched, _)| matched == key),
        SetItem::Replace { .. } | SetItem::Merge { .. } => true,
        SetItem::AddLabels { labels: changed, .. } | SetItem::RemoveLabels { labels: changed, .. } => {
            changed.iter().any(|label| labels.contains(&label))
        }
        SetItem::AddComputedLabels { .. } | SetItem::RemoveComputedLabels { .. } => true,
    }
}

/// `slot.key`: it may read a node's property, which the changes of the same `MERGE` are then checked against.
fn is_property_of_row(value: &Expression) -> bool {
    matches!(&value.kind, ExpressionKind::Property { object, .. } if matches!(object.kind, ExpressionKind::Slot(_)))
}

impl Merge {
    /// Merges all rows at once; `None` if that might differ from row by row.
    pub(super) fn in_one_batch(&self, scope: Scope<'_, '_>, input: &Chunk, key: &BatchKey) -> Result<Option<Chunk>> {
        let own = self.width;
        let has_changes = !self.on_create.is_empty() || !self.on_match.is_empty();
        let reads_entities = key.reads.iter().any(|&column| holds_entities(&input.columns[column]));
        if (has_changes && reads_entities) || !self.changes_stay_within(own, input) {
            return Ok(None);
        }
        let Some(keys) = key.columns(scope, input)? else { return Ok(None) };
        let (matched, origins) = self.matches(scope, input)?;
        let mut is_matched = vec![false; input.rows];
        origins.iter().for_each(|&row| is_matched[row as usize] = true);
        let missing: Vec<u32> = (0..input.rows as u32).filter(|&row| !is_matched[row as usize]).collect();
        let keys: Vec<Arc<Column>> = keys.iter().map(|column| Arc::new(column.gather(&missing))).collect();
        let (mut groups, mut new) = (Vec::new(), Vec::new());
        GroupTable::default().insert(&keys, missing.len(), &mut groups, &mut new);
        let creators: Vec<u32> = new.iter().map(|&index| missing[index as usize]).collect();
        let created = self.create(scope, input.gather(&creators))?;
        self.on_create.run(scope, &created)?;

        // Every row in order: its matches, or what was created for it or for an earlier row with the same key.
        let mut order: Vec<u32> = (0..origins.len() as u32).collect();
        order.sort_by_key(|&index| origins[index as usize]);
        let mut order = order.into_iter().peekable();
        let mut plan = RowPlan::default();
        let mut missing = 0..missing.len();
        for row in 0..input.rows as u32 {
            if !is_matched[row as usize]
                && let Some(index) = missing.next()
            {
                let group = groups[index];
                plan.push(row, matched.rows as u32 + group, new[group as usize] as usize != index);
                continue;
            }
            while let Some(index) = order.next_if(|&index| origins[index as usize] == row) {
                plan.push(row, index, true);
            }
        }
        self.assemble(scope, input, matched, &created, &plan).map(Some)
    }

    /// True if changes of one row's node or edge are seen only by rows with the same node or edge.
    fn changes_stay_within(&self, own: usize, input: &Chunk) -> bool {
        let within = |changes: &Changes| {
            // The hazards look at columns of the full rows; those of the input stand first, the own one is entities.
            changes.is_empty() || changes.hazards().stays_within(own, input)
        };
        within(&self.on_create) && within(&self.on_match)
    }

    /// Puts the rows together in order, and makes the changes of those that matched.
    fn assemble(
        &self,
        scope: Scope<'_, '_>,
        input: &Chunk,
        matched: Chunk,
        created: &Chunk,
        plan: &RowPlan,
    ) -> Result<Chunk> {
        let mut entities = (*matched.columns[self.width]).clone();
        entities.append(&created.columns[self.width]);
        let mut merged = input.gather(&plan.rows);
        merged.columns.push(Arc::new(entities.gather(&plan.entities)));
        self.add_path(scope, &mut merged)?;
        if !self.on_match.is_empty() {
            self.on_match.run(scope, &merged.gather(&plan.matches))?;
        }
        Ok(merged)
    }
}

/// The rows to give: for each the row of the input, and the place of its node or edge among those matched, then
/// created.
#[derive(Default)]
struct RowPlan {
    rows: Vec<u32>,
    entities: Vec<u32>,
    /// Positions of the matches among the rows given.
    matches: Vec<u32>,
}

impl RowPlan {
    fn push(&mut self, row: u32, entity: u32, is_match: bool) {
        if is_match {
            self.matches.push(self.rows.len() as u32);
        }
        self.rows.push(row);
        self.entities.push(entity);
    }
}
