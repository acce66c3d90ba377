//! Outlook of a statement once it is compiled and before it runs: whether it writes, and how much it will do.

use cypher::plan::{Expression, Operator, OperatorKind, Plan, PlanMode, Prefix};

/// Kind of work that a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It reads.
    Read,
    /// It writes nodes, edges or rules.
    Write,
    /// It commits on its own, more than once.
    Batches,
    /// It copies from or to files.
    Copy,
    /// It attaches, detaches or copies a source.
    Attach,
    /// It tells a plan.
    Control,
    /// It merges what was written into files, or copies the store.
    Maintenance,
    /// It changes databases, users or roles of a server.
    Administration,
    /// It begins or ends a transaction.
    Transaction,
}

/// Description and estimates of a statement that are known before it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Kind of work it does.
    pub action: Action,
    /// Rows that it is expected to give.
    pub rows: f64,
    /// Rows that all its operators together are expected to give.
    pub work: f64,
    /// True if it calls a procedure, whose cost no estimate covers.
    pub calls_procedure: bool,
    /// True if its plan writes, also where it is only told.
    pub plan_writes: bool,
    /// True if its plan makes or drops rules, also where it is only told.
    pub is_schema: bool,
    /// True if it looks at nothing in the graph: it computes, or lists users, databases, transactions or settings.
    pub is_apart: bool,
}

impl Outlook {
    /// The outlook of a statement without a plan.
    pub(crate) fn without_plan(action: Action) -> Outlook {
        Outlook {
            action,
            rows: 0.0,
            work: 0.0,
            calls_procedure: false,
            plan_writes: false,
            is_schema: false,
            is_apart: false,
        }
    }

    pub(crate) fn of_plan(prefix: Prefix, plan: &Plan) -> Outlook {
        let action = match (prefix, plan.mode) {
            (Prefix::Explain, _) => Action::Control,
            (_, PlanMode::Read) => Action::Read,
            (_, PlanMode::Write | PlanMode::Schema) => Action::Write,
            (_, PlanMode::Batches) => Action::Batches,
        };
        let mut outlook = Outlook {
            rows: plan.root.estimated_rows,
            plan_writes: plan.mode != PlanMode::Read,
            is_apart: plan.mode == PlanMode::Read,
            is_schema: plan.mode == PlanMode::Schema,
            ..Outlook::without_plan(action)
        };
        let mut operators: Vec<&Operator> = vec![&plan.root];
        while let Some(operator) = operators.pop() {
            outlook.work += operator.estimated_rows;
            outlook.calls_procedure |= matches!(operator.kind, OperatorKind::Call { .. });
            outlook.is_apart &= is_apart(operator);
            operators.extend(operator.inputs());
        }
        outlook
    }
}

/// True if an operator looks at nothing in the graph. One that is not known here may, and so may a plan within an expression.
fn is_apart(operator: &Operator) -> bool {
    let is_plain = !operator.expressions().into_iter().any(Expression::has_subquery);
    is_plain && is_known_apart(&operator.kind)
}

fn is_known_apart(kind: &OperatorKind) -> bool {
    match kind {
        OperatorKind::Call { procedure, .. } => {
            procedure.starts_with("dbms.") || procedure.starts_with("tx.") || &**procedure == "db.ping"
        }
        OperatorKind::Unit
        | OperatorKind::Argument { .. }
        | OperatorKind::Filter { .. }
        | OperatorKind::Project { .. }
        | OperatorKind::Extend { .. }
        | OperatorKind::Distinct { .. }
        | OperatorKind::PartialAggregate { .. }
        | OperatorKind::Aggregate { .. }
        | OperatorKind::Sort { .. }
        | OperatorKind::Top { .. }
        | OperatorKind::Skip { .. }
        | OperatorKind::Limit { .. }
        | OperatorKind::Unwind { .. } => true,
        _ => false,
    }
}
