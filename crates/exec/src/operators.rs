//! The operators, one file each, named as EXPLAIN prints them.
//!
//! Each file has `lower`, which makes the operator from its part of the plan, and the operator's `run`.

use cypher::plan::{Operator, OperatorKind};
use model::Result;

use crate::horizon::Horizon;
use crate::lowering::{Demand, Lowered, Lowering, misplaced};

pub(crate) mod aggregate;
pub(crate) mod apply;
pub(crate) mod argument;
pub(crate) mod call;
pub(crate) mod count_matches;
pub(crate) mod create;
pub(crate) mod create_rule;
pub(crate) mod cross_product;
pub(crate) mod declare_ends;
pub(crate) mod delete;
pub(crate) mod distinct;
pub(crate) mod drop_rule;
pub(crate) mod edge_by_id;
pub(crate) mod expand;
pub(crate) mod extend;
pub(crate) mod filter;
pub(crate) mod for_each;
pub(crate) mod gather;
pub(crate) mod hash_join;
pub(crate) mod held;
pub(crate) mod import;
pub(crate) mod index_seek;
pub(crate) mod intersect;
pub(crate) mod limit;
pub(crate) mod merge;
pub(crate) mod node_by_id;
pub(crate) mod node_lookup;
pub(crate) mod node_scan;
pub(crate) mod node_union_scan;
pub(crate) mod optional;
pub(crate) mod partial_aggregate;
pub(crate) mod path_search;
pub(crate) mod project;
pub(crate) mod pushed_pattern;
pub(crate) mod semi_apply;
pub(crate) mod set;
pub(crate) mod shortest_path;
pub(crate) mod skip;
pub(crate) mod sort;
pub(crate) mod sort_keys;
pub(crate) mod subquery;
pub(crate) mod top;
pub(crate) mod union;
pub(crate) mod unit;
pub(crate) mod unwind;
pub(crate) mod variable_expand;

/// Lowers an operator and its inputs.
pub(crate) fn lower(lowering: &mut Lowering, plan: &Operator, demand: &Demand) -> Result<Lowered> {
    let (operator, layout) = lower_alone(lowering, plan, demand)?;
    let operator = match lowering.horizons.get(&plan.id) {
        Some(place) => Horizon::over(operator, (plan.id, *place), &layout, demand.multiplicity),
        None => operator,
    };
    Ok((operator, layout))
}

fn lower_alone(lowering: &mut Lowering, plan: &Operator, demand: &Demand) -> Result<Lowered> {
    match &plan.kind {
        OperatorKind::Unit => Ok(unit::lower()),
        OperatorKind::Argument { slots } => argument::lower(lowering, slots, demand),
        OperatorKind::Held { slots } => held::lower(lowering, slots, demand),
        OperatorKind::NodeScan { .. } => node_scan::lower(lowering, plan, demand),
        OperatorKind::IndexSeek { .. } => index_seek::lower(lowering, &plan.kind, demand),
        OperatorKind::NodeLookup { .. } => node_lookup::lower(lowering, &plan.kind, demand),
        OperatorKind::NodeById { .. } => node_by_id::lower(lowering, &plan.kind, demand),
        OperatorKind::EdgeById { .. } => edge_by_id::lower(lowering, &plan.kind, demand),
        OperatorKind::Expand { .. } => expand::lower(lowering, plan, demand),
        OperatorKind::Intersect { .. } => intersect::lower(lowering, &plan.kind, demand),
        OperatorKind::VariableExpand { .. } => variable_expand::lower(lowering, &plan.kind, demand),
        OperatorKind::ShortestPath { .. } => shortest_path::lower(lowering, &plan.kind, demand),
        OperatorKind::PathSearch { .. } => path_search::lower(lowering, &plan.kind, demand),
        OperatorKind::Filter { input, predicate } => filter::lower(lowering, input, predicate, demand),
        OperatorKind::Project { input, items } => project::lower(lowering, input, items, demand),
        OperatorKind::Extend { input, items } => extend::lower(lowering, input, items, demand),
        OperatorKind::Distinct { input, slots } => distinct::lower(lowering, input, slots, demand),
        OperatorKind::PartialAggregate { .. } => partial_aggregate::lower(lowering, &plan.kind, demand),
        OperatorKind::Aggregate { .. } => aggregate::lower(lowering, &plan.kind, demand),
        OperatorKind::PushedPattern { .. } => pushed_pattern::lower(lowering, &plan.kind, demand),
        OperatorKind::Sort { input, keys } => sort::lower(lowering, input, keys, demand),
        OperatorKind::Top { input, keys, limit } => top::lower(lowering, input, keys, limit, demand),
        OperatorKind::Skip { input, count } => skip::lower(lowering, input, count, demand),
        OperatorKind::Limit { input, count } => limit::lower(lowering, input, count, demand),
        OperatorKind::Unwind { input, list, slot } => unwind::lower(lowering, input, list, *slot, demand),
        OperatorKind::Union { branches, slots } => union::lower(lowering, branches, slots, demand),
        OperatorKind::Apply { input, subplan } => apply::lower(lowering, input, subplan, demand),
        OperatorKind::Optional { input, subplan, slots } => optional::lower(lowering, input, subplan, slots, demand),
        OperatorKind::SemiApply { input, subplan, anti } => semi_apply::lower(lowering, input, subplan, *anti, demand),
        OperatorKind::CrossProduct { left, right } => cross_product::lower(lowering, left, right, demand),
        OperatorKind::HashJoin { .. } => hash_join::lower(lowering, plan, demand),
        OperatorKind::Call { .. } => call::lower(lowering, &plan.kind, demand),
        OperatorKind::CountMatches { input, count, trees } => {
            count_matches::lower(lowering, plan, input, *count, trees, demand)
        }
        _ => lower_change(lowering, plan, demand),
    }
}

fn lower_change(lowering: &mut Lowering, plan: &Operator, demand: &Demand) -> Result<Lowered> {
    match &plan.kind {
        OperatorKind::Create { input, nodes, edges } => create::lower(lowering, input, nodes, edges, demand),
        OperatorKind::Merge { .. } => merge::lower(lowering, &plan.kind, demand),
        OperatorKind::Set { input, items } => set::lower(lowering, input, items, demand),
        OperatorKind::Delete { input, expressions, detach } => {
            delete::lower(lowering, input, expressions, *detach, demand)
        }
        OperatorKind::CreateRule { rule, if_not_exists } => Ok(create_rule::lower(rule, *if_not_exists)),
        OperatorKind::DropRule { kind, name, if_exists } => Ok(drop_rule::lower(*kind, name, *if_exists)),
        OperatorKind::DeclareEnds { edge_type, ends, is_new, if_not_exists } => {
            Ok(declare_ends::lower(edge_type, ends, *is_new, *if_not_exists))
        }
        OperatorKind::CreateSortKey { edge_type, keys, if_not_exists } => {
            Ok(sort_keys::lower_create(edge_type, keys, *if_not_exists))
        }
        OperatorKind::DropSortKey { edge_type, if_exists } => Ok(sort_keys::lower_drop(edge_type, *if_exists)),
        OperatorKind::Import { input, slots } => import::lower(lowering, input, slots, demand),
        OperatorKind::NodeUnionScan { .. } => node_union_scan::lower(lowering, &plan.kind, demand),
        OperatorKind::ForEach { .. } => for_each::lower(lowering, &plan.kind, demand),
        other => Err(misplaced(other)),
    }
}
