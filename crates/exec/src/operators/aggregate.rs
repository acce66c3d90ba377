//! `Aggregate`: one row for each group, in order of first appearance; without keys, one row in any case.
//!
//! Groups are numbered by a hash table over key columns; each aggregate function holds the states of all groups as
//! columns. Large scans are aggregated by several threads in parts, which are merged in order of the scan. Groups that do
//! not fit into memory are put away ([`spilled`]); of a group that does not fit the values are put aside ([`values`]).

mod edge_count;
mod metadata_count;
mod runs;
mod spilled;
mod state;
mod through_expand;
mod values;

use crate::pushing::push_in_batches;
use std::sync::Arc;

use cypher::plan::{Aggregate as PlanAggregate, Operator, OperatorKind, SlotId};
use model::{Column, Interrupt, Result, Span};

use crate::aggregates::{self, Aggregator};
use crate::chunk::Layout;
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowered, Lowering, Slots, column_of, liveness, misplaced};
use crate::memory::Charge;
use crate::operators::expand::degree_count;
use crate::operators::intersect;
use crate::parallel::spread::{self, SpreadPipeline};
use crate::parallel::{self, ScanPipeline};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use spilled::Gathering;
use through_expand::{Far, ThroughExpand};
use values::Room;

pub(crate) struct Aggregate {
    input: Step,
    keys: Vec<CompiledExpression>,
    /// The columns that the keys read, if keys are nothing but slots and their properties.
    key_columns: Option<Vec<usize>>,
    functions: Vec<Function>,
    /// The column that says for how many rows each row stands.
    weight: Option<usize>,
    pipeline: Option<ScanPipeline>,
    spread: Option<SpreadPipeline>,
    /// Another way to take the rows in, where it pays.
    through_expand: Option<ThroughExpand>,
}

/// An aggregate function with its arguments.
struct Function {
    name: Arc<str>,
    distinct: bool,
    arguments: Vec<CompiledExpression>,
    span: Span,
}

impl Function {
    /// True if it is `count(*)`.
    fn counts_rows(&self) -> bool {
        self.arguments.is_empty() && &*self.name == "count"
    }

    /// True if it takes the number of rows that each row stands for.
    fn takes_weight(&self) -> bool {
        is_weighed(&self.name, self.distinct, self.arguments.len())
    }

    /// Its states, of no groups yet.
    fn state(&self) -> Result<Box<dyn Aggregator>> {
        let state = aggregates::create(&self.name, self.distinct, self.arguments.len());
        state.map_err(|error| error.at(self.span))
    }
}

/// True if a function can take the number of rows that each row stands for besides its arguments.
fn is_weighed(name: &str, distinct: bool, arguments: usize) -> bool {
    !distinct && matches!((name, arguments), ("count", 0) | ("sum" | "avg", 1))
}

/// Lowers `Aggregate`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::Aggregate { input, keys, aggregates } = kind else { return Err(misplaced(kind)) };
    let mut slots = Slots::new();
    keys.iter().for_each(|(_, key)| liveness::add_expression(key, &mut slots));
    let wanted: Vec<&PlanAggregate> = aggregates.iter().filter(|item| demand.slots.contains(&item.slot)).collect();
    wanted.iter().flat_map(|item| &item.arguments).for_each(|argument| liveness::add_expression(argument, &mut slots));
    let pipeline = parallel::scan_pipeline(input);
    let counted = if keys.is_empty() { metadata_count::Counted::of(lowering, input, &wanted)? } else { None };
    let plan = input;
    let (input, layout, weight, spread) = lower_input(lowering, plan, slots, &wanted)?;
    let through_expand = if weight.is_none() { ThroughExpand::lower(lowering, plan, keys, &wanted)? } else { None };
    let mut output = Layout::default();
    let mut compiled_keys = Vec::with_capacity(keys.len());
    for (slot, key) in keys {
        compiled_keys.push(lowering.compile(key, &layout)?);
        output.push(*slot);
    }
    let mut functions = Vec::with_capacity(wanted.len());
    for item in wanted {
        let arguments = item.arguments.iter().map(|argument| lowering.compile(argument, &layout));
        let arguments = arguments.collect::<Result<_>>()?;
        functions.push(Function { name: item.function.clone(), distinct: item.distinct, arguments, span: item.span });
        output.push(item.slot);
    }
    let weight = weight.map(|weight| column_of(&layout, weight)).transpose()?;
    let key_columns = runs::columns(keys, &layout);
    let aggregate =
        Aggregate { input, keys: compiled_keys, key_columns, functions, weight, pipeline, spread, through_expand };
    match counted {
        Some(counted) => Ok((Box::new(metadata_count::MetadataCount { counted, otherwise: aggregate }), output)),
        None => Ok((Box::new(aggregate), output)),
    }
}

