//! `DeclareEnds`: which labels the edges of a type join, as relationship tables say. No rows.

use std::sync::Arc;

use cypher::plan::NewEnds;
use model::{Constraint, Result, error};

use crate::chunk::Layout;
use crate::lowering::Lowered;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct DeclareEnds {
    edge_type: Arc<str>,
    ends: Vec<NewEnds>,
    is_new: bool,
    if_not_exists: bool,
}

/// Lowers `DeclareEnds`.
pub(crate) fn lower(edge_type: &Arc<str>, ends: &[NewEnds], is_new: bool, if_not_exists: bool) -> Lowered {
    let operator = DeclareEnds { edge_type: edge_type.clone(), ends: ends.to_vec(), is_new, if_not_exists };
    (Box::new(operator), Layout::default())
}

impl Physical for DeclareEnds {
    fn run(&self, scope: Scope<'_, '_>, _sink: &mut Sink<'_>) -> Result<Flow> {
        let interrupt = scope.runtime.environment.interrupt;
        scope.runtime.write(|writer| {
            let transaction = &mut writer.transaction;
            let edge_type = transaction.edge_type(&self.edge_type)?;
            if self.is_new && transaction.view().schema().ends(edge_type).next().is_some() {
                return match self.if_not_exists {
                    true => Ok(()),
                    false => Err(error!(SchemaRule, "the relationship table {} already exists", self.edge_type)
                        .with_remedy("write IF NOT EXISTS, or ALTER TABLE … ADD FROM … TO … for another pair")),
                };
            }
            for new in &self.ends {
                let (from, to) = (transaction.label(&new.from)?, transaction.label(&new.to)?);
                let is_there = transaction.view().schema().ends(edge_type).any(|held| held == (from, to));
                if is_there && self.if_not_exists {
                    continue;
                }
                let constraint = Constraint::ends(new.name.clone(), edge_type, from, to);
                transaction.create_constraint(constraint, interrupt)?;
                writer.counters.constraints_added += 1;
            }
            Ok(())
        })?;
        Ok(Flow::Continue)
    }
}
