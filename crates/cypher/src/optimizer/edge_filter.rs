//! Lets an expansion leave out the edges that a filter above it would, so that no rows are made of them.
//!
//! Before: filters right above an expansion to new nodes, with comparisons of properties of the edge with plain constants.
//! After: the expansion tests those, and the filters do not. Other values may be compared by `=` in ways that an expansion
//! does not know.

use super::edge_range::{below_filters, condition, is_plain, keep_conjuncts};
use crate::plan::conditions::add_conjuncts;
use crate::plan::{Operator, OperatorKind};

/// Moves the conditions of one filter into the expansion below it.
pub(super) fn push_down(operator: &mut Operator) {
    let rows = operator.estimated_rows;
    let OperatorKind::Filter { input, predicate } = &mut operator.kind else { return };
    let OperatorKind::Expand { edge: Some(edge), into: false, choice, .. } = &mut below_filters(input).kind else {
        return;
    };
    // The first edges of a node are those before any test.
    if choice.as_ref().is_some_and(|choice| choice.first.is_some()) {
        return;
    }
    let mut conjuncts = Vec::new();
    add_conjuncts(predicate.clone(), &mut conjuncts);
    let mut tests = Vec::new();
    conjuncts.retain(|conjunct| match condition(conjunct, *edge).filter(|found| is_plain(&found.value)) {
        Some(found) => {
            tests.push(found);
            false
        }
        None => true,
    });
    if !tests.is_empty() {
        choice.get_or_insert_default().tests.extend(tests);
        keep_conjuncts(operator, conjuncts);
        operator.estimated_rows = rows;
    }
}
