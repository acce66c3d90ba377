//! Bound tree to plan: clause by clause, each pattern in the order that costs least.

use model::{Map, Result, Set, Value};
use std::sync::Arc;

use crate::binder::Hint;
use crate::binder::tree::{BoundCall, BoundClause, BoundMerge, BoundQuery, BoundUnion, QueryGraph};
use crate::catalog::CompileContext;
use crate::optimizer::{OptimizerConfig, sized_lists};
use crate::plan::{
    BinaryOperator, Expression, ExpressionKind, HorizonId, Operator, OperatorId, OperatorKind, SlotId, SubqueryKind,
};
use crate::slots::Slots;

mod bound_edge;
mod cost;
mod graph_order;
mod graph_plan;
mod index_union;
mod intersect;
mod joined_paths;
mod length;
mod order_cost;
mod path_plan;
mod product;
mod projection;
mod read_once;
mod seek;
mod step;
mod subquery;

use length::{LIST_LENGTH, Lengths, known_length, length_in};
pub(crate) use subquery::Subqueries;

/// Turns bound clauses into operators.
pub(crate) struct Planner<'a> {
    context: &'a CompileContext<'a>,
    config: &'a OptimizerConfig,
    slots: &'a mut Slots,
    /// Hints of the query that nothing can follow.
    pub(crate) unmet: Vec<Hint>,
    /// Number of horizons so far.
    horizons: u32,
}

/// Rows on their way through a plan.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) operator: Operator,
    /// The slots that are bound.
    bound: Set<SlotId>,
    /// Labels that nodes are known to carry.
    labels: Map<SlotId, Vec<Arc<str>>>,
    /// Estimated lengths of lists.
    lengths: Lengths,
    /// Something below writes, so nothing that reads may run before it.
    writes: bool,
    /// Slots of the row around a subquery that no projection in it drops.
    imports: Vec<SlotId>,
    /// The next projection is the last one of a subquery: nothing after it uses the imports.
    ends: bool,
    /// These are the rows of the statement, not those of a subplan or of one part of a union.
    is_outermost: bool,
}

/// An operator whose number is given at the end.
fn operator(kind: OperatorKind, estimated_rows: f64) -> Operator {
    Operator { id: OperatorId(0), estimated_rows, kind }
}

impl Stream {
    /// One row without slots.
    fn unit() -> Stream {
        let bound = Set::default();
        Stream::of(operator(OperatorKind::Unit, 1.0), bound, Map::default())
    }

    /// One row of the plan around a subplan.
    fn argument(outer: &Set<SlotId>, labels: Map<SlotId, Vec<Arc<str>>>) -> Stream {
        Stream::of(operator(OperatorKind::Argument { slots: Vec::new() }, 1.0), outer.clone(), labels)
    }

    fn of(operator: Operator, bound: Set<SlotId>, labels: Map<SlotId, Vec<Arc<str>>>) -> Stream {
        let (lengths, imports) = (Lengths::default(), Vec::new());
        Stream { operator, bound, labels, lengths, writes: false, imports, ends: false, is_outermost: false }
    }

    fn rows(&self) -> f64 {
        self.operator.estimated_rows
    }

    /// Puts an operator on top.
    fn push(&mut self, rows: f64, make: impl FnOnce(Box<Operator>) -> OperatorKind) {
        let input = std::mem::replace(&mut self.operator, operator(OperatorKind::Unit, 1.0));
        self.operator = operator(make(Box::new(input)), rows);
    }

    /// Notes the lengths of lists among computed values.
    fn know_lengths(&mut self, items: &[(SlotId, Expression)]) {
        let known = items.iter().filter_map(|(slot, value)| match &value.kind {
            ExpressionKind::Literal(value) if !matches!(value, Value::List(_)) => None,
            _ => Some((*slot, known_length(value, &self.lengths)?)),
        });
        let known: Vec<_> = known.collect();
        self.lengths.extend(known);
    }

