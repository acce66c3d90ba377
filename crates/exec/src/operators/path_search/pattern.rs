//! A pattern of several parts, compiled: edges to follow and conditions to ask.

use std::sync::Arc;

use cypher::plan::{
    EdgeFilter as PlanFilter, Expression, HopCondition, SearchElement, SearchHop, SearchMode, SearchPattern,
    SearchSelector, SlotId,
};
use model::{Column, ColumnData, Direction, EdgeValue, NodeId, Result, Value};

use crate::chunk::{Chunk, Layout};
use crate::edge_filter::EdgeFilter;
use crate::expression::CompiledExpression;
use crate::lowering::Lowering;
use crate::lowering::liveness::{Slots, add_expression};
use crate::rows::gather_columns;
use crate::runtime::Runtime;

/// See the module.
pub(crate) struct Pattern {
    pub(super) elements: Vec<Element>,
    pub(super) mode: SearchMode,
    pub(super) selector: Option<SearchSelector>,
    /// Condition on a whole path; it reads its edges, counts and, if that is not bound, its end.
    pub(super) whole: Option<Condition>,
}

/// A part of a path.
pub(super) struct Element {
    pub(super) hops: Vec<Hop>,
    pub(super) min: u32,
    pub(super) max: u32,
    /// Condition on each walk: it reads its nodes, then its edges.
    pub(super) walk: Option<Condition>,
    /// Condition on the node behind the part.
    pub(super) end: Option<Condition>,
}

/// An edge of a part.
pub(super) struct Hop {
    pub(super) direction: Direction,
    pub(super) types: Vec<Arc<str>>,
    pub(super) filter: Option<EdgeFilter>,
}

/// A condition on things that a search has found, and on columns of the row.
pub(super) struct Condition {
    predicate: CompiledExpression,
    columns: Vec<usize>,
    /// Number of things it is shown besides the row.
    pub(super) own: usize,
}

impl Condition {
    fn compile(lowering: &mut Lowering, predicate: &Expression, layout: &Layout, own: &[SlotId]) -> Result<Condition> {
        let mut slots = Slots::new();
        add_expression(predicate, &mut slots);
        let mut read = Layout::default();
        let mut columns = Vec::new();
        for (column, &slot) in layout.slots().iter().enumerate() {
            if slots.contains(&slot) && !own.contains(&slot) {
                columns.push(column);
                read.push(slot);
            }
        }
        own.iter().for_each(|&slot| {
            read.push(slot);
        });
        Ok(Condition { predicate: lowering.compile(predicate, &read)?, columns, own: own.len() })
    }

    /// The candidates of one row that pass; there are `count` of them.
    pub(super) fn passing(
        &self,
        runtime: &Runtime<'_>,
        (chunk, row): (&Chunk, u32),
        count: usize,
        own: impl IntoIterator<Item = ColumnData>,
    ) -> Result<Vec<u32>> {
        let mut columns = gather_columns(chunk, &self.columns, &vec![row; count]);
        columns.extend(own.into_iter().map(|data| Arc::new(Column::new(data))));
        let view = runtime.view();
        self.predicate.evaluate_predicate(&Chunk { rows: count, columns }, &runtime.evaluation(&view))
    }
}

impl Pattern {
    /// Compiles a pattern over rows of that layout; `whole` are the slots that a condition on whole paths finds besides.
    pub(crate) fn compile(
        lowering: &mut Lowering,
        pattern: &SearchPattern,
        conditions: &[Expression],
        layout: &Layout,
        whole: &[SlotId],
    ) -> Result<Pattern> {
        let mut elements = Vec::with_capacity(pattern.elements.len());
        for element in &pattern.elements {
            let mut hops = Vec::with_capacity(element.hops.len());
            for hop in &element.hops {
                let filter = plan_filter(hop, conditions);
                let filter = filter.map(|filter| EdgeFilter::compile(lowering, &filter, layout)).transpose()?;
                hops.push(Hop { direction: hop.direction, types: hop.types.clone(), filter });
            }
            let walk = element.walk.as_ref().map(|walk| {
                let own: Vec<SlotId> = walk.nodes.iter().chain(&walk.edges).copied().collect();
                Condition::compile(lowering, &conditions[walk.condition], layout, &own)
            });
            let walk = walk.transpose()?;
            let end =
                element.end.map(|(slot, place)| Condition::compile(lowering, &conditions[place], layout, &[slot]));
            let (min, max, end) = (element.min, element.max.unwrap_or(u32::MAX), end.transpose()?);
            elements.push(Element { hops, min, max, walk, end });
        }
        let condition = pattern.condition.map(|place| Condition::compile(lowering, &conditions[place], layout, whole));
        Ok(Pattern { elements, mode: pattern.mode, selector: pattern.selector, whole: condition.transpose()? })
    }

