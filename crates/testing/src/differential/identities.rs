//! Edges by what they are known by for good.

use model::store::{EdgeIds, NO_EDGE_NUMBER};
use model::{EdgeBatch, EdgeId, EdgeValue, Expand, NodeId, NodeScan, ReadView, Set};

use super::scan_nodes;

/// All edges that start at some nodes.
fn edges_from(view: &dyn ReadView, from: &[NodeId]) -> Vec<EdgeValue> {
    let expand = Expand { edge_ids: EdgeIds::Include, ..Expand::default() };
    let mut cursor = view.expand(from, &expand).expect("expanding");
    let (mut batch, mut edges) = (EdgeBatch::default(), Vec::new());
    while cursor.next(&mut batch).expect("expanding on") {
        edges.extend((0..batch.len()).map(|row| EdgeValue {
            id: batch.edges[row],
            source: from[batch.inputs[row] as usize],
            target: batch.neighbors[row],
            edge_type: batch.types[row],
        }));
    }
    edges
}

/// All edges, in order, as their element ids and properties.
///
/// # Panics
/// If the view fails.
pub fn identities_of(view: &dyn ReadView) -> Vec<String> {
    let edges = edges_from(view, &scan_nodes(view, &NodeScan::default()));
    let ids: Vec<EdgeId> = edges.iter().map(|edge| edge.id).collect();
    let properties = view.all_edge_properties(&ids).expect("listing edge properties");
    let names = view.element_ids(&edges).expect("asking for element ids");
    let mut lines: Vec<String> =
        names.iter().zip(properties).map(|(name, properties)| format!("{name} {properties:?}")).collect();
    lines.sort_unstable();
    lines
}

/// Numbers are told apart, and an element id finds its edge or, in a store that cannot tell, none.
pub(super) fn check_identities(view: &dyn ReadView, from: &[NodeId], seen: &mut Set<u64>) {
    let edges = edges_from(view, from);
    let ids: Vec<_> = edges.iter().map(|edge| edge.id).collect();
    for number in view.edge_numbers(&ids).expect("asking for the numbers of edges") {
        assert!(number < NO_EDGE_NUMBER, "an edge that is there has no number");
        assert!(seen.insert(number), "two edges have the number {number}");
    }
    let texts = view.element_ids(&edges).expect("asking for element ids");
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    for (edge, found) in edges.iter().zip(view.find_edges(&texts).expect("looking up element ids")) {
        assert!(found.is_none_or(|found| found == *edge), "{edge:?} is found as {found:?} by its element id");
    }
}
