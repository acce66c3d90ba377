//! `Delete`: for each row, deletes nodes, edges and paths. All rows are read before the first deletion.

use cypher::plan::{Expression, Operator};
use model::limits::BATCH_ROWS;
use model::store::EdgeIds;
use model::{Column, Direction, EdgeBatch, EdgeId, Expand, NodeId, Result, Span, Value};

use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::pushing::push_in_batches;
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::spill::{RowStore, SortedNumbers};

/// Nodes or edges that are deleted at a time.
const PIECE: usize = BATCH_ROWS;

struct Delete {
    input: Step,
    expressions: Vec<(CompiledExpression, Span)>,
    detach: bool,
    width: usize,
    keep: Vec<usize>,
}

/// Lowers `Delete`.
pub(crate) fn lower(
    lowering: &mut Lowering,
    input: &Operator,
    expressions: &[Expression],
    detach: bool,
    demand: &Demand,
) -> Result<Lowered> {
    let below = demand.clone().of_every_row();
    let below = expressions.iter().fold(below, |below, expression| below.and_expression(expression));
    let (input, layout) = lowering.lower(input, &below)?;
    let compile = |expression: &Expression| Ok((lowering.compile(expression, &layout)?, expression.span));
    let expressions = expressions.iter().map(compile).collect::<Result<_>>()?;
    let width = layout.len();
    let (keep, layout) = keep(&layout, demand);
    Ok((Box::new(Delete { input, expressions, detach, width, keep }), layout))
}

/// The ids of what is to be deleted.
struct Doomed<'m> {
    nodes: SortedNumbers<'m>,
    edges: SortedNumbers<'m>,
}

/// The nodes and edges that one row names.
#[derive(Default)]
struct Named {
    nodes: Vec<NodeId>,
    edges: Vec<EdgeId>,
}

impl Named {
    fn add(&mut self, column: &Column, span: Span) -> Result<()> {
        for value in column.values() {
            match value {
                Value::Null => {}
                Value::Node(node) => self.nodes.push(node),
                Value::Edge(edge) => self.edges.push(edge.id),
                Value::Path(path) => {
                    self.nodes.extend(&path.nodes);
                    self.edges.extend(path.edges.iter().map(|edge| edge.id));
                }
                other => {
                    let kind = other.type_name();
                    let message = format!("only a node, relationship or path can be deleted, found {kind}");
                    return Err(model::Error::new(model::ErrorCode::Type, message).at(span));
                }
            }
        }
        Ok(())
    }
}

impl Delete {
    fn add_doomed(&self, scope: Scope<'_, '_>, chunk: &Chunk, doomed: &mut Doomed<'_>) -> Result<()> {
        let interrupt = scope.runtime.environment.interrupt;
        interrupt.check()?;
        let view = scope.runtime.view();
        let context = scope.runtime.evaluation(&view);
        let mut named = Named::default();
        for (expression, span) in &self.expressions {
            named.add(&*expression.evaluate(chunk, &context)?, *span)?;
        }
        named.nodes.sort_unstable();
        named.nodes.dedup();
        if self.detach && !named.nodes.is_empty() {
            let expand = Expand { direction: Direction::Both, edge_ids: EdgeIds::Include, ..Expand::default() };
            let mut cursor = view.view().expand(&named.nodes, &expand)?;
            let mut batch = EdgeBatch::default();
            while cursor.next(&mut batch)? {
                interrupt.check()?;
                doomed.edges.push(batch.edges.iter().map(|edge| edge.0), interrupt)?;
            }
        }
        doomed.nodes.push(named.nodes.iter().map(|node| node.0), interrupt)?;
        doomed.edges.push(named.edges.iter().map(|edge| edge.0), interrupt)
    }

    /// Deletes what is there of it, piece by piece: a store does each piece without a look at the interrupt.
    fn delete(&self, scope: Scope<'_, '_>, doomed: Doomed<'_>) -> Result<()> {
        let interrupt = scope.runtime.environment.interrupt;
        doomed.edges.for_each(interrupt, &mut |numbers| {
            scope.runtime.write(|writer| {
                for piece in numbers.chunks(PIECE) {
                    interrupt.check()?;
                    let edges: Vec<EdgeId> = piece.iter().copied().map(EdgeId).collect();
                    let there = writer.transaction.view().edges_exist(&edges)?.count_ones();
                    if there > 0 {
                        writer.transaction.delete_edges(&edges)?;
                    }
                    writer.counters.edges_deleted += there as u64;
                }
                Ok(())
            })
        })?;
        doomed.nodes.for_each(interrupt, &mut |numbers| {
            scope.runtime.write(|writer| {
                for piece in numbers.chunks(PIECE) {
                    interrupt.check()?;
                    let nodes: Vec<NodeId> = piece.iter().copied().map(NodeId).collect();
                    let there = writer.transaction.view().nodes_exist(&nodes)?.count_ones();
                    if there > 0 {
                        let deleted = writer.transaction.delete_nodes(&nodes);
                        deleted.map_err(|error| match self.expressions.first() {
                            Some((_, span)) => error.at(*span),
                            None => error,
                        })?;
                    }
                    writer.counters.nodes_deleted += there as u64;
                }
                Ok(())
            })
        })
    }
}

impl Physical for Delete {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut store = RowStore::new(scope.runtime.charge("Delete"));
        self.input.run(scope, &mut |chunk| {
            scope.runtime.environment.interrupt.check()?;
            store.push(chunk)?;
            Ok(Flow::Continue)
        })?;
        let rows = store.finish(self.width);
        let ids = || SortedNumbers::new(scope.runtime.charge("Delete"));
        let mut doomed = Doomed { nodes: ids(), edges: ids() };
        rows.for_each(&mut |chunk| {
            self.add_doomed(scope, &chunk, &mut doomed)?;
            Ok(Flow::Continue)
        })?;
        self.delete(scope, doomed)?;
        rows.for_each(&mut |chunk| {
            let chunk = Chunk { rows: chunk.rows, columns: share_columns(&chunk, &self.keep) };
            push_in_batches(scope, chunk, sink)
        })
    }
}
