//! Rules that make a plan cheaper without changing what it gives. Each rule is a file that states what it needs and
//! what it leaves; all can be switched off, so that plans with and without them can be compared.

use std::sync::Arc;

use crate::catalog::CompileContext;
use crate::plan::{Expression, ExpressionKind, HorizonId, Operator, OperatorId, OperatorKind, PlanMode, SlotId};
use crate::slots::Slots;

mod constant_folding;
mod count_matches;
mod count_rows;
mod covering_labels;
mod distinct_already;
mod distinct_nodes;
mod edge_filter;
mod edge_range;
mod edge_top;
mod exists_join;
mod filter_in_path;
mod first_match;
mod late_projection;
mod node_choice;
pub(crate) mod nullability;
mod partial_aggregation;
mod pushed_pattern;
mod running_in_path;
pub(crate) mod sized_lists;
mod terms;
mod top;
mod unused;

pub(crate) use exists_join::PatternPlanner;
pub(crate) use first_match::{DOUBT, FIRST_MATCH_ROWS};

/// Use of a rule that does not pay everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Nowhere.
    Never,
    /// In plans that are estimated to be cheaper with it.
    Cheaper,
    /// Wherever it can be used, for tests.
    Always,
}

/// Rules and choices of the planner that are used. All give the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimizerConfig {
    /// Match patterns in the order that costs least, rather than as written.
    pub reorder_patterns: bool,
    /// Find nodes by unique properties and ids, rather than by scans.
    pub lookups: bool,
    /// Find a node to which several edges lead by intersecting what their other ends are adjacent to.
    pub intersections: bool,
    /// Join parts of a pattern that are not connected, rather than nest them.
    pub hash_joins: bool,
    /// Test patterns in `WHERE` by joins with a subplan, rather than by an expression.
    pub semi_apply: bool,
    /// Find the nodes for which such a pattern holds once for all rows, where that costs less.
    pub exists_joins: Use,
    /// Compute what is the same for all rows once.
    pub constant_folding: bool,
    /// Sort only the rows that a limit leaves.
    pub top: bool,
    /// Count rows rather than values that are never null, or lists of values.
    pub count_rows: bool,
    /// Test each edge of a path while it is walked.
    pub filter_in_path: bool,
    /// Test properties of edges before rows are made of them.
    pub edge_filters: bool,
    /// Let the sort key of a type find edges in a range, and the first ones of a node.
    pub sort_keys: bool,
    /// Let attached databases test conditions, and give the first nodes only.
    pub node_choices: bool,
    /// Let attached databases match a pattern, and group its matches.
    pub pushed_patterns: bool,
    /// Read properties after a limit.
    pub late_projection: bool,
    /// Tell nodes apart before their properties are read, where only distinct values are wanted.
    pub distinct_nodes: Use,
    /// Do not compute what nobody uses.
    pub unused: bool,
    /// Do not test labels that every node carries. A plan made so holds only for the snapshot whose statistics were
    /// given, which must be exact: see [`crate::Compiled::bound_to_snapshot`].
    pub covering_labels: bool,
    /// Work out in how many ways a pattern can be matched, rather than match it, where only that is asked.
    pub count_matches: bool,
    /// Do the same with what is asked of patterns for each row: whether they match, or how often.
    pub counted_subplans: Use,
    /// Merge rows that are equal in what the rest of a plan reads of them, where only their number is asked.
    pub partial_aggregation: Use,
    /// Go on to the next row at the first match of what nobody reads.
    pub first_matches: Use,
    /// Compare no rows for `DISTINCT` that differ anyway.
    pub distinct_already: bool,
    /// Take paths that follow each other as one, where nobody asks for the node between them.
    pub joined_paths: bool,
}

impl Default for OptimizerConfig {
    /// Every rule whose plans outlive the snapshot they were made for.
    fn default() -> OptimizerConfig {
        OptimizerConfig {
            reorder_patterns: true,
            lookups: true,
            intersections: true,
            hash_joins: true,
            semi_apply: true,
            exists_joins: Use::Cheaper,
            constant_folding: true,
            top: true,
            count_rows: true,
            filter_in_path: true,
            edge_filters: true,
            sort_keys: true,
            node_choices: true,
            pushed_patterns: true,
            late_projection: true,
            distinct_nodes: Use::Cheaper,
            unused: true,
            covering_labels: false,
            count_matches: true,
            counted_subplans: Use::Cheaper,
            partial_aggregation: Use::Cheaper,
            first_matches: Use::Cheaper,
            distinct_already: true,
            joined_paths: true,
        }
    }
}

