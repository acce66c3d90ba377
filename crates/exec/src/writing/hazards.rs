//! When changes may be made for many rows at once: what a row reads must not be what another row of the batch writes.

use std::sync::Arc;

use cypher::plan::{Expression, ExpressionKind, SetItem, SlotId};
use model::{Column, ColumnData, Set, Value};

use crate::chunk::{Chunk, Layout};
use crate::lowering::Slots;
use crate::lowering::liveness::{add_expression, visit};

/// The ways in which the changes of a `SET` may be batched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batching {
    /// All rows, item by item: the last row wins, as it does row by row.
    Always,
    /// All rows, item by item, as long as no node or edge in this column comes twice.
    WhileDistinct(usize),
    /// Row by row.
    Never,
}

/// The reads and writes of changes, as far as they are known without rows.
pub(crate) struct Hazards {
    /// The one column that all items change.
    object: Option<usize>,
    /// Columns whose nodes and edges, if they hold any, are looked into.
    reads: Vec<usize>,
    /// True if more is read than can be known.
    is_opaque: bool,
    /// True if what is written depends on maps.
    writes_maps: bool,
    /// True if no two items write the same thing of different columns.
    is_disjoint: bool,
}

impl Hazards {
    /// Analyses items over rows of that layout.
    pub(crate) fn of(items: &[SetItem], layout: &Layout) -> Hazards {
        let object = single_object(items).and_then(|slot| layout.column(slot));
        let writes_maps = items.iter().any(is_map_item);
        let mut reading = Reading::default();
        items.iter().for_each(|item| reading.add_item(item));
        let mut written: Set<&str> = Set::default();
        let keys_once = items.iter().filter_map(written_key).all(|key| written.insert(key));
        let labels = items.iter().filter(|item| written_key(item).is_none()).count();
        if !writes_maps
            && !reading.is_opaque
            && !reading.reads_all
            && reading.keys.iter().all(|key| !written.contains(&**key))
        {
            reading.slots.clear();
        }
        let reads = reading.slots.iter().filter_map(|&slot| layout.column(slot)).collect();
        let is_disjoint = !writes_maps && keys_once && labels <= 1;
        Hazards { object, reads, is_opaque: reading.is_opaque, writes_maps, is_disjoint }
    }

    /// True if a row may look at all of the graph, and so meet whatever state the rows before it leave.
    pub(crate) fn reads_everything(&self) -> bool {
        self.is_opaque
    }

    /// The way in which the changes may be batched for these rows.
    pub(crate) fn batching(&self, chunk: &Chunk) -> Batching {
        if self.is_opaque {
            return Batching::Never;
        }
        let mut reads = self.reads.iter().filter(|&&column| holds_entities(&chunk.columns[column])).peekable();
        let reads_any = reads.peek().is_some();
        match self.object {
            Some(_) if !reads_any && !self.writes_maps => Batching::Always,
            Some(object) if reads.all(|&column| column == object) => Batching::WhileDistinct(object),
            None if !reads_any && self.is_disjoint => Batching::Always,
            _ => Batching::Never,
        }
    }

    /// True if, for each row, only the node or edge of the column `object` is read and written. That column need not
    /// be there yet.
    pub(crate) fn stays_within(&self, object: usize, chunk: &Chunk) -> bool {
        let is_harmless = |column: usize| chunk.columns.get(column).is_some_and(|column| !holds_entities(column));
        let within = |&column: &usize| column == object || is_harmless(column);
        !self.is_opaque && self.object == Some(object) && self.reads.iter().all(within)
    }
}

/// Reads of the graph by expressions.
#[derive(Default)]
struct Reading {
    slots: Slots,
    /// The property keys read, if nothing else is.
    keys: Vec<Arc<str>>,
    /// True if more than properties by key is read.
    reads_all: bool,
    is_opaque: bool,
}

impl Reading {
    fn add_item(&mut self, item: &SetItem) {
        self.add(object(item));
        match item {
            SetItem::Property { value, .. } => self.add(value),
            SetItem::Replace { value, .. } | SetItem::Merge { value, .. } => {
                self.add(value);
                self.reads_all = true;
                add_expression(value, &mut self.slots);
            }
            SetItem::AddLabels { .. } | SetItem::RemoveLabels { .. } => {}
            SetItem::AddComputedLabels { labels, .. } | SetItem::RemoveComputedLabels { labels, .. } => {
                self.add(labels);
            }
        }
    }

    fn add(&mut self, expression: &Expression) {
        let mut reads = false;
        visit(expression, &mut |part| match &part.kind {
            ExpressionKind::Property { key, .. } => {
                reads = true;
                self.keys.push(key.clone());
            }
            ExpressionKind::Subscript { .. }
            | ExpressionKind::MapProjection { .. }
            | ExpressionKind::HasLabels { .. } => {
                reads = true;
                self.reads_all = true;
            }
            ExpressionKind::Function { name, .. } if looks_into_nodes(name) => {
                reads = true;
                self.reads_all = true;
            }
            ExpressionKind::Subquery { .. } => self.is_opaque = true,
            _ => {}
        });
        if reads {
            add_expression(expression, &mut self.slots);
        }
    }
}

/// Functions that read more of a node or edge than its value holds.
fn looks_into_nodes(name: &str) -> bool {
    ["properties", "keys", "labels", "degree", "exists"].iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// True if a column holds nodes or edges, at any depth within lists and maps.
pub(crate) fn holds_entities(column: &Column) -> bool {
    match &column.data {
        ColumnData::Node(_) | ColumnData::Edge(_) => true,
        ColumnData::Value(values) => values.iter().any(value_holds_entities),
        _ => false,
    }
}

fn value_holds_entities(value: &Value) -> bool {
    match value {
        Value::Node(_) | Value::Edge(_) | Value::Path(_) => true,
        Value::List(items) => items.iter().any(value_holds_entities),
        Value::Map(map) => map.values().any(value_holds_entities),
        _ => false,
    }
}

fn single_object(items: &[SetItem]) -> Option<SlotId> {
    let mut slots = items.iter().map(|item| match &object(item).kind {
        ExpressionKind::Slot(slot) => Some(*slot),
        _ => None,
    });
    let first = slots.next()??;
    slots.all(|slot| slot == Some(first)).then_some(first)
}

fn object(item: &SetItem) -> &Expression {
    match item {
        SetItem::Property { object, .. } | SetItem::Replace { object, .. } | SetItem::Merge { object, .. } => object,
        SetItem::AddLabels { node, .. } | SetItem::RemoveLabels { node, .. } => node,
        SetItem::AddComputedLabels { node, .. } | SetItem::RemoveComputedLabels { node, .. } => node,
    }
}

fn is_map_item(item: &SetItem) -> bool {
    matches!(item, SetItem::Replace { .. } | SetItem::Merge { .. })
}

fn written_key(item: &SetItem) -> Option<&str> {
    match item {
        SetItem::Property { key, .. } => Some(key),
        _ => None,
    }
}

/// True if an expression runs a subplan, which may look at all of the graph.
pub(crate) fn runs_subplan(expression: &Expression) -> bool {
    let mut reading = Reading::default();
    reading.add(expression);
    reading.is_opaque
}

/// True if an expression may look into nodes and edges of the rows, or run a subplan.
pub(crate) fn reads_graph(expression: &Expression) -> bool {
    let mut reading = Reading::default();
    reading.add(expression);
    reading.is_opaque || !reading.slots.is_empty()
}
