//! `DropConstraint` and `DropIndex`: drops a rule by name. No rows.

use std::sync::Arc;

use cypher::plan::RuleKind;
use model::Result;

use crate::chunk::Layout;
use crate::lowering::Lowered;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct DropRule {
    kind: RuleKind,
    name: Arc<str>,
    if_exists: bool,
}

/// Lowers `DropConstraint` and `DropIndex`.
pub(crate) fn lower(kind: RuleKind, name: &Arc<str>, if_exists: bool) -> Lowered {
    (Box::new(DropRule { kind, name: name.clone(), if_exists }), Layout::default())
}

impl Physical for DropRule {
    fn run(&self, scope: Scope<'_, '_>, _sink: &mut Sink<'_>) -> Result<Flow> {
        scope.runtime.write(|writer| {
            let schema = writer.transaction.view().schema();
            let is_there = match self.kind {
                RuleKind::Constraint => schema.constraints.iter().any(|held| held.name == self.name),
                RuleKind::Index => schema.indexes.iter().any(|held| held.name == self.name),
            };
            if self.if_exists && !is_there {
                return Ok(());
            }
            match self.kind {
                RuleKind::Constraint => {
                    writer.transaction.drop_constraint(&self.name)?;
                    writer.counters.constraints_removed += 1;
                }
                RuleKind::Index => {
                    writer.transaction.drop_index(&self.name)?;
                    writer.counters.indexes_removed += 1;
                }
            }
            Ok(())
        })?;
        Ok(Flow::Continue)
    }
}
