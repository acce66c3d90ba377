//! `NodeById`: for each row, the node with an id, if it exists.

use cypher::plan::OperatorKind;
use model::{Bitmap, Column, ColumnData, NodeId, Result, Value};

use crate::lowering::{Demand, Lowered, Lowering, misplaced};
use crate::operators::node_lookup::LookupInput;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct NodeById(LookupInput);

/// Lowers `NodeById`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::NodeById { input, slot, value } = kind else { return Err(misplaced(kind)) };
    let (input, layout) = LookupInput::lower(lowering, input, *slot, value, demand)?;
    Ok((Box::new(NodeById(input)), layout))
}

/// The id that a value names. A whole float equals an integer in Cypher, so it names one too. Ids of foreign stores
/// use all 64 bits; `id()` gives them as the integer of the same bits.
fn id_of(value: &Value) -> Option<NodeId> {
    match value {
        Value::Int(id) => Some(NodeId(*id as u64)),
        Value::Float(id) if id.trunc() == *id && Value::Int(*id as i64) == *value => Some(NodeId(*id as i64 as u64)),
        _ => None,
    }
}

impl Physical for NodeById {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        self.0.rows.run(scope, &mut |chunk| {
            runtime.environment.interrupt.check()?;
            let (values, rows) = self.0.value.values(scope, &chunk)?;
            let ids: Vec<Option<NodeId>> = values.values().map(|value| id_of(&value)).collect();
            let nodes: Vec<NodeId> = ids.iter().map(|id| id.unwrap_or_default()).collect();
            let exist = runtime.view().view().nodes_exist(&nodes)?;
            let validity: Bitmap = ids.iter().enumerate().map(|(row, id)| id.is_some() && exist.get(row)).collect();
            let found = Column::with_validity(ColumnData::Node(nodes), validity);
            let joined = self.0.join(&chunk, found, rows);
            if joined.rows == 0 { Ok(Flow::Continue) } else { sink(joined) }
        })
    }
}
