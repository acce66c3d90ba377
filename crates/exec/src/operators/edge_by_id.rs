//! `EdgeById`: for each row, the edge with an element id, if it exists.

use cypher::plan::OperatorKind;
use model::{Bitmap, Column, ColumnData, EdgeValue, Result, Value};

use crate::lowering::{Demand, Lowered, Lowering, keep, misplaced};
use crate::operators::node_lookup::{Lookup, demand_of_lookup, join_found};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct EdgeById {
    input: Step,
    value: Lookup,
    keep: Vec<usize>,
    gives_edge: bool,
}

/// Lowers `EdgeById`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::EdgeById { input, slot, value } = kind else { return Err(misplaced(kind)) };
    let (input, layout) = lowering.lower(input, &demand_of_lookup(demand.clone().without([slot]), value))?;
    let value = Lookup::compile(lowering, value, &layout)?;
    let (keep, mut layout) = keep(&layout, demand);
    let gives_edge = demand.slots.contains(slot);
    if gives_edge {
        layout.push(*slot);
    }
    Ok((Box::new(EdgeById { input, value, keep, gives_edge }), layout))
}

impl Physical for EdgeById {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        self.input.run(scope, &mut |chunk| {
            runtime.environment.interrupt.check()?;
            let (values, rows) = self.value.values(scope, &chunk)?;
            let texts: Vec<Value> = values.values().collect();
            // No edge has the empty text.
            let ids: Vec<&str> =
                texts.iter().map(|value| if let Value::String(text) = value { &**text } else { "" }).collect();
            let found: Vec<Option<EdgeValue>> = runtime.view().view().find_edges(&ids)?;
            let validity: Bitmap = found.iter().map(Option::is_some).collect();
            let edges = found.into_iter().map(Option::unwrap_or_default).collect();
            let found = Column::with_validity(ColumnData::Edge(edges), validity);
            let joined = join_found(&chunk, &self.keep, self.gives_edge, found, rows);
            if joined.rows == 0 { Ok(Flow::Continue) } else { sink(joined) }
        })
    }
}
