//! `DropConstraint`: drops a constraint by name. No rows.

use std::sync::Arc;

use model::Result;

use crate::chunk::Layout;
use crate::lowering::Lowered;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct DropConstraint {
    name: Arc<str>,
    if_exists: bool,
}

/// Lowers `DropConstraint`.
pub(crate) fn lower(name: &Arc<str>, if_exists: bool) -> Lowered {
    (Box::new(DropConstraint { name: name.clone(), if_exists }), Layout::default())
}

impl Physical for DropConstraint {
    fn run(&self, scope: Scope<'_, '_>, _sink: &mut Sink<'_>) -> Result<Flow> {
        scope.runtime.write(|writer| {
            let constraints = &writer.transaction.view().schema().constraints;
            if self.if_exists && !constraints.iter().any(|held| held.name == self.name) {
                return Ok(());
            }
            writer.transaction.drop_constraint(&self.name)?;
            writer.counters.constraints_removed += 1;
            Ok(())
        })?;
        Ok(Flow::Continue)
    }
}
