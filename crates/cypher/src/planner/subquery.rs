//! `CALL { … }` and `FOREACH` as operators: subplans that run for each row.

use crate::binder::Hint;
use crate::binder::SubqueryPlanner;
use crate::catalog::CompileContext;
use crate::optimizer::{OptimizerConfig, PatternPlanner};
use crate::slots::Slots;
use std::sync::Arc;

use model::{Map, Result, Set};

use super::cost::CostModel;
use super::{Planner, Stream, operator};
use crate::binder::tree::{BoundClause, BoundSubquery, BoundUnion, QueryGraph};
use crate::plan::ExpressionKind as Kind;
use crate::plan::{Expression, ForEachResult, NewEdge, NewNode, Operator, OperatorKind, SetItem, SlotId};

impl Planner<'_> {
    /// Plans a query that runs for one row of the plan around it, whose slots are `outer`; `imports` are those of them
    /// that stay visible throughout.
    pub(crate) fn union_within(
        &mut self,
        union: BoundUnion,
        outer: &Set<SlotId>,
        labels: &Map<SlotId, Vec<Arc<str>>>,
        imports: &[SlotId],
        wanted: &[SlotId],
    ) -> Result<Stream> {
        let slots: Vec<SlotId> = union.columns.iter().map(|(_, slot)| *slot).collect();
        let mut branches = Vec::new();
        let mut last = Stream::unit();
        for part in union.parts {
            let columns: Vec<SlotId> = part.columns.iter().map(|(_, slot)| *slot).collect();
            let mut stream = Stream::argument(outer, labels.clone());
            stream.imports = imports.to_vec();
            let mut clauses = part.clauses;
            let ends_in_projection = matches!(clauses.last(), Some(BoundClause::Project(_)));
            let end = if ends_in_projection { clauses.pop() } else { None };
            self.clauses(clauses, &mut stream)?;
            stream.ends = true;
            end.into_iter().try_for_each(|end| self.clause(end, &mut stream))?;
            last = stream.clone();
            let wanted = if wanted.is_empty() { &columns } else { wanted };
            branches.push((stream.into_subplan(outer, wanted), columns));
        }
        if branches.len() == 1 {
            last.operator = branches.swap_remove(0).0;
            return Ok(last);
        }
        let rows: f64 = branches.iter().map(|(branch, _)| branch.estimated_rows).sum();
        last.operator = operator(OperatorKind::Union { branches, slots: slots.clone() }, rows);
        last.labels = labels.clone();
        if !union.all {
            last.push(rows, |input| OperatorKind::Distinct { input, slots });
        }
        Ok(last)
    }

    pub(super) fn subquery(&mut self, stream: &mut Stream, subquery: BoundSubquery) -> Result<()> {
        let BoundSubquery { query, imports, optional, writes, is_unit, batches } = subquery;
        let outer = stream.bound.clone();
        let columns: Vec<SlotId> = query.columns.iter().map(|(_, slot)| *slot).collect();
        let is_atomic = is_unit && is_atomic(&query);
        let inner = self.union_within(query, &outer, &stream.labels, &imports, &columns)?;
        let rows = match (is_unit, optional) {
            (true, _) => stream.rows(),
            (false, true) => stream.rows() * inner.rows().max(1.0),
            (false, false) => stream.rows() * inner.rows(),
        };
        for &column in &columns {
            if let Some(labels) = inner.labels.get(&column) {
                stream.labels.insert(column, labels.clone());
            }
        }
        stream.bound.extend(columns.iter().copied());
        if writes || batches.is_some() {
            stream.writes = true;
            stream.bound.extend(batches.iter().filter_map(|batches| batches.status));
            let result = match (is_unit, optional) {
                (true, _) if is_atomic => ForEachResult::IgnoredAtOnce,
                (true, _) => ForEachResult::Ignored,
                (false, true) => ForEachResult::Optional,
                (false, false) => ForEachResult::Joined,
            };
            let subplan = Box::new(inner.operator);
            stream.push(rows, |input| OperatorKind::ForEach { input, subplan, slots: columns, result, batches });
            return Ok(());
        }
        if is_unit {
            // It neither writes nor gives anything.
            return Ok(());
        }
        if optional {
            let subplan = Box::new(inner.operator);
            stream.push(rows, |input| OperatorKind::Optional { input, subplan, slots: columns });
            return Ok(());
        }
        self.apply(stream, inner.operator, rows);
        Ok(())
    }

    /// Joins rows with those of a subplan; one that is the same for all rows is run once.
    pub(super) fn apply(&self, stream: &mut Stream, mut subplan: Operator, rows: f64) {
        let is_correlated = subplan.is_correlated();
        let is_first = matches!(stream.operator.kind, OperatorKind::Unit);
        let may_run_once = is_first || self.config.hash_joins && !stream.writes && !subplan.is_random();
        if is_correlated || !may_run_once {
            let subplan = Box::new(subplan);
            stream.push(rows, |input| OperatorKind::Apply { input, subplan });
            return;
        }
        start_alone(&mut subplan);
        if is_first {
            stream.operator = subplan;
            return;
        }
        let right = Box::new(subplan);
        stream.push(rows, |left| OperatorKind::CrossProduct { left, right });
    }

    pub(super) fn foreach(
        &mut self,
        stream: &mut Stream,
        list: Expression,
        slot: SlotId,
        body: Vec<BoundClause>,
    ) -> Result<()> {
        let outer = stream.bound.clone();
        let mut inner = Stream::argument(&outer, stream.labels.clone());
        let is_stable = is_stable(&list, &body);
        let is_atomic = is_atomic_body(&body);
        self.clause(BoundClause::Unwind { list, slot }, &mut inner)?;
        if is_atomic {
            self.clauses(body, &mut inner)?;
        } else {
            let around = inner.bound.clone();
            let mut element = Stream::argument(&around, inner.labels.clone());
            self.clauses(body, &mut element)?;
            for_each(&mut inner, element.into_subplan(&around, &[]), ForEachResult::Ignored);
        }
        let at_once = is_stable && is_atomic;
        let result = if at_once { ForEachResult::IgnoredAtOnce } else { ForEachResult::Ignored };
        for_each(stream, inner.into_subplan(&outer, &[]), result);
        Ok(())
    }
}