impl OptimizerConfig {
    /// No rule at all: patterns are matched as written.
    pub fn none() -> OptimizerConfig {
        OptimizerConfig {
            reorder_patterns: false,
            lookups: false,
            intersections: false,
            hash_joins: false,
            semi_apply: false,
            exists_joins: Use::Never,
            constant_folding: false,
            top: false,
            count_rows: false,
            filter_in_path: false,
            edge_filters: false,
            sort_keys: false,
            node_choices: false,
            pushed_patterns: false,
            late_projection: false,
            distinct_nodes: Use::Never,
            unused: false,
            covering_labels: false,
            count_matches: false,
            counted_subplans: Use::Never,
            partial_aggregation: Use::Never,
            first_matches: Use::Never,
            distinct_already: false,
            joined_paths: false,
        }
    }
}

/// Applies the rules and numbers the operators. True if the plan holds only for the snapshot it was made for; and the
/// horizons.
pub(crate) fn optimize(
    root: &mut Operator,
    columns: &[SlotId],
    slots: &mut Slots,
    context: &CompileContext<'_>,
    (config, planner): (&OptimizerConfig, &dyn PatternPlanner),
    mode: PlanMode,
) -> (bool, Vec<(HorizonId, OperatorId)>) {
    // First, so that other rules see the plans that it makes.
    let has_attached = has_attached(context);
    if config.exists_joins != Use::Never && config.hash_joins && mode == PlanMode::Read && !has_attached {
        join_existence(root, slots, context, (config, planner));
    }
    if config.constant_folding {
        for_each_operator(root, &mut constant_folding::fold);
    }
    if config.count_rows {
        for_each_operator(root, &mut |operator| sized_lists::simplify_all(operator, slots));
    }
    if config.filter_in_path {
        for_each_operator(root, &mut filter_in_path::push_down);
        for_each_operator(root, &mut running_in_path::push_down);
    }
    if config.count_rows {
        for_each_operator(root, &mut count_rows::simplify);
    }
    if config.distinct_nodes != Use::Never && !has_attached {
        for_each_operator(root, &mut |operator| distinct_nodes::tell_apart(operator, slots, config.distinct_nodes));
    }
    if config.top {
        for_each_operator(root, &mut top::merge);
    }
    if config.sort_keys && !context.schema.sort_keys.is_empty() {
        for_each_operator(root, &mut |operator| edge_range::push_down(operator, context.schema));
        for_each_operator(root, &mut |operator| edge_top::push_down(operator, context.schema));
    }
    if config.pushed_patterns && mode == PlanMode::Read && !context.schema.matched.is_empty() {
        pushed_pattern::push_all(root, slots, context);
    }
    if config.late_projection {
        for_each_operator(root, &mut late_projection::defer);
    }
    let mut bound_to_snapshot = false;
    if config.covering_labels && mode == PlanMode::Read {
        for_each_operator(root, &mut |operator| {
            bound_to_snapshot |= covering_labels::drop(operator, slots, context);
        });
    }
    if config.unused {
        unused::drop_unused(root, columns);
    }
    if mode == PlanMode::Read && count(root, slots, context, config) && config.unused {
        unused::drop_unused(root, columns);
    }
    if mode == PlanMode::Read && !has_attached {
        make_fewer_matches(root, slots, context, config);
    }
    if mode == PlanMode::Read && config.distinct_already {
        for_each_operator(root, &mut |operator| {
            distinct_already::simplify(operator);
            if config.count_rows {
                count_rows::simplify(operator);
            }
        });
    }
    push_choices(root, context, config);
    let (mut next, mut horizons) = (0, Vec::new());
    number(root, &mut next, &mut horizons);
    (bound_to_snapshot, horizons)
}

/// Lets stores test conditions and give the first of their nodes. Last, since an expansion that chooses is taken apart by no other
/// rule.
fn push_choices(root: &mut Operator, context: &CompileContext<'_>, config: &OptimizerConfig) {
    if config.edge_filters {
        for_each_operator(root, &mut edge_filter::push_down);
    }
    if config.node_choices && !context.schema.searchable.is_empty() {
        for_each_operator(root, &mut |operator| node_choice::push_conditions(operator, context.schema));
        for_each_operator(root, &mut |operator| node_choice::push_first(operator, context.schema));
    }
}

/// True if attached databases match patterns or search.
fn has_attached(context: &CompileContext<'_>) -> bool {
    !context.schema.matched.is_empty() || !context.schema.searchable.is_empty()
}

