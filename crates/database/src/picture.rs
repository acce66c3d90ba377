//! Nodes that stand for labels and relationships that stand for types, for tools that draw the shape of a graph. They are no
//! part of the graph: their ids say what they stand for, and results show them by what the schema says of that.

use std::sync::Arc;

use model::{EdgeId, EdgeTypeId, EdgeValue, Index, LabelId, NodeId, PropertyKeyId, ReadView, Subject, Value};

/// Named properties.
pub(crate) type Named = Vec<(Arc<str>, Value)>;

/// The highest byte of such ids, which no store and no attached source gives.
const MARK: u64 = 0xFF << 56;
/// Bits of the number of a label or type in the id of a relationship.
const NUMBER_BITS: u32 = 18;

/// The node that stands for a label.
pub(crate) fn node(label: LabelId) -> NodeId {
    NodeId(MARK | u64::from(label.0))
}

/// The relationship that stands for those of a type between two labels; `None` beyond the numbers that an id has room for.
pub(crate) fn edge(source: LabelId, edge_type: EdgeTypeId, target: LabelId) -> Option<EdgeValue> {
    let mut id = MARK;
    for (place, number) in [source.0, edge_type.0, target.0].into_iter().enumerate() {
        if number >= 1 << NUMBER_BITS {
            return None;
        }
        id |= u64::from(number) << (place as u32 * NUMBER_BITS);
    }
    Some(EdgeValue { id: EdgeId(id), source: node(source), target: node(target), edge_type })
}

/// The label that a node stands for.
pub(crate) fn label_of(node: NodeId) -> Option<LabelId> {
    (node.0 & MARK == MARK).then_some(LabelId(node.0 as u32))
}

/// True if a relationship stands for a type.
pub(crate) fn is_edge(edge: &EdgeValue) -> bool {
    label_of(edge.source).is_some() && label_of(edge.target).is_some()
}

fn property(name: &str, value: Value) -> (Arc<str>, Value) {
    (Arc::from(name), value)
}

/// The labels and properties by which results show the node that stands for a label.
pub(crate) fn of_label(label: LabelId, view: &dyn ReadView) -> (Vec<Arc<str>>, Named) {
    let schema = view.schema();
    let name: Arc<str> = Arc::from(schema.label_name(label));
    let keys =
        |keys: &[PropertyKeyId]| keys.iter().map(|&key| schema.property_key_name(key)).collect::<Vec<_>>().join(",");
    let is_of_label = |index: &&Index| index.subject == Subject::Label(label) && schema.owner(index).is_none();
    let indexes = schema.indexes.iter().filter(is_of_label).map(|index| Value::string(&keys(&index.keys))).collect();
    let rules = schema.constraints.iter().filter(|held| held.subject == Subject::Label(label));
    let rules = rules.map(|held| Value::string(&schema.constraint_statement(held))).collect();
    let properties = vec![
        property("name", Value::String(name.clone())),
        property("count", Value::Int(view.statistics().label(label) as i64)),
        property("indexes", Value::list(indexes)),
        property("constraints", Value::list(rules)),
    ];
    (vec![name], properties)
}

/// The type and properties by which results show a relationship that stands for a type.
pub(crate) fn of_type(edge: &EdgeValue, view: &dyn ReadView) -> (Arc<str>, Named) {
    let edge_type: Arc<str> = Arc::from(view.schema().edge_type_name(edge.edge_type));
    let pair = (label_of(edge.source), label_of(edge.target));
    let sketch = view.statistics().sketches.as_ref().and_then(|sketches| sketches.edge_types.get(&edge.edge_type));
    let count = sketch.and_then(|sketch| sketch.pairs.get(&pair)).map(|&count| Value::Int(count as i64));
    let name = property("name", Value::String(edge_type.clone()));
    let properties = std::iter::once(name).chain(count.map(|count| property("count", count))).collect();
    (edge_type, properties)
}
