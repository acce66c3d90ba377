//! `EdgeById`: for each row, the edge with an element id, if it exists.

use cypher::plan::OperatorKind;
use model::{Bitmap, Column, ColumnData, EdgeValue, Result, Value};

use crate::lowering::{Demand, Lowered, Lowering, misplaced};
use crate::operators::node_lookup::LookupInput;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct EdgeById(LookupInput);

/// Lowers `EdgeById`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::EdgeById { input, slot, value } = kind else { return Err(misplaced(kind)) };
    let (input, layout) = LookupInput::lower(lowering, input, *slot, value, demand)?;
    Ok((Box::new(EdgeById(input)), layout))
}

impl Physical for EdgeById {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        self.0.rows.run(scope, &mut |chunk| {
            runtime.environment.interrupt.check()?;
            let (values, rows) = self.0.value.values(scope, &chunk)?;
            let texts: Vec<Value> = values.values().collect();
            // No edge has the empty text.
            let ids: Vec<&str> =
                texts.iter().map(|value| if let Value::String(text) = value { &**text } else { "" }).collect();
            let found: Vec<Option<EdgeValue>> = runtime.view().view().find_edges(&ids)?;
            let validity: Bitmap = found.iter().map(Option::is_some).collect();
            let edges = found.into_iter().map(Option::unwrap_or_default).collect();
            let found = Column::with_validity(ColumnData::Edge(edges), validity);
            let joined = self.0.join(&chunk, found, rows);
            if joined.rows == 0 { Ok(Flow::Continue) } else { sink(joined) }
        })
    }
}