/// Counts rows rather than make them, where only their number is asked; true if that changed the plan.
fn count(root: &mut Operator, slots: &mut Slots, context: &CompileContext<'_>, config: &OptimizerConfig) -> bool {
    let mut changed = false;
    if config.counted_subplans != Use::Never && !has_attached(context) {
        for_each_operator(root, &mut |operator| {
            changed |= count_matches::optional::rewrite(operator, slots, context, config.counted_subplans);
        });
    }
    changed |= config.count_matches && count_matches::rewrite_all(root, slots, context);
    if config.partial_aggregation != Use::Never && !has_attached(context) {
        changed |= partial_aggregation::rewrite_all(root, slots, config.partial_aggregation, context);
    }
    changed
}

/// Makes no matches, or only the first, of what is asked for each row.
fn make_fewer_matches(root: &mut Operator, slots: &mut Slots, context: &CompileContext<'_>, config: &OptimizerConfig) {
    if config.counted_subplans != Use::Never {
        count_matches::subplans::rewrite_all(root, slots, context, config.counted_subplans);
    }
    if config.first_matches != Use::Never {
        first_match::rewrite_all(root, config.first_matches);
    }
}

/// Joins rows with the nodes for which a pattern holds, unless that can be counted.
fn join_existence(
    root: &mut Operator,
    slots: &mut Slots,
    context: &CompileContext<'_>,
    (config, planner): (&OptimizerConfig, &dyn PatternPlanner),
) {
    let mut has_existence = false;
    for_each_operator(root, &mut |operator| has_existence |= matches!(operator.kind, OperatorKind::SemiApply { .. }));
    if !has_existence {
        return;
    }
    let before = root.clone();
    let is_of_labels = exists_join::rewrite_all(root, slots, planner, config);
    if is_of_labels && config.exists_joins == Use::Cheaper && counts_instead(&before, slots, context, config) {
        *root = before;
    }
}

/// True if all that a plan asks by subplans is counted together with the patterns around them.
fn counts_instead(root: &Operator, slots: &mut Slots, context: &CompileContext<'_>, config: &OptimizerConfig) -> bool {
    fn has_subplan(plan: &Operator) -> bool {
        matches!(plan.kind, OperatorKind::SemiApply { .. }) || plan.inputs().into_iter().any(has_subplan)
    }
    let mut counted = root.clone();
    config.count_matches && count_matches::rewrite_all(&mut counted, slots, context) && !has_subplan(&counted)
}

/// Visits every operator, inputs before what stands on them, subplans of expressions too.
fn for_each_operator(operator: &mut Operator, visit: &mut dyn FnMut(&mut Operator)) {
    operator.inputs_mut().into_iter().for_each(|input| for_each_operator(input, visit));
    operator.expressions_mut().into_iter().for_each(|expression| for_each_subplan(expression, visit));
    visit(operator);
}

fn for_each_subplan(expression: &mut Expression, visit: &mut dyn FnMut(&mut Operator)) {
    if let ExpressionKind::Subquery { plan, .. } = &mut expression.kind {
        for_each_operator(Arc::make_mut(plan), visit);
    }
    expression.operands_mut().into_iter().for_each(|operand| for_each_subplan(operand, visit));
}

/// Gives operators their numbers, from the root down. Before, the planner has given those of horizons the number of their horizon,
/// and all others 0.
fn number(operator: &mut Operator, next: &mut u32, horizons: &mut Vec<(HorizonId, OperatorId)>) {
    let id = OperatorId(*next);
    *next += 1;
    let mark = std::mem::replace(&mut operator.id, id);
    horizons.extend((mark.0 > 0).then_some((HorizonId(mark.0), id)));
    operator.inputs_mut().into_iter().for_each(|input| number(input, next, horizons));
    operator.expressions_mut().into_iter().for_each(|expression| number_subplans(expression, next));
}

fn number_subplans(expression: &mut Expression, next: &mut u32) {
    if let ExpressionKind::Subquery { plan, .. } = &mut expression.kind {
        number(Arc::make_mut(plan), next, &mut Vec::new());
    }
    expression.operands_mut().into_iter().for_each(|operand| number_subplans(operand, next));
}

/// Takes the only input of an operator out of it, leaving nothing of use behind.
fn take_input(input: &mut Operator) -> Operator {
    let unit = Operator { id: OperatorId(0), estimated_rows: 1.0, kind: OperatorKind::Unit };
    std::mem::replace(input, unit)
}