    /// Ends a subplan: its first operator takes the outer slots that are used.
    fn into_subplan(mut self, outer: &Set<SlotId>, wanted: &[SlotId]) -> Operator {
        let mut used = Set::default();
        self.operator.used_slots(&mut used);
        used.extend(wanted.iter().copied());
        let mut taken: Vec<SlotId> = used.into_iter().filter(|slot| outer.contains(slot)).collect();
        taken.sort_unstable();
        if let OperatorKind::Argument { slots } = &mut self.operator.first_mut().kind {
            *slots = taken;
        }
        self.operator
    }
}

impl<'a> Planner<'a> {
    pub(crate) fn new(
        context: &'a CompileContext<'a>,
        config: &'a OptimizerConfig,
        slots: &'a mut Slots,
    ) -> Planner<'a> {
        Planner { context, config, slots, unmet: Vec::new(), horizons: 0 }
    }

    /// Plans a whole query.
    pub(crate) fn union(&mut self, union: BoundUnion) -> Result<Operator> {
        let slots: Vec<SlotId> = union.columns.iter().map(|(_, slot)| *slot).collect();
        let mut branches = Vec::new();
        let is_alone = union.parts.len() == 1;
        for part in union.parts {
            let columns: Vec<SlotId> = part.columns.iter().map(|(_, slot)| *slot).collect();
            branches.push((self.query(part, is_alone)?, columns));
        }
        if branches.len() == 1 {
            return Ok(branches.swap_remove(0).0);
        }
        let rows = branches.iter().map(|(branch, _)| branch.estimated_rows).sum();
        let all = operator(OperatorKind::Union { branches, slots: slots.clone() }, rows);
        if union.all {
            return Ok(all);
        }
        Ok(operator(OperatorKind::Distinct { input: Box::new(all), slots }, rows))
    }

    fn query(&mut self, query: BoundQuery, is_outermost: bool) -> Result<Operator> {
        let mut stream = Stream { is_outermost, ..Stream::unit() };
        self.clauses(query.clauses, &mut stream)?;
        Ok(stream.operator)
    }

    /// Plans a pattern by itself.
    pub(crate) fn pattern(&mut self, graph: QueryGraph, read_once: Option<SlotId>) -> Result<Operator> {
        let mut stream = Stream::unit();
        self.graph(&mut stream, graph, read_once.map(|slot| Set::from_iter([slot])))?;
        Ok(stream.operator)
    }

    /// Plans clauses that run for one row of the plan around them.
    pub(crate) fn subplan(
        &mut self,
        clauses: Vec<BoundClause>,
        outer: &Set<SlotId>,
        wanted: &[SlotId],
    ) -> Result<Operator> {
        let mut stream = Stream::argument(outer, Map::default());
        self.clauses(clauses, &mut stream)?;
        Ok(stream.into_subplan(outer, wanted))
    }

    pub(super) fn clauses(&mut self, clauses: Vec<BoundClause>, stream: &mut Stream) -> Result<()> {
        // Patterns that follow each other are planned as one, so that the best start may be in any of them.
        let mut pending: Option<QueryGraph> = None;
        for clause in clauses {
            match clause {
                BoundClause::Match { optional: false, graph } => match pending.take() {
                    Some(mut first) if !shares_edge(&first, &graph) => {
                        first.absorb(graph);
                        pending = Some(first);
                    }
                    Some(first) => {
                        self.graph(stream, first, None)?;
                        pending = Some(graph);
                    }
                    None => pending = Some(graph),
                },
                clause => {
                    if let Some(graph) = pending.take() {
                        self.graph(stream, graph, read_once::slots(&clause))?;
                    }
                    self.clause(clause, stream)?;
                }
            }
        }
        match pending {
            Some(graph) => self.graph(stream, graph, None),
            None => Ok(()),
        }
    }

    /// Marks the rows before a pattern as a horizon, by the number of their operator; gives them their number, if it was seen.
    fn horizon(&mut self, stream: &mut Stream) {
        if !stream.is_outermost || matches!(stream.operator.kind, OperatorKind::Unit) {
            return;
        }
        self.horizons += 1;
        let horizon = HorizonId(self.horizons);
        stream.operator.id = OperatorId(horizon.0);
        if let Some((_, rows)) = self.context.seen.iter().find(|(seen, _)| *seen == horizon) {
            stream.operator.estimated_rows = *rows as f64;
        }
    }

    fn clause(&mut self, clause: BoundClause, stream: &mut Stream) -> Result<()> {
        let rows = stream.rows();
        match clause {
            BoundClause::Match { graph, .. } => self.optional(stream, graph)?,
            BoundClause::Unwind { list, slot } => {
                let length = length_in(&list, &stream.lengths);
                stream.bound.insert(slot);
                stream.push(rows * length, |input| OperatorKind::Unwind { input, list, slot });
            }
            BoundClause::Project(projection) => self.projection(stream, projection),
            BoundClause::Filter(predicate) => self.filter(stream, vec![predicate]),
            BoundClause::Extend(items) => {
                stream.bound.extend(items.iter().map(|(slot, _)| *slot));
                stream.know_lengths(&items);
                stream.push(rows, |input| OperatorKind::Extend { input, items });
            }
            BoundClause::Call(call) => self.call(stream, call),
            BoundClause::Create { nodes, edges } => {
                for node in &nodes {
                    stream.labels.insert(node.slot, node.labels.clone());
                    stream.bound.insert(node.slot);
                }
                stream.bound.extend(edges.iter().map(|edge| edge.slot));
                stream.writes = true;
                stream.push(rows, |input| OperatorKind::Create { input, nodes, edges });
            }
            BoundClause::Merge(merge) => self.merge(stream, merge)?,
            BoundClause::Set(items) => {
                stream.writes = true;
                stream.push(rows, |input| OperatorKind::Set { input, items });
            }
            BoundClause::Delete { expressions, detach } => {
                stream.writes = true;
                stream.push(rows, |input| OperatorKind::Delete { input, expressions, detach });
            }
            BoundClause::Subquery(query) => self.subquery(stream, query)?,
            BoundClause::Foreach { list, slot, body } => self.foreach(stream, list, slot, body)?,
        }
        Ok(())
    }

    fn optional(&mut self, stream: &mut Stream, graph: QueryGraph) -> Result<()> {
        let outer = stream.bound.clone();
        let mut slots = graph.slots();
        slots.retain(|slot| !outer.contains(slot));
        slots.sort_unstable();
        slots.dedup();
        let mut inner = Stream::argument(&outer, stream.labels.clone());
        self.graph(&mut inner, graph, None)?;
        let rows = stream.rows() * inner.rows().max(1.0);
        let subplan = Box::new(inner.into_subplan(&outer, &[]));
        stream.bound.extend(slots.iter().copied());
        stream.push(rows, |input| OperatorKind::Optional { input, subplan, slots });
        Ok(())
    }

    fn merge(&mut self, stream: &mut Stream, merge: BoundMerge) -> Result<()> {
        let BoundMerge { graph, nodes, edges, path, on_create, on_match } = merge;
        let outer = stream.bound.clone();
        let mut inner = Stream::argument(&outer, stream.labels.clone());
        self.graph(&mut inner, graph, None)?;
        let subplan = Box::new(inner.into_subplan(&outer, &[]));
        let mut slots: Vec<SlotId> = nodes.iter().map(|node| node.slot).collect();
        slots.extend(edges.iter().map(|edge| edge.slot));
        stream.bound.extend(slots.iter().copied());
        stream.bound.extend(path.iter().map(|(slot, _)| *slot));
        for node in &nodes {
            stream.labels.insert(node.slot, node.labels.clone());
        }
        stream.writes = true;
        let rows = stream.rows();
        stream.push(rows, |input| OperatorKind::Merge {
            input,
            subplan,
            slots,
            nodes,
            edges,
            path,
            on_create,
            on_match,
        });
        Ok(())
    }

    fn call(&mut self, stream: &mut Stream, call: BoundCall) {
        let BoundCall { procedure, arguments, yields, span, writes } = call;
        stream.bound.extend(yields.iter().map(|(_, slot)| *slot));
        stream.writes |= writes;
        let rows = stream.rows() * if yields.is_empty() { 1.0 } else { LIST_LENGTH };
        stream.push(rows, |input| OperatorKind::Call { input, procedure, arguments, yields, span });
    }

    /// Filters by predicates, cheap ones first; those that are patterns become joins with a subplan.
    fn filter(&mut self, stream: &mut Stream, predicates: Vec<Expression>) {
        let mut conjuncts = Vec::new();
        for predicate in predicates {
            crate::plan::conditions::add_conjuncts(predicate, &mut conjuncts);
        }
        let mut plain = Vec::new();
        let mut patterns = Vec::new();
        for mut predicate in conjuncts {
            if self.config.count_rows {
                sized_lists::simplify(&mut predicate, self.slots);
            }
            if self.config.semi_apply && pattern_of(&predicate).is_some() {
                patterns.push(predicate);
            } else {
                plain.push(predicate);
            }
        }
        // Labels are cheaper to test than properties, and cannot fail.
        plain.sort_by_key(|predicate| !matches!(predicate.kind, ExpressionKind::HasLabels { .. }));
        let selectivity = self.selectivity(&plain, stream);
        if let Some(predicate) = crate::plan::conditions::conjunction(plain) {
            stream.push(stream.rows() * selectivity, |input| OperatorKind::Filter { input, predicate });
        }
        if !patterns.is_empty() {
            self.horizon(stream);
        }
        for predicate in patterns {
            if let Some((plan, anti)) = pattern_of(&predicate) {
                let subplan = Box::new(plan.clone());
                stream.push(stream.rows() * 0.5, |input| OperatorKind::SemiApply { input, subplan, anti });
            }
        }
    }

    fn selectivity(&self, predicates: &[Expression], stream: &Stream) -> f64 {
        let labels = |slot: SlotId| stream.labels.get(&slot).map(Vec::as_slice);
        let predicates: Vec<&Expression> = predicates.iter().collect();
        cost::CostModel::new(self.context).selectivities(&predicates, &labels).into_iter().product()
    }
}

