//! `Merge`: for each row in turn, the matches of a pattern; if there is none, creates it.
//!
//! A pattern of one node, or of one edge between bound nodes, with its properties written out, is merged for all rows
//! at once ([`batch`]): rows with the same ends and properties are the same to it, and what one row creates is seen by
//! those rows only. Everything else goes row by row.

mod batch;

use std::sync::Arc;

use cypher::plan::{OperatorKind, SetItem, SlotId};
use model::{Column, Result};

use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::liveness::{add_arguments, add_creation, add_expression, add_set_items};
use crate::lowering::{Demand, Lowered, Lowering, Slots, column_of, keep, misplaced};
use crate::nested::Nested;
use crate::rows::{RowBuffer, share_columns};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::writing::change_all;
use crate::writing::changes::Changes;
use crate::writing::creation::{Creation, NullProperties, created_slots};

struct Merge {
    input: Step,
    /// Columns of the input.
    width: usize,
    matching: Nested,
    /// The columns of the subplan that hold what is created otherwise, in order of creation; none where nobody reads it.
    matched: Vec<Option<usize>>,
    creation: Creation,
    path: Option<CompiledExpression>,
    on_create: Changes,
    on_match: Changes,
    batch: Option<batch::BatchKey>,
    keep: Vec<usize>,
}

/// Lowers `Merge`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::Merge { input, subplan, slots, nodes, edges, path, on_create, on_match } = kind else {
        return Err(misplaced(kind));
    };
    let created: Vec<SlotId> = created_slots(nodes, edges);
    let mut own = Slots::new();
    add_creation(nodes, edges, &mut own);
    add_arguments(subplan, &mut own);
    add_set_items(on_create, &mut own);
    add_set_items(on_match, &mut own);
    if let Some((_, path)) = path {
        add_expression(path, &mut own);
    }
    let read: Slots =
        created.iter().filter(|&slot| demand.slots.contains(slot) || own.contains(slot)).copied().collect();
    let bound = created.iter().chain(slots).chain(path.iter().map(|(slot, _)| slot));
    let below = demand.clone().of_every_row().and_slots(&own).without(bound);
    let (input, mut layout) = lowering.lower(input, &below)?;
    let width = layout.len();
    let (matching, inner) = Nested::lower(lowering, subplan, &layout, &Demand::all(read.clone()))?;
    let column = |slot: &SlotId| if read.contains(slot) { column_of(&inner, *slot).map(Some) } else { Ok(None) };
    let matched = created.iter().map(column).collect::<Result<_>>()?;
    let items: Vec<&SetItem> = on_create.iter().chain(on_match).collect();
    let batch = batch::BatchKey::compile(lowering, subplan, (nodes, edges), &items, &layout)?;
    let creation = Creation::compile(lowering, nodes, edges, &mut layout)?;
    let path = match path {
        Some((slot, expression)) => {
            let compiled = lowering.compile(expression, &layout)?;
            layout.push(*slot);
            Some(compiled)
        }
        None => None,
    };
    let on_create = Changes::compile(lowering, on_create, &layout)?;
    let on_match = Changes::compile(lowering, on_match, &layout)?;
    let (keep, layout) = keep(&layout, demand);
    let merge = Merge { input, width, matching, matched, creation, path, on_create, on_match, batch, keep };
    Ok((Box::new(merge), layout))
}

impl Merge {
    /// The matches of the rows of a chunk: the chunk's rows, with the columns of what was matched.
    fn matches(&self, scope: Scope<'_, '_>, chunk: &Chunk) -> Result<(Chunk, Vec<u32>)> {
        let mut found = RowBuffer::default();
        let mut origins = Vec::new();
        self.matching.run(scope.runtime, chunk, &mut |inner, rows| {
            origins.extend_from_slice(rows);
            let column = |column: &Option<usize>| match column {
                Some(column) => Arc::clone(&inner.columns[*column]),
                None => Arc::new(Column::nulls(inner.rows)),
            };
            found.push(Chunk { rows: inner.rows, columns: self.matched.iter().map(column).collect() });
            Ok(Flow::Continue)
        })?;
        let found = found.finish(self.matched.len());
        let mut joined = chunk.gather(&origins);
        joined.columns.extend(found.columns);
        Ok((joined, origins))
    }

    /// Adds the path to rows that have everything else.
    fn add_path(&self, scope: Scope<'_, '_>, chunk: &mut Chunk) -> Result<()> {
        if let Some(path) = &self.path {
            let column = {
                let view = scope.runtime.view();
                path.evaluate(chunk, &scope.runtime.evaluation(&view))?
            };
            chunk.columns.push(column);
        }
        Ok(())
    }

    /// Creates the pattern for the rows of a chunk.
    fn create(&self, scope: Scope<'_, '_>, mut chunk: Chunk) -> Result<Chunk> {
        self.creation.run(scope, &mut chunk, NullProperties::Refuse)?;
        self.add_path(scope, &mut chunk)?;
        Ok(chunk)
    }

    fn row_by_row(&self, scope: Scope<'_, '_>, input: &Chunk) -> Result<Chunk> {
        let mut output = RowBuffer::default();
        for row in 0..input.rows {
            scope.runtime.environment.interrupt.check()?;
            let chunk = input.slice(row, row + 1);
            let (mut matched, _) = self.matches(scope, &chunk)?;
            if matched.rows > 0 {
                self.add_path(scope, &mut matched)?;
                self.on_match.run(scope, &matched)?;
                output.push(matched);
            } else {
                let created = self.create(scope, chunk)?;
                self.on_create.run(scope, &created)?;
                output.push(created);
            }
        }
        Ok(output.finish(self.full_width()))
    }

    fn full_width(&self) -> usize {
        self.width + self.matched.len() + usize::from(self.path.is_some())
    }
}

impl Physical for Merge {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut work = |input: Chunk| {
            let merged = match &self.batch {
                Some(key) if input.rows > 1 => self.in_one_batch(scope, &input, key)?,
                _ => None,
            };
            let merged = match merged {
                Some(merged) => merged,
                None => self.row_by_row(scope, &input)?,
            };
            Ok(Chunk { rows: merged.rows, columns: share_columns(&merged, &self.keep) })
        };
        change_all((&self.input, self.width, false), scope, "Merge", &mut work, sink)
    }
}
