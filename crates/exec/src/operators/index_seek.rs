//! `NodeIndexSeek`, `NodeIndexRange` and their kin for edges: for each row, what an ordered index finds.

use std::ops::Bound;
use std::sync::Arc;

use cypher::plan::{IndexRange, OperatorKind};
use model::{
    Column, ColumnData, EdgeValue, Index, IndexBatch, IndexScan, KeyOrder, KeyRange, NodeId, Result, Subject, Value,
};

use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, keep, misplaced};
use crate::operators::node_lookup::Lookup;
use crate::rows::gather_columns;
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink, Step};

struct IndexSeek {
    input: Step,
    on_edges: bool,
    subject: Arc<str>,
    keys: Vec<Arc<str>>,
    equal: Vec<CompiledExpression>,
    /// The list of values for the key after those of `equal`.
    list: Option<Lookup>,
    range: Range,
    keep: Vec<usize>,
    gives_slot: bool,
}

/// An [`IndexRange`], compiled.
enum Range {
    All,
    Between(Option<(CompiledExpression, bool)>, Option<(CompiledExpression, bool)>),
    StartsWith(CompiledExpression),
}

impl Range {
    fn compile(lowering: &mut Lowering, range: &IndexRange, layout: &Layout) -> Result<Range> {
        let mut bound = |bound: &Option<(cypher::plan::Expression, bool)>| match bound {
            Some((value, is_included)) => Ok(Some((lowering.compile(value, layout)?, *is_included))),
            None => Ok(None),
        };
        Ok(match range {
            IndexRange::All => Range::All,
            IndexRange::Between { lower, upper } => Range::Between(bound(lower)?, bound(upper)?),
            IndexRange::StartsWith(prefix) => Range::StartsWith(lowering.compile(prefix, layout)?),
        })
    }

    /// The range for each row of a chunk, `None` where nothing can be in it; one for all if they are the same.
    fn of_rows(&self, scope: Scope<'_, '_>, chunk: &Chunk) -> Result<Vec<Option<KeyRange>>> {
        let view = scope.runtime.view();
        let context = scope.runtime.evaluation(&view);
        let column = |bound: &Option<(CompiledExpression, bool)>| match bound {
            Some((value, is_included)) => Ok(Some((value.evaluate(chunk, &context)?, *is_included))),
            None => Ok(None),
        };
        match self {
            Range::All => Ok(vec![Some(KeyRange::All)]),
            Range::StartsWith(prefix) => {
                let prefixes = prefix.evaluate(chunk, &context)?;
                let range = |value: Value| match value {
                    Value::String(prefix) => Some(KeyRange::StartsWith(prefix)),
                    _ => None,
                };
                Ok(prefixes.values().map(range).collect())
            }
            Range::Between(lower, upper) => {
                let (lower, upper) = (column(lower)?, column(upper)?);
                let bound = |column: &Option<(Arc<Column>, bool)>, row: usize| match column {
                    None => Some(Bound::Unbounded),
                    Some((values, _)) if values.is_null(row) => None,
                    Some((values, true)) => Some(Bound::Included(values.value(row))),
                    Some((values, false)) => Some(Bound::Excluded(values.value(row))),
                };
                let range = |row| Some(KeyRange::Between(bound(&lower, row)?, bound(&upper, row)?));
                Ok((0..chunk.rows).map(range).collect())
            }
        }
    }
}

/// Lowers a seek.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::IndexSeek { input, slot, on_edges, subject, keys, equal, is_list, range } = kind else {
        return Err(misplaced(kind));
    };
    let bounds = match range {
        IndexRange::All => Vec::new(),
        IndexRange::Between { lower, upper } => lower.iter().chain(upper).map(|(value, _)| value).collect(),
        IndexRange::StartsWith(prefix) => vec![prefix],
    };
    let below = demand.clone().without([slot]);
    let below = equal.iter().chain(bounds).fold(below, |demand, value| demand.and_expression(value));
    let (input, layout) = lowering.lower(input, &below)?;
    let (equal, list) = match equal.split_last() {
        Some((list, equal)) if *is_list => (equal, Some(Lookup::Any(lowering.compile(list, &layout)?))),
        _ => (equal.as_slice(), None),
    };
    let equal = equal.iter().map(|value| lowering.compile(value, &layout)).collect::<Result<_>>()?;
    let range = Range::compile(lowering, range, &layout)?;
    let (keep, mut layout) = keep(&layout, demand);
    let gives_slot = demand.slots.contains(slot);
    if gives_slot {
        layout.push(*slot);
    }
    let (subject, keys, on_edges) = (subject.clone(), keys.clone(), *on_edges);
    Ok((Box::new(IndexSeek { input, on_edges, subject, keys, equal, list, range, keep, gives_slot }), layout))
}

