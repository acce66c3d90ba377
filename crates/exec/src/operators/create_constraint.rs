//! `CreateConstraint`: adds a uniqueness constraint. No rows.

use std::sync::Arc;

use model::{Constraint, Result};

use crate::chunk::Layout;
use crate::lowering::Lowered;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct CreateConstraint {
    name: Arc<str>,
    label: Arc<str>,
    key: Arc<str>,
    if_not_exists: bool,
}

/// Lowers `CreateConstraint`.
pub(crate) fn lower(name: &Arc<str>, label: &Arc<str>, key: &Arc<str>, if_not_exists: bool) -> Lowered {
    let operator = CreateConstraint { name: name.clone(), label: label.clone(), key: key.clone(), if_not_exists };
    (Box::new(operator), Layout::default())
}

impl Physical for CreateConstraint {
    fn run(&self, scope: Scope<'_, '_>, _sink: &mut Sink<'_>) -> Result<Flow> {
        scope.runtime.write(|writer| {
            let label = writer.transaction.label(&self.label)?;
            let key = writer.transaction.property_key(&self.key)?;
            let schema = writer.transaction.view().schema();
            let is_there =
                schema.constraints.iter().any(|held| held.name == self.name || (held.label, held.key) == (label, key));
            if is_there && self.if_not_exists {
                return Ok(());
            }
            writer.transaction.create_constraint(Constraint { name: self.name.clone(), label, key })?;
            writer.counters.constraints_added += 1;
            Ok(())
        })?;
        Ok(Flow::Continue)
    }
}