/// Runs a subplan for each row, whose rows do not matter.
fn for_each(stream: &mut Stream, subplan: Operator, result: ForEachResult) {
    let (subplan, slots) = (Box::new(subplan), Vec::new());
    stream.writes = true;
    stream.push(stream.rows(), |input| OperatorKind::ForEach { input, subplan, slots, result, batches: None });
}

/// True if a subquery gives the same when each of its clauses runs for all rows before the next.
fn is_atomic(query: &BoundUnion) -> bool {
    match query.parts.as_slice() {
        [part] => is_atomic_body(&part.clauses),
        _ => false,
    }
}

/// A single clause that writes works as if row by row. So do several that create only, if what they compute depends
/// on nothing that the graph holds.
fn is_atomic_body(clauses: &[BoundClause]) -> bool {
    match clauses {
        [BoundClause::Foreach { list, body, .. }] => is_stable(list, body) && is_atomic_body(body),
        [BoundClause::Unwind { list, .. }, rest @ ..] => is_stable(list, rest) && is_atomic_body(rest),
        [BoundClause::Create { nodes, edges }] => !maps(nodes, edges).any(Expression::has_subquery),
        [BoundClause::Set(_) | BoundClause::Merge(_) | BoundClause::Delete { .. }] => true,
        _ => clauses.iter().all(|clause| match clause {
            BoundClause::Create { nodes, edges } => {
                !maps(nodes, edges).any(|map| any_part(map, &mut |part| reads_graph(&part.kind)))
            }
            _ => false,
        }),
    }
}

fn maps<'a>(nodes: &'a [NewNode], edges: &'a [NewEdge]) -> impl Iterator<Item = &'a Expression> {
    let of_nodes = nodes.iter().filter_map(|node| node.properties.as_ref());
    let of_edges = edges.iter().flat_map(|edge| [edge.properties.as_ref(), edge.computed_type.as_ref()]);
    of_nodes.chain(of_edges.flatten())
}