/// Lowers the input: counted, if only the number of its rows matters besides what is bound below its last step.
fn lower_input(
    lowering: &mut Lowering,
    input: &Operator,
    slots: Slots,
    aggregates: &[&PlanAggregate],
) -> Result<(Step, Layout, Option<SlotId>, Option<SpreadPipeline>)> {
    let ignores_repeats = |item: &&PlanAggregate| item.ignores_repeats();
    let is_weighed = |item: &&PlanAggregate| is_weighed(&item.function, item.distinct, item.arguments.len());
    let demand = Demand { slots, multiplicity: !aggregates.iter().all(ignores_repeats), few: false };
    if demand.multiplicity && aggregates.iter().all(|item| ignores_repeats(item) || is_weighed(item)) {
        let counted = match degree_count::lower(lowering, input, &demand)? {
            None => intersect::lower_counted(lowering, input, &demand)?,
            counted => counted,
        };
        if let Some((step, layout, weight)) = counted {
            return Ok((step, layout, Some(weight), None));
        }
    }
    let spread = spread::spread_pipeline(input);
    let before = std::mem::replace(&mut lowering.spread, spread);
    let (step, layout) = lowering.lower(input, &demand)?;
    lowering.spread = before;
    Ok((step, layout, None, spread))
}

impl Aggregate {
    /// Takes all rows of the input in.
    fn accumulate<'m>(
        &self,
        scope: Scope<'_, '_>,
        charge: Charge<'m>,
        far: Option<(&ThroughExpand, &Far)>,
    ) -> Result<Gathering<'m>> {
        let runtime = scope.runtime;
        let mut gathering = Gathering::new(self, charge, 0)?;
        if let Some((through_expand, far)) = far {
            through_expand.accumulate(self, far, scope, &mut gathering)?;
            return Ok(gathering);
        }
        self.input.run(scope, &mut |chunk| {
            runtime.environment.interrupt.check()?;
            let view = runtime.view();
            let context = runtime.evaluation(&view);
            let evaluate = |expression: &CompiledExpression| expression.evaluate(&chunk, &context);
            let state = &mut gathering.state;
            match self.key_columns.as_ref().and_then(|columns| runs::find(&chunk, columns)) {
                Some(runs) => {
                    let keys = self.keys.iter().map(|key| key.evaluate(&runs.chunk, &context));
                    state.assign_runs(keys.collect::<Result<_>>()?, &runs);
                }
                None => {
                    let keys: Vec<Arc<Column>> = self.keys.iter().map(evaluate).collect::<Result<_>>()?;
                    state.assign(keys, chunk.rows);
                }
            }
            for (index, function) in self.functions.iter().enumerate() {
                if function.counts_rows() {
                    state.count(index, chunk.rows, self.weight.map(|weight| &*chunk.columns[weight]));
                } else {
                    let mut arguments: Vec<_> = function.arguments.iter().map(evaluate).collect::<Result<_>>()?;
                    if let Some(weight) = self.weight.filter(|_| function.takes_weight()) {
                        arguments.push(chunk.columns[weight].clone());
                    }
                    state.update(index, chunk.rows, &arguments).map_err(|error| error.at(function.span))?;
                }
            }
            gathering.account(self, chunk.rows, runtime.environment.interrupt)?;
            Ok(Flow::Continue)
        })?;
        gathering.look(self, runtime.environment.interrupt)?;
        Ok(gathering)
    }

    /// Puts the groups of the parts of a scan together, in order; what does not fit goes on as it is.
    fn merge<'r>(&self, parts: Vec<Gathering<'r>>, interrupt: &Interrupt) -> Result<Vec<Gathering<'r>>> {
        let mut merged: Vec<Gathering<'r>> = Vec::with_capacity(1);
        for mut part in parts {
            match merged.last_mut() {
                Some(last) if last.put_away.is_none() && part.put_away.is_none() => {
                    last.state.merge(part.state, &last.charge)?;
                    part.charge.count(0);
                    last.look(self, interrupt)?;
                }
                _ => merged.push(part),
            }
        }
        Ok(merged)
    }
}

impl Physical for Aggregate {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let charge = scope.runtime.charge("Aggregate");
        let mut held = charge.another();
        let far = match &self.through_expand {
            Some(through_expand) => through_expand.far(scope.runtime, &mut held)?.map(|far| (through_expand, far)),
            None => None,
        };
        if far.is_none() {
            held.count(0);
        }
        let far_of = far.as_ref().map(|(through_expand, far)| (*through_expand, far));
        let accumulate = |scope: Scope<'_, '_>| self.accumulate(scope, charge.another(), far_of);
        let parts = match &self.pipeline {
            Some(pipeline) => parallel::run(scope, pipeline, &accumulate)?,
            None => None,
        };
        let parts = match (parts, self.spread) {
            (Some(parts), _) => parts,
            (None, Some(pipeline)) => spread::run(scope, pipeline, &accumulate)?,
            (None, None) => vec![accumulate(scope)?],
        };
        let mut gathered = self.merge(parts, scope.runtime.environment.interrupt)?;
        drop((far, held));
        if gathered.len() == 1 && gathered[0].put_away.is_none() {
            gathered[0].make_room()?;
            let Gathering { state, charge, .. } = gathered.remove(0);
            let room = Room { charge: &charge, interrupt: scope.runtime.environment.interrupt };
            let groups = state.finish(self, room)?;
            scope.runtime.announce(Some(groups.rows as u64));
            return push_in_batches(scope, groups, sink);
        }
        scope.runtime.announce(None);
        self.push_spilled(scope, gathered, sink)
    }
}
