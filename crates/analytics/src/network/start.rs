//! Communities as they come in and go out: from a property of the nodes, and by names.

use model::Map;
use model::column::{Column, ColumnData};
use model::error::Result;
use model::id::{NodeId, PropertyKeyId};
use model::interrupt::Interrupt;
use model::store::ReadView;
use model::value::Value;

use crate::graph::Graph;

/// Nodes whose properties are read at once.
const BATCH_NODES: usize = 1 << 14;

/// The communities that a property of the nodes states, numbered from 0 in order of their first nodes; a node without
/// the property is a community of its own. Also the values, null for such nodes.
pub(crate) fn seeds(
    graph: &Graph<'_>,
    view: &dyn ReadView,
    (name, key): (&str, PropertyKeyId),
    interrupt: &Interrupt,
) -> Result<(Vec<u32>, Vec<Value>)> {
    let node_count = graph.node_count() as u32;
    let mut communities = Vec::with_capacity(node_count as usize);
    let mut values = Vec::new();
    let mut known: Map<i64, u32> = Map::default();
    for start in (0..node_count).step_by(BATCH_NODES) {
        interrupt.check()?;
        let nodes: Vec<NodeId> =
            (start..(start + BATCH_NODES as u32).min(node_count)).map(|number| graph.node(number)).collect();
        let column = &view.node_properties(&nodes, &[key])?[0];
        for (node, value) in nodes.iter().zip(column.values()) {
            let next = values.len() as u32;
            let community = match &value {
                Value::Null => next,
                Value::Int(stated) => *known.entry(*stated).or_insert(next),
                other => {
                    let found = other.type_name();
                    return Err(model::error!(
                        Type,
                        "node #{} has {found} in property '{name}', expected INTEGER for its community",
                        node.0
                    ));
                }
            };
            if community == next {
                values.push(value);
            }
            communities.push(community);
        }
    }
    Ok((communities, values))
}

/// For each node the smallest id of a node in its community, which names it; or, if asked, numbers without gaps.
pub(crate) fn by_smallest_node(graph: &Graph<'_>, communities: &[u32], is_consecutive: bool) -> Column {
    let count = communities.iter().max().map_or(0, |&most| most as usize + 1);
    let mut names = vec![None; count];
    let mut next = 0;
    for (node, &community) in (0..).zip(communities) {
        names[community as usize].get_or_insert_with(|| {
            next += 1;
            if is_consecutive { next - 1 } else { graph.node(node).0.cast_signed() }
        });
    }
    let name = |&community: &u32| names[community as usize].expect("the community was met with its first node");
    Column::new(ColumnData::Int(communities.iter().map(name).collect()))
}
