//! Edges by what they are known by for good.

use model::store::{EdgeIds, NO_EDGE_NUMBER};
use model::{EdgeBatch, EdgeValue, Expand, NodeId, ReadView, Set};

/// Numbers are told apart, and an element id finds its edge or, in a store that cannot tell, none.
pub(super) fn check_identities(view: &dyn ReadView, from: &[NodeId], seen: &mut Set<u64>) {
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