/// True if clauses that write do not change what an expression gives for a later row.
fn is_stable(list: &Expression, body: &[BoundClause]) -> bool {
    !any_part(list, &mut |part| match &part.kind {
        Kind::Property { key, .. } => body.iter().any(|clause| may_write(clause, key)),
        kind => reads_graph(kind),
    })
}

/// True if a clause may write properties of that key of what was there before.
fn may_write(clause: &BoundClause, key: &str) -> bool {
    let writes = |item: &SetItem| match item {
        SetItem::Property { key: written, .. } => **written == *key,
        SetItem::Replace { .. } | SetItem::Merge { .. } => true,
        _ => false,
    };
    match clause {
        BoundClause::Create { .. } => false,
        BoundClause::Set(items) => items.iter().any(writes),
        BoundClause::Merge(merge) => merge.on_create.iter().chain(&merge.on_match).any(writes),
        BoundClause::Foreach { body, .. } => body.iter().any(|clause| may_write(clause, key)),
        _ => true,
    }
}

/// True if an expression itself, apart from its operands, may look into nodes and edges.
fn reads_graph(kind: &Kind) -> bool {
    const READING: &[&str] = &["properties", "keys", "labels", "degree", "exists"];
    match kind {
        Kind::Property { .. } | Kind::Subscript { .. } | Kind::MapProjection { .. } => true,
        Kind::HasLabels { .. } | Kind::Subquery { .. } => true,
        Kind::Function { name, .. } => READING.iter().any(|known| known.eq_ignore_ascii_case(name)),
        _ => false,
    }
}

/// True if it is so of an expression or of any below it.
fn any_part(value: &Expression, is_so: &mut dyn FnMut(&Expression) -> bool) -> bool {
    is_so(value) || value.operands().into_iter().any(|operand| any_part(operand, is_so))
}

/// Makes a subplan that takes nothing from the row around it a plan of its own.
fn start_alone(plan: &mut Operator) {
    match &mut plan.kind {
        OperatorKind::Argument { .. } => plan.kind = OperatorKind::Unit,
        OperatorKind::Union { branches, .. } => branches.iter_mut().for_each(|(branch, _)| start_alone(branch)),
        OperatorKind::CrossProduct { left, right } | OperatorKind::HashJoin { left, right, .. } => {
            start_alone(left);
            start_alone(right);
        }
        _ => {
            if let Some(input) = plan.inputs_mut().into_iter().next() {
                start_alone(input);
            }
        }
    }
}

/// Plans the subqueries of expressions for the binder.
pub(crate) struct Subqueries<'a> {
    pub(crate) context: &'a CompileContext<'a>,
    pub(crate) config: &'a OptimizerConfig,
}

impl SubqueryPlanner for Subqueries<'_> {
    fn of_union(
        &self,
        slots: &mut Slots,
        union: BoundUnion,
        outer: &Set<SlotId>,
        imports: &[SlotId],
        wanted: &[SlotId],
    ) -> Result<(Operator, Vec<Hint>)> {
        let mut planner = Planner::new(self.context, self.config, slots);
        let plan = planner.union_within(union, outer, &Map::default(), imports, wanted)?.operator;
        Ok((plan, planner.unmet))
    }

    fn of_clauses(
        &self,
        slots: &mut Slots,
        clauses: Vec<BoundClause>,
        outer: &Set<SlotId>,
        wanted: &[SlotId],
    ) -> Result<Operator> {
        Planner::new(self.context, self.config, slots).subplan(clauses, outer, wanted)
    }
}

impl PatternPlanner for Subqueries<'_> {
    fn plan(&self, slots: &mut Slots, graph: QueryGraph, read_once: Option<SlotId>) -> Result<Operator> {
        Planner::new(self.context, self.config, slots).pattern(graph, read_once)
    }

    fn edges(&self, types: &[Arc<str>]) -> f64 {
        CostModel::new(self.context).edges(types)
    }
}
