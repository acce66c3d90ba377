//! `CountMatches`: for each row, in how many ways the trees that hang from its nodes can be matched.
//!
//! A number is worked out from the leaves up. What a tree's nodes stand for is remembered: for the few nodes that rows
//! lead to in a map, for all nodes in an array once rows lead to many ([`tables`]). Numbers stop at what 64 bits hold,
//! and fail only if a row comes to such a one.
//!
//! Cost: each edge of the tree's types is followed once at most, for all rows together; edges to leaves of which nothing
//! is asked are not followed at all, their nodes' degrees are enough; nor are those of types that lead to labelled nodes
//! always or never ([`labelled`]), nor those of nodes that lead nowhere, where few do not ([`reduction`]). Memory: 8 bytes for each node id and inner node of the tree, 16 where a branch must not
//! lead back; where that is refused, little is remembered and more worked out anew ([`low_memory`]).

mod edges_across;
mod evaluation;
mod groups;
mod labelled;
mod lists;
mod low_memory;
mod reduction;
mod row;
mod stored;
mod tables;
mod tree;

use std::sync::Arc;

use cypher::plan::{CountedNode, Operator, OperatorId, OperatorKind, SlotId};
use model::{Column, ColumnData, Result, error};

use crate::chunk::Chunk;
use crate::lowering::{Demand, Lowered, Lowering, column_of, keep, misplaced};
use crate::rows::{nodes_in, pick_columns};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use evaluation::Evaluation;
use tables::Tables;
use tree::{Compiler, Node};

struct CountMatches {
    id: OperatorId,
    input: Step,
    /// Each tree and the column of its root.
    trees: Vec<(usize, Node)>,
    /// No node is the root of two rows.
    has_distinct_roots: bool,
    tables: usize,
    lists: usize,
    keep: Vec<usize>,
    gives_count: bool,
}

/// Lowers `CountMatches`.
pub(crate) fn lower(
    lowering: &mut Lowering,
    plan: &Operator,
    input: &Operator,
    count: SlotId,
    trees: &[CountedNode],
    demand: &Demand,
) -> Result<Lowered> {
    if !matches!(plan.kind, OperatorKind::CountMatches { .. }) {
        return Err(misplaced(&plan.kind));
    }
    let roots: Vec<SlotId> = trees.iter().map(|tree| tree.slot).collect();
    let has_distinct_roots = matches!(roots.as_slice(), [root] if is_scan_of(input, *root));
    let gives_count = demand.slots.contains(&count);
    let below = demand.clone().without([&count]).and_slots(&roots);
    let (input, layout) = lowering.lower(input, &if gives_count { below.of_every_row() } else { below })?;
    let mut compiler = Compiler::new(lowering);
    let mut compiled = Vec::with_capacity(trees.len());
    for tree in trees {
        compiled.push((column_of(&layout, tree.slot)?, compiler.node(tree)?));
    }
    let (tables, lists) = (compiler.tables, compiler.lists);
    let (keep, mut layout) = keep(&layout, demand);
    if gives_count {
        layout.push(count);
    }
    let operator =
        CountMatches { id: plan.id, input, trees: compiled, has_distinct_roots, tables, lists, keep, gives_count };
    Ok((Box::new(operator), layout))
}

/// True if the plan gives each node of a slot once.
fn is_scan_of(plan: &Operator, slot: SlotId) -> bool {
    match &plan.kind {
        OperatorKind::NodeScan { input, slot: scanned, .. } => {
            *scanned == slot && matches!(input.kind, OperatorKind::Unit)
        }
        OperatorKind::IndexSeek { input, slot: found, on_edges: false, .. } => {
            *found == slot && matches!(input.kind, OperatorKind::Unit)
        }
        OperatorKind::Filter { input, .. } => is_scan_of(input, slot),
        _ => false,
    }
}

impl CountMatches {
    /// The number of each row; 0 for a row in which a root is null.
    fn counts(&self, evaluation: &mut Evaluation<'_, '_>, chunk: &Chunk) -> Result<Vec<u64>> {
        let mut counts = vec![1; chunk.rows];
        for (column, tree) in &self.trees {
            let (nodes, rows) = nodes_in(&chunk.columns[*column], "the start of a pattern")?;
            let values = if self.has_distinct_roots {
                evaluation.evaluate(tree, &nodes)?.into_iter().map(|message| message.value).collect()
            } else {
                evaluation.values(tree, &nodes)?
            };
            match rows {
                None => counts.iter_mut().zip(values).for_each(|(count, value)| *count = value.saturating_mul(*count)),
                Some(rows) => {
                    // A null node has no edges, but what is optional is matched without any.
                    let of_null = if tree.matches_null() { 1 } else { 0 };
                    let mut factors = vec![of_null; chunk.rows];
                    rows.iter().zip(values).for_each(|(&row, value)| factors[row as usize] = value);
                    counts.iter_mut().zip(factors).for_each(|(count, value)| *count = value.saturating_mul(*count));
                }
            }
        }
        Ok(counts)
    }
}

impl Physical for CountMatches {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let tables = runtime.shared(self.id, || Tables::new(self.tables, self.lists));
        let mut evaluation = Evaluation::new(runtime, &tables);
        self.input.run(scope, &mut |chunk| {
            runtime.environment.interrupt.check()?;
            let counts = self.counts(&mut evaluation, &chunk)?;
            let is_excess = |count: &u64| self.gives_count && i64::try_from(*count).is_err();
            if let Some(row) = counts.iter().position(is_excess) {
                let found = if counts[row] == u64::MAX { "more" } else { "too many" };
                return Err(error!(Arithmetic, "there are {found} matches of the pattern than a 64-bit integer holds"));
            }
            let rows: Option<Vec<u32>> = counts
                .contains(&0)
                .then(|| (0..counts.len() as u32).filter(|&row| counts[row as usize] != 0).collect());
            let left = rows.as_ref().map_or(chunk.rows, Vec::len);
            if left == 0 {
                return Ok(Flow::Continue);
            }
            let mut columns = pick_columns(&chunk, &self.keep, rows.as_deref());
            if self.gives_count {
                let counts = counts.into_iter().filter(|&count| count != 0).map(|count| count as i64).collect();
                columns.push(Arc::new(Column::new(ColumnData::Int(counts))));
            }
            sink(Chunk { rows: left, columns })
        })
    }
}
