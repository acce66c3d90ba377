//! Subplans that can run for many outer rows at once, where a hidden column says to which of them each row belongs.

use cypher::plan::{Operator, OperatorKind};

use super::liveness::inputs;

/// True if each row of the subplan depends on one outer row only, and carries a hidden column through.
pub(crate) fn is_row_local(plan: &Operator) -> bool {
    match &plan.kind {
        OperatorKind::Argument { .. } => true,
        OperatorKind::NodeScan { input, .. }
        | OperatorKind::NodeUnionScan { input, .. }
        | OperatorKind::NodeLookup { input, .. }
        | OperatorKind::IndexSeek { input, .. }
        | OperatorKind::NodeById { input, .. }
        | OperatorKind::EdgeById { input, .. }
        | OperatorKind::Expand { input, .. }
        | OperatorKind::Intersect { input, .. }
        | OperatorKind::VariableExpand { input, .. }
        | OperatorKind::ShortestPath { input, .. }
        | OperatorKind::PathSearch { input, .. }
        | OperatorKind::Filter { input, .. }
        | OperatorKind::Project { input, .. }
        | OperatorKind::Extend { input, .. }
        | OperatorKind::Distinct { input, .. }
        | OperatorKind::PartialAggregate { input, .. }
        | OperatorKind::Unwind { input, .. }
        | OperatorKind::CountMatches { input, .. }
        | OperatorKind::Apply { input, .. }
        | OperatorKind::Optional { input, .. }
        | OperatorKind::SemiApply { input, .. } => is_row_local(input),
        OperatorKind::CrossProduct { left, right } | OperatorKind::HashJoin { left, right, .. } => {
            is_row_local(left) && !starts_from_argument(right)
        }
        OperatorKind::Union { branches, .. } => branches.iter().all(|(branch, _)| is_row_local(branch)),
        _ => false,
    }
}

/// True if the rows of a row-local subplan come in the order of the outer rows.
pub(crate) fn keeps_row_order(plan: &Operator) -> bool {
    match &plan.kind {
        OperatorKind::Argument { .. } => true,
        OperatorKind::NodeScan { input, .. }
        | OperatorKind::NodeLookup { input, .. }
        | OperatorKind::IndexSeek { input, .. }
        | OperatorKind::NodeById { input, .. }
        | OperatorKind::EdgeById { input, .. }
        | OperatorKind::Expand { input, .. }
        | OperatorKind::Intersect { input, .. }
        | OperatorKind::ShortestPath { input, .. }
        | OperatorKind::PathSearch { input, .. }
        | OperatorKind::Filter { input, .. }
        | OperatorKind::Project { input, .. }
        | OperatorKind::Extend { input, .. }
        | OperatorKind::Distinct { input, .. }
        | OperatorKind::PartialAggregate { input, .. }
        | OperatorKind::Unwind { input, .. }
        | OperatorKind::CountMatches { input, .. }
        | OperatorKind::SemiApply { input, .. } => keeps_row_order(input),
        OperatorKind::Apply { input, subplan } | OperatorKind::Optional { input, subplan, .. } => {
            keeps_row_order(input) && (!is_row_local(subplan) || keeps_row_order(subplan))
        }
        _ => false,
    }
}

/// True if the rows of the plan start from rows around it.
pub(crate) fn starts_from_argument(plan: &Operator) -> bool {
    matches!(plan.kind, OperatorKind::Argument { .. }) || inputs(plan).into_iter().any(starts_from_argument)
}
