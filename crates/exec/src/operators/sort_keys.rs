//! `CreateSortKey` and `DropSortKey`: the order in which the edges of a type are kept.

use std::sync::Arc;

use model::{Result, SortKey};

use crate::chunk::Layout;
use crate::lowering::Lowered;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct CreateSortKey {
    edge_type: Arc<str>,
    keys: Vec<Arc<str>>,
    if_not_exists: bool,
}

struct DropSortKey {
    edge_type: Arc<str>,
    if_exists: bool,
}

/// Lowers `CreateSortKey`.
pub(crate) fn lower_create(edge_type: &Arc<str>, keys: &[Arc<str>], if_not_exists: bool) -> Lowered {
    let operator = CreateSortKey { edge_type: edge_type.clone(), keys: keys.to_vec(), if_not_exists };
    (Box::new(operator), Layout::default())
}

/// Lowers `DropSortKey`.
pub(crate) fn lower_drop(edge_type: &Arc<str>, if_exists: bool) -> Lowered {
    (Box::new(DropSortKey { edge_type: edge_type.clone(), if_exists }), Layout::default())
}

impl Physical for CreateSortKey {
    fn run(&self, scope: Scope<'_, '_>, _sink: &mut Sink<'_>) -> Result<Flow> {
        scope.runtime.write(|writer| {
            let edge_type = writer.transaction.edge_type(&self.edge_type)?;
            let keys = self.keys.iter().map(|key| writer.transaction.property_key(key)).collect::<Result<Vec<_>>>()?;
            let is_there = writer.transaction.view().schema().sort_key(edge_type) == keys;
            if is_there && self.if_not_exists {
                return Ok(());
            }
            writer.transaction.set_sort_key(SortKey { edge_type, keys })?;
            writer.counters.sort_keys_added += 1;
            Ok(())
        })?;
        Ok(Flow::Continue)
    }
}

impl Physical for DropSortKey {
    fn run(&self, scope: Scope<'_, '_>, _sink: &mut Sink<'_>) -> Result<Flow> {
        scope.runtime.write(|writer| {
            let schema = writer.transaction.view().schema();
            let found = schema.edge_type(&self.edge_type).filter(|&found| !schema.sort_key(found).is_empty());
            match found {
                Some(edge_type) => writer.transaction.drop_sort_key(edge_type)?,
                None if self.if_exists => return Ok(()),
                None => {
                    let error = model::error!(SchemaRule, "the type {} has no sort key", self.edge_type);
                    return Err(error.with_remedy("SHOW SORT KEYS lists those that are there"));
                }
            }
            writer.counters.sort_keys_removed += 1;
            Ok(())
        })?;
        Ok(Flow::Continue)
    }
}