impl IndexSeek {
    /// The index; `None` if the store has never seen one of its names.
    fn index(&self, runtime: &Runtime<'_>) -> Option<Index> {
        let view = runtime.view();
        let schema = view.view().schema();
        let subject = match self.on_edges {
            true => Subject::EdgeType(schema.edge_type(&self.subject)?),
            false => Subject::Label(schema.label(&self.subject)?),
        };
        let keys: Option<Vec<_>> = self.keys.iter().map(|key| schema.property_key(key)).collect();
        Some(Index { name: self.subject.clone(), subject, keys: keys? })
    }

    /// The equal values, and for each of their rows the row of the chunk; `None` if they are the rows of the chunk.
    fn equal_values(&self, scope: Scope<'_, '_>, chunk: &Chunk) -> Result<(Vec<Column>, Option<Vec<u32>>)> {
        let mut columns = Vec::with_capacity(self.keys.len());
        {
            let view = scope.runtime.view();
            let context = scope.runtime.evaluation(&view);
            for value in &self.equal {
                columns.push(Column::clone(&*value.evaluate(chunk, &context)?));
            }
        }
        let Some(list) = &self.list else { return Ok((columns, None)) };
        let (values, rows) = list.values(scope, chunk)?;
        let Some(rows) = rows else { return Ok((columns, None)) };
        let mut columns: Vec<Column> = columns.iter().map(|column| column.gather(&rows)).collect();
        columns.push(Column::clone(&values));
        Ok((columns, Some(rows)))
    }

    /// Sends on what a scan of the index finds; `row_of` gives the row of the chunk for a row of the scan.
    fn scan(
        &self,
        scope: Scope<'_, '_>,
        chunk: &Chunk,
        scan: &IndexScan,
        row_of: &dyn Fn(u32) -> u32,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let runtime = scope.runtime;
        let view = runtime.view();
        let (mut cursor, mut batch) = (view.view().index_scan(scan)?, IndexBatch::default());
        while cursor.next(&mut batch)? {
            runtime.environment.interrupt.check()?;
            let rows: Vec<u32> = batch.inputs.iter().map(|&input| row_of(input)).collect();
            let mut columns = gather_columns(chunk, &self.keep, &rows);
            if self.gives_slot {
                columns.push(Arc::new(found_column(self.on_edges, &mut batch.nodes, &mut batch.edges)));
            }
            if sink(Chunk { rows: rows.len(), columns })? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

fn found_column(on_edges: bool, nodes: &mut Vec<NodeId>, edges: &mut Vec<EdgeValue>) -> Column {
    if on_edges {
        Column::new(ColumnData::Edge(std::mem::take(edges)))
    } else {
        Column::new(ColumnData::Node(std::mem::take(nodes)))
    }
}

impl Physical for IndexSeek {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        self.input.run(scope, &mut |chunk| {
            runtime.environment.interrupt.check()?;
            let Some(index) = self.index(runtime) else { return Ok(Flow::Continue) };
            let (equal, rows) = self.equal_values(scope, &chunk)?;
            let count = rows.as_ref().map_or(chunk.rows, Vec::len);
            let row_of = |row: u32| rows.as_ref().map_or(row, |rows| rows[row as usize]);
            let ranges = self.range.of_rows(scope, &chunk)?;
            if matches!(self.range, Range::All) {
                let (rows, range, order) = (count, KeyRange::All, KeyOrder::Ascending);
                let scan = IndexScan { index, equal, rows, range, order };
                return self.scan(scope, &chunk, &scan, &row_of, sink);
            }
            for row in 0..count {
                let Some(Some(range)) = ranges.get(row_of(row as u32) as usize).cloned() else { continue };
                let equal = equal.iter().map(|column| column.slice(row, row + 1)).collect();
                let scan = IndexScan { index: index.clone(), equal, rows: 1, range, order: KeyOrder::Ascending };
                if self.scan(scope, &chunk, &scan, &|_| row_of(row as u32), sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Continue)
        })
    }
}