    /// The ways from a node back to itself along undirected edges of these types, at most `max`, that all pass a filter
    /// and no two of which are the same.
    pub(crate) fn round(
        lowering: &mut Lowering,
        (types, max): (&[Arc<str>], Option<u32>),
        filter: Option<&PlanFilter>,
        selector: SearchSelector,
        layout: &Layout,
    ) -> Result<Pattern> {
        let mut conditions = Vec::new();
        let filter = filter.map(|filter| {
            conditions.push(filter.predicate.clone());
            let from = filter.from.unwrap_or_else(|| lowering.hidden_slot());
            let to = filter.to.unwrap_or_else(|| lowering.hidden_slot());
            HopCondition { edge: filter.slot, from, to, condition: 0 }
        });
        let hops = vec![SearchHop { direction: Direction::Both, types: types.to_vec(), filter }];
        let elements = vec![SearchElement { hops, min: 1, max, walk: None, end: None }];
        let pattern = SearchPattern { elements, mode: SearchMode::Trail, selector: Some(selector), condition: None };
        Pattern::compile(lowering, &pattern, &conditions, layout, &[])
    }

    /// Fewest edges of a path.
    pub(super) fn least_length(&self) -> u64 {
        self.elements.iter().map(|element| element.hops.len() as u64 * u64::from(element.min)).sum()
    }

    /// Most edges of a path.
    pub(super) fn greatest_length(&self) -> u64 {
        let most = |element: &Element| match element.max {
            u32::MAX => u64::MAX,
            max => element.hops.len() as u64 * u64::from(max),
        };
        self.elements.iter().map(most).fold(0, u64::saturating_add)
    }
}

fn plan_filter(hop: &SearchHop, conditions: &[Expression]) -> Option<PlanFilter> {
    let filter = hop.filter?;
    let (from, to) = (Some(filter.from), Some(filter.to));
    Some(PlanFilter { slot: filter.edge, from, to, predicate: conditions[filter.condition].clone() })
}

/// The slots of the row that the conditions of a pattern read.
pub(super) fn row_slots(pattern: &SearchPattern, conditions: &[Expression], found: [SlotId; 3]) -> Slots {
    let mut slots = Slots::new();
    conditions.iter().for_each(|condition| add_expression(condition, &mut slots));
    let mut own: Vec<SlotId> = found.to_vec();
    for element in &pattern.elements {
        own.extend(element.end.iter().map(|(slot, _)| *slot));
        own.extend(element.walk.iter().flat_map(|walk| walk.nodes.iter().chain(&walk.edges).copied()));
        own.extend(element.hops.iter().filter_map(|hop| hop.filter).flat_map(|hop| [hop.edge, hop.from, hop.to]));
    }
    for slot in own {
        slots.remove(&slot);
    }
    slots
}

/// Number of edges of each part of a path, as a value.
pub(super) fn count_list(counts: &[u32]) -> Value {
    Value::list(counts.iter().map(|&count| Value::Int(count.into())).collect())
}

/// A column with the same node in every row.
pub(super) fn same_node(node: NodeId, rows: usize) -> ColumnData {
    ColumnData::Node(vec![node; rows])
}

/// A column with the same edge in every row.
pub(super) fn same_edge(edge: EdgeValue, rows: usize) -> ColumnData {
    ColumnData::Edge(vec![edge; rows])
}
