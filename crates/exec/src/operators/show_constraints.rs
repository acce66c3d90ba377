//! `ShowConstraints`: the schema's constraints as rows of name, label and property.

use std::sync::Arc;

use cypher::plan::SlotId;
use model::{Column, ColumnData, Result, StringColumn};

use crate::chunk::{Chunk, Layout};
use crate::lowering::Lowered;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct ShowConstraints;

/// Lowers `ShowConstraints`.
pub(crate) fn lower(name: SlotId, label: SlotId, key: SlotId) -> Lowered {
    (Box::new(ShowConstraints), Layout::new(vec![name, label, key]))
}

impl Physical for ShowConstraints {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let texts = |rows: StringColumn| Arc::new(Column::new(ColumnData::String(rows)));
        let chunk = {
            let view = scope.runtime.view();
            let schema = view.view().schema();
            let held = &schema.constraints;
            let names = held.iter().map(|constraint| &*constraint.name).collect();
            let labels = held.iter().map(|constraint| schema.label_name(constraint.label)).collect();
            let keys = held.iter().map(|constraint| schema.property_key_name(constraint.key)).collect();
            Chunk { rows: held.len(), columns: vec![texts(names), texts(labels), texts(keys)] }
        };
        if chunk.rows == 0 { Ok(Flow::Continue) } else { sink(chunk) }
    }
}
