//! `Sort`: all rows in order; equal rows stay in the order in which they came. Rows that do not fit are sorted on disk.

use crate::pushing::push_rows;
use cypher::plan::{Operator, SortKey};
use model::Result;

use crate::chunk::{Chunk, Layout};
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, keep};
use crate::operators::gather;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::sorting::{Key, sorted_rows};
use crate::spill::{Sorted, Sorter};

struct Sort {
    input: Step,
    keys: SortKeys,
    keep: Vec<usize>,
    width: usize,
}

/// Sort keys, compiled.
pub(crate) struct SortKeys(Vec<(CompiledExpression, bool)>);

impl SortKeys {
    /// Compiles sort keys over rows of that layout.
    pub(crate) fn compile(lowering: &mut Lowering, keys: &[SortKey], layout: &Layout) -> Result<SortKeys> {
        let compile = |key: &SortKey| Ok((lowering.compile(&key.expression, layout)?, key.descending));
        Ok(SortKeys(keys.iter().map(compile).collect::<Result<_>>()?))
    }

    /// The keys of all rows of a chunk.
    pub(crate) fn evaluate(&self, scope: Scope<'_, '_>, chunk: &Chunk) -> Result<Vec<Key>> {
        let view = scope.runtime.view();
        let context = scope.runtime.evaluation(&view);
        let evaluate = |(expression, descending): &(CompiledExpression, bool)| {
            Ok(Key { column: expression.evaluate(chunk, &context)?, descending: *descending })
        };
        self.0.iter().map(evaluate).collect()
    }
}

/// Adds to a demand the columns that sorting reads.
pub(crate) fn demand_of_keys(demand: &Demand, keys: &[SortKey]) -> Demand {
    let below = Demand { few: false, ..demand.clone() };
    keys.iter().fold(below, |demand, key| demand.and_expression(&key.expression))
}

/// Lowers `Sort`.
pub(crate) fn lower(lowering: &mut Lowering, input: &Operator, keys: &[SortKey], demand: &Demand) -> Result<Lowered> {
    let (input, layout) = gather::lower(lowering, input, &demand_of_keys(demand, keys))?;
    let keys = SortKeys::compile(lowering, keys, &layout)?;
    let (keep, kept) = keep(&layout, demand);
    Ok((Box::new(Sort { input, keys, keep, width: layout.len() }), kept))
}

impl Physical for Sort {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let interrupt = scope.runtime.environment.interrupt;
        let keys = |chunk: &Chunk| self.keys.evaluate(scope, chunk);
        let mut sorter = Sorter::new(scope.runtime.charge("Sort"), self.width, usize::MAX);
        self.input.run(scope, &mut |chunk| {
            interrupt.check()?;
            sorter.push(chunk, &keys, interrupt)?;
            Ok(Flow::Continue)
        })?;
        scope.runtime.announce(None);
        match sorter.finish(&keys, interrupt)? {
            Sorted::InMemory(chunk, _charge) => {
                let order = sorted_rows(&keys(&chunk)?, chunk.rows, interrupt)?;
                scope.runtime.announce(Some(chunk.rows as u64));
                push_rows(scope, &chunk, &self.keep, &order, sink)
            }
            Sorted::Runs(runs) => runs.push(&self.keep, interrupt, sink),
        }
    }
}