/// True if an edge of the first pattern is named again in the second.
fn shares_edge(first: &QueryGraph, second: &QueryGraph) -> bool {
    second.edges.iter().any(|edge| first.edges.iter().any(|known| known.slot == edge.slot))
}

/// The plan whose rows a predicate asks for, and whether it wants none.
fn pattern_of(predicate: &Expression) -> Option<(&Operator, bool)> {
    match &predicate.kind {
        ExpressionKind::Subquery { kind: SubqueryKind::Exists, plan } => Some((plan, false)),
        ExpressionKind::Not(inner) => match &inner.kind {
            ExpressionKind::Subquery { kind: SubqueryKind::Exists, plan } => Some((plan, true)),
            _ => None,
        },
        ExpressionKind::Binary { operator, left, right } => match (&left.kind, &right.kind) {
            (
                ExpressionKind::Subquery { kind: SubqueryKind::Count, plan },
                ExpressionKind::Literal(Value::Int(bound)),
            ) => wants_none(*operator, *bound).map(|anti| (&**plan, anti)),
            _ => None,
        },
        _ => None,
    }
}

/// If comparing a number of rows so only asks whether there is any: true if there must be none.
fn wants_none(operator: BinaryOperator, bound: i64) -> Option<bool> {
    match (operator, bound) {
        (BinaryOperator::Equal | BinaryOperator::LessOrEqual, 0) | (BinaryOperator::Less, 1) => Some(true),
        (BinaryOperator::NotEqual | BinaryOperator::Greater, 0) | (BinaryOperator::GreaterOrEqual, 1) => Some(false),
        _ => None,
    }
}
